"""Keeps paid answers where the persistent cache cannot: a full disk must not throw away what was paid."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import final

from gotlang.cache.base import Cache, Stored
from gotlang.errors import CacheError
from gotlang.models.base import Request


@final
class Keeper:
    """The persistent cache as a run sees it: reading may fail, keeping does not.

    What could not be written is kept in memory and tried again with the next answer.
    """

    def __init__(self, cache: Cache) -> None:
        self.cache = cache
        self._trouble: str | None = None
        self._unsaved: dict[str, tuple[Request, dict[int, Stored]]] = {}

    def get(self, key: str, draws: Iterable[int]) -> dict[int, Stored]:
        """The stored answers of a request. Raises CacheError."""
        return self.cache.get(key, draws)

    def put(self, key: str, request: Request, stored: Mapping[int, Stored]) -> None:
        """Store answers so that they survive kill -9, or keep them until that is possible."""
        self._unsaved.setdefault(key, (request, {}))[1].update(stored)
        self.save()

    def save(self) -> None:
        """Write what is not written yet."""
        if not self._unsaved:
            return
        try:
            for key, (request, stored) in list(self._unsaved.items()):
                self.cache.put(key, request, stored)
                del self._unsaved[key]
            self.cache.flush()
        except CacheError as error:
            self._trouble = error.message

    def note(self) -> str | None:
        """What to tell the user at the end of a run; None where everything is written."""
        if not self._unsaved:
            return None
        lost = sum(len(stored) for _, stored in self._unsaved.values())
        return f"{lost} paid answers are not in the cache: {self._trouble}"
