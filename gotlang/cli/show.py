"""`gotc show`: one run of the history, and each of its operations with prompts and answers."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import click

from gotlang.cli.output import FORMAT_VERSION, Style, complain, count, document, say, to_json
from gotlang.errors import CacheError, UsageError
from gotlang.report.run_graph import HIDDEN, Groups, block_names, place_of, skipped, title_of, unreadable

if TYPE_CHECKING:
    from gotlang.cache.base import Cache
    from gotlang.report.history import RunRecord

_WIDTH = 100
_AGAIN = 60
"""Of a thought's value where it was not made there."""


@click.command("show")
@click.argument("run", default="last")
@click.argument("operation", type=click.IntRange(min=0), required=False)
@click.option("--all", is_flag=True, help="Every operation with its prompts and answers.")
@click.option("--json", is_flag=True, help="One JSON document on stdout.")
def command(run: str, operation: int | None, all: bool, json: bool) -> int:
    """Show a run: what went in and came out, what it cost, and what each operation made.

    RUN is a name of `gotc runs`, the start of one, or `last`; OPERATION is a number from this list, to show
    its prompts and answers, which come from the cache of the run. A thought goes by the number of the
    operation that made it and its own: `7.2` is the third of operation 7.
    """
    from gotlang.report.history import History

    history = History()
    record = history.find(run)
    lines = list(history.graph(record.run))
    shown = _Shown(lines)
    if operation is not None:
        lines = [line for line in lines if line["operation"] == operation]
        if not lines:
            raise UsageError(
                f"run {record.run} has no operation {operation}", help=f"`gotc show {record.run}`"
            )
    full = all or json or operation is not None
    cache = _cache(record, lines) if full else None
    try:
        if json:
            content = [{**line, "asked": _asked(line, cache)} for line in lines]
            document({"format_version": FORMAT_VERSION, **_head(record), "operations": content})
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


def _head(record: RunRecord) -> dict[str, Any]:
    from dataclasses import asdict

    from gotlang.report.history import state_now

    return {**asdict(record), "state": state_now(record)}


def _cache(record: RunRecord, lines: Iterable[dict[str, Any]]) -> Cache | None:
    """The cache of a run, for reading. None where it had none or it is gone, which it says."""
    if not any("asked" in line for line in lines):
        return None
    if record.cache is None:
        complain("this run kept no answers (--no-cache), so its prompts and answers are not known")
        return None
    from gotlang.cache import open_cache

    try:
        return open_cache(record.cache, readonly=True)
    except CacheError as error:
        complain(f"prompts and answers are not known: {error.message}")
        return None


def _asked(line: dict[str, Any], cache: Cache | None) -> list[dict[str, Any]]:
    """What an operation asked, with the messages and the answers where the cache still has them."""
    out = []
    for asked in line.get("asked", []):
        request = cache.request(asked["key"]) if cache is not None else None
        stored = cache.get(asked["key"], asked["draws"]) if cache is not None else {}
        out.append(
            {
                **asked,
                "request": request,
                "answers": [stored[n].completion.text if n in stored else None for n in asked["draws"]],
            }
        )
    return out


def _header(record: RunRecord) -> None:
    from gotlang.cli.runs import line
    from gotlang.cli.summary import shown_value
    from gotlang.result import dollars

    style = Style.of(sys.stdout)
    entry = line(record)
    say(style.bold(f"{record.scheme} by {record.model}") + f" · run {record.run} · {entry['state']}")
    path, here = Path(record.path), Path.cwd()
    say(f"  program  {path.relative_to(here) if path.is_relative_to(here) else path}")
    for name, value in record.inputs.items():
        say(f"  input    {name} = {_cut(to_json(value))}")
    if record.document is not None:
        say(f"  result   {_cut(shown_value(record.document['result']))}")
        score = record.document["score"]
        say(f"  score    {'none' if score is None else score}")
        if record.document["partial"]:
            say(f"  partial  {record.document['partial']}")
    if record.spent_calls is not None:
        say(f"  paid     {count(record.spent_calls, 'answer')}, {dollars(record.spent_usd)}")
    if record.error:
        say(f"  error    {record.error}")
    if record.resumed:
        say(f"  resumed  {record.resumed}")
    say("")


