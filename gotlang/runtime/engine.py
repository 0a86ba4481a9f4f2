"""Runs an execution graph that grows while it runs: local operations at once, the others side by side."""

from __future__ import annotations

import asyncio
import heapq
import inspect
from collections.abc import Awaitable, Callable
from itertools import chain
from typing import Any, final

from gotlang.errors import EvaluationError, GotError, RunError
from gotlang.ir import program as ir
from gotlang.ir.evaluate import call_python
from gotlang.ir.thought import Thoughts
from gotlang.runtime.asking import Spent, ask, each, mend, positive, rate_by_prompt, validate, whole
from gotlang.runtime.context import Context, OperationFailed
from gotlang.runtime.events import Added, Ended, Started
from gotlang.runtime.graph import DONE, FAILED, NOTHING, RUNNING, Operation
from gotlang.runtime.local import LOCAL, derived, number
from gotlang.runtime.scheduler import Scheduler

Work = Callable[[Context, Operation, Thoughts], Awaitable[tuple[Thoughts, Spent]]]

_PATIENCE = 500
"""Local operations in a row before requests under way get their turn."""


async def retrieve(context: Context, operation: Operation, thoughts: Thoughts) -> tuple[Thoughts, Spent]:
    """`Retrieve`."""
    step = operation.step
    assert isinstance(step, ir.Retrieve)
    out = []
    for thought in thoughts:
        names = each(operation, thought)
        k = positive(context.evaluate(step.k, whole(operation, thoughts)), "k")
        query = context.evaluate(step.query, names)
        found = await _call(context, step.corpus, [query], {"k": k})
        if not isinstance(found, list) or not all(isinstance(document, str) for document in found):
            raise EvaluationError(f"`{step.corpus}` did not give a list of texts")
        out.extend(derived(operation, text, len(out) + i, (thought,)) for i, text in enumerate(found))
    return Thoughts(out), Spent()


async def call(context: Context, operation: Operation, thoughts: Thoughts) -> tuple[Thoughts, Spent]:
    """`Call`."""
    step = operation.step
    assert isinstance(step, ir.CallFunction)
    out = []
    for index, thought in enumerate(thoughts):
        names = each(operation, thought)
        positional = [context.evaluate(value, names) for key, value in step.arguments if key is None]
        named = {key: context.evaluate(value, names) for key, value in step.arguments if key is not None}
        value = await _call(context, step.function, positional, named)
        out.append(derived(operation, value, index, (thought,)))
    return Thoughts(out), Spent()


async def _call(context: Context, name: str, positional: list[Any], named: dict[str, Any]) -> Any:
    """A Python function, in a thread of its own unless it is async."""
    function = context.functions[name]
    if inspect.iscoroutinefunction(function):
        try:
            return await function(*positional, **named)
        except Exception as error:

            def again() -> None:
                raise error

            return call_python(again, name, [], {})
    return await asyncio.to_thread(call_python, function, name, positional, named)


ASYNC: dict[type, Work] = {
    ir.Ask: ask,
    ir.Mend: mend,
    ir.Retrieve: retrieve,
    ir.CallFunction: call,
}


