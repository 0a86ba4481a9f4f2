"""`Generate` by a prompt with tools: for each sample a model and its tools take turns.

A turn is an operation that calls the model once; its tool calls become operations, which run at the same
time, and the next turn contains their results in the order of the calls. So the graph, the cache and the
budget account for each of them, and the result does not depend on which ends first.
"""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any, NamedTuple, final

from gotlang.answers.calls import ToolSchema, described, written_calls
from gotlang.errors import EvaluationError, ReadError
from gotlang.ir import program as ir
from gotlang.models.base import Completion, Message, Model, ToolCall, ToolSpec
from gotlang.operations.checks import count
from gotlang.operations.record import DEFAULT_TURNS, MOST_CALLS_A_TURN, PROTOCOLS
from gotlang.operations.sampled import Responses
from gotlang.operations.step import LineKey
from gotlang.patterns import lazy_pattern
from gotlang.runtime.context import Context
from gotlang.runtime.execution import Execution, whole
from gotlang.runtime.expansion import Expander
from gotlang.runtime.graph import DONE, Frame, Handle, Operation, handle_of, path_key
from gotlang.runtime.spaces import Ranks, inside
from gotlang.semantics.builtins import str_
from gotlang.syntax import expressions as e
from gotlang.thought import Thought, Thoughts
from gotlang.types import DYNAMIC, OptionalType

_PLACE = lazy_pattern(r" \([^()]*:\d+\)")
LAST_TURN = "(No more tools are available: respond with the answer now.)"


class _Called(NamedTuple):
    """The content of a turn that calls tools."""

    said: Message
    calls: tuple[ToolCall, ...]


def tools(x: Expander, step: ir.Generate, frame: Frame, pool: Handle) -> Handle:
    """`Generate` by a prompt with tools: k conversations for each thought."""
    named = x.context.declared.prompts[step.prompt].tools

    def build(frame: Frame, grow: Operation | None) -> list[Operation]:
        pool = frame.pool(step.pool)
        thoughts = pool.operation.output
        k = count(x.context.evaluate(step.k, whole(frame, thoughts)), "k", 1)
        x.context.sampler.check(k * len(thoughts))
        offered = {name: _offered(x.context, name) for name in named}
        ranks, ends = Ranks(), []
        for index, thought in enumerate(thoughts):
            marks = () if pool.single else ranks.marks(thought.value)
            for sample in range(k):
                where = (*marks, "sample", sample) if sample else marks
                inner = frame.inside((step.result, index, sample), {}, grow, x.remaining.after(step), *where)
                if sample:
                    inner.shared = inside(frame.shared, sample)
                ends.append(_Talk(x, step, inner, thought, offered).begin(grow))
        last = Operation(step, "answered", frame.inside((step.result,), {}, grow), "answered", grow)
        last.parts = ends
        return [x.graph.add(last, ends)]

    return handle_of(x.later(step, frame, x.waits(step, frame, True), build), step.single)


def _offered(context: Context, name: str) -> ToolSchema:
    """The description of a function or a scheme of the program for a model."""
    scheme = next((one for one in context.program.schemes if one.name == name), None)
    if scheme is not None:
        needed = frozenset(n for n, type_ in scheme.parameters if not isinstance(type_, OptionalType))
        return ToolSchema(name, "", scheme.parameters, needed)
    function = context.functions[name]
    if isinstance(known := getattr(function, "tool", None), ToolSchema):
        return known
    parameters = inspect.signature(function).parameters.values()
    types = tuple((p.name, _type(p.annotation)) for p in parameters)
    needed = frozenset(p.name for p in parameters if p.default is p.empty)
    about = (inspect.getdoc(function) or "").partition("\n\n")[0]
    return ToolSchema(name, " ".join(about.split()), types, needed)


def _type(annotation: Any) -> Any:
    from gotlang.analysis.foreign import annotated  # what runs without tools need no time for

    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return annotated(text) or DYNAMIC


