"""Checks where `skip` is allowed, and positions among the results of a `foreach`, which it would shift."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, final

from gotlang.diagnostics import Label, Report
from gotlang.scope import PoolType
from gotlang.semantics.facts import leaving_one
from gotlang.semantics.returns import inner_suites
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.syntax.walk import children, walk
from gotlang.types import NEVER

LeftOut = Literal["element", "member", "line", "state"]
"""What a `skip` leaves out: the element of the enclosing `foreach`, a binding, an alternative of a `first`,
or a state of a `search`."""


def may_skip(node: e.Node) -> bool:
    """Whether a statement may end its block without an output."""
    if isinstance(node, n.Foreach | n.Bind | n.First | n.Search):
        return False
    return isinstance(node, n.Skip) or any(map(may_skip, children(node)))


@final
class SkipChecker:
    """Visits a scheme or a score whose pools are known."""

    def __init__(self, pools: Mapping[int, PoolType], report: Report) -> None:
        self.pools = pools
        self.report = report

    def suite(self, suite: n.Suite, left_out: LeftOut | None = None) -> None:
        """Check a block and nested ones; `left_out` is what a `skip` leaves out there."""
        statements = suite.statements
        for at, statement in enumerate(statements):
            self._statement(statement, left_out)
            if isinstance(statement, n.Bind):
                value: e.Node = statement.value
                if may_skip(value):
                    self._member(statement, statements[at + 1 :])
            else:
                value = statement
                if at + 1 < len(statements) and self._never(statement):
                    message = "every path to this line skips, so it is never reached"
                    self.report.error("GOT0341", message, statements[at + 1].span, help="delete it")
            if isinstance(value, n.Foreach):
                self._positions(statement, value, statements[at + 1 :])

    def _statement(self, node: n.Statement | e.Expression | n.Suite, left_out: LeftOut | None) -> None:
        match node:
            case n.Skip():
                if left_out is None:
                    help = (
                        "put it into a branch inside a `foreach`, or let the scheme `return` something else"
                    )
                    self.report.error(
                        "GOT0341",
                        "nothing can continue without the value that `skip` drops here",
                        node.span,
                        help=help,
                    )
            case n.Bind(value=value):
                self._statement(value, "member")
            case n.Foreach(body=body):
                self._left_out(body, "element", "this skips every element")
            case n.Suite():
                self.suite(node, left_out)
            case n.Labelled(body=body) if n.is_unreadable(node):
                self.suite(body, left_out or "element")
            case n.Repeated(body=body):
                self.suite(body, None)
            case n.Search():
                for part in node.parts:
                    self._left_out(part, "state", "this skips every state")
            case n.First():
                for line in node.lines:
                    self._left_out(line, "line", "this alternative is never chosen")
            case n.Reduce() | n.RepeatBlock() | n.Labelled() | n.If() | n.Match() | n.Try():
                for body in inner_suites(node):
                    self.suite(body, left_out)
            case _:
                pass

    def _left_out(self, body: n.Suite, left_out: LeftOut, every: str) -> None:
        """Check a block that may skip, but not always."""
        self.suite(body, left_out)
        if self._never(body.statements[-1]):
            help = "skip in a branch: `if condition:` and `skip` below it"
            self.report.error("GOT0341", every, body.statements[-1].span, help=help)

    def _never(self, node: n.Statement) -> bool:
        found = self.pools.get(id(node))
        return found is not None and found.type == NEVER and any(isinstance(x, n.Skip) for x in walk(node))

    def _member(self, node: n.Bind, following: Sequence[n.Statement]) -> None:
        """Check a name whose value may have been skipped: only a `Pool` of several continues without it."""
        name = node.name.text
        help = f"combine it with others, which continues without it: `Pool() {name}, other`"
        if not following:
            self.report.error(
                "GOT0341", f"nothing continues without `{name}`", node.name.span, "may be skipped", help=help
            )
        gathered = {
            id(used)
            for statement in following
            for step in walk(statement)
            if isinstance(step, n.Step) and step.operation.text == "Pool" and len(step.operands) > 1
            for operand in step.operands
            for used in walk(operand)
        }
        labels = (Label(node.name.span, "may be skipped"),)
        for used in references(name, following):
            if id(used) not in gathered:
                message = f"`{name}` may have been skipped"
                self.report.error("GOT0341", message, used.span, labels=labels, help=help)

    def _positions(self, statement: n.Statement, node: n.Foreach, following: Sequence[n.Statement]) -> None:
        """Report positions among results that differ from those of the elements."""
        last = self.pools.get(id(node.body.statements[-1]))
        if any(map(may_skip, node.body.statements)):
            why, help = "some elements may have been skipped", "take all of them, or bind each to a name"
        elif last is not None and not last.single:
            why = "its block may leave several thoughts for an element"
            help = f"{leaving_one(last.facts)}, or take all of them"
        else:
            return
        name = statement.name if isinstance(statement, n.Bind) else node.element
        labels = (Label(name.span, why),)
        for used in references(name.text, following, indexed=True):
            message = f"a position in `{name.text}` is not that of an element"
            self.report.error("GOT0342", message, used.span, labels=labels, help=help)


def references(name: str, nodes: Iterable[e.Node], *, indexed: bool = False) -> Iterator[e.Node]:
    """The uses of a name, or only those of a position in it, up to a `foreach` that binds it again."""
    for node in nodes:
        if isinstance(node, n.Foreach) and node.element.text == name:
            if node.iterable is not None:
                yield from references(name, [node.iterable], indexed=indexed)
            return
        of = node.value if indexed and isinstance(node, e.Index) else node if not indexed else None
        if isinstance(of, e.Reference) and of.name == name:
            yield node
        yield from references(name, children(node), indexed=indexed)
