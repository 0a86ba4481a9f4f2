"""The cache of one process and no file: for `--no-cache`, and for tests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, final

from gotlang.cache.base import Entry, StoredSample
from gotlang.cache.codec import check_key, encode_request, encode_sample, request_data
from gotlang.models.base import Request


@final
class MemoryCache:
    """Keeps answers until the process ends. Never fails; `flush` and `close` have nothing to do."""

    def __init__(self) -> None:
        self._requests: dict[str, Request] = {}
        self._answers: dict[str, dict[int, StoredSample]] = {}

    def get(self, key: str, draws: Iterable[int] | None = None) -> dict[int, StoredSample]:
        """The stored answers of a request among `draws` (None: all), by draw index."""
        answers = self._answers.get(key)
        if answers is None:
            return {}
        if draws is None:
            return dict(answers)
        return {draw: answers[draw] for draw in draws if draw in answers}

    def put(self, key: str, request: Request, stored: Mapping[int, StoredSample]) -> None:
        """Store answers of a request by draw index. Raises ValueError for a key that is not a request key."""
        check_key(key)
        if stored:
            self._requests[key] = request
            self._answers.setdefault(key, {}).update(stored)

    def request(self, key: str) -> dict[str, Any] | None:
        """What the key stands for (`Request.identity()` and the prompt's name), or None."""
        request = self._requests.get(key)
        return None if request is None else request_data(request)

    def entries(self) -> Iterator[Entry]:
        """Every request with at least one stored draw, in the order of first storing."""
        for key, request in list(self._requests.items()):
            answers = self._answers.get(key)
            if not answers:
                continue  # removed while the caller was looking at the entries before
            texts = [encode_request(request), *map(encode_sample, answers.values())]
            size = sum(len(text.encode()) for text in texts)
            created = max(stored.created for stored in answers.values())
            yield Entry(key, len(answers), size, request.model, request.prompt, created, request.endpoint)

    def remove(self, keys: Iterable[str]) -> int:
        """Forget these requests with all their draws; how many draws went."""
        removed = 0
        for key in keys:
            self._requests.pop(key, None)
            removed += len(self._answers.pop(key, {}))
        return removed

    def flush(self) -> None:
        """Nothing to do."""

    def close(self) -> None:
        """Nothing to do."""
