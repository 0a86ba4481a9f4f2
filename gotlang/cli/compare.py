"""`gotc compare`: schemes side by side on the same rows, with paired intervals and cost beside quality."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from gotlang.cli.evaluating import (
    data_options,
    go_on,
    in_session,
    run_options_of_many,
    task,
    why_stopped,
    write_page,
)
from gotlang.cli.failing import INTERRUPTED
from gotlang.cli.options import together
from gotlang.cli.output import complain, document, errors_as_document, say
from gotlang.errors import UsageError

if TYPE_CHECKING:
    from gotlang.api import Session
    from gotlang.cli.evaluating import Task
    from gotlang.cli.progress import Progress
    from gotlang.evaluate.comparison import Comparison
    from gotlang.evaluate.contenders import Contender
    from gotlang.evaluate.evaluation import Evaluation
    from gotlang.evaluate.rows import Row
    from gotlang.evaluate.running import Plan


@click.command("compare")
@click.argument("file")
@click.option(
    "--schemes",
    metavar="NAMES",
    help="Names with commas between: schemes of the program, and the baselines `single`, `best-of-N` and "
    "`vote-of-N` (self-consistency); N may be `n`, as many as cost what the dearest of the others costs. "
    "[default: all schemes with the same inputs and result]",
)
@data_options
@together(
    click.option("--baseline", metavar="NAME", help="What the others are held against. [default: the first]"),
    click.option(
        "--equal-cost",
        is_flag=True,
        help="Repeat the cheaper schemes until they cost what the dearest does (where nothing has a price: "
        "until they ask for as many answers); the best result of a row counts, by its score, else the most "
        "frequent.",
    ),
)
@run_options_of_many
@together(
    click.option("--json", is_flag=True, help="One JSON document on stdout."),
    click.option(
        "--html",
        metavar="FILE",
        default=".gotc/compare.html",
        help="Where the report goes: one page that works offline.",
    ),
    click.option("--quiet", is_flag=True, help="No progress and no summary."),
)
def command(**chosen: Any) -> int:
    """Run several schemes of the program FILE on the same rows and hold them against each other.

    Intervals of differences are paired: row by row, so that what makes a row hard for both cancels out.
    """
    with errors_as_document(chosen["json"]):
        return _compare(chosen)


def _compare(chosen: dict[str, Any]) -> int:
    from gotlang.evaluate.contenders import comparable, contenders

    given = task(chosen)
    program = given.program.ir(0)
    names = [name.strip() for name in (chosen["schemes"] or "").split(",") if name.strip()]
    names = names or comparable(program, given.program.scheme())
    if len(names) < 2:
        first = names[0] if names else given.program.scheme().name
        raise UsageError(
            "a comparison needs two schemes at least",
            help=f"such as `--schemes {first},single`; there are also best-of-n and vote-of-n",
        )
    sides = contenders(program, names)
    baseline = chosen["baseline"] or names[0]
    if baseline not in names:
        raise UsageError(
            f"the baseline `{baseline}` is none of the schemes", help=f"there are {', '.join(names)}"
        )
    rows = given.rows(sides[0].scheme)
    try:
        found, progress, session = in_session(
            given,
            len(rows) * len(sides),
            lambda session, plan, progress: _work(
                given,
                sides,
                rows,
                session,
                plan,
                progress,
                baseline=baseline,
                equal_cost=chosen["equal_cost"],
            ),
        )
    except KeyboardInterrupt:
        go_on(given)
        return INTERRUPTED
    from gotlang.cli.compare_formats import as_json, text

    head = {
        "program": given.program.name,
        "model": str(given.options.model),
        "simulated": session.model.simulated,
        "seed": given.options.seed,
        "data": given.table.path,
        "rows": len(rows),
    }
    if chosen["json"]:
        document(as_json(found, head, progress.paid_for()))
    else:
        for line in text(found, head):
            say(line)
    sys.stdout.flush()
    write_page(chosen["html"], given, found, head)
    if not given.quiet:
        made_up = " (simulated)" if session.model.simulated else ""
        complain(f"paid for {progress.spent()}{made_up}")
    return _code(given, found)


async def _work(
    given: Task,
    sides: list[Contender],
    rows: list[Row],
    session: Session,
    plan: Plan,
    progress: Progress,
    *,
    baseline: str,
    equal_cost: bool,
) -> Comparison:
    import dataclasses

    from gotlang.evaluate.comparison import compare
    from gotlang.evaluate.contenders import optimized, with_answers
    from gotlang.evaluate.running import run_rows

    program = given.program.ir(0)
    options = given.options
    skip = frozenset(
        name
        for name, wanted in (("early stop", options.early_stop), ("sample fusion", options.fusion))
        if not wanted
    )
    planned = {side.name for side in sides}

    async def run(side: Contender, first: int, repeats: int, few: int | None) -> Evaluation:
        chosen = rows if few is None else rows[:few]
        if first or few is not None or side.name not in planned:
            progress.rows = (progress.rows or 0) + len(chosen) * repeats
        scheme = optimized(program, side.scheme, options.level, skip)
        how = dataclasses.replace(plan, repeat=repeats, first_repeat=first)
        found = await run_rows(session, scheme, chosen, how)
        return dataclasses.replace(found, scheme=side.name)

    def remake(side: Contender, answers: int) -> Contender:
        return with_answers(program, side, answers)

    return await compare(sides, run, remake, baseline=baseline, equal_cost=equal_cost)


def _code(given: Task, found: Comparison) -> int:
    code = 0
    for entry in found.entries:
        evaluation = entry.evaluation
        if evaluation.stopped is not None:
            complain(f"{entry.name}: stopped: {why_stopped(evaluation)}")
        if evaluation.stopped == "interrupted":
            go_on(given)
            return INTERRUPTED
        failed = evaluation.failures().total()
        if failed and (
            failed == len(evaluation.runs) or failed > given.plan.max_failed * len(evaluation.runs)
        ):
            code = 1
        elif evaluation.stopped is not None and code == 0:
            code = 3
    return code
