"""A group whose commands are imported when they run: `gotc --help` reads a table and imports none of them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click


class LazyGroup(click.Group):
    """`table` gives for each command's name its module, which holds it as `command`, and its line of help."""

    def __init__(self, *arguments: Any, table: Mapping[str, tuple[str, str]], **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order of the table."""
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command. None where there is none of that name."""
        if cmd_name not in self.table:
            return None
        found: click.Command = import_module(self.table[cmd_name][0]).command
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the arguments start with. Raises click's UsageError, with the nearest name."""
        if args and args[0] not in self.table and not args[0].startswith("-"):
            from gotlang.diagnostics import nearest

            near = nearest(args[0], self.table)
            hint = f"; did you mean `{near}`?" if near else f"; there are {', '.join(self.table)}"
            ctx.fail(f"there is no command `{args[0]}`{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands with their lines of help."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in self.table.items()])
