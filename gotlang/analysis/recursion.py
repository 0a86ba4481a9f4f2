"""Refuses schemes and scores that call themselves on every path: such a recursion never ends."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never, final

from gotlang.analysis.expressions import ExpressionConstants, always_evaluated
from gotlang.analysis.worlds import Env
from gotlang.diagnostics import Label, Report
from gotlang.semantics.check import Checked
from gotlang.semantics.facts import callees_first
from gotlang.semantics.returns import inner_suites
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n


def check_recursion(checked: Checked, report: Report) -> None:
    """Report each cycle of schemes or scores in which every path calls the next one."""
    declared = {name: d for name, d in checked.symbols.nodes.items() if isinstance(d, n.Scheme | n.Score)}
    paths = _Paths(declared, ExpressionConstants(checked.symbols, Report()))
    scores = [score for score in declared.values() if isinstance(score, n.Score)]
    schemes = [scheme for scheme in declared.values() if isinstance(scheme, n.Scheme)]
    order = [score.name.text for score, _ in callees_first(scores)]
    order += [scheme.name.text for scheme, _ in callees_first(schemes)]
    ends: set[str] = set()
    before = -1
    while before != len(ends):
        before = len(ends)
        for name in order:  # what one calls has come before, but for circles
            if name not in ends and paths.suite(declared[name].body, ends) is None:
                ends.add(name)
    reported: set[str] = set()
    for name in declared:
        if name in ends or name in reported:
            continue
        circle: list[e.Call] = []
        passed: list[str] = []
        while name not in passed:
            passed.append(name)
            call = paths.suite(declared[name].body, ends)
            assert call is not None
            circle.append(call)
            name = call.function.text
        start = passed.index(name)
        names = passed[start:]
        if reported.isdisjoint(names):
            _tell(declared, names, circle[start:], report)
        reported |= {*passed}


def _tell(
    declared: dict[str, n.Scheme | n.Score], names: list[str], calls: list[e.Call], report: Report
) -> None:
    kind = "score" if isinstance(declared[names[0]], n.Score) else "scheme"
    around = " → ".join(f"`{name}`" for name in [*names, names[0]])
    message = f"{kind} `{names[0]}` calls itself on every path" if len(names) == 1 else f"{around} never ends"
    at = "this call never ends" if len(names) == 1 else "every path continues here"
    labels = tuple(Label(call.span, "and here") for call in calls[1:])
    help = "call it under an `if`, so that one path ends without the call"
    report.error("GOT0332", message, calls[0].span, at, labels=labels, help=help)


@final
class _Paths:
    """Finds a call on every path of a block to a declaration that is not known to end (all but `ends`)."""

    def __init__(self, declared: dict[str, n.Scheme | n.Score], constants: ExpressionConstants) -> None:
        self.declared = declared
        self.constants = constants

    def suite(self, suite: n.Suite, ends: set[str]) -> e.Call | None:
        """The first call of a block that every path reaches; None if some path ends."""
        return self._first(self.statement(statement, ends) for statement in suite.statements)

    @staticmethod
    def _first(found: Iterable[e.Call | None]) -> e.Call | None:
        return next((call for call in found if call is not None), None)

    def statement(self, node: n.Statement, ends: set[str]) -> e.Call | None:
        """The same for a statement."""
        match node:
            case n.Step():
                values = [argument.value for argument in node.settings or ()]
                return self._first(self.expression(value, ends) for value in [*node.operands, *values])
            case n.Evaluate(value=value) | n.Return(value=value):
                return self.expression(value, ends)
            case n.Bind(value=value):
                match value:
                    case n.Suite():
                        return self.suite(value, ends)
                    case _ if isinstance(value, n.Step | n.Block):
                        return self.statement(value, ends)
                    case _:
                        return self.expression(value, ends)
            case n.Foreach():
                if node.iterable is None or self._some(node.iterable):
                    return self.suite(node.body, ends)
                return self.expression(node.iterable, ends)
            case n.Reduce():
                return self.expression(node.iterable, ends) if node.iterable is not None else None
            case n.RepeatBlock():
                found = self.expression(node.count, ends)
                return found or (self.suite(node.body, ends) if self._some(node.count) else None)
            case n.If():
                return self._branches(node, ends)
            case n.Match():
                calls = [self.suite(body, ends) for body in inner_suites(node)]
                return self.expression(node.subject, ends) or (calls[0] if None not in calls else None)
            case n.Try() | n.Repeated():
                return self.suite(node.body, ends)
            case n.Search():
                return self.suite(node.expand, ends)
            case n.First(way=way, lines=lines):
                calls = [self.suite(line, ends) for line in lines]
                return calls[0] if way == "turn" or None not in calls else None
            case n.Skip():
                return None
            case n.Labelled():
                sources = [source for source in node.sources if not isinstance(source, n.LabelReference)]
                found = self._first(self.expression(source, ends) for source in sources)
                return found or self.suite(node.body, ends)
        assert_never(node)

    def _branches(self, node: n.If, ends: set[str]) -> e.Call | None:
        if (found := self.expression(node.branches[0][0], ends)) is not None:
            return found
        calls = []
        for condition, body in node.branches:
            calls.append(self.suite(body, ends))
            if self._value(condition) is True:
                break
        else:
            calls.append(self.suite(node.otherwise, ends) if node.otherwise is not None else None)
        return calls[0] if None not in calls else None

    def expression(self, node: e.Expression, ends: set[str]) -> e.Call | None:
        """The first call in an expression that is always evaluated."""
        match node:
            case e.Call(function=function):
                inner = self._first(self.expression(argument.value, ends) for argument in node.arguments)
                return inner or (
                    node if function.text in self.declared and function.text not in ends else None
                )
            case e.Conditional():
                if (found := self.expression(node.condition, ends)) is not None:
                    return found
                then, otherwise = self.expression(node.then, ends), self.expression(node.otherwise, ends)
                return then if otherwise is not None else None
        return self._first(self.expression(part, ends) for part in always_evaluated(node))

    def _some(self, node: e.Expression) -> bool:
        """Whether a constant number or list is not empty."""
        value = self._value(node)
        return (isinstance(value, int) and value > 0) or (isinstance(value, list) and len(value) > 0)

    def _value(self, node: e.Expression) -> object:
        values = self.constants.values(node, Env({}))
        return values[0][1] if values else None
