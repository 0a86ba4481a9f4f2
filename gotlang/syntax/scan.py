"""The scan of a program's text: its declarations, its comments, and errors in brackets, quotes and
indentation."""

from __future__ import annotations

import re

from msgspec import Struct, field

from gotlang.diagnostics import Diagnostic, Fix, Label
from gotlang.patterns import lazy_pattern
from gotlang.span import Fragment
from gotlang.syntax.nodes import Comment
from gotlang.syntax.recovery import SIGNS, end_of_code
from gotlang.syntax.typos import DECLARATIONS, misspelt

MAX_DEPTH = 100  # levels of nested brackets, blocks and expressions

_FIRST_LINE = lazy_pattern(r"[ \t]*+(?=[^ \t\n#])")
_DECLARATION = lazy_pattern(
    r"^(?:(?:function|metric|operation|param|partial|prompt|score|scheme|study|type)[ \t]+\w+[ \t]*[(:=\[]"
    r'|import[ \t]+(?:["pcm]|\w+\.\w)|from[ \t]+["\w][^\n]*[ \t]import\b|simulate[ \t]+with\b'
    r'|(?:test|law)[ \t]+")',
    re.MULTILINE,
)
_INDENTED = lazy_pattern(
    r"(?:function|metric|operation|partial|prompt|score|scheme)[ \t]+\w+[ \t]*[(\[]"
    r"|(?:param|study|type)[ \t]+\w+[ \t]*[:=]"
    r'|import[ \t]+(?:["pcm]|\w+\.\w)|from[ \t]+["\w][^\n]*[ \t]import\b|(?:test|law)[ \t]+"'
    r"|(?:\w+[ \t]+)?\w+\([^\n]*\)[ \t]*->[^\n]*:[ \t]*$",
    re.MULTILINE,
)
"""A line that is a declaration at any indentation."""
_STRAY = lazy_pattern(
    r'[A-Z]\w*[ \t]*[({\[]|["(\[{]|(?:foreach|repeat|reduce|if|elif|else|return|match|try|skip)\b'
    r"|(?:vary|minimize|maximize|parse|examples|instruction|system|user|assistant|messages|tools)[ \t]"
    r"|\w+[ \t]*=|\w+[ \t]+\d"
)
"""A line that is not a declaration, but one of a block."""
_FIRST_WORD = lazy_pattern(r"([a-z]\w*)([ \t]*$)?", re.MULTILINE)
PLAIN = lazy_pattern(r"(?:from|function|import|law|param|partial|simulate|test|type)\b")
"""A declaration without a block."""
PAIRS = {")": "(", "]": "[", "}": "{"}
_BLOCK_ABOVE = lazy_pattern(r"^ +[^ \n#]", re.MULTILINE)
_MAX_RESTARTS = 10
THREE = '"""'
_TWO_QUOTES = lazy_pattern(
    r'^[^"\n]*+(?:"[^"\n]++"[^"\n]*+)*+(?<![)=,(+\[] )(?<![)=,(+\[])""[ ]*+$|^ ++"[ ]*+$', re.MULTILINE
)


class Chunk(Struct):
    """One declaration's text, from the margin to the next one, and the problems that the scan found in it."""

    start: int
    end: int
    problems: list[Diagnostic] = field(default_factory=list)


def scan(fragment: Fragment) -> tuple[list[Chunk], list[Comment]]:
    """The declarations and comments of a text.

    Offsets of chunks are relative to the start of the text, those of comments and problems to the start of
    the source.
    """
    scanner = _LineScanner(fragment)
    at = 0
    while at < len(fragment.text):
        at = scanner.run(at)
    return scanner.chunks, scanner.comments


