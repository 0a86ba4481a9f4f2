"""What a scheme reaches: the params, prompts, scores, schemes and functions that it uses, or that what it
calls uses."""

from __future__ import annotations

from gotlang.ir import program as ir
from gotlang.operations.names import expressions_in, own_expressions
from gotlang.syntax import expressions as e
from gotlang.syntax.walk import walk


def used_params(program: ir.Program, scheme: ir.Scheme) -> set[str]:
    """The params that a scheme uses, itself or through what it calls."""
    return reached_names(program, scheme) & {param.name for param in program.params}


def reached_names(program: ir.Program, scheme: ir.Scheme) -> set[str]:
    """Every name in a scheme and in what it calls: of params, prompts, scores, schemes and functions."""
    bodies = program.bodies
    others = {each.name: expressions_in((each.settings, each.count)) for each in program.prompts}
    others |= {each.name: expressions_in((each.value,)) for each in program.scores}
    seen, pending = {scheme.name}, [scheme.name]
    while pending:
        name = pending.pop()
        steps = list(bodies[name].all_steps()) if name in bodies else []
        expressions = [node for step in steps for node in own_expressions(step)] + [*others.get(name, ())]
        named = {value for step in steps for value in step.own_fields.values() if isinstance(value, str)}
        for node in (inner for expression in expressions for inner in walk(expression)):
            if isinstance(node, e.Reference):
                named.add(node.name)
            elif isinstance(node, e.Call):
                named.add(node.function.text)
        pending += named - seen
        seen |= named
    return seen
