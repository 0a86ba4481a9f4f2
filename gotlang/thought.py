"""A thought: a value and what is known of it. What flows through a pipeline."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

from gotlang.errors import EvaluationError


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
    apart by this from one whose value is `none`.
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


# ---------------------------------------------------------------- confidence

_HELP = "set `logprobs=true` on the step that samples it"


def confidence(subject: Thought) -> float:
    """The geometric mean of the probabilities of a response's tokens, which does not depend on its length.

    Raises EvaluationError if it is not known.
    """
    if subject.logprob is None:
        raise EvaluationError("the model gave no log-probability for this thought", help=_HELP)
    return math.exp(min(0.0, subject.logprob))


def field_confidence(subject: Thought, name: str) -> float:
    """The probability of all tokens of a field of a record: a score of one token has that token's.

    Raises EvaluationError if there are no probabilities, no such field, or the field is not found in the
    response.
    """
    if not isinstance(subject.value, dict) or name not in subject.value:
        raise EvaluationError(f"this thought has no field `{name}`")
    if not subject.tokens:
        raise EvaluationError("the model gave no log-probabilities for this thought", help=_HELP)
    place = _written(subject.tokens, name, subject.value[name])
    if place is None:
        raise EvaluationError(f"the tokens of `{name}` are not found in the response")
    start, end = place
    total, at = 0.0, 0
    for token, logprob in subject.tokens:
        if at < end and at + len(token) > start:
            total += min(0.0, logprob)
        at += len(token)
    return math.exp(total)


def _written(tokens: Sequence[tuple[str, float]], name: str, value: object) -> tuple[int, int] | None:
    """The place of a field in a response: its value, at its first occurrence after the field's name."""
    text = "".join(token for token, _ in tokens)
    label = re.escape(name).replace("_", r"[\s_-]?")
    shown = f"{value:g}" if isinstance(value, float) else str(value)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    ends = r"(?![\d])" if number else ""
    found = re.search(rf"\b{label}\b.*?({re.escape(shown)}){ends}", text, re.IGNORECASE | re.DOTALL)
    return found.span(1) if found else None
