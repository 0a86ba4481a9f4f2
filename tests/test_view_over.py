"""A View is over when its function has ended, whoever kept it, and however the function ended."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from support.changing import go

from gotlang import GraphError, View
from gotlang.result import Result

USES: dict[str, Callable[[View], Any]] = {
    "ancestors": lambda view: list(view.ancestors()),
    "descendants": lambda view: list(view.descendants()),
    "region": lambda view: view.region(view.itself),
    "inputs": lambda view: view.inputs(view.result),
    "outputs": lambda view: view.outputs(view.itself),
    "named": lambda view: view.named("start"),
    "add": lambda view: view.add("Map() 1"),
    "connect": lambda view: view.connect(view.given, view.result),
    "disconnect": lambda view: view.disconnect(view.given, view.result),
    "move": lambda view: view.move(view.given, view.result, view.itself),
    "remove": lambda view: view.remove(view.given),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("ending", ["gives", "raises"])
def test_a_view_is_over_when_its_function_has_ended(use: str, ending: str) -> None:
    """For who kept it: after the run, and in the call for the next thought, of which it knows nothing."""
    kept: list[View] = []
    refused: list[str] = []

    def change(view: View) -> Any:
        for other in kept:
            with pytest.raises(GraphError) as error:
                USES[use](other)
            refused.append(error.value.message)
        kept.append(view)
        return view.given if ending == "gives" else 1 / 0

    go("start = x + 0\nPool() 1, 2\nCall change(start)", lambda view, start: change(view), many=True)
    assert len(kept) == 2
    for view in kept:
        with pytest.raises(GraphError) as error:
            USES[use](view)
        refused.append(error.value.message)
    assert refused == ["a View cannot be used once its function has ended"] * 3


def test_what_lists_a_graph_is_over_too() -> None:
    kept: list[Iterator[Any]] = []

    def change(view: View) -> Any:
        kept.extend((view.ancestors(), view.descendants()))
        assert all(next(places) for places in kept)
        return view.given

    go("Pool() x\nCall change()\nMap() it", change)
    for places in kept:
        with pytest.raises(GraphError, match="once its function has ended"):
            next(places)


def test_a_thread_that_a_function_left_changes_nothing_any_more() -> None:
    """Like a function that took too long and was given up: it goes on while the next call runs."""
    ended = threading.Event()
    threads: list[threading.Thread] = []
    refused: list[str] = []

    def later(view: View) -> None:
        assert ended.wait(60)
        try:
            view.connect(view.add("Generate() draft(it, 5)"), view.result)
        except GraphError as error:
            refused.append(error.message)

    def change(view: View, n: int) -> Any:
        if n == 1:
            threads.append(threading.Thread(target=later, args=(view,), daemon=True))
            threads[0].start()
            return view.given
        ended.set()
        threads[0].join(60)
        return view.add("Map() it * 10")

    found = go("Pool() 1, 2\nCall change(it)", change, many=True)
    assert isinstance(found, Result), found
    assert found.value == [1, 20]
    assert refused == ["a View cannot be used once its function has ended"]
    assert not any(o.role == "Generate" for o in found.outcome.graph.operations)
