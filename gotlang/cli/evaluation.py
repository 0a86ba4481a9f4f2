"""`gotc eval` and `gotc compare`: schemes over a data set, with thresholds and paired intervals."""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, final

import click
from msgspec.structs import replace

from gotlang.cli import options as opt
from gotlang.cli.journal import HistoryJournal, new_record, stored_settings
from gotlang.cli.output import (
    CACHE_LOST,
    INTERRUPTED,
    WITHOUT_CACHE,
    as_json,
    check_writable,
    complain,
    count,
    document,
    harmless,
    interrupted,
    say,
    write_file,
)
from gotlang.cli.progress import Interrupted, Interrupts, Progress, display, proceed
from gotlang.cli.results import compare_text, eval_github, eval_junit, eval_text, rows_text
from gotlang.cli.watch import watchable
from gotlang.errors import CacheLost, GotError, RunError, UsageError

if TYPE_CHECKING:
    from gotlang.api import (
        Comparison,
        Dataset,
        Evaluation,
        Options,
        Program,
        RowRun,
        Scheme,
        Session,
        Threshold,
    )
    from gotlang.report.history import Kind, State

_Found = TypeVar("_Found", "Comparison", "Evaluation")

_ALL_AT_ONCE = 1_000_000
_NOT_STORED = ("file", "html", "json", "format", "quiet", "record", "out", "fail_if")
"""Options that the history does not store; the others repeat an evaluation."""

data_options: opt.Decorator = opt.together(
    click.option("--data", required=True, metavar="FILE", help="A .csv, .jsonl, .json or .parquet file."),
    opt.pair(
        "--map",
        "INPUT=COLUMN",
        "The column for an input; the input `truth` is the known answer. "
        "[default: of the same name, otherwise the only one that fits]",
    ),
    opt.row_options,
    opt.whole("--limit", "Only the first N rows. [default: all]"),
    opt.text(
        "--metrics",
        "NAMES",
        "Comma-separated metrics; schemes are compared by the first one: f1, exact_match, accuracy and "
        "errors (the result and the known answer), and those that the program declares.",
    ),
    opt.whole("--parallel", "Rows that run at a time.", 16),
    opt.batch_option,
    opt.option(
        "--max-failed",
        value=opt.SHARE,
        default=0.5,
        help="Stop starting runs once a larger share has failed.",
    ),
)

many_run_options: opt.Decorator = opt.together(
    opt.param_options,
    opt.corpus_option,
    opt.model_options,
    opt.limit_options,
    opt.order_options,
    opt.engine_options,
    opt.optimizer_options,
    opt.cache_options,
    opt.record_option,
    opt.quiet_option,
)


