"""Runs: all records of the folder, the latest first, and a form to run a program."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Final, final

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gotlang import api
from gotlang.data import parse_value
from gotlang.editing.documents import SUFFIX
from gotlang.errors import UsageError
from gotlang.records import to_json
from gotlang.report.graphs import short
from gotlang.report.history import RunRecord, outcome_text
from gotlang.report.recorded import summary
from gotlang.studio.processes import RunLimits
from gotlang.studio.records import is_simulated, read_tags, write_tags
from gotlang.studio.site import Studio, studio_of
from gotlang.studio.views import PageView, as_json, content

LINK = ("Runs", "/")
ADDRESSES: Final = {"run": "/runs/{}", "eval": "/rows/{}", "compare": "/rows/{}", "tune": "/studies/{}"}
"""The address of a record, by its kind."""
_VIEW = PageView("runs.html", scripts=("runs.js",))


def runs(request: Request) -> Response:
    """The page."""
    studio = studio_of(request)
    data = {"runs": entries(studio), "programs": studio.files(SUFFIX), "damaged": studio.history.damaged()}
    return _VIEW.response(request, "Runs", data)


def listed(request: Request) -> Response:
    """Only the entries, for a page that is open."""
    return as_json(entries(studio_of(request)))


def entries(studio: Studio) -> list[dict[str, Any]]:
    """Every record of the folder in a few fields, the latest first."""
    tags = read_tags(studio)
    return [_entry(studio, record, tags.get(record.run, [])) for record in studio.history.runs()]


def _entry(studio: Studio, record: RunRecord, tags: list[str]) -> dict[str, Any]:
    found = summary(record)
    result = short(found["result"]) if record.kind == "run" and record.document else outcome_text(record)
    path = Path(record.path)
    spent = record.spent
    return {
        **{name: found[name] for name in ("run", "kind", "state", "scheme", "model", "started", "ended")},
        "program": str(path.relative_to(studio.folder)) if path.is_relative_to(studio.folder) else path.name,
        "address": ADDRESSES[record.kind].format(record.run),
        "result": record.error if record.error is not None and not result else result,
        "score": found["score"],
        "simulated": is_simulated(record),
        "calls": None if spent is None else spent.calls,
        "usd": None if spent is None else spent.usd,
        "tags": tags,
    }


def program(request: Request) -> Response:
    """The schemes of a program with their inputs; nothing of it runs. Raises CompileError."""
    loaded = api.load(studio_of(request).file(request.query_params.get("file", "")))
    schemes = {
        scheme.name: [[name, str(type_)] for name, type_ in scheme.parameters]
        for scheme in map(loaded.scheme, loaded.schemes)
    }
    simulated = bool(loaded.ir(0).simulators)
    return as_json({"schemes": schemes, "scheme": loaded.scheme().name, "simulated": simulated})


@final
class RunRequest(Struct, frozen=True):
    """A run to start: a file of the folder, a scheme, inputs as texts, a model (None: as configured)."""

    file: str
    scheme: str
    inputs: dict[str, str]
    limits: RunLimits
    model: str | None = None


async def start(request: Request) -> Response:
    """Start a run; returns its name. Raises UsageError, CompileError."""
    order = await content(request, RunRequest)
    return await asyncio.to_thread(_start, studio_of(request), order)


def _start(studio: Studio, order: RunRequest) -> Response:
    path = studio.file(order.file)
    types = dict(api.load(path).scheme(order.scheme).parameters)
    if unknown := order.inputs.keys() - types.keys():
        raise UsageError(f"scheme `{order.scheme}` has no input `{min(unknown)}`")
    inputs = {name: parse_value(text, types[name], f"input `{name}`") for name, text in order.inputs.items()}
    arguments = ["--scheme", order.scheme, "--inputs", "-"]
    if order.model:
        arguments += [f"--model={order.model}"]
    arguments += ["--", str(path.relative_to(studio.folder))]
    name = studio.processes.start(studio.history, arguments, order.limits, to_json(inputs).encode())
    return as_json({"run": name, "address": ADDRESSES["run"].format(name)})


@final
class Tags(Struct, frozen=True):
    """The tags of a run."""

    tags: list[str]


async def tag(request: Request) -> Response:
    """Replace the tags of a record. Raises UsageError."""
    studio, name = studio_of(request), request.path_params["name"]
    given = await content(request, Tags)
    if studio.history.named(name) is None:
        raise UsageError("run not found")
    return as_json(write_tags(studio, name, given.tags))


ROUTES = [
    Route("/", runs),
    Route("/runs", listed),
    Route("/runs", start, methods=["POST"]),
    Route("/program", program),
    Route("/tags/{name}", tag, methods=["POST"]),
]
