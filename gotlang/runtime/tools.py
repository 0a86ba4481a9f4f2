"""Operations that call out of the program: Retrieve and Call."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, suppress
from typing import Any, TypeVar

from gotlang.errors import EvaluationError, GotError
from gotlang.ir import program as ir
from gotlang.ir.foreign import call_python, copied, given_back, raised
from gotlang.models.loops import VirtualTimeLoop
from gotlang.runtime.context import Context
from gotlang.runtime.graph import Operation
from gotlang.runtime.sites import Spent, nothing_left
from gotlang.runtime.values import count, derived, each, whole
from gotlang.thought import Thought, Thoughts

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
    assert isinstance(step, ir.Call)
    function = context.functions[step.function]
    noted = len(context.failures)

    async def run(thought: Thought) -> Any:
        names = each(operation, thought)
        positional = [context.evaluate(value, names) for key, value in step.arguments if key is None]
        named = {key: context.evaluate(value, names) for key, value in step.arguments if key is not None}
        value = await call_out(function, step.function, positional, named, context.timeout_s)
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
    function: Callable[..., Any],
    name: str,
    positional: list[Any],
    named: dict[str, Any],
    timeout_s: float | None = None,
) -> Any:
    """What a Python function gives, called in a thread of its own unless it is async.

    Raises EvaluationError for whatever it raises, and after `timeout_s` seconds (None: never).
    """
    if not inspect.iscoroutinefunction(function):
        return await in_thread(lambda: call_python(function, name, positional, named), name, timeout_s)
    arguments, more = map(copied, positional), {key: copied(value) for key, value in named.items()}
    return given_back(await awaited(function(*arguments, **more), name, timeout_s), name)


async def awaited(work: Awaitable[T], name: str, timeout_s: float | None) -> T:
    """What an async function gives. Raises EvaluationError for whatever it raises, and when it takes too long
    (not where time is simulated: what it waits for may be real)."""
    loop = asyncio.get_running_loop()
    limit = None if isinstance(loop, VirtualTimeLoop) else timeout_s

    caller = asyncio.current_task()
    assert caller is not None

    async def alone() -> T:
        try:
            return await work
        except (GotError, KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError) and caller.cancelling():
                raise
            raise raised(name, error) from error

    try:
        async with asyncio.timeout(limit):
            # In a task of its own: what it does to the task that it runs in, it does to itself.
            return await loop.create_task(alone())
    except TimeoutError:
        raise _late(name, limit) from None


async def in_thread(work: Callable[[], T], name: str, timeout_s: float | None) -> T:
    """What `work` gives, run in a thread that nobody waits for: an interrupted run ends at once, while the
    loop's own threads would keep it until their work is done. Raises EvaluationError for whatever it raises,
    and when it takes too long; the thread is then left to itself."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(take: Callable[[], None]) -> None:
        if not future.done():
            take()

    def tell(take: Callable[[], None]) -> None:
        # The loop may be closed by now, if the run was interrupted.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, take)

    def run() -> None:
        try:
            value = work()
        except BaseException as error:
            # Whatever it is, here it is the function's: no Ctrl-C and no cancellation reach this thread.
            caught = error if isinstance(error, GotError) else raised(name, error)
            caught.__cause__ = error.__cause__ if caught is error else error
            tell(lambda: future.set_exception(caught))
        else:
            tell(lambda: future.set_result(value))

    threading.Thread(target=run, daemon=True, name="gotlang call").start()
    with ExitStack() as stack:
        if isinstance(loop, VirtualTimeLoop):
            stack.enter_context(loop.standing_still())
        if timeout_s is not None:

            def late() -> None:
                tell(lambda: future.set_exception(_late(name, timeout_s)))

            # The loop's own clock may be a simulated one.
            timer = threading.Timer(timeout_s, late) if isinstance(loop, VirtualTimeLoop) else None
            if timer is not None:
                timer.daemon = True
                timer.start()
                stack.callback(timer.cancel)
            else:
                stack.callback(loop.call_later(timeout_s, late).cancel)
        return await future


def _late(name: str, timeout_s: float | None) -> EvaluationError:
    return EvaluationError(f"`{name}` took longer than {timeout_s:g} s", help="`--timeout` allows for more")
