"""Checks studies against the program they name: its scheme and inputs, what is varied, wanted and allowed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, final

from gotlang.diagnostics import nearest
from gotlang.scope import Scope, Variable
from gotlang.semantics.expressions import ExpressionChecker
from gotlang.semantics.report import Report
from gotlang.semantics.study_settings import (
    DATA_OPTIONS,
    MEASURES,
    OPTIMIZERS,
    OPTIONS,
    VARIED,
    Choice,
    constant,
    method,
    out_of_bounds,
)
from gotlang.semantics.symbols import Signature, Symbols
from gotlang.span import Span
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.syntax.walk import walk
from gotlang.types import BOOL, FLOAT, ListType, Type, accepts, of_value

BASELINE = "baseline"
"""In a constraint: the same quantity of the untuned program on the same rows."""


@final
@dataclass(frozen=True, slots=True)
class Target:
    """The program that a study names: what it declares, and its name, which picks the scheme."""

    symbols: Symbols
    name: str

    def scheme(self, wanted: str | None) -> str | None:
        """The scheme that is tuned: the one named, else the one named like the file, else the last."""
        schemes = list(self.symbols.schemes)
        if wanted is not None:
            return wanted if wanted in schemes else None
        return self.name if self.name in schemes else schemes[-1] if schemes else None


def check_study(node: n.Study, target: Target | None, report: Report) -> None:
    """Note what is wrong with a study. Without a target only what needs none is checked."""
    lacks = "GOT0601"
    if node.data is None:
        help = 'write `data "rows.csv" (input = Column)`'
        report.error(lacks, "a study names its data", node.name.span, help=help)
    if not node.objectives:
        help = "write `minimize ...` or `maximize ...`"
        report.error(lacks, "a study has an objective", node.name.span, help=help)
    _options(node, report)
    for constraint in node.constraints:
        if not isinstance(constraint, e.Comparison) or sides(constraint) is None:
            report.error(
                "GOT0603",
                "a constraint compares a quantity with a bound",
                constraint.span,
                help="write `cost <= baseline` or `cost <= 0.05`",
            )
    if target is not None:
        _against(node, target, report)


def _against(node: n.Study, target: Target, report: Report) -> None:
    symbols = target.symbols
    name = target.scheme(node.scheme.text if node.scheme else None)
    if name is None:
        if node.scheme:
            report.unknown("GOT0602", "scheme", node.scheme.text, node.scheme.span, symbols.schemes)
        else:
            report.error("GOT0602", "its program holds no scheme to tune", node.name.span)
        return
    scheme = symbols.schemes[name]
    if node.data:
        known = [*dict(scheme.parameters), "truth"]
        for column, _ in node.data.columns:
            if column not in known:
                text = f"the scheme `{name}` takes: {scheme.takes()}"
                report.unknown("GOT0602", "input", column, node.data.span, known, text)
    for vary in node.vary:
        _vary(vary, symbols, report)
    for prompts in node.prompts:
        for prompt in prompts.names:
            if prompt.text not in symbols.prompts:
                report.unknown("GOT0602", "prompt", prompt.text, prompt.span, symbols.prompts)
    expressions = ExpressionChecker(symbols, report)
    scope = measured_names(scheme)
    for _, objective in node.objectives:
        _number(objective, expressions, scope, "an objective")
    for constraint in node.constraints:
        if (parts := sides(constraint)) is not None:
            quantity = _number(parts[0], expressions, scope, "a constraint")
            bound = Scope(names={BASELINE: Variable(BASELINE, quantity)})
            expressions.expect(parts[1], bound, FLOAT, "a bound")


def measured_names(scheme: Signature) -> Scope:
    """The names that an objective may use, with their types."""
    result: Type = ListType(scheme.result) if scheme.many else scheme.result
    names = {
        **dict(scheme.parameters),
        "result": result,
        "truth": scheme.truth or result,
        "score": FLOAT,
        **MEASURES,
    }
    return Scope(names={name: Variable(name, type_, used=True) for name, type_ in names.items()})


def _number(node: e.Expression, expressions: ExpressionChecker, scope: Scope, what: str) -> Type:
    found = expressions.infer(node, scope)
    if not accepts(FLOAT, found) and found != BOOL:
        expressions.report.error(
            "GOT0603", f"{what} is a number, or true or false", node.span, f"this is {found}"
        )
    return FLOAT


def sides(node: e.Expression) -> tuple[e.Expression, e.Expression, str] | None:
    """The quantity, the bound and the sign of `quantity <= bound`, whichever way round it is written."""
    if not isinstance(node, e.Comparison) or len(node.rest) != 1:
        return None
    sign, right = node.rest[0]
    turned = {"<=": ">=", "<": ">", ">=": "<=", ">": "<"}
    if sign not in turned:
        return None
    if is_bound(right) and not is_bound(node.first):
        return node.first, right, sign
    if is_bound(node.first) and not is_bound(right):
        return right, node.first, turned[sign]
    return None


def is_bound(node: e.Expression) -> bool:
    """Whether an expression is made of numbers and `baseline` alone."""
    return all(part.name == BASELINE for part in walk(node) if isinstance(part, e.Reference)) and not any(
        isinstance(part, e.Call) for part in walk(node)
    )


def _vary(vary: n.Vary, symbols: Symbols, report: Report) -> None:
    name = vary.name.text
    param = symbols.nodes.get(name)
    if not isinstance(param, n.Param):
        if name in VARIED:
            if vary.domain is None:
                report.error("GOT0604", f"what may `{name}` be?", vary.span, help=f"write `{name} in [...]`")
            else:
                _possible(name, vary.domain, report)
            return
        known = [k for k, v in symbols.nodes.items() if isinstance(v, n.Param)]
        report.unknown("GOT0602", "param", name, vary.name.span, [*known, *VARIED])
        return
    if vary.domain is None:
        if param.domain is None:
            report.error(
                "GOT0604",
                f"`{name}` has no range in its program",
                vary.span,
                help=f"give it one here: `vary {name} in 1..10`",
            )
        return
    type_ = symbols.params[name]
    element = type_.element if param.each and isinstance(type_, ListType) else type_
    if not _fitting(vary.domain, element, report):
        return
    if outside := _outside(vary.domain, param.domain):
        report.error(
            "GOT0604", f"{outside} is outside the range that the program gives `{name}`", vary.domain.span
        )


def _possible(name: str, domain: n.Range | n.Choices, report: Report) -> None:
    """Note values that a setting of the run cannot have."""
    if _fitting(domain, VARIED[name], report):
        for part in (domain.low, domain.high) if isinstance(domain, n.Range) else domain.values:
            if wrong := out_of_bounds(name, constant(part)):
                report.error("GOT0604", wrong, part.span)


def _fitting(domain: n.Range | n.Choices, type_: Type, report: Report) -> bool:
    """Whether a range or choices can be those of a type; notes why not."""
    parts = (domain.low, domain.high) if isinstance(domain, n.Range) else domain.values
    wrong = [part for part in parts if not accepts(type_, of_value(constant(part)))]
    for part in wrong:
        report.error("GOT0604", f"this must be {type_}", part.span)
    if not wrong and isinstance(domain, n.Range) and constant(domain.low) > constant(domain.high):
        report.error("GOT0604", "this range is empty", domain.span)
        return False
    return not wrong


def _outside(inner: n.Range | n.Choices, outer: n.Range | n.Choices | None) -> str | None:
    parts = [inner.low, inner.high] if isinstance(inner, n.Range) else inner.values
    for value in map(constant, parts):
        if isinstance(outer, n.Range) and not constant(outer.low) <= value <= constant(outer.high):
            return str(value)
        if isinstance(outer, n.Choices) and value not in map(constant, outer.values):
            return str(value)
    return None


def _options(node: n.Study, report: Report) -> None:
    for option in node.data.options if node.data else ():
        _option(option, DATA_OPTIONS, report)
    for option in node.options:
        _option(option, OPTIONS, report)
    for prompts in node.prompts:
        _method(prompts.optimizer, OPTIMIZERS, "optimizer", report)
    _twice((option.name for option in node.data.options) if node.data else (), "set", report)
    _twice((option.name for option in node.options), "set", report)
    _twice((vary.name for vary in node.vary), "varied", report)
    _twice((name for prompts in node.prompts for name in prompts.names), "searched", report)


def _twice(names: Iterable[e.Identifier], done: str, report: Report) -> None:
    """Note names that stand there before: the later clause would silently replace the earlier one."""
    seen: set[str] = set()
    for name in names:
        if name.text in seen:
            report.error("GOT0604", f"`{name.text}` is {done} twice", name.span)
        seen.add(name.text)


def _option(
    option: n.Setting, known: Mapping[str, Type] | Mapping[str, Type | dict[str, Choice]], report: Report
) -> None:
    name = option.name.text
    if name not in known:
        report.unknown("GOT0604", "setting", name, option.name.span, known, f"there are {', '.join(known)}")
        return
    wanted = known[name]
    if isinstance(wanted, dict):
        if isinstance(option.value, e.Constant) and option.value.value is None:
            return
        _method(option.value, wanted, name, report)
        return
    try:
        value: Any = constant(option.value)
    except TypeError:
        report.error("GOT0604", f"`{name}` is a constant", option.value.span)
        return
    _value(name, value, wanted, option.value.span, report)


def _value(name: str, value: Any, wanted: Type, span: Span, report: Report) -> None:
    """Note a value that is not of a type, or beyond what its name allows."""
    if not accepts(wanted, of_value(value)):
        report.error("GOT0604", f"`{name}` must be {wanted}", span)
    elif wrong := out_of_bounds(name, value):
        report.error("GOT0604", wrong, span)


def _method(node: e.Expression, known: Mapping[str, Choice], what: str, report: Report) -> None:
    try:
        name, given = method(node)
    except TypeError:
        listed = ", ".join(known)
        report.error("GOT0604", f"this is no {what}", node.span, help=f"there are {listed}")
        return
    if name not in known:
        guess = nearest(name, known)
        help = f"did you mean `{guess}`?" if guess else f"there are {', '.join(known)}"
        report.error("GOT0604", f"there is no {what} `{name}`", node.span, help=help)
        return
    takes = known[name].takes
    for argument, value in given.items():
        if argument not in takes:
            listed = ", ".join(takes)
            report.error("GOT0604", f"`{name}` takes no `{argument}`", node.span, help=f"it takes {listed}")
        else:
            _value(argument, value, takes[argument], node.span, report)
