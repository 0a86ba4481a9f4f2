"""The cost of a scheme before it runs: calls, requests, the critical path, volume, tokens and dollars.

Each is a range: exact if nothing depends on a model, bounds if a model decides. If possible, it is also a
formula in the params, such as `1 + 8*sort_tries + 7*merge_tries`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, final

from msgspec import structs

from gotlang.amounts import SIGNED, UNWRITTEN, ZERO, Amount, Atom, Polynomial
from gotlang.estimate.estimator import Estimator, TokenCounter
from gotlang.flows import Bill, Flow, FlowScope, Guess
from gotlang.ir import program as ir
from gotlang.operations.sampled import SampledStep
from gotlang.span import Span
from gotlang.types import FLOAT, ListType, Type, accepts

_DIGITS = 12
"""Digits after the decimal point of dollars: no token costs less."""
LONGEST_FORMULA = 160
"""Maximum length of a formula."""


@final
@dataclass(frozen=True, slots=True)
class CostRange:
    """A number from `low` to `high` (None: unbounded); `expected` is the likely value (None: not known).

    `formula` is its dependence on the params, if known, and otherwise `formula_high` that of its upper bound.
    """

    low: float
    high: float | None
    expected: float | None = None
    formula: str | None = None
    formula_high: str | None = None

    def holds(self, number: float) -> bool:
        """Whether the range contains a number."""
        return self.low <= number and (self.high is None or number <= self.high)

    def as_json(self) -> dict[str, Any]:
        """The range as plain JSON."""
        return asdict(self)


@final
@dataclass(frozen=True, slots=True)
class Costs:
    """Model calls (`calls`), HTTP requests, sequential model calls (`critical_path`), thoughts from which the
    result can be reached (`volume`), tokens, US dollars (None: no known price)."""

    calls: CostRange
    requests: CostRange
    critical_path: CostRange
    volume: CostRange
    input_tokens: CostRange
    output_tokens: CostRange
    usd: CostRange | None

    def ranges(self) -> Iterator[tuple[str, CostRange | None]]:
        """Each range with its name."""
        for slot in fields(self):
            yield slot.name, getattr(self, slot.name)

    def expecting(self, likely: Mapping[str, float | None]) -> Costs:
        """The same with likely numbers by name, such as those of one simulated run; they widen no bounds, so
        one that is outside (because of an unreadable response) is left out."""
        found: dict[str, Any] = {}
        for name, known in self.ranges():
            number = likely.get(name)
            if known is not None and number is not None and known.holds(number):
                known = replace(known, expected=number)
            found[name] = known
        return replace(self, **found)

    def as_json(self) -> dict[str, Any]:
        """The costs as plain JSON, by name."""
        return {name: found.as_json() if found is not None else None for name, found in self.ranges()}


@final
@dataclass(frozen=True, slots=True)
class Estimate:
    """The cost estimate of a scheme: `costs` without early stopping, `early` with it (`--prefer cost`),
    `at_once` with all samples requested at once, or none (the default of a run), `ahead` with all requested
    at once, and those withdrawn that turn out not to be needed (`--prefer latency`).

    `params` are those that the scheme uses, with the values for which the numbers hold; `unknown` are the
    atoms of formulas that no param determines; `prices` says whose prices the dollars are; `not_expected` is
    why the Python for expected values did not run (None: it did, or was not requested). All responses are
    assumed to be readable, and none to be cached.
    """

    scheme: str
    params: Mapping[str, Any]
    inputs_known: bool
    costs: Costs
    early: Costs
    at_once: Costs
    ahead: Costs
    unknown: tuple[str, ...] = ()
    prices: str | None = None
    not_expected: str | None = None

    def as_json(self) -> dict[str, Any]:
        """The estimate as plain JSON."""
        return {
            "scheme": self.scheme,
            "params": dict(self.params),
            "inputs_known": self.inputs_known,
            **self.costs.as_json(),
            "with_early_stop": self.early.as_json(),
            "at_once": self.at_once.as_json(),
            "ahead": self.ahead.as_json(),
            "unknown": list(self.unknown),
            "prices": self.prices,
            "not_expected": self.not_expected,
        }


def estimate(
    program: ir.Program,
    scheme: ir.Scheme,
    counter: TokenCounter,
    *,
    inputs: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    wave: int | None = None,
    prices: str | None = None,
) -> Estimate:
    """Estimate a scheme's cost.

    Without `inputs`, quantities that depend on them stay symbolic and leave the bounds open. `params` are the
    params' values (default: their own), `wave` is the number of samples in the first round of an
    early-stopped sampling, `prices` says whose prices `counter` has.
    """
    values = {param.name: param.default for param in program.params} | dict(params or {})
    given: Any = {"inputs": inputs, "params": values, "wave": wave}
    plain, amounts = costs_of(program, scheme, counter, early=False, **given)
    early = at_once = ahead = plain
    if may_stop_early(program):
        early, _ = costs_of(program, scheme, counter, early=True, **given)
        at_once, _ = costs_of(program, scheme, counter, early=True, at_once=True, **given)
        ahead, _ = costs_of(program, scheme, counter, early=True, ahead=True, **given)
    decided = {param.name for param in program.params}
    formulas = [formula for amount in amounts for formula in (amount.low, amount.high) if formula is not None]
    leaves = dict.fromkeys(leaf for formula in formulas for leaf in formula.leaves)
    open_ = [leaf for leaf in leaves if leaf.low != leaf.high and UNWRITTEN not in leaf.text]
    unknown = tuple(leaf.text for leaf in open_ if leaf.text not in decided)
    used = program.reached(scheme)
    shown = {name: value for name, value in values.items() if name in used}
    return Estimate(scheme.name, shown, inputs is not None, plain, early, at_once, ahead, unknown, prices)


def may_stop_early(program: ir.Program) -> bool:
    """Whether some sampling may end before all of its samples; otherwise early stopping changes no cost."""
    return any(isinstance(step, SampledStep) and (step.until or step.stop) for step in program.steps)


def costs_of(
    program: ir.Program,
    scheme: ir.Scheme,
    counter: TokenCounter,
    *,
    early: bool,
    at_once: bool = False,
    ahead: bool = False,
    params: Mapping[str, Any],
    inputs: Mapping[str, Any] | None = None,
    wave: int | None = None,
    invoked: list[tuple[ir.Scheme, CostRange | None]] | None = None,
) -> tuple[Costs, list[Amount]]:
    """A scheme's costs, with early stopping (or as `Estimate.at_once` or `ahead`) or without it, and its
    calls and hops as amounts. `params` are the values of all params, the rest is as in `estimate`. `invoked`
    gets each call of a scheme that has a budget, with its cost in dollars."""
    estimator = Estimator(program, counter, early=early, at_once=at_once, ahead=ahead, wave=wave)
    values = {param.name: _param(param, params[param.name], estimator) for param in program.params}
    flow, bill = _estimated(estimator, scheme, values, inputs)
    if invoked is not None:
        invoked += [
            (each, cost_range(one.usd) if one.usd is not None else None) for each, one in estimator.invoked
        ]
    return _costs(flow, bill), [bill.calls, flow.hops]


@final
class Bills:
    """The bills of a program's schemes in numbers, without formulas of its params; what the estimator finds
    about expressions and requests is found once for all of them."""

    def __init__(self, program: ir.Program, counter: TokenCounter, *, early: bool) -> None:
        self._estimator = Estimator(program, counter, early=early)

    def bill(self, scheme: str, params: Mapping[str, Any], inputs: Mapping[str, Any]) -> Bill:
        """The bill of a scheme with the values of all params."""
        estimator = self._estimator
        estimator.steps, estimator.invoked = 0, []
        values = {name: estimator.known(value) for name, value in params.items()}
        return _estimated(estimator, estimator.program.scheme(scheme), values, inputs)[1]


def _estimated(
    estimator: Estimator, scheme: ir.Scheme, params: Mapping[str, Guess], inputs: Mapping[str, Any] | None
) -> tuple[Flow, Bill]:
    """The result and the bill of a scheme."""
    root = FlowScope(None, dict(params), ZERO)
    given = {name: _input(name, type_, inputs, estimator) for name, type_ in scheme.parameters}
    return estimator.declared_scheme(scheme, root.inside(given))


@final
@dataclass(frozen=True, slots=True)
class StepCost:
    """The cost of one execution of a step, `calls` and dollars (None: no known price), and the sequential
    model calls up to its end; of the scheme as a whole if `whole`. `span` is its place in the program."""

    span: Span
    calls: CostRange
    usd: CostRange | None
    hops: CostRange
    whole: bool = False


def costs_of_steps(program: ir.Program, scheme: ir.Scheme, counter: TokenCounter) -> Iterator[StepCost]:
    """The cost of a scheme and of each of its steps, with the defaults of the params, without inputs and
    without early stopping; of a step that is evaluated several times, as in rounds of a loop, the first."""
    first: dict[tuple[int, int], StepCost] = {}

    def told(step: ir.Step, flow: Flow, bill: Bill) -> None:
        place = step.span.start, step.span.end
        if step.span.use is None and place not in first:
            usd = cost_range(bill.usd) if bill.usd is not None else None
            first[place] = StepCost(step.span, cost_range(bill.calls), usd, cost_range(flow.hops))

    estimator = Estimator(program, counter, told=told)
    values = {param.name: _param(param, param.default, estimator) for param in program.params}
    flow, bill = _estimated(estimator, scheme, values, None)
    usd = cost_range(bill.usd) if bill.usd is not None else None
    yield StepCost(scheme.span, cost_range(bill.calls), usd, cost_range(flow.hops), whole=True)
    yield from first.values()


def _param(param: ir.Param, value: Any, estimator: Estimator) -> Guess:
    """What is known of a param: its value, and the range of values."""
    known = estimator.known(value, chosen=True)
    if known.number is None or value < 0:
        return known
    domain = param.domain or ir.Domain()
    choices = [choice for choice in domain.choices if isinstance(choice, int | float)]
    least = domain.low if domain.low is not None else min(choices, default=1 if value >= 1 else 0)
    most = domain.high if domain.high is not None else max(choices, default=math.inf)
    if least < 0:
        return known
    return structs.replace(known, number=Amount.of(Atom(param.name, value, value, least, most)))


def _input(name: str, type_: Type, inputs: Mapping[str, Any] | None, estimator: Estimator) -> Guess:
    """What is known of an input: its value, or its name."""
    if inputs is not None and name in inputs:
        return estimator.known(inputs[name])
    if isinstance(type_, ListType):
        return Guess(length=Amount.of(Atom(f"len({name})")))
    if (accepts(FLOAT, type_) and accepts(type_, FLOAT)) or str(type_) == "int":
        return Guess(number=Amount.of(Atom(name, *SIGNED)), tokens=(1, 20))
    return Guess()


def _costs(flow: Flow, bill: Bill) -> Costs:
    return Costs(
        cost_range(bill.calls),
        cost_range(bill.requests),
        cost_range(flow.hops),
        cost_range(flow.volume),
        cost_range(bill.input_tokens),
        cost_range(bill.output_tokens),
        cost_range(bill.usd) if bill.usd is not None else None,
    )


def bounds_of(amount: Amount) -> tuple[float, float | None]:
    """The bounds of a cost, the upper one None if there is none."""
    low, high = (_number(bound) for bound in amount.bounds)
    low = max(0, low or 0)  # a formula may be valid from one part, or one round, upwards
    return low if high is None else min(low, max(0, high)), high


def cost_range(amount: Amount) -> CostRange:
    """An amount as a range."""
    low, high = bounds_of(amount)
    exact = _written(amount.exact)
    return CostRange(low, high, low if low == high else None, exact, None if exact else _written(amount.high))


def _written(formula: Polynomial | None) -> str | None:
    """A formula as text, if it is short enough to be readable."""
    text = None if formula is None else str(formula)
    return None if text is None or UNWRITTEN in text or len(text) > LONGEST_FORMULA else text


def _number(value: float) -> float | None:
    if value == math.inf:
        return None
    return int(value) if value == int(value) else round(value, _DIGITS)
