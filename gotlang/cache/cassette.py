"""Caches as text: exports and imports, cassettes of runs, and the model that replays a cassette anywhere.

The text is JSON lines: a header (`ExportHeader`), then one request per line with all its samples, ordered by
model, prompt and key, so that equal caches yield equal text and two exports can be compared line by line. A
cassette is the export of one run. Its header also names the model of the run and the data with which a replay
reports the same costs: each model's price, and the maximum number of samples in one request.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from typing import Any, Final, final

from msgspec import Struct
from msgspec.structs import asdict

from gotlang.cache import open_cache
from gotlang.cache.base import Cache
from gotlang.cache.codec import RequestRecord, SampleRecord
from gotlang.cache.memory import MemoryCache
from gotlang.disk import reject_device
from gotlang.errors import CacheError, ModelError, UsageError
from gotlang.models.base import (
    PERMITTED,
    DecodingSettings,
    Model,
    ModelOptions,
    Permit,
    Price,
    Reply,
    Request,
)
from gotlang.models.endpoint import OPENAI
from gotlang.models.prices import price_of
from gotlang.models.registry import is_simulated, plain_name
from gotlang.patterns import lazy_pattern
from gotlang.records import Count, InvalidRecord, from_json, to_json

EXPORT_FORMAT: Final = "gotlang cache export"
EXPORT_VERSION: Final = 2
"""Version 1, of gotc 0.1.0, is read too: its lines have `draws` for `samples`."""

_SQLITE = b"SQLite format 3\0"
_LARGEST_BATCH = 128
"""Samples of one request if a recording does not say: OpenAI's maximum."""
_AT_URL = lazy_pattern(r"@(https?://.+)$")
_PREFIX = "replay:"
_WRITE: Final = "cache_write_per_million"
_OPTIONAL: Final = ("cached_input_per_million", _WRITE)
_QUOTED_LENGTH = 60
"""Characters of a message that an error quotes."""
_HELP = "a recording is a file written by `gotc run --record FILE` or `gotc cache export`, or a cache file"


@final
@dataclass(frozen=True, slots=True)
class RecordedModel:
    """A model of a recording: its price, None if unknown, the maximum number of samples in one request, and
    the endpoints that its samples came from."""

    price: Price | None = None
    batch: int = _LARGEST_BATCH
    endpoints: tuple[str, ...] = ("",)

    def __post_init__(self) -> None:
        price = self.price or Price(0, 0)
        if (
            min(
                price.input_per_million,
                price.output_per_million,
                *(getattr(price, n) or 0 for n in _OPTIONAL),
            )
            < 0
        ):
            raise ValueError("Expected `price` >= 0")
        if self.batch < 1:
            raise ValueError("Expected `batch` >= 1")


class ExportHeader(Struct, frozen=True):
    """The first line. A cassette adds `model`, which the run was on, and `models` by name."""

    format: str = ""
    version: int = 0
    model: str | None = None
    models: dict[str, RecordedModel] = {}

    def check(self) -> None:
        """Raise InvalidRecord for another format or version."""
        if self.format != EXPORT_FORMAT:
            raise InvalidRecord("not the header that `gotc cache export` writes")
        if self.version not in (1, EXPORT_VERSION):
            raise InvalidRecord(f"format version {self.version}; this gotc reads 1 and {EXPORT_VERSION}")


class ExportLine(Struct, frozen=True):
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
@dataclass(frozen=True, slots=True)
class Imported:
    """The result of `import_lines`: requests, new samples, samples that were stored already, the first
    header."""

    requests: int = 0
    added: int = 0
    skipped: int = 0
    header: ExportHeader = field(default=ExportHeader(), compare=False)


