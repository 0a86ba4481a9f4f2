"""Runs a program at a point of the space over rows, all rows of a wave at the same time."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, final

from gotlang.errors import BudgetExceeded, ModelError, RunError
from gotlang.ir import program as ir
from gotlang.runtime.run import Runner, check_params
from gotlang.runtime.sampler.events import Asked, Event, Observer
from gotlang.runtime.sampler.store import MissingSample
from gotlang.semantics.study_settings import ASKED
from gotlang.session import Session
from gotlang.span import NOWHERE
from gotlang.syntax import expressions as e
from gotlang.tune.objective import Measured, Metric
from gotlang.tune.plan import Plan
from gotlang.tune.rows import Row
from gotlang.tune.space import TEXTS, Point, Space
from gotlang.tune.texts import Texts, rewritten

_APART = 1_000_003
"""Between the seeds of two measurements of the same rows: endpoints get the seed plus the draw's number."""
_PROBES = 2**40
_TRIES = 3
"""Seeds from here on are of nothing but the question whether the model is there, put so many times."""


@final
class Evaluation:
    """Measures points. It knows the rows that it is given and no others.

    `texts` are the proposals for each prompt, by the number that a point holds.
    """

    def __init__(
        self,
        plan: Plan,
        space: Space,
        session: Session,
        texts: Mapping[str, Sequence[Texts]] | None = None,
    ) -> None:
        self.plan = plan
        self.space = space
        self.session = session
        self.texts = dict(texts or {})
        self._metric = Metric(plan, session.ir, session.runner.functions)
        self._programs: dict[str, ir.Program] = {}
        self._answered: Row | None = None

    async def rows(self, point: Point, rows: Sequence[Row], *, again: int = 0) -> list[Measured]:
        """Measure these rows; `again` counts how often they were measured before, each time with new draws.

        A row that the model gave too few answers for runs once more. Raises BudgetExceeded where the money
        did not last for a row, ModelError where the model does not answer any more.
        """
        runner = self.runner(point)
        runner = _seeded(runner, runner.settings.seed + again * _APART)
        found = await self._all(runner, rows)
        lost = [place for place, measured in enumerate(found) if measured.unanswered]
        whole = (row for row, m in zip(rows, found, strict=True) if m.calls and not m.unanswered)
        self._answered = next(whole, self._answered)
        if lost and self._answered is not None:
            await self._still_there(self._answered)
            repeated = await self._all(runner, [rows[place] for place in lost])
            for place, measured in zip(lost, repeated, strict=True):
                found[place] = measured
        return found

    async def _still_there(self, row: Row) -> None:
        """Ask the model once more as the untuned program does on a row that it answered before.

        Raises ModelError where it does not: what it left unanswered would else be held against the point, for
        good.
        """
        for _ in range(_TRIES):
            runner = _seeded(self.runner(self.space.start), _PROBES + secrets.randbits(32))
            (found,) = await self._all(runner, [row])
            if found.calls:
                return
        raise ModelError(
            f"the model does not answer any more: {found.failure}",
            help="the same command goes on with the study, with the trial that was under way",
        )

    async def run(
        self,
        texts: Mapping[str, Texts],
        values: Mapping[str, Any],
        rows: Sequence[Row],
        observe: Observer | None = None,
    ) -> list[Measured]:
        """The same for given texts and values of params and settings. `observe` is told of what happens."""
        runner = self._runner(texts, values)
        return await self._all(runner if observe is None else replace(runner, observe=observe), rows)

    def runner(self, point: Point) -> Runner:
        """What runs the program at a point."""
        return self._runner(self.chosen_texts(point), self.space.values(point))

    async def _all(self, runner: Runner, rows: Sequence[Row]) -> list[Measured]:
        scheme = runner.program.scheme(self.plan.scheme)
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._row(runner, scheme, row)) for row in rows]
        except ExceptionGroup as group_of:
            raise group_of.exceptions[0] from None  # a mistake in the study is the same for all rows
        done = [task.result() for task in tasks]
        for measured in done:
            if isinstance(measured, str):
                raise BudgetExceeded(measured)
        return [measured for measured in done if isinstance(measured, Measured)]

    async def _row(self, runner: Runner, scheme: ir.Scheme, row: Row) -> Measured | str:
        """What a row gave, or why there was no money for it."""
        has_truth = row.truth is not None
        missed = _Missed(runner.observe)
        watched = replace(runner, observe=missed)
        try:
            outcome = await watched.run(scheme, row.inputs, row.truth, has_truth=has_truth)
        except RunError as error:
            # Without money every answer is missing, and the run fails for that: the row knows nothing.
            if _penniless(runner):
                return runner.budget.reason()
            return replace(self._metric.measure(row, None, error), unanswered=missed.count)
        if outcome.partial is not None:
            return outcome.partial
        return replace(self._metric.measure(row, outcome), unanswered=missed.count)

    def chosen_texts(self, point: Point) -> dict[str, Texts]:
        """The texts that a point chooses, by prompt."""
        return {
            name: self.texts[name][int(point[TEXTS + name])]  # type: ignore[arg-type]
            for name in self.texts
            if TEXTS + name in point
        }

    def _runner(self, texts: Mapping[str, Texts], values: Mapping[str, Any]) -> Runner:
        settings = {name: values[name] for name in self.space.settings if name in values}
        params = {name: value for name, value in values.items() if name not in settings}
        program = self._program(texts, settings)
        base = self.session.runner
        concurrency = settings.get("concurrency", base.settings.concurrency)
        return replace(
            base,
            program=program,
            params=check_params(program, params),
            settings=replace(
                base.settings,
                concurrency=concurrency,
                schedule=settings.get("schedule", base.settings.schedule),
            ),
            gate=base.gate.at(concurrency) if "concurrency" in settings else base.gate,
            engines=base.engines,
        )

    def _program(self, texts: Mapping[str, Texts], settings: Mapping[str, Any]) -> ir.Program:
        key = repr((sorted(texts.items()), settings.get("temperature"), settings.get("model")))
        if key not in self._programs:
            program = self.session.ir
            if texts:
                changed = self.plan.program.changed(rewritten(self.plan.program.compilation, {}, texts))
                options = self.session.options
                program = changed.ir(options.level, skip=_skipped(self.session))
            self._programs[key] = _with_settings(program, settings)
        return self._programs[key]


