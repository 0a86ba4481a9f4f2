"""The stages of a scheme that rewrites work on, with the facts known there, and the changes that a rewrite
makes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar, cast, final

from msgspec import structs

from gotlang.compiler import Compiled
from gotlang.scope import PoolType
from gotlang.semantics.builtins import BUILTINS
from gotlang.semantics.steps import setting
from gotlang.semantics.symbols import RESERVED, Signature
from gotlang.span import NOWHERE, Source, Span
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.syntax.format import format_expression, format_inline
from gotlang.syntax.parse import parse
from gotlang.syntax.walk import rebuilt, walk
from gotlang.types import BOOL, Type, accepts

NodeT = TypeVar("NodeT", bound=e.Node)
Statements = tuple[n.Statement, ...]

HEADS = frozenset({"Generate", "Aggregate"})
"""The operations that a stage begins with."""
CHOOSERS = frozenset({"KeepBestN", "Vote"})
MENDERS = frozenset({"Improve", "ValidateAndImprove"})
SCORE = frozenset({"Score"})
_TAIL = CHOOSERS | MENDERS | {"Score", "Validate", "KeepValid"}


@final
@dataclass(frozen=True, slots=True)
class Number:
    """A param that a rewrite introduces: a whole number with its range, both ends included, and what it
    counts, such as `tries`; `by` is the name of the rewrite."""

    name: str
    default: int
    low: int
    high: int
    counts: str = ""
    by: str = ""

    @property
    def text(self) -> str:
        """The declaration."""
        return f"param {self.name} = {self.default} in {self.low}..{self.high}"


@final
@dataclass(frozen=True, slots=True)
class Replacement:
    """The replacement of a stage. `about` is its identity.

    The program then makes at least `least` times and at most `most` times as many calls as before, both
    formulas in its params (None: not known). If the param that `off` names has that value, the program
    behaves as before.
    """

    about: str
    statements: Statements
    numbers: tuple[Number, ...] = ()
    least: str = "1"
    most: str | None = "1"
    off: tuple[str, int] | None = None
    copies: Mapping[str, str] = field(default_factory=dict)


@final
@dataclass(frozen=True)
class Stage:
    """A step of a scheme that samples thoughts, and the following steps that score, choose and improve them.

    `numbers` are the params that earlier rewrites introduced, `most` is the maximum factor by which these
    multiplied its calls, `models` are those to choose from.
    """

    program: Compiled
    scheme: n.Scheme
    suite: n.Suite
    start: int
    stop: int
    numbers: tuple[Number, ...] = ()
    most: str | None = "1"
    models: tuple[str, ...] = ()

    # ---------------------------------------------------------------- facts

    @property
    def head(self) -> n.Step:
        """The step that samples."""
        return cast(n.Step, self.suite.statements[self.start])

    @property
    def rest(self) -> Statements:
        """The steps after it."""
        return self.suite.statements[self.start + 1 : self.stop]

    @property
    def call(self) -> e.Call:
        """The call of the prompt."""
        return cast(e.Call, self.head.operands[0])

    @property
    def prompts(self) -> Mapping[str, Signature]:
        """All prompts of the program."""
        return self.program.checked.symbols.prompts

    @property
    def prompt(self) -> Signature:
        """The prompt that is called."""
        return self.prompts[self.call.function.text]

    @property
    def result(self) -> Type:
        """The type of its thoughts."""
        return self.prompt.result

    @property
    def k(self) -> e.Expression | None:
        """The number of samples; None for one."""
        return setting(self.head, "k")

    @property
    def once(self) -> bool:
        """Whether it takes one sample for one thought."""
        pool = self._pool(self.head)
        return pool is not None and pool.single

    @property
    def single(self) -> bool:
        """Whether exactly one thought is left at its end."""
        pool = self._pool(self.suite.statements[self.stop - 1])
        return pool is not None and pool.single

    def _pool(self, node: n.Statement) -> PoolType | None:
        """The output of a statement, looked up by its place if names of other files made it another node."""
        found = self.program.checked.pools.get(id(node))
        return found or self._pools.get(node.span)

    @cached_property
    def _pools(self) -> dict[Span, PoolType]:
        pools = self.program.checked.pools
        checked = self.program.checked.symbols.nodes[self.scheme.name.text]
        return {part.span: pools[id(part)] for part in walk(checked) if id(part) in pools}

    def has(self, operations: frozenset[str]) -> bool:
        """Whether one of these operations is among its steps after the first."""
        return any(within(statement, operations) for statement in self.rest)

    @property
    def varied(self) -> bool:
        """Whether two samples of it may differ: its temperature is not 0."""
        given = setting(self.head, "temperature")
        node = self.program.checked.symbols.nodes[self.prompt.name]
        assert isinstance(node, n.Prompt)
        own = next((one.value for one in node.settings if one.name.text == "temperature"), None)
        return (given if given is not None else own) not in (e.Constant(NOWHERE, 0), e.Constant(NOWHERE, 0.0))

    @cached_property
    def arguments(self) -> dict[str, e.Expression]:
        """The arguments of the prompt's call, by parameter."""
        names = [name for name, _ in self.prompt.parameters]
        places = iter(names)
        return {
            argument.name.text if argument.name is not None else next(places): argument.value
            for argument in self.call.arguments
        }

    @cached_property
    def _scores(self) -> n.Step | None:
        return next((s for s in self.rest if isinstance(s, n.Step) and s.operation.text == "Score"), None)

    @property
    def scored(self) -> e.Expression | None:
        """The score of its thoughts; None if they have none."""
        return self._scores.operands[0] if self._scores is not None else None

    @cached_property
    def score(self) -> str | None:
        """The score of its thoughts: its own, or a declared one that matches and calls no model."""
        if self.scored is not None:
            return format_expression(self.scored)
        symbols = self.program.checked.symbols
        for name, score in symbols.scores.items():
            if name not in symbols.asking and (found := self.filled(score)) is not None:
                return found
        return None

    @property
    def scoring(self) -> str:
        """The step that scores its thoughts, as text; empty if nothing can."""
        if self._scores is not None:
            return format_inline(self._scores)
        return f"Score() {self.score}" if self.score is not None else ""

    @cached_property
    def right(self) -> tuple[str, bool] | None:
        """The condition that a thought is right, and whether it is a prompt: the `best` of its score, else a
        prompt that returns true or false."""
        symbols = self.program.checked.symbols
        name = self.score.partition("(")[0] if self.score is not None else ""
        declared = symbols.nodes.get(name)
        if isinstance(declared, n.Score) and declared.best is not None and name not in symbols.asking:
            return f"{self.score} == {format_expression(declared.best)}", False
        for prompt in self.prompts.values():
            if prompt.result == BOOL and not prompt.many and (found := self.filled(prompt)) is not None:
                return found, True
        return None

    def menders(self) -> Iterator[tuple[str, str]]:
        """The prompts that can improve one of these thoughts, with the call."""
        for prompt in self.prompts.values():
            if prompt.result == self.result and not prompt.many and prompt.name != self.prompt.name:
                found = self.filled(prompt, shown=True)
                if found is not None:
                    yield prompt.name, found

    def names(self, wanted: Signature) -> dict[str, e.Expression]:
        """The values of parameters that have the same names as those of the stage's call or the scheme's
        inputs."""
        known = {**dict(self._inputs()), **self._typed_arguments()}
        return {name: known[name][1] for name, type_ in wanted.parameters if self._fits(known, name, type_)}

    def filled(self, wanted: Signature, *, shown: bool = False) -> str | None:
        """A call about the current thought: its parameters have values with the same name in the stage's call
        or in the scheme's inputs, except for the one that gets the thought; None if there is no such call.

        If all have, the first possible one gets the thought, unless `shown`.
        """
        named = self.names(wanted)
        left = [name for name, _ in wanted.parameters if name not in named]
        if not left and not shown:
            left = [name for name, type_ in wanted.parameters if accepts(type_, self.result)][:1]
        if len(left) != 1 or not accepts(dict(wanted.parameters)[left[0]], self.result):
            return None
        values = ("it" if name in left else format_expression(named[name]) for name, _ in wanted.parameters)
        return f"{wanted.name}({', '.join(values)})"

    @staticmethod
    def _fits(known: Mapping[str, tuple[Type, e.Expression]], name: str, wanted: Type) -> bool:
        return name in known and accepts(wanted, known[name][0])

    def _inputs(self) -> Iterator[tuple[str, tuple[Type, e.Expression]]]:
        for name, type_ in self.program.checked.symbols.schemes[self.scheme.name.text].parameters:
            yield name, (type_, e.Reference(NOWHERE, name))

    def _typed_arguments(self) -> dict[str, tuple[Type, e.Expression]]:
        types = dict(self.prompt.parameters)
        return {
            name: (types[name], value)
            for name, value in self.arguments.items()
            if not any(isinstance(part, e.Reference) and part.name == "it" for part in walk(value))
        }

    def inputs(self) -> dict[str, Type]:
        """The scheme's inputs by name."""
        return {name: type_ for name, (type_, _) in self._inputs()}

    # ---------------------------------------------------------------- construction

    @property
    def statements(self) -> Statements:
        """All its steps."""
        return self.suite.statements[self.start : self.stop]

    def fresh(self, name: str, *, param: bool = False) -> str:
        """A name that is unused in the scheme, or for a `param` in the whole program: this one, or with a
        number."""
        taken = self._everywhere if param else self._here
        found, number = name, 2
        while found in taken:
            found, number = f"{name}_{number}", number + 1
        return found

    @cached_property
    def _everywhere(self) -> set[str]:
        return {name for module in self.program.modules for name in _identifiers(module)}

    @cached_property
    def _here(self) -> set[str]:
        symbols = self.program.checked.symbols
        declared = {*symbols.callables(), *symbols.nodes, *symbols.corpora, *BUILTINS, *RESERVED}
        return declared | {number.name for number in self.numbers} | set(_identifiers(self.scheme))

    def number(self, name: str, default: int, low: int, high: int) -> Number:
        """A new param."""
        return Number(self.fresh(name, param=True), default, low, high, name.rpartition("_")[2])

    def parsed(self, *lines: str, after: n.Statement | None = None) -> Statements:
        """Statements from the text of their lines; in the source they are after a statement (None: the first
        of the stage)."""
        source = Source.of("<rewrite>", "scheme s() -> int:\n" + "".join(f"    {x}\n" for x in lines if x))
        module, problems = parse(source)
        assert not problems, (source.text, problems)
        (scheme,) = module.declarations
        assert isinstance(scheme, n.Scheme)
        place = line_end(self.program.source, (after or self.head).span.end)
        return changed(scheme.body, lambda node: structs.replace(node, span=place)).statements

    def asking(self, k: str | None, **settings: str) -> n.Step:
        """The first step with another `k` (None: one), and with these settings."""
        kept = [
            one
            for one in self.head.settings or ()
            if one.name is not None and one.name.text != "k" and one.name.text not in settings
        ]
        more = {**({"k": k} if k is not None else {}), **settings}
        (step,) = self.parsed(f"X({', '.join(f'{name}={value}' for name, value in more.items())})")
        assert isinstance(step, n.Step)
        return structs.replace(self.head, settings=(*(step.settings or ()), *kept))


