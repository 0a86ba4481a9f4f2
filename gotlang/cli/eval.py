"""`gotc eval`: a scheme over a data set, in sum and by row, with thresholds for CI."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from gotlang.cli import formats
from gotlang.cli import options as opt
from gotlang.cli.evaluation import data_options, job, many_run_options
from gotlang.cli.output import complain, document, errors_as_document, say
from gotlang.errors import RunError

if TYPE_CHECKING:
    from gotlang.api import Evaluation, Threshold


@click.command("eval")
@click.argument("file")
@opt.scheme_option
@data_options
@click.option(
    "--repeat",
    type=click.IntRange(min=1),
    metavar="K",
    default=1,
    help="Runs per row, each with its own seed.",
)
@click.option(
    "--fail-if",
    metavar="CONDITION",
    multiple=True,
    help="Exit with code 4 if this holds, such as 'mean(score) > 2' or 'mean(correct) < 0.9'.",
)
@many_run_options
@opt.together(
    opt.choice(
        "--format",
        ("text", "json", "junit", "github"),
        "text for people, json for scripts, junit for test reports, github for annotations.",
        "text",
    ),
    opt.flag("--json", "The same as --format json."),
    opt.text("--html", "FILE", "Write a report: one page that works offline."),
)
def command(**chosen: Any) -> int:
    """Run a scheme of the program FILE on every row of a data file.

    Cost, calls and seconds are those of a run with an empty cache. A row that fails does not stop the others;
    it counts as a wrong answer and has no score. The exit code is 1 if too many failed, 3 if a limit stopped
    the evaluation, 4 if a --fail-if holds.
    """
    form = "json" if chosen["json"] else chosen["format"]
    with errors_as_document(form == "json"):
        return _evaluate(chosen, form)


def _evaluate(chosen: dict[str, Any], form: str) -> int:
    name, repeat = chosen["scheme"], chosen["repeat"]
    todo = job(chosen, lambda program: program.scheme(name))
    thresholds = todo.program.thresholds(chosen["fail_if"], scheme=name)
    try:
        todo.progress.planned(len(todo.data) * repeat)
        found = todo.run(todo.program.evaluate, scheme=name, repeat=repeat)
    except KeyboardInterrupt:
        return todo.interrupted()
    complete = found.stopped is None and any(run.state == "done" for run in found.runs)
    crossed, undecided = _crossed(thresholds, found) if complete else (None, None)
    if undecided is not None and form == "json":
        raise undecided
    match form:
        case "json":
            judged = [
                {"condition": one.text, "crossed": None if crossed is None else one in crossed}
                for one in thresholds
            ]
            document({**found.to_dict(), "thresholds": judged})
        case "junit":
            sys.stdout.write(formats.eval_junit(found, thresholds, crossed))
        case "github":
            for line in formats.eval_github(found, crossed or ()):
                say(line)
        case _:
            for line in formats.eval_text(found):
                say(line)
    sys.stdout.flush()
    if chosen["html"] is not None:
        todo.page(chosen["html"], found)
    if not chosen["quiet"]:
        complain(todo.progress.summary(simulated=found.simulated))
    if undecided is not None:
        raise undecided
    code = todo.code(found)
    for one in () if code else crossed or ():
        complain(f"threshold crossed: {one.text}")
    return code or (4 if crossed else 0)


def _crossed(
    thresholds: Sequence[Threshold], found: Evaluation
) -> tuple[list[Threshold] | None, RunError | None]:
    """The conditions that hold; or why that cannot be decided."""
    try:
        return [one for one in thresholds if one.crossed(found)], None
    except RunError as error:
        return None, error
