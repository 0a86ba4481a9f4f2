"""Image files: of which kind they are, and whether the whole file is there. Pixels are not decoded."""

from __future__ import annotations

from typing import Final

_JPEG_ALONE: Final = (0x01, *range(0xD0, 0xD8))
"""Markers of a JPEG that have no length after them."""


def image_type(content: bytes) -> str | None:
    """The MIME type of an image that models take, by its first bytes; None for anything else."""
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if content.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if content.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    return "image/webp" if content[:4] == b"RIFF" and content[8:12] == b"WEBP" else None


def is_whole(mime: str, content: bytes) -> bool:
    """Whether an image of this type has its end. More bytes after that are no fault: decoders skip them."""
    try:
        match mime:
            case "image/png":
                return _png(content)
            case "image/jpeg":
                return _jpeg(content)
            case "image/gif":
                return _gif(content)
        return 8 + int.from_bytes(content[4:8], "little") <= len(content)
    except IndexError:
        return False


def _png(content: bytes) -> bool:
    """Chunks: a length, a name, the content, a checksum. They end with `IEND`, after the pixels of `IDAT`."""
    at, pixels = 8, False
    while at + 12 <= len(content):
        name = content[at + 4 : at + 8]
        if name == b"IEND":
            return pixels
        pixels |= name == b"IDAT"
        at += 12 + int.from_bytes(content[at : at + 4], "big")
    return False


def _jpeg(content: bytes) -> bool:
    """Segments with their lengths, the last of which begins the pixels; after them is the marker `FF D9`."""
    at = 2
    while content[at] == 0xFF:
        marker = content[at + 1]
        if marker in _JPEG_ALONE or marker == 0xFF:  # `FF` may fill the space before a marker
            at += 1 if marker == 0xFF else 2
            continue
        length = int.from_bytes(content[at + 2 : at + 4], "big")
        if marker == 0xDA:
            return content.find(b"\xff\xd9", at + 2 + length) > 0
        at += 2 + max(2, length)
    return False


def _gif(content: bytes) -> bool:
    """A header and a table of colors, then blocks: extensions (`21`) and images (`2C`), each in parts with a
    length, the last of which is 0; the end is `3B`."""
    at = 13 + _colors(content[10])
    while (kind := content[at]) != 0x3B:
        if kind not in (0x21, 0x2C):
            return False
        at += 2 if kind == 0x21 else 11 + _colors(content[at + 9])
        while size := content[at]:
            at += 1 + size
        at += 1
    return True


def _colors(flags: int) -> int:
    """The bytes of a table of colors, as the flags before it say."""
    return 3 << ((flags & 7) + 1) if flags & 0x80 else 0
