"""`gotc run --resume RUN`: a run of the history once more, with its inputs and settings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from gotlang.cli.output import complain
from gotlang.cli.settings import kept_settings, options_for
from gotlang.errors import UsageError
from gotlang.report.history import History

if TYPE_CHECKING:
    from gotlang.cli.running import Order

_INPUTS = ("file", "input", "inputs", "data", "row", "map")


def resumed(context: click.Context, chosen: dict[str, Any]) -> Order:
    """The order of a run in the history. Options on this command line replace those it had.

    Raises UsageError where there is no such run, its program is gone, or inputs are given beside it.
    """
    from gotlang.api import Options
    from gotlang.cli.programs import program
    from gotlang.cli.running import Order, digest
    from gotlang.cli.values import Given, given_params
    from gotlang.runtime.run import check_inputs

    def here(name: str) -> bool:
        return context.get_parameter_source(name) is ParameterSource.COMMANDLINE

    for name in _INPUTS:
        if here(name) and chosen[name] is not None:
            raise UsageError("--resume takes its program and inputs from the run", help="leave them out")
    record = History().find(chosen["resume"])
    settings = dict(chosen)
    for name, value in record.settings.items():
        if name in settings and not here(name) and value is not None:
            settings[name] = value
    settings["set"] = [tuple(pair) for pair in settings["set"]]
    if not Path(record.path).is_file():
        raise UsageError(f"the program of run {record.run} is gone: there is no file {record.path}")
    loaded = program(_near(record.path), settings["tuned"])
    if digest(loaded.compilation.source) != record.sha256:
        complain("the program changed since that run: answers to prompts that changed are asked for anew")
    scheme = loaded.scheme(settings["scheme"] or record.scheme)
    check_inputs(scheme, record.inputs)
    options: Options = options_for(
        loaded, settings, given_params(loaded.ir(0).params, tuple(settings["set"]))
    )
    return Order(
        loaded,
        scheme.name,
        Given(record.inputs, record.truth),
        options,
        settings=kept_settings(settings, options),
        trace=chosen["trace"],
        otel=chosen["otel"],
        quiet=chosen["quiet"],
        resumed=record.run,
    )


def _near(path: str) -> str:
    """A path as seen from here, where it lies in this folder."""
    absolute, here = Path(path), Path.cwd()
    return str(absolute.relative_to(here)) if absolute.is_relative_to(here) else path
