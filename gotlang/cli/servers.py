"""`gotc lsp` serves an editor, `gotc studio` a browser on this machine."""

from __future__ import annotations

import os
import signal
import sys
import webbrowser
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import click

from gotlang.cli import options as opt
from gotlang.cli.output import complain, say
from gotlang.errors import UsageError
from gotlang.packages import pip_install


@click.command("lsp")
@click.option("--stdio", is_flag=True, help="The only transport; accepted because many editors pass it.")
def lsp_command(stdio: bool) -> int:
    """Serve an editor over stdin and stdout: diagnostics while typing, completion, hover, definitions,
    references, rename, formatting and more. An editor starts it; docs/editors.md shows how.

    It runs no Python of a program. It ends when the editor sends `exit` or closes stdin. The exit code is 1
    if `exit` comes without `shutdown`.
    """
    if find_spec("pygls") is None:
        raise UsageError("the language server needs pygls", help=pip_install("lsp"))
    from gotlang.lsp.server import server

    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a thread of it reads stdin, and would not end

    # It closes its output at the end, but the process's own is flushed after that.
    serving = server()
    serving.start_io(stdout=os.fdopen(os.dup(sys.stdout.fileno()), "wb"))
    return int(serving.protocol.abrupt)


@click.command("studio")
@click.argument("folder", default=".")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="The port; 0: a free one."
)
@opt.flag("--no-browser", "Print the address, and open no browser.")
def studio_command(folder: str, port: int, no_browser: bool) -> int:
    """Browse the runs, rows and studies of FOLDER in a web browser, also while they run.

    It listens only on this machine, and requires the printed address with its token. Runs that are started
    from a page follow the rules of `gotc run`: keys, trust, limits. Ctrl-C ends it.
    """
    try:
        from gotlang.studio.site import Studio, StudioServer
    except ImportError:
        raise UsageError("the studio is not installed", help=pip_install("studio")) from None
    path = Path(folder).resolve()
    if not path.is_dir():
        raise UsageError(f"there is no folder {folder}")
    os.chdir(path)  # the folder's settings apply to the studio
    server = StudioServer(Studio(path), port)
    say(server.address)
    sys.stdout.flush()
    complain("Ctrl-C ends it")
    if not no_browser:
        webbrowser.open(server.address)
    with suppress(KeyboardInterrupt):
        server.run()
    return 0
