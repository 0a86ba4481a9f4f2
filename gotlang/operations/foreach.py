"""`foreach`: a block for each thought of the pool, or for each element of a list."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, final

from msgspec.structs import replace

from gotlang.amounts import ONE, ZERO, Amount, Polynomial
from gotlang.flows import FREE, NOTHING_KNOWN, Flow, FlowScope, Guess, Result, any_of
from gotlang.operations.checks import pair
from gotlang.operations.names import looks_at_pool
from gotlang.operations.record import BlockRecord, StepLabel, grows
from gotlang.operations.skip import skipped_by
from gotlang.operations.stages import Estimating, Verifying
from gotlang.operations.step import GIVEN, Step, WithBody
from gotlang.scope import PoolType
from gotlang.syntax.expressions import Call, Expression, Reference
from gotlang.types import ANY, INT, NEVER, AnyType, ListType, PairType, Type, optional

MAX_ONE_BY_ONE = 64
"""Maximum number of elements of a block that are estimated one by one, if they differ."""


@final
class Foreach(WithBody, frozen=True):
    """`after` returns the positions of the elements whose results an element waits for; `parts` names the two
    parts of an element that is a pair."""

    iterable: Expression | None
    name: str
    position: str | None
    parts: tuple[str, ...]
    after: Expression | None

    @property
    def bound_names(self) -> tuple[str, ...]:
        """The element, its parts, its position, and the results it waits for."""
        return (self.name, "done", *([self.position] if self.position is not None else []), *self.parts)

    def values(self, position: int, element: Any) -> dict[str, Any]:
        """The values of the names of an element's position and parts. Raises EvaluationError if it is not a
        pair."""
        names: dict[str, Any] = {self.position: position} if self.position is not None else {}
        return names | dict(zip(self.parts, pair(element), strict=True)) if self.parts else names

    def names_seen_by(self, expression: Expression) -> Collection[str]:
        """`after` is evaluated once per element."""
        return self.bound_names if expression is self.after else GIVEN


def element_of_done(after: Expression, position: str | None, result: Type, skips: bool) -> Type:
    """The type of the results that an element waits for: none for positions that are not of an earlier
    element, unless `after` is the range of all those before it, and none for elements that the block
    `skips`."""
    if not skips and isinstance(after, Call) and after.function.text == "range" and len(after.arguments) == 1:
        until = after.arguments[0].value
        if isinstance(until, Reference) and until.name == position:
            return result
    return optional(result) if result != NEVER else NEVER


def _skips(step: Foreach) -> bool:
    """Whether its block may yield nothing for an element."""
    left_out = {name for inner in step.body.steps for name in skipped_by(inner)}
    return bool(left_out - {inner.result for inner in step.body.all_steps()})


def _verify(step: Foreach, v: Verifying) -> PoolType:
    element = PoolType(v.elements(step.iterable), True)
    values: dict[str, Type] = {step.position: INT} if step.position is not None else {}
    if step.parts:
        pair = element.type
        types = pair.types if isinstance(pair, PairType) else (ANY, ANY)
        if types == (ANY, ANY) and not isinstance(pair, PairType | AnyType):
            raise v.fail("its elements are not pairs")
        values |= dict(zip(step.parts, types, strict=True))
    inner = v.inside({step.name: element}, values)
    if step.after is not None:
        inner.expect(step.after, inner.names, ListType(INT))
        done = element_of_done(step.after, step.position, step.type, _skips(step))
        inner = inner.inside({"done": PoolType(done, False)})
    return PoolType(inner.region(step.body).type, False)


# ---------------------------------------------------------------- estimate


def _estimate(step: Foreach, scope: FlowScope, e: Estimating) -> Result:
    pool = scope.flow(step.pool)
    floor = hops_before_elements(step, step.iterable, scope, e)
    elements, count = known_elements(step.iterable, pool, scope, floor, e)
    if elements is not None and _differ(step, elements):
        if not e.exhausted:
            return _one_by_one(step, scope, elements, floor, e)
        elements = None
    element = elements[0] if elements else any_element(step.iterable, pool, scope, floor, e)
    if count == ZERO:
        return Flow(ZERO, NOTHING_KNOWN, floor), FREE
    names: dict[str, Flow | Guess] = {step.name: element}
    if step.position is not None:
        names[step.position] = Guess(number=Amount(Polynomial.of(0), count.high), tokens=(1, 3))
    names |= _parts(step, element, e)
    if step.after is None:
        part, bill = e.region(step.body, scope.inside(names, floor))
        return _results(step, part, count, floor), bill.times(count)
    names["done"] = Flow(Amount(Polynomial.of(0), count.high), NOTHING_KNOWN, floor)
    first, _ = e.region(step.body, scope.inside(names, floor))
    # At best no element waits for another, at worst each for the one before it.
    chain = Amount(floor.low, (floor + (first.hops - floor) * count).high)
    names["done"] = Flow(Amount(Polynomial.of(0), count.high), first.each, chain, first.volume)
    part, bill = e.region(step.body, scope.inside(names, floor))
    part = replace(part, hops=Amount(first.hops.low, part.hops.high), volume=Amount(part.volume.low, None))
    return _results(step, part, count, floor), bill.times(count)


def _parts(step: Foreach, element: Flow, e: Estimating) -> dict[str, Guess]:
    """What is known of the two parts of a pair."""
    each = element.each
    if each.known and isinstance(each.value, list) and len(each.value) == len(step.parts):
        return {name: e.known(value) for name, value in zip(step.parts, each.value, strict=True)}
    return dict.fromkeys(step.parts, Guess(tokens=(0, each.tokens[1])))


def hops_before_elements(step: Step, iterable: Expression | None, scope: FlowScope, e: Estimating) -> Amount:
    """The model calls before the elements of a block are known."""
    floor = scope.hops(e.needs(step))
    return floor.up_to(scope.flow(step.pool).hops) if iterable is None or looks_at_pool(iterable) else floor


def _results(step: Foreach, part: Flow, count: Amount, floor: Amount) -> Flow:
    hops = part.hops if count.bounds[0] > 0 else Amount(floor.low, part.hops.high)
    return Flow(part.count * count, part.each, hops, part.volume, part=part if step.body.single else None)


def _differ(step: Foreach, elements: list[Flow]) -> bool:
    """Whether the known facts about the elements, or their positions, may make a difference in the block."""
    if len(elements) > MAX_ONE_BY_ONE:
        return False
    return step.position is not None or step.after is not None or any(one != elements[0] for one in elements)


def _one_by_one(
    step: Foreach, scope: FlowScope, elements: list[Flow], floor: Amount, e: Estimating
) -> Result:
    tails: list[Flow] = []
    total = FREE
    for index, element in enumerate(elements):
        names: dict[str, Flow | Guess] = {step.name: element}
        if step.position is not None:
            names[step.position] = e.known(index)
        names |= _parts(step, element, e)
        inner = scope.inside(names, floor)
        if step.after is not None:
            inner.names["done"] = _done(step.after, inner, tails, floor, e)
        found, bill = e.region(step.body, inner)
        tails.append(found)
        total = total + bill
    if not tails:
        return Flow(ZERO, NOTHING_KNOWN, floor), FREE
    part, (count, hops) = any_of(tails), _together(tails, ZERO, floor)
    return Flow(count, part.each, hops, part.volume, part=part if step.body.single else None), total


def _together(tails: list[Flow], count: Amount, hops: Amount) -> tuple[Amount, Amount]:
    """The number of these thoughts, and the model calls before the last of them."""
    for tail in tails:
        count, hops = count + tail.count, hops.up_to(tail.hops)
    return count, hops


def _done(after: Expression, scope: FlowScope, tails: list[Flow], floor: Amount, e: Estimating) -> Flow:
    """The results that an element waits for."""
    positions = e.guess(after, scope)
    if not positions.known:
        found = any_of(tails) if tails else Flow(ZERO)
        _, hops = _together(tails, ZERO, floor)
        most = Polynomial.of(len(tails)) * (found.count.high or Polynomial.of(0))
        return replace(
            found, count=Amount(Polynomial.of(0), most), hops=Amount(floor.low, hops.high), part=None
        )
    waited = [tails[at] for at in positions.value if isinstance(at, int) and 0 <= at < len(tails)]
    count, hops = _together(waited, Amount.of(len(positions.value) - len(waited)), floor)
    return replace(any_of(waited) if waited else Flow(ZERO), count=count, hops=hops, single=False, part=None)


def _bound(iterable: Expression, scope: FlowScope) -> Flow | Guess | None:
    return scope.find(iterable.name) if isinstance(iterable, Reference) else None


def known_elements(
    iterable: Expression | None, pool: Flow, scope: FlowScope, floor: Amount, e: Estimating
) -> tuple[list[Flow] | None, Amount]:
    """The elements of a block, if they are known individually, and their number."""
    if iterable is None:
        return None, pool.count
    whole, bound = scope.whole(pool), _bound(iterable, scope)
    if isinstance(bound, Flow) and not bound.single:
        return None, bound.count
    guess = e.guess(iterable, whole)
    if not isinstance(guess.value, list):
        return None, e.length(iterable, whole)
    count = Amount.of(len(guess.value))
    if len(guess.value) > MAX_ONE_BY_ONE:
        return None, count
    volume = any_element(iterable, pool, scope, floor, e).volume
    known = [e.known(value, chosen=guess.chosen) for value in guess.value]
    return [Flow(ONE, one, floor, volume, True) for one in known], count


def any_element(
    iterable: Expression | None, pool: Flow, scope: FlowScope, floor: Amount, e: Estimating
) -> Flow:
    """What is known of an arbitrary element of a block."""
    if iterable is None:
        return replace(pool.one, hops=floor, scorer=None)
    whole, bound = scope.whole(pool), _bound(iterable, scope)
    if isinstance(bound, Flow) and not bound.single:
        return replace(bound.one, hops=floor)
    guess = e.guess(iterable, whole)
    each = guess.element or Guess(tokens=(0, guess.tokens[1]))
    made = e.gathered(iterable, whole, floor)
    volume = made.volume + ONE if isinstance(bound, Flow) and not made.start else made.volume
    return Flow(ONE, each, floor, volume, True)


BLOCK = BlockRecord(
    name="foreach",
    usage="`foreach x in xs:`",
    doc="the block once for each element, or for each current thought without `in`",
    step=Foreach,
    text="foreach {name:name}[ at {position:name}][ as {parts:names}]"
    "[ in {iterable}][ after {after}] from {pool}",
    verify=_verify,
    effects=grows,
    estimate=_estimate,
    remaining=lambda step, remaining: remaining.through(step.body),
    label=lambda step: StepLabel(step.name),
)