class _LineScanner:
    def __init__(self, fragment: Fragment) -> None:
        self._text, self._base, self._span = fragment.text, fragment.base, fragment.span
        self.chunks: list[Chunk] = []
        self.comments: list[Comment] = []
        self._brackets: list[tuple[str, int]] = []
        self._columns = [0]
        self._opened: dict[int, int] = {}
        self._long_texts: list[tuple[int, int]] = []
        self._restarts = 0

    def run(self, start: int) -> int:
        """Scan the text from `start` on; returns the offset from which to continue, mostly the text's end."""
        if first := _FIRST_LINE.match(self._text, start):
            self._line(start, first.end())
        for match in SIGNS.finditer(self._text, start):
            at, end = match.span()
            mark = self._text[at]
            if mark == "\n":
                self._line(at + 1, end)
            elif mark == "#":
                self._comment(at, end)
            elif mark == '"' and match["long"] is not None:
                self._long_texts.append((at, end))
            elif mark == '"' and self._text.startswith('"""', at):
                return self._unclosed(at)
            elif mark == '"' and match["short"] is None:
                help = 'close it with `"`, or use `"""` for several lines'
                self._problem("GOT0004", "unterminated string", at, end, help)
            elif mark in "([{":
                self._open(mark, at)
            elif mark in PAIRS:
                self._close(mark, at)
        self._never_closed()
        return len(self._text)

    def _line(self, start: int, code: int) -> None:
        """A line with code on it, if no bracket is open or one was forgotten."""
        indentation = self._text[start:code]
        if self._brackets:
            if indentation or not _DECLARATION.match(self._text, code):
                return
            self._never_closed()
        begun = self.chunks[-1].start if self.chunks else start
        plain = indentation and PLAIN.match(self._text, begun, start)
        orphan = plain and "\n" not in self._text[begun:start].strip()
        first = ""
        if not indentation and self.chunks:
            first = self._text[begun:start].split("\n", 1)[0].partition(" #")[0].rstrip()
        if first and self._text[code] in PAIRS and not first.endswith(":") and not self._below_blank(start):
            return  # the end of a head
        inside = first.endswith(":") or (
            first and not PLAIN.match(first) and _BLOCK_ABOVE.search(self._text, begun, start)
        )
        if inside and (_STRAY.match(self._text, code) or self._continues(start, code)):
            help = "indent it by four spaces per enclosing block"
            self._problem("GOT0003", "a step is indented", start, end_of_code(self._text, code), help)
            return
        lone = 0 < len(indentation) < min(self._columns[1:], default=0) and self._below_blank(start)
        if not indentation or not self.chunks or orphan or lone or _INDENTED.match(self._text, code):
            if self.chunks:
                self.chunks[-1].end = start
            self.chunks.append(Chunk(start, len(self._text)))
            self._columns, self._opened = [0], {}
        if "\t" in indentation:
            at = start + indentation.index("\t")
            self._problem("GOT0003", "tab in the indentation", at, at + 1, "indent with four spaces")
        elif indentation and self.chunks[-1].start == start:
            help = "a declaration starts at the margin: delete the spaces before it"
            self._problem("GOT0003", "unexpected indentation", start, code, help, fix="")
        else:
            self._indent(len(indentation), code)

    def _below_blank(self, start: int) -> bool:
        """Whether a line has a blank line or a comment at the margin directly above it."""
        above = self._text[self._text.rfind("\n", 0, max(0, start - 1)) + 1 : start]
        return not above.strip() or above.startswith("#")

    def _continues(self, start: int, code: int) -> bool:
        """Whether a line at the margin most likely belongs to the block directly above it."""
        word = _FIRST_WORD.match(self._text, code)
        return bool(
            word and not self._below_blank(start)
            and word[1] not in DECLARATIONS and not misspelt(word[1], DECLARATIONS)
            and not (word[2] is not None and any(known.startswith(word[1]) for known in DECLARATIONS))
            and not _DECLARATION.match(self._text, code) and not _INDENTED.match(self._text, code)
        )  # fmt: skip

    def _indent(self, column: int, code: int) -> None:
        columns, opened = self._columns, self._opened
        if column > columns[-1]:
            columns.append(column)
            opened[column] = code
            if len(columns) == MAX_DEPTH + 1:
                self._problem("GOT0005", f"blocks nested more than {MAX_DEPTH} levels deep", code, code + 1)
        inner = columns[-1]
        while column < columns[-1]:
            inner = columns.pop()
        if column != columns[-1]:
            columns.append(column)
            opened[column] = code
            if column == columns[-2] + 4:
                code = opened.get(inner, code)  # this line is right, and the one that began the block is not
            end, help = end_of_code(self._text, code), "align it with the block it belongs to"
            self._problem("GOT0003", "indentation does not match any block above", code, end, help)

    def _comment(self, at: int, end: int) -> None:
        line_start = self._text.rfind("\n", 0, at) + 1
        own_line = not self._text[line_start:at].strip(" \t")
        text = self._text[at:end].rstrip(" \t")
        self.comments.append(Comment(self._span(at, at + len(text)), text, own_line, bool(self._brackets)))

    def _open(self, mark: str, at: int) -> None:
        self._brackets.append((mark, at))
        if len(self._brackets) == MAX_DEPTH + 1:
            self._problem("GOT0005", f"brackets nested more than {MAX_DEPTH} levels deep", at, at + 1)

    def _close(self, mark: str, at: int) -> None:
        if not self._brackets:
            self._problem("GOT0009", f"unmatched `{mark}`", at, at + 1, "delete it, or open it before")
            return
        opened, where = self._brackets[-1]
        if opened == PAIRS[mark]:
            self._brackets.pop()
            return
        near = self._brackets[-MAX_DEPTH:]
        matching = [number - len(near) for number, (sign, _) in enumerate(near) if sign == PAIRS[mark]]
        if matching or self._text.find("\n", where, at) < 0:
            del self._brackets[(matching or [-1])[-1] :]  # it closes none of an earlier line
        label = Label(self._span(where, where + 1), "opened here")
        self._problem("GOT0009", f"`{mark}` does not match `{opened}`", at, at + 1, None, label)

    def _never_closed(self) -> None:
        if self._brackets:
            opened, where = self._brackets[-1]
            self._problem("GOT0009", f"`{opened}` is never closed", where, where + 1)
        self._brackets = []

    def _unclosed(self, at: int) -> int:
        """A string in triple quotes that runs to the end of the file.

        The missing quotes may be those of an earlier string, which then closed where another one should open:
        that one contains a declaration. It is the one to report, and the scan continues after it.
        """
        self._restarts += 1
        if self._restarts <= _MAX_RESTARTS and (pair := self._two_quotes(at)) is not None:
            return pair
        texts = [*self._long_texts, (at, len(self._text))] if self._restarts <= _MAX_RESTARTS else []
        resume = len(self._text)
        for start, end in texts:
            if declaration := _DECLARATION.search(self._text, start + 3, end):
                at, resume = start, declaration.start()
                break
        self._back(at)
        self.chunks[-1].end = resume
        self._problem("GOT0004", 'unterminated `"""` string', at, at + 3)
        return resume

    def _two_quotes(self, at: int) -> int | None:
        """Report a line that ends with two quotes, or is only one, where a text in three should start or end,
        and continue after that text. `at` is the start of the last, unterminated one."""
        texts = [*self._long_texts, (at, len(self._text))]
        first = next((t for t in texts if _DECLARATION.search(self._text, t[0] + 3, t[1])), texts[-1])
        margin = max(chunk.start for chunk in self.chunks if chunk.start <= first[0])
        for start, end in [text for text in texts if margin <= text[0] <= first[0]]:
            declaration = _DECLARATION.search(self._text, start + 3, end)
            found = _TWO_QUOTES.search(self._text, start + 3, declaration.start() if declaration else end)
            if found is not None:
                resume = found.end()
                break
        else:
            before = list(_TWO_QUOTES.finditer(self._text, margin, first[0]))
            if not before:
                return None
            found = before[-1]
            start, resume = found.start(), self._text.index(THREE, found.end()) + 3
        self._back(start)
        count = 2 if found[0].rstrip().endswith('""') else 1
        place = found.start() + len(found[0].rstrip()) - count
        message, which = 'unterminated `"""` string', "two quotes" if count == 2 else "one quote"
        self._problem("GOT0004", message, place, place + count, None, at=f"{which}, not three")
        return resume

    def _back(self, at: int) -> None:
        """Discard what was found from an offset on."""
        while self.chunks[-1].start > at:
            self.chunks.pop()
        chunk = self.chunks[-1]
        chunk.end = len(self._text)
        chunk.problems = [
            p for p in chunk.problems if p.span.start <= self._base + self._text.rfind("\n", 0, at)
        ]
        while self.comments and self.comments[-1].span.start > self._base + at:
            self.comments.pop()
        margin = self._text.rfind("\n", 0, at) + 1
        code = re.compile("[ ]*").match(self._text, margin)
        self._opened = {}
        self._brackets, self._columns, self._long_texts = [], sorted({0, len(code[0]) if code else 0}), []

    def _problem(
        self,
        code: str,
        message: str,
        start: int,
        end: int,
        help: str | None = None,
        *labels: Label,
        at: str = "",
        fix: str | None = None,
    ) -> None:
        span = self._span(start, end)
        edit = Fix(span, fix) if fix is not None else None
        problem = Diagnostic(code, message, span, at, labels=labels, help=help, fix=edit)
        self.chunks[-1].problems.append(problem)
