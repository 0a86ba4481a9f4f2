"""Paid responses are stored: writing to a cache is retried, and losses are reported."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from gotlang.cache.base import StoredSample
from gotlang.cache.codec import MAX_VALUE_BYTES
from gotlang.cache.memory import MemoryCache
from gotlang.cache.sqlite import SqliteCache
from gotlang.errors import CacheError
from gotlang.models.base import Completion, Message, Request, Usage
from gotlang.runtime.sampler.store import SampleStore


class Full(MemoryCache):
    """Takes nothing while it is `full`."""

    full = True

    def put(self, key: str, request: Request, stored: Mapping[int, StoredSample]) -> None:
        if self.full:
            raise CacheError("no room")
        super().put(key, request, stored)


def put(keeper: SampleStore, number: int, answers: int = 1) -> int:
    """Keep answers of one more request."""
    request = Request("m", (Message("user", str(number)),))
    stored = {draw: StoredSample(Completion(str(number)), Usage(1, 1), 0.1) for draw in range(answers)}
    return asyncio.run(keeper.put(request.key(), request, stored))


def test_what_cannot_be_written_waits_until_it_can() -> None:
    cache = Full()
    keeper = SampleStore(cache)
    assert (put(keeper, 1), put(keeper, 2, answers=3), put(keeper, 2, answers=3)) == (1, 3, 0)
    assert keeper.note() == "4 completions are not in the cache and would be billed again: no room"
    assert keeper.save() == 0
    cache.full = False
    assert put(keeper, 3) == -4
    assert keeper.note() is None and keeper.save() == 0
    assert sorted(entry.samples for entry in cache.entries()) == [1, 1, 3]


def test_a_cache_that_was_taken_away_is_told(tmp_path: Path) -> None:
    """What was put before is gone with the file, which is what was wanted; what comes after is not lost in
    silence."""
    cache = SqliteCache(tmp_path / "cache.sqlite")
    keeper = SampleStore(cache)
    assert put(keeper, 1) == 0
    for path in tmp_path.iterdir():
        path.unlink()
    assert [put(keeper, number) for number in (2, 3, 4)] == [1, 1, 1]
    note = keeper.note()
    assert note is not None and note.startswith("3 completions are not in the cache")
    assert "was deleted or replaced while in use" in note
    cache.close()


def test_an_answer_that_no_cache_takes_keeps_back_no_other(tmp_path: Path) -> None:
    cache = SqliteCache(tmp_path / "cache.sqlite")
    keeper = SampleStore(cache)
    request = Request("m", (Message("user", "long"),))
    long = StoredSample(Completion("x" * (MAX_VALUE_BYTES // 4)), Usage(1, 1), 0.1)
    assert asyncio.run(keeper.put(request.key(), request, {0: long})) == 1
    assert [put(keeper, number) for number in (1, 2, 3)] == [0, 0, 0]
    assert len(list(cache.entries())) == 3
    assert "1 completion is not in the cache" in (keeper.note() or "") and "too long" in keeper.trouble
    cache.close()
