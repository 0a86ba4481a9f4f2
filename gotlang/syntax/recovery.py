"""Repairs of a declaration with an error, so that the rest of it can be parsed.

A line that cannot be parsed becomes a hole: one character that is invalid in programs, which the grammar
accepts as a line, as the first line of a block, or as the head of a declaration (`LOST...` in `got.lark`).
The content of a hole is unknown, so no errors are reported that depend on it. A wrongly indented line is
moved.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from gotlang.patterns import lazy_pattern
from gotlang.span import Fragment
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
"""A line that continues the inputs of a declaration."""
_READ = r"parse (?:json|lines|tag|after|with)\b|examples\b[^.\n]*: *$"
"""A line of a prompt below its text."""
_CLOSED_HEAD = lazy_pattern(r"^[)\]}][^\n]*\n", re.MULTILINE)
"""The end of a head over several lines."""
_STATEMENT = lazy_pattern(
    r" *(?:(?:[a-z]\w* *= *)?[A-Z]\w*\(|(?:foreach|repeat|reduce|if|return|match|try|skip)\b(?! *[,)]))"
)
"""A line that is not part of a list or a call above."""
_BRANCH = lazy_pattern(r" *[A-Z]\w*+[^()\n]*: *(?:#.*)?$", re.MULTILINE)

SIGNS = lazy_pattern(
    r'"""[^"\\]*+(?:(?:\\[\s\S]|"(?!""))[^"\\]*+)*+(?P<long>""")?+'
    r'|"(?:[^"\\\n]|\\[^\n])*+(?P<short>")?+'
    r"|#[^\n]*+"
    r"|[()\[\]{}]"
    r"|\\[ \t]*+\n"
    r"|\n[ \t]*+(?=[^ \t\n#])"
)
"""The separators of lines: texts, comments, brackets, and line ends before code."""


class Repair(Struct, frozen=True):
    """A declaration as it may have been meant: with a hole for what is `lost` at an offset, or without one if
    `at` is -1."""

    fragment: Fragment
    at: int = -1
    lost: str = ""
    moved: int = -1
    """The offset of a line above the error with another indentation; -1 if there is none."""

    @property
    def place(self) -> int:
        """The offset of the hole in the source; -1 if there is none."""
        return self.fragment.span(self.at, self.at).start if self.at >= 0 else -1


def without_line(fragment: Fragment, fault: int, code: str) -> Iterator[Repair]:
    """A declaration without the line of an error, in the possible ways, the most likely first: with a hole
    for it, if possible."""
    text = fragment.text
    line = text.rfind("\n", 0, fault) + 1
    if code == "GOT0004" and (mended := _with_quotes(fragment, fault)) is not None:
        yield mended
        return
    if text[line:fault].strip() == _TEXT:  # text after the end of a string
        yield Repair(fragment.edited(fault, text.index("\n", fault), ""))
    if code == "GOT0004" and text.startswith(_TEXT + "\n", fault) and not text[line:fault].strip():
        yield from _with_hole(fragment, line, _after(text, line), _margin(text, line), _LINE)
    start, end = _region(text, fault, code)
    if code == "GOT0009" and start < line and text[fault] in ")]}":  # the line that opened it is missing
        yield from _without(fragment, _after(text, start), end, "GOT0003")
    yield from _without(fragment, start, end, code)
    if code == "GOT0001":
        yield from without_text(fragment, fault)


def _without(fragment: Fragment, start: int, end: int, code: str) -> Iterator[Repair]:
    """A declaration with a hole for some of its lines."""
    text = fragment.text
    margin, lost = _margin(text, start), text[start:end].strip()
    levels = _levels(text, start)
    column = margin
    if start and (not margin or (code == "GOT0003" and margin not in levels)):
        inside = [level for level in levels if level > margin]
        below = _margin(text, _next(text, end))
        column = below if below in inside else min(inside, default=(margin and levels[-1]) or below)
    opens = _margin(text, _next(text, end)) > column
    sign = _head(text, lost) if start == 0 else _sign(text, _next(text, end), lost, opens)
    yield from _with_hole(fragment, start, end, column, sign)


def _with_quotes(fragment: Fragment, at: int) -> Repair | None:
    """A text with a third quote added before two, if that changes no indentation."""
    text = fragment.text
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
    return Repair(fragment.edited(at - spaces, at + quotes, _TEXT))


