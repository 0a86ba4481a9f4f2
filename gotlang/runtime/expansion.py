"""Grows the execution graph: each block of the program becomes operations as soon as its shape is known.

Blocks that depend on constants alone are laid out at once. A block that depends on a response (a `foreach`
over a list that a model writes, an `if` on its verdict, a recursion) becomes a `grow` operation, which adds
operations when it runs, and a `join`, which represents their result from the start. A `grow` operation adds
only between itself and its own join: its exclusive descendants, as section 3.2 of Framework of Thoughts
requires.

A `grow` operation looks up names in its own frame, so that its connections may be moved.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, final

from msgspec import Struct

from gotlang.errors import EvaluationError, GotError, LimitExceeded
from gotlang.ir import program as ir
from gotlang.ir.evaluate import Layer
from gotlang.operations import record_of
from gotlang.operations.checks import count
from gotlang.operations.names import free_names, looks_at_pool, needed_names, own_expressions
from gotlang.operations.record import BlockRecord, Grows
from gotlang.operations.skip import guards, skipped_by
from gotlang.runtime.context import Context
from gotlang.runtime.execution import bound_thoughts, derived, whole
from gotlang.runtime.graph import DONE, FAILED, Frame, GraphFull, Handle, Operation, handle_of, path_key
from gotlang.runtime.spaces import Ranks, inside
from gotlang.syntax import expressions as e
from gotlang.thought import EmptyThought, Thought, Thoughts, named_thoughts
from gotlang.types import DYNAMIC

Layout = Callable[["Expander", Any, Frame, Handle], Handle]
"""Lays out a step that stands for several operations, from its frame and its pool."""
Build = Callable[[Frame, Operation | None], list[Operation]]
"""Adds the operations of a block, from the names in a frame and the operation that adds them (None if the
shape is known when the program is laid out). Returns those whose thoughts are the block's."""

MAX_DEPTH = 200
"""Maximum nesting depth of scheme calls."""
EAGER_DEPTH = 8
"""After this number of nested calls the next one waits for the scheduler, which bounds the depth of the
stack."""


class Uses(Struct, frozen=True):
    """The names that an expression uses, and whether it uses the current thoughts."""

    names: tuple[str, ...]
    pool: bool


@final
class Element(Struct, frozen=True, gc=False):
    """One element that a block iterates over: a thought, or a `value` with the thoughts it came from."""

    thoughts: tuple[Thought, ...]
    value: Any = None
    computed: bool = False

    @property
    def content(self) -> Any:
        """Its value."""
        return self.value if self.computed else self.thoughts[0].value


