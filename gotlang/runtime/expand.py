"""Grows the execution graph: each block of the program becomes operations as soon as its shape is known.

What depends on nothing but constants is laid out at once. What depends on an answer (a `foreach` over a list
that a model writes, an `if` on its verdict, a recursion) becomes a `grow` operation, which adds its
operations when it runs, and a `join`, which stands for their result from the start. An operation that grows
the graph adds only between itself and its own join: its exclusive descendants, as the rules in section 3.2
of Framework of Thoughts ask.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, final

from gotlang.errors import EvaluationError
from gotlang.ir import program as ir
from gotlang.ir.evaluate import Layer
from gotlang.ir.names import free_names, needed_names
from gotlang.ir.thought import Thought, Thoughts, named_thoughts
from gotlang.runtime.asking import positive
from gotlang.runtime.context import Context
from gotlang.runtime.frame import Frame, Handle
from gotlang.runtime.graph import Operation
from gotlang.runtime.local import bound_thoughts, derived
from gotlang.syntax import expressions as e

MAX_DEPTH = 200
"""How deep schemes may call schemes."""
EAGER_DEPTH = 8
"""After so many calls inside each other the next one waits for its turn, so that no stack grows too high."""


@final
class Expander:
    """Turns regions into operations of one run's graph."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.graph = context.graph
        self._needed: dict[int, tuple[str, ...]] = {}
        self._blocks: dict[type, Callable[[Any, Frame, Handle], Handle]] = {
            ir.Foreach: self._foreach,
            ir.Reduce: self._reduce,
            ir.Loop: self._loop,
            ir.Branch: self._branch,
            ir.Group: self._group,
            ir.Invoke: self._invoke,
        }
        self.models_in = {score.name for score in context.program.scores if score.body.steps}

    def region(self, region: ir.Region, frame: Frame) -> Handle:
        """Lay out a block; the handle of what it yields. Its entry is bound in the frame already."""
        for step in region.steps:
            frame.names[step.result] = self.step(step, frame)
        found: Handle = frame.find(region.result)
        return found

    def step(self, step: ir.AnyStep, frame: Frame) -> Handle:
        """Lay out one step."""
        pool: Handle = frame.find(step.pool)
        block = self._blocks.get(type(step))
        if block is not None:
            return block(step, frame, pool)
        if isinstance(step, ir.Rate) and step.score in self.models_in:
            return self._rate(step, frame, pool)
        operation = Operation(step, type(step).__name__.lower(), frame, step.result, frame.origin)
        self.graph.add(operation, (pool.operation, *self._waits(step, frame)))
        return Handle(operation, step.single)

    # ---------------------------------------------------------------- what waits for what

    def _waits(self, step: ir.AnyStep, frame: Frame) -> list[Operation]:
        """The operations behind the names that a step's own expressions use."""
        names = self._needed.get(id(step))
        if names is None:
            names = self._needed[id(step)] = needed_names(step)
        return self._behind(names, frame)

    @staticmethod
    def _behind(names: Iterable[str], frame: Frame) -> list[Operation]:
        found = []
        for name in names:
            try:
                bound = frame.find(name)
            except KeyError:
                continue
            if isinstance(bound, Handle):
                found.append(bound.operation)
        return found

    def _later(
        self,
        step: ir.AnyStep,
        frame: Frame,
        waits: list[Operation],
        build: Callable[[Operation | None], list[Operation]],
    ) -> Operation:
        """The join of the operations that `build` adds: now where nothing has to be waited for."""
        join = Operation(step, "join", frame, step.result, frame.origin)
        if all(operation.constant for operation in waits):
            join.parts = build(frame.origin)
            return self.graph.add(join, join.parts)
        grow = Operation(step, "grow", frame, (step.result, "grow"), frame.origin)

        def run(operation: Operation) -> None:
            parts = build(operation)
            join.parts = parts
            self.graph.connect(parts, join)
            waiting, join.on_parts = join.on_parts, None
            for callback in waiting or ():
                callback(parts, operation)

        grow.grow = run
        self.graph.add(grow, waits)
        return self.graph.add(join, (grow,))

    def _joined(self, frame: Frame, name: Any, parts: list[Operation], origin: Operation | None) -> Operation:
        join = Operation(None, "join", frame, name, origin)
        join.parts = parts
        return self.graph.add(join, parts)

    # ---------------------------------------------------------------- foreach

    def _foreach(self, step: ir.Foreach, frame: Frame, pool: Handle) -> Handle:
        waits = [pool.operation] if step.iterable is None or _uses_pool(step.iterable) else []
        waits += self._waits(step, frame)

        def build(grow: Operation | None) -> list[Operation]:
            tails: list[Operation] = []
            for index, (thoughts, value) in enumerate(self._elements(step, frame, pool)):
                names: dict[str, Any] = {}
                inner = frame.inside((step.result, index), names, grow)
                element = self._constant(inner, thoughts, value, grow)
                names[step.name] = Handle(element, True)
                if step.position is not None:
                    names[step.position] = index
                if step.after is not None:
                    names["done"] = Handle(self._done(step, inner, element, tails, grow), False)
                tails.append(self.region(step.body, inner).operation)
            return tails

        return Handle(self._later(step, frame, waits, build), False)

    def _constant(
        self, frame: Frame, thoughts: tuple[Thought, ...], value: _Value | None, grow: Operation | None
    ) -> Operation:
        """An element: the thought itself, or (where `value` is given) a new one made from thoughts."""
        element = self.graph.constant(thoughts, frame, "element", grow)
        if value is not None:
            element.output = Thoughts([derived(element, value.value, 0, thoughts)])
        return element

    def _elements(
        self, step: ir.Foreach | ir.Reduce, frame: Frame, pool: Handle
    ) -> list[tuple[tuple[Thought, ...], _Value | None]]:
        """What a block goes through: thoughts, or values with the thoughts they were taken from."""
        if step.iterable is None:
            return [((thought,), None) for thought in pool.operation.output]
        names = whole_of(pool, frame)
        bound = bound_thoughts(self.context, step.iterable, names)
        if bound is not None and not (len(bound) == 1 and isinstance(bound[0].value, list)):
            return [((thought,), None) for thought in bound]
        values = self.context.evaluate(step.iterable, names)
        if not isinstance(values, list):
            raise EvaluationError(f"only a list can be gone through, not {values!r:.60}")
        parents = tuple(
            thought
            for name in free_names(step.iterable)
            for thought in named_thoughts(names, name)
            if thought.value is not None
        )
        return [(parents, _Value(value)) for value in values]

    def _done(
        self,
        step: ir.Foreach,
        frame: Frame,
        element: Operation,
        tails: list[Operation],
        grow: Operation | None,
    ) -> Operation:
        """The results of the earlier elements that an element waits for; an empty thought for any other
        position, so that each keeps its place."""
        assert step.after is not None
        positions = self.context.evaluate(step.after, Layer({step.name: element.output[0]}, frame))
        if not isinstance(positions, list):
            raise EvaluationError("`after` takes a list of positions")
        parts = []
        for number, position in enumerate(positions):
            if isinstance(position, int) and 0 <= position < len(tails):
                parts.append(tails[position])
            else:
                missing = self.graph.constant((), frame, ("missing", number), grow)
                missing.output = Thoughts([Thought(None, missing)])
                parts.append(missing)
        return self._joined(frame, "done", parts, grow)

    # ---------------------------------------------------------------- reduce

    def _reduce(self, step: ir.Reduce, frame: Frame, pool: Handle) -> Handle:
        source = pool.operation
        if isinstance(step.iterable, e.Reference):
            bound = frame.find(step.iterable.name)
            source = bound.operation if isinstance(bound, Handle) else source
        if (step.iterable is None or isinstance(step.iterable, e.Reference)) and _one_each(source):
            return Handle(self._reduce_parts(step, frame, source), True)
        waits = [pool.operation] if step.iterable is None or _uses_pool(step.iterable) else []
        waits += self._waits(step, frame)

        def build(grow: Operation | None) -> list[Operation]:
            items = []
            for index, (thoughts, value) in enumerate(self._elements(step, frame, pool)):
                inner = frame.inside((step.result, "element", index), {}, grow)
                items.append(self._constant(inner, thoughts, value, grow))
            return [self._tree(step, frame, items, grow)]

        return Handle(self._later(step, frame, waits, build), True)

    def _reduce_parts(self, step: ir.Reduce, frame: Frame, source: Operation) -> Operation:
        """Merge neighbours as soon as both are there: the shape is known before the thoughts are."""
        if source.parts is not None:
            return self._tree(step, frame, source.parts, frame.origin)
        join = Operation(step, "join", frame, step.result, frame.origin)
        self.graph.add(join, source.inputs)  # the operation that will add those parts

        def build(parts: list[Operation], grow: Operation) -> None:
            join.parts = [self._tree(step, frame, parts, grow)]
            self.graph.connect(join.parts, join)

        if source.on_parts is None:
            source.on_parts = []
        source.on_parts.append(build)
        return join

    def _tree(
        self, step: ir.Reduce, frame: Frame, items: list[Operation], grow: Operation | None
    ) -> Operation:
        if not items:
            raise EvaluationError("`reduce` has nothing to merge")
        level = 0
        while len(items) > 1:
            level += 1
            merged: list[Operation] = []
            for position in range(0, len(items) - 1, 2):
                left, right = items[position], items[position + 1]
                names: dict[str, Any] = {step.left: Handle(left, True), step.right: Handle(right, True)}
                place = position // 2 + 1
                inner = frame.inside((step.result, level, place), names, grow)
                names[step.body.entry] = Handle(self._joined(inner, "pair", [left, right], grow), False)
                if step.step is not None:
                    names[step.step] = {"level": level, "position": place, "last": len(items) == 2}
                merged.append(self.region(step.body, inner).operation)
            if len(items) % 2:
                merged.append(items[-1])
            items = merged
        return items[0]

    # ---------------------------------------------------------------- repeat, if, groups

    def _loop(self, step: ir.Loop, frame: Frame, pool: Handle) -> Handle:
        join = Operation(step, "join", frame, step.result, frame.origin)
        waits = self._behind(free_names(step.count), frame)
        if _uses_pool(step.count):
            waits.append(pool.operation)
        eager = all(operation.constant for operation in waits)
        self.graph.add(join, (), held=1)
        rounds = 0

        def finish(handle: Handle) -> None:
            join.parts = [handle.operation]
            self.graph.connect(join.parts, join)

        def advance(number: int, handle: Handle, grow: Operation | None) -> None:
            while number < rounds:
                names: dict[str, Any] = {step.body.entry: handle}
                if step.counter is not None:
                    names[step.counter] = number
                inner = frame.inside((step.result, number), names, grow)
                handle = self.region(step.body, inner)
                number += 1
                if step.until is not None and number < rounds:
                    test = Operation(step, "grow", inner, (step.result, "until"), inner.origin)
                    test.grow = lambda operation, n=number, h=handle, f=inner: (  # type: ignore[misc]
                        finish(h) if self._holds(step.until, h, f) else advance(n, h, operation)
                    )
                    self.graph.add(test, (handle.operation, *self._behind(free_names(step.until), inner)))
                    self.graph.connect((test,), join)
                    return
            finish(handle)

        def begin(grow: Operation | None) -> None:
            nonlocal rounds
            rounds = positive(self.context.evaluate(step.count, whole_of(pool, frame)), "repeat")
            advance(0, pool, grow)

        if eager:
            begin(frame.origin)
        else:
            start = Operation(step, "grow", frame, (step.result, "grow"), frame.origin)
            start.grow = begin
            self.graph.add(start, waits)
            self.graph.connect((start,), join)
        self.graph.release(join)
        return Handle(join, step.single)

    def _holds(self, condition: e.Expression | None, handle: Handle, frame: Frame) -> bool:
        return condition is not None and bool(self.context.evaluate(condition, whole_of(handle, frame)))

    def _branch(self, step: ir.Branch, frame: Frame, pool: Handle) -> Handle:
        waits = self._waits(step, frame)
        if any(_uses_pool(condition) for condition, _ in step.branches):
            waits.append(pool.operation)

        def build(grow: Operation | None) -> list[Operation]:
            for index, (condition, body) in enumerate(step.branches):
                if self._holds(condition, pool, frame):
                    return [self.region(body, frame.inside((step.result, index), {}, grow)).operation]
            if step.otherwise is not None:
                inner = frame.inside((step.result, len(step.branches)), {}, grow)
                return [self.region(step.otherwise, inner).operation]
            return [pool.operation]

        return Handle(self._later(step, frame, waits, build), step.single)

    def _group(self, step: ir.Group, frame: Frame, pool: Handle) -> Handle:
        names = {inner: frame.find(outer) for inner, outer in step.names}
        return Handle(self.region(step.body, frame.inside((step.label,), names, None)).operation, step.single)

    # ---------------------------------------------------------------- schemes and scores

    def _invoke(self, step: ir.Invoke, frame: Frame, pool: Handle) -> Handle:
        if frame.depth >= MAX_DEPTH:
            raise EvaluationError(f"schemes call each other more than {MAX_DEPTH} deep")
        one = pool.single or (pool.operation.constant and len(pool.operation.output) == 1)
        if one and (frame.depth + 1) % EAGER_DEPTH:
            return Handle(self._call(step, frame, pool, 0, frame.origin), step.single)

        def build(grow: Operation | None) -> list[Operation]:
            parts = []
            for index, thought in enumerate(pool.operation.output):
                inner = frame.inside((step.result, "it", index), {}, grow)
                element = self.graph.constant((thought,), inner, "element", grow)
                parts.append(self._call(step, inner, Handle(element, True), index, grow))
            return parts

        waits = [pool.operation, *self._waits(step, frame)]
        if all(operation.constant for operation in waits):
            # Nothing to wait for, but the stack is high: wait for a turn of the scheduler.
            waits = [self.graph.add(Operation(None, "join", frame, (step.result, "turn"), frame.origin), ())]
            waits[0].parts = []
        return Handle(self._later(step, frame, waits, build), step.single)

    def _call(
        self, step: ir.Invoke, frame: Frame, pool: Handle, index: int, grow: Operation | None
    ) -> Operation:
        scheme = self.context.program.scheme(step.scheme)
        names: dict[str, Any] = {}
        inner = Frame(
            self.root(frame),
            (*frame.path, (step.result, index)),
            names,
            grow if grow is not None else frame.origin,
            context=frame.context,
            depth=frame.depth + 1,
        )
        for name, value in step.arguments:
            names[name] = self._argument(name, value, frame, pool, inner)
        return self.scheme(scheme, inner).operation

    def scheme(self, scheme: ir.Scheme, frame: Frame) -> Handle:
        """Lay out a scheme whose parameters are bound in a frame."""
        start = self.graph.constant((), frame, "start", frame.origin)
        start.output = Thoughts([Thought(None, start)])
        frame.names[scheme.body.entry] = Handle(start, True)
        result = self.region(scheme.body, frame)
        if not scheme.collect:
            return Handle(result.operation, not scheme.many)
        collect = Operation(None, "collect", frame, "collect", frame.origin)
        self.graph.add(collect, (result.operation,))
        return Handle(collect, True)

    def _argument(self, name: str, value: e.Expression, frame: Frame, pool: Handle, inner: Frame) -> Any:
        """What a parameter is bound to: thoughts as they are, constants as values, the rest when it is known."""
        if isinstance(value, e.Reference) and value.name != "it":
            try:
                bound = frame.find(value.name)
            except KeyError:
                bound = None
            if bound is not None:
                return bound
        names = free_names(value)
        waits = self._behind(names, frame)
        if _uses_pool(value):
            waits.append(pool.operation)
        if not waits:
            return self.context.evaluate(value, frame)
        from gotlang.types import ANY

        step = ir.Gather(name, ANY, True, "", (value,), span=value.span)
        let = Operation(step, "gather", frame, (inner.path[-1], name), frame.origin)
        self.graph.add(let, (pool.operation, *waits))
        return Handle(let, True)

    @staticmethod
    def root(frame: Frame) -> Frame:
        """The frame that holds the params."""
        while frame.parent is not None:
            frame = frame.parent
        return frame

    def _rate(self, step: ir.Rate, frame: Frame, pool: Handle) -> Handle:
        """`Score` by a score that asks a model: its body once for each thought and sample."""
        assert step.score is not None
        score = self.context.program.score(step.score)

        def build(grow: Operation | None) -> list[Operation]:
            thoughts = pool.operation.output
            k = positive(self.context.evaluate(step.k, whole_of(pool, frame)), "k")
            numbers: list[Operation] = []
            for index, thought in enumerate(thoughts):
                names = Layer({"it": thought}, frame)
                values = {key: self._bind_value(value, names) for key, value in step.arguments}
                for sample in range(k):
                    inner = Frame(
                        self.root(frame),
                        (*frame.path, (step.result, index, sample)),
                        dict(values),
                        grow if grow is not None else frame.origin,
                        context=frame.context * k + sample,
                        depth=frame.depth,
                    )
                    start = self.graph.constant((), inner, "start", grow)
                    start.output = Thoughts([Thought(None, start)])
                    inner.names[score.body.entry] = Handle(start, True)
                    self.region(score.body, inner)
                    numbers.append(self._number(step, score, inner, start))
            rated = Operation(step, "rated", frame, (step.result, "rated"), grow)
            self.graph.add(rated, (pool.operation, *numbers))
            return [rated]

        waits = [pool.operation, *self._waits(step, frame)]
        return Handle(self._later(step, frame, waits, build), step.single)

    def _bind_value(self, value: e.Expression, names: Any) -> Any:
        """An argument as a thought where it is one, so that what came from what is not lost."""
        bound = bound_thoughts(self.context, value, names)
        if bound is not None and len(bound) == 1:
            return bound[0]
        return self.context.evaluate(value, names)

    def _number(self, step: ir.Rate, score: ir.Score, frame: Frame, start: Operation) -> Operation:
        value = ir.Gather("%score", step.type, True, score.body.entry, (score.value,), span=step.span)
        operation = Operation(value, "gather", frame, "score", frame.origin)
        names = [name for name in free_names(score.value) if name in frame.names]
        return self.graph.add(operation, (start, *self._behind(names, frame)))


