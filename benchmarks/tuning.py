"""Every claim about studies: the goal, the result, and the number of seeds.

    python -m benchmarks tuning --quick           fewer seeds, within half an hour on two processors
    python -m benchmarks tuning --write           ten seeds and 200 null studies: hours

The parts run one after the other, and each is a benchmark of its own that says how it measures: `arms`, with
sort128 by the true means of `landscape`, `nulls`, `peeking`, `prompts`, `nonsense`, `front`, `structure` and
`disturbed`. Each study is a line in a file of `--folder`, by default `benchmarks/results` or, with `--quick`,
`build/tuning`: what is there is not run again, so that the benchmark can be interrupted and continued.
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, final

import arms
import disturbed
import front
import landscape
import nonsense
import nulls
import peeking
import prompts
import structure
from arms import SORTING as SORT
from measurement import RESULTS, ROOT, Found, options, report, resumed
from planted import ERRORS
from support.disturbed import CASES

QUICK = ROOT / "build" / "tuning"
OURS = "gotc tune"
COVERED = 0.93
"""The share of 95% intervals that must hold."""
COLUMNS = dict.fromkeys(("", "claim", "wanted", "found", "studies", "kept"), "{}")
Lines = Sequence[Found]


@final
@dataclass(frozen=True)
class Claim:
    """A row of the table: `number` is the section that it is about."""

    number: int
    text: str
    wanted: str
    found: str
    studies: int | str
    kept: bool

    def row(self) -> tuple[Any, ...]:
        """As it is printed."""
        return self.number, self.text, self.wanted, self.found, self.studies, "yes" if self.kept else "no"


@final
@dataclass(frozen=True)
class Part:
    """A benchmark that claims rest on: `studies` are what names its studies, `claims` reads their lines."""

    name: str
    studies: Lines
    run: Callable[..., Found]
    claims: Callable[[Lines], Iterator[Claim]]


# ---------------------------------------------------------------- beside TPE and random search


def sorting(lines: Lines) -> Iterator[Claim]:
    """Of the settings of sort128."""
    facts = landscape.Landscape()
    some = {arm: [line for line in lines if line["arm"] == arm] for arm in arms.ARMS}
    gains = {arm: [arms.judged(line, facts)["gain"] or 0.0 for line in each] for arm, each in some.items()}
    regret = {arm: 1 - fmean(each) for arm, each in gains.items()}
    paid = {arm: fmean(line["usd"] for line in each) for arm, each in some.items()}
    count, share = f"{len(some[OURS])} of each", paid[OURS] / paid["TPE"]
    found = beside({arm: f"{each:.0%}" for arm, each in regret.items()})
    yield Claim(1, "sort128: mean regret", "at most 10%", found, count, regret[OURS] <= 0.1)
    found = f"{share:.0%}: " + beside({arm: f"${usd:.2f}" for arm, usd in paid.items()})
    yield Claim(1, "sort128: money", "at most 60% of TPE's", found, count, share <= 0.6)


def planted_programs(lines: Lines) -> Iterator[Claim]:
    """Of planted programs."""
    paid, false, held = Counter[str](), 0, []
    for program, known in arms.facts_of([*ERRORS]).items():
        some = [line for line in lines if line["program"] == program]
        pairs = [(line["arm"], arms.judged(line, known)) for line in some]
        best = {arm: sum(judged["best"] for name, judged in pairs if name == arm) for arm in arms.ARMS}
        ours = [judged for arm, judged in pairs if arm == OURS]
        paid.update({arm: sum(line["usd"] for line in some if line["arm"] == arm) for arm in arms.ARMS})
        false += sum(judged["false"] for judged in ours)
        held += [judged["held"] for judged in ours if judged["held"] is not None]
        kept = best[OURS] >= 0.8 * len(ours)
        yield Claim(2, f"{program}: the best found", "8 of 10", beside(best), f"{len(ours)} of each", kept)
    count, share = f"{len(lines) // len(arms.ARMS)} of each", paid[OURS] / paid["TPE"]
    yield Claim(2, "claims that are not true", "none", str(false), count, not false)
    found = f"{share:.0%} ({paid[OURS] / paid['random']:.0%} of random search's)"
    yield Claim(2, "money of all", "at most 50% of TPE's", found, count, share <= 0.5)
    yield from covered("planted programs", held)


def beside(found: Mapping[str, object]) -> str:
    """Ours, and that of the others behind it."""
    return f"{found[OURS]} (" + ", ".join(f"{arm} {each}" for arm, each in found.items() if arm != OURS) + ")"


def covered(where: str, held: Sequence[bool]) -> Iterator[Claim]:
    """How many intervals of held-out rows hold, if there are any."""
    if held:
        share, text = fmean(held), f"{where}: intervals that hold"
        yield Claim(3, text, f"{COVERED:.0%}", f"{share:.1%}", len(held), share >= COVERED)


# ---------------------------------------------------------------- nothing to find


def null_studies(lines: Lines) -> Iterator[Claim]:
    """Of null studies."""
    better = sum(line["verdict"] == "better" for line in lines)
    found, kept = f"{better / len(lines):.1%}", better <= 0.05 * len(lines)
    yield Claim(3, "null studies: false `better`", "at most 5%", found, len(lines), kept)
    yield from covered("null studies", [line["held"] for line in lines if line.get("held") is not None])


def looks(lines: Lines) -> Iterator[Claim]:
    """Of intervals that are looked at after each row."""
    held = {(kind, planned): share for kind, planned, share, *_ in peeking.table(lines)}
    (kind, planned), least = min(held.items(), key=lambda each: each[1])
    enough, count = sum(share >= COVERED for share in held.values()), f"{lines[0]['draws']} draws of each"
    found = f"in {enough} of {len(held)}; the least {least:.1%}: {kind}, {planned} planned"
    wanted, text = f"{COVERED:.0%}", "looks after each row: intervals that hold at all"
    yield Claim(3, text, wanted, found, count, enough == len(held))


# ---------------------------------------------------------------- prompts, structure, front


def words(lines: Lines) -> Iterator[Claim]:
    """Of prompt search with planted words."""
    table = [row[:5] for row in prompts.table(lines)]
    _, studies, _, nulls_, _ = table[0]
    found = ", ".join(f"{name} {hits}" for name, _, hits, *_ in table)
    kept = sum(hits >= 0.9 * studies for _, _, hits, *_ in table) >= 2
    yield Claim(4, "what helps is found", "9 of 10 by two optimizers", found, f"{studies} of each", kept)
    false = sum(line["verdict"] == "better" for line in lines if line["null"])
    yield Claim(4, "finds where nothing helps", "none", str(false), f"{nulls_} of each", not false)


def answers(lines: Lines) -> Iterator[Claim]:
    """Of proposers that answer nonsense."""
    told, share = sum(map(nonsense.told, lines)), max(line["share"] for line in lines)
    most = max(line["asked"] for line in lines)
    found = f"told in {told}, after {most} at most; {share:.1%} at most"
    wanted = f"told within {nonsense.MOST} proposals, 5% of the budget"
    kept = told == len(lines) and share <= 0.05
    yield Claim(4, "proposers of nonsense", wanted, found, len(lines), kept)


def rewrites(lines: Lines) -> Iterator[Claim]:
    """Of structure."""
    most = 0
    for task in structure.TASKS:
        some = [line for line in lines if line["task"] == task]
        good = sum(line["as_good"] for line in some)
        found, theirs = [line["tuned"] for line in some], [line["written"][line["best"]] for line in some]
        error, others = (fmean(each["error"] for each in side) for side in (found, theirs))
        cost, other = (fmean(each["usd"] for each in side) for side in (found, theirs))
        said = f"{good}: {error:.2f} errors for ${cost:.4f} (ours by hand {others:.2f} for ${other:.4f})"
        most += 2 * good >= len(some)
        yield Claim(5, f"{task}: as good for no more", "half", said, len(some), 2 * good >= len(some))
    yield Claim(5, "tasks of which half are as good", "2 of 3", str(most), len(lines), most >= 2)


def fronts(lines: Lines) -> Iterator[Claim]:
    """Of three objectives."""
    sums = [front.sums(line) for line in lines]
    found = [len(line["points"]) for line in lines]
    fair, whole = sum(map(front.simultaneous, lines)), sum(points == each for points, each, *_ in sums)
    share = fmean(line["usd"] / line["cold"] for line in lines)
    yield Claim(6, "fronts with simultaneous intervals", "all", str(fair), len(lines), fair == len(lines))
    kept = whole >= 0.9 * len(lines)
    yield Claim(6, "fronts of which all intervals hold", "9 of 10", str(whole), len(lines), kept)
    ran = sum(each for *_, each in sums)
    yield Claim(6, "picked files that run as promised", "all", str(ran), sum(found), ran == sum(found))
    money = "that of 60 trials without a cache"
    yield Claim(6, "money of a front", money, f"{share:.0%}", len(lines), share <= 1)


# ---------------------------------------------------------------- kills and outages


def disturbances(lines: Lines) -> Iterator[Claim]:
    """Of studies that are disturbed."""
    ended = sum(disturbed.same(line, lines) for line in lines[1:])
    twice, lost = (sum(line[name] for line in lines) for name in ("twice", "under_way"))
    for case in CASES:
        if case not in [line["case"] for line in lines]:
            yield Claim(7, f"disturbed, {case}", "the same result", "not run: no PostgreSQL here", 0, False)
    found, count = f"{ended} of {len(lines) - 1}", len(lines) - 1
    yield Claim(7, "disturbed studies with the same result", "all", found, count, ended == count)
    found = f"{twice}, besides {lost} under way when a worker or the database went"
    yield Claim(7, "disturbed studies: charged twice", "none", found, count, not twice)


# ---------------------------------------------------------------- all


def parts(quick: bool) -> list[Part]:
    """What runs, one after the other."""
    few, whole = (3, 2) if quick else (10, 10)
    away_s = disturbed.QUICK_S if quick else disturbed.AWAY_S
    searches = prompts.studies([*prompts.OPTIMIZERS], few, 5 if quick else 20)
    by_hand = [arms.studies([*ERRORS], [*arms.ARMS], few, 0), arms.studies([SORT], [*arms.ARMS], 0, whole)]
    return [
        Part("arms", by_hand[0], arms.studied, planted_programs),
        Part("arms", by_hand[1], arms.studied, sorting),
        Part("nulls", nulls.studies(quick), nulls.studied, null_studies),
        Part("peeking", peeking.studies(200 if quick else 2000, peeking.ROWS), peeking.studied, looks),
        Part("prompts", searches, prompts.studied, words),
        Part("nonsense", nonsense.studies(1), nonsense.studied, answers),
        Part("front", front.studies(whole), front.studied, fronts),
        Part(
            "structure",
            structure.studies([*structure.TASKS], 1 if quick else 10, structure.TRIALS),
            structure.studied,
            rewrites,
        ),
        Part("disturbed", disturbed.studies(away_s), disturbed.studied, disturbances),
    ]


def claims(quick: bool, folder: Path, jobs: int) -> Iterator[tuple[Any, ...]]:
    """A row for each claim; each is said as soon as its part has ended."""
    for part in parts(quick):
        started = time.monotonic()
        lines = resumed(folder / f"{part.name}.jsonl", part.studies, part.run, jobs)
        rows = [each.row() for each in part.claims(lines)]
        seconds = time.monotonic() - started
        said = "".join(f"    {' | '.join(map(str, row))}\n" for row in rows)
        print(f"{part.name}, after {seconds:.0f} s:\n{said}", file=sys.stderr, flush=True)
        yield from rows


def main() -> None:
    """Run from the command line."""
    parser = options(__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer seeds")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="studies at a time")
    parser.add_argument("--folder", type=Path, help="of the lines of studies")
    given = parser.parse_args()
    folder = given.folder or (QUICK if given.quick else RESULTS)
    if there := [path.name for path in folder.glob("*.jsonl")]:
        print(f"what {folder} has is not run again: {', '.join(sorted(there))}", file=sys.stderr)
    report(given, COLUMNS, claims(given.quick, folder, given.jobs))


if __name__ == "__main__":
    main()
