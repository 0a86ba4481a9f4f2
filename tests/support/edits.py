"""Edits of programs as people make them: another name, number, type or operation, a line lost or moved."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\d+(?:\.\d+)?|\w+|==|!=|<=|>=|->|//|[^\s\w]')
_NUMBERS = ("0", "-1", "1", "2", "5", "100", "2.5", "1000000000")
_ATOMS = (
    "none",
    "[]",
    '""',
    '"x"',
    "true",
    "1",
    "0.5",
    "it",
    "thoughts",
    "score",
    "valid",
    "{a: 1}",
    "[1]",
    "truth",
    "done",
)
_OPERATORS = ("+", "-", "*", "/", "//", "%", "==", "!=", "<", "in", "and", "or")
_TYPES = (
    "int",
    "float",
    "str",
    "bool",
    "list[int]",
    "list[str]",
    "dict[str, int]",
    "int?",
    "Mood",
    "any",
    "Node",
)
_OPERATIONS = (
    "Generate",
    "Improve",
    "Aggregate",
    "Score",
    "Validate",
    "KeepValid",
    "KeepBestN",
    "Select",
    "Vote",
    "Map",
    "Pool",
)
_KEYWORDS = (
    "foreach",
    "reduce",
    "repeat",
    "if",
    "else",
    "try",
    "match",
    "return",
    "until",
    "in",
    "metric",
    "prompt",
    "scheme",
    "score",
    "type",
    "param",
)
_SETTINGS = (
    "k=0",
    "k=2",
    "temperature=9.0",
    "until=it == 1",
    "until=score > 1",
    "logprobs=true",
    "retries=1",
    "share=true",
    "model=1",
    "n=2",
)


def edited(rng: Random, text: str) -> tuple[str, frozenset[int], frozenset[str]]:
    """A program with one to three edits, the lines (from 0) that they touched, and the names in them."""
    lines = text.rstrip("\n").split("\n")
    touched: set[int] = set()
    names: set[str] = set()
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(lines))
        new = rng.choice(_EDITS)(rng, lines, at)
        if new is None:
            continue
        if len(new) != len(lines):  # what follows has moved
            by = len(new) - len(lines)
            touched = {line + by if line > at else line for line in touched}
        names |= set(re.findall(r"\w+", " ".join(lines[at : at + 2])))
        lines = new
        touched |= {max(at - 1, 0), at, min(at + 1, len(lines) - 1)}
    return "\n".join(lines) + "\n", frozenset(touched), frozenset(names)


def _with(lines: Sequence[str], at: int, *instead: str) -> list[str]:
    return [*lines[:at], *instead, *lines[at + 1 :]]


def _token(
    rng: Random, lines: Sequence[str], at: int, fits: Callable[[str], bool], options: Sequence[str]
) -> list[str] | None:
    """One of the tokens of a line that fit, replaced."""
    found = [match for match in _TOKEN.finditer(lines[at]) if fits(match[0])]
    if not found:
        return None
    match = rng.choice(found)
    return _with(lines, at, lines[at][: match.start()] + rng.choice(options) + lines[at][match.end() :])


def _is_name(token: str) -> bool:
    return token.isidentifier()


def _rename(rng: Random, lines: Sequence[str], at: int) -> list[str] | None:
    names = sorted(set(re.findall(r"\b[a-z]\w*\b", "\n".join(lines))))
    return _token(rng, lines, at, _is_name, names)


def _number(rng: Random, lines: Sequence[str], at: int) -> list[str] | None:
    return _token(rng, lines, at, lambda token: token[0].isdigit(), _NUMBERS)


def _atom(rng: Random, lines: Sequence[str], at: int) -> list[str] | None:
    return _token(
        rng, lines, at, lambda token: _is_name(token) or token[0].isdigit() or token[0] == '"', _ATOMS
    )


def _operator(rng: Random, lines: Sequence[str], at: int) -> list[str] | None:
    return _token(rng, lines, at, lambda token: token in _OPERATORS, _OPERATORS)


def _type(rng: Random, lines: Sequence[str], at: int) -> list[str] | None:
    return _token(rng, lines, at, lambda token: token in ("int", "str", "float", "bool", "Mood"), _TYPES)


def _operation(rng: Random, lines: Sequence[str], at: int) -> list[str] | None:
    return _token(rng, lines, at, lambda token: token in _OPERATIONS, _OPERATIONS)


def _misspell(rng: Random, lines: Sequence[str], at: int) -> list[str] | None:
    found = [word for word in _KEYWORDS if re.search(rf"\b{word}\b", lines[at])]
    if not found:
        return None
    word = rng.choice(found)
    place = rng.randrange(len(word))
    wrong = rng.choice((word[:place] + word[place + 1 :], word[:place] + word[place] + word[place:]))
    return _with(lines, at, re.sub(rf"\b{word}\b", wrong, lines[at], count=1))


def _setting(rng: Random, lines: Sequence[str], at: int) -> list[str] | None:
    if not re.search(r"[A-Z]\w*\(\)", lines[at]):
        return None
    return _with(lines, at, lines[at].replace("()", f"({rng.choice(_SETTINGS)})", 1))


def _argument(rng: Random, lines: Sequence[str], at: int) -> list[str] | None:
    if ", " not in lines[at]:
        return None
    parts = lines[at].split(", ")
    place = rng.randrange(1, len(parts))
    return _with(
        lines, at, ", ".join(parts[:place] + parts[place + 1 :] if rng.random() < 0.5 else [*parts, "1"])
    )


def _delete(rng: Random, lines: Sequence[str], at: int) -> list[str] | None:
    return [*lines[:at], *lines[at + 1 :]] if len(lines) > 2 else None


def _duplicate(rng: Random, lines: Sequence[str], at: int) -> list[str] | None:
    return [*lines[: at + 1], *lines[at:]]


def _swap(rng: Random, lines: Sequence[str], at: int) -> list[str] | None:
    return [*lines[:at], lines[at + 1], lines[at], *lines[at + 2 :]] if at + 1 < len(lines) else None


def _indent(rng: Random, lines: Sequence[str], at: int) -> list[str] | None:
    line = lines[at]
    return _with(lines, at, line[4:] if line.startswith("    ") and rng.random() < 0.5 else "    " + line)


_EDITS: tuple[Callable[[Random, Sequence[str], int], list[str] | None], ...] = (
    _rename,
    _rename,
    _number,
    _number,
    _atom,
    _atom,
    _atom,
    _operator,
    _type,
    _type,
    _operation,
    _misspell,
    _setting,
    _argument,
    _delete,
    _duplicate,
    _swap,
    _indent,
)
