"""Code actions that fix diagnostics, code lenses that run and explain, and inlay hints of prices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from lsprotocol import types

from gotlang.editing.actions import Correction, correction_of_all, corrections, lenses_of
from gotlang.editing.documents import Document
from gotlang.editing.prices import price_hints
from gotlang.lsp.server import GotServer
from gotlang.span import Span

_QUICK, _ALL = types.CodeActionKind.QuickFix.value, types.CodeActionKind.SourceFixAll.value


def register(server: GotServer) -> None:
    """Answer requests for actions."""
    kinds = [types.CodeActionKind.QuickFix, types.CodeActionKind.SourceFixAll]

    @server.list_of(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=kinds))
    def actions(params: types.CodeActionParams, document: Document) -> Iterable[types.CodeAction]:
        start, end = (server.offset(document, at) for at in (params.range.start, params.range.end))
        found = corrections(document, start, end)
        if params.context.only is not None:
            wanted = [str(getattr(kind, "value", kind)) for kind in params.context.only]
            if _QUICK not in wanted:
                found = correction_of_all(document)  # when an editor asks for fixes on saving
            found = tuple(each for each in found if _is_one(_ALL if each.every else _QUICK, wanted))
        return [_action(server, document, params.text_document.uri, each) for each in found]

    @server.list_of(types.TEXT_DOCUMENT_INLAY_HINT)
    def hints(params: types.InlayHintParams, document: Document) -> Iterator[types.InlayHint]:
        start, end = (server.offset(document, at) for at in (params.range.start, params.range.end))
        for found in price_hints(document):
            if start <= found.offset <= end:
                at = server.position(document.source, found.offset)
                yield types.InlayHint(at, found.text, tooltip=found.detail, padding_left=True)

    @server.list_of(types.TEXT_DOCUMENT_CODE_LENS)
    def lenses(params: types.CodeLensParams, document: Document) -> Iterator[types.CodeLens]:
        for found in lenses_of(document):
            given = [params.text_document.uri, found.scheme, *filter(None, [found.model])]
            command = types.Command(found.title, found.command, arguments=given)
            yield types.CodeLens(server.range(document.source, found.span), command)


def _is_one(kind: str, wanted: Sequence[str]) -> bool:
    """Whether a kind of actions is one of these, or a part of one: `source.fixAll` is of `source`."""
    return any(f"{kind}.".startswith(f"{each}.") for each in wanted)


def _action(server: GotServer, document: Document, uri: str, found: Correction) -> types.CodeAction:
    one = not found.every
    edits = [
        types.TextEdit(server.range(document.source, span), text)
        for span, text in _changes(document, found.text)
    ]
    return types.CodeAction(
        found.title,
        types.CodeActionKind.QuickFix if one else types.CodeActionKind.SourceFixAll,
        is_preferred=one or None,
        edit=types.WorkspaceEdit(changes={uri: edits}),
    )


def _changes(document: Document, text: str) -> Iterator[tuple[Span, str]]:
    """The lines that differ between two texts."""
    from difflib import SequenceMatcher

    old, new = document.source.text.splitlines(keepends=True), text.splitlines(keepends=True)
    starts = [0]
    for line in old:
        starts.append(starts[-1] + len(line))
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            yield Span(document.source.name, starts[a], starts[b]), "".join(new[c:d])
