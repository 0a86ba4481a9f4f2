"""Samples, and their persistent store: a full disk must not lose completions that were billed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, final

from gotlang.cache.base import Cache, StoredSample
from gotlang.errors import CacheError
from gotlang.models.base import Request

SampleSource = Literal["model", "process", "persistent"]
"""Where a completion came from: requested now, requested by another operation of this run, stored before."""


@final
@dataclass(frozen=True, slots=True)
class MissingSample:
    """A sample without a completion, and why; `cut_off` if it was never requested."""

    reason: str
    cut_off: bool = False


Sample = tuple[StoredSample, SampleSource] | MissingSample

_MOST_REFUSED = 2
"""After so many refusals a cache is assumed to accept nothing for now."""


@final
class SampleStore:
    """The persistent cache as a run uses it: reading may fail, storing does not.

    What could not be written stays in memory and is tried again with the next sample; `unsaved` counts these
    samples, and `trouble` is the reason.
    """

    def __init__(self, cache: Cache) -> None:
        self.cache = cache
        self.unsaved = 0
        self.trouble = ""
        self._waiting: dict[str, tuple[Request, dict[int, StoredSample]]] = {}

    def put(self, key: str, request: Request, stored: Mapping[int, StoredSample]) -> int:
        """Store samples so that they survive kill -9, or keep them until that is possible. Returns by how
        many `unsaved` grew; less than 0 if it shrank."""
        before = self.unsaved
        _, waiting = held = self._waiting.pop(key, (request, {}))
        self._waiting[key] = held
        self.unsaved += len(stored.keys() - waiting)
        waiting.update(stored)
        self.save()
        return self.unsaved - before

    def save(self) -> int:
        """Write what is not written yet. Returns by how many `unsaved` grew."""
        before = self.unsaved
        if self._waiting:
            self._write()
        return self.unsaved - before

    def _write(self) -> None:
        written, refused = [], 0
        try:
            if self.trouble:
                self.cache.flush()  # a file that is gone would accept everything, in vain
            # The latest first, and beyond the first refusal: a sample that the cache never accepts, such as
            # one that is too long, must not keep back the others.
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
        """The note for the user at the end of a run; None if everything is written."""
        return unsaved_note(self.unsaved, self.trouble) if self.unsaved else None


def unsaved_note(samples: int, reason: str) -> str:
    """What it means that samples were never written."""
    these = "1 completion is" if samples == 1 else f"{samples:,} completions are"
    return f"{these} not in the cache and would be billed again: {reason}"
