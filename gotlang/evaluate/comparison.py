"""Schemes compared on the same rows, with paired differences to a baseline, also at equal cost.

In addition to a program's own schemes, baselines are made from its prompts:

| name | scheme |
| --- | --- |
| `single` | one call of the first prompt with the scheme's inputs and result |
| `best-of-5` | the best scored of 5 samples of it, if the program scores results without calling a model |
| `vote-of-5` | the most frequent of 5 samples of it: self-consistency |
| `best-of-n`, `vote-of-n` | as many samples as the cost of the most expensive other scheme allows |

How a result is scored and compared with the known answer comes from the schemes with the same inputs.

At equal cost each cheaper scheme is repeated until it costs as much as the most expensive one, with another
seed each time, and the best result of a row counts: by its score, else the most frequent one. That shows
whether the same money is better spent on a larger scheme or on more samples. If nothing has a price, as with
a local model, tokens are compared instead of cost.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, final

from msgspec import structs

from gotlang.diagnostics import suggestion
from gotlang.errors import UsageError
from gotlang.evaluate.equal_cost import MOST_REPEATS, at_cost, repeated
from gotlang.evaluate.evaluation import (
    DEFAULT_MAX_FAILED,
    DEFAULT_PARALLEL,
    CostMetric,
    Engine,
    Evaluation,
    RowRun,
    cost_metric,
    evaluate,
    interval_dict,
)
from gotlang.evaluate.rows import Dataset
from gotlang.ir import program as ir
from gotlang.ir.lines import with_lines
from gotlang.ir.program import Program, Scheme
from gotlang.metric import ScoreKind, ground_truth, local_score
from gotlang.models.base import Address
from gotlang.models.prices import NOTHING_SPENT, Spent
from gotlang.passes import optimize
from gotlang.result import FORMAT_VERSION, Displayed
from gotlang.session import Session
from gotlang.span import NOWHERE
from gotlang.statistics import Interval, Verdict, paired_difference, verdict
from gotlang.syntax.expressions import Constant, Reference
from gotlang.types import accepts

MATCHED: Final = 0
"""The number of samples of a baseline that is matched to the cost of the others."""
PILOT_ROWS: Final = 5
PILOT_SAMPLES: Final = (1, 8)

_BASELINE = re.compile(r"(single)|(best|vote)-of-(n|[1-9][0-9]{0,5})")
_START = "%start"
AT: Final = " @ "
"""The separator of the names of a scheme and of its model, if several models are compared."""


# ---------------------------------------------------------------- contenders


@final
@dataclass(frozen=True, slots=True)
class Contender:
    """One side of a comparison: a scheme. For a baseline `kind` is `single`, `best` or `vote`, and `samples`
    their number (MATCHED: still to be set); both are None for the program's own schemes."""

    name: str
    scheme: Scheme
    kind: str | None = None
    samples: int | None = None


def contenders(program: Program, names: Sequence[str] = (), *, least: int = 2) -> list[Contender]:
    """The contenders with these names (default: all schemes with the inputs and result of the main one).

    Raises UsageError for a name that is neither a scheme nor a baseline, for schemes with other inputs than
    the first's, for a baseline that cannot be made, and for fewer than `least` names.
    """
    own = {scheme.name: scheme for scheme in program.schemes}
    first = next((own[name] for name in names if name in own), None) or _main(program)
    names = names or comparable(program, first)
    if len(set(names)) != len(names):
        duplicate = next(name for name in names if list(names).count(name) > 1)
        raise UsageError(f"duplicate scheme `{duplicate}`")
    out = []
    for name in names:
        if name in own:
            out.append(Contender(name, own[name]))
            continue
        kind, samples = _baseline(name, own)
        out.append(Contender(name, _build(program, first, name, kind, samples or 1), kind, samples))
    for contender in out:
        if contender.scheme.parameters != out[0].scheme.parameters:
            takes = ", ".join(f"{name}: {type_}" for name, type_ in contender.scheme.parameters)
            raise UsageError(
                f"`{contender.name}` has other inputs than `{out[0].name}`: {takes or 'none'}",
                help="only schemes with the same inputs can be compared on the same rows",
            )
    if len(out) < least:
        other = "vote-of-5" if names[0] == "single" else "single"
        raise UsageError(
            "a comparison needs two schemes at least",
            help=f"such as `--schemes {names[0]},{other}`; there are also best-of-n and vote-of-n",
        )
    return out


