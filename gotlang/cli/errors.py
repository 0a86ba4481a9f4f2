"""Error reports of `gotc`: one message with what to do about it, and no traceback for a user's error.

`GOTC_TRACEBACK=1` in the environment shows the traceback as well.
"""

from __future__ import annotations

import os
import platform
import sys
import traceback

import click

from gotlang.cli.output import Style, complain
from gotlang.diagnostics import excerpt, render
from gotlang.errors import CompileError, GotError, RunError
from gotlang.version import __version__

BUG = 70
"""The exit code of an internal error, as in sysexits.h."""
INTERRUPTED = 130


def usage(error: click.ClickException) -> int:
    """A command line that click refuses."""
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        complain(error.format_message())
        return error.exit_code
    words = error.format_message().replace("is not a valid integer range", "is not a whole number")
    words = words.replace("is not a valid integer", "is not a whole number")
    see = None
    if context is not None:
        see = f"`{context.command_path} --help` shows the options"
        if any(parameter.name == "input" for parameter in context.command.params) and "argument" in words:
            see += "; inputs are given as `--input NAME=VALUE`"
    first, _, rest = words.rstrip(".").partition(" ")  # click starts its messages with a capital, we do not
    message(f"{first.lower()} {rest}" if first.isalpha() and first.istitle() else words.rstrip("."), see)
    return error.exit_code


def known(error: GotError) -> int:
    """An error that the user can do something about."""
    _trace(error)
    color = Style.of(sys.stderr).color
    if isinstance(error, CompileError):
        for diagnostic in error.diagnostics:
            complain(render(diagnostic, error.sources, color=color) + "\n")
        complain(f"{error.message} in the program")
    elif isinstance(error, RunError) and error.span is not None:
        message(error.message, error.help, excerpt(error.span, error.sources, color=color))
    else:
        message(error.message, error.help)
    return error.exit_code


def message(words: str, help: str | None = None, place: str = "") -> None:
    """An error message, with the lines that show its place, and with what to do about it."""
    style = Style.of(sys.stderr)
    complain(f"{style.red('error')}{style.bold(': ' + words)}")
    if place:
        complain(place)
    if help:
        complain(f"  {style.blue('=')} help: {help}")


def interrupted(help: str = "") -> int:
    """The user pressed Ctrl-C; `help` says how to continue."""
    complain("interrupted" + help)
    return INTERRUPTED


def bug(error: Exception) -> int:
    """An internal error."""
    _trace(error)
    place = traceback.extract_tb(error.__traceback__)[-1]
    words = " ".join(str(error).split())
    complain(f"{Style.of(sys.stderr).red('bug')} in gotc: {type(error).__name__}: {words[:200]}")
    complain(f"  at {os.path.basename(place.filename)}:{place.lineno} in {place.name}")
    complain(f"  gotc {__version__}, Python {platform.python_version()}, {platform.system()}")
    if not os.environ.get("GOTC_TRACEBACK"):
        complain("  GOTC_TRACEBACK=1 shows the traceback; please report it with the program")
    return BUG


def _trace(error: Exception) -> None:
    if os.environ.get("GOTC_TRACEBACK"):
        traceback.print_exception(error)
