"""Batching of cache operations: what many tasks request in one turn of the event loop is done together, in a
thread if it waits for a network."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager, nullcontext
from typing import Final, Generic, TypeVar, final
from weakref import WeakKeyDictionary

from gotlang.errors import CacheError
from gotlang.models.loops import VirtualTimeLoop

MOST: Final = 500
"""Maximum number of items in a batch."""
LANES: Final = 2
"""Maximum number of concurrent batches of one kind; requests that arrive meanwhile make the next one
larger."""

_Item = TypeVar("_Item")
_Found = TypeVar("_Found")
_Batch = list[tuple[_Item, asyncio.Future[_Found]]]


@final
class _BatchQueue(Generic[_Item, _Found]):
    """The pending and the running items of one event loop."""

    def __init__(self) -> None:
        self.waiting: _Batch[_Item, _Found] = []
        self.lanes: set[asyncio.Task[None]] = set()

    def next(self) -> _Batch[_Item, _Found]:
        batch, self.waiting = self.waiting[:MOST], self.waiting[MOST:]
        return batch


@final
class Batches(Generic[_Item, _Found]):
    """Calls `act` on lists of items; it returns a result for each, or a CacheError for one that failed. With
    `threads` it runs in a thread, otherwise at the end of the loop's turn."""

    def __init__(
        self, act: Callable[[Sequence[_Item]], Sequence[_Found | CacheError]], threads: Executor | None = None
    ) -> None:
        self._act = act
        self._threads = threads
        self._queues: WeakKeyDictionary[asyncio.AbstractEventLoop, _BatchQueue[_Item, _Found]] = (
            WeakKeyDictionary()
        )

    def __call__(self, item: _Item) -> Awaitable[_Found]:
        """The result for an item. It is computed even if nobody awaits it any more. Raises CacheError."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[_Found] = loop.create_future()
        queue = self._queues.get(loop)
        if queue is None:
            queue = self._queues[loop] = _BatchQueue()
        queue.waiting.append((item, future))
        if len(queue.waiting) == 1:
            loop.call_soon(self._start, loop, queue)
        return future

    def finish(self) -> None:
        """Process at once all items that are pending."""
        for queue in list(self._queues.values()):
            self._finish(queue)

    def _finish(self, queue: _BatchQueue[_Item, _Found]) -> None:
        while batch := queue.next():
            self._tell(batch, self._done(batch))

    def _start(self, loop: asyncio.AbstractEventLoop, queue: _BatchQueue[_Item, _Found]) -> None:
        if self._threads is None:
            self._finish(queue)
        elif queue.waiting and len(queue.lanes) < LANES:
            task = loop.create_task(self._send(loop, queue, self._threads))
            queue.lanes.add(task)
            task.add_done_callback(queue.lanes.discard)

    async def _send(
        self, loop: asyncio.AbstractEventLoop, queue: _BatchQueue[_Item, _Found], threads: Executor
    ) -> None:
        while batch := queue.next():
            with still(loop):
                self._tell(batch, await loop.run_in_executor(threads, self._done, batch))

    def _done(self, batch: _Batch[_Item, _Found]) -> Sequence[_Found | CacheError]:
        try:
            return self._act([item for item, _ in batch])
        except CacheError as error:
            return [error] * len(batch)

    def _tell(self, batch: _Batch[_Item, _Found], found: Sequence[_Found | CacheError]) -> None:
        for (_, future), one in zip(batch, found, strict=True):
            if future.done():
                continue
            if isinstance(one, CacheError):
                future.set_exception(one)
            else:
                future.set_result(one)


def still(loop: asyncio.AbstractEventLoop) -> AbstractContextManager[None]:
    """A context in which simulated time stands still, because real work wakes the loop."""
    return loop.paused() if isinstance(loop, VirtualTimeLoop) else nullcontext()


async def aside(
    threads: Executor, act: Callable[[], _Found], undo: Callable[[_Found], None] | None = None
) -> _Found:
    """The result of `act` in a thread. If nobody awaits it any more, `undo` is called with it."""
    loop = asyncio.get_running_loop()
    future = loop.run_in_executor(threads, act)
    try:
        with still(loop):
            return await asyncio.shield(future)
    except asyncio.CancelledError:

        def ended(done: asyncio.Future[_Found]) -> None:
            if not done.cancelled() and done.exception() is None and undo is not None:
                undo(done.result())

        future.add_done_callback(ended)
        raise
