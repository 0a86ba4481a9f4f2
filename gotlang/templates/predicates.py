"""The tests of templates (`x is odd`): Jinja's names, our own bodies.

Jinja's `odd` is `value % 2`, which on a text is formatting: `"%999999999d" is odd` would fill the memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from jinja2 import Undefined

from gotlang.errors import TemplateError
from gotlang.templates.filters import kind


def _number(value: Any, name: str) -> Any:
    if not isinstance(value, int | float):
        raise TemplateError(f"`is {name}` takes a number, not {kind(value)}")
    return value


def _divisible(value: Any, num: Any) -> bool:
    return bool(_number(value, "divisibleby") % _number(num, "divisibleby") == 0)


TABLE: Final[dict[str, Callable[..., bool]]] = {
    "boolean": lambda value: isinstance(value, bool),
    "defined": lambda value: not isinstance(value, Undefined),
    "divisibleby": _divisible,
    "even": lambda value: bool(_number(value, "even") % 2 == 0),
    "false": lambda value: value is False,
    "float": lambda value: isinstance(value, float),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "mapping": lambda value: isinstance(value, dict),
    "none": lambda value: value is None,
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "odd": lambda value: bool(_number(value, "odd") % 2 == 1),
    "sequence": lambda value: isinstance(value, list | str),
    "string": lambda value: isinstance(value, str),
    "true": lambda value: value is True,
    "undefined": lambda value: isinstance(value, Undefined),
}
