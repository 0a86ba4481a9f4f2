"""Completion, hover and the signature of the call that is being written."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types

from gotlang.editing.completion import Kind, Suggestion, completions
from gotlang.editing.documents import Document
from gotlang.editing.hover import hover, signature_help
from gotlang.lsp.server import GotServer
from gotlang.span import Span

_ITEM = types.CompletionItemKind
_KINDS: dict[Kind, types.CompletionItemKind] = {
    "keyword": _ITEM.Keyword,
    "operation": _ITEM.Method,
    "setting": _ITEM.Property,
    "field": _ITEM.Field,
    "variable": _ITEM.Variable,
    "prompt": _ITEM.Function,
    "score": _ITEM.Function,
    "scheme": _ITEM.Function,
    "function": _ITEM.Function,
    "param": _ITEM.Constant,
    "type": _ITEM.Class,
    "case": _ITEM.EnumMember,
    "filter": _ITEM.Function,
    "module": _ITEM.Module,
    "file": _ITEM.File,
    "column": _ITEM.Field,
    "metric": _ITEM.Function,
    "argument": _ITEM.Property,
    "corpus": _ITEM.Reference,
}
_MARKDOWN = types.MarkupKind.Markdown


def register(server: GotServer) -> None:
    """Answer requests for completions and hovers."""
    triggers = [".", "(", '"', "{", "|", " "]

    @server.list_of(types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=triggers))
    def complete(params: types.CompletionParams, document: Document) -> Iterator[types.CompletionItem]:
        here, source = server.offset(document, params.position), document.source
        for found in completions(document, here):
            item = _item(found)
            if found.typed is not None:
                span = Span(source.name, here - found.typed, here)
                item.text_edit = types.TextEdit(server.range(source, span), found.label)
            yield item

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def shown(params: types.HoverParams) -> types.Hover | None:
        document = server.document(params.text_document.uri)
        found = hover(document, server.offset(document, params.position)) if document is not None else None
        if document is None or found is None:
            return None
        text = types.MarkupContent(_MARKDOWN, found.text)
        return types.Hover(text, server.range(document.source, found.span))

    @server.feature(
        types.TEXT_DOCUMENT_SIGNATURE_HELP, types.SignatureHelpOptions(trigger_characters=["(", ","])
    )
    def signature(params: types.SignatureHelpParams) -> types.SignatureHelp | None:
        document = server.document(params.text_document.uri)
        if document is None:
            return None
        found = signature_help(document, server.offset(document, params.position))
        if found is None:
            return None
        parameters = [types.ParameterInformation(text) for text in found.parameters]
        text = types.MarkupContent(_MARKDOWN, found.doc) if found.doc else None
        return types.SignatureHelp(
            [types.SignatureInformation(found.label, text, parameters)],
            active_signature=0,
            active_parameter=found.active,
        )


def _item(found: Suggestion) -> types.CompletionItem:
    return types.CompletionItem(
        found.label,
        kind=_KINDS[found.kind],
        detail=found.detail or None,
        documentation=types.MarkupContent(_MARKDOWN, found.doc) if found.doc else None,
        sort_text=f"{found.rank}{found.label}",
    )
