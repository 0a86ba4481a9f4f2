"""The persistent cache as a run uses it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import final

from gotlang.cache.base import Cache, StoredSample
from gotlang.errors import CacheError
from gotlang.models.base import Request

_MOST_REFUSED = 2
"""After this number of refusals a cache is assumed to accept nothing for now."""


@final
class SampleStore:
    """The persistent cache of a run: reading may fail, storing does not.

    Samples that could not be written stay in memory and are tried again with the next one; `unsaved` counts
    them, and `trouble` is the reason.
    """

    def __init__(self, cache: Cache) -> None:
        self.cache = cache
        self.unsaved = 0
        self.trouble = ""
        self._told = 0
        self._waiting: dict[str, tuple[Request, dict[int, StoredSample]]] = {}

    async def put(self, key: str, request: Request, stored: Mapping[int, StoredSample]) -> int:
        """Store samples so that they survive kill -9, or keep them until that is possible. Returns by how
        many `unsaved` grew; less than 0 if it shrank."""
        try:
            if self.trouble:
                self.cache.flush()  # a deleted file would accept everything to no effect
            await self.cache.aput(key, request, stored)
        except BaseException as error:
            _, waiting = held = self._waiting.pop(key, (request, {}))
            self._waiting[key] = held
            self.unsaved += len(stored.keys() - waiting)
            waiting.update(stored)
            if not isinstance(error, CacheError):
                raise  # cancelled: whether it was written is not known
            self.trouble = error.message
            return self._growth()
        return self.save()

    def save(self) -> int:
        """Write pending samples. Returns by how many `unsaved` grew."""
        refused = 0
        # The latest first, and beyond the first refusal: a sample that the cache never accepts, such as one
        # that is too long, must not block the others.
        for key in list(reversed(self._waiting)):
            try:
                self.cache.put(key, *self._waiting[key])
                self.cache.flush()
            except CacheError as error:
                self.trouble, refused = error.message, refused + 1
                if refused == _MOST_REFUSED:
                    break
            else:
                self.unsaved -= len(self._waiting.pop(key)[1])
        if not self._waiting:
            self.trouble = ""
        return self._growth()

    def _growth(self) -> int:
        before, self._told = self._told, self.unsaved
        return self.unsaved - before

    def note(self) -> str | None:
        """The note for the user at the end of a run; None if everything is written."""
        if not self.unsaved:
            return None
        these = "1 completion is" if self.unsaved == 1 else f"{self.unsaved:,} completions are"
        return f"{these} not in the cache and would be billed again: {self.trouble}"
