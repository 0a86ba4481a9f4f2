"""`reduce`: neighbours merged pairwise, level by level; an odd one moves up unchanged."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import final

from msgspec.structs import replace

from gotlang.amounts import ONE, Amount, Atom, Polynomial
from gotlang.flows import FREE, Bill, Flow, FlowScope, Guess, Result, any_of
from gotlang.operations.foreach import any_element, hops_before_elements, known_elements
from gotlang.operations.names import own_expressions
from gotlang.operations.record import BlockRecord, StepLabel, grows
from gotlang.operations.stages import GUESSED_ROUNDS, Estimating, Verifying
from gotlang.operations.step import WithBody
from gotlang.scope import PoolType
from gotlang.syntax.expressions import Expression, Field, Reference
from gotlang.syntax.walk import walk
from gotlang.types import BOOL, INT, RecordType

REDUCE_STEP = RecordType((("level", INT), ("position", INT), ("last", BOOL)))
"""The fields of `step` in `reduce left, right as step`: the level of a merge and its position there (both
from 1), and whether it is the last one."""
MAX_ITEMS = 4096
"""Maximum number of items that are estimated merge by merge."""


@final
class Reduce(WithBody, frozen=True):
    """`left` and `right` name the thoughts of a merge, `step` its place."""

    iterable: Expression | None
    left: str
    right: str
    step: str | None

    @property
    def bound_names(self) -> tuple[str, ...]:
        """Both sides of a merge, and its place."""
        return (self.left, self.right, *([self.step] if self.step is not None else []))


def _verify(step: Reduce, v: Verifying) -> PoolType:
    v.fits(step.type, v.elements(step.iterable), "what it merges")
    element = PoolType(step.type, True)
    pools = {step.left: element, step.right: element, step.body.entry: PoolType(element.type, False)}
    merged = v.inside(pools, {step.step: REDUCE_STEP} if step.step is not None else None).region(step.body)
    if not merged.single:
        raise v.fail("a merge yields any number of thoughts")
    v.fits(step.type, merged.type, "what a merge leaves")
    return PoolType(step.type, True)


# ---------------------------------------------------------------- estimate


def _estimate(step: Reduce, scope: FlowScope, e: Estimating) -> Result:
    pool = scope.flow(step.pool)
    bound = scope.find(step.iterable.name) if isinstance(step.iterable, Reference) else None
    source = pool if step.iterable is None else bound
    if isinstance(source, Flow) and source.part is not None:
        item, count, floor = source.part, source.count, scope.floor
    else:
        floor = hops_before_elements(step, step.iterable, scope, e)
        items, count = known_elements(step.iterable, pool, scope, floor, e)
        item = any_of(items) if items else any_element(step.iterable, pool, scope, floor, e)
    merges = _Merges(e, step, scope, floor)
    number = count.number
    if number is not None and number <= MAX_ITEMS and count.exact is not None:
        found, bill = merges.levels(item, int(number), count.exact)
    else:
        found, bill = merges.unknown(item, count)
    return replace(found, single=True, scorer=None), bill


@final
class _Merges:
    """The merges of one `reduce`."""

    def __init__(self, e: Estimating, step: Reduce, scope: FlowScope, floor: Amount) -> None:
        self.e = e
        self.step = step
        self.scope = scope
        self.floor = floor
        self.fields = self._fields()
        self.known: list[tuple[Flow, Flow, Mapping[str, object], Result]] = []

    def _fields(self) -> set[str]:
        """The fields of a merge's place that the block uses."""
        name = self.step.step
        if name is None:
            return set()
        parts = [p for s in self.step.body.all_steps() for inner in own_expressions(s) for p in walk(inner)]
        used = sum(isinstance(part, Reference) and part.name == name for part in parts)
        fields = [
            p.name
            for p in parts
            if isinstance(p, Field) and isinstance(p.value, Reference) and p.value.name == name
        ]
        return set(fields) if len(fields) == used else {"level", "position", "last"}

    def one(self, left: Flow, right: Flow, place: Mapping[str, object]) -> Result:
        """One merge; similar ones are estimated once."""
        seen = {field: place[field] for field in self.fields}
        for known_left, known_right, known_place, result in self.known:
            if known_left == left and known_right == right and known_place == seen:
                return result
        step = self.step
        hops = self.floor.up_to(left.hops).up_to(right.hops)
        pair = replace(any_of([left, right]), count=ONE + ONE, hops=hops, single=False, part=None)
        names: dict[str, Flow | Guess] = {step.left: left, step.right: right, step.body.entry: pair}
        if step.step is not None:
            names[step.step] = self.e.known(place)
        found, bill = self.e.region(step.body, self.scope.inside(names, self.floor))
        result = replace(found, single=True, scorer=None), bill
        self.known.append((left, right, seen, result))
        return result

    def levels(self, item: Flow, count: int, formula: Polynomial) -> Result:
        """This number of items merged, level by level."""
        items = [replace(item, single=True)] * max(1, count)
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
        bill = FREE
        for cost in merges:
            bill = bill + cost
        if formula.constant is None and merges and len({cost.calls for cost in merges}) == 1:
            # A param determines the number of items: one merge fewer than items.
            times = Amount.of(formula - Polynomial.of(1))
            bill = replace(bill, calls=merges[0].calls * times, requests=merges[0].requests * times)
        return items[0], bill

    def unknown(self, item: Flow, count: Amount) -> Result:
        """Merges of an unknown number of items: one fewer than items, in as many levels as it takes."""
        item = replace(item, single=True)
        place = {"level": 1, "position": 1, "last": False}
        merged, _ = self.one(item, item, place)
        wide = replace(item.or_(merged), hops=item.hops, single=True)
        found, cost = self.one(wide, wide, place)
        last, last_cost = self.one(wide, wide, {**place, "last": True})
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
        hops = item.hops + (found.hops.or_(last.hops) - item.hops) * Amount.of(levels)
        either = found.or_(last).or_(wide)
        each = Amount(Polynomial.of(either.volume.bounds[0]), None)
        return replace(either, hops=hops, volume=each, count=ONE), bill


BLOCK = BlockRecord(
    name="reduce",
    usage="`reduce a, b in xs:`",
    doc="neighbours merged pairwise, level by level, until one is left",
    step=Reduce,
    text="reduce {left:name}, {right:name}[ in {iterable}][ as {step:name}] from {pool}",
    verify=_verify,
    effects=grows,
    estimate=_estimate,
    remaining=lambda step, remaining: GUESSED_ROUNDS * remaining.through(step.body),
    label=lambda step: StepLabel("", f"{step.left}, {step.right}"),
)
