"""The reference of the Python API is made from docstrings, and these say what a caller needs."""

from __future__ import annotations

import ast
import inspect
import re
import runpy
import textwrap
from collections.abc import Callable
from typing import Any

import click
import pytest
from msgspec import structs
from support.gotc import ROOT

import gotlang
from gotlang.cli.group import gotc as group

SCRIPT = runpy.run_path(str(ROOT / "docs" / "site" / "api.py"))


def callables() -> dict[str, Callable[..., Any]]:
    """Every public function, method and property that is not another one's twin."""
    found: dict[str, Callable[..., Any]] = {}
    for name in gotlang.__all__:
        item = getattr(gotlang, name)
        if isinstance(item, type):
            for member, value in SCRIPT["public_members"](item).items():
                found[f"{name}.{member}"] = SCRIPT["function_of"](value)
        elif callable(item):
            found[name] = item
    return found


CALLABLES = callables()


def test_the_page_is_that_of_the_docstrings() -> None:
    assert SCRIPT["page"]() == SCRIPT["PAGE"].read_text("utf-8"), "run: python docs/site/api.py"


def test_its_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (code, *_) = re.findall(r"^```python\n(.*?)^```", SCRIPT["PAGE"].read_text("utf-8"), re.M | re.S)
    exec(code, {})
    assert capsys.readouterr().out == "42\n"


def test_every_public_name_is_on_the_page() -> None:
    verbs = {twin for verb in SCRIPT["VERBS"] for twin in (verb, f"a{verb}")}
    shown = {name for names in SCRIPT["SECTIONS"].values() for name in names}
    assert shown | verbs | {"__version__"} == set(gotlang.__all__)


@pytest.mark.parametrize("name", CALLABLES)
def test_a_docstring_is_whole(name: str) -> None:
    function = CALLABLES[name]
    text = inspect.cleandoc(function.__doc__ or "")
    assert re.match(r"[A-Z`]", text), "it starts with a capital letter"
    assert text.endswith((".", ":", "```")), "it ends with a full stop"
    # What has a default, and so can be left out, is told: here, by its class, or by a function that it names.
    others = [*named(name, text), *named(f"Program.{name}", text)]
    told = text + "".join(CALLABLES[other].__doc__ or "" for other in others)
    told += getattr(gotlang, name.partition(".")[0] if "." in name else "Program").__doc__ or ""
    silent = [
        one.name
        for one in inspect.signature(function).parameters.values()
        if one.default is not one.empty and not re.search(rf"\b{one.name}\b", told)
    ]
    assert silent == []
    assert [error for error in raised(function) if error not in told] == [], "errors that it raises itself"


def named(name: str, text: str) -> list[str]:
    """The other callables that a docstring names in backticks, and those that these name."""
    owner = name.partition(".")[0]
    found: list[str] = []
    waiting = [text]
    while waiting:
        for word in re.findall(r"`(\w+)`", waiting.pop()):
            other = next((n for n in (f"{owner}.{word}", f"Program.{word}") if n in CALLABLES), None)
            if other is not None and other not in found:
                found.append(other)
                waiting.append(CALLABLES[other].__doc__ or "")
    return found


def raised(function: Callable[..., Any]) -> set[str]:
    """The names of the public errors that a function raises in its own body."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(function))))
    nodes = [node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise)]
    calls = [node.func for node in nodes if isinstance(node, ast.Call)]
    return {call.id for call in calls if isinstance(call, ast.Name) and call.id in gotlang.__all__}


def test_every_option_is_told_or_is_one_of_the_command() -> None:
    command = group.get_command(click.Context(group), "run")
    assert command is not None
    options = {word.removeprefix("--") for one in command.params for word in (*one.opts, *one.secondary_opts)}
    text = gotlang.Options.__doc__ or ""
    fields = [one.name for one in structs.fields(gotlang.Options)]
    untold = [
        name
        for name in fields
        if f"`{name}`" not in text and not {name.replace("_", "-"), f"no-{name}"} & options
    ]
    assert untold == []


def test_the_page_says_the_units_of_numbers_with_one() -> None:
    text = gotlang.Options.__doc__ or ""
    for name, unit in {"max_usd": "US dollars", "timeout": "seconds", "rpm": "per minute"}.items():
        assert re.search(rf"`{name}`[^.]*{unit}", text), (name, unit)
