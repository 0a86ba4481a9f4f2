"""The models of a session: its own, and those that settings of prompts name, each opened once."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import final

from gotlang.cache.cassette import Recording, open_recording
from gotlang.errors import UsageError
from gotlang.ir.program import Program, Sampling, ValidateAndImprove
from gotlang.ir.program import regions as inner_regions
from gotlang.models.base import Model
from gotlang.models.prices import price_of
from gotlang.models.registry import ModelOptions, is_simulated, open_model
from gotlang.syntax.expressions import Constant

_REPLAY = "replay:"


def open_replayed(model: object) -> Recording | None:
    """The recording that a spec `replay:FILE` or `replay:FILE#MODEL` names; None for any other model.

    Raises UsageError and CacheError where it cannot be read.
    """
    if not isinstance(model, str) or not model.startswith(_REPLAY):
        return None
    path = _file_and_model(model)[0]
    if not path:
        raise UsageError(
            f"`{model}` names no file", help="write `replay:FILE`, as `gotc run --record FILE` made it"
        )
    return open_recording(path)


@final
class Models:
    """Gives a model by the name that a setting `model` says, None for the session's own.

    Stand-ins stand in for every model; a recording answers for every model that is in it. Raises UsageError
    where there is no such model.
    """

    def __init__(self, model: str | Model, options: ModelOptions, recording: Recording | None) -> None:
        self._own = model
        self._options = options
        self._recording = recording
        self._opened: dict[str, Model] = {}

    def __call__(self, name: str | None) -> Model:
        own = self._own
        if not isinstance(own, str):
            return own
        spec = own if name is None or is_simulated(own) else name
        if spec not in self._opened:
            self._opened[spec] = self._open(spec, own=name is None)
        return self._opened[spec]

    @property
    def opened(self) -> tuple[Model, ...]:
        """Those opened so far."""
        return tuple(self._opened.values())

    async def close(self) -> None:
        """Let go of all of them, also where one fails to."""
        opened, self._opened = self._opened, {}
        async with AsyncExitStack() as stack:
            if self._recording is not None:
                stack.callback(self._recording.cache.close)
            for model in opened.values():
                stack.push_async_callback(model.close)

    def _open(self, spec: str, *, own: bool) -> Model:
        if self._recording is None:
            return open_model(spec if ":" in spec or is_simulated(spec) else f"openai:{spec}", self._options)
        from gotlang.cache.cassette import ReplayModel

        name = _file_and_model(spec)[1] if own else spec.rpartition(":")[2]
        prices = self._options.prices
        model = ReplayModel(self._recording, name)
        if prices is not None and (price := price_of(model.name, prices)) is not None:
            return ReplayModel(self._recording, name, price=price)
        return model


def _file_and_model(spec: str) -> tuple[str, str | None]:
    path, _, model = spec.removeprefix(_REPLAY).partition("#")
    return path, model or None


def models_named(program: Program) -> set[str] | None:
    """The models that a program's prompts and steps ask by name; None where a name is computed."""
    settings = [setting for prompt in program.prompts for setting in prompt.settings]
    regions = [*(scheme.body for scheme in program.schemes), *(score.body for score in program.scores)]
    while regions:
        region = regions.pop()
        for step in region.steps:
            regions.extend(inner_regions(step))
            if isinstance(step, Sampling | ValidateAndImprove):
                settings.extend(step.settings)
    named = set()
    for name, value in settings:
        if name == "model":
            if not isinstance(value, Constant):
                return None
            named.add(str(value.value).removeprefix("openai:"))
    return named


def model_limits(program: Program, own: str, limits: Mapping[str, int]) -> dict[str, int]:
    """The limits of single models, by the names that requests go by; `own` is the run's own model. They may
    be named as elsewhere, with `openai:` before it.

    Raises UsageError for the limit of a model that nothing asks.
    """
    found = {name.removeprefix("openai:"): limit for name, limit in limits.items()}
    plain = own.partition("@")[0]  # stand-ins have their version in their name
    if found and (named := models_named(program)) is not None:
        known = {plain, *named}
        for name in found:
            if name not in known:
                raise UsageError(
                    f"no model `{name}` is asked, so it cannot be limited",
                    help=f"there {'is' if len(known) == 1 else 'are'} {', '.join(sorted(known))}",
                )
    if plain in found:
        found[own] = found.pop(plain)
    return found
