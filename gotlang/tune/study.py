"""A study from start to end: train and test rows, proposed texts, search, finals, held-out rows, result."""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import os
import platform
import random
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, final

from msgspec import structs

from gotlang import data
from gotlang.cache.coordination import Coordination
from gotlang.cache.memory import MemoryCache
from gotlang.cache.sqlite import MemoryCoordination, SqliteCoordination
from gotlang.disk import open_own
from gotlang.engine import opened
from gotlang.errors import BudgetExceeded, CacheError, CacheLost, UsageError
from gotlang.evaluate.evaluation import Engine
from gotlang.gc_tuning import relaxed_gc
from gotlang.ir.prompts import build_domain
from gotlang.models.prices import dollars
from gotlang.models.registry import is_simulated, plain_name, price_of_model
from gotlang.options import Options
from gotlang.packages import pip_install
from gotlang.records import InvalidRecord, from_json, to_json
from gotlang.runtime.sampler.shared import ROLE
from gotlang.runtime.sizes import Sizes
from gotlang.semantics.variations import MODELS, SCHEME
from gotlang.session import Session, run_to_end
from gotlang.tune.budget import StudyBudget, costliest_call
from gotlang.tune.judge import (
    FrontPoint,
    amount,
    compare_front,
    front_of,
    is_settled,
    judged_point,
    named,
    pick,
    reserve_of,
    waves,
)
from gotlang.tune.outcome import ROLES, UNFINISHED, StudyResult, written
from gotlang.tune.plan import TRAIN_SHARE, StudyPlan
from gotlang.tune.points import CONTINUES, Measured, PointRunner, mean
from gotlang.tune.prompts import SHARE, ProposedTexts, propose, require_dspy
from gotlang.tune.sampler import CostModel, require_sampler
from gotlang.tune.search import LISTED, StudyProgress, StudySearch, best_of, front, merged
from gotlang.tune.space import space_of, with_texts
from gotlang.tune.structure import simplified
from gotlang.tune.trials import Trial, TrialStore, damaged, lost
from gotlang.tune.tuned import Tuned
from gotlang.version import __version__

FOLDER = Path(".gotc") / "tune"
"""The folder of studies, relative to the current folder."""
RESERVE = 1.25
"""The reserve for the test rows: a multiple of the cost of the untuned program and the best point on as many
train rows."""

Observe = Callable[[StudyProgress, StudyBudget], None]


# ---------------------------------------------------------------- rows


@final
@dataclass(frozen=True, slots=True)
class Split:
    """Numbers of rows, in the order they are used, and the fingerprint of the whole data."""

    train: tuple[int, ...]
    test: tuple[int, ...]
    fingerprint: str


def split(plan: StudyPlan, tested: int = 0) -> Split:
    """The rows for training and for testing, by the study's split seed; with at least `tested` test rows, as
    far as there are. Equal rows count once, so that none is in both. Raises UsageError if there are too
    few."""
    table, rows = plan.table, plan.read_rows().rows
    distinct = {json.dumps(row.inputs, sort_keys=True, default=str): row.number for row in reversed(rows)}
    numbers = sorted(distinct.values())
    random.Random(f"split {plan.split_seed}").shuffle(numbers)
    train = plan.train
    if train is None:
        train = len(numbers) - plan.test if plan.test is not None else int(len(numbers) * TRAIN_SHARE)
    test = plan.test if plan.test is not None else len(numbers) - train
    if train < 1 or test < 1 or train + test > len(numbers):
        raise UsageError(
            f"{table.path} has {len(numbers)} different rows, too few for {train} to train and {test} to "
            "test",
            help="both need at least one, and none can be in both",
        )
    last = train + max(test, tested)
    return Split(tuple(numbers[:train]), tuple(numbers[train:last]), data.fingerprint(table))


def _check_models(plan: StudyPlan, session: Session) -> None:
    """Raise UsageError if a simulated study varies a model that its simulator does not declare."""
    params = {param.name for param in session.ir.params}
    for vary in plan.vary if session.options.simulated else ():
        domain = build_domain(vary.domain)
        if domain and vary.text not in params and vary.text.rpartition(".")[2] in ("model", MODELS):
            for name in map(str, domain.choices):
                spec = name if is_simulated(name) else f"simulated:{plain_name(name)}"
                price_of_model(spec, session.models.options)


