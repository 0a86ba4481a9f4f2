"""The filters and tests of templates.

Filters have Jinja's names and meanings, over plain values, with one difference: where Jinja would silently
yield a wrong text (`"x" | int` as 0, the first element of an empty list as nothing), they raise
TemplateError.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection
from typing import Any, Final, Literal

from gotlang.errors import TemplateError
from gotlang.patterns import lazy_pattern
from gotlang.templates.nodes import Missing
from gotlang.templates.render_state import JSON, Rendering, kind, short

WIDEST = 100
"""Maximum number of spaces of an indentation."""
METHODS = ("common", "ceil", "floor")
"""The methods of `round`."""

_WORD = lazy_pattern(r"[^-\s({\[<]+")
"""Word starts that `title` capitalizes."""

Field = str | int | None
"""A field (`"left"`, `"state.left"`) or the position of an element."""


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
    return lambda run, value: change(run.text(value))


def _elements(run: Rendering, value: Any, name: str) -> list[Any]:
    """The elements of a list, the names of a record or the characters of a text."""
    if not isinstance(value, list | tuple | dict | str):
        raise TemplateError(f"`{name}` expects a list, not {kind(value)}")
    return list(run.read(value))


# ---------------------------------------------------------------- filters

do_capitalize = _of_text(str.capitalize)
do_lower = _of_text(str.lower)
do_title = _of_text(lambda text: _WORD.sub(lambda word: word[0][0].upper() + word[0][1:].lower(), text))
do_upper = _of_text(str.upper)
do_string = _of_text(str)
do_wordcount = _of_text(lambda text: len(text.split()))


def do_trim(run: Rendering, value: Any, chars: str | None = None) -> str:
    return run.text(value).strip(chars)


def do_replace(run: Rendering, value: Any, old: Any, new: Any, count: int | None = None) -> str:
    value, old, new = run.text(value), run.text(old), run.text(new)
    most = value.count(old) if count is None else min(value.count(old), max(0, count))
    run.spend(len(new) * most)
    return str(value.replace(old, new, most))


def do_indent(
    run: Rendering, value: Any, width: int | str = 4, first: bool = False, blank: bool = False
) -> str:
    columns = len(width) if isinstance(width, str) else width
    if columns > WIDEST:
        raise TemplateError(f"an indentation of more than {WIDEST} characters")
    value = run.text(value)
    run.spend((value.count("\n") + 1) * columns)
    indentation = width if isinstance(width, str) else " " * width
    lines = f"{value}\n".splitlines()
    return "\n".join(
        indentation + line if (first if number == 0 else blank or line) else line
        for number, line in enumerate(lines)
    )


def do_tojson(run: Rendering, value: Any, indent: int | None = None) -> str:
    run.read(value)
    if indent is None:
        return JSON.encode(value)
    if type(indent) is not int or not 0 <= indent <= 8:
        raise TemplateError("`tojson` indents by 0 to 8 spaces")
    parts = []
    for part in json.JSONEncoder(ensure_ascii=False, indent=indent).iterencode(value):
        run.spend(len(part))
        parts.append(part)
    return "".join(parts)


def do_length(run: Rendering, value: Any) -> int:
    if not isinstance(value, list | tuple | dict | str):
        raise TemplateError(f"{kind(value)} has no length")
    return len(value)


do_count = do_length


def do_list(run: Rendering, value: Any) -> list[Any]:
    return _elements(run, value, "list")


def do_join(run: Rendering, value: Any, d: Any = "", attribute: Field = None) -> str:
    between = run.text(d)
    parts = [run.text(_part(element, attribute)) for element in _elements(run, value, "join")]
    run.spend(sum(map(len, parts)) + len(between) * len(parts))
    return between.join(parts)


def do_first(run: Rendering, value: Any) -> Any:
    return _end(value, "first", 0)


def do_last(run: Rendering, value: Any) -> Any:
    return _end(value, "last", -1)


def _end(value: Any, name: str, position: int) -> Any:
    if isinstance(value, list | str) and value:
        return value[position]
    empty = "an empty " + kind(value)[2:] if value in ([], "") else kind(value)
    raise TemplateError(f"`{name}` of {empty}")


def do_min(run: Rendering, value: Any, case_sensitive: bool = False, attribute: Field = None) -> Any:
    return _extreme(run, min, value, case_sensitive, attribute)


def do_max(run: Rendering, value: Any, case_sensitive: bool = False, attribute: Field = None) -> Any:
    return _extreme(run, max, value, case_sensitive, attribute)


def _extreme(run: Rendering, choose: Any, value: Any, case_sensitive: bool, attribute: Field) -> Any:
    elements = _elements(run, value, choose.__name__)
    if not elements:
        raise TemplateError(f"`{choose.__name__}` of an empty list")
    return choose(elements, key=_key(attribute, case_sensitive))


def do_sort(
    run: Rendering, value: Any, reverse: bool = False, case_sensitive: bool = False, attribute: Field = None
) -> list[Any]:
    elements = _elements(run, value, "sort")
    return sorted(elements, key=_key(attribute, case_sensitive), reverse=bool(reverse))


def do_unique(run: Rendering, value: Any, case_sensitive: bool = False, attribute: Field = None) -> list[Any]:
    key = _key(attribute, case_sensitive)
    seen: dict[Any, Any] = {}
    for element in _elements(run, value, "unique"):
        found = key(element)
        seen.setdefault((json.dumps(found),) if isinstance(found, list | dict) else found, element)
    return list(seen.values())


def do_map(run: Rendering, value: Any, *, attribute: str | int) -> list[Any]:
    return [_part(element, attribute) for element in _elements(run, value, "map")]


def do_sum(run: Rendering, value: Any, attribute: Field = None, start: Any = 0) -> Any:
    numbers = [_part(element, attribute) for element in _elements(run, value, "sum")]
    if not all(isinstance(number, int | float) for number in [*numbers, start]):
        raise TemplateError("`sum` expects numbers")
    return sum(numbers, start)


def do_reverse(run: Rendering, value: Any) -> Any:
    return run.read(value)[::-1] if isinstance(value, str) else _elements(run, value, "reverse")[::-1]


def do_batch(run: Rendering, value: Any, linecount: int) -> list[list[Any]]:
    if type(linecount) is not int or linecount < 1:
        raise TemplateError("`batch` expects a whole number above 0")
    elements = _elements(run, value, "batch")
    return [elements[at : at + linecount] for at in range(0, len(elements), linecount)]


def do_items(run: Rendering, value: Any) -> list[list[Any]]:
    if not isinstance(value, dict):
        raise TemplateError(f"`items` expects a record, not {kind(value)}")
    return [[name, part] for name, part in run.read(value).items()]


def do_int(run: Rendering, value: Any, default: int | None = None) -> Any:
    return _cast(int, value, default)


def do_float(run: Rendering, value: Any, default: float | None = None) -> Any:
    return _cast(float, value, default)


def _cast(type_: Any, value: Any, default: Any) -> Any:
    try:
        return type_(value)
    except (ValueError, TypeError, OverflowError):
        if default is None:
            raise TemplateError(f"cannot read {kind(value)} as {kind(type_())}") from None
        return default


def do_round(
    run: Rendering, value: Any, precision: int = 0, method: Literal["common", "ceil", "floor"] = "common"
) -> float:
    if not isinstance(value, int | float) or type(precision) is not int or not -15 <= precision <= 15:
        raise TemplateError("`round` expects a number and a precision from -15 to 15")
    if method not in METHODS:
        raise TemplateError("the method of `round` is `common`, `ceil` or `floor`")
    if method == "common":
        return float(round(value, precision))
    scale = 10**precision
    return float((math.ceil if method == "ceil" else math.floor)(value * scale) / scale)


def do_abs(run: Rendering, value: Any) -> Any:
    return abs(_number(value, "abs"))


def do_default(run: Rendering, value: Any, default_value: Any = "", boolean: bool = False) -> Any:
    return default_value if isinstance(value, Missing) or (boolean and not value) else value


FILTERS: Final[dict[str, Callable[..., Any]]] = {
    name.removeprefix("do_"): function for name, function in list(globals().items()) if name[:3] == "do_"
}

TESTS: Final[dict[str, Callable[..., bool]]] = {
    "boolean": lambda value: isinstance(value, bool),
    "defined": lambda value: not isinstance(value, Missing),
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
    "undefined": lambda value: isinstance(value, Missing),
}


def parameters(function: Callable[..., Any], given: int) -> list[str]:
    """The names of the arguments of a filter or a test, other than its value."""
    code = function.__code__
    return list(code.co_varnames[given : code.co_argcount + code.co_kwonlyargcount])


def fits(function: Callable[..., Any], given: int, args: int, named: Collection[str]) -> bool:
    """Whether it can be called with this number of arguments and these named ones, other than its value."""
    names, positional = parameters(function, given), function.__code__.co_argcount - given
    needed = names[args : positional - len(function.__defaults__ or ())] + names[positional:]
    return args <= positional and set(needed) <= set(named) <= set(names[args:])
