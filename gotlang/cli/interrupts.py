"""Ctrl-C: once finishes and caches the requests in progress, twice stops immediately.

The handlers are Python's own and not the event loop's, since a loop that is busy in a program's Python would
never look; and they work with simulated time, where a loop does not wait.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, Self, final

from gotlang.cli.errors import INTERRUPTED
from gotlang.cli.output import complain

if TYPE_CHECKING:
    from gotlang.api import Session
    from gotlang.cli.progress import Progress

PATIENCE_S = 0.8
"""Seconds after a second Ctrl-C until the process ends in any case."""
CONTINUE = "; run the same command again to continue: completed calls are cached"


@final
class Interrupts:
    """Within its block, the first SIGINT or SIGTERM stops the attached session, and the next one cancels the
    task that it was attached in; if that does not help within a second, `forget` is called and the process
    ends.
    """

    def __init__(self, progress: Progress, forget: Callable[[], object] = lambda: None) -> None:
        self._progress = progress
        self._forget = forget
        self._attached: tuple[Session, asyncio.AbstractEventLoop, asyncio.Task[Any] | None] | None = None
        self._before: dict[int, Any] = {}
        self._deadline: threading.Timer | None = None
        self.count = 0

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._received)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        # After a second signal the deadline stays: closing connections and threads may hang too.
        if self.count <= 1 and self._deadline is not None:
            self._deadline.cancel()

    def attach(self, session: Session) -> None:
        """Stop this session, which runs in the current task."""
        self._attached = session, asyncio.get_running_loop(), asyncio.current_task()
        self._progress.attach(session)

    def _received(self, number: int, frame: FrameType | None) -> None:
        if self._attached is None:
            raise KeyboardInterrupt
        session, loop, task = self._attached
        self.count += 1
        if self.count == 1:
            loop.call_soon_threadsafe(self._stop, session)
        elif self.count == 2:
            self._deadline = threading.Timer(PATIENCE_S, self._leave)
            self._deadline.daemon = True
            self._deadline.start()
            if task is not None:
                loop.call_soon_threadsafe(task.cancel)
        else:
            self._leave()

    def _stop(self, session: Session) -> None:
        session.stop("interrupted")
        self._progress.stopping = True
        running = self._progress.running
        complain(f"stopping: waiting for {running or 'requests'} in progress; Ctrl-C again stops immediately")

    def _leave(self) -> None:
        self._forget()
        complain("stopped immediately; completed calls are cached")
        os._exit(INTERRUPTED)
