"""The page of the IR is enough to write an engine: one of 200 lines runs the listings with equal results."""

from __future__ import annotations

import json
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

from benchmarks.schemes import ROWS, Row, given, program_of
from gotlang.api import Options
from gotlang.runtime.sampler.events import Asked, Event, MissingSample
from tests.other_engine import Engine

ROOT = Path(__file__).parents[1]
LISTINGS = [row for row in ROWS if row.program.startswith("listings/")]
READERS = run_path(str(ROOT / "programs" / "readers.py"))


@pytest.mark.parametrize("row", LISTINGS, ids=lambda row: row.program)
def test_another_engine_runs_a_listing_with_the_same_result(row: Row) -> None:
    program, (inputs, _) = program_of(row.program), given(row)
    responses: dict[Any, str | None] = {}

    def record(event: Event) -> None:
        if isinstance(event, Asked):
            messages = tuple((m.role, m.content) for m in event.request.messages)
            for number, sample in zip(event.numbers, event.samples, strict=True):
                there = not isinstance(sample, MissingSample)
                responses[messages, number] = sample[0].completion.text if there else None

    options = Options(model="simulated", cache=None, level=0, observe=record, python=True)
    wanted = program.run(inputs, scheme=row.scheme, options=options)
    left = dict(responses)
    document = json.loads(program.ir_json(0))
    document["program"]["main"] = row.scheme
    # What it asks must be what was asked: the same messages under the same number, each once.
    found = Engine(document, lambda messages, number: left.pop((messages, number)), READERS).run(dict(inputs))
    assert json.dumps(found) == json.dumps(wanted.value)
    assert responses and left == {}


def test_it_is_short_and_knows_nothing_of_this_project() -> None:
    text = (ROOT / "tests" / "other_engine.py").read_text()
    code = [line for line in text.splitlines() if line.strip() and not line.strip().startswith(("#", '"""'))]
    assert len(code) <= 200
    assert "import gotlang" not in text and "from gotlang" not in text
