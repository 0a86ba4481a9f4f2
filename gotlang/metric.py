"""How a result is scored: against the inputs of its scheme, never against those of a step inside it.

The score of a result is the first of these that a program has (docs/results.md):

1. a `Score` step of the scheme's own body, or of another scheme with its inputs, that takes thoughts of the
   result's type, calls no model and uses only `it`, the inputs and params: `Score() mistakes(it, numbers)`
   (a `repeat` and a labelled block belong to the body, a `foreach` and a `reduce` do not);
2. a declared score that calls no model, with the result as its first parameter and the scheme's inputs, by
   name and type, as the others (at least one), if there is exactly one such score;
3. the score that the result itself has from the scheme's last `Score`, if that uses only the inputs, though
   it may call a model, and only steps that judge and choose follow it.

Without any of them the score of a result is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, final

from msgspec import Struct

from gotlang.diagnostics import suggestion
from gotlang.errors import EvaluationError, UsageError
from gotlang.ir import program as ir
from gotlang.ir.evaluate import Evaluator
from gotlang.ir.program import Program, Scheme
from gotlang.operations import record_of
from gotlang.operations.names import free_names
from gotlang.scope import THOUGHT_FUNCTIONS
from gotlang.semantics.metrics import TRUTH, misfit
from gotlang.span import NOWHERE
from gotlang.syntax.expressions import Argument, Call, Compare, Constant, Expression, Identifier, Reference
from gotlang.syntax.format import format_expression
from gotlang.syntax.walk import walk
from gotlang.types import ANY, STR, ListType, Type, accepts

_JUDGES = {"KeepBestN", "KeepValid", "Select", "Vote", "Validate", "GroundTruth"}
"""Operations that leave the score of a thought unchanged."""
LARGEST = 1e150
"""Larger values are clipped to this, so that sums and squares of many stay finite. Runaway responses, digit
after digit, yield scores that large."""


def bounded(value: float) -> float:
    """A whole number of any size, or a float, clipped to LARGEST on both sides; NaN stays."""
    return LARGEST if value > LARGEST else -LARGEST if value < -LARGEST else float(value)


@final
class ScoreKind(Struct, frozen=True):
    """A description of a score or another metric: its name in the program, whether lower is better, its
    arguments `of` as the program writes them, the `best` possible value, and the `worst` one, which a run
    without a result gets (None: unknown). Values of a `share` are 1 or 0, so that its mean is a share of the
    rows."""

    name: str = "score"
    lower: bool = False
    of: str = ""
    best: float | None = None
    worst: float | None = None
    share: bool = False


@final
class MetricScore(Struct, frozen=True):
    """The score of one result; `reason` says why it is missing."""

    value: float | None = None
    reason: str | None = None


@final
class Metric(Struct, frozen=True):
    """How results are scored: by `step` on the result and the inputs, or by the `own` score that the scheme
    computed. With neither, the program does not define a score, and `help` says what to write."""

    kind: ScoreKind
    step: ir.Score | None = None
    own: bool = False
    help: str | None = None

    @property
    def known(self) -> bool:
        """Whether the program defines how a result is scored."""
        return self.own or self.step is not None

    def score(
        self,
        own: float | None,
        value: Any,
        inputs: Mapping[str, Any],
        evaluate: Evaluator,
        params: Mapping[str, Any],
    ) -> MetricScore:
        """The score of a result, whose scheme scored it with `own`."""
        if self.step is None:
            missing = None if own is not None or not self.own else "the scheme gave the result no score"
            return MetricScore(own if self.own else None, missing)
        names = {**params, **inputs, "it": value}
        try:
            if self.step.score is None and self.step.value is not None:
                return MetricScore(bounded(evaluate(self.step.value, names)))
            given = {name: evaluate(argument, names) for name, argument in self.step.arguments}
            return MetricScore(
                bounded(evaluate(evaluate.scores[str(self.step.score)].value, {**params, **given}))
            )
        except EvaluationError as error:
            return MetricScore(reason=f"`{self.kind.name}` has no value: {error.message}")


def metric_of(program: Program, scheme: Scheme) -> Metric:
    """How the results of a scheme are scored."""
    step = None if scheme.many else local_score(program, scheme)
    if step is not None:
        return Metric(_kind(program, step), step)
    last = _last_score(program, scheme)
    if last is not None:
        return Metric(_kind(program, last), own=True)
    return Metric(ScoreKind(), help=_help(program, scheme))


# ---------------------------------------------------------------- declared and built-in metrics

RUN_METRICS = ("score", "correct", "cost", "tokens", "calls", "seconds")
"""The metrics of every run."""
BUILT_IN = {
    "f1": "F1 of the words of a text and of the known answer, as HotpotQA counts them",
    "exact_match": "whether a text is the known answer but for case, punctuation and articles",
    "accuracy": "whether the result is the known answer",
    "errors": "whether the result is not the known answer, or missing",
}
"""Metrics of results and known answers that need no declaration."""


def kind_of(metric: ir.MetricFunction) -> ScoreKind:
    """The description of a declared metric."""
    of = ", ".join(name for name, _ in metric.parameters)
    return ScoreKind(metric.name, metric.lower, of, metric.best, metric.failed, metric.share)


def metrics_of(program: Program, scheme: Scheme, names: Sequence[str] = ()) -> list[ir.MetricFunction]:
    """The metrics of results of a scheme: those with these names, including built-in ones, then the others
    that the program declares and that match the scheme.

    Raises UsageError for an unknown name, and for a metric that does not match the scheme.
    """
    declared = {metric.name: metric for metric in program.metrics}
    result: Type = ListType(scheme.result) if scheme.many else scheme.result
    out, usual = [], {*RUN_METRICS, metric_of(program, scheme).kind.name}
    for name in dict.fromkeys((*names, *declared)):
        if name in usual:
            continue
        metric = declared.get(name) or _built_in(name, result, scheme.truth)
        if metric is None:
            known = sorted({*declared, *BUILT_IN, *usual})
            hint = suggestion(name, known) or f"there are {', '.join(known)}"
            raise UsageError(f"no metric `{name}`", help=hint)
        wrong = misfit(metric.parameters, dict(scheme.parameters), result, scheme.truth)
        if wrong is None:
            out.append(metric)
        elif name in names:
            message = f"metric `{name}` does not fit scheme `{scheme.name}`: {wrong.why}"
            raise UsageError(message, help=wrong.help)
    return out


def looks_at_truth(metric: ir.MetricFunction) -> bool:
    """Whether a metric needs the known answer."""
    return TRUTH in dict(metric.parameters[1:])


def measure(
    metrics: Sequence[ir.MetricFunction],
    value: Any,
    inputs: Mapping[str, Any],
    truth: Any,
    evaluate: Evaluator,
    params: Mapping[str, Any],
) -> dict[str, MetricScore]:
    """The metrics of a result by name."""
    found = {}
    for metric in metrics:
        names = {**params, **inputs, TRUTH: truth, metric.parameters[0][0]: value}
        if looks_at_truth(metric) and truth is None:
            found[metric.name] = MetricScore(reason=NO_TRUTH)
            continue
        try:
            found[metric.name] = MetricScore(bounded(evaluate(metric.value, names)))
        except EvaluationError as error:
            found[metric.name] = MetricScore(reason=f"it has no value: {error.message}")
    return found


NO_TRUTH = "the row has no known answer (map its column with `--map truth=COLUMN`)"


def _built_in(name: str, result: Type, truth: Type) -> ir.MetricFunction | None:
    """A built-in metric of a result and a known answer of any types that it supports."""
    if name not in BUILT_IN:
        return None
    it, known = Reference(NOWHERE, "it"), Reference(NOWHERE, TRUTH)
    texts = name in ("f1", "exact_match")
    given = tuple(Argument(NOWHERE, None, each) for each in (it, known))
    value: Expression = (
        Call(NOWHERE, Identifier(NOWHERE, name), given)
        if texts
        else Compare(NOWHERE, it, (("!=" if name == "errors" else "==", known),))
    )
    types = (STR, STR) if texts else (result, truth)
    lower = name == "errors"
    parameters = (("it", types[0]), (TRUTH, types[1]))
    return ir.MetricFunction(name, parameters, lower, int(not lower), int(lower), name != "f1", value)


# ---------------------------------------------------------------- which score


def local_score(program: Program, like: Scheme) -> ir.Score | None:
    """A score of results that calls no model and uses only the inputs: a step, or a declared score."""
    scores = {score.name: score for score in program.scores}
    for step in _result_steps(program, like):
        if isinstance(step, ir.Score) and _known(program, like, _values(step)) and not _of_thoughts(step):
            declared = scores.get(step.score or "")
            if step.score is None or (declared is not None and not declared.body.steps):
                return step
    fitting = [score for score in program.scores if _matches(score, like)]
    if len(fitting) != 1 or like.many:
        return None
    first, *others = (name for name, _ in fitting[0].parameters)
    arguments = ((first, Reference(NOWHERE, "it")), *((name, Reference(NOWHERE, name)) for name in others))
    one = Constant(NOWHERE, 1)
    return ir.Score("", like.result, True, "", fitting[0].name, arguments, None, one, span=fitting[0].span)


def ground_truth(program: Program, like: Scheme) -> ir.GroundTruth | None:
    """A `GroundTruth` step of results that uses only the inputs and the known answer."""
    for step in _result_steps(program, like):
        if isinstance(step, ir.GroundTruth) and _known(program, like, [step.condition]):
            return step
    return None


def _result_steps(program: Program, like: Scheme) -> Iterator[ir.Step]:
    """Steps of this scheme, and of others with its inputs, whose output could be a result."""
    alike = [s for s in program.schemes if s.parameters == like.parameters and s.name != like.name]
    for scheme in (like, *alike):
        for step in _own_steps(scheme.body):
            if step.type == like.result:
                yield step


def _own_steps(region: ir.Region) -> Iterator[ir.Step]:
    """The steps that take the whole input of a region: its own, and those in a `repeat` or a labelled
    block."""
    for step in region.steps:
        yield step
        if isinstance(step, ir.Repeat | ir.Block):
            yield from _own_steps(step.body)


def _matches(score: ir.ScoreFunction, scheme: Scheme) -> bool:
    """Whether a declared score takes a result of a scheme, and some of its inputs."""
    inputs = dict(scheme.parameters)
    (_, first), *others = score.parameters or ((None, None),)
    return (
        not score.body.steps
        and first is not None
        and bool(others)
        and accepts(first, scheme.result)
        and all(name in inputs and accepts(type_, inputs[name]) for name, type_ in others)
    )


def _last_score(program: Program, scheme: Scheme) -> ir.Score | None:
    """The `Score` of a scheme's own body that gives the result its score."""
    region, at = scheme.body, scheme.body.result
    while True:
        step = next((each for each in region.steps if each.result == at), None)
        if isinstance(step, ir.Repeat | ir.Block):
            region, at = step.body, step.body.result
        elif step is not None and record_of(step).name in _JUDGES:
            at = step.pool
        else:
            break
    return step if isinstance(step, ir.Score) and _known(program, scheme, _values(step)) else None


