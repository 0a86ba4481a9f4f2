"""Defaults of options from configuration files, see `gotlang.config`; and `--isolated`.

An unknown name is an error: a misspelt limit would not be enforced.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn

import click

from gotlang.config import ISOLATED, SHARED, ConfigFile, config_files, merged
from gotlang.diagnostics import suggestion
from gotlang.errors import NotTrusted, UsageError

_ELSEWHERE = ("base-url", "isolated")
"""Options that are not read here: `configured_url` knows which file an address comes from."""


def isolation(commands: Iterable[str]) -> click.Option:
    """The option `--isolated` of every command. It is processed before all others, whose defaults from
    configuration files depend on it."""

    def read(context: click.Context, _: click.Parameter | None, value: bool) -> None:
        chain = [context]
        while chain[0].parent is not None and chain[0].parent.parent is not None:
            chain.insert(0, chain[0].parent)
        value |= context.params.get("sandbox", False)
        ISOLATED.set(value or ISOLATED.get())
        found = defaults(chain[0].command, commands)
        for inner in chain[1:]:
            found = found.get(str(inner.info_name), {})
        context.default_map = found

    return click.Option(
        ["--isolated"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        envvar="GOTC_ISOLATED",
        callback=read,
        help="Ignore gotc.toml and pyproject.toml.",
    )


def defaults(command: click.Command, commands: Iterable[str]) -> dict[str, Any]:
    """The configured defaults of a command by parameter; commands of a group have tables in it. Raises
    UsageError for an invalid file. A value that is not trusted raises NotTrusted where it is used."""
    found: dict[str, Any] = {}
    for file in config_files():
        tables = {name: value for name, value in file.table.items() if isinstance(value, dict)}
        for name in tables:
            if name not in commands:
                raise _unknown(file.path, "command", name, commands)
        shared = {name: value for name, value in file.table.items() if name not in tables}
        for name in shared:
            if name.replace("_", "-") not in SHARED:
                raise _unknown(file.path, "option for all commands", name, SHARED)
        known = _options(command)
        shared = {name: value for name, value in shared.items() if name.replace("_", "-") in known}
        _add(found, file, command, {**shared, **tables.get(str(command.name), {})})
    return found


def configured_in(context: click.Context, parameter: str) -> str:
    """The configuration file that a parameter of a command has its value from."""
    names = {name for name, known in _options(context.command).items() if known == parameter}
    found = ""
    for file in config_files():
        table = file.table
        for inner in (*context.command_path.split()[1:], ""):
            if any(name.replace("_", "-") in names for name in table):
                found = str(file.path)
            table = table.get(inner, {})
    return found


def _add(found: dict[str, Any], file: ConfigFile, command: click.Command, table: dict[str, Any]) -> None:
    """Add the settings of a command's table."""
    known = _options(command)
    inner = command.commands if isinstance(command, click.Group) else {}
    for name, value in table.items():
        written = name.replace("_", "-")
        if name in inner and isinstance(value, dict):
            _add(found.setdefault(name, {}), file, inner[name], value)
        elif written not in known:
            raise _unknown(file.path, f"option of `{command.name}`", name, [*known, *inner])
        elif written not in _ELSEWHERE:
            parameter = known[written]
            if not fits(value, next(p for p in command.params if p.name == parameter)):
                help = f"`gotc {command.name} --help` shows the option"
                raise UsageError(f"{file.path}: `{name}` cannot have such a value", help=help)
            value = merged(
                parameter.replace("_", "-"), found.get(parameter), _permitted(file, written, value)
            )
            found[parameter] = value


def fits(value: Any, parameter: click.Parameter) -> bool:
    """Whether click can convert a value from a file: a list for options that may be repeated."""
    if isinstance(parameter, click.Option) and parameter.is_flag:
        return isinstance(value, bool | str)
    values = value if parameter.multiple and isinstance(value, list) else [value]
    # A float would be truncated, and an infinite one is not a number of anything.
    kinds = (str, int) if isinstance(parameter.type, click.types.IntParamType) else (str, int, float)
    return all(isinstance(one, kinds) and not isinstance(one, bool) for one in values)


def _permitted(file: ConfigFile, name: str, value: Any) -> Any:
    """The value of an option, or an object that raises when it is used: the command line may override it."""
    try:
        return file.permitted(name, value)
    except NotTrusted as error:
        found = error

    def refuse() -> NoReturn:
        raise found

    return refuse


def _options(command: click.Command) -> dict[str, str]:
    """The parameters of a command by the long names of their options."""
    return {
        written.removeprefix("--"): str(parameter.name)
        for parameter in command.params
        if isinstance(parameter, click.Option)
        for written in (*parameter.opts, *parameter.secondary_opts)
        if written.startswith("--")
    }


def _unknown(path: Path, what: str, name: str, known: Iterable[str]) -> UsageError:
    hint = suggestion(name.replace("_", "-"), known) or f"there are {', '.join(known)}"
    return UsageError(f"{path}: no {what} is called `{name}`", help=hint)
