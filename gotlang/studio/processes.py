"""Runs that pages start: `gotc run` in a separate process, in the folder of the studio.

So they follow its rules, whatever a page requests: trust, destinations of keys, limits, the history. Each has
limits of its own, which the page shows and sends.
"""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Annotated, Final, final

from msgspec import Meta, Struct

from gotlang.disk import replace_file
from gotlang.errors import UsageError
from gotlang.report.history import History

START_S: Final = 20.0
"""Seconds within which a process must record its run."""
_DRAFT: Final = ".playground.got"
_TEXT: Final = 4000
"""Maximum characters of a process's output that are shown."""

Dollars = Annotated[float, Meta(ge=0, le=10_000)]
Calls = Annotated[int, Meta(ge=0, le=10_000_000)]


class RunLimits(Struct, frozen=True):
    """The limits of a run, in dollars and calls; at least one of them is given."""

    max_usd: Dollars | None = None
    max_calls: Calls | None = None

    def arguments(self) -> list[str]:
        """As options of `gotc run`. Raises UsageError without a limit."""
        if self.max_usd is None and self.max_calls is None:
            raise UsageError("a run started from a page needs a limit", help="dollars, calls, or both")
        pairs = (("--max-usd", self.max_usd), ("--max-calls", self.max_calls))
        return [f"{option}={value}" for option, value in pairs if value is not None]


@final
@dataclass(slots=True)
class Processes:
    """The processes that pages of a studio started, by the names of their runs."""

    folder: Path
    _running: dict[str, tuple[subprocess.Popen[bytes], IO[bytes]]] = field(default_factory=dict)
    _files: ExitStack = field(default_factory=ExitStack)

    def start(self, history: History, arguments: Sequence[str], limits: RunLimits, stdin: bytes = b"") -> str:
        """Start `gotc run` with these arguments and this input; returns the name of the run, which is then
        recorded. Raises UsageError with the process's output if it ended before."""
        name = secrets.token_hex(4)
        # `-P`: no module is imported from the folder, which may be untrusted.
        command = [sys.executable, "-P", "-m", "gotlang", "run", "--as", name, "--quiet", "--stream"]
        said = self._files.enter_context(_temporary())
        with _temporary() as given:
            given.write(stdin)
            given.seek(0)
            process = subprocess.Popen(
                [*command, *limits.arguments(), *arguments],
                cwd=self.folder,
                env={**os.environ, "NO_COLOR": "1"},
                stdin=given,
                stdout=subprocess.DEVNULL,
                stderr=said,
                start_new_session=True,
            )
        self._running[name] = process, said
        until = time.monotonic() + START_S
        while not (history.folder / f"{name}.json").is_file():
            if process.poll() is not None:
                error, _, help = self.said(name).removeprefix("error: ").partition("\n  = help: ")
                raise UsageError(error or "the run ended before it started", help=help or None)
            if time.monotonic() > until:
                self.stop(name)
                raise UsageError("the run has not started", help=self.said(name) or None)
            time.sleep(0.02)
        return name

    def said(self, name: str) -> str:
        """The output of a run's process: errors and warnings."""
        if name not in self._running:
            return ""
        _, file = self._running[name]
        return os.pread(file.fileno(), 1_000_000, 0).decode("utf-8", "replace").strip()[-_TEXT:]

    def runs(self, name: str) -> bool:
        """Whether this started a run that is still running, and can stop it."""
        return name in self._running and self._running[name][0].poll() is None

    def stop(self, name: str) -> None:
        """End a run as Ctrl-C does: requests in flight end, and their responses are stored. Raises UsageError
        for a run that was not started here."""
        if name not in self._running:
            raise UsageError(f"run {name} was not started here", help="press Ctrl-C where it runs")
        process, _ = self._running[name]
        if process.poll() is None:
            process.send_signal(signal.SIGINT)

    def draft(self, program: Path, text: str) -> Path:
        """A file beside a program with its unsaved text, so that a run of it finds its imports. Raises
        UsageError."""
        path = program.with_name(f".{program.stem}{_DRAFT}")
        try:
            replace_file(path, text.encode())
        except (OSError, ValueError) as error:
            raise UsageError(f"cannot write {path.name}: {error}") from None
        return path

    def tidy(self) -> None:
        """Remove the drafts of the folder, including those of a studio that was killed."""
        for folder, folders, names in os.walk(self.folder):
            folders[:] = [one for one in folders if one[0] not in "._" and one != "node_modules"]
            for name in names:
                if name[0] == "." and name.endswith(_DRAFT):
                    with suppress(OSError):
                        Path(folder, name).unlink()

    def close(self) -> None:
        """End all that are still running, which nobody watches any more."""
        for name in self._running:
            self.stop(name)
        for process, _ in self._running.values():
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
        self._files.close()
        self.tidy()


def _temporary() -> IO[bytes]:
    return tempfile.TemporaryFile()
