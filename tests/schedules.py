"""One budget over eight processes: random schedules with kills, restarts and errors after the charge.

    PYTHONPATH=tests python -m tests.schedules --schedules 200    # goes on where schedules.jsonl ends

Each schedule is eight real processes that evaluate one data set on one cache within `--budget team`, whose
limit is 60% of what the data set costs. A real server on loopback keeps the ledger that counts. 5% of the
requests are charged and then lost (an error 500, a dropped connection, half a body); processes are killed
with SIGKILL and started again. The results are in `benchmarks/data/`; `tests/test_schedules.py` runs one.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

from support.openai_server import Body, Fault, OpenAIServer, Seen, dropped, gateway, half_body

from gotlang.cache import open_cache
from gotlang.models.base import Usage

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "data" / "schedules.jsonl"
PROCESSES = 8
SHARE = Fraction(6, 10)
LOST = 0.05
ROWS = 150
PROGRAM = """\
prompt answer(question: str) -> str:
    max_tokens 20
    "{{ question }}"

scheme ask(question: str) -> str:
    Generate() answer(question)
"""
PRICES = "[m]\ninput_per_million = 0.05\noutput_per_million = 10.0\n"
DEADLINE_S = 300.0


@dataclass(frozen=True)
class Schedule:
    """What came of one: dollars as the server charged them and as the budget counts them, and its use."""

    seed: int
    database: str
    limit: float
    charged: float
    counted: float
    use: float
    requests: int
    lost: int
    kills: int
    twice: int
    seconds: float


class Broken(AssertionError):
    """Something that must hold does not."""


def usd(usage: Usage) -> Fraction:
    """What the server charges for this."""
    return (usage.input_tokens * Fraction(5, 100) + usage.output_tokens * 10) / 10**6


def answer(body: Body, index: int) -> str:
    """10 tokens on average, of at most 20."""
    return "x" * 4 * Random(str(body["messages"])).randint(4, 16)


@contextmanager
def starter() -> Iterator[subprocess.Popen[str]]:
    """A process with everything imported, which forks one for each line that it reads."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.schedules", "--fork"],
        cwd=ROOT,
        env={
            **{n: v for n, v in os.environ.items() if not n.startswith(("OPENAI_", "GOTC_"))},
            "PYTHONPATH": str(ROOT / "tests"),
            **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"),  # it forks
        },
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(30)


