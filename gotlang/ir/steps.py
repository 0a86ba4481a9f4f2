"""The steps of the IR and the regions that hold them.

A step takes pools by name and gives one under `result`. Names that start with `%` are the compiler's.
A region is a block of steps with a pool it starts from (`entry`) and one it yields (`result`); it sees the
names of the regions around it. Expressions are those of the syntax tree.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Literal, final

from gotlang.span import NOWHERE, Span
from gotlang.syntax.expressions import Expression
from gotlang.types import Type

Arguments = tuple[tuple[str, Expression], ...]

Effect = Literal["pure", "samples", "tool", "grows"]
"""What a step does beside giving thoughts: `samples` asks a model, `tool` calls Python or a corpus, `grows`
adds steps to the graph while it runs."""


@dataclass(frozen=True, slots=True)
class Step:
    """Base of all steps: name, element type and count of the pool it gives, and its place in the source."""

    result: str
    type: Type
    single: bool
    span: Span = field(default=NOWHERE, compare=False, repr=False, kw_only=True)


@final
@dataclass(frozen=True, slots=True)
class Stop:
    """When sampling may end: as soon as `count` thoughts that compete have the value that cannot be beaten.

    `score` and `arguments` are those of the Score that follows; `it` in them is the thought at hand.
    """

    score: str
    arguments: Arguments
    count: Expression


@dataclass(frozen=True, slots=True)
class Sampling(Step):
    """What `Generate`, `Improve` and `Aggregate` share: k samples of a prompt.

    `until` ends sampling at the first thought it holds for. The early-stop pass sets `stop`, the fusion
    pass `fused` (all draws in one request where the endpoint takes `n`).
    """

    pool: str
    prompt: str
    arguments: Arguments
    k: Expression
    settings: Arguments = ()
    until: Expression | None = None
    fused: bool = False
    stop: Stop | None = None


@final
@dataclass(frozen=True, slots=True)
class Generate(Sampling):
    """`Generate`: k samples for each thought."""


@final
@dataclass(frozen=True, slots=True)
class Improve(Sampling):
    """`Improve`: the same, and the thoughts it started from stay in the pool."""


@final
@dataclass(frozen=True, slots=True)
class Aggregate(Sampling):
    """`Aggregate`: k samples for all thoughts together."""


@final
@dataclass(frozen=True, slots=True)
class Score(Step):
    """`Score`: `score` names a score or a prompt that gives a number; without it, `value` is the score."""

    pool: str
    score: str | None
    arguments: Arguments
    value: Expression | None
    k: Expression
    fused: bool = False


@final
@dataclass(frozen=True, slots=True)
class Validate(Step):
    """`Validate`: by a condition, or by a prompt that answers true or false."""

    pool: str
    condition: Expression | None
    prompt: str | None = None
    arguments: Arguments = ()


@final
@dataclass(frozen=True, slots=True)
class KeepValid(Step):
    """`KeepValid`."""

    pool: str


@final
@dataclass(frozen=True, slots=True)
class ValidateAndImprove(Step):
    """`ValidateAndImprove`: ask `prompt` again while a thought is not valid, `tries` times at most."""

    pool: str
    condition: Expression | None
    judge: str | None
    judge_arguments: Arguments
    prompt: str
    arguments: Arguments
    tries: Expression
    settings: Arguments = ()


@final
@dataclass(frozen=True, slots=True)
class KeepBestN(Step):
    """`KeepBestN`: the `count` best scored thoughts, best first, ties in order of arrival."""

    pool: str
    count: Expression


@final
@dataclass(frozen=True, slots=True)
class Select(Step):
    """`Select`: by a condition on each thought, or by positions."""

    pool: str
    condition: Expression | None
    positions: Expression | None


@final
@dataclass(frozen=True, slots=True)
class Vote(Step):
    """`Vote`: the most frequent value; the first thought that has it stays."""

    pool: str
    weight: Expression | None


@final
@dataclass(frozen=True, slots=True)
class Map(Step):
    """`Map`: a new thought for each, with the value of an expression."""

    pool: str
    value: Expression


@final
@dataclass(frozen=True, slots=True)
class Pool(Step):
    """`Pool`, bindings and `return`: named thoughts as they are, and other values as new thoughts."""

    pool: str
    values: tuple[Expression, ...]


@final
@dataclass(frozen=True, slots=True)
class Retrieve(Step):
    """`Retrieve`: the k documents of a corpus that fit a query best, as new thoughts."""

    pool: str
    corpus: str
    query: Expression
    k: Expression


@final
@dataclass(frozen=True, slots=True)
class Call(Step):
    """`Call`: what a Python function gives, as a new thought for each current one."""

    pool: str
    function: str
    arguments: tuple[tuple[str | None, Expression], ...]


@final
@dataclass(frozen=True, slots=True)
class GroundTruth(Step):
    """`GroundTruth`: the pool goes through unchanged; whether the condition holds is noted beside the run."""

    pool: str
    condition: Expression


@final
@dataclass(frozen=True, slots=True)
class Invoke(Step):
    """A scheme's call, once for each current thought."""

    pool: str
    scheme: str
    arguments: Arguments


