"""What a click on an operation shows: its requests with prompts and answers, and its thoughts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Any, Protocol

from gotlang.cache.base import StoredSample
from gotlang.report.picture.run import place_of


class Answers(Protocol):
    """Where requests and their answers are kept; every cache is one."""

    def request(self, key: str) -> dict[str, Any] | None:
        """The request of a key."""

    def get(self, key: str, draws: Any = None) -> Mapping[int, StoredSample]:
        """The answers of a key by draw."""


def details(
    lines: Iterable[Mapping[str, Any]], cache: Answers | None, sources: Mapping[str, list[str]]
) -> dict[str, Any]:
    """`operations` by number, `requests` once each, and `places`: the lines operations come from.

    `sources` are the lines of the program's files by name, in full or without folders. Without a cache,
    no prompt and no answer is known.
    """
    requests: list[dict[str, Any]] = []
    numbers: dict[str, int] = {}
    operations: dict[int, dict[str, Any]] = {}
    places: dict[str, str] = {}
    for line in lines:
        out: dict[str, Any] = {"path": line["path"], "hops": line["hops"]}
        asked = []
        for one in line.get("asked", []):
            key = one["key"]
            if key not in numbers:
                numbers[key] = len(requests)
                requests.append(_request(cache.request(key) if cache is not None else None))
            stored = cache.get(key, one["draws"]) if cache is not None else {}
            answers = [stored[d].completion.text if d in stored else None for d in one["draws"]]
            asked.append([numbers[key], one["draws"], one["sources"], answers])
        if asked:
            out["asked"] = asked
        if "failed" in line:
            out["failed"] = line["failed"]
        out["thoughts"] = line["thoughts"]
        operations[line["operation"]] = out
        place = place_of(line)
        if place is not None:
            text = sources.get(line["file"]) or sources.get(PurePath(line["file"]).name, [])
            if 0 < line["line"] <= len(text):
                places[place] = text[line["line"] - 1].strip()
    return {"operations": operations, "requests": requests, "places": places}


def _request(request: dict[str, Any] | None) -> dict[str, Any]:
    """The messages, and the settings that were set."""
    if request is None:
        return {}
    settings = {name: value for name, value in request["settings"].items() if value not in (None, [], False)}
    return {"model": request["model"], "messages": request["messages"], "settings": settings}
