"""Every operation, part and scheme of the papers compared with ours: calls, critical path, and what differs.

    python benchmarks/papers.py           # prints docs/papers.md
    python benchmarks/papers.py --write   # writes it

What is compared stands in data/papers.toml: `calls` and `path` are the paper's (or its authors' code's), as
text; ours are of a simulated run of the `row` of benchmarks/schemes.py, PROGRAM/SCHEME/TASK, or the bounds of
the program that comes after `heading` on its page. A row without `difference` is faithful. `where` is the
test or the page that shows it.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import final

from schemes import ROWS, measure

from gotlang.api import compile
from gotlang.estimate.cost import CostRange

ROOT = Path(__file__).parents[1]
DATA = ROOT / "benchmarks" / "data" / "papers.toml"
PAGE = ROOT / "docs" / "papers.md"


@final
@dataclass(frozen=True, slots=True)
class Claim:
    """A row of the page: something of a paper, and ours."""

    part: str
    what: str
    source: str
    where: str
    difference: str = ""
    calls: str = ""
    path: str = ""
    row: str = ""
    heading: str = ""


def claims() -> Iterator[Claim]:
    """The rows of the data, in its order. Raises TypeError for an unknown field."""
    for part, rows in tomllib.loads(DATA.read_text(encoding="utf-8")).items():
        yield from (Claim(part, **row) for row in rows)


def bound(found: CostRange) -> str:
    """A bound as text: the number itself, its formula if nothing bounds it, else its upper end."""
    if found.high is None:
        return str(found.formula)
    return f"{found.high:g}" if found.low == found.high else f"at most {found.high:g}"


def ours(claim: Claim) -> tuple[str, str]:
    """Calls and critical path of a simulated run or by bounds, empty for a claim without a program."""
    if claim.heading:
        page = (ROOT / claim.where).read_text(encoding="utf-8")
        text = re.findall(r"^```got\n(.*?)^```", page.partition(claim.heading)[2], re.M | re.S)[0]
        costs = compile(text, claim.where).explain(None, simulate=False).costs
        return bound(costs.calls), bound(costs.critical_path)
    if not claim.row:
        return "", ""
    (row,) = [row for row in ROWS if f"{row.program}/{row.scheme}/{row.task}" == claim.row]
    outcome = measure(row).result.outcome
    return str(outcome.ledger.accounts[0].calls), str(outcome.hops)


HEAD = """# The papers and ours

The papers and this implementation, row by row: model calls and critical path (in calls) in the
paper or its authors' code and in a simulated run, and the differences. For a scheme whose program is on
its page, our numbers are those of `gotc explain` for its default params. A row without a difference is
implemented as described. Each row links a test or a page. All prompts are in our own words, so
results on a real model are not those of the papers. The page is written from `benchmarks/data/papers.toml` by
`python benchmarks/papers.py --write`, and a test compares them.
"""


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for part, rows in groupby(claims(), lambda claim: claim.part):
        parts.append(f"## {part}\n")
        parts.append("| what | source | calls | ours | path | ours | difference | shown by |")
        parts.append("| --- | --- | ---: | ---: | ---: | ---: | --- | --- |")
        for claim in rows:
            calls, path = ours(claim)
            cells = [
                claim.what,
                claim.source,
                claim.calls,
                calls,
                claim.path,
                path,
                claim.difference or "none",
            ]
            link = (
                claim.where.removeprefix("docs/") if claim.where.startswith("docs/") else f"../{claim.where}"
            )
            shown = f"[{link}]({link})" if link.endswith(".md") else f"`{claim.where}`"
            parts.append("| " + " | ".join([*cells, shown]) + " |")
        parts[-1] += "\n"
    return "\n".join(parts)


if __name__ == "__main__":
    if "--write" in sys.argv:
        PAGE.write_text(page(), encoding="utf-8")
    else:
        print(page(), end="")
