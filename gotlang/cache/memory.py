"""The cache of one process, without a file: for `--no-cache`, cassettes and tests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, final

from gotlang.cache.base import Cache, CacheEntry, StoredSample
from gotlang.cache.codec import check_key, encode_request, encode_sample, request_data
from gotlang.models.base import Request


@final
class MemoryCache(Cache):
    """Stores samples until the process ends. Never fails."""

    def __init__(self) -> None:
        self._requests: dict[str, Request] = {}
        self._samples: dict[str, dict[int, StoredSample]] = {}

    def get(self, key: str, samples: Iterable[int] | None = None) -> dict[int, StoredSample]:
        stored = self._samples.get(key, {})
        if samples is None:
            return dict(stored)
        return {number: stored[number] for number in samples if number in stored}

    def put(self, key: str, request: Request, samples: Mapping[int, StoredSample]) -> None:
        check_key(key)
        if samples:
            self._requests[key] = request
            self._samples.setdefault(key, {}).update(samples)

    def request(self, key: str) -> dict[str, Any] | None:
        request = self._requests.get(key)
        return None if request is None else request_data(request)

    def entries(self) -> Iterator[CacheEntry]:
        for key, request in list(self._requests.items()):
            stored = self._samples.get(key)
            if not stored:
                continue  # removed since the listing began
            texts = [encode_request(request), *map(encode_sample, stored.values())]
            size = sum(len(text.encode()) for text in texts)
            created = max(sample.created for sample in stored.values())
            yield CacheEntry(key, len(stored), size, request.model, request.prompt, created, request.endpoint)

    def remove(self, keys: Iterable[str]) -> int:
        removed = 0
        for key in keys:
            self._requests.pop(key, None)
            removed += len(self._samples.pop(key, {}))
        return removed

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass
