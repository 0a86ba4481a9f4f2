"""An event loop on a virtual clock: hours of simulated latency take milliseconds, in the right order.

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(main())

Inside, `asyncio.sleep`, `asyncio.timeout`, `call_later` and `loop.time()` use virtual time, in seconds. When
no callback and no file is ready, the clock jumps to the next timer, so a program is as fast as its own work.
A run is repeatable: which timer fires next depends on their times alone.

Only timers are virtual. Without a timer the loop really blocks, so threads (`asyncio.to_thread`) and sockets
work; while a timer waits, a timeout around them may fire at once, unless they are awaited within
`paused`. It is for runs whose waiting is all simulated; real endpoints need a real clock.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Iterator
from contextlib import contextmanager
from selectors import SelectorKey
from typing import final


@final
class _JumpingSelector(selectors.DefaultSelector):
    """Polls files without waiting, and advances the clock by the time that the loop intended to wait."""

    now = 0.0
    pauses = 0

    def select(self, timeout: float | None = None) -> list[tuple[SelectorKey, int]]:
        if timeout is None or (self.pauses and timeout > 0):
            return super().select(None)
        ready = super().select(0)
        if not ready and timeout > 0:
            self.now += timeout
        return ready


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """An asyncio event loop whose clock starts at 0 and jumps to the next timer when nothing is ready."""

    def __init__(self) -> None:
        self._virtual = _JumpingSelector()
        super().__init__(self._virtual)

    def time(self) -> float:
        """Virtual seconds since the loop was made."""
        return self._virtual.now

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Within its block no time passes: for real work, in a thread, that wakes the loop."""
        self._virtual.pauses += 1
        try:
            yield
        finally:
            self._virtual.pauses -= 1

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:  # noqa: ASYNC109
        """Wait in real time until the threads have ended: a virtual timeout would expire immediately."""
        await super().shutdown_default_executor()