@final
@dataclass(frozen=True, slots=True)
class Recording:
    """Recorded samples, read-only. `model` is the model of the run, None if the file does not say; `models`
    are those in it by name; `place` is the file as messages show it."""

    place: str
    cache: Cache
    model: str | None = None
    models: Mapping[str, RecordedModel] = field(default_factory=dict)

    def open(self, spec: str, options: ModelOptions) -> ReplayModel:
        """The recorded model of a spec: `replay:FILE`, `replay:FILE#MODEL` or that of any other model."""
        own = spec.startswith(_PREFIX)
        name = spec.partition("#")[2] or None if own else self._named(plain_name(spec))
        model = ReplayModel(self, name)
        price = None if options.prices is None else price_of(model.name, options.prices)
        return model if price is None else ReplayModel(self, name, price=price)

    def _named(self, name: str) -> str:
        """The recorded name of a model that the program names: a simulated one may replace it."""
        versions = {one.partition("@")[0]: one for one in self.models}
        known = (name, f"simulated:{name}", "simulated") if name not in self.models else ()
        return next((versions[one] for one in known if one in versions), name)


def export_lines(cache: Cache, about: Mapping[str, Any] | None = None) -> Iterator[str]:
    """The cache as JSON lines, each without its line end; `about` is further data of the header."""
    yield to_json({"format": EXPORT_FORMAT, "version": EXPORT_VERSION, **(about or {})})
    for entry in sorted(cache.entries(), key=lambda entry: (entry.model, entry.prompt, entry.key)):
        request, samples = cache.request(entry.key), cache.get(entry.key)
        if request is not None and samples:
            records = {str(number): SampleRecord.of(samples[number]) for number in sorted(samples)}
            yield to_json({"key": entry.key, "request": request, "samples": records})


