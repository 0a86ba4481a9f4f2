"""`gotc graph`: the plan of a scheme, or the graph of a run, as a picture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gotlang.cli import options as opt
from gotlang.cli.output import FORMAT_VERSION, complain, count, errors_as_document, say, to_json, write_file
from gotlang.errors import UsageError

if TYPE_CHECKING:
    from gotlang.report.history import RunRecord
    from gotlang.report.plot import Plot

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
def command(
    subject: str, format: str | None, out: str | None, scheme: str | None, view: str, most: int
) -> int:
    """Draw the plan of a program FILE, or the graph of a RUN of `gotc runs` (`last`, the default, is the
    latest).

    The layout is computed here: no other tool is needed.
    """
    form = format or _form(out)
    with errors_as_document(form == "json"):
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
    from gotlang.cli.runs import open_cache_of
    from gotlang.report.graphs import details, execution, reasoning
    from gotlang.report.history import History
    from gotlang.report.plot import graph_plot

    history = History()
    record = history.find(name)
    lines = list(history.graph(record.run))
    if not lines:
        raise _no_graph(record)
    title = f"{record.program}: {record.scheme} by {record.model}"
    cache = open_cache_of(record) if form == "html" else None
    try:
        content = details(lines, cache, _texts(record))
    finally:
        if cache is not None:
            cache.close()
    pictures = [execution(lines, title), reasoning(lines, title)]
    if view == "reasoning":
        pictures.reverse()
    about = {"run": record.run, "program": record.program, "scheme": record.scheme}
    return record.run, about, graph_plot(pictures, _facts(record), content, most=most)


def _no_graph(record: RunRecord) -> UsageError:
    if record.state == "failed":
        return UsageError(f"run {record.run} has no graph: it failed at the start", help=record.error)
    return UsageError(
        f"run {record.run} has no graph: it was killed or is still running",
        help=f"`gotc run --resume {record.run}` continues it",
    )


def _texts(record: RunRecord) -> dict[str, list[str]]:
    """The lines of a run's program, if it has not changed since."""
    from gotlang.cli.run import digest
    from gotlang.files import read_source

    try:
        source = read_source(record.path)
    except UsageError:
        return {}
    return {Path(record.path).name: source.text.splitlines()} if digest(source) == record.sha256 else {}


def _facts(record: RunRecord) -> list[tuple[str, str]]:
    from gotlang.result import dollars

    found = record.document or {}
    facts = [("run", record.run)]
    if found.get("simulated"):
        facts.append(("", "simulated: no real model was asked"))
    if found.get("score") is not None:
        facts.append(("score", f"{found['score']:g}"))
    if found.get("ground_truth") is not None:
        facts.append(("", "correct" if found["ground_truth"] else "wrong"))
    ledger = found.get("ledger", {}).get("process")
    if ledger:
        facts.append(("", count(ledger["calls"], "call")))
        facts.append(("", dollars(ledger["usd"])))
    if found.get("graph"):
        facts.append(("volume", f"{found['graph']['volume']:,}"))
        facts.append(("critical path", count(found["graph"]["critical_path"], "call")))
    if found.get("partial"):
        facts.append(("partial:", str(found["partial"])))
    if record.error is not None:
        facts.append((f"{record.state}:", record.error))
    return facts
