"""`gotc show`: one run of the history, and each of its operations with prompts and answers."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from gotlang.cli.output import FORMAT_VERSION, Style, complain, count, document, say, to_json
from gotlang.errors import CacheError, UsageError

if TYPE_CHECKING:
    from gotlang.cache.base import Cache
    from gotlang.report.history import Record

_WIDTH = 100


@click.command("show")
@click.argument("run")
@click.argument("operation", type=click.IntRange(min=0), required=False)
@click.option("--all", is_flag=True, help="Every operation with its prompts and answers.")
@click.option("--json", is_flag=True, help="One JSON document on stdout.")
def command(run: str, operation: int | None, all: bool, json: bool) -> int:
    """Show a run: what went in and came out, what it cost, and what each operation made.

    RUN is a name of `gotc runs`, the start of one, or `last`; OPERATION is a number from this list, to show
    its prompts and answers, which come from the cache of the run.
    """
    from gotlang.report.history import History

    history = History()
    record = history.find(run)
    lines = list(history.graph(record.run))
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
                _whole(line, cache)
            elif line["kind"] not in ("constant", "join", "grow"):
                _short(line)
    finally:
        if cache is not None:
            cache.close()
    return 0


def _head(record: Record) -> dict[str, Any]:
    from dataclasses import asdict

    from gotlang.report.history import state_now

    return {**asdict(record), "state": state_now(record)}


def _cache(record: Record, lines: Iterable[dict[str, Any]]) -> Cache | None:
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
                "answers": [stored[n].answer.text if n in stored else None for n in asked["draws"]],
            }
        )
    return out


def _header(record: Record) -> None:
    from gotlang.cli.runs import line
    from gotlang.cli.summary import shown_value
    from gotlang.result import dollars

    style = Style.of(sys.stdout)
    entry = line(record)
    say(style.bold(f"{record.scheme} by {record.model}") + f" · run {record.run} · {entry['state']}")
    say(f"  program  {record.path}")
    for name, value in record.inputs.items():
        say(f"  input    {name} = {_cut(to_json(value))}")
    if record.document is not None:
        say(f"  result   {_cut(shown_value(record.document['result']))}")
        score = record.document["score"]
        say(f"  score    {'none' if score is None else score}")
        if record.document["partial"]:
            say(f"  partial  {record.document['partial']}")
    if record.paid_calls is not None:
        say(f"  paid     {count(record.paid_calls, 'answer')}, {dollars(record.paid_usd)}")
    if record.error:
        say(f"  error    {record.error}")
    if record.resumed:
        say(f"  resumed  {record.resumed}")
    say("")


def _title(line: dict[str, Any]) -> str:
    what = f"{line['kind']} {line['prompt']}" if "prompt" in line else line["kind"]
    where = f"  {line['file']}:{line['line']}" if "file" in line else ""
    return f"{line['operation']:>6}  {what}  {line['path']}{where}"


def _short(line: dict[str, Any]) -> None:
    style = Style.of(sys.stdout)
    state = "" if line["state"] == "done" else f"  {style.yellow(line['state'])}"
    say(style.bold(_title(line)) + state)
    for thought in line["thoughts"]:
        if "value" in thought:
            say(f"{' ' * 8}{_known(thought)}{_cut(to_json(thought['value']))}")
        elif "score" in thought or "valid" in thought:
            say(f"{' ' * 8}{_known(thought)}{style.dim('thought {}.{}'.format(*thought['made']))}")


def _known(thought: dict[str, Any]) -> str:
    parts = [f"score {thought['score']:g}"] if "score" in thought else []
    if "valid" in thought:
        parts.append("valid" if thought["valid"] else "not valid")
    return f"[{', '.join(parts)}] " if parts else ""


def _whole(line: dict[str, Any], cache: Cache | None) -> None:
    style = Style.of(sys.stdout)
    say(style.bold(_title(line)) + f"  {line['state']}")
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
    for thought in line["thoughts"]:
        if "value" in thought:
            parents = ", ".join("{}.{}".format(*made) for made in thought["parents"] if made[0] is not None)
            say(
                style.blue(f"  thought {thought['made'][0]}.{thought['made'][1]}")
                + (f" from {parents}" if parents else "")
            )
            say(f"  {_known(thought)}{to_json(thought['value'])}")
        else:
            say(f"  {_known(thought)}thought {thought['made'][0]}.{thought['made'][1]}")
    say("")


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 3]}..."
