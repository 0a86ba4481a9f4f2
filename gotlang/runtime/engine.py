"""Runs an execution graph that grows while it runs: local operations at once, the others side by side."""

from __future__ import annotations

import asyncio
import heapq
from typing import Any, final

from gotlang.errors import EvaluationError, GotError, RunError
from gotlang.operations import record_of
from gotlang.operations.record import Asks, Grows, Local, Run, Tool
from gotlang.operations.record import Operation as OperationRecord
from gotlang.operations.step import Step
from gotlang.runtime.context import MOST_CALLS, Context
from gotlang.runtime.execution import Execution
from gotlang.runtime.expansion.calls import ROLES
from gotlang.runtime.graph import DONE, FAILED, NOTHING, RUNNING, Operation
from gotlang.runtime.outcome import truly_failed
from gotlang.runtime.sampler.events import Added, Ended, Started
from gotlang.runtime.scheduler import Scheduler
from gotlang.semantics.limits import MAX_ELEMENTS
from gotlang.thought import Thoughts

_PATIENCE = 500
"""Local operations in a row before requests under way get their turn."""
_SHIFT = 16
"""Operations that wait for models which one task runs, one after the other, before it makes way."""


@final
class _Queue:
    """Operations that are ready and wait for a place. `limit` of them may be under way, besides those that
    are `idle`: they wait for what another one asked."""

    __slots__ = ("idle", "limit", "running", "waiting")

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        self.running = 0
        self.idle = 0
        self.waiting: list[tuple[Any, int, Operation]] = []

    @property
    def open(self) -> bool:
        """Whether there is one to start, and a place for it."""
        return bool(self.waiting) and (self.limit is None or self.running - self.idle < self.limit)


