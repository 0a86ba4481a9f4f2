"""False positives of studies in which no dimension has an effect.

    python -m benchmarks nulls --quick          a fifth of the studies
    python -m benchmarks nulls --write          all 200

`params` and `right or wrong` vary a tone and a number in a prompt, `structure` rewrites a program whose other
prompt, tries and repairs answer as its first prompt does, and the optimizers of `benchmarks/prompts.py` get
advice of which none helps. Each study has 30 train and 60 test rows, and appends a line to `--out`, so that
the benchmark can be interrupted and continued.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import Any

import prompts
from measurement import Found, report, resumed, study_options
from planted import planted_plan

from gotlang.api import Options
from gotlang.cache.memory import MemoryCache
from gotlang.tune.study import tune

PROGRAMS = {"params": "null", "right or wrong": "null_right", "structure": "null_structure"}
STUDIES = {"params": 60, "right or wrong": 40, "structure": 40, **dict.fromkeys(prompts.OPTIMIZERS, 15)}
"""How many studies of each kind: 200."""
FIRST = 21
"""The first seed of studies of prompts; those before are in `benchmarks/prompts.py`."""
SHARE = 5
"""A quick run has one in so many."""


def studied(kind: str, seed: int) -> Found:
    """What a study finds."""
    if kind in prompts.OPTIMIZERS:
        found = prompts.studied(kind, True, FIRST - 1 + seed)
        return {key: found[key] for key in ("verdict", "usd")}
    plan = planted_plan(PROGRAMS[kind], seed)
    done = tune(plan, Options(seed=seed, cache=MemoryCache()), folder=None)
    held = done.held_out
    lead = held.compared[0].lead if held is not None and done.winner.number else None
    return {
        "verdict": held.verdict if held is not None else "not compared",
        "usd": done.usd,
        "held": None if lead is None else lead.low <= 0 <= lead.high,
    }


def studies(quick: bool) -> list[Found]:
    """What names each study, all kinds by turns."""
    numbers = {kind: number // SHARE if quick else number for kind, number in STUDIES.items()}
    turns = range(1, max(numbers.values()) + 1)
    return [{"kind": kind, "seed": seed} for seed in turns for kind, last in numbers.items() if seed <= last]


COLUMNS = {
    "what varies": "{}",
    "studies": "{}",
    "better": "{}",
    "share": "{:.1%}",
    "worse": "{}",
    "not significant": "{}",
    "nothing found": "{}",
    "intervals that hold": "{}",
    "a study": "${:.4f}",
    "its time": "{:.1f} s",
}


def table(lines: Sequence[Found]) -> Iterator[tuple[Any, ...]]:
    """A row for each kind, and one for all."""
    for kind in (*STUDIES, "all"):
        some = [line for line in lines if kind in ("all", line["kind"])]
        if not some:
            continue
        verdicts = [line["verdict"] for line in some]
        words = "better", "worse", "not significant"
        better, worse, open_ = (verdicts.count(word) for word in words)
        others = len(some) - better - worse - open_
        seconds = fmean(line["seconds"] for line in some)
        usd = fmean(line["usd"] for line in some)
        held = [line["held"] for line in some if line.get("held") is not None]
        holds = f"{sum(held)} of {len(held)}" if held else None
        yield kind, len(some), better, better / len(some), worse, open_, others, holds, usd, seconds


def main() -> None:
    parser = study_options(__doc__)
    parser.add_argument("--quick", action="store_true", help="a fifth of the studies")
    given = parser.parse_args()
    report(given, COLUMNS, table(resumed(given.out, studies(given.quick), studied, given.jobs)))


if __name__ == "__main__":
    main()