@final
class Expander:
    """Turns regions into operations of one run's graph.

    `grown` has, by name, the layout functions of steps that become several operations and have a file of
    their own: a `Score` that calls a model, a `Call` that changes graphs, `search`, `first`.
    """

    def __init__(self, context: Context, grown: Mapping[str, Layout | None] | None = None) -> None:
        self.context = context
        self.graph = context.graph
        self.tables = context.tables
        self.remaining = context.tables.remaining
        self._grown = grown or {}

    def region(self, region: ir.Region, frame: Frame) -> Handle:
        """Lay out a region whose entry is bound in the frame; returns the handle of its output."""
        for step in region.steps:
            frame.names[step.result] = self.step(step, frame)
        found = frame.pool(region.result)
        skipping = self.tables.guards.of(region, _guards)
        if not skipping:
            return found
        # A step that may skip the result decides whether there is one, even if the result does not use it.
        after = [frame.pool(name).operation for name in skipping]
        return handle_of(self.joined(frame, "result", [found.operation], frame.origin, after), found.single)

    def step(self, step: ir.Step, frame: Frame) -> Handle:
        """Lay out one step."""
        pool = frame.pool(step.pool)
        layout: Layout | None = self.tables.layouts.of(step, self._layout)
        if layout is not None:
            return layout(self, step, frame, pool)
        operation = Operation(step, type(step).__name__, frame, step.result, frame.origin)
        waits = behind(self.needs(step), frame)
        if not isinstance(step, ir.Pool) or any(self.uses(value).pool for value in step.values):
            waits.insert(0, pool.operation)
        else:
            operation.parts = ()
        self.graph.add(operation, waits)
        return handle_of(operation, step.single)

    def _layout(self, step: ir.Step) -> Layout | None:
        """The function that lays out a step that becomes several operations; None for one that is a single
        one."""
        record = record_of(step)
        if isinstance(record, BlockRecord):
            return BLOCKS.get(record.name) or self._grown[record.name]
        way = record.run(step, self.context.declared)
        return self._grown.get(way.layout) if isinstance(way, Grows) else None

    # ---------------------------------------------------------------- dependencies

    def waits(self, step: ir.Step, frame: Frame, on_pool: bool) -> list[Operation]:
        """The operations behind the names that a step's own expressions use, its pool's first if it waits for
        that."""
        waits = behind(self.needs(step), frame)
        return [frame.pool(step.pool).operation, *waits] if on_pool else waits

    def needs(self, step: ir.Step) -> tuple[str, ...]:
        """The names that a step's own expressions use."""
        return self.tables.needs.of(step, needed_names)

    def uses(self, node: e.Expression) -> Uses:
        """What an expression of the program uses."""
        uses: Uses = self.tables.uses.of(node, _uses)
        return uses

    def waits_for(self, node: e.Expression, frame: Frame, pool: Handle) -> list[Operation]:
        """The operations behind what an expression uses, the pool's first."""
        uses = self.uses(node)
        waits = behind(uses.names, frame)
        return [pool.operation, *waits] if uses.pool else waits

    # ---------------------------------------------------------------- deferred layout

    def later(self, step: ir.Step, frame: Frame, waits: list[Operation], build: Build) -> Operation:
        """The join of the operations that `build` adds: at once if there is nothing to wait for."""
        join = Operation(step, "join", frame, step.result, frame.origin)
        if all(operation.constant for operation in waits):
            self.graph.add(join, (), held=1)
            self.attempt(join, lambda: self.fill(join, build(frame, frame.origin)))
            return join

        def work(operation: Operation) -> None:
            self.fill(join, build(operation.frame, operation))
            for tell in self.graph.on_parts.pop(join, ()):
                tell()

        return self.graph.add(join, (self.grow(step, frame, waits, work),), held=1)

    def grow(
        self,
        step: ir.Step,
        frame: Frame,
        waits: Collection[Operation],
        work: Callable[[Operation], None],
        name: str = "grow",
    ) -> Operation:
        """Add an operation that does `work`, which adds more, when it runs."""
        operation = Operation(step, "grow", frame, (step.result, name), frame.origin)
        self.graph.work[operation] = work
        return self.graph.add(operation, waits)

    def fill(self, join: Operation, parts: list[Operation]) -> None:
        """Give a deferred join the operations it joins."""
        join.parts = parts
        self.graph.connect(parts, join)
        self.graph.release(join)

    def attempt(self, join: Operation, work: Callable[[], None]) -> None:
        """Add the operations of a join; if that fails none is added, and the join fails."""
        try:
            with self.graph.all_or_nothing():
                work()
        except GraphFull:
            raise  # the enclosing blocks have no room either
        except GotError as error:
            self.context.lost(join, error)

    def joined(
        self,
        frame: Frame,
        name: Any,
        parts: Sequence[Operation],
        origin: Operation | None,
        after: Sequence[Operation] = (),
    ) -> Operation:
        """The thoughts of several operations as those of one, which waits for `after` too."""
        join = Operation(None, "join", frame, name, origin)
        join.parts = parts
        return self.graph.add(join, (*parts, *after))

    # ---------------------------------------------------------------- constants

    def element(self, frame: Frame, element: Element, grow: Operation | None) -> Operation:
        """An element: the thought itself, or a new one with its value."""
        operation = self.graph.constant(element.thoughts, frame, "element", grow)
        if element.computed:
            operation.output = Thoughts((derived(operation, element.value, 0, element.thoughts),))
        return operation

    def empty(self, frame: Frame, name: Any, origin: Operation | None) -> Operation:
        """The empty thought, which a pipeline starts with."""
        operation = self.graph.constant((), frame, name, origin)
        operation.output = Thoughts([EmptyThought(None, operation)])
        return operation


def _guards(region: ir.Region) -> list[str]:
    return [step.result for step in guards(region)]


def _uses(node: e.Expression) -> Uses:
    return Uses(tuple(free_names(node)), looks_at_pool(node))


def behind(names: Iterable[str], frame: Frame) -> list[Operation]:
    """The operations whose thoughts names refer to."""
    return [handle.operation for name in names if (handle := frame.handle(name)) is not None]


# -------------------------------------------------------------------- foreach