@final
class Engine:
    """Runs one graph until nothing is left to do. `limit` bounds the operations that wait for models."""

    def __init__(self, context: Context, scheduler: Scheduler, limit: int | None) -> None:
        self.context = context
        self.graph = context.graph
        self.scheduler = scheduler
        self.limit = limit
        self.running = 0
        self.stopping = False
        self.stopped: str | None = None
        """Why `stop` was called, where it was."""
        self._prompts = {prompt.name for prompt in context.program.prompts}
        self._wake = asyncio.Event()
        self._local: list[tuple[Any, int, Operation]] = []
        self._asking: list[tuple[Any, int, Operation]] = []
        self._told = 0

    async def run(self, result: Operation) -> None:
        """Run everything. On return `result` has ended, or failed; cancelling cancels what is under way.

        Raises RunError where the graph cannot go on, which would be a mistake of ours.
        """
        async with asyncio.TaskGroup() as group:
            while True:
                await self._turn(group, result)
                if result.state == FAILED and not self.stopping:
                    self._stop("another operation had failed")
                if not self.running:
                    if self._local or self.graph.ready or (self._asking and not self.stopping):
                        continue
                    break
                await self._wake.wait()
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
        self._wake.set()

    def _stop(self, reason: str) -> None:
        self.stopping = True
        self.context.sampler.stopping = reason

    async def _turn(self, group: asyncio.TaskGroup, result: Operation) -> None:
        """Run what is ready here, and start what waits for others as far as the limit allows."""
        self._wake.clear()
        done = 0
        while True:
            self._sort()
            if self._local:
                operation = heapq.heappop(self._local)[2]
                self._perform(operation)
                done += 1
                if done % _PATIENCE == 0:
                    await asyncio.sleep(0)
                continue
            if self._asking and not self.stopping and (self.limit is None or self.running < self.limit):
                operation = heapq.heappop(self._asking)[2]
                operation.state = RUNNING
                self.running += 1
                self.context.emit(Started(operation))
                group.create_task(self._perform_async(operation))
                continue
            break
        if self.context.observe is not None and len(self.graph.operations) != self._told:
            self._told = len(self.graph.operations)
            self.context.emit(Added(self._told - self.graph.constants))

    def _sort(self) -> None:
        ready, self.graph.ready = self.graph.ready, []
        for operation in ready:
            queue = self._asking if self._is_async(operation) else self._local
            heapq.heappush(queue, (self.scheduler.urgency(operation), operation.sequence, operation))

    def _is_async(self, operation: Operation) -> bool:
        step = operation.step
        if operation.role in ("join", "grow", "rated", "collect"):
            return False
        if isinstance(step, ir.Rate):
            return step.score in self._prompts
        return type(step) in ASYNC or isinstance(step, ir.Validate)

    def _thoughts(self, operation: Operation) -> Thoughts:
        """What an operation takes: the thoughts of its pool, which is its first input."""
        return operation.inputs[0].output if operation.inputs else NOTHING

    def _perform(self, operation: Operation) -> None:
        try:
            self.graph.complete(operation, self._local_output(operation))
        except GotError as error:
            self._fail(operation, error)
            return
        if self.context.observe is not None:
            self.context.emit(Ended(operation))

    def _local_output(self, operation: Operation) -> Thoughts:
        match operation.role:
            case "join":
                parts = operation.parts or ()
                if len(parts) == 1:
                    return parts[0].output
                return Thoughts(chain.from_iterable(part.output for part in parts))
            case "grow":
                assert operation.grow is not None
                operation.grow(operation)
                operation.grow = None
                return NOTHING
            case "rated":
                return self._rated(operation)
            case "collect":
                thoughts = self._thoughts(operation)
                return Thoughts([derived(operation, [t.value for t in thoughts], 0, thoughts)])
        return LOCAL[type(operation.step)](self.context, operation, self._thoughts(operation))

    def _rated(self, operation: Operation) -> Thoughts:
        """Thoughts with the mean of the numbers that a score's samples gave for each."""
        step = operation.step
        assert isinstance(step, ir.Rate) and step.score is not None
        score = self.context.program.score(step.score)
        pool, *numbers = operation.inputs
        thoughts = pool.output
        if not thoughts:
            return NOTHING
        share = len(numbers) // len(thoughts)
        out = []
        for index, thought in enumerate(thoughts):
            own = numbers[index * share : (index + 1) * share]
            values = [number(o.output[0].value, score.name) for o in own if o.state == DONE and o.output]
            if values:
                out.append(thought.known(score=sum(values) / len(values), lower=score.lower))
        if not out:
            raise OperationFailed(f"`{score.name}` could score no thought")
        return Thoughts(out)

    async def _perform_async(self, operation: Operation) -> None:
        step = operation.step
        work: Work
        if isinstance(step, ir.Rate):
            work = rate_by_prompt
        elif isinstance(step, ir.Validate):
            work = validate
        else:
            work = ASYNC[type(step)]
        try:
            output, spent = await work(self.context, operation, self._thoughts(operation))
            self.graph.complete(operation, output, spent.hops, spent.times)
            self.context.emit(Ended(operation))
        except GotError as error:
            self._fail(operation, error)
        except BaseExceptionGroup as group:
            errors = [e for e in group.exceptions if isinstance(e, GotError)]
            if len(errors) < len(group.exceptions):
                raise
            self._fail(operation, errors[0])
        finally:
            self.running -= 1
            self._wake.set()

    def _fail(self, operation: Operation, error: GotError) -> None:
        """Note a failure, and that what depends on it cannot be: but for a pool that has other thoughts."""
        if not (isinstance(error, OperationFailed) and error.over_budget):
            self.context.failed(operation, error.message, fatal=True)
        stack = [operation]
        while stack:
            failed = stack.pop()
            if failed.state in (DONE, FAILED):
                continue
            failed.state = FAILED
            successors, failed.successors = failed.successors, None
            for successor in successors or ():
                if _absorbs(successor) and any(o.state != FAILED for o in successor.inputs[1:]):
                    self.graph.release(successor)
                else:
                    stack.append(successor)


def _absorbs(operation: Operation) -> bool:
    """Whether an operation can do without one of its inputs: a `Pool` of several, a score of several samples."""
    if operation.role == "rated":
        return True
    return isinstance(operation.step, ir.Gather) and len(operation.step.values) > 1
