"""Writes a cassette of a run: every completion it used, cached or not, even if the run fails."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import final

from gotlang.cache.cassette import RecordedModel, cassette_lines, check_replaceable
from gotlang.cache.memory import MemoryCache
from gotlang.disk import Draft
from gotlang.errors import UsageError
from gotlang.models.base import Model
from gotlang.runtime.sampler.events import Asked, Event, MissingSample


@final
class CassetteRecorder:
    """An observer of runs that writes their requests and completions to `path`.

    An existing file stays until the new one is complete. Raises UsageError if the file cannot be written,
    before anything is spent.
    """

    def __init__(self, path: Path) -> None:
        check_replaceable(path)
        if path.exists() and not path.is_file():
            raise UsageError(f"cannot write the recording {path}: it is not a regular file")
        self._path = path
        self._cache = MemoryCache()
        try:
            self._draft = Draft(path)
        except OSError as error:
            raise self._refused(error) from None

    def __call__(self, event: Event) -> None:
        """Store the completions of an event."""
        if not isinstance(event, Asked):
            return
        # At temperature 0 every sample is the first.
        numbers = [0] * len(event.numbers) if event.request.settings.temperature == 0 else event.numbers
        pairs = zip(numbers, event.samples, strict=True)
        found = {number: sample[0] for number, sample in pairs if not isinstance(sample, MissingSample)}
        self._cache.put(event.key, event.request, found)

    def write(self, model: Model, models: Iterable[Model]) -> None:
        """Write the cassette of runs on `model`, and on `models` that prompts name.

        Raises UsageError if that fails; the completions are still in the cache of the run.
        """
        about = {each.name: RecordedModel(each.price, max(1, each.batch)) for each in (model, *models)}
        try:
            with self._draft as draft:
                for line in cassette_lines(self._cache, model.name, about):
                    draft.write(line.encode() + b"\n")
        except OSError as error:
            raise self._refused(error) from None

    def _refused(self, error: OSError) -> UsageError:
        return UsageError(f"cannot write the recording {self._path}: {error.strerror or error}")
