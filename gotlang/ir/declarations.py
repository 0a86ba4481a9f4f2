"""The declarations of the IR: a program whose names are resolved, whose pools are explicit and whose steps
carry their types."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, final

from msgspec import Struct
from msgspec.structs import replace

from gotlang.answers.forms import Form
from gotlang.frozen import Frozen
from gotlang.operations.ask import Ask
from gotlang.operations.names import expressions_in, own_expressions
from gotlang.operations.pool import Pool
from gotlang.operations.step import Arguments, Region, Step
from gotlang.span import NOWHERE, Span
from gotlang.syntax import expressions as e
from gotlang.syntax.walk import walk
from gotlang.templates import Template
from gotlang.types import DYNAMIC, FLOAT, Type

NUMBER = "%number"
"""The step that calls a score as a scheme, and the step that checks whether its result is beyond `best`."""


@final
class Domain(Struct, frozen=True):
    """The values for tuning a param: numbers from `low` to `high`, or one of `choices`."""

    low: float | int | None = None
    high: float | int | None = None
    choices: tuple[Any, ...] = ()


@final
class Param(Frozen, frozen=True):
    """A param: its default, its domain (of `each` element), and the condition of its use."""

    name: str
    type: Type
    default: Any
    each: bool = False
    domain: Domain | None = None
    guard: e.Expression | None = None
    span: Span = NOWHERE


@final
class Example(Struct, frozen=True):
    """A worked example of a prompt: inputs by name, the output, and a response text that parses as it."""

    inputs: tuple[tuple[str, Any], ...]
    output: Any
    response: str


@final
class Turn(Struct, frozen=True):
    """A turn of a prompt: a role and its text, or the turns in an input, by its name."""

    role: str
    text: Template | None
    history: str = ""


@final
class Prompt(Frozen, frozen=True):
    """A prompt: with `turns`, or else a user's turn after that of the system, if there is one. `reader` names
    a Python reader; `count` is the number of values a response must hold if the prompt says `many` (None: any
    number), `tools` names the functions and schemes that a model may call, `stop_when` is the condition on a
    partial text (`it`) that ends the response."""

    name: str
    parameters: tuple[tuple[str, Type], ...]
    result: Type
    many: bool
    settings: Arguments = ()
    system: Template | None = None
    instruction: Template | None = None
    examples: tuple[Example, ...] = ()
    user: Template | None = None
    form: Form | None = None
    reader: str | None = None
    count: e.Expression | None = None
    tools: tuple[str, ...] = ()
    span: Span = NOWHERE
    turns: tuple[Turn, ...] = ()
    as_turns: bool = False
    stop_when: e.Expression | None = None

    @property
    def asking(self) -> Template | None:
        """The user's last text, which examples fill in."""
        found = (turn.text for turn in reversed(self.turns) if turn.role == "user")
        return self.user or next(found, None)

    @property
    def all_turns(self) -> tuple[Turn, ...]:
        """The turns as they are sent."""
        if self.turns:
            return self.turns
        system = (Turn("system", self.system),) if self.system is not None else ()
        return (*system, Turn("user", self.user))

    @property
    def texts(self) -> tuple[Template, ...]:
        """Its texts, the instruction first."""
        found = (self.instruction, *(turn.text for turn in self.all_turns))
        return tuple(text for text in found if text is not None)

    def with_own_text(self, text: str) -> Prompt:
        """The same with another instruction or, if it has none, another last text of the user."""
        new = Template.parse(text)
        if self.instruction is not None or self.asking is None:
            return replace(self, instruction=new)
        if not self.turns:
            return replace(self, user=new)
        last = max(place for place, turn in enumerate(self.turns) if turn.role == "user")
        return replace(self, turns=(*self.turns[:last], Turn("user", new), *self.turns[last + 1 :]))


@final
class ScoreFunction(Frozen, frozen=True, dict=True):
    """A score: lower or higher is better, `best` cannot be exceeded. `body` has its model calls before
    `value` is evaluated; it is empty for a local score."""

    name: str
    parameters: tuple[tuple[str, Type], ...]
    lower: bool
    best: float | None
    body: Region
    value: e.Expression
    span: Span = NOWHERE

    @cached_property
    def scheme(self) -> Scheme:
        """The score as a scheme that returns its number."""
        given = (self.value, e.Constant(self.span, self.name))
        arguments = tuple(e.Argument(self.span, None, node) for node in given)
        number = e.Call(self.span, e.Identifier(self.span, NUMBER), arguments)
        value = Pool(NUMBER, FLOAT, True, self.body.entry, (number,), span=self.span)
        body = Region(self.body.entry, (*self.body.steps, value), NUMBER)
        return Scheme(self.name, self.parameters, FLOAT, False, False, DYNAMIC, body, self.span)


@final
class MetricFunction(Frozen, frozen=True):
    """A metric of results, invisible to steps: of the result, its first parameter, and of `truth` and inputs
    by name. `failed` is its value for a run without a result (None: unknown), `share` says it is a bool."""

    name: str
    parameters: tuple[tuple[str, Type], ...]
    lower: bool
    best: float | None
    failed: float | None
    share: bool
    value: e.Expression
    span: Span = NOWHERE


