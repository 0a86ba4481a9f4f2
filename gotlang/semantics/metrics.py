"""Checks metrics of a result, which are computed after the run and may use the known answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, final

from msgspec import Struct

from gotlang.diagnostics import Report, suggestion
from gotlang.scope import Scope, Variable
from gotlang.syntax import nodes as n
from gotlang.types import BOOL, FLOAT, ListType, Type, accepts

if TYPE_CHECKING:
    from gotlang.semantics.expressions import ExpressionChecker
    from gotlang.semantics.symbols import Signature, Symbols

TRUTH = "truth"
_TAKES = "the first parameter is the result, the others are inputs of the scheme by name, or `truth`"


@final
class Misfit(Struct, frozen=True):
    """Why a metric cannot measure a scheme: the parameter (None: it has none), the reason, and a hint."""

    parameter: str | None
    why: str
    help: str = _TAKES


def misfit(
    parameters: tuple[tuple[str, Type], ...], inputs: Mapping[str, Type], result: Type, truth: Type
) -> Misfit | None:
    """Why a metric with these parameters cannot measure results of a scheme; None if it can."""
    if not parameters:
        return Misfit(None, "it has no parameter for the result")
    (first, wanted), *others = parameters
    if not accepts(wanted, result):
        return Misfit(first, f"`{first}` is {wanted}, and the result is {result}")
    known = {TRUTH: truth, **inputs}
    for name, type_ in others:
        if name not in known:
            hint = suggestion(name, known) or f"{_TAKES}: {', '.join(known)}"
            return Misfit(name, f"it has no input `{name}`", hint)
        if not accepts(type_, known[name]):
            whose = "the known answer" if name == TRUTH else "the input"
            return Misfit(name, f"`{name}` is {type_}, and {whose} is {known[name]}")
    return None


def misfit_of(metric: Signature, scheme: Signature) -> Misfit | None:
    """The same for signatures."""
    result: Type = ListType(scheme.result) if scheme.many else scheme.result
    return misfit(metric.parameters, dict(scheme.parameters), result, scheme.truth or result)


def check_metric(node: n.Metric, symbols: Symbols, expressions: ExpressionChecker) -> None:
    """Check a metric's body, one expression that calls no model."""
    signature, report = symbols.metrics[node.name.text][1], expressions.report
    scope = Scope(place="a metric")
    for parameter, (name, type_) in zip(node.parameters, signature.parameters, strict=False):
        scope.add(Variable(name, type_, "value", parameter.name.span))
    for word, constant in (("best", node.best), ("failed", node.failed)):
        if constant is not None:
            expressions.expect(constant, Scope(), FLOAT, f"`{word}`")
    *others, last = node.body.statements
    if any(n.is_unreadable(statement) for statement in node.body.statements):
        return
    if others or not isinstance(last, n.Evaluate | n.Return):
        place = others[0] if others else last
        report.error("GOT0303", "a metric is one expression", place.span, help="a metric calls no model")
        return
    found = expressions.infer(last.value, scope)
    if found == BOOL:
        symbols.shares.add(node.name.text)
    elif not accepts(FLOAT, found):
        report.error("GOT0303", "a metric is a number or a bool", last.value.span, f"this is {found}")


def check_fit(node: n.Metric, symbols: Symbols, file: str, report: Report) -> None:
    """Report a metric of the program's own file that matches none of its schemes."""
    signature, schemes = symbols.metrics[node.name.text][1], symbols.schemes
    if signature.unreadable or not schemes or any(scheme.unreadable for scheme in schemes.values()):
        return
    if all(misfit_of(signature, scheme) for scheme in schemes.values()):
        name = str(symbols.default_scheme(file))
        found = misfit_of(signature, schemes[name])
        assert found is not None
        spans = {each.name.text: each.span for each in node.parameters}
        message = f"metric `{node.name.text}` matches no scheme"
        at = f"of scheme `{name}`: {found.why}"
        report.error(
            "GOT0346", message, spans.get(found.parameter or "", node.name.span), at, help=found.help
        )
