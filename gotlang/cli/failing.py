"""What `gotc` says when something goes wrong: one message with a way out, no traceback for a user's mistake.

`GOTC_TRACEBACK=1` in the environment shows the traceback all the same.
"""

from __future__ import annotations

import os
import platform
import sys
import traceback

import click

from gotlang.cli.output import Style, complain
from gotlang.errors import CompileError, GotError, RunError
from gotlang.version import __version__

BUG = 70
"""The exit code of a mistake of ours, as sysexits.h has it."""
INTERRUPTED = 130


def usage(error: click.ClickException) -> int:
    """A command line that click refuses."""
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        complain(error.format_message())
        return error.exit_code
    words = error.format_message().replace("is not a valid integer range", "is no whole number")
    words = words.replace("is not a valid integer", "is no whole number")
    see = None
    if context is not None:
        see = f"`{context.command_path} --help` shows what it takes"
        if any(parameter.name == "input" for parameter in context.command.params):
            see += "; inputs are given as `--input NAME=VALUE`"
    message(_lower(words.rstrip(".")), see)
    return error.exit_code


def known(error: GotError) -> int:
    """An error that the user can do something about."""
    _trace(error)
    if isinstance(error, CompileError):
        diagnostics(error)
    elif isinstance(error, RunError):
        message(error.message, error.help, _place(error))
    else:
        message(error.message, error.help)
    return error.exit_code


def _place(error: RunError) -> str:
    """The line of the program that lost a run its result."""
    from gotlang.diagnostics import excerpt

    return excerpt(error.span, error.sources, color=Style.of(sys.stderr).color) if error.span else ""


def diagnostics(error: CompileError) -> None:
    """Every mistake in a program, in its place."""
    from gotlang.diagnostics import render

    for diagnostic in error.diagnostics:
        complain(render(diagnostic, error.sources, color=Style.of(sys.stderr).color))
        complain("")
    complain(f"{error.message} in the program")


def message(words: str, help: str | None = None, place: str = "") -> None:
    """One error in words, with the lines that show its place, and with what to do about it."""
    style = Style.of(sys.stderr)
    complain(f"{style.red('error')}{style.bold(': ' + words)}")
    if place:
        complain(place)
    if help:
        complain(f"  {style.blue('=')} help: {help}")


def interrupted() -> int:
    """The user pressed Ctrl-C where nothing was under way."""
    complain("interrupted")
    return INTERRUPTED


def bug(error: Exception) -> int:
    """A mistake of ours."""
    _trace(error)
    place = traceback.extract_tb(error.__traceback__)[-1]
    words = " ".join(str(error).split())
    complain(f"{Style.of(sys.stderr).red('bug')} in gotc: {type(error).__name__}: {words[:200]}")
    complain(f"  at {os.path.basename(place.filename)}:{place.lineno} in {place.name}")
    complain(f"  gotc {__version__}, Python {platform.python_version()}, {platform.system()}")
    if not os.environ.get("GOTC_TRACEBACK"):
        complain(
            "  GOTC_TRACEBACK=1 in the environment shows the traceback; please report it with the program"
        )
    return BUG


def _trace(error: Exception) -> None:
    if os.environ.get("GOTC_TRACEBACK"):
        traceback.print_exception(error)


def _lower(words: str) -> str:
    """Click starts its messages with a capital, we do not."""
    first, _, rest = words.partition(" ")
    return f"{first.lower()} {rest}" if first.isalpha() and first.istitle() else words
