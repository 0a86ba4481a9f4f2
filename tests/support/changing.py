"""Runs of a program that calls Python which changes the graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from support.orders import Delayed, try_in_order

from gotlang import changes_graph
from gotlang.errors import RunError
from gotlang.models.simulated import SimulatedModel
from gotlang.result import Result

HEAD = """
prompt draft(x: int, by: int) -> int:
    "{{ x }} {{ by }}"
prompt merge(xs: list[int]) -> int:
    "{{ xs }}"
prompt parts(x: int) -> many int:
    "{{ x }}"
prompt fails(x: int) -> int:
    "{{ x }}"
"""

ANSWERS: dict[str, Callable[..., str]] = {
    "draft": lambda rng, x, by: str(x + by),
    "merge": lambda rng, xs: str(sum(xs)),
    "parts": lambda rng, x: str([x, x + 1, x + 2]),
    "fails": lambda rng, x: "none",
}


def go(body: str, function: Callable[..., Any], *, many: bool = False, **options: Any) -> Result | RunError:
    """A run of a scheme in which the function is called `change`; its input `x` is 1."""
    changes_graph(function)
    lines = "\n".join("    " + line for line in body.strip().splitlines())
    text = f"{HEAD}\nscheme main(x: int) -> {'many ' if many else ''}any:\n{lines}\n"
    model = Delayed(SimulatedModel(ANSWERS), options.pop("chance", None), options.pop("late", None))
    return try_in_order(text, {"x": 1}, model, functions={"change": function}, **options)
