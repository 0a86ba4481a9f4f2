"""The papers' orderings and figures compared with those of the simulators, for every scheme that has some.

    python benchmarks/orderings.py [task ...] [--rows 50] [--json]
    python benchmarks/orderings.py [task ...] --write     # writes the results and docs/calibration.md

For each pair that a paper orders: the paired difference of quality over the same rows with its 95% CI, and
the cost of both. A claim holds if the interval excludes zero and the better scheme costs no more than the
paper says. A published mean or median is reached if it is in the 95% CI. Published figures are of other rows
and of real models: they show the calibration of the simulators only. The page ends with all that they miss.
"""

from __future__ import annotations

import argparse
import json
import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from pathlib import Path
from statistics import fmean, median
from types import MappingProxyType
from typing import Any, final

from gotlang.api import Options, Program, Session, load, run_to_end
from gotlang.data import load as load_data
from gotlang.evaluate.evaluation import Evaluation, RowRun, evaluate
from gotlang.evaluate.rows import read_dataset
from gotlang.statistics import Interval, difference_interval, mean_interval, quantile, verdict

ROOT = Path(__file__).parents[1]
PROGRAMS = ROOT / "programs"
PAGE = ROOT / "docs" / "calibration.md"
RESULTS = ROOT / "benchmarks" / "results" / "orderings.jsonl"
"""Quality and cost of each scheme of each task, row by row."""
ROWS = 50
HEAD = """\
# How well the simulators are calibrated

Programs of `programs/` have simulators that respond in a model's place, with the mistakes that models make.
Their results are labelled as simulated; these tables compare them with the figures of the
papers. Means are over the first rows of our own data (100 for sorting, as in the paper; 20
lakes with each number of holes; otherwise 50), with 95% CI; the papers' are over other rows and real
models. Orderings are paired: the difference between two schemes row by row, with its 95% CI. A claim holds if
the interval excludes zero and the better scheme costs no more than the paper says. A published mean or median
is reached if it is in the 95% CI. Figures that are not reached are listed in each section and again [at the
end](#not-reached). Other schemes (ProbTree, forest of thought and others) are not compared:
their tasks are our own, so no paper has a figure for them.

The page is written by `python benchmarks/orderings.py --write`, with each row in
`benchmarks/results/orderings.jsonl`; CI runs some of these rows again. `python benchmarks/calibration.py`
compares the simulators of sorting with the published figures without the language.
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
    """A paper's claim that `better` is better than `worse`, at no more than this `cost` relative to it."""

    better: str
    worse: str
    source: str
    cost: float | None = None


@final
@dataclass(frozen=True, slots=True)
class Published:
    """A published mean. Of a median `lower_than` another scheme's it is by how much, from 0 to 1."""

    scheme: str
    value: float
    source: str
    lower_than: str = ""


@final
@dataclass(frozen=True, slots=True)
class Task:
    """Schemes of a program over some rows of a table, with what the papers publish of them."""

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
    published: tuple[Published, ...] = ()
    rows: range = range(ROWS)


def _chain(figure: str, graphs: Sequence[str] = ("got",), cost: float = 1.0) -> tuple[Claim, ...]:
    """Graphs better than both trees and cheaper than the wide one, which is better than the deep one."""
    source = f"{GOT}, {figure}"
    better = [(Claim(graph, "tot", source, cost), Claim(graph, "tot2", source)) for graph in graphs]
    return (*chain.from_iterable(better), Claim("tot", "tot2", source), Claim("tot", "io", source))


def _medians(**lower: float) -> tuple[Published, ...]:
    return tuple(Published("got", share, f"{GOT}, section 7.2", name) for name, share in lower.items())


