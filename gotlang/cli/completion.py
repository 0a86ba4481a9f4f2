"""`gotc completion`: the completion script of a shell for commands, options and files."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from gotlang.cli.output import say

SHELLS = {
    "bash": '~/.bashrc:  eval "$(gotc completion bash)"',
    "zsh": '~/.zshrc:   eval "$(gotc completion zsh)"',
    "fish": "~/.config/fish/config.fish:  gotc completion fish | source",
}
"""Each shell with the line that turns completion on, and the file that contains it."""


@click.command("completion", epilog="\b\n" + "\n".join(SHELLS.values()))
@click.argument("shell", type=click.Choice(tuple(SHELLS)))
def completion_command(shell: str) -> int:
    """Print the completion script of SHELL: the names of commands, options and their values. To turn it on,
    add a line to the shell's configuration:
    """
    found = get_completion_class(shell)
    assert found is not None  # click supports these three
    root = click.get_current_context().find_root()
    say(found(root.command, {}, "gotc", "_GOTC_COMPLETE").source(), exact=True)
    return 0
