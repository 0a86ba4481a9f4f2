"""The server: open texts, their analyses, which follow each edit, and the features that answer requests.

A feature is a module of this package with a function `register(server)`, and a word in `FEATURES`.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from typing import Any, final

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path

from gotlang.editing.documents import SUFFIX, Document, analyzed
from gotlang.errors import GotError
from gotlang.files import read_source
from gotlang.lsp.messages import GotProtocol
from gotlang.lsp.texts import offset_at, position_at, range_of
from gotlang.packages import package_file
from gotlang.span import Source, Span
from gotlang.version import __version__

_log = logging.getLogger(__name__)
FEATURES = ("sync", "names", "views", "completion", "actions")
"""The modules of this package that answer requests."""
MOST_PROGRAMS = 2_000
"""Maximum number of programs of the client's folders that are searched."""
_NOT_OURS = ("node_modules", "__pycache__", "venv", "site-packages")


@final
class GotServer(LanguageServer):
    """A language server for one client. Features ask it for documents, and for places in their texts."""

    protocol: GotProtocol

    def __init__(self) -> None:
        super().__init__("gotc", __version__, protocol_cls=GotProtocol)
        self._documents: dict[str, tuple[object, Document]] = {}
        """Analyses by real path; of a file that is not open, with its time of change."""
        self._uris: dict[str, str] = {}
        """The client's addresses of the open files, by real path."""
        self.buffers: dict[str, str] = {}
        """The texts of the files that are open, by real path."""

    def list_of(
        self, method: str, options: object = None
    ) -> Callable[[Callable[[Any, Document], Iterable[Any]]], None]:
        """Answer requests about a program with a list, which is empty for any other file."""

        def register(found: Callable[[Any, Document], Iterable[Any]]) -> None:
            @self.feature(method, options)
            def answer(params: Any) -> list[Any]:
                document = self.document(params.text_document.uri)
                return [*found(params, document)] if document is not None else []

        return register

    # ---------------------------------------------------------------- documents

    def document(self, uri: str) -> Document | None:
        """The analysis of the text of a program as it is now, open or on disk; None for any other file."""
        path = self.path(uri)
        return self.program(path) if path is not None else None

    def program(self, path: str) -> Document | None:
        """The same by its real path."""
        if not path.endswith((SUFFIX, ">")):
            return None
        stamp = None if path in self.buffers else _stamp(path)
        known = self._documents.get(path)
        if known is None or known[0] != stamp:
            source = self.source(path)
            if source is None:
                return None
            try:
                known = stamp, analyzed(path, source.text, self.buffers)
            except Exception:  # an error of ours must not end the answers for other files
                _log.exception("cannot analyze %s", path)
                return None
            self._documents[path] = known
        return known[1]

    def source(self, path: str) -> Source | None:
        """The current text of a file, open or on disk; None if it cannot be read."""
        text = self.buffers.get(path)
        try:
            return read_source(path) if text is None else Source.of(path, text)
        except GotError:
            return None

    def programs(self) -> Iterator[str]:
        """The real paths of the programs in the client's folders, and of those that are open."""
        folders = [path for uri in self.workspace.folders if (path := self.path(uri)) is not None]
        found = {path: None for path in self.buffers if path.endswith(SUFFIX)}
        for folder in folders or filter(None, [self.workspace.root_path]):
            for at, inner, files in os.walk(folder):
                inner[:] = sorted(name for name in inner if name[0] != "." and name not in _NOT_OURS)
                paths = (os.path.join(at, name) for name in files if name.endswith(SUFFIX))
                found |= {os.path.realpath(path): None for path in paths if os.path.isfile(path)}
                if len(found) > MOST_PROGRAMS:
                    break
        return iter(found)

    def has_word(self, path: str, words: Sequence[str]) -> bool:
        """Whether one of these words may be in a program or in its imports; only in its own text, if it has
        none."""
        source = self.source(path)
        if source is None:
            return False
        return any(word in source.text for word in (*words, "import", "program"))

    def open_documents(self) -> Iterator[str]:
        """The addresses of the open programs."""
        return (uri for path, uri in self._uris.items() if path.endswith((SUFFIX, ">")))

    def path(self, uri: str) -> str | None:
        """The real path of a file; a name in `<>` for a text without a name, and `None` for anything else."""
        path = to_fs_path(uri)
        if path is None:
            return f"<{uri.rpartition('/')[2]}>" if uri.startswith("untitled:") else None
        try:
            return os.path.realpath(path)
        except (OSError, ValueError):
            return None

    def uri(self, name: str) -> str | None:
        """The address of a source by its name, as the client has it; None for a text without a name."""
        try:
            file = package_file(name)
            real = str(file) if file is not None else name if name[0] == "<" else os.path.realpath(name)
        except (OSError, ValueError):
            return None
        known = self._uris.get(real)
        return known if known is not None or real.startswith("<") else from_fs_path(real)

    def changed(self, uri: str) -> None:
        """A file has changed, in the editor or on disk: discard what depends on it."""
        path = self.path(uri)
        if path is None:
            return
        for name, (_, known) in [*self._documents.items()]:
            if path == name or path in known.files_read:
                del self._documents[name]

    def forget(self) -> None:
        """The configuration has changed: analyze everything again."""
        self._documents.clear()

    def follow(self, uri: str, text: str | None) -> None:
        """Set the text of a file in the client; None if it was closed, and the file on disk is used again."""
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
        return types.PositionEncodingKind(self.workspace.position_encoding).value

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
        """The location of a span of a program; None if the client has no file of it."""
        uri, source = self.uri(span.source), document.sources.get(span.source)
        return types.Location(uri, self.range(source, span)) if uri and source is not None else None


def _stamp(path: str) -> object:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_size


def server() -> GotServer:
    """A server with all features, which `start_io` runs until its client says `exit`."""
    made = GotServer()
    for name in FEATURES:
        import_module(f"gotlang.lsp.{name}").register(made)
    return made
