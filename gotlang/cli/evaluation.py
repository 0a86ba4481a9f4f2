"""What `gotc eval` and `gotc compare` share: options, a program with its data, an interruptible run."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar, final

import click

from gotlang.cli import errors
from gotlang.cli import options as opt
from gotlang.cli.interrupts import CONTINUE, Interrupts
from gotlang.cli.output import check_writable, complain, count, write_file
from gotlang.cli.progress import Display, Progress
from gotlang.errors import UsageError

if TYPE_CHECKING:
    from gotlang.api import Comparison, Dataset, Evaluation, Options, Program, Scheme

T = TypeVar("T")

_ALL_AT_ONCE = 1_000_000

data_options: opt.Decorator = opt.together(
    click.option("--data", required=True, metavar="FILE", help="A .csv, .jsonl, .json or .parquet file."),
    opt.pair(
        "--map",
        "INPUT=COLUMN",
        "The column for an input; the input `truth` is the known answer. "
        "[default: of the same name, otherwise the only one that fits]",
    ),
    opt.whole("--limit", "Only the first N rows. [default: all]"),
    opt.whole("--parallel", "Rows that run at a time.", 16),
    opt.batch_option,
    click.option(
        "--max-failed",
        type=opt.SHARE,
        default=0.5,
        help="Start no more once a larger share of the runs has failed.",
    ),
)

many_run_options: opt.Decorator = opt.together(
    opt.param_options,
    opt.model_options,
    opt.limit_options,
    opt.order_options,
    opt.optimizer_options,
    opt.cache_options,
    opt.quiet_option,
)


@final
@dataclass(frozen=True, slots=True)
class Job:
    """A program over a data set. `command` repeats one row from the cache; it is empty without a cache."""

    program: Program
    options: Options
    data: Dataset
    parallel: int
    max_failed: float
    quiet: bool
    command: list[str]
    progress: Progress = field(default_factory=Progress)

    def run(self, work: Callable[..., T], **settings: Any) -> T:
        """Call a method of the program, with progress on stderr.

        Ctrl-C once starts nothing more and waits for requests in progress, twice raises KeyboardInterrupt.
        """
        progress = self.progress
        with Interrupts(progress) as interrupts, Display(progress, quiet=self.quiet):
            try:
                return work(
                    self.data,
                    parallel=self.parallel,
                    max_failed=self.max_failed,
                    options=replace(self.options, observe=progress),
                    on_row=progress.row_done,
                    on_session=interrupts.attach,
                    **settings,
                )
            except asyncio.CancelledError:
                raise KeyboardInterrupt from None

    def interrupted(self) -> int:
        """Report the interruption, and how to continue."""
        return errors.interrupted(CONTINUE if self.options.cache is not None else "")

    def page(self, path: str, found: Comparison | Evaluation) -> None:
        """Write the page of a comparison or of an evaluation."""
        from gotlang.report.results import results_page

        mapped = [part for pair in self.data.matching.columns.items() for part in ("--map", "=".join(pair))]
        command = shlex.join([*self.command, *mapped]) if self.command else ""
        write_file(path, results_page(found, command=command, schemes=self.program.schemes), "--html")
        if not self.quiet:
            complain(f"report: {path}")

    def code(self, found: Evaluation, name: str = "") -> int:
        """The exit code for an evaluation: reports what stopped it."""
        if found.stopped is not None:
            left = f"; {count(found.not_run, 'run')} not started" if found.not_run else ""
            complain(f"{name}stopped: {found.stopped}{left}")
        if found.stopped == "interrupted":
            return self.interrupted()
        failed = found.failures().total()
        if failed and (failed == len(found.runs) or failed > self.max_failed * len(found.runs)):
            return 1
        return 0 if found.stopped is None else 3


def job(chosen: dict[str, Any], scheme: Callable[[Program], Scheme]) -> Job:
    """What the parameters ask for; reports inferred columns. Raises UsageError, CompileError."""
    from gotlang.cli.inputs import options_for, program, report_inferred

    loaded = program(chosen["file"], chosen["tuned"])
    options = options_for(loaded, chosen)
    columns = opt.pairs(chosen["map"], "--map")
    if chosen["html"] == "-":
        raise UsageError("standard output is used for the results", help="name a file: `--html report.html`")
    check_writable(chosen["html"], "--html")
    data = loaded.dataset(chosen["data"], scheme=scheme(loaded), columns=columns, limit=chosen["limit"])
    if not chosen["quiet"]:
        report_inferred(data.matching)
    # Waiting for a batch costs nothing: the more rows wait, the fewer batches there are.
    parallel = _ALL_AT_ONCE if chosen["batch"] else chosen["parallel"]
    command = _one_row(chosen) if options.cache is not None else []
    return Job(loaded, options, data, parallel, chosen["max_failed"], chosen["quiet"], command)


def _one_row(chosen: dict[str, Any]) -> list[str]:
    """`gotc run` with all that its prompts, its responses and its cache depend on."""
    command = ["gotc", "run", chosen["file"], "--data", chosen["data"]]
    for name, value in chosen["set"]:
        command += ["--set", f"{name}={value}"]
    for name in ("tuned", "model", "base_url", "prices", "wave"):
        value = chosen[name]
        # An address may contain a password or a key, which must not be on a page.
        if value is not None and not (name == "base_url" and any(mark in value for mark in "?@")):
            command += [f"--{name.replace('_', '-')}", str(value)]
    for name, usual in (("seed", 0), ("cache", str(opt.CACHE)), ("optimize", 2)):
        if chosen[name] != usual and "@" not in str(chosen[name]):
            command += [f"--{name}", str(chosen[name])]
    flags = ("no_early_stop", "no_batching")
    return command + [f"--{name.replace('_', '-')}" for name in flags if chosen[name]]
