"""Runs in other orders: a model whose requests take a random time, on a clock that is not real.

What a request answers, and how long it says it took, is that of the model inside; only when the answer comes
is left to chance.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Any, TypeVar

from gotlang.api import Options, Program, Session, compile
from gotlang.errors import RunError
from gotlang.models.base import PERMITTED, Model, Permit, Price, Reply, Request
from gotlang.models.loops import VirtualTimeLoop
from gotlang.result import Result
from gotlang.runtime.graph import STATES, Graph, Operation

T = TypeVar("T")

WATCHDOG_S = 100_000.0
"""Virtual seconds after which a run is taken for one that hangs."""


@dataclass
class Delayed(Model):
    """Answers as `model` does, after a while that `chance` says (None: at once)."""

    model: Model
    chance: Random | None = None
    late: str | None = None
    """The prompt whose answers come last."""
    simulated: bool = True
    most: int = 0
    under_way: int = 0

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def price(self) -> Price | None:
        return self.model.price

    @property
    def batch(self) -> int:
        return self.model.batch

    async def ask(self, request: Request, n: int, first: int = 0, permit: Permit = PERMITTED) -> Reply:
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            if request.prompt == self.late:
                await asyncio.sleep(1000.0)
            if self.chance is not None:
                await asyncio.sleep(self.chance.choice([0.0, 0.1, 1.0, self.chance.random() * 10]))
            return await self.model.ask(request, n, first, permit)
        finally:
            self.under_way -= 1

    async def close(self) -> None:
        await self.model.close()


def on_virtual_time(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """What `work` gives, on a loop of its own. Fails where it hangs, and where it leaves a task running."""

    async def watched() -> T:
        try:
            async with asyncio.timeout(WATCHDOG_S):
                return await work()
        finally:
            left = asyncio.all_tasks() - {asyncio.current_task()}
            assert not left, f"left running: {left}"

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(watched())


@lru_cache(maxsize=4)
def compiled(text: str) -> Program:
    """The program of a text. Laws run one many times: in other orders, on other budgets, on other levels."""
    return compile(text, "program.got")


def run_in_order(
    text: str, inputs: dict[str, Any], model: Model, truth: Any = None, **options: Any
) -> Result:
    """One run of a program on virtual time. Raises RunError where it has no result. Its functions return what
    the option `returns` says, by default ints."""

    returns = options.pop("returns", "int")

    async def work() -> Result:
        functions = options.get("functions", ())
        typed = [f"{name} -> {returns}" for name in functions]
        program = compile(text, "program.got", functions=typed) if functions else compiled(text)
        async with Session(program, Options(model=model, **options)) as session:
            return await session.run(inputs, truth=truth)

    return on_virtual_time(work)


def try_in_order(*arguments: Any, **options: Any) -> Result | RunError:
    """The same; the error where there is no result."""
    try:
        return run_in_order(*arguments, **options)
    except RunError as error:
        return error


def shape(graph: Graph) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    """An execution graph without the order in which it came about: each operation by its path."""
    found: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for operation in graph.operations:
        assert operation.path not in found, f"two operations stand at {operation.path}"
        found[operation.path] = (
            operation.role,
            STATES[operation.state],
            sorted(map(_path, operation.inputs)),
            _path(operation.origin) if operation.origin is not None else None,
            operation.hops,
            round(operation.seconds, 6),
            [(t.value, t.score, t.valid, t.usd, t.index, _path(t.maker)) for t in operation.output],
        )
    return found


def _path(operation: Operation) -> str:
    return str(operation.path)


def everything(result: Result) -> dict[str, Any]:
    """All that must not depend on the order in which things end."""
    document = result.to_dict()
    for name in ("run", "wall_s", "spent"):
        del document[name]
    return {**document, "graph": {**document["graph"], "shape": shape(result.outcome.graph)}}
