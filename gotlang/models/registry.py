"""The registry of model providers: from the argument of `--model` (`openai:gpt-4o-mini`) to a model.

A provider is an entry point of the group `gotlang.models`: its name precedes the colon, its object is a
`Provider`, usually a class of models. The built-in providers are entry points, too, that need no
installation.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, cast, final

from msgspec.structs import replace

from gotlang import keys
from gotlang.errors import GotError, UsageError
from gotlang.models.base import Model, ModelOptions, Price, Provider
from gotlang.models.endpoint import OPENAI, url_of
from gotlang.operations.ask import PERSON
from gotlang.patterns import lazy_pattern

if TYPE_CHECKING:
    from gotlang.ir.program import Program

GROUP = "gotlang.models"
BUILT_IN = {
    "simulated": "gotlang.models.simulated:SimulatedModel",
    "openai": "gotlang.models.openai:OpenAIModel",
    "openai-sdk": "gotlang.models.openai:OpenAISdkModel",
    "openai-responses": "gotlang.models.responses:ResponsesModel",
    "gemini": "gotlang.models.gemini:GeminiModel",
    "anthropic": "gotlang.models.anthropic:AnthropicModel",
    "embeddings": "gotlang.models.embeddings:OpenAIEmbeddings",
    "local": "gotlang.models.local:LocalModel",
    "local-embeddings": "gotlang.models.local:LocalEmbeddings",
    "replay": "gotlang.cache.cassette:ReplayModel",
}
DEFAULT_PROVIDER = "openai"
_CHAT = ("openai", "openai-sdk", "openai-responses")
"""Providers whose endpoints also serve embeddings."""
_OTHER_VENDORS = lazy_pattern(
    r"claude|gemini|gemma|mi[sx]tral|llama|command-|deepseek|qwen|grok|phi-", re.IGNORECASE
)
"""Prefixes of the names of models that are not OpenAI's."""


def default_model() -> str:
    """The default model: an endpoint's if the environment has a key and the name of one, else `simulated`."""
    name = os.environ.get("OPENAI_MODEL")
    return f"openai:{name}" if name and keys.read("OPENAI_API_KEY") else "simulated"


def is_simulated(model: object) -> bool:
    """Whether this names the program's own simulator, with settings or without."""
    return isinstance(model, str) and model.partition(":")[0] == "simulated"


def model_spec(name: str | None, own: str, declared: Callable[[], Mapping[str, object]] = dict) -> str:
    """The full spec of a model that a program names (None: the run's own, `own`), with its provider.

    The simulator replaces all models, or each by its own if it declares models (`declared`). A name without a
    provider belongs to the provider of the run's own model, or to OpenAI if that is local or recorded.
    """
    if name is None:
        name = own
    elif is_simulated(own):
        return _simulated_spec(plain_name(name), own) if declared() or is_simulated(name) else own
    if ":" in name or is_simulated(name):
        return name
    provider, colon, _ = own.partition(":")
    return f"{provider if colon and provider not in ('local', 'replay') else DEFAULT_PROVIDER}:{name}"


def _simulated_spec(name: str, own: str) -> str:
    """The spec of the simulated model `name` with the settings of `own`, such as `simulated:rpm=60`."""
    parts = [part for part in own.partition(":")[2].split(",") if "=" in part]
    if name != "simulated":
        parts.insert(0, name)
    return ":".join(["simulated", ",".join(parts)][: 1 + bool(parts)])


def plain_name(spec: str) -> str:
    """A model's name without its provider, as requests have it."""
    provider, colon, name = spec.partition(":")
    return name if colon and _value(provider) is not None else spec


def find_provider(name: str) -> Provider:
    """The provider with this name. Raises UsageError if it does not exist or cannot be loaded."""
    found = _value(name)
    if found is None:
        raise UsageError(f"unknown model provider `{name}`", help=_help())
    try:
        module, _, kind = found.partition(":")
        return cast(Provider, attrgetter(kind)(import_module(module)))
    except Exception as error:  # a plug-in is third-party code
        raise UsageError(
            f"the model provider `{name}` ({found}) cannot be loaded: {type(error).__name__}: {error}",
            help="update or uninstall the package that provides it",
        ) from error


def descriptions() -> dict[str, str]:
    """The built-in providers, then the installed ones, each with one line about it."""
    from importlib.metadata import entry_points

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
            f"`{spec}` has no batch API",
            help="`--batch` needs a provider with a batch API, such as `--model openai:NAME`",
        )
    return provider.open(name, options)


