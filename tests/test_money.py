"""What is charged, what may have been, and what was free, in one process: a server with a ledger of its own.

LAWS=200 python -m pytest tests/test_money.py      # more random schedules
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support.asking import a_request, openai_model
from support.clocks import FakeTime
from support.gotc import gotc, start, vote
from support.laws import times
from support.openai_server import (
    Body,
    Fault,
    OpenAIServer,
    Seen,
    dropped,
    edited,
    gateway,
    half_body,
    limited,
    raw,
    stalled,
    status,
)

from gotlang.api import Options, Session, compile, load
from gotlang.errors import ModelError, RunError
from gotlang.models.base import Permit, Price, Reply, Usage
from gotlang.models.endpoint import Endpoint
from gotlang.models.failures import ANY_OTHER, FREE, HttpResponse, RequestFailure
from gotlang.models.limits import GIVEN_UP_S, OUTAGE, PROBES
from gotlang.models.prices import Spent, dollars
from gotlang.result import Result
from gotlang.runtime.sampler.budget import Allowance, Budget, Charge, cost

PRICE = Price(1000.0, 1000.0)
"""A token is a tenth of a cent."""
DOCS = Path(__file__).parents[1] / "docs"


def voted(folder: Path, server: OpenAIServer, *, tries: int = 9, **options: Any) -> dict[str, Any]:
    """A vote, one request each."""
    vote(folder)
    given = {name: options.pop(name) for name in ("retries", "concurrency") if name in options}
    waiting = FakeTime()
    model = openai_model(
        "small",
        base_url=server.url,
        batch=1,
        price=PRICE,
        retries=given.get("retries", 1),
        sleep=waiting.sleep,
        clock=waiting.clock,
    )
    chosen = Options(
        model=model,
        params={"tries": tries},
        concurrency=given.get("concurrency", 1),
        level=1,
        **options,
    )
    return load(folder / "vote.got").run(question="why", options=chosen).to_dict()


# What a status says of the charge


def test_the_table_of_free_statuses_is_the_one_in_the_docs() -> None:
    text = (DOCS / "models.md").read_text()
    rows = re.findall(r"^\| (?:`([a-z.]+)`|any other) \| ([\d, ]+) \|", text, re.MULTILINE)
    assert {host or ANY_OTHER: frozenset(map(int, found.split(", "))) for host, found in rows} == FREE


@pytest.mark.parametrize("host", [*filter(None, FREE), "gateway.example"])
@pytest.mark.parametrize("code", [408, 409, 429, 500, 502, 503, 504, 529, 599])
def test_a_status_is_free_where_the_table_says_so(host: str, code: int) -> None:
    failure = RequestFailure.from_status(HttpResponse(code, {}, "{}"), Endpoint(f"https://{host}/v1", "key"))
    free = code == 409 or code in FREE.get(host, FREE[ANY_OTHER])
    assert (failure.retryable, failure.lost) == (True, not free)


# A reply above its reservation


def dear(tokens: int) -> Fault:
    """An answer that is said, and charged, to have so many output tokens."""
    return edited(lambda completion: completion["usage"].update(completion_tokens=tokens), billed=True)


def test_a_reply_above_its_reservation_stops_requests_and_is_reported(tmp_path: Path) -> None:
    with OpenAIServer(lambda body, index: "7", faults=[None, dear(5000)]) as server:
        found = voted(tmp_path, server, max_usd=40.0)
    assert len(server.requests) == 2
    assert found["spent"]["calls"] == 2
    assert found["spent"]["usd"] > 5
    assert "charged $5.0" in found["partial"] and "no more requests are sent to it" in found["partial"]
    assert "this endpoint charges more than its limit" in " ".join(found["notes"])


def test_without_a_limit_it_is_only_said(tmp_path: Path) -> None:
    with OpenAIServer(lambda body, index: "7", faults=[None, dear(5000)]) as server:
        found = voted(tmp_path, server)
    assert (len(server.requests), found["partial"]) == (9, None)
    assert "this endpoint charges more than its limit" in " ".join(found["notes"])


def test_what_waits_to_be_sent_is_held_back(tmp_path: Path) -> None:
    """Requests with a reservation that wait for the endpoint's pace are not sent either."""
    waiting = FakeTime()

    async def sleep(seconds: float) -> None:
        waiting.now += seconds
        await asyncio.sleep(0.2)

    with OpenAIServer(lambda body, index: "7", faults=[dear(5000)]) as server:
        vote(tmp_path)
        model = openai_model(
            "small", base_url=server.url, batch=1, price=PRICE, rpm=2, sleep=sleep, clock=waiting.clock
        )
        options = Options(model=model, params={"tries": 9}, concurrency=9, level=1, max_usd=40.0)
        found = load(tmp_path / "vote.got").run(question="why", options=options).to_dict()
    assert len(server.requests) <= 3
    assert "no more requests are sent" in found["partial"]


