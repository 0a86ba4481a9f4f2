"""A command at a terminal, a real one that the process believes in."""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest
from support.gotc import environment

pty = pytest.importorskip("pty", reason="terminals of this kind are those of POSIX")


def on_terminal(*arguments: object, cwd: Path, stream: str = "stdout", columns: int = 80, **more: str) -> str:
    """What `gotc` writes to a stream that is a terminal of so many columns; the other one goes nowhere. The
    keyword arguments are environment variables."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    given = {name: text for name, text in environment().items() if name not in ("COLUMNS", "LINES")}
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, stream: theirs}
    command = [sys.executable, "-m", "gotlang", *map(str, arguments)]
    with subprocess.Popen(command, cwd=cwd, env={**given, "TERM": "xterm", **more}, **streams) as process:
        os.close(theirs)
        seen = b""
        with contextlib.suppress(OSError):  # the terminal is closed at the end
            while part := os.read(ours, 65536):
                seen += part
        os.close(ours)
        assert process.wait(20) == 0, seen
    return seen.decode().replace("\r\n", "\n")


class Terminal:
    """A command at a terminal: what it has written so far, and the keys that are typed."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.master, other = pty.openpty()
        self.process = subprocess.Popen(
            (sys.executable, "-m", "gotlang", *arguments),
            cwd=folder,
            env=environment(TERM="xterm"),
            stdin=other,
            stdout=other,
            stderr=other,
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

    def kill(self) -> None:
        """kill -9."""
        self.process.kill()
        self.end()

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