def comparable(program: Program, like: Scheme) -> list[str]:
    """The schemes of a program with the inputs and the result of one, in the order of the source."""
    return [s.name for s in program.schemes if s.parameters == like.parameters and s.result == like.result]


def with_samples(program: Program, contender: Contender, samples: int) -> Contender:
    """A baseline with another number of samples, which its name shows; nothing else changes."""
    kind = str(contender.kind)
    name = f"{kind}-of-{samples}"
    return Contender(name, _build(program, contender.scheme, name, kind, samples), kind, samples)


def _main(program: Program) -> Scheme:
    if program.main is None:
        raise UsageError(f"`{program.name}` has no scheme to compare")
    return program.scheme(program.main)


def _baseline(name: str, own: Mapping[str, Scheme]) -> tuple[str, int]:
    """The kind and the number of samples of a baseline."""
    found = _BASELINE.fullmatch(name)
    if found is None:
        near = suggestion(name, [*own, "single", "best-of-n", "vote-of-n"])
        there = f"there are {', '.join(own)}, and the baselines single, best-of-N and vote-of-N"
        raise UsageError(f"no scheme `{name}`", help=near or there)
    return found[1] or found[2], 1 if found[1] else MATCHED if found[3] == "n" else int(found[3])


def is_baseline(name: str) -> bool:
    """Whether a name is that of a baseline with a number of samples: `single`, `best-of-5`, `vote-of-5`."""
    found = _BASELINE.fullmatch(name)
    return found is not None and found[3] != "n"


def _build(program: Program, like: Scheme, name: str, kind: str, samples: int) -> Scheme:
    """The scheme of a baseline, with the inputs and the result of another."""
    prompt = _prompt(program, like)
    score, truth = local_score(program, like), ground_truth(program, like)
    if kind == "best" and score is None:
        raise UsageError(
            f"`{name}` needs a score of the result that calls no model and depends only on the inputs",
            help="no scheme with the same inputs has such a `Score()`; `vote-of-N` needs none",
        )
    arguments = tuple((parameter, Reference(NOWHERE, parameter)) for parameter, _ in prompt.parameters)
    one, count = Constant(NOWHERE, 1), Constant(NOWHERE, samples)
    steps: list[ir.Step] = [
        ir.Generate("", like.result, samples == 1, "", prompt.name, arguments, count, span=prompt.span)
    ]
    if kind == "best" and score is not None:
        steps.append(structs.replace(score, single=samples == 1))
        steps.append(ir.KeepBestN("", like.result, True, "", one, span=prompt.span))
    elif kind == "vote":
        steps.append(ir.Vote("", like.result, True, "", None, span=prompt.span))
    steps += [
        structs.replace(step, single=True)
        for step in (score if kind != "best" else None, truth)
        if step is not None
    ]
    linked = tuple(
        structs.replace(step, result=f"%{place + 1}", pool=f"%{place}" if place else _START)
        for place, step in enumerate(steps)
    )
    body = with_lines(ir.Region(_START, linked, linked[-1].result))
    return structs.replace(like, name=name, many=False, collect=False, body=body, span=prompt.span)


def _prompt(program: Program, like: Scheme) -> ir.Prompt:
    inputs = dict(like.parameters)
    known = {**{param.name: param.type for param in program.params}, **inputs}
    for prompt in program.prompts:
        given = [name for name, _ in prompt.parameters if name in inputs]
        fits = all(name in known and accepts(type_, known[name]) for name, type_ in prompt.parameters)
        if fits and given and not prompt.many and accepts(like.result, prompt.result):
            return prompt
    raise UsageError(
        f"no prompt of `{program.name}` takes inputs of `{like.name}` (and params) and returns its result in "
        "one response",
        help="the baselines single, best-of-N and vote-of-N are made from such a prompt",
    )


