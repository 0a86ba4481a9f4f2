"""`gotc graph`: a scheme's plan, or what a run did, as a picture."""

from __future__ import annotations

import json as json_module
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gotlang.cli.evaluating import write_file
from gotlang.cli.output import FORMAT_VERSION, complain, count, errors_as_document, say, to_json
from gotlang.errors import UsageError

if TYPE_CHECKING:
    from gotlang.report.history import RunRecord
    from gotlang.report.picture import Picture

FORMATS = ("html", "svg", "mermaid", "dot", "json")
ENDINGS = {".html": "html", ".htm": "html", ".svg": "svg", ".mmd": "mermaid", ".dot": "dot", ".json": "json"}
FOLDER = Path(".gotc/graphs")


@click.command("graph")
@click.argument("subject", metavar="[FILE|RUN]", default="last")
@click.option(
    "--format",
    type=click.Choice(FORMATS),
    help="html is one file that works offline. [default: by the ending of --out, else html]",
)
@click.option(
    "--out",
    metavar="FILE",
    help="Where to write; `-` is standard output. [default: html to .gotc/graphs, else `-`]",
)
@click.option(
    "--scheme",
    metavar="NAME",
    help="Which scheme of a FILE. [default: the one named like the file, else the last]",
)
@click.option(
    "--view",
    type=click.Choice(("execution", "reasoning")),
    default="execution",
    help="Of a RUN: its operations, or its thoughts and which came from which; html has both.",
)
@click.option(
    "--most",
    type=click.IntRange(min=1),
    metavar="N",
    default=400,
    help="Of svg, which cannot be opened and folded: draw N items at most, and fold the innermost groups.",
)
def command(
    subject: str, format: str | None, out: str | None, scheme: str | None, view: str, most: int
) -> int:
    """Draw the plan of a program FILE, or what a RUN of `gotc runs` did (`last`, the default, is the latest).

    The layout is made here: nothing has to be installed to look at it.
    """
    form = format or _form(out)
    with errors_as_document(form == "json"):
        planned = subject == "-" or subject.endswith(".got") or Path(subject).is_file()
        name, text = _plan(subject, scheme, form, most) if planned else _run(subject, view, form, most)
        if out is None and form == "html":
            out = str(FOLDER / f"{name}.html")
        write_file(out or "-", text, "--out")
        if out is not None and out != "-":
            say(out) if form == "html" else complain(f"written to {out}")
    return 0


def _form(out: str | None) -> str:
    """The format that a file's name asks for; html where it says nothing."""
    ending = Path(out or "").suffix.lower()
    if ending and ending not in ENDINGS:
        raise UsageError(
            f"--out: no picture has a name that ends in `{ending}`",
            help=f"endings are {', '.join(ENDINGS)}; or choose one with --format",
        )
    return ENDINGS.get(ending, "html")


def _plan(path: str, scheme: str | None, form: str, most: int) -> tuple[str, str]:
    from gotlang.cli.programs import program
    from gotlang.report.formats import graph_page
    from gotlang.report.plan_graph import plan
    from gotlang.report.run_graph import source_lines

    loaded = program(path)
    chosen = loaded.scheme(scheme)
    sources = dict(loaded.compilation.sources)
    picture = plan(loaded.ir(0), chosen, sources)
    if form == "html":
        lines = {Path(source.name).name: source.text.splitlines() for source in sources.values()}
        places = source_lines((node.place for node in picture.nodes), lines)
        facts = [("", "the plan: what may run, in the order of the text")]
        return chosen.name, graph_page(picture.title, facts, [picture], {"places": places})
    return chosen.name, _drawn(picture, form, most, {"program": loaded.name, "scheme": chosen.name})


def _run(name: str, view: str, form: str, most: int) -> tuple[str, str]:
    from gotlang.report.history import History
    from gotlang.report.run_graph import execution, reasoning

    history = History()
    record = history.find(name)
    lines = list(history.graph(record.run))
    if not lines:
        raise _no_graph(record)
    title = f"{record.program}: {record.scheme} by {record.model}"
    if form != "html":
        made = (reasoning if view == "reasoning" else execution)(lines, title)
        return record.run, _drawn(
            made, form, most, {"run": record.run, "program": record.program, "scheme": record.scheme}
        )
    from gotlang.report.formats import graph_page
    from gotlang.report.run_graph import details

    cache = _cache(record)
    try:
        content = details(lines, cache, _texts(record))
    finally:
        if cache is not None:
            cache.close()
    pictures = [execution(lines, title), reasoning(lines, title)]
    if view == "reasoning":
        pictures.reverse()
    return record.run, graph_page(title, _facts(record), pictures, content)


def _no_graph(record: RunRecord) -> UsageError:
    if record.state == "failed":
        return UsageError(
            f"run {record.run} left no graph: it failed before there was one", help=record.error
        )
    return UsageError(
        f"run {record.run} left no graph: it did not end by itself",
        help=f"`gotc run --resume {record.run}` goes on with it",
    )


def _drawn(picture: Picture, form: str, most: int, head: dict[str, Any]) -> str:
    from gotlang.report.formats import dot, mermaid, svg
    from gotlang.report.layout import fold_deep

    match form:
        case "dot":
            return dot(picture)
        case "mermaid":
            return mermaid(picture)
        case "svg":
            return svg(picture, fold_deep(picture, most))
    content = {
        "format_version": FORMAT_VERSION,
        **head,
        "view": picture.view,
        "nodes": [asdict(node) for node in picture.nodes],
        "groups": [asdict(group) for group in picture.groups],
        "edges": [list(edge) for edge in picture.edges],
    }
    return json_module.dumps(json_module.loads(to_json(content)), ensure_ascii=False, indent=2) + "\n"


def _cache(record: RunRecord) -> Any:
    """Where the prompts and answers of a run are. None, saying so, where that is not known."""
    from gotlang.cache import open_cache
    from gotlang.errors import CacheError

    if record.cache is None:
        complain("this run kept no answers (--no-cache), so the picture has no prompts and no answers")
        return None
    try:
        return open_cache(record.cache, readonly=True)
    except CacheError as error:
        complain(f"the picture has no prompts and no answers: {error.message}")
        return None


def _texts(record: RunRecord) -> dict[str, list[str]]:
    """The lines of a run's program, where it is as it was then."""
    from gotlang.cli.running import digest
    from gotlang.files import read_source

    try:
        source = read_source(record.path)
    except UsageError:
        return {}
    if digest(source) != record.sha256:
        return {}
    return {Path(record.path).name: source.text.splitlines()}


def _facts(record: RunRecord) -> list[tuple[str, str]]:
    from gotlang.result import dollars

    found = record.document or {}
    facts = [("run", record.run)]
    if found.get("simulated"):
        facts.append(("", "simulated: no real model was asked"))
    if found.get("score") is not None:
        facts.append(("score", f"{found['score']:g}"))
    if found.get("ground_truth") is not None:
        facts.append(("", "right" if found["ground_truth"] else "wrong"))
    ledger = found.get("ledger", {}).get("process")
    if ledger:
        facts.append(("", count(ledger["calls"], "answer")))
        facts.append(("", dollars(ledger["usd"])))
    if found.get("graph"):
        facts.append(("volume", f"{found['graph']['volume']:,}"))
        facts.append(("", f"{count(found['graph']['critical_path'], 'model call')} on the longest path"))
    if found.get("partial"):
        facts.append(("partial:", str(found["partial"])))
    if record.error is not None:
        facts.append((f"{record.state}:", record.error))
    return facts