@final
@dataclass(frozen=True, slots=True)
class EvaluationJob:
    """A program over a data set. `command` repeats one row from the cache; it is empty without a cache."""

    program: Program
    options: Options
    data: Dataset
    parallel: int
    max_failed: float
    quiet: bool
    command: list[str]
    progress: Progress
    metrics: list[str]
    journal: HistoryJournal

    def run(self, work: Callable[..., _Found], **settings: Any) -> _Found:
        """Call a method of the program, with progress on stderr.

        The first Ctrl-C starts no further runs and waits for requests in flight, the second raises
        KeyboardInterrupt.
        """
        from gotlang.report.stored import row_line, unfinished

        progress, journal = self.progress, self.journal

        def end(state: State, error: str | None = None) -> None:
            journal.end(state, progress.spent, error=error)

        interrupts = Interrupts(progress, end)

        def on_session(session: Session) -> None:
            interrupts.attach(session)
            journal.start()

        begun: dict[tuple[str, str], Evaluation] = {}
        place = 0

        def on_start(scheme: Evaluation) -> None:
            nonlocal place
            begun.setdefault(key := (scheme.scheme, scheme.model), scheme)
            place = list(begun).index(key)
            journal.begin(unfinished(begun.values()))

        def on_row(run: RowRun) -> None:
            progress.row_done()
            journal.add(row_line(place, run))

        with interrupts, display(progress, quiet=self.quiet):
            try:
                found = work(
                    self.data,
                    metrics=self.metrics,
                    parallel=self.parallel,
                    max_failed=self.max_failed,
                    options=replace(self.options, observe=progress),
                    on_start=on_start,
                    on_row=on_row,
                    on_session=on_session,
                    **settings,
                )
            except (asyncio.CancelledError, KeyboardInterrupt):
                end("interrupted")
                raise Interrupted(proceed(self.options)) from None
            except GotError as error:
                end("failed", error.message)
                raise
        self._recorded(found)
        return found

    def _recorded(self, found: Comparison | Evaluation) -> None:
        from gotlang.report.stored import as_comparison, results_document, rows_of

        results = as_comparison(found)
        stopped = next((e.evaluation.stopped for e in results.entries if e.evaluation.stopped), None)
        state: State = "done" if stopped is None else "interrupted" if stopped == "interrupted" else "partial"
        document, rows = results_document(found), rows_of(results)
        self.journal.end(state, self.progress.spent, document=document, error=stopped, rows=rows)

    def end(self, found: Comparison | Evaluation, path: str | None, *, simulated: bool) -> None:
        """After the results: write their page, and report what was spent."""
        sys.stdout.flush()
        if path is not None:
            self._page(path, found)
        if not self.quiet:
            complain(self.progress.summary(simulated=simulated))
            for one in found.endpoints:
                complain(f"endpoint: {harmless(str(one))}")

    def _page(self, path: str, found: Comparison | Evaluation) -> None:
        from gotlang.report.results import results_page

        mapped = [part for pair in self.data.matching.columns.items() for part in ("--map", "=".join(pair))]
        command = shlex.join([*self.command, *mapped]) if self.command else ""
        nodes = self.progress.each_node()
        text = results_page(found, command=command, schemes=self.program.schemes, nodes=nodes)
        write_file(path, text, "--html")
        if not self.quiet:
            complain(f"report: {path}")

    def code(self, found: Evaluation, name: str = "") -> int:
        """The exit code for an evaluation; reports what stopped it."""
        if found.stopped is not None:
            partial = found.tally.states()["partial"]
            left = [
                f"; {count(number, 'run')} {words}"
                for number, words in ((partial, "without a result"), (found.not_run, "not started"))
                if number
            ]
            complain(f"{name}stopped: {found.stopped}{''.join(left)}")
        if found.stopped == "interrupted":
            return interrupted(proceed(self.options))
        if (found.stopped or "").startswith(CacheLost.WORDS):
            complain(f"  {WITHOUT_CACHE}")
            return CACHE_LOST
        failed = found.failures().total()
        if failed and (failed == len(found.runs) or failed > self.max_failed * len(found.runs)):
            return 1
        return 0 if found.stopped is None else 3


def job(
    kind: Kind, chosen: dict[str, Any], schemes_of: Callable[[Program], Mapping[str, Scheme]]
) -> EvaluationJob:
    """The job that the parameters describe; reports inferred columns. `schemes_of` returns the schemes to run
    by name.

    Raises UsageError, CompileError.
    """
    from gotlang.cli.inputs import model_notice, options_for, program, report_inferred

    loaded = program(chosen["file"], chosen)
    options = options_for(loaded, chosen)
    columns = opt.pairs(chosen["map"], "--map")
    if chosen["html"] == "-":
        raise UsageError("standard output is used for the results", help="name a file: `--html report.html`")
    check_writable(chosen["html"], "--html")
    selected = {name: chosen[name] for name in ("limit", "rows", "sample")}
    metrics = names_of(chosen["metrics"])
    schemes = schemes_of(loaded)
    first = next(iter(schemes.values()))
    data = loaded.dataset(chosen["data"], scheme=first, columns=columns, metrics=metrics, **selected)
    if not chosen["quiet"]:
        report_inferred(data.matching)
    # Waiting for a batch costs nothing: the more rows wait, the fewer batches there are.
    parallel = _ALL_AT_ONCE if chosen["batch"] else chosen["parallel"]
    command = _one_row(chosen) if options.cache is not None else []
    progress = Progress(notice=model_notice(options, chosen["model"], quiet=chosen["quiet"]))
    most, quiet = chosen["max_failed"], chosen["quiet"]
    settings = stored_settings(chosen, options, _NOT_STORED)
    source = loaded.compilation.source
    record = new_record(kind, source, loaded.name, ", ".join(schemes), options, settings=settings)
    journal = HistoryJournal(record)
    return EvaluationJob(loaded, options, data, parallel, most, quiet, command, progress, metrics, journal)


