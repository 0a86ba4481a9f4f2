"""Advice in a study's report: dimensions without effect, ranges that were too narrow, next steps."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from gotlang.statistics import FEWEST_ROWS
from gotlang.tune.judge import amount
from gotlang.tune.outcome import StudyResult
from gotlang.tune.plan import Method, StudyPlan
from gotlang.tune.points import leads, mean
from gotlang.tune.search import LISTED
from gotlang.tune.space import Dimension, decoded, space_of
from gotlang.tune.study import split
from gotlang.tune.trials import Trial

_CHANCE = 1.645
"""The 95% quantile of the standard normal distribution."""
_SHOWN = 5
"""Maximum number of rows that are named."""


def before(plan: StudyPlan) -> Iterator[str]:
    """What a study cannot show, or does not use, before it runs. Raises UsageError as `split` and
    `space_of`."""
    tested = len(split(plan, 0 if plan.budget is None else FEWEST_ROWS).test)
    if tested < FEWEST_ROWS:
        yield f"with {_count(tested, 'test row')} no difference is significant: {FEWEST_ROWS} are needed"
    if plan.trials == 1:
        yield "with one trial only the untuned program runs"
    sampler, listed = plan.sampler, None if plan.searches else space_of(plan).points(LISTED)
    if listed is not None and sampler.name != "grid" and sampler != Method("tpe"):
        points = _count(len(listed), "point")
        yield f"the space has {points}, which are all candidates: `sampler {sampler.name}` is not used"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"


def not_mattering(done: StudyResult) -> list[str]:
    """The dimensions whose values differ in the first objective by no more than chance would explain, on so
    many rows that a difference of a tenth would have been detected. Those that a better point changed are
    left out."""
    longest = max((trial.rows for trial in done.trials.values()), key=len)
    ahead = {
        number: leads(trial.rows, longest[: len(done.trained)], lambda row: row.objectives[0])
        for number, trial in done.trials.items()
    }
    noise = _noise(ahead)
    tenth = 0.1 * abs(mean([row.objectives[0] for row in longest]) or 0.0)
    better = done.judged.held_out is not None and done.judged.held_out.verdict == "better"
    before, after = done.trials[0].point, done.judged.trial.point
    return [
        d.name
        for d in done.space.dimensions
        if noise > 0 and not _matters(d, done.trials, ahead, noise, tenth)
        if not better or before.get(d.name) == after.get(d.name)
    ]


def _noise(ahead: Mapping[int, list[float]]) -> float:
    """The variance of one row's lead over the point with the most rows."""
    known = [values for values in ahead.values() if len(values) > 1 and any(values)]
    squares = math.fsum(math.fsum((x - sum(v) / len(v)) ** 2 for x in v) for v in known)
    return squares / max(1, sum(len(values) - 1 for values in known))


def _matters(
    dimension: Dimension,
    trials: Mapping[int, Trial],
    ahead: Mapping[int, list[float]],
    noise: float,
    visible: float,
) -> bool:
    """Whether the means by value differ by more than rows do by chance (chi-squared, at 5%), or too little is
    known to detect a difference as large as `visible`."""
    groups: dict[object, list[float]] = {}
    for number, trial in trials.items():
        if dimension.name in trial.point:
            value = trial.point[dimension.name]
            third = value if dimension.choices else max(0, min(2, int(3 * dimension.scaled(value))))
            groups.setdefault(third, []).extend(ahead[number])
    known = sorted(groups.values(), key=len)
    if len(known) < 2 or 2 * math.sqrt(noise / len(known[0]) + noise / len(known[1])) > visible:
        return True
    whole = math.fsum(map(math.fsum, known)) / sum(map(len, known))
    apart = math.fsum(len(v) * (math.fsum(v) / len(v) - whole) ** 2 for v in known) / noise
    free = len(known) - 1
    return apart > free * (1 - 2 / (9 * free) + _CHANCE * math.sqrt(2 / (9 * free))) ** 3


