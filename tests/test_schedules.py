"""One of the random schedules of `tests/schedules.py`; all of them in `benchmarks/data/schedules.jsonl`."""

from __future__ import annotations

import json

from tests.schedules import RESULTS, hold, starter


def test_the_limit_holds_in_a_schedule() -> None:
    with starter() as starting:
        hold(1000, starting)


def test_it_held_in_those_that_were_run() -> None:
    lines = [json.loads(line) for line in RESULTS.read_text().splitlines()]
    assert all(one["charged"] <= one["counted"] <= one["limit"] and one["use"] >= 0.85 for one in lines)
    assert [one["seed"] for one in lines] == list(range(len(lines)))
    assert {one["database"] for one in lines} == {"sqlite", "postgresql"}
