"""Program text to nodes. Never raises for a program's mistakes: they come back as diagnostics."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gotlang.diagnostics import Diagnostic, Label
from gotlang.span import Source, Span
from gotlang.syntax.expressions import Expression, Node
from gotlang.syntax.nodes import Comment, Declaration, Module
from gotlang.syntax.walk import children

if TYPE_CHECKING:
    from lark.exceptions import UnexpectedInput

MAX_DEPTH = 100
"""How deep expressions and blocks may nest."""
MAX_LENGTH = 4_000_000
"""How long a program may be, in characters."""


def parse(source: Source) -> tuple[Module, tuple[Diagnostic, ...]]:
    """The module of a source, and what is wrong with its syntax.

    After a mistake the other declarations are still read, so that one run shows as many as it can.
    """
    if problems := tuple(_characters(source)):
        return Module(Span(source.name, 0, len(source.text)), ()), problems
    whole = _run(source, source.text, 0, "module")
    diagnostics: list[Diagnostic] = []
    if isinstance(whole, Diagnostic):
        declarations: list[Declaration] = []
        for start, piece in _pieces(source.text):
            part = _run(source, piece, start, "module")
            if isinstance(part, Diagnostic):
                diagnostics.append(part)
            else:
                declarations.extend(part.declarations)
        # The pieces may each be right where the whole is not; then the whole's mistake is the one to show.
        diagnostics = diagnostics or [whole]
        module = Module(Span(source.name, 0, len(source.text)), tuple(declarations))
    else:
        module = whole
    if deep := _too_deep(module):
        diagnostics.append(
            Diagnostic(
                "GOT0005", f"nested more than {MAX_DEPTH} levels deep", deep.span, help="name the parts"
            )
        )
        module = Module(module.span, ())
    comments = tuple(_comments(source)) if "#" in source.text else ()
    return Module(module.span, module.declarations, comments), tuple(diagnostics)


def parse_expression(source: Source) -> Expression | Diagnostic:
    """One expression on its own, as in `--fail-if 'mean(mistakes) > 2'`."""
    if problems := tuple(_characters(source)):
        return problems[0]
    result = _run(source, source.text.strip(), 0, "expression")
    if isinstance(result, Diagnostic):
        return result
    if deep := _too_deep(result):
        return Diagnostic("GOT0005", f"nested more than {MAX_DEPTH} levels deep", deep.span)
    return result


def _run(source: Source, text: str, base: int, start: str) -> Any | Diagnostic:
    from lark.exceptions import LarkError, UnexpectedInput
    from lark.indenter import DedentError

    from gotlang.syntax.build import SyntaxProblem, TreeBuilder
    from gotlang.syntax.grammar import parser

    if brackets := _brackets(source, text, base):
        return brackets
    try:
        node: Node = TreeBuilder(source.name, base).transform(parser().parse(text, start=start))
        return node
    except SyntaxProblem as problem:
        return Diagnostic(problem.code, problem.message, problem.span, help=problem.help)
    except UnexpectedInput as error:
        return _unexpected(source, text, base, error)
    except DedentError as error:
        return _dedent(source, text, base, str(error))
    except LarkError as error:  # pragma: no cover - every known kind is above
        return Diagnostic("GOT0001", str(error), Span(source.name, base, base + len(text)))


def _unexpected(source: Source, text: str, base: int, error: UnexpectedInput) -> Diagnostic:
    from lark import Token
    from lark.exceptions import UnexpectedCharacters, UnexpectedToken

    from gotlang.syntax import words
    from gotlang.syntax.grammar import parser

    literals = {t.name: t.pattern.value for t in parser().terminals if t.pattern.type == "str"}
    if isinstance(error, UnexpectedToken):
        token: Token = error.token
        at = token.start_pos if token.start_pos is not None else len(text)
        terminal, found_text = token.type, str(token)
        end = token.end_pos if token.end_pos is not None else at
        if terminal in {"_NL", "_INDENT", "_DEDENT"}:
            end = at + 1
            if terminal != "_NL":
                at = _first_of_line(text, at)
                end = at + 1
        if terminal == "$END":
            at = end = len(text.rstrip())
    else:
        at = error.pos_in_stream or 0
        end, terminal, found_text = at + 1, "", text[at : at + 1]
    # `accepts` would be exact; it is not there where the lexer stopped, and then the state's terminals are.
    wanted = set(getattr(error, "accepts", None) or getattr(error, "allowed", None) or ())
    if isinstance(error, UnexpectedToken) and not wanted:
        wanted = set(error.expected)
    span = Span(source.name, base + at, base + max(end, at + 1))
    if isinstance(error, UnexpectedCharacters) or terminal == "":
        if found_text == '"':
            return Diagnostic(
                "GOT0004",
                "this text has no closing quote",
                span,
                help='close it with `"`, or `"""` for several lines',
            )
        message = f"`{found_text}` has no meaning here"
    else:
        message = f"{words.found(terminal, found_text)} does not fit here"
    phrase = words.expected(wanted, literals)
    help_text = words.hint(terminal, found_text, wanted, text[max(0, at - 1) : at])
    return Diagnostic("GOT0001", message, span, f"expected {phrase}", help=help_text)


def _first_of_line(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\n":
        at += 1
    return min(at, max(0, len(text) - 1))


def _dedent(source: Source, text: str, base: int, message: str) -> Diagnostic:
    """Lark says only how deep the line is: find the first line that goes back to a depth nothing has."""
    depths = [0]
    at = 0
    for line in _outside_texts(text).split("\n"):
        stripped = line.strip()
        if stripped and not stripped.startswith("#"):
            depth = len(line) - len(line.lstrip(" \t"))
            if depth > depths[-1]:
                depths.append(depth)
            while depth < depths[-1]:
                depths.pop()
            if depth != depths[-1]:
                break
        at += len(line) + 1
    start = base + min(at, max(0, len(text) - 1))
    return Diagnostic(
        "GOT0003",
        "this line is indented like no line above it",
        Span(source.name, start, start + max(1, len(text[at:].split("\n", 1)[0].rstrip()))),
        help="line it up with the block it belongs to",
    )


def _outside_texts(text: str) -> str:
    """The text with every character of a quoted text or a bracket's inside replaced by `x`."""
    return re.sub(r'"""[\s\S]*?(?:"""|\Z)', lambda m: "x" * len(m[0]), text)


_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u2028\u2029\ufeff]|[\ud800-\udfff]")
_TAB = re.compile(r"^ *\t", re.MULTILINE)


def _characters(source: Source) -> Iterator[Diagnostic]:
    text = source.text
    if len(text) > MAX_LENGTH:
        yield Diagnostic("GOT0006", f"longer than {MAX_LENGTH:,} characters", Span(source.name, 0, 1))
        return
    for match in _CONTROL.finditer(text):
        if match[0] == "\ufeff" and match.start() == 0:
            continue
        yield Diagnostic(
            "GOT0002",
            f"the character U+{ord(match[0]):04X} may not stand in a program",
            Span(source.name, match.start(), match.start() + 1),
            help="delete it",
        )
        return
    outside = _outside_texts(text)
    if match := _TAB.search(outside):
        yield Diagnostic(
            "GOT0003",
            "a tab in the indentation",
            Span(source.name, match.end() - 1, match.end()),
            help="indent with four spaces",
        )


_SKIPPED = re.compile(
    r'"""(?:[^"\\]|\\[\s\S]|"(?!""))*(?:"""|\Z)|"(?:[^"\\\n]|\\[^\n])*"?|#[^\n]*|[()\[\]{}]'
)
_CLOSING = {")": "(", "]": "[", "}": "{"}


def _brackets(source: Source, text: str, base: int) -> Diagnostic | None:
    """Brackets that do not pair up: said here, where the place is still known."""
    stack: list[tuple[str, int]] = []
    for match in _SKIPPED.finditer(text):
        mark, at = match[0], match.start()
        span = Span(source.name, base + at, base + at + 1)
        if mark.startswith('"""') and not (len(mark) >= 6 and mark.endswith('"""')):
            return Diagnostic(
                "GOT0004", 'this text has no closing `"""`', Span(span.source, span.start, span.start + 3)
            )
        if mark in "([{" and len(mark) == 1:
            stack.append((mark, at))
            if len(stack) > MAX_DEPTH:
                return Diagnostic("GOT0005", f"brackets nested more than {MAX_DEPTH} deep", span)
        elif mark in _CLOSING:
            if not stack:
                return Diagnostic(
                    "GOT0009", f"`{mark}` closes nothing", span, help="delete it, or open it before"
                )
            opened, where = stack.pop()
            if opened != _CLOSING[mark]:
                open_span = Span(source.name, base + where, base + where + 1)
                return Diagnostic(
                    "GOT0009",
                    f"`{mark}` does not close `{opened}`",
                    span,
                    labels=(Label(open_span, "opened here"),),
                )
    if stack:
        opened, where = stack[-1]
        span = Span(source.name, base + where, base + where + 1)
        return Diagnostic("GOT0009", f"`{opened}` is never closed", span)
    return None


_TOP = re.compile(r"^(?=[A-Za-z_@\"'(\[{0-9])", re.MULTILINE)


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    """The text cut before each line that starts at the margin, texts in triple quotes kept whole."""
    starts = [0, *(m.start() for m in _TOP.finditer(_outside_texts(text)) if m.start() > 0), len(text)]
    for start, end in zip(starts, starts[1:], strict=False):
        if text[start:end].strip():
            yield start, text[start:end]


def _too_deep(root: Node) -> Node | None:
    stack = [(root, 0)]
    while stack:
        node, depth = stack.pop()
        if depth > MAX_DEPTH + 8:
            return node
        stack.extend((child, depth + 1) for child in children(node))
    return None


def _comments(source: Source) -> Iterator[Comment]:
    text = source.text
    for match in _SKIPPED.finditer(text):
        if match[0].startswith("#"):
            start = match.start()
            line_start = text.rfind("\n", 0, start) + 1
            own_line = not text[line_start:start].strip()
            yield Comment(Span(source.name, start, match.end()), match[0].rstrip(), own_line)
