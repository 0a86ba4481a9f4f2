"""Checks params: the type of the default, the range for tuning, and the condition of its use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gotlang.diagnostics import Report
from gotlang.scope import Scope
from gotlang.semantics.declarations import resolve_type
from gotlang.semantics.expressions import ExpressionChecker
from gotlang.semantics.symbols import Symbols
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.syntax.walk import walk
from gotlang.types import (
    ANY,
    FLOAT,
    NEVER,
    STR,
    ListType,
    LiteralType,
    Type,
    accepts,
    fits,
    has_error,
    join,
    of_value,
    widen,
)


def constant_value(node: e.Node) -> Any:
    """The plain value of a constant, signed or not, or of a list of them. Raises TypeError for others."""
    match node:
        case e.Constant(value=value):
            return value
        case e.Unary(operator="-", operand=e.Constant(value=int() | float() as value)):
            return -value
        case e.ListDisplay(elements=elements):
            return [constant_value(element) for element in elements]
    raise TypeError(node)


def check_params(params: Sequence[n.Param], symbols: Symbols, expressions: ExpressionChecker) -> None:
    """Check params in order, entering their types in the table; a condition may name any other param."""
    report = expressions.report
    for param in params:
        if symbols.nodes.get(param.name.text) is param:
            symbols.params[param.name.text] = _type(param, symbols, report)
    for param in params:
        name = param.name.text
        if symbols.nodes.get(name) is not param:
            continue
        wanted = symbols.params[name]
        if param.domain is not None:
            element = wanted
            if param.each:
                if not isinstance(wanted, ListType):
                    message = f"`each` is for lists, and `{name}` is {wanted}"
                    report.error("GOT0211", message, param.default.span)
                element = wanted.element if isinstance(wanted, ListType) else wanted
            _domain(param, element, report)
        if param.guard is not None:
            used = set(symbols.used)
            expressions.condition(param.guard, Scope(), "the condition of `when`")
            symbols.used = used | ({name} & used)
    _circles([param for param in params if param.guard is not None], report)


def _circles(guarded: Sequence[n.Param], report: Report) -> None:
    """Report params whose conditions depend on each other, so that it is undecidable which of them are
    used."""
    by_name = {param.name.text: param for param in guarded}
    needs = {
        name: [x.name for x in walk(param) if isinstance(x, e.Reference) and x.name in by_name]
        for name, param in by_name.items()
    }
    reported: set[str] = set()
    for name in by_name:
        path = [name]
        waiting = [iter(needs[name])]
        while waiting:
            if (following := next(waiting[-1], None)) is None:
                waiting.pop()
                path.pop()
            elif following in path:
                circle = path[path.index(following) :]
                if reported.isdisjoint(circle):
                    around = " → ".join(f"`{other}`" for other in [*circle, following])
                    message = f"the condition of a param depends on the param itself: {around}"
                    guard = by_name[following].guard
                    assert guard is not None
                    report.error("GOT0335", message, guard.span, help="remove one of these conditions")
                reported |= {*circle}
            elif following not in reported:
                path.append(following)
                waiting.append(iter(needs[following]))
        reported.add(name)


def _type(param: n.Param, symbols: Symbols, report: Report) -> Type:
    found = of_value(constant_value(param.default))
    each = param.each and isinstance(found, ListType)
    part = found.element if each and isinstance(found, ListType) else found
    for value in _allowed(param.domain):
        part = join(part, of_value(constant_value(value))) or part
    found = ListType(part) if each else part
    if has_error(found):
        report.error("GOT0207", "the values of a list have one type", param.default.span)
        return ANY
    if param.type is None:
        if found == ListType(NEVER):
            help = f"write its type: `param {param.name.text}: list[str] = []`"
            report.error("GOT0214", "the type of this empty list is unknown", param.default.span, help=help)
        return found
    wanted = resolve_type(param.type, symbols, report)
    given = of_value(constant_value(param.default))
    listed = isinstance(wanted, LiteralType) and constant_value(param.default) in wanted.values
    if not accepts(wanted, given) and not (listed and given == STR):
        message, at = f"param `{param.name.text}` must be {wanted}", f"this is {widen(given)}"
        report.error("GOT0201", message, param.default.span, at)
    return wanted


def _allowed(domain: n.Range | n.Choices | None) -> tuple[e.Node, ...]:
    """The constants of a domain."""
    match domain:
        case n.Range(low=low, high=high):
            return low, high
        case n.Choices(values=values):
            return values
    return ()


def _domain(param: n.Param, element: Type, report: Report) -> None:
    name, allowed = param.name.text, _allowed(param.domain)
    default = constant_value(param.default)
    values = default if param.each and isinstance(default, list) else [default]
    constants = [constant_value(node) for node in allowed]
    if isinstance(param.domain, n.Range):
        low, high = constants
        if not all(accepts(FLOAT, type_) for type_ in (element, of_value(low), of_value(high))):
            help = 'list texts: `in ["a", "b"]`'
            report.error("GOT0211", "a range is between two numbers", param.domain.span, help=help)
            return
        if low > high:
            report.error("GOT0211", "empty range", param.domain.span, help=f"write `{high}..{low}`")
            return
        outside = [v for v in values if isinstance(v, int | float) and not low <= v <= high]
        shown = f"{low}..{high}"
    else:
        outside = [v for v in values if v not in constants]
        shown = ", ".join(map(str, constants))
    wrong = [node for node in allowed if fits(element, constant_value(node)) is not None]
    for node in wrong:
        at = f"this is {widen(of_value(constant_value(node)))}"
        report.error("GOT0211", f"values of `{name}` must be {element}", node.span, at)
    if outside and not wrong:
        message = f"the default of `{name}` is outside its range"
        report.error("GOT0210", message, param.default.span, f"not in {shown}")
