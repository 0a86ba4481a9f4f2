"""Writes a cassette of a run: every completion it used, cached or not, even if the run fails."""

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
from gotlang.runtime.sampler.events import Asked, Event, MissingSample


@final
class Recorder:
    """An observer of runs that writes their requests and completions to `path`.

    An existing file stays until the new one is complete. Raises UsageError if the file cannot be written,
    before anything is spent.
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
            raise self._refused(error) from None

    def __call__(self, event: Event) -> None:
        """Keep the completions of an event."""
        if not isinstance(event, Asked):
            return
        # At temperature 0 every sample is the first.
        numbers = [0] * len(event.numbers) if event.request.settings.temperature == 0 else event.numbers
        pairs = zip(numbers, event.samples, strict=True)
        found = {number: sample[0] for number, sample in pairs if not isinstance(sample, MissingSample)}
        self._cache.put(event.key, event.request, found)

    def write(self, model: Model, models: Iterable[Model]) -> None:
        """Write the cassette of runs on `model`, and on `models` that prompts name.

        Raises UsageError if that fails; the completions are in the cache of the run then.
        """
        about = {each.name: RecordedModel(each.price, max(1, each.batch)) for each in (model, *models)}
        try:
            with self._file as file:
                write_cassette(file, self._cache, model.name, about)
            os.replace(self._part, self._path)
        except OSError as error:
            self._part.unlink(missing_ok=True)
            raise self._refused(error) from None

    def _refused(self, error: OSError) -> UsageError:
        return UsageError(f"cannot write the recording {self._path}: {error.strerror or error}")