def edges(done: StudyResult) -> list[str]:
    """The best values at an end of their range, unless the dimension does not matter."""
    point, idle = done.winner.point, set(not_mattering(done))
    found = []
    for dimension in done.space.dimensions:
        value = point.get(dimension.name)
        if dimension.choices or dimension.name in idle or not done.winner.number or done.picked:
            continue
        if value in (dimension.low, dimension.high) and dimension.low < dimension.high:
            ends = f"{dimension.low:g} to {dimension.high:g}"
            wider = "widen it" if value == dimension.high else "widen it if it can be lower"
            found.append(
                f"`{dimension.name}` is best at {decoded(value)}, the end of its range {ends}: {wider}"
            )
    return found


def next_steps(done: StudyResult, command: str, file: str, *, applied: bool = False) -> list[str]:
    """Recommended next steps, as sentences. `command` ran the study, `file` is the tuned file; `applied`: the
    result is in the program already."""
    return [*_by_verdict(done, command, file, applied), *edges(done)]


def _by_verdict(done: StudyResult, command: str, file: str, applied: bool) -> Iterator[str]:
    held, program = done.held_out, done.plan.program
    model = re.search(r" --model (?:'[^']*'|\S+)", command)
    tuned = f"{shlex.quote(program.compilation.source.name)} --tuned {shlex.quote(file)}"
    tuned += f" --scheme {done.tuned.scheme}" if done.tuned.scheme != program.scheme(None).name else ""
    tuned += model[0] if model else ""
    tuned += " --allow-python" if command.endswith(" --allow-python") else ""
    if done.written is not done.front[0]:
        yield f"use {done.written.title}: `gotc run {tuned}{_row_of(done.plan, done.tested)}`"
    if done.unfinished:
        yield f"continue the study: `{command}`"
        return
    if held is None and done.picked is not None:
        judge = f"`gotc eval {tuned} --data ...`"
        yield f"{done.picked.title} was not run on held-out rows: {judge} runs it on any rows"
    elif held is None:
        more = f"more money than {amount('cost', done.plan.budget)}"
        yield f"continue the study to the test rows with {more}: `{_with(command, '--max-usd', 'USD')}`"
    elif held.verdict == "better" and done.picked is None and not applied:
        yield f"write it into the program: `{command} --apply`"
    elif held.verdict == "not significant":
        yield from _more_rows(done, command)
    elif held.verdict == "worse" and len(done.plan.objectives) == 1:
        yield f"more train rows than {len(done.trained)}, so that chance affects the search less"
    elif held.verdict == "constraint violated":
        yield "choose a point that keeps the constraints on held-out rows, or allow more in the study"
    elif held.verdict == "no feasible trial":
        yield f"allow more than {', '.join(f'`{text}`' for text in done.unmet) or 'the constraints'}"
    elif held.verdict == "no improvement found":
        if len(done.trials) == 1:
            yield "nothing but the original ran: give the study more trials or money"
        else:
            yield "vary other params, prompts or models: nothing better was found in this space"
    several = len(done.plan.objectives) > 1 < len(done.front) and done.picked is None
    if held is not None and held.verdict != "better" and several:
        knee = f"`{command} --pick knee`"
        yield f"choose a point that gives up one objective for another: {knee}, or any name of the front"
    if done.partial is not None and held is not None:
        more = _with(command, "--max-usd", "USD")
        yield f"the budget ended the study early: `{more}` continues with more"


def _row_of(plan: StudyPlan, rows: Sequence[int]) -> str:
    """The options with which a program runs on the first of these rows of a study's data."""
    if not isinstance(plan.data, Path) or not rows:
        return ""
    columns = (f" --map {shlex.quote(f'{name}={column}')}" for name, column in plan.columns.items())
    return f" --data {shlex.quote(str(plan.data))} --row {rows[0]}{''.join(columns)}"