def _help(program: Program, scheme: Scheme) -> str | None:
    """How to change the program so that results have a score; None for a program without any score."""
    used = [step for step in program.steps if isinstance(step, ir.Score)]
    if not used:
        return None
    takes = {each.name: each.parameters for each in program.prompts}
    takes |= {each.name: each.parameters for each in program.scores}
    inputs, name = dict(scheme.parameters), used[-1].score or "quality"
    given = "".join(
        f", {_input(*each, inputs)}" for each in takes.get(name, ((name, ANY), *inputs.items()))[1:]
    )
    return f"end scheme `{scheme.name}` with a score against its inputs, such as `Score() {name}(it{given})`"


def _input(name: str, type_: Type, inputs: Mapping[str, Type]) -> str:
    """The input for a parameter of a score: the one with its name, otherwise the first of its type."""
    fitting = (each for each, known in inputs.items() if accepts(type_, known))
    return name if name in inputs else next(fitting, "...")


def _kind(program: Program, step: ir.Score) -> ScoreKind:
    declared = next((score for score in program.scores if score.name == step.score), None)
    of = ", ".join(map(format_expression, _values(step)))
    if declared is None:
        return ScoreKind(step.score or "score", of=of)
    return ScoreKind(declared.name, declared.lower, of, declared.best)


