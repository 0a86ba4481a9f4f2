"""`search`: a tree of states, grown one state at a time (Yao et al. 2023; Hao et al. 2023; Zhou et al. 2023).

The same block is a beam search, a best-first search, a depth-first search and Monte Carlo tree search: they
differ in which state is expanded next.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from typing import final

from msgspec import Struct
from msgspec.structs import replace

from gotlang.amounts import ONE, ZERO, Amount
from gotlang.flows import NOTHING_KNOWN, Bill, Flow, FlowScope, Result
from gotlang.operations.checks import MOST
from gotlang.operations.if_ import hops_before
from gotlang.operations.names import own_expressions
from gotlang.operations.record import BlockRecord, K, SettingRule, StepLabel, grows
from gotlang.operations.stages import Estimating, Remaining, Verifying
from gotlang.operations.step import GIVEN, Region, Step
from gotlang.scope import PoolType
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.syntax.format import format_expression
from gotlang.syntax.walk import walk
from gotlang.types import BOOL, FLOAT, INT, STR

CLAUSES: dict[str, SettingRule] = {"rollouts": K, "parallel": K, "depth": K}
"""The numeric settings of a `search`: the maximum number of expanded states, how many of them at the same
time, and the maximum depth of a state."""
SELECTIONS: dict[str, SettingRule | None] = {
    "uct": SettingRule((FLOAT,), least=0, most=MOST),
    "beam": SettingRule((INT,), 1, MOST),
    "best": None,
    "depth": None,
}
"""The selection strategies, and their numeric parameter."""
BACKUPS = ("mean", "max")
"""How the value of a state is computed once it has descendants."""


def selections(node: e.Expression) -> Iterator[tuple[str, e.Expression | None]]:
    """The strategies among which an expression chooses, each with its number; an empty name for an invalid
    one."""
    match node:
        case e.Conditional(then=then, otherwise=otherwise):
            yield from selections(then)
            yield from selections(otherwise)
        case e.Call(function=function, arguments=(e.Argument(name=None, value=value),)) if (
            SELECTIONS.get(function.text) is not None
        ):
            yield function.text, value
        case e.Reference(name=name) if name in SELECTIONS and SELECTIONS[name] is None:
            yield name, None
        case _:
            yield "", None


def strategy_words(node: e.Node) -> frozenset[tuple[str, int]]:
    """The places of `beam`, `best` and the like in a part of a program, where they are not names."""
    pending = [
        clause.value
        for search in walk(node)
        if isinstance(search, n.Search)
        for clause in search.clauses
        if clause.name.text == "select"
    ]
    found = set[tuple[str, int]]()
    for choice in pending:
        match choice:
            case e.Conditional(then=then, otherwise=otherwise):
                pending += [then, otherwise]
            case e.Call(function=word) | (e.Reference() as word):
                found.add((word.span.source, word.span.start))
    return frozenset(found)


def selected(node: e.Expression) -> tuple[e.Expression, e.Expression]:
    """The name of the strategy that an expression chooses, and its number, as expressions; 0 if it has
    none."""
    if isinstance(node, e.Conditional):
        (name, number), (other, more) = selected(node.then), selected(node.otherwise)
        return (
            e.Conditional(node.span, name, node.condition, other),
            e.Conditional(node.span, number, node.condition, more),
        )
    ((way, value),) = selections(node)
    return e.Constant(node.span, way), value if value is not None else e.Constant(node.span, 0)


@final
class Search(Step, frozen=True):
    """A tree whose root is the input thought; `name` is the current state in its blocks. `strategy` names one
    of `SELECTIONS`, `amount` is its number. The output of `value` is scored by the state's value."""

    name: str
    until: e.Expression | None
    rollouts: e.Expression
    strategy: e.Expression
    amount: e.Expression
    parallel: e.Expression
    depth: e.Expression | None
    backup: str
    expand: Region
    simulate: Region | None
    value: Region

    @property
    def regions(self) -> tuple[Region, ...]:
        """The blocks, in the order in which a state goes through them."""
        return (self.expand, *([self.simulate] if self.simulate is not None else []), self.value)

    def with_regions(self, change: Callable[[Region], Region]) -> Search:
        """The step with its blocks changed."""
        expand, *simulate, value = map(change, self.regions)
        return replace(self, expand=expand, simulate=simulate[0] if simulate else None, value=value)

    @property
    def bound_names(self) -> tuple[str, ...]:
        """The state."""
        return (self.name,)

    def names_seen_by(self, expression: e.Expression) -> Collection[str]:
        """`until` is evaluated for each state."""
        return {*GIVEN, self.name} if expression is self.until else GIVEN


def _verify(step: Search, v: Verifying) -> PoolType:
    for node, wanted in (
        (step.rollouts, INT),
        (step.strategy, STR),
        (step.amount, FLOAT),
        (step.parallel, INT),
    ):
        v.expect(node, v.whole, wanted)
    if step.depth is not None:
        v.expect(step.depth, v.whole, INT)
    if not v.pool.single:
        raise v.fail("a search starts from one thought")
    state = PoolType(step.type, True)
    v.fits(step.type, v.pool.type, "the root")
    for region in step.regions:
        left = v.inside({region.entry: state, step.name: state}).region(region)
        if region is not step.value:
            v.fits(step.type, left.type, "a state")
        if region is not step.expand and not left.single:
            raise v.fail("a state's value is any number of thoughts")
    if step.until is not None:
        inner = v.inside({step.name: state})
        inner.expect(step.until, inner.whole_of(state), BOOL)
    return state