def changed(node: NodeT, change: Callable[[e.Node], e.Node]) -> NodeT:
    """A node with a function applied to each node in it, the inner ones first, and then to itself."""
    return cast(
        NodeT, rebuilt(cast(e.Expression, node), cast(Callable[[e.Expression], e.Expression], change))
    )


def _identifiers(node: e.Node) -> Iterator[str]:
    return (part.text for part in walk(node) if isinstance(part, e.Identifier))


def within(statement: n.Statement, operations: frozenset[str]) -> bool:
    """Whether a statement is, or contains, a step of one of these operations."""
    return any(isinstance(part, n.Step) and part.operation.text in operations for part in walk(statement))


def line_end(source: Source, offset: int) -> Span:
    """The end of the line that contains a place."""
    found = source.text.find("\n", offset)
    end = found if found >= 0 else len(source.text)
    return Span(source.name, end, end)


def stages(
    program: Compiled,
    scheme: n.Scheme,
    numbers: tuple[Number, ...],
    most: str | None,
    models: tuple[str, ...],
) -> Iterator[Stage]:
    """The stages of a scheme, in the order of its text."""
    for suite in walk(scheme.body):
        if not isinstance(suite, n.Suite):
            continue
        for start, statement in enumerate(suite.statements):
            if _asks(statement, program.checked.symbols.prompts):
                rest = suite.statements[start + 1 :]
                length = next((i for i, one in enumerate(rest) if not _in_tail(one)), len(rest))
                yield Stage(program, scheme, suite, start, start + 1 + length, numbers, most, models)


def _asks(statement: n.Statement, prompts: Mapping[str, Signature]) -> bool:
    match statement:
        case n.Step(operation=e.Identifier(text=word), operands=(e.Call(function=called),), again=None):
            signature = prompts.get(called.text)
            return word in HEADS and signature is not None and not signature.many
    return False


def _in_tail(statement: n.Statement) -> bool:
    match statement:
        case n.Step(operation=e.Identifier(text=word)):
            return word in _TAIL
        case n.RepeatBlock(body=body):
            return all(map(_in_tail, body.statements))
    return False


@final
@dataclass(frozen=True, slots=True)
class Rewrite:
    """One way to change the graph of a scheme.

    - `name`, `doc`: what it is called in the name of a variant, and what it does.
    - `calls`: its effect on the bounds of the number of calls, in words; `Replacement.least` and
      `Replacement.most` are the formulas.
    - `needs`: what there must be.
    - `changes`: where it applies, and what then stands instead of the stage. The types of the stage decide;
      what does not compile is left out.
    """

    name: str
    doc: str
    calls: str
    needs: str
    changes: Callable[[Stage], Iterator[Replacement]]