def foreach(x: Expander, step: ir.Foreach, frame: Frame, pool: Handle) -> Handle:
    """`foreach`: the body once per thought or element."""
    rest = x.remaining.after(step)

    def build(frame: Frame, grow: Operation | None) -> list[Operation]:
        tails: list[Operation] = []
        ranks = Ranks()
        pairs = step.position is not None or step.parts
        for index, found in enumerate(_elements(x, step, frame)):
            names: dict[str, Any] = {}
            marks = ranks.marks(content := found.content)
            inner = frame.inside((step.result, index), names, grow, rest, "element", *marks)
            names[step.name] = element = x.element(inner, found, grow)
            if pairs:
                names |= step.values(index, content)
            if step.after is not None:
                names["done"] = handle_of(_done(x, step, step.after, inner, element, tails, grow), False)
            tails.append(x.region(step.body, inner).operation)
        return tails

    return handle_of(x.later(step, frame, _list_waits(x, step, frame), build), False)


def _list_waits(x: Expander, step: ir.Foreach | ir.Reduce, frame: Frame) -> list[Operation]:
    """The operations that a block waits for that iterates over its pool, or over a list."""
    return x.waits(step, frame, step.iterable is None or x.uses(step.iterable).pool)


def _elements(x: Expander, step: ir.Foreach | ir.Reduce, frame: Frame) -> list[Element]:
    """The elements that a block iterates over."""
    thoughts = frame.pool(step.pool).operation.output
    if step.iterable is None:
        return [Element((thought,)) for thought in thoughts]
    names = whole(frame, thoughts)
    bound = bound_thoughts(x.context, step.iterable, names)
    if bound is not None and (
        isinstance(bound, Thoughts) or not (len(bound) == 1 and isinstance(bound[0].value, list))
    ):
        return [Element((thought,)) for thought in bound]
    values = x.context.evaluate(step.iterable, names)
    if not isinstance(values, list):
        raise EvaluationError(f"expected a list to iterate over, not {values!r:.60}")
    used = (thought for name in free_names(step.iterable) for thought in named_thoughts(names, name))
    parents = tuple(thought for thought in used if not thought.empty)
    return [Element(parents, value, True) for value in values]


def _done(
    x: Expander,
    step: ir.Foreach,
    after: e.Expression,
    frame: Frame,
    element: Operation,
    tails: list[Operation],
    grow: Operation | None,
) -> Operation:
    """The results of the earlier elements that an element waits for; an empty thought for any other index, so
    that each keeps its position."""
    positions = x.context.evaluate(after, Layer({step.name: element.output[0]}, frame))
    if not isinstance(positions, list):
        raise EvaluationError("`after` takes a list of positions")
    parts = [
        tails[position]
        if isinstance(position, int) and 0 <= position < len(tails)
        else x.empty(frame, ("missing", number), grow)
        for number, position in enumerate(positions)
    ]
    return x.joined(frame, "done", parts, grow)


# -------------------------------------------------------------------- reduce


def reduce(x: Expander, step: ir.Reduce, frame: Frame, pool: Handle) -> Handle:
    """`reduce`: neighbours merged pairwise, level by level."""
    source: Operation | None = pool.operation
    if step.iterable is not None:
        name = step.iterable.name if isinstance(step.iterable, e.Reference) else None
        handle = frame.handle(name) if name is not None else None
        source = handle.operation if handle is not None else None
    # Python that changes graphs may connect more parts to the list: then it must be complete.
    if source is not None and _one_each(source) and not x.tables.changing:
        return handle_of(_merge_parts(x, step, frame, source), True)

    def build(frame: Frame, grow: Operation | None) -> list[Operation]:
        items = [
            x.element(frame.inside((step.result, "element", index), {}, grow), element, grow)
            for index, element in enumerate(_elements(x, step, frame))
        ]
        return [_tree(x, step, frame, items, grow)]

    return handle_of(x.later(step, frame, _list_waits(x, step, frame), build), True)


def _one_each(operation: Operation) -> bool:
    """Whether an operation joins the results of a `foreach` whose body leaves exactly one thought."""
    step = operation.step
    if operation.role != "join" or not isinstance(step, ir.Foreach):
        return False
    if any(step.result in skipped_by(inner) for inner in step.body.steps):
        return False
    result = (inner for inner in reversed(step.body.steps) if inner.result == step.body.result)
    return next((inner.single for inner in result), True)


