"""`plot`: a program's plan, the graph of a run, or charts of results, as SVG and as an interactive page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from html import escape
from pathlib import Path
from typing import Any, Final, Literal, final

from gotlang.disk import replace_file
from gotlang.errors import UsageError, reporting
from gotlang.program import CheckedProgram
from gotlang.report.picture import Picture
from gotlang.result import Result

MOST_ITEMS: Final = 400
"""Maximum number of nodes and folded groups in an SVG, where groups cannot be opened; the innermost groups
are folded first."""


@final
@dataclass(frozen=True, slots=True)
class Plot:
    """A picture that notebooks show and `save` writes. `formats` are the suffixes of files that it can be
    written to, such as `.svg`, each with a function that makes the text."""

    title: str
    formats: Mapping[str, Callable[[], str]] = field(repr=False)

    @property
    def svg(self) -> str:
        """A static SVG document that follows the light or dark theme of the system."""
        return self.formats[".svg"]()

    @property
    def html(self) -> str:
        """An interactive page that works offline."""
        return self.formats[".html"]()

    def save(self, path: str | Path) -> Path:
        """Write the picture in the format of the path's suffix: `.html` or `.svg`, for graphs also `.dot`,
        `.mmd` (Mermaid) and `.json`. Gives the path.

        Raises UsageError for another suffix, and if the file cannot be written.
        """
        path = Path(path)
        make = self.formats.get(path.suffix.lower())
        if make is None:
            known = ", ".join(self.formats)
            raise UsageError(f"unsupported format `{path.suffix}`", help=f"formats are {known}")
        with reporting(f"cannot write {path}"):
            replace_file(path, make().encode())
        return path

    def _repr_html_(self) -> str:
        style = "width:100%;height:640px;border:0"
        return f'<iframe sandbox="allow-scripts" style="{style}" srcdoc="{escape(self.html)}"></iframe>'

    def _repr_svg_(self) -> str:
        return self.svg


def plot(
    subject: Any,
    *,
    scheme: str | None = None,
    view: Literal["execution", "reasoning"] = "execution",
    most: int = MOST_ITEMS,
) -> Plot:
    """A picture of `subject`: the plan of a Program, the graph of a Result, or the charts of an Evaluation, a
    Comparison or a StudyResult.

    `scheme` is the scheme of a program to draw (default: its main one). `view` is what the SVG of a result
    shows: its operations, or its thoughts and which were made from which; the page has both. `most` is the
    number of nodes and folded groups of an SVG.

    Raises UsageError for an unknown scheme, and TypeError for any other subject.
    """
    if isinstance(subject, CheckedProgram):
        return _plan(subject, scheme, most)
    if isinstance(subject, Result):
        return _run(subject, view, most)
    from gotlang.evaluate.comparison import Comparison
    from gotlang.evaluate.evaluation import Evaluation
    from gotlang.tune.outcome import StudyResult

    if isinstance(subject, (Comparison, Evaluation)):
        from gotlang.report import charts, results, stored

        found = stored.as_comparison(subject)
        title = results.title_of(found)
        drawn = partial(charts.stacked, title, list(results.charts(found).values()))
        return Plot(title, {".html": partial(results.results_page, found), ".svg": drawn})
    if isinstance(subject, StudyResult):
        from gotlang.report import charts, study

        title = f"Study {subject.plan.name}"
        made = [
            chart
            for *_, found in study.charts(*study.viewed(subject))
            if not isinstance(found, str)
            for chart in found
        ]
        drawn = partial(charts.stacked, title, made)
        return Plot(title, {".html": partial(study.report, subject), ".svg": drawn})
    raise TypeError(f"cannot plot {type(subject).__name__}: expected a program, a result or a study")


def _plan(program: CheckedProgram, scheme: str | None, most: int) -> Plot:
    from gotlang.report.graphs import plan, source_lines

    sources = program.compilation.sources
    picture = plan(program.ir(0), program.scheme(scheme), sources)
    places = source_lines((node.place for node in picture.nodes), sources.values())
    facts = [("", "plan: the steps in the order of the source")]
    return graph_plot([picture], facts, {"places": places}, most=most)


def _run(result: Result, view: str, most: int) -> Plot:
    from gotlang.report.graphs import details, pictures

    lines = result.graph()
    title = f"{result.program}: {result.outcome.scheme} by {result.model}"
    found = sorted(pictures(lines, title), key=lambda picture: picture.view != view)
    return graph_plot(found, result.facts(), details(lines, None, result.sources.values()), most=most)


def graph_plot(
    pictures: list[Picture],
    facts: list[tuple[str, str]],
    details: Mapping[str, Any],
    *,
    most: int = MOST_ITEMS,
) -> Plot:
    """The plot of a graph with several views, of which the first is what all formats but the page show."""
    from gotlang.report.formats import dot, graph_page, mermaid, picture_json, svg
    from gotlang.report.layout import fold_deep

    first = pictures[0]
    return Plot(
        first.title,
        {
            ".html": lambda: graph_page(first.title, facts, pictures, details),
            ".svg": lambda: svg(first, fold_deep(first, most)),
            ".mmd": lambda: mermaid(first),
            ".dot": lambda: dot(first),
            ".json": lambda: picture_json(first),
        },
    )
