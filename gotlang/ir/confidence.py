"""How sure a model was of its answer, or of one field of it: `confidence(it)`, `confidence(it.rating)`.

Of the whole answer it is the geometric mean of its tokens' probabilities, so that long answers are not
unlikely by being long. Of a field it is the probability of the tokens that write its value, all of them: a
score that a model writes in one token has the probability of that token.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from gotlang.errors import EvaluationError
from gotlang.thought import Thought

_HELP = "set `logprobs=true` where it is asked"


def confidence(subject: Thought) -> float:
    """The probability of a thought's answer, a token's on average. Raises EvaluationError where unknown."""
    if subject.logprob is None:
        raise EvaluationError("the model gave no log-probability for this thought", help=_HELP)
    return math.exp(min(0.0, subject.logprob))


def field_confidence(subject: Thought, name: str) -> float:
    """The probability of the tokens that write a field of a record.

    Raises EvaluationError where there are no probabilities, no such field, or where the field cannot be found
    in the answer as it was written.
    """
    if not isinstance(subject.value, dict) or name not in subject.value:
        raise EvaluationError(f"this thought has no field `{name}`")
    if not subject.tokens:
        raise EvaluationError("the model gave no log-probabilities for this thought", help=_HELP)
    place = _written(subject.tokens, name, subject.value[name])
    if place is None:
        raise EvaluationError(f"the tokens that write `{name}` cannot be told apart in the answer")
    start, end = place
    total, at = 0.0, 0
    for token, logprob in subject.tokens:
        if at < end and at + len(token) > start:
            total += min(0.0, logprob)
        at += len(token)
    return math.exp(total)


def _written(tokens: Sequence[tuple[str, float]], name: str, value: object) -> tuple[int, int] | None:
    """From where to where an answer writes a field: its value, the first time it follows the field's name."""
    text = "".join(token for token, _ in tokens)
    label = re.escape(name).replace("_", r"[\s_-]?")
    shown = f"{value:g}" if isinstance(value, float) else str(value)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    ends = r"(?![\d])" if number else ""
    found = re.search(rf"\b{label}\b.*?({re.escape(shown)}){ends}", text, re.IGNORECASE | re.DOTALL)
    return found.span(1) if found else None
