"""Runs a program at points of the space, and measures a study's objectives and constraints."""

from __future__ import annotations

import asyncio
import json
import math
import secrets
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, final

from msgspec import Struct, structs

from gotlang.errors import BudgetExceeded, CacheLost, EvaluationError, ModelError, RunError, UsageError
from gotlang.evaluate.evaluation import DEFAULT_PARALLEL, Engine, RowRun, run_each
from gotlang.evaluate.rows import Row
from gotlang.ir import program as ir
from gotlang.ir.evaluate import Evaluator, evaluate
from gotlang.ir.prompts import build_example
from gotlang.metric import bounded
from gotlang.operations.names import free_names
from gotlang.passes import optimize
from gotlang.runtime.run import Runner, check_params
from gotlang.runtime.sampler.events import Asked, Event, Observer, guarded
from gotlang.semantics.aims import BASELINE
from gotlang.semantics.variations import SCHEME, STRUCTURE
from gotlang.session import Session
from gotlang.span import NOWHERE
from gotlang.syntax import expressions as e
from gotlang.tune.plan import Constraint, StudyPlan
from gotlang.tune.selections import SelectionStatistics
from gotlang.tune.selections import add as add_selections
from gotlang.tune.selections import note as note_selection
from gotlang.tune.space import TEXTS, Point, Space
from gotlang.tune.structure import variants_of
from gotlang.tune.tuned import PromptSettings, PromptTexts, asked_with

OF_RESULTS = frozenset({"result", "score", "latency"})
"""Metrics that are undefined for a failed run."""
SPENT = frozenset({"cost", "calls"})
"""Metrics that are defined for a failed run. Constraints count failed runs; objectives use `failed`, so that
failing early is not rewarded."""

TOLERANCE = 0.02
"""The tolerance of constraints, as a share of the bound (of rows that fail: of all rows), unless the excess
is certain; and of objectives, which are no worse if they are certain to be worse by no more than this
share."""
_MOST_ANSWER = 300
"""Maximum length of a stored answer."""
_SEED_STEP = 1_000_003
"""The difference of the seeds of two measurements of the same rows: endpoints get the seed plus the sample's
number."""
_PROBES = 2**40
_TRIES = 3
"""The first seed of probes that check whether the model responds, and the maximum number of probes to one
whose error is not retryable."""
PAUSE_S = 5.0
PATIENCE_S = 3600.0
"""Seconds between probes of a model that is out of service, and the maximum wait."""
CONTINUES = "the same command continues the study once the cache can store"
"""The help of CacheLost in a study."""


@final
class Measured(Struct, frozen=True, array_like=True):
    """One run of one row. `objectives` are None if it ended without a result, `quantities` are those of the
    constraints. `usd` is None if a price is unknown; a run without a result has a cost too. `answer` is the
    beginning of the result of a test row."""

    objectives: tuple[float | None, ...]
    quantities: tuple[float | None, ...]
    usd: float | None
    seconds: float
    calls: int
    failure: str | None = None
    answer: str | None = None


def mean(values: Sequence[float | None]) -> float | None:
    """The mean of the known values; None if there are none."""
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


Quantity = Callable[[Measured], float | None]


def known_pairs(
    rows: Sequence[Measured], others: Sequence[Measured], of: Quantity
) -> list[tuple[float, float]]:
    """A quantity of rows and of the same rows of another trial, where both have a value."""
    pairs = ((of(a), of(b)) for a, b in zip(rows, others, strict=False))
    return [(a, b) for a, b in pairs if a is not None and b is not None]


def leads(rows: Sequence[Measured], others: Sequence[Measured], of: Quantity) -> list[float]:
    """The excess of rows over those of another trial, pair by pair, where both have a value."""
    return [a - b for a, b in known_pairs(rows, others, of)]


def more_failures(rows: Sequence[Measured], others: Sequence[Measured]) -> list[float]:
    """The failures of rows beyond those of another trial, pair by pair; for rows on which that did not run,
    beyond its share of failures."""
    failed = [float(bool(row.failure)) for row in others]
    missing = [mean(failed) or 0.0] * (len(rows) - len(failed))
    return [float(bool(row.failure)) - other for row, other in zip(rows, [*failed, *missing], strict=False)]


def bound(constraint: Constraint, baseline: float) -> float:
    """The bound of a constraint if the untuned program's quantity is `baseline`. Raises UsageError if it has
    no value."""
    try:
        return bounded(evaluate(constraint.bound, {BASELINE: baseline}))
    except EvaluationError as error:
        where = f"where the baseline is {baseline:g}"
        raise UsageError(f"the bound of `{constraint.text}` has no value {where}: {error.message}") from None


