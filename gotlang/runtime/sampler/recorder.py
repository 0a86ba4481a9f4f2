"""A run's cassette: every answer it used, wherever from, written when it ends, however it ends."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import final

from gotlang.cache.cassette import RecordedModel, check_replaceable, write_cassette
from gotlang.cache.memory import MemoryCache
from gotlang.errors import UsageError
from gotlang.models.base import Model
from gotlang.runtime.sampler.events import Asked, Event
from gotlang.runtime.sampler.store import MissingSample


@final
class Recorder:
    """Observes runs, and writes what they asked and were answered to `path`.

    The file that was there stays until the new one is whole. Raises UsageError where it cannot be written,
    before anything is paid.
    """

    def __init__(self, path: Path) -> None:
        check_replaceable(path)
        if path.exists() and not path.is_file():
            raise UsageError(f"cannot write the recording {path}: it is not a regular file")
        self._path = path
        self._part = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
        self._cache = MemoryCache()
        try:
            self._file = open(self._part, "x", encoding="utf-8")  # noqa: SIM115
        except OSError as error:
            raise UsageError(f"cannot write the recording {path}: {error.strerror or error}") from None

    def __call__(self, event: Event) -> None:
        """Keep the answers that an event tells of."""
        if not isinstance(event, Asked):
            return
        # At temperature 0 every draw is the first.
        numbers = [0] * len(event.numbers) if event.request.settings.temperature == 0 else event.numbers
        found = {
            number: draw[0]
            for number, draw in zip(numbers, event.samples, strict=True)
            if not isinstance(draw, MissingSample)
        }
        self._cache.put(event.key, event.request, found)

    def write(self, model: Model, models: Iterable[Model]) -> None:
        """Write the cassette of runs on `model`, and on `models` where prompts name others.

        Raises UsageError where the disk does not take it; the answers are in the cache of the run then.
        """
        about = {each.name: RecordedModel(each.price, max(1, each.batch)) for each in (model, *models)}
        try:
            with self._file as file:
                write_cassette(file, self._cache, model.name, about)
            os.replace(self._part, self._path)
        except OSError as error:
            self._part.unlink(missing_ok=True)
            raise UsageError(f"cannot write the recording {self._path}: {error.strerror or error}") from None
