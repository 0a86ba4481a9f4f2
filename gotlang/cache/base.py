"""The contract of a persistent cache: answers by request key and draw index."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, final

from gotlang.models.base import Completion, Request, Usage


@final
@dataclass(frozen=True, slots=True)
class StoredSample:
    """One paid answer with what it cost when it was made, so that a replay can tell what a run would cost.

    `usage` is that of the whole request it came from, `batch` the number of answers that shared it,
    `position` this answer's place among them (0 to batch - 1), `latency_s` the seconds it took.
    """

    completion: Completion
    usage: Usage
    latency_s: float
    batch: int = 1
    position: int = 0
    created: float = 0.0


@final
@dataclass(frozen=True, slots=True)
class Entry:
    """One line of `gotc cache list`: a request key with how many draws are stored.

    `bytes` is their size as JSON with the request's, `created` when the newest of them was made (Unix time).
    `endpoint` is as in `Request`.
    """

    key: str
    draws: int
    bytes: int
    model: str
    prompt: str
    created: float
    endpoint: str = ""


class Cache(Protocol):
    """A store of answers that survives the process.

    The contract, which every implementation passes in `tests/contracts/test_caches.py`:
    - `get` gives what is stored for the draws asked for, and nothing else; a damaged entry is a miss.
    - Keys are `Request.key()`s; `put` raises ValueError for anything else.
    - `put` stores each answer under its draw; what `put` returned from is readable by every process
      at once and survives kill -9 after the next `flush` at the latest. The last writer wins.
    - Values are JSON; no entry can make the reader run code.
    - Every failure is a CacheError that names the file and the way out.
    """

    def get(self, key: str, draws: Iterable[int] | None = None) -> dict[int, StoredSample]:
        """The stored answers of a request among `draws` (None: all), by draw index."""

    def put(self, key: str, request: Request, stored: Mapping[int, StoredSample]) -> None:
        """Store answers of a request by draw index."""

    def request(self, key: str) -> dict[str, Any] | None:
        """What the key stands for (`Request.identity()` and the prompt's name), or None."""

    def entries(self) -> Iterator[Entry]:
        """Every request with at least one stored draw, in the order of first storing."""

    def remove(self, keys: Iterable[str]) -> int:
        """Forget these requests with all their draws; how many draws went."""

    def flush(self) -> None:
        """Make everything put so far safe against kill -9."""

    def close(self) -> None:
        """Flush and let go of the file or the connection."""
