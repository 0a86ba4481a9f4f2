"""The contract of a persistent cache: samples of a model by request key and sample number."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, final

from msgspec import Struct

from gotlang.errors import CacheError
from gotlang.models.base import Completion, Request, Usage

if TYPE_CHECKING:
    from gotlang.cache.coordination import Coordination


@final
class StoredSample(Struct, frozen=True, gc=False):
    """One sample and its original cost, so that a replay can report what a run would cost.

    `usage` is that of the whole request it came with, `batch` the number of samples in that request,
    `position` this one's place among them (0 to batch - 1), `latency_s` the seconds it took, `created` the
    Unix time, `first_s` the seconds to the first token if it was streamed.
    """

    completion: Completion
    usage: Usage
    latency_s: float
    batch: int = 1
    position: int = 0
    created: float = 0.0
    first_s: float | None = None


@final
class CacheEntry(Struct, frozen=True):
    """A request in a cache, as `gotc cache list` shows it.

    `samples` counts its samples, `bytes` is their size and the request's as JSON, `created` the Unix time of
    the newest sample, `endpoint` as in `Request`.
    """

    key: str
    samples: int
    bytes: int
    model: str
    prompt: str
    created: float
    endpoint: str = ""


class Cache(Protocol):
    """A store of samples that survives the process.

    The contract, which every implementation passes in `tests/contracts/test_caches.py`:
    - `get` returns the stored samples among those requested, and nothing else; a damaged sample is a miss.
    - Keys are `Request.key()`s; `put` raises ValueError for anything else.
    - `put` stores each sample under its number, all of them or none; once it has returned, every process can
      read them, and they survive kill -9 after the next `flush` at the latest. The last writer wins.
    - Values are JSON; reading one never runs code.
    - Every failure is a CacheError that names the cache and says what to do.
    """

    def get(self, key: str, samples: Iterable[int] | None = None) -> dict[int, StoredSample]:
        """The stored samples of a request by number, of `samples` (default: all)."""

    def put(self, key: str, request: Request, samples: Mapping[int, StoredSample]) -> None:
        """Store samples of a request by number."""

    async def aget(self, key: str, samples: Sequence[int]) -> dict[int, StoredSample]:
        """The same as `get`, without blocking the event loop."""
        return self.get(key, samples)

    async def aput(self, key: str, request: Request, samples: Mapping[int, StoredSample]) -> None:
        """`put` and `flush` for tasks of an event loop; several may be written together. A write that has
        begun is completed even if the task is cancelled."""
        self.put(key, request, samples)
        self.flush()

    def request(self, key: str) -> dict[str, Any] | None:
        """The request of a key: `Request.identity()` and the prompt's name. None if it is not stored."""

    def entries(self) -> Iterator[CacheEntry]:
        """Every request with at least one sample, in the order of first storing."""

    def remove(self, keys: Iterable[str]) -> int:
        """Delete requests with all their samples; returns how many samples were deleted."""

    def flush(self) -> None:
        """Make everything put so far safe against kill -9."""

    def close(self) -> None:
        """Flush, and close the file or the connection. A second call does nothing."""

    def coordination(self) -> Coordination | None:
        """The coordination of the processes on this cache, to be closed before the cache; None (the default)
        if it belongs to one process, or is read-only."""
        return None


@final
class StoreHandle:
    """The state of an opened cache: open or closed, owned by this process or forked, writable or read-only.

    `name` is the subject of messages, as in `the cache .gotc/cache.sqlite`.
    """

    def __init__(self, name: str, *, readonly: bool) -> None:
        self.name = name
        self.readonly = readonly
        self._process = os.getpid()
        self.closed = False

    def check(self, *, writing: bool = False) -> None:
        """Raise CacheError if it may not be used."""
        if self.closed:
            raise CacheError(f"{self.name} is closed", help="open it again")
        # A connection does not survive a fork, and neither does the thread that writes.
        if self._process != os.getpid():
            raise CacheError(
                f"{self.name} was opened before this process was forked", help="open it again in this process"
            )
        if writing and self.readonly:
            raise CacheError(f"{self.name} is read-only", help="use another cache with --cache")

    def close(self) -> bool:
        """Mark it as closed. Returns whether the caller must release resources: not in a forked process."""
        ours = self._process == os.getpid()
        self.closed |= ours
        return ours
