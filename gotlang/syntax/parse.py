"""Program text to nodes. Never raises for errors in a program: they are returned as diagnostics.

A scan of the whole text comes first: it collects comments, checks brackets, quotes and indentation, and
splits the text into declarations. The parser then parses one declaration at a time, so that an error in one
does not affect the others, and an unmatched bracket is reported at its place. After an error its line becomes
a hole (`gotlang/syntax/recovery.py`), and the declaration is parsed again to find the next one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice, pairwise
from types import MappingProxyType
from typing import Any

from msgspec.structs import replace

from gotlang.diagnostics import Diagnostic, in_order
from gotlang.gc_tuning import relaxed_gc
from gotlang.patterns import lazy_pattern
from gotlang.span import MAX_LENGTH, Fragment, Source, Span
from gotlang.syntax.expressions import Argument, Expression, Node
from gotlang.syntax.nodes import ANY_OPERATION, Declaration, Module, Suite, Vary
from gotlang.syntax.recovery import (
    BLOCKS,
    Repair,
    end_of_code,
    indentations,
    is_hole,
    other_heads,
    without_body,
    without_line,
    without_lines,
    without_tabs,
    without_text,
)
from gotlang.syntax.scan import MAX_DEPTH, PAIRS, PLAIN, THREE, scan
from gotlang.syntax.typos import DECLARATIONS, STATEMENTS
from gotlang.syntax.walk import children

MAX_TOKENS = 1_000_000  # words and signs of a program; a string or a comment counts as one
MAX_PROBLEMS = 50  # maximum number of reported errors; further declarations with errors are left out
MAX_EXPLAINED = 400_000  # characters of a declaration for which Lark reports the expected tokens
MAX_KNOWN = 10_000  # characters of a declaration that is not parsed again if it is unchanged
MAX_REREAD = 400_000  # characters of declarations that are parsed again to find errors after a first one

_FORBIDDEN = lazy_pattern(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u2028\u2029\ud800-\udfff]|(?<!\A)\ufeff")
_WORDS = lazy_pattern(r'"""(?:[^"\\]|\\[\s\S]|"(?!""))*+"""|"(?:[^"\\\n]|\\[^\n])*+"|#[^\n]*+|\w++|[^\w\s]')


@relaxed_gc()
def parse(source: Source, known: Sequence[Diagnostic] = ()) -> tuple[Module, tuple[Diagnostic, ...]]:
    """The module of a source, and its syntax errors; a line with one of the `known` errors is treated as
    unreadable.

    A line with an error is a hole in the tree, and a declaration of one line is left out: one run reports as
    many errors as possible.
    """
    whole = Span(source.name, 0, len(source.text))
    if problem := _too_much(source):
        return Module(whole, ()), (problem,)
    wrong, text = _invalid(source), _readable(source.text)
    if len(wrong) >= MAX_PROBLEMS:
        return Module(whole, ()), (next(iter(wrong.values())),)  # not a program
    chunks, comments = scan(Fragment(source.name, text))
    reader = _Reader()
    declarations: list[Declaration] = []
    for chunk in chunks:
        fragment = Fragment(source.name, text[chunk.start : chunk.end], chunk.start)
        own = [problem for problem in known if chunk.start <= problem.span.start < chunk.end]
        declarations.extend(reader.read(fragment, chunk.problems, own))
        if len(reader.problems) >= MAX_PROBLEMS:
            reader.no_more_repairs()
    unsure, problems = frozenset(reader.unsure), _without_orphans(text, reader.problems)
    if wrong:
        problems = [p for p in problems if source.position(p.span.start)[0] not in wrong]
        problems += wrong.values()
    found = Module(whole, tuple(declarations), tuple(comments), unsure, tuple(reader.unreadable))
    return found, in_order(problems)[:MAX_PROBLEMS]


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
    """A single expression, as in `--fail-if 'mean(mistakes) > 2'`, or the first error in it."""
    found: Expression | Diagnostic = _alone(source, "expression")
    return found


def parse_vary(source: Source) -> Vary | Diagnostic:
    """A dimension of a study, `tries in 1..5`, or the first error in it."""
    found: Vary | Diagnostic = _alone(source, "vary_item")
    return found


def _alone(source: Source, rule: str) -> Any:
    if problem := _too_much(source):
        return problem
    if wrong := _invalid(source):
        return next(iter(wrong.values()))
    text = _readable(source.text)
    code = text.strip(" \t\n")
    fragment = Fragment(source.name, code, text.index(code))
    for chunk in scan(fragment)[0]:
        if chunk.problems:
            return chunk.problems[0]
    found, problems, _ = _run(fragment, rule)
    return problems[0] if problems else found


def _readable(text: str) -> str:
    """A text without a byte order mark at its start, which is not part of the program, and with spaces for
    invalid characters; offsets stay."""
    text = "\n" + text[1:] if text.startswith("\ufeff") else text
    return _FORBIDDEN.sub(" ", text)


def _invalid(source: Source) -> dict[int, Diagnostic]:
    """By line, the first invalid character."""
    found: dict[int, Diagnostic] = {}
    for match in _FORBIDDEN.finditer(source.text):
        line = source.position(match.start())[0]
        if line in found:
            continue
        number = ord(match[0])
        if 0xDC80 <= number <= 0xDCFF:  # Python decodes invalid UTF-8 byte by byte like this
            message, help = f"invalid UTF-8 byte {number - 0xDC00:#x}", "save the file as UTF-8"
        else:
            message = f"invalid character U+{number:04X}"
            help = f"delete it; in a string, write `\\u{number:04x}`"
        found[line] = Diagnostic("GOT0002", message, Span(source.name, *match.span()), help=help)
    return found


def _too_much(source: Source) -> Diagnostic | None:
    """Why a text is not parsed at all."""
    text = source.text
    if len(text) > MAX_LENGTH:
        return _too_long(source, MAX_LENGTH, f"{MAX_LENGTH:,} characters")
    if len(text) > MAX_TOKENS and (last := next(islice(_WORDS.finditer(text), MAX_TOKENS, None), None)):
        return _too_long(source, last.start(), f"{MAX_TOKENS:,} words and signs")
    return None


def _too_long(source: Source, at: int, limit: str) -> Diagnostic:
    help = "keep long lists and texts in data files or in Python, or split the program with `import`"
    return Diagnostic("GOT0006", f"program longer than {limit}", Span(source.name, at, at + 1), help=help)


# ---------------------------------------------------------------- one declaration at a time

_IMPORT = lazy_pattern(r'impo\w*(?: +(python|corpus|mcp)\b)?|from\b|[^\n]*(?:\.got"|\bimport\b)')
_NAMES_OF_IMPORT = lazy_pattern(r'"[^"\n]*" *:? *\w')
_NAMES_OF_FROM = lazy_pattern(r"from\b.*\bimport +\w")
_BARE = lazy_pattern(r"^\w+$")
_BINDS = lazy_pattern(r"^(\w+) *=")
_LAST = lazy_pattern(r"(?<!-> )(?<!: )\b\w+$")
_NAMED = lazy_pattern(
    r"(?:function|metric|operation|prompt|scheme|score) +\w+ *\(|(?:param|type|study) +\w+ *[:=]"
)
_KEYWORD = lazy_pattern(rf"(?:{'|'.join(DECLARATIONS)})\b")
_TRANSPARENT = (Argument, Suite)  # these add no level of their own
_WORD = lazy_pattern(r"[A-Za-z_]\w*", re.ASCII)
_MOST_LETTERS = 100


class _Reader:
    """Parses the declarations of a source one by one and collects the problems.

    A broken line is replaced by a hole, whose content is unknown, and the declaration is parsed again for the
    next error. `unsure` are the names that unreadable lines may have declared: `*` for any, `so*` for those
    with this prefix. `lost` are the declarations whose inputs are unreadable.
    """

    def __init__(self) -> None:
        self._left = MAX_REREAD
        self._lost = False
        self.problems: list[Diagnostic] = []
        self.unsure: set[str] = set()
        self.unreadable: list[Span] = []

    def no_more_repairs(self) -> None:
        """Leave out each further declaration with an error."""
        self._left = -1

    def read(
        self, fragment: Fragment, known: Sequence[Diagnostic], further: Sequence[Diagnostic] = ()
    ) -> tuple[Declaration, ...]:
        """The declarations of a text that starts at the margin; none if one without a body has an error.

        `known` are the problems that the scan found in it, `further` are others.
        """
        if self._lost and not _KEYWORD.match(fragment.text):
            # Lines after a broken declaration at the margin most likely belong to it.
            return ()
        whole, lost, tabs, noted = fragment, dict[int, str](), False, list[tuple[int, Diagnostic, bool]]()
        while True:
            left = [p for p in further if not is_hole(fragment.text, fragment.offset(p.span.start))][:1]
            typed, known = bool(left) and not known, known or left
            module, problems, fault = _declaration(fragment, lost) if not known else _scanned(fragment, known)
            code = problems[0].code if problems else ""
            torn = (
                self._torn(fragment, known, fault, lost) if code == "GOT0004" and fault is not None else None
            )
            problems, fault = torn or (problems, fault)
            if module is None and fault is not None and is_hole(fragment.text, fault):
                problems, fault = (), None  # not written by its author
            if module is not None:
                self._note(problems, whole, typed)
                self.problems.extend([*_without_consequences(noted, fragment, whole), *problems])
                self._lost = False
                return tuple(module.declarations)
            repair = next(without_text(fragment, torn[1]), None) if torn else None
            if code == "GOT0003" and problems:
                fault = fragment.offset(problems[0].span.start)
            repair = repair or self._repair(fragment, fault, code, lost, _next_mistake(fragment, known))
            if repair is not None and repair.moved >= 0:
                place = fragment.span(repair.moved, end_of_code(fragment.text, repair.moved))
                problems = tuple(replace(p, span=place) for p in problems)
            if not (tabs and code == "GOT0003"):  # errors of the indentation are already reported
                self._note(problems, whole, typed)
                at = repair.place if repair is not None else -1
                noted += [(at, problem, _is_shape(problem, whole)) for problem in problems]
            if repair is None or repair.fragment.text == fragment.text:
                self.problems.extend(_without_consequences(noted, fragment, whole))
                return self._nothing(whole)
            tabs = tabs or (code == "GOT0003" and fragment.text[fault or 0] == "\t")
            fragment = repair.fragment
            known = [problem for chunk in scan(fragment)[0] for problem in chunk.problems]
            if repair.at >= 0:
                place = fragment.span(repair.at, len(fragment.text))
                lost[repair.place] = repair.lost
                self._lose(repair, place, whole, typed)

    def _lose(self, repair: Repair, place: Span, whole: Fragment, typed: bool) -> None:
        """Record what a hole may have declared. `place` is that of the hole and of the lines below."""
        first = repair.lost.split("\n", 1)[0]
        if first.startswith("="):
            self.unreadable.append(place)
        if repair.at == 0:
            self.unsure.update(_glued(first))
            if _cut_head(repair.lost):
                self.unreadable.append(whole.span(0, len(whole.text)))
        if (block := _block(repair)) is not None:
            self.unreadable.append(repair.fragment.span(repair.at, block))
        if typed:
            self.unsure.update(_BINDS.findall(first), (f"{word}*" for word in _BARE.findall(first)))
        elif repair.at == 0 or not whole.text.startswith("prompt"):
            self.unsure.update(_names(repair.lost if repair.at == 0 else first), _begun(first))
            opens = repair.at == 0 or repair.fragment.text[repair.at] in BLOCKS
            if opens and first == repair.lost and not _DECLARES_NONE.match(first):
                self.unsure.update(f"{word}*" for word in _LAST.findall(first))

    def _torn(
        self, fragment: Fragment, known: Sequence[Diagnostic], fault: int, lost: Mapping[int, str]
    ) -> tuple[tuple[Diagnostic, ...], int] | None:
        """The error before three unterminated quotes, if these end a text whose opening quotes are missing;
        with its offset."""
        text = fragment.text
        before = text.rfind("\n", 0, fault) + 1
        if not before or not text.startswith(THREE, fault) or self._left < 0:
            return None
        self._left -= before
        start = replace(fragment, text=text[:before])
        earlier = [p for p in known if fragment.offset(p.span.start) < before]
        module, problems, at = _scanned(start, earlier) if earlier else _run(start, "module", lost)
        if module is not None or at is None or is_hole(text, at):
            return None
        if not text[text.find("\n", at) : before].strip():
            return None
        return problems, at

    def _repair(
        self, fragment: Fragment, fault: int | None, code: str, lost: Mapping[int, str], enough: int
    ) -> Repair | None:
        """The declaration with another repair, with which it can be parsed up to `enough` if there is one;
        None if none helps."""
        text = fragment.text
        self._left -= len(text)
        if self._left < 0:
            return None
        if fault is None:
            return without_body(fragment)
        if code == "GOT0003" and text[fault] == "\t":
            return without_tabs(fragment)
        if code == "GOT0003":
            reached = self._readable(fragment, lost)
            if moved := self._most_readable(indentations(fragment, fault), lost, enough, reached):
                return moved
        if PLAIN.match(text):
            blank = without_lines(fragment, fault)
            return blank if blank and self._readable(blank.fragment, lost)[0] == MAX_LENGTH else None
        hole = self._most_readable(without_line(fragment, fault, code), lost, enough)
        if hole is not None and hole.at == 0:
            hole = self._most_readable(other_heads(hole), lost, enough)
        return hole if hole is not None or "\n" not in text[:fault] else without_body(fragment)

    def _most_readable(
        self,
        repairs: Iterable[Repair],
        lost: Mapping[int, str],
        enough: int,
        most: tuple[int, int] = (-1, -1),
    ) -> Repair | None:
        """The repair with which the most can be parsed, the first of equals; None if that is only `most`."""
        best = None
        for repair in repairs:
            self._left -= len(repair.fragment.text)
            if self._left < 0:
                return best or (repair if most < (0, 0) else None)
            reached = self._readable(repair.fragment, {**lost, repair.place: repair.lost})
            if reached > most:
                best, most = repair, reached
            if most[0] >= enough:
                break
        return best

    def _readable(self, fragment: Fragment, lost: Mapping[int, str]) -> tuple[int, int]:
        """How far a declaration can be parsed, and how far its brackets, quotes and indentation are correct,
        as offsets in the source; MAX_LENGTH for all of it."""
        known = [problem.span.start for chunk in scan(fragment)[0] for problem in chunk.problems]
        scanned = min(known, default=MAX_LENGTH)
        return min(scanned, _reached(fragment, lost)), scanned

    def _note(self, problems: Sequence[Diagnostic], whole: Fragment, typed: bool) -> None:
        for problem in problems if not typed else ():
            at = problem.span.start - whole.base
            line = whole.text[whole.text.rfind("\n", 0, at) + 1 :].split("\n", 1)[0]
            self.unsure.update(_names(line))

    def _nothing(self, whole: Fragment) -> tuple[Declaration, ...]:
        """No declaration, and the names that it may have had."""
        self._lost = True
        words = _WORD.findall(whole.text if PLAIN.match(whole.text) else whole.text.split("\n", 1)[0])
        self.unsure.update(words or "*", _glued(whole.text))
        if (found := _IMPORT.match(whole.text)) and not (found[1] and _NAMES_OF_IMPORT.search(whole.text)):
            listed = found[1] or _NAMES_OF_FROM.match(whole.text)
            self.unsure.update("*", {ANY_OPERATION} if '"' in whole.text and not listed else ())
        self.unsure.update(_begun(whole.text.split("\n", 1)[0].strip()))
        return ()


_DECLARES_NONE = lazy_pattern(r"(?:\w+ *= *)?(?:if|elif|else|try|match|first|race)\b|[^\n]*\bin\b")


def _next_mistake(fragment: Fragment, known: Sequence[Diagnostic]) -> int:
    """The offset in the source after the code above the second of some errors; else MAX_LENGTH."""
    later = sorted(fragment.offset(p.span.start) for p in known)[1:]
    before = fragment.text[: fragment.text.rfind("\n", 0, later[0])].rstrip() if later else ""
    return fragment.span(len(before), len(before)).start if later else MAX_LENGTH


def _block(hole: Repair) -> int | None:
    """The end of the block whose first line is a hole, if that line may have declared any name in it."""
    text = hole.fragment.text
    margin = hole.at - text.rfind("\n", 0, hole.at) - 1
    if hole.at <= 0 or hole.lost.endswith((":", "}")) or text[hole.at] not in BLOCKS:
        return None
    if _DECLARES_NONE.match(hole.lost):
        return None
    further = re.compile(rf"^ {{0,{margin}}}(?=[^ \n#])", re.MULTILINE)
    found = further.search(text, text.index("\n", hole.at) + 1)
    return found.start() if found is not None else len(text)


def _is_shape(problem: Diagnostic, whole: Fragment) -> bool:
    """Whether an error is that of a closing bracket at the start of a line, or of the indentation, which may
    be a consequence of the line above or below."""
    at = problem.span.start - whole.base
    closes = whole.text[at] in PAIRS and not whole.text[whole.text.rfind("\n", 0, at) + 1 : at].strip()
    return problem.code == "GOT0003" or (problem.code == "GOT0009" and closes)


def _without_consequences(
    noted: Sequence[tuple[int, Diagnostic, bool]], fragment: Fragment, whole: Fragment
) -> Iterator[Diagnostic]:
    """The errors, each with the place of its hole or -1, without consequences: of consecutive holes the first
    is reported if only the shape of the others is wrong, and one error per line."""
    last, before = -1, False
    told = set[int]()
    for at, problem, shape in sorted(noted, key=lambda each: each[0]):
        here = fragment.offset(at) if at >= 0 else -1
        near = -1 < last <= here and not fragment.text[last + 1 : here].strip()
        line = whole.text[: problem.span.start - whole.base].count("\n")
        if not (near and (here == last or shape or before)) and line not in told:
            yield problem
            told.add(line)
        if at >= 0:
            last, before = here, shape


def _cut_head(head: str) -> bool:
    """Whether the unreadable head of a declaration may have had other inputs."""
    if re.search(r"^ *:|\( *:|, *:", head, re.MULTILINE):
        return True
    *lines, last = head.split("\n")
    if re.match(r"oper|\w+ +\w+\[", head):
        return True  # nothing is known of its parts
    if not lines:
        return not re.search(r"\)|->", last)
    whole = all(line.rstrip().endswith((",", "(", "[", "{")) for line in lines[:-1])
    return not whole or not re.search(r"\w+ *: *\S|[,(\[{]$", lines[-1].rstrip())


_BEGUN = lazy_pattern(r"([a-z]\w*)(?:( +)(\w*))?$")


def _begun(line: str) -> Iterator[str]:
    """The prefixes of the names that a line declares of which only the first words exist."""
    if found := _BEGUN.match(line):
        word, space, name = found.groups()
        if space:
            yield f"{name}*"
        elif any(known.startswith(word) for known in DECLARATIONS):
            yield "*"
        else:
            yield f"{word}*"


def _names(line: str) -> Iterator[str]:
    """The words of a line, and the rest of them after a keyword."""
    words = _WORD.findall(line)
    yield from map("".join, pairwise(words))  # what is between them may be superfluous
    for word in set(words):
        yield word
        yield from (word[len(known) :] for known in STATEMENTS if word.startswith(known))


def _glued(head: str) -> Iterator[str]:
    """Possible names in the first words of a declaration, if something is missing between two of them."""
    for word in _WORD.findall(head)[:2] if not _NAMED.match(head) else ():
        for at in range(1, min(len(word), _MOST_LETTERS)):
            yield from (word[:at], word[at:])


def _scanned(fragment: Fragment, known: Sequence[Diagnostic]) -> tuple[None, tuple[Diagnostic, ...], int]:
    """The first of the problems that the scan found, and its offset. An unterminated text comes first: its
    quotes are the reason for the others."""
    text, base = fragment.text, fragment.base

    def order(problem: Diagnostic) -> tuple[int, bool, int]:
        at = problem.span.start - base
        if problem.code == "GOT0004" and text.startswith(THREE, at):
            return -1, False, at
        return text.rfind("\n", 0, at), problem.code != "GOT0004", at

    first = min(known, key=order)
    return None, (first,), first.span.start - base


def _declaration(
    fragment: Fragment, lost: Mapping[int, str]
) -> tuple[Any, tuple[Diagnostic, ...], int | None]:
    """The nodes of a declaration. While a text is edited, unchanged ones are not parsed again."""
    return (
        _known(fragment) if not lost and len(fragment.text) <= MAX_KNOWN else _run(fragment, "module", lost)
    )


@lru_cache(1_000)
def _known(fragment: Fragment) -> tuple[Any, tuple[Diagnostic, ...], int | None]:
    return _run(fragment, "module")


def _run(
    fragment: Fragment, start: str, lost: Mapping[int, str] = MappingProxyType({})
) -> tuple[Any, tuple[Diagnostic, ...], int | None]:
    """The node of a text whose brackets match, its errors, and the offset of the line with the error. `lost`
    are the holes. There is no node if the parser met an error."""
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


def _reached(fragment: Fragment, lost: Mapping[int, str]) -> int:
    """How far a text can be parsed, as an offset in the source; MAX_LENGTH for all of it."""
    from gotlang.syntax.build import TreeBuilder
    from gotlang.syntax.grammar import reader
    from gotlang.syntax.reader import Unreadable

    builder, end = TreeBuilder(fragment, lost), MAX_LENGTH
    try:
        reader().read(reader().tokens(fragment.text), "module", builder)
    except Unreadable as failed:
        end = fragment.span(*failed.place).start
    return min((problem.span.start for problem in builder.problems), default=end)


def _too_deep(root: Node) -> Diagnostic | None:
    stack = [(root, 0)]
    while stack:
        node, depth = stack.pop()
        if depth > MAX_DEPTH:
            message = f"nested more than {MAX_DEPTH} levels deep"
            return Diagnostic("GOT0005", message, node.span, help="give parts of it names")
        stack.extend((child, depth + (type(child) not in _TRANSPARENT)) for child in children(node))
    return None
