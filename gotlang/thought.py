"""A thought: a value and what is known of it. What flows through a pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, final


@final
@dataclass(frozen=True, slots=True, eq=False)
class Thought:
    """A value plus its score, validity and confidence, who made it and from what.

    `maker` is the operation that made it and `index` its place among that one's thoughts; together they
    are its identity, whatever the order in which a run's operations end. Scoring or validating a thought
    gives another `Thought` of the same identity; `lower` tells that a lower score is a better one.
    `logprob` is that of the answer it was read from, a token's on average (natural logarithm, None where
    unknown), `tokens` are that answer's with theirs, `usd` is what it cost (None where unknown), `call` the
    key of its request. `empty` marks the thought that a pipeline starts with, which has no value, and is told
    apart by this from one whose value is none.
    """

    value: Any
    maker: Any = None
    index: int = 0
    parents: tuple[Thought, ...] = field(default=(), repr=False)
    score: float | None = None
    lower: bool = False
    valid: bool | None = None
    logprob: float | None = None
    usd: float | None = None
    call: str | None = None
    tokens: tuple[tuple[str, float], ...] = field(default=(), repr=False)
    empty: bool = False

    @property
    def identity(self) -> tuple[int, int]:
        """Equal for two objects of a run exactly where they are the same thought."""
        return id(self.maker), self.index

    @property
    def goodness(self) -> float:
        """The score turned so that higher is better; minus infinity where there is none."""
        if self.score is None:
            return float("-inf")
        return -self.score if self.lower else self.score

    def known(self, *, score: float | None = None, lower: bool = False, valid: bool | None = None) -> Thought:
        """The same thought, better known."""
        return Thought(
            self.value,
            self.maker,
            self.index,
            self.parents,
            self.score if score is None else score,
            self.lower if score is None else lower,
            self.valid if valid is None else valid,
            self.logprob,
            self.usd,
            self.call,
            self.tokens,
            self.empty,
        )


class Thoughts(tuple[Thought, ...]):
    """Several thoughts under one name; as a value, the list of theirs."""

    __slots__ = ()


def named_thoughts(names: Mapping[str, Any], name: str) -> tuple[Thought, ...]:
    """The thoughts that a name stands for: none where it is not bound, or bound to a plain value."""
    try:
        bound = names[name]
    except KeyError:
        return ()
    if isinstance(bound, Thought):
        return (bound,)
    return tuple(bound) if isinstance(bound, Thoughts) else ()


def plain(bound: Any) -> Any:
    """What a bound name is worth in an expression."""
    if isinstance(bound, Thought):
        return bound.value
    if isinstance(bound, Thoughts):
        return [thought.value for thought in bound]
    return bound
