"""`--watch`: commands run again when a file that they read changes, in real processes."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.gotc import document, environment, gotc

PROGRAM = """\
import "parts.got"

simulate with "sim.py"

scheme main(n: int) -> int:
    Generate() guess(n)
    Score() abs(it - n)

test "near": main(3) < 100
"""
PARTS = 'prompt guess(n: int) -> int:\n    "{{ n }}"\n'
SIM = "from helper import add\ndef guess(rng, n):\n    return str(n + add)\n"


class Watched:
    """A command that watches, and the lines that it writes."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "gotlang", *arguments, "--watch"],
            cwd=folder,
            env=environment(PYTHONUNBUFFERED="1"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))

    def until(self, words: str) -> list[str]:
        """The lines up to the first with these words."""
        seen = []
        end = time.monotonic() + 60
        while not seen or words not in seen[-1]:
            try:
                seen.append(self.lines.get(timeout=max(0.0, end - time.monotonic())))
            except queue.Empty:
                raise AssertionError(seen) from None
        return seen

    def interrupt(self) -> int:
        """Ctrl-C, as a terminal sends it to all processes; the exit code."""
        os.killpg(self.process.pid, signal.SIGINT)
        return self.process.wait(30)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    texts = {
        "p.got": PROGRAM,
        "parts.got": PARTS,
        "sim.py": SIM,
        "helper.py": "add = 1\n",
        "rows.csv": "n\n1\n2\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture
def watch(folder: Path) -> Iterator[object]:
    made: list[Watched] = []

    def start(*arguments: str) -> Watched:
        made.append(Watched(folder, *arguments))
        return made[-1]

    yield start
    for one in made:
        if one.process.poll() is None:
            os.killpg(one.process.pid, signal.SIGKILL)
            one.process.wait()


def test_a_check_runs_again_when_an_import_changes(folder: Path, watch: type[Watched]) -> None:
    watched = watch("check", "p.got")
    assert "1 file: 0 errors" in watched.until("watching")
    (folder / "parts.got").write_text(PARTS.replace("{{ n }}", "{{ m }}"))
    seen = watched.until("watching")
    assert "changed: parts.got" in seen and any("GOT0" in line for line in seen)
    (folder / "parts.got").unlink()
    assert any("error" in line for line in watched.until("watching"))
    (folder / "parts.got").write_text(PARTS)
    assert "1 file: 0 errors" in watched.until("watching")
    assert watched.interrupt() == 0


def test_a_run_is_from_the_cache_and_follows_its_python(folder: Path, watch: type[Watched]) -> None:
    watched = watch("run", "p.got", "--input", "n=@number.txt")
    assert any("number.txt" in line for line in watched.until("watching"))
    (folder / "number.txt").write_text("5")
    assert "6" in watched.until("watching")
    (folder / "helper.py").write_text("add = 2\n")
    watched.until("watching")
    (folder / "p.got").write_text(PROGRAM.replace("Score()", "Map() it * 10\n    Score()"))
    assert any("1 from cache" in line for line in watched.until("watching"))
    assert watched.interrupt() == 0


@pytest.mark.parametrize("command", [("eval", "p.got", "--data", "rows.csv"), ("test",)])
def test_rows_and_tests_run_again(folder: Path, watch: type[Watched], command: tuple[str, ...]) -> None:
    watched = watch(*command)
    first = watched.until("watching")
    assert any("2 rows" in line or "1 holds" in line for line in first), first
    if command == ("test",):
        (folder / "p.got").write_text(PROGRAM.replace("< 100", "< 0"))
        assert any("does not hold" in line for line in watched.until("watching"))
    else:
        (folder / "rows.csv").write_text("n\n1\n2\n3\n")
        assert any("3 rows" in line for line in watched.until("watching"))
    (folder / "unread.txt").write_text("nothing")
    time.sleep(1)
    assert watched.lines.empty()
    assert watched.interrupt() == 0


def test_sigterm_ends_the_repeated_command_too(folder: Path, watch: type[Watched]) -> None:
    waiting = "import os, time\nopen('pid', 'w').write(str(os.getpid()))\ntime.sleep(60)\n"
    (folder / "sim.py").write_text(waiting + SIM)
    watched = watch("run", "p.got", "--input", "n=1")
    end = time.monotonic() + 60
    while not (folder / "pid").exists() and time.monotonic() < end:
        time.sleep(0.01)
    watched.process.send_signal(signal.SIGTERM)
    assert watched.process.wait(30) == 130
    with pytest.raises(ProcessLookupError):
        os.kill(int((folder / "pid").read_text()), 0)


def test_what_cannot_be_watched_is_an_error(folder: Path) -> None:
    done = gotc("check", "-", "--watch", cwd=folder, stdin=PROGRAM)
    assert done.returncode == 2 and "standard input cannot be watched" in done.stderr
    assert document(gotc("check", "p.got", "--format", "json", cwd=folder))["ok"]
