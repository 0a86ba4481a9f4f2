"""`gotc` as users run it, in a process of its own; and programs, data and cost to run it on."""

from __future__ import annotations

import csv
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

from support import forking

ROOT = Path(__file__).parents[2]
SORT128 = ROOT / "programs" / "sort128.got"
SORTING = ROOT / "programs" / "sorting.got"

VOTE = """\
simulate with "vote_sim.py"

param tries = 3 in 1..9

prompt answer(question: str) -> int:
    temperature 0.8
    max_tokens 20
    "{{ question }}"

scheme vote(question: str) -> int:
    Generate(k=tries) answer(question)
    Vote()
    GroundTruth() it == truth
"""
VOTE_SIM = """\
def answer(rng, question):
    return f"It is {len(question) + (rng.random() < 0.2)}."
"""


def environment(**more: str) -> dict[str, str]:
    """This process's without anything that `gotc` looks at, and with these."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("OPENAI_", "GOTC_", "PYTHON"))
    }
    return {**kept, "PYTHONPATH": str(ROOT), "NO_COLOR": "1", **more}


def start(*arguments: object, cwd: Path, **more: str) -> subprocess.Popen[str]:
    """`gotc` in a process; the keyword arguments are environment variables."""
    return subprocess.Popen(
        [sys.executable, "-m", "gotlang", *map(str, arguments)],
        cwd=cwd,
        env=environment(**more),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def gotc(*arguments: object, cwd: Path, stdin: str = "", **more: str) -> subprocess.CompletedProcess[str]:
    """`gotc` to its end; the keyword arguments are environment variables."""
    words = [str(argument) for argument in arguments]
    if forking.AVAILABLE and not any(name.startswith(("PYTHON", "LC_", "LANG", "TZ")) for name in more):
        return forking.run(words, cwd=cwd, env=environment(**more), stdin=stdin, timeout=120)
    return subprocess.run(
        [sys.executable, "-m", "gotlang", *words],
        cwd=cwd,
        env=environment(**more),
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
    )


def on_a_full_disk(*arguments: str, cwd: Path, most: int) -> subprocess.CompletedProcess[str]:
    """`gotc` where no file gets larger than so many bytes."""
    code = (
        f"import resource, runpy; resource.setrlimit(resource.RLIMIT_FSIZE, ({most}, {most})); "
        "runpy.run_module('gotlang', run_name='__main__', alter_sys=True)"
    )
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=cwd,
        env=environment(PYTHONDONTWRITEBYTECODE="1"),  # its files would be torn too
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )


def document(done: subprocess.CompletedProcess[str], code: int = 0) -> dict[str, Any]:
    """The one JSON document on stdout of a process that ended with this code."""
    assert done.returncode == code, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["format_version"] == 2
    return found


def vote(folder: Path) -> Path:
    """A small program with its simulator in a folder."""
    (folder / "vote_sim.py").write_text(VOTE_SIM)
    path = folder / "vote.got"
    path.write_text(VOTE)
    return path


def digits(folder: Path, rows: int = 3, length: int = 128) -> Path:
    """A csv of lists of digits and the lists sorted."""
    rng = random.Random(128)
    path = folder / "digits.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["ID", "Unsorted", "Sorted"])
        for number in range(rows):
            numbers = [rng.randrange(10) for _ in range(length)]
            writer.writerow([number, numbers, sorted(numbers)])
    return path


def row(path: Path, number: int) -> tuple[str, ...]:
    """The options that take a row of `digits`."""
    return ("--data", str(path), "--row", str(number), "--map", "numbers=Unsorted", "--map", "truth=Sorted")
