"""Names in scope at a place of a pipeline, and the facts known of the thoughts that flow there."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping
from typing import Literal, final

from msgspec import Struct, field

from gotlang.frozen import Frozen
from gotlang.span import NOWHERE, Span
from gotlang.types import ANY, BOOL, EMPTY, FLOAT, NEVER, STR, ListType, RecordType, Type

Kind = Literal["value", "thought", "thoughts"]
Narrowed = Mapping[Hashable, Type]
"""Types of expressions (names, fields and elements) where a condition is true."""

BETWEEN = "__"
"""The separator of a file's name and a name in it, in names that the linker makes."""


_TOKEN = (("text", STR), ("logprob", FLOAT))
TOKEN = RecordType((*_TOKEN, ("top", ListType(RecordType(_TOKEN)))))
"""A token of a response: its natural log-probability, and the most likely tokens at its position."""

THOUGHT_FUNCTIONS: dict[str, tuple[Type, str]] = {
    "confidence": (
        FLOAT,
        "probability of the response, averaged per token, or of an entry of a dict (`confidence(tree[x])`), "
        "or of a field of it, not averaged (needs `logprobs=true`)",
    ),
    "cost": (
        FLOAT,
        "cost of the thought's response in US dollars: its own tokens, and its share of the prompt; 0 if it "
        "was computed",
    ),
    "tokens": (
        ListType(TOKEN),
        "tokens of the complete response, each `{text: str, logprob: float, top: list[{text: str, logprob: "
        "float}]}`; `top` are the most likely tokens at its position, `top_logprobs` of them (needs "
        "`logprobs` or `top_logprobs`)",
    ),
    "score": (FLOAT, "the score from the last `Score`"),
    "valid": (BOOL, "the result of the last `Validate`"),
}
"""Functions of a thought rather than of its value: their argument is the name of one thought."""


Fact = Literal["score", "validity", "log-probabilities"]
"""Facts that may be known of a thought besides its value."""


def plain(name: str) -> str:
    """A name as its own file declares it."""
    return name.rpartition(BETWEEN)[2] or name


@final
class ScoredBy(Frozen, frozen=True):
    """A score that thoughts have: its name (an expression's text), whether lower is better, and the place of
    the step that computed it."""

    name: str
    lower: bool
    span: Span = NOWHERE


@final
class Facts(Frozen, frozen=True):
    """The facts known of each thought of a pool. `scores` are the possible sources of their scores, if all
    are `scored`. `rounds` is the number of a `repeat` that may be 0, so that nothing more is known."""

    incidental = frozenset({"rounds"})

    scored: bool = False
    scores: tuple[ScoredBy, ...] = ()
    validated: bool = False
    logprobs: bool = False
    rounds: Span = NOWHERE

    def has(self, fact: Fact) -> bool:
        """Whether a fact is known."""
        return {"score": self.scored, "validity": self.validated, "log-probabilities": self.logprobs}[fact]

    def both(self, other: Facts) -> Facts:
        """The facts of thoughts that are of one kind or of the other."""
        scored = self.scored and other.scored
        more = tuple(score for score in other.scores if score not in self.scores)
        return Facts(
            scored,
            self.scores + more if scored else (),
            self.validated and other.validated,
            self.logprobs and other.logprobs,
        )

    def merged(self, other: Facts) -> Facts:
        """The facts of thoughts of this kind after gaining the other facts; the other score replaces this
        one."""
        return Facts(
            self.scored or other.scored,
            other.scores if other.scored else self.scores,
            self.validated or other.validated,
            self.logprobs or other.logprobs,
        )


NOTHING = Facts()
"""The facts of a new thought."""
EVERYTHING = Facts(scored=True, validated=True, logprobs=True)
"""The facts assumed of a pool that may be empty, or that an error produced."""


@final
class Variable(Struct):
    """A name with its type. `thought` names one thought, `thoughts` a list of them, `value` a plain value; in
    an expression each stands for its value, so the type of `thoughts` is a list."""

    name: str
    type: Type
    kind: Kind = "value"
    span: Span = NOWHERE
    facts: Facts = NOTHING
    used: bool = False


