"""The registry of model providers: from what follows `--model` (`openai:gpt-4o-mini`) to a model.

A provider is an entry point of the group `gotlang.models`: its name is what precedes the colon, its object is
a `Provider`, usually a class of models. The built-in providers are entry points, too, that need no
installation.
"""

from __future__ import annotations

import os
from importlib.metadata import EntryPoint, entry_points
from typing import cast

from gotlang.errors import GotError, UsageError
from gotlang.models.base import Model, ModelOptions, Price, Provider

GROUP = "gotlang.models"
BUILT_IN = {
    "simulated": "gotlang.models.simulated:SimulatedModel",
    "openai": "gotlang.models.openai:OpenAIModel",
    "local": "gotlang.models.local:LocalModel",
    "replay": "gotlang.cache.cassette:ReplayModel",
}
DEFAULT_PROVIDER = "openai"


def default_model() -> str:
    """The model if none is named: an endpoint's if the environment has a key and a name of one, else
    `simulated`."""
    name = os.environ.get("OPENAI_MODEL")
    return f"openai:{name}" if name and os.environ.get("OPENAI_API_KEY") else "simulated"


def is_simulated(model: object) -> bool:
    """Whether this names the program's own simulator, with settings or without."""
    return isinstance(model, str) and model.partition(":")[0] == "simulated"


def model_spec(name: str | None, own: str) -> str:
    """The full spec of a model that a program names (None: the run's own, `own`), with its provider.

    The simulator replaces all models. A name without a provider is of the provider of the run's own model,
    or of OpenAI's if that is local or recorded.
    """
    if name is None or is_simulated(own):
        name = own
    if ":" in name or is_simulated(name):
        return name
    provider, colon, _ = own.partition(":")
    return f"{provider if colon and provider not in ('local', 'replay') else DEFAULT_PROVIDER}:{name}"


def plain_name(spec: str) -> str:
    """A model's name without its provider, as requests have it."""
    provider, colon, name = spec.partition(":")
    return name if colon and _entry_point(provider) is not None else spec


def find_provider(name: str) -> Provider:
    """The provider of this name. Raises UsageError if there is none or it cannot be loaded."""
    found = _entry_point(name)
    if found is None:
        raise UsageError(f"unknown model provider `{name}`", help=_help())
    try:
        return cast(Provider, found.load())
    except Exception as error:  # a plug-in is foreign code
        raise UsageError(
            f"the model provider `{name}` ({found.value}) cannot be loaded: {type(error).__name__}: {error}",
            help="update or uninstall the package that provides it",
        ) from error


def descriptions() -> dict[str, str]:
    """The built-in providers, then the installed ones, each with one line about it."""
    found = {}
    for name in (*BUILT_IN, *entry_points(group=GROUP).names):
        try:
            found[name] = find_provider(name).about
        except (GotError, AttributeError) as error:
            found[name] = str(error)
    return found


def open_model(spec: str, options: ModelOptions) -> Model:
    """The model of a spec with its provider. Raises UsageError for an unknown provider and a missing part."""
    provider, name = _resolved(spec)
    if options.batches is not None and not provider.batches:
        raise UsageError(
            f"`{spec}` has no batches",
            help="`--batch` is for providers that have them: `--model openai:NAME`",
        )
    return provider.open(name, options)


def price_of_model(spec: str, options: ModelOptions) -> Price | None:
    """The price of a model without opening it; None if unknown. Raises UsageError as `open_model`."""
    provider, name = _resolved(spec)
    return provider.known_price(name, options)


def _resolved(spec: str) -> tuple[Provider, str]:
    kind, _, name = spec.partition(":")
    provider = find_provider(kind)
    if not name and kind != "simulated":
        raise UsageError(f"`{spec}` is not complete", help=_help())
    return provider, name


def _entry_point(name: str) -> EntryPoint | None:
    if name in BUILT_IN:
        return EntryPoint(name, BUILT_IN[name], GROUP)
    return next(iter(entry_points(group=GROUP, name=name)), None)


def _help() -> str:
    return "there are " + "; ".join(f"`{name}` ({about})" for name, about in descriptions().items())