def indentations(fragment: Fragment, fault: int) -> Iterator[Repair]:
    """A declaration with one line, or all of a block, moved to a possible place (the line with the error, the
    one below, and those that began the enclosing blocks; nearest columns first), or with a missing line."""
    text = fragment.text
    if fault == 0:
        yield from _headed(fragment)
        return
    starts = [0, *line_starts(text)]
    at = bisect_right(starts, fault) - 1
    below = at
    while below < len(starts) and _margin(text, starts[below]) >= _margin(text, starts[at]):
        below += 1
    begun = [number for number in _blocks(text, starts[: at + 1]) for number in (number, number - 1)]
    end = starts[at + 1] if at + 1 < len(starts) else len(text)
    own = _margin(text, starts[at])
    if at > 1 and _margin(text, starts[at - 2]) == own != _margin(text, starts[at - 1]):
        margin = _margin(text, starts[at - 1])
        yield replace(_moved(fragment, starts[at - 1 : at], own - margin), moved=starts[at - 1] + margin)
    if text[starts[at] : end].split("#")[0].rstrip().endswith((":", "=")):  # it has no lines yet
        yield _with_line(fragment, end, _margin(text, starts[at]) + 4, _LINE)
    tried = dict.fromkeys([(at, at + 1), (at, below), (at + 1, at + 2), *((n, n + 1) for n in begun[::-1])])
    for first, end in tried:
        if 0 < first < len(starts):
            margin = _margin(text, starts[first])
            above, next_ = (
                _margin(text, starts[n]) if n < len(starts) else 0 for n in (first - 1, first + 1)
            )
            columns = {*_levels(text, starts[first]), above + 4, next_, next_ - 4} - {margin, 0, -4}
            for column in sorted(columns, key=lambda column: abs(column - margin)):
                yield _moved(fragment, starts[first:end], column - margin)
    for sign in BLOCKS:
        yield _with_line(fragment, starts[at], _margin(text, starts[at]) - 4, sign)
    yield from without_text(fragment, fault)


def _with_line(fragment: Fragment, start: int, column: int, sign: str) -> Repair:
    """A declaration with a hole for a line that is missing."""
    return Repair(fragment.edited(start, start, " " * column + sign + "\n"), start + max(0, column))


def _moved(fragment: Fragment, starts: Sequence[int], by: int) -> Repair:
    """Lines with another indentation."""
    for start in reversed(starts):
        margin = _margin(fragment.text, start)
        fragment = fragment.edited(start, start + margin, " " * (margin + by))
    return Repair(fragment)


def _blocks(text: str, starts: Sequence[int]) -> list[int]:
    """The numbers of the lines that began the blocks which are open at the last of some lines."""
    levels, begun = [0], [0]
    for number, start in enumerate(starts):
        margin = _margin(text, start)
        while levels[-1] > margin:
            if number == len(starts) - 1:
                return begun
            del levels[-1], begun[-1]
        if levels[-1] < margin:
            levels.append(margin)
            begun.append(number)
    return begun


def at_margin(fragment: Fragment) -> Repair | None:
    """A declaration whose head is moved to the margin; None if the first line is not a head."""
    text = fragment.text
    below = _next(text, text.index("\n") + 1)
    if (margin := _margin(text, 0)) and (_HEADED.match(text, margin) or _margin(text, below) > margin):
        return _moved(fragment, [0], -margin)
    return None


def with_head(fragment: Fragment) -> Repair | None:
    """Lines of a block without a declaration, with a hole for its head; None if they have one."""
    text = fragment.text
    if _margin(text, 0) == 0:
        return None
    return Repair(fragment.edited(0, 0, HEADS[_kind(text)] + "\n"), 0)


def _headed(fragment: Fragment) -> Iterator[Repair]:
    """A declaration whose head is at the margin: the first line, or a hole for one that is missing."""
    text = fragment.text
    below = _next(text, text.index("\n") + 1)
    margin = _margin(text, 0)
    if margin and (_HEADED.match(text, margin) or _margin(text, below) > margin):
        yield _moved(fragment, [0], -margin)
    elif margin:
        yield from other_heads(Repair(fragment.edited(0, 0, HEADS[_kind(text)] + "\n"), 0))


_HEADED = lazy_pattern(rf"(?:{'|'.join(DECLARATIONS)})\b|(?:\w+[ \t]+)?\w+\([^\n]*\)[ \t]*->", re.MULTILINE)