@final
class _Value:
    """A value that an element stands for, told apart from none."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def whole_of(pool: Handle, frame: Frame) -> Any:
    """The names for what is evaluated once for a pool."""
    output = pool.operation.output
    if not output or output[0].value is None:
        return frame
    names: dict[str, Any] = {"thoughts": output}
    if len(output) == 1:
        names["it"] = output[0]
    return Layer(names, frame)


def _uses_pool(node: e.Expression) -> bool:
    names = free_names(node)
    if any(name in names for name in ("it", "thoughts", "score", "valid")):
        return True
    from gotlang.semantics.builtins import THOUGHT_FUNCTIONS
    from gotlang.syntax.walk import walk

    return any(isinstance(x, e.Call) and x.function.text in THOUGHT_FUNCTIONS for x in walk(node))


def _one_each(operation: Operation) -> bool:
    """Whether an operation joins the results of a `foreach` whose block leaves exactly one thought."""
    step = operation.step
    if operation.role != "join" or not isinstance(step, ir.Foreach):
        return False
    return region_single(step.body, True)


def region_single(region: ir.Region, entry_single: bool) -> bool:
    """Whether a block leaves exactly one thought, given whether it starts from one."""
    for step in reversed(region.steps):
        if step.result == region.result:
            return step.single
    return entry_single