@final
class _Shown:
    """What is said of operations in the program's own words: the step, its place, the block's turn."""

    def __init__(self, lines: Sequence[dict[str, Any]]) -> None:
        self._names = block_names(lines)
        self._groups = Groups(self._names)
        self._values = {_number(t): t["value"] for line in lines for t in line["thoughts"] if "value" in t}

    def title(self, line: dict[str, Any]) -> str:
        """`    12  Aggregate merge  sort.got:60  level 1, pair 1`"""
        parts = [title_of(line), place_of(line), self._turn(line)]
        if lost := unreadable(line):
            parts.append(f"{count(lost, 'answer')} could not be used")
        if left := skipped(line):
            parts.append(f"{count(left, 'answer')} not asked for")
        return f"{line['operation']:>6}  " + "  ".join(part for part in parts if part)

    def _turn(self, line: dict[str, Any]) -> str:
        """Which element of a `foreach`, pair of a `reduce` or round of a `repeat`, from the outside in."""
        out: list[str] = []
        at = self._groups.of(line["path"])
        groups = {group.id: group for group in self._groups.found.values()}
        while at is not None:
            if groups[at].label not in self._names.values():
                out.append(groups[at].label)
            at = groups[at].parent
        return ", ".join(reversed(out))

    def value(self, thought: dict[str, Any]) -> Any:
        """A thought's value, which stands where it was made."""
        return thought["value"] if "value" in thought else self._values.get(_number(thought))


def _number(thought: dict[str, Any]) -> str:
    """`7.2`: the operation that made a thought, and which of its thoughts it is."""
    maker, index = thought["made"]
    return f"{maker}.{index}"


def _short(shown: _Shown, line: dict[str, Any]) -> None:
    style = Style.of(sys.stdout)
    state = "" if line["state"] == "done" else f"  {style.yellow(line['state'])}"
    say(style.bold(shown.title(line)) + state)
    for reason in _reasons(line):
        say(f"{'':>12}  {style.red(_cut(reason))}")
    for thought in line["thoughts"]:
        value = _cut(to_json(shown.value(thought)), _WIDTH if "value" in thought else _AGAIN)
        said = value if "value" in thought else style.dim(value)
        say(f"{_number(thought):>12}  {_known(thought)}{said}")


def _reasons(line: dict[str, Any]) -> list[str]:
    """Why an operation failed; where it did not, why answers to it gave no thought, the same reason once."""
    failed = line.get("failed", ())
    whole = [reason for draw, reason in failed if draw is None]
    return whole or list(dict.fromkeys(reason for _, reason in failed))


def _known(thought: dict[str, Any]) -> str:
    parts = [f"score {thought['score']:g}"] if "score" in thought else []
    if "valid" in thought:
        parts.append("valid" if thought["valid"] else "not valid")
    return f"[{', '.join(parts)}] " if parts else ""


def _whole(shown: _Shown, line: dict[str, Any], cache: Cache | None) -> None:
    style = Style.of(sys.stdout)
    say(style.bold(shown.title(line)) + f"  {line['state']}")
    for asked in _asked(line, cache):
        request = asked["request"]
        if request is None:
            say(style.dim(f"  request {asked['key'][:12]} is not in the cache"))
            continue
        for role, text in request["messages"]:
            say(style.blue(f"  --- {role} ---"))
            say(text)
        for number, source, answer in zip(asked["draws"], asked["sources"], asked["answers"], strict=True):
            say(style.blue(f"  --- answer {number} ({source}) ---"))
            say(answer if answer is not None else style.dim("not in the cache"))
    for draw, reason in line.get("failed", ()):
        say(style.red(f"  failed{'' if draw is None else f', answer {draw}'}: ") + reason)
    for thought in line["thoughts"]:
        parents = [f"{maker}.{index}" for maker, index in thought.get("parents", ()) if maker is not None]
        came = f" from {', '.join(parents)}" if parents else ""
        say(style.blue(f"  thought {_number(thought)}") + came)
        say(f"  {_known(thought)}{to_json(shown.value(thought))}")
    say("")


def _cut(text: str, most: int = _WIDTH) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 3]}..."
