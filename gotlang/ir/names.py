"""Which names expressions and steps use, so that each step waits for just what it needs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gotlang.ir import program as ir
from gotlang.semantics.builtins import THOUGHT_FUNCTIONS
from gotlang.syntax import expressions as e
from gotlang.syntax.walk import children, walk

GIVEN = frozenset({"it", "thoughts", "truth"})
"""Names that only a step's own thoughts give a meaning: no program binds them."""
POOL_NAMES = GIVEN | THOUGHT_FUNCTIONS.keys()
"""Names that a step's own thoughts give a meaning where the program binds them to nothing: `score` is short
for `score(it)`, and may be the name of an input."""


def looks_at_pool(node: e.Expression) -> bool:
    """Whether an expression looks at the current thoughts, not only at names."""
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
        inner = bound | {node.name.text} | ({node.position.text} if node.position else set())
        for part in (node.element, node.condition):
            if part is not None:
                _free(part, inner, found)
    else:
        for child in children(node):
            _free(child, bound, found)


def own_expressions(step: ir.AnyStep) -> Iterator[e.Expression]:
    """The expressions of a step itself, without those of the regions inside it."""
    for name, value in ir.step_fields(step).items():
        if name not in {"type", "span"}:
            yield from _expressions(value)


def _expressions(value: Any) -> Iterator[Any]:
    if isinstance(value, e.Node):
        yield value
    elif isinstance(value, ir.Stop):
        yield from _expressions(value.arguments)
        yield value.count
    elif isinstance(value, tuple):
        for item in value:
            if not isinstance(item, ir.Region):
                yield from _expressions(item)


def needed_names(step: ir.AnyStep) -> tuple[str, ...]:
    """The names a step's own expressions use, but for those that only its thoughts give a meaning."""
    inner: set[str] = set()
    if isinstance(step, ir.Foreach):
        inner = {step.name, "done", *([step.position] if step.position else [])}
    found: dict[str, None] = {}
    for expression in own_expressions(step):
        own = inner if isinstance(step, ir.Foreach) and expression is step.after else GIVEN
        found.update((name, None) for name in free_names(expression) if name not in own)
    return tuple(name for name in found if name not in GIVEN)


def used_names(step: ir.AnyStep) -> set[str]:
    """Every name that a step or something inside it uses, those that are bound inside it among them."""
    found = {step.pool}
    for expression in own_expressions(step):
        found.update(free_names(expression))
    if isinstance(step, ir.Block):
        found.update(outer for _, outer in step.names)
    for region in ir.regions(step):
        found |= {region.entry, region.result}
        for inner in region.steps:
            found |= used_names(inner)
    return found


def bound_inside(step: ir.AnyStep) -> set[str]:
    """Every name that is bound inside a step."""
    found: set[str] = set()
    match step:
        case ir.Foreach():
            found = {step.name, "done", *([step.position] if step.position is not None else [])}
        case ir.Reduce():
            found = {step.left, step.right, *([step.step] if step.step is not None else [])}
        case ir.Repeat() if step.counter is not None:
            found = {step.counter}
        case ir.Block():
            found = {inner for inner, _ in step.names}
    for region in ir.regions(step):
        found.add(region.entry)
        for inside in region.steps:
            found |= {inside.result} | bound_inside(inside)
    return found


def used_params(program: ir.Program, scheme: ir.Scheme) -> set[str]:
    """The params that a scheme uses, itself or through what it calls."""
    return reached_names(program, scheme) & {param.name for param in program.params}


def reached_names(program: ir.Program, scheme: ir.Scheme) -> set[str]:
    """Every name in a scheme and in what it calls: of params, prompts, scores, schemes and functions."""
    bodies = {each.name: each.body for each in program.schemes}
    bodies |= {score.name: score.body for score in program.scores}
    others = {each.name: _expressions((each.settings, each.count)) for each in program.prompts}
    others |= {each.name: _expressions((each.value,)) for each in program.scores}
    seen, pending = {scheme.name}, [scheme.name]
    while pending:
        name = pending.pop()
        steps = list(_steps(bodies[name])) if name in bodies else []
        expressions = [node for step in steps for node in own_expressions(step)] + [*others.get(name, ())]
        named = {value for step in steps for value in ir.step_fields(step).values() if isinstance(value, str)}
        for node in (inner for expression in expressions for inner in walk(expression)):
            if isinstance(node, e.Reference):
                named.add(node.name)
            elif isinstance(node, e.Call):
                named.add(node.function.text)
        pending += named - seen
        seen |= named
    return seen


def _steps(region: ir.Region) -> Iterator[ir.AnyStep]:
    """The steps of a region and of those inside it."""
    for step in region.steps:
        yield step
        for inner in ir.regions(step):
            yield from _steps(inner)
