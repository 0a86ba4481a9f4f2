"""Writes docs/api.md, the reference of the Python API, from the docstrings of the public names.

    python docs/site/api.py

`tests/test_api_reference.py` compares the page with the docstrings, and checks these.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from msgspec import NODEFAULT, structs

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "api.md"
SECTIONS = {
    "Load and check": ("load", "compile", "check"),
    "A program": ("Program", "Options", "Session"),
    "Results": ("Result", "Evaluation", "Comparison", "StudyResult", "plot"),
    "Untrusted programs": ("run_in_sandbox", "SandboxLimits"),
    "Dynamic graphs": ("changes_graph", "View", "Place"),
    "Models and caches": ("Model", "Cache"),
    "Errors and warnings": (
        "GotError",
        "UsageError",
        "CompileError",
        "RunError",
        "PartialResult",
        "InvalidResult",
        "SandboxError",
        "GraphError",
        "ForbiddenEdit",
        "SimulatedWarning",
    ),
}
VERBS = ("run", "evaluate", "compare", "test", "tune")
"""Methods of `Program` that are functions of the package too, each with a twin to await."""
HEAD = """\
# The Python API

The public names of the package `gotlang`, from their docstrings. Times are in seconds and money is in
US dollars unless stated otherwise. The package is typed (`py.typed`).

```python
import gotlang

program = gotlang.compile("scheme double(n: int) -> int:\\n    return 2 * n\\n")
print(program.run(n=21).value)
```

"""


def public_members(owner: type) -> dict[str, Any]:
    """The public methods and properties that a class, or a base of this package, defines, by name."""
    found: dict[str, Any] = {}
    for one in reversed(owner.__mro__):
        if one.__module__.startswith("gotlang."):
            found |= {name: value for name, value in vars(one).items() if not name.startswith("_")}
    return {name: value for name, value in found.items() if isinstance(value, property) or callable(value)}


def function_of(member: Any) -> Callable[..., Any]:
    """The function behind a method or property."""
    found: Callable[..., Any] = member.fget if isinstance(member, property) else member
    return getattr(found, "__func__", found)


def signature(name: str, function: Callable[..., Any]) -> str:
    """A call as Python code: one argument per line where a line would be long."""
    given = inspect.signature(function)
    parts, seen = [], ""
    for one in given.parameters.values():
        if one.name in ("self", "cls"):
            continue
        if one.kind is one.KEYWORD_ONLY and seen not in ("*", "**") and "*" not in parts:
            parts.append("*")
        text = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "") + one.name
        seen = text[: text.count("*")]
        if one.annotation is not one.empty:
            text += f": {_type(one.annotation)}"
        if one.default is not one.empty:
            text += f" = {_value(one.default)}"
        parts.append(text)
    result = "" if given.return_annotation is given.empty else f" -> {_type(given.return_annotation)}"
    line = f"{name}({', '.join(parts)}){result}"
    if len(line) > 100:
        inner = "".join(f"    {part},\n" for part in parts)
        line = f"{name}(\n{inner}){result}"
    return line


def _type(annotation: Any) -> str:
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r"\b(?:\w+\.)+(?=[A-Z])", "", text)


def _value(value: Any) -> str:
    if isinstance(value, Path):
        return f"Path({str(value)!r})"
    return "..." if " at 0x" in repr(value) else repr(value)


def words(item: Any) -> str:
    """A docstring as Markdown: pages that it names become links."""
    text = inspect.cleandoc(item.__doc__ or "")
    return re.sub(r"(?<![\w/(])docs/(\w+)\.md", r"[\1.md](\1.md)", text)


def _fields(owner: type) -> Iterator[str]:
    """The fields of a record that callers give, as a table."""
    yield "| field | type | default |\n| --- | --- | --- |\n"
    for one in structs.fields(owner):
        kind = _type(owner.__annotations__[one.name]).replace("|", "\\|")
        default = f"`{_value(one.default)}`" if one.default is not NODEFAULT else ""
        default = "as configured" if one.default_factory is not NODEFAULT else default
        if one.default_factory in (dict, list, tuple, set, frozenset):
            default = "empty"
        yield f"| `{one.name}` | `{kind}` | {default} |\n"
    yield "\n"


def _class(name: str, owner: type) -> Iterator[str]:
    yield f"### {name}\n\n"
    if name in ("Options", "SandboxLimits"):
        yield from _fields(owner)
    yield f"{words(owner)}\n\n"
    for member, value in public_members(owner).items():
        if name == "Program" and member.removeprefix("a") in VERBS and member.startswith("a"):
            continue
        twin = f" `a{member}` is the same to await." if name == "Program" and member in VERBS else ""
        if isinstance(value, property):
            result = inspect.signature(function_of(value)).return_annotation
            yield f"#### `{name}.{member}`: `{_type(result)}`\n\n"
        else:
            yield f"#### `{name}.{member}()`\n\n```python\n{signature(member, function_of(value))}\n```\n\n"
        yield f"{words(function_of(value))}{twin}\n\n"


def page() -> str:
    """The text of the page."""
    sys.path.insert(0, str(ROOT))
    import gotlang

    parts = [HEAD]
    for section, names in SECTIONS.items():
        parts.append(f"## {section}\n\n")
        if section == "A program":
            verbs = ", ".join(f"`{verb}`" for verb in VERBS)
            parts.append(
                f"{verbs} are functions of the package too: `gotlang.run(program, ...)` takes a program, or "
                "the path of one, first. `arun`, `aevaluate` and so on are the same to await.\n\n"
            )
        for name in names:
            item = getattr(gotlang, name)
            if isinstance(item, type):
                parts += _class(name, item)
            else:
                parts.append(f"### {name}\n\n```python\n{signature(name, item)}\n```\n\n{words(item)}\n\n")
    return "".join(parts).rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
