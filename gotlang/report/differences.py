"""Two runs side by side: differences in the program, the params and settings, the prompts and the responses.

Operations are matched by their paths. A text is compared by lines, as `[mark, text]` with a mark of ` `, `-`
or `+`.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from gotlang.records import to_json
from gotlang.report.graphs import HIDDEN, place_of, title_of
from gotlang.report.history import RunRecord

CONTEXT: Final = 3
"""Number of unchanged lines around those that differ in a program."""
MOST: Final = 200
"""Maximum number of operations."""
_LONGEST: Final = 4000
"""Maximum number of lines of a text that are compared."""
_TOLD: Final = ("model", "seed", "max_usd", "max_calls", "prefer", "schedule", "wave", "edited", "tuned")
"""Settings that are shown, in addition to the params."""

Lines = list[list[str]]


def program_lines(before: str | None, after: str | None) -> Lines | None:
    """The changes of a program, with some lines around each; None if a text is not known."""
    if before is None or after is None:
        return None
    return _lines(before, after, CONTEXT)


def text_lines(before: str, after: str) -> Lines:
    """The changes of a text, complete."""
    return [line for line in _lines(before, after, _LONGEST) if line[0] != "@"]


def _lines(before: str, after: str, context: int) -> Lines:
    left, right = before.splitlines()[:_LONGEST], after.splitlines()[:_LONGEST]
    marked = list(difflib.unified_diff(left, right, n=context, lineterm=""))
    return [[line[:1], line[1:]] for line in marked[2:]]


def settings_of(record: RunRecord) -> dict[str, Any]:
    """The params and settings of a run by name."""
    params = {f"param {name}": value for name, value in record.settings.get("set") or ()}
    told = {name: record.settings.get(name) for name in _TOLD}
    inputs = {f"input {name}": value for name, value in record.inputs.items()}
    return {"scheme": record.scheme, **told, **params, **inputs, "model": record.model}


def changed_settings(before: RunRecord, after: RunRecord) -> list[tuple[str, Any, Any]]:
    """The params, settings and inputs that differ, by name, each with both values (None: without)."""
    left, right = settings_of(before), settings_of(after)
    names = dict.fromkeys([*left, *right])
    return [(name, left.get(name), right.get(name)) for name in names if left.get(name) != right.get(name)]


def changed_operations(
    before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]
) -> tuple[list[dict[str, Any]], int]:
    """The operations that differ in prompts, responses or thoughts, at most MOST of them, and their number. A
    line has its requests with messages and responses (`gotlang.report.recorded.requests_of`)."""
    left, right = ({line["path"]: line for line in lines if _counts(line)} for lines in (before, after))
    found = []
    for path in dict.fromkeys([*left, *right]):
        one, other = left.get(path), right.get(path)
        line = one or other
        assert line is not None
        about = {"path": path, "title": title_of(line), "place": place_of(line)}
        if one is None or other is None:
            found.append({**about, "only": "right" if one is None else "left", **_texts(one, other)})
        elif _prompts(one) != _prompts(other) or _given(one) != _given(other):
            found.append({**about, "only": None, **_texts(one, other)})
    return found[:MOST], len(found)


def _counts(line: Mapping[str, Any]) -> bool:
    new = line["kind"] not in HIDDEN and any("value" in thought for thought in line["thoughts"])
    return new or bool(line.get("asked"))


def _texts(one: Mapping[str, Any] | None, other: Mapping[str, Any] | None) -> dict[str, Any]:
    found = {}
    for name, of in (("prompt", _prompts), ("given", _given)):
        left, right = (of(line) if line is not None else "" for line in (one, other))
        found[name] = text_lines(left, right) if left != right else None
    return found


def _prompts(line: Mapping[str, Any]) -> str:
    """The prompts of an operation as one text; those that the cache no longer has by their keys."""
    out = []
    for asked in line.get("asked", ()):
        request = asked.get("request") or {}
        messages = request.get("messages") or [["", f"prompt {asked['key'][:12]}, no longer in the cache"]]
        out += [f"{role}: {text}" if role else text for role, text, *_ in messages]
    return "\n".join(out)


def _given(line: Mapping[str, Any]) -> str:
    """The output of an operation: its responses, or its values if it called no model or they are no longer
    available."""
    responses = [text for asked in line.get("asked", ()) for text in asked["responses"] if text is not None]
    values = [to_json(thought["value"]) for thought in line["thoughts"] if "value" in thought]
    return "\n".join(responses or values)
