"""How results of a scheme are scored, from the result and the inputs alone.

A scheme's own score may be of something else: the last `Score` of a graph that merges parts compares with
those parts, mistakes in them included. If a scheme with the same inputs scores a result by nothing but the
inputs, as in `Score() mistakes(it, numbers)`, results of all of them are scored so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from gotlang.errors import EvaluationError
from gotlang.evaluate.rows import Row, steps
from gotlang.ir import program as ir
from gotlang.ir.evaluate import Evaluator
from gotlang.ir.program import Program, Scheme
from gotlang.operations.names import free_names
from gotlang.scope import THOUGHT_FUNCTIONS
from gotlang.statistics import bounded
from gotlang.syntax.expressions import Call, Expression
from gotlang.syntax.format import format_expression
from gotlang.syntax.walk import walk


@final
@dataclass(frozen=True, slots=True)
class ScoreKind:
    """What a score is: its name in the program, whether lower is better, its arguments `of` as the program
    writes them, and the `best` possible value (None: unknown)."""

    name: str = "score"
    lower: bool = False
    of: str = ""
    best: float | None = None


@final
@dataclass(frozen=True, slots=True)
class Metric:
    """How results are scored: by `step` of the program, or without one by the scheme's own score."""

    kind: ScoreKind
    step: ir.Score | None = None

    def score(
        self, own: float | None, value: Any, row: Row, evaluate: Evaluator, params: Mapping[str, Any]
    ) -> float | None:
        """The score of a result, whose scheme scored it with `own`; None if it has none."""
        if self.step is None:
            return own
        names = {**params, **row.inputs, "it": value}
        try:
            if self.step.score is None and self.step.value is not None:
                return bounded(evaluate(self.step.value, names))
            given = {name: evaluate(argument, names) for name, argument in self.step.arguments}
            return bounded(evaluate(evaluate.scores[str(self.step.score)].value, {**params, **given}))
        except EvaluationError:
            return None


def metric_of(program: Program, scheme: Scheme) -> Metric:
    """How the results of a scheme are scored: from the inputs if the program says how, else by itself."""
    found = None if scheme.many else local_score(program, scheme)
    if found is not None and not _of_thoughts(found):
        return Metric(_kind(program, found), found)
    own = [step for step in steps(program, scheme) if isinstance(step, ir.Score)]
    return Metric(_kind(program, own[-1]) if own else ScoreKind())


def _kind(program: Program, step: ir.Score) -> ScoreKind:
    declared = next((score for score in program.scores if score.name == step.score), None)
    of = ", ".join(map(format_expression, _values(step)))
    if declared is None:
        return ScoreKind(step.score or "score", of=of)
    return ScoreKind(declared.name, declared.lower, of, declared.best)


def _values(step: ir.Score) -> list[Expression]:
    return [value for _, value in step.arguments] + ([step.value] if step.value is not None else [])


def _of_thoughts(step: ir.Score) -> bool:
    """Whether a score looks at more of a thought than its value, such as the model's confidence."""
    nodes = [node for value in _values(step) for node in walk(value)]
    return any(isinstance(node, Call) and node.function.text in THOUGHT_FUNCTIONS for node in nodes)


def _result_steps(program: Program, like: Scheme) -> Iterator[ir.Step]:
    """Steps of this scheme and of others with its inputs, whose output could be a result."""
    alike = [s for s in program.schemes if s.parameters == like.parameters and s.name != like.name]
    for scheme in (like, *alike):
        for step in scheme.body.steps:
            if step.type == like.result:
                yield step


def local_score(program: Program, like: Scheme) -> ir.Score | None:
    """A `Score` step of results that asks no model and looks at nothing but the inputs."""
    scores = {score.name: score for score in program.scores}
    for step in _result_steps(program, like):
        if not isinstance(step, ir.Score) or (step.score is not None and step.score not in scores):
            continue
        local = step.score is None or not scores[step.score].body.steps
        if local and _known(program, like, _values(step)):
            return step
    return None


def ground_truth(program: Program, like: Scheme) -> ir.GroundTruth | None:
    """A `GroundTruth` step of results that looks at nothing but the inputs and the known answer."""
    for step in _result_steps(program, like):
        if isinstance(step, ir.GroundTruth) and _known(program, like, [step.condition]):
            return step
    return None


def _known(program: Program, like: Scheme, values: Sequence[Expression]) -> bool:
    """Whether expressions look at nothing but the thought, the inputs, the params and the known answer."""
    names = {"it", "truth", *dict(like.parameters), *(param.name for param in program.params)}
    return all(free_names(value).keys() <= names for value in values)
