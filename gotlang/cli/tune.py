"""`gotc tune`: a study from its declaration to a result that can be applied."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from gotlang.cli.kinds import Dollars, Limit
from gotlang.cli.options import (
    CACHE,
    DEFAULT_CONCURRENCY,
    batch_option,
    batched,
    cache_options,
    model_options,
)
from gotlang.cli.output import FORMAT_VERSION, complain, document, errors_as_document, say
from gotlang.errors import UsageError

if TYPE_CHECKING:
    from gotlang.tune.plan import StudyPlan
    from gotlang.tune.study import StudyResult

BUDGET = 3
"""The exit code of a study that its budget ended."""


@click.command("tune")
@click.argument("file")
@click.option("--study", metavar="NAME", help="Which study of FILE. [default: the only one]")
@click.option("--trials", type=click.IntRange(min=1), metavar="N", help="Instead of the study's own number.")
@click.option(
    "--max-usd", "--budget", "max_usd", type=Dollars(), help="Spend no more, over all roles and restarts."
)
@click.option("--storage", metavar="URL", help="A file, or any storage URL of Optuna, for several workers.")
@click.option("--resume", is_flag=True, help="Go on with a study; take over what other machines left.")
@click.option("--apply", is_flag=True, help="Write a better result into the program's own text.")
@click.option("--out", metavar="FILE", help="Where the result goes. [default: STUDY.tuned.json]")
@click.option("--report", metavar="FILE.html", help="Write a report that needs no network.")
@model_options
@batch_option
@click.option(
    "--concurrency", type=Limit(), default=DEFAULT_CONCURRENCY, help="Requests under way at a time."
)
@cache_options
@click.option("--json", is_flag=True, help="One JSON document on stdout.")
@click.option("--quiet", is_flag=True, help="No progress and no summary.")
def command(**chosen: Any) -> int:
    """Run the study in FILE: look for params and prompts that are better at no more than the cost allowed.

    What is found is compared with the original on rows that the search never saw, and written to a file for
    `gotc run --tuned`. The same command again goes on where it was: no trial is lost, no call paid twice.
    Several of them on one --storage share the work.
    """
    with errors_as_document(chosen["json"]):
        return _tune(chosen)


def _tune(chosen: dict[str, Any]) -> int:
    from gotlang.cli.evaluating import check_page, complain_of_inferred
    from gotlang.cli.studying import Watch
    from gotlang.tune.study import tune
    from gotlang.tune.tuned import apply

    plan = _plan(chosen)
    if not chosen["quiet"]:
        complain_of_inferred(plan.read_rows(()).matching)
    options = _options(plan, chosen)
    if "-" in (chosen["out"], chosen["report"]):
        raise UsageError("--out and --report need a file each", help="`--json` prints the result")
    out = Path(chosen["out"] or f"{plan.name}.tuned.json")
    check_page(str(out), "--out")
    check_page(chosen["report"], "--report")
    with Watch(plan, quiet=chosen["quiet"] or chosen["json"]) as watch:
        try:
            done = tune(plan, options, takeover=chosen["resume"], observe=watch)
        except KeyboardInterrupt:
            complain("interrupted: what is paid is kept; the same command goes on with the study")
            raise
    done.tuned.write(out)
    if chosen["report"] is not None:
        from gotlang.report.study import write_report

        write_report(done, Path(chosen["report"]))
    changed: list[Path] = []
    if chosen["apply"] and done.held_out is not None and done.held_out.verdict == "better":
        changed = apply(plan.program, done.tuned)
    if chosen["json"]:
        content = {"file": str(out), "applied": [str(path) for path in changed]}
        document({"format_version": FORMAT_VERSION, **done.to_dict(), **content})
    else:
        _summary(done, out, quiet=chosen["quiet"])
        if chosen["apply"]:
            complain(
                f"written into {', '.join(map(str, changed))}"
                if changed
                else "nothing written: " + _why(done)
            )
    return BUDGET if done.partial is not None else 0


def _plan(chosen: dict[str, Any]) -> StudyPlan:
    from dataclasses import replace

    from gotlang.tune.plan import read_plan

    plan = read_plan(chosen["file"], chosen["study"])
    given = {"trials": chosen["trials"], "budget": chosen["max_usd"], "storage": chosen["storage"]}
    if click.get_current_context().get_parameter_source("seed") is not ParameterSource.DEFAULT:
        given["seed"] = chosen["seed"]
    return replace(
        plan,
        **{name: value for name, value in given.items() if value is not None},
        model=chosen["model"] or plan.model,
    )


def _options(plan: StudyPlan, chosen: dict[str, Any]) -> Any:
    from gotlang.api import Options
    from gotlang.models.registry import default_model

    concurrency = chosen["concurrency"]
    model = plan.model or default_model()
    if model == "simulated" and plan.model is None:
        complain(
            "no model is configured: using the program's simulators (silence this with --model simulated)"
        )
    return Options(
        model=model,
        seed=plan.seed,
        concurrency=None if concurrency == "none" else concurrency,
        cache=None if chosen["no_cache"] else chosen["cache"] or str(CACHE),
        base_url=chosen["base_url"],
        retry=not chosen["no_retry"],
        rpm=chosen["rpm"],
        tpm=chosen["tpm"],
        timeout=chosen["timeout"],
        prices=None if chosen["prices"] is None else Path(chosen["prices"]),
        batch=batched(chosen),
        python=not chosen["no_python"],
    )


def _why(done: StudyResult) -> str:
    return done.held_out.verdict if done.held_out is not None else "the test rows were not run"


def _summary(done: StudyResult, out: Path, *, quiet: bool) -> None:
    from gotlang.tune.space import point_text
    from gotlang.tune.study import VERDICTS

    values = {**done.tuned.params, **done.tuned.settings}
    say(point_text(values) or "the original")
    if done.held_out is None:
        say(f"not compared with the original: {done.partial}")
    else:
        say(f"{done.held_out.verdict}: {VERDICTS[done.held_out.verdict]}")
        for found in done.held_out.compared:
            if not done.held_out.unchanged and None not in (found.original, found.tuned):
                say(f"  {found.name}: {found}")
    for name, texts in done.tuned.texts.items():
        if texts.instruction is not None:
            say(f"  prompt {name}: {texts.instruction.strip()}")
    if quiet:
        return
    for constraint in done.unmet:
        complain(f"no trial satisfied `{constraint}`")
    simulated = " (simulated)" if done.simulated else ""
    ended = ", ".join(f"{count} {word}" for word, count in done.ended.items())
    complain(f"{len(done.trials)} trials ({ended}), {done.rejected} rejected before any call")
    complain(f"${done.usd:.4f} for {done.calls:,} calls of {done.model}{simulated}; result in {out}")
    if done.partial is not None:
        complain(f"ended early: {done.partial}")
    sys.stderr.flush()
