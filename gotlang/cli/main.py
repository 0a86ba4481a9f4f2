"""The entry point: which commands there are, where their defaults come from, and what becomes of an error."""

from __future__ import annotations

import codecs
import errno
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from gotlang.cli.lazy import LazyGroup
from gotlang.cli.output import plainer
from gotlang.errors import GotError
from gotlang.version import __version__

COMMANDS = {
    "init": ("gotlang.cli.init", "Write a small program to start from."),
    "check": ("gotlang.cli.check", "Check programs: every mistake at once."),
    "fmt": ("gotlang.cli.fmt", "Bring programs into the one canonical form."),
    "run": ("gotlang.cli.run", "Run a scheme of a program."),
    "eval": ("gotlang.cli.eval", "Run a scheme on a data set: quality, cost, failures, thresholds."),
    "compare": ("gotlang.cli.compare", "Compare schemes on the same rows: quality beside cost."),
    "tune": ("gotlang.cli.tune", "Find better params and prompts under a cost constraint."),
    "prompts": ("gotlang.cli.prompts", "Show every prompt as a model would get it, asking none."),
    "explain": ("gotlang.cli.explain", "Tell what a program will cost; explain an error code."),
    "ir": ("gotlang.cli.ir", "Print the intermediate form of a program."),
    "models": ("gotlang.cli.models", "Show which models are configured, reachable and priced."),
    "graph": ("gotlang.cli.graph", "Draw a plan or a run: HTML, SVG, Mermaid, DOT."),
    "runs": ("gotlang.cli.runs", "List the runs in this folder."),
    "show": ("gotlang.cli.show", "Show a run: what it cost, each thought with its prompt and answer."),
    "cache": ("gotlang.cli.cache", "Look at the cache, prune it, pass it on."),
}

EPILOG = """Each option can be set by an environment variable, such as GOTC_RUN_MAX_USD for `gotc run
--max-usd`, and in gotc.toml, or under [tool.gotc] in pyproject.toml, of the current folder. Flags beat the
environment, and that beats the files.

\b
Exit codes: 0 done, 1 failed, 2 wrong usage or a program that does not compile,
3 stopped at a limit with a partial result, 4 below a threshold you set, 130 interrupted."""


_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""What may befall a file that our output is sent to."""


@click.group(
    cls=LazyGroup,
    table=COMMANDS,
    epilog=EPILOG,
    context_settings={
        "auto_envvar_prefix": "GOTC",
        "show_default": True,
        "help_option_names": ["-h", "--help"],
        "max_content_width": 110,
    },
)
@click.version_option(__version__, prog_name="gotc", message="%(prog)s %(version)s")
@click.pass_context
def gotc(context: click.Context) -> None:
    """Compile, run and optimize .got programs: reasoning schemes for language models."""
    from gotlang.cli.config import defaults

    if context.invoked_subcommand is not None:
        command = gotc.get_command(context, context.invoked_subcommand)
        assert command is not None
        context.default_map = {context.invoked_subcommand: defaults(command, COMMANDS)}


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run `gotc` with these arguments (default: the process's) and end the process with its exit code."""
    sys.exit(exit_code(sys.argv[1:] if arguments is None else list(arguments)))


def exit_code(arguments: Sequence[str]) -> int:
    """Run `gotc` and report what goes wrong on stderr; the exit code."""
    from gotlang.cli import failing

    # What a model writes may hold half characters, which no terminal takes. Our own words can do without
    # marks that a terminal lacks; a result may not be changed.
    codecs.register_error("plainer", plainer)
    _open_streams()
    for stream, errors in ((sys.stdout, "backslashreplace"), (sys.stderr, "plainer")):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=errors)
    try:
        code = gotc.main(list(arguments), prog_name="gotc", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except click.ClickException as error:
        return failing.usage(error)
    except (click.Abort, KeyboardInterrupt):
        return failing.interrupted()
    except GotError as error:
        return failing.known(error)
    except BrokenPipeError:
        _write_no_more()
        return 1
    except OSError as error:
        if error.errno not in _NO_ROOM or error.filename is not None:
            return failing.bug(error)
        _write_no_more()
        failing.message(f"the output cannot be written: {error.strerror}")
        return 1
    except Exception as error:
        return failing.bug(error)


def _open_streams() -> None:
    """Where standard output or standard error was closed before we started, what is written goes nowhere."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def _write_no_more() -> None:
    """Whoever read our output has enough of it, as `head` does, or its disk is full."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
