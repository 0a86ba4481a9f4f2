"""A whole study: rows, search, held-out rows, result."""

from __future__ import annotations

import asyncio
import hashlib
import platform
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, final

from gotlang.cache.memory import MemoryCache
from gotlang.errors import BudgetExceeded, UsageError
from gotlang.options import Options
from gotlang.session import Session, run_to_end
from gotlang.tune.estimated import Estimated
from gotlang.tune.evaluation import Evaluation
from gotlang.tune.finals import Finalist, finals
from gotlang.tune.heldout import STAYS, HeldOut, amount, compare
from gotlang.tune.objective import mean
from gotlang.tune.plan import Plan
from gotlang.tune.proposals import Proposals
from gotlang.tune.propose import SHARE, propose
from gotlang.tune.purse import Book, Purse
from gotlang.tune.records import Record, Records, worker_name
from gotlang.tune.rows import Row, read_rows, split
from gotlang.tune.search import Progress, Search, front
from gotlang.tune.space import Space, space_of, with_texts
from gotlang.tune.tuned import Tuned
from gotlang.version import __version__

FOLDER = Path(".gotc") / "tune"
"""Where studies are kept, from the current folder."""
RESERVE = 1.25
"""What is kept back for the test rows: so many times what the untuned program cost on as many train rows."""


@final
@dataclass(frozen=True)
class Studied:
    """What a study gave. `partial` says why the search ended before its end, where it did; `unmet` names
    the constraints that no trial kept.

    `usd` is what the whole study paid, by all its workers, restarts and roles.
    """

    plan: Plan
    name: str
    records: dict[int, Record]
    winner: Record
    finals: list[Finalist]
    pareto: list[Record]
    held_out: HeldOut | None
    tuned: Tuned
    usd: float
    answers: int
    simulated: bool
    model: str
    wall_s: float
    rejected: int
    unmet: list[str]
    partial: str | None
    storage: str | None
    study: Any = None

    def as_json(self) -> dict[str, Any]:
        """The document that `gotc tune --json` prints."""
        ended: dict[str, int] = {}
        for record in self.records.values():
            ended[record.ended] = ended.get(record.ended, 0) + 1
        return {
            "study": self.plan.name,
            "model": self.model,
            "simulated": self.simulated,
            "trials": len(self.records),
            "ended": ended,
            "rejected": self.rejected,
            "unmet": list(self.unmet),
            "winner": {
                "trial": self.winner.number,
                "point": dict(self.winner.point),
                "params": dict(self.tuned.params),
                "settings": dict(self.tuned.settings),
                "train": list(self.winner.told.values or ()),
            },
            "finals": [finalist.as_json() for finalist in self.finals],
            "original": {"train": list(self.records[0].told.values or ())},
            "pareto": [
                {"trial": r.number, "point": dict(r.point), "train": list(r.told.values or ())}
                for r in self.pareto
            ],
            "held_out": self.held_out.as_json() if self.held_out is not None else None,
            "paid": {"usd": self.usd, "answers": self.answers},
            "wall_s": self.wall_s,
            "partial": self.partial,
            "storage": self.storage,
            "tuned": self.tuned.as_json(),
        }


def tune(
    plan: Plan,
    options: Options | None = None,
    *,
    folder: Path | None = FOLDER,
    takeover: bool = False,
    observe: Callable[[Progress, Purse], None] = lambda _, __: None,
) -> Studied:
    """Run a study, or this worker's part of one that others share, and wait for its end.

    `options` are those of its runs; `params` and `max_usd` in them are ignored, the study sets both.
    `folder` holds the study's records and its book; None keeps them in memory, so that nothing can be
    resumed. Equal studies in one folder are one study. `takeover` continues trials of workers on other
    machines that run no more.

    Raises UsageError, RunError and BudgetExceeded, the last where not even the untuned program could be
    measured.
    """
    try:
        import optuna  # noqa: F401
    except ImportError:
        raise UsageError("studies need Optuna", help="pip install 'gotlang[tune]'") from None
    options = options or Options()
    options = replace(
        options,
        model=plan.model or options.chosen_model,
        seed=plan.seed or options.seed,
        params={},
        max_usd=None,
        fusion=options.fusion and plan.fusion,
        early_stop=options.early_stop and plan.early_stop,
        cache=MemoryCache() if options.chosen_cache is None else options.chosen_cache,
    )

    async def go() -> Studied:
        if folder is not None:
            return await _study(plan, options, folder, True, takeover, observe)
        with tempfile.TemporaryDirectory() as passing:
            return await _study(plan, options, Path(passing), False, takeover, observe)

    return run_to_end(go(), virtual=options.simulated)


