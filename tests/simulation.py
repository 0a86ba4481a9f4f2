"""Deterministic simulation: a seed controls scheduling, failures of network and disk, and kills.

    python -m tests.simulation --seeds 10000
    python -m tests.simulation --first 4711 --seeds 1 -v        # a seed that failed, again

Each seed is a world of its own: several processes run the real session, sampler, model, budget, cache and
files on one folder and against one endpoint, are killed and start again. In `tests/support/`, `machine.py`
stands between them and the system, `faulty_network.py` below their model, `seeded_loop.py` is the event loop.
`tests/test_simulation.py` runs some of the seeds, and breaks the real code to see them fail.
"""

from __future__ import annotations

# Before what keeps one of the system's functions.
import tests.support.machine  # noqa: F401

# isort: split
import argparse
import asyncio
import gc
import itertools
import logging
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import Context
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from gotlang.api import Options, Program, Session, compile
from gotlang.cache import open_cache
from gotlang.cache.cassette import open_recording
from gotlang.errors import BudgetExceeded, CacheError, GotError, RunError, UsageError
from gotlang.models.base import ModelOptions
from gotlang.models.capabilities import CapabilityStore
from gotlang.report.history import History, RunRecord
from gotlang.runtime.sampler.events import Asked, Event, MissingSample, Unsaved
from gotlang.tune.outcome import StudyResult
from gotlang.tune.plan import StudyPlan, make_plan
from gotlang.tune.search import StudyProgress
from gotlang.tune.study import run_study
from gotlang.tune.trials import Trial
from gotlang.tune.tuned import read_tuned
from tests.support.breakages import BREAKAGES
from tests.support.faulty_network import FAULTS, NetworkModel, Sent, Server
from tests.support.machine import KINDS, Faults, Process
from tests.support.power import Disk
from tests.support.seeded_loop import SeededLoop

PROGRAMS = (
    """
prompt answer(question: str) -> int:
    temperature 0.8
    max_tokens 20
    "{{ question }}"

scheme main(question: str) -> int:
    Generate(k=4) answer(question)
    Vote()
""",
    """
prompt answer(question: str) -> int:
    temperature 0.8
    max_tokens 12
    "{{ question }}"

prompt better(number: int) -> int:
    temperature 0
    max_tokens 30
    "Is it {{ number }}?"

scheme main(question: str) -> int:
    Generate(k=3) answer(question)
    Generate() better(it)
    Vote()
""",
)
GUESSING = """
param tries = 2 in 1..3

prompt guess(target: int) -> int:
    temperature 0.7
    max_tokens 20
    "Guess {{ target }}."

score error(attempt: int, target: int) -> lower, best 0:
    abs(attempt - target)

scheme near(target: int) -> int:
    Generate(k=tries) guess(target)
    Score() error(it, target)
    KeepBestN(1)
"""
QUESTIONS = tuple(f"How many {'very ' * number}long words are in line {number}?" for number in range(6))
INSTANT_S = 0.5
"""Virtual seconds in which an answer that has come is stored."""


class Broken(AssertionError):
    """Something that must hold does not."""


@cache
def program(number: int) -> Program:
    """One of the programs, compiled once."""
    return compile(PROGRAMS[number], f"main{number}.got")


@cache
def study() -> StudyPlan:
    """A small study, made once."""
    return make_plan(
        compile(GUESSING, "guess.got"),
        data=[{"target": number} for number in range(3, 23, 2)],
        minimize="error(result, target)",
        subject_to=["cost <= 2 * baseline"],
        train=4,
        test=3,
        trials=4,
    )


