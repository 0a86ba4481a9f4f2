"""Whole runs against an endpoint that misbehaves in every known way, and their reported spending."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.asking import openai_model
from support.gotc import SORT128, vote
from support.laws import times
from support.openai_server import (
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
from support.sorter import Sorter

from gotlang.api import Options, Program, Session, compile, load
from gotlang.errors import RunError
from gotlang.models.base import Price

ROWS = [random.Random(row).choices(range(10), k=128) for row in range(10)]
ANSWERS = 151
"""Of one row."""
TIMEOUT_S = 0.3
FASTER = 50.0
"""How much faster the time between requests passes."""
PRICE = Price(1.0, 1.0)


FAULTS: dict[str, Callable[[], Fault]] = {
    "429 with Retry-After": lambda: limited({"retry-after": "0.1"}),
    "429 without": limited,
    "500": lambda: status(500, "out of order"),
    "a closed connection": dropped,
    "half a body": half_body,
    "no JSON": lambda: raw("<html>gateway</html>"),
    "no choices": lambda: edited(lambda completion: completion.update(choices=[])),
    "a stall": lambda: stalled(60.0),
    "a slow trickle into a time-out": lambda: stalled(TIMEOUT_S * 1.5),
    "a wrong usage": lambda: edited(lambda completion: completion.update(usage={"prompt_tokens": -1})),
    "an unknown end": lambda: edited(
        lambda completion: [choice.update(finish_reason="bored") for choice in completion["choices"]]
    ),
}


@contextmanager
def hostile(sorter: Sorter, share: float, seed: int = 7) -> Iterator[OpenAIServer]:
    """A server of which this share of requests meets a fault, at most twice in a row. It also refuses
    `temperature` and `logprobs`."""
    chance = random.Random(seed)
    kinds = sorted(FAULTS)
    met: dict[str, int] = {}

    def faults(seen: Seen) -> Fault | None:
        key = seen.headers["idempotency-key"]
        if chance.random() >= share or met.get(key, 0) >= 2:
            return None
        met[key] = met.get(key, 0) + 1
        return FAULTS[kinds[sum(met.values()) % len(kinds)]]()

    with OpenAIServer(sorter, faults=faults, refuses=REFUSED, idempotent=True) as server:
        yield server


REFUSED = {"temperature", "logprobs"}


async def _briefly(seconds: float) -> None:
    await asyncio.sleep(seconds / FASTER)


def with_logprobs(monkeypatch: pytest.MonkeyPatch) -> Program:
    """sort128 that asks for log-probabilities as well."""
    monkeypatch.chdir(SORT128.parent)
    text = SORT128.read_text()
    return compile(text.replace("    temperature 1.0\n", "    temperature 1.0\n    logprobs true\n"))


def sorted_rows(server: OpenAIServer, program: Program, timeout_s: float = 60.0) -> list[dict[str, Any]]:
    """sort128 of all rows at the same time."""

    async def main() -> list[dict[str, Any]]:
        model = openai_model(
            "small",
            base_url=server.url,
            timeout_s=timeout_s,
            # On a busy machine good answers come late, too.
            retries=20,
            price=PRICE,
            period_s=1.0,
            sleep=_briefly,
            clock=lambda: FASTER * time.monotonic(),
        )
        options = Options(model=model, level=1)
        async with Session(program, options) as session:
            try:
                results = await asyncio.gather(*(session.run({"numbers": row}) for row in ROWS))
            finally:
                await model.close()
        return [result.to_dict() for result in results]

    return asyncio.run(main())


def assert_same(found: list[dict[str, Any]], good: list[dict[str, Any]]) -> None:
    """The same results of as many answers, and no call that failed."""
    for name in ("result", "score"):
        assert [row[name] for row in found] == [row[name] for row in good]
    assert all(row["failed"] == [] for row in found)
    assert [row["ledger"]["none"]["calls"] for row in found] == [ANSWERS] * len(ROWS)


def test_sort128_over_ten_rows_as_against_a_good_endpoint_and_no_answer_made_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = with_logprobs(monkeypatch)
    good_sorter = Sorter(by="place")
    with OpenAIServer(good_sorter) as server:
        good = sorted_rows(server, program)
    for seed in range(times(1)):
        sorter = Sorter(by="place")
        with hostile(sorter, 0.25, seed) as server:
            found = sorted_rows(server, program, TIMEOUT_S)
        assert_same(found, good)
        assert sorter.drawn == good_sorter.drawn
        assert sum(sorter.drawn.values()) == ANSWERS * len(ROWS)
        spent = [row["spent"]["calls"] + row["spent"]["uncertain_calls"] for row in found]
        assert sum(spent) >= sum(sorter.drawn.values())
        assert server.statuses[400] >= len(REFUSED)
        assert len([seen for seen in server.requests if seen.status != 200]) > 30
        # Whatever was sent is told (on a busy machine also what timed out on its way), and what may have been
        # charged for nothing too.
        assert sum(row["spent"]["requests"] for row in found) >= len(server.requests)
        assert sum(row["spent"]["uncertain_calls"] for row in found) > 10


def test_sort128_over_ten_rows_where_a_request_gets_three_answers_at_most() -> None:
    """For five it gets a 400, for four three without a word: the fourth was made, is charged, and cut off."""
    program = load(SORT128)
    with OpenAIServer(Sorter(by="text")) as server:
        good = sorted_rows(server, program)
    sorter = Sorter(by="text")
    with OpenAIServer(sorter, most=4, gives=3) as server:
        found = sorted_rows(server, program)
    assert_same(found, good)
    assert 0 < server.statuses[400] < 100
    cut_off = sum(max(0, seen.n - 3) for seen in server.requests if seen.status == 200)
    assert sum(sorter.drawn.values()) == ANSWERS * len(ROWS) + cut_off
    # Only of requests that were under way before the first of them told.
    assert 0 < cut_off <= ANSWERS
    tokens = [row["spent"][name] for row in found for name in ("input_tokens", "output_tokens")]
    assert sum(tokens) == server.charged.input_tokens + server.charged.output_tokens


def test_calls_that_failed_are_named_one_by_one(tmp_path: Path) -> None:
    vote(tmp_path)
    faults = [None, status(500, "first"), status(500, "second")]
    with OpenAIServer(lambda body, index: "7", faults=faults, refuses={"n"}) as server:
        model = openai_model("small", base_url=server.url, retries=0, batch=1)
        options = Options(model=model, params={"tries": 5}, concurrency=1, level=1)
        result = load(tmp_path / "vote.got").run(question="why", options=options)
    failed = result.to_dict()["failed"]
    assert result.value == 7
    assert [failure["sample"] for failure in failed] == [1, 2]
    assert ["first" in failed[0]["reason"], "second" in failed[1]["reason"]] == [True, True]


def limited_run(
    folder: Path, faults: list[Fault | None], **limits: Any
) -> tuple[dict[str, Any], OpenAIServer]:
    """A vote of nine, one request each, in order."""
    vote(folder)
    with OpenAIServer(lambda body, index: "7", faults=faults) as server:
        model = openai_model("small", base_url=server.url, batch=1, price=Price(1000.0, 1000.0), retries=1)
        options = Options(model=model, params={"tries": 9}, concurrency=1, level=1, **limits)
        found = load(folder / "vote.got").run(question="why", options=options).to_dict()
    return found, server


def test_a_budget_counts_what_a_lost_request_may_have_cost(tmp_path: Path) -> None:
    whole, _ = limited_run(tmp_path, [], max_usd=0.15)
    less, server = limited_run(tmp_path, [dropped(), None, dropped()], max_usd=0.15)
    assert whole["spent"]["calls"] > less["spent"]["calls"] > 0
    assert less["spent"]["uncertain_calls"] == 2
    charged = server.charged
    assert (charged.input_tokens + charged.output_tokens) / 1000 <= 0.15
    assert less["partial"] is not None


def test_a_limit_of_answers_counts_lost_ones(tmp_path: Path) -> None:
    found, server = limited_run(tmp_path, [dropped()], max_calls=5)
    assert found["spent"]["calls"] == 4
    assert len(server.requests) == 5


@pytest.mark.parametrize("code", [408, 500, 502, 503, 504, 529])
def test_a_status_after_the_work_was_done_counts_as_charged(tmp_path: Path, code: int) -> None:
    faults = [gateway(code), None, gateway(code)]
    found, server = limited_run(tmp_path, [*faults], max_calls=5)
    assert sum(1 for seen in server.requests if seen.charged.tokens) <= 5
    assert found["spent"]["uncertain_calls"] == 2
    found, server = limited_run(tmp_path, [*faults], max_usd=0.15)
    assert server.charged.tokens / 1000 <= 0.15


def test_a_request_that_was_turned_away_is_free(tmp_path: Path) -> None:
    found, _ = limited_run(tmp_path, [status(429), None], max_calls=5)
    assert found["spent"]["calls"] == 5
    assert found["spent"]["uncertain_calls"] == 0


def test_a_failed_run_says_what_went_over_the_wire(tmp_path: Path) -> None:
    vote(tmp_path)
    with OpenAIServer(faults=lambda seen: half_body()) as server:
        model = openai_model("small", base_url=server.url, batch=1, retries=1)
        options = Options(model=model, params={"tries": 1}, cache=None)
        with pytest.raises(RunError) as caught:
            load(tmp_path / "vote.got").run(question="why", options=options)
    assert len(server.requests) == 2
    assert "after 2 requests" in str(caught.value)
    assert "may have been charged without a response: 2" in json.dumps(str(caught.value))
