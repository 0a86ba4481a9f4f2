"""Sample spaces: the first sample number of each operation, by its path in the program.

Two operations of a run with equal requests must not share samples, and no sample may change because of an
edit elsewhere, of the order in which operations end, or of a setting that its request does not show. So an
operation's first number is a hash of its identity: the enclosing calls, elements, rounds and merges, and its
line. A space is the hash of a path so far.
"""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from typing import Any, Final, final

from gotlang.operations.step import LineKey

Space = bytes

ROOT: Final[Space] = b""
"""The space of a run's scheme, and of shared samples, which are numbered from 0."""

_SMALLEST = 1 << 52
"""Numbers are below 2**53, so that every JSON reader can represent them, and above those of shared
samples."""
_EMPTY = hashlib.blake2b(digest_size=16)
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


def inside(space: Space, *marks: str | int) -> Space:
    """The space of a part of a path, which `marks` distinguish from others."""
    return _hashed(space + _written(marks))


def at_line(space: Space, line: LineKey | None) -> Space:
    """The space of an operation: of a line, in the enclosing space."""
    return _hashed(space + _line(line)) if line is not None else space


def _hashed(path: bytes) -> Space:
    found = _EMPTY.copy()  # twice as fast as a new one
    found.update(path)
    return found.digest()


def _written(marks: tuple[str | int, ...]) -> bytes:
    # Faster than to join the text of each.
    return ("\0".join(("%s",) * len(marks)) % marks).encode("utf-8", "surrogatepass")


@lru_cache(maxsize=4096)
def _line(line: LineKey) -> bytes:
    return _written(line)


def first_number(space: Space) -> int:
    """The number of a space's first sample; the others follow it."""
    return _SMALLEST | int.from_bytes(space[:8], "big") >> 12 if space else 0


@final
class Ranks:
    """Numbers equal values in their order, so that other values may come and go between them."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def marks(self, value: Any) -> tuple[str, int]:
        """The identity of a value among others: itself, and how many equal ones came before it."""
        text = str(value) if type(value) is int else _encode(value)
        rank = self._seen.get(text, 0)
        self._seen[text] = rank + 1
        return text, rank
