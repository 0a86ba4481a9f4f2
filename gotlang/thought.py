"""A thought: a value and what is known of it. Pipelines process thoughts."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self, TypeVar, final

from msgspec import Struct
from msgspec.structs import replace

from gotlang.errors import BeyondBest, EvaluationError

T = TypeVar("T")


def packed(values: Sequence[T]) -> T | tuple[T, ...]:
    """One value that is not a tuple as it is; several as a tuple. See `several`."""
    return values[0] if len(values) == 1 else tuple(values)


def several(kept: T | tuple[T, ...]) -> tuple[T, ...]:
    """The values that were `packed`, as a tuple."""
    return kept if isinstance(kept, tuple) else (kept,)


@final
class Rating(NamedTuple):
    """A number that models returned for a thought: the name under which it is used (None: it is the score),
    the scorer, and the number."""

    note: str | None
    scorer: Any
    score: float


@final
class ResponseLogprobs(Struct, frozen=True, eq=False, gc=False):
    """The log-probabilities of the response that a thought was parsed from: `logprob` is the mean per token
    (natural logarithm, None if unknown), `tokens` are the tokens with theirs, `alternatives` the most likely
    tokens at each position."""

    logprob: float | None = None
    tokens: tuple[tuple[str, float], ...] = ()
    alternatives: tuple[tuple[tuple[str, float], ...], ...] = ()


@final
class Judgment(Struct, frozen=True, eq=False):
    """What is known of a thought's quality: its score (`lower`: a lower one is better), whether it is valid,
    the numbers that models returned for it (`asked`), which stay if `Improve(keep=true)` has `kept` it.
    `claim` is whether the score reaches its `best`, or the error if it is better than that."""

    score: float | None = None
    lower: bool = False
    valid: bool | None = None
    asked: tuple[Rating, ...] = ()
    kept: bool = False
    claim: BeyondBest | bool = False


NO_RESPONSE = ResponseLogprobs()
_NOT_JUDGED = Judgment()


class Thought(Struct, frozen=True, eq=False):
    """A value with its score, validity and confidence, its operation and its parents.

    `maker` is the operation that made it and `index` its position among that operation's thoughts; together
    they are its identity, independent of the order in which a run's operations end. Scoring or validating a
    thought yields another `Thought` with the same identity. `made_from` are its parents, `packed`: a run
    keeps its thoughts, and most have one parent, no score and no log-probabilities. `usd` is its cost (None
    if unknown), `call` the key of its request.
    """

    value: Any
    maker: Any = None
    index: int = 0
    made_from: Thought | tuple[Thought, ...] = ()
    usd: float | None = None
    call: str | None = None
    response: ResponseLogprobs = NO_RESPONSE
    judged: Judgment = _NOT_JUDGED

    empty: ClassVar[bool] = False
    """Whether it is the empty thought that a pipeline starts with, which has no value, not even `none`."""

    @property
    def parents(self) -> tuple[Thought, ...]:
        """The thoughts that it was made from."""
        return several(self.made_from)

    @property
    def score(self) -> float | None:
        """Its score; None if it has none."""
        return self.judged.score

    @property
    def lower(self) -> bool:
        """Whether a lower score is a better one."""
        return self.judged.lower

    @property
    def valid(self) -> bool | None:
        """Whether it was found valid; None if it was not validated."""
        return self.judged.valid

    @property
    def claim(self) -> BeyondBest | bool:
        """Whether its score reaches the best possible one, or the error if it is better than that."""
        return self.judged.claim

    @property
    def logprob(self) -> float | None:
        """The mean log-probability of the tokens of its response; None if unknown."""
        return self.response.logprob

    @property
    def tokens(self) -> tuple[tuple[str, float], ...]:
        """The tokens of its response, with their log-probabilities."""
        return self.response.tokens

    @property
    def identity(self) -> tuple[int, int]:
        """Equal for two objects of a run if and only if they are the same thought."""
        return id(self.maker), self.index

    @property
    def goodness(self) -> float:
        """The score with its sign turned so that higher is better; minus infinity without a score."""
        judged = self.judged
        if judged.score is None:
            return float("-inf")
        return -judged.score if judged.lower else judged.score

    def found(self, **judged: Any) -> Self:
        """The same thought with other fields of `Judgment`."""
        return replace(self, judged=replace(self.judged, **judged))

    def known(
        self,
        *,
        score: float | None = None,
        lower: bool = False,
        valid: bool | None = None,
        claim: BeyondBest | bool = False,
    ) -> Self:
        """The same thought with more known of it."""
        found: dict[str, Any] = {} if score is None else {"score": score, "lower": lower, "claim": claim}
        return self.found(**found) if valid is None else self.found(**found, valid=valid)

    def rated(
        self,
        note: str | None,
        scorer: Any,
        score: float,
        lower: bool = False,
        claim: BeyondBest | bool = False,
    ) -> Self:
        """The same thought with a number that a model returned for it: as its score, or under a name that an
        expression uses."""
        asked = (*(old for old in self.judged.asked if old.note != note), Rating(note, scorer, score))
        if note is not None:
            return self.found(asked=asked)
        return self.found(asked=asked, score=score, lower=lower, claim=claim)

    def said(self, scorer: Any) -> float | None:
        """The number that this scorer returned for a thought that was kept; None if it must be asked."""
        judged = self.judged
        return next((old.score for old in judged.asked if judged.kept and old.scorer == scorer), None)

    def noted(self, note: str) -> float:
        """The number under a name."""
        return next(old.score for old in self.judged.asked if old.note == note)


@final
class EmptyThought(Thought, frozen=True, eq=False):
    """The thought that a pipeline starts with, made by no operation."""

    empty: ClassVar[bool] = True


def raise_beyond(thoughts: Iterable[Thought]) -> None:
    """Raise BeyondBest if a thought has a score that is better than the best possible one."""
    for thought in thoughts:
        if isinstance(thought.claim, BeyondBest):
            raise thought.claim


def validity(thoughts: Iterable[Thought]) -> bool | None:
    """Whether all thoughts are valid: False if one is invalid, otherwise None if one was not validated."""
    marks = {thought.valid for thought in thoughts}
    return False if False in marks else True if marks == {True} else None


class Thoughts(tuple[Thought, ...]):
    """Several thoughts under one name; in an expression, the list of their values."""

    __slots__ = ()


def named_thoughts(names: Mapping[str, Any], name: str) -> tuple[Thought, ...]:
    """The thoughts that a name stands for; none if it is unbound or bound to a plain value."""
    try:
        bound = names[name]
    except KeyError:
        return ()
    if isinstance(bound, Thought):
        return (bound,)
    return tuple(bound) if isinstance(bound, Thoughts) else ()


def plain(bound: Any) -> Any:
    """The value of a bound name in an expression."""
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
    for token, likeliest in zip(found, subject.response.alternatives, strict=False):
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

    Raises EvaluationError as `field_confidence`, and if the response is not JSON.
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
    """The log-probabilities of the tokens of a part of the response."""
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