def _with(command: str, option: str, value: object) -> str:
    """A command with another value of an option."""
    return f"{re.sub(rf' {option} [^ ]+', '', command)} {option} {value}"


def _more_rows(done: StudyResult, command: str) -> Iterator[str]:
    held = done.held_out
    if held is None:
        return
    left = len(split(done.plan, len(done.plan.read_rows().rows)).test) - held.rows
    if held.more_rows is None and held.few:
        enough = (
            f"`{_with(command, '--test', held.fewest)}`" if held.rows + left >= held.fewest else "add rows"
        )
        yield f"a difference needs at least {held.fewest} test rows to be significant: {enough}"
        return
    if held.more_rows is None:
        yield "the difference is too small to be decided with a reasonable number of rows"
        return
    cost = "" if held.more_usd is None else f" at about {amount('cost', held.more_usd)}"
    words = f"{held.more_rows} more test rows would decide it{cost}"
    if held.more_rows <= left:
        larger = _with(command, "--test", held.rows + held.more_rows)
        larger = larger if done.plan.budget is None else _with(larger, "--max-usd", "USD")
        yield f"{words}: `{larger}`"
    else:
        yield f"{words}; the data has {max(0, left)} more, add rows"


def changed_rows(done: StudyResult) -> str:
    """`5 of 20 test rows improved, 2 worsened (rows 3, 17), 13 unchanged` in the first objective; empty if
    the judged point is the original, or did not run on test rows."""
    if done.judged is done.front[0] or not done.judged.measured:
        return ""
    sign, ran = (
        done.plan.objectives[0].sign,
        list(zip(done.front[0].measured, done.judged.measured, strict=False)),
    )
    leads_of = {
        number: sign * (a - b)
        for number, (one, two) in zip(done.tested, ran, strict=False)
        if (a := one.objectives[0]) is not None and (b := two.objectives[0]) is not None
    }
    better = sum(lead > 0 for lead in leads_of.values())
    worse = sorted((lead, number) for number, lead in leads_of.items() if lead < 0)
    shown = ", ".join(str(number) for _, number in worse[:_SHOWN]) + ", …" * (len(worse) > _SHOWN)
    rows = f" (row{'s' * (len(worse) > 1)} {shown})" if worse else ""
    unknown = len(ran) - len(leads_of)
    same = len(leads_of) - better - len(worse)
    words = f"{better} of {len(ran)} test rows improved, {len(worse)} worsened{rows}, {same} unchanged"
    return words + (f", {unknown} without a result" if unknown else "")


def on_train_rows(done: StudyResult) -> str:
    """`on the 20 train rows that both ran on: error(result, target) 7.05 -> 2.3`, for the original and the
    judged point; empty if that is the original."""
    rows, own = done.winner.rows[: len(done.trained)], done.trials[0].rows
    count = min(len(rows), len(own))
    if not done.winner.number or not count:
        return ""
    found = [
        f"{objective.text} "
        + " -> ".join(
            amount(objective.text, mean([row.objectives[at] for row in some[:count]])) for some in (own, rows)
        )
        for at, objective in enumerate(done.plan.objectives)
    ]
    return f"on the {count} train rows that both ran on: {', '.join(found)}"


def cells(done: StudyResult) -> str:
    """`36 points, 412 cells (a point on a row); separately they cost $0.0210, $0.0048 was paid (23%)`."""
    count = sum(len(trial.rows) for trial in done.trials.values())
    words = f"{_count(len(done.trials), 'point')}, {_count(count, 'cell')} (a point on a train row)"
    apart = mean([row.usd for trial in done.trials.values() for row in trial.rows])
    paid = done.roles["search"].usd if "search" in done.roles else 0.0
    if not apart or paid is None:
        return words
    whole = f"separately they cost {amount('cost', apart * count)}"
    return f"{words}; {whole}, {amount('cost', paid)} was paid ({paid / (apart * count):.0%})"
