"""`gotc explain`: what a program will cost, or what an error code means and how to fix it."""

from __future__ import annotations

import re
import sys
from typing import Any

import click

from gotlang.cli import options as opt
from gotlang.cli.output import Style, document, errors_as_document, say
from gotlang.errors import UsageError

_CODE = re.compile(r"(?i)(got)?\d+|all")


@click.command("explain")
@click.argument("what", metavar="FILE|CODE")
@opt.scheme_option
@opt.input_options
@opt.param_options
@opt.model_options
@opt.optimizer_options
@opt.flag("--no-simulate", "Skip the simulated run that gives expected costs.")
@opt.json_option
def command(what: str, json: bool, **chosen: Any) -> int:
    """Estimate the cost of the program FILE (`-` is standard input) before any request is sent: calls,
    requests, critical path, volume, tokens and dollars, as numbers and as formulas of the params.

    Or explain an error CODE, such as GOT0203: what is wrong and how to fix it. `all` lists them.
    """
    with errors_as_document(json):
        if _CODE.fullmatch(what):
            return _explain(what, json=json)
        return _cost(what, chosen, json=json)


def _cost(file: str, chosen: dict[str, Any], *, json: bool) -> int:
    from dataclasses import replace

    from gotlang.cli.inputs import given_inputs, given_params, program
    from gotlang.report.estimate import estimate_lines

    loaded = program(file, chosen["tuned"])
    given = None
    if any(chosen[name] for name in ("input", "inputs", "data")):
        given = given_inputs(loaded.scheme(chosen["scheme"]), chosen).inputs
    options = replace(opt.run_options(chosen), params=given_params(loaded, chosen["set"]), early_stop=True)
    found = loaded.explain(
        given, scheme=chosen["scheme"], options=options, simulate=not chosen["no_simulate"]
    )
    if json:
        document({"program": loaded.name, "simulated": options.simulated, **found.as_json()})
        return 0
    first, *rest = estimate_lines(found)
    say(Style.of(sys.stdout).bold(first))
    for line in rest:
        say(line)
    return 0


def _explain(code: str, *, json: bool) -> int:
    from dataclasses import asdict
    from textwrap import fill

    from gotlang.codes import CODES
    from gotlang.diagnostics import nearest

    style = Style.of(sys.stdout)
    if code.lower() == "all":
        if json:
            document({"codes": [asdict(entry) for entry in CODES.values()]})
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
        document(asdict(entry))
        return 0
    say(style.bold(f"{entry.code}: {entry.title}"))
    say("")
    say(fill(entry.text, 100, break_on_hyphens=False))
    for title, text in (("Wrong", entry.wrong), ("Right", entry.right)):
        if text:
            say(f"\n{style.bold(title)}\n")
            say("\n".join(f"    {line}" for line in text.splitlines()))
    return 0
