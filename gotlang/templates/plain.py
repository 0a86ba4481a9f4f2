"""Templates that only show inputs, `{{ name }}`, like those of most prompts, read and filled without Jinja.

To import it takes twice as long as Python takes to start.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, final

from gotlang.errors import TemplateError
from gotlang.patterns import lazy_pattern
from gotlang.templates.budget import Budget

_SHOWN = lazy_pattern(r"\{\{[ \t\n]*([A-Za-z][A-Za-z0-9_]*)[ \t\n]*\}\}")
_JINJAS: Final = {
    *("and", "caller", "else", "false", "False", "if", "in", "is", "kwargs", "loop", "none", "None", "not"),
    *("or", "range", "self", "super", "true", "True", "varargs"),
}
"""Words that mean something else than an input of that name."""
_MOST = 4000
"""Inputs shown by a template that is read here; Jinja is told when a template is too long."""
FAILURES: Final = (TemplateError, RecursionError, TypeError, ValueError, ArithmeticError)


@final
class Place(int):
    """The line of a token, counted from 1, which Jinja hands on to nodes, and the token's `index`, from 0."""

    index: int


class Shown(NamedTuple):
    """An input that is shown, and its place."""

    name: str
    place: int


@final
class PlainTemplate:
    """Texts and shown inputs; its text, its budget and its errors are those of a SandboxedTemplate."""

    def __init__(self, parts: Sequence[str | Shown]) -> None:
        self._parts = parts

    @property
    def names(self) -> dict[str, int]:
        """The inputs that it shows, each with its first place."""
        found: dict[str, int] = {}
        for part in self._parts:
            if isinstance(part, Shown):
                found.setdefault(part.name, part.place)
        return found

    def render(self, values: Mapping[str, Any]) -> str:
        """The text with the values filled in. Raises TemplateError with the line."""
        rendering = Budget()
        written: list[str] = []
        line = None
        try:
            for part in self._parts:
                if not isinstance(part, str):
                    name, line = part
                    if name not in values:
                        raise TemplateError(f"'{name}' is undefined")
                    part = rendering.text(values[name])
                written.append(part)
            line, text = None, "".join(written)
            rendering.write(len(text))
        except FAILURES as error:
            raise failure(error, line) from None
        return text


def read_plain(text: str) -> PlainTemplate | None:
    """A template that only shows inputs, as Jinja reads it; None for any other, and for one in doubt."""
    if any(mark in text for mark in ("{%", "{#", "{{{", "\r")):
        return None
    text = text.removesuffix("\n")
    parts: list[str | Shown] = []
    at = index = 0
    for found in _SHOWN.finditer(text):
        before, name = text[at : found.start()], found[1]
        if "{{" in before or name in _JINJAS or len(parts) > _MOST:
            return None
        index += 2 if before else 1  # the text before, if any, and the braces
        place = Place(text.count("\n", 0, found.start(1)) + 1)
        place.index = index
        index += 2  # the name and the braces
        parts += (before, Shown(name, place)) if before else (Shown(name, place),)
        at = found.end()
    if "{{" in text[at:]:
        return None
    return PlainTemplate([*parts, text[at:]] if at < len(text) else parts)


def failure(error: Exception, line: int | None) -> TemplateError:
    """What a rendering raises for an error at a line."""
    match error:
        case TemplateError():
            return TemplateError(error.message, line=line, help=error.help)
        case ZeroDivisionError():
            message = "a division by zero"
        case RecursionError():
            message = "a value nested too deeply to print"
        case ValueError() if "unpack" in str(error):
            message = "an element has more or fewer parts than its loop has names"
        case _:
            message = "these values cannot be rendered"
    return TemplateError(message, line=line)
