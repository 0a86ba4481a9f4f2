"""How often confidence sequences hold the true mean if one looks after each row.

    python -m benchmarks peeking --draws 2000 --write

Each kind has draws of `--rows` differences of two programs whose true mean is known. After each row from the
twelfth on, where a study looks first, the interval is looked at; it holds if the mean is in every one.
`above` and `below` are draws where it lay above or below the mean at some look: where the true mean is 0,
those are the false verdicts on either side. `held once` is for one look, at the planned rows; `bootstrap
held` is the bootstrap's interval at the same looks, for a tenth of the draws. Each kind appends a line to
`--out`, so that the benchmark can be interrupted and continued.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from measurement import Found, report, resumed, study_options

from gotlang.statistics import Interval, confidence_sequence, mean_interval
from gotlang.tune.judge import FEWEST

Draw = Callable[[random.Random], float]
PLANNED = 30, 60, 100
ROWS = 120
TENTH = 10


def _student(source: random.Random) -> float:
    return source.gauss(0, 1) / math.sqrt(source.gammavariate(1.5, 2) / 3)


def _sign(up: float, down: float) -> Draw:
    return lambda source: float((place := source.random()) < up) - float(place >= 1 - down)


KINDS: dict[str, tuple[Draw, float, float]] = {
    "normal": (lambda source: source.gauss(0, 1), 0.0, 0.0),
    "Student's t, 3 degrees": (_student, 0.0, 0.0),
    "exponential": (lambda source: source.expovariate(1) - 1, 0.0, 0.0),
    "exponential, reversed": (lambda source: 1 - source.expovariate(1), 0.0, 0.0),
    "log-normal, sigma 0.5": (lambda source: source.lognormvariate(0, 0.5) - math.exp(0.125), 0.0, 0.0),
    "log-normal, sigma 1": (lambda source: source.lognormvariate(0, 1) - math.exp(0.5), 0.0, 0.0),
    "right or wrong, 5% each way": (_sign(0.05, 0.05), 0.0, 1.0),
    "right or wrong, 30% each way": (_sign(0.3, 0.3), 0.0, 1.0),
    "right or wrong, 10% and 5%": (_sign(0.1, 0.05), 0.05, 1.0),
    "10% newly right": (_sign(0.1, 0.0), 0.1, 1.0),
    "all move, half each way": (_sign(0.5, 0.5), 0.0, 1.0),
}
"""How differences are drawn, their true mean, and the unit of those that may all be equal."""


def misses(
    draw: Draw,
    mean: float,
    find: Callable[[Sequence[float]], Interval],
    *,
    draws: int,
    rows: int,
    first: int = FEWEST,
    seed: int = 0,
) -> tuple[int, int]:
    """In how many draws the interval lay above the mean at some look, and in how many below it."""
    source = random.Random(seed)
    above = below = 0
    for _ in range(draws):
        values = [draw(source) for _ in range(rows)]
        looks = [find(values[:number]) for number in range(first, rows + 1)]
        above += any(look.low > mean for look in looks)
        below += any(look.high < mean for look in looks)
    return above, below


COLUMNS = {
    "differences": "{}",
    "planned": "{}",
    "held": "{:.1%}",
    "above": "{:.1%}",
    "below": "{:.1%}",
    "held once": "{:.1%}",
    "bootstrap held": "{:.1%}",
}


def studied(differences: str, draws: int, rows: int) -> Found:
    """How often a kind of difference was missed above and below, at each look and at one look, by the number
    of planned rows; and how often the bootstrap missed it."""
    draw, mean, unit = KINDS[differences]
    few = max(1, draws // TENTH)
    boot = sum(misses(draw, mean, lambda seen: mean_interval(seen, resamples=200), draws=few, rows=rows))
    found: Found = {"bootstrap": boot / few}
    for planned in PLANNED:

        def find(seen: Sequence[float], planned: int = planned) -> Interval:
            return confidence_sequence(seen, planned=planned, unit=unit)

        above, below = misses(draw, mean, find, draws=draws, rows=rows)
        once = sum(misses(draw, mean, find, draws=draws, rows=planned, first=planned, seed=1))
        found[str(planned)] = [above / draws, below / draws, once / draws]
    return found


def studies(draws: int, rows: int) -> list[Found]:
    """What names each line."""
    return [{"differences": name, "draws": draws, "rows": rows} for name in KINDS]


def table(lines: Sequence[Found]) -> Iterator[tuple[Any, ...]]:
    """A row for each kind of difference and number of planned rows."""
    for line in lines:
        for planned in PLANNED:
            above, below, once = line[str(planned)]
            held = 1 - above - below
            yield line["differences"], planned, held, above, below, 1 - once, 1 - line["bootstrap"]


if __name__ == "__main__":
    parser = study_options(__doc__)
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--rows", type=int, default=ROWS)
    given = parser.parse_args()
    lines = resumed(given.out, studies(given.draws, given.rows), studied, given.jobs)
    report(given, COLUMNS, table(lines))
