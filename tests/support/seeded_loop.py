"""An event loop of which a seed decides what runs next; nothing of a killed process runs on it any more."""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import Callable
from contextvars import Context
from random import Random
from typing import Any

from gotlang.models.loops import VirtualTimeLoop
from tests.support.machine import PROCESS, Busy, in_thread

MOST_STEPS = 400_000
MOST_SECONDS = 86400.0


class Hang(AssertionError):
    """A deadlock, or a simulation that does not end."""


class _Task(asyncio.Task[Any]):
    """A task whose place in a set depends on the seed, not on its address."""

    made = 0

    def __init__(self, *arguments: Any, **more: Any) -> None:
        _Task.made += 1
        self._number = _Task.made
        super().__init__(*arguments, **more)

    def __hash__(self) -> int:
        return self._number


class SeededLoop(VirtualTimeLoop):
    """Runs one ready callback at a time, chosen by `chance`. `each` is called after every one."""

    def __init__(self, chance: Random) -> None:
        super().__init__()
        _Task.made = 0
        self.chance = chance
        self.steps = 0
        self.each: Callable[[], None] = lambda: None
        self.troubles: list[str] = []
        self.set_task_factory(self._new_task)
        self.set_exception_handler(self._failed)

    def pass_time(self, seconds: float) -> None:
        """A process sleeps, and its loop with it."""
        self._virtual.now += seconds

    def _new_task(self, loop: Any, work: Any, **more: Any) -> asyncio.Task[Any]:
        task = _Task(work, loop=loop, **more)
        context: Context | None = more.get("context")
        process = PROCESS.get() if context is None else context.get(PROCESS)
        if process is not None:
            process.tasks.append(task)
        return task

    def _failed(self, loop: Any, about: dict[str, Any]) -> None:
        self.troubles.append(f"{about.get('message')}: {about.get('exception')!r}")

    def _run_once(self) -> None:
        timers: list[asyncio.TimerHandle] = self._scheduled  # type: ignore[attr-defined]
        while timers and (timers[0].cancelled() or _dead(timers[0])):
            handle = heapq.heappop(timers)
            if handle.cancelled():
                self._timer_cancelled_count -= 1
            handle._scheduled = False  # type: ignore[attr-defined]
        ready: deque[asyncio.Handle] = self._ready  # type: ignore[has-type]
        living = [handle for handle in ready if not _dead(handle)]
        ready.clear()
        if living:
            ready.append(living.pop(self.chance.randrange(len(living)) if len(living) > 1 else 0))
        elif not timers and not self._stopping:  # type: ignore[attr-defined]
            raise Hang("everything waits for something that will not happen")
        self.steps += 1
        if self.steps > MOST_STEPS or self.time() > MOST_SECONDS:
            raise Hang(f"no end after {self.steps} steps and {self.time():.0f} virtual seconds")
        if ready or timers:
            super()._run_once()  # type: ignore[misc]
        ready.extend(living)
        self.each()

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:
        """Threads are callbacks: nothing runs but when the loop says so."""
        done: asyncio.Future[Any] = self.create_future()

        def work() -> None:
            try:
                with in_thread():
                    result = func(*args)
            except Busy:
                self.call_later(0.01 + self.chance.random() / 10, work)
            except Exception as error:
                if not done.done():
                    done.set_exception(error)
            else:
                if not done.done():
                    done.set_result(result)

        self.call_later(self.chance.random() / 100, work)
        return done

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:  # noqa: ASYNC109
        """There are no threads."""


def _dead(handle: asyncio.Handle) -> bool:
    process = handle._context.get(PROCESS)  # type: ignore[attr-defined]
    return process is not None and process.dead
