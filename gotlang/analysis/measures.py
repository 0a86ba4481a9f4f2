"""`decreases depth`: each recursive call of a scheme passes a smaller whole number, and only while that is
not negative."""

from __future__ import annotations

from collections.abc import Mapping
from typing import final

from gotlang.diagnostics import Report
from gotlang.semantics.check import Checked
from gotlang.semantics.expressions import Matched
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.syntax.walk import children, walk
from gotlang.types import INT

_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "=="}
_NEGATED = {"<": ">=", "<=": ">", "!=": "=="}


def check_measures(checked: Checked, report: Report) -> None:
    """Report each `decreases` that is not proven."""
    kinds = n.Scheme | n.Score | n.Prompt
    declared = {d.name.text: d for d in checked.symbols.nodes.values() if isinstance(d, kinds)}
    for name, node in declared.items():
        if not isinstance(node, n.Scheme) or (measure := node.decreases) is None:
            continue
        types = dict(checked.symbols.schemes[name].parameters)
        if not isinstance(measure, e.Reference) or types.get(measure.name) != INT:
            help = "name an input of type `int`, such as `decreases depth`"
            report.error("GOT0766", "`decreases` needs an integer input", measure.span, help=help)
            continue
        circle = {other for other in _reached(node, declared) if name in _reached(declared[other], declared)}
        measures = {
            other: scheme.decreases.name
            for other in circle
            if isinstance(scheme := declared[other], n.Scheme) and isinstance(scheme.decreases, e.Reference)
        }
        for call in walk(node):
            if isinstance(call, e.Call) and (other := call.function.text) in circle - measures.keys():
                message = f"`{other}` calls `{name}` again, and has no `decreases` itself"
                help = f"write what decreases in `{other}` too"
                if not isinstance(declared[other], n.Scheme):
                    help = f"call `{name}` in a scheme"
                report.error("GOT0766", message, call.span, help=help)
        _Descent(name, measure.name, measures, checked.arguments, report).visit(node.body, None)


def _reached(
    start: n.Scheme | n.Score | n.Prompt, declared: Mapping[str, n.Scheme | n.Score | n.Prompt]
) -> set[str]:
    """The declarations that a declaration calls, directly or through others: also as a tool of a prompt."""
    seen, pending = set[str](), [start]
    while pending:
        at = pending.pop()
        called = [part.function.text for part in walk(at) if isinstance(part, e.Call)]
        called += [tool.text for tool in at.tools] if isinstance(at, n.Prompt) else []
        new = [name for name in dict.fromkeys(called) if name in declared and name not in seen]
        seen.update(new)
        pending += [declared[name] for name in new]
    return seen


@final
class _Descent:
    """Visits a scheme with the lower bound that conditions give to its measure."""

    def __init__(
        self,
        name: str,
        measure: str,
        measures: Mapping[str, str],
        arguments: Mapping[int, Matched],
        report: Report,
    ) -> None:
        self.name = name
        self.measure = measure
        self.measures = measures
        """The measure of each scheme that is mutually recursive with this one, by name."""
        self.arguments = arguments
        self.report = report

    def visit(self, node: e.Node, least: float | None) -> None:
        """Check the calls in a node, where the measure is at least `least` (None: any number)."""
        match node:
            case n.If(branches=branches, otherwise=otherwise):
                for condition, body in branches:
                    self.visit(condition, least)
                    self.visit(body, _larger(least, self.implied(condition, True)))
                    least = _larger(least, self.implied(condition, False))
                if otherwise is not None:
                    self.visit(otherwise, least)
            case e.Conditional(condition=condition, then=then, otherwise=other):
                self.visit(condition, least)
                self.visit(then, _larger(least, self.implied(condition, True)))
                self.visit(other, _larger(least, self.implied(condition, False)))
            case _:
                if isinstance(node, e.Call) and node.function.text in self.measures:
                    self.call(node, least)
                for part in children(node):
                    self.visit(part, least)

    def call(self, node: e.Call, least: float | None) -> None:
        """Check a call of the scheme, or of one that is mutually recursive with it."""
        less = self.measures[node.function.text]
        given = dict(self.arguments.get(id(node), ())).get(less)
        match given:
            case e.Binary(
                operator="-", left=e.Reference(name=name), right=e.Constant(value=int() as step)
            ) if name == self.measure and step > 0:
                if least is not None and least >= step:
                    return
                at, help = (
                    f"here it may be less than {step}",
                    f"call it where `{name} >= {step}`: `if {name} >= {step}:`",
                )
            case _:
                at, help = "this is not proven to decrease", f"write `{self.measure} - 1`"
        place = given.span if given is not None else node.span
        message = f"`{less}` of `{node.function.text}` does not decrease to 0"
        self.report.error("GOT0766", message, place, at, help=help)

    def implied(self, condition: e.Expression, holds: bool) -> float | None:
        """The lower bound of the measure where a condition is true, or false."""
        match condition:
            case e.Unary(operator="not", operand=inner):
                return self.implied(inner, not holds)
            case e.Binary(operator="and" | "or" as joint, left=left, right=right):
                sides = self.implied(left, holds), self.implied(right, holds)
                if (joint == "and") == holds:
                    return _larger(*sides)
                return None if None in sides else min(side for side in sides if side is not None)
            case e.Compare(first=first, rest=rest) if holds or len(rest) == 1:
                least = None
                for word, other in rest:
                    least = _larger(least, self._compared(first, word, other, holds))
                    first = other
                return least
        return None

    def _compared(self, left: e.Expression, word: str, right: e.Expression, holds: bool) -> float | None:
        if isinstance(left, e.Constant):
            left, word, right = right, _TURNED.get(word, ""), left
        if not holds:
            word = _NEGATED.get(word, "")
        match left, right:
            case e.Reference(name=name), e.Constant(value=int() as bound) if name == self.measure:
                return {">": bound + 1, ">=": bound, "==": bound}.get(word)
        return None


def _larger(one: float | None, other: float | None) -> float | None:
    return max((each for each in (one, other) if each is not None), default=None)
