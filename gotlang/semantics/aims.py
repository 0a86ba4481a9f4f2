"""Checks the objectives of a study, which settings must be able to change, and its bounds, which runs must be
able to meet or miss."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import final

from msgspec import Struct

from gotlang.diagnostics import Label, Report
from gotlang.operations.names import free_names
from gotlang.semantics.metrics import misfit_of
from gotlang.semantics.params import constant_value
from gotlang.semantics.symbols import Symbols
from gotlang.semantics.variations import RUN_OPTIONS, reached
from gotlang.span import Span
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.syntax.format import format_expression
from gotlang.syntax.walk import walk
from gotlang.types import FLOAT, INT, Type

MEASURES: dict[str, Type] = {"cost": FLOAT, "latency": FLOAT, "calls": INT, "right": FLOAT, "failures": FLOAT}
"""The metrics of a run that objectives and constraints may use."""
BASELINE = "baseline"
"""In a constraint: the same quantity of the untuned program on the same rows."""
ABOUT = {
    "cost": "US dollars of a run, as without cache",
    "latency": "seconds on the critical path, as without cache",
    "calls": "model calls of a run",
    "right": "1 if the scheme's `GroundTruth` was right, else 0",
    "failures": "1 if the run failed, else 0",
    BASELINE: "the same quantity of the untuned program on the same rows",
}
"""Descriptions of these."""

Interval = tuple[float, float]
_ANY: Interval = (-math.inf, math.inf)
_ABOVE_0 = sys.float_info.min, math.inf
_SHARE: Interval = (0.0, 1.0)
_RANGES: dict[str, Interval] = {
    **dict.fromkeys(("cost", "latency", "calls"), _ABOVE_0),
    **dict.fromkeys(("right", "failures"), _SHARE),
}
"""The possible costs of a run that calls a model, and the possible shares."""
_LOWER = {"cost": True, "latency": True, "calls": True, "failures": True, "right": False}


@final
class AimCheck(Struct, frozen=True):
    """Checks the objectives and constraints of one study, for each of the schemes that may run."""

    symbols: Symbols
    schemes: Sequence[str]
    report: Report

    def lacking(self, node: n.Study) -> None:
        """Report objectives and constraints of quantities that a scheme does not have."""
        found = [sides(constraint) for constraint in node.constraints]
        for quantity in (*(each for _, each in node.objectives), *(each[0] for each in found if each)):
            self._known(quantity)

    def pointless(self, node: n.Study) -> None:
        """Report objectives that nothing can change and bounds without effect."""
        seen: list[e.Expression] = []
        for word, objective in node.objectives:
            if objective in seen:
                help = "remove one of them"
                self._pointless("this is an objective already", objective.span, help)
            seen.append(objective)
            if not self._depends(objective):
                help = "use the result or a measure of the run: `minimize cost`, `maximize right`"
                self._pointless("this is the same for every setting", objective.span, help)
                continue
            self._direction(objective, word == "minimize", ("minimize {}", "maximize {}"))
            self._failed(node, word, objective)
        self._constraints(node)
        self._run_options(node)

    def _pointless(self, message: str, span: Span, help: str, labels: tuple[Label, ...] = ()) -> None:
        self.report.error("GOT0605", message, span, labels=labels, help=help)

    # ------------------------------------------------------------ objectives

    def _depends(self, node: e.Expression) -> bool:
        """Whether a quantity can differ between settings."""
        low, high = self.interval(node, {})
        return low < high and not free_names(node).keys() <= {"truth", *self._inputs()}

    def _inputs(self) -> set[str]:
        return {*dict(self.symbols.schemes[self.schemes[0]].parameters)}

    def _known(self, node: e.Expression) -> None:
        """Report a quantity that a scheme does not have."""
        names = free_names(node)
        for scheme in self.schemes:
            steps = self._operations(scheme)
            if "right" in names and "GroundTruth" not in steps:
                message = f"the scheme `{scheme}` has no `GroundTruth`, so no run of it is `right`"
                help = "end it with `GroundTruth() it == truth`, or compare here: `maximize result == truth`"
                self.report.error("GOT0603", message, self._place(node, "right"), help=help)
            if "score" in names and "Score" not in steps:
                message = f"the scheme `{scheme}` has no `Score`, so its results have no `score`"
                help = "end it with `Score() ...`, or score the result here: `minimize mistakes(result, ...)`"
                self.report.error("GOT0603", message, self._place(node, "score"), help=help)
        for name in names:
            if name in self.symbols.metrics:
                self._metric(name, self._place(node, name))
            elif name in self.symbols.params.keys() - self._inputs() - MEASURES.keys():
                help = "use the result or a measure of the run, such as `cost`"
                self.report.error(
                    "GOT0603",
                    f"`{name}` is a param, not a result of a run",
                    self._place(node, name),
                    help=help,
                )

    def _metric(self, name: str, place: Span) -> None:
        signature = self.symbols.metrics[name][1]
        for scheme in self.schemes:
            if found := misfit_of(signature, self.symbols.schemes[scheme]):
                message = f"metric `{name}` does not match the scheme `{scheme}`"
                self.report.error("GOT0603", message, place, found.why, help=found.help)
                return

    def _operations(self, scheme: str) -> set[str]:
        nodes = [self.symbols.nodes.get(name) for name in reached(self.symbols, scheme)]
        schemes = [node for node in nodes if isinstance(node, n.Scheme)]
        return {part.operation.text for node in schemes for part in walk(node) if isinstance(part, n.Step)}

    def _place(self, node: e.Expression, name: str) -> Span:
        found = (part.span for part in walk(node) if isinstance(part, e.Reference) and part.name == name)
        return next(found, node.span)

    def _direction(self, node: e.Expression, lower: bool, forms: tuple[str, str]) -> None:
        """Report a quantity that the study lowers or raises although the opposite is better. `forms` are what
        to write if lower values are better, and if higher ones are."""
        inner = node
        while isinstance(inner, e.Unary) and inner.operator == "-":
            inner, lower = inner.operand, not lower
        name = inner.name if isinstance(inner, e.Reference) else None
        name = inner.function.text if isinstance(inner, e.Call) else name
        if name is None:
            return
        better = _LOWER.get(name)
        declared = self.symbols.nodes.get(name)
        metric = self.symbols.metrics.get(name, (None,))[0]
        if (each := declared if isinstance(declared, n.Score) else metric) is not None:
            better = each.direction == "lower"
        if better is not None and better != lower:
            told, form = ("less", forms[0]) if better else ("more", forms[1])
            help = f"write `{form.format(format_expression(inner))}`"
            self._pointless(f"{told} of `{name}` is better; this is the opposite", node.span, help)

    def _failed(self, node: n.Study, word: str, objective: e.Expression) -> None:
        """Report a value of failed rows that no row with a result can beat."""
        option = next((o for o in node.options if o.name.text == "failed"), None)
        names = free_names(objective).keys()
        if option is None or not _is_number(option.value) or names <= {"right", "failures"}:
            return
        value, (low, high) = float(constant_value(option.value)), self.interval(objective, {})
        if value <= low if word == "minimize" else value >= high:
            help = "give failed rows a value that is worse than any result's"
            message = "a row without a result would be as good as the best one"
            self._pointless(message, option.span, help, (Label(objective.span, "this is never better"),))

    # ------------------------------------------------------------ constraints

    def _constraints(self, node: n.Study) -> None:
        seen: list[tuple[e.Expression, bool, e.Expression, Span]] = []
        for at, constraint in enumerate(node.constraints):
            found = sides(constraint)
            if found is None:
                continue
            if constraint in node.constraints[:at]:
                self._pointless("duplicate constraint", constraint.span, "remove one of them")
                continue
            quantity, bound, sign = found
            if not self._depends(quantity):
                help = "bound the result or a measure of the run: `cost <= baseline`"
                self._pointless("this is the same for every setting", quantity.span, help)
                continue
            own = self.interval(quantity, {})
            limit = self.interval(bound, {BASELINE: own})
            least = sign in (">", ">=")
            if self._met(quantity, own, limit, sign, constraint.span):
                excluded = None
                for other, at_least, before, span in seen:
                    low, high = (bound, before) if least else (before, bound)
                    if other == quantity and at_least != least and self._exceeds(low, high, own):
                        excluded = Label(span, "this excludes it")
                if excluded is None:
                    self._direction(quantity, not least, ("{} <= ...", "{} >= ..."))
                else:
                    message, help = "no run can meet both constraints", "leave one of them out"
                    self._pointless(message, constraint.span, help, (excluded,))
                seen.append((quantity, least, bound, constraint.span))

    def _run_options(self, node: n.Study) -> None:
        """Report options of runs that vary although the study does not use what they change."""
        used = [objective for _, objective in node.objectives] + [*node.constraints]
        if any("latency" in free_names(each) for each in used):
            return
        for vary in node.vary:
            if vary.text in RUN_OPTIONS and vary.text not in self.symbols.params:
                message = f"`{vary.text}` changes the latency only, and no objective or constraint uses it"
                help = "add `minimize latency` or `subject to latency <= baseline`, or leave it out"
                self._pointless(message, vary.span, help)

    def _exceeds(self, one: e.Expression, two: e.Expression, own: Interval) -> bool:
        """Whether a bound is above another, whatever the untuned program's quantity is."""
        start, step = zip(*(self._line(bound) for bound in (one, two)), strict=True)
        if any(map(math.isnan, step)):
            return self.interval(one, {BASELINE: own})[0] > self.interval(two, {BASELINE: own})[1]
        by, rise = start[0] - start[1], step[0] - step[1]
        return all(by + _times(rise, end) > 0 for end in own)

    def _line(self, bound: e.Expression) -> tuple[float, float]:
        """A bound's value for a baseline of 0, and its slope; NaN if it is not linear."""
        zero, one, two = (self.interval(bound, {BASELINE: (x, x)})[0] for x in (0.0, 1.0, 2.0))
        return zero, one - zero if math.isclose(two - one, one - zero, abs_tol=1e-12) else math.nan

    def _met(self, node: e.Expression, own: Interval, limit: Interval, sign: str, place: Span) -> bool:
        """Whether some runs can meet a bound and some can miss it; reports otherwise."""
        least, strict = sign in (">", ">="), sign in ("<", ">")
        best, wanted = (own[1], limit[0]) if least else (own[0], limit[1])
        worst, loosest = (own[0], limit[1]) if least else (own[1], limit[0])
        if least:
            best, wanted, worst, loosest = -best, -wanted, -worst, -loosest
        shown = format_expression(node)
        if best > wanted or (strict and best == wanted):
            if own[0] >= 0 and math.isinf(own[1]):
                most = _interval_text(own).replace("at least", "of at least")
                help = f"bound it by the untuned program, `{shown} <= baseline`, or by a number {most}"
            else:
                help = f"`{shown}` is {_interval_text(own)}: choose a bound in between"
            self._pointless("no run can meet this", place, help)
        elif math.isfinite(worst) and (worst < loosest or (not strict and worst == loosest)):
            self._pointless(
                "every run meets this", place, f"`{shown}` is {_interval_text(own)}: leave it out"
            )
        else:
            return True
        return False

    # ------------------------------------------------------------ intervals

    def interval(self, node: e.Expression, known: Mapping[str, Interval]) -> Interval:
        """The interval of an expression, as far as declarations determine it."""
        match node:
            case e.Constant(value=int() | float() as value):
                return float(value), float(value)
            case e.Reference(name=name):
                metric = self.symbols.metrics.get(name)
                if metric is not None:
                    return _SHARE if name in self.symbols.shares else _from_best(metric[0])
                return known.get(name) or _RANGES.get(name, _ANY)
            case e.Unary(operator="-", operand=operand):
                low, high = self.interval(operand, known)
                return -high, -low
            case e.Unary(operator="+", operand=operand):
                return self.interval(operand, known)
            case e.Binary(operator="+" | "-" | "*" | "/" as sign, left=left, right=right):
                return _combined(sign, self.interval(left, known), self.interval(right, known))
            case e.Binary(operator="and" | "or") | e.Compare() | e.Unary(operator="not"):
                return _SHARE
            case e.Call(function=function):
                score = self.symbols.nodes.get(function.text)
                if isinstance(score, n.Score):
                    return _from_best(score)
                return (0.0, math.inf) if function.text in {"abs", "len"} else _ANY
        return _ANY


