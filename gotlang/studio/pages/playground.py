"""Playground: a program that is checked while it is typed, its prompts for a row, runs within a budget."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Final, final

from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gotlang.api import Program
from gotlang.data import parse_value
from gotlang.disk import in_the_form_of, replace_file
from gotlang.editing.completion import completions
from gotlang.editing.documents import SUFFIX, Document, analyzed
from gotlang.errors import CompileError, UsageError
from gotlang.highlighting import words
from gotlang.preview import preview
from gotlang.records import Count, to_json
from gotlang.report.history import state_now
from gotlang.studio.processes import RunLimits
from gotlang.studio.records import record_of
from gotlang.studio.site import Studio, studio_of
from gotlang.studio.views import PageView, as_json, content

LINK = ("Playground", "/playground")
_VIEW: Final = PageView("playground.html", ("playground.css",), ("codemirror.js", "playground.js"))
_TABLES: Final = (".csv", ".jsonl", ".json", ".parquet")
START: Final = """\
prompt answer(question: str) -> int:
    "{{ question }} End with the number."

scheme vote(question: str) -> int:
    Generate(k=3) answer(question)
    Vote()
"""
"""The initial text of the editor if the folder has no program."""

_Source = Annotated[str, Meta(max_length=1_000_000)]


class Text(Struct, frozen=True):
    """A program as it is typed, by the path of its file."""

    program: str
    text: _Source


@final
class TextPosition(Text, frozen=True):
    """A place in it, in UTF-16 units, as scripts count."""

    at: Count


@final
class Saved(Text, frozen=True):
    """A program to save, and the previous text of its file as the page has it."""

    before: _Source


class SchemeInputs(Text, frozen=True):
    """A scheme and its inputs, as they are typed."""

    scheme: str
    inputs: dict[str, str]


@final
class PlaygroundRun(SchemeInputs, frozen=True):
    """What to run, with which model, within which limits."""

    model: str
    limits: RunLimits


@final
class RowWanted(Text, frozen=True):
    """A row of a table, for a scheme."""

    scheme: str
    data: str
    row: Count


def playground(request: Request) -> Response:
    """The page, with the program that the address names."""
    studio = studio_of(request)
    programs = studio.files(SUFFIX)
    name = request.query_params.get("program") or next(iter(programs), "")
    text = START
    if name:
        try:
            text = _program(studio, name).read_text("utf-8")
        except (OSError, ValueError):
            raise UsageError(f"cannot read {name} as text") from None
    data = {
        "program": name,
        "text": text,
        "words": {
            "keyword": words.KEYWORDS,
            "constant": words.CONSTANTS,
            "operation": words.OPERATIONS,
            "builtin": words.BUILTINS,
        },
    }
    tables = [one for one in studio.files(*_TABLES) if not one.endswith(".tuned.json")]
    return _VIEW.response(request, "Playground", data, programs=programs, program=name, tables=tables)


def _program(studio: Studio, name: str) -> Path:
    """The file of a program. Raises UsageError for one that is outside the folder, or is not a program."""
    if not name.endswith(SUFFIX):
        raise UsageError(f"`{name}` is not a program", help="its name ends in .got")
    return studio.file(name)


def _document(studio: Studio, given: Text) -> Document:
    """The program as it is typed; one without a file imports only packages."""
    return analyzed(str(_program(studio, given.program)) if given.program else "<playground>", given.text, {})


def _loaded(studio: Studio, given: Text) -> Program:
    document = _document(studio, given)
    if any(one.severity == "error" for one in document.diagnostics):
        raise CompileError(document.diagnostics, document.sources)
    return Program(document.compilation)


async def check(request: Request) -> Response:
    """The diagnostics of a text, and its schemes with their inputs; which of them runs if none is chosen."""
    given = await content(request, Text)
    return await asyncio.to_thread(_check, studio_of(request), given)


def _check(studio: Studio, given: Text) -> Response:
    document = _document(studio, given)
    source, found = document.source, []
    for one in document.diagnostics:
        own = one.span.source == source.name
        start, end = (one.span.start, one.span.end) if own else (0, 0)
        told = [one.message, one.at, *one.notes] + ([f"help: {one.help}"] if one.help else [])
        found.append(
            {
                "from": _units(source.text, start),
                "to": _units(source.text, end),
                "line": source.position(start)[0],
                "severity": "error" if one.severity == "error" else "warning",
                "code": one.code,
                "message": "\n".join(part for part in told if part),
            }
        )
    errors = any(one["severity"] == "error" for one in found)
    schemes: list[dict[str, Any]] = []
    chosen = None
    if not errors:
        program = Program(document.compilation)
        for name, scheme in program.schemes.items():
            inputs = [{"name": n, "type": str(t)} for n, t in scheme.parameters]
            schemes.append({"name": name, "inputs": inputs})
        with suppress(UsageError):  # several, and none that is the program's
            chosen = program.scheme().name
    return as_json({"diagnostics": found, "schemes": schemes, "scheme": chosen, "errors": errors})


def _units(text: str, offset: int) -> int:
    """An offset in UTF-16 units."""
    return len(text[:offset].encode("utf-16-le", "surrogatepass")) // 2


async def save(request: Request) -> Response:
    """Write a program to its file. Raises UsageError if that has changed since the page read it."""
    given = await content(request, Saved)
    path = _program(studio_of(request), given.program)
    try:
        if path.read_text("utf-8") != given.before:
            raise UsageError(
                f"{given.program} has changed since this page read it",
                help="copy what you typed, and load the page again",
            )
        replace_file(path, in_the_form_of(path.read_bytes(), given.text))
    except ValueError:
        raise UsageError(f"cannot save {given.program}: its text is not UTF-8") from None
    except OSError as error:
        raise UsageError(f"cannot write {given.program}: {error.strerror}") from None
    return as_json({})


async def complete(request: Request) -> Response:
    """What can be written at a place."""
    given = await content(request, TextPosition)
    return await asyncio.to_thread(_complete, studio_of(request), given)


def _complete(studio: Studio, given: TextPosition) -> Response:
    document = _document(studio, given)
    before = given.text.encode("utf-16-le", "surrogatepass")[: 2 * given.at].decode("utf-16-le", "ignore")
    found = completions(document, len(before))
    return as_json({"options": [{"label": one.label, "detail": one.detail} for one in found[:200]]})


async def prompts(request: Request) -> Response:
    """The prompts that a scheme asks first for these inputs, and its others with placeholders."""
    given = await content(request, SchemeInputs)
    return await asyncio.to_thread(_prompts, studio_of(request), given)


def _prompts(studio: Studio, given: SchemeInputs) -> Response:
    program = _loaded(studio, given)
    values = _values(program, given.scheme, given.inputs)
    shown = asyncio.run(preview(program, values, scheme=given.scheme))
    reached = program.ir(0).reached(program.scheme(given.scheme))
    return as_json(
        [
            {
                "prompt": one.name,
                "placeholders": one.placeholders,
                "messages": [{"role": m.role, "text": m.shown} for m in one.messages],
            }
            for one in shown
            if not one.placeholders or one.name in reached
        ]
    )


def _values(program: Program, scheme: str, inputs: Mapping[str, str]) -> dict[str, Any]:
    types = dict(program.scheme(scheme).parameters)
    if missing := [name for name in types if not inputs.get(name)]:
        raise UsageError(f"the input `{missing[0]}` is empty")
    return {name: parse_value(inputs[name], type_, f"input {name}") for name, type_ in types.items()}


async def row(request: Request) -> Response:
    """The inputs of a scheme in a row of a table, as texts."""
    wanted = await content(request, RowWanted)
    return await asyncio.to_thread(_row, studio_of(request), wanted)


def _row(studio: Studio, wanted: RowWanted) -> Response:
    program = _loaded(studio, wanted)
    data = program.dataset(studio.file(wanted.data), scheme=wanted.scheme)
    if wanted.row >= len(data):
        raise UsageError(f"{wanted.data} has rows 0 to {len(data) - 1}")
    found = data.rows[wanted.row]
    texts = {k: v if isinstance(v, str) else to_json(v) for k, v in found.inputs.items()}
    return as_json({"inputs": texts, "expected": found.truth, "rows": len(data)})


async def run(request: Request) -> Response:
    """Run it in a process of its own; the name of the run. Raises UsageError."""
    order = await content(request, PlaygroundRun)
    return await asyncio.to_thread(_run, studio_of(request), order)


def _run(studio: Studio, order: PlaygroundRun) -> Response:
    program = _loaded(studio, order)
    values = _values(program, order.scheme, order.inputs)
    if not order.program:
        help = "write the text to a .got file in the folder, and load this page again"
        raise UsageError("a program runs from a file", help=help)
    path = _program(studio, order.program)
    if path.read_text("utf-8") != order.text:
        path = studio.processes.draft(path, order.text)
    arguments = [str(path), f"--scheme={order.scheme}", f"--model={order.model}", "--inputs=-"]
    name = studio.processes.start(studio.history, arguments, order.limits, to_json(values).encode())
    return as_json({"run": name, "address": f"/runs/{name}"})


def result(request: Request) -> Response:
    """How a run is, and its result."""
    record = record_of(request, "run")
    found = record.document or {}
    return as_json(
        {
            "state": state_now(record),
            "result": found.get("result"),
            "score": found.get("score"),
            "spent": None if record.spent is None else str(record.spent),
            "error": record.error or found.get("not_valid") or found.get("partial"),
            "simulated": bool(found.get("simulated")),
        }
    )


ROUTES = [
    Route("/playground", playground),
    *(
        Route(f"/playground/{one.__name__}", one, methods=["POST"])
        for one in (check, save, complete, prompts, row, run)
    ),
    Route("/playground/result/{name}", result),
]