@final
class _Talk:
    """One sample: the turns of a model, and the results of its tools. Implements
    `gotlang.runtime.execution.Conversation`."""

    def __init__(
        self, x: Expander, step: ir.Generate, frame: Frame, thought: Thought, offered: dict[str, ToolSchema]
    ) -> None:
        self.x = x
        self.step = step
        self.frame = frame
        self.thought = thought
        self.offered = offered
        self.join = Operation(step, "join", frame, "talk", frame.origin)
        self.said: list[Message] = []
        self.turn = 0
        self.turns = DEFAULT_TURNS
        self.native = False
        self.model: Model
        self.calls: tuple[ToolCall, ...] = ()
        self.results: dict[int, str] = {}
        self.made: dict[int, Thoughts] = {}

    def begin(self, grow: Operation | None) -> Operation:
        """Lay out the first turn; returns the operation whose thoughts are the answer."""
        self.x.graph.add(self.join, (), held=1)
        self._next(grow, ())
        return self.join

    def _next(self, grow: Operation | None, after: tuple[Operation, ...]) -> None:
        """Lay out a turn, and the operation that evaluates it. The join waits for that instead of the
        previous one."""
        x = self.x
        inner = self.frame.inside(("turn", self.turn), {}, grow)
        turn = Operation(self.step, "turn", inner, "turn", grow)
        x.graph.work[turn] = self._ask
        x.graph.add(turn, after)
        looks = x.grow(self.step, inner, (turn,), self._look, "calls")
        if grow is not None and grow in self.join.inputs:
            x.graph.move(grow, self.join, looks)
        else:
            x.graph.connect((looks,), self.join)

    # ---------------------------------------------------------------- turns

    async def _ask(self, running: Execution) -> Thoughts:
        """One turn of the model."""
        self._hear()
        made = [thought for at in sorted(self.made) for thought in self.made[at]]
        self.calls, self.results, self.made = (), {}, {}
        found = await self._sample(running, made)
        if self.native and not found and not self.said and "tools" in self.model.refuses:
            # The model has turned out not to support tools: in the text protocol, then.
            found = await self._sample(running, made)
        return Thoughts(found)

    async def _sample(self, running: Execution, made: list[Thought]) -> list[Thought]:
        """The thoughts of one response."""
        step = self.step
        calls = running.try_each(
            (self.thought,),
            lambda thought: running.call(step.prompt, step.arguments, step.settings, thought, talk=self),
        )
        if not calls:
            return []
        call = calls[0][1]
        call.parents = (*call.parents, *made)
        found: list[Thought] = []
        for sample, values in (await Responses(running, [call], 1).all())[0]:
            for value in values:
                if isinstance(value, _Called):
                    self.said.append(value.said)
                    self.calls = value.calls
                    asked = [{"tool": one.name, "arguments": one.arguments} for one in value.calls]
                    value = {"text": value.said.content, "calls": asked}
                found.append(call.thought(value, len(found), sample))
        return found

    def _hear(self) -> None:
        """Send the results of tools to the model, in the order of its calls."""
        if not self.calls:
            return
        told = [self.results[at] for at in range(len(self.calls))]
        if not self.native:
            told = [f"Result of {call.name}: {text}" for call, text in zip(self.calls, told, strict=True)]
        if self.turn + 1 >= self.turns:
            told[-1] += f"\n{LAST_TURN}"
        if self.native:
            pairs = zip(self.calls, told, strict=True)
            self.said += [Message("tool", text, call=call.id) for call, text in pairs]
        else:
            self.said.append(Message("user", "\n".join(told)))

    def goes_on(
        self, messages: tuple[Message, ...], model: Model, turns: Any = DEFAULT_TURNS, protocol: Any = None
    ) -> tuple[tuple[Message, ...], tuple[ToolSpec, ...]]:
        self.turns, self.model = count(turns, "turns", 1), model
        able = model.tools and "tools" not in model.refuses
        if protocol is not None and protocol not in PROTOCOLS:
            raise EvaluationError(f'`protocol` must be "text" or "native", not {protocol!r:.60}')
        if protocol == "native" and not able:
            raise EvaluationError(f'`{model.name}` does not support tools: remove `protocol "native"`')
        if not self.said:
            self.native = able and protocol != "text"
        if self.native:
            specs = (ToolSpec(t.name, t.description, t.arguments_schema()) for t in self.offered.values())
            return (*messages, *self.said), tuple(specs)
        about = described(self.offered)
        system = [message for message in messages if message.role == "system"]
        if system:
            first = Message("system", f"{system[0].content}\n\n{about}")
            return (*(first if message is system[0] else message for message in messages), *self.said), ()
        return (Message("system", about), *messages, *self.said), ()

    def called(self, completion: Completion) -> _Called | None:
        calls, text = completion.calls, completion.text
        if not self.native and (written := written_calls(text, [*self.offered])):
            calls = tuple(ToolCall("", call.name, call.arguments) for call in written)
            text = text[: written[-1].end]
        if not calls:
            return None
        if self.turn + 1 >= self.turns:
            raise ReadError(f"it calls a tool in the last of its {self.turns} turns")
        return _Called(Message("assistant", text, calls=calls if self.native else ()), calls)

    # ---------------------------------------------------------------- tools

    def _look(self, grow: Operation) -> None:
        """After a turn: run its tool calls and lay out the next one, or end with its answer."""
        turn = grow.inputs[0]
        if not self.calls:
            return self.x.fill(self.join, [turn])
        ends = [
            end
            for at, call in enumerate(self.calls)
            if (end := self._begin(at, call, turn, grow)) is not None
        ]
        self.turn += 1
        return self._next(grow, (turn, *ends))

    def _begin(self, at: int, call: ToolCall, turn: Operation, grow: Operation) -> Operation | None:
        """Lay out one call; returns the operation that ends it, or None for an invalid call, which is
        reported to the model."""
        tool, x = self.offered.get(call.name), self.x
        try:
            if tool is None:
                raise ReadError(f"there is no tool `{call.name}`; there are {', '.join(self.offered)}")
            if at >= MOST_CALLS_A_TURN:
                raise ReadError(f"more than {MOST_CALLS_A_TURN} calls at once; call it again")
            given = tool.arguments(call.arguments)
        except ReadError as error:
            self.results[at] = f"Error: {error.message}"
            return None
        if call.name not in x.context.functions:  # a scheme gets each of its inputs
            given = {name: given.get(name) for name, _ in tool.parameters}
        arguments = tuple((name, e.Constant(self.step.span, value)) for name, value in given.items())
        inner = self.frame.inside(("turn", self.turn, at), {}, grow, 0, "tool", self.turn, at)
        start = x.graph.constant(turn.output, inner, "call", grow)
        inner.names["%call"] = handle_of(start, True)
        base = ("%tool", DYNAMIC, True, "%call", call.name, arguments)
        made: ir.Step
        if call.name in x.context.functions:
            made = ir.Call(*base, span=self.step.span)
        else:
            made = ir.Invoke(*base, span=self.step.span, line=LineKey(call.name))
        end = Operation(made, "rescue", self.frame, ("result", self.turn, at), grow)
        inner.trial = end
        x.graph.work[end] = partial(self._note, at, inner)
        return x.graph.add(end, (x.step(made, inner).operation,))

    def _note(self, at: int, inner: Frame, end: Operation) -> None:
        """Record the result of a tool, or why it failed."""
        found = end.inputs[0]
        if found.state == DONE:
            values = [thought.value for thought in found.output]
            self.results[at] = str_(values[0] if len(values) == 1 else values)
            self.made[at] = found.output
            return
        self.x.context.handled.append(path_key(inner))
        _, error = min(self.x.context.causes(found), key=lambda cause: path_key(cause[0]))
        # The program's path on this machine must be neither in prompts nor in the cache.
        reason = _PLACE.sub("", error.message.removeprefix("every thought failed: "))
        self.results[at] = f"Error: {reason}"
