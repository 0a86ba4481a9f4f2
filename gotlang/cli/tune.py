"""`gotc tune`: a study from its declaration to a result that can be applied."""

from __future__ import annotations

import math
import shlex
import sys
import time
from contextlib import ExitStack, redirect_stdout
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, final

import click
from click.core import ParameterSource

from gotlang.cli import options as opt
from gotlang.cli.journal import HistoryJournal, new_record, stored_settings
from gotlang.cli.output import (
    FAILED,
    check_writable,
    complain,
    count,
    document,
    harmless,
    message,
    say,
    write_file,
)
from gotlang.errors import GotError, UsageError
from gotlang.result import dollars

if TYPE_CHECKING:
    from gotlang.api import Options, Spent
    from gotlang.cli.progress import Progress
    from gotlang.program import CheckedProgram
    from gotlang.report.history import State
    from gotlang.tune.budget import StudyBudget
    from gotlang.tune.judge import FrontPoint
    from gotlang.tune.outcome import StudyResult
    from gotlang.tune.plan import StudyPlan
    from gotlang.tune.search import StudyProgress
    from gotlang.tune.trials import Trial
    from gotlang.tune.tuned import Tuned

_NOT_STORED = ("file", "apply", "pick", "out", "report", "json", "quiet", "resume")
"""Options that the history does not store; the others repeat a study."""
BUDGET = 3
"""The exit code of a study that its budget ended."""
_MOST_LINES = 8


@click.command("tune")
@click.argument("file")
@opt.text("--study", "NAME", "Which study of FILE. [default: the only one]")
@opt.row_options
@opt.whole("--trials", "Number of trials, instead of the study's.")
@opt.whole("--test", "Number of test rows, instead of the study's; rows that have run are reused.")
@opt.option("--max-usd", value=opt.DOLLARS, help="Spend no more, over all roles, workers and restarts.")
@opt.text("--storage", "URL", "A file, or any storage URL of Optuna, for several workers.")
@opt.flag("--resume", "Continue a study, including trials of workers on other machines.")
@opt.flag("--apply", "Write a better result into the program.")
@opt.text("--pick", "POINT", "Write this point of the stored study: best, knee, p7, original, cost=0.5.")
@opt.text("--out", "FILE", "Where to write the result. [default: STUDY.tuned.json]")
@opt.text("--report", "FILE.html", "Write a report: one page that works offline.")
@opt.corpus_option
@opt.model_options
@opt.batch_option
@opt.concurrency_option
@opt.cache_options
@opt.engine_options
@opt.json_option
@opt.quiet_option
def tune_command(**chosen: Any) -> int:
    """Run the study in FILE: search for better params and prompts under a cost constraint.

    The result is compared with the original on held-out rows, and written to a file for `gotc run --tuned`.
    The same command again continues the study: no trial is lost, no call is repeated. Several commands on one
    --storage share the work.
    """
    from gotlang.cli.inputs import report_inferred
    from gotlang.cli.progress import Progress, outages
    from gotlang.tune.advice import before
    from gotlang.tune.study import tune
    from gotlang.tune.tuned import apply

    plan = _plan(chosen)
    if not chosen["quiet"]:
        report_inferred(plan.read_rows(()).matching)
        if selection := str(plan.selection):
            complain(f"data: {selection}")
        for line in before(plan) if chosen["pick"] is None else ():
            complain(line)
    options = _options(plan, chosen)
    if "-" in (chosen["out"], chosen["report"]):
        raise UsageError("--out and --report must be files", help="`--json` prints the result")
    out = Path(chosen["out"] or f"{plan.name}.tuned.json")
    check_writable(str(out), "--out")
    check_writable(chosen["report"], "--report")
    command = _repeating(chosen, options)
    with ExitStack() as stack:
        quiet = chosen["quiet"] or chosen["json"]
        progress = options.observe
        assert isinstance(progress, Progress)
        stack.callback(progress.tell_not_cached)
        watch = (lambda *_: None) if quiet else Watch(plan, stack, progress)
        recorder = StudyRecorder(plan, options, chosen, command)

        def observe(progress: StudyProgress, budget: StudyBudget) -> None:
            recorder(progress, budget)
            watch(progress, budget)

        with recorder:
            with outages(progress, recorder.record_outage), redirect_stdout(sys.stderr):
                done = tune(plan, options, takeover=chosen["resume"], picked=chosen["pick"], observe=observe)
            recorder.end(done, str(out))
    try:
        done.tuned.write(out)
    except UsageError as error:  # the result of what was paid for is shown
        document({**done.to_dict(), "file": None, "applied": []})
        message(error.message, "the result is printed instead, with the file's content under `tuned`")
        return FAILED
    program = out.with_name(f"{plan.name}.tuned.got")
    if program.resolve() in {Path(name).resolve() for name in plan.program.compilation.sources}:
        program = program.with_suffix(".tuned.got")
    changes = _write_program(plan.program, done.tuned, program)
    if chosen["report"] is not None:
        from gotlang.report.study import report

        write_file(chosen["report"], report(done, command, str(out)), "--report")
    changed: list[Path] = []
    if chosen["apply"] and done.written is not done.front[0]:
        changed = apply(plan.program, done.tuned)
    if chosen["json"]:
        applied = [str(path) for path in changed]
        files = {"file": str(out), "program": str(program) if changes else None, "applied": applied}
        document({**done.to_dict(), **files})
    else:
        source = click.get_current_context().get_parameter_source("allow_python")
        typed = f"{command} --allow-python" if source is ParameterSource.COMMANDLINE else command
        _summary(done, out, typed, quiet=chosen["quiet"], applied=bool(changed))
        for line in changes:
            say(line)
        if changed:
            complain(f"written into {', '.join(map(str, changed))}")
            if done.tuned.scheme != plan.scheme:
                complain(f"the scheme is not written: choose it with `--scheme {done.tuned.scheme}`")
        elif chosen["apply"]:
            why = done.held_out.verdict if done.held_out is not None else "the test rows were not run"
            complain(f"nothing written: {why}")
    return BUDGET if done.partial is not None else 0


