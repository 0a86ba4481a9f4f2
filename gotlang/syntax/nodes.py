"""The rest of the syntax tree in the order of the grammar: types, pipelines, declarations, the module.

Like expressions, these are frozen data, equal if they represent the same text.
"""

from __future__ import annotations

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
)

# ---------------------------------------------------------------- types


class NamedType(Node, frozen=True):
    """`int`, `list[int]`, `State`."""

    name: Identifier
    arguments: tuple[TypeNode, ...] = ()


class TypedName(Node, frozen=True):
    """`numbers: list[int]` among inputs or in a record type."""

    name: Identifier
    type: TypeNode
    default: Expression | None = None

    @property
    def part(self) -> str | None:
        """`prompt`, `score`, `scheme` or `corpus` if one of these is given for an input; None for a value."""
        match self.type:
            case PartType(kind=kind):
                return kind.text
            case NamedType(
                name=Identifier(text=("prompt" | "score" | "scheme" | "corpus") as text), arguments=()
            ):
                return text
        return None


class PartType(Node, frozen=True):
    """`prompt(str) -> T` among the inputs of a scheme: the argument is a prompt, a score or a scheme."""

    kind: Identifier
    parameters: tuple[TypeNode, ...]
    result: TypeNode | None


class RecordTypeNode(Node, frozen=True):
    """`{path: list[str], left: list[float]}`."""

    fields: tuple[TypedName, ...]


class UnionTypeNode(Node, frozen=True):
    """`"sure" | "likely" | "impossible"`."""

    values: tuple[str, ...]


class CaseTypeNode(Node, frozen=True):
    """`Act {tool: str}` among alternatives, or `Stop` without fields."""

    name: Identifier
    fields: RecordTypeNode | None


class AlternativesNode(Node, frozen=True):
    """`Act {tool: str} | Finish {answer: str} | Stop`."""

    cases: tuple[CaseTypeNode, ...]


class OptionalTypeNode(Node, frozen=True):
    """`str?`: a text or `none`."""

    type: TypeNode


TypeNode = (
    NamedType | RecordTypeNode | UnionTypeNode | CaseTypeNode | AlternativesNode | OptionalTypeNode | PartType
)

# ---------------------------------------------------------------- pipelines


class Step(Node, frozen=True):
    """`Generate(k=5) sort(part)`; `settings` is None without parentheses. `again` is `Repeat(k)`."""

    operation: Identifier
    settings: tuple[Argument, ...] | None
    operands: tuple[Expression, ...]
    again: Step | None = None


class Evaluate(Node, frozen=True):
    """An expression on a line of its own: a scheme's call, or the value of a score."""

    value: Expression


class Bind(Node, frozen=True):
    """`name = step`, `name: type = expression`, `name =` with a block or an indented pipeline."""

    name: Identifier
    type: TypeNode | None
    value: Step | Expression | Suite | Block


class Return(Node, frozen=True):
    """`return expression`."""

    value: Expression


class Skip(Node, frozen=True):
    """`skip`: the element, or the member of a `Pool`, is left out."""


class Suite(Node, frozen=True):
    """An indented pipeline."""

    statements: tuple[Statement, ...]


class Foreach(Node, frozen=True):
    """`foreach list part in parts after needs(part):`; `adjective` is a word before the name, for readers.
    Two names unpack pairs: `foreach i, part in enumerate(parts):`."""

    adjective: str | None
    names: tuple[Identifier, ...]
    iterable: Expression | None
    after: Expression | None
    body: Suite

    @property
    def enumerated(self) -> Expression | None:
        """The list in `foreach i, x in enumerate(list)`, over whose elements the block iterates."""
        match self.iterable:
            case Call(function=Identifier(text="enumerate"), arguments=(one,)) if len(self.names) == 2:
                return one.value if one.name is None else None
        return None

    @property
    def element(self) -> Identifier:
        """The name of the element, which is the last one."""
        return self.names[-1]


