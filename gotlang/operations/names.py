"""The names that expressions and steps use, so that each step waits for exactly what it needs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from gotlang.operations.step import GIVEN, Region, Step
from gotlang.scope import THOUGHT_FUNCTIONS
from gotlang.syntax import expressions as e
from gotlang.syntax.walk import children, walk

POOL_NAMES = GIVEN | THOUGHT_FUNCTIONS.keys()
"""Names that a step's own thoughts define unless the program binds them: `score` is short for `score(it)`,
and may be the name of an input."""


def looks_at_pool(node: e.Expression) -> bool:
    """Whether an expression uses the current thoughts, not only names."""
    if not POOL_NAMES.isdisjoint(free_names(node)):
        return True
    return any(isinstance(x, e.Call) and x.function.text in THOUGHT_FUNCTIONS for x in walk(node))


def free_names(node: e.Node) -> dict[str, None]:
    """The names that an expression uses and does not bind, in order."""
    found: dict[str, None] = {}
    _free(node, frozenset(), found)
    return found


def _free(node: e.Node, bound: frozenset[str], found: dict[str, None]) -> None:
    if isinstance(node, e.Reference):
        if node.name not in bound:
            found[node.name] = None
    elif isinstance(node, e.Comprehension):
        _free(node.iterable, bound, found)
        inner = bound | {name.text for name in node.names}
        for part in (node.element, node.condition):
            if part is not None:
                _free(part, inner, found)
    else:
        for child in children(node):
            _free(child, bound, found)


def is_own_score(node: e.Node) -> bool:
    """Whether an expression is the score of a thought: `score(it)`, `score(part[0])`."""
    return isinstance(node, e.Call) and node.function.text == "score"


def own_expressions(step: Step) -> Iterator[e.Expression]:
    """The expressions of a step itself, without those of the regions inside it."""
    for value in step.own_fields.values():
        yield from expressions_in(value)


def expressions_in(value: Any) -> Iterator[Any]:
    """The expressions in a field of a step or of a declaration; those of regions are left out."""
    if isinstance(value, e.Node):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from expressions_in(item)
    elif not isinstance(value, Region) and hasattr(value, "expressions"):
        yield from value.expressions


def needed_names(step: Step) -> tuple[str, ...]:
    """The names in a step's own expressions, except those that only its thoughts define."""
    found: dict[str, None] = {}
    for expression in own_expressions(step):
        own = step.names_seen_by(expression)
        found.update((name, None) for name in free_names(expression) if name not in own)
    return tuple(name for name in found if name not in GIVEN)


def used_names(step: Step) -> set[str]:
    """Every name that a step or something inside it uses, including those that are bound inside it."""
    found = {step.pool, *step.pools_named}
    for expression in own_expressions(step):
        found.update(free_names(expression))
    for region in step.regions:
        found |= {region.entry, region.result}
        for inner in region.steps:
            found |= used_names(inner)
    return found


def bound_inside(step: Step) -> set[str]:
    """Every name that is bound inside a step."""
    found = set(step.bound_names)
    for region in step.regions:
        found.add(region.entry)
        for inside in region.steps:
            found |= {inside.result} | bound_inside(inside)
    return found


def with_expressions(step: Step, change: Any) -> Step:
    """A step with its own expressions transformed, those of the nested regions unchanged."""
    return replace(step, **{name: _changed(value, change) for name, value in step.own_fields.items()})


def _changed(value: Any, change: Any) -> Any:
    if isinstance(value, e.Expression):
        return change(value)
    if isinstance(value, tuple):
        return tuple(_changed(item, change) for item in value)
    return value.changed(change) if hasattr(value, "changed") else value