@final
class Scheme(Frozen, frozen=True):
    """A scheme. `collect`: its result is the list of the values of its last step. `limits` are its proven
    budget, by unit: `calls`, `hops`, `usd`."""

    name: str
    parameters: tuple[tuple[str, Type], ...]
    result: Type
    many: bool
    collect: bool
    truth: Type
    body: Region
    span: Span = NOWHERE
    limits: tuple[tuple[str, float], ...] = ()


@final
class PythonFunction(Struct, frozen=True):
    """A Python function with its result type, which is checked at run time."""

    name: str
    result: Type = DYNAMIC


@final
class PythonImport(Frozen, frozen=True):
    """The functions that a program imports from a Python file; `path` is as written, relative to the
    program's folder."""

    incidental = frozenset({"folder"})

    path: str
    functions: tuple[PythonFunction, ...]
    folder: str = ""


@final
class Corpus(Frozen, frozen=True):
    """Documents in a file, searched by `Retrieve`."""

    incidental = frozenset({"folder"})

    name: str
    path: str
    folder: str = ""


@final
class Program(Frozen, frozen=True, dict=True):
    """A whole program. Tables keep the order of the source; `name` is the file's, without its suffix, `main`
    the scheme that runs by default, or None."""

    incidental = frozenset({"main"})

    name: str
    params: tuple[Param, ...] = ()
    prompts: tuple[Prompt, ...] = ()
    scores: tuple[ScoreFunction, ...] = ()
    schemes: tuple[Scheme, ...] = ()
    python: tuple[PythonImport, ...] = ()
    corpora: tuple[Corpus, ...] = ()
    simulators: tuple[PythonImport, ...] = ()
    types: tuple[tuple[str, Type], ...] = ()
    """Those that the program declares."""
    provided: tuple[PythonFunction, ...] = ()
    """Functions that the host passes."""
    main: str | None = None
    metrics: tuple[MetricFunction, ...] = ()
    servers: tuple[PythonImport, ...] = ()
    """Commands or addresses of MCP servers, and the imported tools of each."""

    @property
    def bodies(self) -> dict[str, Region]:
        """The bodies of its schemes and scores, by name."""
        bodies = {scheme.name: scheme.body for scheme in self.schemes}
        return bodies | {score.name: score.body for score in self.scores}

    @property
    def questions(self) -> set[str]:
        """The prompts that people are asked."""
        return {step.prompt for step in self.steps if isinstance(step, Ask)}

    @property
    def asked(self) -> set[str]:
        """The prompts for models: all except those that are only for people."""
        by_models = {getattr(step, "prompt", "") for step in self.steps if not isinstance(step, Ask)}
        return {prompt.name for prompt in self.prompts} - (self.questions - by_models)

    @property
    def steps(self) -> Iterator[Step]:
        """All steps of its scores and schemes, those of blocks too."""
        return (step for body in self.bodies.values() for step in body.all_steps())

    @property
    def functions(self) -> set[str]:
        """The names of the Python functions that it imports."""
        modules = (*self.python, *self.servers)
        return {function.name for module in modules for function in module.functions}

    @property
    def results(self) -> dict[str, Type]:
        """The result types of Python functions."""
        modules = (*self.python, *self.servers)
        functions = [*self.provided, *(function for module in modules for function in module.functions)]
        return {function.name: function.result for function in functions}

    def reached(self, scheme: Scheme) -> set[str]:
        """Every name in a scheme and in what it calls: of params, prompts, scores, schemes and functions."""
        bodies = self.bodies
        others = {
            each.name: expressions_in((each.settings, each.count, each.stop_when)) for each in self.prompts
        }
        others |= {each.name: expressions_in((each.value,)) for each in self.scores}
        tools = {each.name: each.tools for each in self.prompts}
        seen, pending = {scheme.name}, [scheme.name]
        while pending:
            name = pending.pop()
            steps = list(bodies[name].all_steps()) if name in bodies else []
            expressions = [node for step in steps for node in own_expressions(step)] + [*others.get(name, ())]
            named = {value for step in steps for value in step.own_fields.values() if isinstance(value, str)}
            for node in (inner for expression in expressions for inner in walk(expression)):
                if isinstance(node, e.Reference):
                    named.add(node.name)
                elif isinstance(node, e.Call):
                    named.add(node.function.text)
            named.update(tools.get(name, ()))
            pending += named - seen
            seen |= named
        return seen

    def callees(self, name: str) -> list[str]:
        """The schemes, and scores as schemes, that one calls, in order."""
        from gotlang.operations.scheme_call import Invoke

        return [step.scheme for step in self.scheme(name).body.all_steps() if isinstance(step, Invoke)]

    def prompt(self, name: str) -> Prompt:
        """The prompt with a name; raises KeyError if there is none."""
        return self._prompts[name]

    def score(self, name: str) -> ScoreFunction:
        """The score with a name; raises KeyError if there is none."""
        return self._scores[name]

    def scheme(self, name: str) -> Scheme:
        """The scheme with a name, or a score as one; raises KeyError if there is none."""
        return self._schemes.get(name) or self.score(name).scheme

    @cached_property
    def _prompts(self) -> dict[str, Prompt]:
        return {prompt.name: prompt for prompt in self.prompts}

    @cached_property
    def _scores(self) -> dict[str, ScoreFunction]:
        return {score.name: score for score in self.scores}

    @cached_property
    def _schemes(self) -> dict[str, Scheme]:
        return {scheme.name: scheme for scheme in self.schemes}