# ---------------------------------------------------------------- estimate

_MOST_WIDENED = 3


@final
class _Expansion(Struct, frozen=True):
    """The estimate for one state: the number of its children and one of them, the cost of expanding a state
    and of evaluating one, and the sequential model calls of both."""

    count: Amount
    child: Flow
    expanding: Bill
    valuing: Bill
    hops: Amount
    valued: Amount


def _expansion(step: Search, state: Flow, scope: FlowScope, e: Estimating) -> _Expansion:
    def through(region: Region, start: Flow) -> Result:
        return e.region(region, scope.inside({region.entry: start, step.name: start}, start.hops))

    found, expanding = through(step.expand, state)
    child = reached = replace(found.one, kept=None, scorer=None)
    valuing = Bill()
    if step.simulate is not None:
        reached, valuing = through(step.simulate, child)
        reached = replace(reached, single=True)
    valued, cost = through(step.value, reached)
    low = found.count.low if found.count.bounds[0] > 0 else ZERO.low
    hops = Amount(valued.hops.low if found.count.bounds[0] > 0 else found.hops.low, valued.hops.high)
    return _Expansion(
        Amount(low, found.count.high), reached, expanding, valuing + cost, hops - state.hops, valued.count
    )


def _estimate(step: Search, scope: FlowScope, e: Estimating) -> Result:
    pool = scope.flow(step.pool)
    whole = scope.whole(pool)
    floor = hops_before(own_expressions(step), pool, scope)
    floor = floor.up_to(pool.hops)
    state = replace(pool.one, hops=floor, start=False)
    one = _expansion(step, state, scope, e)
    for left in reversed(range(_MOST_WIDENED)):
        each = state.each.or_(one.child.each) if left else NOTHING_KNOWN
        if each == state.each:
            break
        state = replace(state, each=each, volume=Amount(state.volume.low, None))
        one = _expansion(step, state, scope, e)
    expansions, waves = _expansions(step, whole, one, e)
    bill = one.expanding.times(expansions) + one.valuing.times(expansions * one.count)
    volume = Amount(one.child.volume.low, None)
    found = Flow(ONE, one.child.each, floor + one.hops * waves, volume, step.single)
    return found, bill


def _expansions(step: Search, whole: FlowScope, one: _Expansion, e: Estimating) -> tuple[Amount, Amount]:
    """The number of expanded states, and of waves."""
    rollouts, parallel = e.amount(step.rollouts, whole), e.amount(step.parallel, whole)
    deepest = e.amount(step.depth, whole).bounds[1] if step.depth is not None else math.inf
    strategy, (least, most) = e.guess(step.strategy, whole), one.count.bounds
    certain = least == most and one.valued.bounds[0] >= 1 and strategy.known and rollouts.number is not None
    number = rollouts.bounds[1]
    if certain and parallel.number is not None and number <= MOST:
        beam = strategy.value == "beam"
        width = e.amount(step.amount, whole).number if beam else parallel.number
        if width is not None:
            known = step.depth is None or e.amount(step.depth, whole).number is not None
            expanded, waves = _grown(beam, int(number), most, deepest, int(width))
            exact = step.until is None and known
            same = rollouts if expanded == number else Amount.of(expanded)
            # If states are dead ends, the same number takes more waves, but no wave is empty.
            longest = Amount.of(min(expanded, deepest)).high if beam and deepest < expanded else same.high
            fewest = same if waves == expanded else Amount.of(waves)
            if exact:
                return same, Amount(fewest.low, longest)
            return Amount(ONE.low, same.high), Amount(ONE.low, longest)
    low = (
        rollouts.low
        if step.until is None and step.depth is None and least >= 1 and one.valued.bounds[0] >= 1
        else ONE.low
    )
    if not strategy.known or strategy.value == "beam":
        low = ONE.low
    return Amount(low, rollouts.high), Amount(ONE.low, rollouts.high)


def _grown(beam: bool, rollouts: int, children: float, deepest: float, width: int) -> tuple[int, int]:
    """The number of expanded states, and of waves, of a tree with this number of children per state."""
    levels = {0: 1.0}
    expanded = waves = 0
    while expanded < rollouts and levels:
        left = width if not beam or waves else 1
        waves += 1
        fresh: dict[int, float] = {}
        for depth in sorted(levels, reverse=True):
            taken = min(levels[depth], left, rollouts - expanded)
            expanded, left = expanded + int(taken), left - int(taken)
            levels[depth] -= taken
            if depth + 1 < deepest:
                fresh[depth + 1] = taken * children
        for depth, states in fresh.items():
            levels[depth] = states + (0 if beam else levels.get(depth, 0))
        levels = {
            depth: states for depth, states in levels.items() if states > 0 and (not beam or depth in fresh)
        }
    return expanded, waves


def _remaining(step: Search, remaining: Remaining) -> int:
    return remaining.rounds(step.rollouts) * sum(map(remaining.through, step.regions))


BLOCK = BlockRecord(
    name="search",
    usage="`search state from root until condition, rollouts n, select uct(c):`",
    doc="a tree of states, of which the most promising is expanded next",
    step=Search,
    text="search {name:name} from {pool}[ until {until}], rollouts {rollouts}, select {strategy}, {amount}, "
    "parallel {parallel}[, depth {depth}], backup {backup:name}",
    verify=_verify,
    effects=grows,
    estimate=_estimate,
    remaining=_remaining,
    label=lambda step: StepLabel("", f"{step.name}, rollouts = {format_expression(step.rollouts)}"),
)