class Reduce(Node, frozen=True):
    """`reduce left, right in xs as step:`; `step` is a record of level, position and last."""

    left: Identifier
    right: Identifier
    iterable: Expression | None
    step: Identifier | None
    body: Suite


class RepeatBlock(Node, frozen=True):
    """`repeat n as i until condition:`."""

    count: Expression
    counter: Identifier | None
    until: Expression | None
    body: Suite


class Repeated(Node, frozen=True):
    """`Repeat(k):` with a block, or `solve(q) Repeat(k)`, whose block is the call alone; `again` is the
    `Repeat(k)`, which `follows` the call."""

    again: Step
    body: Suite
    follows: bool = False


class If(Node, frozen=True):
    """`if condition:` with its `elif`s and `else`; `branches` pairs each condition with its pipeline."""

    branches: tuple[tuple[Expression, Suite], ...]
    otherwise: Suite | None


class CasePattern(Node, frozen=True):
    """`Act {tool, arg}` in a `match`: a case, and the names of the fields that its block uses."""

    case: Identifier
    fields: tuple[Identifier, ...]


class MatchBranch(Node, frozen=True):
    """`Act {tool}:`, `"sure" | "likely":`, `Act | Stop as step:` with a pipeline."""

    patterns: tuple[CasePattern | Constant, ...]
    name: Identifier | None
    body: Suite


class Match(Node, frozen=True):
    """`match step:` with its branches, and `else:`."""

    subject: Expression
    branches: tuple[MatchBranch, ...]
    otherwise: Suite | None


class Try(Node, frozen=True):
    """`try:` with its `else:`, which runs if the first one fails."""

    body: Suite
    otherwise: Suite


class Search(Node, frozen=True):
    """`search state from root until solved(state), rollouts 30, select uct(1.4):` with its parts; `clauses`
    are those of its head other than `until`."""

    state: Identifier
    root: Expression
    until: Expression | None
    clauses: tuple[Setting, ...]
    expand: Suite
    simulate: Suite | None
    value: Suite
    backup: Identifier | None

    def clause(self, name: str) -> Expression | None:
        """A clause of the head by its name."""
        return next((given.value for given in self.clauses if given.name.text == name), None)

    @property
    def parts(self) -> tuple[Suite, ...]:
        """Its pipelines, in the order in which a state goes through them."""
        return (self.expand, *([self.simulate] if self.simulate is not None else []), self.value)


class First(Node, frozen=True):
    """`first until condition:` and `first ..., at once:`, or a `race`: each alternative starts from the same
    thoughts, and one of them is chosen."""

    way: str
    until: Expression | None
    lines: tuple[Suite, ...]


class LabelReference(Node, frozen=True):
    """`merge step 1` after `from`: the output of an earlier labelled block."""

    label: str


class Labelled(Node, frozen=True):
    """`merge step 1 from part[0], part[1] as left, right:`."""

    label: str
    sources: tuple[Expression | LabelReference, ...]
    names: tuple[Identifier, ...]
    body: Suite


Block = Foreach | Reduce | RepeatBlock | Repeated | If | Match | Try | Search | First | Labelled
Statement = Step | Evaluate | Bind | Return | Skip | Block

# ---------------------------------------------------------------- declarations


class ModuleName(Node, frozen=True):
    """`std.vote`: a module of a package."""

    value: str


class ImportedName(Node, frozen=True):
    """`mistakes as errors` among what is imported from a file."""

    name: Identifier
    alias: Identifier | None = None


class ImportGot(Node, frozen=True):
    """`import "common.got"`, `import std.vote as vote`, `from "common.got" import merge, State as Other`."""

    path: Constant | ModuleName
    alias: Identifier | None = None
    names: tuple[ImportedName, ...] = ()


class PythonFunction(Node, frozen=True):
    """`search -> list[str]`: an imported function and its result type; None for `any`."""

    name: Identifier
    result: TypeNode | None


