"""Processor time of editor requests after edits of a program of 500 lines.

    python benchmarks/editing.py [--lines 500] [--rounds 15]

The program is programs/sorting.got repeated, each copy with its own names. Each round cuts a random line and
asks for the diagnostics of the text, whole and cut, and for completion and hover at the cut. Times are
medians of the rounds with minimum and maximum, in one warm process, as a language server is. The goal of each
is 100 ms.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from random import Random
from statistics import median

from checking import program
from measurement import PROGRAMS, options, report

from gotlang.editing.completion import completions
from gotlang.editing.documents import analyzed
from gotlang.editing.hover import hover
from gotlang.editing.prices import price_hints

GOAL = 100.0
PATH = str(PROGRAMS / "sorting_500.got")
COLUMNS = {"request": "{}", "lines": "{:,}", "ms": "{:.0f}", "range": "{}", "goal": "{:.0f} ms"}


def timed(work: Callable[[], object]) -> float:
    """Milliseconds of processor time."""
    began = time.process_time()
    work()
    return 1000 * (time.process_time() - began)


def cut(rng: Random, text: str) -> tuple[str, int]:
    """A text with one line cut at a random place, and the offset there."""
    lines = text.split("\n")
    at = rng.choice([number for number, line in enumerate(lines) if line.strip() and line.strip()[0] != "#"])
    margin = len(lines[at]) - len(lines[at].lstrip())
    lines[at] = lines[at][: rng.randrange(margin + 1, len(lines[at]) + 1)]
    return "\n".join(lines), len("\n".join(lines[: at + 1]))


def rows(size: int, rounds: int) -> Iterator[tuple[object, ...]]:
    text, found = program(size), dict[str, list[float]]()
    text = "\n".join(text.split("\n")[: size + 1]) if text.count("\n") < 2 * size else text
    for number in range(rounds + 1):
        edited, offset = cut(Random(number), text)
        whole, document = analyzed(PATH, text, {}), analyzed(PATH, edited, {})
        times = {
            "diagnostics": timed(partial(analyzed, PATH, text, {})),
            "diagnostics, a line cut": timed(partial(analyzed, PATH, edited, {})),
            "completion": timed(partial(completions, document, offset)),
            "hover": timed(partial(hover, document, offset)),
            "price hints": timed(partial(price_hints, whole)),
        }
        for name, spent in times.items() if number else ():  # the first round imports
            found.setdefault(name, []).append(spent)
    for name, all_ in found.items():
        yield name, text.count("\n"), median(all_), f"{min(all_):.0f} to {max(all_):.0f}", GOAL


if __name__ == "__main__":
    parser = options(__doc__, rounds=15, quick=5)
    parser.add_argument("--lines", type=int, default=500)
    given = parser.parse_args()
    report(given, COLUMNS, rows(given.lines, given.rounds))
