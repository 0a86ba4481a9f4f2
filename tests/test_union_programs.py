"""Programs over alternatives, recursive types and optionals: what passes the check is right in each stage."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from support.answers import any_model, some_value

from gotlang.api import compile
from gotlang.ir.parse import from_text
from gotlang.ir.text import to_text
from gotlang.ir.verify import verify
from gotlang.options import Options
from gotlang.types import fits

TYPES, *PROGRAMS = (Path(__file__).parent / "support" / "union_programs.txt").read_text().split("---\n")


@pytest.mark.parametrize("text", PROGRAMS)
def test_a_program_that_passes_the_check_runs_at_each_level(text: str) -> None:
    program = compile(TYPES + text, "case.got")
    plain, best = program.ir(0), program.ir(2)
    for each in (plain, best):
        verify(each)
        assert from_text(to_text(each)) == each
    scheme = plain.scheme("main")
    for seed in range(3):
        inputs = {
            name: some_value(type_, random.Random(f"{seed} {name}")) for name, type_ in scheme.parameters
        }
        values = []
        for level in (0, 2):
            options = Options(model=any_model(plain, seed), level=level)
            values.append(program.run(inputs, scheme="main", options=options).value)
        assert values[0] == values[1]
        result = values[0] if isinstance(values[0], list) and scheme.many else [values[0]]
        assert [fits(scheme.result, value) for value in result] == [None] * len(result)
