"""Progress on stderr: a line that renews itself on a terminal, else a plain line every few seconds.

A thread draws, so that there is something to see also while a loop is busy or waits for a slow model.
"""

from __future__ import annotations

import sys
import threading
from types import TracebackType
from typing import Any, Self, final

from gotlang.cli.output import complain
from gotlang.cli.progress import Progress

EVERY_S = 5.0
"""Between plain lines."""
_RENEWALS_A_SECOND = 8


@final
class Display:
    """Shows a Progress while its block runs, and leaves nothing on a terminal. `quiet` shows nothing."""

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
        if sys.stderr.isatty():
            self._live = _live_line(self._progress)
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

    def _lines(self) -> None:
        while not self._ended.wait(self._every_s):
            complain(self._progress.line())


def _live_line(progress: Progress) -> Any:
    from rich.console import Console
    from rich.live import Live
    from rich.spinner import Spinner
    from rich.text import Text

    spinner = Spinner("dots")

    def draw() -> Any:
        spinner.update(text=Text(progress.line(), overflow="ellipsis", no_wrap=True))
        return spinner

    return Live(
        get_renderable=draw,
        console=Console(stderr=True),
        refresh_per_second=_RENEWALS_A_SECOND,
        transient=True,
        redirect_stdout=False,  # what is said meanwhile stands above the line
    )
