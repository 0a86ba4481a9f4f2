"""Property of the passes: a program has the same result with and without them."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from support.generated import Generated, programs
from support.orders import compiled

from gotlang.ir.parse import from_text
from gotlang.ir.text import to_text
from gotlang.ir.verify import verify
from gotlang.result import Result

few = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def answer(result: Result) -> object:
    return result.value, result.score, result.ground_truth


@few
@given(programs())
def test_levels_give_the_same_answer(program: Generated) -> None:
    plain = program.try_run(level=0)
    for level in (1, 2):
        optimized = program.try_run(level=level)
        if isinstance(plain, Result):
            assert isinstance(optimized, Result), optimized
            assert answer(optimized) == answer(plain)
            assert calls(optimized) <= calls(plain)


@few
@given(programs())
def test_the_text_of_generated_programs_reads_back(program: Generated) -> None:
    for level in (0, 1, 2):
        ir = compiled(program.text).ir(level)
        verify(ir)
        assert from_text(to_text(ir)) == ir


def calls(result: Result) -> int:
    return result.outcome.ledger.accounts[0].calls