def _enhanced(
    name: str,
    program: str,
    data: str,
    schemes: tuple[str, ...],
    accuracy: tuple[Callable[[RowRun], float | None], tuple[float, ...]],
    errors: tuple[Callable[[RowRun], float | None], tuple[float, ...]],
    table: str,
    *,
    columns: Mapping[str, str] = MappingProxyType({}),
    rows: range = range(ROWS),
) -> Iterator[Task]:
    """Two tasks: the accuracy and the number of errors of Enhancing Graph of Thoughts and its baselines."""
    source, graph = f"{EGOT}, {table}", next(scheme for scheme in schemes if scheme.startswith("egot"))
    for way, lower, (measure, values) in (("accuracy", False, accuracy), ("errors", True, errors)):
        figures = dict(zip(schemes, values, strict=True))
        worse = [
            scheme
            for scheme in schemes[: schemes.index(graph)]
            if (figures[scheme] > figures[graph] if lower else figures[scheme] < figures[graph])
        ]
        yield Task(
            f"{name}, {way}",
            program,
            data,
            schemes,
            "number of errors" if lower else "accuracy in percent",
            lower=lower,
            measure=measure,
            columns=columns,
            claims=tuple(Claim(graph, scheme, source) for scheme in worse),
            published=tuple(Published(scheme, value, source) for scheme, value in figures.items()),
            rows=rows,
        )


SETS = {"set1": "SET1", "set2": "SET2", "truth": "INTERSECTION"}
LISTS = {"numbers": "Unsorted", "truth": "Sorted"}
TUNED = {"tot_branches": 14, "tree_rounds": 6, "sort_tries": 2, "merge_tries": 13, "rounds": 2}
FIVE = ("io", "cot", "tot", "tot2", "got")
MEDIANS = {64: _medians(io=0.83, cot=0.65, tot2=0.61), 128: _medians(tot=0.62, tot2=0.69)}
TASKS = (
    *(
        Task(
            f"sorting {size}",
            "sorting.got",
            f"digits{size}.csv",
            FIVE,
            "mistakes",
            columns=LISTS,
            # At 128 digits the graph costs 31 % less than the wide tree.
            claims=_chain("Figure 5 and section 7.2", cost=0.69 if size == 128 else 1.0),
            rows=range(100),
            published=MEDIANS.get(size, ()),
        )
        for size in (32, 64, 128)
    ),
    *(
        Task(
            name,
            "sorting.got",
            "digits128.csv",
            ("tot_rounds", "got_rounds"),
            "mistakes",
            columns=LISTS,
            params=params,
            rows=range(100),
            published=(
                Published("tot_rounds", tree, f"{FOT}, Table 3"),
                Published("got_rounds", graph, f"{FOT}, Table 3"),
            ),
        )
        for name, params, tree, graph in (
            ("sorting 128, tuned by Framework of Thoughts", TUNED, 18.2, 12.1),
            ("sorting 128, before tuning", {}, 18.4, 12.7),
        )
    ),
    *(
        Task(
            f"sets {size}",
            "sets.got",
            f"sets{size}.csv",
            FIVE,
            "mistakes",
            columns=SETS,
            claims=_chain("Figure 6"),
        )
        for size in (32, 64, 128)
    ),
    Task(
        "keywords",
        "keywords.got",
        "countries.csv",
        ("io", "cot", "tot", "tot2", "got4", "got8", "gotx"),
        "errors",
        claims=_chain("Figure 7", ("got4", "got8", "gotx")),
    ),
    Task(
        "documents",
        "documents.got",
        "documents.csv",
        ("io", "cot", "tot", "got", "got_tuned"),
        "quality",
        lower=False,
        claims=(
            Claim("got", "tot", f"{GOT}, Figure 8", 1.0),
            Claim("tot", "io", f"{GOT}, Figure 8"),
        ),
        published=(Published("got_tuned", 8.4, f"{FOT}, Table 3"),),
    ),
    Task(
        "game of 24",
        "game24.got",
        "game24.csv",
        ("tot", "candidates"),
        "% right",
        lower=False,
        measure=correct,
        published=(
            Published("tot", 63.0, f"{FOT}, Table 3"),
            Published("candidates", 74.0, "Tree of Thoughts, Table 2"),
        ),
        rows=range(900, 1000),
    ),
    *_enhanced(
        "sorting 128 numbers",
        "egot_baselines.got",
        "numbers128.csv",
        ("io", "cot1", "cot2", "tot", "got", "egot", "egot_star"),
        (overlap, (90.25, 72.13, 90.41, 92.28, 90.98, 92.09, 91.70)),
        (score, (14.07, 38.79, 13.87, 10.87, 11.88, 10.94, 11.45)),
        "Table 1",
        columns=LISTS,
    ),
    *_enhanced(
        "sorting 256 numbers",
        "egot_baselines.got",
        "numbers256.csv",
        ("io", "cot1", "cot2", "tot", "got", "egot", "egot_star"),
        (overlap, (70.71, 49.50, 83.17, 75.58, 84.37, 88.31, 87.94)),
        (score, (119.51, 154.57, 49.25, 65.74, 40.93, 34.54, 35.19)),
        "Table 1",
        columns=LISTS,
    ),
    *_enhanced(
        "frozen lake, 8 holes",
        "egot_lake_baselines.got",
        "lakes.csv",
        ("cot", "tot", "egot_lake", "egot_lake_star"),
        (correct, (50.8, 39.7, 58.8, 53.3)),
        (score, (0.83, 1.03, 0.64, 0.62)),
        "Table 4",
        rows=range(20),
    ),
    *_enhanced(
        "frozen lake, 10 holes",
        "egot_lake_baselines.got",
        "lakes.csv",
        ("cot", "tot", "egot_lake", "egot_lake_star"),
        (correct, (51.7, 44.4, 59.0, 60.3)),
        (score, (0.80, 0.89, 0.55, 0.60)),
        "Table 4",
        rows=range(20, 40),
    ),
    Task(
        "document merging by EGoT",
        "egot_documents.got",
        "documents.csv",
        ("io", "cot", "tot", "got", "egot_documents", "egot_documents_star"),
        "quality",
        lower=False,
        published=tuple(
            Published(scheme, value, f"{EGOT}, section 4.1")
            for scheme, value in (
                ("io", 7.596),
                ("cot", 7.779),
                ("tot", 7.674),
                ("got", 7.643),
                ("egot_documents", 7.601),
                ("egot_documents_star", 7.498),
            )
        ),
        rows=range(20),
    ),
)