# ---------------------------------------------------------------- results of a comparison


@final
@dataclass(frozen=True, slots=True)
class ComparedScheme:
    """A contender and its evaluation. `repeats` is the mean number of runs on a row for one result;
    `to_baseline` is the paired difference to the baseline by metric, `verdict` that of the compared
    metric."""

    name: str
    evaluation: Evaluation
    repeats: float = 1
    to_baseline: dict[str, Interval] = dataclasses.field(default_factory=dict)
    verdict: Verdict | None = None


@final
@dataclass(frozen=True, slots=True, repr=False)
class Comparison(Displayed):
    """Several schemes on the same rows, compared by `metric`: the chosen one, otherwise the first common one
    of the declared metrics, `score` and `correct`.

    One scheme alone may have none: then `metric` is its cost. `cost_metric` is `cost`, or
    `tokens` (`calls` if their number is unknown) if nothing has a price.
    """

    metric: str
    kind: ScoreKind
    baseline: str
    entries: tuple[ComparedScheme, ...]
    equal_cost: bool = False
    cost_metric: CostMetric = "cost"

    @property
    def lower_is_better(self) -> bool:
        """Whether less of the metric is better."""
        return self.kind.lower

    @property
    def label(self) -> str:
        """The name of the metric."""
        return self.kind.name

    @property
    def unit(self) -> str:
        """The metric whose values have the same format as the compared one."""
        return "correct" if self.kind.share else self.metric

    def others(self) -> list[str]:
        """The metrics that any scheme has, except for the compared one; scores only if all have the same."""
        evaluations = [entry.evaluation for entry in self.entries]
        kinds = {evaluation.kind for evaluation in evaluations}
        scored = len(kinds) == 1 and all(e.evaluation.values("score") for e in self.entries if _ended(e))
        names = dict.fromkeys(name for evaluation in evaluations for name in evaluation.metrics)
        known = (name for name in names if any(evaluation.values(name) for evaluation in evaluations))
        left = {self.metric, "cost" if self.cost_metric == "tokens" else "tokens"}
        return [name for name in known if name not in left and (name != "score" or scored)]

    def front(self) -> list[ComparedScheme]:
        """The schemes that are Pareto-optimal in cost and metric, cheapest first."""
        known = [(point, entry) for entry in self.entries if (point := self.point(entry)) is not None]
        sign = 1 if self.lower_is_better else -1
        best = math.inf
        front = []
        for (_, quality), entry in sorted(known, key=lambda pair: (pair[0][0], sign * pair[0][1])):
            if sign * quality < best:
                best = sign * quality
                front.append(entry)
        return front

    @property
    def endpoints(self) -> Sequence[Address]:
        """The addresses used, except providers' own."""
        return tuple(dict.fromkeys(one for entry in self.entries for one in entry.evaluation.endpoints))

    @property
    def models(self) -> list[str]:
        """The models used, without duplicates."""
        return list(dict.fromkeys(entry.evaluation.model for entry in self.entries))

    @property
    def spent(self) -> Spent:
        """The total cost. The schemes of a model share one session, so the spending of the last one to finish
        is the total of the model."""
        total = NOTHING_SPENT
        for model in self.models:
            own = (each.evaluation.spent for each in self.entries if each.evaluation.model == model)
            total += max(own, key=lambda spent: spent.all_calls)
        return total

    def point(self, entry: ComparedScheme) -> tuple[float, float] | None:
        """A scheme's mean cost and metric; None if one is unknown."""
        cost, quality = entry.evaluation.mean(self.cost_metric), entry.evaluation.mean(self.metric)
        return None if cost is None or quality is None else (cost, quality)

    def to_dict(self) -> dict[str, Any]:
        """Plain data: every scheme's metrics, its paired differences to the baseline, and every run."""
        evaluations = [entry.evaluation for entry in self.entries]
        shared = ("program", "model", "simulated", "endpoints", "seed", "data", "selection")
        about = {name: value for name, value in evaluations[0].about().items() if name in shared}
        about["model"] = ", ".join(self.models)
        return {
            "format_version": FORMAT_VERSION,
            **about,
            "rows": max(evaluation.row_count + evaluation.not_run for evaluation in evaluations),
            "metric": self.metric,
            "metric_name": self.label,
            "lower_is_better": self.lower_is_better,
            "baseline": self.baseline,
            "equal_cost": self.equal_cost,
            "cost_metric": self.cost_metric,
            "spent": self.spent.to_dict(),
            "pareto_front": [entry.name for entry in self.front()],
            "schemes": [
                {
                    "scheme": entry.name,
                    "model": entry.evaluation.model,
                    "repeats": entry.repeats,
                    "rows": entry.evaluation.row_count,
                    **entry.evaluation.summary(),
                    "to_baseline": {
                        name: interval_dict(entry.to_baseline.get(name)) for name in entry.evaluation.metrics
                    },
                    "verdict": entry.verdict,
                    "runs": [run.to_dict() for run in entry.evaluation.runs],
                }
                for entry in self.entries
            ],
        }

    def rows(self) -> list[dict[str, Any]]:
        """The runs of all schemes: a data frame has one row per run."""
        return [{"scheme": e.name, **run.to_dict()} for e in self.entries for run in e.evaluation.runs]

    def facts(self) -> list[tuple[str, str]]:
        """Each scheme's metric with its interval and its difference to the baseline; the model."""
        found = [("comparison", f"by {self.label}, to {self.baseline}")]
        for entry in self.entries:
            own, difference = entry.evaluation.interval(self.metric), entry.to_baseline.get(self.metric)
            against = f"; difference {difference}: {entry.verdict}" if difference is not None else ""
            found.append((entry.name, f"{'unknown' if own is None else own}{against}"))
        first = self.entries[0].evaluation
        return [*found, ("model", first.model + (" (simulated)" if first.simulated else ""))]


