"""The options of a run and of a session, with their defaults."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, Final, final

from msgspec import Struct, field
from msgspec.structs import replace

from gotlang.cache.base import Cache
from gotlang.config import ConfiguredUrl, configured_url, setting
from gotlang.errors import UsageError
from gotlang.models.base import Model
from gotlang.models.registry import default_model, is_simulated
from gotlang.runtime.context import DEFAULT_CONCURRENCY
from gotlang.runtime.person import Answering
from gotlang.runtime.sampler.events import Observer

DEFAULT_CACHE: Final = Path(".gotc/cache.sqlite")
"""The persistent cache of a folder; what belongs to it (history, studies) is stored next to it."""


def _configured(name: str, read: Callable[[str], Any], usual: Any = None) -> Any:
    """A field with the configured default of the same option of `gotc run`."""

    def default() -> Any:
        value = setting(name)
        try:
            return usual if value is None else read(str(value).strip().removeprefix("$"))
        except ValueError:
            raise UsageError(f"configured {name}: `{value}` is not a number") from None

    return field(default_factory=default)


def _base_url() -> str | ConfiguredUrl | None:
    return os.environ.get("GOTC_RUN_BASE_URL") or configured_url()


def _flag(name: str) -> bool:
    return _is_yes(setting(name))


def _is_yes(value: object) -> bool:
    return str(value).strip().lower() in {"1", "true", "yes", "on"}


def _python() -> bool | None:
    allowed = _flag("allow-python") or _is_yes(os.environ.get("GOTC_ALLOW_PYTHON"))
    return False if _flag("no-python") else allowed or None


def _names(name: str) -> tuple[str, ...]:
    found = setting(name) or ()
    return tuple(found.split() if isinstance(found, str) else map(str, found))


def default_cache() -> Path | str | None:
    """The default cache of runs: as configured, otherwise `.gotc/cache.sqlite`."""
    return None if _flag("no-cache") else setting("cache") or DEFAULT_CACHE


@final
class Options(Struct, frozen=True):
    """How to run. Every field has the meaning and the default of the option of `gotc run` with its name,
    including defaults from the environment and from `gotc.toml`; options that begin with `--no-`
    are fields without it (`batching`). `level` is that of `-O`.

    `model` is a spec such as `openai:gpt-4o-mini`, or a Model (default: as configured, otherwise
    `openai:$OPENAI_MODEL` if a key is set, otherwise simulated by the program's simulators). `params` are
    values of the program's params by name, `prices` is a file of prices, and `record` one to record the run
    in. `cache` is a Cache, the path of one, or None for no cache beyond the run itself (default:
    `.gotc/cache.sqlite`, and None for a Model object, whose name does not identify its responses).
    `on_cache_loss` is the behavior if the cache can no longer store responses: `stop` (default) sends no
    further requests; `go-on` continues, and further responses are not stored. `base_url` is trusted: the
    provider's key is sent there. An address from a project's `gotc.toml` receives no key without trust
    (docs/trust.md). `max_usd` is in US dollars, `max_calls` counts calls; with `budget`, they are the limits
    of the budget with this name, which all processes that use it on the same cache share. `timeout` is in
    seconds, for a request and for a Python function (None: 180 for each). `rpm` and `tpm` are requests
    and tokens per minute. `batch` sends requests with the provider's batch API, at half the price and within
    a day; it needs a cache. `functions` are Python functions for names that the program expects from its
    host. `answers` are answers of people by the name of the question, and `ask` is called with any other
    `Question` (docs/people.md). `corpora` are paths that replace corpora imported by the program. `edits` are
    message texts that replace the program's, by the path of an operation and the key of its request (both are
    in a run's graph). `python` controls whether the program's Python runs: None: in trusted folders; True:
    always; False: never. Keys in the environment are hidden from it, except those named in `python_keys`.
    `prefer` trades calls for time where sampling may end early: with `cost`, samples are requested in rounds,
    on a longer critical path, until a thought has the best possible score; with `latency`, all at once, and
    those that turn out not to be needed are withdrawn (None: in a run all at once, but in rounds with
    `until`; `cost` for the rows of a data set). `engine` is where rows run: `embedded`, in this process, or
    `ray`, on the Ray cluster at `address` (`ray://host:10001`, `host:6379` or `auto`; None: one of this
    machine), see docs/scale.md. `observe` is called with every event of a run; with `stream` also with
    `Streamed` events, the partial texts of responses. Raises UsageError for an invalid configured value.
    """

    model: str | Model | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    seed: int = _configured("seed", int, 0)
    max_usd: float | None = _configured("max-usd", float)
    max_calls: int | None = _configured("max-calls", int)
    budget: str | None = None
    concurrency: int | None = _configured(
        "concurrency", lambda text: None if text.lower() == "none" else int(text), DEFAULT_CONCURRENCY
    )
    model_concurrency: Mapping[str, int] = field(default_factory=dict)
    schedule: str = "breadth-first"
    wave: int | None = None
    cache: Cache | str | Path | None = DEFAULT_CACHE
    on_cache_loss: str = "stop"
    base_url: str | ConfiguredUrl | None = field(default_factory=_base_url)
    retry: bool = True
    prices: Path | None = _configured("prices", Path)
    rpm: float | None = None
    tpm: float | None = None
    timeout: float | None = None
    batch: bool = False
    record: Path | None = None
    python: bool | None = field(default_factory=lambda: _python())
    python_keys: Collection[str] = field(default_factory=lambda: _names("python-key"))
    level: int = 2
    prefer: str | None = None
    batching: bool = True
    engine: str = "embedded"
    address: str | None = None
    observe: Observer | None = None
    stream: bool = False
    corpora: Mapping[str, str | Path] = field(default_factory=dict)
    functions: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    answers: Mapping[str, str] = field(default_factory=dict)
    ask: Answering | None = None
    edits: Mapping[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)

    @property
    def chosen_model(self) -> str | Model:
        """`model`, or the configured one if it is None."""
        return self.model if self.model is not None else setting("model") or default_model()

    @property
    def simulated(self) -> bool:
        """Whether responses come from the program's own simulators."""
        return is_simulated(self.chosen_model)

    @property
    def chosen_cache(self) -> Cache | str | Path | None:
        """`cache`, or the configured one if it was not chosen."""
        if self.cache is not DEFAULT_CACHE:
            return self.cache
        return default_cache() if isinstance(self.chosen_model, str) else None

    @property
    def folder(self) -> Path:
        """The folder of files that belong to the cache: next to it, or `.gotc` if it is not a file."""
        cache = self.chosen_cache
        if not isinstance(cache, str | Path) or "://" in str(cache):
            return Path(".gotc")
        return Path(cache).parent

    @property
    def skipped_passes(self) -> frozenset[str]:
        """The optimizations that are switched off."""
        return frozenset() if self.batching else frozenset({"request batching"})

    def of_rows(self) -> Options:
        """The same for many rows, whose total cost matters more than the critical path of each."""
        return self if self.prefer is not None else replace(self, prefer="cost")

    def batches(self) -> Path | None:
        """The store of the provider's batches; None without `batch`.

        Raises UsageError without a cache, which stores their responses.
        """
        if not self.batch:
            return None
        if self.chosen_cache is None:
            raise UsageError(
                "responses of batches are stored in the cache, and there is none", help="remove `--no-cache`"
            )
        return self.folder / "batches"