def import_lines(cache: Cache, lines: Iterable[str], source: str = "the import") -> Imported:
    """Store the lines of `export_lines`; samples that the cache has already are not replaced.

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
                found.check()  # repeated if several exports were joined into one file
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
        raise CacheError(f"{source} is empty", help="import a file written by `gotc cache export`")
    return Imported(requests, added, skipped, header)


def open_recording(path: str | os.PathLike[str]) -> Recording:
    """The recording in a cassette or a cache file.

    Raises UsageError if there is no such file, CacheError if it is neither of them or damaged.
    """
    place = os.fspath(path)
    try:
        is_database = _is_database(place)
    except OSError as error:
        raise UsageError(
            f"cannot read the recording {place}: {error.strerror or error}",
            help="`gotc run --record FILE` creates one; a cache file works too",
        ) from None
    if is_database:
        cache = open_cache(place, readonly=True)
        return Recording(place, cache, None, _with_endpoints(cache, {}))
    memory = MemoryCache()
    try:
        with open(place, encoding="utf-8") as file:
            header = import_lines(memory, file, place).header
    except UnicodeDecodeError:
        raise CacheError(f"{place} is not a recording: it is not text", help=_HELP) from None
    except CacheError as error:
        raise CacheError(f"not a complete recording: {error.message}", help=_HELP) from None
    return Recording(place, memory, header.model, _with_endpoints(memory, header.models))


def open_replayed(model: object) -> Recording | None:
    """The recording of a spec `replay:FILE` or `replay:FILE#MODEL`; None for any other model.

    Raises UsageError and CacheError if it cannot be read.
    """
    if not isinstance(model, str) or not model.startswith(_PREFIX):
        return None
    if path := model.removeprefix(_PREFIX).partition("#")[0]:
        return open_recording(path)
    raise UsageError(
        f"`{model}` names no file", help="write `replay:FILE`, as `gotc run --record FILE` made it"
    )


def check_replaceable(path: Path) -> None:
    """Refuse to overwrite a database, such as the cache itself, with text by mistake. Raises UsageError."""
    try:
        if path.is_file() and _is_database(path):  # a pipe must not be read
            raise UsageError(f"{path} is a database and would be overwritten", help="name another file")
    except OSError:
        return  # writing reports it


def cassette_lines(cache: Cache, model: str, models: Mapping[str, RecordedModel]) -> Iterator[str]:
    """The content of a cache as the cassette of a run on `model`. Equal caches yield equal text."""
    known = {
        name: {"price": found.price and _price(found.price), "batch": found.batch}
        for name, found in sorted(models.items())
    }
    return export_lines(cache, {"model": model, "models": known})


def _price(price: Price) -> dict[str, Any]:
    """A price as JSON; that of cache writes only if it is known."""
    return {name: value for name, value in asdict(price).items() if name != _WRITE or value is not None}


def _is_database(path: str | Path) -> bool:
    reject_device(path)
    with open(path, "rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE


def _with_endpoints(cache: Cache, models: Mapping[str, RecordedModel]) -> dict[str, RecordedModel]:
    """The models of a cache, if known, each with the endpoints of its samples."""
    endpoints = dict[str, dict[str, None]]()
    for entry in cache.entries():
        endpoints.setdefault(entry.model, {})[entry.endpoint] = None
    found = {name: models.get(name, RecordedModel()) for name in (*models, *endpoints)}
    return {
        name: replace(model, endpoints=tuple(endpoints.get(name, ("",)))) for name, model in found.items()
    }


@final
class ReplayModel(Model):
    """Returns the samples of the model `name` in a recording; None: of the model of the run.

    `price` is used if the recording has no price. `simulated` tells whether the recorded samples came from a
    simulator. A request that was not recorded is a ModelError with its difference from the nearest recorded
    one: often, a word of a prompt was changed. Raises UsageError if the recording has no samples of that
    model, or several models and no name is given.
    """

    about = "a recording of `gotc run --record FILE`: `replay:FILE`"
    batches = False

    def __init__(self, recording: Recording, name: str | None = None, *, price: Price | None = None) -> None:
        self.name, self.endpoint = _chosen(recording, name)
        self._recording = recording
        self._recorded = recording.models.get(self.name, RecordedModel())
        self.simulated = is_simulated(self.name.partition("@")[0])
        self._price = price

    @classmethod
    def open(cls, name: str, options: ModelOptions) -> ReplayModel:
        """The model of a recording, FILE or FILE#MODEL."""
        return open_recording(name.partition("#")[0]).open(_PREFIX + name, options)

    @classmethod
    def known_price(cls, name: str, options: ModelOptions) -> Price | None:
        """Unknown without reading the recording."""
        return None

    @property
    def price(self) -> Price | None:
        """The price of the recorded model's tokens; a replay itself costs nothing."""
        return self._price or self._recorded.price

    @property
    def batch(self) -> int:
        """The maximum number of samples in one request of the recorded model."""
        return self._recorded.batch

    async def ask(self, request: Request, n: int, first: int = 0, permit: Permit = PERMITTED) -> Reply:
        """The recorded samples from `first` on, at most n, as far as they are consecutive and came in one
        request."""
        key = request.key()
        found = self._recording.cache.get(key, range(first, first + n))
        if first not in found:
            help = "record the run again with --record, or undo the change"
            raise ModelError(self._missing(request, key), help=help)
        start = found[first]
        together = [start]
        for number in range(first + 1, first + n):
            sample = found.get(number)
            if sample is None or (sample.usage, sample.batch) != (start.usage, start.batch):
                break
            if sample.position != start.position + len(together):
                break
            together.append(sample)
        usage = start.usage
        if len(together) < start.batch:  # a part of the request's tokens
            written = sum(sample.completion.output_tokens for sample in together)
            usage = usage.part(written)
        completions = tuple(sample.completion for sample in together)
        seconds = tuple(sample.latency_s for sample in together)
        return Reply(completions, usage, max(seconds), requests=0, latencies_s=seconds)

    def _missing(self, request: Request, key: str) -> str:
        words = " ".join(request.messages[-1].content.split()) if request.messages else ""
        named = f"prompt `{request.prompt}` ({_quoted(words)})"
        file = os.path.basename(self._recording.place)
        if recorded := self._recording.cache.get(key):
            count = f"{len(recorded)} samples" if len(recorded) > 1 else "1 sample"
            return (
                f"{file} has {count} of {named}, recorded at another place of the program or with a smaller k"
            )
        cache = self._recording.cache
        alike = (cache.request(entry.key) for entry in cache.entries() if entry.prompt == request.prompt)
        nearest = max(filter(None, alike), key=lambda data: _likeness(request, data), default=None)
        if nearest is None:
            return f"{file} does not contain {named}: no request of this prompt is recorded"
        difference = _difference(request, nearest)
        return f"{file} does not contain {named}: the nearest recorded request has {difference}"