@dataclass(eq=False)
class Life:
    """What one process was given, and what it said until it ended."""

    process: Process
    max_usd: float | None = None
    max_calls: int | None = None
    shares: bool = False
    """Whether its limit is one for all that share it."""
    session: Session | None = None
    stored: dict[tuple[str, int], str] = field(default_factory=dict)
    unsaved: int = 0
    refused: int = 0
    """How many answers were unsaved at some time."""
    told: list[str] = field(default_factory=list)
    ended: bool = False
    finished: dict[int, Trial] = field(default_factory=dict)
    result: StudyResult | None = None
    recorded: list[Path] = field(default_factory=list)
    """Recordings and records that it was told are written."""
    values: dict[str, Any] = field(default_factory=dict)
    """What its complete runs gave, by question."""

    def stop(self) -> None:
        """Ctrl-C."""
        if self.session is not None:
            self.session.stop("stopped")

    def cancel(self) -> None:
        """Ctrl-C once more."""
        self.process.tasks[0].cancel()

    def observe(self, event: Event) -> None:
        """What is in the hands of a run."""
        if isinstance(event, Unsaved):
            self.unsaved += event.more
            self.refused += max(0, event.more)
        elif isinstance(event, Asked):
            for number, sample in zip(event.numbers, event.samples, strict=True):
                if not isinstance(sample, MissingSample) and sample[1] == "model":
                    zero = event.request.settings.temperature == 0
                    self.stored[event.key, 0 if zero else number] = sample[0].completion.text


