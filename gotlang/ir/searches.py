"""From the syntax tree to IR: `search`, `first` and `race`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from gotlang.ir import program as ir
from gotlang.ir.asking import ONE
from gotlang.operations.search import BACKUPS, selected
from gotlang.scope import PoolType
from gotlang.span import NOWHERE
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.types import Type

if TYPE_CHECKING:
    from gotlang.ir.build import Builder

TRUE = e.Constant(NOWHERE, True)


def build_search(
    builder: Builder,
    node: n.Search,
    base: tuple[str, Type, bool],
    pool: str,
    kind: PoolType,
    out: list[ir.Step],
) -> ir.Step:
    asked, name, state = builder.asking.asked, node.state.text, PoolType(base[1], True)
    root, type_ = builder.naming.fresh(), builder.checked.pools[id(node.root)].type
    given, start = asked(node.root, builder.source((node.root,), pool), kind, out)

    def number(value: e.Expression) -> e.Expression:
        return asked(value, pool, kind, out)[0]

    strategy, amount = map(number, selected(node.clause("select") or ONE))
    rollouts, parallel = (number(node.clause(word) or ONE) for word in ("rollouts", "parallel"))
    depth = number(given_depth) if (given_depth := node.clause("depth")) is not None else None
    out.append(ir.Pool(root, type_, True, start, (given,), span=node.root.span))
    builder.naming.open([name])
    until = asked(node.until, name, state, [])[0] if node.until is not None else None
    builder.left_out.append(base[0])
    expand, *simulate, value = (builder.region(part, name, state)[0] for part in node.parts)
    builder.left_out.pop()
    builder.naming.close()
    return ir.Search(
        *base,
        root,
        name,
        until,
        rollouts,
        strategy,
        amount,
        parallel,
        depth,
        node.backup.text if node.backup is not None else BACKUPS[0],
        expand,
        simulate[0] if simulate else None,
        value,
        span=node.span,
    )


def build_first(
    builder: Builder, node: n.First, base: tuple[str, Type, bool], pool: str, kind: PoolType
) -> ir.Step:
    """The step of a `first` or a `race`; what a condition asks is asked in its line."""
    branches: list[tuple[e.Expression, ir.Region]] = []
    for line in node.lines:
        builder.naming.open()
        builder.left_out.append(base[0])
        body, left = builder.steps_of(line, pool, kind)
        builder.left_out.pop()
        found: e.Expression = TRUE
        asked = list[ir.Step]()
        if node.until is not None and (node.way == "race" or line is not node.lines[-1]):
            found, _ = builder.asking.asked(node.until, body.result, left, asked)
        builder.naming.close()
        branches.append((found, replace(body, steps=(*body.steps, *asked))))
    otherwise = branches.pop()[1] if node.way != "race" else None
    return ir.First(*base, pool, node.way, tuple(branches), otherwise, span=node.span)
