"""Conditions on an evaluation, as in `--fail-if 'mean(mistakes) > 2'`, written as expressions of the
language.

In them `score` (also by its own name), `correct`, `cost`, `calls`, `seconds` and the metrics of the program
are lists with a number for each row that has it; `failed`, `invalid`, `partial` and `rows` count runs and
rows.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, final

from gotlang.diagnostics import Diagnostic, suggestion
from gotlang.errors import EvaluationError, RunError, UsageError
from gotlang.evaluate.evaluation import Evaluation
from gotlang.evaluate.runs import METRICS
from gotlang.ir.evaluate import evaluate
from gotlang.metric import BUILT_IN, ScoreKind
from gotlang.semantics.builtins import BUILTINS, CONSTANTS
from gotlang.span import Source
from gotlang.syntax.expressions import Call, Compare, Comprehension, Expression, Reference
from gotlang.syntax.parse import parse_expression
from gotlang.syntax.walk import walk

COUNTS = ("failed", "invalid", "partial", "rows")
_SAMPLES = (([0.5, 1.0] * 1000, 1), ([0.0] * 2000, 0), ([2.0, 3.0, 7.0] * 1000, 5), ([1.0], 1))
"""Values of rows, and counts, on which a condition is tried; if it has a value for none it is invalid."""
_RIGHT = "`GroundTruth()` in the scheme defines the right answer; `--map truth=COLUMN` maps the known answers"


@final
@dataclass(frozen=True, slots=True)
class Threshold:
    """A condition, as text and parsed."""

    text: str
    condition: Expression

    def crossed(self, evaluation: Evaluation) -> bool:
        """Whether the condition is true. Raises RunError if it has no value, for example if all rows
        failed."""
        names = _names(evaluation)
        try:
            return bool(evaluate(self.condition, names))
        except EvaluationError as error:
            used = [node.name for node in walk(self.condition) if isinstance(node, Reference)]
            empty = next((name for name in used if names.get(name) == []), None)
            why = error.message if empty is None else f"no row has `{empty}`"
            help = _RIGHT if empty == "correct" else None
            raise RunError(f"cannot evaluate `{self.text}`: {why}", help=help) from None


def threshold(text: str, kind: ScoreKind, metrics: Collection[str] = ()) -> Threshold:
    """Parse a condition; `metrics` are more names in it.

    Raises UsageError if it is invalid, or names an unknown metric.
    """
    found = parse_expression(Source.of("--fail-if", text))
    if isinstance(found, Diagnostic):
        raise UsageError(f"`{text}` is not a condition: {found.message}", help=found.help)
    measured = {*METRICS, *metrics, kind.name}
    known = {*COUNTS, *measured}
    local = {name.text for node in walk(found) if isinstance(node, Comprehension) for name in node.names}
    for node in walk(found):
        match node:
            case Reference(name=name) if name not in known | local and name not in CONSTANTS:
                if name in BUILT_IN:
                    raise UsageError(f"`{text}`: `{name}` is not measured", help=f"add `--metrics {name}`")
                raise _unknown(text, "value", name, known)
            case Call(function=function) if function.text not in BUILTINS:
                raise _unknown(text, "function", function.text, set(BUILTINS))
    # Try it on made-up numbers, so that an invalid condition is reported before anything is spent.
    why = ""
    lists = [
        part.name
        for node in walk(found)
        if isinstance(node, Compare)
        for part in (node.first, *(part for _, part in node.rest))
        if isinstance(part, Reference) and part.name in measured
    ]
    for numbers, number in _SAMPLES:
        names: dict[str, Any] = {name: [*numbers] for name in measured}
        try:
            value = evaluate(found, {**names, **dict.fromkeys(COUNTS, number)})
        except EvaluationError as error:
            why = f": {error.message}"  # with other numbers it may have a value
            continue
        if isinstance(value, bool):
            return Threshold(text, found)
        why = ""
        break
    if lists:
        why = f": `{lists[0]}` is a list with a number for each row"
    help = f"compare with a number, as in `mean({[*lists, 'score'][0]}) > 2`"
    raise UsageError(f"`{text}` is not a condition{why}", help=help)


def _names(evaluation: Evaluation) -> dict[str, Any]:
    names: dict[str, Any] = {name: list(evaluation.values(name).values()) for name in evaluation.metrics}
    names[evaluation.kind.name] = names["score"]
    states = evaluation.tally.states()
    invalid = evaluation.tally.invalid_runs
    counts = {"failed": states["failed"], "invalid": invalid, "partial": states["partial"]}
    return {**names, "rows": evaluation.row_count, **counts}


def _unknown(text: str, what: str, name: str, known: set[str]) -> UsageError:
    hint = suggestion(name, known) or f"there are {', '.join(sorted(known))}"
    return UsageError(f"`{text}`: unknown {what} `{name}`", help=hint)
