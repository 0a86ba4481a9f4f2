"""`gotc show`: one run with its operations and thoughts, one evaluation with its rows, one study."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import click
from msgspec import to_builtins

from gotlang.cli import options as opt
from gotlang.cli.output import Style, complain, count, cut, document, say, to_json, value_text
from gotlang.cli.runs import open_cache_of
from gotlang.errors import UsageError
from gotlang.report.graphs import HIDDEN, Groups, block_names, place_of, skipped, title_of, unreadable

if TYPE_CHECKING:
    from gotlang.api import Cache
    from gotlang.report.history import History, RunRecord

_WIDTH = 100
_AGAIN = 60
"""Maximum length of a thought's value that another operation created."""
_ROWS = 20
"""Maximum number of rows and trials that are shown without `--all`."""


@click.command("show")
@click.argument("run", default="last")
@click.argument("operation", metavar="[OPERATION|ROW]", type=click.IntRange(min=0), required=False)
@opt.flag("--all", "Every operation with its prompts and responses; every row, every trial.")
@opt.json_option
def show_command(run: str, operation: int | None, all: bool, json: bool) -> int:
    """Show a run: its inputs, result and cost, and the thoughts of each operation. Of an evaluation or
    comparison: metrics, and each scheme's result for a ROW; of a study: its trials.

    RUN is a name of `gotc runs`, a prefix of one, or `last`, the latest of `gotc run`; OPERATION is a number
    from this list, to show its prompts and responses, which come from the cache of the run. The name of a
    thought is the number of the operation that created it and its own: `7.2` is the third thought of
    operation 7.
    """
    from gotlang.report.history import History, state_now
    from gotlang.report.recorded import requests_of

    history = History()
    record = history.find(run)
    if record.kind != "run":
        return _results(history, record, row=operation, all=all, json=json)
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
            content = [{**line, "asked": requests_of(line, cache)} for line in lines]
            document({**to_builtins(record), "state": state_now(record), "operations": content})
            return 0
        if operation is None:
            _header(record)
        for line in lines:
            if full:
                _whole(shown, line, cache)
            elif line["kind"] not in HIDDEN:
                _short(shown, line)
    finally:
        if cache is not None:
            cache.close()
    return 0


def _header(record: RunRecord) -> None:
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
    """Titles of operations in the program's terms: the step, its place, the iteration of its block."""

    def __init__(self, lines: Sequence[dict[str, Any]]) -> None:
        names = block_names(lines)
        self._labels, self._groups = {*names.values()}, Groups(names)
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
        while at is not None:
            group = self._groups.found[at]
            if group.label not in self._labels:
                out.append(group.label)
            at = group.parent
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
    """Why an operation failed; if it did not, why responses yielded no thought, each reason once."""
    failed = line.get("failed", ())
    whole = [reason for draw, reason in failed if draw is None]
    return whole or list(dict.fromkeys(reason for _, reason in failed))


def _known(thought: dict[str, Any]) -> str:
    parts = [f"score {thought['score']:g}"] if "score" in thought else []
    if "valid" in thought:
        parts.append("valid" if thought["valid"] else "not valid")
    return f"[{', '.join(parts)}] " if parts else ""


def _whole(shown: _Shown, line: dict[str, Any], cache: Cache | None) -> None:
    from gotlang.report.recorded import requests_of

    style = Style.of(sys.stdout)
    say(style.bold(shown.title(line)) + f"  {line['state']}")
    for asked in requests_of(line, cache):
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


# ---------------------------------------------------------------- evaluations, comparisons, studies


def _results(history: History, record: RunRecord, *, row: int | None, all: bool, json: bool) -> int:
    """Show it; only one row or trial of it, if `row` is given. Raises UsageError for one that does not exist,
    and for a damaged record."""
    from gotlang.report.history import state_now

    study = record.kind == "tune"
    name, number = ("trials", "trial") if study else ("rows", "row")
    lines = list(history.trials(record.run) if study else history.rows(record.run))
    if row is not None:
        lines = [line for line in lines if line.get(number) == row]
        if not lines:
            raise UsageError(f"{record.run} has no {number} {row}", help=f"`gotc show {record.run}`")
    if json:
        document({**to_builtins(record), "state": state_now(record), name: lines})
        return 0
    if row is None:
        _header(record)
        for text in [] if study else _table(record, lines):
            say(text)
    shown = lines if all or row is not None else lines[:_ROWS]
    for line in shown:
        for text in _trial(line) if study else _row(record, line):
            say(text)
    if len(lines) > len(shown):
        complain(f"and {len(lines) - len(shown)} more; --all shows them")
    return 0


def _table(record: RunRecord, lines: list[dict[str, Any]]) -> Iterator[str]:
    from gotlang.cli.results import compare_text, eval_text
    from gotlang.report.stored import stored_results

    if record.document is not None and "evaluations" in record.document:
        found = stored_results(record.document, lines)
        alone = len(found.entries) == 1
        yield from eval_text(found.entries[0].evaluation) if alone else compare_text(found)
        yield ""


def _row(record: RunRecord, line: dict[str, Any]) -> Iterator[str]:
    schemes = record.scheme.split(", ")
    inputs = ", ".join(f"{name} = {to_json(value)}" for name, value in line["inputs"].items())
    yield f"row {line['row']}  {cut(inputs, _WIDTH)}"
    if line["truth"] is not None:
        yield f"  expected  {cut(to_json(line['truth']), _WIDTH)}"
    for run in line["runs"]:
        name = schemes[run["scheme"]] if run["scheme"] < len(schemes) else str(run["scheme"])
        given = run["reason"] if run["state"] == "failed" else to_json(run["result"])
        known = [run["state"]] if run["state"] != "done" else []
        known += [] if run["correct"] is None else ["correct" if run["correct"] else "wrong"]
        known += [] if run["score"] is None else [f"score {run['score']:g}"]
        about = f"[{', '.join(known)}] " if known else ""
        yield f"  {name}  {about}{cut(given or '', _WIDTH)}"


def _trial(line: dict[str, Any]) -> Iterator[str]:
    values = ", ".join(f"{value:.4g}" for value in line["values"] or ()) or "–"
    point = " ".join(f"{name}={value}" for name, value in line["point"].items())
    yield f"trial {line['trial']}  {values}  {line['ended']} after {line['rows']} rows  {point}"