def names_of(text: str | None) -> list[str]:
    """Names separated by commas."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def _one_row(chosen: dict[str, Any]) -> list[str]:
    """The `gotc run` command for a row, with all settings that its prompts, its responses and its cache
    depend on."""
    command = ["gotc", "run", chosen["file"], "--data", chosen["data"]]
    for option in ("set", "corpus"):
        for name, value in chosen[option]:
            command += [f"--{option}", f"{name}={value}"]
    for name in ("tuned", "model", "base_url", "prices", "prefer", "wave"):
        value = chosen[name]
        # An address may contain a password or a key, which must not be on a page.
        if value is not None and not (name == "base_url" and any(mark in value for mark in "?@")):
            command += [f"--{name.replace('_', '-')}", str(value)]
    for name, usual in (("seed", 0), ("cache", str(opt.CACHE)), ("optimize", 2)):
        if chosen[name] != usual and "@" not in str(chosen[name]):
            command += [f"--{name}", str(chosen[name])]
    return command + (["--no-batching"] if chosen["no_batching"] else [])


@click.command("eval")
@click.argument("file")
@opt.scheme_option
@data_options
@opt.whole("--repeat", "Runs per row, each with its own seed.", 1, metavar="K")
@click.option(
    "--fail-if",
    metavar="CONDITION",
    multiple=True,
    help="Exit with code 4 if this is true, such as 'mean(score) > 2' or 'mean(correct) < 0.9'.",
)
@many_run_options
@opt.together(
    opt.text(
        "--out",
        "FILE",
        "Write each row's result to FILE as it ends, one line of JSON for each, and keep none in memory. The "
        "same command continues it after an interruption: rows that have a result are not run again.",
    ),
    click.option(
        "--format",
        type=click.Choice(("text", "json", "junit", "github")),
        default="text",
        callback=as_json,
        help="text for people, json for scripts, junit for test reports, github for annotations.",
    ),
    click.option("--json", is_flag=True, callback=as_json, help="The same as --format json."),
    opt.text("--junit", "FILE", "Also write a report for CI: JUnit XML."),
    opt.whole(
        "--table",
        "Show N rows below the metrics, wrong ones first. [default: 10 on a terminal, otherwise 0]",
        least=0,
    ),
    opt.text("--html", "FILE", "Write a report: one page that works offline."),
)
@watchable
def eval_command(**chosen: Any) -> int:
    """Run a scheme of the program FILE on every row of a data file.

    Cost, calls and seconds are those of a run with an empty cache. A row that fails does not stop the others;
    it counts as a wrong answer and has no score. The exit code is 1 if too many failed, 3 if a limit stopped
    the evaluation, 4 if a --fail-if holds.
    """
    form = "json" if chosen["json"] else chosen["format"]
    name, repeat = chosen["scheme"], chosen["repeat"]
    check_writable(chosen["junit"], "--junit")
    todo = job("eval", chosen, lambda program: {(one := program.scheme(name)).name: one})
    thresholds = todo.program.thresholds(chosen["fail_if"], scheme=name, metrics=todo.metrics)
    todo.progress.planned(len(todo.data) * repeat)
    found = todo.run(todo.program.evaluate, scheme=name, repeat=repeat, out=chosen["out"])
    complete = found.stopped is None and found.tally.states()["done"] > 0
    crossed: list[Threshold] | None = None
    undecided: RunError | None = None
    try:
        crossed = [one for one in thresholds if one.crossed(found)] if complete else None
    except RunError as error:
        if form == "json":
            raise
        undecided = error
    match form:
        case "json":
            judged = [
                {"condition": one.text, "crossed": None if crossed is None else one in crossed}
                for one in thresholds
            ]
            document({**found.to_dict(), "thresholds": judged})
        case "junit":
            sys.stdout.write(eval_junit(found, thresholds, crossed))
        case "github":
            for line in eval_github(found, crossed or ()):
                say(line)
        case _:
            for line in (*eval_text(found), *rows_text(found, _rows_shown(chosen))):
                say(line)
    if chosen["junit"] is not None:
        write_file(chosen["junit"], eval_junit(found, thresholds, crossed), "--junit")
    todo.end(found, chosen["html"], simulated=found.simulated)
    if undecided is not None:
        raise undecided
    code = todo.code(found)
    for one in () if code else crossed or ():
        complain(f"threshold crossed: {one.text}")
    return code or (4 if crossed else 0)


def _rows_shown(chosen: Mapping[str, Any]) -> int:
    if chosen["table"] is not None:
        return int(chosen["table"])
    return 10 if sys.stdout.isatty() and chosen["out"] is None else 0


@click.command("compare")
@click.argument("file")
@opt.text(
    "--schemes",
    "NAMES",
    "Comma-separated names: schemes of the program, and the baselines `single`, `best-of-N` and "
    "`vote-of-N` (self-consistency); with `n`, as many calls as the cost of the most expensive other scheme "
    "allows. [default: all schemes with the same inputs and result]",
)
@data_options
@opt.together(
    opt.text(
        "--models",
        "SPECS",
        "Comma-separated models, as for --model: each scheme with each of them, in one table. One model runs "
        "after the other, within the same limits.",
    ),
    opt.text(
        "--baseline",
        "NAME",
        "The baseline of the comparison: SCHEME, or `SCHEME @ MODEL`. [default: the first]",
    ),
    opt.flag(
        "--equal-cost",
        "Repeat the cheaper schemes until they cost as much as the most expensive one (if nothing has a "
        "price: as many tokens); the best result of a row counts, by its score, otherwise the "
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
def compare_command(**chosen: Any) -> int:
    """Run several schemes of the program FILE on the same rows and compare them.

    Intervals of differences are paired row by row, so that the difficulty of a row cancels out.
    """
    names, models = names_of(chosen["schemes"]), names_of(chosen["models"])
    if models and chosen["model"] is not None:
        raise UsageError("`--model` and `--models` cannot be combined", help="remove one of them")
    chosen["model"] = models[0] if models else chosen["model"]
    least = 1 if len(models) > 1 else 2
    todo = job(
        "compare",
        chosen,
        lambda program: {one.name: one.scheme for one in program.contenders(names, least=least)},
    )
    found = todo.run(
        todo.program.compare,
        schemes=names,
        models=models,
        baseline=chosen["baseline"],
        equal_cost=chosen["equal_cost"],
        on_planned=todo.progress.planned,
    )
    if chosen["json"]:
        document(found.to_dict())
    else:
        for line in compare_text(found):
            say(line)
    todo.end(found, chosen["html"], simulated=found.entries[0].evaluation.simulated)
    code = 0
    for entry in found.entries:
        own = todo.code(entry.evaluation, f"{entry.name}: ")
        if own in (INTERRUPTED, CACHE_LOST):
            return own
        code = own if own == 1 or code == 0 else code
    return code
