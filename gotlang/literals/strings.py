"""Texts in quotes of any kind, with the escapes of JSON and Python."""

from __future__ import annotations

import re
from typing import Final

QUOTES: Final = {'"': '"', "'": "'", "“": "”", "‘": "’", "`": "`"}


def _string(closer: str) -> re.Pattern[str]:
    # A quote ends a string where what follows can follow a string; elsewhere it is a quote that the model
    # forgot to escape: 'it's', "the "old" house".
    ends = r"(?=\s*(?:[,\]}):]|//|\#|/\*|```|\Z))"
    return re.compile(rf"((?:[^{closer}\\]|\\.|{closer}(?!{ends}))*+){closer}", re.DOTALL)


STRINGS: Final = {opener: _string(closer) for opener, closer in QUOTES.items()}
"""By the opening quote: what follows it, up to and with the closing one."""

_ESCAPE = re.compile(
    r"\\(u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U00(?:0[0-9a-fA-F]|10)[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)",
    re.DOTALL,
)
_ESCAPED: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "\n": ""}


def _unescaped(match: re.Match[str]) -> str:
    code = match[1]
    if len(code) == 1:
        # An escape that nobody defines keeps its backslash: models write LaTeX into JSON.
        return _ESCAPED.get(code, code if code in "\"'\\/`" else "\\" + code)
    if len(code) > 9:
        return (bytes.fromhex(code[1:5]) + bytes.fromhex(code[7:])).decode("utf-16-be")
    return chr(int(code[1:], 16))


def unescape(content: str) -> str:
    """What the inside of a quoted text says."""
    return _ESCAPE.sub(_unescaped, content) if "\\" in content else content
