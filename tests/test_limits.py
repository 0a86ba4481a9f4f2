"""Limits: fair order, no starvation, high use of the allowed rate, few refusals."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.allowance import Allowance, Kind
from support.clocks import FakeTime
from support.laws import tried
from support.rationing import rush

from gotlang.models.base import DecodingSettings, Message, Request, Usage
from gotlang.models.limits import FIRST_CONCURRENCY, EndpointGate, Pace, TokenEstimates, Window
from gotlang.models.loops import VirtualTimeLoop

T = TypeVar("T")


def run(main: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(main)


def virtual(requests: float | None = None, tokens: float | None = None) -> EndpointGate:
    """Limits on the clock of the loop they are used in."""
    return EndpointGate(requests, tokens, clock=lambda: asyncio.get_running_loop().time())


async def send(limits: EndpointGate, seconds: float = 1.0) -> float:
    """One request that takes so long; when it was sent."""
    entered = await limits.acquire(limits.ticket(), lambda: (10.0, 100.0))
    try:
        await asyncio.sleep(seconds)
    finally:
        limits.release(entered, 10.0, {})
    return entered.sent


# ---- throughput (the numbers of the acceptance test: at least 90% used, at most 2% refused)

KINDS: list[Kind] = ["sliding", "fixed", "bucket"]


@pytest.mark.parametrize(
    ("requests", "tokens", "latency_s"), [(300, None, 8.0), (None, 40_000, 0.5), (300, 40_000, 3.0)]
)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("known", ["given", "headers"])
def test_known_limits_are_used_up_and_kept(
    known: str, kind: Kind, requests: float | None, tokens: float | None, latency_s: float
) -> None:
    allowance = Allowance(requests, tokens, kind=kind, headers=known == "headers")
    limits = virtual(requests, tokens) if known == "given" else virtual()
    done = rush(limits, allowance, minutes=4, latency_s=latency_s)
    assert done.throughput >= 0.9
    assert done.refused <= 0.02


@pytest.mark.parametrize("known", ["given", "headers"])
@pytest.mark.parametrize("kind", KINDS)
def test_tokens_that_are_charged_by_what_a_request_may_cost(kind: Kind, known: str) -> None:
    allowance = Allowance(None, 120_000, kind=kind, headers=known == "headers", ceiling=True)
    limits = virtual(None, 120_000) if known == "given" else virtual()
    done = rush(limits, allowance, minutes=4, latency_s=2.0)
    assert done.throughput >= 0.9
    assert done.refused <= 0.02


GRID = [(20, None), (60, None), (300, None), (None, 10_000), (None, 40_000), (60, 40_000)]


@pytest.mark.parametrize(("requests", "tokens"), GRID)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("headers", [False, True])
def test_limits_that_nobody_told_are_found_out(
    headers: bool, kind: Kind, requests: float | None, tokens: float | None
) -> None:
    """Without headers there is only a Retry-After with each refusal; some 500 requests teach enough."""
    allowance = Allowance(requests, tokens, kind=kind, headers=headers)
    few = (requests or 100) < 60 or (tokens or 1e6) < 20_000
    done = rush(virtual(), allowance, minutes=20 if few else 10, latency_s=0.5 if tokens else 3.0)
    assert done.throughput >= 0.9
    assert done.refused <= 0.02


@pytest.mark.parametrize("kind", KINDS)
def test_tokens_that_are_counted_when_the_answer_is_there(kind: Kind) -> None:
    allowance = Allowance(None, 60_000, kind=kind, late=True)
    done = rush(virtual(), allowance, minutes=8, latency_s=2.0)
    assert done.throughput >= 0.9
    assert done.refused <= 0.02


def test_a_limit_without_any_hint_is_found_out_too() -> None:
    done = rush(virtual(), Allowance(600, None, kind="bucket", retry_after=False), minutes=5, latency_s=3.0)
    assert done.throughput >= 0.9
    assert done.refused <= 0.05


def test_an_endpoint_without_limits_is_not_held_up() -> None:
    """Three thousand answers of a second each, from wherever: what caution costs is a few round trips."""

    async def main() -> float:
        limits = virtual()
        await asyncio.gather(*(send(limits) for _ in range(3000)))
        return asyncio.get_running_loop().time()

    assert run(main()) <= 13


def refused_by_chance(share: float, calls: int, seed: int) -> float:
    """The seconds that so many calls take, if that share of the requests is refused at any pace."""

    async def main() -> float:
        limits, chance = virtual(), random.Random(seed)

        async def call() -> None:
            ticket = limits.ticket()
            while True:
                entered = await limits.acquire(ticket, lambda: (1.0, 1.0))
                await asyncio.sleep(0.1)
                if chance.random() >= share:
                    limits.release(entered, 1.0, {})
                    return
                limits.congested(entered, 0.1, refused=True)
                limits.release(entered, 0.0, {})

        await asyncio.gather(*(call() for _ in range(calls)))
        return asyncio.get_running_loop().time()

    return run(main())


def test_refusals_that_have_nothing_to_do_with_the_pace_do_not_end_in_a_standstill() -> None:
    assert refused_by_chance(0.02, 3000, 5) < 1200


def test_an_endpoint_that_refuses_by_chance_is_not_taken_for_a_slow_one() -> None:
    seconds = sorted(refused_by_chance(0.4, 60, seed) for seed in range(60))
    assert seconds[30] < 40
    assert seconds[-1] < 240


def test_a_limit_that_is_lifted_is_left_behind() -> None:
    limits, allowance = virtual(), Allowance(60, None, kind="bucket")

    def lift(minutes: float) -> None:
        if minutes > 5:
            allowance.requests = 600

    done = rush(limits, allowance, minutes=15, latency_s=1.0, each_minute=lift)
    assert allowance.admitted >= 1200 > 15 * 60
    assert done.refused <= 0.02


@pytest.mark.parametrize(
    "told",
    [
        {
            "x-ratelimit-limit-requests": "100",
            "x-ratelimit-remaining-requests": "30",
            "x-ratelimit-reset-requests": "60s",
        },
        {
            "date": "Sat, 21 Nov 2026 08:00:00 GMT",
            "anthropic-ratelimit-requests-limit": "100",
            "anthropic-ratelimit-requests-remaining": "30",
            "anthropic-ratelimit-requests-reset": "2026-11-21T08:01:00Z",
        },
    ],
    ids=["OpenAI", "Anthropic"],
)
def test_what_others_use_up_is_left_to_them(told: dict[str, str]) -> None:
    limits = virtual(100)

    async def main() -> list[float]:
        entered = await limits.acquire(limits.ticket(), lambda: (1.0, 1.0))
        limits.release(entered, 1.0, told)
        return await asyncio.gather(*(send(limits, 0.0) for _ in range(60)))

    sent = run(main())
    assert sum(at < 1.0 for at in sent) <= 31
    assert max(sent) < 62


# ---- the queue


def test_first_come_first_served() -> None:
    async def main() -> list[float]:
        limits = virtual(60)
        return await asyncio.gather(*(send(limits) for _ in range(200)))

    sent = run(main())
    assert sent == sorted(sent)


def test_the_first_waiter_is_served() -> None:
    """A rate limiter whose first waiter never was is known from a published system."""

    async def main() -> tuple[float, float]:
        limits = virtual(1)
        first = await send(limits, 0.0)
        return first, await send(limits, 0.0)

    first, second = run(main())
    assert first == 0.0
    assert 60.0 <= second <= 63.0


def test_a_request_that_is_sent_again_goes_before_younger_ones() -> None:
    async def main() -> list[str]:
        limits, order = virtual(60), []

        async def once(name: str, ticket: int) -> None:
            entered = await limits.acquire(ticket, lambda: (1.0, 1.0))
            order.append(name)
            limits.release(entered, 1.0, {})

        eldest = limits.ticket()
        young = [asyncio.ensure_future(once(f"young {i}", limits.ticket())) for i in range(100)]
        await asyncio.sleep(1.5)
        await once("eldest", eldest)
        place = order.index("eldest")
        assert place < len(young) - 1
        await asyncio.gather(*young)
        return order[place + 1 :]

    assert run(main())


def test_who_is_cancelled_as_the_turn_comes_hands_it_on() -> None:
    async def main() -> float:
        limits = virtual(1)
        await send(limits, 0.0)

        async def first() -> None:
            await limits.acquire(limits.ticket(), lambda: (1.0, 1.0))
            # The turn is the second's by now, who has not woken yet.
            second.cancel()

        others = [asyncio.ensure_future(first())]
        await asyncio.sleep(0)
        second = asyncio.ensure_future(send(limits))
        third = asyncio.ensure_future(send(limits))
        await asyncio.gather(*others)
        async with asyncio.timeout(600):
            return await third

    assert 120 <= run(main()) <= 125


@given(
    st.lists(
        st.tuples(st.floats(0, 30), st.floats(0, 20), st.none() | st.floats(0, 60)), min_size=1, max_size=40
    ),
    st.sampled_from([None, 2, 10]),
    st.sampled_from([None, 25, 1000]),
)
def test_whoever_is_cancelled_all_others_are_served(
    requests: list[tuple[float, float, float | None]], per_minute: float | None, tokens: float | None
) -> None:
    async def main() -> int:
        limits = virtual(per_minute, tokens)

        async def one(start: float, seconds: float) -> None:
            await asyncio.sleep(start)
            await send(limits, seconds)

        tasks = []
        for start, seconds, cancel in requests:
            tasks.append(asyncio.ensure_future(one(start, seconds)))
            if cancel is not None:
                asyncio.get_running_loop().call_later(cancel, tasks[-1].cancel)
        async with asyncio.timeout(60 * 60):
            await asyncio.gather(*tasks, return_exceptions=True)
        cancelled = sum(task.cancelled() for task in tasks)
        assert cancelled <= sum(cancel is not None for *_, cancel in requests)
        assert len(asyncio.all_tasks()) == 1
        await asyncio.sleep(120)
        assert await send(limits) >= 0
        return limits.in_flight

    assert run(main()) == 0


@given(
    st.lists(st.tuples(st.floats(0, 20), st.integers(1, 60), st.integers(0, 60)), min_size=1, max_size=60),
    st.integers(20, 100),
)
def test_no_stretch_of_time_holds_more_than_the_limit(
    wants: list[tuple[float, int, int]], limit: int
) -> None:
    """Takes come when they may, or later; none is settled for more than it was taken for."""
    window, now, taken = Window(60.0, float(limit)), 0.0, []
    for gap, amount, settled in wants:
        now += gap
        while (delay := window.delay(amount, amount, now)) > 0:
            now += delay
        entry = window.take(amount, amount, now)
        window.settle(entry, min(settled, amount), amount)
        taken.append((now, min(settled, amount)))
    for start, _ in taken:
        held = [amount for at, amount in taken if start <= at < start + 60.0]
        assert sum(held) <= limit or len([amount for amount in held if amount]) == 1


# ---- pace


@pytest.mark.parametrize("limit", [None, 100.0])
def test_what_no_longer_counts_is_forgotten(limit: float | None) -> None:
    window = Window(60.0, limit)
    for second in range(1000):
        window.settle(window.take(1, 1, second), 1, 1)
    assert len(window._takes) <= 80


def test_concurrency_rises_and_falls() -> None:
    pace = Pace(60.0)
    for second in range(100):
        pace.answered(float(second), second + 1.0, in_flight=int(pace.concurrency))
    risen = pace.concurrency
    assert risen == FIRST_CONCURRENCY + 100
    assert pace.congested(100.0, 101.0, 0.5, refused=False)
    assert pace.concurrency == risen / 2
    assert not pace.congested(100.5, 101.5, 0.5, refused=False), "what was sent before the cut is no news"
    assert pace.concurrency == risen / 2
    for second in range(66):
        pace.answered(102.0 + second, 103.0 + second, in_flight=int(pace.concurrency))
    assert risen / 2 < pace.concurrency <= risen / 2 + 1.01, "by one a round from now on"


def test_requests_go_out_the_faster_the_more_were_let_in() -> None:
    pace, spaces = Pace(60.0), []
    now = 0.0
    for _ in range(100):
        pace.sent(now, 0.0)
        spaces.append(max(0.0, pace.delay(now)))
        now += spaces[-1]
    assert spaces[:3] == [0.0, 0.0, 0.0]
    assert spaces[4] > spaces[20] > spaces[99] > 0
    assert now < 6.0
    told = Pace(60.0)
    told.told(0.1)
    assert told.concurrency == 300
    told.sent(0.0, 0.1)
    assert told.delay(0.0) == 0.0


def test_the_space_after_a_refusal_is_that_of_what_was_let_in_and_adapts() -> None:
    pace = Pace(60.0)

    def space(now: float) -> float:
        pace.sent(now, 0.0)
        return pace.delay(now)

    for sent in range(20):
        pace.sent(sent / 10, 0.0)
    pace.sent(2.0, 0.0)
    assert pace.congested(2.0, 2.1, 58.0, refused=True)
    first = space(62.0)
    assert first == pytest.approx(60.0 / 20)
    assert pace.congested(62.0, 62.5, 1.0, refused=True)
    second = space(90.0)
    assert first < second <= 2 * first
    for answer in range(100):
        pace.answered(90.0 + answer, 91.0 + answer, in_flight=1)
    narrower = space(200.0)
    assert 0.9 * second < narrower < second
    for answer in range(3000):
        pace.answered(200.0 + answer, 201.0 + answer, in_flight=1)
    assert space(3300.0) < 0.1


def test_known_limits_bound_the_space() -> None:
    pace = Pace(60.0)
    pace.sent(0.0, 0.0)
    pace.congested(0.0, 30.0, 30.0, refused=True)
    pace.sent(31.0, even_s=0.2)
    assert pace.delay(31.0) == pytest.approx(0.2)


def test_what_a_request_takes_is_learned_by_its_prompt() -> None:
    def request(prompt: str) -> Request:
        return Request("m", (Message("user", "x" * 68),), DecodingSettings(max_tokens=500), prompt=prompt)

    estimates = TokenEstimates()
    assert estimates.of(request("sort"), 2) == (0.4 * 100 + 1000, 0.4 * 100 + 1000)
    for _ in range(50):
        estimates.learn(request("sort"), 2, Usage(30, 40))
    likely, most = estimates.of(request("sort"), 3)
    assert likely == pytest.approx(30 + 3 * 20, rel=0.01)
    assert most == pytest.approx(30 + 3 * 500, rel=0.01)
    assert estimates.of(request("new"), 1)[0] == pytest.approx(30 + 20, rel=0.01)


def test_concurrency_that_is_not_used_does_not_rise() -> None:
    pace = Pace(60.0)
    for second in range(100):
        pace.answered(float(second), second + 1.0, in_flight=3)
    assert pace.concurrency == FIRST_CONCURRENCY


def test_an_endpoint_that_works_on_four_at_a_time_is_kept_busy() -> None:
    async def main() -> tuple[float, int]:
        limits, busy, refused = virtual(), 0, 0

        async def call() -> None:
            nonlocal busy, refused
            ticket = limits.ticket()
            while True:
                entered = await limits.acquire(ticket, lambda: (1.0, 1.0))
                await asyncio.sleep(0.02)
                if busy < 4:
                    busy += 1
                    await asyncio.sleep(2.0)
                    busy -= 1
                    limits.release(entered, 1.0, {})
                    return
                refused += 1
                limits.congested(entered, 0.5, refused=True)
                limits.release(entered, 0.0, {})

        await asyncio.gather(*(call() for _ in range(400)))
        return asyncio.get_running_loop().time(), refused

    seconds, refused = run(main())
    assert seconds <= 400 * 2.0 / 4 / 0.8
    assert refused <= 60


@tried(60)
@given(st.floats(0, 1e308), st.floats(0, 1), st.floats(0, 1e6), st.floats(1e3, 1e6))
def test_whatever_headers_say_time_passes_while_somebody_waits(
    limit: float, share: float, reset_s: float, started: float
) -> None:
    async def main() -> int:
        time = FakeTime()
        time.now = started
        limits = EndpointGate(clock=time.clock, sleep=time.sleep)
        for _ in range(5):
            entered = await limits.acquire(limits.ticket(), lambda: (10.0, 100.0))
            said = {"limit": limit, "remaining": share * limit, "reset": reset_s}
            limits.release(entered, 10.0, {f"x-ratelimit-{name}-tokens": str(n) for name, n in said.items()})
        return len(time.sleeps)

    async def watched() -> int:
        work = asyncio.ensure_future(main())
        for _ in range(20_000):
            await asyncio.sleep(0)
            if work.done():
                return await work
        work.cancel()
        raise AssertionError("time stands still")

    assert asyncio.run(watched()) < 1_000