class World:
    """A seed's machine, network and processes."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.chance = chance = Random(seed)
        self.folder = folder
        self.loop = SeededLoop(Random(chance.random()))
        self.loop.each = self._watch
        self.pids = itertools.count(1000)
        self.lives: list[Life] = []
        self._watched: list[tuple[Process, asyncio.Future[None]]] = []
        kinds = chance.sample(FAULTS, chance.choice((0, 1, 3, len(FAULTS))))
        start = chance.random() * 20
        outage = (start, start + chance.random() * 60, chance.choice(FAULTS[:12]))
        self.server = Server(
            Random(chance.random()),
            chance.choice((0.02, 0.1, 0.4)),
            kinds,
            outage if chance.random() < 0.2 else (0.0, 0.0, ""),
            most=chance.choice((1, 2, 128)),
            idempotent=chance.random() < 0.3,
            latency_s=chance.choice((0.01, 0.5, 5.0)),
        )
        self.program = program(chance.randrange(len(PROGRAMS)))
        self.questions = chance.sample(QUESTIONS, chance.randint(1, 4))
        self.options: dict[str, Any] = {
            "concurrency": chance.choice((1, 2, 8, None)),
            "retry": chance.random() < 0.8,
            "prefer": "cost" if chance.random() < 0.5 else "latency",
            "batching": chance.random() < 0.7,
            "timeout": chance.choice((None, None, 2.0, 20.0)),
        }
        self.plan: StudyPlan | None = None
        if chance.random() < 0.2:
            self.plan = replace(study(), budget=chance.choice((None, 0.01, 0.03)))
        # The trials of a worker on another machine are left to it.
        self.machines = self.plan is None and chance.random() < 0.3
        self.crowd = chance.choice((1, 1, 2, 3))
        # What all but the last process may spend together, on one machine: elsewhere a lease must end first.
        self.together: float | None = None
        if self.plan is None and not self.machines and chance.random() < 0.3:
            self.together = chance.choice((0.002, 0.006, 0.02))
        self.disk: Disk | None = None
        if not self.machines and chance.random() < 0.3:
            self.disk = Disk(folder, Random(chance.random()))
        self.dark: dict[tuple[str, int], float] = {}
        """Samples that a power failure took, with when it last did."""
        self.tuned = b""
        """The result of the study, if the last that wrote it was told that it is there."""

    @property
    def cache(self) -> Path:
        """The cache that all share."""
        return self.folder / "cache.sqlite"

    def process(self, name: str) -> Process:
        """A new process of this machine."""
        loop, pid = self.loop, next(self.pids)
        chance = Random(self.chance.random())
        made = Process(name, pid, str(self.folder), chance, clock=loop.time, pass_time=loop.pass_time)
        made.hidden, made.disk = self.machines, self.disk
        return made

    async def ends(self, process: Process, work: Any) -> None:
        """Let a process work until it has ended or is killed."""
        task = self.loop.create_task(work, context=process.context)
        died: asyncio.Future[None] = self.loop.create_future()
        self._watched.append((process, died))
        task.add_done_callback(lambda _: died.done() or died.set_result(None))
        await died
        if not process.dead:
            process.leave()
        if not process.dead and task.exception() is not None:
            raise Broken(f"{process.name} ended with {task.exception()!r}") from task.exception()

    def _watch(self) -> None:
        for process, died in self._watched:
            if process.dead and not died.done():
                died.set_result(None)
        self._watched = [each for each in self._watched if not each[1].done()]

    # ------------------------------------------------------------ what happens

    async def story(self) -> None:
        """Several lives at once, each killed and started again; at last one that nothing happens to."""
        at, power = 100 ** (self.chance.random() * 1.5 - 1), None
        if self.disk is not None:
            power = self.loop.call_later(at, self._power_fails, self.disk, context=Context())
        await asyncio.gather(*(self._lives(name) for name in "abc"[: self.crowd]))
        if power is not None:
            power.cancel()
        self.server.calm = True
        last = Life(self.process("last"))
        self.lives.append(last)
        await self.ends(last.process, self._work(last, calm=True))
        for life in self.lives:
            await self._replay(life)

    def _power_fails(self, disk: Disk) -> None:
        """All processes end, and of the disk is left what was synced, and some of the rest."""
        stored = self._stored()
        left = disk.after_power_failure()
        for process in list(Process.living.values()):
            process.log.append("power failure")
            process.kill()
        disk.restore(left)
        self.opens()
        self.dark.update(dict.fromkeys(stored - self._stored(), self.loop.time()))
        for life in self.lives:
            for sample in self.dark:
                life.stored.pop(sample, None)
        self._recorded_kept()

    def _stored(self) -> set[tuple[str, int]]:
        """All samples in the cache."""
        if not self.cache.exists():
            return set()
        kept = open_cache(self.cache)
        try:
            return {(entry.key, number) for entry in kept.entries() for number in kept.get(entry.key)}
        finally:
            kept.close()

    async def _replay(self, life: Life) -> None:
        """A recording gives what its complete runs gave, but for requests that got no response there:
        what failed for one row may have been answered for another one later."""
        for path in life.recorded:
            if path.suffix == ".jsonl" and life.values:
                if not path.exists():
                    raise Broken(f"{path.name}, which a run ended with, is gone")
                given = Options(model=f"replay:{path}", cache=None, prefer=self.options["prefer"])
                async with Session(self.program, given) as session:
                    for question, value in life.values.items():
                        again = (await session.run({"question": question})).value
                        if again != value:
                            raise Broken(f"{path.name} gives {again} where {life.process.name} had {value}")

    async def _lives(self, name: str) -> None:
        chance = self.chance
        await asyncio.sleep(chance.choice((0.0, 0.0, 3.0)) * chance.random())
        for number in range(chance.choice((1, 2, 3))):
            life = Life(self.process(f"{name}{number}"))
            if self.together is not None:
                life.max_usd, life.shares = self.together, True
            elif self.plan is None and chance.random() < 0.5:
                life.max_usd = chance.choice((0.001, 0.004, 0.01, 0.02))
            if self.plan is None and self.together is None and chance.random() < 0.2:
                life.max_calls = chance.choice((1, 5, 12))
            process = life.process
            if chance.random() < 0.4:
                length = chance.choice((1, 3, 10_000))
                inside = chance.choice(("", "json", "sqlite", "journal" if self.plan is not None else ""))
                most = 60 if inside in ("", "sqlite") else 15
                process.faults = Faults(chance.choice(KINDS), int(most ** chance.random()), length, inside)
            if chance.random() < 0.4:
                self.loop.call_later(100 ** (chance.random() * 1.5 - 1), process.kill)
            self.lives.append(life)
            if chance.random() < 0.2:
                # Ctrl-C, once or twice.
                first = 30 ** (chance.random() * 1.5 - 1)
                context = process.context.copy()
                self.loop.call_later(first, life.stop, context=context)
                if chance.random() < 0.5:
                    self.loop.call_later(first + chance.random(), life.cancel, context=context)
            await self.ends(process, self._work(life))
            self.opens()
            await asyncio.sleep(chance.choice((0.0, 1.0)))

    async def _work(self, life: Life, *, calm: bool = False) -> None:
        """What `gotc eval` or `gotc tune` does."""
        options = self.options if not calm else {**self.options, "retry": True, "timeout": None}
        known, retries = self.folder / "endpoints.json", None if options["retry"] else 0
        how = ModelOptions(known=known, retries=retries, timeout_s=options["timeout"])
        given = Options(
            model=NetworkModel(self.server, how, Random(life.process.pid)),
            cache=self.cache,
            max_usd=life.max_usd,
            max_calls=life.max_calls,
            budget="together" if life.shares else None,
            observe=life.observe,
            record=self.folder / f"{life.process.name}.jsonl" if self.plan is None else None,
            **options,
        )
        try:
            await (self._study(life, given) if self.plan is not None else self._rows(life, given, calm=calm))
        except BudgetExceeded as error:
            life.told.append(error.message)
        except GotError as error:
            if calm:
                raise
            life.told.append(error.in_words())
        except asyncio.CancelledError:
            life.told.append("cancelled")
        life.ended = not life.process.dead

    async def _study(self, life: Life, options: Options) -> None:
        def observe(progress: StudyProgress, budget: object) -> None:
            life.finished.update(progress.finished)

        assert self.plan is not None
        life.result = await run_study(self.plan, options, folder=self.folder / "tune", observe=observe)
        path, self.tuned = self.folder / "near.tuned.json", b""
        with suppress(UsageError):
            life.result.tuned.write(path)
            self.tuned = path.read_bytes()
        life.told.append(f"${life.result.usd}, {len(life.result.trials)} trials, {life.result.partial}")

    async def _rows(self, life: Life, options: Options, *, calm: bool) -> None:
        history = History(self.folder / "runs")

        async def row(session: Session, number: int, question: str) -> None:
            name = f"{life.process.name}x{number}"
            record = RunRecord(name, "main", "main.got", "0" * 64, "main", "m", {"question": question})
            with suppress(OSError):
                record = history.start(record)
            try:
                result = await session.run({"question": question}, name=name)
            except RunError as error:
                life.told.append(f"{name}: {error.message}")
                if calm:
                    raise
                with suppress(OSError):
                    history.end(record, "failed", error=error.message)
                return
            life.told.append(f"{name}: {result.status} {result.value}")
            if calm and result.status == "partial":
                raise Broken(f"the last process did not finish: {result.partial}")
            if result.status == "complete" and not result.to_dict()["failed"]:
                life.values[question] = result.value
            with suppress(OSError):
                history.end(record, "done", document=result.to_dict())
                life.recorded.append(self.folder / "runs" / f"{name}.json")

        refused: list[UsageError] = []
        async with Session(self.program, options) as session:
            life.session = session
            session.on_unrecorded = refused.append
            await asyncio.gather(*(row(session, *each) for each in enumerate(self.questions)))
        if not refused:
            life.recorded.append(Path(str(options.record)))

    # ------------------------------------------------------------ what must hold

    def opens(self) -> None:
        """Every file opens, whatever happened to those that wrote it."""
        if self.cache.exists():
            kept = open_cache(self.cache)
            try:
                for entry in kept.entries():
                    kept.get(entry.key)
            finally:
                kept.close()
        history = {record.run for record in History(self.folder / "runs").runs()}
        for path in (self.folder / "runs").glob("[!.]*.json"):
            if path.stem not in history:
                raise Broken(f"{path.name} does not open: {path.read_text()[-200:]!r}")
        path = self.folder / "endpoints.json"
        if path.exists() and not path.read_text().endswith("}\n"):
            raise Broken(f"{path.name} is torn: {path.read_text()[-200:]!r}")
        CapabilityStore(path).all()
        for path in self.folder.glob("*.jsonl"):
            open_recording(path)
        path = self.folder / "near.tuned.json"
        if path.exists():
            read_tuned(path)

    def _recorded_kept(self) -> None:
        """What was told to be written is there."""
        history = History(self.folder / "runs")
        for path in (path for life in self.lives for path in life.recorded):
            try:
                there = open_recording(path) if path.suffix == ".jsonl" else history.find(path.stem)
            except GotError as error:
                raise Broken(f"{path.name} was written: {error}") from error
            if isinstance(there, RunRecord) and there.state != "done":
                raise Broken(f"the record {path.name} is not what it was")
        path = self.folder / "near.tuned.json"
        if self.tuned and path.read_bytes() != self.tuned:
            raise Broken("the result of the study is not what it was")

    def check(self) -> None:
        """All that must hold when everything has ended."""
        if self.loop.troubles:
            raise Broken(self.loop.troubles[0])
        self.opens()
        self._recorded_kept()
        self._nothing_lost()
        self._nothing_paid_twice()
        self._together()
        for life in self.lives:
            self._money(life)
        if self.plan is not None:
            self._study_kept(self.plan)

    def _nothing_lost(self) -> None:
        kept = open_cache(self.cache, readonly=True)
        try:
            for life in self.lives:
                lost = [
                    (key, number) for (key, number) in life.stored if number not in kept.get(key, [number])
                ]
                if len(lost) > life.unsaved:
                    raise Broken(
                        f"{life.process.name} lost {len(lost)} answers and told {life.unsaved}: {lost[0]}"
                    )
        finally:
            kept.close()

    def _study_kept(self, plan: StudyPlan) -> None:
        usd = self.server.usd(*(life.process for life in self.lives))
        if plan.budget is not None and usd > Fraction(str(plan.budget)):
            raise Broken(f"the study crossed its budget of ${plan.budget}: ${float(usd)}")
        result = self.lives[-1].result
        for life in self.lives:
            for number, trial in life.finished.items():
                last = None if result is None else result.trials.get(number)
                # It may have been run on more rows since.
                same = last is not None and (trial.point, trial.rows) == (
                    last.point,
                    last.rows[: len(trial.rows)],
                )
                if trial.ended != "skipped" and not same:
                    raise Broken(f"trial {number} of {life.process.name} was lost: {trial} is now {last}")

    def _nothing_paid_twice(self) -> None:
        unsaved = Counter({life.process: life.refused for life in self.lives})
        excused = set[Sent]()
        paid: dict[tuple[str, int], list[Sent]] = {}
        for sent in self.server.log:
            for sample in sent.samples:
                for before in paid.get(sample, ()):
                    if self._in_vain(before, sent):
                        continue
                    if before not in excused and unsaved[before.process] > 0:
                        excused.add(before)
                        unsaved[before.process] -= 1
                    if before in excused:
                        continue
                    raise Broken(
                        f"sample {sample[1]} of {sample[0][:8]} was paid by {before.process.name} at "
                        f"{before.at:.3f} and again by {sent.process.name} at {sent.at:.3f}"
                    )
                paid.setdefault(sample, []).append(sent)

    def _in_vain(self, before: Sent, after: Sent) -> bool:
        """Whether the charge of the first request was still unknown when the second one was sent."""
        if before.delivered_at is None or any(before.at <= self.dark.get(one, -1) for one in before.samples):
            return True
        return before.process.killed_at - before.delivered_at < INSTANT_S

    def _together(self) -> None:
        usd = sum((self.server.usd(life.process) for life in self.lives if life.shares), Fraction(0))
        if self.together is not None and usd > Fraction(str(self.together)):
            raise Broken(f"all together crossed their limit of ${self.together}: ${float(usd)}")
        if self.together is not None and any(life.shares for life in self.lives):
            kept = open_cache(self.cache)
            shared = kept.coordination()
            try:
                told = [
                    each for each in ([] if shared is None else shared.budgets()) if each.name == "together"
                ]
                if sum((each.used.usd for each in told), Fraction(0)) < usd:
                    raise Broken(f"all together were charged ${float(usd)}, and the budget knows of {told}")
            finally:
                if shared is not None:
                    shared.close()
                kept.close()

    def _money(self, life: Life) -> None:
        process, session = life.process, life.session
        usd, answers = self.server.usd(process), self.server.answers(process)
        if life.max_usd is not None and usd > Fraction(str(life.max_usd)):
            raise Broken(f"{process.name} crossed its limit of ${life.max_usd}: ${float(usd)}")
        if life.max_calls is not None and answers > life.max_calls:
            raise Broken(f"{process.name} crossed its limit of {life.max_calls} calls: {answers}")
        if session is None or not life.ended:
            return
        budget = session.runner.budget
        charged, uncertain = budget.charged, budget.uncertain
        told = f"{charged} charged and {uncertain} uncertain"
        # Nobody is told what is charged once for several tries, nor of how many answers unreadable ones are.
        shared = self.server.idempotent or any(sent.fault == "twice" for sent in self.server.log)
        vague = shared or any(sent.fault == "junk with usage" for sent in self.server.log)
        if usd > charged.usd + uncertain.usd or (charged.usd > usd and not shared):
            raise Broken(f"{process.name} was charged ${float(usd)} and told {told}")
        if answers > charged.calls + uncertain.calls or (charged.calls > answers and not vague):
            raise Broken(f"{process.name} was charged {answers} answers and told {told}")

    def counts(self) -> Counter[str]:
        """How much happened."""
        return Counter(
            {
                "steps": self.loop.steps,
                "processes": len(self.lives),
                "kills": sum(life.process.dead for life in self.lives),
                "requests": len(self.server.log),
                "network faults": sum(bool(sent.fault) for sent in self.server.log),
                "disk faults": sum(len(life.process.log) for life in self.lives),
                "lost in power failures": len(self.dark),
            }
        )

    def facts(self) -> str:
        """What happened, for a reader."""
        lines = []
        for life in self.lives:
            process = life.process
            end = f"killed at {process.killed_at:.3f}" if process.dead else "ended"
            limit = f", limit ${life.max_usd} {life.max_calls}"
            lines += [
                f"{process.name}: {end}{limit}, unsaved {life.unsaved}",
                *(f"    {line}" for line in process.log),
            ]
            lines += [f"    {line}" for line in life.told]
        for sent in self.server.log:
            came = "-" if sent.delivered_at is None else f"{sent.delivered_at:.3f}"
            lines.append(
                f"{sent.at:9.3f} {sent.process.name:5} {sent.key[:8]} {sent.first}+{sent.asked} "
                f"{sent.fault or 'ok':16} charged {sent.answers} ${float(sent.usd):.6f} came {came}"
            )
        return "\n".join(lines)


@contextmanager
def place() -> Iterator[Path]:
    """A folder in memory."""
    memory = Path("/dev/shm")
    folder = tempfile.mkdtemp(prefix="gotc-", dir=memory if memory.is_dir() else None)
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder)


def hold(seed: int, *, told: Callable[[str], None] = lambda _: None) -> Counter[str]:
    """Live through a seed; what happened, counted. Raises Broken, or whatever the real code raised."""
    with place() as folder:
        world = World(seed, folder)
        loop = world.loop
        try:
            loop.run_until_complete(world.story())
            world.check()
            return world.counts()
        finally:
            told(world.facts())
            for life in world.lives:
                session = life.session
                if session is not None and session._own_cache is not None:
                    with suppress(CacheError):
                        life.process.context.run(session._own_cache.close)
                life.process.bury()
            loop.close()
            for process in list(Process.living.values()):
                process.kill()


def main() -> int:
    """Run from the command line."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--seeds", type=int, default=500)
    options.add_argument("--first", type=int, default=0)
    options.add_argument("--most", type=int, default=1, help="stop after so many failures")
    options.add_argument("--break", dest="broken", choices=BREAKAGES, help="break the real code first")
    options.add_argument("-v", "--verbose", action="store_true", help="what happened in each seed")
    chosen = options.parse_args()
    if os.environ.get("PYTHONHASHSEED") != "0":  # the order of sets is part of a seed
        os.execve(
            sys.executable,
            [sys.executable, "-m", "tests.simulation", *sys.argv[1:]],
            {**os.environ, "PYTHONHASHSEED": "0"},
        )
    if chosen.broken:
        BREAKAGES[chosen.broken]()
    gc.freeze()
    sys.unraisablehook = lambda _: None  # the memory of killed processes has complaints
    logging.getLogger("gotlang").setLevel(logging.ERROR)
    counts: Counter[str] = Counter()
    failures = 0
    began = time.perf_counter()
    for seed in range(chosen.first, chosen.first + chosen.seeds):
        facts: list[str] = []
        signal.alarm(60)
        try:
            counts += hold(seed, told=facts.append)
        except Exception:
            failures += 1
            print(f"seed {seed}:\n{traceback.format_exc()}", flush=True)
        signal.alarm(0)
        if chosen.verbose:
            print("\n".join(facts))
        done = seed + 1 - chosen.first
        if done % 500 == 0 or done == chosen.seeds or failures == chosen.most:
            took = time.perf_counter() - began
            print(f"{done} seeds, {failures} failures, {took:.0f} s: {dict(counts)}", flush=True)
        if failures == chosen.most:
            break
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
