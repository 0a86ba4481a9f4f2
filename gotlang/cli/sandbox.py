"""`gotc run --sandbox`: its options, and the restriction of the process."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from msgspec import structs

from gotlang.cli import options as opt
from gotlang.cli import output
from gotlang.cli.options import pairs
from gotlang.errors import GotError, UsageError

if TYPE_CHECKING:
    import click

_REFUSED = {
    "resume": "the history is a file of this folder",
    "otel": "a collector is another address",
}
"""Options that reach beyond the sandbox, each with the reason."""
_WRITTEN = ("record", "trace", "cache")

sandbox_options = opt.together(
    opt.option(
        "--sandbox",
        is_flag=True,
        is_eager=True,
        help="For untrusted programs: no Python, no project configuration, no other address; limits.",
    ),
    opt.pair(
        "--sandbox-limit",
        "NAME=N",
        "A limit of --sandbox: `cpu` and `time` in seconds, `memory` and `output` in MB. "
        "[default: cpu=60, time=600, memory=1000, output=1]",
    ),
)


def enter(context: click.Context, chosen: dict[str, Any]) -> None:
    """Restrict this process, and set the options that the sandbox implies. Raises UsageError."""
    from click.core import ParameterSource

    from gotlang.api import default_model
    from gotlang.sandbox import SandboxLimits, hosts_of, restrict

    for name, reason in _REFUSED.items():
        if chosen[name] is not None:
            raise UsageError(f"--{name} does not go with --sandbox: {reason}")
    if context.get_parameter_source("cache") is not ParameterSource.COMMANDLINE:
        chosen["no_cache"] = True
    if "://" in str(chosen["cache"]) and not chosen["no_cache"]:
        raise UsageError("a sandbox has no cache on a server", help="give a file, or no --cache")
    chosen["no_python"] = True
    known = {field.name for field in structs.fields(SandboxLimits)}
    limits = {}
    for name, text in pairs(chosen["sandbox_limit"], "--sandbox-limit").items():
        if name not in known or not text.strip().isdecimal():
            names = ", ".join(sorted(known))
            raise UsageError(f"--sandbox-limit {name}={text}: expected a whole number for one of {names}")
        limits[name] = int(text)
    files = [Path(chosen[name]) for name in _WRITTEN if chosen[name] is not None]
    results = sys.stdout
    restrict(
        SandboxLimits(**limits),
        hosts=hosts_of(chosen["model"] or default_model(), opt.base_url(chosen)),
        writable=files[: None if not chosen["no_cache"] else -1],
        tell=lambda words: _tell(context, words, results),
    )


def _tell(context: click.Context, words: str, results: TextIO) -> None:
    """Report that a limit was exceeded, on both streams like every error. During a run `sys.stdout` is not
    that of results."""
    error = GotError(f"a limit of the sandbox ended it: {words}")
    error.exit_code = output.LIMITED
    with suppress(OSError):
        output.message(error.message)
        if output.JSON in context.meta:
            with redirect_stdout(results):
                output.document(output.error_document(error))
