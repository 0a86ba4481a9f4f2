"""A thought: a value and what is known of it. What flows through a pipeline."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, final

from msgspec import Struct
from msgspec.structs import replace

from gotlang.errors import BeyondBest, EvaluationError


@final
class Asked(NamedTuple):
    """A number that models gave for a thought: the name it is used by (None: it is the score), what was
    asked, and the number."""

    note: str | None
    scorer: Any
    score: float


@final
class Thought(Struct, frozen=True, eq=False):
    """A value plus its score, validity and confidence, who made it and from what.

    `maker` is the operation that made it and `index` its place among that one's thoughts; together they
    are its identity, whatever the order in which a run's operations end. Scoring or validating a thought
    gives another `Thought` of the same identity; `lower` tells that a lower score is a better one.
    `logprob` is that of the answer it was read from, a token's on average (natural logarithm, None where
    unknown), `tokens` are that answer's with theirs, `alternatives` the likeliest at the place of each, `usd`
    is what it cost (None where unknown), `call` the key of its request. `empty` marks the thought that a
    pipeline starts with, which has no value, and is told apart by this from one whose value is `none`.
    `asked` is what models said of it, which stands where `Improve(keep=true)` has `kept` it. `claim` is
    whether the score reaches its `best`, or the error of one that goes beyond.
    """

    value: Any
    maker: Any = None
    index: int = 0
    parents: tuple[Thought, ...] = ()
    score: float | None = None
    lower: bool = False
    valid: bool | None = None
    logprob: float | None = None
    usd: float | None = None
    call: str | None = None
    tokens: tuple[tuple[str, float], ...] = ()
    empty: bool = False
    asked: tuple[Asked, ...] = ()
    kept: bool = False
    claim: BeyondBest | bool = False
    alternatives: tuple[tuple[tuple[str, float], ...], ...] = ()

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

    def known(
        self,
        *,
        score: float | None = None,
        lower: bool = False,
        valid: bool | None = None,
        claim: BeyondBest | bool = False,
    ) -> Thought:
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
            self.asked,
            self.kept,
            self.claim if score is None else claim,
            self.alternatives,
        )

    def rated(
        self,
        note: str | None,
        scorer: Any,
        score: float,
        lower: bool = False,
        claim: BeyondBest | bool = False,
    ) -> Thought:
        """The same thought with what a model said of it: as its score, or under a name that an expression
        uses."""
        asked = (*(old for old in self.asked if old.note != note), Asked(note, scorer, score))
        return replace(
            self if note is not None else self.known(score=score, lower=lower, claim=claim), asked=asked
        )

    def said(self, scorer: Any) -> float | None:
        """What this scorer said of a thought that was kept; None where it has to be asked."""
        return next((old.score for old in self.asked if self.kept and old.scorer == scorer), None)

    def noted(self, note: str) -> float:
        """What was said under a name."""
        return next(old.score for old in self.asked if old.note == note)


def raise_beyond(thoughts: Iterable[Thought]) -> None:
    """Raises BeyondBest where a thought has a score that is better than the best."""
    for thought in thoughts:
        if isinstance(thought.claim, BeyondBest):
            raise thought.claim


def validity(thoughts: Iterable[Thought]) -> bool | None:
    """Whether thoughts are valid together: False if one is not, None if one was never validated."""
    marks = {thought.valid for thought in thoughts}
    return False if False in marks else True if marks == {True} else None


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


def tokens(subject: Thought) -> list[dict[str, Any]]:
    """The tokens of a response with their log-probabilities. Raises EvaluationError if they are not known."""
    if not subject.tokens:
        raise EvaluationError("the model gave no log-probabilities for this thought", help=_HELP)
    found = [{"text": text, "logprob": logprob, "top": []} for text, logprob in subject.tokens]
    for token, likeliest in zip(found, subject.alternatives, strict=False):
        token["top"] = [{"text": text, "logprob": logprob} for text, logprob in likeliest]
    return found


def field_confidence(subject: Thought, name: str) -> float:
    """The probability of all tokens of a field of a record: a score of one token has that token's.

    Raises EvaluationError if there are no probabilities, no such field, or the field is not found in the
    response.
    """
    if not isinstance(subject.value, dict) or name not in subject.value:
        raise EvaluationError(f"this thought has no field `{name}`")
    return math.exp(sum(_logprobs(subject, name, _written(subject.tokens, name, subject.value[name]))))


def entry_confidence(subject: Thought, name: str) -> float:
    """The geometric mean of the probabilities of the tokens that write an entry of a dict, without its name.

    Raises EvaluationError as `field_confidence`, and where the response is no JSON.
    """
    if not isinstance(subject.value, dict) or name not in subject.value:
        raise EvaluationError(f"this thought has no entry `{name}`")
    text = "".join(token for token, _ in subject.tokens)
    keys = {json.dumps(name), json.dumps(name, ensure_ascii=False)}
    found = re.search(rf"(?:{'|'.join(map(re.escape, sorted(keys)))})\s*:\s*", text)
    try:
        place = (found.end(), json.JSONDecoder().raw_decode(text, found.end())[1]) if found else None
    except ValueError:
        place = None
    logprobs = _logprobs(subject, name, place)
    return math.exp(sum(logprobs) / len(logprobs))


def _logprobs(subject: Thought, name: str, place: tuple[int, int] | None) -> list[float]:
    """The log-probabilities of the tokens at a place in the response."""
    if not subject.tokens:
        raise EvaluationError("the model gave no log-probabilities for this thought", help=_HELP)
    if place is None:
        raise EvaluationError(f"the tokens of `{name}` are not found in the response")
    found, at = [], 0
    for token, logprob in subject.tokens:
        if at < place[1] and at + len(token) > place[0]:
            found.append(min(0.0, logprob))
        at += len(token)
    return found


def _written(tokens: Sequence[tuple[str, float]], name: str, value: object) -> tuple[int, int] | None:
    """The place of a field in a response: its value, at its first occurrence after the field's name."""
    text = "".join(token for token, _ in tokens)
    label = re.escape(name).replace("_", r"[\s_-]?")
    shown = f"{value:g}" if isinstance(value, float) else str(value)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    ends = r"(?![\d])" if number else ""
    found = re.search(rf"\b{label}\b.*?({re.escape(shown)}){ends}", text, re.IGNORECASE | re.DOTALL)
    return found.span(1) if found else None
