"""`gotc run`: one run of a scheme, its result on stdout, what it cost on stderr."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from gotlang.cli.failing import INTERRUPTED
from gotlang.cli.options import (
    cache_options,
    input_options,
    limit_options,
    model_options,
    optimizer_options,
    order_options,
    param_options,
    together,
)
from gotlang.cli.output import complain, document, errors_as_document, say
from gotlang.cli.settings import kept_settings, options_for
from gotlang.errors import RunError, UsageError

if TYPE_CHECKING:
    from gotlang.cli.running import Order
    from gotlang.result import Result

_MOST_SHOWN = 4000
"""Characters of a result that a terminal is given; a file or a pipe gets all."""


@click.command("run")
@click.argument("file", required=False)
@click.option(
    "--scheme", metavar="NAME", help="Which scheme. [default: the one named like the file, else the last]"
)
@together(
    input_options,
    param_options,
    model_options,
    limit_options,
    order_options,
    optimizer_options,
    cache_options,
)
@click.option(
    "--trace", metavar="FILE", help="Write what happens as JSON lines, under OpenTelemetry's names."
)
@click.option(
    "--otel",
    metavar="[URL]",
    is_flag=False,
    flag_value="",
    help="Send what happens to an OpenTelemetry collector. "
    "[default: $OTEL_EXPORTER_OTLP_ENDPOINT, else this machine]",
)
@click.option(
    "--record", metavar="FILE", help="Write what was asked and answered, for `--model replay:FILE`."
)
@click.option("--resume", metavar="RUN", help="Repeat a run of `gotc runs` with its inputs and settings.")
@click.option("--json", is_flag=True, help="One JSON document on stdout.")
@click.option("--quiet", is_flag=True, help="No progress and no summary.")
@click.pass_context
def command(context: click.Context, /, **chosen: Any) -> int:
    """Run a scheme of the program FILE.

    The result goes to stdout; progress and what it cost go to stderr. Paid answers are kept in the cache, so
    the same command again pays nothing, and an interrupted run goes on where it was. With --resume, options
    given beside it replace those of the run.
    """
    with errors_as_document(chosen["json"]):
        if chosen["resume"] is not None:
            from gotlang.cli.resume import resumed

            order = resumed(context, chosen)
        else:
            order = ordered(context, chosen)
        return _run(order, json=chosen["json"])


def ordered(context: click.Context, chosen: dict[str, Any]) -> Order:
    """What the parameters ask for. Raises UsageError, CompileError."""
    from gotlang.cli.programs import program
    from gotlang.cli.running import Order
    from gotlang.cli.values import given_inputs, given_params
    from gotlang.runtime.run import check_inputs

    if chosen["file"] is None:
        raise click.UsageError("a FILE is needed, the program to run", context)
    if chosen["file"] == "-":
        raise UsageError("a program to run must be a file", help="`gotc check -` takes standard input")
    loaded = program(chosen["file"], chosen["tuned"])
    scheme = loaded.scheme(chosen["scheme"])
    given = given_inputs(scheme, chosen)
    check_inputs(scheme, given.inputs)
    options = options_for(loaded, chosen, given_params(loaded.ir(0).params, chosen["set"]))
    return Order(
        loaded,
        scheme.name,
        given,
        options,
        settings=kept_settings(chosen, options),
        trace=chosen["trace"],
        otel=chosen["otel"],
        quiet=chosen["quiet"],
    )


def _run(order: Order, *, json: bool) -> int:
    from gotlang.cli.running import RESUME, execute
    from gotlang.cli.summary import failures, shown_value, summary

    sources = order.program.compilation.sources
    try:
        result, seconds = execute(order)
    except RunError as error:
        error.sources = sources
        if not order.quiet:
            failures(error.failures, sources, told=error.message)
        raise
    except KeyboardInterrupt:
        complain(f"interrupted; {RESUME}" if order.options.cache is not None else "interrupted")
        return INTERRUPTED
    if json:
        document(result.to_dict())
    elif result.value is not None:
        say(shown_value(result.value, _MOST_SHOWN if sys.stdout.isatty() else None))
    sys.stdout.flush()
    if not order.quiet:
        summary(result, sources, seconds)
    elif result.partial is not None:
        complain(
            f"partial: {result.partial}" + ("" if result.value is not None else "; there is no result yet")
        )
    return _code(result, order)


def _code(result: Result, order: Order) -> int:
    from gotlang.cli.running import RESUME

    if result.outcome.stopped:
        complain(f"interrupted; {RESUME}" if order.options.cache is not None else "interrupted")
        return INTERRUPTED
    return 3 if result.partial is not None else 0
