"""Program text to nodes. Never raises for a program's mistakes: they come back as diagnostics.

A scan of the whole text comes first: it collects comments, checks brackets, quotes and indentation, and cuts
the text into declarations. The parser then reads one declaration at a time, so that a mistake in one leaves
the others readable, and an unmatched bracket is reported where it is, not where the parser gave up. After a
mistake its line is a hole (`gotlang/syntax/recovery.py`), and the declaration is read again to find the next.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice, pairwise
from types import MappingProxyType
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from gotlang.collecting import relaxed_gc
from gotlang.diagnostics import Diagnostic, Label, in_order
from gotlang.patterns import lazy_pattern
from gotlang.span import MAX_LENGTH, Fragment, Source, Span
from gotlang.syntax.expressions import Argument, Expression, Node
from gotlang.syntax.nodes import ANY_OPERATION, Comment, Declaration, Module, Suite, Vary
from gotlang.syntax.recovery import (
    BLOCKS,
    SIGNS,
    Hole,
    end_of_code,
    is_hole,
    with_head,
    without_body,
    without_indentation,
    without_line,
    without_tabs,
    without_text,
)
from gotlang.syntax.typos import DECLARATIONS, STATEMENTS
from gotlang.syntax.walk import children

MAX_TOKENS = 1_000_000  # words and signs of a program; a string or a comment counts as one
MAX_DEPTH = 100  # levels of nested brackets, blocks and expressions
MAX_PROBLEMS = 50  # mistakes, after which the rest of a program is not read
MAX_EXPLAINED = 400_000  # characters of a declaration for which Lark says what could stand at a mistake
MAX_KNOWN = 10_000  # characters of a declaration that is not read again while it is as it was
MAX_REREAD = 200_000  # characters of declarations that are read again to find the mistakes after a first one

_FORBIDDEN = lazy_pattern(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u2028\u2029\ud800-\udfff]|(?<!\A)\ufeff")
_WORDS = lazy_pattern(r'"""(?:[^"\\]|\\[\s\S]|"(?!""))*+"""|"(?:[^"\\\n]|\\[^\n])*+"|#[^\n]*+|\w++|[^\w\s]')


@relaxed_gc()
def parse(source: Source, known: Sequence[Diagnostic] = ()) -> tuple[Module, tuple[Diagnostic, ...]]:
    """The module of a source, and what is wrong with its syntax; a line with one of the `known` mistakes is
    not read.

    A line with a mistake is a hole in the tree, and a declaration of one line is left out: one run shows as
    many mistakes as it can.
    """
    whole = Span(source.name, 0, len(source.text))
    if problem := _unreadable(source):
        return Module(whole, ()), (problem,)
    text = _without_mark(source.text)
    chunks, comments = scan(Fragment(source.name, text))
    reader = _Reader()
    declarations: list[Declaration] = []
    for chunk in chunks:
        fragment = Fragment(source.name, text[chunk.start : chunk.end], chunk.start)
        own = [problem for problem in known if chunk.start <= problem.span.start < chunk.end]
        declarations.extend(reader.read(fragment, chunk.problems, own))
        if len(reader.problems) >= MAX_PROBLEMS:
            break
    unsure, problems = frozenset(reader.unsure), _without_orphans(text, reader.problems)
    found = Module(whole, tuple(declarations), tuple(comments), unsure, tuple(reader.lost))
    return found, in_order(problems)


_ORPHAN = lazy_pattern(r"( +)(?:else|elif)\b")


def _without_orphans(text: str, problems: list[Diagnostic]) -> list[Diagnostic]:
    """The problems without those of an `else` whose block above has one."""
    starts = {text.rfind("\n", 0, problem.span.start) + 1 for problem in problems}

    def follows(problem: Diagnostic) -> bool:
        start = text.rfind("\n", 0, problem.span.start) + 1
        found = _ORPHAN.match(text, start)
        if found is None or found.end(1) != problem.span.start:
            return False
        while start:
            start = text.rfind("\n", 0, start - 1) + 1
            margin = len(text) - len(text[start:].lstrip(" ")) - start
            if margin <= len(found[1]) and text[start + margin : start + margin + 1].strip():
                return margin == len(found[1]) and (
                    start in starts or text.startswith(("else", "elif"), start + margin)
                )
        return False

    return [problem for problem in problems if not follows(problem)]


def parse_expression(source: Source) -> Expression | Diagnostic:
    """One expression on its own, as in `--fail-if 'mean(mistakes) > 2'`, or the first mistake in it."""
    found: Expression | Diagnostic = _alone(source, "expression")
    return found


def parse_vary(source: Source) -> Vary | Diagnostic:
    """What a study varies, `tries in 1..5`, or the first mistake in it."""
    found: Vary | Diagnostic = _alone(source, "vary_item")
    return found


def _alone(source: Source, rule: str) -> Any:
    if problem := _unreadable(source):
        return problem
    text = _without_mark(source.text)
    code = text.strip(" \t\n")
    fragment = Fragment(source.name, code, text.index(code))
    for chunk in scan(fragment)[0]:
        if chunk.problems:
            return chunk.problems[0]
    found, problems, _ = _run(fragment, rule)
    return problems[0] if problems else found


def _without_mark(text: str) -> str:
    """A byte order mark at the start of a file is no part of the program; offsets stay."""
    return "\n" + text[1:] if text.startswith("\ufeff") else text


def _unreadable(source: Source) -> Diagnostic | None:
    """Why a text is not parsed at all."""
    text = source.text
    if len(text) > MAX_LENGTH:
        return _too_long(source, MAX_LENGTH, f"{MAX_LENGTH:,} characters")
    if found := _FORBIDDEN.search(text):
        code, number = "GOT0002", ord(found[0])
        span = Span(source.name, *found.span())
        if 0xDC80 <= number <= 0xDCFF:  # how Python decodes what is not UTF-8, byte by byte
            message = f"invalid UTF-8 byte {number - 0xDC00:#x}"
            return Diagnostic(code, message, span, help="save the file as UTF-8")
        help = f"delete it; in a string, write `\\u{number:04x}`"
        return Diagnostic(code, f"invalid character U+{number:04X}", span, help=help)
    if len(text) > MAX_TOKENS and (last := next(islice(_WORDS.finditer(text), MAX_TOKENS, None), None)):
        return _too_long(source, last.start(), f"{MAX_TOKENS:,} words and signs")
    return None


def _too_long(source: Source, at: int, limit: str) -> Diagnostic:
    help = "keep long lists and texts in data files or in Python, or split the program with `import`"
    return Diagnostic("GOT0006", f"program longer than {limit}", Span(source.name, at, at + 1), help=help)


# ---------------------------------------------------------------- the scan

_FIRST_LINE = lazy_pattern(r"[ \t]*+(?=[^ \t\n#])")
_DECLARATION = lazy_pattern(
    r"^(?:(?:function|metric|operation|param|partial|prompt|score|scheme|study|type)[ \t]+\w+[ \t]*[(:=\[]"
    r'|import[ \t]+(?:["pcm]|\w+\.\w)|from[ \t]+["\w][^\n]*[ \t]import\b|simulate[ \t]+with\b'
    r'|(?:test|law)[ \t]+")',
    re.MULTILINE,
)
_INDENTED = lazy_pattern(
    r"(?:function|metric|operation|partial|prompt|score|scheme)[ \t]+\w+[ \t]*[(\[]"
    r"|(?:param|type)[ \t]+\w+[ \t]*[:=]"
    r'|import[ \t]+(?:["pcm]|\w+\.\w)|from[ \t]+["\w][^\n]*[ \t]import\b|(?:test|law)[ \t]+"'
    r"|(?:\w+[ \t]+)?\w+\([^\n]*\)[ \t]*->[^\n]*:[ \t]*$",
    re.MULTILINE,
)
"""A line that is a declaration wherever it is."""
_STRAY = lazy_pattern(
    r'[A-Z]\w*[ \t]*[({\[]|["(\[{]|(?:foreach|repeat|reduce|if|elif|else|return|match|try|skip)\b'
    r"|(?:vary|minimize|maximize|parse|examples|instruction|system|user|assistant|messages|tools)[ \t]"
    r"|\w+[ \t]*=|\w+[ \t]+\d"
)
"""A line that is no declaration, but one of a block."""
_PAIRS = {")": "(", "]": "[", "}": "{"}
_BLOCK_ABOVE = lazy_pattern(r"^ +[^ \n#]", re.MULTILINE)
_MAX_RESTARTS = 10
_THREE = '"""'
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

    Chunks count from the start of the text, the places of comments and problems from the start of the source.
    """
    scanner = _Scanner(fragment)
    at = 0
    while at < len(fragment.text):
        at = scanner.run(at)
    return scanner.chunks, scanner.comments


class _Scanner:
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
        """Scans the text from `start` on; the offset to go on from, which is mostly the text's end."""
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
            elif mark in _PAIRS:
                self._close(mark, at)
        self._never_closed()
        return len(self._text)

    def _line(self, start: int, code: int) -> None:
        """A line with code on it, where no bracket is open or one was forgotten."""
        indentation = self._text[start:code]
        if self._brackets:
            if indentation or not _DECLARATION.match(self._text, code):
                return
            self._never_closed()
        begun = self.chunks[-1].start if self.chunks else start
        plain = indentation and _PLAIN.match(self._text, begun, start)
        orphan = plain and "\n" not in self._text[begun:start].strip()
        first = ""
        if not indentation and self.chunks:
            first = self._text[begun:start].split("\n", 1)[0].partition(" #")[0].rstrip()
        if first and self._text[code] in _PAIRS and not first.endswith(":"):
            return  # the end of a head
        inside = first.endswith(":") or (first and _BLOCK_ABOVE.search(self._text, begun, start))
        if inside and _STRAY.match(self._text, code):
            help = "indent it by four spaces for each block that it is in"
            self._problem("GOT0003", "a step is indented", start, end_of_code(self._text, code), help)
            return
        if not indentation or not self.chunks or orphan or _INDENTED.match(self._text, code):
            if self.chunks:
                self.chunks[-1].end = start
            self.chunks.append(Chunk(start, len(self._text)))
            self._columns, self._opened = [0], {}
        if "\t" in indentation:
            at = start + indentation.index("\t")
            self._problem("GOT0003", "tab in the indentation", at, at + 1, "indent with four spaces")
        elif indentation and self.chunks[-1].start == start:
            help = "a declaration starts at the margin: delete the spaces before it"
            self._problem("GOT0003", "unexpected indentation", start, code, help)
        else:
            self._indent(len(indentation), code)

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
        if opened == _PAIRS[mark]:
            self._brackets.pop()
            return
        near = self._brackets[-MAX_DEPTH:]
        matching = [number - len(near) for number, (sign, _) in enumerate(near) if sign == _PAIRS[mark]]
        if matching or self._text.find("\n", where, at) < 0:
            del self._brackets[(matching or [-1])[-1] :]  # a sign too many closes none of an earlier line
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
        that one contains a declaration. It is the one to report, and the scan goes on after it.
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
        """Reports a line that ends with two quotes, or is only one, where a text in three should start or
        end, and goes on after that text. `at` is where the last one starts, which has no end."""
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
            start, resume = found.start(), self._text.index(_THREE, found.end()) + 3
        self._back(start)
        count = 2 if found[0].rstrip().endswith('""') else 1
        place = found.start() + len(found[0].rstrip()) - count
        message, which = 'unterminated `"""` string', "two quotes" if count == 2 else "one quote"
        self._problem("GOT0004", message, place, place + count, None, at=f"{which}, not three")
        return resume

    def _back(self, at: int) -> None:
        """Forget what was found from an offset on."""
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
    ) -> None:
        problem = Diagnostic(code, message, self._span(start, end), at, labels=labels, help=help)
        self.chunks[-1].problems.append(problem)


