"""The filters of templates: Jinja's names and meanings, over plain values, each paying for its work.

They differ from Jinja's in one thing: what would silently give a wrong text (`"x" | int` as 0, the first
element of an empty list as nothing) is an error. Every filter takes the budget first.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from jinja2 import Undefined
from jinja2.exceptions import UndefinedError
from jinja2.filters import do_batch, do_indent, do_round, do_title

from gotlang.errors import TemplateError
from gotlang.templates.budget import Budget

_NUMBER = 8
"""What a number costs, in characters."""
_JSON = json.JSONEncoder(ensure_ascii=False)
_WIDEST = 100
"""Spaces an indentation may have."""


def kind(value: Any) -> str:
    """What a value is, in the language's words."""
    names = {bool: "a bool", int: "an int", float: "a float", str: "a str", list: "a list", dict: "a record"}
    return "nothing" if value is None else names.get(type(value), "something that is no plain value")


def short(value: Any) -> str:
    """A name or number for a message."""
    found = str(value) if isinstance(value, str | int | float) else kind(value)
    return found if len(found) <= 40 else found[:37] + "..."


def defined(*values: Any) -> None:
    """Raise for a value that was asked for and is not there."""
    for value in values:
        if isinstance(value, Undefined):
            try:
                str(value)
            except UndefinedError as error:
                raise TemplateError(error.message or "a value is missing") from None


def text(budget: Budget, value: Any) -> str:
    """A value as it stands in a prompt: a text as it is, the rest as JSON."""
    if type(value) is int:
        budget.spend(_NUMBER)
        return str(value)
    budget.read(value)
    if isinstance(value, str):
        return value
    try:
        return _JSON.encode(value)
    except TypeError:
        raise TemplateError(f"cannot print {kind(value)}") from None


def _elements(budget: Budget, value: Any, name: str) -> list[Any]:
    """The elements of a list, the names of a record, the characters of a text; paid for."""
    if not isinstance(value, list | tuple | dict | str):
        raise TemplateError(f"`{name}` takes a list, not {kind(value)}")
    budget.read(value)
    return list(value)


def _each(budget: Budget, value: Any, weight: int) -> list[Any]:
    if not isinstance(value, list | tuple | dict | str):
        raise TemplateError(f"a loop goes over a list, not over {kind(value)}")
    budget.loop(len(value), weight)
    return list(value)


def _read(budget: Budget, value: Any) -> Any:
    budget.read(value)
    return value


def _slice(budget: Budget, value: Any, start: Any, stop: Any, step: Any) -> Any:
    if not isinstance(value, list | str):
        raise TemplateError(f"cannot slice {kind(value)}")
    if any(type(end) is not int and end is not None for end in (start, stop, step)) or step == 0:
        raise TemplateError("a slice takes whole numbers, and no step of 0")
    part = slice(start, stop, step)
    budget.spend(8 * len(range(*part.indices(len(value)))))
    return value[part]


def _part(value: Any, attribute: str | int | None) -> Any:
    """A field of a record, `"left"` or `"state.left"`, or an element of a list by its position."""
    if attribute is None:
        return value
    for name in attribute.split(".") if isinstance(attribute, str) else [attribute]:
        inside = isinstance(value, dict) and name in value
        if not inside and isinstance(value, list) and isinstance(name, int):
            inside = -len(value) <= name < len(value)
        if not inside:
            raise TemplateError(f"{kind(value)} has no `{short(name)}`")
        value = value[name]
    return value


def _key(attribute: str | int | None, case_sensitive: bool) -> Callable[[Any], Any]:
    def key(value: Any) -> Any:
        value = _part(value, attribute)
        return value.lower() if isinstance(value, str) and not case_sensitive else value

    return key


def length(budget: Budget, value: Any) -> int:
    if not isinstance(value, list | tuple | dict | str):
        raise TemplateError(f"{kind(value)} has no length")
    return len(value)


def join(budget: Budget, value: Any, d: Any = "", attribute: str | int | None = None) -> str:
    between = text(budget, d)
    parts = [text(budget, _part(element, attribute)) for element in _elements(budget, value, "join")]
    budget.spend(sum(map(len, parts)) + len(between) * len(parts))
    return between.join(parts)


def first(budget: Budget, value: Any) -> Any:
    if isinstance(value, list | str) and value:
        return value[0]
    raise TemplateError(f"`first` of {'an empty ' + kind(value)[2:] if value in ([], '') else kind(value)}")


def last(budget: Budget, value: Any) -> Any:
    if isinstance(value, list | str) and value:
        return value[-1]
    raise TemplateError(f"`last` of {'an empty ' + kind(value)[2:] if value in ([], '') else kind(value)}")


def sort(
    budget: Budget,
    value: Any,
    reverse: bool = False,
    case_sensitive: bool = False,
    attribute: str | int | None = None,
) -> list[Any]:
    return sorted(
        _elements(budget, value, "sort"), key=_key(attribute, case_sensitive), reverse=bool(reverse)
    )


def unique(
    budget: Budget, value: Any, case_sensitive: bool = False, attribute: str | int | None = None
) -> list[Any]:
    key = _key(attribute, case_sensitive)
    seen: dict[Any, Any] = {}
    for element in _elements(budget, value, "unique"):
        found = key(element)
        seen.setdefault((json.dumps(found),) if isinstance(found, list | dict) else found, element)
    return list(seen.values())


