"""What endpoints take, as it was learned, remembered from run to run in a file beside the cache.

What an endpoint refused once is not sent again, and said before anything is paid. Endpoints change: after a
month it is tried again, or when the user says so (`gotc models forget`).
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from gotlang.models.capabilities import OPTIONAL, TOKEN_LIMITS, Capabilities

KEPT_S = 30 * 86400
"""Seconds that something learned is believed."""
NAMES = (*TOKEN_LIMITS, *OPTIONAL, "system")
FORMAT = 1


@final
@dataclass(frozen=True, slots=True)
class Learned:
    """What is remembered of a model at an endpoint: the settings it refuses, how many answers a request of it
    may ask for as far as that is known (`bad` is the smallest number refused), and when it was learned."""

    endpoint: str
    model: str
    refused: frozenset[str]
    good: int
    bad: int | None
    at: float

    @property
    def empty(self) -> bool:
        """Whether it says nothing that a new endpoint would not."""
        return not self.refused and self.bad is None


@final
class Known:
    """The file of what was learned. A file that cannot be read or written is none: it saves a few requests
    that are refused, and costs nothing where it is lost."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def all(self) -> list[Learned]:
        """All that is still believed, by endpoint and model."""
        found = [one for one in _read(self._path) if time.time() - one.at < KEPT_S]
        return sorted(found, key=lambda one: (one.endpoint, one.model))

    def start(self, endpoint: str, model: str, first: Capabilities) -> Capabilities:
        """What a model starts with: `first`, and what was learned before."""
        for one in self.all():
            if (one.endpoint, one.model) == (endpoint, model):
                return first.remembering(one.refused, one.good, one.bad)
        return first

    def learn(self, endpoint: str, model: str, found: Capabilities) -> None:
        """Remember what is known now."""
        new = Learned(endpoint, model, found.refused, found.good, found.bad, time.time())
        kept = [one for one in self.all() if (one.endpoint, one.model) != (endpoint, model)]
        self._write(kept if new.empty else [*kept, new])

    def forget(self, model: str | None = None) -> int:
        """Forget what was learned of a model, at any endpoint, or of all; how many were forgotten."""
        held = _read(self._path)
        kept = [one for one in held if model is not None and one.model != model]
        if len(kept) < len(held):
            self._write(kept)
        return len(held) - len(kept)

    def _write(self, learned: list[Learned]) -> None:
        data = [
            {
                "endpoint": one.endpoint,
                "model": one.model,
                "refused": sorted(one.refused),
                "good": one.good,
                "bad": one.bad,
                "at": one.at,
            }
            for one in learned
        ]
        part = self._path.with_name(f"{self._path.name}.{os.getpid()}.part")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            part.write_text(json.dumps({"format": FORMAT, "learned": data}, indent=1) + "\n", "utf-8")
            os.replace(part, self._path)
        except OSError:
            return


def _read(path: Path) -> list[Learned]:
    try:
        data = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return []
    if (
        not isinstance(data, dict)
        or data.get("format") != FORMAT
        or not isinstance(data.get("learned"), list)
    ):
        return []
    return list(_sound(data["learned"]))


def _sound(entries: list[Any]) -> Iterator[Learned]:
    for entry in entries:
        try:
            refused, good, bad = frozenset(entry["refused"]), entry["good"], entry["bad"]
            one = Learned(str(entry["endpoint"]), str(entry["model"]), refused, good, bad, float(entry["at"]))
        except (KeyError, TypeError, ValueError):
            continue
        counts = [good] if bad is None else [good, bad]
        if refused <= set(NAMES) and all(type(count) is int and count >= 1 for count in counts):
            yield one
