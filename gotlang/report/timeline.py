"""When the operations of a run waited for models and tools, who waited for whom, and the critical path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from gotlang.report.picture import Picture, PictureNode, sorted_by_dependency

Line = Mapping[str, Any]
"""An operation as plain data (see `gotlang.runtime.plain`)."""


def timeline(lines: Sequence[Line], nodes: Sequence[PictureNode], title: str) -> Picture | None:
    """The operations among `nodes` that waited, each with when it began and ended as its details (None: it
    has not ended), a connection to each from the one that it waited for last, and as results the critical
    path: from the one that ended last, back through those. None if no times are known."""
    began = {line["operation"]: line["began"] for line in lines if "began" in line}
    ended = {line["operation"]: line["ended"] for line in lines if "ended" in line}
    shown = tuple(node for node in nodes if node.id in began)
    if not shown:
        return None
    waited = _waited_for(lines, began, ended)
    edges = tuple((source, node.id) for node in shown if (source := waited[node.id]) is not None)
    path: list[int] = []
    at: int | None = max((node.id for node in shown), key=lambda number: ended.get(number, float("inf")))
    while at is not None:
        path.append(at)
        at = waited[at]
    return Picture(
        title,
        tuple(replace(node, group=None) for node in shown),
        edges=edges,
        view="time line",
        details={node.id: (began[node.id], ended.get(node.id)) for node in shown},
        results=tuple(reversed(path)),
    )


def _waited_for(
    lines: Sequence[Line], began: Mapping[int, float], ended: Mapping[int, float]
) -> dict[int, int | None]:
    """For each operation that of the operations before it, in `began`, which ended last: until then it could
    not begin."""
    before = {
        line["operation"]: [*line["inputs"], *(one for one in [line["origin"]] if one is not None)]
        for line in lines
    }
    edges = [(source, number) for number, sources in before.items() for source in sources if source in before]
    found: dict[int, int | None] = {}
    for number in sorted_by_dependency(before, edges):
        sources = [one if one in began else found.get(one) for one in before[number]]
        known = [one for one in sources if one is not None and one in ended and one != number]
        found[number] = max(known, key=lambda one: (ended[one], one), default=None)
    return found
