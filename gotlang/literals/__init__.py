"""Values inside free text, written as JSON, as Python, or nearly so.

Models write lists and objects with single quotes, comments, trailing commas, tuples, words without quotes,
and lose the last bracket; data files hold Python's `repr`. One tolerant reader (`scan`) takes them all.
"""

from __future__ import annotations

import json
from typing import Any

from gotlang.literals.numbers import number, numeral
from gotlang.literals.scan import DEEPEST, Found, Quality, Word, scan

__all__ = ["Found", "Quality", "Word", "literal", "number", "numeral", "scan", "strict"]


def strict(text: str) -> Any:
    """The value of a JSON text. Raises ValueError, also for NaN, endless digits and deep nesting."""
    try:
        value = _DECODER.decode(text)
    except RecursionError:
        raise ValueError("brackets too deep inside each other") from None
    brackets = text.count("[") + text.count("{")
    if brackets > DEEPEST and isinstance(value, list | dict) and _deeper(value):
        raise ValueError("brackets too deep inside each other")
    return value


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON value")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)


def _deeper(value: Any) -> bool:
    """Whether a value has more than the allowed levels, looked at level by level."""
    level = [value]
    for _ in range(DEEPEST):
        parts = [part for outer in level for part in (outer.values() if isinstance(outer, dict) else outer)]
        level = [part for part in parts if isinstance(part, list | dict)]
        if not level:
            return False
    return True


def literal(text: str) -> Any:
    """The list or object that a text is, all of it, as JSON or Python wrote it: `[1, 2]`, `{'a': 1}`,
    `Counter({'a': 1})`. Raises ValueError where it is anything else."""
    text = text.strip()
    try:
        value = strict(text)
    except ValueError:
        found = scan(text)
        only = found[0] if len(found) == 1 else None
        if only is None or not only.whole or only.quality is Quality.PIECE or only.end != len(text):
            raise ValueError("not a list or an object") from None
        if only.start and not text[: only.start].isidentifier():
            raise ValueError("not a list or an object") from None
        value = only.value
    if not isinstance(value, list | dict):
        raise ValueError("not a list or an object")
    return value