def test_more_choices_than_asked_are_counted(tmp_path: Path) -> None:
    twice = edited(lambda completion: completion["choices"].append(completion["choices"][0]))
    with OpenAIServer(lambda body, index: "7", faults=[None, twice]) as server:
        found = voted(tmp_path, server, max_calls=8)
    assert len(server.requests) == 2
    assert found["spent"]["calls"] == 3
    assert "charged 2 calls where 1 call were requested" in found["partial"]
    assert any("more completions than were requested" in note for note in found["notes"])


# Usage that is missing


@pytest.mark.parametrize(
    "usage",
    [None, {}, {"prompt_tokens": -1, "completion_tokens": 3}, {"prompt_tokens": 4, "completion_tokens": 0}],
)
def test_usage_that_is_missing_is_uncertain_and_counts_as_reserved(tmp_path: Path, usage: Any) -> None:
    silent = edited(lambda completion: completion.update(usage=usage))
    with OpenAIServer(lambda body, index: "7", faults=[None, silent]) as server:
        found = voted(tmp_path, server, tries=2)
    spent = found["spent"]
    assert (spent["calls"], spent["uncertain_calls"]) == (1, 1)
    known = float(cost(PRICE, server.requests[0].charged))
    assert spent["usd"] == pytest.approx(known)
    # A prompt of so many bytes, and `max_tokens`.
    assert spent["uncertain_usd"] > known


# Calls that end before their answer


class Allowed(Permit):
    """What an allowance says."""

    allowance: Allowance

    async def send(self) -> None:
        await self.allowance.sending()

    def failed(self, usage: Usage | None) -> None:
        self.allowance.failed(usage)

    async def again(self) -> None:
        await self.allowance.again()


def test_only_what_is_under_way_is_uncertain_when_it_is_cancelled() -> None:
    """One request is at the server, one was refused and waits, one was not sent yet."""

    async def main(server: OpenAIServer) -> list[tuple[int, int]]:
        model = openai_model("small", base_url=server.url, price=PRICE)
        budget = Budget(100.0, 100)
        allowances, asked = [], []
        for text in "abc":
            allowance = await Allowance.of(budget, a_request(text), 1, model)
            allowances.append(allowance)
            asked.append(asyncio.create_task(model.ask(a_request(text), 1, permit=Allowed(allowance))))
            await asyncio.sleep(0.3)
        for task, allowance in zip(asked, allowances, strict=True):
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            allowance.end()
        await model.close()
        assert (budget.charged, budget.uncertain.calls, budget.free_calls) == (Charge(), 1, 1)
        return [(one.requests, one.uncertain.calls) for one in allowances]

    with OpenAIServer(faults=[stalled(5.0), limited({"retry-after": "60"})]) as server:
        assert asyncio.run(main(server)) == [(1, 1), (1, 0), (0, 0)]


# Outages


def sent_in_an_outage(
    calls: int, faults: Any, **options: Any
) -> tuple[list[Reply | BaseException], list[Seen], FakeTime]:
    """So many calls at the same time, and what the server saw."""
    waiting = FakeTime()

    async def main(url: str) -> list[Reply | BaseException]:
        model = openai_model("small", base_url=url, sleep=waiting.sleep, clock=waiting.clock, **options)
        try:
            asked = [model.ask(a_request(str(number)), 1) for number in range(calls)]
            return await asyncio.gather(*asked, return_exceptions=True)
        finally:
            await model.close()

    with OpenAIServer(faults=faults) as server:
        return asyncio.run(main(server.url)), server.requests, waiting


@pytest.mark.parametrize("fault", [gateway(504), dropped(), edited(lambda done: done["choices"].clear())])
def test_an_outage_ends_after_a_few_requests_however_many_wait(fault: Fault) -> None:
    found, seen, waiting = sent_in_an_outage(200, lambda seen: fault)
    assert all(isinstance(one, ModelError) for one in found)
    # What was under way when it began, then one at a time.
    assert len(seen) <= 40 + PROBES
    assert waiting.now >= 10
    said = [str(one) for one in found]
    assert sum("not sent, since the endpoint failed many times in a row" in words for words in said) > 150


