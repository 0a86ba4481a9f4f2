"""What a run is worth to a study: its objectives and the quantities of its constraints, as numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, final

from gotlang.errors import EvaluationError, RunError, UsageError
from gotlang.ir.evaluate import Evaluator
from gotlang.ir.program import Program
from gotlang.runtime.outcome import Outcome
from gotlang.semantics.studies import BASELINE
from gotlang.statistics import bounded
from gotlang.syntax import expressions as e
from gotlang.tune.plan import Constraint, Plan
from gotlang.tune.rows import Row

PROCESS = 1
"""The account that says what a run costs by itself: equal calls in it are paid once, and nothing before
it."""

OF_RESULTS = frozenset({"result", "score", "latency"})
PAID = frozenset({"cost", "calls"})
"""What a run without a result has none of, and what it may have spent all the same. Bounds count the latter;
an aim counts such a run as `failed` says, or else what fails early would be cheap and so good."""


@final
@dataclass(frozen=True, slots=True)
class Measured:
    """One run of one row. `objectives` are None where the run ended without a result, `quantities` are
    those of the constraints. `usd` is None where a price is not known; a run without a result was paid for
    too. `notes` and `unanswered`, how many answers the model was asked for and did not give, are not kept."""

    objectives: tuple[float | None, ...]
    quantities: tuple[float | None, ...]
    usd: float | None
    seconds: float
    calls: int
    failure: str | None = None
    notes: tuple[str, ...] = ()
    unanswered: int = 0

    def as_json(self) -> list[Any]:
        """As records keep it."""
        return [
            list(self.objectives),
            list(self.quantities),
            self.usd,
            self.seconds,
            self.calls,
            self.failure,
        ]

    @classmethod
    def of_json(cls, given: Sequence[Any]) -> Measured:
        """Read back."""
        objectives, quantities, *rest = given
        return cls(tuple(objectives), tuple(quantities), *rest)


@final
class Metric:
    """Measures runs of a plan. `functions` are what its program imports from Python."""

    def __init__(self, plan: Plan, program: Program, functions: Mapping[str, Callable[..., Any]]) -> None:
        self.plan = plan
        self._evaluate = Evaluator({score.name: score for score in program.scores}, functions)

    def measure(self, row: Row, outcome: Outcome | None, failed: RunError | None = None) -> Measured:
        """What a run gave. Without an outcome it failed. Raises UsageError where a quantity has no value."""
        ended = outcome if outcome is not None or failed is None else failed.outcome
        account = ended.ledger.accounts[PROCESS] if ended is not None else None
        unknown = OF_RESULTS if account is not None else OF_RESULTS | PAID
        names: dict[str, Any] = {
            **row.inputs,
            "cost": account.usd if account is not None else None,
            "calls": account.calls if account is not None else 0,
            "latency": outcome.times[PROCESS] if outcome is not None else 0.0,
            "right": float(bool(outcome.truth)) if outcome is not None else 0.0,
            "failures": float(outcome is None),
            "result": outcome.value if outcome is not None else None,
            "score": outcome.score if outcome is not None else None,
            "truth": row.truth,
        }
        objectives: list[float | None] = []
        for objective in self.plan.objectives:
            if outcome is None and _looks_at(OF_RESULTS | PAID, objective.expression):
                objectives.append(self.plan.failed)
            else:
                objectives.append(self._number(objective.expression, names, objective.text, row.number))
        quantities = [
            None
            if outcome is None and _looks_at(unknown, constraint.quantity)
            else self._number(constraint.quantity, names, constraint.text, row.number)
            for constraint in self.plan.constraints
        ]
        return Measured(
            tuple(objectives),
            tuple(quantities),
            account.usd if account is not None else 0.0,
            outcome.times[PROCESS] if outcome is not None else 0.0,
            account.calls if account is not None else 0,
            failed.message if failed is not None else None,
            tuple(f.reason for f in outcome.failures[:3]) if outcome is not None else (),
        )

    def _number(self, node: e.Expression, names: Mapping[str, Any], text: str, row: int) -> float:
        try:
            found = self._evaluate(node, names)
            if found is not None and math.isfinite(number := bounded(found)):
                return number
            why = "the result was not scored" if names["score"] is None else f"it is {found}"
        except (EvaluationError, TypeError) as error:
            why = str(error)
        if names["cost"] is None and _looks_at(frozenset({"cost"}), node):
            raise UsageError(
                f"`{text}` cannot be known: the model's price is not known",
                help="give it in a file with `--prices`",
            )
        raise UsageError(f"`{text}` has no value for row {row} of the data: {why}")


def _looks_at(names: frozenset[str], node: e.Expression) -> bool:
    from gotlang.ir.names import free_names

    return bool(free_names(node).keys() & names)


def bound(constraint: Constraint, baseline: float) -> float:
    """The bound of a constraint where the untuned program's quantity is `baseline`. Raises UsageError for one
    that has no value."""
    from gotlang.ir.evaluate import evaluate

    try:
        return bounded(evaluate(constraint.bound, {BASELINE: baseline}))
    except EvaluationError as error:
        where = f"where the baseline is {baseline:g}"
        raise UsageError(f"the bound of `{constraint.text}` has no value {where}: {error.message}") from None


def excess(constraint: Constraint, quantity: float, baseline: float) -> float:
    """By how much a constraint is broken; 0 or less where it holds."""
    over = quantity - bound(constraint, baseline)
    over = -over if constraint.least else over
    return over + 1e-12 if constraint.strict else over


def mean(values: Sequence[float | None]) -> float | None:
    """The mean of those that are known; None where none is."""
    known = [value for value in values if value is not None]
    return fmean(known) if known else None
