"""A program in an editor: its text, which may be unsaved, its tree, and the result of its check."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import final

from gotlang.compiler import Compilation
from gotlang.diagnostics import Diagnostic
from gotlang.errors import GotError
from gotlang.files import Beside, beside, compile_in
from gotlang.gc_tuning import relaxed_gc
from gotlang.packages import in_package
from gotlang.semantics.index import SemanticIndex
from gotlang.span import Source
from gotlang.syntax import nodes as n
from gotlang.types import Type

SUFFIX = ".got"


@final
@dataclass(frozen=True, eq=False)
class Document:
    """A program as an editor shows it. It is immutable: an edit creates another one.

    `source` is its text, with `\\n` as the end of each line; `module` is its tree as written, without
    unreadable parts. `index` has the facts about places from the check, also for a program with errors.
    """

    source: Source
    compilation: Compilation
    files: Buffered
    index: SemanticIndex

    @property
    def files_read(self) -> frozenset[str]:
        """The real paths of the files that the check read or looked for."""
        return frozenset(self.files.asked)

    @property
    def module(self) -> n.Module:
        """The tree of its own file."""
        return self.compilation.modules[0]

    @property
    def sources(self) -> Mapping[str, Source]:
        """The texts of all files of the program, by name: modules, and the Markdown files of prompts."""
        return self.compilation.sources

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The diagnostics of the program, in all of its files."""
        return self.compilation.diagnostics

    @property
    def types(self) -> Mapping[tuple[str, int, int], Type]:
        """The types of expressions, by source, start and end of their spans."""
        return self.index.types

    def target(self, written: str) -> Document | None:
        """The program that a study names by a path, without the studies there; None if it cannot be read."""
        try:
            source = self.files.named(written, self.source.name)
        except (GotError, OSError):
            return None
        if source is None:
            return self
        files = self.files.at(Path(source.name).resolve().parent)
        return Document(
            source, compile_in(source, files, studies=False, index=(index := SemanticIndex())), files, index
        )


@relaxed_gc()
def analyzed(path: str, text: str, buffers: Mapping[str, str]) -> Document:
    """Check a program. `path` is the absolute path of its file, or a name in `<>` for a text without one,
    which imports only packages. `buffers` are the texts of open files, by real path: they take precedence
    over the files on disk."""
    source = Source.of(path, text)
    files = Buffered(Path(path).parent if os.path.isabs(path) else Path("/nowhere"), buffers, set())
    return Document(source, compile_in(source, files, index=(index := SemanticIndex())), files, index)


@final
class Buffered(Beside):
    """The files beside a program, with the texts of those that are open in the editor. `asked` grows."""

    def __init__(self, folder: Path, buffers: Mapping[str, str], asked: set[str]) -> None:
        super().__init__(folder.resolve())
        self.buffers = buffers
        self.asked = asked

    def at(self, folder: Path) -> Buffered:
        return Buffered(folder, self.buffers, self.asked)

    def text(self, path: str) -> str:
        found = None if in_package(path) else self._open(path)
        return super().text(path) if found is None else found

    def missing(self, path: str) -> str | None:
        return super().missing(path) if self._open(path) is None else None

    def named(self, written: str, by: str) -> Source | None:
        path = beside(self.folder, written)
        self._open(str(path))
        text = self.buffers.get(os.path.realpath(path))  # `beside` checks that it is allowed
        if text is None or os.path.realpath(path) == os.path.realpath(by):
            return super().named(written, by)
        return Source.of(str(path), text)

    def _open(self, path: str) -> str | None:
        """The text of a file that is open, if it is in the program's folder."""
        try:
            real = os.path.realpath(path)
        except (OSError, ValueError):
            return None
        self.asked.add(real)
        return self.buffers.get(real) if Path(real).is_relative_to(self.folder) else None
