"""Where an operation stands in a run: its path, in words and as a value to sort by."""

from __future__ import annotations

from gotlang.runtime.graph import Operation

Place = tuple[tuple[tuple[int, int | str], ...], ...]
"""An operation's path as a value that can be compared with any other's."""

_MOST_NAMED = 3
"""So many blocks around a step are named at most."""


def path_text(operation: Operation) -> str:
    """An operation's place in the run, in one word: `sort128/part[3]/generate`."""
    out = []
    for part in operation.path:
        if isinstance(part, tuple):
            name, *numbers = part
            out.append(str(name).lstrip("%") + "".join(f"[{number}]" for number in numbers))
        else:
            out.append(str(part))
    return "/".join(out)


def within(where: str) -> str:
    """What the program itself names of a place in a run: ` in part[3]` for `sort128/part[3]/1`, nothing for
    `sort128/1`."""
    named = [part for part in where.split("/")[1:] if part.endswith("]") and not part[0].isdigit()]
    return f" in {' in '.join(dict.fromkeys(reversed(named[-_MOST_NAMED:])))}" if named else ""


def place(operation: Operation) -> Place:
    """An operation's path, to sort by."""
    parts = (part if isinstance(part, tuple) else (part,) for part in operation.path)
    return tuple(tuple((0, x) if isinstance(x, int) else (1, str(x)) for x in part) for part in parts)
