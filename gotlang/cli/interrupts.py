"""Ctrl-C: once finishes what is under way and keeps it, twice stops at once.

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
from typing import Any, Self, final

from gotlang.cli.output import complain

PATIENCE_S = 0.8
"""How long a second Ctrl-C waits for everything to let go before the process ends anyway."""
_ENDED_BY_USER = 130


@final
class Interrupts:
    """Within its block, the first SIGINT or SIGTERM calls `drain` on the running loop, and the next one
    cancels the running task; where that does not help within a second, `forget` is called and the process
    ends.
    """

    def __init__(self, drain: Callable[[], object], forget: Callable[[], object]) -> None:
        self._drain = drain
        self._forget = forget
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.current_task()
        self._before: dict[int, Any] = {}
        self._deadline: threading.Timer | None = None
        self.count = 0

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._came)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if self.count > 1:
            return  # the deadline stays: closing connections and threads may hang too
        if self._deadline is not None:
            self._deadline.cancel()

    def _came(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        if self.count == 1:
            self._loop.call_soon_threadsafe(self._drain)
            return
        if self.count == 2:
            self._deadline = threading.Timer(PATIENCE_S, self._leave)
            self._deadline.daemon = True
            self._deadline.start()
            if self._task is not None:
                self._loop.call_soon_threadsafe(self._task.cancel)
            return
        self._leave()

    def _leave(self) -> None:
        self._forget()
        complain("stopped at once; what is in the cache is not paid for again")
        os._exit(_ENDED_BY_USER)
