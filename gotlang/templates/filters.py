"""The filters and tests of templates.

Filters have Jinja's names and meanings, over plain values, with one difference: where Jinja would silently
give a wrong text (`"x" | int` as 0, the first element of an empty list as nothing), they raise TemplateError.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final, Literal

from jinja2 import Undefined
from jinja2 import filters as jinja
from jinja2.exceptions import UndefinedError

from gotlang.errors import TemplateError
from gotlang.templates.budget import ITERATIONS, JSON, VALUE, Budget, kind, short

WIDEST = 100
"""Spaces an indentation may have."""
METHODS = ("common", "ceil", "floor")
"""How `round` can round."""

Field = str | int | None
"""A field (`"left"`, `"state.left"`) or the position of an element."""


def defined(*values: Any) -> None:
    """Raise TemplateError for an undefined value."""
    for value in values:
        if isinstance(value, Undefined):
            try:
                str(value)
            except UndefinedError as error:
                raise TemplateError(error.message or "a value is missing") from None


def _number(value: Any, name: str) -> Any:
    if not isinstance(value, int | float):
        raise TemplateError(f"`{name}` expects a number, not {kind(value)}")
    return value


def _part(value: Any, attribute: Field) -> Any:
    """A field of a record or an element of a list; the value itself for None."""
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


def _key(attribute: Field, case_sensitive: bool) -> Callable[[Any], Any]:
    def key(value: Any) -> Any:
        value = _part(value, attribute)
        return value.lower() if isinstance(value, str) and not case_sensitive else value

    return key


def _of_text(change: Callable[[str], Any]) -> Callable[[Rendering, Any], Any]:
    return lambda rendering, value: change(rendering.text(value))


class Rendering(Budget):
    """The budget of one rendering by Jinja, with the filters, which pay from it.

    Every method raises TemplateError when the budget is exhausted or a value has the wrong type.
    """

    __slots__ = ()

    def elements(self, value: Any, name: str) -> list[Any]:
        """The elements of a list, the names of a record or the characters of a text."""
        if not isinstance(value, list | tuple | dict | str):
            raise TemplateError(f"`{name}` expects a list, not {kind(value)}")
        return list(self.read(value))

    # ---------------------------------------------------------------- what the sandbox wraps

    def each(self, value: Any, weight: int) -> list[Any]:
        """What a loop iterates over; `weight` is the size of its body in nodes."""
        if not isinstance(value, list | tuple | dict | str):
            raise TemplateError(f"a loop iterates over a list, not over {kind(value)}")
        self.iterations -= len(value)
        if self.iterations < 0:
            raise TemplateError(f"the loops of this template run more than {ITERATIONS:,} iterations")
        self.spend(len(value) * weight)
        return list(value)

    def slice(self, value: Any, start: Any, stop: Any, step: Any) -> Any:
        """A part of a list or text."""
        if not isinstance(value, list | str):
            raise TemplateError(f"cannot slice {kind(value)}")
        if any(type(end) is not int and end is not None for end in (start, stop, step)) or step == 0:
            raise TemplateError("a slice takes whole numbers, and no step of 0")
        part = slice(start, stop, step)
        self.spend(VALUE * len(range(*part.indices(len(value)))))
        return value[part]

    # ---------------------------------------------------------------- filters

    do_capitalize = _of_text(str.capitalize)
    do_lower = _of_text(str.lower)
    do_title = _of_text(jinja.do_title)
    do_upper = _of_text(str.upper)
    do_string = _of_text(str)
    do_wordcount = _of_text(lambda text: len(text.split()))

    def do_trim(self, value: Any, chars: str | None = None) -> str:
        return self.text(value).strip(chars)

    def do_replace(self, value: Any, old: Any, new: Any, count: int | None = None) -> str:
        value, old, new = self.text(value), self.text(old), self.text(new)
        most = value.count(old) if count is None else min(value.count(old), max(0, count))
        self.spend(len(new) * most)
        return str(value.replace(old, new, most))

    def do_indent(self, value: Any, width: int | str = 4, first: bool = False, blank: bool = False) -> str:
        columns = len(width) if isinstance(width, str) else width
        if columns > WIDEST:
            raise TemplateError(f"an indentation of more than {WIDEST} characters")
        value = self.text(value)
        self.spend((value.count("\n") + 1) * columns)
        return jinja.do_indent(value, width, first, blank)

    def do_tojson(self, value: Any, indent: int | None = None) -> str:
        self.read(value)
        if indent is None:
            return JSON.encode(value)
        if type(indent) is not int or not 0 <= indent <= 8:
            raise TemplateError("`tojson` indents by 0 to 8 spaces")
        parts = []
        for part in json.JSONEncoder(ensure_ascii=False, indent=indent).iterencode(value):
            self.spend(len(part))
            parts.append(part)
        return "".join(parts)

    def do_length(self, value: Any) -> int:
        if not isinstance(value, list | tuple | dict | str):
            raise TemplateError(f"{kind(value)} has no length")
        return len(value)

    do_count = do_length

    def do_list(self, value: Any) -> list[Any]:
        return self.elements(value, "list")

    def do_join(self, value: Any, d: Any = "", attribute: Field = None) -> str:
        between = self.text(d)
        parts = [self.text(_part(element, attribute)) for element in self.elements(value, "join")]
        self.spend(sum(map(len, parts)) + len(between) * len(parts))
        return between.join(parts)

    def do_first(self, value: Any) -> Any:
        return self._end(value, "first", 0)

    def do_last(self, value: Any) -> Any:
        return self._end(value, "last", -1)

    def _end(self, value: Any, name: str, position: int) -> Any:
        if isinstance(value, list | str) and value:
            return value[position]
        empty = "an empty " + kind(value)[2:] if value in ([], "") else kind(value)
        raise TemplateError(f"`{name}` of {empty}")

    def do_min(self, value: Any, case_sensitive: bool = False, attribute: Field = None) -> Any:
        return self._extreme(min, value, case_sensitive, attribute)

    def do_max(self, value: Any, case_sensitive: bool = False, attribute: Field = None) -> Any:
        return self._extreme(max, value, case_sensitive, attribute)

    def _extreme(self, choose: Any, value: Any, case_sensitive: bool, attribute: Field) -> Any:
        elements = self.elements(value, choose.__name__)
        if not elements:
            raise TemplateError(f"`{choose.__name__}` of an empty list")
        return choose(elements, key=_key(attribute, case_sensitive))

    def do_sort(
        self, value: Any, reverse: bool = False, case_sensitive: bool = False, attribute: Field = None
    ) -> list[Any]:
        elements = self.elements(value, "sort")
        return sorted(elements, key=_key(attribute, case_sensitive), reverse=bool(reverse))

    def do_unique(self, value: Any, case_sensitive: bool = False, attribute: Field = None) -> list[Any]:
        key = _key(attribute, case_sensitive)
        seen: dict[Any, Any] = {}
        for element in self.elements(value, "unique"):
            found = key(element)
            seen.setdefault((json.dumps(found),) if isinstance(found, list | dict) else found, element)
        return list(seen.values())

    def do_map(self, value: Any, *, attribute: str | int) -> list[Any]:
        return [_part(element, attribute) for element in self.elements(value, "map")]

    def do_sum(self, value: Any, attribute: Field = None, start: Any = 0) -> Any:
        numbers = [_part(element, attribute) for element in self.elements(value, "sum")]
        if not all(isinstance(number, int | float) for number in [*numbers, start]):
            raise TemplateError("`sum` expects numbers")
        return sum(numbers, start)

    def do_reverse(self, value: Any) -> Any:
        return self.read(value)[::-1] if isinstance(value, str) else self.elements(value, "reverse")[::-1]

    def do_batch(self, value: Any, linecount: int) -> list[list[Any]]:
        if type(linecount) is not int or linecount < 1:
            raise TemplateError("`batch` expects a whole number above 0")
        return list(jinja.do_batch(self.elements(value, "batch"), linecount))

    def do_items(self, value: Any) -> list[list[Any]]:
        if not isinstance(value, dict):
            raise TemplateError(f"`items` expects a record, not {kind(value)}")
        return [[name, part] for name, part in self.read(value).items()]

    def do_int(self, value: Any, default: int | None = None) -> Any:
        return self._cast(int, value, default)

    def do_float(self, value: Any, default: float | None = None) -> Any:
        return self._cast(float, value, default)

    def _cast(self, type_: Any, value: Any, default: Any) -> Any:
        try:
            return type_(value)
        except (ValueError, TypeError, OverflowError):
            if default is None:
                raise TemplateError(f"cannot read {kind(value)} as {kind(type_())}") from None
            return default

    def do_round(
        self, value: Any, precision: int = 0, method: Literal["common", "ceil", "floor"] = "common"
    ) -> float:
        if not isinstance(value, int | float) or type(precision) is not int or not -15 <= precision <= 15:
            raise TemplateError("`round` expects a number and a precision from -15 to 15")
        if method not in METHODS:
            raise TemplateError("the method of `round` is `common`, `ceil` or `floor`")
        return float(jinja.do_round(value, precision, method))

    def do_abs(self, value: Any) -> Any:
        return abs(_number(value, "abs"))

    def do_default(self, value: Any, default_value: Any = "", boolean: bool = False) -> Any:
        return default_value if isinstance(value, Undefined) or (boolean and not value) else value


FILTERS: Final[dict[str, Callable[..., Any]]] = {
    name.removeprefix("do_"): method for name, method in vars(Rendering).items() if name.startswith("do_")
}

TESTS: Final[dict[str, Callable[..., bool]]] = {
    "boolean": lambda value: isinstance(value, bool),
    "defined": lambda value: not isinstance(value, Undefined),
    "divisibleby": lambda value, num: _number(value, "divisibleby") % _number(num, "divisibleby") == 0,
    "even": lambda value: _number(value, "even") % 2 == 0,
    "false": lambda value: value is False,
    "float": lambda value: isinstance(value, float),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "mapping": lambda value: isinstance(value, dict),
    "none": lambda value: value is None,
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    # Jinja's `odd` is `value % 2`, which formats a text: `"%999999999d" is odd` would fill the memory.
    "odd": lambda value: _number(value, "odd") % 2 == 1,
    "sequence": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "true": lambda value: value is True,
    "undefined": lambda value: isinstance(value, Undefined),
}
