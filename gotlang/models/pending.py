"""What batches are under way, remembered in a folder: one JSON file each, from before it is made until all of
its answers were handed out. Nothing secret is in them: names of lines are digests."""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import final

from gotlang.errors import UsageError

KEPT_S = 29 * 86400
"""Seconds after which a batch is forgotten: providers keep results for a month."""


@final
@dataclass(frozen=True, slots=True)
class Batch:
    """`token` is its name here, `id` its provider's (None until it is known to be made), `lines` the requests
    in it, `created` when it was (Unix time)."""

    token: str
    endpoint: str
    lines: tuple[str, ...]
    created: float
    id: str | None = None


@final
class Pending:
    """The batches of one endpoint that are under way. Raises UsageError where the folder is not writable."""

    def __init__(self, folder: Path, endpoint: str) -> None:
        self._folder = folder
        self._endpoint = endpoint
        self._batches: dict[str, Batch] = {}
        self._by_line: dict[str, str] = {}
        for path in sorted(folder.glob("*.json")) if folder.is_dir() else ():
            batch = _read(path)
            if batch is not None and time.time() - batch.created > KEPT_S:
                _delete(path)
            elif batch is not None and batch.endpoint == endpoint:
                self._remember(batch)

    def find(self, line: str) -> Batch | None:
        """The batch that a request is in."""
        return self._batches.get(self._by_line.get(line, ""))

    def add(self, lines: Sequence[str]) -> Batch:
        """Remember a batch that is about to be made."""
        batch = Batch(uuid.uuid4().hex, self._endpoint, tuple(lines), time.time())
        self._write(batch)
        return batch

    def name(self, batch: Batch, name: str) -> Batch:
        """Remember what its provider calls a batch."""
        named = replace(batch, id=name)
        self._write(named)
        return named

    def drop(self, batch: Batch) -> None:
        """Forget a batch of which nothing will come."""
        self._batches.pop(batch.token, None)
        for line in batch.lines:
            self._by_line.pop(line, None)
        _delete(self._path(batch))

    def forget(self, given: Collection[str]) -> None:
        """Forget the batches of which every answer was handed out."""
        for batch in list(self._batches.values()):
            if all(line in given for line in batch.lines):
                self.drop(batch)

    def _write(self, batch: Batch) -> None:
        path = self._path(batch)
        part = path.with_suffix(".part")
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            part.write_text(json.dumps(asdict(batch)), "utf-8")
            os.replace(part, path)
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror or error}") from None
        self._remember(batch)

    def _remember(self, batch: Batch) -> None:
        self._batches[batch.token] = batch
        self._by_line.update(dict.fromkeys(batch.lines, batch.token))

    def _path(self, batch: Batch) -> Path:
        return self._folder / f"{batch.token}.json"


def _delete(path: Path) -> None:
    # Where that cannot be, its answers are found once more: no reason to end a run.
    with suppress(OSError):
        path.unlink()


def _read(path: Path) -> Batch | None:
    """The batch in a file, or None where it holds none."""
    try:
        data = json.loads(path.read_text("utf-8"))
        batch = Batch(**data)
        sound = isinstance(batch.token, str) and isinstance(batch.endpoint, str) and batch.token == path.stem
        sound = sound and all(isinstance(line, str) for line in batch.lines)
        return replace(batch, lines=tuple(batch.lines), created=float(batch.created)) if sound else None
    except (OSError, ValueError, TypeError):
        return None
