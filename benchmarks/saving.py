"""What request batching and early stop save: sort128 with neither, with each and with both, on the same rows.

    python benchmarks/saving.py [--rows 50] [--waves 2,4] [--json]

The simulated model answers, and the prices are those of gpt-3.5-turbo. An answer rests on its request and its
number alone, so that all arms get the same answer to the same question; what differs is what they ask.
`--waves` adds arms with both where the first wave of an early-stopped sampling has so many answers.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from pathlib import Path
from statistics import fmean
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from gotlang.api import Options, Session, load, run_to_end
from gotlang.result import Result
from gotlang.statistics import difference_interval

ROOT = Path(__file__).parents[1]
PROGRAM = ROOT / "programs" / "sort128.got"
DATA = ROOT / "programs" / "data" / "digits128.csv"


def rows(count: int) -> list[list[int]]:
    """The first lists of the data."""
    with DATA.open(newline="") as file:
        return [json.loads(row["Unsorted"]) for row in list(csv.DictReader(file))[:count]]


def arm(lists: list[list[int]], options: Options) -> list[Result]:
    """A run for each list."""

    async def go() -> list[Result]:
        async with Session(load(PROGRAM), options, virtual=True) as session:
            return [await session.run({"numbers": numbers}) for numbers in lists]

    return run_to_end(go(), virtual=True)


def measure(name: str, results: list[Result]) -> dict[str, Any]:
    """Means over the rows of what an arm asked and paid, and the mistakes of each row."""
    paid = [result.outcome.ledger.spent for result in results]
    return {
        "arm": name,
        "answers": fmean(account.calls for account in paid),
        "requests": fmean(account.requests for account in paid),
        "prompt_tokens": fmean(account.input_tokens for account in paid),
        "answer_tokens": fmean(account.output_tokens for account in paid),
        "usd": fmean(account.usd or 0.0 for account in paid),
        "path_s": fmean(result.outcome.times[0] for result in results),
        "mistakes": fmean(result.score or 0.0 for result in results),
        "mistakes_by_row": [result.score for result in results],
    }


def table(arms: list[dict[str, Any]]) -> str:
    """The arms against the first one."""
    out = [
        "| | answers | requests | prompt tokens | answer tokens | dollars | share | seconds | mistakes "
        "| difference, 95% |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    for line in arms:
        apart = difference_interval(line["mistakes_by_row"], arms[0]["mistakes_by_row"])
        out.append(
            f"| {line['arm']} | {line['answers']:.1f} | {line['requests']:.1f} "
            f"| {line['prompt_tokens']:,.0f} | {line['answer_tokens']:,.0f} | {line['usd']:.4f} "
            f"| {line['usd'] / arms[0]['usd']:.1%} | {line['path_s']:.1f} | {line['mistakes']:.2f} "
            f"| {apart.mean:+.2f} ({apart.low:+.2f} to {apart.high:+.2f}) |"
        )
    return "\n".join(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=int, default=50)
    parser.add_argument("--waves", default="")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    lists = rows(given.rows)
    wanted = {
        "neither": Options(batching=False, early_stop=False),
        "request batching": Options(batching=True, early_stop=False),
        "early stopping": Options(batching=False, early_stop=True),
        "both": Options(batching=True, early_stop=True),
    }
    for wave in filter(None, given.waves.split(",")):
        wanted[f"both, first wave {wave}"] = Options(wave=int(wave))
    arms = [measure(name, arm(lists, options)) for name, options in wanted.items()]
    print(json.dumps(arms, indent=2) if given.json else table(arms))


if __name__ == "__main__":
    main()