def price_of_model(spec: str, options: ModelOptions) -> Price | None:
    """The price of a model without opening it; None if unknown. Raises UsageError as `open_model`."""
    provider, name = _resolved(spec)
    return provider.known_price(name, options)


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
        self.options = options
        self._open = open
        self._opened: dict[str, Model] = {}
        self._named: dict[str | None, Model] = {}

    def __call__(self, name: str | None) -> Model:
        if not isinstance(self._own, str) and name != PERSON:
            return self._own
        if (known := self._named.get(name)) is not None:
            return known
        if name == PERSON or not isinstance(self._own, str):
            found = self._named[name] = self._opened[PERSON] = self._open(PERSON, self.options)
            return found
        spec = model_spec(name, self._own, self.options.declared)
        if spec not in self._opened:
            _check_vendor(name or self._own, spec, self.options)
            # The chosen endpoint is that of the run's own provider; others have theirs.
            own, provider = model_spec("any", self._own).partition(":")[0], spec.partition(":")[0]
            same = provider == own or (own in _CHAT and provider == "embeddings")
            options = self.options if same else replace(self.options, base_url=None)
            self._opened[spec] = self._open(spec, options)
        found = self._named[name] = self._opened[spec]
        return found

    def limit(self, rpm: float | None, tpm: float | None) -> None:
        """Change the limits per minute from now on."""
        self.options = replace(self.options, rpm=rpm, tpm=tpm)
        for model in self.opened:
            model.limit(rpm, tpm)

    @property
    def opened(self) -> tuple[Model, ...]:
        """The models opened so far."""
        return tuple(self._opened.values())

    async def close(self) -> None:
        """Close all of them, even if one fails to close."""
        opened, self._opened = self._opened, {}
        self._named.clear()
        async with AsyncExitStack() as stack:
            for model in opened.values():
                stack.push_async_callback(model.close)


def _check_vendor(name: str, spec: str, options: ModelOptions) -> None:
    """Raise UsageError for the model of another vendor, named without a provider, which would mean OpenAI."""
    openai = spec.partition(":")[0] == DEFAULT_PROVIDER and url_of(options.base_url) == OPENAI.url
    if openai and ":" not in name and _OTHER_VENDORS.match(name):
        raise UsageError(
            f"a model named without its provider is OpenAI's, which has no `{name}`",
            help=f"write `PROVIDER:{name}` (`gotc models` lists the providers), or give the URL of an "
            "OpenAI-compatible endpoint with `--base-url`",
        )


def specs_named(program: Program) -> set[str | None]:
    """The models that a program's prompts and steps name, as written; None among them if one is computed."""
    from gotlang.ir.program import SampledStep, ValidateAndImprove
    from gotlang.syntax.expressions import Constant

    settings = [setting for prompt in program.prompts for setting in prompt.settings]
    for body in program.bodies.values():
        for step in body.all_steps():
            if isinstance(step, SampledStep | ValidateAndImprove):
                settings.extend(step.settings)
    values = [value for name, value in settings if name == "model"]
    return {str(value.value) if isinstance(value, Constant) else None for value in values}


def models_named(program: Program) -> set[str] | None:
    """The models that a program's prompts and steps name, without providers; None if a name is computed."""
    specs = specs_named(program)
    return None if None in specs else {plain_name(spec) for spec in specs if spec is not None}


def model_limits(program: Program, own: str, limits: Mapping[str, int]) -> dict[str, int]:
    """The concurrency limits of single models, by the names in requests; `own` is the run's own model.

    `limits` may name models with their provider or without. Raises UsageError for a model that the program
    does not use.
    """
    found = {plain_name(name): limit for name, limit in limits.items()}
    plain, at, version = own.partition("@")  # simulated and local models have their version in their name
    if found and (named := models_named(program)) is not None:
        known = {plain, plain_name(plain), *named}
        for name in found:
            if name not in known:
                raise UsageError(
                    f"the program does not use the model `{name}`, so it cannot be limited",
                    help=f"it uses {', '.join(sorted(known))}",
                )
    if is_simulated(plain):
        return {_simulated_spec(name, plain) + at + version: limit for name, limit in found.items()}
    if plain in found:
        found[own] = found.pop(plain)
    return found


def _resolved(spec: str) -> tuple[Provider, str]:
    kind, _, name = spec.partition(":")
    provider = find_provider(kind)
    if not name and kind != "simulated":
        raise UsageError(f"`{spec}` is not complete", help=_help())
    return provider, name


def _value(name: str) -> str | None:
    """The location of a provider, as `module:class`; None if it does not exist."""
    if name in BUILT_IN:
        return BUILT_IN[name]
    from importlib.metadata import entry_points  # imports that most commands do not need

    return next(
        (found.value.partition("[")[0].strip() for found in entry_points(group=GROUP, name=name)), None
    )


def _help() -> str:
    lines = [f"{name.ljust(10)} {about}" for name, about in descriptions().items()]
    return "a model is named PROVIDER:NAME, with one of these providers:\n    " + "\n    ".join(lines)