def _extreme(name: str, choose: Callable[..., Any]) -> Callable[..., Any]:
    def extreme(
        budget: Budget, value: Any, case_sensitive: bool = False, attribute: str | int | None = None
    ) -> Any:
        elements = _elements(budget, value, name)
        if not elements:
            raise TemplateError(f"`{name}` of an empty list")
        return choose(elements, key=_key(attribute, case_sensitive))

    return extreme


def total(budget: Budget, value: Any, attribute: str | int | None = None, start: Any = 0) -> Any:
    numbers = [_part(element, attribute) for element in _elements(budget, value, "sum")]
    if not all(isinstance(number, int | float) for number in [*numbers, start]):
        raise TemplateError("`sum` takes numbers")
    return sum(numbers, start)


def mapped(budget: Budget, value: Any, *, attribute: str | int) -> list[Any]:
    return [_part(element, attribute) for element in _elements(budget, value, "map")]


def backwards(budget: Budget, value: Any) -> Any:
    if isinstance(value, str):
        budget.read(value)
        return value[::-1]
    return _elements(budget, value, "reverse")[::-1]


def batch(budget: Budget, value: Any, linecount: int) -> list[list[Any]]:
    if type(linecount) is not int or linecount < 1:
        raise TemplateError("`batch` takes a whole number above 0")
    return list(do_batch(_elements(budget, value, "batch"), linecount))


def replace(budget: Budget, value: Any, old: Any, new: Any, count: int | None = None) -> str:
    value, old, new = text(budget, value), text(budget, old), text(budget, new)
    found = value.count(old)
    budget.spend(len(new) * (found if count is None else min(found, max(0, count))))
    return str(value.replace(old, new, -1 if count is None else max(0, count)))


def indent(budget: Budget, value: Any, width: int | str = 4, first: bool = False, blank: bool = False) -> str:
    if (len(width) if isinstance(width, str) else width) > _WIDEST:
        raise TemplateError(f"an indentation of more than {_WIDEST} characters")
    value = text(budget, value)
    budget.spend((value.count("\n") + 1) * (len(width) if isinstance(width, str) else width))
    return do_indent(value, width, first, blank)


def to_json(budget: Budget, value: Any, indent: int | None = None) -> str:
    budget.read(value)
    if indent is None:
        return _JSON.encode(value)
    if type(indent) is not int or not 0 <= indent <= 8:
        raise TemplateError("`tojson` indents by 0 to 8 spaces")
    parts = []
    for part in json.JSONEncoder(ensure_ascii=False, indent=indent).iterencode(value):
        budget.spend(len(part))
        parts.append(part)
    return "".join(parts)


def integer(budget: Budget, value: Any, default: int | None = None) -> int:
    try:
        return int(value)
    except (ValueError, TypeError, OverflowError):
        if default is None:
            raise TemplateError(f"cannot read {kind(value)} as an int") from None
        return default


def floating(budget: Budget, value: Any, default: float | None = None) -> float:
    try:
        return float(value)
    except (ValueError, TypeError, OverflowError):
        if default is None:
            raise TemplateError(f"cannot read {kind(value)} as a float") from None
        return default


def rounded(budget: Budget, value: Any, precision: int = 0, method: str = "common") -> float:
    if not isinstance(value, int | float) or type(precision) is not int or not -15 <= precision <= 15:
        raise TemplateError("`round` takes a number and a precision from -15 to 15")
    if method not in ("common", "ceil", "floor"):
        raise TemplateError("`round` knows the methods `common`, `ceil` and `floor`")
    return float(do_round(value, precision, method))  # type: ignore[arg-type]


def absolute(budget: Budget, value: Any) -> Any:
    if not isinstance(value, int | float):
        raise TemplateError(f"`abs` takes a number, not {kind(value)}")
    return abs(value)


def default(budget: Budget, value: Any, default_value: Any = "", boolean: bool = False) -> Any:
    return default_value if isinstance(value, Undefined) or (boolean and not value) else value


def items(budget: Budget, value: Any) -> list[list[Any]]:
    if not isinstance(value, dict):
        raise TemplateError(f"`items` takes a record, not {kind(value)}")
    budget.read(value)
    return [[name, field] for name, field in value.items()]


def _on_text(change: Callable[[str], Any]) -> Callable[..., Any]:
    def changed(budget: Budget, value: Any) -> Any:
        return change(text(budget, value))

    return changed


def trim(budget: Budget, value: Any, chars: str | None = None) -> str:
    return text(budget, value).strip(chars)


TABLE: Final[dict[str, Callable[..., Any]]] = {
    "abs": absolute,
    "batch": batch,
    "capitalize": _on_text(str.capitalize),
    "count": length,
    "default": default,
    "first": first,
    "float": floating,
    "indent": indent,
    "int": integer,
    "items": items,
    "join": join,
    "last": last,
    "length": length,
    "list": lambda budget, value: _elements(budget, value, "list"),
    "lower": _on_text(str.lower),
    "map": mapped,
    "max": _extreme("max", max),
    "min": _extreme("min", min),
    "replace": replace,
    "reverse": backwards,
    "round": rounded,
    "sort": sort,
    "string": text,
    "sum": total,
    "title": _on_text(do_title),
    "tojson": to_json,
    "trim": trim,
    "unique": unique,
    "upper": _on_text(str.upper),
    "wordcount": _on_text(lambda found: len(found.split())),
}

INTERNAL: Final[dict[str, Callable[..., Any]]] = {"_each": _each, "_read": _read, "_slice": _slice}
"""What the sandbox puts around a template's own parts; no template can name them."""
