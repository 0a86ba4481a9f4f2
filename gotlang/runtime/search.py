"""`search`: a tree of states that grows in waves.

A wave is the set of states that are expanded at the same time. It is chosen when the previous wave has ended,
by the tree alone, so the result does not depend on which call ends first.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple, final

from msgspec import Struct, field

from gotlang.errors import EvaluationError, OperationFailed
from gotlang.ir import program as ir
from gotlang.ir.evaluate import Layer
from gotlang.operations.checks import count, number
from gotlang.runtime.context import cut_off
from gotlang.runtime.execution import whole
from gotlang.runtime.expansion import Element, Expander
from gotlang.runtime.graph import DONE, Frame, Handle, Operation, handle_of, path_key
from gotlang.runtime.spaces import Ranks
from gotlang.thought import Thought, Thoughts, raise_beyond


@final
class _State(Struct, eq=False):
    """A state of the tree. `place` is its position among the children, from the root down; `marks` separate
    its samples from others; `made` is the operation that yields its thought, and `reached` the thought that
    its value is of. `visits`, `total` and `most` are of its own value and those of its descendants; `leaves`
    counts the descendants that may be expanded next, `virtual` those that are chosen for this wave."""

    thought: Thought
    parent: _State | None = None
    place: tuple[int, ...] = ()
    marks: tuple[str | int, ...] = ()
    made: Operation | None = None
    reached: Thought | None = None
    children: list[_State] | None = None
    value: float = -math.inf
    visits: int = 0
    total: float = 0.0
    most: float = -math.inf
    leaves: int = 0
    virtual: int = 0

    def up(self) -> Iterator[_State]:
        """The state and its ancestors."""
        state: _State | None = self
        while state is not None:
            yield state
            state = state.parent

    def open(self, change: int) -> None:
        """Mark it as expandable, or not."""
        for state in self.up():
            state.leaves += change


class _Value(NamedTuple):
    """The evaluation of a new state: its frames, the operation of the state that is judged, and that of its
    value."""

    state: _State
    frames: list[Frame]
    reached: Operation
    worth: Operation


@final
class _Tree(Struct, eq=False):
    """The states of one search, and the rules by which the next ones are chosen."""

    root: _State
    strategy: str
    amount: float
    backup: str
    states: list[_State] = field(default_factory=list)
    level: list[_State] = field(default_factory=list)
    """The states that the last wave created."""
    worst: float = math.inf
    _queue: list[tuple[float, float, int, _State]] = field(default_factory=list)

    def begin(self) -> None:
        """Add the root, which is expanded first."""
        self._open(self.root)

    def _open(self, state: _State) -> None:
        state.open(1)
        self.level.append(state)
        if self.strategy in ("best", "depth"):
            deep = -len(state.place) if self.strategy == "depth" else 0
            heapq.heappush(self._queue, (deep, -state.value, len(self.states), state))

    def add(self, state: _State, *, deeper: bool) -> None:
        """Add a state with its value, which counts for all its ancestors; with `deeper` it may be
        expanded."""
        self.states.append(state)
        self.worst = min(self.worst, state.value)
        for above in state.up():
            above.visits += 1
            above.total += state.value
            above.most = max(above.most, state.value)
        if deeper:
            self._open(state)

    def wave(self, most: int, parallel: int) -> list[_State]:
        """The states to expand next, as many at the same time as allowed."""
        if self.strategy == "beam":
            best = sorted(self.level, key=lambda state: -state.value)[: min(most, int(self.amount))]
            for state in self.level:
                state.open(-1)
        else:
            best = []
            while len(best) < min(most, parallel) and self.root.leaves:
                best.append(heapq.heappop(self._queue)[3] if self._queue else self._by_bounds())
                best[-1].open(-1)
                for state in best[-1].up():
                    state.virtual += 1
        self.level = []
        for state in best:
            for above in state.up():
                above.virtual = 0
        return best

    def _by_bounds(self) -> _State:
        """Descend the tree by the upper confidence bounds (Kocsis and Szepesvari 2006)."""
        state = self.root
        while state.children is not None:
            around = math.log(max(1, state.visits + state.virtual))
            state = max(
                (child for child in state.children if child.leaves), key=lambda s: self._bound(s, around)
            )
        return state

    def _bound(self, state: _State, around: float) -> float:
        visits = state.visits + state.virtual
        if self.backup == "max":
            value = state.most
        else:
            # A chosen state already counts as if it had the worst value (Chaslot et al. 2008).
            value = (state.total + (state.virtual * self.worst if state.virtual else 0.0)) / visits
        return value + self.amount * math.sqrt(around / visits)


def search(x: Expander, step: ir.Search, frame: Frame, pool: Handle) -> Handle:
    """`search`: wave after wave, each laid out once the previous one has ended."""
    join = x.graph.add(Operation(step, "join", frame, step.result, frame.origin), (), held=1)
    start = x.grow(step, frame, x.waits(step, frame, True), _SearchRun(x, step, join).begin)
    x.graph.connect((start,), join)
    return handle_of(join, step.single)


@final
class _SearchRun:
    """One `search` while it runs."""

    def __init__(self, x: Expander, step: ir.Search, join: Operation) -> None:
        self.x = x
        self.step = step
        self.join = join
        self.number = 0

    def begin(self, grow: Operation) -> None:
        """Lay out the root and the first wave."""
        step, evaluate = self.step, self.x.context.evaluate
        thoughts = grow.frame.pool(step.pool).operation.output
        names = whole(grow.frame, thoughts)
        self.frame = grow.frame
        self.left = count(evaluate(step.rollouts, names), "rollouts", 1)
        self.parallel = count(evaluate(step.parallel, names), "parallel", 1)
        self.depth = count(evaluate(step.depth, names), "depth", 1) if step.depth is not None else None
        strategy, amount = evaluate(step.strategy, names), number(evaluate(step.amount, names), "`select`")
        if amount < (strategy == "beam"):
            raise EvaluationError(f"`select {strategy}({amount})` needs a larger number")
        root = _State(thoughts[0], made=grow.frame.pool(step.pool).operation)
        self.tree = _Tree(root, strategy, amount, step.backup)
        self.tree.begin()
        self._wave(grow)

    def _wave(self, grow: Operation) -> None:
        """Lay out the next wave, and an operation that waits for its end."""
        x, step = self.x, self.step
        states = self.tree.wave(self.left, self.parallel)
        self.left -= len(states)
        self.number += 1
        end = Operation(step, "wave", self.frame, (step.result, "wave", self.number), grow)
        expanded: list[tuple[_State, list[_Value]]] = [(state, []) for state in states]
        x.graph.work[end] = lambda operation: self._end(operation, expanded)
        parts = [self._expand(state, found, end, grow) for state, found in expanded]
        x.graph.add(end, parts)
        x.graph.move(grow, self.join, end)

    def _frame(self, state: _State, word: str, grow: Operation, operation: Operation) -> Frame:
        """The names of a part of the search for one state."""
        step, handle = self.step, handle_of(operation, True)
        key = (step.result, *state.place, word)
        rest = self.x.remaining.after(step)
        return self.frame.inside(key, {step.name: handle}, grow, rest, "search", word, *state.marks)

    def _expand(self, state: _State, found: list[_Value], end: Operation, grow: Operation) -> Operation:
        """Lay out the expansion of a state; returns the operation that then lays out the evaluation."""
        x, step = self.x, self.step
        assert state.made is not None
        inner = self._frame(state, "expand", grow, state.made)
        left = self._region(step.expand, inner, state.made)
        values = Operation(step, "rescue", inner, (step.result, "states"), grow)

        def work(operation: Operation) -> Thoughts | None:
            if left.state != DONE or not left.output:  # it failed, or was skipped
                x.context.handled.append(path_key(inner))
                return None
            ranks = Ranks()
            for at, thought in enumerate(left.output):
                marks = (*state.marks, *ranks.marks(thought.value))
                found.append(self._value(_State(thought, state, (*state.place, at), marks), operation))
            # A `value` need not use the output of `simulate`.
            x.graph.connect([each for value in found for each in (value.reached, value.worth)], end)
            return left.output

        x.graph.work[values] = work
        return x.graph.add(values, (left,))

    def _value(self, state: _State, grow: Operation) -> _Value:
        """Lay out the simulation and the evaluation of a new state."""
        x, step, frames = self.x, self.step, list[Frame]()
        place = self.frame.inside((step.result, *state.place), {}, grow)
        state.made = reached = x.element(place, Element((state.thought,)), grow)
        if step.simulate is not None:
            frames.append(self._frame(state, "simulate", grow, reached))
            reached = self._region(step.simulate, frames[-1], reached)
        frames.append(self._frame(state, "value", grow, reached))
        return _Value(state, frames, reached, self._region(step.value, frames[-1], reached))

    def _region(self, region: ir.Region, frame: Frame, start: Operation) -> Operation:
        frame.names[region.entry] = handle_of(start, True)
        return self.x.region(region, frame).operation

    def _end(self, end: Operation, expanded: Iterable[tuple[_State, list[_Value]]]) -> Thoughts:
        """Process the results of a wave, and continue or return the best; the new states with their
        values."""
        tree, solved, new = self.tree, list[_State](), list[Thought]()
        stopped = any(cut_off(error) for lost in end.inputs for _, error in self.x.context.causes(lost))
        for state, found in expanded:
            state.children = []
            for child, frames, reached, worth in found:
                if not (worth.state == reached.state == DONE and worth.output and reached.output):
                    self.x.context.handled += map(path_key, frames)
                    continue
                raise_beyond(worth.output)
                judged = worth.output[0]
                child.value = judged.goodness
                child.thought = _valued(child.thought, judged)
                child.reached = _valued(reached.output[0], judged)
                state.children.append(child)
                new.append(child.thought)
                tree.add(child, deeper=self.depth is None or len(child.place) < self.depth)
                if self._holds(child.reached):
                    solved.append(child)
        if not (solved or stopped) and self.left and tree.root.leaves:
            self._wave(end)
            return Thoughts(new)
        best = max(solved or self._ends() or tree.states, key=lambda state: state.value, default=None)
        if best is None or best.reached is None:
            raise OperationFailed("the root leaves no state that has a value")
        name = (self.step.result, "state")
        self.x.fill(self.join, [self.x.graph.constant((best.reached,), self.frame, name, end)])
        return Thoughts(new)

    def _ends(self) -> list[_State]:
        """The states without successors; all states if each was followed to its end."""
        if self.step.simulate is not None:
            return self.tree.states
        return [s for s in self.tree.states if s.children == [] or len(s.place) == self.depth]

    def _holds(self, thought: Thought) -> bool:
        """Whether a state ends the search."""
        if self.step.until is None:
            return False
        names = {self.step.name: thought, "it": thought, "thoughts": Thoughts([thought])}
        return bool(self.x.context.evaluate(self.step.until, Layer(names, self.frame)))


def _valued(thought: Thought, judged: Thought) -> Thought:
    """A state with the score of the thought that was judged for it."""
    return thought.known(score=judged.score, lower=judged.lower, claim=judged.claim)
