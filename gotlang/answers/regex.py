"""Linear-time regular expressions, and the same as a grammar of llama.cpp.

They are a subset of Python's: characters, `.`, classes, groups, `|`, `* + ?` and `{m,n}`. Only whole texts
are matched, so lazy quantifiers and assertions would have no effect. Matching follows all alternatives at
once (Thompson, "Regular expression search algorithm", 1968), without backtracking.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from random import Random
from typing import Final, final

from msgspec import Struct, field

from gotlang.errors import LimitExceeded
from gotlang.patterns import lazy_pattern

MOST_PARTS: Final = 2000
"""Maximum size of an expression in characters and classes, with repeated ones counted as often as they must
repeat."""
MOST_STEPS: Final = 5_000_000
_LAST = 0x10FFFF
_MOST_CACHED = 20_000

Ranges = tuple[tuple[int, int], ...]
"""Code points: ranges with both ends, in ascending order."""


class RegexError(ValueError):
    """A malformed expression; `offset` is the place in it, in characters from 0."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


def _ranges(parts: Iterable[tuple[int, int]]) -> Ranges:
    found: list[tuple[int, int]] = []
    for low, high in sorted(parts):
        if found and low <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(high, found[-1][1])
        else:
            found.append((low, high))
    return tuple(found)


def _others(ranges: Ranges) -> Ranges:
    """All code points that are in none of the ranges."""
    ends = [-1, *(end for _, end in ranges)]
    starts = [*(start for start, _ in ranges), _LAST + 1]
    return tuple((a + 1, b - 1) for a, b in zip(ends, starts, strict=True) if a + 1 < b)


def _of(characters: str) -> Ranges:
    return _ranges((ord(c), ord(c)) for c in characters)


_DIGITS, _SPACES = _of("0123456789"), _of(" \t\n\r\f\v")
_WORD = _ranges([*_DIGITS, (65, 90), (97, 122), (95, 95)])
_CLASSES = {"d": _DIGITS, "w": _WORD, "s": _SPACES}
_CLASSES |= {name.upper(): _others(ranges) for name, ranges in _CLASSES.items()}
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v"}
_HEX = {"x": 2, "u": 4}
_COUNT = lazy_pattern(r"\{(\d{1,4})(?:(,)(\d{0,4}))?\}")


@final
class RegexNode(Struct, frozen=True):
    """A part of an expression: one character of `ranges`, or `parts` in sequence or, as `any`, one of them;
    `least` to `most` times (None: unlimited)."""

    ranges: Ranges | None = None
    parts: tuple[RegexNode, ...] = ()
    any: bool = False
    least: int = 1
    most: int | None = 1

    @property
    def size(self) -> int:
        """The number of characters and classes, with repeated ones counted as often as they must repeat."""
        once = 1 if self.ranges is not None else sum(part.size for part in self.parts) + 1
        return once * max(1, self.least, self.most or 0)

    @property
    def empty(self) -> bool:
        """Whether the empty text matches."""
        if self.least == 0:
            return True
        inner = (part.empty for part in self.parts)
        return self.ranges is None and (any(inner) if self.any else all(inner))


