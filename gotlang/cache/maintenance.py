"""What `gotc cache` does with any cache: sums, pruning, export to text and import.

The exported text is JSON lines: a header (`ExportHeader`), then one request per line with all its samples,
ordered by model, prompt and key, so that equal caches give equal text and two exports can be compared line by
line. An import validates a whole line before it stores any of it, and that its key is that of its request.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Annotated, Final, final

from msgspec import Meta, Struct

from gotlang.cache.base import Cache
from gotlang.cache.codec import RequestRecord, SampleRecord
from gotlang.errors import CacheError
from gotlang.records import Count, InvalidRecord, Seconds, from_json, to_json

EXPORT_FORMAT: Final = "gotlang cache export"
EXPORT_VERSION: Final = 2
"""Version 1, of gotc 0.1.0, is read too: its lines have `draws` for `samples`."""

_Dollars = Seconds  # finite and not negative


class PriceRecord(Struct, frozen=True):
    """`Price` as JSON, in US dollars per million tokens."""

    input_per_million: _Dollars
    output_per_million: _Dollars
    cached_input_per_million: _Dollars | None
    source: str


class ModelRecord(Struct, frozen=True):
    """A model in the header of a cassette: its price and the most samples of one request."""

    price: PriceRecord | None
    batch: Annotated[int, Meta(ge=1)]


class ExportHeader(Struct, frozen=True, omit_defaults=True):
    """The first line. A cassette adds `model`, which the run was on, and `models` by name."""

    format: str = ""
    version: int = 0
    model: str | None = None
    models: dict[str, ModelRecord] = {}

    def check(self) -> None:
        """Raise InvalidRecord for another format or version."""
        if self.format != EXPORT_FORMAT:
            raise InvalidRecord("not the header that `gotc cache export` writes")
        if self.version not in (1, EXPORT_VERSION):
            raise InvalidRecord(f"format version {self.version}; this gotc reads 1 and {EXPORT_VERSION}")


class ExportLine(Struct, frozen=True, omit_defaults=True):
    """A request with its samples by number."""

    key: str
    request: RequestRecord
    samples: dict[Count, SampleRecord] = {}
    draws: dict[Count, SampleRecord] = {}
    """Version 1's name of `samples`."""

    def __post_init__(self) -> None:
        if self.request.request().key() != self.key:
            raise ValueError("`key` is not the key of `request`: one of them was changed")
        if not self.samples and not self.draws:
            raise ValueError("no `samples`")


@final
@dataclass(slots=True)
class Totals:
    """Sums over requests: their samples, bytes of JSON and tokens, and the creation times (Unix time) of the
    oldest and the newest sample, None if there is none."""

    requests: int = 0
    samples: int = 0
    bytes: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    oldest: float | None = None
    newest: float | None = None


@final
@dataclass(frozen=True, slots=True)
class Stats:
    """The sums over a whole cache, and over each model in it by name."""

    total: Totals = field(default_factory=Totals)
    models: dict[str, Totals] = field(default_factory=dict)


@final
@dataclass(frozen=True, slots=True)
class Pruned:
    """What `prune` deleted."""

    requests: int = 0
    samples: int = 0
    bytes: int = 0


@final
@dataclass(frozen=True, slots=True)
class Imported:
    """What `import_lines` read: requests, new samples, samples that were stored already, the first header."""

    requests: int = 0
    added: int = 0
    skipped: int = 0
    header: ExportHeader = field(default=ExportHeader(), compare=False)


def stats(cache: Cache) -> Stats:
    """The sums over a cache. Reads every entry."""
    found = Stats()
    for entry in cache.entries():
        samples = cache.get(entry.key).values()
        times = [sample.created for sample in samples]
        for totals in (found.total, found.models.setdefault(entry.model, Totals())):
            totals.requests += 1
            totals.samples += len(samples)
            totals.bytes += entry.bytes
            for sample in samples:
                if sample.position == 0:  # samples of one request share its usage
                    totals.input_tokens += sample.usage.input_tokens
                    totals.output_tokens += sample.usage.output_tokens
            totals.oldest = min((time for time in (totals.oldest, *times) if time is not None), default=None)
            totals.newest = max((time for time in (totals.newest, *times) if time is not None), default=None)
    return found


def prune(
    cache: Cache,
    *,
    keep_bytes: int | None = None,
    older_than_s: float | None = None,
    now: float | None = None,
) -> Pruned:
    """Delete whole requests, those with the oldest newest sample first.

    Deletes every request whose last sample was stored more than `older_than_s` seconds before `now` (Unix
    time, default: the clock), and then as many as needed for the rest to be at most `keep_bytes` bytes of
    JSON. None: no such limit.
    """
    entries = sorted(cache.entries(), key=lambda entry: entry.created)
    size = sum(entry.bytes for entry in entries)
    oldest = float("-inf")
    if older_than_s is not None:
        oldest = (time.time() if now is None else now) - older_than_s
    pruned = []
    for entry in entries:
        if entry.created >= oldest and (keep_bytes is None or size <= keep_bytes):
            break
        pruned.append(entry)
        size -= entry.bytes
    samples = cache.remove(entry.key for entry in pruned)
    return Pruned(len(pruned), samples, sum(entry.bytes for entry in pruned))


def export_lines(
    cache: Cache, model: str | None = None, models: dict[str, ModelRecord] | None = None
) -> Iterator[str]:
    """The cache as JSON lines, each without its line end; `model` and `models` go into the header."""
    yield to_json(ExportHeader(EXPORT_FORMAT, EXPORT_VERSION, model, models or {}))
    for entry in sorted(cache.entries(), key=lambda entry: (entry.model, entry.prompt, entry.key)):
        request, samples = cache.request(entry.key), cache.get(entry.key)
        if request is not None and samples:
            records = {str(number): SampleRecord.of(samples[number]) for number in sorted(samples)}
            yield to_json({"key": entry.key, "request": request, "samples": records})


def import_lines(cache: Cache, lines: Iterable[str], source: str = "the import") -> Imported:
    """Store what `export_lines` wrote; samples that the cache has already are not replaced.

    Raises CacheError with `source` and the number of the first invalid line; the lines before it are stored.
    """
    requests = added = skipped = number = 0
    header = None
    try:
        for number, text in enumerate(lines, 1):
            if not text.strip():
                continue
            found = from_json(text, ExportHeader)
            if header is None or found.format:
                found.check()  # again where several exports were joined into one file
                header = header or found
                continue
            line = from_json(text, ExportLine)
            samples = {number: record.sample() for number, record in (line.samples or line.draws).items()}
            known = cache.get(line.key, samples)
            new = {number: sample for number, sample in samples.items() if number not in known}
            cache.put(line.key, line.request.request(), new)
            requests, added, skipped = requests + 1, added + len(new), skipped + len(known)
    except InvalidRecord as error:
        raise CacheError(
            f"{source}, line {number}: {error}",
            help=f"the {requests} requests before it are stored; fix or delete the line and import again",
        ) from error
    cache.flush()
    if header is None:
        raise CacheError(f"{source} is empty", help="import what `gotc cache export` wrote")
    return Imported(requests, added, skipped, header)
