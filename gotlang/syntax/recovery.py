"""What stands for a line that cannot be read, so that the rest of its declaration can.

The line becomes a hole: one character that no program can have, which the grammar knows as a line, as the
first line of a block, or as the head of a declaration (`LOST...` in `got.lark`). Every other character stays
where it is. Of a hole nothing is known, so that nothing is said of what depends on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from msgspec import Struct

from gotlang.patterns import lazy_pattern
from gotlang.syntax.typos import DECLARATIONS, misspelt

_LINE, _BLOCK, _MATCH = "\0\1\2"
HEADS = {
    "prompt": "\3",
    "score": "\4",
    "scheme": "\5",
    "study": "\6",
    "metric": "\7",
    "operation": "\5",
}
"""The hole for the head of a declaration that has a body, by its keyword: an operation becomes a scheme."""
_BLANK = "\x0f"
"""A blank that is no indentation."""
_SEARCH = "\b"
BLOCKS = _BLOCK, _MATCH, _SEARCH
"""The holes for the first line of a block."""
_LOST = {_LINE, _BLOCK, _MATCH, _SEARCH, *HEADS.values()}
_TEXT = '"""'
_GOES_ON = lazy_pattern(r"[(\[{,] *(?:#.*)?$")
_BOUND = lazy_pattern(r"[a-z_]\w*\s*(?::[^=]+)?=\s*(?=\w)")
_WORD = lazy_pattern(r"\w*")
_PART_OF_SEARCH = lazy_pattern(r" *expand *:")
_INPUT = lazy_pattern(r" *(?:[)\]}]|\w+ *: *[^\s=][^=\n]*$)", re.MULTILINE)
"""A line that goes on with the inputs of a declaration."""
_READ = r"parse (?:json|lines|tag|after|with)\b|examples\b[^.\n]*: *$"
"""A line of a prompt below its text."""
_CLOSED_HEAD = lazy_pattern(r"^[)\]}][^\n]*\n", re.MULTILINE)
"""The end of a head over several lines."""
_STATEMENT = lazy_pattern(
    r" *(?:(?:[a-z]\w* *= *)?[A-Z]\w*\(|(?:foreach|repeat|reduce|if|return|match|try|skip)\b(?! *[,)]))"
)
"""A line that is no part of a list or a call above."""
_BRANCH = lazy_pattern(r" *[A-Z]\w*+[^()\n]*: *(?:#.*)?$", re.MULTILINE)

SIGNS = lazy_pattern(
    r'"""[^"\\]*+(?:(?:\\[\s\S]|"(?!""))[^"\\]*+)*+(?P<long>""")?+'
    r'|"(?:[^"\\\n]|\\[^\n])*+(?P<short>")?+'
    r"|#[^\n]*+"
    r"|[()\[\]{}]"
    r"|\\[ \t]*+\n"
    r"|\n[ \t]*+(?=[^ \t\n#])"
)
"""What tells lines apart: texts, comments, brackets, and line ends before code."""


class Hole(Struct, frozen=True):
    """A text with a hole in it: where that is, and what it stands for. None where `at` is -1."""

    text: str
    at: int
    lost: str


def without_line(text: str, fault: int, code: str) -> Hole | None:
    """A declaration with a hole for the line of a mistake; None where there is no room for it."""
    if code == "GOT0004" and (mended := _with_quotes(text, fault)) is not None:
        return mended
    start, end = _region(text, fault, code)
    margin, lost = _margin(text, start), text[start:end].strip()
    column = margin
    if start and (not margin or (code == "GOT0003" and margin not in _levels(text, start))):
        inside = [level for level in _levels(text, start) if level > margin]
        below = _margin(text, _next(text, end))
        column = below if below in inside else min(inside, default=margin or below)
    opens = _margin(text, _next(text, end)) > column
    sign = _head(text, lost) if start == 0 else _sign(text, _next(text, end), lost, opens)
    return _with_hole(text, start, end, column, sign)


def _with_quotes(text: str, at: int) -> Hole | None:
    """A text with a third quote before two, where that changes no indentation."""
    opens = text.count(_TEXT, 0, at) % 2 == 0
    quotes = 2 if text.startswith('""', at) else 1
    spaces = 3 - quotes
    line = text[text.rfind("\n", 0, at) + 1 : text.index("\n", at)]
    if text.startswith(_TEXT, at) or not text.startswith(" " * spaces + '"' * quotes, at - spaces):
        return None
    if quotes == 1 and line.strip() != '"':
        return None
    if opens and not text[text.rfind("\n", 0, at) + 1 : at].strip():
        return None
    return Hole(text[: at - spaces] + _TEXT + text[at + quotes :], -1, "")


_DONE = lazy_pattern(
    r' *(?:[a-z]\w*(?: *:[^=\n]+)? *= *(?:[A-Z]\w*\(|[^a-z\s]|\w+[(.\[])|[A-Z]\w*\(|"|return\b|skip\b|parse\b'
    r'|(?:system|user|assistant|instruction|messages|tools)\b|\w+ +[\d"])'
)
"""A line that opens no block."""


