"""Keeps paid answers where the persistent cache cannot: a full disk must not throw away what was paid."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, final

from gotlang.cache.base import Cache, StoredSample
from gotlang.errors import CacheError
from gotlang.models.base import Request

_MOST_REFUSED = 2
"""So many refusals at a time, and a cache is taken for one that takes nothing now."""


@final
class SampleStore:
    """The persistent cache as a run sees it: reading may fail, keeping does not.

    What could not be written is kept in memory and tried again with the next answer; `unsaved` counts those
    answers, and `trouble` is why.
    """

    def __init__(self, cache: Cache) -> None:
        self.cache = cache
        self.unsaved = 0
        self.trouble = ""
        self._waiting: dict[str, tuple[Request, dict[int, StoredSample]]] = {}

    def get(self, key: str, draws: Iterable[int]) -> dict[int, StoredSample]:
        """The stored answers of a request. Raises CacheError."""
        return self.cache.get(key, draws)

    def put(self, key: str, request: Request, stored: Mapping[int, StoredSample]) -> int:
        """Store answers so that they survive kill -9, or keep them until that is possible. How many more wait
        for that than before; less than 0 where some no longer do."""
        before = self.unsaved
        _, waiting = held = self._waiting.pop(key, (request, {}))
        self._waiting[key] = held
        self.unsaved += len(stored.keys() - waiting)
        waiting.update(stored)
        self.save()
        return self.unsaved - before

    def save(self) -> int:
        """Write what is not written yet. How many more answers wait than before, as `put` tells it."""
        before = self.unsaved
        if self._waiting:
            self._write()
        return self.unsaved - before

    def _write(self) -> None:
        written, refused = [], 0
        try:
            if self.trouble:
                self.cache.flush()  # a file that is gone takes all there is, in vain
            # The latest first, and not to the first refusal: an answer that the cache does not take at all,
            # such as one that is too long, keeps back no other.
            for key in reversed(self._waiting):
                try:
                    self.cache.put(key, *self._waiting[key])
                    written.append(key)
                except CacheError as error:
                    self.trouble, refused = error.message, refused + 1
                    if refused == _MOST_REFUSED:
                        break
            self.cache.flush()
        except CacheError as error:
            self.trouble = error.message
            return
        for key in written:
            self.unsaved -= len(self._waiting.pop(key)[1])
        if not self._waiting:
            self.trouble = ""

    def note(self) -> str | None:
        """What to tell the user at the end of a run; None where everything is written."""
        return unsaved_note(self.unsaved, self.trouble) if self.unsaved else None


def unsaved_note(answers: int, reason: str) -> str:
    """What it means that answers were never written."""
    these = "1 paid answer is" if answers == 1 else f"{answers:,} paid answers are"
    return f"{these} not in the cache, and would be paid for again: {reason}"


SampleSource = Literal["model", "process", "persistent"]
"""Where a completion came from: requested now, requested by another operation of this run, stored before."""


@final
@dataclass(frozen=True, slots=True)
class MissingSample:
    """A sample without a completion, and why; `cut_off` if it was never requested."""

    reason: str
    cut_off: bool = False


Sample = tuple[StoredSample, SampleSource] | MissingSample
