"""`gotc cache`: show, prune, export and import cached samples."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gotlang.cli import options as opt
from gotlang.cli.output import Style, complain, count, document, harmless, say
from gotlang.disk import Draft, reject_device
from gotlang.errors import CacheError, UsageError, reporting

if TYPE_CHECKING:
    from gotlang.cache.base import Cache


@click.group("cache")
def cache_command() -> None:
    """Show the cache of samples, prune it, export it to text and import it."""


@contextmanager
def _opened(where: str, *, readonly: bool = True) -> Iterator[Cache]:
    from gotlang.cache import open_cache

    if readonly and where == str(opt.CACHE) and not opt.CACHE.exists():
        raise CacheError("no cache in this folder yet", help="`gotc run FILE` creates it")
    found = open_cache(where, readonly=readonly)
    try:
        yield found
    finally:
        found.close()


@cache_command.command("stats")
@opt.cache_option
@opt.json_option
def stats(cache: str, json: bool) -> int:
    """Show requests, samples, size and tokens spent, in total and per model."""
    from dataclasses import asdict

    from gotlang.cache.maintenance import stats as sums

    with _opened(cache) as opened:
        total, models = sums(opened)
    if json:
        by_model = {name: asdict(totals) for name, totals in models.items()}
        document({"total": asdict(total), "models": by_model})
        return 0
    style = Style.of(sys.stdout)
    width = max([5, *(len(harmless(name)) for name in models)])
    heads = f"{'requests':>9} {'samples':>9} {'size':>9} {'tokens in':>12} {'tokens out':>12}"
    say(style.dim(f"{'model':{width}} {heads}"))
    for name, totals in [*((harmless(name), totals) for name, totals in models.items()), ("total", total)]:
        say(
            f"{name:{width}} {totals.requests:>9,} {totals.samples:>9,} {_size(totals.bytes):>9} "
            f"{totals.input_tokens:>12,} {totals.output_tokens:>12,}"
        )
    return 0


@cache_command.command("list")
@opt.cache_option
@opt.text("--model", "NAME", "Only requests to this model. [default: all]")
@opt.text("--prompt", "NAME", "Only requests of this prompt. [default: all]")
@opt.json_option
def list_(cache: str, model: str | None, prompt: str | None, json: bool) -> int:
    """List the requests with their keys, oldest first."""
    from msgspec.structs import asdict

    with _opened(cache) as opened:
        chosen = [
            entry
            for entry in opened.entries()
            if (model is None or entry.model == model) and (prompt is None or entry.prompt == prompt)
        ]
    if json:
        document({"entries": [asdict(entry) for entry in chosen]})
        return 0
    for entry in chosen:
        when = _when(entry.created)
        size = _size(entry.bytes)
        samples = "sample" if entry.samples == 1 else "samples"
        model = f"{entry.model} at {entry.endpoint}" if entry.endpoint else entry.model
        named = harmless(f"{model}  {entry.prompt}")
        say(f"{entry.key[:12]}  {when}  {entry.samples:>4} {samples:<7}  {size:>8}  {named}")
    complain(count(len(chosen), "request"))
    return 0


@cache_command.command("show")
@click.argument("key")
@opt.cache_option
@opt.json_option
def show(key: str, cache: str, json: bool) -> int:
    """Show a request with its samples. KEY is a key or a prefix of one."""
    with _opened(cache) as opened:
        whole = _find(opened, key)
        request, stored = opened.request(whole), opened.get(whole)
    if json:
        from msgspec import to_builtins

        from gotlang.cache.codec import SampleRecord

        samples = {str(number): to_builtins(SampleRecord.of(one)) for number, one in sorted(stored.items())}
        document({"key": whole, "request": request, "samples": samples})
        return 0
    style = Style.of(sys.stdout)
    say(style.bold(whole))
    if request is not None:
        settings = {
            name: value for name, value in request["settings"].items() if value not in (None, [], False)
        }
        at = f" at {request['endpoint']}" if "endpoint" in request else ""
        named = harmless(f"{request['model']}{at} · prompt {request['prompt']}")
        say(f"{named} · seed {request['sample']} · {settings}")
        for role, text, *_ in request["messages"]:
            say(style.blue(f"--- {harmless(role)} ---"))
            say(text, exact=True)
    for number, sample in sorted(stored.items()):
        facts = f"{sample.completion.output_tokens} tokens, {sample.latency_s:.1f} s"
        say(style.blue(f"--- sample {number} ({facts}) ---"))
        if sample.completion.reasoning:
            say(style.dim(harmless(sample.completion.reasoning)))
        say(sample.completion.text, exact=True)
    return 0


def _when(created: float) -> str:
    try:
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(created))
    except (OverflowError, ValueError, OSError):  # an import may hold any number
        return "unknown time".ljust(16)


def _find(cache: Cache, key: str) -> str:
    """The key with this prefix. Raises UsageError if there is none, or several."""
    found = [entry.key for entry in cache.entries() if entry.key.startswith(key.lower())]
    if len(found) != 1:
        what = "several requests have keys that start" if found else "no request has a key that starts"
        raise UsageError(f"{what} with `{key}`", help="`gotc cache list` shows the keys")
    return found[0]


@cache_command.command("export")
@click.argument("file", default="-")
@opt.cache_option
def export(file: str, cache: str) -> int:
    """Export the cache as JSON lines to FILE; `-`, the default, is standard output."""
    from gotlang.cache.cassette import check_replaceable, export_lines

    with _opened(cache) as opened:
        if file == "-":
            for line in export_lines(opened):
                sys.stdout.write(line + "\n")
            return 0
        check_replaceable(Path(file))
        with reporting(f"cannot write {file}"), Draft(file) as out:
            lines = 0
            for lines, line in enumerate(export_lines(opened)):  # noqa: B007 (the first is a header)
                out.write(line.encode("utf-8", "backslashreplace") + b"\n")
    complain(f"{count(lines, 'request')} written to {file}")
    return 0


@cache_command.command("import")
@click.argument("file")
@opt.cache_option
def import_(file: str, cache: str) -> int:
    """Import what `gotc cache export` wrote to FILE (`-` is standard input).

    Samples that are cached already are not replaced.
    """
    from gotlang.cache.cassette import import_lines

    try:
        with _opened(cache, readonly=False) as opened:
            if file == "-":
                found = import_lines(opened, sys.stdin)
            else:
                reject_device(file)
                with Path(file).open(encoding="utf-8") as lines:
                    found = import_lines(opened, lines, file)
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise CacheError(f"{file} is not UTF-8 text") from None
    complain(
        f"imported {count(found.requests, 'request')}: {count(found.added, 'sample')} added, "
        f"{found.skipped:,} already cached"
    )
    return 0


@cache_command.command("prune")
@opt.cache_option
@opt.text("--keep-size", "SIZE", "Prune down to this size, such as 100MB. [default: no limit]")
@opt.text("--older-than", "AGE", "Prune older requests, such as 30d or 12h. [default: no limit]")
def prune(cache: str, keep_size: str | None, older_than: str | None) -> int:
    """Prune requests, the oldest first, by size or by age."""
    from gotlang.cache.maintenance import prune as pruned

    if keep_size is None and older_than is None:
        raise UsageError("specify what to prune", help="`--keep-size 100MB` or `--older-than 30d`")
    limit = None if keep_size is None else int(_amount(keep_size, _SIZES, "--keep-size"))
    age = None if older_than is None else _amount(older_than, _AGES, "--older-than")
    with _opened(cache):
        pass  # opening a missing cache for writing would create it
    with _opened(cache, readonly=False) as opened:
        gone = pruned(opened, keep_bytes=limit, older_than_s=age)
    complain(
        f"pruned {count(gone.requests, 'request')} with {count(gone.samples, 'sample')}, {_size(gone.bytes)}"
    )
    return 0


_DIGITS = 15
"""The most characters of an amount."""
_SIZES = {"": 1, "b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9}
_AGES = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def _amount(text: str, units: dict[str, Any], option: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]*)", text.strip().lower())
    if found is None or found[2] not in units or len(found[1]) > _DIGITS:
        known = ", ".join(unit for unit in units if unit)
        raise UsageError(f"{option}: `{text}` is not an amount", help=f"a number with a unit: {known}")
    return float(found[1]) * float(units[found[2]])


def _size(size: float) -> str:
    for unit in ("B", "KB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
