"""A client of the language server, as an editor is one: `gotc lsp` in a process, messages over its pipes."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from lsprotocol import types
from pygls.lsp.client import LanguageClient
from support.gotc import environment


class Editor(LanguageClient):
    """An editor whose files may be changed and not saved."""

    def __init__(self, folder: Path) -> None:
        super().__init__("editor", "1")
        self.folder = folder
        self.diagnostics: dict[str, tuple[types.Diagnostic, ...]] = {}
        self.published = asyncio.Event()
        self.messages: list[str] = []
        self.registered: list[str] = []
        self._versions: dict[str, int] = {}

        @self.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def published(params: types.PublishDiagnosticsParams) -> None:
            self.diagnostics[params.uri] = tuple(params.diagnostics)
            self.published.set()

        @self.feature(types.CLIENT_REGISTER_CAPABILITY)
        def registered(params: types.RegistrationParams) -> None:
            self.registered = [each.method for each in params.registrations]
            self.published.set()

        @self.feature(types.WINDOW_SHOW_MESSAGE)
        def shown(params: types.ShowMessageParams) -> None:
            self.messages.append(params.message)

    def uri(self, name: str) -> str:
        """The address of a file of the folder."""
        return (self.folder / name).as_uri()

    def process_id(self) -> int:
        """The server's process."""
        assert self._server is not None
        return self._server.pid

    def identifier(self, name: str) -> types.TextDocumentIdentifier:
        return types.TextDocumentIdentifier(self.uri(name))

    def open(self, name: str, text: str | None = None) -> None:
        """Open a file, with the text on disk or another one, which is not saved."""
        text = (self.folder / name).read_text("utf-8") if text is None else text
        self._versions[name] = 1
        item = types.TextDocumentItem(self.uri(name), "got", 1, text)
        self.text_document_did_open(types.DidOpenTextDocumentParams(item))

    def edit(self, name: str, *changes: types.TextDocumentContentChangeEvent | str) -> None:
        """Change an open file: parts of it, or all of its text."""
        self._versions[name] += 1
        given = [
            types.TextDocumentContentChangeWholeDocument(c) if isinstance(c, str) else c for c in changes
        ]
        identifier = types.VersionedTextDocumentIdentifier(self._versions[name], self.uri(name))
        self.text_document_did_change(types.DidChangeTextDocumentParams(identifier, given))

    def close(self, name: str) -> None:
        self.text_document_did_close(types.DidCloseTextDocumentParams(self.identifier(name)))

    async def codes(self, name: str, *expected: str) -> tuple[types.Diagnostic, ...]:
        """The diagnostics of a file, once their codes are the expected ones."""
        async with asyncio.timeout(30):
            while True:
                found = self.diagnostics.get(self.uri(name), ())
                if sorted(str(d.code) for d in found) == sorted(expected):
                    return found
                self.published.clear()
                await self.published.wait()


@asynccontextmanager
async def editor(folder: Path, *encodings: types.PositionEncodingKind) -> AsyncIterator[Editor]:
    """An editor with a folder open, connected to a server that is initialized."""
    made = Editor(folder)
    await made.start_io(sys.executable, "-m", "gotlang", "lsp", cwd=str(folder), env=environment())
    general = types.GeneralClientCapabilities(position_encodings=encodings or None)
    watches = types.DidChangeWatchedFilesClientCapabilities(dynamic_registration=True)
    workspace = types.WorkspaceClientCapabilities(did_change_watched_files=watches)
    await made.initialize_async(
        types.InitializeParams(
            capabilities=types.ClientCapabilities(workspace, general=general),
            workspace_folders=[types.WorkspaceFolder(folder.as_uri(), folder.name)],
            root_uri=folder.as_uri(),
        )
    )
    made.initialized(types.InitializedParams())
    try:
        async with asyncio.timeout(120):  # a response that never comes fails the test
            yield made
    finally:
        async with asyncio.timeout(30):
            await made.shutdown_async(None)
            made.exit(None)
            await made.stop()


def at(line: int, character: int) -> types.Position:
    """A position, both counted from 0."""
    return types.Position(line, character)


def change(start: types.Position, end: types.Position, text: str) -> types.TextDocumentContentChangePartial:
    """A part of a text that is replaced."""
    return types.TextDocumentContentChangePartial(types.Range(start, end), text)


def place(text: str, offset: int) -> types.Position:
    """The position of an offset, as a client counts."""
    before = re.split("\r\n|\r|\n", text[:offset])
    return at(len(before) - 1, len(before[-1].encode("utf-16-le")) // 2)
