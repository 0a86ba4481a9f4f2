"""Progress on stderr: a few lines that renew themselves on a terminal, else a plain line every few seconds.

A thread draws, so that there is something to see also while a loop is busy or waits for a slow model.
"""

from __future__ import annotations

import os
import sys
import threading
from types import TracebackType
from typing import Any, Self, TextIO, final

from gotlang.cli.output import complain
from gotlang.cli.progress import Progress

EVERY_S = 5.0
"""Between plain lines."""
_RENEWALS_A_SECOND = 8
_BAR = 24
"""How many columns the bar of rows takes."""
_WIDE = 60
"""Terminals with fewer columns have no room for it."""


@final
class Display:
    """Shows a Progress while its block runs, and leaves nothing on a terminal but what was paid in vain.

    `quiet` shows nothing else.
    """

    def __init__(self, progress: Progress, *, quiet: bool = False, every_s: float = EVERY_S) -> None:
        self._progress = progress
        self._quiet = quiet
        self._every_s = every_s
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._live: Any = None

    def __enter__(self) -> Self:
        if self._quiet:
            return self
        if _renews(sys.stderr):
            self._live = _live_lines(self._progress)
            self._live.start()
        else:
            self._thread = threading.Thread(target=self._lines, name="progress", daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        if self._live is not None:
            self._live.stop()
        if self._thread is not None:
            self._thread.join()
        unsaved_note = self._progress.unsaved_note()
        if unsaved_note is not None and (kind is not None or self._progress.rows is not None):
            complain(unsaved_note)  # else it is among the notes of the result

    def _lines(self) -> None:
        while not self._ended.wait(self._every_s):
            complain(self._progress.line())


def _renews(stream: TextIO) -> bool:
    """Whether lines can be written over on a stream."""
    named = os.name == "nt" or os.environ.get("TERM") not in (None, "", "dumb", "unknown")
    return named and stream.isatty()


def _live_lines(progress: Progress) -> Any:
    from rich.console import Console, Group
    from rich.live import Live
    from rich.padding import Padding
    from rich.progress_bar import ProgressBar
    from rich.spinner import Spinner
    from rich.table import Table
    from rich.text import Text

    console = Console(stderr=True)
    spinner = Spinner("dots" if console.encoding.startswith("utf") else "line")
    bar = _BAR if console.width >= _WIDE else 0

    def draw() -> Any:
        first, *rest = progress.lines()
        head = Table.grid(padding=(0, 1))
        cells: list[Any] = [spinner, Text(("stopping: " if progress.stopping else "") + first)]
        if progress.rows and bar:
            cells.insert(1, ProgressBar(progress.rows, progress.rows_done, width=bar))
        head.add_row(*cells)
        return Group(head, *(Padding(Text(line), (0, 0, 0, 2), expand=False) for line in rest))

    return Live(
        get_renderable=draw,
        console=console,
        refresh_per_second=_RENEWALS_A_SECOND,
        transient=True,
        redirect_stdout=False,  # what is said meanwhile stands above the lines
    )
