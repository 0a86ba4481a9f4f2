"""What `gotc eval` and `gotc compare` share: options, rows of a data file, a session that can be stopped."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar, final

import click

from gotlang.cli.kinds import Pair, Share
from gotlang.cli.options import (
    CACHE,
    Decorator,
    batch_option,
    cache_options,
    limit_options,
    model_options,
    optimizer_options,
    order_options,
    pairs,
    param_options,
    together,
)
from gotlang.cli.output import complain, count
from gotlang.errors import UsageError

if TYPE_CHECKING:
    from gotlang.api import Options, Program, Session
    from gotlang.cli.progress import Progress
    from gotlang.data.table import Table
    from gotlang.evaluate.comparison import Comparison
    from gotlang.evaluate.evaluation import Evaluation
    from gotlang.evaluate.rows import Dataset, Matching
    from gotlang.ir.program import Scheme

T = TypeVar("T")

ALL_AT_ONCE = 1_000_000

data_options: Decorator = together(
    click.option("--data", required=True, metavar="FILE", help="A .csv, .jsonl, .json or .parquet file."),
    click.option(
        "--map",
        type=Pair("INPUT=COLUMN"),
        multiple=True,
        help="The column for an input; the input `truth` is the known answer. "
        "[default: of the same name, else the only one that fits]",
    ),
    click.option(
        "--limit", type=click.IntRange(min=1), metavar="N", help="Only the first N rows. [default: all]"
    ),
    click.option(
        "--parallel", type=click.IntRange(min=1), metavar="N", default=16, help="Rows under way at a time."
    ),
    batch_option,
    click.option(
        "--max-failed",
        type=Share(),
        default=0.5,
        help="Start no more once a larger share of the runs has failed.",
    ),
)

run_options_of_many: Decorator = together(
    param_options, model_options, limit_options, order_options, optimizer_options, cache_options
)


@final
@dataclass(frozen=True, slots=True)
class Task:
    """What is to be run over which table, and how. `command` runs one row of it once more for nothing; it is
    empty where no answer is kept."""

    program: Program
    options: Options
    table: Table
    mapping: dict[str, str]
    limit: int | None
    plan: dict[str, Any]
    quiet: bool
    command: list[str]

    def rows(self, scheme: Scheme) -> Dataset:
        """The rows as inputs of a scheme; reports inferred columns on stderr, and notes them in `mapping`."""
        from gotlang.evaluate.rows import read_dataset

        found = read_dataset(self.table, self.program.ir(0), scheme, self.mapping, self.limit)
        if not self.quiet:
            complain_of_inferred(found.matching)
        self.mapping.update(found.matching.columns)
        return found


def complain_of_inferred(found: Matching) -> None:
    """Report on stderr which columns were inferred."""
    if inferred := ", ".join(f"{name} ← {found.columns[name]}" for name in found.inferred):
        complain(f"inferred columns: {inferred} (override with --map)")


def task(chosen: dict[str, Any]) -> Task:
    """What the parameters ask for. Raises UsageError, CompileError."""
    from gotlang.cli.programs import program
    from gotlang.cli.settings import options_for
    from gotlang.cli.values import given_params
    from gotlang.data import load

    loaded = program(chosen["file"], chosen["tuned"])
    options = options_for(loaded, chosen, given_params(loaded.ir(0).params, chosen["set"]))
    # What waits for a batch costs nothing: the more rows wait, the fewer batches there are.
    parallel = ALL_AT_ONCE if chosen["batch"] else chosen["parallel"]
    plan = {"parallel": parallel, "max_failed": chosen["max_failed"]}
    mapping = pairs(chosen["map"], "--map")
    command = _one_row(chosen) if options.cache is not None else []
    table = load(chosen["data"])
    if chosen["html"] == "-":
        raise UsageError(
            "the results go to standard output already", help="name a file: `--html report.html`"
        )
    check_page(chosen["html"])
    return Task(loaded, options, table, mapping, chosen["limit"], plan, chosen["quiet"], command)


def _one_row(chosen: dict[str, Any]) -> list[str]:
    """`gotc run` with all that its prompts, its answers and where they are kept depend on."""
    command = ["gotc", "run", chosen["file"], "--data", chosen["data"]]
    for name, value in chosen["set"]:
        command += ["--set", f"{name}={value}"]
    for name in ("tuned", "model", "base_url", "prices", "wave"):
        value = chosen[name]
        # An address may hold a password or a key, which belongs on no page.
        if value is not None and not (name == "base_url" and any(mark in value for mark in "?@")):
            command += [f"--{name.replace('_', '-')}", str(value)]
    for name, usual in (("seed", 0), ("cache", str(CACHE)), ("optimize", 2)):
        if chosen[name] != usual and "@" not in str(chosen[name]):
            command += [f"--{name}", str(chosen[name])]
    return command + [
        f"--{name.replace('_', '-')}" for name in ("no_early_stop", "no_fusion") if chosen[name]
    ]


def go_on(given: Task) -> None:
    """Say that it was interrupted, and how the rest is had."""
    kept = "; run the same command again: what is paid is in the cache"
    complain("interrupted" + (kept if given.options.cache is not None else ""))


def why_stopped(found: Evaluation) -> str:
    """What ended an evaluation before its end, and what was left out for it."""
    left_out = f"; {count(found.not_run, 'run')} not started" if found.not_run else ""
    return f"{found.stopped}{left_out}"


def write_page(path: str, given: Task, found: Comparison | Evaluation) -> None:
    """Write the page of a comparison or an evaluation."""
    import shlex

    from gotlang.report.results import results_page

    mapped = [part for pair in given.mapping.items() for part in ("--map", "=".join(pair))]
    schemes = [scheme.name for scheme in given.program.ir(0).schemes]
    command = shlex.join([*given.command, *mapped]) if given.command else ""
    write_file(path, results_page(found, command=command, schemes=schemes), "--html")
    if not given.quiet:
        complain(f"the report is in {path}")


def in_session(
    given: Task, runs: int, work: Callable[[Session, dict[str, Any], Progress], Awaitable[T]]
) -> tuple[T, Progress, Session]:
    """Do the work on one session, with progress on stderr.

    Ctrl-C once starts nothing more and waits for what is under way, twice raises KeyboardInterrupt.
    """
    from gotlang.cli.interrupts import Interrupts
    from gotlang.cli.live import Display
    from gotlang.cli.progress import Progress
    from gotlang.session import Session, run_to_end

    progress = Progress(rows=runs)
    sessions: list[Session] = []

    async def go() -> T:
        options = replace(given.options, observe=progress)
        async with Session(given.program, options) as session:
            sessions.append(session)
            progress.budget = session.runner.budget
            progress.priced = session.model.price is not None

            def drain() -> None:
                session.stop("interrupted")
                progress.stopping = True
                complain("stopping: waiting for what is under way; Ctrl-C again stops at once")

            plan = {
                **given.plan,
                "on_row": lambda _: progress.row_done(),
                "stopping": lambda: "interrupted" if progress.stopping else None,
            }
            with Interrupts(drain, lambda: None):
                return await work(session, plan, progress)

    with Display(progress, quiet=given.quiet):
        try:
            found = run_to_end(go(), virtual=given.options.simulated)
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None
    return found, progress, sessions[0]


def table_lines(heads: Sequence[str], lines: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Columns under heads, the first `left` of them flush left, all else flush right."""
    widths = [max(len(row[i]) for row in (heads, *lines)) for i in range(len(heads))]
    return [
        "  ".join(
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in (heads, *lines)
    ]


def write_file(path: str, text: str, option: str) -> None:
    """Write a file, `-` being standard output. Raises UsageError where that cannot be done."""
    from pathlib import Path

    if path == "-":
        sys.stdout.write(text)
        return
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text, "utf-8", errors="backslashreplace")
    except OSError as error:
        raise UsageError(f"{option}: cannot write {path}: {error.strerror}") from None


def check_page(path: str | None, option: str = "--html") -> None:
    """Refuse a place for a file that cannot be written, before anything is paid. Raises UsageError."""
    from pathlib import Path

    if path is None:
        return
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        try:
            Path(path).open("x").close()
        except FileExistsError:
            Path(path).open("a").close()
        else:  # only what was made here is taken away: other workers of a study look at the same place
            Path(path).unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(f"{option}: cannot write {path}: {error.strerror}") from None