# ---------------------------------------------------------------- comparing

Run = Callable[[Contender, int, int, Collection[int] | None], Awaitable[Evaluation]]
"""Runs a contender: `(contender, first_repeat, repeats, rows)`, on rows of these numbers or (None) on all."""


async def compare(
    session: Session,
    data: Dataset,
    sides: Sequence[Contender],
    *,
    metrics: Sequence[str] = (),
    baseline: str | None = None,
    equal_cost: bool = False,
    parallel: int = DEFAULT_PARALLEL,
    max_failed: float = DEFAULT_MAX_FAILED,
    on_start: Callable[[Evaluation], None] = lambda evaluation: None,
    on_row: Callable[[RowRun], None] | None = None,
    on_planned: Callable[[int], None] = lambda runs: None,
    stopping: Callable[[], str | None] = lambda: None,
    engine: Engine | None = None,
) -> Comparison:
    """Run contenders on every row of a dataset and compare them with the baseline (default: the first).

    `on_planned` is called with the number of runs beyond one per contender and row; the other arguments are
    those of `evaluate`. Raises UsageError for an unknown baseline and if they have no metric in common.
    """
    program, options = session.program.ir(0), session.options
    planned = {side.name for side in sides}

    async def run(side: Contender, first: int, repeats: int, rows: Collection[int] | None) -> Evaluation:
        some = data
        if rows is not None:
            some = dataclasses.replace(data, rows=tuple(row for row in data.rows if row.number in rows))
        if first or rows is not None or side.name not in planned:
            on_planned(len(some) * repeats)
        alone = structs.replace(program, schemes=(*program.schemes, side.scheme))
        found = await evaluate(
            session,
            some,
            scheme=optimize(alone, options.level, options.skipped_passes).schemes[-1],
            metrics=metrics,
            repeat=repeats,
            first_repeat=first,
            parallel=parallel,
            max_failed=max_failed,
            on_start=lambda empty: on_start(dataclasses.replace(empty, scheme=side.name)),
            on_row=on_row,
            stopping=stopping,
            engine=engine,
        )
        return dataclasses.replace(found, scheme=side.name)

    first, wanted = baseline or sides[0].name, next(iter(metrics), None)
    return await run_contenders(program, sides, run, first, equal_cost=equal_cost, metric=wanted)


