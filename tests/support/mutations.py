"""Programs broken in all the ways that editors, downloads and people break them."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

_WORDS = """
    metric param prompt score scheme study type import simulate foreach reduce repeat if elif else return in
    as from after until with and or not true none ( ) [ ] { } : , = == -> .. . + - ** " \"\"\" # \\ 1 2.5 "x"
    Generate() it
"""
_LINES = (
    "a",
    "(",
    "[1, ",
    "x + ",
    "not ",
    "- ",
    '"',
    '"""',
    "# ",
    " ",
    "\\",
    "é",
    "1.",
    "f(x)",
    "Generate ",
    "a.",
    "{a: ",
    "\t",
)
_ODD = "\x00\x0b\x0c\x1b\x7f\x85\xa0\u200b\u2028\u202e\ufeff\ufffd\ud800𝔊é“”’–→\u0301\u0663٣"


NESTS = (
    ("(", ")"),
    ("[", "]"),
    ("{a: ", "}"),
    ("f(", ")"),
    ("x[", "]"),
    ("[x for x in ", "]"),
    ("not ", ""),
    ("-", ""),
    ("1 + ", ""),
    ("2 ** ", ""),
    ("1 if 2 else ", ""),
    ("", ".a"),
    ("", "[0]"),
)
"""What can stand inside itself: what comes before and after."""


def mutated(random: Random, text: str, others: list[str]) -> str:
    """A text with one to four things wrong; `others` are programs to take parts from."""
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        text = random.choice(_KINDS)(random, text, others)
    if random.random() < 0.01:
        text = random.choice(_LARGE)(random, text)
    return text


def _place(random: Random, text: str) -> int:
    return random.randint(0, len(text))


def _delete(random: Random, text: str, _others: list[str]) -> str:
    at = _place(random, text)
    return text[:at] + text[at + random.choice((1, 1, 2, 5, 40)) :]


def _insert(random: Random, text: str, _others: list[str]) -> str:
    at = _place(random, text)
    return (
        text[:at]
        + random.choice(("", " "))
        + random.choice(_WORDS.split())
        + random.choice(("", " "))
        + text[at:]
    )


def _insert_odd(random: Random, text: str, _others: list[str]) -> str:
    at = _place(random, text)
    odd = random.choice(_ODD) if random.random() < 0.7 else chr(random.randrange(0x110000))
    return text[:at] + odd + text[at:]


def _swap(random: Random, text: str, _others: list[str]) -> str:
    a, b, c, d = sorted(_place(random, text) for _ in range(4))
    return text[:a] + text[c:d] + text[b:c] + text[a:b] + text[d:]


def _swap_lines(random: Random, text: str, _others: list[str]) -> str:
    lines = text.split("\n")
    a, b = random.randrange(len(lines)), random.randrange(len(lines))
    lines[a], lines[b] = lines[b], lines[a]
    return "\n".join(lines)


def _repeat_line(random: Random, text: str, _others: list[str]) -> str:
    lines = text.split("\n")
    at = random.randrange(len(lines))
    return "\n".join([*lines[:at], lines[at], *lines[at:]])


def _truncate(random: Random, text: str, _others: list[str]) -> str:
    return text[: _place(random, text)]


def _indent(random: Random, text: str, _others: list[str]) -> str:
    lines = text.split("\n")
    first = random.randrange(len(lines))
    margin = random.choice(("", " ", "    ", "\t", "        ", "  \t"))
    for at in range(first, min(len(lines), first + random.choice((1, 1, 3, 20)))):
        lines[at] = margin + (lines[at].lstrip(" ") if random.random() < 0.5 else lines[at])
    return "\n".join(lines)


def _word(random: Random, text: str, _others: list[str]) -> str:
    words = list(re.finditer(r"\w+|[^\w\s]", text))
    if not words:
        return text
    match = random.choice(words)
    return text[: match.start()] + random.choice(_WORDS.split()) + text[match.end() :]


def _line_ends(random: Random, text: str, _others: list[str]) -> str:
    return text.replace("\n", random.choice(("\r\n", "\r", "\n\n", " \n", "\n\r")))


def _graft(random: Random, text: str, others: list[str]) -> str:
    other = random.choice(others)
    a, b = sorted((_place(random, other), _place(random, other)))
    at = _place(random, text)
    return text[:at] + other[a : min(b, a + 400)] + text[at:]


_KINDS: tuple[Callable[[Random, str, list[str]], str], ...] = (
    _delete,
    _insert,
    _insert_odd,
    _swap,
    _swap_lines,
    _repeat_line,
    _truncate,
    _indent,
    _word,
    _line_ends,
    _graft,
)


def _long_line(random: Random, text: str) -> str:
    at = _place(random, text)
    part = random.choice(_LINES)
    return text[:at] + part * (1_000_000 // len(part)) + text[at:]


def _long_text(random: Random, text: str) -> str:
    return text.replace('"', '"' + random.choice(("a", "\\", '\\"', "\n", "é ")) * 500_000, 1)


def _deep(random: Random, text: str) -> str:
    count = random.choice((99, 101, 2000))
    opening, closing = random.choice(NESTS)
    return text + f"\nscheme deep() -> int:\n    x = {opening * count}1{closing * count}\n"


def _deep_blocks(random: Random, text: str) -> str:
    count = random.choice((99, 101, 2000))
    head = random.choice(("foreach x:", "if x:", "x =", "a b:"))
    lines = [f"{' ' * depth}{head}" for depth in range(1, count)]
    return text + "\nscheme deep() -> int:\n" + "\n".join([*lines, " " * count + "x"]) + "\n"


def _many(random: Random, text: str) -> str:
    line = random.choice(
        ("param a = 1\n", "param a 1\n", "x\n", "# c\n", "\n", "scheme s(\n", '"""\n', ")\n")
    )
    return text + line * (200_000 // len(line))


_LARGE = (_long_line, _long_text, _deep, _deep_blocks, _many)
