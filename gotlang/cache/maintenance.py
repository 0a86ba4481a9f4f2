"""What people do with a cache besides running programs: look at its sums, prune it, and pass it on as text.

All of it goes through the `Cache` contract, so it works on every store.

The exported text is JSON lines: a first line with the format, then one request a line with all its draws,
ordered by model, prompt and key, so that equal caches give equal text and two exports can be compared line
by line. Texts come from strangers: a line is checked whole before any of it is stored, and its key must be
the one of the request that it names.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, final

from gotlang.cache.base import Cache, Entry, StoredSample
from gotlang.cache.codec import Damaged, from_json, request_from, sample_data, sample_from, to_json
from gotlang.errors import CacheError
from gotlang.models.base import Request

EXPORT_FORMAT: Final = "gotlang cache export"
EXPORT_VERSION: Final = 1


@final
@dataclass(slots=True)
class Totals:
    """Sums over requests: their draws, bytes of JSON, tokens paid for, and the creation times (Unix time)
    of the oldest and the newest draw, None where there is none."""

    requests: int = 0
    draws: int = 0
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
    """What `prune` took out."""

    requests: int = 0
    draws: int = 0
    bytes: int = 0


@final
@dataclass(frozen=True, slots=True)
class Imported:
    """What `import_lines` read: requests, the draws that were new, and those that the cache had already."""

    requests: int = 0
    added: int = 0
    kept: int = 0


def stats(cache: Cache) -> Stats:
    """The sums over a cache. Reads every entry."""
    found = Stats()
    for entry in cache.entries():
        stored = cache.get(entry.key).values()
        for totals in (found.total, found.models.setdefault(entry.model, Totals())):
            totals.requests += 1
            totals.draws += len(stored)
            totals.bytes += entry.bytes
            for one in stored:
                # Answers of one request share its usage: the first of them stands for it.
                if one.position == 0:
                    totals.input_tokens += one.usage.input_tokens
                    totals.output_tokens += one.usage.output_tokens
                totals.oldest = min(one.created, one.created if totals.oldest is None else totals.oldest)
                totals.newest = max(one.created, one.created if totals.newest is None else totals.newest)
    return found


def prune(
    cache: Cache,
    *,
    keep_bytes: int | None = None,
    older_than_s: float | None = None,
    now: float | None = None,
) -> Pruned:
    """Take out whole requests, those with the oldest newest draw first.

    Goes every request that got its last draw more than `older_than_s` seconds before `now` (Unix time,
    default: the clock), and then as many as it takes for the rest to be at most `keep_bytes` bytes of JSON.
    None: no such limit.
    """
    entries = sorted(cache.entries(), key=lambda entry: entry.created)
    size = sum(entry.bytes for entry in entries)
    oldest_kept = float("-inf")
    if older_than_s is not None:
        oldest_kept = (time.time() if now is None else now) - older_than_s
    gone: list[Entry] = []
    for entry in entries:
        if entry.created >= oldest_kept and (keep_bytes is None or size <= keep_bytes):
            break
        gone.append(entry)
        size -= entry.bytes
    draws = cache.remove(entry.key for entry in gone)
    return Pruned(len(gone), draws, sum(entry.bytes for entry in gone))


def export_lines(cache: Cache, about: Mapping[str, Any] | None = None) -> Iterator[str]:
    """The cache as JSON lines, each without its line end. `about` is further plain data for the first line,
    which `import_lines` passes over."""
    yield to_json({"format": EXPORT_FORMAT, "version": EXPORT_VERSION, **(about or {})})
    for entry in sorted(cache.entries(), key=lambda entry: (entry.model, entry.prompt, entry.key)):
        request, draws = cache.request(entry.key), cache.get(entry.key)
        if request is not None and draws:
            line = {
                "key": entry.key,
                "request": request,
                "draws": {str(draw): sample_data(draws[draw]) for draw in sorted(draws)},
            }
            yield to_json(line)


def import_lines(cache: Cache, lines: Iterable[str]) -> Imported:
    """Store what `export_lines` wrote; a draw that the cache has already stays, since results rest on it.

    Raises CacheError with the number of the first line that is not right; the lines before it are stored.
    """
    requests = added = kept = 0
    number, has_header = 0, False
    try:
        for line in lines:
            number += 1
            if not line.strip():
                continue
            data = from_json(line)
            if not has_header or (isinstance(data, dict) and "format" in data):
                _check_header(data)  # again where several exports were put into one file
                has_header = True
                continue
            key, request, draws = _line_from(data)
            known = cache.get(key, draws)
            new = {draw: stored for draw, stored in draws.items() if draw not in known}
            cache.put(key, request, new)
            requests, added, kept = requests + 1, added + len(new), kept + len(known)
    except Damaged as error:
        raise CacheError(
            f"line {number} of the import: {error}",
            help=f"the {requests} requests before it are stored; mend or delete the line and import again",
        ) from error
    cache.flush()
    if not has_header:
        raise CacheError("the import holds no line", help="give it what `gotc cache export` wrote")
    return Imported(requests, added, kept)


def _check_header(data: Any) -> None:
    if not isinstance(data, dict) or data.get("format") != EXPORT_FORMAT:
        raise Damaged("not the first line of what `gotc cache export` writes")
    if data.get("version") != EXPORT_VERSION:
        raise Damaged(
            f"written in version {data.get('version')} of the format, and this gotc reads {EXPORT_VERSION}"
        )


def _line_from(data: Any) -> tuple[str, Request, dict[int, StoredSample]]:
    if not isinstance(data, dict) or not data.keys() >= {"key", "request", "draws"}:
        raise Damaged("not an object with `key`, `request` and `draws`")
    request = request_from(data["request"])
    if request.key() != data["key"]:
        raise Damaged("`key` is not the key of `request`: one of them was changed")
    if not isinstance(data["draws"], dict) or not data["draws"]:
        raise Damaged("`draws` is not an object with a draw")
    draws = {}
    for name, value in data["draws"].items():
        if not name.isascii() or not name.isdigit() or len(name) > 18 or str(int(name)) != name:
            raise Damaged(f"`draws` has {name[:40]!r} where a draw's number belongs")
        try:
            draws[int(name)] = sample_from(value)
        except Damaged as error:
            raise Damaged(f"draw {name}: {error}") from None
    return request.key(), request, draws
