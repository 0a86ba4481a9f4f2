"""How far an answer agrees with the known one, as HotpotQA's evaluation counts it.

Both are first made alike: small letters, without punctuation, without `a`, `an` and `the`, white space as one
space. MuSiQue counts in the same way.
"""

from __future__ import annotations

import re
import string
from collections import Counter

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_WHOLE = frozenset({"yes", "no", "noanswer"})
"""Answers that agree as a whole or not at all."""


def normal(text: str) -> str:
    """An answer without what does not count."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(found: str, wanted: str) -> bool:
    """Whether two answers are the same once made alike."""
    return normal(found) == normal(wanted)


def f1(found: str, wanted: str) -> float:
    """The harmonic mean of precision and recall of the words of an answer, from 0 to 1."""
    left, right = normal(found), normal(wanted)
    if left != right and (left in _WHOLE or right in _WHOLE):
        return 0.0
    words, known = left.split(), right.split()
    together = sum((Counter(words) & Counter(known)).values())
    return 2 * together / (len(words) + len(known)) if together else 0.0
