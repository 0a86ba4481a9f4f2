"""Pictures as one HTML file, with a view for each; the scripts in `assets/` draw them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gotlang.report.page import asset, page
from gotlang.report.picture.arrange import Item, arrange
from gotlang.report.picture.nodes import COLORS, Picture

SCRIPTS = ("graph.js", "draw.js", "panel.js", "move.js")


def graph_page(
    title: str,
    facts: Sequence[tuple[str, str]],
    pictures: Sequence[Picture],
    details: Mapping[str, Any],
) -> str:
    """The page with one view for each picture; `details` is what a click shows, see `details`."""
    data = {
        "title": title,
        "facts": list(facts),
        "views": [view(picture) for picture in pictures],
        "colors": COLORS,
        **details,
    }
    body = asset("graph.html")
    return page(title, body, data, styles=("page.css", "graph.css"), scripts=SCRIPTS)


def view(picture: Picture) -> dict[str, Any]:
    """A picture as the script takes it: with the rows and connections inside each group."""
    arrangements = arrange(picture)
    return {
        "name": picture.view,
        "lower": picture.lower,
        "nodes": [
            [n.id, n.kind, n.family, n.label, n.detail, n.state, n.group, n.score, n.usd, n.place]
            for n in picture.nodes
        ],
        "groups": [[group.id, group.label, group.parent] for group in picture.groups],
        "edges": picture.edges,
        "rows": {_key(g): [[_item(i) for i in row] for row in a.rows] for g, a in arrangements.items()},
        "links": {_key(g): [[_item(a), _item(b)] for a, b in x.edges] for g, x in arrangements.items()},
        "details": picture.details,
        "results": picture.results,
    }


def _key(group: int | None) -> str:
    return "all" if group is None else f"g{group}"


def _item(item: Item) -> str:
    return f"{item[0][0]}{item[1]}"