class ImportPython(Node, frozen=True):
    """`import python "tools.py": search -> list[str], parse_it`."""

    path: Constant
    functions: tuple[PythonFunction, ...]


class ImportMcp(ImportPython, frozen=True):
    """`import mcp "python server.py": search`: tools of an MCP server, by its command or its address."""


class ImportCorpus(Node, frozen=True):
    """`import corpus "wiki.jsonl": wiki`: documents that `Retrieve` searches."""

    path: Constant
    name: Identifier


class Simulate(Node, frozen=True):
    """`simulate with "sorting_sim.py"`."""

    path: Constant


class TypeAlias(Node, frozen=True):
    """`type State = {path: list[str], left: list[float]}`."""

    name: Identifier
    type: TypeNode


class Range(Node, frozen=True):
    """`in 1..10`: both ends are included."""

    low: Expression
    high: Expression


class TextFile(Node, frozen=True):
    """`file "short.md"` among the texts that a study varies: the text in a file."""

    path: Constant


class Choices(Node, frozen=True):
    """`in ["plain", "json"]`; in a study also names, and texts in files."""

    values: tuple[Expression | TextFile, ...]


class Param(Node, frozen=True):
    """`param samples: list[int] = [3, 3, 3] each in 1..5 when search == "dfs"`."""

    name: Identifier
    type: TypeNode | None
    default: Expression
    each: bool
    domain: Range | Choices | None
    guard: Expression | None


class Setting(Node, frozen=True):
    """`temperature 1.0` of a prompt, `train 50` or `sampler tpe(seed=42)` of a study."""

    name: Identifier
    value: Expression


class Example(Node, frozen=True):
    """`numbers = [5, 1] -> [1, 5]`."""

    inputs: tuple[Argument, ...]
    output: Expression


class ParseForm(Node, frozen=True):
    """`parse tag("Merged")`; `form` is the reader's own description, or `function` names a Python one."""

    form: Form | None
    function: Identifier | None = None


class Turn(Node, frozen=True):
    """`assistant "..."` of a prompt with turns: a role and a text; or `messages history`, an input's name."""

    role: str
    text: Constant | Identifier


STOP_WHEN = "stop when"
"""The name of a prompt's setting that is an expression over the text so far."""


class Prompt(Node, frozen=True):
    """`prompt sort(numbers: list[int]) -> many list[int]:` with its parts. A prompt with turns other than
    `system` and one text has all of them in `turns`; `as_turns` applies to its examples. `file` is the
    Markdown file with its texts and some settings: `prompt sort(...) -> list[int] from "sort.md"`."""

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
    tools: tuple[Identifier, ...] = ()
    turns: tuple[Turn, ...] = ()
    as_turns: bool = False
    file: Constant | None = None

    @property
    def own_text(self) -> Constant | None:
        """The text that tuning changes: the instruction, else the user's last one."""
        return self.instruction or self.asking

    @property
    def asking(self) -> Constant | None:
        """The user's last text, which examples fill in."""
        found = [turn.text for turn in self.turns if turn.role == "user"]
        return self.user or next((text for text in reversed(found) if isinstance(text, Constant)), None)

    @property
    def texts(self) -> tuple[Constant, ...]:
        """Its texts, the instruction first."""
        texts = (self.instruction, self.system, self.user, *(turn.text for turn in self.turns))
        return tuple(text for text in texts if isinstance(text, Constant))


class Partial(Node, frozen=True):
    """`partial style(tone: str): "Write in a {{ tone }} tone."`: a text that prompts share."""

    name: Identifier
    parameters: tuple[TypedName, ...]
    text: Constant


class Score(Node, frozen=True):
    """`score mistakes(attempt: list[int]) -> lower, best 0:`."""

    name: Identifier
    parameters: tuple[TypedName, ...]
    direction: str
    best: Expression | None
    body: Suite


class Metric(Node, frozen=True):
    """`metric f1_of(answer: str, truth: str) -> higher, best 1, failed 0:`."""

    name: Identifier
    parameters: tuple[TypedName, ...]
    direction: str
    best: Expression | None
    failed: Expression | None
    body: Suite


