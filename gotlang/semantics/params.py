"""Checks params: the type of the default, the range it may be tuned in, and the condition it depends on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gotlang.scope import Scope
from gotlang.semantics.expressions import ExpressionChecker
from gotlang.semantics.report import Report
from gotlang.semantics.symbols import Symbols, resolve_type
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.types import FLOAT, STR, ListType, LiteralType, Type, accepts, fits, join, of_value, widen


def constant_value(node: e.Expression) -> Any:
    """The plain value of a constant or a list of constants."""
    match node:
        case e.Constant(value=value):
            return value
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
                    report.error(
                        "GOT0211", f"`each` is for lists, and `{name}` is {wanted}", param.default.span
                    )
                element = wanted.element if isinstance(wanted, ListType) else wanted
            _domain(param, element, report)
        if param.guard is not None:
            used = set(symbols.used)
            expressions.condition(param.guard, Scope(), "what `when` asks")
            symbols.used = used | ({name} & used)


def _type(param: n.Param, symbols: Symbols, report: Report) -> Type:
    found = of_value(constant_value(param.default))
    each = param.each and isinstance(found, ListType)
    part = found.element if each and isinstance(found, ListType) else found
    for value in _allowed(param.domain):
        part = join(part, of_value(constant_value(value))) or part
    found = ListType(part) if each else part
    if param.type is None:
        return found
    wanted = resolve_type(param.type, symbols, report)
    given = of_value(constant_value(param.default))
    fitting = accepts(wanted, given) or (
        isinstance(wanted, LiteralType) and given == STR and constant_value(param.default) in wanted.values
    )
    if not fitting:
        report.error(
            "GOT0201",
            f"param `{param.name.text}` must be {wanted}",
            param.default.span,
            f"this is {widen(given)}",
        )
    return wanted


def _kind(node: e.Expression) -> str:
    return widen(of_value(constant_value(node)))


def _allowed(domain: n.Range | n.Choices | None) -> tuple[e.Expression, ...]:
    """The constants that a domain is made of."""
    match domain:
        case n.Range(low=low, high=high):
            return low, high
        case n.Choices(values=values):
            return values
    return ()


def _domain(param: n.Param, element: Type, report: Report) -> None:
    name = param.name.text
    default = constant_value(param.default)
    values = default if param.each and isinstance(default, list) else [default]
    if isinstance(param.domain, n.Range):
        low, high = constant_value(param.domain.low), constant_value(param.domain.high)
        if (
            not accepts(FLOAT, of_value(low))
            or not accepts(FLOAT, of_value(high))
            or not accepts(FLOAT, element)
        ):
            report.error(
                "GOT0211",
                "a range is between two numbers",
                param.domain.span,
                help='list texts: `in ["a", "b"]`',
            )
            return
        if low > high:
            report.error("GOT0211", "this range is empty", param.domain.span, help=f"write `{high}..{low}`")
            return
        outside = [v for v in values if isinstance(v, int | float) and not low <= v <= high]
        shown = f"{low}..{high}"
    elif isinstance(param.domain, n.Choices):
        choices = [constant_value(choice) for choice in param.domain.values]
        outside = [v for v in values if v not in choices]
        shown = ", ".join(map(str, choices))
    else:
        return
    wrong = [node for node in _allowed(param.domain) if fits(element, constant_value(node)) is not None]
    for node in wrong:
        report.error("GOT0211", f"`{name}` may only be {element}", node.span, f"this is {_kind(node)}")
    if outside and not wrong:
        report.error(
            "GOT0210",
            f"the default of `{name}` is outside its range",
            param.default.span,
            f"not in {shown}",
        )