@final
class _Missed:
    """Counts the answers of a run that a model was asked for and did not give; tells another observer too."""

    def __init__(self, other: Observer | None) -> None:
        self._other = other
        self.count = 0

    def __call__(self, event: Event) -> None:
        """Something happened in the run."""
        if isinstance(event, Asked):
            self.count += sum(isinstance(s, MissingSample) and not s.cut_off for s in event.samples)
        if self._other is not None:
            self._other(event)


def _seeded(runner: Runner, seed: int) -> Runner:
    return replace(runner, settings=replace(runner.settings, seed=seed))


def _penniless(runner: Runner) -> bool:
    return bool(getattr(runner.budget, "empty", False))


def _skipped(session: Session) -> frozenset[str]:
    options = session.options
    named = (("early stop", options.early_stop), ("sample fusion", options.fusion))
    return frozenset(name for name, wanted in named if not wanted)


def _with_settings(program: ir.Program, settings: Mapping[str, Any]) -> ir.Program:
    """A program whose prompts ask with these settings, whatever they say themselves."""
    fixed = {name: settings[name] for name in ASKED if name in settings}
    if not fixed:
        return program
    given = tuple((name, e.Constant(NOWHERE, value)) for name, value in fixed.items())
    prompts = tuple(
        replace(p, settings=(*((n, v) for n, v in p.settings if n not in fixed), *given))
        for p in program.prompts
    )
    return replace(program, prompts=prompts)
