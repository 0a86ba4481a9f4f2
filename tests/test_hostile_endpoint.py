"""Whole runs against an endpoint that misbehaves in every way we know of, and what they say they paid."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.gotc import SORT128, vote
from support.openai_server import (
    Fault,
    OpenAIServer,
    Seen,
    dropped,
    edited,
    half_body,
    limited,
    raw,
    stalled,
    status,
)
from support.sorter import Sorter

from gotlang.api import Options, Session, load
from gotlang.errors import RunError
from gotlang.models.base import Price
from gotlang.models.openai import OpenAIModel

ROWS = [[random.Random(row).randrange(10) for _ in range(128)] for row in range(10)]
TIMEOUT_S = 1.0
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
def hostile(sorter: Sorter, share: float) -> Iterator[OpenAIServer]:
    """A server of which this share of requests meets a fault, at most twice in a row. It also refuses
    `temperature`."""
    chance = random.Random(7)
    kinds = sorted(FAULTS)
    met: dict[str, int] = {}

    def faults(seen: Seen) -> Fault | None:
        key = seen.headers["idempotency-key"]
        if chance.random() >= share or met.get(key, 0) >= 2:
            return None
        met[key] = met.get(key, 0) + 1
        return FAULTS[kinds[seen.number % len(kinds)]]()

    with OpenAIServer(sorter, faults=faults, refuses={"temperature"}, idempotent=True) as server:
        yield server


async def _briefly(seconds: float) -> None:
    """Waits between requests pass fifty times as fast."""
    await asyncio.sleep(seconds / 50)


def sorted_rows(server: OpenAIServer) -> list[dict[str, Any]]:
    """sort128 of all rows at the same time."""

    async def main() -> list[dict[str, Any]]:
        model = OpenAIModel(
            "small",
            base_url=server.url,
            timeout_s=TIMEOUT_S,
            price=PRICE,
            batch=3,
            period_s=1.0,
            sleep=_briefly,
        )
        options = Options(model=model, early_stop=False)
        async with Session(load(SORT128), options) as session:
            try:
                results = await asyncio.gather(*(session.run({"numbers": row}) for row in ROWS))
            finally:
                await model.close()
        return [result.as_json() for result in results]

    return asyncio.run(main())


def test_sort128_over_ten_rows_as_against_a_good_endpoint_and_no_answer_made_twice() -> None:
    good_sorter, sorter = Sorter(by_place=True), Sorter(by_place=True)
    with OpenAIServer(good_sorter, refuses={"temperature"}) as server:
        good = sorted_rows(server)
    with hostile(sorter, 0.25) as server:
        found = sorted_rows(server)
    assert [row["result"] for row in found] == [row["result"] for row in good]
    assert [row["score"] for row in found] == [row["score"] for row in good]
    assert all(row["failed"] == [] for row in found)
    assert sorter.drawn == good_sorter.drawn
    assert sum(sorter.drawn.values()) == sum(row["paid"]["calls"] for row in found) > 500
    troubled = [seen for seen in server.requests if seen.status != 200]
    assert len(troubled) > 30
    # Whatever was sent is told, and what may have been charged for nothing too.
    assert sum(row["paid"]["requests"] for row in found) == len(server.requests)
    assert sum(row["paid"]["lost"] for row in found) > 10


def test_calls_that_failed_are_named_one_by_one(tmp_path: Path) -> None:
    vote(tmp_path)
    faults = [None, status(500, "first"), status(500, "second")]
    with OpenAIServer(lambda body, index: "7", faults=faults, refuses={"n"}) as server:
        model = OpenAIModel("small", base_url=server.url, retries=0, batch=1)
        options = Options(model=model, params={"tries": 5}, concurrency=1, early_stop=False)
        result = load(tmp_path / "vote.got").run(question="why", options=options)
    failed = result.as_json()["failed"]
    assert result.value == 7
    assert [failure["draw"] for failure in failed] == [1, 2]
    assert ["first" in failed[0]["reason"], "second" in failed[1]["reason"]] == [True, True]


def limited_run(
    folder: Path, faults: list[Fault | None], **limits: Any
) -> tuple[dict[str, Any], OpenAIServer]:
    """A vote of nine, one request each, in order."""
    vote(folder)
    with OpenAIServer(lambda body, index: "7", faults=faults) as server:
        model = OpenAIModel("small", base_url=server.url, batch=1, price=Price(1000.0, 1000.0), retries=1)
        options = Options(model=model, params={"tries": 9}, concurrency=1, early_stop=False, **limits)
        found = load(folder / "vote.got").run(question="why", options=options).as_json()
    return found, server


def test_a_budget_counts_what_a_lost_request_may_have_cost(tmp_path: Path) -> None:
    whole, _ = limited_run(tmp_path, [], max_usd=0.15)
    less, server = limited_run(tmp_path, [dropped(), None, dropped()], max_usd=0.15)
    assert whole["paid"]["calls"] > less["paid"]["calls"] > 0
    assert less["paid"]["lost"] == 2
    charged = server.charged
    assert (charged.input_tokens + charged.output_tokens) / 1000 <= 0.15
    assert less["partial"] is not None


def test_a_limit_of_answers_counts_lost_ones(tmp_path: Path) -> None:
    found, server = limited_run(tmp_path, [dropped()], max_calls=5)
    assert found["paid"]["calls"] == 4
    assert len(server.requests) == 5


def test_a_failed_run_says_what_went_over_the_wire(tmp_path: Path) -> None:
    vote(tmp_path)
    with OpenAIServer(faults=lambda seen: half_body()) as server:
        model = OpenAIModel("small", base_url=server.url, batch=1, retries=1)
        options = Options(model=model, params={"tries": 1}, cache=None)
        with pytest.raises(RunError) as caught:
            load(tmp_path / "vote.got").run(question="why", options=options)
    assert len(server.requests) == 2
    assert "after 2 requests" in str(caught.value)
    assert "may have been charged without an answer: 2" in json.dumps(str(caught.value))