def excess(constraint: Constraint, quantity: float, baseline: float) -> float:
    """By how much a constraint is violated; 0 or less if it holds."""
    return beyond(constraint, quantity, bound(constraint, baseline))


def beyond(constraint: Constraint, quantity: float, bound: float) -> float:
    """The same, if the value of the bound is known."""
    over = quantity - bound
    over = -over if constraint.least else over
    return over + 1e-12 if constraint.strict else over


@final
@dataclass(slots=True)
class CellSamples:
    """The samples that cells requested, each as a number, and their selections."""

    asked: set[int] = field(default_factory=set)
    selections: dict[str, SelectionStatistics] = field(default_factory=dict)

    def note(self, event: Event) -> None:
        """Record an operation."""
        if isinstance(event, Asked):
            self.asked.update(zlib.crc32(f"{event.key} {number}".encode()) for number in event.numbers)
        note_selection(self.selections, event)

    def clear(self) -> None:
        """Remove all records."""
        self.asked.clear()
        self.selections.clear()

    def add(self, more: CellSamples) -> None:
        """Add other records."""
        self.asked |= more.asked
        add_selections(self.selections, more.selections)


@final
class PointRunner:
    """Runs points over rows, on a real model all rows at the same time. `texts` are the proposals for each
    part of a prompt, `improve.instruction` and `improve.examples`, by the number in a point."""

    def __init__(
        self,
        plan: StudyPlan,
        space: Space,
        session: Session,
        texts: Mapping[str, Sequence[PromptTexts]] | None = None,
        engine: Engine | None = None,
    ) -> None:
        self.engine = engine
        self.plan = plan
        self.space = space
        self.session = session
        listed, own = space.texts, [PromptTexts()]
        self.texts = {**(texts or {})} | {
            name: [*listed[name], *(texts or {}).get(name, own)[1:]] for name in listed
        }
        scores = {s.name: s for s in session.ir.scores}
        self._evaluate = Evaluator(scores, session.runner.tables.limited, session.ir.results)
        self._programs: dict[str, ir.Program] = {}
        self._prompts = [prompt.name for prompt in session.ir.prompts]
        self._variants = variants_of(plan)
        self._metrics = [metric.name for metric in session.ir.metrics]
        self.answered: Row | None = None
        """A row on which the model responded to the untuned program."""
        self._probing = asyncio.Lock()
        self._probed: tuple[float, float, RowRun] | None = None
        """The last probe: its start, its end, and what came of it."""

    async def rows(
        self,
        point: Point,
        rows: Sequence[Row],
        *,
        again: int = 0,
        answers: bool = False,
        noted: CellSamples | None = None,
    ) -> list[Measured]:
        """Measure these rows; `again` counts how often they were measured before, each time with new samples.
        `answers` keeps the results. Their requests and selections are added to `noted`.

        A row with requests that the model did not answer runs again once it responds. Raises BudgetExceeded
        if the budget does not allow a row, ModelError if the model no longer responds.
        """
        runner = self.runner(point)
        runner = _seeded(runner, runner.settings.seed + again * _SEED_STEP)
        runs = await self._answered_runs(runner, rows, noted)
        measured = [self.measured(run) for run in runs]
        if not answers:
            return measured
        return [structs.replace(m, answer=_shown(run.value)) for m, run in zip(measured, runs, strict=True)]

    async def _answered_runs(
        self, runner: Runner, rows: Sequence[Row], noted: CellSamples | None = None
    ) -> list[RowRun]:
        """Run rows, and repeat those with unanswered requests until the model responds: requests that fail
        while it responds to the untuned program count against the rows. Raises ModelError if it is out of
        service permanently, or for longer than `PATIENCE_S`."""
        runs, left, loop = await self._run(runner, rows, noted), _TRIES, asyncio.get_running_loop()
        self.answered = self.answered or next((run.row for run in runs if run.calls), None)
        end, responds = loop.time() + PATIENCE_S, False
        while self.answered is not None and (lost := [run.row for run in runs if run.missing]):
            repeated = iter(await self._run(runner, lost))
            runs = [next(repeated) if run.missing else run for run in runs]
            if not any(run.missing for run in runs):
                if noted is not None:  # failed requests do not count: all others are in the cache now
                    noted.clear()
                    await self._run(runner, rows, noted)
                break
            found = await self._probe(self.answered, loop.time(), again=responds)
            if found.calls and responds:  # before the rows ran again, and after that
                break
            if responds := bool(found.calls):
                continue
            left -= not found.away
            if not left or loop.time() > end:
                raise ModelError(
                    f"the model no longer responds: {found.reason}",
                    help="the same command continues the study, including the interrupted trial",
                )
            await asyncio.sleep(PAUSE_S if found.away else 0)
        return runs

    async def _probe(self, row: Row, since: float, *, again: bool) -> RowRun:
        """The untuned program on a row, with new samples, or what another task found after `since`: `again`
        with a request that was sent after it."""
        async with self._probing:
            if self._probed is not None:
                sent, ended, found = self._probed
                if (sent if again else ended) >= since:
                    return found
            runner = _seeded(self.runner(self.space.start), _PROBES + secrets.randbits(32))
            clock = asyncio.get_running_loop().time
            sent, (found,) = clock(), await self._run(runner, [row])
            self._probed = sent, clock(), found
            return found

    async def run(
        self, texts: Mapping[str, PromptTexts], rows: Sequence[Row], observe: Observer
    ) -> list[RowRun]:
        """Run rows with given texts and the untuned params; `observe` is called with events too."""
        runner = self._runner(texts, {}, {})
        told = guarded([runner.observe, observe], {})
        return await self._answered_runs(structs.replace(runner, observe=told), rows)

    async def _run(
        self, runner: Runner, rows: Sequence[Row], noted: CellSamples | None = None
    ) -> list[RowRun]:
        scheme = runner.program.scheme(runner.program.main or self.plan.scheme)
        metric = self.plan.program.metric(scheme)
        measures = self.plan.program.metrics(scheme)
        runs: dict[int, RowRun] = {}
        # With simulated time, more at once gain nothing, and the graphs of all of them take memory.
        parallel = DEFAULT_PARALLEL if self.session.model.simulated else max(1, len(rows))
        running = run_each(
            runner,
            scheme,
            rows,
            metric=metric,
            measures=measures,
            parallel=parallel,
            count_missing=True,
            engine=self.engine,
            notes=noted,
        )
        async with aclosing(running):
            async for run in running:
                if run.error is not None and not isinstance(run.error, RunError):
                    raise run.error
                runs[run.row.number] = run
        if self.session.stopped is not None:
            raise CacheLost(self.session.stopped, help=CONTINUES)
        for run in (runs[row.number] for row in rows):
            if run.state == "partial":
                raise BudgetExceeded(run.reason or "")
            if run.state == "failed" and runner.budget.exhausted:
                raise BudgetExceeded(
                    runner.budget.reason()
                )  # its calls are missing because the budget is exhausted
        return [runs[row.number] for row in rows]

    def measured(self, run: RowRun) -> Measured:
        """The objectives and constrained quantities of a run. Raises UsageError for one without a value."""
        failed = run.state == "failed"
        metrics = {name: run.metrics.get(name) for name in self._metrics}
        names: dict[str, Any] = {
            **metrics,
            **run.row.inputs,
            "cost": run.usd,
            "calls": run.calls or 0,
            "latency": run.seconds or 0.0,
            "right": float(bool(run.truth)),
            "failures": float(failed),
            "result": run.value,
            "score": run.score,
            "truth": run.row.truth,
        }
        unknown = OF_RESULTS | {name for name, value in metrics.items() if value is None}
        objectively, unknown = unknown | SPENT, unknown if run.calls is not None else unknown | SPENT

        def value(node: e.Expression, text: str, undefined: frozenset[str]) -> float | None:
            return None if failed and _uses(undefined, node) else self._number(node, names, text, run)

        found = [value(each.expression, each.text, objectively) for each in self.plan.objectives]
        objectives = tuple(self.plan.failed if number is None else number for number in found)
        quantities = tuple(value(each.quantity, each.text, unknown) for each in self.plan.constraints)
        usd = run.usd if run.calls is not None else 0.0
        failure = (run.reason or "failed") if failed else None
        return Measured(objectives, quantities, usd, run.seconds or 0.0, run.calls or 0, failure)

    def _number(self, node: e.Expression, names: Mapping[str, Any], text: str, run: RowRun) -> float:
        try:
            found = self._evaluate(node, names)
            if found is not None and math.isfinite(number := bounded(found)):
                return number
            lacking = (run.unknown[name] for name in free_names(node) if name in run.unknown)
            why = next(lacking, "the result was not scored" if names["score"] is None else f"it is {found}")
        except (EvaluationError, TypeError) as error:
            why = str(error)
        if names["cost"] is None and _uses(frozenset({"cost"}), node):
            raise UsageError(
                f"`{text}` has no value: the model's price is unknown",
                help="give it in a file with `--prices`",
            )
        raise UsageError(f"`{text}` has no value for row {run.row.number} of the data: {why}")

    def runner(self, point: Point) -> Runner:
        """The runner of the program at a point."""
        return self._runner(self.chosen_texts(point), *self.space.params_and_settings(point))

    def program(self, point: Point) -> tuple[ir.Program, dict[str, Any]]:
        """The optimized program at a point, whose `main` is the scheme that runs, and all its params."""
        return self._program(self.chosen_texts(point), *self.space.params_and_settings(point))

    def chosen_texts(self, point: Point) -> dict[str, PromptTexts]:
        """The texts that a point chooses, by prompt."""
        found: dict[str, PromptTexts] = {}
        for name, choices in self.texts.items():
            if isinstance(number := point.get(TEXTS + name), int):
                prompt, _, part = name.rpartition(".")
                before = found.get(prompt, PromptTexts())
                found[prompt] = structs.replace(before, **{part: getattr(choices[number], part)})
        return found

    def _runner(
        self, texts: Mapping[str, PromptTexts], params: Mapping[str, Any], settings: Mapping[str, Any]
    ) -> Runner:
        program, params = self._program(texts, params, settings)
        base = self.session.runner
        chosen = {name: settings[name] for name in ("concurrency", "schedule") if name in settings}
        return structs.replace(
            base,
            program=program,
            params=params,
            settings=structs.replace(base.settings, **chosen),
            limits=base.limits.with_total(chosen["concurrency"]) if "concurrency" in chosen else base.limits,
        )

    def _program(
        self, texts: Mapping[str, PromptTexts], params: Mapping[str, Any], settings: Mapping[str, Any]
    ) -> tuple[ir.Program, dict[str, Any]]:
        asked = asked_with(self._prompts, settings)
        version, main = settings.get(STRUCTURE, self.plan.scheme), settings.get(SCHEME, self.plan.scheme)
        key = repr((version, main, sorted(texts.items(), key=str), sorted(asked.items())))
        if key not in self._programs:
            changed = self._changed(texts, asked, version)
            self._programs[key] = structs.replace(changed, main=main)
        return self._programs[key], check_params(self._programs[key], params)

    def _changed(
        self, texts: Mapping[str, PromptTexts], settings: PromptSettings, version: str
    ) -> ir.Program:
        """The optimized program with other texts and settings of its prompts, or another variant of it."""
        program, varied = self.session.ir, self._variants.get(version)
        if texts or (varied is not None and varied.rewrites):
            base = varied.program if varied is not None else self.plan.program
            options, changed = self.session.options, with_prompts(base.ir(0), texts, {})
            program = optimize(changed, options.level, options.skipped_passes)
        return with_prompts(program, {}, settings) if any(settings.values()) else program


