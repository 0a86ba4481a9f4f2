"""Warns where thoughts are made that nobody takes: they would be paid for nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gotlang.semantics.report import Report
from gotlang.span import Span
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.syntax.walk import walk

_CURRENT = frozenset({"it", "thoughts", "score"})


def warn_unused_thoughts(suite: n.Suite, report: Report) -> None:
    """Look through a block and those inside it."""
    statements = suite.statements
    for index, statement in enumerate(statements):
        following = statements[index + 1 :]
        if isinstance(statement, n.Bind):
            if following and not _mentioned(statement.name.text, following):
                report.warning(
                    "GOT0506",
                    f"`{statement.name.text}` is bound and never used",
                    statement.name.span,
                    help="use it, or delete the line",
                )
        elif following and not _taken(statement, following):
            report.warning(
                "GOT0507",
                "nobody takes the thoughts this leaves",
                _head(statement),
                help="give them a name, or let the next step start from them",
            )
        for inner in _inner_suites(statement):
            warn_unused_thoughts(inner, report)


def _head(statement: n.Statement) -> Span:
    """The place of a block's first line, or of the whole statement."""
    body = getattr(statement, "body", None)
    if isinstance(body, n.Suite):
        return Span(statement.span.source, statement.span.start, statement.span.start + 1)
    return statement.span


def _inner_suites(statement: n.Statement) -> Iterable[n.Suite]:
    value = statement.value if isinstance(statement, n.Bind) else statement
    match value:
        case n.Suite():
            yield value
        case n.Foreach() | n.Reduce() | n.RepeatBlock() | n.Labelled():
            yield value.body
        case n.If():
            yield from (body for _, body in value.branches)
            if value.otherwise is not None:
                yield value.otherwise


def _taken(statement: n.Statement, following: Sequence[n.Statement]) -> bool:
    """Whether a later statement takes the pool that a statement leaves, or names it."""
    for later in following:
        if _takes_pool(later):
            return True
        if not isinstance(later, n.Bind):
            break
    if isinstance(statement, n.Labelled):
        return any(
            isinstance(node, n.LabelReference) and node.label == statement.label
            for later in following
            for node in walk(later)
        )
    return isinstance(statement, n.Foreach) and _mentioned(statement.name.text, following)


def _takes_pool(statement: n.Statement) -> bool:
    value = statement.value if isinstance(statement, n.Bind) else statement
    match value:
        case n.Step(operation=operation):
            return operation.text != "Pool" or _uses_current(value.operands)
        case n.Suite(statements=statements):
            return _takes_pool(statements[0])
        case n.Foreach() | n.Reduce():
            return value.iterable is None or _uses_current([value.iterable])
        case n.Labelled():
            return not value.sources or _uses_current(value.sources)
        case n.If() | n.RepeatBlock():
            return True
        case n.Evaluate():
            return True
        case n.Return(value=expression):
            return _uses_current([expression])
        case e.Call():
            return True  # a scheme runs once for each current thought
    return _uses_current([value])


def _uses_current(nodes: Iterable[e.Node]) -> bool:
    return any(isinstance(x, e.Reference) and x.name in _CURRENT for node in nodes for x in walk(node))


def _mentioned(name: str, statements: Iterable[n.Statement]) -> bool:
    return any(isinstance(x, e.Reference) and x.name == name for s in statements for x in walk(s))
