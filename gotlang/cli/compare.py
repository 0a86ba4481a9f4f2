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
    from gotlang.cli.evaluating import Task
    from gotlang.evaluate.comparison import Comparison


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
    from gotlang.cli.compare_formats import text
    from gotlang.evaluate.comparison import compare, contenders

    given = task(chosen)
    program = given.program.ir(0)
    names = [name.strip() for name in (chosen["schemes"] or "").split(",") if name.strip()]
    sides = contenders(program, names)
    baseline = chosen["baseline"]
    if baseline not in (None, *(side.name for side in sides)):
        names = [side.name for side in sides]
        raise UsageError(f"the baseline `{baseline}` is not compared", help=f"there are {', '.join(names)}")
    rows = given.rows(sides[0].scheme)

    async def work(session: Any, plan: dict[str, Any], progress: Any) -> Comparison:
        def planned(runs: int) -> None:
            progress.rows = (progress.rows or 0) + runs

        how = {"baseline": baseline, "equal_cost": chosen["equal_cost"], "on_planned": planned}
        return await compare(session, rows, sides, **how, **plan)

    try:
        found, progress, session = in_session(given, len(rows) * len(sides), work)
    except KeyboardInterrupt:
        go_on(given)
        return INTERRUPTED
    head = {
        "program": given.program.name,
        "model": str(given.options.model),
        "simulated": session.model.simulated,
        "seed": given.options.seed,
        "data": given.table.path,
        "rows": len(rows),
    }
    if chosen["json"]:
        document(found.to_dict())
    else:
        for line in text(found, head):
            say(line)
    sys.stdout.flush()
    write_page(chosen["html"], given, found)
    if not given.quiet:
        made_up = " (simulated)" if session.model.simulated else ""
        complain(f"paid for {progress.spent()}{made_up}")
    return _code(given, found)


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
            failed == len(evaluation.runs) or failed > given.plan["max_failed"] * len(evaluation.runs)
        ):
            code = 1
        elif evaluation.stopped is not None and code == 0:
            code = 3
    return code