def _merge_parts(x: Expander, step: ir.Reduce, frame: Frame, source: Operation) -> Operation:
    """Merge two neighbours as soon as both are done: the shape is known before the thoughts are.

    Whether the parts of the source are already known may depend on timing. So the graph is the same either
    way: a join that waits for the operation that adds the parts, if there is one.
    """
    join = Operation(step, "join", frame, step.result, frame.origin)
    grower = tuple(o for o in source.inputs[:1] if o.role == "grow")
    # A source without parts that no operation grows failed when it was laid out.
    x.graph.add(join, grower or ((source,) if source.parts is None else ()), held=1)

    def build() -> None:
        parts = source.parts
        assert parts is not None
        if join.state != FAILED:  # otherwise the enclosing block could not be laid out
            x.attempt(join, lambda: x.fill(join, [_tree(x, step, frame, parts, frame.origin, grower)]))

    if source.parts is not None:
        build()
    elif source.state != FAILED:
        x.graph.on_parts.setdefault(source, []).append(build)
    return join


def _tree(
    x: Expander,
    step: ir.Reduce,
    frame: Frame,
    items: Sequence[Operation],
    grow: Operation | None,
    after: Sequence[Operation] = (),
) -> Operation:
    """The operations that merge neighbours until one is left; each merge waits for `after` too."""
    if not items:
        raise EvaluationError("its list is empty")
    rest, through = x.remaining.after(step), x.remaining.through(step.body)
    level, levels = 0, (len(items) - 1).bit_length()
    while len(items) > 1:
        level += 1
        merged: list[Operation] = []
        for at in range(0, len(items) - 1, 2):
            left, right = items[at], items[at + 1]
            names: dict[str, Any] = {step.left: handle_of(left, True), step.right: handle_of(right, True)}
            position = at // 2 + 1
            key = (step.result, level, position)
            follow = rest + (levels - level) * through
            inner = frame.inside(key, names, grow, follow, "merge", level, position)
            pair = x.joined(inner, "pair", [left, right], grow, after)
            names[step.body.entry] = handle_of(pair, False)
            if step.step is not None:
                names[step.step] = {"level": level, "position": position, "last": len(items) == 2}
            merged.append(x.region(step.body, inner).operation)
        if len(items) % 2:
            merged.append(items[-1])
        items = merged
    return items[0]


# -------------------------------------------------------------------- repeat


def repeat(x: Expander, step: ir.Repeat, frame: Frame, pool: Handle) -> Handle:
    """`repeat`: the body on its own result."""
    join = Operation(step, "join", frame, step.result, frame.origin)
    x.graph.add(join, (), held=1)
    rounds = _Rounds(x, step, join)
    waits = x.waits_for(step.count, frame, pool)
    if all(operation.constant for operation in waits):
        x.attempt(join, lambda: rounds.begin(frame, frame.origin))
    else:
        start = x.grow(step, frame, waits, lambda operation: rounds.begin(operation.frame, operation))
        x.graph.connect((start,), join)
    return handle_of(join, step.single)


@final
class _Rounds:
    """One `repeat` while it runs: it lays out as many rounds at a time as depend on no result."""

    def __init__(self, x: Expander, step: ir.Repeat, join: Operation) -> None:
        self.x = x
        self.step = step
        self.join = join
        self.most = 0

    def begin(self, frame: Frame, grow: Operation | None) -> None:
        """Lay out the first rounds."""
        pool = frame.pool(self.step.pool)
        names = whole(frame, pool.operation.output)
        self.most = count(self.x.context.evaluate(self.step.count, names), "repeat")
        self._advance(0, frame, pool, grow)

    def _advance(self, number: int, frame: Frame, handle: Handle, grow: Operation | None) -> None:
        x, step = self.x, self.step
        after, through = x.remaining.after(step), x.remaining.through(step.body)
        while number < self.most:
            names: dict[str, Any] = {step.body.entry: handle}
            if step.counter is not None:
                names[step.counter] = number
            rest = after + (self.most - number - 1) * through
            inner = frame.inside((step.result, number), names, grow, rest, "round", number)
            handle = x.region(step.body, inner)
            number += 1
            if step.until is not None and number < self.most:
                self._test(step.until, number, frame, inner, handle, grow)
                return
        x.fill(self.join, [handle.operation])

    def _test(
        self,
        until: e.Expression,
        number: int,
        frame: Frame,
        inner: Frame,
        handle: Handle,
        grow: Operation | None,
    ) -> None:
        """Decide whether to continue once the result of the last round is known. The join waits for this
        decision instead of the operation that has grown it so far."""
        x = self.x

        def work(operation: Operation) -> None:
            result = handle_of(operation.inputs[0], handle.single)
            if _holds(x, until, result, operation.frame):
                x.fill(self.join, [result.operation])
            else:
                self._advance(number, frame, result, operation)

        waits = (handle.operation, *behind(x.uses(until).names, inner))
        test = x.grow(self.step, inner, waits, work, "until")
        if grow in self.join.inputs:
            x.graph.move(grow, self.join, test)
        else:
            x.graph.connect((test,), self.join)