def _write_program(program: CheckedProgram, found: Tuned, path: Path) -> list[str]:
    """Write the program with the structure that a study found; returns the lines of a unified diff. None, and
    nothing is written, if the study changed no structure."""
    from gotlang.tune.structure import restructured
    from gotlang.tune.tuned import own_text, tuned

    if restructured(program, found.scheme, found.settings) is program:
        return []
    before, after = own_text(program), own_text(tuned(program, found))
    write_file(str(path), after, "the program")
    names = program.compilation.source.name, str(path)
    return list(unified_diff(before.splitlines(), after.splitlines(), *names, n=2, lineterm=""))


def _repeating(chosen: dict[str, Any], options: Options) -> str:
    """The command that continues the study: with the options that were given, except for secrets, what only
    the user can allow, and what is not about the study."""
    words = ["gotc", "tune", chosen["file"]]
    settings, context = stored_settings(chosen, options, _NOT_STORED), click.get_current_context()
    for option in context.command.params:
        name = option.name or ""
        given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        value = settings.get(name) if given else None
        for each in value if isinstance(value, list) else [] if value is None else [value]:
            if isinstance(each, bool):
                words.append((option.opts if each else option.secondary_opts)[0])
            else:
                words += [option.opts[0], "=".join(map(str, each)) if isinstance(each, list) else str(each)]
    return shlex.join(words)


def _plan(chosen: dict[str, Any]) -> StudyPlan:
    from dataclasses import replace

    from gotlang.data.selection import RowSelection
    from gotlang.tune.plan import read_plan

    plan = read_plan(chosen["file"], chosen["study"], storage=chosen["storage"])
    given = {"trials": chosen["trials"], "test": chosen["test"], "budget": chosen["max_usd"]}
    source = click.get_current_context().get_parameter_source
    if source("max_usd") is ParameterSource.DEFAULT_MAP and plan.budget is not None:
        given["budget"] = min(plan.budget, chosen["max_usd"])  # a general limit raises no study's
    if source("seed") is not ParameterSource.DEFAULT:
        given["seed"] = chosen["seed"]
    return replace(
        plan,
        **{name: value for name, value in given.items() if value is not None},
        model=chosen["model"] or plan.model,
        selection=RowSelection(chosen["rows"], chosen["sample"]),
    )


def _options(plan: StudyPlan, chosen: dict[str, Any]) -> Options:
    """The options of its runs. Raises UsageError if nothing can respond to its prompts."""
    from msgspec.structs import replace

    from gotlang.cli.inputs import model_notice, require_model
    from gotlang.cli.progress import Progress

    cache = chosen["cache"] or str(opt.CACHE)
    options = opt.run_options(
        {**chosen, "model": plan.model, "cache": cache, "seed": plan.seed, "max_usd": None}
    )
    require_model(plan.program, options, plan.model)
    notice = model_notice(options, plan.model, quiet=chosen["quiet"])
    return replace(options, observe=Progress(notice=notice))


