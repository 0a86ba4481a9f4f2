"""Forecasts of `reduce`: neighbours merged pairwise, level by level."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import final

from gotlang.amounts import ONE, Amount, Atom, Polynomial
from gotlang.ir import program as ir
from gotlang.ir.forecast.flows import FREE, Bill, Flow, Result, Scope, any_of, between
from gotlang.ir.forecast.guess import Guess
from gotlang.ir.forecast.items import ItemForecaster
from gotlang.ir.names import looks_at_pool, needed_names, own_expressions
from gotlang.syntax import expressions as e
from gotlang.syntax.walk import walk

MAX_ITEMS = 4096
"""Up to so many items are merged one by one."""


class MergeForecaster(ItemForecaster):
    """Forecasts `reduce`."""

    def reduce(self, step: ir.Reduce, scope: Scope) -> Result:
        pool = scope.flow(step.pool)
        bound = scope.find(step.iterable.name) if isinstance(step.iterable, e.Reference) else None
        source = pool if step.iterable is None else bound
        if isinstance(source, Flow) and source.part is not None:
            item, count, floor = source.part, source.count, scope.floor
        else:
            floor = scope.hops(needed_names(step))
            if step.iterable is None or looks_at_pool(step.iterable):
                floor = floor.up_to(pool.hops)
            items, count = self.items(step.iterable, pool, scope, floor)
            item = any_of(items) if items else self.item(step.iterable, pool, scope, floor)
        merge = _Merge(self, step, scope, floor)
        number = count.number
        if number is not None and number <= MAX_ITEMS and count.exact is not None:
            found, bill = merge.levels(item, int(number), count.exact)
        else:
            found, bill = merge.unknown(item, count)
        return replace(found, single=True), bill


@final
class _Merge:
    """The merges of one `reduce`."""

    def __init__(self, forecaster: MergeForecaster, step: ir.Reduce, scope: Scope, floor: Amount) -> None:
        self.forecaster = forecaster
        self.step = step
        self.scope = scope
        self.floor = floor
        self.fields = self._fields()
        self.known: list[tuple[Flow, Flow, Mapping[str, object], Result]] = []

    def _fields(self) -> set[str]:
        """What the block asks of its place among the merges."""
        name = self.step.step
        if name is None:
            return set()
        parts = [part for inner in _all_expressions(self.step.body) for part in walk(inner)]
        used = sum(isinstance(part, e.Reference) and part.name == name for part in parts)
        fields = [
            p.name
            for p in parts
            if isinstance(p, e.Field) and isinstance(p.value, e.Reference) and p.value.name == name
        ]
        return set(fields) if len(fields) == used else {"level", "position", "last"}

    def one(self, left: Flow, right: Flow, place: Mapping[str, object]) -> Result:
        """One merge; those that are alike are looked at once."""
        seen = {field: place[field] for field in self.fields}
        for known_left, known_right, known_place, result in self.known:
            if known_left == left and known_right == right and known_place == seen:
                return result
        step = self.step
        pair = any_of([left, right])
        hops = self.floor.up_to(left.hops).up_to(right.hops)
        pair = replace(pair, count=ONE + ONE, hops=hops, single=False, part=None)
        names: dict[str, Flow | Guess] = {step.left: left, step.right: right, step.body.entry: pair}
        if step.step is not None:
            names[step.step] = self.forecaster.guesser.known(place)
        found, bill = self.forecaster.region(step.body, self.scope.inside(names, self.floor))
        result = replace(found, single=True), bill
        self.known.append((left, right, seen, result))
        return result

    def levels(self, item: Flow, count: int, formula: Polynomial) -> Result:
        """So many merged, level by level."""
        items = [replace(item, single=True)] * max(1, count)
        bill = FREE
        merges: list[Bill] = []
        level = 0
        while len(items) > 1:
            level += 1
            merged: list[Flow] = []
            for position in range(0, len(items) - 1, 2):
                place = {"level": level, "position": position // 2 + 1, "last": len(items) == 2}
                found, cost = self.one(items[position], items[position + 1], place)
                merged.append(found)
                merges.append(cost)
            items = merged + items[len(items) - len(items) % 2 :]
        for cost in merges:
            bill = bill + cost
        if formula.constant is None and merges and len({cost.calls for cost in merges}) == 1:
            # The number of items is a param's doing: so many less one merges.
            times = Amount.of(formula - Polynomial.of(1))
            bill = replace(bill, calls=merges[0].calls * times, requests=merges[0].requests * times)
        return items[0], bill

    def unknown(self, item: Flow, count: Amount) -> Result:
        """Merges of any number of items: as many as there are, less one, in as many levels as it takes."""
        item = replace(item, single=True)
        place = {"level": 1, "position": 1, "last": False}
        last_place = {"level": 1, "position": 1, "last": True}
        merged, _ = self.one(item, item, place)
        wide = replace(item.or_(merged), hops=item.hops, volume=item.volume, single=True)
        found, cost = self.one(wide, wide, place)
        last, last_cost = self.one(wide, wide, last_place)
        low, high = count.bounds
        less_one = Amount(
            count.low - Polynomial.of(1) if low >= 1 else Polynomial.of(0),
            count.high - Polynomial.of(1) if count.high is not None else None,
        )
        if cost == last_cost:
            bill = cost.times(less_one)
        elif low >= 2 and count.exact is not None:
            bill = cost.times(Amount.of(count.exact - Polynomial.of(2))) + last_cost
        else:
            bill = cost.or_(last_cost).times(less_one)
        exact = count.exact
        levels = Atom(
            f"ceil(log2({'n' if exact is None else exact}))",
            math.ceil(math.log2(max(1, low))),
            math.ceil(math.log2(high)) if 0 < high < math.inf else math.inf,
            parts=() if exact is None else tuple(exact.leaves),
        )
        hops = item.hops + between(item.hops, found.hops.or_(last.hops)) * Amount.of(levels)
        each = Amount(Polynomial.of(item.volume.bounds[0]), None)
        return replace(found.or_(item), hops=hops, volume=each, count=ONE), bill


def _all_expressions(region: ir.Region) -> Iterable[e.Expression]:
    for step in region.steps:
        yield from own_expressions(step)
        for inner in ir.regions(step):
            yield from _all_expressions(inner)