@final
@dataclass(frozen=True, slots=True)
class Region:
    """A block: the name of the pool it starts from, its steps in order, the name of the pool it yields."""

    entry: str
    steps: tuple[AnyStep, ...]
    result: str


@final
@dataclass(frozen=True, slots=True)
class Foreach(Step):
    """`foreach`: the body for each thought of `pool`, or for each element of `iterable`."""

    pool: str
    iterable: Expression | None
    name: str
    position: str | None
    after: Expression | None
    body: Region


@final
@dataclass(frozen=True, slots=True)
class Reduce(Step):
    """`reduce`: neighbours merged pairwise, level by level; an odd one moves up unchanged."""

    pool: str
    iterable: Expression | None
    left: str
    right: str
    step: str | None
    body: Region


@final
@dataclass(frozen=True, slots=True)
class Repeat(Step):
    """`repeat`: the body on its own result, `count` times or until a condition holds."""

    pool: str
    count: Expression
    counter: str | None
    until: Expression | None
    body: Region


@final
@dataclass(frozen=True, slots=True)
class If(Step):
    """`if`: the first body whose condition holds; the pool goes through unchanged where none does."""

    pool: str
    branches: tuple[tuple[Expression, Region], ...]
    otherwise: Region | None


@final
@dataclass(frozen=True, slots=True)
class Block(Step):
    """A labelled block or an indented pipeline; `names` gives pools the names they have inside."""

    pool: str
    label: str
    names: tuple[tuple[str, str], ...]
    body: Region


AnyStep = (
    Generate
    | Improve
    | Aggregate
    | Score
    | Validate
    | KeepValid
    | ValidateAndImprove
    | KeepBestN
    | Select
    | Vote
    | Map
    | Pool
    | Retrieve
    | Call
    | GroundTruth
    | Invoke
    | Foreach
    | Reduce
    | Repeat
    | If
    | Block
)


def regions(step: AnyStep) -> tuple[Region, ...]:
    """The regions directly inside a step."""
    match step:
        case Foreach() | Reduce() | Repeat() | Block():
            return (step.body,)
        case If():
            inside = tuple(body for _, body in step.branches)
            return (*inside, step.otherwise) if step.otherwise is not None else inside
    return ()


def effect(step: AnyStep) -> Effect:
    """What a step does beside giving thoughts."""
    match step:
        case Sampling() | ValidateAndImprove():
            return "samples"
        case Retrieve() | Call():
            return "tool"
        case Invoke() | Foreach() | Reduce() | Repeat() | If() | Block():
            return "grows"
    return "pure"


def step_fields(step: AnyStep) -> dict[str, Any]:
    """A step's own fields by name, for printers and traces."""
    return {f.name: getattr(step, f.name) for f in fields(step)}
