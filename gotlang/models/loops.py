"""An event loop on a virtual clock: hours of simulated latency take milliseconds, in the right order.

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(main())

Inside, `asyncio.sleep`, `asyncio.timeout`, `call_later` and `loop.time()` all keep the virtual time, in
seconds. Whenever no callback and no file is ready, the clock jumps to the next timer, so a program is as fast
as its own work. A run is repeatable: which timer fires next depends on their times alone.

Only timers are virtual. With no timer waiting the loop blocks really, so threads (`asyncio.to_thread`) and
sockets work; beside a waiting timer a time-out around them may fire at once, unless they are waited for in
a block of `standing_still`. It is for runs whose waiting is all simulated; real endpoints want a real clock.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from selectors import SelectorKey
from typing import Any, final


@final
class _JumpingSelector(selectors.BaseSelector):
    """Looks at files without waiting, and moves the clock where the loop meant to wait."""

    def __init__(self) -> None:
        self.now = 0.0
        self.still = 0
        self._files = selectors.DefaultSelector()

    def select(self, timeout: float | None = None) -> list[tuple[SelectorKey, int]]:
        if timeout is None or (self.still and timeout > 0):
            return self._files.select(None)
        ready = self._files.select(0)
        if not ready and timeout > 0:
            self.now += timeout
        return ready

    def register(self, fileobj: Any, events: int, data: Any = None) -> SelectorKey:
        return self._files.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> SelectorKey:
        return self._files.unregister(fileobj)

    def modify(self, fileobj: Any, events: int, data: Any = None) -> SelectorKey:
        return self._files.modify(fileobj, events, data)

    def get_key(self, fileobj: Any) -> SelectorKey:
        return self._files.get_key(fileobj)

    def get_map(self) -> Mapping[Any, SelectorKey]:
        return self._files.get_map()

    def close(self) -> None:
        self._files.close()


@final
class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """An asyncio event loop whose clock starts at 0 and jumps to the next timer when nothing is ready."""

    def __init__(self) -> None:
        self._virtual = _JumpingSelector()
        super().__init__(self._virtual)

    def time(self) -> float:
        """Virtual seconds since the loop was made."""
        return self._virtual.now

    @contextmanager
    def standing_still(self) -> Iterator[None]:
        """Within its block no time passes: for work that is really done, in a thread, and wakes the loop."""
        self._virtual.still += 1
        try:
            yield
        finally:
            self._virtual.still -= 1

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:  # noqa: ASYNC109
        """Wait really until the threads have ended: a virtual time-out would give them no time at all."""
        await super().shutdown_default_executor()
