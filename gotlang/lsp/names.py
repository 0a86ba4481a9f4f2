"""Definitions, references, highlights and rename, in all programs of the client's folders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NoReturn

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from gotlang.editing.documents import Document
from gotlang.editing.modules import real
from gotlang.editing.names import at, occurrences
from gotlang.editing.rename import TextEdit, renamable, renamed
from gotlang.editing.symbols import Symbol
from gotlang.errors import GotError, UsageError
from gotlang.lsp.server import GotServer
from gotlang.span import Span

MOST = 2_000
"""Maximum number of places in one answer."""
_LOCAL = ("local", "variable", "alias", "module")


def register(server: GotServer) -> None:
    """Answer requests about names."""

    @server.list_of(types.TEXT_DOCUMENT_DEFINITION)
    def definition(params: types.DefinitionParams, document: Document) -> Iterable[types.Location]:
        found = at(document, server.offset(document, params.position))
        return _declarations(server, document, found.means or found.symbol) if found is not None else ()

    @server.list_of(types.TEXT_DOCUMENT_REFERENCES)
    def references(params: types.ReferenceParams, document: Document) -> Iterable[types.Location]:
        if (found := at(document, server.offset(document, params.position))) is None:
            return []
        places: dict[tuple[str, int], types.Location] = {}
        for other in _programs(server, document, found.symbol):
            for o in occurrences(other):
                if o.symbol == found.symbol and (params.context.include_declaration or not o.declares):
                    key = real(o.span.source), o.span.start
                    if key in places or len(places) == MOST:
                        continue
                    if (location := server.location(other, o.span)) is not None:
                        places[key] = location
        return [places[key] for key in sorted(places)]

    @server.list_of(types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT)
    def highlight(
        params: types.DocumentHighlightParams, document: Document
    ) -> Iterator[types.DocumentHighlight]:
        if (found := at(document, server.offset(document, params.position))) is None:
            return
        same = (o for o in occurrences(document) if o.symbol == found.symbol)
        here = (o for o in same if o.span.source == document.source.name)
        for o in islice(here, MOST):
            kind = types.DocumentHighlightKind.Write if o.declares else types.DocumentHighlightKind.Read
            yield types.DocumentHighlight(server.range(document.source, o.span), kind)

    @server.feature(types.TEXT_DOCUMENT_PREPARE_RENAME)
    def prepare(params: types.PrepareRenameParams) -> types.PrepareRenamePlaceholder:
        document = _program(server, params.text_document.uri)
        try:
            found = renamable(document, server.offset(document, params.position))
        except GotError as error:
            _refuse(error)
        return types.PrepareRenamePlaceholder(
            server.range(document.source, found.span),
            document.source.text[found.span.start : found.span.end],
        )

    @server.feature(types.TEXT_DOCUMENT_RENAME, types.RenameOptions(prepare_provider=True))
    def rename(params: types.RenameParams) -> types.WorkspaceEdit:
        document = _program(server, params.text_document.uri)
        try:
            symbol = renamable(document, server.offset(document, params.position)).symbol
            edits = renamed([*_programs(server, document, symbol, params.new_name)], symbol, params.new_name)
        except GotError as error:
            _refuse(error)
        return types.WorkspaceEdit(changes=_changes(server, edits))


def _program(server: GotServer, uri: str) -> Document:
    document = server.document(uri)
    if document is None:
        _refuse(UsageError("this file is not a program"))
    return document


def _refuse(error: GotError) -> NoReturn:
    """Raise an error that the editor shows to its user."""
    raise JsonRpcException(error.in_words(), types.LSPErrorCodes.RequestFailed.value)


def _programs(server: GotServer, document: Document, symbol: Symbol, *words: str) -> Iterator[Document]:
    """The programs that may contain a symbol, or another word: this one, and others of the client's
    folders."""
    yield document
    if symbol.kind in _LOCAL:
        return
    declared = {symbol.source} if symbol.source else {real(name) for name in document.sources}
    if symbol.kind in ("prompt", "input"):  # programs with the same simulators
        declared |= {path for path in document.files_read if path.endswith(".py")}
    for path in server.programs():
        if path != document.source.name and server.has_word(path, (symbol.name, *words)):
            other = server.program(path)
            if other is not None and (declared & {*other.files_read, path}):
                yield other


def _declarations(server: GotServer, document: Document, symbol: Symbol) -> Iterable[types.Location]:
    if symbol.kind == "file":
        uri = server.uri(symbol.source)
        return [types.Location(uri, types.Range(types.Position(0, 0), types.Position(0, 0)))] if uri else []
    if symbol.source and symbol.source not in map(real, document.sources):
        other = server.program(symbol.source)  # the program that a study names
        span = Span(symbol.source, symbol.start, symbol.start + len(symbol.name))
        location = server.location(other, span) if other is not None else None
        return [location] if location is not None else []
    spans = [o.span for o in occurrences(document) if o.declares and o.symbol == symbol]
    return [location for span in spans if (location := server.location(document, span)) is not None]


def _changes(server: GotServer, edits: Iterable[TextEdit]) -> dict[str, list[types.TextEdit]]:
    found: dict[str, list[types.TextEdit]] = {}
    for edit in edits:
        uri, source = server.uri(edit.source), server.source(edit.source)
        if uri is not None and source is not None:
            span = Span(edit.source, edit.start, edit.end)
            found.setdefault(uri, []).append(types.TextEdit(server.range(source, span), edit.text))
    return found