# ---------------------------------------------------------------- the study


def tune(plan: StudyPlan, options: Options | None = None, **how: Any) -> StudyResult:
    """Run a study and wait for its end; `how` are further arguments of `run_study`."""
    chosen = _options(plan, options or Options())
    virtual = chosen.simulated and chosen.engine == "embedded"
    return run_to_end(run_study(plan, options, **how), virtual=virtual)


async def run_study(
    plan: StudyPlan,
    options: Options | None = None,
    *,
    folder: Path | None = FOLDER,
    takeover: bool = False,
    picked: str | None = None,
    observe: Observe = lambda _, __: None,
) -> StudyResult:
    """Run a study, or this worker's part of a shared one.

    `options` are those of its runs; `params` and `max_usd` in them are ignored, the study sets both. `folder`
    stores the study's trials, and its budget if that is not beside the cache; None keeps them in memory, so
    that nothing can be resumed. Equal studies in one folder are one study. `takeover` continues trials of
    workers on other machines that no longer run. `picked` runs nothing: the result is that of the stored
    study, with the point with this name, or `cost=0.5`, chosen (see `judge.pick`).

    Raises UsageError, RunError and BudgetExceeded, the last if not even the untuned program could be
    measured, and CacheLost if the cache or the storage of trials is lost.
    """
    if find_spec("optuna") is None:
        raise UsageError("studies need Optuna", help=pip_install("tune"))
    if plan.searches and picked is None:
        require_dspy()
    _use_one_thread()
    from optuna.exceptions import StorageInternalError

    options = _options(plan, options or Options())
    with relaxed_gc(), tempfile.TemporaryDirectory() as temporary:
        async with opened(plan.program, options) as (session, engine):
            if engine is not None and (folder is None or session.coordination is None):
                raise UsageError("a study on Ray needs a cache and a folder, which its nodes share")
            study = _Study(
                plan, session, folder or Path(temporary), folder is not None, takeover, observe, engine
            )
            try:
                return await (study.run() if picked is None else study.pick(picked))
            except StorageInternalError as error:
                raise lost(error) from None
            except CacheError as error:  # after the study was opened
                raise CacheLost(error.message, help=CONTINUES) from None
            finally:
                study.close()


def _use_one_thread() -> None:
    """Let numpy compute in one thread, unless it is loaded already: a study's matrices are small, and threads
    that share a busy machine's processors wait for each other."""
    if "numpy" not in sys.modules:
        for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
            os.environ.setdefault(name, "1")


def _options(plan: StudyPlan, options: Options) -> Options:
    return structs.replace(
        options,
        model=plan.model or options.chosen_model,
        seed=plan.seed or options.seed,
        params={},
        max_usd=None,
        batching=options.batching and plan.batching,
        prefer=options.of_rows().prefer,
        level=options.level if plan.early_stop else min(options.level, 1),
        cache=MemoryCache() if options.chosen_cache is None else options.chosen_cache,
    )


