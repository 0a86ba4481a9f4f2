"""What shared samples save in the game of 24, beside the figures of Framework of Thoughts.

    python benchmarks/process_cache.py [--rows 100]

`game24.got` says `share true` for its prompt `value`, so equal states of a run are judged once: that is what
the process cache of Framework of Thoughts does (Table 2, ToT on Go24, with GPT-4o). The persistent cache
gives what earlier rows asked for. The rows are the last of those that Tree of Thoughts tests (901 to 1000).
The model is simulated at the prices of gpt-3.5-turbo: how often it proposes the same state, and so what is
saved, is that of the simulator, which was fitted to how many games are won and not to this.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from measurement import PROGRAMS, options, report

from gotlang.api import Options, Session, load, run_to_end
from gotlang.result import Result

PROGRAM = PROGRAMS / "game24.got"
DATA = PROGRAMS / "data" / "game24.csv"
LAST = 1000

COLUMNS = {
    "ToT, game of 24": "{}",
    "rows": "{}",
    "calls": "{:.1f}",
    "calls with process cache": "{:.1f}",
    "cost": "{:.2f} cents",
    "cost with process cache": "{:.1%}",
    "with persistent cache": "{:.1%}",
}


def runs(count: int) -> list[Result]:
    """A run for each row, with a persistent cache that starts empty."""
    with DATA.open(newline="") as file:
        puzzles = [row["Puzzles"] for row in list(csv.DictReader(file))[LAST - count : LAST]]

    async def go(cache: Path) -> list[Result]:
        async with Session(load(PROGRAM), Options(cache=cache)) as session:
            return [await session.run({"numbers": [int(n) for n in puzzle.split()]}) for puzzle in puzzles]

    with TemporaryDirectory() as folder:
        return run_to_end(go(Path(folder) / "cache.sqlite"), virtual=True)


def measure(count: int) -> Iterator[tuple[Any, ...]]:
    """The simulator's row, and that of the paper."""
    accounts = [found.outcome.ledger.accounts for found in runs(count)]
    calls = [sum(each[at].calls for each in accounts) / count for at in range(3)]
    usd = [sum(each[at].usd or 0.0 for each in accounts) / count for at in range(3)]
    shares = usd[1] / usd[0], usd[2] / usd[0]
    yield "simulated", count, calls[0], calls[1], 100 * usd[0], *shares
    yield "Framework of Thoughts, Table 2", 100, None, None, 29.6, 25.1 / 29.6, 16.1 / 29.6


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--rows", type=int, default=100)
    given = parser.parse_args()
    report(given, COLUMNS, measure(given.rows))


if __name__ == "__main__":
    main()
