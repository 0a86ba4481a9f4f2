"""The same result, the same graph and the same ledger, in whatever order things end."""

from __future__ import annotations

from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.generated import STAND_INS, Generated, programs
from support.orders import Delayed, everything, try_in_order

from gotlang.errors import RunError
from gotlang.models.simulated import SimulatedModel
from gotlang.result import Result
from gotlang.runtime.scheduler import SCHEDULERS

few = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))

limits = st.none() | st.integers(1, 100)


@few
@given(
    programs(), st.integers(0, 2**32), limits, st.sampled_from(sorted(SCHEDULERS)), st.sampled_from([0, 1, 2])
)
def test_order_changes_nothing(
    program: Generated, seed: int, limit: int | None, schedule: str, level: int
) -> None:
    def run(chance: Random | None, **options: object) -> Result | RunError:
        model = Delayed(SimulatedModel(STAND_INS), chance)
        return try_in_order(program.text, dict(program.inputs), model, truth=3, level=level, **options)

    plain = run(None, concurrency=1)
    other = run(Random(seed), concurrency=limit, schedule=schedule)
    if isinstance(plain, RunError):
        assert isinstance(other, RunError)
        return
    assert isinstance(other, Result), other
    assert everything(other) == everything(plain)
    paid, again = plain.outcome.ledger.paid, other.outcome.ledger.paid
    assert (again.calls, again.output_tokens) == (paid.calls, paid.output_tokens)
