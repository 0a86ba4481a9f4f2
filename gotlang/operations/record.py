"""The record of an operation and of a block: everything that the stages of the compiler and of a run look
up."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Generic, Literal, TypeVar, final

from msgspec import Struct
from msgspec.structs import replace

from gotlang.flows import Flow, FlowScope, Result
from gotlang.operations.checks import MOST
from gotlang.operations.stages import Building, Checking, Declared, Estimating, Remaining, Running, Verifying
from gotlang.operations.step import Effect, Step
from gotlang.scope import Fact, PoolType
from gotlang.syntax import nodes as n
from gotlang.syntax.expressions import Binary, Constant, Expression, Unary
from gotlang.syntax.format import format_expression
from gotlang.thought import Thoughts
from gotlang.types import BOOL, FLOAT, INT, STR, ListType, LiteralType, Type

StepT = TypeVar("StepT", bound=Step)

Family = Literal["ask", "judge", "choose", "truth", "tool", "pass"]
"""The groups of operations with a common color in pictures."""

PURE: frozenset[Effect] = frozenset()
NO_FACT: frozenset[Fact] = frozenset()


class SettingRule(Struct, frozen=True):
    """The rule of a setting: its types, its minimum and maximum, and whether it is evaluated `per_thought`,
    by the operation itself, instead of once for all."""

    types: tuple[Type, ...]
    least: float | None = None
    most: float | None = None
    per_thought: bool = False
    wrong: Callable[[str], tuple[str, int] | None] = lambda text: None
    """Returns the error in a text, and its place."""

    def refused(self, name: str, value: Any) -> str | None:
        """Why a value is invalid for the setting with this name; None if it is valid."""
        if isinstance(value, int | float):
            if self.least is not None and value < self.least:
                return f"`{name}` must be at least {self.least}"
            if self.most is not None and value > self.most:
                return f"`{name}` must be at most {self.most:,}"
        texts = value if isinstance(value, list) else [value]
        if STR in self.types and (not texts or "" in texts):
            return f"`{name}` must not be empty"
        found = self.wrong(value) if isinstance(value, str) else None
        return f"`{name}`: {found[0]}" if found is not None else None


K = SettingRule((INT,), 1, MOST)
UNTIL = SettingRule((BOOL,), per_thought=True)
SHARE = SettingRule((BOOL,))
SEED = SettingRule((INT,), least=0)


def wrong_in_regex(text: str) -> tuple[str, int] | None:
    """The error in a regular expression, and its offset, in characters from 0; None if it is valid."""
    from gotlang.answers.regex import Regex, RegexError

    try:
        Regex.parse(text)
    except RegexError as error:
        return error.message, error.offset
    return None


def _wrong_in_grammar(text: str) -> tuple[str, int] | None:
    from gotlang.answers.regex import wrong_in_grammar

    return wrong_in_grammar(text)


MODEL_SETTINGS: dict[str, SettingRule] = {
    "temperature": SettingRule((FLOAT,), 0, 2),
    "top_p": SettingRule((FLOAT,), 0, 1),
    "max_tokens": SettingRule((INT,), 1),
    "stop": SettingRule((STR, ListType(STR))),
    "model": SettingRule((STR,)),
    "logprobs": SettingRule((BOOL,)),
    "top_logprobs": SettingRule((INT,), 1, 20),
    "regex": SettingRule((STR,), wrong=wrong_in_regex),
    "grammar": SettingRule((STR,), wrong=_wrong_in_grammar),
    "seed": SEED,
    "effort": SettingRule((LiteralType(("low", "medium", "high")),)),
    "thinking_budget": SettingRule((INT,), 0),
    "share": SHARE,
    "timeout": SettingRule((FLOAT,), least=0.001),
    "retries": SettingRule((INT,), 0, MOST),
    "hedge": SettingRule((FLOAT,), 0.5, 0.999),
}
"""Settings of a model call, in prompts and in operations. `top_logprobs` is the number of alternatives of
each token, with log-probabilities; `regex` and `grammar` constrain a response. `effort` and `thinking_budget`
(tokens) limit the reasoning of a reasoning model. `share` makes equal requests of a run one call; `timeout`
is the timeout of a response in seconds, `retries` the number of further samples per wanted sample when some
fail; `hedge` is the quantile of the latencies so far after which a second request is sent."""

TOOL_SETTINGS: dict[str, SettingRule] = {
    "turns": SettingRule((INT,), 1, 1000),
    "protocol": SettingRule((STR,)),
}
"""Settings of prompts with tools: the maximum number of requests for one answer, and the form of its calls
(`text` or `native`)."""
PROTOCOLS = ("text", "native")
DEFAULT_TURNS = 8
"""Default maximum number of requests for one answer of a prompt with tools."""
MOST_CALLS_A_TURN = 8
"""Maximum number of tool calls in one response that are made; the model is informed about the others."""

PROMPT_SETTINGS: dict[str, SettingRule] = {
    **MODEL_SETTINGS,
    "structured": SettingRule((BOOL,)),
    **TOOL_SETTINGS,
}
"""Settings in prompts. `structured` exists only here: the form of a response belongs to the prompt."""


class StepLabel(Struct, frozen=True):
    """The label of a step in pictures and messages: the name after its operation's (or `alone`), and a few
    words more."""

    name: str = ""
    detail: str = ""
    alone: bool = False

    @classmethod
    def of(cls, node: Expression | None, setting: str = "", name: str = "") -> StepLabel:
        """The label of a step that consists of one expression, or of one setting; None: it is left out."""
        detail = format_expression(node) if node is not None else ""
        return cls(name, f"{setting} = {detail}" if setting and detail else detail)


class Syntax(Struct, frozen=True):
    """The syntax of an operation: its settings by name, `first` the positional one, the number of operands
    (minimum and maximum; None: unlimited), an example, and whether the parentheses are optional."""

    settings: dict[str, SettingRule]
    example: str
    first: str | None = None
    required: bool = False
    operands: tuple[int, int | None] = (1, 1)
    bare: bool = False


@final
class OperationRecord(Struct, Generic[StepT], frozen=True):
    """The record of an operation of the language.

    - `name`, `syntax`, `usage`, `doc` and `fails`: its syntax, and when it yields no thought; `usage`,
      `doc` and `fails` are in its row of the reference.
    - `asks`, `keeps`: the facts that it requires of its input, and whether it passes thoughts on with all
      their facts; further facts about its output are computed by `check`.
    - `check`: its type rule: reports errors, and returns its output type.
    - `step`, `build`: its step of the IR, made from a checked one of the syntax tree.
    - `text`: the text form of the step in `gotc ir` (see `gotlang.ir.text`).
    - `verify`: the invariants of the step between passes; returns its output type, as far as it is known.
    - `effects`: its effects other than computing thoughts. Passes drop, share and move steps by this alone.
    - `estimate`: thoughts, calls, tokens and dollars before a run; `remaining`: sequential model calls, for
      scheduling.
    - `run`: its execution.
    - `label`, `family`: its appearance in pictures and messages.
    """

    name: str
    syntax: Syntax
    usage: str
    doc: str
    fails: str
    asks: frozenset[Fact]
    keeps: bool
    check: Callable[[n.Step, Checking], PoolType]
    step: type[StepT]
    build: Callable[[n.Step, Building], StepT]
    text: str
    verify: Callable[[StepT, Verifying], PoolType]
    effects: Callable[[StepT, Declared], frozenset[Effect]]
    estimate: Callable[[StepT, FlowScope, Estimating], Result]
    remaining: Callable[[StepT, Remaining], int]
    run: Callable[[StepT, Declared], Run]
    label: Callable[[StepT], StepLabel]
    family: Family


@final
class BlockRecord(Struct, Generic[StepT], frozen=True):
    """The record of a step that contains others: like that of an operation, without syntax and type rule,
    which belong to the grammar and the checker of statements. Its `label` is complete, without its name
    before it."""

    name: str
    usage: str
    doc: str
    step: type[StepT]
    text: str
    verify: Callable[[StepT, Verifying], PoolType]
    effects: Callable[[StepT, Declared], frozenset[Effect]]
    estimate: Callable[[StepT, FlowScope, Estimating], Result]
    remaining: Callable[[StepT, Remaining], int]
    label: Callable[[StepT], StepLabel]


class Local(Struct, frozen=True):
    """Runs immediately, on the event loop."""

    run: Callable[[Any, Thoughts, Running], Thoughts]


class Asks(Struct, frozen=True):
    """Waits for a model."""

    run: Callable[[Any, Thoughts, Running], Awaitable[Thoughts]]


class Tool(Struct, frozen=True):
    """Waits for Python or for a corpus."""

    run: Callable[[Any, Thoughts, Running], Awaitable[Thoughts]]


class Grows(Struct, frozen=True):
    """Becomes operations of its own, laid out by the runtime under this name."""

    layout: Literal["score", "change", "tools"]


Run = Local | Asks | Tool | Grows
"""How a step runs."""


def local(run: Callable[[StepT, Thoughts, Running], Thoughts]) -> Callable[[StepT, Declared], Run]:
    """An operation that always runs immediately."""
    way = Local(run)
    return lambda step, declared: way


def asks(run: Callable[[StepT, Thoughts, Running], Awaitable[Thoughts]]) -> Callable[[StepT, Declared], Run]:
    """An operation that always waits for a model."""
    way = Asks(run)
    return lambda step, declared: way


def tool(run: Callable[[StepT, Thoughts, Running], Awaitable[Thoughts]]) -> Callable[[StepT, Declared], Run]:
    """An operation that always waits for Python or for a corpus."""
    way = Tool(run)
    return lambda step, declared: way


def is_one(node: Expression | None) -> bool:
    """Whether an expression is omitted, or a constant 1, such as `1` or `2 - 1`. A param never is."""
    return node is None or whole_number(node) == 1


def whole_number(node: Expression) -> int | None:
    """The value of arithmetic with whole numbers; None for any other expression."""
    match node:
        case Constant(value=int(value)) if not isinstance(value, bool):
            return value
        case Unary(operator="-" | "+" as sign, operand=operand):
            of = whole_number(operand)
            return of if of is None or sign == "+" else -of
        case Binary(operator="+" | "-" | "*" | "//" as sign, left=left, right=right):
            a, b = whole_number(left), whole_number(right)
            if a is None or b is None or (sign == "//" and b == 0):
                return None
            return {"+": a + b, "-": a - b, "*": a * b}[sign] if sign != "//" else a // b
    return None


def pure(step: Step, declared: Declared) -> frozenset[Effect]:
    """The effects of an operation that only computes."""
    return PURE


def passed_on(step: Step, scope: FlowScope, e: Estimating) -> Flow:
    """The input thoughts of a step, once the names it waits for are available."""
    pool = scope.flow(step.pool)
    return replace(pool, hops=scope.hops(e.needs(step), pool.hops), part=None)


def grows(step: Step, declared: Declared) -> frozenset[Effect]:
    """The effects of a block itself, without those of the steps inside it."""
    return frozenset({"grows"})


def no_calls(step: Step, remaining: Remaining) -> int:
    """The sequential model calls of an operation that makes none."""
    return 0
