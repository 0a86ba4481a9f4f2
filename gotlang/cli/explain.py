"""`gotc explain`: what a program will cost, or what an error code means and how to mend it."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

import click

from gotlang.cli.options import input_options, model_options, optimizer_options, param_options
from gotlang.cli.output import FORMAT_VERSION, Style, document, errors_as_document, say
from gotlang.errors import UsageError

if TYPE_CHECKING:
    from gotlang.estimate.cost import Estimate

_CODE = re.compile(r"(?i)(got)?\d+|all")


@click.command("explain")
@click.argument("what", metavar="FILE|CODE")
@click.option(
    "--scheme", metavar="NAME", help="Which scheme. [default: the one named like the file, else the last]"
)
@input_options
@param_options
@model_options
@optimizer_options
@click.option("--no-simulate", is_flag=True, help="Leave out the simulated run that says what to expect.")
@click.option("--json", is_flag=True, help="One JSON document on stdout.")
def command(what: str, json: bool, **chosen: Any) -> int:
    """Say what the program FILE (`-` is standard input) will cost, before anything is paid: answers,
    requests, the longest path of model calls, volume, tokens and dollars, as numbers and as formulas in the
    params.

    Or explain an error CODE, such as GOT0203: what is wrong, and how it looks mended. `all` lists them.
    """
    with errors_as_document(json):
        if _CODE.fullmatch(what):
            return _explain(what, json=json)
        return _cost(what, chosen, json=json)


def _cost(file: str, chosen: dict[str, Any], *, json: bool) -> int:
    from gotlang.report.estimate import estimate_lines

    found, program, simulated = _estimate(file, chosen)
    if json:
        document(
            {"format_version": FORMAT_VERSION, "program": program, "simulated": simulated, **found.as_json()}
        )
        return 0
    style = Style.of(sys.stdout)
    first, *rest = estimate_lines(found)
    say(style.bold(first))
    for line in rest:
        say(line)
    return 0


def _estimate(file: str, chosen: dict[str, Any]) -> tuple[Estimate, str, bool]:
    """The estimate, the program's name, and whether the model is simulated."""
    from pathlib import Path

    from gotlang.api import Options
    from gotlang.cli.programs import program
    from gotlang.cli.values import given_inputs, given_params
    from gotlang.models.registry import default_model, is_simulated

    loaded = program(file, chosen["tuned"])
    given = None
    if any(chosen[name] for name in ("input", "inputs", "data")):
        given = given_inputs(loaded.scheme(chosen["scheme"]), chosen).inputs
    options = Options(
        model=chosen["model"] or default_model(),
        params=given_params(loaded.ir(0).params, chosen["set"]),
        seed=chosen["seed"],
        wave=chosen["wave"],
        base_url=chosen["base_url"],
        prices=None if chosen["prices"] is None else Path(chosen["prices"]),
        python=not chosen["no_python"],
        level=chosen["optimize"],
        fusion=not chosen["no_fusion"],
    )
    found = loaded.explain(
        given, scheme=chosen["scheme"], options=options, simulate=not chosen["no_simulate"]
    )
    return found, loaded.name, is_simulated(options.model)


def _explain(code: str, *, json: bool) -> int:
    from dataclasses import asdict
    from textwrap import fill

    from gotlang.codes import CODES
    from gotlang.diagnostics import nearest

    style = Style.of(sys.stdout)
    if code.lower() == "all":
        if json:
            document({"format_version": FORMAT_VERSION, "codes": [asdict(entry) for entry in CODES.values()]})
            return 0
        for entry in CODES.values():
            say(f"{style.bold(entry.code)}  {entry.title}")
        return 0
    name = code.upper()
    if name.isdigit():
        name = f"GOT{name.zfill(4)}"
    if name not in CODES:
        near = nearest(name, CODES)
        hint = f"did you mean {near}? " if near else ""
        raise UsageError(f"there is no error code `{code}`", help=f"{hint}`gotc explain all` lists them")
    entry = CODES[name]
    if json:
        document({"format_version": FORMAT_VERSION, **asdict(entry)})
        return 0
    say(style.bold(f"{entry.code}: {entry.title}"))
    say("")
    say(fill(entry.text, 100, break_on_hyphens=False))
    for title, text in (("Wrong", entry.wrong), ("Right", entry.right)):
        if text:
            say(f"\n{style.bold(title)}\n")
            say("\n".join(f"    {line}" for line in text.splitlines()))
    return 0
