"""The terminals of the grammar in the words of a user."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping

_NAMES = {
    "_NL": "the end of the line",
    "_INDENT": "an indented block",
    "_DEDENT": "the end of the block",
    "$END": "the end of the text",
    "NAME": "a name",
    "OPERATION": "an operation such as `Generate`",
    "INT": "a number",
    "FLOAT": "a number",
    "STRING": "a text in quotes",
    "LONG_STRING": "a text in quotes",
    "DIRECTION": "`lower` or `higher`",
    "OBJECTIVE": "`minimize` or `maximize`",
    "COMPARE": "a comparison",
}


def _set(names: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", names))


_EXPRESSION = _set("NAME INT FLOAT STRING LONG_STRING LSQB LPAR LBRACE TRUE FALSE NONE PLUS MINUS")
_DECLARATION = _set("IMPORT PARAM PROMPT SCORE SCHEME SIMULATE STUDY TYPE")
_OPERATORS = _set("PLUS MINUS STAR SLASH DOUBLE_SLASH PERCENT POWER COMPARE AND OR NOT IN IF DOT LSQB")
# Where all of a set may follow, it is named once.
_GROUPS = (
    ("a declaration (`param`, `prompt`, `score`, `scheme`, ...)", _DECLARATION),
    (
        "a step such as `Generate(k=5) sort(part)`",
        _EXPRESSION | _set("OPERATION FOREACH REDUCE REPEAT IF RETURN"),
    ),
    (
        "a setting, a text, or another part of a prompt",
        _set("SYSTEM INSTRUCTION USER EXAMPLES PARSE NAME STRING LONG_STRING"),
    ),
    ("a clause of a study", _set("PROGRAM DATA SUBJECT VARY PROMPTS OBJECTIVE NAME")),
    ("an expression", _EXPRESSION),
    ("a constant", _set("INT FLOAT STRING LONG_STRING TRUE FALSE MINUS LSQB")),
    ("a type", _set("NAME OPERATION STRING LBRACE")),
)
_MOST = 6


def expected(terminals: Iterable[str], literals: Mapping[str, str]) -> str:
    """The terminals that may follow, as one phrase; `literals` gives keywords and signs their text."""
    left = set(terminals)
    groups: list[str] = []
    for phrase, members in _GROUPS:
        if members <= left:
            groups.append(phrase)
            left -= members
    operator = left >= {"PLUS", "STAR"}
    if operator:
        left -= _OPERATORS
    if groups:
        left -= {"NOT", "_NL", "$END"}
    named = {f"`{literals[t]}`" if t in literals else _NAMES[t] for t in left - {"_DEDENT"}}
    words = groups + sorted(named, key=lambda word: (not word.startswith("`"), word))
    last = ["an operator"] if operator else []
    if len(words) + len(last) > _MOST:
        words, last = words[: _MOST - 1 - len(last)], [*last, "something else"]
    words += last
    if not words:
        return _NAMES["_DEDENT"] if "_DEDENT" in terminals else "nothing"
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " or " + words[-1]


def misfit(terminal: str, text: str) -> str:
    """What is wrong with a token that does not fit, in words."""
    if terminal in {"_NL", "$END"}:
        return f"{'the line' if terminal == '_NL' else 'the text'} ends too early"
    if terminal == "_DEDENT":
        return "the block ends too early"
    if not terminal:
        return f"{character(text)} has no meaning here"
    first = text.split("\n", 1)[0]
    return f"`{text if len(text) <= 30 and first == text else first[:27] + '...'}` does not fit here"


def character(text: str) -> str:
    """A character that is no token, so that it can be told from one that looks like it."""
    shown = f"`{text}`" if text.isprintable() and not text.isspace() else "this character"
    if text.isascii():
        return shown
    name = unicodedata.name(text, "").lower()
    return f"{shown} (U+{ord(text):04X}{', ' + name if name else ''})"
