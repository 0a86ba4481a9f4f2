"""Runs of the history for display: a run in a few fields, its facts, its program, its requests."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gotlang.cache.base import Cache
from gotlang.errors import UsageError
from gotlang.files import read_source
from gotlang.models.prices import calls_text
from gotlang.report.history import RunRecord, state_now
from gotlang.span import Source


def digest(source: Source) -> str:
    """The SHA-256 of a program's text, in hexadecimal."""
    return hashlib.sha256(source.text.encode("utf-8", "replace")).hexdigest()


def summary(record: RunRecord) -> dict[str, Any]:
    """A run in a few fields."""
    found = record.document or {}
    same = ("scheme", "model", "started", "ended", "resumed", "error")
    return {
        "run": record.run,
        "kind": record.kind,
        "state": state_now(record),
        "spent": None if record.spent is None else record.spent.to_dict(),
        "program": record.path,
        **{name: getattr(record, name) for name in same},
        "score": found.get("score"),
        "result": found.get("result"),
    }


def sources_of(record: RunRecord) -> list[Source]:
    """The program of a run, if it has not changed since."""
    try:
        source = read_source(record.path) if Path(record.path).is_file() else None
    except (UsageError, ValueError):  # an invalid file name
        return []
    if source is None:
        return []
    return [source] if digest(source) == record.sha256 else []


def title_of_run(record: RunRecord) -> str:
    """The title of a run's page."""
    return f"{record.program}: {record.scheme} by {record.model}"


def facts_of(record: RunRecord) -> list[tuple[str, str]]:
    """The main facts of a run, each with its name, which may be empty."""
    found = record.document or {}
    facts = [("run", record.run)]
    if found.get("simulated"):
        facts.append(("", "simulated: no real model was called"))
    if found.get("score") is not None:
        facts.append(("score", f"{found['score']:g}"))
    if found.get("ground_truth") is not None:
        facts.append(("", "correct" if found["ground_truth"] else "wrong"))
    measured = found.get("metrics", {}).items()
    facts.extend((name, f"{value:g}") for name, value in measured if value is not None)
    if record.spent is not None:
        facts.append(("", str(record.spent)))
    if found.get("graph"):
        facts.append(("volume", f"{found['graph']['volume']:,}"))
        facts.append(("critical path", calls_text(found["graph"]["critical_path"])))
    for name in ("not_valid", "partial"):
        if reason := found.get(name):
            facts.append((f"{name.replace('_', ' ')}:", str(reason)))
    if record.error is not None:
        facts.append((f"{record.state}:", record.error))
    return facts


def requests_of(line: dict[str, Any], cache: Cache | None) -> Sequence[dict[str, Any]]:
    """The requests of an operation, with the messages and the responses that are still in the cache."""
    out = []
    for asked in line.get("asked", []):
        request = cache.request(asked["key"]) if cache is not None else None
        stored = cache.get(asked["key"], asked["samples"]) if cache is not None else {}
        responses = [stored[n].completion.text if n in stored else None for n in asked["samples"]]
        out.append({**asked, "request": request, "responses": responses})
    return out
