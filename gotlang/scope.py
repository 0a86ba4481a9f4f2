"""Names in force at a place of a pipeline, and what the thoughts that flow there are like."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, final

from gotlang.span import NOWHERE, Span
from gotlang.types import ANY, BOOL, FLOAT, NONE, ListType, Type

Kind = Literal["value", "thought", "thoughts"]


THOUGHT_FUNCTIONS: dict[str, tuple[Type, str]] = {
    "confidence": (
        FLOAT,
        "probability of the response, averaged per token, or of a field of it (needs `logprobs=true`)",
    ),
    "cost": (
        FLOAT,
        "cost of the thought's response in US dollars: its own tokens, and its share of the prompt",
    ),
    "score": (FLOAT, "the score from the last `Score`"),
    "valid": (BOOL, "the result of the last `Validate`"),
}
"""Functions of a thought rather than of its value: their argument is the name of one thought."""


@final
@dataclass(slots=True)
class Variable:
    """A name with its type. `thought` names one thought, `thoughts` a list of them, `value` a plain value;
    in an expression each stands for its value, so the type of `thoughts` is a list."""

    name: str
    type: Type
    kind: Kind = "value"
    span: Span = NOWHERE
    scored: bool = False
    used: bool = False


@final
@dataclass(frozen=True, slots=True)
class PoolType:
    """The thoughts a step leaves: of which type, exactly one or any number, and whether they have a score."""

    type: Type
    single: bool
    scored: bool = False

    def variable(self, name: str, span: Span) -> Variable:
        """The name bound to these thoughts."""
        if self.single:
            return Variable(name, self.type, "thought", span, self.scored)
        return Variable(name, ListType(self.type), "thoughts", span, self.scored)


START = PoolType(NONE, True)
"""One empty thought: what every pipeline starts with."""


UNKNOWN = PoolType(ANY, True, True)
"""What is left by a step that is wrong: nothing more is said of it."""


@final
@dataclass(slots=True)
class Scope:
    """Names of this block, then those of the blocks around it."""

    parent: Scope | None = None
    names: dict[str, Variable] = field(default_factory=dict)
    labels: dict[str, PoolType] = field(default_factory=dict)

    def find(self, name: str) -> Variable | None:
        """The variable of a name, or None."""
        scope: Scope | None = self
        while scope is not None:
            if (found := scope.names.get(name)) is not None:
                return found
            scope = scope.parent
        return None

    def find_label(self, label: str) -> PoolType | None:
        """What a labelled block left, or None."""
        scope: Scope | None = self
        while scope is not None:
            if (found := scope.labels.get(label)) is not None:
                return found
            scope = scope.parent
        return None

    def visible(self) -> Iterator[str]:
        """Every name in force, innermost first."""
        scope: Scope | None = self
        while scope is not None:
            yield from scope.names
            scope = scope.parent

    def add(self, variable: Variable) -> None:
        """Bring a name in force; an inner one hides an outer one."""
        self.names[variable.name] = variable

    def inside(self, *variables: Variable) -> Scope:
        """A scope for a block inside this one."""
        return Scope(self, {v.name: v for v in variables})
