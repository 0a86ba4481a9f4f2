"""The JSON of samples and requests that every cache stores; and the base of caches in a database.

Cache files are passed around, so reading validates each field; a mismatch is an InvalidRecord. Files written
by gotc 0.1.0 have the same form.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, Final, Literal

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import astuple

from gotlang.cache.base import Cache, CacheEntry, StoredSample, StoreHandle
from gotlang.errors import CacheError
from gotlang.models.base import (
    Completion,
    DecodingSettings,
    Media,
    Message,
    Request,
    ToolCall,
    ToolSpec,
    Usage,
)
from gotlang.patterns import lazy_pattern
from gotlang.records import Count, Integer, InvalidRecord, Seconds, from_json, to_json

MAX_VALUE_BYTES = 64 * 1024 * 1024
"""The maximum size of a stored value in bytes; a longer one is damaged. Written values have at most a quarter
as many characters, of at most 4 bytes each."""

VERSION: Final = 1
"""The version of stored values and tables; others are refused."""
ABOUT: Final = to_json({"name": "gotlang cache", "version": VERSION})
"""The format record of a store."""

_KEY = lazy_pattern(r"[0-9a-f]{64}")

Logprob = float | Literal["inf", "-inf", "nan"]
"""JSON has no infinity, the logarithm of zero."""


Calls = tuple[tuple[str, str, str], ...]
"""Tool calls: id, name and arguments of each."""


class UsageRecord(Struct, frozen=True):
    """`Usage` as JSON; fields added after the first version are written only if they are not zero."""

    input_tokens: Count = 0
    output_tokens: Count = 0
    cached_input_tokens: Count = 0
    reasoning_tokens: Count | UnsetType = UNSET
    cache_write_tokens: Count | UnsetType = UNSET

    @staticmethod
    def of(usage: Usage) -> UsageRecord:
        """The record of a usage."""
        read, wrote, cached, reasoning, written = astuple(usage)
        return UsageRecord(read, wrote, cached, reasoning or UNSET, written or UNSET)

    def usage(self) -> Usage:
        """The usage of this record."""
        read, wrote, cached, reasoning, written = astuple(self)
        return Usage(read, wrote, cached, reasoning or 0, written or 0)


class SampleRecord(Struct, frozen=True):
    """`StoredSample` as JSON."""

    text: str
    finish_reason: str
    logprob: Logprob | None
    tokens: tuple[tuple[str, Logprob], ...]
    output_tokens: Count
    usage: UsageRecord
    latency_s: Seconds
    batch: Count
    position: Count
    created: Seconds
    reasoning: str | UnsetType = UNSET
    calls: Calls | UnsetType = UNSET
    alternatives: tuple[tuple[tuple[str, Logprob], ...], ...] | UnsetType = UNSET
    first_s: Seconds | UnsetType = UNSET

    def __post_init__(self) -> None:
        if self.position >= self.batch:
            raise ValueError(f"Expected `position` {self.position} below `batch` {self.batch}")

    @staticmethod
    def of(sample: StoredSample) -> SampleRecord:
        """The record of a sample."""
        completion = sample.completion
        return SampleRecord(
            completion.text,
            completion.finish_reason,
            None if completion.logprob is None else _written(completion.logprob),
            tuple((token, _written(logprob)) for token, logprob in completion.tokens),
            completion.output_tokens,
            UsageRecord.of(sample.usage),
            sample.latency_s,
            sample.batch,
            sample.position,
            sample.created,
            completion.reasoning or UNSET,
            tuple((call.id, call.name, call.arguments) for call in completion.calls) or UNSET,
            tuple(tuple((token, _written(p)) for token, p in each) for each in completion.alternatives)
            or UNSET,
            UNSET if sample.first_s is None else sample.first_s,
        )

    def sample(self) -> StoredSample:
        """The sample of this record."""
        completion = Completion(
            self.text,
            self.finish_reason,
            None if self.logprob is None else float(self.logprob),
            tuple((token, float(logprob)) for token, logprob in self.tokens),
            self.output_tokens,
            self.reasoning or "",
            tuple(ToolCall(*call) for call in self.calls or ()),
            tuple(tuple((token, float(p)) for token, p in each) for each in self.alternatives or ()),
        )
        return StoredSample(
            completion,
            self.usage.usage(),
            self.latency_s,
            self.batch,
            self.position,
            self.created,
            None if self.first_s is UNSET else self.first_s,
        )


class _More(Struct, frozen=True):
    """Further parts of a message besides its text: its media (kind, mime, digest), and tool calls."""

    media: tuple[tuple[str, str, str], ...] = ()
    calls: Calls = ()
    call: str = ""


class _MessageRecord(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """`Message` as JSON: `Message.plain`."""

    role: str
    content: str
    more: _More = _More()

    def message(self) -> Message:
        """The message of this record; its media have no paths."""
        if self.more == _NO_MORE:
            return Message(self.role, self.content)
        media = tuple(Media(*one) for one in self.more.media)
        calls = tuple(ToolCall(*call) for call in self.more.calls)
        return Message(self.role, self.content, media, calls, self.more.call)


_NO_MORE = _More()


class RequestRecord(Struct, frozen=True):
    """`Request` as JSON, without the arguments of its prompt. `sample` is the run's seed."""

    model: str
    messages: tuple[_MessageRecord, ...]
    settings: DecodingSettings
    sample: Integer
    prompt: str
    endpoint: str = ""
    tools: tuple[tuple[str, str, str], ...] = ()

    def request(self) -> Request:
        """The request of this record."""
        return Request(
            model=self.model,
            endpoint=self.endpoint,
            messages=tuple(message.message() for message in self.messages),
            settings=self.settings,
            sample=self.sample,
            prompt=self.prompt,
            tools=tuple(ToolSpec(*tool) for tool in self.tools),
        )


