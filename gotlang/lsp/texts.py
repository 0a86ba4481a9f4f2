"""Texts that a client edits, and positions in them: lines and code units of the negotiated encoding.

pygls splits lines at every character that Python considers a line end, and changes positions that it does not
find; the protocol has three line ends, and a position after the end of a line is at its end.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import final

from lsprotocol import types
from pygls.workspace import TextDocument, Workspace

from gotlang.span import Source, Span

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")


@final
class OpenTexts(Workspace):
    """The texts that are open in the client."""

    def _create_text_document(
        self,
        doc_uri: str,
        source: str | None = None,
        version: int | None = None,
        language_id: str | None = None,
    ) -> TextDocument:
        return _Text(doc_uri, source, version, language_id, position_codec=self.position_codec)


@final
class _Text(TextDocument):
    @property
    def lines(self) -> Sequence[str]:
        return _LINE.findall(self.source)

    def _apply_incremental_change(self, change: types.TextDocumentContentChangePartial) -> None:
        text, encoding = self.source, types.PositionEncodingKind(self.position_codec.encoding).value
        starts = [0, *(found.end() for found in _LINE.finditer(text) if found[0][-1:] in "\r\n")]
        start, end = (
            _offset(text, starts, position, encoding) for position in (change.range.start, change.range.end)
        )
        self._source = text[:start] + change.text + text[max(start, end) :]


def _offset(text: str, starts: Sequence[int], position: types.Position, encoding: str) -> int:
    if position.line >= len(starts):
        return len(text)
    start = starts[position.line]
    end = starts[position.line + 1] if position.line + 1 < len(starts) else len(text)
    return start + characters(text[start:end].rstrip("\r\n"), position.character, encoding)


_BYTES = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


def units(text: str, encoding: str) -> int:
    """The code units of a text in an encoding of the protocol: `utf-8`, `utf-16`, `utf-32`."""
    if text.isascii() or encoding == "utf-32":
        return len(text)
    name, size = _BYTES[encoding]
    return len(text.encode(name, "surrogatepass")) // size


def characters(line: str, units: int, encoding: str) -> int:
    """The characters in this number of code units of a line; all of them if it has fewer."""
    if line.isascii() or encoding == "utf-32":
        return min(units, len(line))
    name, size = _BYTES[encoding]
    return len(line.encode(name, "surrogatepass")[: units * size].decode(name, "ignore"))


def offset_at(source: Source, position: types.Position, encoding: str) -> int:
    """The offset in a source of a position in the client's text."""
    start = source.offset(position.line + 1)
    return start + characters(source.line(position.line + 1), position.character, encoding)


def position_at(source: Source, offset: int, encoding: str) -> types.Position:
    """The client's position of an offset in a source."""
    line, column = source.position(offset)
    start = source.offset(line)
    before = "" if source.text.isascii() else source.text[start : start + column - 1]
    return types.Position(line - 1, units(before, encoding) if before else column - 1)


def range_of(source: Source, span: Span, encoding: str) -> types.Range:
    """The client's range of a span."""
    start, end = (position_at(source, offset, encoding) for offset in (span.start, max(span.start, span.end)))
    return types.Range(start, end)