def other_heads(repair: Repair) -> Iterator[Repair]:
    """A declaration whose head is a hole, and the same with the hole for each other kind of head."""
    yield repair
    if repair.lost.startswith(tuple(HEADS)):
        return
    for sign in dict.fromkeys(HEADS.values()):
        yield replace(repair, fragment=repair.fragment.edited(repair.at, repair.at + 1, sign))


def without_lines(fragment: Fragment, fault: int) -> Repair | None:
    """A declaration of one line without further lines with errors; None if it is the first."""
    start, end = _region(fragment.text, fault, "")
    return Repair(fragment.edited(start, end, "")) if start else None


def without_body(fragment: Fragment) -> Repair | None:
    """A declaration with one hole for all of its lines except the head."""
    text = fragment.text
    starts = list(line_starts(text))
    if not starts or not (margin := _margin(text, starts[0])):
        return None
    return next(_with_hole(fragment, starts[0], len(text), margin, _LINE), None)


def without_tabs(fragment: Fragment) -> Repair:
    """A text with spaces for the tabs before its lines, up to the next column that is a multiple of four."""
    for found in reversed(list(re.finditer(r"^[ \t]*\t[ \t]*", fragment.text, re.MULTILINE))):
        fragment = fragment.edited(*found.span(), found[0].expandtabs(4))
    return Repair(fragment)


def is_hole(text: str, at: int) -> bool:
    """Whether the line of an offset is a hole."""
    start = text.rfind("\n", 0, at) + 1
    return text[start + _margin(text, start)] in _LOST


def misspelt_match(text: str, fault: int) -> re.Match[str] | None:
    """The misspelt word for `match` above a line that could be one of its branches."""
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
    """The end of the code of the line that starts at an offset, before its comment."""
    end = text.find("\n", start)
    line = text[start : end if end >= 0 else len(text)]
    return start + max(1, len(line.split(" #", 1)[0].rstrip()))


def line_starts(text: str) -> Iterator[int]:
    """The starts of lines with code that do not continue another one, except the first."""
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
    """The offsets of the lines with the error, up to the start of the next one."""
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
    """The most likely end of an unterminated text in three quotes: after a line that ends with one or two, or
    before a line with the form of the response."""
    first = text.index("\n", fault)
    margin = _margin(text, text.rfind("\n", 0, fault) + 1)
    found = re.compile(rf'^(?:[^"\n]*""? *\n| {{{margin}}}(?={_READ}))', re.MULTILINE).search(text, first + 1)
    return _next(text, found.end()) - (margin if found[0].isspace() else 0) if found else len(text)


def without_text(fragment: Fragment, start: int) -> Iterator[Repair]:
    """A declaration with a hole for a text whose opening quotes are missing, from the line with the error to
    the end of that text."""
    text = fragment.text
    start = text.rfind("\n", 0, start) + 1
    closing = text.find(_TEXT, start)
    if start and closing >= 0:
        yield from _with_hole(fragment, start, _after(text, closing), _margin(text, start), _LINE)


def _unpaired(text: str, start: int, fault: int) -> tuple[int, int]:
    """The same if an open bracket or quote has swallowed the lines below. `start` is that of its line."""
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
    """The end of the lines from an offset on that are indented more than a margin, and of the bracket below
    them at that margin, or None."""
    while end < len(text) and _margin(text, end) > margin:
        end = _after(text, end)
    closes = end < len(text) and _margin(text, end) == margin and text[end + margin] in ")]}"
    return _after(text, end) if closes else None


def _after(text: str, start: int) -> int:
    """The start of the next line with content; the text's end if there is none."""
    return _next(text, text.index("\n", start) + 1)


def _next(text: str, at: int) -> int:
    found = re.compile(r"(?:[ ]*(?:#[^\n]*)?\n)*").match(text, at)
    return found.end() if found is not None else at


def _margin(text: str, start: int) -> int:
    """The indentation of the line that starts at an offset."""
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


def _with_hole(fragment: Fragment, start: int, end: int, column: int, sign: str | None) -> Iterator[Repair]:
    if sign is not None and end > start:
        filled = (" " * column + sign).ljust(end - start - 1) + "\n"
        lost = fragment.text[start:end].strip()
        yield Repair(fragment.edited(start, end, filled), start + column, lost)


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
    """The hole for the head of a declaration with a body; None if it has none."""
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
        if word in ("score", "scheme") and "->" in lost:
            word = "score" if re.search(r"-> *(?:lower|higher)\b", lost) else "scheme"
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