def test_it_goes_on_when_the_endpoint_works_again() -> None:
    begun = iter(range(10_000))
    found, seen, _ = sent_in_an_outage(200, lambda seen: gateway(500) if next(begun) < 10 else None)
    assert all(isinstance(one, Reply) for one in found)
    assert len(seen) == 210


def test_an_endpoint_that_was_given_up_is_tried_again_after_a_while() -> None:
    waiting = FakeTime()
    down = True

    async def main(url: str) -> tuple[int, int]:
        nonlocal down
        model = openai_model("small", base_url=url, sleep=waiting.sleep, clock=waiting.clock, retries=0)

        async def ask(number: int) -> bool:
            try:
                return bool(await model.ask(a_request(str(number)), 1))
            except ModelError:
                return False

        for number in range(OUTAGE + PROBES):
            assert not await ask(number)
        assert not await ask(97)
        unsent = len(server.requests)
        await waiting.sleep(GIVEN_UP_S)
        assert not await ask(98)  # one request finds out that it is still down
        assert not await ask(99)
        down = False
        await waiting.sleep(GIVEN_UP_S)
        assert all([await ask(number) for number in (97, 98, 99)])
        await model.close()
        return unsent, len(server.requests)

    with OpenAIServer(faults=lambda seen: gateway(502) if down else None) as server:
        assert asyncio.run(main(server.url)) == (OUTAGE + PROBES, OUTAGE + PROBES + 1 + 3)


def test_a_few_failures_among_answers_are_no_outage() -> None:
    found, _, _ = sent_in_an_outage(100, lambda seen: gateway(500) if seen.number % 4 else None)
    assert sum(isinstance(one, Reply) for one in found) > 60


# Random schedules: the server's ledger is the truth

PROGRAM = """
prompt say(n: int) -> str:
    max_tokens 40
    temperature 1.0
    "Say something of {{ n }}."
scheme main(n: int, k: int) -> many str:
    Generate(k=k) say(n)
"""
WORDS = "it is said "


def usage_of(**changes: Any) -> Fault:
    """A success with another usage than was charged."""
    return edited(lambda completion: completion["usage"].update(changes))


def more_choices(completion: Body) -> None:
    """One more than was asked for, which is charged."""
    completion["choices"].append(completion["choices"][0])
    completion["usage"]["completion_tokens"] += completion["usage"]["completion_tokens"]


def hidden(completion: Body) -> None:
    """The model thought up to `max_tokens` for each choice, and the usage is missing."""
    bill = completion.pop("usage")
    completion["bill"] = {**bill, "completion_tokens": 40 * len(completion["choices"])}


WAYS: dict[str, Callable[[], Fault]] = {
    "hidden reasoning without usage": lambda: edited(hidden, billed=True),
    **{f"{code} after the work": partial(gateway, code) for code in (408, 500, 502, 503, 504, 529)},
    **{f"{code}, free": partial(status, code) for code in (408, 409, 429, 500, 503)},
    "a closed connection": dropped,
    "a closed connection, free": lambda: dropped(charged=False),
    "half a body": half_body,
    "no JSON": lambda: raw("<html>gateway</html>"),
    "an error in a success": lambda: raw('{"error": {"code": 500, "message": "upstream"}}'),
    "a time-out": lambda: stalled(30.0),
    "no choices": lambda: edited(lambda completion: completion.update(choices=[])),
    "no usage": lambda: edited(lambda completion: completion.pop("usage")),
    "negative usage": lambda: usage_of(completion_tokens=-5),
    "not a number": lambda: usage_of(prompt_tokens=float("nan")),
    "a usage of words": lambda: usage_of(completion_tokens="12"),
    "nothing written": lambda: usage_of(completion_tokens=0),
    "nothing read": lambda: usage_of(prompt_tokens=0),
    "a redirect": lambda: replace(status(307), headers={"location": "http://elsewhere.example/"}),
}
DEAR: dict[str, Callable[[], Fault]] = {
    "too large a usage": lambda: dear(900),
    "more choices": lambda: edited(more_choices, billed=True),
}


@dataclass(slots=True)
class Spending:
    """What a schedule spent: as told, and as the server's ledger has it."""

    told: Spent
    server: OpenAIServer
    limits: Options
    cut_off: bool
    """Whether its limit stopped it, and nothing else."""

    @property
    def usd(self) -> float:
        return float(cost(PRICE, self.server.charged))

    @property
    def calls(self) -> int:
        return sum(seen.n for seen in self.server.requests if seen.charged.tokens)