def _holds(x: Expander, condition: e.Expression, handle: Handle, frame: Frame) -> bool:
    """Whether a condition is true for the thoughts of a handle."""
    return bool(x.context.evaluate(condition, whole(frame, handle.operation.output)))


def repeated(x: Expander, step: ir.Repeated, frame: Frame, pool: Handle) -> Handle:
    """`Repeat(k)`: the body in separate contexts, each from the same thoughts."""
    rest = x.remaining.after(step)

    def build(frame: Frame, grow: Operation | None) -> list[Operation]:
        names = whole(frame, frame.pool(step.pool).operation.output)
        settings = {name: x.context.evaluate(value, names) for name, value in step.settings}
        tails: list[Operation] = []
        for at in range(count(x.context.evaluate(step.count, names), "k", 1)):
            inner = frame.inside((step.result, at), {}, grow, rest, "again", at)
            if at:
                inner.shared = inside(frame.shared, "again", at)
                inner.again = {**frame.again, **settings}
                if "seed" in settings:
                    inner.again["seed"] += at - 1
            tails.append(x.region(step.body, inner).operation)
        return tails

    waits = x.waits(step, frame, any(x.uses(node).pool for node in own_expressions(step)))
    return handle_of(x.later(step, frame, waits, build), step.single)


# -------------------------------------------------------------------- if, blocks


def branching(x: Expander, step: ir.Branching, frame: Frame, pool: Handle) -> Handle:
    """`if` and `match`: the first branch whose condition is true."""
    rest = x.remaining.after(step)

    def build(frame: Frame, grow: Operation | None) -> list[Operation]:
        pool = frame.pool(step.pool)
        at, chosen = len(step.conditions), step.otherwise
        for index, (condition, body) in enumerate(step.conditions):
            if _holds(x, condition, pool, frame):
                at, chosen = index, body
                break
        if chosen is None and not step.passes_on:
            raise EvaluationError("the value matches none of the cases")
        if chosen is None:
            return [pool.operation]
        return [x.region(chosen, frame.inside((step.result, at), {}, grow, rest)).operation]

    waits = x.waits(step, frame, any(x.uses(condition).pool for condition, _ in step.conditions))
    return handle_of(x.later(step, frame, waits, build), step.single)


def try_(x: Expander, step: ir.Try, frame: Frame, pool: Handle) -> Handle:
    """`try`: its block, and that of `else` once the first has failed."""
    graph, rest = x.graph, x.remaining.after(step)
    join = graph.add(Operation(step, "join", frame, step.result, frame.origin), (), held=1)
    rescue = Operation(step, "rescue", frame, (step.result, "rescue"), frame.origin)
    inner = frame.inside((step.result, "try"), {}, None, rest)
    inner.trial = rescue
    try:
        with graph.all_or_nothing():
            tried = x.region(step.tried, inner).operation
    except GraphFull:
        raise
    except GotError as error:
        tried = graph.add(Operation(step, "join", inner, "tried", frame.origin), (), held=1)
        x.context.lost(tried, error)

    def work(operation: Operation) -> None:
        found = operation.inputs[0]
        if found.state == DONE:
            return x.fill(join, [found])
        x.context.handled.append(path_key(inner))
        other = operation.frame.inside((step.result, "else"), {}, operation, rest)
        return x.attempt(join, lambda: x.fill(join, [x.region(step.otherwise, other).operation]))

    graph.work[rescue] = work
    graph.connect((graph.add(rescue, (tried,)),), join)
    return handle_of(join, step.single)


def skip(x: Expander, step: ir.Skip, frame: Frame, pool: Handle) -> Handle:
    """`skip`: an operation that yields nothing, without failing."""
    return handle_of(x.graph.add(Operation(step, "skip", frame, step.result, frame.origin), ()), True)


