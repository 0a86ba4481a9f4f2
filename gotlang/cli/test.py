"""`gotc test`: the tests and laws of programs, as text, for JUnit, GitHub and scripts."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from gotlang.cli import options as opt
from gotlang.cli.output import (
    CACHE_LOST,
    PARTIAL,
    THRESHOLD,
    annotation,
    as_json,
    check_writable,
    complain,
    count,
    cut,
    document,
    interrupted,
    junit,
    say,
    test_case,
    value_text,
    write_file,
)
from gotlang.cli.progress import Interrupted, Interrupts, Progress, display, proceed
from gotlang.cli.watch import watchable
from gotlang.errors import CacheLost, UsageError
from gotlang.files import read_source

if TYPE_CHECKING:
    from gotlang.api import Options, Program, TestReport, TestResult

_LONGEST = 300


@click.command("test")
@click.argument("files", nargs=-1, metavar="[FILE...]")
@opt.together(
    click.option(
        "-k",
        "--name",
        metavar="NAME",
        default="",
        help="Run only tests whose name contains NAME (case-insensitive).",
    ),
    opt.text(
        "--recording", "FILE", "Run on a recording that `--record` made: the same as --model replay:FILE."
    ),
    opt.param_options,
    opt.corpus_option,
    opt.model_options,
    opt.max_usd_option,
    opt.max_calls_option,
    opt.order_options,
    opt.optimizer_options,
    opt.cache_options,
    opt.record_option,
    opt.quiet_option,
    opt.text("--junit", "FILE", "Write a report for CI: JUnit's XML."),
    click.option(
        "--format",
        type=click.Choice(("text", "json", "github")),
        default="text",
        callback=as_json,
        help="text for people, json for scripts, github for annotations.",
    ),
)
@watchable
def test_command(files: tuple[str, ...], **chosen: Any) -> int:
    """Run the tests and laws of programs. [default: of every program in this folder that has some]

    They run on the program's simulator if it has one and no model is chosen. The exit code is 4 if a test
    does not hold, otherwise 3 if one is undecided: a law that needs more inputs, or a test that a limit
    ended.
    """
    from gotlang.cli.inputs import program

    loaded = [program(file, chosen) for file in files or _programs()]
    _check(files, loaded, chosen)
    reports = []
    for one in loaded:
        if one.compilation.compiled().checked.tests_named(chosen["name"]):
            reports.append(_tested(one, chosen))
    form, results = chosen["format"], [result for report in reports for result in report.results]
    if form == "json":
        document({"ok": all(report.ok for report in reports), "programs": [r.to_dict() for r in reports]})
    if chosen["junit"] is not None:
        write_file(chosen["junit"], _junit(reports), "--junit")
    stopped = next((report.stopped for report in reports if report.stopped is not None), None)
    if not chosen["quiet"]:
        verdicts = [result.verdict for result in results]
        parts = [
            f"{n} {word}" for word in ("holds", "does not hold", "undecided") if (n := verdicts.count(word))
        ]
        complain(f"{count(len(results), 'test')}: {', '.join(parts)}")
    if stopped == "interrupted":
        return interrupted()
    if (stopped or "").startswith(CacheLost.WORDS):
        complain(f"stopped: {stopped}")
        return CACHE_LOST
    if any(result.verdict == "does not hold" for result in results):
        return THRESHOLD
    return 0 if all(report.ok for report in reports) else PARTIAL


def _programs() -> list[str]:
    """The programs in the current folder that have tests."""
    found = sorted(path for path in Path().glob("*.got") if path.is_file())
    return [str(path) for path in found if _has_tests(path)]


def _has_tests(path: Path) -> bool:
    lines = read_source(path).text.splitlines()
    return any(line.startswith(('test "', 'law "')) for line in lines)


def _check(files: tuple[str, ...], loaded: list[Program], chosen: dict[str, Any]) -> None:
    """Raise UsageError if there is nothing to run, and for options that exclude each other."""
    if not loaded:
        raise UsageError(
            "no program in this folder has a test", help='name the files, or write `test "name": expression`'
        )
    part, checked = chosen["name"], [one.compilation.compiled().checked for one in loaded]
    if not any(one.tests_named(part) for one in checked):
        message = f"no test has `{part}` in its name" if part else "these programs have no tests"
        there = ", ".join(f"`{test.node.name.value}`" for one in checked for test in one.tests)
        raise UsageError(message, help=f"there are {there}" if there else 'write `test "name": expression`')
    if chosen["recording"] is not None and chosen["model"] is not None:
        raise UsageError("`--recording` and `--model` cannot be combined", help="remove one of them")
    if chosen["record"] is not None and len(loaded) > 1:
        raise UsageError("a recording is of one program", help="name one FILE")
    check_writable(chosen["junit"], "--junit")


def _tested(program: Program, chosen: dict[str, Any]) -> TestReport:
    options = _options(program, chosen)
    quiet = chosen["quiet"]
    if not quiet and chosen["model"] is None and chosen["recording"] is None and options.simulated:
        complain(f"{program.name}: responses are simulated (choose a model with --model)")
    progress = Progress()
    with Interrupts(progress) as interrupts, display(progress, quiet=quiet):
        try:
            report = program.test(
                chosen["name"], options=replace(options, observe=progress), on_session=interrupts.attach
            )
        except (asyncio.CancelledError, KeyboardInterrupt):
            raise Interrupted(proceed(options)) from None
    if chosen["format"] == "text":
        say(f"{program.compilation.source.name}")
        for result in report.results:
            for line in _lines(result):
                say(line)
    elif chosen["format"] == "github":
        for line in _github(report, program):
            say(line)
    if not quiet:
        complain(progress.summary(simulated=report.simulated))
    return report


def _options(program: Program, chosen: dict[str, Any]) -> Options:
    from gotlang.cli.inputs import options_for

    model = chosen["model"]
    if chosen["recording"] is not None:
        model = f"replay:{chosen['recording']}"
    elif model is None and program.ir(0).simulators:
        model = "simulated"
    return options_for(program, {**chosen, "model": model})


def _lines(result: TestResult) -> Iterator[str]:
    """A result as text: the verdict, the share of a law, and the counterexample."""
    share = f": {_share(result)}" if result.kind == "law" else ""
    yield f"  {result.verdict:<13}  {result.name}{share}"
    if result.verdict == "holds":
        return
    for name, value in (result.inputs or {}).items():
        yield f"      {name} = {cut(value_text(value), _LONGEST)}"
    for name, value in (result.seen or {}).items():
        yield f"      {cut(name, _LONGEST)} gave {cut(value_text(value), _LONGEST)}"
    if result.reason is not None:
        yield f"      {cut(result.reason, _LONGEST)}"


def _share(result: TestResult) -> str:
    claimed = "all" if result.claimed is None else f"at least {result.claimed:.4g}"
    found = f"{result.held} of {result.times}, claimed {claimed}"
    if result.interval is None:
        return found
    return f"{found} (95% CI {result.interval.low:.3f} to {result.interval.high:.3f})"


def _words(result: TestResult) -> str:
    """A result in one line, for reports."""
    _, *rest = _lines(result)
    share = [_share(result)] if result.kind == "law" else []
    return "; ".join([f"{result.verdict}", *share, *(line.strip() for line in rest)])


def _github(report: TestReport, program: Program) -> Iterator[str]:
    """An error for each test that does not hold, a warning for one that is undecided."""
    for result in report.results:
        if result.verdict != "holds":
            level = "error" if result.verdict == "does not hold" else "warning"
            source = program.compilation.sources[result.span.source]
            line = source.text.count("\n", 0, result.span.start) + 1
            title = f"{result.kind} {result.name}"
            yield annotation(level, _words(result), file=source.name, line=line, title=title)


def _junit(reports: list[TestReport]) -> str:
    """A test suite for each program; undecided tests are skipped."""
    return junit({report.program: [_case(report, result) for result in report.results] for report in reports})


def _case(report: TestReport, result: TestResult) -> str:
    words = {"does not hold": "failure", "undecided": "skipped"}
    outcome = None if result.verdict == "holds" else (words[result.verdict], _words(result))
    return test_case(report.program, result.name, outcome, result.seconds)
