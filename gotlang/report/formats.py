"""Pictures written as SVG, Graphviz, Mermaid, and as one HTML page with a view for each."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from gotlang.report.layout import WIDTH, Box, arrange, place
from gotlang.report.page import asset, page, render
from gotlang.report.picture import COLORS, WHOLE, Group, Picture, PictureNode

STYLES = ("colors.css", "page.css", "graph.css")
SCRIPTS = ("page.js", "graph.js", "time.js", "draw.js", "panel.js", "move.js")
MARGIN, TITLE = 24, 34
"""The margin of the picture, and the height of the line with the title."""
NARROWEST = 260.0
INDENT = 20.0
"""The distance of texts from the left of a box."""
LABEL_SIZE, DETAIL_SIZE = 12.5 * 1.15, 11.0
"""Font sizes of the two lines in a box; the first is bold, which makes it wider."""
_WIDE = "WMmw@%&ABCDGHNOQRUVXKSTYZ"
_NARROW = "iljtf.,;:'|!()[]{} r1"


def graph_page(
    title: str, facts: Sequence[tuple[str, str]], pictures: Sequence[Picture], details: Mapping[str, Any]
) -> str:
    """A page that works offline, with one view for each picture; `details` are shown by a click (see
    `graphs.details`)."""
    data = {"title": title, "facts": facts, "views": [view(p) for p in pictures], "colors": COLORS, **details}
    return page("graph.html", data, title=title, styles=STYLES, scripts=SCRIPTS)


def view(picture: Picture) -> dict[str, Any]:
    """A picture in the form for the page's script: with the rows and connections inside each group."""
    arrangements = arrange(picture) if picture.view != "time line" else {}
    return {
        "name": picture.view,
        "lower": picture.lower,
        "nodes": [
            [
                *(n.id, n.kind, n.family, n.label, " · ".join(filter(None, (n.detail, n.words))), n.state),
                *(n.group, n.score, n.usd, n.place, n.seconds),
            ]
            for n in picture.nodes
        ],
        "groups": [[group.id, group.label, group.parent] for group in picture.groups],
        "edges": picture.edges,
        "rows": {key: found.rows for key, found in arrangements.items()},
        "links": {key: found.edges for key, found in arrangements.items()},
        "details": picture.details,
        "results": picture.results,
    }


def picture_json(picture: Picture) -> str:
    """Nodes, groups and edges as a JSON object."""
    content = {
        "view": picture.view,
        "nodes": [asdict(node) for node in picture.nodes],
        "groups": [asdict(group) for group in picture.groups],
        "edges": [list(edge) for edge in picture.edges],
    }
    return json.dumps(content, ensure_ascii=False, default=str)


def dot(picture: Picture) -> str:
    """The text of a Graphviz `.dot` file: a digraph with a cluster for each group."""

    def quoted(text: str) -> str:
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'

    return render("picture.dot", picture=picture, items=list(_nested(picture)), colors=COLORS, quoted=quoted)


def mermaid(picture: Picture) -> str:
    """The text of a `.mmd` file, which GitHub and GitLab draw in Markdown: a flowchart with a subgraph for
    each group."""

    def quoted(text: str) -> str:
        """Mermaid reads entities by number, with `#` for `&#`; nothing else is special inside quotes."""
        return "".join(f"#{ord(c)};" if c in '"#<>&;`\\' else " " if c == "\n" else c for c in text)

    families = dict.fromkeys(node.family for node in picture.nodes)
    colors = {family: COLORS[family][0] for family in families}
    return render("picture.mmd", picture=picture, items=list(_nested(picture)), colors=colors, quoted=quoted)


def _nested(picture: Picture) -> Iterator[tuple[str, PictureNode | Group | None]]:
    """Nodes and groups in nesting order, each with its indent; None at the end of a group."""
    around = picture.around()
    members: dict[str, list[PictureNode | Group]] = {key: [] for key in (WHOLE, *around)}
    items: tuple[PictureNode | Group, ...] = (*picture.nodes, *picture.groups)
    for item in items:
        members[around[item.key]].append(item)

    def inside(key: str, indent: str) -> Iterator[tuple[str, PictureNode | Group | None]]:
        for item in members[key]:
            yield indent, item
            if isinstance(item, Group):
                yield from inside(item.key, indent + "  ")
                yield indent, None

    return inside(WHOLE, "  ")


