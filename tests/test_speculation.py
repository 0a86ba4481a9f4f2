"""`--prefer latency` where sampling may end early: all at once, read in order, and the others withdrawn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from support.generated import SIMULATORS, Generated, programs
from support.laws import tried
from support.orders import Delayed, compiled, everything, run_in_order, try_in_order

from gotlang.api import Options
from gotlang.cache.base import Cache
from gotlang.cache.memory import MemoryCache
from gotlang.errors import RunError
from gotlang.models.base import PERMITTED, Model, Permit, Price, Reply, Request
from gotlang.models.simulated import SimulatedModel
from gotlang.result import Result

HEAD = """
prompt number(x: int) -> int:
    max_tokens 20
    "number {{ x }}"
score far(n: int) -> lower, best 0:
    n % 3
"""
UNTIL = "Generate(k=8, until=it % 3 == 0) number(x)\nScore() far(it)\nKeepBestN(1)"
STOP = "Generate(k=8) number(x)\nScore() far(it)\nKeepBestN(1)"
EITHER = pytest.mark.parametrize("body", [UNTIL, STOP], ids=["until", "early stop"])
SAID = ("1", "what?", "4", "3", "7", "6", "9", "8")
"""The responses by sample number: the fourth is the first that is enough."""


@dataclass
class Timed(Model):
    """Says `said`, sample by sample, after as many (virtual) seconds as `takes` says, as an endpoint does.
    `sent` are the numbers that were asked, `ended` those that were answered."""

    said: tuple[str, ...] = SAID
    takes: Callable[[int], float] = lambda number: 1.0
    simulated: bool = False
    sent: list[int] = field(default_factory=list)
    ended: list[int] = field(default_factory=list)
    starts: dict[str, int] = field(default_factory=dict)
    """Where the samples of each request begin."""

    name, batch, price = "timed", 1, Price(1.0, 2.0)

    def __post_init__(self) -> None:
        self.model = SimulatedModel({"number": lambda rng, x: "0"})

    async def ask(self, request: Request, n: int, first: int = 0, permit: Permit = PERMITTED) -> Reply:
        await permit.send()
        number = first - self.starts.setdefault(request.key(), first)
        self.sent.append(number)
        seconds = self.takes(number)
        await asyncio.sleep(seconds)
        reply = await self.model.ask(request, n, first)
        self.ended.append(number)
        said = replace(reply.completions[0], text=self.said[number])
        return replace(reply, completions=(said,), latency_s=seconds, latencies_s=())


def run(body: str, model: Model, prefer: str | None = "latency", **options: Any) -> Result:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    text = f"{HEAD}\nscheme main(x: int) -> int:\n{lines}"
    return run_in_order(text, {"x": 1}, model, prefer=prefer, **options)


@EITHER
@pytest.mark.parametrize("limit", [1, 2, 3, None])
def test_the_result_is_that_of_asking_one_after_another(body: str, limit: int | None) -> None:
    one = run(body, Timed(), "cost", wave=1)
    chance = Random(limit)
    model = Timed(takes=lambda number: chance.random())
    found = run(body, model, concurrency=limit)
    assert found.value == one.value == 3
    assert [thought.index for thought in found.outcome.thoughts] == [2], (
        "the fourth sample is the third thought"
    )
    assert len(found.outcome.failures) == 1 and "what?" in found.outcome.failures[0].reason
    spent = found.outcome.ledger.spent
    assert found.calls == 4 <= len(model.sent) == spent.calls + spent.uncertain_calls
    assert found.status == "complete" and found.outcome.skipped == 0


@EITHER
def test_with_one_at_a_time_nothing_is_sent_that_is_not_needed(body: str) -> None:
    model = Timed()
    found = run(body, model, concurrency=1)
    spent = found.outcome.ledger.spent
    assert model.sent == [0, 1, 2, 3]
    assert (spent.calls, spent.requests, spent.uncertain_calls, found.outcome.wall_s) == (4, 4, 0, 4.0)


@EITHER
@pytest.mark.parametrize("limit", [1, 2, 4])
def test_what_is_needed_for_certain_is_sent_first(body: str, limit: int) -> None:
    """Of four operations that are ready at the same time, whose first samples are enough."""
    model = Timed(said=("3", *SAID[1:]))
    each = "".join(f"        {line}\n" for line in body.replace("(x)", "(y)").splitlines())
    text = f"{HEAD}\nscheme main(x: int) -> list[int]:\n    foreach y in [1, 2, 3, 4]:\n{each}"
    found = run_in_order(text, {"x": 1}, model, prefer="latency", concurrency=limit)
    assert (found.value, model.sent) == ([3] * 4, [0] * 4)


@EITHER
def test_without_a_limit_it_takes_as_long_as_what_is_needed(body: str) -> None:
    """The sixth sample, which is late, is not waited for; it may have been charged."""
    model = Timed(takes=lambda number: 1.0 + number / 10 if number != 5 else 100.0)
    found = run(body, model)
    assert model.sent == list(range(8)) and model.ended == [0, 1, 2, 3]
    assert (found.outcome.times[0], found.outcome.wall_s) == pytest.approx((1.3, 1.3))
    spent = found.outcome.ledger.spent
    assert (found.outcome.hops, spent.calls, spent.uncertain_calls) == (1, 4, 4)
    assert spent.uncertain_usd is not None and 0 < spent.uncertain_usd <= 4 * 1e-4
    slow = run(body, Timed(takes=model.takes), "cost").outcome
    assert (slow.hops, slow.wall_s, slow.ledger.spent.uncertain_calls) == (2, 101.2, 0)


@EITHER
def test_the_accounts_are_of_what_is_needed_and_spending_of_what_was_sent(body: str) -> None:
    model = Timed(takes=lambda number: 1.0 if number != 3 else 5.0)
    found = run(body, model)
    outcome = found.outcome
    assert [account.calls for account in outcome.ledger.accounts] == [4, 4, 4]
    assert (outcome.ledger.spent.calls, outcome.ledger.spent.uncertain_calls) == (8, 0)
    assert outcome.ledger.spent.requests == 8


@EITHER
@pytest.mark.parametrize("calls", range(1, 9))
def test_a_budget_is_not_crossed_and_suffices_where_it_did(body: str, calls: int) -> None:
    """Requests that wait for the budget are withdrawn, and not refused."""
    model = Timed()
    found = run(body, model, max_calls=calls)
    assert len(model.sent) <= calls
    assert (found.status == "complete") == (calls >= 4)
    if calls >= 4:
        assert found.value == 3


@EITHER
def test_a_sample_in_the_cache_comes_before_any_request(body: str) -> None:
    cache = MemoryCache()
    model = Timed()
    once = run(body, model, cache=cache, concurrency=1)
    again = Timed(starts=model.starts)
    found = run(body, again, cache=cache)
    assert again.sent == [] and found.cached == 4
    same = everything(found), everything(once)
    for document in same:
        del document["ledger"]["persistent"]
    assert same[0] == same[1]


def test_what_is_cached_in_part_asks_for_the_rest() -> None:
    cache, model = MemoryCache(), Timed()
    short = UNTIL.replace("8", "2")
    run(short, model, cache=cache)
    again = Timed(starts=model.starts)
    assert run(UNTIL, again, cache=cache, concurrency=1).value == 3
    assert again.sent == [2, 3]


def test_an_unreadable_sample_is_replaced_at_once() -> None:
    """Its replacement comes after the samples that were wanted, and is requested while these are awaited."""
    body = UNTIL.replace("k=8", "k=3, retries=2")
    said, takes = ("no", "4", "7", "6", "9"), lambda number: 3.0 if number == 2 else 1.0
    cheap, found = run(body, Timed(said, takes), "cost", wave=1), run(body, Timed(said, takes))
    assert found.value == cheap.value == 6
    assert (cheap.outcome.hops, cheap.outcome.wall_s, cheap.calls) == (3, 5.0, 4)
    assert (found.outcome.hops, found.outcome.wall_s, found.calls) == (2, 3.0, 4)


def test_by_default_an_until_asks_in_rounds_and_early_stopping_all_at_once() -> None:
    model = Timed()
    assert run(UNTIL, model, None).outcome.hops == 2 and sorted(model.sent) == list(range(8))[:8]
    model = Timed()
    assert run(STOP, model, None).outcome.ledger.spent.calls == 8


@tried(40)
@given(programs(trying=True), st.integers(0, 2**32), st.none() | st.integers(1, 8))
def test_a_generated_program_has_the_same_result_within_its_bounds(
    program: Generated, seed: int, limit: int | None
) -> None:
    """In whatever order an endpoint responds, and whatever was in flight when it was not needed any more."""

    def go(prefer: str, seed: int, limit: int | None, cache: Cache | None = None) -> Result | RunError:
        model = Delayed(SimulatedModel(SIMULATORS), Random(seed), simulated=False)
        options = {"prefer": prefer, "concurrency": limit, "cache": cache, "batching": False}
        return try_in_order(program.text, dict(program.inputs), model, truth=3, **options)

    cache = MemoryCache()
    cheap, found, other = go("cost", seed, limit), go("latency", seed, limit, cache), go("latency", ~seed, 1)
    if not isinstance(cheap, Result) or not isinstance(found, Result):
        assert isinstance(cheap, RunError) and isinstance(found, RunError)
        return
    assert isinstance(other, Result)
    assert found.value == cheap.value
    assert everything(found) == everything(other)
    options = Options(model=SimulatedModel(SIMULATORS), batching=False)
    most = compiled(program.text).explain(program.inputs, options=options, simulate=False).ahead
    spent = found.outcome.ledger.spent
    assert most.calls.high is None or spent.calls + spent.uncertain_calls <= most.calls.high
    assert most.critical_path.holds(found.outcome.hops)
    again = go("latency", seed + 1, limit, cache)
    assert isinstance(again, Result) and again.value == found.value
    assert again.outcome.ledger.spent.calls == again.outcome.ledger.spent.uncertain_calls == 0
