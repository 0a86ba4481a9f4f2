"""Warnings about declarations and thoughts that are never used."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from gotlang.diagnostics import Fix, Report
from gotlang.scope import THOUGHT_FUNCTIONS
from gotlang.semantics.builtins import BUILTINS
from gotlang.semantics.returns import inner_suites
from gotlang.semantics.skips import may_skip
from gotlang.semantics.symbols import Symbols
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.syntax.walk import walk

_CURRENT = frozenset({"it", "thoughts", "score"})


def warn_unused(module: n.Module, symbols: Symbols, report: Report) -> None:
    """Warn about unused params, prompts and scores of the program's own module.

    A file without a scheme is meant to be imported, so nothing in it is unused.
    """
    if not any(isinstance(d, n.Scheme) for d in module.declarations):
        return
    kinds = {n.Param: ("GOT0501", "param"), n.Score: ("GOT0502", "score"), n.Prompt: ("GOT0503", "prompt")}
    for d in module.declarations:
        if isinstance(d, n.Param | n.Score | n.Prompt) and d.name.text not in symbols.used:
            code, kind = kinds[type(d)]
            message = f"{kind} `{d.name.text}` is never used"
            report.warning(code, message, d.name.span, help="delete it, or use it", fix=Fix(d.span))


def warn_unused_thoughts(suite: n.Suite, report: Report, until: e.Expression | None = None) -> None:
    """Warn about results of steps that are never used, in a block and nested ones; `until` is evaluated after
    the block."""
    # The inputs and names of later statements.
    taken, labels = True, set[str]()
    names = {x.name for x in walk(until) if isinstance(x, e.Reference)} if until is not None else set[str]()
    last = suite.statements[-1]
    for statement in reversed(suite.statements):
        if isinstance(statement, n.Bind):
            if statement is not last and statement.name.text not in names:
                message, help = f"`{statement.name.text}` is never used", "use it, or delete the line"
                fix = Fix(statement.span)
                report.warning("GOT0506", message, statement.name.span, help=help, fix=fix)
        elif not (
            taken
            or may_skip(statement)
            or (isinstance(statement, n.Labelled) and statement.label in labels)
            or (isinstance(statement, n.Foreach) and statement.element.text in names)
        ):
            # The place of a block is its first line.
            block = isinstance(getattr(statement, "body", None), n.Suite)
            span = replace(statement.span, end=statement.span.start + 1) if block else statement.span
            help = "name them, or let the next step start from them"
            report.warning("GOT0507", "the output of this step is never used", span, help=help)
        taken = _takes_pool(statement) or (taken and statement is not last and isinstance(statement, n.Bind))
        for node in walk(statement):
            if isinstance(node, e.Reference):
                names.add(node.name)
            elif isinstance(node, e.Call):  # a list that `Retrieve` searches
                names.add(node.function.text)
            elif isinstance(node, n.LabelReference):
                labels.add(node.label)
        value = statement.value if isinstance(statement, n.Bind) else statement
        after = value.until if isinstance(value, n.RepeatBlock) else None
        if isinstance(value, n.RepeatBlock) and after is not None and _is_constant(value, after):
            message, help = (
                "no round changes this condition",
                "use `it`, the thought that a round leaves, or remove `until`",
            )
            report.warning("GOT0510", message, after.span, help=help)
        for inner in inner_suites(statement):
            warn_unused_thoughts(inner, report, after)


def _is_constant(loop: n.RepeatBlock, until: e.Expression) -> bool:
    """Whether it is certain that a condition has the same value after every round."""
    changed = {*_CURRENT, *THOUGHT_FUNCTIONS, *([loop.counter.text] if loop.counter is not None else [])}
    changed |= {node.name.text for node in walk(loop.body) if isinstance(node, n.Bind)}
    for node in walk(until):
        if isinstance(node, e.Reference) and node.name in {*changed, e.HOLE}:
            return False
        if isinstance(node, n.LabelReference) or (
            isinstance(node, e.Call) and node.function.text not in BUILTINS  # it may be Python
        ):
            return False
    return True


def _takes_pool(statement: n.Statement) -> bool:
    value = statement.value if isinstance(statement, n.Bind) else statement
    match value:
        case n.Step(operation=operation):
            return operation.text != "Pool" or _uses_current(value.operands)
        case n.Suite(statements=statements):
            return _takes_pool(statements[0])
        case n.Foreach() | n.Reduce():
            return value.iterable is None or _uses_current([value.iterable])
        case n.Search(root=root):
            return _uses_current([root])
        case n.Labelled():
            return not value.sources or _uses_current(value.sources)
        case n.If() | n.Match() | n.Try() | n.RepeatBlock() | n.Repeated() | n.First() | n.Evaluate():
            return True
        case n.Return(value=expression):
            return _uses_current([expression])
        case e.Call():
            return True  # a scheme runs once for each current thought
    return _uses_current([value])


def _uses_current(nodes: Iterable[e.Node]) -> bool:
    return any(isinstance(x, e.Reference) and x.name in _CURRENT for node in nodes for x in walk(node))
