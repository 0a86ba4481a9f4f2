"""From what a user writes after `--model` to a model: `simulated`, `openai:gpt-4o-mini`, `local:NAME`, `replay:FILE`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

from gotlang.errors import UsageError
from gotlang.models.base import Model

KINDS = {
    "simulated": "the program's own stand-ins; costs nothing",
    "openai": "any OpenAI-compatible endpoint: `openai:MODEL`",
}
"""What a model's name may start with, and what each is."""


@final
@dataclass(frozen=True, slots=True)
class ModelOptions:
    """What a model is made with. `simulators` are the program's stand-ins by prompt, `version` tells them from
    what they were before a change; `retries` None means the model's own default; `sleep` makes a simulated
    model take its time on the running loop."""

    simulators: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    seed: int = 0
    base_url: str | None = None
    retries: int | None = None
    prices: Path | None = None
    sleep: bool = False
    version: str = ""


def default_model() -> str:
    """The model where none is named: an endpoint's if the environment has a key and a name, else `simulated`."""
    name = os.environ.get("OPENAI_MODEL")
    if name and os.environ.get("OPENAI_API_KEY"):
        return f"openai:{name}"
    return "simulated"


def open_model(spec: str, options: ModelOptions) -> Model:
    """The model a spec stands for. Raises UsageError where there is no such kind, or a part is missing."""
    kind, _, name = spec.partition(":")
    if kind == "simulated" and not name:
        from gotlang.models.simulated import SimulatedModel

        return SimulatedModel(
            options.simulators,
            seed=options.seed,
            sleep=asyncio.sleep if options.sleep else None,
            version=options.version,
        )
    if kind == "openai" and name:
        from gotlang.models.endpoint import find_endpoint
        from gotlang.models.openai import OpenAIModel
        from gotlang.models.prices import price_of

        retries: dict[str, Any] = {} if options.retries is None else {"retries": options.retries}
        # A price the user gives holds for any endpoint; all others are known by the endpoint's address.
        url = find_endpoint(options.base_url).url
        price = price_of(name, options.prices, base_url=url) if options.prices is not None else None
        return OpenAIModel(name, base_url=options.base_url, price=price, **retries)
    known = "; ".join(f"`{kind}` ({what})" for kind, what in KINDS.items())
    if kind in KINDS:
        raise UsageError(f"`{spec}` is not complete", help=f"there are {known}")
    raise UsageError(f"no model `{spec}`", help=f"there are {known}")
