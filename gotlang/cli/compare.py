"""`gotc compare`: schemes side by side on the same rows, with paired intervals, quality and cost."""

from __future__ import annotations

import sys
from typing import Any

import click

from gotlang.cli import formats
from gotlang.cli import options as opt
from gotlang.cli.errors import INTERRUPTED
from gotlang.cli.evaluation import data_options, job, many_run_options
from gotlang.cli.output import complain, document, errors_as_document, say


@click.command("compare")
@click.argument("file")
@opt.text(
    "--schemes",
    "NAMES",
    "Comma-separated names: schemes of the program, and the baselines `single`, `best-of-N` and "
    "`vote-of-N` (self-consistency); N may be `n`: as many calls as cost what the most expensive other one "
    "costs. [default: all schemes with the same inputs and result]",
)
@data_options
@opt.together(
    opt.text("--baseline", "NAME", "What the others are compared with. [default: the first]"),
    opt.flag(
        "--equal-cost",
        "Repeat the cheaper schemes until they cost as much as the most expensive one (if nothing has a "
        "price: until they make as many calls); the best result of a row counts, by its score, otherwise the "
        "most frequent one.",
    ),
)
@many_run_options
@opt.together(
    opt.json_option,
    opt.text(
        "--html", "FILE", "Where to write the report: one page that works offline.", ".gotc/compare.html"
    ),
)
def command(**chosen: Any) -> int:
    """Run several schemes of the program FILE on the same rows and compare them.

    Intervals of differences are paired: row by row, so that what makes a row hard for both cancels out.
    """
    with errors_as_document(chosen["json"]):
        return _compare(chosen)


def _compare(chosen: dict[str, Any]) -> int:
    names = [name.strip() for name in (chosen["schemes"] or "").split(",") if name.strip()]
    todo = job(chosen, lambda program: program.contenders(names)[0].scheme)
    try:
        found = todo.run(
            todo.program.compare,
            schemes=names,
            baseline=chosen["baseline"],
            equal_cost=chosen["equal_cost"],
            on_planned=todo.progress.planned,
        )
    except KeyboardInterrupt:
        return todo.interrupted()
    if chosen["json"]:
        document(found.to_dict())
    else:
        for line in formats.compare_text(found):
            say(line)
    sys.stdout.flush()
    todo.page(chosen["html"], found)
    if not chosen["quiet"]:
        complain(todo.progress.summary(simulated=found.entries[0].evaluation.simulated))
    code = 0
    for entry in found.entries:
        own = todo.code(entry.evaluation, f"{entry.name}: ")
        if own == INTERRUPTED:
            return own
        code = own if own == 1 or code == 0 else code
    return code
