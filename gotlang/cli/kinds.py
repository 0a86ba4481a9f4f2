"""Kinds of values that options take."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    ParamType = click.ParamType[Any]
else:  # generic for type checkers only, in the oldest click that we take
    ParamType = click.ParamType


class Pair(ParamType):
    """`NAME=VALUE`. Several of them in an environment variable stand on lines of their own."""

    name = "pair"
    envvar_list_splitter = "\n"

    def __init__(self, metavar: str) -> None:
        self.metavar = metavar

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """As help shows it."""
        return self.metavar

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        """The name and the value, split at the first `=`."""
        if isinstance(value, tuple):
            return value
        name, equals, text = str(value).partition("=")
        if not equals or not name.strip():
            self.fail(f"`{value}` is not of the form {self.metavar}", param, ctx)
        return name.strip(), text


class Dollars(ParamType):
    """An amount of US dollars: 0 or more, and finite."""

    name = "dollars"

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """As help shows it."""
        return "USD"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """A number; a `$` before it is allowed."""
        try:
            amount = float(str(value).strip().removeprefix("$"))
        except ValueError:
            amount = math.nan
        if not (math.isfinite(amount) and amount >= 0):
            self.fail(f"`{value}` is no amount of US dollars", param, ctx)
        return amount


class Positive(ParamType):
    """A finite number above 0, such as seconds."""

    name = "positive"

    def __init__(self, metavar: str) -> None:
        self.metavar = metavar

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """As help shows it."""
        return self.metavar

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number."""
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not (math.isfinite(number) and number > 0):
            self.fail(f"`{value}` is no number above 0", param, ctx)
        return number


class Limit(ParamType):
    """A whole number of at least 1, or `none` for no limit."""

    name = "limit"

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """As help shows it."""
        return "N|none"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        """The number, or the word `none`."""
        if str(value).strip().lower() == "none":
            return "none"
        try:
            number = int(str(value))
        except ValueError:
            number = 0
        if number < 1:
            self.fail(f"`{value}` is neither a whole number of at least 1 nor `none`", param, ctx)
        return number


class Share(ParamType):
    """A share from 0 to 1, also written in percent: `0.2`, `20%`."""

    name = "share"

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """As help shows it."""
        return "SHARE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The share as a number."""
        text = str(value).strip()
        try:
            share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            share = math.nan
        if not 0 <= share <= 1:
            self.fail(f"`{value}` is no share from 0 to 1, such as 0.2 or 20%", param, ctx)
        return share