# ---------------------------------------------------------------- one declaration at a time

_IMPORT = lazy_pattern(r'impo\w*(?: +(python|corpus|mcp)\b)?|from\b|[^\n]*\.got"')
_NAMES_OF_IMPORT = lazy_pattern(r'"[^"\n]*" *:? *\w')
_BARE = lazy_pattern(r"^\w+$")
_BINDS = lazy_pattern(r"^(\w+) *=")
_LAST = lazy_pattern(r"(?<!-> )(?<!: )\b\w+$")
_NAMED = lazy_pattern(
    r"(?:function|metric|operation|prompt|scheme|score) +\w+ *\(|(?:param|type|study) +\w+ *[:=]"
)
_PLAIN = lazy_pattern(r"(?:from|function|import|law|param|partial|simulate|test|type)\b")
_KEYWORD = lazy_pattern(rf"(?:{'|'.join(DECLARATIONS)})\b")
_TRANSPARENT = (Argument, Suite)  # these add no level of their own
_WORD = lazy_pattern(r"[A-Za-z_]\w*")
_MOST_LETTERS = 100


class _Reader:
    """Reads declaration after declaration of a source and collects the problems.

    A broken line is replaced by a hole, of which nothing is known, and the declaration is read again for the
    next mistake. `unsure` are the names that what was lost may have declared: `*` for any, `so*` for those
    that start so. `lost` are the declarations whose inputs were.
    """

    def __init__(self) -> None:
        self._left = MAX_REREAD
        self._lost = False
        self.problems: list[Diagnostic] = []
        self.unsure: set[str] = set()
        self.lost: list[Span] = []

    def read(
        self, fragment: Fragment, known: Sequence[Diagnostic], further: Sequence[Diagnostic] = ()
    ) -> tuple[Declaration, ...]:
        """The declarations of a text that starts at the margin; none where one without a body is wrong.

        `known` are the problems that the scan found in it, `further` are others.
        """
        if self._lost and not _KEYWORD.match(fragment.text):
            # What follows a broken declaration at the margin most likely belongs to it.
            return ()
        whole, lost, tabs = fragment, dict[int, str](), False
        while True:
            left = [p for p in further if not is_hole(fragment.text, p.span.start - fragment.base)][:1]
            typed, known = bool(left) and not known, known or left
            module, problems, fault = _declaration(fragment, lost) if not known else _scanned(fragment, known)
            code = problems[0].code if problems else ""
            torn = (
                self._torn(fragment, known, fault, lost) if code == "GOT0004" and fault is not None else None
            )
            problems, fault = torn or (problems, fault)
            if module is None and fault is not None and is_hole(fragment.text, fault):
                problems, fault = (), None  # not of its author's making
            if module is not None or not (tabs and code == "GOT0003"):  # of the indentation, enough is said
                self._note(problems, whole, typed)
            if module is not None:
                self._lost = False
                return tuple(module.declarations)
            if code == "GOT0003" and fault == 0 and (headed := with_head(fragment.text, fragment.base)):
                fragment = replace(
                    fragment, text=headed, base=fragment.base + len(fragment.text) - len(headed)
                )
                lost[fragment.base] = ""
                self.lost.append(whole.span(0, len(whole.text)))
                known = scan(fragment)[0][0].problems
                continue
            hole = without_text(fragment.text, torn[1]) if torn else None
            if code == "GOT0003" and hole is None and problems:
                hole = without_indentation(fragment.text, problems[0].span.start - fragment.base)
            hole = hole or self._hole(fragment.text, fault, code)
            if hole is None or hole.text == fragment.text:
                return self._nothing(whole)
            first = hole.lost.split("\n", 1)[0]
            if hole.at == 0:
                self.unsure.update(_glued(first))
                if _cut_head(hole.lost):
                    self.lost.append(whole.span(0, len(whole.text)))
            if (block := _block(hole)) is not None:
                self.lost.append(whole.span(hole.at, block))
            if typed:
                self.unsure.update(_BINDS.findall(first), (f"{word}*" for word in _BARE.findall(first)))
            elif hole.at == 0 or not whole.text.startswith("prompt"):
                self.unsure.update(_names(first), _begun(first))
                opens = hole.at == 0 or hole.text[hole.at] in BLOCKS
                if opens and first == hole.lost and not _DECLARES_NONE.match(first):
                    self.unsure.update(f"{word}*" for word in _LAST.findall(first))
            fragment = replace(fragment, text=hole.text)
            if hole.at >= 0:
                lost[fragment.base + hole.at] = hole.lost
            known = scan(fragment)[0][0].problems
            tabs = tabs or hole.lost == "\t"

    def _torn(
        self, fragment: Fragment, known: Sequence[Diagnostic], fault: int, lost: Mapping[int, str]
    ) -> tuple[tuple[Diagnostic, ...], int] | None:
        """The mistake before three quotes that have no end, if these end a text whose opening quotes are
        missing; with its offset."""
        text = fragment.text
        before = text.rfind("\n", 0, fault) + 1
        if not before or not text.startswith(_THREE, fault) or self._left < 0:
            return None
        self._left -= before
        start = replace(fragment, text=text[:before])
        earlier = [p for p in known if p.span.start < fragment.base + before]
        module, problems, at = _scanned(start, earlier) if earlier else _run(start, "module", lost)
        if module is not None or at is None or is_hole(text, at):
            return None
        if not text[text.find("\n", at) : before].strip():
            return None
        return problems, at

    def _hole(self, text: str, fault: int | None, code: str) -> Hole | None:
        """The text with another hole; None where none helps."""
        self._left -= len(text)
        if self._left < 0:
            return None
        if fault is None:
            return without_body(text)
        if code == "GOT0003" and text[fault] == "\t":
            return without_tabs(text)
        hole = without_line(text, fault, code)
        if hole is None and _PLAIN.match(text):
            return None
        return hole if hole is not None or "\n" not in text[:fault] else without_body(text)

    def _note(self, problems: Sequence[Diagnostic], whole: Fragment, typed: bool) -> None:
        self.problems.extend(problems)
        for problem in problems if not typed else ():
            at = problem.span.start - whole.base
            line = whole.text[whole.text.rfind("\n", 0, at) + 1 :].split("\n", 1)[0]
            self.unsure.update(_names(line))

    def _nothing(self, whole: Fragment) -> tuple[Declaration, ...]:
        """No declaration, and the names that it may have had."""
        self._lost = True
        words = _WORD.findall(whole.text if _PLAIN.match(whole.text) else whole.text.split("\n", 1)[0])
        self.unsure.update(words or "*", _glued(whole.text))
        if (found := _IMPORT.match(whole.text)) and not (found[1] and _NAMES_OF_IMPORT.search(whole.text)):
            self.unsure.update("*", {ANY_OPERATION} if '"' in whole.text and not found[1] else ())
        self.unsure.update(_begun(whole.text.split("\n", 1)[0].strip()))
        return ()


