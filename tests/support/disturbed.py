"""A study on a real endpoint, and what disturbs it: workers that are killed, a model that is away, a database
that restarts."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from support import postgres
from support.caches import postgres_schema
from support.gotc import environment
from support.openai_server import Body, Fault, OpenAIServer, Seen, status
from support.waiting import SOONER

STUDY = """
param effort = 1       in 1..6
param style  = "plain" in ["plain", "fancy", "terse"]

prompt guess(target: int, effort: int, style: str) -> int:
    max_tokens 20
    "Guess {{ target }} with {{ effort }} in {{ style }} style."

score error(attempt: int, target: int) -> lower, best 0:
    abs(attempt - target)

scheme near(target: int) -> int:
    Generate() guess(target, effort, style)
    Score() error(it, target)

study near:
    data "numbers.csv", train 16, test 12
    minimize error(result, target)
    trials 10
"""
AT_ONCE = 8
"""Requests of a worker at a time."""
LOST = (6, 2)
"""The exit codes of a worker whose storage failed, and of one that started while it was away."""
Event = tuple[int, Literal["kill", "outage", "restart"]]
"""After how many answers what happens."""


@dataclass(frozen=True, slots=True)
class Case:
    """How many workers share a study, what happens to it, and whether it is kept in PostgreSQL."""

    workers: int = 1
    events: tuple[Event, ...] = ()
    database: bool = False


CASES = {
    "nothing": Case(),
    "killed three times": Case(1, ((20, "kill"), (60, "kill"), (95, "kill"))),
    "the model away": Case(1, ((40, "outage"),)),
    "four workers": Case(4),
    "PostgreSQL restarted": Case(4, ((60, "restart"),), database=True),
    "all of it": Case(
        4,
        ((30, "kill"), (50, "outage"), (50, "kill"), (75, "restart"), (95, "kill")),
        database=True,
    ),
}


def answer(body: Body, index: int) -> str:
    """As good as the setting, and the same to everyone who asks."""
    target, effort, style = re.findall(r"Guess (\d+) with (\d+) in (\w+)", body["messages"][-1]["content"])[0]
    away = 3 * abs(int(effort) - 4) + {"plain": 6, "fancy": 2, "terse": 9}[style]
    return str(int(target) + away + int(target) * int(effort) % 5)


def written(folder: Path) -> Path:
    """The study, in a folder."""
    (folder / "guess.got").write_text(STUDY)
    (folder / "numbers.csv").write_text("target\n" + "".join(f"{37 * n + 11}\n" for n in range(40)))
    return folder


def command(server: OpenAIServer, *more: str) -> tuple[str, ...]:
    """`gotc tune` on the study."""
    fixed = ("--model", "openai:small", "--base-url", server.url, "--concurrency", str(AT_ONCE), "--json")
    return ("tune", "guess.got", *fixed, *more)


def told(document: dict[str, Any]) -> dict[str, Any]:
    """The result of a study, without its duration."""
    held = document["held_out"]
    compared = [each for each in held["compared"] if each["name"] != "latency"]
    kept = {name: document[name] for name in ("winner", "original", "trials")}
    return {**kept, "verdict": held["verdict"], "compared": compared}


def charged(server: OpenAIServer) -> list[Seen]:
    """The requests that the endpoint charged, in order."""
    return [seen for seen in server.requests if seen.charged.input_tokens]


def name_of(seen: Seen) -> str:
    """What makes a request another one."""
    return json.dumps(seen.body, sort_keys=True)


def charges(server: OpenAIServer) -> Counter[str]:
    """How often the endpoint charged each request."""
    return Counter(map(name_of, charged(server)))


def wait(until: Callable[[], bool], most_s: float = 120) -> None:
    """Wait until something is so, but not for ever."""
    end = time.monotonic() + most_s
    while not until():
        assert time.monotonic() < end
        time.sleep(0.005)


@dataclass(slots=True)
class Course:
    """What became of a disturbed study: the documents that its workers printed, what they said, the requests
    that were charged, and which of those were charged again: `under_way` when a worker or the database went,
    or `twice` all the same."""

    documents: list[dict[str, Any]]
    said: str
    charged: int
    refused: int
    under_way: int
    twice: int
    seconds: float


def disturbed(folder: Path, case: Case, *, away_s: float, sooner: bool = False) -> Course:
    """The study in a folder. A worker that is killed starts again, and so does one that lost its storage.
    `away_s` is how long an outage lasts, of which half is over before the next event; with `sooner` workers
    wait a fortieth of the time."""
    with ExitStack() as stack:
        study = _Disturbed(written(folder), away_s, sooner)
        if case.database:
            address = stack.enter_context(postgres_schema())
            study.storage = ("--cache", address, "--storage", address)
        stack.enter_context(study.server)
        return study.run(case.workers, case.events)


@dataclass
class _Disturbed:
    folder: Path
    away_s: float
    sooner: bool
    storage: tuple[str, ...] = ()
    away_until: float = 0.0
    keys: Iterator[int] = field(default_factory=lambda: iter(range(50)))
    gone: list[tuple[str, float]] = field(default_factory=list)
    """Whose requests may have been lost, by the key that they had, and when."""

    def __post_init__(self) -> None:
        self.server = OpenAIServer(answer, faults=self._fault, latency_s=0.02)

    def _fault(self, _: Seen) -> Fault | None:
        return status(503) if time.monotonic() < self.away_until else None

    def _begin(self, number: int) -> tuple[str, subprocess.Popen[bytes]]:
        """A worker, which is told from others by its key; what it prints goes to a file."""
        key = f"key-{next(self.keys)}"
        words = command(self.server, *self.storage, "--out", f"{number}.json")
        with (self.folder / f"{number}.out").open("wb") as out, (self.folder / "said").open("ab") as err:
            worker = subprocess.Popen(
                [sys.executable, *(["-c", SOONER] if self.sooner else ["-m", "gotlang"]), *words],
                cwd=self.folder,
                env=environment(OPENAI_API_KEY=key),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
            )
        return key, worker

    def _charged(self, running: list[tuple[str, subprocess.Popen[bytes]]]) -> int:
        """How many requests were charged so far. Workers whose storage was lost are started again."""
        for number, (key, worker) in enumerate(running):
            if self.storage and worker.poll() in LOST:
                self.gone.append((key, time.monotonic()))
                running[number] = self._begin(number)
        return len(charged(self.server))

    def run(self, workers: int, events: Sequence[Event]) -> Course:
        """From the first start to the end of the last worker."""
        started, place = time.monotonic(), 0
        running = [self._begin(number) for number in range(workers)]
        try:
            for moment, event in events:
                wait(lambda: self._charged(running) >= moment, self.away_s + 120)  # noqa: B023
                if event == "outage":
                    self.away_until = time.monotonic() + self.away_s
                    time.sleep(self.away_s / 2)
                elif event == "restart":
                    postgres.restart()
                    self.gone += [(key, time.monotonic()) for key, _ in running]
                else:
                    key, worker = running[place]
                    worker.kill()
                    worker.wait()
                    self.gone.append((key, time.monotonic()))
                    running[place] = self._begin(place)
                    place = (place + 1) % workers
            for number, (_, worker) in enumerate(running):
                while (code := worker.wait(self.away_s + 180)) in LOST and self.storage:
                    _, worker = running[number] = self._begin(number)
                assert code == 0, (self.folder / "said").read_text()
        finally:
            for _, worker in running:
                worker.kill()
                worker.wait()
        again = self._again()
        documents = [json.loads((self.folder / f"{n}.out").read_text()) for n in range(workers)]
        said, seen = (self.folder / "said").read_text(), charged(self.server)
        counts = again[True], again[False], time.monotonic() - started
        return Course(documents, said, len(seen), self.server.statuses[503], *counts)

    def _again(self) -> Counter[bool]:
        """What was charged before, by whether that was among the last requests of a worker that went."""
        by_worker = defaultdict[str, list[Seen]](list)
        for seen in charged(self.server):
            by_worker[seen.headers["authorization"].removeprefix("Bearer ")].append(seen)
        last = set[int]()
        for key, moment in self.gone:
            last.update([seen.number for seen in by_worker[key] if seen.at <= moment][-AT_ONCE:])
        found, known = Counter[bool](), dict[str, int]()
        for seen in charged(self.server):
            if (before := known.get(name_of(seen))) is not None:
                found[before in last] += 1
            known[name_of(seen)] = seen.number
        return found
