"""How near `gotc explain` comes to runs that it has not seen; `python benchmarks/estimates.py` prints it.

What it expects a scheme to cost comes from one simulated run, with the seed that a run has where nothing
else is said; such a run costs exactly that. Here runs with other seeds are held against it: what they cost in
parts of the estimate, for every scheme of programs/ on one input of its task.
"""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import fmean

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.schemes import ROWS, Row, given, program_of
from gotlang.api import Options

SEEDS = range(1, 6)
NEAR = 0.25


def ratios(row: Row, early_stop: bool) -> list[float]:
    """What each run costs in parts of what was expected."""
    program, (found, _) = program_of(row.program), given(row)
    options = Options(params=row.params, early_stop=early_stop)
    estimate = program.explain(found, scheme=row.scheme, options=options)
    costs = (estimate.early if early_stop else estimate.costs).usd
    assert costs is not None and costs.expected
    out = []
    for seed in SEEDS:
        own = Options(params=row.params, early_stop=early_stop, seed=seed)
        paid = program.run(found, scheme=row.scheme, options=own).outcome.ledger.accounts[0].usd
        assert paid is not None
        out.append(paid / costs.expected)
    return out


def main() -> None:
    """Print a line for each kind of scheme, then those whose mean is not near."""
    print("| schemes | early stop | rows | runs near | means near | least mean | greatest mean |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    far = []
    for early in (False, True):
        for dynamic in (False, True):
            rows = [row for row in ROWS if row.dynamic == dynamic]
            found = {row.name: ratios(row, early) for row in rows}
            every = [ratio for some in found.values() for ratio in some]
            means = {name: fmean(some) for name, some in found.items()}
            near = sum(abs(ratio - 1) <= NEAR for ratio in every)
            cells = ["a model decides" if dynamic else "static", "on" if early else "off", str(len(rows))]
            cells += [f"{near} of {len(every)}"]
            cells += [f"{sum(abs(mean - 1) <= NEAR for mean in means.values())} of {len(means)}"]
            cells += [f"{min(means.values()):.2f}", f"{max(means.values()):.2f}"]
            print("| " + " | ".join(cells) + " |", flush=True)
            far += [(name, early, mean) for name, mean in means.items() if abs(mean - 1) > NEAR]
    for name, early, mean in far:
        print(f"{name}, early stop {'on' if early else 'off'}: {mean:.2f}")


if __name__ == "__main__":
    main()
