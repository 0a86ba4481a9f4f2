"""`gotc runs`, `gotc show` and `gotc graph`: runs, their operations and their pictures."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import click

from gotlang.cli import options as opt
from gotlang.cli.output import (
    FORMAT_VERSION,
    JSON,
    Style,
    complain,
    count,
    cut,
    document,
    say,
    to_json,
    value_text,
    write_file,
)
from gotlang.errors import CacheError, UsageError
from gotlang.report.graphs import HIDDEN, Groups, block_names, place_of, skipped, title_of, unreadable

if TYPE_CHECKING:
    from gotlang.api import Cache
    from gotlang.report.history import RunRecord
    from gotlang.report.plot import Plot


@click.command("runs")
@opt.whole("--limit", "Show the latest N.", 20)
@opt.json_option
def runs_command(limit: int, json: bool) -> int:
    """List the runs, evaluations, comparisons and studies of this folder, the latest first: state, calls,
    cost, result.

    `killed` is a run whose process was killed; `gotc run --resume RUN` continues it.
    """
    from gotlang.report.history import History
    from gotlang.report.recorded import summary
    from gotlang.result import dollars

    history = History()
    runs = history.runs()
    for name, reason in history.damaged().items():
        complain(f"run {name} is left out: its record is damaged: {reason}")
    shown = [(record, summary(record)) for record in runs[:limit]]
    if json:
        document({"runs": [entry for _, entry in shown]})
        return 0
    if not runs:
        complain("no runs in this folder yet; `gotc run FILE` creates one")
        return 0
    heads = f"{'run':8}  {'when':16}  {'state':11}  "
    heads += f"{'calls':>6}  {'cost':>9}  {'uncertain':>9}  scheme, model, result"
    say(Style.of(sys.stdout).dim(heads))
    for record, entry in shown:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(record.started))
        spent = record.spent
        calls, cost = ("", "") if spent is None else (f"{spent.calls:,}", dollars(spent.usd))
        more = dollars(spent.uncertain_usd) if spent is not None and spent.uncertain_calls else ""
        what = f"{record.scheme} by {record.model}"
        if record.kind != "run":
            what = f"{record.kind} {what}"
        if found := _found(record):
            what += f": {cut(found, 40)}"
        say(f"{record.run:8}  {when}  {entry['state']:11}  {calls:>6}  {cost:>9}  {more:>9}  {what}")
    if len(runs) > limit:
        complain(f"and {len(runs) - limit} more; --limit shows them")
    return 0


def _found(record: RunRecord) -> str:
    from gotlang.report.history import outcome_text

    if record.kind != "run":
        return outcome_text(record)
    return "" if record.document is None else value_text(record.document.get("result"))


def open_cache_of(record: RunRecord) -> Cache | None:
    """The cache of a run, for reading. None if it had none or it is gone, which is reported."""
    from gotlang.cache import open_cache

    if record.cache is None:
        complain("this run had no cache (--no-cache): its prompts and responses are not available")
        return None
    try:
        return open_cache(record.cache, readonly=True)
    except CacheError as error:
        complain(f"prompts and responses are not available: {error.message}")
        return None


_WIDTH = 100
_AGAIN = 60
"""Characters of a thought's value that another operation created."""


@click.command("show")
@click.argument("run", default="last")
@click.argument("operation", metavar="[OPERATION|ROW]", type=click.IntRange(min=0), required=False)
@opt.flag("--all", "Every operation with its prompts and responses; every row, every trial.")
@opt.json_option
def show_command(run: str, operation: int | None, all: bool, json: bool) -> int:
    """Show a run: its inputs, result and cost, and the thoughts of each operation. Of an evaluation or
    comparison: metrics, and what each scheme gave for a ROW; of a study: its trials.

    RUN is a name of `gotc runs`, a prefix of one, or `last`, the latest of `gotc run`; OPERATION is a number
    from this list, to show its prompts and responses, which come from the cache of the run. The name of a
    thought is the number of the operation that created it and its own: `7.2` is the third thought of
    operation 7.
    """
    from dataclasses import asdict

    from gotlang.cli.recorded import show_recorded
    from gotlang.report.history import History, state_now
    from gotlang.report.recorded import asked_of

    history = History()
    record = history.find(run)
    if record.kind != "run":
        return show_recorded(history, record, row=operation, all=all, json=json)
    lines = list(history.graph(record.run))
    shown = _Shown(lines)
    if operation is not None:
        lines = [line for line in lines if line["operation"] == operation]
        if not lines:
            raise UsageError(
                f"run {record.run} has no operation {operation}", help=f"`gotc show {record.run}`"
            )
    full = all or json or operation is not None
    asked = full and any("asked" in line for line in lines)
    cache = open_cache_of(record) if asked else None
    try:
        if json:
            content = [{**line, "asked": asked_of(line, cache)} for line in lines]
            document({**asdict(record), "state": state_now(record), "operations": content})
            return 0
        if operation is None:
            header(record)
        for line in lines:
            if full:
                _whole(shown, line, cache)
            elif line["kind"] not in HIDDEN:
                _short(shown, line)
    finally:
        if cache is not None:
            cache.close()
    return 0


