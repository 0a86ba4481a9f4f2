"""The type of each word of a file, for highlighting: words of the language by the rules of
`gotlang.highlighting`, and names by their meaning."""

from __future__ import annotations

from collections.abc import Iterator
from typing import final

from msgspec import Struct

from gotlang.editing.documents import Document
from gotlang.editing.names import occurrences
from gotlang.editing.symbols import Occurrence

TYPES = (
    "namespace", "type", "class", "enumMember", "typeParameter", "parameter", "variable", "property",
    "function", "method", "macro", "keyword", "comment", "string", "number", "operator",
)  # fmt: skip
"""The types of tokens, by the words of the language server protocol."""
MODIFIERS = ("declaration", "readonly", "defaultLibrary")
MOST = 200_000
"""Maximum length of a text whose keywords are found."""

_LEXED = {
    "Comment": "comment",
    "Keyword": "keyword",
    "Keyword.Constant": "keyword",
    "Literal.Number": "number",
    "Literal.String": "string",
    "Literal.String.Escape": "string",
    "Literal.String.Interpol": "operator",
    "Name.Attribute": "parameter",
    "Name.Builtin": "function",
    "Name.Class": "type",
    "Name.Function": "function",
    "Operator": "operator",
}
_OF_LANGUAGE = ("Name.Builtin",)
_NAMED = {
    "prompt": "function",
    "score": "function",
    "metric": "function",
    "scheme": "function",
    "python": "function",
    "function": "function",
    "operation": "method",
    "partial": "macro",
    "param": "variable",
    "corpus": "variable",
    "local": "variable",
    "type": "type",
    "case": "enumMember",
    "field": "property",
    "study": "class",
    "input": "parameter",
    "setting": "parameter",
    "variable": "typeParameter",
    "module": "namespace",
    "alias": "function",
}


@final
class SemanticToken(Struct, frozen=True, order=True):
    """A word within a line: its place, its type and modifiers."""

    start: int
    end: int
    type: str
    modifiers: tuple[str, ...] = ()


def tokens(document: Document) -> tuple[SemanticToken, ...]:
    """The words of a program's own file in the order of the text, without overlaps and line breaks."""
    source = document.source
    named = {
        (o.span.start, o.span.end): token
        for o in occurrences(document)
        if o.span.source == source.name and (token := _named(o)) is not None
    }
    found, end = list[SemanticToken](), 0
    for token in sorted([*named.values(), *_lexed(source.text, named)]):
        if token.start >= end:
            found.append(token)
            end = token.end
    return tuple(found)


def _named(o: Occurrence) -> SemanticToken | None:
    symbol = o.means or o.symbol
    if symbol.kind == "file":
        return None
    modifiers = ("declaration",) if o.declares else ()
    if symbol.kind in ("param", "corpus"):
        modifiers = (*modifiers, "readonly")
    return SemanticToken(o.span.start, o.span.end, _NAMED[symbol.kind], modifiers)


def _lexed(text: str, named: dict[tuple[int, int], SemanticToken]) -> Iterator[SemanticToken]:
    """The words of the language, split around names inside them."""
    from gotlang.highlighting.lexer import GotLexer

    starts = {start for start, _ in named}
    for at, kind, word in GotLexer().get_tokens_unprocessed(text[:MOST]):
        type_ = _LEXED.get(str(kind).removeprefix("Token."))
        if type_ is None or at in starts:
            continue
        modifiers = ("defaultLibrary",) if str(kind).endswith(_OF_LANGUAGE) else ()
        for line in word.split("\n"):
            if line:
                yield SemanticToken(at, at + len(line), type_, modifiers)
            at += len(line) + 1
