"""The models of a session: its own, and those that settings of prompts name, each opened once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from typing import final

from gotlang.errors import UsageError
from gotlang.ir.program import Program, Sampling, ValidateAndImprove
from gotlang.models.base import Model, ModelOptions
from gotlang.models.registry import model_spec, open_model, plain_name
from gotlang.syntax.expressions import Constant


@final
class ModelPool:
    """Returns a model by the name in a setting `model`, None for the session's own.

    The simulator replaces all models; so does a recording, with its own `open`. Raises UsageError if there is
    no such model.
    """

    def __init__(
        self,
        model: str | Model,
        options: ModelOptions,
        open: Callable[[str, ModelOptions], Model] = open_model,
    ) -> None:
        self._own = model
        self._options = options
        self._open = open
        self._opened: dict[str, Model] = {}

    def __call__(self, name: str | None) -> Model:
        if not isinstance(self._own, str):
            return self._own
        spec = model_spec(name, self._own)
        if spec not in self._opened:
            self._opened[spec] = self._open(spec, self._options)
        return self._opened[spec]

    @property
    def opened(self) -> tuple[Model, ...]:
        """Those opened so far."""
        return tuple(self._opened.values())

    async def close(self) -> None:
        """Close all of them, even if one fails to close."""
        opened, self._opened = self._opened, {}
        async with AsyncExitStack() as stack:
            for model in opened.values():
                stack.push_async_callback(model.close)


def models_named(program: Program) -> set[str] | None:
    """The models that a program's prompts and steps name; None if a name is computed."""
    settings = [setting for prompt in program.prompts for setting in prompt.settings]
    for body in program.bodies.values():
        for step in body.all_steps():
            if isinstance(step, Sampling | ValidateAndImprove):
                settings.extend(step.settings)
    values = [value for name, value in settings if name == "model"]
    named = {plain_name(str(value.value)) for value in values if isinstance(value, Constant)}
    return named if all(isinstance(value, Constant) for value in values) else None


def model_limits(program: Program, own: str, limits: Mapping[str, int]) -> dict[str, int]:
    """The concurrency limits of single models, by the names in requests; `own` is the run's own model.

    `limits` may name models with their provider or without. Raises UsageError for a model that the program
    does not use.
    """
    found = {plain_name(name): limit for name, limit in limits.items()}
    plain = own.partition("@")[0]  # simulated and local models have their version in their name
    if found and (named := models_named(program)) is not None:
        known = {plain, *named}
        for name in found:
            if name not in known:
                raise UsageError(
                    f"the program does not use the model `{name}`, so it cannot be limited",
                    help=f"it uses {', '.join(sorted(known))}",
                )
    if plain in found:
        found[own] = found.pop(plain)
    return found
