"""Image files: their types, whether they are complete, and the maximum input tokens of each.

Pixels are not decoded. The costs follow the rules that providers publish for their models:

- OpenAI, tiles: an image is fitted into 2048 x 2048 pixels, then its shorter side into 768, so it has at most
  8 tiles of 512 x 512, each with its price, and a base price.
- OpenAI, patches: at most 1,536 patches of 32 x 32 pixels, times the model's factor.
- Anthropic: an image is scaled down to about 1,600 tokens, by models from 4.7 on to 4,784.
- Gemini 3: 1,120 tokens at the default resolution; earlier models have no limit on tiles.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

IMAGE_TOKENS: Final = 50_000
"""Used if no rule is known: more than the largest known one, that of gpt-4o-mini (48,169)."""


def _tiles(base: int, tile: int) -> int:
    return base + 8 * tile


def _patches(factor: float) -> int:
    return int(1536 * factor) + 1


_ABOUT = 1.05
"""A margin where a provider says `about`."""
_MOST: Final = {
    r"gpt-4o-mini": _tiles(2833, 5667),
    r"gpt-4o|chatgpt-4o|gpt-4-turbo|gpt-4\.5-preview": _tiles(85, 170),
    r"o1|o1-pro|o3|o3-pro": _tiles(75, 150),
    r"gpt-5|gpt-4\.1": _patches(1),
    r"gpt-5-mini|gpt-4\.1-mini": _patches(1.62),
    r"gpt-5-nano|gpt-4\.1-nano": _patches(2.46),
    r"o4-mini": _patches(1.72),
    r"claude-3(-[57])?-(opus|sonnet|haiku)|claude-(opus|sonnet|haiku)-4(-[0-6])?": int(1600 * _ABOUT),
    r"claude-(opus|sonnet|haiku)-4-[78]": int(4784 * _ABOUT),
    r"gemini-3(\.\d)?-(pro|flash)": int(1120 * _ABOUT),
}
"""By the names of models, without a date."""
_DATE = r"(-\d{4}-\d{2}-\d{2}|[-@]\d{8}|-latest|-preview)?"


@lru_cache
def image_tokens(model: str) -> int:
    """The maximum input tokens of an image of any size for a model, by its name at its provider; IMAGE_TOKENS
    for a model without a known rule."""
    known = (most for names, most in _MOST.items() if re.fullmatch(f"({names}){_DATE}", model))
    return next(known, IMAGE_TOKENS)


_JPEG_ALONE: Final = (0x01, *range(0xD0, 0xD8))
"""Markers of a JPEG that have no length after them."""


def image_type(content: bytes) -> str | None:
    """The MIME type of an image that models accept, by its first bytes; None for anything else."""
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if content.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if content.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    return "image/webp" if content[:4] == b"RIFF" and content[8:12] == b"WEBP" else None


def is_whole(mime: str, content: bytes) -> bool:
    """Whether an image of this type has its end. Trailing bytes are not an error: decoders skip them."""
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