def sides(node: e.Expression) -> tuple[e.Expression, e.Expression, str] | None:
    """The quantity, the bound and the sign of `quantity <= bound`, in either order."""
    if not isinstance(node, e.Compare) or len(node.rest) != 1:
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
    """Whether an expression consists of numbers and `baseline`."""
    return all(part.name == BASELINE for part in walk(node) if isinstance(part, e.Reference)) and not any(
        isinstance(part, e.Call) for part in walk(node)
    )


def _from_best(node: n.Score | n.Metric) -> Interval:
    if node.best is None or not _is_number(node.best):
        return _ANY
    best = float(constant_value(node.best))
    return (best, math.inf) if node.direction == "lower" else (-math.inf, best)


def _is_number(node: e.Expression) -> bool:
    try:
        return isinstance(constant_value(node), int | float)
    except TypeError:
        return False


def _combined(sign: str, one: Interval, two: Interval) -> Interval:
    if sign == "+":
        return one[0] + two[0], one[1] + two[1]
    if sign == "-":
        return one[0] - two[1], one[1] - two[0]
    if sign == "/" and two[0] <= 0 <= two[1]:
        return _ANY
    of: Callable[[float, float], float] = _times if sign == "*" else _parts
    corners = [of(a, b) for a in one for b in two]
    return min(corners), max(corners)


def _times(a: float, b: float) -> float:
    return 0.0 if 0 in (a, b) else a * b


def _parts(a: float, b: float) -> float:
    return 0.0 if math.isinf(b) else a / b


def _interval_text(interval: Interval) -> str:
    low, high = (f"{round(x, 12):g}" for x in interval)
    if math.isinf(interval[1]):
        return f"above {low}" if interval[0] == _ABOVE_0[0] else f"at least {low}"
    return f"at most {high}" if math.isinf(interval[0]) else f"from {low} to {high}"
