"""Savings by parallel execution and caches, compared with Table 2 of Framework of Thoughts.

    python benchmarks/framework_of_thoughts.py [--rows 50]

One sequential run without a cache is the whole of each row: how much faster parallel execution is, and what
is paid with a cache of the process and with a persistent one, as that paper defines them. Runtime is the
seconds of all requests one after the other (S) or along the critical path (P). A run's accounts hold all of
them at once, so no figure is of another run.

The models are simulated, so savings depend on the simulators: a request is repeated as often as they return
the same thought twice. The paper's models were GPT-4o (game of 24), GPT-3.5-turbo (sorting and documents) and
GPT-4.1-mini (ProbTree). The rows of the game of 24 are the first of those that Tree of Thoughts tests (901 to
1000). ProbTree answers made-up questions of several hops, beside both of the paper's data sets. Each sample
is a request of its own and early stopping is off, as in the paper's schemes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from measurement import PROGRAMS, options, report

from gotlang.api import Options, Session, load, run_to_end
from gotlang.data import inputs
from gotlang.data import load as load_data
from gotlang.result import Result


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the table: a scheme, its data, and the paper's figures of the same.

    `seconds` of S and P, and `cents` per row: without cache, with that of the process, with the persistent.
    """

    name: str
    program: str
    scheme: str
    data: str
    first: int
    sequential: tuple[float, float, float]
    parallel: tuple[float, float, float]
    cents: tuple[float, float, float]


TABLE_2 = (
    Column(
        "ToT, game of 24",
        "game24",
        "tot",
        "game24.csv",
        900,
        (782, 635, 373),
        (31, 30, 22),
        (29.6, 25.1, 16.1),
    ),
    Column(
        "ToT, sorting 128", "sorting", "tot_rounds", "digits128.csv", 0, (452,) * 3, (39,) * 3, (15.9,) * 3
    ),
    Column(
        "GoT, sorting 128", "sorting", "got_rounds", "digits128.csv", 0, (259,) * 3, (30,) * 3, (5.0,) * 3
    ),
    Column(
        "GoT, documents",
        "documents",
        "got_tuned",
        "documents.csv",
        0,
        (145, 141, 140),
        (32, 31, 31),
        (6.9, 6.1, 5.9),
    ),
    Column("ProbTree, HotpotQA", "probtree", "probtree", "towns.csv", 0, (12.8,) * 3, (6.8,) * 3, (0.5,) * 3),
    Column(
        "ProbTree, MuSiQue",
        "probtree",
        "probtree",
        "towns.csv",
        0,
        (21.6, 21.6, 18.4),
        (10.4, 10.4, 8.9),
        (0.8, 0.8, 0.7),
    ),
)
LISTS = ("Puzzles", "Unsorted")
"""Columns of the data that hold the input `numbers`."""

COLUMNS = {
    "scheme, task": "{}",
    "": "{}",
    "rows": "{}",
    "S, no cache": "{:.1f} s",
    "S + process": "{:.1f}x",
    "S + persistent": "{:.1f}x",
    "P, no cache": "{:.1f}x",
    "P + process": "{:.1f}x",
    "P + persistent": "{:.1f}x",
    "cost, no cache": "{:.2f} cents",
    "process": "{:.0%}",
    "persistent": "{:.0%}",
}


def runs(column: Column, count: int) -> list[Result]:
    """A run for each row, with a persistent cache that starts empty."""
    program = load(PROGRAMS / f"{column.program}.got")
    scheme = program.scheme(column.scheme)
    table = load_data(PROGRAMS / "data" / column.data)
    wanted = dict(scheme.parameters)
    mapping = dict(zip(["numbers"], [name for name in LISTS if name in table.columns], strict=False))
    rows = range(column.first, min(column.first + count, len(table)))

    async def go(cache: Path) -> list[Result]:
        async with Session(program, Options(cache=cache, level=1, batching=False)) as session:
            given = (inputs(table, row, mapping, wanted) for row in rows)
            return [await session.run(one, scheme=column.scheme) for one in given]

    with TemporaryDirectory() as folder:
        return run_to_end(go(Path(folder) / "cache.sqlite"), virtual=True)


def figures(sequential: Any, parallel: Any, cents: Any) -> Iterator[float]:
    """The figures of a row, from those without cache, with that of the process, with the persistent one."""
    yield sequential[0]
    yield from (sequential[0] / seconds for seconds in (*sequential[1:], *parallel))
    yield cents[0]
    yield from (each / cents[0] for each in cents[1:])


def measure(count: int) -> Iterator[tuple[Any, ...]]:
    """For each column of the paper's table the simulator's row, and the paper's."""
    for column in TABLE_2:
        ledgers = [found.outcome.ledger for found in runs(column, count)]
        rows = len(ledgers)
        sequential = [sum(ledger.accounts[at].sequential_s for ledger in ledgers) / rows for at in range(3)]
        parallel = [sum(ledger.times[at] for ledger in ledgers) / rows for at in range(3)]
        cents = [100 * sum(ledger.accounts[at].usd or 0.0 for ledger in ledgers) / rows for at in range(3)]
        yield column.name, "simulated", rows, *figures(sequential, parallel, cents)
        yield column.name, "paper", None, *figures(column.sequential, column.parallel, column.cents)


if __name__ == "__main__":
    parser = options(__doc__)
    parser.add_argument("--rows", type=int, default=50)
    given = parser.parse_args()
    report(given, COLUMNS, measure(given.rows))