def spend(
    chance: random.Random, fault: Callable[[Seen], Fault | None], *, rows: int, k: int, **options: Any
) -> Spending:
    """So many rows of so many calls at the same time; `cancel` after so many requests."""
    waiting = FakeTime()
    cancel, retries = options.pop("cancel", None), options.pop("retries", 2)
    batch = options.pop("batch", 1)
    lengths = random.Random(chance.random())

    def answer(body: Body, index: int) -> str:
        return (WORDS * 40)[: 4 * lengths.randint(1, 40)]  # half of `max_tokens` on average

    async def work(server: OpenAIServer) -> Spending:
        model = openai_model(
            "small",
            base_url=server.url,
            batch=batch,
            price=PRICE,
            retries=retries,
            timeout_s=1.0,
            sleep=waiting.sleep,
            clock=waiting.clock,
        )
        limits = Options(model=model, level=1, cache=None, **options)
        async with Session(compile(PROGRAM, "money.got"), limits) as session:
            runs = [asyncio.create_task(session.run({"n": row, "k": k})) for row in range(rows)]
            for _ in range(10_000 if cancel is not None else 0):
                if len(server.requests) >= cancel or all(run.done() for run in runs):
                    break
                await asyncio.sleep(0.001)
            for run in runs if cancel is not None else ():
                run.cancel()
            found = await asyncio.gather(*runs, return_exceptions=True)
            for one in found:
                assert isinstance(one, Result | RunError | asyncio.CancelledError), one
            reasons = [one.partial or "" for one in found if isinstance(one, Result)]
            cut_off = any("does not allow the next request" in reason for reason in reasons)
            return Spending(session.spent, server, limits, cut_off)

    with OpenAIServer(answer, faults=fault) as server:
        return asyncio.run(work(server))


@pytest.mark.parametrize("seed", range(times(16)))
def test_no_schedule_exceeds_a_limit_or_underreports_charges(seed: int) -> None:
    chance = random.Random(seed)
    ways = {**WAYS, **(DEAR if seed % 4 == 3 else {})}
    kinds = chance.sample(sorted(ways), chance.randint(1, 6))
    share, excess = chance.choice([0.05, 0.2, 0.5]), [Fraction(0), 0]

    def fault(seen: Seen) -> Fault | None:
        if chance.random() >= share:
            return None
        kind = chance.choice(kinds)
        if kind in DEAR:
            # A request that has one answer reads less than 100 tokens and writes at most 40.
            excess[0] += Fraction(900 * seen.n, 1000)
            excess[1] += 1
        return ways[kind]()

    rows, k = chance.randint(1, 6), chance.randint(1, 12)
    options: dict[str, Any] = {"concurrency": chance.choice([1, 3, 64]), "retries": chance.randint(0, 3)}
    options["batch"] = chance.choice([1, 4])
    if chance.random() < 0.8:
        options["max_usd"] = round(rows * k * 0.035 * chance.random(), 6)
    if chance.random() < 0.5:
        options["max_calls"] = chance.randrange(rows * k + 1)
    if chance.random() < 0.3:
        options["cancel"] = chance.randrange(1, rows * k + 1)
    found = spend(chance, fault, rows=rows, k=k, **options)
    told, usd, calls = found.told, found.usd, found.calls
    assert told.usd is not None and told.uncertain_usd is not None
    # What a request was charged above its maximum, and nothing else, may cross a limit, and be told too late.
    if "max_usd" in options:
        assert usd <= options["max_usd"] + excess[0] + 1e-9
    if "max_calls" in options:
        assert calls <= options["max_calls"] + excess[1]
    assert told.usd <= usd + 1e-9
    assert usd <= told.usd + told.uncertain_usd + excess[0] + 1e-9
    assert calls <= told.calls + told.uncertain_calls


@pytest.mark.parametrize("seed", range(times(5)))
def test_at_least_85_percent_of_a_limit_are_used_where_5_percent_of_the_calls_are_lost(seed: int) -> None:
    chance = random.Random(seed)
    lost = [dropped, half_body, lambda: gateway(504), lambda: stalled(30.0)]
    # Of 240 calls that need about $7: what is left at the end is less than the maximum of one call.
    limit = chance.choice([1.0, 2.0, 4.0])
    found = spend(
        chance,
        lambda seen: chance.choice(lost)() if chance.random() < 0.05 else None,
        rows=6,
        k=40,
        max_usd=limit,
        batch=chance.choice([1, 8]),
    )
    assert found.cut_off
    assert found.told.usd is not None and found.told.uncertain_usd is not None
    assert found.usd <= limit
    assert found.told.usd + found.told.uncertain_usd >= 0.85 * limit