async def run_contenders(
    program: Program,
    sides: Sequence[Contender],
    run: Run,
    baseline: str,
    *,
    equal_cost: bool,
    metric: str | None = None,
) -> Comparison:
    """Run every contender with `run` and compare them, by `metric` if it is given."""
    names = [side.name for side in sides]
    if baseline not in names:
        raise UsageError(f"the baseline `{baseline}` is not compared", help=f"there are {', '.join(names)}")
    fixed = [side for side in sides if side.samples != MATCHED]
    if not fixed:
        raise UsageError("`best-of-n` and `vote-of-n` are matched to another scheme: name one of those too")
    found = {side.name: ComparedScheme(side.name, await run(side, 0, 1, None)) for side in fixed}
    unit = cost_metric(entry.evaluation for entry in found.values())
    target = max(entry.evaluation.mean(unit) or 0.0 for entry in found.values())
    rows = list(next(iter(found.values())).evaluation.values(unit))
    for side in sides:
        if side.samples == MATCHED:
            found[side.name] = await _sampled(program, side, target, unit, run, rows)
        elif equal_cost:
            found[side.name] = await _repeated(side, found[side.name], target, unit, run)
    entries = [found[name] for name in names]
    return assemble(entries, found[baseline].name, equal_cost=equal_cost, metric=metric)


def check_models(models: Sequence[str], simulated: Sequence[bool]) -> None:
    """Raise UsageError for models that cannot be compared."""
    if len(set(models)) != len(models):
        raise UsageError(f"duplicate model `{next(one for one in models if models.count(one) > 1)}`")
    if len(set(simulated)) > 1:
        raise UsageError(
            "simulated responses are not compared with those of real models", help="name models of one kind"
        )


def baseline_of(sides: Sequence[Contender], models: Sequence[str], name: str | None) -> int:
    """The place of a baseline among all schemes of all models: `SCHEME` is that of the first one, `SCHEME @
    MODEL` that of another. Raises UsageError for an unknown one."""
    names = [f"{side.name}{AT}{model}" for model in models for side in sides]
    wanted = names[0] if name is None else name if name in names else f"{name}{AT}{models[0]}"
    if wanted not in names:
        raise UsageError(f"the baseline `{name}` is not compared", help=f"there are {', '.join(names)}")
    return names.index(wanted)


def joined(
    parts: Sequence[Comparison], models: Sequence[str], baseline: int, metric: str | None
) -> Comparison:
    """The comparisons of the same schemes by several models as one, in which `baseline` is the place of the
    baseline of all. Raises UsageError if there is no metric in common."""
    entries = [
        dataclasses.replace(entry, name=f"{entry.name}{AT}{model}", to_baseline={}, verdict=None)
        for part, model in zip(parts, models, strict=False)
        for entry in part.entries
    ]
    return assemble(entries, entries[min(baseline, len(entries) - 1)].name, metric=metric)


def assemble(
    entries: Sequence[ComparedScheme], baseline: str, *, equal_cost: bool = False, metric: str | None = None
) -> Comparison:
    """Compare evaluated schemes with the one with a name, by a metric (default: the first that all have).

    Raises UsageError if there is no metric in common.
    """
    metric, kind = _common_metric(entries, metric)
    first = next(entry for entry in entries if entry.name == baseline)

    def compared(entry: ComparedScheme) -> ComparedScheme:
        pairs = ((name, _difference(entry, first, name)) for name in entry.evaluation.metrics)
        differences = {name: pair for name, pair in pairs if pair is not None}
        found = differences.get(metric)
        shown = verdict(found, lower_is_better=kind.lower) if found is not None else None
        return dataclasses.replace(entry, to_baseline=differences, verdict=shown)

    done = tuple(entry if entry is first else compared(entry) for entry in entries)
    return Comparison(
        metric, kind, baseline, done, equal_cost, cost_metric(entry.evaluation for entry in entries)
    )


