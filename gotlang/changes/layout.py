"""Lays out `Call` of a Python function that changes the graph, and makes the changes that it requested.

As for every block that grows the graph there are two operations from the start: one that runs the function,
once per thought, and a join for its result. When the function has ended for all thoughts, the operations that
it added are laid out, the connections of those after it are changed, and the join gets its parts; until then,
and if that fails, the graph stays unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, final

from msgspec import structs

from gotlang.changes.change import AddedBlock, Change, EdgeChange, Node, kind
from gotlang.changes.view import View
from gotlang.diagnostics import Report
from gotlang.errors import EvaluationError, GotError, OperationFailed
from gotlang.ir import program as ir
from gotlang.ir.build import build_region
from gotlang.ir.program import Program, Region
from gotlang.passes import optimize_region
from gotlang.runtime.execution import Execution
from gotlang.runtime.expansion import Element, Expander
from gotlang.runtime.graph import REMOVED, Frame, Handle, Operation, handle_of
from gotlang.runtime.spaces import Ranks
from gotlang.scope import PoolType, Scope, Variable
from gotlang.semantics.check import Checked
from gotlang.semantics.expressions import ExpressionChecker
from gotlang.semantics.pipelines import PipelineChecker
from gotlang.semantics.symbols import RESERVED
from gotlang.span import Source, Span
from gotlang.syntax import nodes as n
from gotlang.syntax.parse import parse
from gotlang.thought import Thought
from gotlang.types import ANY, ListType, accepts, widen

MAX_NESTED = 1_000
"""How deeply operations that change the graph may be nested in operations that others of them added."""
ENTRY = "%given"
"""The name of the pool that added steps start from."""
_HEAD = "scheme added() -> many any:\n"


@final
class AddedSteps:
    """Compiles steps in the names of one program, at the optimization level of its run; each text once."""

    def __init__(self, checked: Checked, program: Program, level: int, skip: frozenset[str]) -> None:
        self._checked = checked
        self._program = program
        self._level = level
        self._skip = skip
        self._known: dict[Any, tuple[Region, PoolType]] = {}

    def __call__(
        self, text: str, names: Mapping[str, PoolType | None], pool: PoolType, span: Span
    ) -> tuple[Region, PoolType]:
        """The region of some steps that start from `pool`, and the pool they leave.

        `names` are those they may use: of thoughts with their pool, of plain values with None. Every step
        gets the place `span`, that of the call which adds them. Raises EvaluationError for the first mistake.
        """
        key = (text, tuple(names.items()), pool, span)
        if key not in self._known:
            region, left = self._compile(text, names, pool)
            region = optimize_region(self._program, _placed(region, span), self._level, self._skip)
            self._known[key] = region, left
        return self._known[key]

    def _compile(
        self, text: str, names: Mapping[str, PoolType | None], pool: PoolType
    ) -> tuple[Region, PoolType]:
        lines = "".join(f"    {line}\n" for line in text.splitlines() if line.strip())
        module, problems = parse(Source.of("<added>", _HEAD + lines))
        for problem in problems:
            raise EvaluationError(f"{problem.message} in `{text}`", help=problem.help)
        scheme, symbols = module.declarations[0], self._checked.symbols
        assert isinstance(scheme, n.Scheme)
        report = Report()
        expressions = ExpressionChecker(symbols, report)
        pipelines = PipelineChecker(symbols, report, expressions)
        scope = Scope(place="")
        for name, pool_type in names.items():
            if name in RESERVED or name in symbols.nodes:
                raise EvaluationError(f"`{name}` is declared or reserved, and cannot be given a value")
            scope.add(_variable(name, pool_type))
        pipelines.suite(scheme.body, pool, scope)
        for diagnostic in report.diagnostics:
            if diagnostic.severity == "error":
                raise EvaluationError(f"{diagnostic.message} in `{text}`", help=diagnostic.help)
        named, exhaustive = frozenset(pipelines.named), frozenset(pipelines.exhaustive)
        marked = named, exhaustive, frozenset(pipelines.casts)
        checked = Checked((), symbols, pipelines.pools, expressions.arguments, *marked, ())
        return build_region(checked, scheme.body, ENTRY, pool, names)


def _variable(name: str, kind: PoolType | None) -> Variable:
    if kind is None:
        return Variable(name, ANY, "value", used=True)
    if kind.single:
        return Variable(name, kind.type, "thought", facts=kind.facts, used=True)
    return Variable(name, ListType(kind.type), "thoughts", facts=kind.facts, used=True)


def _placed(region: Region, span: Span) -> Region:
    def at(inner: Region) -> Region:
        return _placed(inner, span)

    steps = [structs.replace(s.with_regions(at), span=span) for s in region.steps]
    return structs.replace(region, steps=tuple(steps))


@final
class GraphChanges:
    """Lays out each `Call` of a function that changes the graph; `compile` builds the steps that it adds."""

    def __init__(self, compile: AddedSteps) -> None:
        self.compile = compile

    def __call__(self, x: Expander, step: ir.Call, frame: Frame, pool: Handle) -> Handle:
        operation = Operation(step, "change", frame, (step.result, "change"), frame.origin)
        join = Operation(step, "join", frame, step.result, frame.origin)
        x.graph.work[operation] = partial(self._change, x, step, join)
        x.graph.add(operation, x.waits(step, frame, True))
        return handle_of(x.graph.add(join, (operation,), held=1), step.single)

    async def _change(self, x: Expander, step: ir.Call, join: Operation, running: Execution) -> None:
        """Run the function for each thought in turn, then change the graph. Raises GotError."""
        operation = running.operation
        if len(operation.frame.path) > MAX_NESTED:
            raise EvaluationError(f"calls that change the graph are nested more than {MAX_NESTED:,} deep")
        thoughts = operation.pool
        gave = 0
        change = Change(operation, x.graph, join, x.context.result)
        for thought in thoughts:
            mark = change.mark()
            try:
                await self._run(step, running, change, thought)
                gave += 1
            except GotError as error:
                change.undo(mark)
                running.failed(error.message, thought.index)
        if thoughts and not gave:
            raise running.nothing_left()
        parts = change.parts()
        if step.single and not (len(parts) == 1 and kind(parts[0]).single):
            raise OperationFailed(
                f"`{step.function}` returned several thoughts, and the program needs one: "
                "end the added steps with `KeepBestN(1)`, `Vote()` or `Aggregate()`"
            )
        for part in parts:
            given = part.pool.type if isinstance(part, AddedBlock) else part.step.type if part.step else ANY
            if not accepts(step.type, given):
                raise OperationFailed(f"`{step.function}` did not return {step.type}, but {widen(given)}")
        carry_out(x, step, change)

    async def _run(self, step: ir.Call, running: Execution, change: Change, thought: Thought) -> None:
        view = View(change, running.frame, partial(self.compile, span=step.span), (thought,))
        try:
            async with running.context.calls:
                value = await running.call_python(step.function, step.arguments, running.each(thought), view)
        finally:
            view.close()
        view.take(value, step.function)


def carry_out(x: Expander, step: ir.Call, change: Change) -> None:
    """Change the graph as an operation requested. Raises GotError, and changes nothing, if what it added
    cannot be laid out."""
    with x.graph.all_or_nothing():
        builder = _Builder(x, step, change)
    _rewire(x, change, builder.operation, step)
    if change.result is not None and change.result.state != REMOVED:
        x.fill(change.result, [builder.operation(node) for node in change.parts()])


@final
class _Builder:
    """Lays out what was added, each block after those whose thoughts it takes."""

    def __init__(self, x: Expander, step: ir.Call, change: Change) -> None:
        self.x = x
        self.change = change
        self.step = step
        self.at = change.operation
        blocks = [node for node in change.connected if isinstance(node, AddedBlock)]
        numbers = {block: number for number, block in enumerate(blocks)}
        self._ranks = Ranks()
        self._spaces: dict[Node, str] = {}
        for block in blocks:
            stack = [block]
            while stack:
                top = stack[-1]
                sources = (node for node in change.sources(top) if isinstance(node, AddedBlock))
                if missing := [node for node in sources if node.built is None]:
                    stack.extend(missing)
                else:
                    stack.pop()
                    if top.built is None:
                        top.built = self._build(top, numbers[top])

    def operation(self, node: Node) -> Operation:
        """The operation of a node."""
        if isinstance(node, Operation):
            return node
        if node.built is None:
            # It was added, connected and removed again; it is never part of the graph.
            node.built = Operation(None, "join", self.at.frame, (self.step.result, "removed"), self.at)
        return node.built

    def _build(self, block: AddedBlock, number: int) -> Operation:
        x, at = self.x, self.at
        key, rest = (self.step.result, number), x.remaining.after(self.step)
        marks = self._ranks.marks(self._content(block))
        frame = at.frame.inside(key, {}, at, rest, "added", *(self.step.line or ()), *marks)
        self._spaces[block] = frame.space.hex()
        if block.thoughts is not None:
            return x.element(frame, Element(block.thoughts), at)
        if block.value is not None:
            (given,) = block.after
            return x.element(frame, Element(tuple(self.operation(given).output), block.value, True), at)
        if block.region is None:
            return x.joined(frame, "gathered", list(map(self.operation, self.change.sources(block))), at)
        after = [self.operation(node) for node in block.after]
        pool = after[0] if len(after) == 1 else x.joined(frame, "given", after, at)
        frame.names[ENTRY] = handle_of(pool, len(after) == 1 and kind(block.after[0]).single)
        for name, value in block.names.items():
            is_node = isinstance(value, Operation | AddedBlock)
            frame.names[name] = handle_of(self.operation(value), kind(value).single) if is_node else value
        x.remaining.through(block.region)
        return x.region(block.region, frame).operation

    def _content(self, block: AddedBlock) -> Any:
        """The identity of added operations among others of the call: their steps, and their input values."""
        if block.thoughts is not None or block.value is not None:
            return block.value if block.thoughts is None else [thought.value for thought in block.thoughts]
        plain = {
            n: value for n, value in block.names.items() if not isinstance(value, Operation | AddedBlock)
        }
        nodes = (*block.after, *block.names.values())
        return [block.text, plain, [self._spaces[node] for node in nodes if isinstance(node, AddedBlock)]]


def _rewire(x: Expander, change: Change, built: Callable[[Node], Operation], step: ir.Call) -> None:
    """Apply the changes to operations that existed before."""
    graph = x.graph
    more: dict[Operation, list[Operation]] = {}
    targets = dict.fromkeys(edit.target for edit in change.edits.values())
    for target in targets:
        target.waiting += 1  # none of them becomes ready before all is done
    for edit in change.edits.values():
        target = edit.target
        match edit:
            case _ if target is change.result and edit.start is not None:
                pass  # the result gets its parts at the end
            case EdgeChange(source=None, start=None):
                error = OperationFailed(f"it was removed by `{step.function}`")
                x.context.culprits[target] = error
                more.pop(target, None)
                graph.remove(target)
            case EdgeChange(source=None, start=start) if start is not None:
                more.setdefault(target, []).append(built(start))
            case EdgeChange(source=source) if source is not None:
                start = None
                if edit.start is not None:
                    start = built(edit.start)
                    _rebind(target, built(source), handle_of(start, kind(edit.start).single))
                    graph.note_addition(target, start, change.operation)
                if target in more:
                    graph.gather(target, more.pop(target), change.operation)
                graph.move(built(source), target, start)
    for target, added in more.items():
        graph.gather(target, added, change.operation)
    for target in targets:
        graph.release(target)


def _rebind(target: Operation, old: Operation, handle: Handle) -> None:
    """Bind the names by which an operation uses the thoughts of `old` to another handle."""
    names: dict[str, Any] = {}
    frame: Frame | None = target.frame
    while frame is not None:
        for name, bound in frame.names.items():
            names.setdefault(name, bound)
        frame = frame.parent
    found = {n: handle for n, bound in names.items() if isinstance(bound, Handle) and bound.operation is old}
    if found:
        at = target.frame
        target.frame = structs.replace(at, parent=at, names=found)
