"""`gotc lsp`: the language server, which an editor starts."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec

import click

from gotlang.errors import UsageError
from gotlang.packages import pip_install


@click.command("lsp")
@click.option("--stdio", is_flag=True, help="Accepted because many editors pass it; there is no other way.")
def lsp_command(stdio: bool) -> int:
    """Serve an editor over stdin and stdout: diagnostics while typing, completion, hover, definitions,
    references, rename, formatting and more. An editor starts it; docs/editors.md shows how.

    It runs no Python of a program. It ends when the editor says so, or closes stdin. The exit code is 1 if
    the editor says `exit` without `shutdown`.
    """
    if find_spec("pygls") is None:
        raise UsageError("the language server needs pygls", help=pip_install("lsp"))
    from gotlang.lsp.server import server

    # It closes its output at the end; the process's own is flushed after that.
    serving = server()
    serving.start_io(stdout=os.fdopen(os.dup(sys.stdout.fileno()), "wb"))
    return int(serving.protocol.abrupt)