async def _study(
    plan: Plan,
    options: Options,
    folder: Path,
    keep: bool,
    takeover: bool,
    observe: Callable[[Progress, Purse], None],
) -> Studied:
    started = time.monotonic()
    parts = split(plan)
    rows = read_rows(plan, parts.train)
    async with Session(plan.program, options) as session:
        model = session.model
        if model.price is None and plan.budget is not None:
            raise UsageError(
                f"the price of `{model.name}` is not known, so the study's budget cannot be kept",
                help="give its price in a file with `--prices`",
            )
        identity = plan.fingerprint(parts.fingerprint, model.name, options.seed)
        name = f"{plan.name}-{identity}"
        storage = plan.storage or (str(folder / f"{name}.journal") if keep else None)
        if takeover:
            _same_as_before(plan.name, folder, name)
        book = Book(folder / f"{name}.book", worker_name())
        purse = Purse(book, plan.budget)
        session.runner = replace(session.runner, budget=purse)
        space = space_of(plan)
        kept = folder / f"{name}.texts.json"
        if plan.budget is not None:
            purse.max_usd = SHARE * plan.budget
        if plan.searches:
            observe(Progress(plan.trials, stage="texts are proposed"), purse)
        with _alone(folder / f"{name}.lock"):
            texts = await propose(plan, Evaluation(plan, space, session), rows, kept)
        purse.max_usd, purse.empty = plan.budget, False
        space = with_texts(space, {prompt: len(found) for prompt, found in texts.items()})
        if plan.sampler.name == "grid":
            plan = replace(plan, trials=min(plan.trials, space.combinations))
        evaluation = Evaluation(plan, space, session, texts)
        records = Records(
            storage,
            name,
            [objective.maximize for objective in plan.objectives],
            facts={"program": plan.program.name, "data": parts.fingerprint, "model": model.name},
            takeover=takeover,
        )
        estimated = Estimated(plan, evaluation, rows)
        proposals = Proposals(
            space,
            plan.sampler,
            seed=options.seed,
            size=plan.parallel,
            maximize=[objective.maximize for objective in plan.objectives],
            estimate=estimated.broken,
        )
        search = Search(plan, evaluation, records, proposals, rows, lambda p: observe(p, purse))

        def on_baseline(record: Record) -> None:
            _keep_back(plan, purse, record, len(parts.test) + (len(rows) if plan.finals > 1 else 0))
            estimated.learn(record.rows)

        search.on_baseline = on_baseline
        partial = None
        try:
            await search.run()
        except BudgetExceeded as error:
            records.leave()
            partial = error.message
            if 0 not in records.finished():
                raise BudgetExceeded(
                    f"the budget of {amount('cost', plan.budget)} does not last for the untuned program "
                    f"on {len(rows)} rows",
                    help="`gotc explain` says what one row costs; what is paid is kept for the next try",
                ) from None
        finally:
            records.leave()
        finished = {n: r for n, r in records.finished().items() if r.ended != "skipped"}
        _keep_back(plan, purse, finished[0], len(parts.test))
        purse.empty = False
        search.show_stage("finals")
        with _alone(folder / f"{name}.lock"):
            met = await finals(plan, space, evaluation, finished, rows)
        winner = met[0].record if met else finished[0]
        purse.max_usd, purse.empty = plan.budget, False
        search.show_stage("held-out rows")
        same = None if winner.number else "nothing found" if met else "nothing allowed"
        held_out = await _held_out(
            plan, folder / f"{name}.lock", evaluation, (finished[0], winner), parts.test, same
        )
        if held_out is None:
            partial = partial or "the budget did not last for the test rows"
        await asyncio.sleep(0)  # what was settled last is written down
        with book.locked():
            paid, answers = book.paid_usd, book.answers
        stays = held_out is not None and held_out.verdict in STAYS
        found = _found(plan, space, evaluation, finished[0] if stays else winner, held_out)
        found = replace(
            found,
            provenance={
                "study": plan.name,
                "identity": identity,
                "data": {"file": plan.data.name, "sha256": parts.fingerprint},
                "rows": {"train": list(parts.train), "test": list(parts.test)},
                "source_sha256": {
                    Path(source.name).name: hashlib.sha256(source.text.encode()).hexdigest()
                    for source in plan.program.compilation.sources.values()
                },
                "model": model.name,
                "simulated": model.simulated,
                "seed": options.seed,
                "trials": len(finished),
                "paid_usd": paid,
                "paid_answers": answers,
                "partial": partial,
                "versions": _versions(),
            },
        )
        book.close()
        return Studied(
            plan=plan,
            name=name,
            records=finished,
            winner=winner,
            finals=met,
            pareto=front(plan, finished.values()) if len(plan.objectives) > 1 else [],
            held_out=held_out,
            tuned=found,
            usd=paid,
            answers=answers,
            simulated=model.simulated,
            model=options.chosen_model if isinstance(options.chosen_model, str) else model.name,
            wall_s=time.monotonic() - started,
            rejected=proposals.rejected,
            unmet=[
                constraint.text
                for constraint in plan.constraints
                if all(r.told.excess.get(constraint.text, 1.0) > 0 for r in finished.values())
            ],
            partial=partial,
            storage=storage,
            study=records.study,
        )


