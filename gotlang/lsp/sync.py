"""Synchronization of texts with the client, and of diagnostics with the texts, in each file of an open
program."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from typing import Any, final

from lsprotocol import types

from gotlang.codes import CODES, PAGE
from gotlang.diagnostics import Diagnostic
from gotlang.editing.documents import Document
from gotlang.lsp.server import GotServer
from gotlang.lsp.texts import OpenTexts

FILES = "**/*.{got,md,py,csv,jsonl,toml}"
"""The files on disk whose changes a client reports, if it can."""
CONFIGURATION = ("/gotc.toml", "/pyproject.toml")
"""The files that may name another model or its prices."""
DELAY = 0.05
"""Seconds without another edit after which diagnostics are sent."""


def register(server: GotServer) -> None:
    """Synchronize the texts of a client."""
    publisher = _Publisher(server)

    @server.feature(types.INITIALIZE)
    def initialize(_: types.InitializeParams) -> None:
        protocol: Any = server.protocol
        old, kind = protocol.workspace, types.TextDocumentSyncKind.Incremental
        protocol._workspace = OpenTexts(old.root_uri, kind, [*old.folders.values()], old.position_encoding)

    @server.feature(types.INITIALIZED)
    def initialized(_: types.InitializedParams) -> None:
        workspace = server.client_capabilities.workspace
        watches = workspace.did_change_watched_files if workspace is not None else None
        if watches is not None and watches.dynamic_registration:
            watched = types.DidChangeWatchedFilesRegistrationOptions([types.FileSystemWatcher(FILES)])
            made = types.Registration("files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, watched)
            server.client_register_capability(types.RegistrationParams([made]))

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        follow(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def edited(params: types.DidChangeTextDocumentParams) -> None:
        follow(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        server.follow(params.text_document.uri, None)
        publisher.soon()

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: types.DidSaveTextDocumentParams) -> None:
        server.changed(params.text_document.uri)
        publisher.soon()

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def watched(params: types.DidChangeWatchedFilesParams) -> None:
        for change in params.changes:
            server.changed(change.uri)
        if any(change.uri.endswith(CONFIGURATION) for change in params.changes):
            server.forget()
            workspace = server.client_capabilities.workspace
            if workspace is not None and workspace.inlay_hint and workspace.inlay_hint.refresh_support:
                server.workspace_inlay_hint_refresh(None)
        publisher.soon()

    def follow(uri: str) -> None:
        server.follow(uri, server.workspace.get_text_document(uri).source)
        publisher.soon()


@final
class _Publisher:
    """Sends the diagnostics of open programs once there was no edit for a moment."""

    def __init__(self, server: GotServer) -> None:
        self.server = server
        self.sent: dict[str, list[types.Diagnostic]] = {}
        self.timer: asyncio.TimerHandle | None = None

    def soon(self) -> None:
        """Send changed diagnostics, a moment after the last edit."""
        if self.timer is not None:
            self.timer.cancel()
        self.timer = asyncio.get_running_loop().call_later(DELAY, self.publish)

    def publish(self) -> None:
        """Send the diagnostics of each file whose diagnostics have changed."""
        found: dict[str, dict[object, types.Diagnostic]] = {uri: {} for uri in self.server.open_documents()}
        for uri in list(found):
            document = self.server.document(uri)
            for diagnostic in document.diagnostics if document is not None else ():
                place = self.server.uri(diagnostic.span.source)
                known = found.setdefault(place or uri, {})
                if document is not None and place is not None:
                    key = diagnostic.span, diagnostic.code, diagnostic.message
                    known.setdefault(key, _shown(self.server, document, diagnostic))
        for uri in {*found, *self.sent}:
            now = [*found.get(uri, {}).values()]
            if now != self.sent.get(uri):
                self.server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, now))
        self.sent = {uri: [*known.values()] for uri, known in found.items()}


def _shown(server: GotServer, document: Document, found: Diagnostic) -> types.Diagnostic:
    source = document.sources[found.span.source]
    severity = types.DiagnosticSeverity
    related = [
        types.DiagnosticRelatedInformation(location, label.text or "here")
        for label in found.labels
        if (location := server.location(document, label.span)) is not None
    ]
    unused = found.severity == "warning" and "never used" in found.message
    return types.Diagnostic(
        range=server.range(source, found.span),
        message="\n".join(_lines(found)),
        severity=severity.Error if found.severity == "error" else severity.Warning,
        code=found.code,
        code_description=types.CodeDescription(_link(found.code)),
        source="gotc",
        related_information=related or None,
        tags=[types.DiagnosticTag.Unnecessary] if unused else None,
    )


def _link(code: str) -> str:
    """The section of the page of diagnostics about a code, which is installed with the package."""
    words = re.findall(r"\w+", f"{code} {CODES[code].title}".lower()) if code in CODES else []
    return f"{PAGE.as_uri()}#{'-'.join(words)}"


def _lines(found: Diagnostic) -> Iterator[str]:
    yield found.message + (f": {found.at}" if found.at else "")
    yield from found.notes
    if found.help:
        yield f"help: {found.help}"