def _front_line(point: FrontPoint, done: StudyResult) -> str:
    """A point of the front: its objectives, with intervals on test rows, its cost and its verdict."""
    from gotlang.tune.judge import amount

    judged, found = point.held_out, []
    ran = done.on_train(point) if judged is None else [each.interval for each in judged.compared]
    for objective, ends in zip(done.plan.objectives, ran, strict=False):
        name = f"{objective.text} " if len(done.plan.objectives) > 1 else ""
        middle, low, high = (amount(objective.text, x) for x in (ends.mean, ends.low, ends.high))
        found.append(f"{name}{middle}" + (f" ({low} to {high})" if ends.low > -math.inf else ""))
    if all(objective.text != "cost" for objective in done.plan.objectives):
        found.append(f"{amount('cost', point.cost)} per row")
    if judged is None:
        found.append("on train rows only")
    elif point is not done.front[0]:
        found.append(judged.verdict)
    return f"{point.title}: {', '.join(found)}"


def _summary(done: StudyResult, out: Path, command: str, *, quiet: bool, applied: bool) -> None:
    from gotlang.tune.advice import cells, changed_rows, next_steps, not_mattering, on_train_rows
    from gotlang.tune.space import point_text

    say(f"{done.judged.title}: {point_text(done.winner.point)}" if done.winner.point else "the original")
    if done.held_out is None:
        say(f"not compared with the original: {done.partial or 'its test rows were not run'}")
    else:
        say(f"{done.held_out.verdict}: {done.held_out.meaning}")
        for found in done.held_out.compared:
            if not done.held_out.unchanged and None not in (found.original, found.tuned):
                say(f"  {found.name}: {found}" + (f" {found.verdict}" if found.verdict else ""))
        for bounded in done.held_out.constraints:
            if bounded.text != "failures" or bounded.violated:
                say(f"  {bounded.text}: {bounded}")
        for words in (changed_rows(done), on_train_rows(done)):
            if words:
                say(f"  {words}")
    if len(done.front) > 2:
        say("front:")
        for point in done.front:
            say(f"  {_front_line(point, done)} · {point_text(point.trial.point)}")
            for text in done.texts_of(point):
                say(f"    {harmless(text)}")
    whose = "the original's values" if done.written is done.front[0] else done.written.title
    say(f"{out} contains {whose}")
    for step in next_steps(done, command, str(out), applied=applied):
        say(f"next: {step}")
    for name, texts in done.tuned.texts.items():
        if texts.instruction is not None:
            say(f"  prompt {name}: {texts.instruction.strip()}")
    for each in done.proposed:
        if each.stopped is not None or not quiet:
            complain(f"prompts {', '.join(each.prompts)}: {harmless(str(each))}")
    if quiet:
        return
    for constraint in done.unmet:
        complain(f"no trial satisfied `{constraint}`")
    simulated = " (simulated)" if done.simulated else ""
    ended = ", ".join(f"{times} {word}" for word, times in done.ended.items())
    complain(f"{cells(done)} ({ended}), {done.rejected} rejected before any call")
    if idle := not_mattering(done):
        complain(f"no measurable effect: {', '.join(idle)}")
    complain(f"spent {done.spent} of {done.model}{simulated}")
    for role, spent in done.roles.items():
        complain(f"  {role}: {spent}")
    for one in done.endpoints:
        complain(f"endpoint: {harmless(str(one))}")
    if done.partial is not None:
        complain(done.partial if done.unfinished else f"ended early: {done.partial}")
    sys.stderr.flush()


@final
class StudyRecorder:
    """Records a study in the history: its progress, and its end. Within its block, an error and an
    interruption are recorded too."""

    def __init__(self, plan: StudyPlan, options: Options, chosen: dict[str, Any], command: str) -> None:
        self._plan, self._options, self._command = plan, options, command
        source = plan.program.compilation.source
        settings = stored_settings(chosen, options, _NOT_STORED)
        record = new_record(
            "tune", source, plan.program.name, plan.scheme, options, document={}, settings=settings
        )
        self._journal = HistoryJournal(record)
        self._started: dict[str, Any] = {}
        self._document: dict[str, Any] = {}
        self._outage = ""
        self._spent: Spent | None = None

    def __call__(self, progress: StudyProgress, budget: StudyBudget) -> None:
        """Record progress."""
        from gotlang.report.studied import progress_document, started_document, trial_lines

        if not self._started:
            simulated = self._options.simulated
            self._started = started_document(self._plan, self._command, simulated=simulated)
        self._spent = budget.spent_by_all
        self._journal.start()

        def known() -> tuple[dict[str, Any], list[dict[str, Any]]]:
            self._document = progress_document(self._started, progress, str(self._spent))
            return {**self._document, "outage": self._outage}, trial_lines(progress.finished)

        self._journal.update(known)

    def record_outage(self, outage: str) -> None:
        """Record that the model does not respond or, with an empty text, that it responds again."""
        self._outage = outage
        self._journal.update(lambda: ({**self._document, "outage": outage}, []))

    def end(self, done: StudyResult, file: str) -> None:
        """Record the result; `file` is the tuned file."""
        from gotlang.report.studied import study_document, trial_lines

        self._journal.start()
        document, trials = study_document(done, self._command, file), trial_lines(done.trials)
        state: State = "done" if done.partial is None else "partial"
        self._journal.end(state, done.spent, document=document, error=done.partial, trials=trials)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, KeyboardInterrupt):
            complain("interrupted; the same command continues the study")
        if error is not None:
            state: State = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
            told = error.message if isinstance(error, GotError) else None
            self._journal.end(state, self._spent, error=told)