@final
class _RegexParser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 1 if text.startswith("^") else 0
        self.depth = 0
        ended = re.search(r"(?<!\\)(?:\\\\)*\$\Z", text) is not None
        self.end = len(text) - 1 if ended else len(text)

    def whole(self) -> RegexNode:
        found = self.alternatives()
        if self.at < self.end:
            raise RegexError("`)` without its `(`", self.at)
        if found.size > MOST_PARTS:
            raise RegexError(f"it has more than {MOST_PARTS:,} parts", 0)
        return found

    def peek(self) -> str:
        return self.text[self.at] if self.at < self.end else ""

    def alternatives(self) -> RegexNode:
        found = [self.sequence()]
        while self.peek() == "|":
            self.at += 1
            found.append(self.sequence())
        return found[0] if len(found) == 1 else RegexNode(parts=tuple(found), any=True)

    def sequence(self) -> RegexNode:
        parts: list[RegexNode] = []
        while (sign := self.peek()) and sign not in "|)":
            parts.append(self.repeated(self.atom()))
        return RegexNode(parts=tuple(parts))

    def repeated(self, node: RegexNode) -> RegexNode:
        start, sign = self.at, self.peek()
        if sign and sign in "*+?":
            self.at += 1
            least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}[sign]
        elif sign == "{" and (counted := _COUNT.match(self.text, self.at, self.end)):
            self.at = counted.end()
            least = int(counted[1])
            most = least if counted[2] is None else int(counted[3]) if counted[3] else None
            if most is not None and most < least:
                raise RegexError("the second number is below the first", start)
        else:
            return node
        if (following := self.peek()) and following in "*+?{":
            raise RegexError(f"`{following}` after `{sign}`: only whole texts are matched", self.at)
        if most is None and node.empty:
            raise RegexError("unbounded repetition of something that may be empty", start)
        found = RegexNode(parts=(node,), least=least, most=most)
        if found.size > MOST_PARTS:
            raise RegexError(f"this has more than {MOST_PARTS:,} parts", start)
        return found

    def atom(self) -> RegexNode:
        start, sign = self.at, self.peek()
        self.at += 1
        match sign:
            case "(":
                return self.group(start)
            case "[":
                return RegexNode(self.bracket(start))
            case ".":
                return RegexNode(_others(_of("\n")))
            case "\\":
                return RegexNode(self.escape(start, inside=False))
            case "*" | "+" | "?":
                raise RegexError(f"nothing before `{sign}` to repeat", start)
            case "^" | "$":
                raise RegexError(f"`{sign}` inside: only whole texts are matched", start)
            case "{" if _COUNT.match(self.text, start, self.end):
                raise RegexError("nothing before the braces to repeat", start)
        return RegexNode(_of(sign))

    def group(self, start: int) -> RegexNode:
        if self.peek() == "?":
            if self.text[self.at : self.at + 2] != "?:":
                message = "only `(...)` and `(?:...)` are groups: no names, flags or assertions"
                raise RegexError(message, start)
            self.at += 2
        self.depth += 1
        if self.depth > 50:
            raise RegexError("more than 50 nested groups", start)
        found = self.alternatives()
        self.depth -= 1
        if self.peek() != ")":
            raise RegexError("`(` without its `)`", start)
        self.at += 1
        return found

    def bracket(self, start: int) -> Ranges:
        negated = self.peek() == "^"
        self.at += negated
        parts: list[tuple[int, int]] = []
        first = True
        while (sign := self.peek()) != "]" or first:
            if not sign:
                raise RegexError("`[` without its `]`", start)
            low = self.member()
            first = False
            if self.peek() == "-" and self.text[self.at + 1 : self.at + 2] not in ("]", ""):
                at, self.at = self.at, self.at + 1
                high = self.member()
                if len(low) != 1 or len(high) != 1 or low[0][0] > high[0][1]:
                    raise RegexError("an invalid range: ends in the wrong order, or a class as an end", at)
                parts.append((low[0][0], high[0][1]))
            else:
                parts += low
        self.at += 1
        found = _ranges(parts)
        return _others(found) if negated else found

    def member(self) -> Ranges:
        start, sign = self.at, self.peek()
        self.at += 1
        return self.escape(start, inside=True) if sign == "\\" else _of(sign)

    def escape(self, start: int, *, inside: bool) -> Ranges:
        sign = self.peek()
        self.at += 1
        if sign in _CLASSES:
            return _CLASSES[sign]
        if sign in _CONTROLS:
            return _of(_CONTROLS[sign])
        if (digits := _HEX.get(sign)) is not None:
            written = self.text[self.at : self.at + digits]
            if not re.fullmatch(r"[0-9a-fA-F]+", written) or len(written) < digits:
                raise RegexError(f"`\\{sign}` needs {digits} hexadecimal digits", start)
            self.at += digits
            return _of(chr(int(written, 16)))
        if not sign or sign.isalnum():
            known = "`\\d \\w \\s \\D \\W \\S \\n \\t \\r \\f \\v \\xHH \\uHHHH`"
            raise RegexError(f"`\\{sign}` is not known; there are {known}, and signs as themselves", start)
        return _of(sign)


def _example(node: RegexNode, chance: Random) -> str:
    most = node.least + 2 if node.most is None else min(node.most, node.least + 2)
    return "".join(_once(node, chance) for _ in range(chance.randint(node.least, most)))


def _once(node: RegexNode, chance: Random) -> str:
    if node.ranges is None:
        parts = (chance.choice(node.parts),) if node.any else node.parts
        return "".join(_example(part, chance) for part in parts)
    if not node.ranges:
        return ""  # `[^\\s\\S]`, which matches nothing
    plain = [(max(low, a), min(high, b)) for low, high in node.ranges for a, b in _WORD]
    low, high = chance.choice([one for one in plain if one[0] <= one[1]] or node.ranges)
    return chr(chance.randint(low, min(high, low + 25)))


