"""`Ask` as a person meets it: `gotc run` at a terminal, a real one that the process believes in."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.gotc import environment

pty = pytest.importorskip("pty", reason="terminals of this kind are those of POSIX")

PROGRAM = """\
simulate with "sim.py"

prompt choose(titles: list[str]) -> int:
    "Which one?{% for title in titles %} {{ loop.index }}. {{ title }}{% endfor %}"

scheme main(titles: list[str]) -> str:
    number = Ask() choose(titles)
    why = Ask("Why this one?")
    Pool() titles[number - 1] + ": " + why
"""


class Terminal:
    """A command at a terminal: what it has written so far, and the keys that are typed."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        (folder / "main.got").write_text(PROGRAM)
        (folder / "sim.py").write_text("def nobody(rng):\n    return ''\n")
        self.master, other = pty.openpty()
        command = (sys.executable, "-m", "gotlang", "run", "main.got", "--allow-python", *arguments)
        self.process = subprocess.Popen(
            command, cwd=folder, env=environment(TERM="xterm"), stdin=other, stdout=other, stderr=other
        )
        os.close(other)
        os.set_blocking(self.master, False)
        self.seen = self.passed = ""

    def until(self, text: str) -> None:
        """Wait for a text after those that were waited for."""
        limit = time.monotonic() + 30
        while text not in self.seen:
            assert time.monotonic() < limit, self.seen
            self._read()
        before, found, self.seen = self.seen.partition(text)
        self.passed += before + found

    def type(self, keys: str) -> None:
        """Type keys."""
        os.write(self.master, keys.encode())

    def end(self) -> tuple[int, str]:
        """Its exit code, and what it wrote after what was waited for."""
        limit = time.monotonic() + 30
        while self.process.poll() is None:
            assert time.monotonic() < limit, self.seen
            self._read()
        self._read()
        os.close(self.master)
        return self.process.returncode, self.seen.replace("\r\n", "\n")

    def _read(self) -> None:
        time.sleep(0.01)
        with contextlib.suppress(OSError):  # nothing new, or the other end is closed
            self.seen += os.read(self.master, 65536).decode()


TITLES = ("--input", 'titles=["Short \\u001b[31mwalks", "Long walks"]')


def test_a_person_answers_one_question_after_the_other_and_again_where_an_answer_cannot_be_read(
    tmp_path: Path,
) -> None:
    at = Terminal(tmp_path, *TITLES)
    for question, answer in (
        ("Which one? 1. Short ", "the second"),  # no number: it is asked again, after the others
        ("Why this one?", "the view"),
        ("Which one? 1. Short ", "2"),
    ):
        at.until(question)
        at.until("> ")
        at.type(answer + "\n")
    at.until("Long walks: the view")
    assert at.end()[0] == 0
    again = Terminal(tmp_path, *TITLES)  # the cache has both answers
    again.until("Long walks: the view")
    assert again.end()[0] == 0


def test_nothing_writes_over_a_question(tmp_path: Path) -> None:
    at = Terminal(tmp_path, *TITLES)
    at.until("Which one? 1. Short ")
    at.until("> ")
    time.sleep(1)  # the lines of progress are redrawn 8 times a second, but for now
    at.type("1\n")
    at.until("Why this one?")
    shown = at.passed.rpartition("> ")[2]
    assert shown.partition("1\r\n")[0] == "", shown
    assert "\x1b[31m" not in at.passed
    at.until("> ")
    at.type("short\n")
    assert at.end()[0] == 0


@pytest.mark.parametrize("key", ["\x04", "\n"], ids=["end of input", "an empty line"])
def test_who_leaves_a_question_can_answer_it_in_the_next_run(tmp_path: Path, key: str) -> None:
    at = Terminal(tmp_path, *TITLES)
    for keys in ("2\n", key):
        at.until("> ")
        at.type(keys)
    at.until("1 question to a person without an answer")
    assert at.end()[0] == 8
    again = Terminal(tmp_path, *TITLES)
    again.until("Why this one?")
    assert "Which one?" not in again.passed
    again.until("> ")
    again.type("shade\n")
    again.until("Long walks: shade")
    assert again.end()[0] == 0


def test_ctrl_c_twice_at_a_question_ends_the_run(tmp_path: Path) -> None:
    at = Terminal(tmp_path, *TITLES)
    at.until("> ")
    at.process.send_signal(signal.SIGINT)
    at.until("Ctrl-C again stops immediately")
    at.process.send_signal(signal.SIGINT)
    at.until("interrupted")
    assert at.end()[0] == 130