class Limit(Node, frozen=True):
    """`40 calls`, `6 hops`, `0.02 usd` after `within`."""

    number: Constant
    unit: Identifier


class Scheme(Node, frozen=True):
    """`scheme sort128(numbers: list[int]) -> list[int], truth list[int] decreases depth within 40 calls:`."""

    name: Identifier
    parameters: tuple[TypedName, ...]
    many: bool
    result: TypeNode
    truth: TypeNode | None
    body: Suite
    decreases: Expression | None = None
    within: tuple[Limit, ...] = ()
    variables: tuple[Identifier, ...] = ()


class Drawn(Node, frozen=True):
    """`left, right in lists(int)`: names of a law, and the generator of their values."""

    names: tuple[Identifier, ...]
    generator: Expression


class Test(Node, frozen=True):
    """`test "sorts three": sort([3, 1, 2]) == [1, 2, 3]`, or a `law` if inputs are `drawn`: it must be true
    for at least `share` of `times` inputs (None: for each)."""

    name: Constant
    drawn: tuple[Drawn, ...]
    value: Expression
    share: Constant | None = None
    times: int | None = None
    within: tuple[Limit, ...] = ()


class OperationDefinition(Node, frozen=True):
    """`operation BestOf(k: int = 5) p: prompt, s: score:` with its body."""

    name: Identifier
    settings: tuple[TypedName, ...]
    operands: tuple[TypedName, ...]
    body: Suite


class Function(Node, frozen=True):
    """`function half(x: int) -> int = x // 2`; `variables` stand for types that its callers choose."""

    name: Identifier
    variables: tuple[Identifier, ...]
    parameters: tuple[TypedName, ...]
    result: TypeNode
    value: Expression


class StudyData(Node, frozen=True):
    """`data "digits.csv" (numbers = Unsorted), train 50, test 50`."""

    path: Constant
    columns: tuple[tuple[str, str], ...]
    options: tuple[Setting, ...]


class Vary(Node, frozen=True):
    """`merge_tries in 5..25`, `sort.temperature in 0.0..1.0`: a dimension of a study. `part` is the part of a
    prompt."""

    name: Identifier
    part: Identifier | None
    domain: Range | Choices | None

    @property
    def text(self) -> str:
        """The dimension as written: `sort.temperature`."""
        return self.name.text if self.part is None else f"{self.name.text}.{self.part.text}"

    @property
    def place(self) -> Span:
        """The place of the dimension's name."""
        return self.name.span if self.part is None else self.name.span.to(self.part.span)


class StudyPrompts(Node, frozen=True):
    """`prompts repair, merge with copro(breadth=8)`."""

    names: tuple[Identifier, ...]
    optimizer: Expression


class Study(Node, frozen=True):
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
    | Test
    | OperationDefinition
    | Function
    | Partial
    | Study
)


class Comment(Node, frozen=True):
    """`# ...`: its text, whether it has a line to itself, whether it is inside brackets."""

    text: str
    own_line: bool
    nested: bool = False


ANY_OPERATION = "*A"


class Module(Node, frozen=True):
    """One file: its declarations in order, and its comments, which only the printer uses. `unsure` are the
    words in unreadable parts: `*` for any, `*A` for any operation, `so*` for any with this prefix. `lost` are
    the places whose first line is unreadable, so that it may declare any name in them."""

    declarations: tuple[Declaration, ...]
    comments: tuple[Comment, ...] = ()
    unsure: frozenset[str] = frozenset()
    unreadable: tuple[Span, ...] = ()

    @property
    def imports(self) -> list[ImportGot]:
        """Its imports of other programs."""
        return [d for d in self.declarations if isinstance(d, ImportGot)]

    def _meaning(self) -> tuple[object, ...]:
        return self.declarations


def is_unreadable(node: Node) -> bool:
    """Whether a node represents an unreadable line, or the unreadable head of a block."""
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
