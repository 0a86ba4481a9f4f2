"""How a program is to be run, from the parameters of a command: as options, and as the history keeps them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gotlang.cli.output import complain
from gotlang.errors import UsageError

if TYPE_CHECKING:
    from gotlang.api import Options, Program


def options_for(program: Program, chosen: dict[str, Any], params: dict[str, Any]) -> Options:
    """The options of a run; says on stderr where no model was named and the stand-ins answer."""
    from dataclasses import replace

    from gotlang.cli.options import run_options
    from gotlang.models.registry import is_simulated

    record = Path(chosen["record"]) if chosen.get("record") is not None else None
    options = replace(run_options(chosen), params=params, record=record, **_tuned(chosen))
    # A program without prompts asks nobody.
    if is_simulated(options.model) and program.ir(0).prompts:
        if not program.ir(0).simulators:
            raise UsageError(
                "no model is named, and this program has no stand-ins to simulate one",
                help="name one with `--model openai:NAME` (OPENAI_API_KEY holds its key), or write "
                "`simulate with` and a Python file",
            )
        if chosen["model"] is None and not chosen["quiet"]:
            key = bool(os.environ.get("OPENAI_API_KEY"))
            why = "OPENAI_MODEL is not set" if key else "no model is configured"
            complain(f"{why}: simulated by the program's stand-ins (--model names a real one)")
    return options


def _tuned(chosen: dict[str, Any]) -> dict[str, Any]:
    """The options that a tuned file chose and nobody else did."""
    import click
    from click.core import ParameterSource

    context = click.get_current_context(silent=True)
    if chosen["tuned"] is None or context is None:
        return {}
    from gotlang.tune.tuned import read_tuned

    found = read_tuned(chosen["tuned"]).settings
    return {
        name: found[name]
        for name in ("concurrency", "schedule")
        if name in found and context.get_parameter_source(name) is ParameterSource.DEFAULT
    }


def kept_settings(chosen: dict[str, Any], options: Options) -> dict[str, Any]:
    """What the history keeps to repeat a run: nothing about this call's inputs and output, no secret."""
    left_out = (
        "file",
        "input",
        "inputs",
        "data",
        "row",
        "map",
        "trace",
        "otel",
        "record",
        "resume",
        "json",
        "quiet",
    )
    settings = {name: value for name, value in chosen.items() if name not in left_out}
    settings["set"] = [list(pair) for pair in chosen["set"]]
    settings["model"] = options.model
    # Addresses may hold a password or a key; without it they are of no use, and are given anew.
    for name, marks in (("cache", "@"), ("base_url", "?@")):
        if any(mark in str(settings[name]) for mark in marks):
            settings[name] = None
    return settings