def _values(step: ir.Score) -> list[Expression]:
    return [value for _, value in step.arguments] + ([step.value] if step.value is not None else [])


def _of_thoughts(step: ir.Score) -> bool:
    """Whether a score uses more of a thought than its value, such as the model's confidence."""
    nodes = [node for value in _values(step) for node in walk(value)]
    return any(isinstance(node, Call) and node.function.text in THOUGHT_FUNCTIONS for node in nodes)


def _known(program: Program, like: Scheme, values: Sequence[Expression]) -> bool:
    """Whether expressions use only the thought, the inputs, the params and the known answer."""
    names = {"it", "truth", *dict(like.parameters), *(param.name for param in program.params)}
    return all(free_names(value).keys() <= names for value in values)


def steps(program: Program, scheme: Scheme) -> list[ir.Step]:
    """Every step of a scheme, of its blocks and of the schemes it calls, in the order of the text."""
    out: list[ir.Step] = []
    seen: set[str] = set()
    open_ = [scheme.body.all_steps()]
    while open_:
        if (step := next(open_[-1], None)) is None:
            open_.pop()
            continue
        out.append(step)
        if isinstance(step, ir.Invoke) and step.scheme not in seen:
            seen.add(step.scheme)
            open_.append(program.scheme(step.scheme).body.all_steps())
    return out
