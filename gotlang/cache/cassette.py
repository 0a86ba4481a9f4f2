"""Cassettes: what a run asked and was answered, as a file of text that replays it anywhere.

A cassette is what `gotc cache export` writes, of one run. Its first line says besides which model the run was
on, and of each model what a replay needs to tell the same costs: its price, and how many answers a request
of it may ask for.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, final

from gotlang.cache import open_cache
from gotlang.cache.base import Cache
from gotlang.cache.codec import Damaged, from_json
from gotlang.cache.maintenance import export_lines, import_lines
from gotlang.cache.memory import MemoryCache
from gotlang.errors import CacheError, UsageError
from gotlang.models.base import Price

_SQLITE = b"SQLite format 3\0"
_LARGEST_BATCH = 128
"""Answers a request may ask for where a recording does not say: what OpenAI allows."""


@final
@dataclass(frozen=True, slots=True)
class RecordedModel:
    """A model of a recording. `price` is None where it was unknown; `endpoints` are those that its answers
    came from."""

    price: Price | None = None
    batch: int = _LARGEST_BATCH
    endpoints: tuple[str, ...] = ("",)


@final
@dataclass(frozen=True, slots=True)
class Recording:
    """Recorded answers, read only. `model` is the one the run was on, None where the file does not say;
    `models` are those in it by name; `place` is the file as messages show it."""

    place: str
    cache: Cache
    model: str | None = None
    models: Mapping[str, RecordedModel] = field(default_factory=dict)


def open_recording(path: str | os.PathLike[str]) -> Recording:
    """The recording in a cassette or a cache file.

    Raises UsageError where there is no such file, CacheError where it is neither, and where it is damaged.
    """
    place = os.fspath(path)
    try:
        with open(place, "rb") as file:
            start = file.read(len(_SQLITE))
    except OSError as error:
        raise UsageError(
            f"cannot read the recording {place}: {error.strerror or error}",
            help="`gotc run --record FILE` makes one; a cache file is one too",
        ) from None
    if start == _SQLITE:
        cache = open_cache(place, readonly=True)
        return Recording(place, cache, None, _with_endpoints(cache, {}))
    return _cassette(place)


def check_replaceable(path: Path) -> None:
    """Refuse to write text over a database, such as the cache itself, by a slip of the hand. Raises
    UsageError."""
    if not path.is_file():
        return  # a pipe must not be read
    try:
        with path.open("rb") as file:
            start = file.read(len(_SQLITE))
    except OSError:
        return  # whoever writes says why that cannot be
    if start == _SQLITE:
        raise UsageError(f"{path} is a database, and would be lost", help="name another file")


def write_cassette(file: IO[str], cache: Cache, model: str, models: Mapping[str, RecordedModel]) -> None:
    """Write all that a cache holds as the cassette of a run on `model`. Equal caches give equal text."""
    about = {
        "model": model,
        "models": {
            name: {"price": _price_data(models[name].price), "batch": models[name].batch}
            for name in sorted(models)
        },
    }
    for line in export_lines(cache, about):
        file.write(line + "\n")


def _cassette(place: str) -> Recording:
    cache = MemoryCache()
    try:
        with open(place, encoding="utf-8") as file:
            import_lines(cache, file)
            file.seek(0)
            header = from_json(file.readline())
            model, models = _model(header), _models(header)
    except UnicodeDecodeError:
        raise CacheError(f"{place} is no recording: it is not text", help=_HELP) from None
    except CacheError as error:
        words = error.message.replace("the import", "it")
        raise CacheError(f"{place} is no whole recording: {words}", help=_HELP) from None
    except Damaged as error:
        raise CacheError(f"{place} is no whole recording: line 1: {error}", help=_HELP) from None
    return Recording(place, cache, model, _with_endpoints(cache, models))


_HELP = "a recording is what `gotc run --record FILE` or `gotc cache export` writes, or a cache file"


def _model(header: Any) -> str | None:
    model = header.get("model")
    if model is not None and not isinstance(model, str):
        raise Damaged("`model` is not a text")
    return model


def _models(header: Any) -> dict[str, RecordedModel]:
    found = header.get("models", {})
    if not isinstance(found, dict):
        raise Damaged("`models` is not an object")
    out = {}
    for name, data in found.items():
        batch = data.get("batch") if isinstance(data, dict) else None
        if type(batch) is not int or batch < 1:
            raise Damaged(f"`models` has no whole number of 1 or more as `batch` of {name[:40]!r}")
        out[name] = RecordedModel(_price_from(data.get("price")), batch)
    return out


def _with_endpoints(cache: Cache, models: Mapping[str, RecordedModel]) -> dict[str, RecordedModel]:
    """The models of a cache, as far as they are known, each with where its answers came from."""
    known, endpoints = dict(models), dict[str, dict[str, None]]()
    for entry in cache.entries():
        endpoints.setdefault(entry.model, {})[entry.endpoint] = None
    for name, found in endpoints.items():
        known[name] = replace(known.get(name, RecordedModel()), endpoints=tuple(found))
    return known


def _price_data(price: Price | None) -> dict[str, Any] | None:
    if price is None:
        return None
    return {
        "input_per_million": price.input_per_million,
        "output_per_million": price.output_per_million,
        "cached_input_per_million": price.cached_input_per_million,
        "source": price.source,
    }


def _price_from(data: Any) -> Price | None:
    if data is None:
        return None
    if not isinstance(data, dict) or not isinstance(data.get("source"), str):
        raise Damaged("`price` is not an object with a `source`")
    cached = data.get("cached_input_per_million")
    return Price(
        _dollars(data.get("input_per_million")),
        _dollars(data.get("output_per_million")),
        None if cached is None else _dollars(cached),
        data["source"],
    )


def _dollars(value: Any) -> float:
    if type(value) not in (int, float) or not 0 <= value < float("inf"):
        raise Damaged("`price` holds what is no amount of US dollars")
    return float(value)