def _common_metric(entries: Sequence[ComparedScheme], wanted: str | None) -> tuple[str, ScoreKind]:
    ended = [entry.evaluation for entry in entries if _ended(entry)]
    first = entries[0].evaluation
    if wanted is not None:
        wanted = "score" if wanted == first.kind.name else wanted
        if len({evaluation.kind_of(wanted) for evaluation in ended}) > 1:
            raise UsageError(f"these schemes have different metrics of the name `{wanted}`")
        lacking = next((entry.name for entry in entries if not entry.evaluation.values(wanted)), None)
        if ended and lacking is not None:
            raise UsageError(f"no row of `{lacking}` has the metric `{wanted}`")
        return wanted, first.kind_of(wanted)
    for name, kind in first.kinds.items():
        same = all(each.kinds.get(name) == kind and each.values(name) for each in ended)
        if ended and same:
            return name, kind
    kinds = {entry.evaluation.kind for entry in entries if entry.evaluation.values("score")}
    if len(kinds) == 1 and all(evaluation.values("score") for evaluation in ended):
        return "score", next(iter(kinds))
    if all(evaluation.values("correct") for evaluation in ended):
        return "correct", first.kind_of("correct")
    if len(entries) == 1:
        return "cost", first.kind_of("cost")
    names = ", ".join(sorted(kind.name for kind in kinds)) or "none"
    raise UsageError(
        f"these schemes have no metric in common (scores: {names})",
        help="give each the same `Score()`, or `GroundTruth()`, at its end, or name a metric, such as "
        "`--metrics f1`; `--map truth=COLUMN` maps the known answers",
    )


def _ended(entry: ComparedScheme) -> bool:
    return entry.evaluation.tally.states()["done"] > 0


def _difference(entry: ComparedScheme, first: ComparedScheme, metric: str) -> Interval | None:
    """The paired difference over the rows that both have."""
    own, other = entry.evaluation.values(metric), first.evaluation.values(metric)
    found = paired_difference([*own.values()], [other.get(row) for row in own])
    return found if found.rows else None


async def _repeated(
    side: Contender, entry: ComparedScheme, target: float, metric: CostMetric, run: Run
) -> ComparedScheme:
    """A compared scheme, repeated until it costs the target."""
    at = repeated(entry.evaluation, partial(run, side))
    found, repeats = await at_cost(at, entry.evaluation, 1, target, metric)
    return dataclasses.replace(entry, evaluation=found, repeats=repeats)


async def _sampled(
    program: Program, side: Contender, target: float, metric: CostMetric, run: Run, rows: Sequence[int]
) -> ComparedScheme:
    """A baseline with the number of samples that costs the target.

    The first guess comes from lines through trials on a few rows, the second from one near the target
    (several samples may share the cost of a request).
    """

    async def at(samples: int, rows: Collection[int] | None) -> Evaluation:
        return await run(with_samples(program, side, samples), 0, 1, rows)

    async def trial(samples: int) -> float:
        return (await at(samples, rows[:PILOT_ROWS])).mean(metric) or 0.0

    low, high = PILOT_SAMPLES
    cheap, expensive = await trial(low), await trial(high)
    for _ in range(2):
        if expensive <= cheap:
            break
        found = low + (target - cheap) / ((expensive - cheap) / (high - low))
        high = max(low + 1, min(MOST_REPEATS, round(found)))
        expensive = await trial(high)
    guess = low if target <= cheap else high
    evaluation, samples = await at_cost(at, await at(guess, None), guess, target, metric)
    name = f"{side.kind}-of-{samples:.4g}"
    return ComparedScheme(name, dataclasses.replace(evaluation, scheme=name))