def block(x: Expander, step: ir.Block, frame: Frame, pool: Handle) -> Handle:
    """A labelled block, or an indented pipeline."""
    names = {inner: frame.find(outer) for inner, outer in step.names}
    inner = frame.inside((step.label,), names, None, x.remaining.after(step))
    return handle_of(x.region(step.body, inner).operation, step.single)


# -------------------------------------------------------------------- calls of schemes


def scheme(x: Expander, declared: ir.Scheme, frame: Frame) -> Handle:
    """Lay out a scheme whose parameters are bound in a frame."""
    x.remaining.through(declared.body)
    frame.names[declared.body.entry] = handle_of(x.empty(frame, "start", frame.origin), True)
    result = x.region(declared.body, frame)
    if not declared.collect:
        return handle_of(result.operation, not declared.many)
    values = Operation(None, "collect", frame, "collect", frame.origin)
    return handle_of(x.graph.add(values, (result.operation,)), True)


def invoke(x: Expander, step: ir.Invoke, frame: Frame, pool: Handle) -> Handle:
    """A call of a scheme, once per current thought."""
    one = pool.single or (pool.operation.constant and len(pool.operation.output) == 1)
    if one and (frame.depth + 1) % EAGER_DEPTH:
        try:
            with x.graph.all_or_nothing():
                marks = () if pool.single else Ranks().marks(pool.operation.output[0].value)
                return handle_of(_call(x, step, frame, pool, 0, *marks), step.single)
        except GraphFull:
            raise
        except GotError as error:
            lost = x.graph.add(Operation(step, "join", frame, step.result, frame.origin), (), held=1)
            x.context.lost(lost, error)
            return handle_of(lost, step.single)

    def build(frame: Frame, grow: Operation | None) -> list[Operation]:
        if frame.depth >= MAX_DEPTH:
            raise LimitExceeded(f"schemes call each other more than {MAX_DEPTH} deep")
        parts, pool = [], frame.pool(step.pool)
        ranks = Ranks()
        for index, thought in enumerate(pool.operation.output):
            marks = () if pool.single else ranks.marks(thought.value)
            inner = frame.inside((step.result, "it", index), {}, grow)
            inner.scheme = step.scheme
            element = x.element(inner, Element((thought,)), grow)
            parts.append(_call(x, step, inner, handle_of(element, True), index, *marks))
        return parts

    waits = x.waits(step, frame, True)
    if all(operation.constant for operation in waits):
        # There is nothing to wait for, but the stack is deep: wait for a turn of the scheduler.
        waits = [x.joined(frame, (step.result, "turn"), (), frame.origin)]
    return handle_of(x.later(step, frame, waits, build), step.single)


def _call(
    x: Expander, step: ir.Invoke, frame: Frame, pool: Handle, index: int, *marks: str | int
) -> Operation:
    names: dict[str, Any] = {}
    marks = ("call", *(step.line or ()), *marks)
    inner = frame.apart((step.result, index), names, None, x.remaining.after(step), *marks)
    inner.depth, inner.scheme = frame.depth + 1, step.scheme
    for name, value in step.arguments:
        names[name] = _argument(x, name, value, frame, pool, inner)
    return scheme(x, x.context.program.scheme(step.scheme), inner).operation


def _argument(x: Expander, name: str, value: e.Expression, frame: Frame, pool: Handle, inner: Frame) -> Any:
    """The binding of a parameter: thoughts as they are, constants as values, anything else once known."""
    if isinstance(value, e.Reference) and value.name != "it":
        try:
            return frame.find(value.name)
        except KeyError:
            pass
    waits = x.waits_for(value, frame, pool)
    if not waits:
        return x.context.evaluate(value, frame)
    step = ir.Pool(name, DYNAMIC, True, "", (value,), span=value.span)
    let = Operation(step, "Pool", frame, (*inner.key, name), frame.origin)
    if not x.uses(value).pool:
        let.parts = ()
    return handle_of(x.graph.add(let, waits), True)


BLOCKS: dict[str, Layout] = {
    "foreach": foreach,
    "Repeat": repeated,
    "reduce": reduce,
    "repeat": repeat,
    "if": branching,
    "match": branching,
    "try": try_,
    "skip": skip,
    "block": block,
    "scheme": invoke,
}
"""The layout function of each block that becomes several operations, by its name."""
