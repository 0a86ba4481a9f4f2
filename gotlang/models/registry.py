"""From what a user writes after `--model` to a model: `simulated`, `openai:gpt-4o-mini`, `local:NAME`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, final

from gotlang.errors import UsageError
from gotlang.models.base import Model, Price

KINDS = {
    "simulated": "the program's own stand-ins; costs nothing (`simulated:rpm=60` rehearses a limit)",
    "openai": "any OpenAI-compatible endpoint: `openai:MODEL`",
    "local": "a small model on this machine: `local:NAME` or `local:FILE.gguf`",
    "replay": "what `gotc run --record FILE` recorded: `replay:FILE`",
}
"""What a model's name may start with, and what each is."""


@final
@dataclass(frozen=True, slots=True)
class ModelOptions:
    """What a model is made with.

    `simulators` are the program's stand-ins by prompt, `version` tells them from what they were before a
    change. `retries` and `timeout_s` None mean the model's own default, `rpm` and `tpm` (requests and tokens
    a minute) None that they are learned from the endpoint. `sleep` makes a simulated model take its time on
    the running loop. `batches` is the folder of provider batches; given, requests go with such.
    `known` is the file of what endpoints were found to take, None where nothing is remembered."""

    simulators: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    seed: int = 0
    base_url: str | None = None
    retries: int | None = None
    prices: Path | None = None
    sleep: bool = False
    version: str = ""
    rpm: float | None = None
    tpm: float | None = None
    timeout_s: float | None = None
    batches: Path | None = None
    known: Path | None = None


def default_model() -> str:
    """The model where none is named: an endpoint's where the environment has a key and a name of one, else
    `simulated`."""
    name = os.environ.get("OPENAI_MODEL")
    if name and os.environ.get("OPENAI_API_KEY"):
        return f"openai:{name}"
    return "simulated"


def is_simulated(model: object) -> bool:
    """Whether this names the program's own stand-ins, with settings of a rehearsal or without."""
    return isinstance(model, str) and model.partition(":")[0] == "simulated"


def open_model(spec: str, options: ModelOptions) -> Model:
    """The model a spec stands for. Raises UsageError where there is no such kind, or a part is missing.

    `replay:` needs a recording, which lies with the caches above this floor: a session opens it.
    """
    kind, _, name = spec.partition(":")
    if options.batches is not None and kind in KINDS and kind != "openai":
        raise UsageError(
            f"`{spec}` knows no batches",
            help="`--batch` is for providers that have them: `--model openai:NAME`",
        )
    if kind == "simulated":
        return _simulated(name, options)
    if kind == "openai" and name:
        return _openai(name, options)
    if kind == "local" and name:
        from gotlang.models.local import open_local

        return open_local(name, options.prices)
    raise _no_model(spec)


def _no_model(spec: str) -> UsageError:
    known = "; ".join(f"`{kind}` ({what})" for kind, what in KINDS.items())
    incomplete = spec.partition(":")[0] in KINDS
    told = f"`{spec}` is not complete" if incomplete else f"no model `{spec}`"
    return UsageError(told, help=f"there are {known}")


def price_of_model(spec: str, options: ModelOptions) -> Price | None:
    """What a model's tokens cost, without opening it; None where that is not known. Raises UsageError where
    there is no such kind."""
    kind, _, name = spec.partition(":")
    if kind not in KINDS or (kind == "openai" and not name):
        raise _no_model(spec)
    if kind == "simulated":
        from gotlang.models.simulated import GPT_35_TURBO

        return GPT_35_TURBO
    if kind != "openai":
        return None
    from gotlang.models.endpoint import OPENAI_URL, URL_VARIABLE
    from gotlang.models.prices import price_of

    url = options.base_url or os.environ.get(URL_VARIABLE) or OPENAI_URL
    return price_of(name, options.prices, base_url=url)


def _simulated(settings: str, options: ModelOptions) -> Model:
    from gotlang.models.rehearsal import Rehearsal, RehearsedModel, read_rehearsal

    rehearsal = read_rehearsal(settings) if settings else Rehearsal()
    rehearsal = replace(rehearsal, rpm=rehearsal.rpm or options.rpm, tpm=rehearsal.tpm or options.tpm)
    if rehearsal == Rehearsal():
        from gotlang.models.simulated import SimulatedModel

        return SimulatedModel(
            options.simulators,
            seed=options.seed,
            sleep=asyncio.sleep if options.sleep else None,
            version=options.version,
        )
    retries: dict[str, Any] = {} if options.retries is None else {"retries": options.retries}
    return RehearsedModel(
        options.simulators,
        rehearsal,
        seed=options.seed,
        virtual=options.sleep,
        version=options.version,
        **retries,
    )


def _openai(name: str, options: ModelOptions) -> Model:
    from gotlang.models.endpoint import find_endpoint
    from gotlang.models.known import Known
    from gotlang.models.openai import OpenAIModel
    from gotlang.models.prices import price_of

    given: dict[str, Any] = {"retries": options.retries, "timeout_s": options.timeout_s}
    # A price the user gives holds for any endpoint; all others are known by the endpoint's address.
    url = find_endpoint(options.base_url).url
    price = price_of(name, options.prices, base_url=url) if options.prices is not None else None
    return OpenAIModel(
        name,
        base_url=options.base_url,
        price=price,
        requests_per_minute=options.rpm,
        tokens_per_minute=options.tpm,
        batches=options.batches,
        known=None if options.known is None else Known(options.known),
        **{label: value for label, value in given.items() if value is not None},
    )
