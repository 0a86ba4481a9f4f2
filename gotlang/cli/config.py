"""Defaults of options from `gotc.toml` or `pyproject.toml`, see `gotlang.config`.

An unknown name is an error: a misspelt limit would not be enforced.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from gotlang.config import SHARED, read_config
from gotlang.diagnostics import nearest
from gotlang.errors import UsageError


def defaults(command: click.Command, commands: Iterable[str]) -> dict[str, Any]:
    """The configured defaults of a command by parameter. Raises UsageError for an invalid file."""
    found = read_config()
    if found is None:
        return {}
    path, table = found
    tables = {name: value for name, value in table.items() if isinstance(value, dict)}
    for name in tables:
        if name not in commands:
            raise _unknown(path, "command", name, commands)
    own: dict[str, Any] = {}
    known = _options(command)
    for name, value in table.items():
        written = name.replace("_", "-")
        if name not in tables and written not in SHARED:
            raise _unknown(path, "option for all commands", name, SHARED)
        if name not in tables and written in known:
            own[known[written]] = value
    return own | _read(path, command, tables.get(str(command.name), {}))


def _read(path: Path, command: click.Command, table: dict[str, Any]) -> dict[str, Any]:
    """The content of a command's own table; commands of a group have tables in it."""
    known = _options(command)
    inner = command.commands if isinstance(command, click.Group) else {}
    out: dict[str, Any] = {}
    for name, value in table.items():
        if name in inner and isinstance(value, dict):
            out[name] = _read(path, inner[name], value)
            continue
        written = name.replace("_", "-")
        if written not in known:
            raise _unknown(path, f"option of `{command.name}`", name, [*known, *inner])
        out[known[written]] = value
    return out


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
    near = nearest(name.replace("_", "-"), known)
    hint = f"did you mean `{near}`?" if near else f"there are {', '.join(known)}"
    return UsageError(f"{path}: no {what} is called `{name}`", help=hint)