@final
class Engine:
    """Runs one graph until nothing is left to do. `limit` bounds the operations that wait for models.

    A failing operation fails what cannot do without it. Once the result is lost that way nothing more is
    asked; what is under way is finished, and its answers are kept.
    """

    def __init__(self, context: Context, scheduler: Scheduler, limit: int | None) -> None:
        self.context = context
        self.graph = context.graph
        self.scheduler = scheduler
        self.stopping = False
        self.stopped: str | None = None
        """Why `stop` was called, where it was."""
        self._asking = _Queue(limit)
        self._calling = _Queue(MOST_CALLS)
        self._runs: dict[int, Run] = {}
        self._told = 0
        context.sampler.urgency = scheduler.urgency
        context.sampler.idle = self._idle

    async def run(self, result: Operation) -> None:
        """Run everything. On return `result` has ended, or failed; cancelling cancels what is under way.

        Raises RunError where the graph cannot go on, which would be a mistake of ours.
        """
        self.context.result = result
        self.context.doomed = truly_failed(self.context, result)
        self._result = result
        self._loop = asyncio.get_running_loop()
        self._finished = self._loop.create_future()
        async with asyncio.TaskGroup() as self._group:
            self._advance()
            await self._finished
        if result.state not in (DONE, FAILED) and not self.stopping:
            stuck = [o for o in self.graph.operations if o.state not in (DONE, FAILED)]
            raise RunError(
                f"the graph cannot go on: {len(stuck)} operations wait for each other",
                help="this is a mistake in gotc; please report it with the program",
            )

    def stop(self, reason: str) -> None:
        """Start nothing more that asks a model; what is under way is finished and kept."""
        self.stopped = reason
        self._stop(reason)
        self._loop.call_soon(self._advance)

    def _stop(self, reason: str) -> None:
        self.stopping = True
        self.context.sampler.stopping = reason

    def _advance(self, free: _Queue | None = None) -> Operation | None:
        """Run what is ready here, start what waits for others as far as the limits allow, and see whether
        that was all.

        `free` is the queue of a task that has nothing to do; it gets one operation to go on with.
        """
        if self._finished.done():  # or cancelled, and then nothing may be started any more
            return None
        graph, asking, calling = self.graph, self._asking, self._calling
        left = _PATIENCE
        while graph.ready and left > 0:
            ready, graph.ready = graph.ready[:left], graph.ready[left:]
            for operation in ready:
                if self.context.doomed:
                    graph.ready = []
                    break
                match self._run_of(operation):
                    case None | Local() as way:
                        self._perform(operation, way)
                        left -= 1
                    case Asks():
                        self._queue(asking, operation)
                    case Tool() | Grows():
                        self._queue(calling, operation)
        if graph.ready:
            self._loop.call_soon(self._advance)
        if self._result.state == FAILED and not self.stopping:
            self._stop("another operation had failed")
        following = None
        if not self.stopping:
            for queue in (asking, calling):
                while queue.open:
                    operation = self._begin(queue)
                    if queue is free:
                        following, free = operation, None
                    else:
                        self._group.create_task(self._perform_waiting(operation, queue))
        count = len(graph.operations) - graph.constants
        if self.context.observe is not None and count != self._told:
            self.context.emit(Added(count, count - self._told))
            self._told = count
        # What could not be started waits for what is under way, unless nothing may be started any more.
        if not (graph.ready or asking.running or calling.running):
            self._finished.set_result(None)
        return following

    def _run_of(self, operation: Operation) -> Run | None:
        """How an operation runs, as its record says; None for one that the runtime added."""
        step = operation.step
        if operation.role in ROLES or step is None:
            return None
        if operation.role == "change":
            return _CHANGE
        try:
            return self._runs[id(step)]
        except KeyError:
            record = record_of(step)
            assert isinstance(record, OperationRecord), "a block is laid out, and never runs itself"
            found = self._runs[id(step)] = record.run(step, self.context.declared)
            return found

    def _queue(self, queue: _Queue, operation: Operation) -> None:
        entry = (self.scheduler.urgency(operation), operation.sequence, operation)
        heapq.heappush(queue.waiting, entry)

    def _begin(self, queue: _Queue) -> Operation:
        """The most urgent operation of a queue, as one that runs from now on."""
        operation = heapq.heappop(queue.waiting)[2]
        operation.state = RUNNING
        queue.running += 1
        if self.context.observe is not None:
            self.context.emit(Started(operation))
        return operation

    def _idle(self, change: int) -> None:
        """An operation waits for another's answers, so that a third may run in its place."""
        self._asking.idle += change
        if change > 0 and self._asking.waiting:
            self._loop.call_soon(self._advance)

    def _perform(self, operation: Operation, way: Local | None) -> None:
        context = self.context
        try:
            if way is None:
                output = ROLES[operation.role](context, operation, operation.pool)
            else:
                output = way.run(operation.step, operation.pool, Execution(context, operation))
            output = _bounded(output)
        except GotError as error:
            self.context.lost(operation, error)
        except Exception as error:
            self.context.lost(operation, _mistake(error))
        else:
            self.graph.complete(operation, output)
            if self.context.observe is not None:
                self.context.emit(Ended(operation))

    async def _perform_waiting(self, operation: Operation, queue: _Queue) -> None:
        """Run an operation, and then others of its queue as they come."""
        following: Operation | None = operation
        for left in reversed(range(_SHIFT)):
            if following is None:
                return
            await self._perform_one(following)
            queue.running -= 1
            following = self._advance(queue if left else None)

    async def _perform_one(self, operation: Operation) -> None:
        way = self._run_of(operation)
        assert isinstance(way, Asks | Tool)
        running = Execution(self.context, operation)
        try:
            output = _bounded(await way.run(operation.step, operation.pool, running))
        except GotError as error:
            self.context.lost(operation, error, running.hops, running.seconds)
        except Exception as error:
            self.context.lost(operation, _mistake(error), running.hops, running.seconds)
        else:
            self.graph.complete(operation, output, running.hops, running.seconds)
            if self.context.observe is not None:
                self.context.emit(Ended(operation))


async def _change(step: Step, thoughts: Thoughts, running: Any) -> Thoughts:
    """Run what changes the graph; its thoughts are those of the join behind it."""
    work, running.operation.work = running.operation.work, None
    assert work is not None
    await work(running)
    return NOTHING


_CHANGE = Tool(_change)


def _bounded(output: Thoughts) -> Thoughts:
    """What an operation gives. Raises EvaluationError where that is too much to go on with."""
    if len(output) > MAX_ELEMENTS:
        raise EvaluationError(f"this leaves more than {MAX_ELEMENTS:,} thoughts")
    return output


def _mistake(error: Exception) -> RunError:
    """A failure that is no user's fault; the run ends in order all the same."""
    mistake = RunError(
        f"gotc made a mistake: {type(error).__name__}: {error}", help="please report it with the program"
    )
    mistake.__cause__ = error
    return mistake
