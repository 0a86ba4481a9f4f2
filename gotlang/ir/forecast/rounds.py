"""Forecasts of `repeat` and `if`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gotlang.amounts import ZERO, Amount, Polynomial
from gotlang.ir import program as ir
from gotlang.ir.forecast.flows import FREE, UNBOUNDED, Bill, Flow, Result, Scope, between, one_of
from gotlang.ir.forecast.guess import Guess
from gotlang.ir.forecast.items import MAX_STEPS
from gotlang.ir.forecast.merges import MergeForecaster
from gotlang.ir.names import free_names, looks_at_pool
from gotlang.syntax import expressions as e

MAX_ROUNDS = 200
"""So many rounds of a `repeat` are looked at one by one, where they differ."""


class RoundForecaster(MergeForecaster):
    """Forecasts `repeat` and `if`."""

    def _after(self, nodes: Iterable[e.Expression], pool: Flow, scope: Scope, *names: str) -> Amount:
        """The model calls before a block whose shape these expressions decide."""
        nodes = list(nodes)
        used = [name for node in nodes for name in free_names(node)]
        start = pool.hops if any(looks_at_pool(node) for node in nodes) else None
        return scope.hops([*used, *names], start)

    def loop(self, step: ir.Repeat, scope: Scope) -> Result:
        pool = scope.flow(step.pool)
        floor = self._after([step.count], pool, scope)
        count = self.guesser.amount(step.count, self.whole(pool, scope))
        most = count.number
        flow, bill = pool, FREE
        ends: list[Result] = [] if count.bounds[0] >= 1 else [(pool, FREE)]
        last: Result | None = (pool, FREE) if most == 0 else None
        cost: Bill | None = None
        number = 0
        # A number of rounds that a param decides is looked at a little further, for the sake of the formula.
        probed = 3 if count.exact is not None and count.exact.constant is None and step.until is None else 0
        while last is None or number < probed:
            names: dict[str, Flow | Guess] = {step.body.entry: flow}
            if step.counter is not None:
                names[step.counter] = self.guesser.known(number)
            inner = scope.inside(names, floor)
            found, another = self.region(step.body, inner)
            found = replace(found, single=found.single and step.single)
            number += 1
            steady = another == cost and _alike(found, flow) and step.until is None and most != 0
            if steady and count.exact is not None:
                rest = Amount.of(count.exact - Polynomial.of(number - 1))
                return _further(flow, found, rest), bill + another.times(rest)
            flow, bill, cost = found, bill + another, another
            if number == most:
                last = (flow, bill)
            elif step.until is not None:
                holds = self.guesser.holds(step.until, self.whole(flow, inner))
                floor = self._after([step.until], flow, inner).up_to(flow.hops)
                if holds is not False:
                    ends.append((flow, bill))
                if holds:
                    return one_of(ends)
            if self.steps > MAX_STEPS or number >= MAX_ROUNDS or (most is None and number >= 3):
                return _unbounded(one_of([*ends, (flow, bill)]))
        return one_of([*ends, last])

    def branch(self, step: ir.If, scope: Scope) -> Result:
        pool = scope.flow(step.pool)
        conditions = [condition for condition, _ in step.branches]
        floor = self._after(conditions, pool, scope)
        whole = self.whole(pool, scope)
        ends: list[Result] = []
        for condition, body in step.branches:
            holds = self.guesser.holds(condition, whole)
            if holds is not False:
                ends.append(self.region(body, scope.inside({}, floor)))
            if holds:
                break
        else:
            through = (replace(pool, hops=pool.hops.up_to(floor)), FREE)
            otherwise = step.otherwise
            ends.append(self.region(otherwise, scope.inside({}, floor)) if otherwise is not None else through)
        found, bill = one_of(ends)
        return replace(found, hops=found.hops.up_to(floor), single=step.single, part=None), bill


def _unbounded(result: Result) -> Result:
    """What may go on for any number of rounds more."""
    found, bill = result
    hops, volume = Amount(found.hops.low, None), Amount(found.volume.low, None)
    return replace(found, hops=hops, volume=volume), bill.or_(bill + UNBOUNDED)


def _alike(a: Flow, b: Flow) -> bool:
    """Whether a round leaves what it started from, but for its place on the path."""
    return replace(a, hops=ZERO, volume=ZERO) == replace(b, hops=ZERO, volume=ZERO)


def _further(before: Flow, after: Flow, rounds: Amount) -> Flow:
    """What so many more rounds leave, each of which does as the first of them."""
    hops = before.hops + between(before.hops, after.hops) * rounds
    volume = before.volume + between(before.volume, after.volume) * rounds
    return replace(after, hops=hops, volume=volume)
