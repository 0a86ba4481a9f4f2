"""How to run: the options of a run and a session, with their defaults."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

from gotlang.cache.base import Cache
from gotlang.errors import UsageError
from gotlang.models.base import Model
from gotlang.runtime.events import Observer
from gotlang.runtime.run import DEFAULT_CONCURRENCY


@final
@dataclass(frozen=True)
class Options:
    """How to run; every field has the meaning and the default of the option of `gotc run` with its name.

    `cache` is a Cache, the path of one, or None for none beyond the run itself. `timeout` is in seconds, of
    a request and of a function that `Call` runs (None: 180 for each).
    `batch` sends requests with provider batches, at half the price and within a day; it needs a cache.
    `functions` are Python functions for the names that the program leaves to its host.
    """

    model: str | Model = "simulated"
    params: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    max_usd: float | None = None
    max_calls: int | None = None
    concurrency: int | None = DEFAULT_CONCURRENCY
    model_concurrency: Mapping[str, int] = field(default_factory=dict)
    schedule: str = "breadth-first"
    wave: int | None = None
    cache: Cache | str | Path | None = None
    base_url: str | None = None
    retry: bool = True
    prices: Path | None = None
    rpm: float | None = None
    tpm: float | None = None
    timeout: float | None = None
    batch: bool = False
    record: Path | None = None
    python: bool = True
    level: int = 2
    early_stop: bool = True
    fusion: bool = True
    observe: Observer | None = None
    functions: Mapping[str, Callable[..., Any]] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """Where what goes with the cache lies: beside it, or `.gotc` where it is no file."""
        if not isinstance(self.cache, str | Path) or "://" in str(self.cache):
            return Path(".gotc")
        return Path(self.cache).parent

    def batches(self) -> Path | None:
        """Where provider batches are remembered, where there are to be any.

        Raises UsageError without a cache, which their answers go to.
        """
        if not self.batch:
            return None
        if self.cache is None:
            raise UsageError(
                "answers of batches go to the cache, and there is none", help="leave `--no-cache` out"
            )
        return self.folder / "batches"