@final
class _Study:
    """One worker's run of a study, step by step."""

    def __init__(
        self,
        plan: StudyPlan,
        session: Session,
        folder: Path,
        keep: bool,
        takeover: bool,
        observe: Observe,
        engine: Engine | None,
    ) -> None:
        self.started = time.monotonic()
        self.session, self.takeover, self.engine = session, takeover, engine
        self.model = session.model
        if self.model.price is None and plan.budget is not None:
            raise UsageError(
                f"the price of `{self.model.name}` is unknown, so the study's budget cannot be enforced",
                help="specify its price in a file with `--prices`",
            )
        _check_models(plan, session)
        self.plan = plan
        self.split = split(plan)
        self.asked = len(self.split.test)
        self.train = plan.read_rows(self.split.train).rows
        seed = session.options.seed
        others = sorted((name, str(path)) for name, path in session.options.corpora.items())
        self.identity = plan.fingerprint(self.split.fingerprint, self.model.name, seed, *others)
        self.name = f"{plan.name}-{self.identity}"
        self.file = folder / self.name
        if takeover:
            stored = {path.stem for path in folder.glob(f"{plan.name}-*.lock")}
            if stored and self.name not in stored:
                raise UsageError(
                    f"the stored study `{plan.name}` is another one: its program, data, model or objectives "
                    "have changed",
                    help="without `--resume` it starts anew; requests as before come from the cache",
                )
        self.storage = plan.storage or (f"{self.file}.journal" if keep else None)
        self.own: Coordination | None = None
        if (shared := session.coordination if keep else None) is None:
            own = SqliteCoordination(folder / "budgets.sqlite") if keep else MemoryCoordination()
            self.own = shared = Coordination(own)
        self.budget = StudyBudget(
            shared, f"study {self.name}", plan.budget, priced=self.model.price is not None
        )
        session.runner = structs.replace(session.runner, budget=self.budget)
        self.observe: Callable[[StudyProgress], None] = lambda progress: observe(progress, self.budget)
        self.partial: str | None = None
        self.rejected = 0
        facts = {"program": plan.program.name, "data": self.split.fingerprint, "model": self.model.name}
        maximize = [objective.maximize for objective in plan.objectives]
        self.store = TrialStore(self.storage, self.name, maximize, facts=facts, takeover=takeover)

    async def run(self) -> StudyResult:
        """All steps."""
        if self.plan.searches or space_of(self.plan).points(LISTED) is None:
            require_sampler(self.plan.sampler)
        self._check_budget()
        points = await self._propose()
        await self._search(points)
        self.rejected = self.search.allocation.rejected
        trials = self.search.measured()
        chosen = self._chosen(trials, [trials[trial.number] for trial in self.search.best])
        compared = await self._held_out(points, chosen)
        while rows := self._further_rows(compared):
            self.split = split(self.plan, rows)
            compared = await self._held_out(points, chosen)
        return await self._result(points, trials, compared)

    def _chosen(self, trials: Mapping[int, Trial], best: Sequence[Trial]) -> list[FrontPoint]:
        """The points to choose from, by the best of the search."""
        if len(self.plan.objectives) > 1:
            sign = self.plan.objectives[0].sign
            found = front(self.plan, trials.values())
            found.sort(key=lambda t: sign * t.result.values[0] if t.result.values else math.inf)
        else:
            found = [trial for trial in best if trial.number and trial.feasible][:1]
        return front_of(self.plan, trials, found)

    def _check_budget(self) -> None:
        """Raise BudgetExceeded, before anything is requested, if the budget allows no call of a prompt that
        the untuned program calls in any case. A study that has trials may find all its samples in the
        cache."""
        plan, options = self.plan, self.session.options
        if plan.budget is None or self.store.finished():
            return
        sizes = Sizes(options.chosen_model, self.session.models.options)
        program = self.session.ir
        usd, prompt = costliest_call(program, program.scheme(plan.scheme), sizes, self.train[0].inputs)
        if usd > plan.budget:
            most = dollars(usd)
            raise BudgetExceeded(
                f"the budget of {dollars(plan.budget)} does not allow one call of `{prompt}`, which may cost "
                f"{most} or more",
                help=f"give the study more, `--max-usd {math.ceil(100 * usd) / 100:g}` at least, or lower "
                f"`max_tokens` of `{prompt}`",
            )

    async def pick(self, wanted: str) -> StudyResult:
        """The stored study, with this point chosen; of one that has not ended, with the results so far."""
        trials = merged(self.plan, self.store.finished().values(), len(self.train))
        kept, texts = self.store.kept(), self._stored_texts()
        if 0 not in trials or (texts is None and self.plan.searches):
            raise UsageError(
                f"there is no result of the study `{self.plan.name}` yet to pick from",
                help="run it first: the same command without `--pick`",
            )
        self.partial = kept.partial
        self.split = split(self.plan, kept.wanted)
        if kept.names:
            found = self._compared(named(trials, kept.names), kept.rows)
            ran = min(len(kept.rows.get(p.trial.number, ())) for p in self._judged(found))
            if self.partial is None and ran < len(self.split.test) and not self._settled(found):
                self.partial = f"{UNFINISHED}: {ran} of {len(self.split.test)} test rows were run"
        else:
            best = best_of(self.plan, trials.values())
            found = self._chosen(trials, [best] if best is not None else [])
            self.partial = f"{UNFINISHED}: of {len(trials)} points none is compared on test rows"
        return await self._result(self._points(texts or ProposedTexts()), trials, found, wanted)

    async def _propose(self) -> PointRunner:
        """The runner of points, with proposed texts if the study searches prompts."""
        plan = self.plan
        if not plan.searches:
            return self._points(ProposedTexts())
        self.budget.allow(None if plan.budget is None else SHARE * plan.budget)
        try:
            while (found := self._stored_texts()) is None:
                if not await self._propose_texts():
                    self._tell_proposals("another worker proposes texts; if it no longer runs: --resume")
                    await self.store.pause()
        except BaseException:
            self.store.leave()
            raise
        self.budget.allow(plan.budget)
        return self._points(found)

    async def _propose_texts(self) -> bool:
        """Propose texts and store them, unless another worker has or does. It is the worker that claims the
        first trial."""
        async with self._alone():
            ROLE.set("texts")
            if self._stored_texts() is not None:
                return True
            if 0 in self.store.finished():
                raise UsageError(
                    "the study's storage has trials, but not the texts that were proposed for them",
                    help="another `--storage` starts the study anew, with responses from the cache",
                )
            if not self.store.claim_first():
                return False
            self._tell_proposals("texts are proposed")
            points = PointRunner(self.plan, space_of(self.plan), self.session)
            found = await propose(points, self.train, self._tell_proposals)
            if self._stored_texts() is None:  # `--resume` may take over from a worker that still runs
                self.store.keep_texts(to_json(found))
            return True

    def _stored_texts(self) -> ProposedTexts | None:
        stored = self.store.texts()
        try:
            return None if stored is None else from_json(stored, ProposedTexts)
        except InvalidRecord as error:
            raise damaged("the proposed texts", error) from None

    def _points(self, found: ProposedTexts) -> PointRunner:
        self.proposed = found.proposed
        counts = {prompt: len(texts) for prompt, texts in found.choices.items()}
        space = with_texts(space_of(self.plan), counts)
        return PointRunner(self.plan, space, self.session, found.choices, self.engine)

    def _tell_proposals(self, words: str) -> None:
        self.observe(StudyProgress(stage=words))

    async def _search(self, points: PointRunner) -> None:
        """Run all trials; the reason of an early end goes to `partial`."""
        ROLE.set("search")
        plan = self.plan
        costs = CostModel(points, self.train)

        def on_known(known: Sequence[Trial], best: Sequence[Trial]) -> None:
            baseline, *others = known
            some = best[: 4 if len(plan.objectives) > 1 else 1]  # of a front, as far as the budget lasts
            rows = max(self.asked, self.store.kept().wanted)
            self._reserve([baseline, *(some or [baseline])], rows)
            costs.learn(baseline.rows, [(trial.point, trial.rows) for trial in others])

        judged = self.store.kept().planned or len(self.split.test)  # the same if test rows are added later
        self.search = StudySearch(
            points,
            self.store,
            self.train,
            judged,
            lambda point: bool(costs.broken(point)),
            self.observe,
            on_known,
        )
        try:
            await self.search.run()
        except BudgetExceeded as error:
            self.partial = error.message
            if 0 not in self.store.finished():
                raise BudgetExceeded(
                    f"the budget of {amount('cost', plan.budget)} is too small for the untuned program on "
                    f"{len(self.train)} rows",
                    help="give it more with `--max-usd`: `gotc explain` estimates the cost of a row; "
                    "responses already paid for are kept",
                ) from None
        finally:
            self.store.leave()

    def _reserve(self, points: Sequence[Trial], rows: int) -> None:
        """Reserve the budget for running points on this number of rows later."""
        if self.plan.budget is not None:
            each = sum(mean([row.usd for row in trial.rows]) or 0.0 for trial in points)
            self.budget.allow(max(0.0, self.plan.budget - RESERVE * each * rows))

    async def _held_out(self, points: PointRunner, chosen: Sequence[FrontPoint]) -> list[FrontPoint]:
        """The front on the test rows, which are read only now: the original, the best point and, of several
        objectives, the others as far as the budget lasts; with one, another point if the best one violates a
        constraint. The first of several workers makes the calls; the others find the responses in the
        cache."""
        self.budget.allow(self.plan.budget)
        ROLE.set("held-out rows")
        self.search.show_stage("held-out rows")
        trials, judged = self.search.measured(), self._judged(chosen)
        async with self._alone():
            kept = self.store.kept()
            if kept.wanted > len(self.split.test):  # another worker added rows, or an earlier run
                self.split = split(self.plan, kept.wanted)
            measured = {n: list(known) for n, known in kept.rows.items()}
            first, front = {point.trial.number for point in judged}, list(chosen)
            names = {n: x for n, x in kept.names.items() if n in kept.rows and n not in first}
            names = {n: x for n, x in names.items() if "best" not in x}
            added = named(trials, names) if len(self.plan.objectives) == 1 else []  # before an interruption
            while True:
                numbers = {point.trial.number for point in added}
                front = [*(point for point in front if point.trial.number not in numbers), *added]
                front = await self._waves(points, front, [*judged, *added], measured)
                reserve = None
                if len(self.plan.objectives) == 1 and not added:
                    reserve = reserve_of(front, trials, self.search.expected)
                if reserve is None:
                    return front
                added = [reserve]

    def _further_rows(self, compared: Sequence[FrontPoint]) -> int:
        """The number of test rows to go on to: those that would probably decide a verdict that is not
        significant. It is 0 if the data does not have them, if the study's budget does not last for them, or
        if `better` is improbable even then."""
        plan, found = self.plan, judged_point(compared).held_out
        if found is None or found.verdict != "not significant" or self.partial is not None:
            return 0
        if found.more_rows is None or plan.budget is None or found.rows < len(self.split.test):
            return 0
        rows = found.rows + found.more_rows
        if len(split(plan, rows).test) < rows or is_settled(plan, compared, rows, self.store.kept().planned):
            return 0
        spent, usd = self.budget.spent_by_all, 0.0
        for point in compared:
            each = mean([row.usd for row in point.measured])
            usd += (each or 0.0) * max(0, rows - len(point.measured))
        left = plan.budget - (spent.usd or 0.0) - (spent.uncertain_usd or 0.0)
        return rows if RESERVE * usd <= left else 0

    async def _waves(
        self,
        points: PointRunner,
        front: Sequence[FrontPoint],
        judged: Sequence[FrontPoint],
        measured: dict[int, list[Measured]],
    ) -> list[FrontPoint]:
        """Run points of the front on test rows in waves, until their verdicts are settled."""
        rows, names = self.plan.read_rows(self.split.test).rows, {p.trial.number: p.names for p in front}
        seen, lasts = len(measured.get(0, ())), True
        for look in (look for look in waves(len(rows)) if look >= seen):
            for point in sorted(judged, key=lambda p: (p.trial.number > 0, -len(p.names))):
                known = measured.setdefault(point.trial.number, [])
                try:
                    known += await points.rows(point.trial.point, rows[len(known) : look], answers=True)
                except BudgetExceeded:
                    lasts = False
                    if len(rows) <= self.asked:  # rows that were added are not missed
                        self.partial = self.partial or "the budget did not last for the test rows"
                    break
            self.store.keep(names, measured, planned=len(rows), partial=self.partial)
            if not lasts or self._settled(self._compared(front, measured, brief=True)):
                break
        return self._compared(front, measured)

    def _judged(self, front: Sequence[FrontPoint]) -> list[FrontPoint]:
        """The points that run on test rows first: with several objectives all of them."""
        several = len(self.plan.objectives) > 1
        return [point for point in front if several or {"original", "best"} & {*point.names}]

    def _settled(self, compared: Sequence[FrontPoint]) -> bool:
        return is_settled(self.plan, compared, len(self.split.test), self.store.kept().planned)

    def _compared(
        self,
        chosen: Sequence[FrontPoint],
        measured: Mapping[int, Sequence[Measured]],
        *,
        brief: bool = False,
    ) -> list[FrontPoint]:
        """The front, compared on the test rows as far as they were run."""
        feasible = any(trial.feasible for trial in self.store.finished().values() if trial.rows)
        same = "no improvement found" if feasible else "no feasible trial"
        planned = self.store.kept().planned
        ran = [len(measured.get(p.trial.number, ())) for p in chosen if {"original", "best"} & {*p.names}]
        ran += [len(rows) for rows in measured.values() if planned and len(rows) >= planned]
        count = min(len(self.split.test), *ran)
        whole = {n: rows[:count] for n, rows in measured.items() if count and len(rows) >= count}
        return compare_front(self.plan, chosen, whole, same=same, planned=planned, brief=brief)

    async def _result(
        self,
        points: PointRunner,
        trials: dict[int, Trial],
        front: Sequence[FrontPoint],
        wanted: str | None = None,
    ) -> StudyResult:
        plan, options = self.plan, self.session.options
        await asyncio.sleep(0)  # the last settlements are written
        spent, roles = self.budget.spent_by_all, self.budget.spent_by_role
        picked = None if wanted is None else pick(plan, front, trials, wanted)
        tested = self.split.test[: max(self.asked, *(len(point.measured) for point in front))]
        chosen = written(front, picked)
        provenance = {
            "study": plan.name,
            "identity": self.identity,
            "data": {"file": Path(plan.table.path).name, "sha256": self.split.fingerprint},
            "rows": {"train": list(self.split.train), "test": list(tested)},
            "source_sha256": {
                Path(source.name).name: hashlib.sha256(source.text.encode()).hexdigest()
                for source in plan.program.compilation.sources.values()
            },
            "model": self.model.name,
            "simulated": self.model.simulated,
            "seed": options.seed,
            "trials": len(trials),
            "point": chosen.title,
            "spent": spent.to_dict(),
            "partial": self.partial,
            "versions": {
                "gotlang": __version__,
                "python": platform.python_version(),
                **{name: version(name) for name in ("optuna", "dspy") if find_spec(name)},
            },
        }
        params, settings = points.space.params_and_settings(chosen.trial.point)
        params, settings = simplified(plan.program, plan.scheme, params, settings)
        held_out = (picked or judged_point(front)).held_out
        scheme = settings.get(SCHEME, plan.scheme)
        held = held_out.to_dict() if held_out is not None else {}
        texts = points.chosen_texts(chosen.trial.point)
        return StudyResult(
            plan=plan,
            trials=trials,
            space=points.space,
            front=front,
            picked=picked,
            tuned=Tuned(plan.program.name, scheme, params, texts, settings, held, provenance),
            spent=spent,
            roles={role: roles[role] for role in ROLES if role in roles},
            simulated=self.model.simulated,
            model=options.model if isinstance(options.model, str) else self.model.name,
            wall_s=time.monotonic() - self.started,
            rejected=self.rejected,
            partial=self.partial,
            storage=self.storage,
            study=self.store.study,
            endpoints=self.session.endpoints,
            trained=self.split.train,
            tested=tested,
            proposed=self.proposed,
            texts={point.names[0]: points.chosen_texts(point.trial.point) for point in front},
        )

    def close(self) -> None:
        """Close the budget of a study whose cache cannot store it."""
        if self.own is not None:
            self.own.close()

    @asynccontextmanager
    async def _alone(self) -> AsyncIterator[None]:
        """Do what only one worker at a time does; the others find its responses."""
        import fcntl

        try:
            lock = open_own(f"{self.file}.lock")
        except OSError as error:
            raise UsageError(f"cannot write the study's lock {self.file}.lock: {error.strerror}") from None
        try:
            await asyncio.to_thread(fcntl.flock, lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)
