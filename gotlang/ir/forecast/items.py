"""Forecasts of `foreach`: what it goes through, and what its block costs for each."""

from __future__ import annotations

from dataclasses import replace

from gotlang.amounts import ONE, ZERO, Amount, Polynomial
from gotlang.ir import program as ir
from gotlang.ir.forecast.flows import FREE, Flow, Result, Scope, any_of, between
from gotlang.ir.forecast.guess import NOTHING_KNOWN, Guess
from gotlang.ir.forecast.steps import StepForecaster
from gotlang.ir.names import looks_at_pool, needed_names
from gotlang.syntax import expressions as e

MAX_STEPS = 2_000
"""After so many steps a forecast follows no more schemes, rounds and elements: what is left of them is
unbounded, or like any other."""
MAX_ONE_BY_ONE = 64
"""Up to so many elements of a block are looked at one by one, where they differ."""


class ItemForecaster(StepForecaster):
    """Forecasts `foreach`, and the lists that blocks go through. `steps` counts what was looked at."""

    steps = 0

    def region(self, region: ir.Region, scope: Scope) -> Result:
        """What a block gives and costs; names are added to its scope."""
        raise NotImplementedError

    # ---------------------------------------------------------------- foreach

    def foreach(self, step: ir.Foreach, scope: Scope) -> Result:
        pool = scope.flow(step.pool)
        floor = scope.hops(needed_names(step))
        if step.iterable is None or looks_at_pool(step.iterable):
            floor = floor.up_to(pool.hops)
        items, count = self.items(step.iterable, pool, scope, floor)
        if items is not None and self._each_differs(step, items):
            if self.steps <= MAX_STEPS:
                return self._one_by_one(step, scope, items, floor)
            items = None
        item = items[0] if items else self.item(step.iterable, pool, scope, floor)
        if count == ZERO:
            return Flow(ZERO, NOTHING_KNOWN, floor), FREE
        names: dict[str, Flow | Guess] = {step.name: item}
        if step.position is not None:
            names[step.position] = Guess(number=Amount(Polynomial.of(0), count.high), tokens=(1, 3))
        if step.after is None:
            part, bill = self.region(step.body, scope.inside(names, floor))
            return self._results(step, part, count, floor), bill.times(count)
        names["done"] = Flow(Amount(Polynomial.of(0), count.high), NOTHING_KNOWN, floor)
        first, _ = self.region(step.body, scope.inside(names, floor))
        # At best no element waits for another, at worst each for the one before it.
        chain = Amount(floor.low, (floor + between(floor, first.hops) * count).high)
        names["done"] = Flow(Amount(Polynomial.of(0), count.high), first.each, chain, first.volume)
        part, bill = self.region(step.body, scope.inside(names, floor))
        part = replace(
            part, hops=Amount(first.hops.low, part.hops.high), volume=Amount(part.volume.low, None)
        )
        return self._results(step, part, count, floor), bill.times(count)

    def _results(self, step: ir.Foreach, part: Flow, count: Amount, floor: Amount) -> Flow:
        hops = part.hops if count.bounds[0] > 0 else Amount(floor.low, part.hops.high)
        one = part if self._leaves_one(step.body) else None
        return Flow(part.count * count, part.each, hops, part.volume, part=one)

    @staticmethod
    def _leaves_one(body: ir.Region) -> bool:
        for inner in reversed(body.steps):
            if inner.result == body.result:
                return inner.single
        return True

    def _each_differs(self, step: ir.Foreach, items: list[Flow]) -> bool:
        """Whether what is known of the elements, or their positions, may make a difference in the block."""
        if len(items) > MAX_ONE_BY_ONE:
            return False
        return step.position is not None or step.after is not None or any(item != items[0] for item in items)

    def _one_by_one(self, step: ir.Foreach, scope: Scope, items: list[Flow], floor: Amount) -> Result:
        tails: list[Flow] = []
        total = FREE
        for index, item in enumerate(items):
            names: dict[str, Flow | Guess] = {step.name: item}
            if step.position is not None:
                names[step.position] = self.guesser.known(index)
            inner = scope.inside(names, floor)
            if step.after is not None:
                inner.names["done"] = self._done(step.after, inner, tails, floor)
            found, bill = self.region(step.body, inner)
            tails.append(found)
            total = total + bill
        if not tails:
            return Flow(ZERO, NOTHING_KNOWN, floor), FREE
        part = any_of(tails)
        count, hops = ZERO, floor
        for tail in tails:
            count, hops = count + tail.count, hops.up_to(tail.hops)
        one = part if self._leaves_one(step.body) else None
        return Flow(count, part.each, hops, part.volume, part=one), total

    def _done(self, after: e.Expression, scope: Scope, tails: list[Flow], floor: Amount) -> Flow:
        """The results that an element waits for."""
        positions = self.guesser.guess(after, scope)
        if not positions.known:
            found = any_of(tails) if tails else Flow(ZERO)
            hops = floor
            for tail in tails:
                hops = hops.up_to(tail.hops)
            most = Polynomial.of(len(tails)) * (found.count.high or Polynomial.of(0))
            return replace(
                found, count=Amount(Polynomial.of(0), most), hops=Amount(floor.low, hops.high), part=None
            )
        waited = [tails[at] for at in positions.value if isinstance(at, int) and 0 <= at < len(tails)]
        missing = len(positions.value) - len(waited)
        count, hops = Amount.of(missing), floor
        for tail in waited:
            count, hops = count + tail.count, hops.up_to(tail.hops)
        each = any_of(waited) if waited else Flow(ZERO)
        return replace(each, count=count, hops=hops, single=False, part=None)

    # ---------------------------------------------------------------- what a block goes through

    def items(
        self, iterable: e.Expression | None, pool: Flow, scope: Scope, floor: Amount
    ) -> tuple[list[Flow] | None, Amount]:
        """The elements of a block, where they are known one by one, and how many there are."""
        if iterable is None:
            return None, pool.count
        whole = self.whole(pool, scope)
        bound = scope.find(iterable.name) if isinstance(iterable, e.Reference) else None
        if isinstance(bound, Flow) and not bound.single:
            return None, bound.count
        guess = self.guesser.guess(iterable, whole)
        if isinstance(guess.value, list):
            if len(guess.value) > MAX_ONE_BY_ONE:
                return None, Amount.of(len(guess.value))
            volume = self.item(iterable, pool, scope, floor).volume
            known = [self.guesser.known(value, chosen=guess.chosen) for value in guess.value]
            return [Flow(ONE, one, floor, volume, True) for one in known], Amount.of(len(known))
        return None, self.guesser.length(iterable, whole)

    def item(self, iterable: e.Expression | None, pool: Flow, scope: Scope, floor: Amount) -> Flow:
        """What any element of a block is like."""
        if iterable is None:
            return replace(pool, count=ONE, hops=floor, single=True, part=None)
        whole = self.whole(pool, scope)
        bound = scope.find(iterable.name) if isinstance(iterable, e.Reference) else None
        if isinstance(bound, Flow) and not bound.single:
            return replace(bound, count=ONE, hops=floor, single=True, part=None)
        guess = self.guesser.guess(iterable, whole)
        each = guess.element or Guess(tokens=(0, guess.tokens[1]))
        made = self.gathered(iterable, whole, floor)
        is_thought = isinstance(iterable, e.Reference) and isinstance(bound, Flow)
        volume = made.volume + ONE if is_thought and not made.start else made.volume
        return Flow(ONE, each, floor, volume, True)
