"""The papers' orderings and figures compared with those of the simulators, for every scheme that has some.

    python benchmarks/orderings.py [task ...] [--rows 50] [--json]
    python benchmarks/orderings.py --write     # writes docs/calibration.md

For each pair that a paper orders: the paired difference of quality over the same rows with its 95% CI, and
the cost of both. A claim holds if the interval excludes zero and the better scheme costs no more than the
paper allows. Published figures are of other rows and of real models: they show the calibration of the
simulators only. Exit code 1 if an ordering does not hold.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any, final

from gotlang.api import Options, Program, Session, load, run_to_end
from gotlang.data import load as load_data
from gotlang.evaluate.evaluation import Evaluation, RowRun, evaluate
from gotlang.evaluate.rows import read_dataset
from gotlang.statistics import Interval, difference_interval, mean_interval, verdict

ROOT = Path(__file__).parents[1]
PROGRAMS = ROOT / "programs"
PAGE = ROOT / "docs" / "calibration.md"
ROWS = 50
HEAD = """\
# How well the simulators are calibrated

Programs of `programs/` have simulators that respond in a model's place, with the mistakes that models make.
Their results are simulated and labelled so; these tables show how near they are to the figures of the
papers. Means are over the first rows of our own data (100 where numbers are sorted, as in the paper; 40
lakes; otherwise 50), with 95% CI; the papers' are over other rows and of real models. Orderings are paired:
the difference between two schemes row by row, with its 95% CI.
A claim holds if the interval excludes zero and, for graph against tree, if the graph costs no more.

The page is written by `python benchmarks/orderings.py --write`, and a test compares them. `python
benchmarks/calibration.py` compares the simulators of sorting with all published figures, medians included.
"""
GOT = "Graph of Thoughts"
FOT = "Framework of Thoughts"
EGOT = "Enhancing Graph of Thoughts"


def score(run: RowRun) -> float | None:
    """The scheme's own score."""
    return run.score


def correct(run: RowRun) -> float | None:
    """Right answers, in percent."""
    return None if run.truth is None else 100.0 * run.truth


def overlap(run: RowRun) -> float | None:
    """Intersection over union of the answer and the input, with their repetitions, in percent: the accuracy
    of Enhancing Graph of Thoughts, section 4.2."""
    answer, numbers = Counter(run.value or []), Counter(run.row.inputs["numbers"])
    return 100.0 * (answer & numbers).total() / (answer | numbers).total()


@final
@dataclass(frozen=True, slots=True)
class Claim:
    """A paper's claim that `better` is better than `worse`, at no more cost if `cheaper`."""

    better: str
    worse: str
    source: str
    cheaper: bool = False


@final
@dataclass(frozen=True, slots=True)
class Task:
    """Schemes of a program over a table; `published` are the papers' means by scheme."""

    name: str
    program: str
    data: str
    schemes: tuple[str, ...]
    quality: str
    lower: bool = True
    measure: Callable[[RowRun], float | None] = score
    columns: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)
    claims: tuple[Claim, ...] = ()
    published: Mapping[str, str] = field(default_factory=dict)
    rows: int = ROWS


def _chain(figure: str, graphs: Sequence[str] = ("got",)) -> tuple[Claim, ...]:
    """Graphs better than the tree at no more cost, the tree better than one prompt."""
    better = [Claim(graph, "tot", f"{GOT}, {figure}", cheaper=True) for graph in graphs]
    return (*better, Claim("tot", "io", f"{GOT}, {figure}"))


SETS = {"set1": "SET1", "set2": "SET2", "truth": "INTERSECTION"}
LISTS = {"numbers": "Unsorted", "truth": "Sorted"}
TASKS = (
    Task(
        "sorting 64",
        "sorting.got",
        "digits64.csv",
        ("io", "cot", "tot", "got"),
        "mistakes",
        columns=LISTS,
        claims=_chain("Figure 5"),
        rows=100,
    ),
    Task(
        "sorting 128",
        "sorting.got",
        "digits128.csv",
        ("io", "cot", "tot", "got", "got_rounds"),
        "mistakes",
        columns=LISTS,
        claims=_chain("Figure 5"),
        rows=100,
        published={"tot": f"18.4 ({FOT}, Table 3)", "got_rounds": f"12.7 ({FOT}, Table 3)"},
    ),
    *(
        Task(
            f"sets {size}",
            "sets.got",
            f"sets{size}.csv",
            ("io", "cot", "tot", "got"),
            "mistakes",
            columns=SETS,
            params={"merge_tries": 5} if size == 128 else {},
            claims=_chain("Figure 6") if size > 32 else _chain("Figure 6", ()),
        )
        for size in (32, 64, 128)
    ),
    Task(
        "keywords",
        "keywords.got",
        "countries.csv",
        ("io", "cot", "tot", "got4", "got8", "gotx"),
        "errors",
        claims=_chain("Figure 7", ("got4", "got8", "gotx")),
    ),
    Task(
        "documents",
        "documents.got",
        "documents.csv",
        ("io", "cot", "tot", "got"),
        "quality",
        lower=False,
        claims=(
            Claim("got", "tot", f"{GOT}, Figure 8", cheaper=True),
            Claim("tot", "io", f"{GOT}, Figure 8"),
        ),
        published={"got": f"8.4 ({FOT}, Table 3)"},
    ),
    Task(
        "game of 24",
        "game24.got",
        "game24.csv",
        ("tot",),
        "% right",
        lower=False,
        measure=correct,
        published={"tot": f"63.0 ({FOT}, Table 3)"},
    ),
    Task(
        "sorting 256",
        "egot_baselines.got",
        "numbers256.csv",
        ("io", "egot"),
        "% overlap",
        lower=False,
        measure=overlap,
        columns=LISTS,
        claims=(Claim("egot", "io", f"{EGOT}, Table 1"),),
        published={"io": f"70.71 ({EGOT}, Table 1)", "egot": f"88.31 ({EGOT}, Table 1)"},
    ),
    Task(
        "frozen lake",
        "egot_lake.got",
        "lakes.csv",
        ("egot_lake",),
        "holes and jumps",
        published={"egot_lake": f"0.55 ({EGOT}, Table 4)"},
    ),
)


