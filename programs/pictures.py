"""Lines of text as small PNG pictures, and back: for programs that read pictures without a model."""

from __future__ import annotations

import struct
import zlib

_ROWS = {
    "0": "75557", "1": "26227", "2": "71747", "3": "71717", "4": "55711", "5": "74717", "6": "74757",
    "7": "71111", "8": "75757", "9": "75717", "x": "05250", "=": "07070", "#": "57575", " ": "00000",
}  # fmt: skip
"""The five rows of each sign, three points in a row as a number."""
_SIGNS = {rows: sign for sign, rows in _ROWS.items()}
_POINT = 4
"""Pixels of a point of a sign."""
_WIDTH, _HEIGHT = 4, 7
"""Points from one sign to the next, and from one line to the next."""


def draw(lines: list[str]) -> bytes:
    """A PNG picture of lines, black on white."""
    columns = max(map(len, lines))
    rows = []
    for line in lines:
        for y in range(_HEIGHT):
            bits = "".join(f"{int(_ROWS[sign][y]):03b}0" if y < 5 else "0000" for sign in line.ljust(columns))
            pixels = bytes(0 if bit == "1" else 255 for bit in bits for _ in range(_POINT))
            rows += [b"\0" + pixels] * _POINT
    size = struct.pack(">IIBBBBB", columns * _WIDTH * _POINT, len(rows), 8, 0, 0, 0, 0)
    chunks = ((b"IHDR", size), (b"IDAT", zlib.compress(b"".join(rows), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


def read(picture: bytes) -> list[str]:
    """The lines of a picture that `draw` made."""
    at, data, width = 8, b"", 0
    while at < len(picture):
        (length,) = struct.unpack(">I", picture[at : at + 4])
        kind, content = picture[at + 4 : at + 8], picture[at + 8 : at + 8 + length]
        width = struct.unpack(">I", content[:4])[0] if kind == b"IHDR" else width
        data += content if kind == b"IDAT" else b""
        at += length + 12
    pixels = zlib.decompress(data)
    points = [pixels[y + 1 : y + 1 + width : _POINT] for y in range(0, len(pixels), (width + 1) * _POINT)]
    lines = []
    for top in range(0, len(points), _HEIGHT):
        signs = ""
        for left in range(0, len(points[top]), _WIDTH):
            rows = [row[left : left + 3] for row in points[top : top + 5]]
            signs += _SIGNS["".join(str(sum((row[i] == 0) << (2 - i) for i in range(3))) for row in rows)]
        lines.append(signs.rstrip())
    return lines