@final
@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of a claim."""

    claim: Claim
    difference: Interval
    shown: str
    cost: float

    @property
    def holds(self) -> bool:
        """Whether the interval shows it, and the cost is as claimed."""
        return self.shown == "better" and self.cost <= (self.claim.cost or math.inf)

    def __str__(self) -> str:
        claim, by = self.claim, self.difference
        limit = f" (published: at most {claim.cost:.0%})" if claim.cost and claim.cost < 1 else ""
        cost = f", at {self.cost:.0%} of its cost{limit}" if claim.cost else ""
        word = "holds" if self.holds else "**does not hold**"
        return (
            f"{claim.better} better than {claim.worse} ({claim.source}): {word}, "
            f"{by.mean:+.2f} ({by.low:+.2f} to {by.high:+.2f}){cost}"
        )


@final
@dataclass(frozen=True, slots=True)
class Reached:
    """A published figure and the one measured with simulators."""

    published: Published
    found: Interval

    @property
    def holds(self) -> bool:
        """Whether the published figure is in the interval, up to rounding."""
        return round(self.found.low, 2) <= self.published.value <= round(self.found.high, 2)

    def __str__(self) -> str:
        one, by = self.published, self.found
        word = "reached" if self.holds else "**not reached**"
        if one.lower_than:
            return (
                f"median of {one.scheme} {by.mean:.0%} ({by.low:.0%} to {by.high:.0%}) lower than that of "
                f"{one.lower_than}, published {one.value:.0%} ({one.source}): {word}"
            )
        return (
            f"mean of {one.scheme} {by.mean:.2f} ({by.low:.2f} to {by.high:.2f}), "
            f"published {one.value} ({one.source}): {word}"
        )


@final
@dataclass(frozen=True, slots=True)
class Rows:
    """The quality of a scheme by row, without the rows that have none, and the cost of each row in USD."""

    quality: dict[int, float]
    usd: dict[int, float]


@final
@dataclass(frozen=True, slots=True)
class Outcome:
    """A task with the quality of each scheme by row, its cost per row, and its claims."""

    task: Task
    values: dict[str, dict[int, float]]
    costs: dict[str, float]
    findings: tuple[Finding | Reached, ...]


@cache
def program(name: str) -> Program:
    """A program of programs/."""
    return load(PROGRAMS / name)


_EVALUATED: dict[str, dict[str, Evaluation]] = {}
"""What was run last, for tasks one after another that differ in what they measure only."""


def evaluated(task: Task, numbers: range) -> dict[str, Evaluation]:
    """The runs of every scheme of a task on some rows, with simulators and without a cache."""
    key = repr((task.program, task.data, task.schemes, dict(task.columns), dict(task.params), numbers))
    if key in _EVALUATED:
        return _EVALUATED[key]
    options = Options(model="simulated", cache=None, params=dict(task.params), python=True)
    table = load_data(PROGRAMS / "data" / task.data)
    loaded = program(task.program)

    async def go() -> dict[str, Evaluation]:
        async with Session(loaded, options) as session:
            found = {}
            for scheme in (s for s in session.ir.schemes if s.name in task.schemes):
                chosen = read_dataset(table, loaded.ir(0), scheme, task.columns, numbers=numbers)
                found[scheme.name] = await evaluate(session, chosen, scheme=scheme.name)
            return found

    _EVALUATED.clear()
    _EVALUATED[key] = run_to_end(go(), virtual=True)
    return _EVALUATED[key]


def measured(task: Task, numbers: range) -> dict[str, Rows]:
    """Some rows of each scheme of a task, run now."""
    found = evaluated(task, numbers)
    return {
        name: Rows(_rounded(_qualities(task, found[name])), _rounded(found[name].values("cost")))
        for name in task.schemes
    }


def _rounded(values: Mapping[int, float]) -> dict[int, float]:
    """Without the last bits, which depend on the order of summation."""
    return {row: round(value, 9) for row, value in values.items()}


def recorded() -> dict[str, dict[str, Rows]]:
    """All rows of each scheme of each task, as they were when the results were written."""
    found: dict[str, dict[str, Rows]] = {}
    for line in RESULTS.read_text(encoding="utf-8").splitlines():
        one = json.loads(line)
        first, qualities, usd = one["first"], one["quality"], one["usd"]
        found.setdefault(one["task"], {})[one["scheme"]] = Rows(
            {row: value for row, value in enumerate(qualities, first) if value is not None},
            {row: value for row, value in enumerate(usd, first) if value is not None},
        )
    return found


def outcome(task: Task, found: Mapping[str, Rows]) -> Outcome:
    """What the rows of a task's schemes show."""
    values = {name: rows.quality for name, rows in found.items()}
    costs = {name: fmean(rows.usd.values()) for name, rows in found.items()}
    findings: list[Finding | Reached] = []
    for claim in task.claims:
        difference = difference_interval(*_paired(values, claim.better, claim.worse))
        shown = verdict(difference, lower_is_better=task.lower)
        findings.append(Finding(claim, difference, shown, costs[claim.better] / costs[claim.worse]))
    for one in task.published:
        if one.lower_than:
            interval = _lower(*_paired(values, one.scheme, one.lower_than))
        else:
            interval = mean_interval(list(values[one.scheme].values()))
        findings.append(Reached(one, interval))
    return Outcome(task, values, costs, tuple(findings))