def svg(picture: Picture, folded: Collection[str] = (), *, titled: bool = True) -> str:
    """The text of an `.svg` file, light or dark by the reader's system; `folded` are keys of groups."""
    closed = _summaries(picture, folded)
    boxes, whole = place(
        picture,
        arrange(picture),
        folded,
        node_width=_width((node.label, node.detail) for node in picture.nodes),
        folded_width=_width((g.label, closed[g.key]) for g in picture.groups if g.key in closed),
    )
    shown = [group for group in picture.groups if group.key in boxes]
    width = max(whole.width, NARROWEST)
    top = MARGIN + (TITLE if titled else 0)

    def lines(label: str, detail: str, box: Box) -> tuple[str, str, Box]:
        room = box.width - INDENT - 8
        return cut(label, room, LABEL_SIZE), cut(detail, room, DETAIL_SIZE), box

    return render(
        "picture.svg",
        title=picture.title,
        style=asset("picture.css"),
        families=list(COLORS.items()),
        width=round(width) + 2 * MARGIN,
        height=round(whole.height) + top + MARGIN,
        margin=MARGIN,
        top=top,
        left=MARGIN + (width - whole.width) / 2,
        open=[
            (cut(group.label, boxes[group.key].width - 24, DETAIL_SIZE), boxes[group.key])
            for group in shown
            if group.key not in closed
        ],
        folded=[lines(g.label, closed[g.key], boxes[g.key]) for g in shown if g.key in closed],
        nodes=[
            (node, *lines(node.label, node.detail, boxes[node.key]))
            for node in picture.nodes
            if node.key in boxes
        ],
        edges=_edges(picture, boxes, folded),
        px="{:.1f}".format,
    )


def _edges(picture: Picture, boxes: Mapping[str, Box], folded: Collection[str]) -> Iterator[str]:
    around = picture.around()
    shown = {WHOLE: ""}
    for key, outer in around.items():  # the outermost folded group that contains it, or itself
        shown[key] = shown[outer] or (key if key in folded or key[0] == "n" else "")
    for source, target in dict.fromkeys((shown[f"n{a}"], shown[f"n{b}"]) for a, b in picture.edges):
        if source == target:
            continue
        a, b = boxes[source], boxes[target]
        x1, y1 = a.x + a.width / 2, a.y + a.height
        x2, y2 = b.x + b.width / 2, b.y - 1
        bend = max(18.0, abs(y2 - y1) * 0.45)
        yield f"M{x1:.1f} {y1:.1f}C{x1:.1f} {y1 + bend:.1f} {x2:.1f} {y2 - bend:.1f} {x2:.1f} {y2:.1f}"


def _summaries(picture: Picture, folded: Collection[str]) -> dict[str, str]:
    """The summary of each folded group: the best score, else the number of nodes."""
    around = picture.around()
    inside: dict[str, list[PictureNode]] = {key: [] for key in folded}
    for node in picture.nodes:
        key = node.key
        while (key := around[key]) != WHOLE:
            if key in inside:
                inside[key].append(node)
    best = min if picture.lower else max
    what = "thoughts" if picture.view == "reasoning" else "operations"
    scores = {key: [node.score for node in nodes if node.score is not None] for key, nodes in inside.items()}
    return {
        key: f"best {best(scores[key]):g}" if scores[key] else f"{len(nodes)} {what}"
        for key, nodes in inside.items()
    }


def _width(texts: Iterable[tuple[str, str]]) -> float:
    """The common width of boxes, for the longest of their texts, up to WIDTH."""
    longest = max((max(wide(a, LABEL_SIZE), wide(b, DETAIL_SIZE)) for a, b in texts), default=0.0)
    return min(WIDTH, longest + INDENT + 14)


def cut(text: str, room: float, size: float) -> str:
    """A text, cut to fit into this number of pixels, by approximate widths of letters."""
    used = 0.0
    for index, letter in enumerate(text):
        used += wide(letter, size)
        if used > room:
            return text[: max(1, index - 1)].rstrip() + "…"
    return text


def wide(text: str, size: float) -> float:
    """The approximate width of a text in pixels; fonts differ."""
    return size * sum(0.86 if c in _WIDE else 0.36 if c in _NARROW else 0.6 for c in text)