@final
class Regex(Struct):
    """A parsed regular expression: `text` without `^` at its start and `$` at its end."""

    text: str
    node: RegexNode
    _arcs: list[list[tuple[Ranges, int]]] = field(default_factory=list)
    _free: list[list[int]] = field(default_factory=list)
    _known: dict[tuple[frozenset[int], str], frozenset[int]] = field(default_factory=dict)
    _ends: tuple[int, int] = (0, 0)

    @staticmethod
    @lru_cache(maxsize=256)
    def parse(text: str) -> Regex:
        """Read an expression. Raises RegexError, with the place."""
        parser = _RegexParser(text)
        start = parser.at
        found = Regex(text[start : parser.end], parser.whole())
        found._ends = found._build(found.node)
        return found

    def matches(self, text: str) -> bool:
        """Whether the whole text matches. Raises LimitExceeded for one too long for the expression."""
        now, steps = self._closed([self._ends[0]]), 0
        for sign in text:
            following = self._known.get((now, sign))
            if following is None:
                steps += len(now)
                if steps > MOST_STEPS:
                    raise LimitExceeded("a text too long for this regular expression")
                code = ord(sign)
                following = self._closed(
                    [
                        target
                        for state in now
                        for ranges, target in self._arcs[state]
                        if any(low <= code <= high for low, high in ranges)
                    ]
                )
                if len(self._known) > _MOST_CACHED:
                    self._known.clear()
                self._known[now, sign] = following
            now = following
            if not now:
                return False
        return self._ends[1] in now

    def example(self, chance: Random) -> str:
        """A short text that matches."""
        return _example(self.node, chance)

    def _state(self) -> int:
        self._arcs.append([])
        self._free.append([])
        return len(self._arcs) - 1

    def _build(self, node: RegexNode) -> tuple[int, int]:
        """The first and the last state of a node."""
        start = end = self._state()
        for _ in range(node.least):
            end = self._after(end, node)
        if node.most is None:
            again, loop = self._state(), self._state()
            self._free[end].append(loop)
            self._free[self._after(loop, node)].append(loop)
            self._free[loop].append(again)
            return start, again
        last, optional = self._state(), node.most - node.least
        for _ in range(optional):
            self._free[end].append(last)
            end = self._after(end, node)
        self._free[end].append(last)
        return start, last

    def _after(self, start: int, node: RegexNode) -> int:
        """The state after one occurrence of the node, from a state."""
        end = self._state()
        if node.ranges is not None:
            self._arcs[start].append((node.ranges, end))
        elif node.any:
            for part in node.parts:
                first, last = self._build(part)
                self._free[start].append(first)
                self._free[last].append(end)
        else:
            for part in node.parts:
                first, last = self._build(part)
                self._free[start].append(first)
                start = last
            self._free[start].append(end)
        return end

    def _closed(self, states: list[int]) -> frozenset[int]:
        seen = set(states)
        while states:
            for state in self._free[states.pop()]:
                if state not in seen:
                    seen.add(state)
                    states.append(state)
        return frozenset(seen)

    def gbnf(self) -> str:
        """The equivalent grammar of llama.cpp."""
        return f"root ::= {_written(self.node)}"


def _written(node: RegexNode) -> str:
    if node.ranges is not None:
        return _class(node.ranges)
    inner = (" | " if node.any else " ").join(map(_written, node.parts)) or '""'
    if node.least == node.most == 1:
        return inner if len(node.parts) == 1 and not node.any else f"({inner})"
    most = "" if node.most is None else str(node.most)
    return f"({inner}){{{node.least},{most}}}"


def _class(ranges: Ranges) -> str:
    negated = bool(ranges) and ranges[-1][1] == _LAST
    shown = _others(ranges) if negated else ranges
    if negated and not shown:
        return "."
    inside = "".join(_code(a) if a == b else f"{_code(a)}-{_code(b)}" for a, b in shown)
    return f"[{'^' if negated else ''}{inside}]"


def _code(code: int) -> str:
    if chr(code).isascii() and chr(code).isalnum():
        return chr(code)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def escaped(text: str) -> str:
    """A regular expression that matches exactly this text."""
    return "".join(c if c.isalnum() or c in " _" else _in_regex(c) for c in text)


def _in_regex(sign: str) -> str:
    shown = next((f"\\{name}" for name, c in _CONTROLS.items() if c == sign), "")
    return shown or (f"\\{sign}" if sign.isascii() and sign.isprintable() else sign)


_TOKEN = lazy_pattern(
    r"""(?P<space>(?:\s|\#[^\n]*)+)|(?P<name>[a-zA-Z][\w-]*)(?P<rule>\s*::=)?|(?P<open>\()|(?P<close>\))"""
    r"""|"(?:\\.|[^"\\\n])*"|\[(?:\\.|[^\]\\\n])*\]|[|*+?.]|\{\d+(?:,\d*)?\}"""
)


def wrong_in_grammar(text: str) -> tuple[str, int] | None:
    """The first error in a grammar, and its offset, in characters from 0; None if it has rules, one of them
    `root`, and defines each rule that it uses."""
    at, defined, used, opened = 0, set[str](), dict[str, int](), list[int]()
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            return f"`{text[at]}` is not valid in a grammar here", at
        if found["rule"] or found["close"] or not (defined or found["space"]):
            if found["rule"] and opened:
                return "`(` without its `)`", opened[-1]
            if found["close"] and not opened:
                return "`)` without its `(`", at
            if not found["rule"] and not defined:
                return "a grammar begins with a rule: `root ::= ...`", at
        if found["rule"]:
            if found["name"] in defined:
                return f"a second rule `{found['name']}`", at
            defined.add(found["name"])
        elif found["name"]:
            used.setdefault(found["name"], at)
        elif found["open"]:
            opened.append(at)
        elif found["close"]:
            opened.pop()
        at = found.end()
    if opened:
        return "`(` without its `)`", opened[-1]
    missing = next((name for name in used if name not in defined), None)
    if missing is not None:
        return f"there is no rule `{missing}`", used[missing]
    return None if "root" in defined else ("there is no rule `root`, with which a grammar starts", 0)