@final
class PoolType(Struct, frozen=True):
    """The output of a step: the type of its thoughts, exactly one or any number, and the facts known of
    them."""

    type: Type
    single: bool
    facts: Facts = NOTHING

    def variable(self, name: str, span: Span) -> Variable:
        """The name bound to these thoughts."""
        if self.single:
            return Variable(name, self.type, "thought", span, self.facts)
        return Variable(name, ListType(self.type), "thoughts", span, self.facts)


START = PoolType(EMPTY, True)
"""One empty thought, the input of the first step of every pipeline."""


SKIPPED = PoolType(NEVER, True, EVERYTHING)
"""The output of a block that skips: no thoughts, compatible with any other output."""


UNKNOWN = PoolType(ANY, True, EVERYTHING)
"""The output of a step with an error: no further errors follow from it."""


@final
class Scope(Struct):
    """Names of this block, then those of the enclosing blocks. `place` names the context that allows no score
    which calls a model; it is empty where a pipeline calls it first, and None if it is as in the enclosing
    block."""

    parent: Scope | None = None
    names: dict[str, Variable] = field(default_factory=dict)
    labels: dict[str, PoolType] = field(default_factory=dict)
    place: str | None = None
    known: Narrowed = field(default_factory=dict)
    narrowing: bool = False
    """Whether a condition here or in an enclosing block narrows types."""
    beginnings: tuple[str, ...] = ()
    """Words alone on a line: each may be the start of a name that is being typed."""

    def find(self, name: str) -> Variable | None:
        """The variable of a name, or None."""
        scope: Scope | None = self
        while scope is not None:
            if (found := scope.names.get(name)) is not None:
                return found
            scope = scope.parent
        return None

    def narrowed_type(self, subject: Hashable, names: Collection[str]) -> Type | None:
        """The type that a condition gives to an expression of these names, while they have the same
        meaning."""
        scope: Scope | None = self
        while scope is not None and scope.narrowing:
            if (found := scope.known.get(subject)) is not None:
                return found
            if any(name in scope.names for name in names):
                return None
            scope = scope.parent
        return None

    def narrowed(self, known: Narrowed) -> Scope:
        """This scope where a condition is true."""
        return Scope(self, known=known, narrowing=True) if known else self

    def find_label(self, label: str) -> PoolType | None:
        """The output of a labelled block, or None."""
        scope: Scope | None = self
        while scope is not None:
            if (found := scope.labels.get(label)) is not None:
                return found
            scope = scope.parent
        return None

    def each(self, pool: PoolType) -> Scope:
        """The names for what is evaluated once per thought, with `it`."""
        if pool.type == EMPTY:
            return self
        return self.inside(Variable("it", pool.type, "thought", facts=pool.facts, used=True))

    def whole(self, pool: PoolType) -> Scope:
        """The names for what is evaluated once for all: `thoughts`, and `it` if there is only one."""
        if pool.type == EMPTY:
            return self
        names = [Variable("thoughts", ListType(pool.type), "thoughts", facts=pool.facts, used=True)]
        if pool.single:
            names.append(Variable("it", pool.type, "thought", facts=pool.facts, used=True))
        return self.inside(*names)

    def visible(self) -> Iterator[str]:
        """Every name in scope, innermost first."""
        scope: Scope | None = self
        while scope is not None:
            yield from scope.names
            scope = scope.parent

    def begun(self, name: str) -> bool:
        """Whether a name starts with a word that is alone on a line here or in an enclosing block."""
        scope: Scope | None = self
        while scope is not None:
            if scope.beginnings and name.startswith(scope.beginnings):
                return True
            scope = scope.parent
        return False

    def add(self, variable: Variable) -> None:
        """Bring a name into scope; an inner one hides an outer one."""
        self.names[variable.name] = variable

    def inside(self, *variables: Variable, place: str | None = None) -> Scope:
        """A scope for a nested block."""
        return Scope(self, {v.name: v for v in variables}, place=place, narrowing=self.narrowing)

    def without_model_scores(self) -> str:
        """The context that allows no score which calls a model; empty if one is allowed."""
        scope: Scope | None = self
        while scope is not None:
            if scope.place is not None:
                return scope.place
            scope = scope.parent
        return "a constant"