def _same_as_before(study: str, folder: Path, name: str) -> None:
    """Raise UsageError where a study of this name is kept, but none that is as it is asked for now."""
    kept = {path.stem for path in folder.glob(f"{study}-*.book")}
    if kept and name not in kept:
        raise UsageError(
            f"the kept study `{study}` is another one: its program, data, model or wishes have changed",
            help="without `--resume` it starts anew; what it asks as before is not paid again",
        )


def _keep_back(plan: Plan, purse: Purse, baseline: Record, rows: int) -> None:
    """Leave the search what is not needed to run two programs on so many rows after it."""
    if plan.budget is None:
        return
    each = mean([row.usd for row in baseline.rows]) or 0.0
    purse.max_usd = max(0.0, plan.budget - RESERVE * 2 * each * rows)


async def _held_out(
    plan: Plan,
    lock: Path,
    evaluation: Evaluation,
    both: tuple[Record, Record],
    numbers: tuple[int, ...],
    same: str | None,
) -> HeldOut | None:
    """The original and the winner on the test rows, which are read only now. None where the money did not
    last.

    Of several workers the first pays, the others find its answers in the cache.
    """
    rows: tuple[Row, ...] = read_rows(plan, numbers)
    with _alone(lock):
        try:
            before = await evaluation.rows(both[0].point, rows)
            after = before if same is not None else await evaluation.rows(both[1].point, rows)
        except BudgetExceeded:
            return None
    return compare(plan, before, after, same=same)


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """What only one worker at a time does; the others find its answers."""
    import fcntl

    with lock.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _found(
    plan: Plan, space: Space, evaluation: Evaluation, chosen: Record, held_out: HeldOut | None
) -> Tuned:
    values = space.values(chosen.point)
    return Tuned(
        plan.program.name,
        plan.scheme,
        {name: value for name, value in values.items() if name not in space.settings},
        evaluation.chosen_texts(chosen.point),
        {name: value for name, value in values.items() if name in space.settings},
        held_out.as_json() if held_out is not None else {},
    )


def _versions() -> dict[str, str]:
    found = {"gotlang": __version__, "python": platform.python_version()}
    for package in ("optuna", "dspy"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
