"""The rest of the syntax tree in the order of the grammar: types, pipelines, declarations, the module.

Like expressions, these are frozen data, equal when they mean the same text.
"""

from __future__ import annotations

from dataclasses import field

from gotlang.answers.forms import Form
from gotlang.span import Span
from gotlang.syntax.expressions import (
    HOLE,
    Argument,
    Call,
    Constant,
    Expression,
    Identifier,
    Node,
    Reference,
    node,
)

# ---------------------------------------------------------------- types


@node
class NamedType(Node):
    """`int`, `list[int]`, `State`."""

    name: Identifier
    arguments: tuple[TypeNode, ...] = ()


@node
class TypedName(Node):
    """`numbers: list[int]` among inputs or in a record type."""

    name: Identifier
    type: TypeNode


@node
class RecordTypeNode(Node):
    """`{path: list[str], left: list[float]}`."""

    fields: tuple[TypedName, ...]


@node
class UnionTypeNode(Node):
    """`"sure" | "likely" | "impossible"`."""

    values: tuple[str, ...]


@node
class CaseTypeNode(Node):
    """`Act {tool: str}` among alternatives, or `Stop` without fields."""

    name: Identifier
    fields: RecordTypeNode | None


@node
class AlternativesNode(Node):
    """`Act {tool: str} | Finish {answer: str} | Stop`."""

    cases: tuple[CaseTypeNode, ...]


@node
class OptionalTypeNode(Node):
    """`str?`: a text or `none`."""

    type: TypeNode


TypeNode = NamedType | RecordTypeNode | UnionTypeNode | CaseTypeNode | AlternativesNode | OptionalTypeNode

# ---------------------------------------------------------------- pipelines


@node
class Step(Node):
    """`Generate(k=5) sort(part)`; `settings` is None without parentheses. `again` is `Repeat(k)`."""

    operation: Identifier
    settings: tuple[Argument, ...] | None
    operands: tuple[Expression, ...]
    again: Step | None = None


@node
class Evaluate(Node):
    """An expression on a line of its own: a scheme's call, or the value of a score."""

    value: Expression


@node
class Bind(Node):
    """`name = step`, `name: type = expression`, `name =` with a block or an indented pipeline."""

    name: Identifier
    type: TypeNode | None
    value: Step | Expression | Suite | Block


@node
class Return(Node):
    """`return expression`."""

    value: Expression


@node
class Skip(Node):
    """`skip`: the element, or the member of a `Pool`, is left out."""


@node
class Suite(Node):
    """An indented pipeline."""

    statements: tuple[Statement, ...]


@node
class Foreach(Node):
    """`foreach list part in parts after needs(part):`; `adjective` is a word before the name, for readers.
    Two names take pairs apart: `foreach i, part in enumerate(parts):`."""

    adjective: str | None
    names: tuple[Identifier, ...]
    iterable: Expression | None
    after: Expression | None
    body: Suite

    @property
    def enumerated(self) -> Expression | None:
        """The list in `foreach i, x in enumerate(list)`, whose elements the block is about."""
        match self.iterable:
            case Call(function=Identifier(text="enumerate"), arguments=(one,)) if len(self.names) == 2:
                return one.value if one.name is None else None
        return None

    @property
    def element(self) -> Identifier:
        """The name of the element, which is the last one."""
        return self.names[-1]


@node
class Reduce(Node):
    """`reduce left, right in xs as step:`; `step` is a record of level, position and last."""

    left: Identifier
    right: Identifier
    iterable: Expression | None
    step: Identifier | None
    body: Suite


@node
class RepeatBlock(Node):
    """`repeat n as i until condition:`."""

    count: Expression
    counter: Identifier | None
    until: Expression | None
    body: Suite


@node
class Repeated(Node):
    """`Repeat(k):` with a block, or `solve(q) Repeat(k)`, whose block is the call alone; `again` is the
    `Repeat(k)`, which `follows` the call."""

    again: Step
    body: Suite
    follows: bool = False


@node
class If(Node):
    """`if condition:` with its `elif`s and `else`; `branches` pairs each condition with its pipeline."""

    branches: tuple[tuple[Expression, Suite], ...]
    otherwise: Suite | None


@node
class CasePattern(Node):
    """`Act {tool, arg}` in a `match`: a case, and the names of the fields that its block uses."""

    case: Identifier
    fields: tuple[Identifier, ...]


@node
class MatchBranch(Node):
    """`Act {tool}:`, `"sure" | "likely":`, `Act | Stop as step:` with a pipeline."""

    patterns: tuple[CasePattern | Constant, ...]
    name: Identifier | None
    body: Suite


@node
class Match(Node):
    """`match step:` with its branches, and `else:`."""

    subject: Expression
    branches: tuple[MatchBranch, ...]
    otherwise: Suite | None


@node
class Try(Node):
    """`try:` with its `else:`, the way that is taken where the first fails."""

    body: Suite
    otherwise: Suite


@node
class LabelReference(Node):
    """`merge step 1` after `from`: the output of an earlier labelled block."""

    label: str


@node
class Labelled(Node):
    """`merge step 1 from part[0], part[1] as left, right:`."""

    label: str
    sources: tuple[Expression | LabelReference, ...]
    names: tuple[Identifier, ...]
    body: Suite


Block = Foreach | Reduce | RepeatBlock | Repeated | If | Match | Try | Labelled
Statement = Step | Evaluate | Bind | Return | Skip | Block

# ---------------------------------------------------------------- declarations


@node
class ImportGot(Node):
    """`import "common.got"`."""

    path: Constant


@node
class PythonFunction(Node):
    """`search -> list[str]`: an imported function and the type of what it returns; None for `any`."""

    name: Identifier
    result: TypeNode | None


