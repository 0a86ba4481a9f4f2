"""The memory of each operation of a run: numbers and values, not the texts that they were parsed from."""

import asyncio
import gc
import itertools
import tracemalloc

import pytest

from gotlang.api import Options, Session, compile
from gotlang.models.base import PERMITTED, Completion, Model, Permit, Reply, Request, Usage

GRAPHS = {
    "wide": """
scheme graph(n: int) -> many int:
    foreach i in range(n):
        Generate() one(i, 0)
""",
    "chain": """
scheme graph(n: int) -> int:
    Map() 0
    repeat n as i:
        Generate() one(it, i)
""",
    "tree": """
scheme graph(n: int) -> int:
    reduce a, b in range(n + 1):
        Aggregate() one(a, b)
""",
}
HEAD = """
prompt one(x: int, y: int) -> int:
    "{{ x }} {{ y }}"
"""
CALLS = 250
MOST = {"wide": 1_450, "chain": 1_150, "tree": 1_150}
"""Bytes that are allocated for an operation, and not freed, while the result is there."""


class Long(Model):
    """Responds with long texts that end with different numbers."""

    name, simulated, price, batch = "long", False, None, 1

    def __init__(self) -> None:
        self.numbers = itertools.count(1_000_000)

    async def ask(self, request: Request, n: int, first: int = 0, permit: Permit = PERMITTED) -> Reply:
        text = f"{'So it is. ' * 30}\n{next(self.numbers)}"
        return Reply((Completion(text, output_tokens=90),), Usage(5, 90), 0.25)


@pytest.mark.parametrize("name", GRAPHS)
def test_a_run_keeps_little_of_an_operation_and_no_text(name: str) -> None:
    async def grown() -> float:
        async with Session(compile(HEAD + GRAPHS[name], "graph.got"), Options(model=Long())) as session:
            await session.run({"n": 10})
            gc.collect()
            tracemalloc.start(1)
            try:
                before, _ = tracemalloc.get_traced_memory()
                result = await session.run({"n": CALLS})
                gc.collect()
                after, _ = tracemalloc.get_traced_memory()
            finally:
                tracemalloc.stop()
            return (after - before) / result.outcome.operations

    assert asyncio.run(grown()) < MOST[name]
