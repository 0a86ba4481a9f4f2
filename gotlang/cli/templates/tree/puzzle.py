"""The rules of the puzzle."""

from __future__ import annotations


def number_after(start: int, moves: list[str]) -> int:
    """The number that moves lead to; an unknown move has no effect."""
    for move in moves:
        start = {"double": 2 * start, "add 3": start + 3, "take 5": start - 5}.get(move, start)
    return start