def without_indentation(text: str, fault: int) -> Hole | None:
    """A text in which the lines from one that is too far in are where the line above is, if that opens no
    block; at the margin if that is a declaration."""
    start = text.rfind("\n", 0, fault) + 1
    margin, starts = _margin(text, start), [0, *line_starts(text)]
    if start not in starts:
        return None
    at = starts.index(start)
    column = _levels(text, start)[-1] if at else 0
    first = bool(at) and not _DONE.match(text, starts[at - 1])
    if first:
        below = next((own for line in starts[at:] if (own := _margin(text, line)) < margin), 0)
        column = below if column < below else margin
    if margin <= column:
        return None
    moved = text
    for line in starts[at:]:
        if (own := _margin(text, line)) < margin or (line == 0 and at):
            break
        inner = own if first and own > margin else column + own - margin
        moved = moved[: line + inner] + _BLANK * (own - inner) + moved[line + own :]
        if not at:
            break
    return Hole(moved, -1, "")


def with_head(text: str, base: int) -> str | None:
    """Lines of a block without a declaration, with a hole for its head; None where it has no room."""
    if base < 2 or _margin(text, 0) == 0 or _HEADED.match(text, _margin(text, 0)):
        return None
    return HEADS[_kind(text)] + "\n" + text


_HEADED = lazy_pattern(rf"(?:{'|'.join(DECLARATIONS)})\b|(?:\w+[ \t]+)?\w+\([^\n]*\)[ \t]*->", re.MULTILINE)


def without_body(text: str) -> Hole | None:
    """A declaration with one hole for all of its lines but the head."""
    starts = list(line_starts(text))
    if not starts or not (margin := _margin(text, starts[0])):
        return None
    return _with_hole(text, starts[0], len(text), margin, _LINE)


def without_tabs(text: str) -> Hole:
    """A text with a space for each tab before its lines."""
    spaced = re.sub(r"^[ \t]*\t[ \t]*", lambda found: " " * len(found[0]), text, flags=re.MULTILINE)
    return Hole(spaced, -1, "\t")


def is_hole(text: str, at: int) -> bool:
    """Whether the line of an offset is a hole."""
    start = text.rfind("\n", 0, at) + 1
    return text[start + _margin(text, start)] in _LOST


def misspelt_match(text: str, fault: int) -> re.Match[str] | None:
    """The word that is there for `match` above a line that could be one of its branches."""
    start = text.rfind("\n", 0, fault) + 1
    if not _BRANCH.match(text, start):
        return None
    margin = _margin(text, start)
    while start and _margin(text, start) >= margin:
        start = text.rfind("\n", 0, start - 1) + 1
    at = start + _margin(text, start)
    bound = _BOUND.match(text, at)
    word = _WORD.match(text, bound.end() if bound else at)
    return word if word is not None and misspelt(word[0], ("match",)) else None


def end_of_code(text: str, start: int) -> int:
    """Where the code of the line that starts at an offset ends, before its comment."""
    end = text.find("\n", start)
    line = text[start : end if end >= 0 else len(text)]
    return start + max(1, len(line.split(" #", 1)[0].rstrip()))


def line_starts(text: str) -> Iterator[int]:
    """Where lines with code start that do not continue another one, except the first."""
    depth = 0
    for match in SIGNS.finditer(text):
        mark = match[0][0]
        if mark == "\n" and depth == 0:
            yield match.start() + 1
        elif mark in "([{":
            depth += 1
        elif mark in ")]}":
            depth = max(0, depth - 1)


# ---------------------------------------------------------------- which lines


def _region(text: str, fault: int, code: str) -> tuple[int, int]:
    """The offsets of the lines at fault, up to the start of the next one."""
    start = text.rfind("\n", 0, fault) + 1
    if (head := _CLOSED_HEAD.search(text)) and fault < head.end() and _TEXT not in text[: head.start()]:
        return 0, _next(text, head.end())
    if code == "GOT0004" and text.startswith(_TEXT, fault):
        return start, _end_of_text(text, fault)
    if code == "GOT0004" and (
        text.startswith('""', fault) or text.startswith('"\n', fault)
    ):  # three should start or end a text
        if text.count(_TEXT, 0, fault) % 2:
            return text.rfind("\n", 0, text.rindex(_TEXT, 0, fault)) + 1, _after(text, fault)
        if (closing := text.find(_TEXT, fault)) >= 0:
            return start, _after(text, closing)
    if code in ("GOT0004", "GOT0009"):
        return _unpaired(text, start, fault)
    starts = [0, *line_starts(text), len(text)]
    return next((a, b) for a, b in pairwise(starts) if a <= min(fault, len(text) - 1) < b)


def _end_of_text(text: str, fault: int) -> int:
    """Where a text in three quotes most likely ends that has no end: behind a line that ends with one or
    two, or before a line that says how the response is read."""
    first = text.index("\n", fault)
    margin = _margin(text, text.rfind("\n", 0, fault) + 1)
    found = re.compile(rf'^(?:[^"\n]*""? *\n| {{{margin}}}(?={_READ}))', re.MULTILINE).search(text, first + 1)
    return _next(text, found.end()) - (margin if found[0].isspace() else 0) if found else len(text)


