"""What an editor shows of a text: its outline, folding and colors; the text in canonical form."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import takewhile

from lsprotocol import types

from gotlang.api import formatted
from gotlang.editing import outline, tokens
from gotlang.editing.documents import Document
from gotlang.errors import GotError
from gotlang.lsp.server import GotServer
from gotlang.lsp.texts import units

_KINDS = {
    "type": types.SymbolKind.Struct,
    "case": types.SymbolKind.EnumMember,
    "field": types.SymbolKind.Field,
    "param": types.SymbolKind.Constant,
    "corpus": types.SymbolKind.Constant,
    "local": types.SymbolKind.Variable,
    "operation": types.SymbolKind.Method,
    "study": types.SymbolKind.Class,
    "test": types.SymbolKind.Event,
}
"""The protocol's kinds; everything else is a function."""
_LINE = re.compile(r"[^\n]*\n|[^\n]+\Z")
MOST_SYMBOLS = 500
"""Maximum number of symbols in one answer."""


def register(server: GotServer) -> None:
    """Answer requests for views of a text."""

    @server.list_of(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def symbols(_: types.DocumentSymbolParams, document: Document) -> Iterable[types.DocumentSymbol]:
        return [_symbol(server, document, entry) for entry in outline.outline(document)]

    @server.feature(types.WORKSPACE_SYMBOL)
    def everywhere(params: types.WorkspaceSymbolParams) -> list[types.WorkspaceSymbol]:
        found: list[types.WorkspaceSymbol] = []
        for path in server.programs():
            source = server.source(path)
            words = [word for word in params.query.lower().split() if word]
            if source is None or not all(word in source.text.lower() for word in words):
                continue
            document = server.program(path)
            for entry in outline.outline(document) if document is not None else ():
                if document is not None and all(word in entry.name.lower() for word in words):
                    location = server.location(document, entry.at)
                    if location is not None:
                        kind = _KINDS.get(entry.kind, types.SymbolKind.Function)
                        found.append(types.WorkspaceSymbol(location, entry.name, kind))
            if len(found) >= MOST_SYMBOLS:
                break
        return found[:MOST_SYMBOLS]

    @server.list_of(types.TEXT_DOCUMENT_FOLDING_RANGE)
    def folding(_: types.FoldingRangeParams, document: Document) -> Iterator[types.FoldingRange]:
        for fold in outline.folds(document):
            yield types.FoldingRange(fold.start - 1, fold.end - 1, kind=fold.kind)

    @server.feature(
        types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL,
        types.SemanticTokensLegend([*tokens.TYPES], [*tokens.MODIFIERS]),
    )
    def colours(params: types.SemanticTokensParams) -> types.SemanticTokens:
        document = server.document(params.text_document.uri)
        return types.SemanticTokens([*_encoded(server, document)] if document is not None else [])

    @server.list_of(types.TEXT_DOCUMENT_FORMATTING)
    def formatting(params: types.DocumentFormattingParams, document: Document) -> Iterator[types.TextEdit]:
        return _formatted(server, document, params.text_document.uri)


def _symbol(server: GotServer, document: Document, entry: outline.OutlineEntry) -> types.DocumentSymbol:
    return types.DocumentSymbol(
        name=entry.name,
        kind=_KINDS.get(entry.kind, types.SymbolKind.Function),
        range=server.range(document.source, entry.span),
        selection_range=server.range(document.source, entry.at),
        detail=entry.detail,
        children=[_symbol(server, document, each) for each in entry.inside],
    )


def _encoded(server: GotServer, document: Document) -> Iterator[int]:
    """Tokens in the protocol's encoding: each relative to the one before."""
    text, line, last = document.source.text, 1, 0
    for token in tokens.tokens(document):
        number = document.source.position(token.start)[0]
        start = last if number == line else document.source.offset(number)
        modifiers = sum(1 << tokens.MODIFIERS.index(each) for each in token.modifiers)
        yield from (number - line, units(text[start : token.start], server.encoding))
        yield units(text[token.start : token.end], server.encoding)
        yield from (tokens.TYPES.index(token.type), modifiers)
        line, last = number, token.start


def _formatted(server: GotServer, document: Document, uri: str) -> Iterator[types.TextEdit]:
    """The lines that `gotc fmt` would change; empty for a text that it leaves unchanged."""
    try:
        new = formatted(document.source)
    except GotError:
        return
    raw = server.workspace.get_text_document(uri).source.replace("\r\n", "\n").replace("\r", "\n")
    before, after = (_LINE.findall(text) for text in (raw, new))
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False)))
    rest = min(len(before), len(after)) - same
    ends = zip(reversed(before), reversed(after), strict=False)
    last = min(rest, sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], ends)))
    if before != after:
        stop = len(before) - last
        end = types.Position(stop, 0)
        if stop == len(before) and not raw.endswith("\n"):
            end = server.position(document.source, len(raw))
        text = "".join(after[same : len(after) - last])
        yield types.TextEdit(types.Range(types.Position(same, 0), end), text)