@node
class ImportPython(Node):
    """`import python "tools.py": search -> list[str], parse_it`."""

    path: Constant
    functions: tuple[PythonFunction, ...]


@node
class ImportCorpus(Node):
    """`import corpus "wiki.jsonl": wiki`: documents that `Retrieve` searches."""

    path: Constant
    name: Identifier


@node
class Simulate(Node):
    """`simulate with "sorting_sim.py"`."""

    path: Constant


@node
class TypeAlias(Node):
    """`type State = {path: list[str], left: list[float]}`."""

    name: Identifier
    type: TypeNode


@node
class Range(Node):
    """`in 1..10`: both ends belong to it."""

    low: Expression
    high: Expression


@node
class TextFile(Node):
    """`file "short.md"` among the texts that a study varies: the text in a file."""

    path: Constant


@node
class Choices(Node):
    """`in ["plain", "json"]`; in a study also names, and texts in files."""

    values: tuple[Expression | TextFile, ...]


@node
class Param(Node):
    """`param samples: list[int] = [3, 3, 3] each in 1..5 when search == "dfs"`."""

    name: Identifier
    type: TypeNode | None
    default: Expression
    each: bool
    domain: Range | Choices | None
    guard: Expression | None


@node
class Setting(Node):
    """`temperature 1.0` of a prompt, `train 50` or `sampler tpe(seed=42)` of a study."""

    name: Identifier
    value: Expression


@node
class Example(Node):
    """`numbers = [5, 1] -> [1, 5]`."""

    inputs: tuple[Argument, ...]
    output: Expression


@node
class ParseForm(Node):
    """`parse tag("Merged")`; `form` is the reader's own description, or `function` names a Python one."""

    form: Form | None
    function: Identifier | None = None


@node
class Prompt(Node):
    """`prompt sort(numbers: list[int]) -> many list[int]:` with its parts."""

    name: Identifier
    parameters: tuple[TypedName, ...]
    many: bool
    result: TypeNode
    settings: tuple[Setting, ...]
    system: Constant | None
    instruction: Constant | None
    examples: tuple[Example, ...]
    user: Constant | None
    parse: ParseForm | None


@node
class Score(Node):
    """`score mistakes(attempt: list[int]) -> lower, best 0:`."""

    name: Identifier
    parameters: tuple[TypedName, ...]
    direction: str
    best: Expression | None
    body: Suite


@node
class Metric(Node):
    """`metric f1_of(answer: str, truth: str) -> higher, best 1, failed 0:`."""

    name: Identifier
    parameters: tuple[TypedName, ...]
    direction: str
    best: Expression | None
    failed: Expression | None
    body: Suite


@node
class Scheme(Node):
    """`scheme sort128(numbers: list[int]) -> list[int], truth list[int]:`."""

    name: Identifier
    parameters: tuple[TypedName, ...]
    many: bool
    result: TypeNode
    truth: TypeNode | None
    body: Suite


@node
class StudyData(Node):
    """`data "digits.csv" (numbers = Unsorted), train 50, test 50`."""

    path: Constant
    columns: tuple[tuple[str, str], ...]
    options: tuple[Setting, ...]


@node
class Vary(Node):
    """`merge_tries in 5..25`, `sort.temperature in 0.0..1.0`: what a study varies. `part` is what of a prompt
    it is."""

    name: Identifier
    part: Identifier | None
    domain: Range | Choices | None

    @property
    def text(self) -> str:
        """What varies, as written: `sort.temperature`."""
        return self.name.text if self.part is None else f"{self.name.text}.{self.part.text}"

    @property
    def place(self) -> Span:
        """Where that is written."""
        return self.name.span if self.part is None else self.name.span.to(self.part.span)


@node
class StudyPrompts(Node):
    """`prompts repair, merge with copro(breadth=8)`."""

    names: tuple[Identifier, ...]
    optimizer: Expression


@node
class Study(Node):
    """`study sort128:` with its clauses; `objectives` pairs `minimize` or `maximize` with an expression."""

    name: Identifier
    program: Constant | None
    scheme: Identifier | None
    data: StudyData | None
    objectives: tuple[tuple[str, Expression], ...]
    constraints: tuple[Expression, ...]
    vary: tuple[Vary, ...]
    prompts: tuple[StudyPrompts, ...]
    options: tuple[Setting, ...]


Declaration = (
    ImportGot
    | ImportPython
    | ImportCorpus
    | Simulate
    | TypeAlias
    | Param
    | Prompt
    | Score
    | Metric
    | Scheme
    | Study
)


@node
class Comment(Node):
    """`# ...`: its text, whether it has a line to itself, whether it is inside brackets."""

    text: str
    own_line: bool
    nested: bool = False


@node
class Module(Node):
    """One file: its declarations in order, and its comments, which only the printer looks at. `unsure` are
    the words of what could not be read, `*` for any."""

    declarations: tuple[Declaration, ...]
    comments: tuple[Comment, ...] = field(default=(), compare=False)
    unsure: frozenset[str] = field(default=frozenset(), compare=False)


def is_lost(node: Node) -> bool:
    """Whether a node stands for a line, or the head of a block, that could not be read."""
    match node:
        case (
            NamedType(name=Identifier(text=text))
            | TypedName(type=NamedType(name=Identifier(text=text)))
            | Setting(name=Identifier(text=text))
            | Evaluate(value=Reference(name=text))
            | Labelled(label=text)
            | If(branches=((Reference(name=text), _), *_))
        ):
            return text == HOLE
        case MatchBranch(patterns=patterns):
            return not patterns
    return False
