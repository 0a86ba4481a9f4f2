"""`gotc graph`: the picture of a plan or of a run, as a page, SVG, Mermaid, DOT or JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gotlang.cli import options as opt
from gotlang.cli.output import FORMAT_VERSION, JSON, complain, say, to_json, write_file
from gotlang.cli.runs import open_cache_of
from gotlang.errors import UsageError

if TYPE_CHECKING:
    from gotlang.report.plot import Plot

_SUFFIXES = {"html": ".html", "svg": ".svg", "mermaid": ".mmd", "dot": ".dot", "json": ".json"}


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
@opt.whole("--most", "In SVG: draw at most N items, and collapse the innermost groups.", 400)
def graph_command(
    subject: str, format: str | None, out: str | None, scheme: str | None, view: str, most: int
) -> int:
    """Draw the plan of a program FILE, or the graph of a RUN of `gotc runs` (`last`, the default, is the
    latest).

    The layout needs no other tool.
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
        out = str(opt.FOLDER / "graphs" / f"{name}.html")
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