_DECLARES_NONE = lazy_pattern(r"(?:\w+ *= *)?(?:if|elif|else|try|match|first|race)\b|[^\n]*\bin\b")


def _block(hole: Hole) -> int | None:
    """Where the block ends whose first line is a hole, if that line may have declared any name in it."""
    text, margin = hole.text, hole.at - hole.text.rfind("\n", 0, hole.at) - 1
    if hole.at <= 0 or hole.lost.endswith((":", "}")) or text[hole.at] not in BLOCKS:
        return None
    if _DECLARES_NONE.match(hole.lost):
        return None
    further = re.compile(rf"^ {{0,{margin}}}(?=[^ \n#])", re.MULTILINE)
    found = further.search(text, text.index("\n", hole.at) + 1)
    return found.start() if found is not None else len(text)


def _cut_head(head: str) -> bool:
    """Whether the head of a declaration may have had more inputs than are there."""
    *lines, last = head.split("\n")
    if re.match(r"oper|\w+ +\w+\[", head):
        return True  # of its parts, nothing is known
    if not lines:
        return not re.search(r"\)|->", last)
    whole = all(line.rstrip().endswith((",", "(", "[", "{")) for line in lines[:-1])
    return not whole or not re.search(r"\w+ *: *\S|[,(\[{]$", lines[-1].rstrip())


