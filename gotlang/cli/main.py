"""The entry point: runs one command line and reports its errors."""

from __future__ import annotations

import codecs
import errno
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from gotlang.cli import output
from gotlang.errors import GotError

_FULL_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Errors of the file that the output is redirected to."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run `gotc` with these arguments (default: the process's) and end the process with its exit code."""
    sys.exit(exit_code(sys.argv[1:] if arguments is None else list(arguments)))


def exit_code(arguments: Sequence[str]) -> int:
    """Run `gotc` and report errors on stderr; the exit code."""
    # The output of a model may contain lone surrogates, which no terminal accepts. Our own marks can be
    # replaced where a terminal lacks them; a result must not be changed.
    codecs.register_error("ascii_fallback", output.ascii_fallback)
    _open_streams()
    for stream, handler in ((sys.stdout, "backslashreplace"), (sys.stderr, "ascii_fallback")):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=handler)
    try:
        code = _run(arguments)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt as error:
        return output.interrupted(str(error))
    except GotError as error:
        return output.known(error)
    except BrokenPipeError:
        _discard_output()
        return 1
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            output.message(f"no file can have such a name: {str(error.filename)[:60]}...")
            return output.USAGE
        if error.errno not in _FULL_DISK or error.filename is not None:
            return output.bug(error)
        _discard_output()
        output.message(f"cannot write the output: {error.strerror}")
        return 1
    except MemoryError:
        output.message("out of memory", "`--sandbox-limit memory=MB` sets the limit of a sandbox")
        return output.LIMITED
    except Exception as error:
        return output.bug(error)


def _run(arguments: Sequence[str]) -> int:
    """Run a command. Plain checks and runs do not need click, which takes a considerable part of their time
    to import."""
    name, *rest = arguments or ("",)
    if name == "check" and rest and not any(file.startswith("-") for file in rest):
        if not _configured(name):
            from gotlang.cli.programs import check_files

            return check_files(rest)
    elif name == "run":
        from gotlang.cli.options import COMMAND
        from gotlang.cli.run import run_command

        if (chosen := run_command.plainly(rest)) is not None and not _configured(name):
            COMMAND.set(name)
            return run_command.function(None, chosen)
    from gotlang.cli.group import run

    return run(arguments)


def _configured(command: str) -> bool:
    """Whether an environment variable or a configuration file sets options of a command."""
    if any(name.upper().startswith(f"GOTC_{command.upper()}_") for name in os.environ):
        return True
    from gotlang.config import config_files

    return bool(config_files())


def _open_streams() -> None:
    """Replace a standard stream by the null device if it was closed before the start."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


def _discard_output() -> None:
    """The reader of the output has closed it, as `head` does, or the disk is full."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
