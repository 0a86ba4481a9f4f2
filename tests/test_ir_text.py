"""The IR's text reads back: over all programs at every level, and over IR of every shape."""

from __future__ import annotations

import pytest
from hypothesis import given
from support import ir_programs

from benchmarks.schemes import PROGRAMS, program_of
from gotlang.errors import UsageError
from gotlang.ir import program as ir
from gotlang.ir.parse import from_text
from gotlang.ir.text import to_text

NAMES = [path.relative_to(PROGRAMS).with_suffix("").as_posix() for path in sorted(PROGRAMS.rglob("*.got"))]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("level", [0, 1, 2])
def test_the_text_of_a_program_reads_back(name: str, level: int) -> None:
    program = program_of(name).ir(level)
    assert from_text(to_text(program)) == program


@given(ir_programs.programs)
def test_the_text_of_any_ir_reads_back(program: ir.Program) -> None:
    text = to_text(program)
    assert from_text(text) == program
    assert to_text(from_text(text)) == text


def test_what_is_no_ir_is_refused_with_its_line() -> None:
    with pytest.raises(UsageError, match="line 2"):
        from_text('program "x"\nscheme nonsense\n')
    with pytest.raises(UsageError, match="not a type"):
        from_text('program "x"\nparam a: Unknown = 1\n')