class AboutRecord(Struct, frozen=True):
    """The declared format of a store."""

    name: Literal["gotlang cache"]
    version: int


def check_about(text: str | bytes | None, name: str, stranger: CacheError) -> None:
    """Raise CacheError unless `text` is `ABOUT`: `stranger` if another program wrote it."""
    try:
        about = from_json(text or b"", AboutRecord)
    except InvalidRecord:
        raise stranger from None
    if about.version != VERSION:
        raise CacheError(
            f"{name} has format version {about.version}, and this gotc reads version {VERSION}",
            help="move its samples: `gotc cache export` of the gotc that wrote it, then `gotc cache import`; "
            "or use another cache with --cache",
        )


def check_key(key: str) -> None:
    """Raise ValueError if `key` is not a request key."""
    if not _KEY.fullmatch(key):
        raise ValueError(f"not a request key: {key[:80]!r} (expected 64 hexadecimal digits)")


def encode_sample(sample: StoredSample) -> str:
    """A sample as JSON text. Raises CacheError if it is too long."""
    return _short_enough(to_json(SampleRecord.of(sample)))


def decode_sample(text: str | bytes) -> StoredSample:
    """The sample in a text from `encode_sample`. Raises InvalidRecord."""
    return from_json(_readable(text), SampleRecord).sample()


def request_data(request: Request) -> dict[str, Any]:
    """A request as plain JSON data: `Request.identity()` and the prompt's name under `prompt`."""
    return {**request.identity(), "prompt": request.prompt}


def encode_request(request: Request) -> str:
    """A request as JSON text. Raises CacheError if it is too long."""
    return _short_enough(to_json(request_data(request)))


def decode_request(text: str | bytes) -> dict[str, Any]:
    """The plain JSON data in a text from `encode_request`. Raises InvalidRecord."""
    return request_data(from_json(_readable(text), RequestRecord).request())


def _written(logprob: float) -> Any:
    return logprob if math.isfinite(logprob) else str(logprob)


def _short_enough(text: str) -> str:
    if len(text) > MAX_VALUE_BYTES // 4:
        raise CacheError(
            f"too long for a cache: a completion or a prompt of {len(text):,} characters as JSON, at most "
            f"{MAX_VALUE_BYTES // 4:,} can be stored",
            help="limit completions (`max_tokens`), or run with --no-cache",
        )
    return text


def _readable(text: str | bytes) -> str | bytes:
    if len(text) > MAX_VALUE_BYTES:
        raise InvalidRecord(f"{len(text):,} bytes long, at most {MAX_VALUE_BYTES:,} are read")
    return text


class Put(Struct, frozen=True):
    """A request as JSON, and samples of it: number, JSON and creation time."""

    key: str
    request: str
    samples: list[tuple[int, str, float]]


class DatabaseCache(Cache):
    """A cache whose values are JSON in tables; subclasses have the SQL statements."""

    BATCH: Final = 500
    """Rows or keys of one statement."""
    REQUEST: str
    """The statement that reads the text of a key's request."""
    ENTRIES: str
    """The statement that reads a number of requests after the one with a number: number, key, text, samples,
    bytes, newest."""
    _handle: StoreHandle

    def put(self, key: str, request: Request, samples: Mapping[int, StoredSample]) -> None:
        if written := self.written(key, request, samples):
            for found in self._put([written]):
                if found is not None:
                    raise found

    def written(self, key: str, request: Request, samples: Mapping[int, StoredSample]) -> Put | None:
        """The JSON to be stored; None if there is nothing. Raises ValueError and CacheError as `put` does."""
        check_key(key)
        self._handle.check(writing=True)
        if not samples:
            return None
        rows = [(number, encode_sample(samples[number]), samples[number].created) for number in samples]
        return Put(key, encode_request(request), rows)

    def request(self, key: str) -> dict[str, Any] | None:
        rows = self._rows(self.REQUEST, (key,))
        return _request_or_none(rows[0][0]) if rows else None

    def entries(self) -> Iterator[CacheEntry]:
        last = 0
        while rows := self._rows(self.ENTRIES, (last, self.BATCH)):
            if rows[-1][0] <= last:  # the pages of a torn file may form a cycle
                raise CacheError(f"{self._handle.name} is damaged", help="move it away to start a new one")
            for _, key, request, samples, size, created in rows:
                if samples and _KEY.fullmatch(key := _text(key)):
                    # Fields of a damaged request are empty.
                    data = _request_or_none(request) or {"model": "", "prompt": ""}
                    time = created if isinstance(created, float) and math.isfinite(created) else 0.0
                    named = data["model"], data["prompt"]
                    yield CacheEntry(key, samples, int(size), *named, time, data.get("endpoint", ""))
            last = rows[-1][0]

    def remove(self, keys: Iterable[str]) -> int:
        self._handle.check(writing=True)
        remaining, removed = iter(keys), 0
        while some := list(islice(remaining, self.BATCH)):
            removed += self._remove(some)
        return removed

    @abstractmethod
    def _put(self, puts: Sequence[Put]) -> Sequence[CacheError | None]:
        """Store requests and samples together; returns the error of each."""

    @abstractmethod
    def _rows(self, statement: str, arguments: Any) -> list[Any]:
        """The rows of a statement."""

    @abstractmethod
    def _remove(self, keys: Sequence[str]) -> int:
        """Delete requests; returns how many samples were deleted."""


def _request_or_none(text: str | bytes | None) -> dict[str, Any] | None:
    """The plain JSON data of an encoded request; None if it is missing or damaged."""
    with suppress(InvalidRecord):
        return None if text is None else decode_request(text)
    return None


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value or ""