def _shown(value: Any) -> str | None:
    """The beginning of an answer."""
    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _MOST_ANSWER else text[:_MOST_ANSWER] + "…"


def with_prompts(
    program: ir.Program, texts: Mapping[str, PromptTexts], settings: PromptSettings
) -> ir.Program:
    """A program whose prompts have other texts, and use these settings instead of their own.

    Raises TemplateError and EvaluationError for invalid texts.
    """

    def changed(prompt: ir.Prompt) -> ir.Prompt:
        found, asked = texts.get(prompt.name, PromptTexts()), settings.get(prompt.name, {})
        given = {name: constant(value) for name, value in asked.items()}
        changes: dict[str, Any] = {"settings": (*(dict(prompt.settings) | given).items(),)}
        if found.instruction is not None:
            prompt = prompt.with_own_text(found.instruction)
        if found.examples is not None:
            shots = found.examples
            changes["examples"] = tuple(build_example((*x.inputs.items(),), x.output, prompt) for x in shots)
        return structs.replace(prompt, **changes)

    return structs.replace(program, prompts=tuple(map(changed, program.prompts)))


def constant(value: Any) -> e.Expression:
    """The expression of a plain value, or of a list of them."""
    if isinstance(value, list):
        return e.ListDisplay(NOWHERE, tuple(map(constant, value)))
    return e.Constant(NOWHERE, value)


def _seeded(runner: Runner, seed: int) -> Runner:
    settings = structs.replace(runner.settings, seed=seed)
    return structs.replace(runner, settings=settings)


def _uses(names: frozenset[str], node: e.Expression) -> bool:
    return bool(free_names(node).keys() & names)