@final
@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of a claim."""

    claim: Claim
    difference: Interval
    shown: str
    costs: tuple[float, float]

    @property
    def holds(self) -> bool:
        """Whether the interval shows it, and the cost is as claimed."""
        return self.shown == "better" and (not self.claim.cheaper or self.costs[0] <= self.costs[1])


@final
@dataclass(frozen=True, slots=True)
class Outcome:
    """A task with the quality of each scheme by row, its cost per row, and its claims."""

    task: Task
    values: dict[str, dict[int, float]]
    costs: dict[str, float]
    findings: tuple[Finding, ...]


@cache
def program(name: str) -> Program:
    """A program of programs/."""
    return load(PROGRAMS / name)


def run(task: Task, rows: int | None = None) -> Outcome:
    """Run every scheme of a task on its first rows (None: the task's number of them), with simulators and
    without a cache."""
    options = Options(model="simulated", cache=None, params=dict(task.params), python=True)
    table = load_data(PROGRAMS / "data" / task.data)
    loaded = program(task.program)

    async def go() -> dict[str, Evaluation]:
        async with Session(loaded, options) as session:
            found = {}
            for scheme in (s for s in session.ir.schemes if s.name in task.schemes):
                chosen = read_dataset(table, loaded.ir(0), scheme, task.columns, rows or task.rows)
                found[scheme.name] = await evaluate(session, chosen, scheme=scheme.name)
            return found

    found = run_to_end(go(), virtual=True)
    values = {name: _qualities(task, found[name]) for name in task.schemes}
    costs = {name: fmean(found[name].values("cost").values()) for name in task.schemes}
    findings = []
    for claim in task.claims:
        better, worse = values[claim.better], values[claim.worse]
        both = [row for row in better if row in worse]
        difference = difference_interval([better[r] for r in both], [worse[r] for r in both])
        shown = verdict(difference, lower_is_better=task.lower)
        findings.append(Finding(claim, difference, shown, (costs[claim.better], costs[claim.worse])))
    return Outcome(task, values, costs, tuple(findings))


def _qualities(task: Task, found: Evaluation) -> dict[int, float]:
    known = ((run.row.number, task.measure(run)) for run in found.runs if run.state == "done")
    return {number: value for number, value in known if value is not None}


def section(outcome: Outcome) -> str:
    """An outcome as a section of the page."""
    task = outcome.task
    rows = max(len(values) for values in outcome.values.values())
    way = "lower" if task.lower else "higher"
    out = [
        f"## {task.name.capitalize()}",
        "",
        f"`{task.program}` on {rows} rows of `{task.data}`; {task.quality}, {way} is better.",
        "",
        f"| scheme | {task.quality} | 95% CI | cost per row | published |",
        "| --- | ---: | --- | ---: | --- |",
    ]
    for name, values in outcome.values.items():
        mean = mean_interval(list(values.values()))
        interval = f"{mean.low:.2f} to {mean.high:.2f}"
        published = task.published.get(name, "")
        out.append(f"| {name} | {mean.mean:.2f} | {interval} | ${outcome.costs[name]:.4f} | {published} |")
    out.append("")
    for finding in outcome.findings:
        claim, by = finding.claim, finding.difference
        cost = f", at {finding.costs[0] / finding.costs[1]:.0%} of its cost" if claim.cheaper else ""
        word = "holds" if finding.holds else "**does not hold**"
        out.append(
            f"- {claim.better} better than {claim.worse} ({claim.source}): {word}, "
            f"{by.mean:+.2f} ({by.low:+.2f} to {by.high:+.2f}){cost}"
        )
    return "\n".join(out).rstrip() + "\n"


def as_json(outcome: Outcome) -> dict[str, Any]:
    """An outcome as plain JSON."""
    means = {name: fmean(values.values()) for name, values in outcome.values.items()}
    return {
        "task": outcome.task.name,
        "quality": outcome.task.quality,
        "mean": means,
        "usd": outcome.costs,
        "published": dict(outcome.task.published),
        "claims": [
            {
                "better": f.claim.better,
                "worse": f.claim.worse,
                "difference": [f.difference.low, f.difference.mean, f.difference.high],
                "holds": f.holds,
            }
            for f in outcome.findings
        ],
    }


def write() -> None:
    """Write the page."""
    PAGE.write_text("\n".join([HEAD, *(section(run(task)) for task in TASKS)]), encoding="utf-8")


def main() -> int:
    """Run the tasks named, or all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("task", nargs="*", help=f"of {', '.join(task.name for task in TASKS)}")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", action="store_true")
    chosen = parser.parse_args()
    if unknown := set(chosen.task) - {task.name for task in TASKS}:
        parser.error(f"no such task: {', '.join(sorted(unknown))}")
    if chosen.write:
        write()
        return 0
    outcomes = []
    for task in TASKS:
        if not chosen.task or task.name in chosen.task:
            outcomes.append(run(task, chosen.rows))
            if not chosen.json:
                print(section(outcomes[-1]))
    if chosen.json:
        print(json.dumps([as_json(outcome) for outcome in outcomes], indent=2))
    return 0 if all(finding.holds for outcome in outcomes for finding in outcome.findings) else 1


if __name__ == "__main__":
    sys.exit(main())
