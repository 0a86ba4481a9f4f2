"""Forecasts of whole schemes, of schemes that call schemes, and of scores that ask a model."""

from __future__ import annotations

from dataclasses import replace
from typing import final

from gotlang.amounts import ONE, Amount, Polynomial
from gotlang.ir import program as ir
from gotlang.ir.forecast.flows import ANYTHING, FREE, UNBOUNDED, Flow, Result, Scope
from gotlang.ir.forecast.guess import Guess
from gotlang.ir.forecast.items import MAX_STEPS
from gotlang.ir.forecast.rounds import RoundForecaster
from gotlang.ir.names import free_names, looks_at_pool, needed_names
from gotlang.syntax import expressions as e

MAX_DEPTH = 40
"""How deep schemes are followed into each other."""
EAGER_DEPTH = 8
"""Every so many calls inside each other the runtime lets one wait for its thoughts."""


@final
class Forecaster(RoundForecaster):
    """Forecasts whole schemes."""

    def scheme(self, scheme: ir.Scheme, scope: Scope) -> Result:
        """What a scheme gives and costs; its parameters are in the scope."""
        inner = scope.inside({scheme.body.entry: Flow(hops=scope.floor, single=True, start=True)})
        found, bill = self.region(scheme.body, inner)
        if not scheme.collect:
            return replace(found, single=not scheme.many), bill
        volume = (found.volume + ONE) * found.count
        low = Polynomial.of(max(found.count.bounds[0], found.volume.bounds[0] + 1))
        return Flow(ONE, found.guess, found.hops, Amount(low, volume.high), True), bill

    def region(self, region: ir.Region, scope: Scope) -> Result:
        """What a block gives and costs; names are added to its scope."""
        bill = FREE
        for step in region.steps:
            found, cost = self.step(step, scope)
            scope.names[step.result] = found
            bill = bill + cost
        return scope.flow(region.result), bill

    def step(self, step: ir.AnyStep, scope: Scope) -> Result:
        """What a step gives and costs."""
        self.steps += 1
        match step:
            case ir.Generate() | ir.Improve() | ir.Aggregate():
                return self.ask(step, scope)
            case ir.Score(score=str(name)) if name in self.asking_scores:
                return self._rate_by_body(step, scope)
            case ir.Score():
                return self.rate(step, scope)
            case ir.Validate():
                return self.validate(step, scope)
            case ir.ValidateAndImprove():
                return self.mend(step, scope)
            case ir.Foreach():
                return self.foreach(step, scope)
            case ir.Reduce():
                return self.reduce(step, scope)
            case ir.Repeat():
                return self.loop(step, scope)
            case ir.If():
                return self.branch(step, scope)
            case ir.Block():
                inner = scope.inside({inner: scope.flow(outer) for inner, outer in step.names})
                found, bill = self.region(step.body, inner)
                return replace(found, single=step.single), bill
            case ir.Invoke():
                return self._invoke(step, scope)
        return self.local(step, scope), FREE

    def _invoke(self, step: ir.Invoke, scope: Scope) -> Result:
        pool = scope.flow(step.pool)
        if self.steps > MAX_STEPS or scope.depth >= MAX_DEPTH:
            return Flow(
                ONE if step.single else ANYTHING, hops=ANYTHING, volume=ANYTHING, single=step.single
            ), UNBOUNDED
        floor = scope.floor
        if not pool.single or not (scope.depth + 1) % EAGER_DEPTH:
            floor = scope.hops(needed_names(step), pool.hops)
        each = self.each(pool, scope)
        names: dict[str, Flow | Guess] = {}
        for name, value in step.arguments:
            names[name] = self._argument(value, pool, each, floor)
        inner = Scope(scope.root, names, floor, scope.depth + 1)
        found, bill = self.scheme(self.program.scheme(step.scheme), inner)
        if pool.single:
            return replace(found, single=step.single), bill
        total = replace(
            found, count=found.count * pool.count, hops=found.hops.up_to(floor), single=False, part=None
        )
        return total, bill.times(pool.count)

    def _argument(self, value: e.Expression, pool: Flow, scope: Scope, floor: Amount) -> Flow | Guess:
        """What a parameter stands for: thoughts as they are, values, or a new thought when it is known."""
        if isinstance(value, e.Reference) and value.name != "it":
            found = scope.find(value.name)
            if found is not None:
                return found
        waits = [flow for name in free_names(value) if isinstance(flow := scope.find(name), Flow)]
        if not waits and not looks_at_pool(value):
            return self.guesser.guess(value, scope)
        hops = floor.up_to(self._after([value], pool, scope))
        return replace(self.gathered(value, scope, hops), count=ONE, hops=hops, single=True)

    def _rate_by_body(self, step: ir.Score, scope: Scope) -> Result:
        """`Score` by a score that asks a model: its body for each thought and each sample."""
        assert step.score is not None
        score = self.program.score(step.score)
        pool = scope.flow(step.pool)
        floor = scope.hops(needed_names(step), pool.hops)
        k = self.guesser.amount(step.k, self.whole(pool, scope))
        each = self.each(pool, scope)
        names: dict[str, Flow | Guess] = {}
        for name, value in step.arguments:
            flow = replace(pool, count=ONE, single=True, part=None)
            is_thought = isinstance(value, e.Reference) and value.name == "it"
            names[name] = replace(flow, hops=floor) if is_thought else self.guesser.guess(value, each)
        inner = Scope(scope.root, names, floor, scope.depth)
        inner.names[score.body.entry] = Flow(hops=floor, single=True, start=True)
        _, bill = self.region(score.body, inner)
        hops = inner.hops([name for name in free_names(score.value) if name in inner.names])
        if pool.count.bounds[0] == 0:
            hops = Amount(floor.low, hops.high)
        return replace(pool, hops=hops.up_to(floor), part=None), bill.times(pool.count * k)