def without_text(text: str, start: int) -> Hole | None:
    """A declaration with a hole for a text whose opening quotes are missing, from the line at fault to the
    end of that text."""
    start = text.rfind("\n", 0, start) + 1
    closing = text.find(_TEXT, start)
    if not start or closing < 0:
        return None
    return _with_hole(text, start, _after(text, closing), _margin(text, start), _LINE)


def _unpaired(text: str, start: int, fault: int) -> tuple[int, int]:
    """The same where an open bracket or quote has swallowed the lines below. `start` is that of its line."""
    end, goes_on = _after(text, start), bool(_GOES_ON.search(text[start : text.index("\n", start)]))
    opened = [0, *line_starts(text[:end])][-1]
    if opened < start and (text[fault] in '")]}' or _closed(text, end, _margin(text, opened))):
        start, goes_on = opened, True
    margin = _margin(text, start)
    if text[start + margin] in ")]}" and _margin(text, text.rfind("\n", 0, start - 1) + 1) > margin:
        while start and _margin(text, start := text.rfind("\n", 0, start - 1) + 1) > margin:
            pass
        start = [0, *line_starts(text[: _after(text, start)])][-1]
    if goes_on:
        last = start
        while not text[last:end].rstrip().endswith(":") and _margin(text, end) > margin:
            if _STATEMENT.match(text, end) or (start == 0 and not _INPUT.match(text, end)):
                break
            last, end = end, _after(text, end)
        if end < len(text) and text[end + _margin(text, end)] in ")]}" and _margin(text, end) == margin:
            end = _after(text, end)
    if not goes_on and text[fault] == '"':
        end = _closed(text, end, margin) or end
    if text.count(_TEXT, start, end) % 2 and (closing := text.find(_TEXT, end)) >= 0:
        end = _after(text, closing)
    return start, end


def _closed(text: str, end: int, margin: int) -> int | None:
    """The end of the lines from an offset on that are further in than a margin, and of the bracket below
    them at that margin; None where there is none."""
    while end < len(text) and _margin(text, end) > margin:
        end = _after(text, end)
    closes = end < len(text) and _margin(text, end) == margin and text[end + margin] in ")]}"
    return _after(text, end) if closes else None


def _after(text: str, start: int) -> int:
    """The start of the next line with anything in it; the text's end if there is none."""
    return _next(text, text.index("\n", start) + 1)


def _next(text: str, at: int) -> int:
    found = re.compile(r"(?:[ ]*(?:#[^\n]*)?\n)*").match(text, at)
    return found.end() if found is not None else at


def _margin(text: str, start: int) -> int:
    """How far the line that starts at an offset is indented."""
    found = re.compile(" *").match(text, start)
    return found.end() - start if found is not None else 0


def _levels(text: str, end: int) -> list[int]:
    """The indentation of the blocks that are open before an offset."""
    levels = [0]
    for start in line_starts(text[:end]):
        margin = _margin(text, start)
        while levels[-1] > margin:
            levels.pop()
        if levels[-1] < margin:
            levels.append(margin)
    return levels


# ---------------------------------------------------------------- which hole


def _with_hole(text: str, start: int, end: int, column: int, sign: str | None) -> Hole | None:
    width = end - start - 1
    if sign is None or width <= column:
        return None
    filled = (" " * column + sign).ljust(width) + "\n"
    return Hole(text[:start] + filled + text[end:], start + column, text[start:end].strip())


def _sign(text: str, end: int, lost: str, opens: bool) -> str:
    """The hole for a line inside a declaration."""
    bound = _BOUND.match(lost)
    word = _WORD.match(lost, bound.end() if bound else 0)
    if opens and word is not None and (word[0] == "match" or misspelt(word[0], ("match",))):
        return _MATCH
    if opens and _PART_OF_SEARCH.match(text, end):
        return _SEARCH
    return _BLOCK if opens else _LINE


def _head(text: str, lost: str) -> str | None:
    """The hole for the head of a declaration with a body; None where it has none."""
    body = text[_next(text, text.index("\n", 0) + 1) :]
    first = lost.split(maxsplit=1)[0] if lost else ""
    word = next((word for word in HEADS if first.startswith(word)), None) or misspelt(first, HEADS)
    if not re.search(r"^ +\S", text, re.MULTILINE):
        return None
    if word is None and first in DECLARATIONS:
        return None
    begun = [word for word in HEADS if first and word.startswith(lost)]
    if word is None and (begun or "(" in lost or lost.endswith(":")):
        word = _kind(body)
        word = word if not begun or word in begun else begun[0]
    return HEADS[word] if word is not None else None


def _kind(body: str) -> str:
    """The keyword of the declaration that most likely has a body."""
    if re.search(r"^ +(?:minimize|maximize|vary) ", body, re.MULTILINE):
        return "study"
    if re.search(r'^ +"', body, re.MULTILINE):
        return "prompt"
    step = re.search(r"^ +(?:\w+ = )?(?:[A-Z]\w*\(|[a-z]+ .*:$)", body, re.MULTILINE)
    return "scheme" if step else "score"