@final
class Watch:
    """Shows the progress of a study, until `stack` closes: a table that is redrawn on a terminal, otherwise a
    line for each measurement of a point."""

    def __init__(self, plan: StudyPlan, stack: ExitStack, requests: Progress) -> None:
        self._plan = plan
        self._requests = requests
        self._shown: Any = ""
        self._started = time.monotonic()
        self._told: dict[int, int] = {}
        self._first: int | None = None
        self._stage = ""
        self._live: Any = None
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.live import Live

            console = Console(stderr=True)
            live = Live(get_renderable=self._draw, console=console, refresh_per_second=4, transient=True)
            self._live = stack.enter_context(live)

    def __call__(self, progress: StudyProgress, budget: StudyBudget) -> None:
        """Report progress."""
        if self._first is None and not progress.stage:
            self._first = len(progress.finished)
            if self._first:
                done = f"{count(self._first, 'point')} on {count(progress.cells, 'cell')}"
                complain(f"resuming the study, with {done}")
                self._told = {number: len(trial.rows) for number, trial in progress.finished.items()}
        if self._live is not None:
            self._shown = self._table(progress, budget)
            return
        if progress.stage != self._stage:
            self._stage = progress.stage
            complain(self.headline(progress, budget))
        for number, record in progress.finished.items():
            if self._told.get(number) != len(record.rows):
                self._told[number] = len(record.rows)
                complain(f"{self.headline(progress, budget)} · trial {number}: {self._told_of(record)}")

    def _draw(self) -> Any:
        from rich.console import Group
        from rich.text import Text

        outage = self._requests.outage
        return Group(self._shown, Text(outage, style="bold red")) if outage else self._shown

    def headline(self, progress: StudyProgress, budget: StudyBudget) -> str:
        """Points, rows run, the best point and the spending on one line."""
        points = count(len(progress.finished), "point")
        parts = [f"{points}, {count(progress.cells, 'row')} ({progress.share:.0%} of the search's limit)"]
        best = progress.best
        if best is not None and best.result.values is not None:
            parts.append(f"best {best.result.values[0]:.4g} (trial {best.number})")
        limit = f" of {dollars(self._plan.budget)}" if self._plan.budget is not None else ""
        spent = budget.spent_by_all
        parts.append("cost unknown" if spent.usd is None else f"{dollars(spent.most_usd)}{limit}")
        if progress.stage:
            parts.append(progress.stage)
        return " · ".join(parts)

    def _told_of(self, record: Trial) -> str:
        from gotlang.tune.space import point_text

        value = f"{record.result.values[0]:.4g}" if record.result.values else "no value"
        over = " but infeasible" if record.ended == "complete" and not record.feasible else ""
        return f"{value} {record.ended}{over} after {len(record.rows)} rows · {point_text(record.point)}"

    def _table(self, progress: StudyProgress, budget: StudyBudget) -> Any:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        from gotlang.tune.space import point_text

        table = Table(box=None)
        for column in ("trial", "value", "rows", "ended", "values"):
            table.add_column(column, justify="right" if column in {"trial", "value", "rows"} else "left")
        for record in list(progress.finished.values())[-_MOST_LINES:]:
            value = f"{record.result.values[0]:.4g}" if record.result.values else ""
            mark = " *" if record is progress.best else ""
            cells = (f"{record.number}{mark}", value, str(len(record.rows)), record.ended)
            table.add_row(*cells, Text(point_text(record.point)))
        return Group(Text(self.headline(progress, budget), style="bold"), table)