def _paired(
    values: Mapping[str, Mapping[int, float]], one: str, other: str
) -> tuple[list[float], list[float]]:
    rows = [row for row in values[one] if row in values[other]]
    return [values[one][row] for row in rows], [values[other][row] for row in rows]


def _lower(values: list[float], others: list[float]) -> Interval:
    """By which share the median is lower than that of the others, with a paired bootstrap."""
    rng, count = random.Random(0), len(values)

    def share(rows: Sequence[int]) -> float:
        other = median(others[row] for row in rows)
        return 1 - median(values[row] for row in rows) / other if other else 0.0

    drawn = sorted(share(rng.choices(range(count), k=count)) for _ in range(1000))
    return Interval(share(range(count)), quantile(drawn, 0.025), quantile(drawn, 0.975), count)


def _qualities(task: Task, found: Evaluation) -> dict[int, float]:
    known = ((run.row.number, task.measure(run)) for run in found.runs if run.state == "done")
    return {number: value for number, value in known if value is not None}


def head(task: Task) -> str:
    """The heading of a task's section."""
    return f"## {task.name[0].upper()}{task.name[1:]}"


def section(outcome: Outcome) -> str:
    """An outcome as a section of the page."""
    task = outcome.task
    rows = max(len(values) for values in outcome.values.values())
    way = "lower" if task.lower else "higher"
    first = f", from row {task.rows.start}" if task.rows.start else ""
    out = [
        head(task),
        "",
        f"`{task.program}` on {rows} rows of `{task.data}`{first}; {task.quality}, {way} is better.",
        "",
        f"| scheme | {task.quality} | 95% CI | cost per row |",
        "| --- | ---: | --- | ---: |",
    ]
    for name, values in outcome.values.items():
        mean = mean_interval(list(values.values()))
        interval = f"{mean.low:.2f} to {mean.high:.2f}"
        out.append(f"| {name} | {mean.mean:.2f} | {interval} | ${outcome.costs[name]:.4f} |")
    out += ["", *(f"- {finding}" for finding in outcome.findings)]
    return "\n".join(out).rstrip() + "\n"