def _chosen(recording: Recording, name: str | None) -> tuple[str, str]:
    """The name of a model in the recording, and its endpoint."""
    where, models = f"the recording {recording.place}", recording.models
    names = sorted(models)
    chosen = name or recording.model or (names[0] if len(names) == 1 else None)
    if chosen is None and not names:
        raise UsageError(f"{where} is empty")
    shown = ", ".join(f"`{one}`" for one in names) or "no samples"
    if chosen is None:
        raise UsageError(
            f"{where} has samples of several models: {shown}",
            help=f"name one, as in `replay:{recording.place}#{names[0]}`",
        )
    wanted: str | None = None
    if chosen not in models and (written := _AT_URL.search(chosen)):
        chosen, wanted = chosen[: written.start()], "" if written[1] == OPENAI.url else written[1]
    found = models.get(chosen)
    if found is None and name is None:
        return chosen, ""
    if found is None or wanted not in (None, *found.endpoints):
        raise UsageError(f"{where} has no samples of `{name}`", help=f"it has {shown}")
    if wanted is None and len(found.endpoints) > 1:
        each = ", ".join(f"`#{chosen}@{one or OPENAI.url}`" for one in sorted(found.endpoints))
        raise UsageError(
            f"{where} has samples of `{chosen}` from several endpoints", help=f"add one to the file: {each}"
        )
    return chosen, found.endpoints[0] if wanted is None else wanted


def _quoted(text: str, start: int = 0) -> str:
    """A piece of a text in quotation marks, with line ends as `\\n`."""
    more = "..." if start + _QUOTED_LENGTH < len(text) else ""
    return json.dumps(text[start : start + _QUOTED_LENGTH] + more, ensure_ascii=False)


def _likeness(request: Request, data: dict[str, Any]) -> float:
    """A similarity from 0 to 2 by the common beginning and end of the texts, less for each other
    difference."""
    mine = "\n".join(message.content for message in request.messages)
    recorded = "\n".join(text for _, text, *_ in data["messages"])
    common = _common(mine, recorded) + _common(mine[::-1], recorded[::-1])
    identity = request.identity()
    others = sum(bool(identity[name] != data[name]) for name in ("model", "settings", "sample"))
    return min(2.0, common / max(1, len(mine), len(recorded))) - 0.01 * others


def _common(left: str, right: str) -> int:
    """The length of the common beginning of two texts."""
    pairs = zip(left, right, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _difference(request: Request, data: dict[str, Any]) -> str:
    """The first difference of a recorded request."""
    for (name, mine), (_, recorded) in zip(_parts(request.identity()), _parts(data), strict=True):
        if mine != recorded and name.startswith("message "):
            at = _common(recorded, mine)
            start = max(0, at - 20)
            other, this = _quoted(recorded, start), _quoted(mine, start)
            return f"another {name}: {other} where this one has {this} (character {at + 1})"
        if mine != recorded:
            return f"{name} {recorded}, not {mine}"
    return "no difference"


def _parts(data: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The named parts of a request. Two requests differ in the number of parts only if their messages do."""
    messages, settings = data["messages"], data["settings"]
    yield "model", f"`{data['model']}`"
    yield "endpoint", data.get("endpoint") or OPENAI.url
    yield "roles", ", ".join(role for role, *_ in messages)
    yield from ((f"message {number}", text) for number, (_, text, *_) in enumerate(messages, 1))
    yield "media and tool calls", [more for _, _, *more in messages]
    yield "tools", [name for name, *_ in data.get("tools", ())]
    yield from ((name, settings.get(name)) for name in DecodingSettings.__struct_fields__)
    yield "seed", data["sample"]
