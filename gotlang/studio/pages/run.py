"""A run: its graph, its thoughts and its time line, also while it runs; and repetitions of a run from an
operation on."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Iterator, Sequence
from typing import Any, Final, final

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gotlang.errors import UsageError
from gotlang.gc_tuning import relaxed_gc
from gotlang.report.edits import EditedRequest, read_edits, write_edits
from gotlang.report.formats import view
from gotlang.report.graphs import execution, pictures
from gotlang.report.history import LiveGraphReader, RunRecord, state_now
from gotlang.report.picture import Picture
from gotlang.result import dollars
from gotlang.studio.events import News, stream
from gotlang.studio.processes import RunLimits
from gotlang.studio.records import find, record_of
from gotlang.studio.run_graphs import shown, whole
from gotlang.studio.site import Studio, studio_of
from gotlang.studio.views import PageView, as_json, content

_SCRIPTS: Final = ("graph.js", "time.js", "draw.js", "panel.js", "move.js", "run.js")
_VIEW: Final = PageView("run.html", ("graph.css", "run.css"), ("editing.js", *_SCRIPTS))
_TAIL: Final = 2000
"""Maximum number of characters at the end of a response that are shown while it arrives."""
_MOST_STREAMS: Final = 200
"""Maximum number of operations whose responses are shown while they arrive."""
_PATIENCE: Final = 4
"""Minimum interval between graphs, in multiples of the processor time of the last one."""


def run(request: Request) -> Response:
    """The page, which first requests its graph, and then prompts and responses."""
    studio, record = studio_of(request), record_of(request, "run")
    about = _about(studio, record)
    data = {**shown(record, ()), **about, "said": studio.processes.said(record.run), "reading": True}
    return _VIEW.response(request, data["title"], data, path=about["path"])


@relaxed_gc()
def graph(request: Request) -> Response:
    """The current operations of the run. Everything else is loaded with the details, when these are drawn."""
    studio, record = studio_of(request), record_of(request, "run")
    lines = list(studio.history.graph(record.run))
    return as_json(shown(record, [execution(lines, record.run)] if lines else ()))


def _about(studio: Studio, record: RunRecord) -> dict[str, Any]:
    return {
        "inputs": record.inputs,
        "model": record.model,
        "mine": studio.processes.runs(record.run),
        "resumed": record.resumed,
        "path": f"/runs/{record.run}",
    }


@relaxed_gc()
def details(request: Request) -> Response:
    """Every prompt and response of the run, and the other views of its graph."""
    studio, record = studio_of(request), record_of(request, "run")
    lines = list(studio.history.graph(record.run))
    others = [view(picture) for picture in _pictures(record, lines)[1:]]
    return as_json({**whole(studio, record, lines), "views": others, "reading": False})


def _pictures(record: RunRecord, lines: Sequence[dict[str, Any]]) -> list[Picture]:
    return pictures(lines, record.run) if lines else []


def events(request: Request) -> Response:
    """The graph as it grows (`graph`), and a last time when the run has ended; responses as they come, the
    ends of their texts by operation (`streams`)."""
    studio, record = studio_of(request), record_of(request, "run")
    following, name = LiveGraphReader(studio.history.live(record.run)), record.run
    read, due, over = 0, 0.0, False
    told: dict[int, list[str]] = {}

    @relaxed_gc()
    def look() -> News | None:
        nonlocal read, due, over, told
        if over:
            return None
        now = find(studio, name, "run")
        if state_now(now) != "running":
            over = True
            lines = list(studio.history.graph(name))
            last = {**shown(now, _pictures(now, lines)), "mine": False, "said": studio.processes.said(name)}
            return [("graph", last)]
        worked, news = time.thread_time(), list[tuple[str, Any]]()
        if following.more().read != read and time.monotonic() >= due:
            read, lines = following.read, following.operations
            data = shown(now, _pictures(now, lines))
            data["facts"] += _progress(now, lines)
            due = time.monotonic() + _PATIENCE * (time.thread_time() - worked)
            news.append(("graph", data))
        streams = {
            number: [text[-_TAIL:] for _, text in sorted(texts.items())]
            for number, texts in list(following.streams.items())[:_MOST_STREAMS]
        }
        if streams != told:
            told = streams
            news.append(("streams", streams))
        return news

    return stream(request, look)


def _progress(record: RunRecord, lines: Sequence[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """The known facts about a running run."""
    asked = [source for line in lines for one in line.get("asked", ()) for source in one["sources"]]
    paid, cached = asked.count("model"), len(asked) - asked.count("model") - asked.count("skipped")
    running = sum(line["state"] == "running" for line in lines)
    usd = [t["usd"] for line in lines for t in line["thoughts"] if "value" in t and t.get("usd") is not None]
    yield "", f"running for {time.time() - record.started:.0f} s"
    yield "", f"{paid:,} calls, {cached:,} from cache, {running:,} in flight"
    if usd:
        yield "", f"{dollars(sum(usd))} so far"


@final
class Again(Struct, frozen=True):
    """A repetition of a run within limits; with an edit, from that operation on with another prompt."""

    limits: RunLimits
    edit: EditedRequest | None = None


async def again(request: Request) -> Response:
    """Repeat a run; returns the name of the new run. Raises UsageError."""
    order = await content(request, Again)
    return await asyncio.to_thread(_again, studio_of(request), record_of(request, "run"), order)


def _again(studio: Studio, record: RunRecord, order: Again) -> Response:
    arguments = ["--resume", record.run]
    if order.edit is not None:
        name = f".gotc/edits/{secrets.token_hex(4)}.json"
        write_edits(studio.folder / name, [*_edits_of(studio, record), order.edit])
        arguments += ["--edited", name]
    name = studio.processes.start(studio.history, arguments, order.limits)
    return as_json({"run": name, "address": f"/runs/{name}"})


def _edits_of(studio: Studio, record: RunRecord) -> list[EditedRequest]:
    """The edits that a run was made with, to which another one is added."""
    path = record.settings.get("edited")
    return read_edits(studio.file(path)) if isinstance(path, str) else []


def stop(request: Request) -> Response:
    """End a run that a page started. Raises UsageError."""
    studio, record = studio_of(request), record_of(request, "run")
    if state_now(record) != "running":
        raise UsageError("it has ended")
    studio.processes.stop(record.run)
    return as_json({})


ROUTES = [
    Route("/runs/{name}", run),
    Route("/runs/{name}/graph", graph),
    Route("/runs/{name}/details", details),
    Route("/runs/{name}/events", events),
    Route("/runs/{name}/again", again, methods=["POST"]),
    Route("/runs/{name}/stop", stop, methods=["POST"]),
]