def fork() -> None:
    """The other side of `starter`."""
    from support.forking import _import_everything

    _import_everything()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them
    for line in sys.stdin:
        job = json.loads(line)
        if (pid := os.fork()) == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.chdir(job["cwd"])
            for number, name in ((0, os.devnull), (1, job["out"]), (2, job["err"])):
                file = os.open(name, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
                os.dup2(file, number)
                os.close(file)
            sys.argv[1:] = job["argv"]
            from gotlang.cli.main import main as gotc

            gotc()
        print(pid, flush=True)


def runs(pid: int) -> bool:
    """Whether a process runs."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def hold(seed: int, starting: subprocess.Popen[str], cache: str | None = None) -> Schedule:
    """One schedule; `cache` is the address of an empty one, by default a file. Raises Broken."""
    chance, began = Random(seed), time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="gotc-"))
    faults = Random(seed + 1)
    kinds = [lambda: gateway(500), lambda: gateway(504), dropped, half_body]

    faulty = set[int]()

    def fault(seen: Seen) -> Fault | None:
        if faults.random() >= LOST:
            return None
        faulty.add(seen.number)
        return faults.choice(kinds)()

    (folder / "ask.got").write_text(PROGRAM)
    (folder / "prices.toml").write_text(PRICES)
    questions = [f"{'why ' * (n % 7)}{n}?" for n in range(ROWS)]
    (folder / "q.csv").write_text("question\n" + "".join(f"{question}\n" for question in questions))
    need = sum(usd(_usage(question)) for question in questions)
    limit = Fraction(round(SHARE * need * 10**9), 10**9)
    try:
        with OpenAIServer(answer, faults=fault, latency_s=lambda body: faults.random() * 0.1) as server:
            options = ["--model", "openai:m", "--base-url", server.url, "--prices", "prices.toml", "--json"]
            options += ["--concurrency", str(chance.choice((1, 4, 16))), "--cache", cache or "c.sqlite"]
            command = ["eval", "ask.got", "--data", "q.csv", *options]
            command += ["--budget", "team", "--max-usd", repr(float(limit))]
            kills = _live(chance, starting, folder, command, lambda: len(server.requests))
            arrived = [seen for seen in server.requests if seen.status == 200 and seen.number not in faulty]
            took = time.monotonic() - began
            return _judge(seed, folder, cache, server, arrived, limit, kills, took)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _usage(question: str) -> Usage:
    body = {"messages": [{"role": "user", "content": question}]}
    return Usage((len(question) + 3) // 4 + 3, len(answer(body, 0)) // 4)


def _live(
    chance: Random, starting: subprocess.Popen[str], folder: Path, command: list[str], sent: Any
) -> int:
    """Eight processes until all have ended; how often one was killed."""

    def start() -> int:
        assert starting.stdin is not None and starting.stdout is not None
        job = {"argv": command, "cwd": str(folder), "out": str(folder / "out"), "err": str(folder / "err")}
        starting.stdin.write(json.dumps(job) + "\n")
        starting.stdin.flush()
        return int(starting.stdout.readline())

    kills, wanted = 0, chance.randint(0, 12)
    processes = [start() for _ in range(PROCESSES)]
    until = time.monotonic() + DEADLINE_S
    next_kill = chance.random() * 15
    while processes:
        if time.monotonic() > until:
            raise Broken(f"no end after {DEADLINE_S} s")
        time.sleep(0.01 + chance.random() * 0.03)
        processes = [pid for pid in processes if runs(pid)]
        if processes and kills < wanted and sent() >= next_kill:
            next_kill = sent() + chance.random() * 15
            os.kill(processes.pop(chance.randrange(len(processes))), signal.SIGKILL)
            kills += 1
            if chance.random() < 0.8:
                processes.append(start())
    last = start()  # a restart when all is over: it finds nothing left that it may spend
    while runs(last):
        time.sleep(0.02)
    told = (folder / "err").read_text()
    if "Traceback" in told or "bug" in told:
        raise Broken(told[-2000:])
    return kills


def _judge(
    seed: int,
    folder: Path,
    cache: str | None,
    server: OpenAIServer,
    arrived: list[Seen],
    limit: Fraction,
    kills: int,
    took: float,
) -> Schedule:
    opened = open_cache(cache or folder / "c.sqlite")
    shared = opened.coordination()
    assert shared is not None
    budgets = shared.budgets()
    shared.close()
    if len(budgets) != 1:
        raise Broken(f"{budgets}: {(folder / 'err').read_text()[-2000:]}")
    (budget,) = budgets
    stored = sum(entry.samples for entry in opened.entries())
    opened.close()
    charged = sum(usd(seen.charged) for seen in server.requests)
    counted = budget.charged.usd + budget.uncertain.usd
    twice = len(arrived) - len({str(seen.body["messages"]) for seen in arrived})
    use = float(counted / limit)
    found = Schedule(
        seed,
        "postgresql" if cache else "sqlite",
        float(limit),
        round(float(charged), 9),
        round(float(counted), 9),
        round(use, 4),
        len(server.requests),
        len(server.requests) - len(arrived),
        kills,
        twice,
        round(took, 1),
    )
    if charged > limit or counted > limit:
        raise Broken(f"the limit was crossed: {found}")
    if counted < charged:
        raise Broken(f"money was forgotten: {found}")
    if budget.reserved.calls or budget.reserved.usd:
        raise Broken(f"what dead processes had reserved did not return: {budget}, {found}")
    if use < 0.85:
        raise Broken(f"too little was used: {found}")
    if twice > len(arrived) - stored or (not kills and twice):
        raise Broken(f"something was paid twice that was not under way at a kill: {found}")
    return found


def main() -> int:
    """Run from the command line."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--schedules", type=int, default=200)
    options.add_argument("--fork", action="store_true", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.fork:
        fork()
        return 0
    from support.caches import no_postgres, postgres_schema

    RESULTS.parent.mkdir(exist_ok=True)
    done = len(RESULTS.read_text().splitlines()) if RESULTS.exists() else 0
    with starter() as starting:
        for seed in range(done, chosen.schedules):
            if seed % 4 == 3 and not no_postgres:
                with postgres_schema() as address:
                    found = hold(seed, starting, address)
            else:
                found = hold(seed, starting)
            with RESULTS.open("a") as file:
                file.write(json.dumps(asdict(found)) + "\n")
            print(found, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