def as_json(outcome: Outcome) -> dict[str, Any]:
    """An outcome as plain JSON."""
    means = {name: fmean(values.values()) for name, values in outcome.values.items()}
    return {
        "task": outcome.task.name,
        "quality": outcome.task.quality,
        "mean": means,
        "usd": outcome.costs,
        "findings": [{"finding": str(one), "holds": one.holds} for one in outcome.findings],
    }


def write(tasks: Sequence[Task]) -> None:
    """Run these tasks, and write their rows, their sections of the page, and all that is not reached."""
    found = recorded() if RESULTS.exists() else {}
    found |= {task.name: measured(task, task.rows) for task in tasks}
    lines = (
        {
            "task": task.name,
            "scheme": scheme,
            "first": task.rows.start,
            "quality": [rows.quality.get(row) for row in task.rows],
            "usd": [rows.usd.get(row) for row in task.rows],
        }
        for task in TASKS
        for scheme, rows in found[task.name].items()
    )
    RESULTS.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    PAGE.write_text(page(found), encoding="utf-8")


def page(found: Mapping[str, Mapping[str, Rows]]) -> str:
    """The page that says what the rows of all tasks show."""
    sections = [section(outcome(task, found[task.name])) for task in TASKS]
    missed = [
        f"- {task.name}: {line[2:]}"
        for task, text in zip(TASKS, sections, strict=True)
        for line in text.splitlines()
        if line.startswith("- ") and "**" in line
    ]
    end = "\n".join(["## Not reached", "", *missed]) + "\n"
    return "\n".join([HEAD, *sections, end])


def main() -> None:
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
    tasks = [task for task in TASKS if not chosen.task or task.name in chosen.task]
    if chosen.write:
        write(tasks)
        return
    outcomes = []
    for task in tasks:
        outcomes.append(outcome(task, measured(task, task.rows[: chosen.rows])))
        if not chosen.json:
            print(section(outcomes[-1]))
    if chosen.json:
        print(json.dumps([as_json(outcome) for outcome in outcomes], indent=2))


if __name__ == "__main__":
    main()
