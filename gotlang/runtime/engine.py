"""Runs an execution graph that grows while it runs: local operations immediately, the others concurrently."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Awaitable, Callable
from typing import Any, final

from gotlang.errors import BeyondBest, GotError, LimitExceeded, OperationFailed, RunError, UsageError
from gotlang.estimate.critical_path import CallsRemaining
from gotlang.operations import record_of
from gotlang.operations.keep_best_n import KeepBestN
from gotlang.operations.record import Asks, Local, OperationRecord, Run, Tool
from gotlang.operations.score import Score
from gotlang.operations.step import Step
from gotlang.runtime.context import MOST_CALLS, Context
from gotlang.runtime.execution import Execution
from gotlang.runtime.graph import DONE, FAILED, NOTHING, RUNNING, Operation, calls_before
from gotlang.runtime.outcome import truly_failed
from gotlang.runtime.roles import ROLES
from gotlang.runtime.sampler.events import Added, Ended, Started
from gotlang.semantics.limits import MAX_ELEMENTS
from gotlang.thought import Thoughts, raise_beyond

_PATIENCE = 500
"""Consecutive local operations before the event loop gets its turn."""
_SHIFT = 16
"""Consecutive operations that one task runs before it yields."""
_REPORT = "this is a bug in gotc; please report it with the program"


# -------------------------------------------------------------------- schedulers They determine time only:
# the result of a run does not depend on them.

Scheduler = Callable[[Operation], Any]
"""The urgency of a ready operation, an ordered value: the smallest first; ties go to the one added first."""


def _calls_after(operation: Operation, remaining: CallsRemaining) -> int:
    step, rest = operation.step, operation.frame.rest
    return rest if step is None else rest + remaining.after(step) + remaining.own(step)


SCHEDULERS: dict[str, Callable[[CallsRemaining], Scheduler]] = {
    # Operations with the fewest model calls before them first.
    "breadth-first": lambda _: calls_before,
    # Those with the most model calls before them first: partial results come early.
    "depth-first": lambda _: lambda operation: -calls_before(operation),
    # Those whose thoughts have the best scores first; those without a score last.
    "best-first": lambda _: (
        lambda operation: -max((t.goodness for t in operation.pool), default=float("-inf"))
    ),
    # Those with the most model calls after them, as estimated, first.
    "critical-path-first": lambda remaining: lambda operation: -_calls_after(operation, remaining),
}


def scheduler(name: str, remaining: CallsRemaining) -> Scheduler:
    """The scheduler of a name. Raises UsageError for an unknown one."""
    if name not in SCHEDULERS:
        raise UsageError(f"unknown scheduler `{name}`", help=f"choose from {', '.join(SCHEDULERS)}")
    return SCHEDULERS[name](remaining)


# -------------------------------------------------------------------- the engine


@final
class _ReadyQueue:
    """Ready operations that wait for a slot. `limit` of them may run, besides the `idle` ones, which wait for
    a sample that another one requested."""

    __slots__ = ("_waiting", "idle", "levels", "limit", "running")

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        self.running = 0
        self.idle = 0
        self.levels: list[Any] = []
        """The urgencies of waiting operations; many are equal, and ordered by their numbers."""
        self._waiting: dict[Any, list[int]] = {}

    def push(self, urgency: Any, operation: Operation) -> None:
        """Add an operation."""
        level = self._waiting.get(urgency)
        if level is None:
            self._waiting[urgency] = [operation.sequence]
            heapq.heappush(self.levels, urgency)
        else:
            heapq.heappush(level, operation.sequence)

    def pop(self) -> int | None:
        """The number of the most urgent operation, if there is one and a free slot."""
        if not self.levels or (self.limit is not None and self.running - self.idle >= self.limit):
            return None
        level = self._waiting[self.levels[0]]
        if len(level) > 1:
            return heapq.heappop(level)
        del self._waiting[heapq.heappop(self.levels)]
        return level[0]


@final
class GraphEngine:
    """Runs one graph to its end. `limit` bounds the operations that wait for models.

    A failed operation fails those that need it. Once the result is lost that way no further request is sent;
    those in flight are finished, and their completions stored.
    """

    def __init__(self, context: Context, scheduler: Scheduler, limit: int | None) -> None:
        self.context = context
        self.graph = context.graph
        self.scheduler = scheduler
        self.stopping = False
        self.stopped: str | None = None
        """The argument of `stop`."""
        self._asking = _ReadyQueue(limit)
        self._calling = _ReadyQueue(MOST_CALLS)
        self._runs: dict[tuple[str, int], Run | None] = {}
        self._told = 0
        self._cancellable: dict[Operation, asyncio.Task[Thoughts]] = {}
        context.give_up = self._give_up
        context.sampler.urgency = scheduler
        context.sampler.idle = self._idle

    async def run(self, result: Operation) -> None:
        """Run all operations. On return `result` has ended, or failed; cancelling also cancels requests in
        flight.

        Raises RunError if operations wait for each other, which would be a bug.
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
            raise RunError(f"internal error: {len(stuck)} operations wait for each other", help=_REPORT)

    def stop(self, reason: str) -> None:
        """Send no further request; those in flight are finished."""
        self.stopped = reason
        self._stop(reason)
        self._loop.call_soon(self._advance)

    def _stop(self, reason: str) -> None:
        self.stopping = True
        self.context.sampler.stopping = reason

    def _advance(self, free: _ReadyQueue | None = None) -> Operation | None:
        """Run the local operations that are ready, start the others as far as the limits allow, and check
        whether all is done.

        `free` is the queue of a task that has nothing to do; it gets one operation to continue with.
        """
        if self._finished.done():  # or cancelled: then nothing may start
            return None
        graph, asking, calling = self.graph, self._asking, self._calling
        left = _PATIENCE
        while graph.ready and left > 0:
            if self.context.doomed:
                graph.ready.clear()
                break
            operation = graph.ready.popleft()
            if operation.frame.trial is not None and operation.given_up:
                graph.fail(operation)
                continue
            if graph.any_skipped and operation.skipped:
                graph.skip(operation)
                continue
            way = self._run_of(operation)
            if isinstance(way, Asks):
                asking.push(self.scheduler(operation), operation)
            elif way is None or isinstance(way, Local):
                self._perform(operation, way)
                left -= 1
            else:
                calling.push(self.scheduler(operation), operation)
        if graph.ready:
            self._loop.call_soon(self._advance)
        # An operation that waits for a person is not lost: the others continue, up to further questions.
        if self._result.state == FAILED and not self.stopping and not self.context.sampler.waiting:
            self._stop("another operation failed")
        following = None
        if not self.stopping:
            for queue in (asking, calling):
                while (number := queue.pop()) is not None:
                    operation = graph.operations[number]
                    if not self._begin(operation, queue):
                        continue
                    if queue is free:
                        following, free = operation, None
                    else:
                        self._group.create_task(self._perform_waiting(operation, queue))
        if self.context.observe is not None:
            count = len(graph.operations) - graph.constants
            if count != self._told:
                self.context.emit(Added(count, count - self._told))
                self._told = count
        # Operations that could not be started wait for those that run, unless the run stops.
        if not (graph.ready or asking.running or calling.running):
            self._finished.set_result(None)
        return following

    def _run_of(self, operation: Operation) -> Run | None:
        """The function that runs an operation, by its record; None for one that the runtime added."""
        key = operation.role, id(operation.step)
        try:
            return self._runs[key]
        except KeyError:
            found = self._runs[key] = self._find_run(operation)
            return found

    def _find_run(self, operation: Operation) -> Run | None:
        step = operation.step
        if operation.role in ROLES or step is None:
            return None
        if operation.role in _WORKS:
            return _WORKS[operation.role]
        record = record_of(step)
        assert isinstance(record, OperationRecord), "a block is laid out, and never runs itself"
        return record.run(step, self.context.declared)

    def _begin(self, operation: Operation, queue: _ReadyQueue) -> bool:
        """Start an operation, unless its result is no longer needed."""
        if operation.frame.trial is not None and operation.given_up:
            self.graph.fail(operation)
            return False
        operation.state = RUNNING
        queue.running += 1
        if self.context.observe is not None:
            self.context.emit(Started(operation))
        return True

    def _idle(self, change: int) -> None:
        """An operation waits for the samples of another, so that a third may run in its place."""
        self._asking.idle += change
        if change > 0 and self._asking.levels:
            self._loop.call_soon(self._advance)

    def _perform(self, operation: Operation, way: Local | None) -> None:
        """Run an operation that does not wait."""
        context = self.context
        result: Thoughts | Exception
        try:
            if context.beyond:
                self._look_at_scores(operation)
            if way is None:
                result = ROLES[operation.role](context, operation, operation.pool)
            else:
                result = way.run(operation.step, operation.pool, Execution(context, operation))
        except Exception as error:
            result = error
        self._end(operation, result)

    async def _perform_waiting(self, operation: Operation, queue: _ReadyQueue) -> None:
        """Run an operation, and then others of its queue as they become ready."""
        following: Operation | None = operation
        for left in reversed(range(_SHIFT)):
            if following is None:
                return
            way, running = self._run_of(following), Execution(self.context, following)
            assert isinstance(way, Asks | Tool)
            result: Thoughts | Exception
            try:
                if self.context.beyond:
                    self._look_at_scores(following)
                work = way.run(following.step, following.pool, running)
                trial = following.frame.trial
                result = await (work if trial is None else self._cancellably(following, work))
            except Exception as error:
                result = error
            self._end(following, result, running.hops, running.seconds)
            queue.running -= 1
            following = self._advance(queue if left else None)

    async def _cancellably(self, operation: Operation, work: Awaitable[Thoughts]) -> Thoughts:
        """The result of an operation that waits; one that is abandoned meanwhile fails immediately."""
        task = self._cancellable[operation] = asyncio.ensure_future(work)
        try:
            return await task
        except asyncio.CancelledError:
            current = asyncio.current_task()
            if current is None or current.cancelling():
                raise
            raise OperationFailed("it was no longer needed", cut_off=True) from None
        finally:
            del self._cancellable[operation]

    def _give_up(self) -> None:
        for operation, task in self._cancellable.items():
            if operation.given_up:
                task.cancel()

    def _look_at_scores(self, operation: Operation) -> None:
        """Raise BeyondBest for an operation that passes on a score better than the best; `KeepBestN` checks
        itself."""
        if isinstance(operation.step, KeepBestN):
            return
        if operation.role == "collect" or operation.role not in ROLES:
            raise_beyond(operation.pool)

    def _end(
        self, operation: Operation, result: Thoughts | Exception, hops: int = 0, seconds: float = 0.0
    ) -> None:
        """Record that an operation ended with thoughts, or failed."""
        if isinstance(result, Thoughts) and len(result) > MAX_ELEMENTS:
            result = LimitExceeded(f"this leaves more than {MAX_ELEMENTS:,} thoughts")
        if isinstance(result, Thoughts):
            if isinstance(operation.step, Score) and any(isinstance(t.claim, BeyondBest) for t in result):
                self.context.beyond = True
            self.graph.complete(operation, result, hops, seconds)
            if self.context.observe is not None:
                self.context.emit(Ended(operation))
            return
        error = result
        if not isinstance(error, GotError):
            error = RunError(f"internal error: {type(result).__name__}: {result}", help=_REPORT)
            error.__cause__ = result
        self.context.lost(operation, error, hops, seconds)


async def _work(step: Step, thoughts: Thoughts, running: Any) -> Thoughts:
    """Run Python that changes the graph, one turn of a model with tools, or the start or the end of a race;
    their thoughts are those of the join behind them."""
    return await running.context.graph.work.pop(running.operation)(running) or NOTHING


_WORKS: dict[str, Run] = {"change": Tool(_work), "turn": Asks(_work), "race": Tool(_work)}
