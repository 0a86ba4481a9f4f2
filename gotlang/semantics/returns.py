"""`return` ends the scheme: the statements after an `if` with one in a branch belong to the other
branches."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from gotlang.diagnostics import Report
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.syntax.scan import MAX_DEPTH
from gotlang.syntax.walk import walk

_Statements = tuple[n.Statement, ...]


def with_returns(node: n.Scheme, report: Report) -> tuple[n.Scheme, set[int]]:
    """A scheme in which each `return` is the last statement of its block. Reports one that cannot be; then
    also returns the identity of the scheme's last statement, for which no further errors are reported."""
    if not any(isinstance(part, n.Return) for part in walk(node)):
        return node, set()
    before = len(report.diagnostics)
    body = _followed(node.body, (), report)
    _misplaced(body, report)
    wrong = {id(body.statements[-1])} if len(report.diagnostics) > before else set()
    return replace(node, body=body), wrong


def _followed(suite: n.Suite | None, rest: _Statements, report: Report, depth: int = 0) -> n.Suite:
    """A block extended by the statements after it, unless it returns before."""
    own = suite.statements if suite is not None else ()
    statements = (*own, *rest)
    for at, statement in enumerate(statements):
        if isinstance(statement, n.Return):
            if at + 1 < len(own):
                report.error("GOT0304", "steps after `return` are never reached", own[at + 1].span)
            return _suite(suite, statements[: at + 1])
        if isinstance(statement, n.If) and any(isinstance(part, n.Return) for part in walk(statement)):
            if depth == MAX_DEPTH:
                message = f"more than {MAX_DEPTH} consecutive `if`s with `return`"
                report.error("GOT0005", message, statement.span, help="write `elif`, or another scheme")
                hole = n.Evaluate(statement.span, e.Reference(statement.span, e.HOLE))
                return _suite(suite, (*statements[:at], hole))
            following = statements[at + 1 :]
            return _suite(suite, (*statements[:at], _branched(statement, following, report, depth + 1)))
    return _suite(suite, statements)


def _suite(suite: n.Suite | None, statements: _Statements) -> n.Suite:
    span = statements[0].span.to(statements[-1].span)
    return n.Suite(suite.span if suite is not None else span, statements)


def _branched(node: n.If, rest: _Statements, report: Report, depth: int) -> n.If:
    """An `if` whose branches that do not return continue with the rest."""
    going_on = [body for body in inner_suites(node) if not _returns(body)]
    if rest and len(going_on) + (node.otherwise is None) > 1:
        help = "end all branches but one with `return`, or none"
        report.error("GOT0112", "several branches continue after one that returns", rest[0].span, help=help)
        rest = ()
    branches = tuple((condition, _followed(body, rest, report, depth)) for condition, body in node.branches)
    otherwise = node.otherwise
    if otherwise is not None or rest:
        otherwise = _followed(otherwise, rest, report, depth)
    return replace(node, branches=branches, otherwise=otherwise)


def _returns(suite: n.Suite) -> bool:
    last = suite.statements[-1]
    if isinstance(last, n.If) and last.otherwise is not None:
        return all(map(_returns, inner_suites(last)))
    return isinstance(last, n.Return)


def _misplaced(suite: n.Suite, report: Report) -> None:
    """Report each `return` that is not at the end of the scheme."""
    *before, last = suite.statements
    loop = isinstance(last, n.Foreach | n.Reduce | n.RepeatBlock | n.Repeated | n.Search | n.First | n.Bind)
    for statement in [*before, *([last] if loop else [])]:
        if n.is_unreadable(statement):
            continue  # it may be an `if`
        for part in walk(statement):
            if isinstance(part, n.Return):
                help = "to end the block with a value, write `Pool()` for `return`"
                message = "`return` ends the scheme, and this block is not its end"
                report.error("GOT0112", message, part.span, help=help)
    for inner in () if loop else inner_suites(last):
        _misplaced(inner, report)


def inner_suites(statement: n.Statement) -> Iterator[n.Suite]:
    """The blocks directly inside a statement."""
    value = statement.value if isinstance(statement, n.Bind) else statement
    match value:
        case n.Suite():
            yield value
        case n.Foreach() | n.Reduce() | n.RepeatBlock() | n.Repeated() | n.Labelled():
            yield value.body
        case n.Try():
            yield from (value.body, value.otherwise)
        case n.Search():
            yield from value.parts
        case n.First():
            yield from value.lines
        case n.If() | n.Match():
            for branch in value.branches:
                yield branch.body if isinstance(branch, n.MatchBranch) else branch[1]
            if value.otherwise is not None:
                yield value.otherwise
