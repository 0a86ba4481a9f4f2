"""Numbers as people and models write them."""

from __future__ import annotations

import re

_NUMERAL = re.compile(r"[+-]?(?:[0-9][0-9_]*\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_AMOUNT = re.compile(
    r"([+-]?)\$?((?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9][0-9_]*)?(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?)\s*%?"
)


def number(text: str) -> int | float | None:
    """The number that a text is, with the signs people put around one (`1,234`, `$5`, `85%`); else None."""
    text = text.strip().replace("\N{MINUS SIGN}", "-")
    match = _AMOUNT.fullmatch(text)
    return numeral(match[1] + match[2].replace(",", "")) if match else None


def numeral(text: str) -> int | float | None:
    """The number that a text is as a program would write it; else None. Neither infinity nor NaN is one."""
    if not _NUMERAL.fullmatch(text):
        return None
    try:
        return int(text)
    except ValueError:
        pass
    try:
        value = float(text)
    except ValueError:
        return None
    # A number too large for a float, and a row of digits too long for an int, are none.
    return value if abs(value) != float("inf") and not text.lstrip("+-").isdigit() else None