@pytest.mark.parametrize("seed", range(4))
def test_refusals_by_chance_do_not_hold_up_a_budget(tmp_path: Path, seed: int) -> None:
    """One model serves several runs, each in an event loop of its own. How long they wait is chance: 26
    seconds as a rule, 160 once in a hundred times, 6,340 where requests stayed as far apart as ever."""
    chance = random.Random(seed)
    waiting = FakeTime()
    with OpenAIServer(
        lambda body, index: "7", faults=lambda seen: status(429) if chance.random() < 0.4 else None
    ) as server:
        model = openai_model(
            "small", base_url=server.url, batch=1, price=PRICE, sleep=waiting.sleep, clock=waiting.clock
        )
        vote(tmp_path)
        options = Options(model=model, params={"tries": 9}, level=1, max_usd=30.0)
        program = load(tmp_path / "vote.got")
        for number in range(6):
            program.run(question=f"what is {number}?", options=options)
    assert server.statuses[200] == 54
    assert waiting.now < 1200


# Whole commands, and what they report


def folder_of_votes(folder: Path) -> tuple[str, ...]:
    """A folder with a program, data and prices; arguments for all commands."""
    vote(folder)
    (folder / "q.csv").write_text("question,truth\n" + "".join(f"what is {i}?,7\n" for i in range(6)))
    (folder / "p.toml").write_text("[small]\ninput_per_million = 1000\noutput_per_million = 1000\n")
    return ("--model", "openai:small", "--prices", "p.toml", "-O", "1", "--json", "--no-batching")


@pytest.mark.parametrize(("command", "code"), [("run", 504), ("run", 429), ("eval", 408)])
def test_charged_errors_cross_no_limit_of_a_command(tmp_path: Path, command: str, code: int) -> None:
    more = folder_of_votes(tmp_path)
    of = ["--input", "question=why"] if command == "run" else ["--data", "q.csv"]
    # The only status that is free at an endpoint that nobody knows.
    fault = status(429) if code == 429 else gateway(code)
    chance = random.Random(code)
    with OpenAIServer(
        lambda body, index: "7", faults=lambda seen: fault if chance.random() < 0.25 else None
    ) as server:
        limit = 0.2 if command == "run" else 0.3
        done = gotc(
            command, "vote.got", *of, "--set", "tries=9", *more,
            "--base-url", server.url, "--max-usd", str(limit), cwd=tmp_path, OPENAI_API_KEY="k",
        )  # fmt: skip
        spent = json.loads(done.stdout)["spent"]
    usd = float(cost(PRICE, server.charged))
    assert usd <= limit
    assert spent["usd"] - 1e-9 <= usd <= spent["usd"] + spent["uncertain_usd"] + 1e-9
    assert (spent["uncertain_calls"] > 0) is (code != 429)
    assert (spent["free_calls"] > 0) is (code == 429)
    if command == "run":
        assert ("uncertain" in done.stderr) is (code != 429)
        shown = gotc("show", "last", cwd=tmp_path).stdout
        assert ("uncertain: at most $" in shown) is (code != 429)
        (line,) = json.loads(gotc("runs", "--json", cwd=tmp_path).stdout)["runs"]
        assert {name: spent[name] for name in line["spent"]} == line["spent"]
    else:
        assert (f"uncertain: at most {dollars(spent['uncertain_usd'])} more" in done.stderr) is (code != 429)


def test_an_interrupted_run_tells_what_was_under_way(tmp_path: Path) -> None:
    more = folder_of_votes(tmp_path)
    with OpenAIServer(lambda body, index: "7", faults=lambda seen: stalled(30.0)) as server:
        run = ("run", "vote.got", "--input", "question=why", "--set", "tries=3", *more)
        process = start(*run, "--base-url", server.url, cwd=tmp_path, OPENAI_API_KEY="k")
        deadline = time.monotonic() + 60
        while len(server.requests) < 3 and time.monotonic() < deadline:
            time.sleep(0.02)
        for _ in range(2):
            process.send_signal(signal.SIGINT)
            time.sleep(0.5)
        assert process.wait(20) == 130
        process.communicate()
    (line,) = json.loads(gotc("runs", "--json", cwd=tmp_path).stdout)["runs"]
    assert line["state"] == "interrupted"
    assert (line["spent"]["calls"], line["spent"]["uncertain_calls"]) == (0, 3)
    assert line["spent"]["uncertain_usd"] >= float(cost(PRICE, server.charged)) > 0
