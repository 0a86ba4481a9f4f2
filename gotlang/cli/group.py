"""The commands of `gotc` for click: their help, and the defaults of their options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import click

from gotlang.cli import output
from gotlang.cli.options import COMMAND, Command
from gotlang.errors import GotError
from gotlang.version import __version__

COMMANDS = {
    "init": "Create a project folder: a program, data, tests, a study.",
    "trust": "Trust a folder: its Python, and settings that point outside it.",
    "check": "Check programs: reports all errors at once.",
    "fmt": "Format programs.",
    "run": "Run a scheme of a program.",
    "eval": "Run a scheme on a data set: quality, cost, failures, thresholds.",
    "compare": "Compare schemes on the same rows: quality and cost.",
    "test": "Run the tests and laws that programs declare.",
    "tune": "Find better params and prompts under a cost constraint.",
    "prompts": "Show the prompts that a model would receive, without calling one.",
    "explain": "Estimate the cost of a program; explain an error code.",
    "ir": "Print the intermediate representation of a program.",
    "lsp": "Run the language server for editors, over stdin and stdout.",
    "models": "Show which models are configured, reachable and priced.",
    "graph": "Draw a plan or a run: HTML, SVG, Mermaid, DOT.",
    "runs": "List the runs in this folder.",
    "studio": "Browse runs, rows and studies on a local web page.",
    "show": "Show a run: its cost, each thought with its prompt and response.",
    "cache": "Inspect, prune, export and import the cache.",
    "budget": "Show, change and remove the budgets that runs share.",
    "docs": "Show the documentation of this version, and search it.",
    "completion": "Print the completion script of a shell.",
}
"""The commands with their help."""

_SHARED_MODULES = {
    "fmt": "check",
    "eval": "evaluation",
    "compare": "evaluation",
    "prompts": "explain",
    "ir": "explain",
    "lsp": "servers",
    "studio": "servers",
}
"""The module of each command that does not have the command's name; the function in it is `NAME_command`."""

EPILOG = """Each option can be set by an environment variable, such as GOTC_RUN_MAX_USD for `gotc run
--max-usd`, and in gotc.toml, or under [tool.gotc] in pyproject.toml, of the current folder. Flags take
precedence over the environment, and the environment over files.

\b
Exit codes:
""" + "\n".join(f"{code:>3} {meaning}" for code, meaning in output.EXIT_CODES.items())


class LazyGroup(click.Group):
    """A group whose commands are imported when they run: `gotc --help` reads a table and imports none."""

    def __init__(self, *arguments: Any, table: Mapping[str, str], **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order of the table."""
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command. None for an unknown name."""
        if cmd_name not in self.table:
            return None
        module = import_module(f"gotlang.cli.{_SHARED_MODULES.get(cmd_name, cmd_name)}")
        found: click.Command | Command = getattr(module, f"{cmd_name}_command")
        found = click_command(found) if isinstance(found, Command) else found
        COMMAND.set(cmd_name)
        _add_isolation(found)
        return found

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. If it prints JSON, an error is a document on stdout, and a message on stderr."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            if not error.args:
                raise
            return output.interrupted(str(error))
        except GotError as error:
            if output.JSON in ctx.meta:
                output.document(output.error_document(error))
            raise

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the arguments start with. Raises click's UsageError, with the nearest name."""
        if args and args[0] not in self.table and not args[0].startswith("-"):
            from gotlang.diagnostics import suggestion

            hint = suggestion(args[0], self.table) or f"there are {', '.join(self.table)}"
            ctx.fail(f"there is no command `{args[0]}`; {hint}")
        from gotlang.config import ISOLATED

        # For a command in a group, it runs after the group has its defaults.
        ISOLATED.set("--isolated" in args)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands with their help."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self.table.items()))


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
def gotc() -> None:
    """Compile, run and optimize .got programs: reasoning schemes for language models."""


def _add_isolation(command: click.Command) -> None:
    """Give a command, and those of a group, the option `--isolated`."""
    from gotlang.cli.config import isolation

    for one in (command, *(command.commands.values() if isinstance(command, click.Group) else ())):
        if all(parameter.name != "isolated" for parameter in one.params):
            one.params.append(isolation(COMMANDS))


def click_command(command: Command) -> click.Command:
    """One of our commands as a click command."""

    @click.pass_context
    def run(context: click.Context, /, **chosen: Any) -> int:
        return command.function(context, chosen)

    run.__doc__ = command.function.__doc__
    argument = click.argument(command.argument, required=False)
    made: click.Command = click.command(command.name)(argument(command.options(run)))
    return made


def run(arguments: Sequence[str]) -> int:
    """Run a command line; returns the exit code, also of one that click refuses. Raises the command's
    errors."""
    try:
        code = gotc.main(list(arguments), prog_name="gotc", standalone_mode=False, obj=tuple(arguments))
    except click.ClickException as error:
        return output.usage(error)
    except click.Abort:
        return output.interrupted()
    return code if isinstance(code, int) else 0
