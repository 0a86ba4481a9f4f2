"""BM25 over texts: the ranking of `Retrieve`, of corpora and of the built-in `bm25`.

Lucene's formula with k1 1.5 and b 0.75, as bm25s has it, which ranks the corpora that are too large for this.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Sequence
from typing import final

from gotlang.patterns import lazy_pattern

_WORD = lazy_pattern(r"\w+")
_STOP_WORDS = frozenset(
    """
    a an and are as at be but by for from had has have he her his in is it its of on or she that the their
    they this to was were which who will with
    """.split()  # noqa: SIM905 (a list would take a line for each word)
)


def words_of(text: str) -> list[str]:
    """The words of a text for BM25: in lower case, without stop words."""
    return [word for word in _WORD.findall(text.lower()) if word not in _STOP_WORDS]


@final
class Ranking:
    """A ranking of texts by how well they match a query."""

    __slots__ = ("_found", "_lengths", "_weights")

    def __init__(self, texts: Sequence[str] = ()) -> None:
        self._found: dict[str, list[tuple[int, int]]] = {}  # word: the texts that have it, and how often
        self._lengths: list[int] = []
        self._weights: dict[str, list[tuple[int, float]]] = {}  # of words of queries: what each text gets
        for text in texts:
            self.add(text)

    def add(self, text: str) -> None:
        """One more text, with the next number from 0. All are added before the first query."""
        words = words_of(text)
        for word, times in Counter(words).items():
            self._found.setdefault(word, []).append((len(self._lengths), times))
        self._lengths.append(len(words))

    def __bool__(self) -> bool:
        """Whether any text has a word."""
        return bool(self._found)

    def best(self, query: str, k: int) -> list[int]:
        """The numbers of at most k texts that share a word with the query, best first, then earliest."""
        scores: dict[int, float] = {}
        for word in words_of(query):
            for number, weight in self._weights_of(word):
                scores[number] = scores.get(number, 0.0) + weight
        return heapq.nsmallest(max(0, k), scores, key=lambda number: (-scores[number], number))

    def _weights_of(self, word: str) -> list[tuple[int, float]]:
        if (known := self._weights.get(word)) is not None:
            return known
        having, size = self._found.get(word, []), len(self._lengths)
        idf = math.log(1 + (size - len(having) + 0.5) / (len(having) + 0.5))
        mean = sum(self._lengths) / max(1, size)
        weights = [
            (number, idf * times / (times + 1.5 * (0.25 + 0.75 * self._lengths[number] / mean)))
            for number, times in having
        ]
        if having:
            self._weights[word] = weights
        return weights
