"""The server: open texts, their analyses, which follow each edit, and the features that answer requests.

A feature is a module of this package with a function `register(server)`, and a word in `FEATURES`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib import import_module
from typing import final

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path

from gotlang.editing.documents import SUFFIX, Document, analyzed
from gotlang.lsp.texts import offset_at, position_at, range_of
from gotlang.span import Source, Span
from gotlang.version import __version__

FEATURES = ("sync",)
"""The modules of this package that answer requests."""


@final
class Server(LanguageServer):
    """A language server for one client. Features ask it for documents, and for places in their texts."""

    def __init__(self) -> None:
        super().__init__("gotc", __version__)
        self._documents: dict[str, Document] = {}
        self._uris: dict[str, str] = {}
        """What the client calls the files that are open, by real path."""
        self.buffers: dict[str, str] = {}
        """The texts of the files that are open, by real path."""

    # ---------------------------------------------------------------- documents

    def document(self, uri: str) -> Document | None:
        """The analysis of the text of a program as it is now, open or on disk; None for any other file."""
        path = self.path(uri)
        if path is None or not path.endswith((SUFFIX, ">")):
            return None
        if path not in self._documents:
            text = self.buffers.get(path)
            if text is None:
                try:
                    text = open_text(path)
                except OSError:
                    return None
            self._documents[path] = analyzed(path, text, self.buffers)
        return self._documents[path]

    def open_documents(self) -> Iterator[str]:
        """The addresses of the programs that are open."""
        return (uri for path, uri in self._uris.items() if path.endswith((SUFFIX, ">")))

    def path(self, uri: str) -> str | None:
        """The real path of a file; a name in `<>` for a text that has none, and `None` for anything else."""
        path = to_fs_path(uri)
        if path is None:
            return f"<{uri.rpartition('/')[2]}>" if uri.startswith("untitled:") else None
        try:
            return os.path.realpath(path)
        except (OSError, ValueError):
            return None

    def uri(self, name: str) -> str | None:
        """The address of a source by its name, as the client has it; None for a module of a package that is
        no file, and for a text without a name."""
        try:
            real = name if name.startswith("<") else os.path.realpath(name)
        except (OSError, ValueError):
            return None
        known = self._uris.get(real)
        return known if known is not None or real.startswith("<") else from_fs_path(real)

    def changed(self, uri: str) -> None:
        """A file is not what it was, in the editor or on disk: forget what depends on it."""
        path = self.path(uri)
        if path is None:
            return
        for name, known in [*self._documents.items()]:
            if path == name or path in known.asked:
                del self._documents[name]

    def follow(self, uri: str, text: str | None) -> None:
        """A file has this text in the client; None where it is closed, and the file on disk counts again."""
        path = self.path(uri)
        if path is None:
            return
        self.changed(uri)
        if text is None:
            self._uris.pop(path, None)
            self.buffers.pop(path, None)
        else:
            self._uris[path], self.buffers[path] = uri, text

    # ---------------------------------------------------------------- places

    @property
    def encoding(self) -> str:
        """The encoding whose code units positions count."""
        return str(self.workspace.position_encoding)

    def offset(self, document: Document, position: types.Position) -> int:
        """The offset of a position in a document's text."""
        return offset_at(document.source, position, self.encoding)

    def position(self, source: Source, offset: int) -> types.Position:
        """The position of an offset in a source."""
        return position_at(source, offset, self.encoding)

    def range(self, source: Source, span: Span) -> types.Range:
        """The range of a span of a source."""
        return range_of(source, span, self.encoding)

    def location(self, document: Document, span: Span) -> types.Location | None:
        """Where a span of a program is; None where the client has no file of it."""
        uri, source = self.uri(span.source), document.sources.get(span.source)
        return types.Location(uri, self.range(source, span)) if uri and source is not None else None


def open_text(path: str) -> str:
    """The text of a program on disk. Raises OSError."""
    from gotlang.files import read_source

    return read_source(path).text


def server() -> Server:
    """A server with all features, which `start_io` runs until its client says `exit`."""
    made = Server()
    for name in FEATURES:
        import_module(f"gotlang.lsp.{name}").register(made)
    return made
