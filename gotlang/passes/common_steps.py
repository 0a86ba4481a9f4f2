"""Common subexpression elimination: equal computations on equal inputs are done once.

    a = Map len(it) from x                    a = Map len(it) from x
    b = Map len(it) from x               →
    c = Pool a, b from %start               c = Pool a, a from %start

It applies to steps of one region that only compute, from the same pool and the same names. Two sampling steps
are never merged: each takes samples of its own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from msgspec.structs import replace

from gotlang.ir import program as ir
from gotlang.ir.effects import Effects
from gotlang.operations.names import bound_inside, own_expressions, used_names
from gotlang.passes.rewrite import renamed, renamed_expression
from gotlang.syntax import expressions as e
from gotlang.syntax.walk import walk


def share_equal_steps(program: ir.Program) -> ir.Program:
    """Compute equal steps once in each region."""
    effects = Effects(program)
    schemes = tuple(replace(s, body=_shared(s.body, effects)[0]) for s in program.schemes)
    scores = []
    for score in program.scores:
        body, names = _shared(score.body, effects)
        scores.append(replace(score, body=body, value=renamed_expression(score.value, names)))
    return replace(program, schemes=schemes, scores=tuple(scores))


def _shared(region: ir.Region, effects: Effects) -> tuple[ir.Region, Mapping[str, str]]:
    """A region without its repetitions, and the new names of removed steps."""
    inner_names = _bound_deeper(region)
    instead: dict[str, str] = {}
    first: dict[ir.Step, str] = {}
    users: defaultdict[str, list[ir.Step]] = defaultdict(list)
    kept: list[ir.Step] = []
    for old in region.steps:
        step = renamed(_inside(old, effects), instead)
        if effects.computes(step):
            unnamed = replace(step, result="", line=None)
            if (known := first.setdefault(unnamed, step.result)) == step.result:
                for name in used_names(unnamed):
                    users[name].append(unnamed)
            if known != step.result and not {known, step.result} & inner_names:
                instead[step.result] = known
                continue
        # From here on the name means this step, so steps that used an outer one of that name are not equal.
        for other in users.pop(step.result, ()):
            first.pop(other, None)
        kept.append(step)
    result = instead.get(region.result, region.result)
    return replace(region, steps=tuple(kept), result=result), instead


def _inside(step: ir.Step, effects: Effects) -> ir.Step:
    if isinstance(step, ir.Repeat):
        body, names = _shared(step.body, effects)
        until = renamed_expression(step.until, names) if step.until is not None else None
        return replace(step, body=body, until=until)
    if isinstance(step, ir.First):
        shared = [(condition, *_shared(region, effects)) for condition, region in step.branches]
        branches = tuple((renamed_expression(each, names), region) for each, region, names in shared)
        otherwise = _shared(step.otherwise, effects)[0] if step.otherwise is not None else None
        return replace(step, branches=branches, otherwise=otherwise)
    return step.with_regions(lambda region: _shared(region, effects)[0])


def _bound_deeper(region: ir.Region) -> set[str]:
    """The names that blocks and comprehensions of a region bind: renaming must not capture them."""
    found = {name for step in region.steps for name in bound_inside(step)}
    for step in region.all_steps():
        for expression in own_expressions(step):
            for node in walk(expression):
                if isinstance(node, e.Comprehension):
                    found |= {name.text for name in node.names}
    return found
