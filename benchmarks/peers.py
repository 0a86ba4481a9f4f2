"""The graphs of overhead.py as a person would write them in asyncio, and in other frameworks.

    python benchmarks/peers.py by-hand|langgraph|graph-of-thoughts|framework-of-thoughts wide|chain|tree CALLS
                               [--checkout FOLDER] [--collect]

Prints the processor seconds of a run as JSON. It imports nothing of gotc, so that an interpreter that has
a framework and not gotc can run it. Graph of Thoughts and Framework of Thoughts are imported from checkouts,
and have no tree here; the first runs one operation after another. A call yields to the event loop once and
returns a number. Without `--collect` garbage collection is off.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import itertools
import json
import operator
import sys
import time
import types
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


# -------------------------------------------------------------------- Graph of Thoughts


def graph_of_thoughts(name: str, n: int) -> Callable[[], Awaitable[Any]]:
    """A controller of a graph of operations, ready to run."""
    # Its own language models, which import torch, are not needed.
    models: Any = types.ModuleType("graph_of_thoughts.language_models")
    models.AbstractLanguageModel = object
    sys.modules[models.__name__] = models
    from graph_of_thoughts.controller import Controller
    from graph_of_thoughts.operations import Generate, GraphOfOperations

    class Immediate:
        """A language model that answers at once."""

        def query(self, prompt: str, num_responses: int = 1) -> list[str]:
            return [str(next(_NUMBERS)) for _ in range(num_responses)]

        def get_response_texts(self, response: list[str]) -> list[str]:
            return response

    class Prompts:
        """A prompt with a number."""

        def generate_prompt(self, num_branches: int, value: int, **_more: Any) -> str:
            return str(value)

        def parse_generate_answer(self, state: Any, texts: list[str]) -> list[dict[str, int]]:
            return [{"value": int(text)} for text in texts]

    graph: Any = GraphOfOperations()
    for _ in range(n):
        if name == "chain":
            graph.append_operation(Generate(1, 1))
        else:
            graph.add_operation(Generate(1, 1))
    controller: Any = Controller(Immediate(), graph, Prompts(), Prompts(), {"value": 0})

    async def run() -> None:
        controller.run()

    return run


# -------------------------------------------------------------------- Framework of Thoughts


def framework_of_thoughts(name: str, n: int) -> Callable[[], Awaitable[Any]]:
    """A controller of a graph of operations, ready to run with `WORKERS` at the same time."""
    from llm_graph_optimizer.controller.controller import Controller
    from llm_graph_optimizer.graph_of_operations.graph_of_operations import GraphOfOperations
    from llm_graph_optimizer.graph_of_operations.types import Edge, ManyToOne
    from llm_graph_optimizer.operations.abstract_operation import AbstractOperation
    from llm_graph_optimizer.operations.base_operations.end import End
    from llm_graph_optimizer.operations.base_operations.start import Start
    from llm_graph_optimizer.schedulers.schedulers import Scheduler

    class Call(AbstractOperation):  # type: ignore[misc]
        """A call of the model."""

        async def _execute(self, partitions: Any, given: Any) -> Any:
            return {"out": await call(*given.values())}, None

    graph: Any = GraphOfOperations()
    start = Start(input_types={"value": int})
    calls = [Call({"x": int}, {"out": int}) for _ in range(n)]
    end = End(input_types={"values": ManyToOne[int] if name == "wide" else int})
    for node in (start, *calls, end):
        graph.add_node(node)
    if name == "wide":
        for at, node in enumerate(calls):
            graph.add_edge(Edge(start, node, "value", "x"))
            graph.add_edge(Edge(node, end, "out", "values"), order=at)
    else:
        graph.add_edge(Edge(start, calls[0], "value", "x"))
        for before, after in itertools.pairwise(calls):
            graph.add_edge(Edge(before, after, "out", "x"))
        graph.add_edge(Edge(calls[-1], end, "out", "values"))
    controller: Any = Controller(graph, Scheduler.BFS, max_concurrent=WORKERS)
    return lambda: controller.execute(input={"value": 0})


# -------------------------------------------------------------------- one measurement

WORKERS = 40
"""Of Framework of Thoughts, at the same time."""
WAYS = {
    "langgraph": langgraph,
    "graph-of-thoughts": graph_of_thoughts,
    "framework-of-thoughts": framework_of_thoughts,
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("way", choices=["by-hand", *WAYS])
    parser.add_argument("graph", choices=["wide", "chain", "tree"])
    parser.add_argument("calls", type=int)
    parser.add_argument("--checkout", metavar="FOLDER")
    parser.add_argument("--collect", action="store_true")
    given = parser.parse_args()
    n = given.calls
    if given.checkout:
        sys.path.insert(0, given.checkout)
    by_hand: dict[str, Callable[[int], Awaitable[Any]]] = {"wide": wide, "chain": chain, "tree": tree}

    async def timed(n: int) -> float:
        if given.way == "by-hand":
            started = time.process_time()
            await by_hand[given.graph](n)
        else:
            run = WAYS[given.way](given.graph, n)
            started = time.process_time()
            await run()
        return time.process_time() - started

    asyncio.run(timed(100))  # what is done once is not counted
    gc.collect()
    if not given.collect:
        gc.disable()
    print(json.dumps({"seconds": asyncio.run(timed(n))}))


if __name__ == "__main__":
    main()