_BEGUN = lazy_pattern(r"([a-z]\w*)(?:( +)(\w*))?$")


def _begun(line: str) -> Iterator[str]:
    """What the names start with that a line declares of which only the first words are there."""
    if found := _BEGUN.match(line):
        word, space, name = found.groups()
        if space:
            yield f"{name}*"
        elif any(known.startswith(word) for known in DECLARATIONS):
            yield "*"
        else:
            yield f"{word}*"


def _names(line: str) -> Iterator[str]:
    """The words of a line, and what is left of them behind a keyword."""
    words = _WORD.findall(line)
    yield from map("".join, pairwise(words))  # what is between them, may be too much
    for word in set(words):
        yield word
        yield from (word[len(known) :] for known in STATEMENTS if word.startswith(known))


def _glued(head: str) -> Iterator[str]:
    """What may be names in the first words of a declaration, if what was between two of them is missing."""
    for word in _WORD.findall(head)[:2] if not _NAMED.match(head) else ():
        for at in range(1, min(len(word), _MOST_LETTERS)):
            yield from (word[:at], word[at:])


def _scanned(fragment: Fragment, known: Sequence[Diagnostic]) -> tuple[None, tuple[Diagnostic, ...], int]:
    """The first of the problems that the scan found, and its offset. A text that does not end comes first:
    its quotes are why the rest is wrong."""
    text, base = fragment.text, fragment.base

    def order(problem: Diagnostic) -> tuple[int, bool, int]:
        at = problem.span.start - base
        if problem.code == "GOT0004" and text.startswith(_THREE, at):
            return -1, False, at
        return text.rfind("\n", 0, at), problem.code != "GOT0004", at

    first = min(known, key=order)
    return None, (first,), first.span.start - base


