"""String literals, both ways: from their source to values, and from values to source.

Escapes are `\\n \\t \\r \\" \\\\`, `\\u` with four hexadecimal digits (a pair of UTF-16 is one character),
and a backslash at the end of a line, which joins it with the next. Any other backslash stays as it is, so
that patterns and LaTeX need no escaping. A text in triple quotes loses the indentation that its lines share,
its first line break and the white space at its end before escapes are read, so that an escape can preserve
white space.
"""

from __future__ import annotations

import re

from gotlang.patterns import lazy_pattern

_MEANINGS = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\", "\n": ""}
_ESCAPE = lazy_pattern(
    r'\\(?:([ntr"\\\n])|u([dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|[0-9a-fA-F]{4}))'
)
# Characters that are not allowed in source text.
_UNWRITABLE = lazy_pattern(r"[\x00-\x08\x0b-\x1f\x7f\u2028\u2029\ufeff]")
# A backslash that would be read as an escape, or precedes a character that is written as one.
_BACKSLASH = lazy_pattern(r'\\(?=[ntr"\\\n\t]|u[0-9a-fA-F]{4}|\Z|' + _UNWRITABLE.pattern + ")")
_NAMED = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}


def unescape(text: str) -> str:
    """The value of a text without its quotes."""
    return _ESCAPE.sub(_meaning, text) if "\\" in text else text


def _meaning(match: re.Match[str]) -> str:
    if match[1] is not None:
        return _MEANINGS[match[1]]
    try:
        return bytes.fromhex(match[2].replace("\\u", "")).decode("utf-16-be")
    except UnicodeDecodeError:  # half a pair is not a character and cannot be written to a file
        return match[0]


def dedent(raw: str) -> list[str]:
    """The lines between triple quotes without their common indentation; escapes are not read yet."""
    body = raw[: _end(raw)]
    first, *rest = body.split("\n")
    margin = min((len(line) - len(line.lstrip(" ")) for line in rest if line.strip(" \t")), default=0)
    lines = [line[margin:] if line.strip(" \t") else "" for line in rest]
    return [first, *lines] if first.strip(" \t") or not rest else lines


def _end(raw: str) -> int:
    """The end of a long text: before its trailing white space, and before lines continued into that."""
    end = len(raw)
    while True:
        stop = end
        while stop and raw[stop - 1] in " \t\n":
            stop -= 1
        slashes = stop
        while slashes and raw[slashes - 1] == "\\":
            slashes -= 1
        if (stop - slashes) % 2 == 0 or "\n" not in raw[stop:end]:
            return stop
        end = stop - 1


def _ends_in_backslash(text: str) -> bool:
    return (len(text) - len(text.rstrip("\\"))) % 2 == 1


def read_long(raw: str) -> str:
    """The value of the source between triple quotes."""
    return unescape("\n".join(dedent(raw)))


def origins(raw: str, long: bool) -> list[int]:
    """For each character of a text's value, and for its end, its place in the source between the quotes."""
    shown, at = raw, list(range(len(raw) + 1))
    if long:
        lines = dedent(raw)
        shown, at, start = "\n".join(lines), [], 0
        ends = raw[: _end(raw)].split("\n")
        for line in ends[: len(ends) - len(lines)]:
            start += len(line) + 1
        for whole, line in zip(ends[len(ends) - len(lines) :], lines, strict=True):
            margin = len(whole) - len(line) if line else 0
            at += range(start + margin, start + margin + len(line) + 1)
            start += len(whole) + 1
    found: list[int] = []
    before = 0
    for escape in _ESCAPE.finditer(shown):
        found += at[before : escape.start()]
        found += [at[escape.start()]] * len(_meaning(escape))
        before = escape.end()
    return [*found, *at[before:]]


def quote(value: str) -> str:
    """A value in quotes on one line."""
    return '"' + re.sub(r'["\n\t\r]', _short, _plain(value)) + '"'


def _short(match: re.Match[str]) -> str:
    return _NAMED.get(match[0]) or "\\" + match[0]


def _plain(value: str) -> str:
    return _UNWRITABLE.sub(_number, _BACKSLASH.sub(r"\\\\", value))


def _number(match: re.Match[str]) -> str:
    return _NAMED.get(match[0]) or f"\\u{ord(match[0]):04x}"


def long_lines(value: str) -> list[str]:
    """A value as lines for triple quotes: with the same indentation, they parse to the value."""
    if not value:
        return []
    body = value.rstrip("\n")
    text = _plain(body).replace('"""', '\\"\\"\\"')
    lines = [_escape_last_space(line) if not line.strip(" \t") else line for line in text.split("\n")]
    if lines[-1][-1:] in {" ", "\t"}:
        lines[-1] = _escape_last_space(lines[-1])
    lines[-1] += "\\n" * (len(value) - len(body))
    if all(line.startswith(" ") for line in lines if line):
        # The indentation is the text's own: without a line at the margin it would be removed.
        first = next(i for i, line in enumerate(lines) if line)
        lines[first] = "\\u0020" + lines[first][1:]
    return lines


def _escape_last_space(line: str) -> str:
    """A line whose last space or tab is written as an escape, so that it is preserved."""
    if not line:
        return line
    before = line[:-1] + "\\" if _ends_in_backslash(line[:-1]) else line[:-1]
    return before + ("\\t" if line[-1] == "\t" else "\\u0020")


def reindented(raw: str, value: str) -> list[str]:
    """The lines of a text in triple quotes as in the source, if they can be indented arbitrarily."""
    lines = dedent(raw)
    again = "\n" + "\n".join("    " + line if line else "" for line in lines) + "\n    "
    return lines if read_long(again) == value else long_lines(value)
