"""`gotc eval`: a scheme over a data set, in sum and by row, with thresholds for CI."""

from __future__ import annotations

import sys
from collections.abc import Sequence
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
from gotlang.errors import RunError

if TYPE_CHECKING:
    from gotlang.cli.evaluating import Task
    from gotlang.evaluate.evaluation import Evaluation
    from gotlang.evaluate.threshold import Threshold

FORMATS = ("text", "json", "junit", "github")


@click.command("eval")
@click.argument("file")
@click.option(
    "--scheme", metavar="NAME", help="Which scheme. [default: the one named like the file, else the last]"
)
@data_options
@click.option(
    "--repeat",
    type=click.IntRange(min=1),
    metavar="K",
    default=1,
    help="Runs a row, each with a seed of its own.",
)
@click.option(
    "--fail-if",
    metavar="CONDITION",
    multiple=True,
    help="End with code 4 where this holds, such as 'mean(score) > 2' or 'mean(correct) < 0.9'.",
)
@run_options_of_many
@together(
    click.option(
        "--format",
        type=click.Choice(FORMATS),
        default="text",
        help="text for people, json for scripts, junit for test reports, github for annotations.",
    ),
    click.option("--json", is_flag=True, help="The same as --format json."),
    click.option("--html", metavar="FILE", help="Write a report too: one page that works offline."),
    click.option("--quiet", is_flag=True, help="No progress and no summary."),
)
def command(**chosen: Any) -> int:
    """Run a scheme of the program FILE on every row of a data file.

    Cost, answers and seconds are those of a run that finds an empty cache. A row that fails ends no other;
    it counts as a wrong answer and has no score. The exit code is 1 where too many failed, 3 where a limit
    stopped it, 4 where a --fail-if holds.
    """
    form = "json" if chosen["json"] else chosen["format"]
    with errors_as_document(form == "json"):
        return _evaluate(chosen, form)


def _evaluate(chosen: dict[str, Any], form: str) -> int:
    from gotlang.evaluate.evaluation import evaluate
    from gotlang.evaluate.metric import metric_of
    from gotlang.evaluate.threshold import threshold

    given = task(chosen)
    scheme = given.program.scheme(chosen["scheme"])
    rows = given.rows(scheme)
    kind = metric_of(given.program.ir(0), scheme).kind
    thresholds = [threshold(text, kind) for text in chosen["fail_if"]]
    try:
        found, progress, session = in_session(
            given,
            len(rows) * chosen["repeat"],
            lambda session, plan, _: evaluate(
                session, rows, scheme=scheme.name, repeat=chosen["repeat"], **plan
            ),
        )
    except KeyboardInterrupt:
        go_on(given)
        return INTERRUPTED
    complete = found.stopped is None and any(run.state == "done" for run in found.runs)
    crossed, untold = _crossed(thresholds, found) if complete else (None, None)
    if untold is not None and form == "json":
        raise untold
    from gotlang.cli.eval_formats import github, junit, text

    head = found.about()
    match form:
        case "json":
            judged = [
                {"condition": one.text, "crossed": None if crossed is None else one in crossed}
                for one in thresholds
            ]
            document({**found.to_dict(), "thresholds": judged})
        case "junit":
            sys.stdout.write(junit(found, head, thresholds, crossed))
        case "github":
            for line in github(found, head, crossed or ()):
                say(line)
        case _:
            for line in text(found, head):
                say(line)
    sys.stdout.flush()
    if chosen["html"] is not None:
        write_page(chosen["html"], given, found)
    if not given.quiet:
        made_up = " (simulated)" if session.model.simulated else ""
        complain(f"paid for {progress.spent()}{made_up}")
    if untold is not None:
        raise untold
    return _code(given, found, crossed or ())


def _crossed(
    thresholds: Sequence[Threshold], found: Evaluation
) -> tuple[list[Threshold] | None, RunError | None]:
    """The conditions that hold; else why that cannot be told."""
    try:
        return [one for one in thresholds if one.crossed(found)], None
    except RunError as error:
        return None, error


def _code(given: Task, found: Evaluation, crossed: Sequence[Threshold]) -> int:
    if found.stopped is not None:
        complain(f"stopped: {why_stopped(found)}")
    if found.stopped == "interrupted":
        go_on(given)
        return INTERRUPTED
    failed = sum(run.state == "failed" for run in found.runs)
    if failed and (failed == len(found.runs) or failed > given.plan["max_failed"] * len(found.runs)):
        return 1
    if found.stopped is not None:
        return 3
    for one in crossed:
        complain(f"threshold crossed: {one.text}")
    return 4 if crossed else 0