def _declaration(
    fragment: Fragment, lost: Mapping[int, str]
) -> tuple[Any, tuple[Diagnostic, ...], int | None]:
    """The nodes of a declaration. While a text is edited, those before the edit are not read again."""
    return (
        _known(fragment) if not lost and len(fragment.text) <= MAX_KNOWN else _run(fragment, "module", lost)
    )


@lru_cache(1_000)
def _known(fragment: Fragment) -> tuple[Any, tuple[Diagnostic, ...], int | None]:
    return _run(fragment, "module")


def _run(
    fragment: Fragment, start: str, lost: Mapping[int, str] = MappingProxyType({})
) -> tuple[Any, tuple[Diagnostic, ...], int | None]:
    """The node of a text whose brackets match, its mistakes, and the offset of the line that is at fault.
    `lost` are the holes. There is no node where the parser met a mistake."""
    from gotlang.syntax.build import TreeBuilder
    from gotlang.syntax.grammar import reader, tokens_of_lark
    from gotlang.syntax.reader import Unreadable

    builder = TreeBuilder(fragment, lost)
    try:
        node = reader().read(reader().tokens(fragment.text), start, builder)
    except Unreadable as failed:
        if len(fragment.text) > MAX_EXPLAINED:
            at = min(failed.place[0], len(fragment.text) - 1)
            word = fragment.text[at : failed.place[1]].strip()[:30]
            message = f"unexpected `{word}`" if word else "unexpected end of line"
            return None, (Diagnostic("GOT0001", message, fragment.span(at, at + max(1, len(word)))),), at
        from lark.exceptions import UnexpectedInput

        from gotlang.syntax.hints import explain

        builder = TreeBuilder(fragment, lost)
        try:
            node = reader().read(tokens_of_lark(fragment.text, start), start, builder)
        except UnexpectedInput as error:
            problem, fault = explain(error, fragment)
            return None, (problem,), fault
    deep = _too_deep(node)
    return (None, (*builder.problems, deep), None) if deep else (node, tuple(builder.problems), None)


def _too_deep(root: Node) -> Diagnostic | None:
    stack = [(root, 0)]
    while stack:
        node, depth = stack.pop()
        if depth > MAX_DEPTH:
            message = f"nested more than {MAX_DEPTH} levels deep"
            return Diagnostic("GOT0005", message, node.span, help="give parts of it names")
        stack.extend((child, depth + (type(child) not in _TRANSPARENT)) for child in children(node))
    return None
