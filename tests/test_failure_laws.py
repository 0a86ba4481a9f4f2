"""Laws of failure: programs with `try`, `skip` and retries, whose models fail by plan."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st
from support.generated import SIMULATORS, Generated, programs
from support.laws import tried
from support.orders import Delayed, compiled, try_in_order
from support.plans import Failing

from gotlang.api import Options
from gotlang.cache.memory import MemoryCache
from gotlang.errors import RunError
from gotlang.ir.parse import from_text
from gotlang.ir.text import to_text
from gotlang.ir.verify import verify
from gotlang.models.simulated import SimulatedModel
from gotlang.result import Result

SHARES = st.sampled_from([0.0, 0.1, 0.4, 1.0])
KINDS = ("rubbish", "refusal")
LIMITS = st.none() | st.integers(1, 6)


def answer(found: Result | RunError) -> object:
    return (found.value, found.score, found.ground_truth) if isinstance(found, Result) else None


@tried(15)
@given(programs(trying=True), st.integers(0, 2**32), SHARES, LIMITS, st.sampled_from([0, 1, 2]))
def test_the_result_does_not_depend_on_what_ends_first(
    program: Generated, seed: int, share: float, limit: int | None, level: int
) -> None:
    found = []
    for order in (None, 1, 2):
        chance = Random(order) if order is not None else None
        kinds = ("error", "refusal", "rubbish", "blank")
        model = Failing(SimulatedModel(SIMULATORS), chance, seed=seed, share=share, kinds=kinds)
        concurrency = limit if order else None
        found.append(
            try_in_order(
                program.text, dict(program.inputs), model, truth=3, concurrency=concurrency, level=level
            )
        )
        assert model.under_way == 0
        if isinstance(found[-1], RunError):
            assert "internal error" not in found[-1].message, found[-1]
    assert answer(found[1]) == answer(found[0]) == answer(found[2])


@tried(15)
@given(programs(trying=True))
def test_levels_give_the_same_answer(program: Generated) -> None:
    plain = program.try_run(level=0)
    for level in (1, 2):
        optimized = program.try_run(level=level)
        if isinstance(plain, Result):
            assert answer(optimized) == answer(plain)
        ir = compiled(program.text).ir(level)
        verify(ir)
        assert from_text(to_text(ir)) == ir


@tried(15)
@given(programs(trying=True), st.integers(0, 2**32), SHARES, st.integers(0, 2**32))
def test_nothing_paid_is_lost_or_paid_again(program: Generated, seed: int, share: float, order: int) -> None:
    cache, paid = MemoryCache(), 0
    for chance in (Random(order), Random(order + 1), None):
        model = Failing(
            SimulatedModel(SIMULATORS), chance, seed=seed, share=share, kinds=("rubbish", "refusal")
        )
        found = try_in_order(program.text, dict(program.inputs), model, truth=3, cache=cache)
        outcome = found.outcome
        assert outcome is not None
        paid += outcome.ledger.spent.calls
        assert sum(entry.samples for entry in cache.entries()) == paid


@tried(15)
@given(programs(trying=True), st.integers(0, 2**32), SHARES)
def test_what_fails_costs_no_more_than_the_bounds(program: Generated, seed: int, share: float) -> None:
    options = Options(model=SimulatedModel(SIMULATORS))
    estimate = compiled(program.text).explain(program.inputs, options=options, simulate=False)
    for level, prefer, costs in (
        (1, "cost", estimate.costs),
        (2, "cost", estimate.early),
        (2, None, estimate.at_once),
        (2, "latency", estimate.ahead),
    ):
        model = Failing(SimulatedModel(SIMULATORS), seed=seed, share=share, kinds=("rubbish", "blank"))
        found = try_in_order(program.text, dict(program.inputs), model, truth=3, level=level, prefer=prefer)
        outcome = found.outcome
        assert outcome is not None
        spent = outcome.ledger.spent
        for most, was in (
            (costs.calls.high, spent.calls),
            (costs.requests.high, spent.requests),
            (costs.critical_path.high, outcome.hops),
        ):
            assert most is None or was <= most


@tried(15)
@given(programs(trying=True), st.integers(0, 2**32), st.integers(0, 6), LIMITS)
def test_a_budget_is_not_handled(program: Generated, seed: int, calls: int, limit: int | None) -> None:
    whole = program.try_run(level=0)
    model = Delayed(SimulatedModel(SIMULATORS), Random(seed))
    found = try_in_order(
        program.text, dict(program.inputs), model, truth=3, level=0, max_calls=calls, concurrency=limit
    )
    if isinstance(found, Result) and found.partial is None:
        assert answer(found) == answer(whole)
    if isinstance(whole, Result) and whole.outcome.ledger.spent.calls <= calls:
        assert answer(found) == answer(whole)