def header(record: RunRecord) -> None:
    """Print what was run, and how it ended."""
    from gotlang.report.recorded import summary

    style = Style.of(sys.stdout)
    entry = summary(record)
    say(
        style.bold(f"{record.scheme} by {record.model}") + f" · {record.kind} {record.run} · {entry['state']}"
    )
    path, here = Path(record.path), Path.cwd()
    say(f"  program  {path.relative_to(here) if path.is_relative_to(here) else path}")
    for name, value in record.inputs.items():
        say(f"  input    {name} = {cut(to_json(value), _WIDTH)}")
    if record.document is not None and record.kind == "run":
        say(f"  result   {cut(value_text(record.document['result']), _WIDTH)}")
        score = record.document["score"]
        say(f"  score    {'none' if score is None else score}")
        for name, value in record.document.get("metrics", {}).items():
            say(f"  {name.ljust(8)} {'unknown' if value is None else f'{value:g}'}")
        for name in ("not_valid", "partial"):
            if reason := record.document.get(name):
                say(f"  {name.replace('_', ' ').ljust(8)} {reason}")
    if record.spent is not None:
        say(f"  spent    {record.spent}")
    if record.error:
        say(f"  error    {record.error}")
    if record.resumed:
        say(f"  resumed  {record.resumed}")
    say("")


@final
class _Shown:
    """Titles of operations in the words of the program: the step, its place, the iteration of its block."""

    def __init__(self, lines: Sequence[dict[str, Any]]) -> None:
        self._names = block_names(lines)
        self._groups = Groups(self._names)
        self._values = {_number(t): t["value"] for line in lines for t in line["thoughts"] if "value" in t}

    def title(self, line: dict[str, Any]) -> str:
        """`    12  Aggregate merge  sort.got:60  level 1, pair 1`"""
        parts = [title_of(line), place_of(line), self._turn(line)]
        if lost := unreadable(line):
            parts.append(f"{count(lost, 'response')} unreadable")
        if left := skipped(line):
            parts.append(f"{count(left, 'call')} skipped")
        return f"{line['operation']:>6}  " + "  ".join(part for part in parts if part)

    def _turn(self, line: dict[str, Any]) -> str:
        """The element of a `foreach`, pair of a `reduce` or round of a `repeat`, from the outside in."""
        out: list[str] = []
        at = self._groups.of(line["path"])
        groups = {group.id: group for group in self._groups.found.values()}
        while at is not None:
            if groups[at].label not in self._names.values():
                out.append(groups[at].label)
            at = groups[at].parent
        return ", ".join(reversed(out))

    def value(self, thought: dict[str, Any]) -> Any:
        """The value of a thought, which is stored with the operation that created it."""
        return thought["value"] if "value" in thought else self._values.get(_number(thought))


def _number(thought: dict[str, Any]) -> str:
    """`7.2`: the operation that created a thought, and the number of the thought."""
    maker, index = thought["made"]
    return f"{maker}.{index}"


def _short(shown: _Shown, line: dict[str, Any]) -> None:
    style = Style.of(sys.stdout)
    state = "" if line["state"] == "done" else f"  {style.yellow(line['state'])}"
    say(style.bold(shown.title(line)) + state)
    for reason in _reasons(line):
        say(f"{'':>12}  {style.red(cut(reason, _WIDTH))}")
    for thought in line["thoughts"]:
        value = cut(to_json(shown.value(thought)), _WIDTH if "value" in thought else _AGAIN)
        said = value if "value" in thought else style.dim(value)
        say(f"{_number(thought):>12}  {_known(thought)}{said}")


def _reasons(line: dict[str, Any]) -> list[str]:
    """Why an operation failed; if it did not, why responses gave no thought, each reason once."""
    failed = line.get("failed", ())
    whole = [reason for draw, reason in failed if draw is None]
    return whole or list(dict.fromkeys(reason for _, reason in failed))


def _known(thought: dict[str, Any]) -> str:
    parts = [f"score {thought['score']:g}"] if "score" in thought else []
    if "valid" in thought:
        parts.append("valid" if thought["valid"] else "not valid")
    return f"[{', '.join(parts)}] " if parts else ""


