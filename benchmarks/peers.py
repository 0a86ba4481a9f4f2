"""The graphs of overhead.py as a person would write them in asyncio, and in LangGraph.

    python benchmarks/peers.py by-hand|langgraph wide|chain|tree CALLS [--collect]

Prints the processor seconds of a run as JSON. It imports nothing of gotc, so that an interpreter that has
LangGraph and not gotc can run it. A call yields to the event loop once and returns a number. Without
`--collect` garbage collection is off.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import itertools
import json
import operator
import time
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, TypedDict

_NUMBERS = itertools.count(1_000_000)


async def call(*_given: int) -> int:
    """A model that answers at once."""
    await asyncio.sleep(0)
    return int(str(next(_NUMBERS)))


# -------------------------------------------------------------------- asyncio


async def wide(n: int) -> list[int]:
    """n calls side by side."""
    return await asyncio.gather(*(call(i) for i in range(n)))


async def chain(n: int) -> int:
    """n calls, each from the one before."""
    value = 0
    for i in range(n):
        value = await call(value, i)
    return value


async def tree(n: int) -> int:
    """Neighbours merged until one is left, in n calls."""
    values = list(range(n + 1))
    while len(values) > 1:
        pairs = zip(values[::2], values[1::2], strict=False)
        values = [*await asyncio.gather(*(call(a, b) for a, b in pairs)), *values[len(values) & ~1 :]]
    return values[0]


# -------------------------------------------------------------------- LangGraph


class State(TypedDict, total=False):
    """What the nodes of a graph share."""

    at: int
    given: tuple[int, ...]
    values: list[int]
    made: Annotated[list[tuple[int, int, int]], operator.add]


def langgraph(name: str, n: int) -> Callable[[], Awaitable[Any]]:
    """A compiled graph, ready to run."""
    from langgraph.graph import END, START, StateGraph
    from langgraph.types import Send

    async def one(state: State) -> Any:
        level, place, *given = state["given"]
        return {"made": [(level, place, await call(*given))]}

    async def following(state: State) -> Any:
        return {"at": state["at"] + 1, "values": [await call(state["values"][0], state["at"])]}

    async def level(state: State) -> Any:
        """The values of the last level, in their order."""
        at, values = state["at"], state["values"]
        merged = [value for _, _, value in sorted(m for m in state["made"] if m[0] == at)]
        return {"at": at + 1, "values": [*merged, *values[len(values) & ~1 :]] if merged else values}

    def sends(state: State) -> Any:
        at, values = state["at"], state["values"]
        pairs = zip(values[::2], values[1::2], strict=False)
        return [Send("one", {"given": (at, k, *pair)}) for k, pair in enumerate(pairs)] or END

    graph: Any = StateGraph(State)
    if name == "chain":
        graph.add_node("following", following)
        graph.add_edge(START, "following")
        graph.add_conditional_edges("following", lambda s: "following" if s["at"] < n else END)
    else:
        graph.add_node("one", one)
        if name == "wide":
            each = [Send("one", {"given": (0, i, i)}) for i in range(n)]
            graph.add_conditional_edges(START, lambda s: each, ["one"])
            graph.add_edge("one", END)
        else:
            graph.add_node("level", level)
            graph.add_edge(START, "level")
            graph.add_conditional_edges("level", sends, ["one", END])
            graph.add_edge("one", "level")
    first: State = {"at": 0, "values": list(range(n + 1)), "made": []}
    compiled = graph.compile()
    return lambda: compiled.ainvoke(first, {"recursion_limit": 2 * n + 10})


# -------------------------------------------------------------------- one measurement


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("way", choices=["by-hand", "langgraph"])
    parser.add_argument("graph", choices=["wide", "chain", "tree"])
    parser.add_argument("calls", type=int)
    parser.add_argument("--collect", action="store_true")
    given = parser.parse_args()
    n = given.calls
    by_hand: dict[str, Callable[[int], Awaitable[Any]]] = {"wide": wide, "chain": chain, "tree": tree}

    async def timed(n: int) -> float:
        if given.way == "by-hand":
            started = time.process_time()
            await by_hand[given.graph](n)
        else:
            run = langgraph(given.graph, n)
            started = time.process_time()
            await run()
        return time.process_time() - started

    asyncio.run(timed(100))
    gc.collect()
    if not given.collect:
        gc.disable()
    print(json.dumps({"seconds": asyncio.run(timed(n))}))


if __name__ == "__main__":
    main()
