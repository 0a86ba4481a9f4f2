"""The IR: a program whose names are resolved, whose pools are explicit and whose steps carry their types.

A step takes pools by name and gives one under `result`. Names that start with `%` are the compiler's.
A region is a block of steps with a pool it starts from (`entry`) and one it yields (`result`); it sees the
names of the regions around it. Expressions are those of the syntax tree.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeVar, final

from gotlang.forms import Form
from gotlang.span import NOWHERE, Span
from gotlang.syntax.expressions import Expression
from gotlang.types import Type

Arguments = tuple[tuple[str, Expression], ...]

Effect = Literal["pure", "samples", "tool", "grows"]
"""What a step does beside giving thoughts: `samples` asks a model, `tool` calls Python or a corpus, `grows`
adds steps to the graph while it runs."""


@dataclass(frozen=True, slots=True)
class Step:
    """Base of all steps: the name, element type and count of the pool it gives, and its place in the source."""

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


@final
@dataclass(frozen=True, slots=True)
class Ask(Step):
    """`Generate`, `Improve` and `Aggregate`: k answers to a prompt for each thought, or for all together.

    `until` ends sampling at the first thought it holds for. The early-stop pass sets `stop`, the fusion
    pass `fused` (all draws in one request where the endpoint takes `n`).
    """

    kind: Literal["generate", "improve", "aggregate"]
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
class Rate(Step):
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
class Mend(Step):
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
class KeepBest(Step):
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
class Gather(Step):
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
class CallFunction(Step):
    """`Call`: what a Python function gives, as a new thought for each current one."""

    pool: str
    function: str
    arguments: tuple[tuple[str | None, Expression], ...]


@final
@dataclass(frozen=True, slots=True)
class Measure(Step):
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
class Loop(Step):
    """`repeat`: the body on its own result, `count` times or until a condition holds."""

    pool: str
    count: Expression
    counter: str | None
    until: Expression | None
    body: Region


@final
@dataclass(frozen=True, slots=True)
class Branch(Step):
    """`if`: the first body whose condition holds; the pool goes through unchanged where none does."""

    pool: str
    branches: tuple[tuple[Expression, Region], ...]
    otherwise: Region | None


@final
@dataclass(frozen=True, slots=True)
class Group(Step):
    """A labelled block or an indented pipeline; `names` gives pools the names they have inside."""

    pool: str
    label: str
    names: tuple[tuple[str, str], ...]
    body: Region


AnyStep = (
    Ask
    | Rate
    | Validate
    | KeepValid
    | Mend
    | KeepBest
    | Select
    | Vote
    | Map
    | Gather
    | Retrieve
    | CallFunction
    | Measure
    | Invoke
    | Foreach
    | Reduce
    | Loop
    | Branch
    | Group
)


@final
@dataclass(frozen=True, slots=True)
class Domain:
    """What a param may be tuned to: numbers from `low` to `high`, or one of `choices`."""

    low: float | int | None = None
    high: float | int | None = None
    choices: tuple[Any, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class Param:
    """A param: its default, what it may be tuned to (`each` element of it), and what that depends on."""

    name: str
    type: Type
    default: Any
    each: bool = False
    domain: Domain | None = None
    guard: Expression | None = None
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@final
@dataclass(frozen=True, slots=True)
class Example:
    """A worked example of a prompt: its inputs by name and its answer (`raw`: the text as the model wrote it)."""

    inputs: tuple[tuple[str, Any], ...]
    output: Any
    raw: bool = False


@final
@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt. `system`, `instruction` and `user` are templates; `reader` names a Python reader.

    `count` is how many values an answer must hold where the prompt says `many` (None: any number). `opening`
    is what every user message starts with, filled in already (see the pass that splits templates).
    """

    name: str
    parameters: tuple[tuple[str, Type], ...]
    result: Type
    many: bool
    settings: Arguments = ()
    system: str | None = None
    instruction: str | None = None
    examples: tuple[Example, ...] = ()
    user: str | None = None
    form: Form | None = None
    reader: str | None = None
    count: Expression | None = None
    opening: str | None = None
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@final
@dataclass(frozen=True, slots=True)
class Score:
    """A score: lower or higher is better, `best` cannot be beaten. `body` holds what it asks of a model before
    `value` is taken; it is empty for a local score."""

    name: str
    parameters: tuple[tuple[str, Type], ...]
    lower: bool
    best: float | None
    body: Region
    value: Expression
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@final
@dataclass(frozen=True, slots=True)
class Scheme:
    """A scheme. `collect`: its result is the list of the values its last step leaves."""

    name: str
    parameters: tuple[tuple[str, Type], ...]
    result: Type
    many: bool
    collect: bool
    truth: Type
    body: Region
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@final
@dataclass(frozen=True, slots=True)
class PythonImport:
    """Names that a program takes from a Python file; `path` is as written, relative to the program's folder."""

    path: str
    names: tuple[str, ...]
    folder: str = field(default="", compare=False)


@final
@dataclass(frozen=True, slots=True)
class Corpus:
    """Documents in a file, searched by `Retrieve`."""

    name: str
    path: str
    folder: str = field(default="", compare=False)


@final
@dataclass(frozen=True, slots=True)
class Program:
    """A whole program. Tables keep the order of the source; `name` is the file's, without its ending."""

    name: str
    params: tuple[Param, ...] = ()
    prompts: tuple[Prompt, ...] = ()
    scores: tuple[Score, ...] = ()
    schemes: tuple[Scheme, ...] = ()
    python: tuple[PythonImport, ...] = ()
    corpora: tuple[Corpus, ...] = ()
    simulators: tuple[PythonImport, ...] = ()

    def prompt(self, name: str) -> Prompt:
        """The prompt of a name; KeyError where there is none."""
        return _named(self.prompts, name)

    def score(self, name: str) -> Score:
        """The score of a name; KeyError where there is none."""
        return _named(self.scores, name)

    def scheme(self, name: str) -> Scheme:
        """The scheme of a name; KeyError where there is none."""
        return _named(self.schemes, name)


_Named = TypeVar("_Named", Prompt, Score, Scheme)


def _named(table: tuple[_Named, ...], name: str) -> _Named:
    for entry in table:
        if entry.name == name:
            return entry
    raise KeyError(name)


def regions(step: AnyStep) -> tuple[Region, ...]:
    """The regions directly inside a step."""
    match step:
        case Foreach() | Reduce() | Loop() | Group():
            return (step.body,)
        case Branch():
            inside = tuple(body for _, body in step.branches)
            return (*inside, step.otherwise) if step.otherwise is not None else inside
    return ()


def effect(step: AnyStep) -> Effect:
    """What a step does beside giving thoughts."""
    match step:
        case Ask() | Mend():
            return "samples"
        case Retrieve() | CallFunction():
            return "tool"
        case Invoke() | Foreach() | Reduce() | Loop() | Branch() | Group():
            return "grows"
    return "pure"


def step_fields(step: AnyStep) -> dict[str, Any]:
    """A step's own fields by name, for printers and traces."""
    return {f.name: getattr(step, f.name) for f in fields(step)}
