"""Operations that call out of the program: Retrieve and Call."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable
from contextlib import nullcontext, suppress
from typing import Any, TypeVar

from gotlang.errors import EvaluationError, GotError
from gotlang.ir import program as ir
from gotlang.ir.foreign import call_python, copied, given_back, raised
from gotlang.ir.thought import Thought, Thoughts
from gotlang.models.loops import VirtualTimeLoop
from gotlang.runtime.context import Context
from gotlang.runtime.graph import Operation
from gotlang.runtime.sites import Spent, nothing_left
from gotlang.runtime.values import count, derived, each, whole

T = TypeVar("T")


async def retrieve(context: Context, operation: Operation, thoughts: Thoughts, spent: Spent) -> Thoughts:
    """`Retrieve`: a thought that nothing can be searched for is left out."""
    step = operation.step
    assert isinstance(step, ir.Retrieve)
    k = count(context.evaluate(step.k, whole(operation.frame, thoughts)), "k")
    noted = len(context.failures)

    async def search(thought: Thought) -> list[str]:
        query = context.evaluate(step.query, each(operation, thought))
        texts = await call_out(context.corpora[step.corpus], step.corpus, [query], {"k": k})
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise EvaluationError(f"`{step.corpus}` did not give a list of texts")
        return texts

    found = await _for_each(context, operation, thoughts, search)
    if thoughts and not found:
        raise nothing_left(context, operation, noted)
    out: list[Thought] = []
    for at, texts in found:
        out.extend(derived(operation, text, len(out) + i, (thoughts[at],)) for i, text in enumerate(texts))
    return Thoughts(out)


async def call(context: Context, operation: Operation, thoughts: Thoughts, spent: Spent) -> Thoughts:
    """`Call`: a thought that the function has no value for is left out."""
    step = operation.step
    assert isinstance(step, ir.CallFunction)
    function = context.functions[step.function]
    noted = len(context.failures)

    async def run(thought: Thought) -> Any:
        names = each(operation, thought)
        positional = [context.evaluate(value, names) for key, value in step.arguments if key is None]
        named = {key: context.evaluate(value, names) for key, value in step.arguments if key is not None}
        value = await call_out(function, step.function, positional, named)
        if value is None:
            raise EvaluationError(f"`{step.function}` gave None, which is no value of the language")
        return value

    found = await _for_each(context, operation, thoughts, run)
    if thoughts and not found:
        raise nothing_left(context, operation, noted)
    return Thoughts(derived(operation, value, at, (thoughts[at],)) for at, value in found)


async def _for_each(
    context: Context, operation: Operation, thoughts: Thoughts, run: Callable[[Thought], Awaitable[T]]
) -> list[tuple[int, T]]:
    """What `run` gives for each thought, some at the same time; those without are noted as failed."""
    found: dict[int, T] = {}
    failed: dict[int, GotError] = {}

    async def one(at: int) -> None:
        async with context.calls:
            try:
                found[at] = await run(thoughts[at])
            except GotError as error:
                failed[at] = error

    if len(thoughts) == 1:
        await one(0)
    else:
        async with asyncio.TaskGroup() as group:
            for at in range(len(thoughts)):
                group.create_task(one(at))
    for at in sorted(failed):
        context.failed(operation, failed[at].message, thoughts[at].index)
    return [(at, found[at]) for at in sorted(found)]


async def call_out(
    function: Callable[..., Any], name: str, positional: list[Any], named: dict[str, Any]
) -> Any:
    """What a Python function gives, called in a thread of its own unless it is async.

    Raises EvaluationError for whatever it raises. Cancelling leaves a thread that has started to itself.
    """
    if not inspect.iscoroutinefunction(function):
        return await in_thread(lambda: call_python(function, name, positional, named))
    try:
        value = await function(*map(copied, positional), **{key: copied(v) for key, v in named.items()})
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise raised(name, error) from error
    except (Exception, SystemExit) as error:
        raise raised(name, error) from error
    return given_back(value, name)


async def in_thread(work: Callable[[], T]) -> T:
    """What `work` gives, run in a thread that nobody waits for: an interrupted run ends at once, while the
    loop's own threads would keep it until their work is done."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(take: Callable[[], None]) -> None:
        if not future.done():
            take()

    def run() -> None:
        take: Callable[[], None]
        try:
            value = work()
            take = lambda: future.set_result(value)  # noqa: E731
        except BaseException as error:
            caught = error
            take = lambda: future.set_exception(caught)  # noqa: E731
        # The loop may be closed by now, if the run was interrupted.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, take)

    threading.Thread(target=run, daemon=True, name="gotlang call").start()
    with loop.standing_still() if isinstance(loop, VirtualTimeLoop) else nullcontext():
        return await future
