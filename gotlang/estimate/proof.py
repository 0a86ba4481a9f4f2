"""Proofs of budgets: no run of a scheme makes more calls, has a longer critical path or costs more than its
`within` allows. A bound is valid for all responses of models, with or without early stopping."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, final

from gotlang.estimate.cost import CostRange, Costs, costs_of, may_stop_early
from gotlang.estimate.estimator import TokenCounter
from gotlang.ir import program as ir
from gotlang.types import INT

_RANGES = {"calls": "calls", "hops": "critical_path", "usd": "usd"}
_CONSTANT = re.compile(r"[\d.e+-]+")
_WAYS = ((False, False), (True, False), (True, True))


@final
@dataclass(frozen=True, slots=True)
class Unproven:
    """A limit of a scheme that is not proven: `most` is the bound found instead (None: no bound or, in
    dollars, no known price if `priced` is false), with its formula, or its growth with an input, if that can
    be written."""

    scheme: ir.Scheme
    unit: str
    limit: float
    most: float | None
    formula: str | None
    priced: bool = True

    @property
    def message(self) -> str:
        """The error, in words."""
        name, budget = self.scheme.name, f"its budget of {self.limit:g} {self.unit}"
        if not self.priced:
            return f"scheme `{name}`: {budget} cannot be proven, since the price of a model is not known"
        if self.most is None:
            why = f"the bound is {self.formula}" if self.formula else "there is no bound"
            return f"scheme `{name}`: {budget} cannot be proven: {why}"
        found = f"{self.most:.6g} {self.unit.removesuffix('s') if self.most == 1 else self.unit}"
        if self._varies:
            found += f" = {self.formula}"
        return f"scheme `{name}` may take {found}, more than {budget}"

    @property
    def help(self) -> str:
        """Advice."""
        if not self.priced:
            return "specify its price in a file with `--prices`"
        if self.most is None:
            if self.unit == "usd" and self.formula is None:
                return "bound how long the texts of prompts get (`max_tokens`, `xs[:5]`), or use `--max-usd`"
            known = "a constant `k`, `count`, `min(n, 5)`, `xs[:5]`, a known depth"
            return f"bound the terms of the formula: {known}" if self.formula else f"bound its calls: {known}"
        known = "its `k`, `count`, `turns`, `retries`, `hedge` or rounds"
        return f"raise the budget, or lower {'what is in the formula' if self._varies else known}"

    @property
    def _varies(self) -> bool:
        """Whether the formula has more information than the number."""
        return self.formula is not None and not _CONSTANT.fullmatch(self.formula)


class Lengths:
    """A counter for proofs that knows neither prices nor lengths of texts."""

    default_max_tokens = batch = spread = 1

    def price(self, model: str | None) -> tuple[float, float] | None:
        """Unknown."""
        return None

    def value(self, value: Any) -> int:
        """Not counted."""
        return 0

    def request(
        self,
        prompt: ir.Prompt,
        known: Mapping[str, Any],
        tokens: Mapping[str, tuple[float, float]],
        model: Any = None,
    ) -> tuple[float, float]:
        """Unknown."""
        return 0, math.inf


def unproven(
    program: ir.Program,
    scheme: ir.Scheme,
    *,
    params: Mapping[str, Any] | None = None,
    counter: TokenCounter | None = None,
    inputs: Mapping[str, Any] | None = None,
) -> Iterator[Unproven]:
    """The limits of a scheme that are not proven, for these inputs (None: for all). Without a counter,
    dollars are left for the start of a run, and with one those of each call of another scheme are proven too.
    `params` are the values of params that differ from their defaults."""
    limits = dict(scheme.limits)
    if counter is None:
        limits.pop("usd", None)
        if not limits:
            return
    values = {param.name: param.default for param in program.params} | dict(params or {})
    invoked: list[tuple[ir.Scheme, CostRange | None]] = []

    def costs(given: Mapping[str, Any] | None) -> list[Costs]:
        using = counter or Lengths()
        more = partial(costs_of, program, scheme, using, params=values, inputs=given, invoked=invoked)
        ways = _WAYS if may_stop_early(program) else _WAYS[:1]
        return [more(early=early, at_once=at_once)[0] for early, at_once in ways]

    def growth(unit: str) -> str | None:
        """The bound for small numbers, if it depends on one input alone."""
        for name, type_ in scheme.parameters if counter is None else ():
            if type_ == INT:
                most = [_worst([getattr(one, _RANGES[unit]) for one in costs({name: n})]) for n in range(4)]
                if all(one.high is not None for one in most):
                    known = ", ".join(f"{one.high:g}" for one in most)
                    return f"{known} {unit} for {name} = 0, 1, 2, 3"
        return None

    ways = costs(inputs)
    for unit, limit in limits.items():
        for found in _judged(scheme, unit, limit, [getattr(costs, _RANGES[unit]) for costs in ways]):
            bare = found.most is None and found.formula is None and found.priced
            yield replace(found, formula=growth(unit)) if bare else found
    for called, usd in invoked if counter is not None else ():
        if (most := dict(called.limits).get("usd")) is not None:
            yield from _judged(called, "usd", most, [usd])


def _judged(scheme: ir.Scheme, unit: str, limit: float, ranges: list[CostRange | None]) -> Iterator[Unproven]:
    known = [found for found in ranges if found is not None]
    if len(known) < len(ranges):
        yield Unproven(scheme, unit, limit, None, None, priced=False)
        return
    worst = _worst(known)
    if worst.high is None or worst.high > limit:
        yield Unproven(scheme, unit, limit, worst.high, worst.formula or worst.formula_high)


def _worst(ranges: list[CostRange]) -> CostRange:
    return max(ranges, key=lambda found: math.inf if found.high is None else found.high)
