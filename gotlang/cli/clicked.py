"""Value types for click, for options that a function parses (`options.Parsed`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    ParamType = click.ParamType[Any]
else:  # generic for type checkers only, in the oldest click that is supported
    ParamType = click.ParamType


class Value(ParamType):
    """A value that a function parses from its text; its ValueError is reported as `wrong`."""

    name = "value"

    def __init__(self, metavar: str, read: Callable[[str], Any], wrong: str) -> None:
        self.metavar = metavar
        self._read = read
        self._wrong = wrong

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """The metavar in the help."""
        return self.metavar

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The value; one that is not a text may come from a configuration file."""
        if isinstance(value, tuple | slice):
            return value
        try:
            return self._read(str(value))
        except ValueError:
            self.fail(f"`{value}` {self._wrong}", param, ctx)


class LineSeparated(Value):
    """Such values, of which several in an environment variable are on separate lines."""

    envvar_list_splitter = "\n"