def _whole(shown: _Shown, line: dict[str, Any], cache: Cache | None) -> None:
    from gotlang.report.recorded import asked_of

    style = Style.of(sys.stdout)
    say(style.bold(shown.title(line)) + f"  {line['state']}")
    for asked in asked_of(line, cache):
        request = asked["request"]
        if request is None:
            say(style.dim(f"  request {asked['key'][:12]} is not in the cache"))
            continue
        for role, text, *_ in request["messages"]:
            say(style.blue(f"  --- {role} ---"))
            say(text)
        for number, source, response in zip(
            asked["samples"], asked["sources"], asked["responses"], strict=True
        ):
            say(style.blue(f"  --- response {number} ({source}) ---"))
            say(response if response is not None else style.dim("not in the cache"))
    for draw, reason in line.get("failed", ()):
        say(style.red(f"  failed{'' if draw is None else f', response {draw}'}: ") + reason)
    for thought in line["thoughts"]:
        parents = [f"{maker}.{index}" for maker, index in thought.get("parents", ()) if maker is not None]
        came = f" from {', '.join(parents)}" if parents else ""
        say(style.blue(f"  thought {_number(thought)}") + came)
        say(f"  {_known(thought)}{to_json(shown.value(thought))}")
    say("")


_SUFFIXES = {"html": ".html", "svg": ".svg", "mermaid": ".mmd", "dot": ".dot", "json": ".json"}
FOLDER = Path(".gotc/graphs")


@click.command("graph")
@click.argument("subject", metavar="[FILE|RUN]", default="last")
@opt.choice(
    "--format",
    tuple(_SUFFIXES),
    "html is one file that works offline. [default: by the suffix of --out, otherwise html]",
)
@opt.text(
    "--out", "FILE", "Where to write; `-` is standard output. [default: html to .gotc/graphs, otherwise `-`]"
)
@opt.scheme_option
@opt.choice(
    "--view",
    ("execution", "reasoning"),
    "The execution graph of a RUN (operations) or its reasoning graph (thoughts); html has both.",
    "execution",
)
@opt.whole(
    "--most", "In svg, which cannot be unfolded: draw N items at most, and fold the innermost groups.", 400
)
def graph_command(
    subject: str, format: str | None, out: str | None, scheme: str | None, view: str, most: int
) -> int:
    """Draw the plan of a program FILE, or the graph of a RUN of `gotc runs` (`last`, the default, is the
    latest).

    The layout is computed here: no other tool is needed.
    """
    form = format or _form(out)
    if form == "json":
        click.get_current_context().meta[JSON] = True
    if subject == "-" or subject.endswith(".got") or Path(subject).is_file():
        name, about, picture = _plan(subject, scheme, most)
    else:
        name, about, picture = _run(subject, form, view, most)
    text = picture.formats[_SUFFIXES[form]]()
    if form == "json":
        text = to_json({"format_version": FORMAT_VERSION, **about, **json.loads(text)}, indent=2) + "\n"
    if out is None and form == "html":
        out = str(FOLDER / f"{name}.html")
    write_file(out or "-", text, "--out")
    if out is not None and out != "-":
        say(out) if form == "html" else complain(f"written to {out}")
    return 0


def _form(out: str | None) -> str:
    """The format for the suffix of a file; html without a suffix."""
    suffix = Path(out or "").suffix.lower()
    forms = {own: form for form, own in _SUFFIXES.items()} | {".htm": "html", "": "html"}
    if suffix not in forms:
        raise UsageError(
            f"--out: unsupported format `{suffix}`",
            help=f"use one of {', '.join(_SUFFIXES.values())}, or choose the format with --format",
        )
    return forms[suffix]


def _plan(path: str, scheme: str | None, most: int) -> tuple[str, dict[str, Any], Plot]:
    from gotlang.cli.inputs import program
    from gotlang.report.plot import plot

    loaded = program(path)
    name = loaded.scheme(scheme).name
    return name, {"program": loaded.name, "scheme": name}, plot(loaded, scheme=scheme, most=most)


def _run(name: str, form: str, view: str, most: int) -> tuple[str, dict[str, Any], Plot]:
    from gotlang.report.graphs import details, pictures
    from gotlang.report.history import History
    from gotlang.report.plot import graph_plot
    from gotlang.report.recorded import facts_of, sources_of, title_of_run

    history = History()
    record = history.find(name, kind="run")
    lines = list(history.graph(record.run))
    if not lines and record.state == "failed":
        raise UsageError(f"run {record.run} has no graph: it failed at the start", help=record.error)
    if not lines:
        why, again = "it was killed or is still running", f"`gotc run --resume {record.run}` continues it"
        raise UsageError(f"run {record.run} has no graph: {why}", help=again)
    title = title_of_run(record)
    cache = open_cache_of(record) if form == "html" else None
    try:
        content = details(lines, cache, sources_of(record), record.inputs)
    finally:
        if cache is not None:
            cache.close()
    found = sorted(pictures(lines, title), key=lambda picture: picture.view != view)
    about = {"run": record.run, "program": record.program, "scheme": record.scheme}
    return record.run, about, graph_plot(found, facts_of(record), content, most=most)
