"""A picture as SVG: one file, no script, light or dark as whoever looks at it likes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from html import escape

from gotlang.report.picture.arrange import Item, arrange
from gotlang.report.picture.nodes import COLORS, Node, Picture
from gotlang.report.picture.place import HEADER, WIDTH, Box, place

MARGIN = 24.0
TITLE = 34.0
LARGE, SMALL = 12.5 * 1.15, 11.0
INDENT = 20.0
"""Letters of the two lines in a box, the first of which is bold and so takes more, and where they begin."""
_WIDE = "WMmw@%&ABCDGHNOQRUVXKSTYZ"
_NARROW = "iljtf.,;:'|!()[]{} r1"


def svg(picture: Picture, folded: Collection[int] = (), *, titled: bool = True) -> str:
    """The text of an `.svg` file; `folded` are the ids of groups to be shown closed."""
    inside = _folded(picture, folded)
    boxes, whole = place(picture, arrange(picture), folded, width_of=_widths(picture, inside))
    top = MARGIN + (TITLE if titled else 0)
    width, height = max(whole.width, 260) + 2 * MARGIN, whole.height + top + MARGIN
    shift = (max(whole.width, 260) - whole.width) / 2
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{escape(picture.title)}">',
        f"<style>{_style()}</style>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto"><path d="M1 1 7 4 1 7" class="edge"/></marker></defs>',
        '<rect class="ground" width="100%" height="100%" rx="12"/>',
    ]
    if titled:
        lines.append(
            f'<text class="title" x="{MARGIN:.0f}" y="{MARGIN + 12:.0f}">{escape(picture.title)}</text>'
        )
    lines.append(f'<g transform="translate({MARGIN + shift:.1f} {top:.1f})">')
    lines += _groups(picture, boxes, inside)
    lines += _edges(picture, boxes, folded)
    lines += _names(picture, boxes, inside)
    lines += [line for node in picture.nodes if ("node", node.id) in boxes for line in _node(node, boxes)]
    return "\n".join([*lines, "</g>", "</svg>"]) + "\n"


def _style() -> str:
    light = {"ground": "#ffffff", "card": "#ffffff", "ink": "#1c2333", "soft": "#667085", "line": "#d5dae3"}
    dark = {"ground": "#10141d", "card": "#1a2030", "ink": "#e6e9f2", "soft": "#98a2b8", "line": "#333c50"}
    return (
        _theme(light, 0)
        + f"@media(prefers-color-scheme:dark){{{_theme(dark, 1)}}}"
        + "text{font-family:ui-sans-serif,system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif}"
        + ".title{font-size:15px;font-weight:650}.label{font-size:12.5px;font-weight:600}"
        + ".detail{font-size:11px}.name{font-size:11px;font-weight:600;"
        + "letter-spacing:.02em;paint-order:stroke;stroke-width:4;stroke-linejoin:round}"
        + ".edge{fill:none;stroke-width:1.3}.group{fill-opacity:.05;stroke-width:1}.box{stroke-width:1.2}"
        + ".failed{stroke-width:2}"
    )


def _theme(colors: dict[str, str], index: int) -> str:
    families = "".join(f".{name}{{fill:{pair[index]}}}" for name, pair in COLORS.items())
    failed = ("#c0392b", "#ff7b72")[index]
    edge = ("#9aa4b8", "#5b6780")[index]
    return (
        f".ground{{fill:{colors['ground']}}}.box{{fill:{colors['card']};stroke:{colors['line']}}}"
        f".title,.label{{fill:{colors['ink']}}}.detail,.name{{fill:{colors['soft']}}}"
        f".name{{stroke:{colors['ground']}}}"
        f".group{{fill:{colors['soft']};stroke:{colors['line']}}}.edge{{stroke:{edge}}}"
        f".box.failed{{stroke:{failed}}}{families}"
    )


def _groups(picture: Picture, boxes: dict[Item, Box], inside: Mapping[int, str]) -> Iterator[str]:
    for group in picture.groups:
        box = boxes.get(("group", group.id))
        if box is None:
            continue
        shape = f'width="{box.width:.1f}" height="{box.height:.1f}"'
        if group.id not in inside:
            yield f'<rect class="group" x="{box.x:.1f}" y="{box.y:.1f}" {shape} rx="12"/>'
            continue
        for shift in (5, 0):  # a pile of cards
            yield f'<rect class="box" x="{box.x + shift:.1f}" y="{box.y + shift:.1f}" {shape} rx="9"/>'
        yield f'<rect class="pass" x="{box.x + 7:.1f}" y="{box.y + 9:.1f}" width="4" height="28" rx="2"/>'
        yield from _words(group.label, inside[group.id], box)


def _names(picture: Picture, boxes: dict[Item, Box], inside: Mapping[int, str]) -> Iterator[str]:
    """The names of open groups, above the connections that enter where they stand."""
    for group in picture.groups:
        box = boxes.get(("group", group.id))
        if box is not None and group.id not in inside:
            label = escape(cut(group.label, box.width - 24, SMALL))
            yield f'<text class="name" x="{box.x + 12:.1f}" y="{box.y + HEADER - 7:.1f}">{label}</text>'


def _edges(picture: Picture, boxes: dict[Item, Box], folded: Collection[int]) -> Iterator[str]:
    home = {node.id: node.group for node in picture.nodes}
    parents = {group.id: group.parent for group in picture.groups}

    def end(node: int) -> Item:
        """The node, or the outermost folded group that it is in."""
        at, group = ("node", node), home[node]
        while group is not None:
            if group in folded:
                at = ("group", group)
            group = parents[group]
        return at

    for source, target in dict.fromkeys((end(a), end(b)) for a, b in picture.edges):
        if source == target:
            continue
        a, b = boxes[source], boxes[target]
        x1, y1 = a.x + a.width / 2, a.y + a.height
        x2, y2 = b.x + b.width / 2, b.y - 1
        bend = max(18.0, abs(y2 - y1) * 0.45)
        yield (
            f'<path class="edge" marker-end="url(#tip)" d="M{x1:.1f} {y1:.1f}C{x1:.1f} {y1 + bend:.1f} '
            f'{x2:.1f} {y2 - bend:.1f} {x2:.1f} {y2:.1f}"/>'
        )


def _node(node: Node, boxes: dict[Item, Box]) -> Iterator[str]:
    box = boxes["node", node.id]
    failed = " failed" if node.state == "failed" else ""
    yield (
        f'<g><rect class="box{failed}" x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" '
        f'height="{box.height:.1f}" rx="9"/>'
    )
    yield (
        f'<rect class="{node.family}" x="{box.x + 7:.1f}" y="{box.y + 9:.1f}" width="4" '
        f'height="{box.height - 18:.1f}" rx="2"/>'
    )
    yield from _words(node.label, node.detail, box)
    yield "</g>"


def _words(label: str, detail: str, box: Box) -> Iterator[str]:
    """The one or two lines in a box."""
    room, left = box.width - INDENT - 8, box.x + INDENT
    middle = box.y + 20 if detail else box.y + box.height / 2 + 4
    yield f'<text class="label" x="{left:.1f}" y="{middle:.1f}">{escape(cut(label, room, LARGE))}</text>'
    if detail:
        small = escape(cut(detail, room, SMALL))
        yield f'<text class="detail" x="{left:.1f}" y="{box.y + 35:.1f}">{small}</text>'


def _folded(picture: Picture, folded: Collection[int]) -> dict[int, str]:
    """What to say of each folded group: the best score in it, else how many nodes."""
    parents = {group.id: group.parent for group in picture.groups}
    scores: dict[int, list[float]] = {number: [] for number in folded}
    counts = dict.fromkeys(folded, 0)
    for node in picture.nodes:
        group = node.group
        while group is not None:
            if group in counts:
                counts[group] += 1
                scores[group] += [] if node.score is None else [node.score]
            group = parents[group]
    best = min if picture.lower else max
    what = "thoughts" if picture.view == "reasoning" else "operations"
    return {
        number: f"best {best(scores[number]):g}" if scores[number] else f"{counts[number]} {what}"
        for number in counts
    }


def _widths(picture: Picture, inside: Mapping[int, str]) -> Callable[[Item], float]:
    """Nodes are all as wide as the widest of their texts asks for, folded groups likewise."""

    def widest(texts: Iterable[tuple[str, str]]) -> float:
        wanted = max((max(wide(a, LARGE), wide(b, SMALL)) for a, b in texts), default=0.0)
        return min(WIDTH, wanted + INDENT + 14)

    nodes = widest((node.label, node.detail) for node in picture.nodes)
    groups = widest((group.label, inside[group.id]) for group in picture.groups if group.id in inside)
    return lambda item: nodes if item[0] == "node" else groups


def cut(text: str, room: float, size: float) -> str:
    """A text that is cut to fit into so many pixels, by rough widths of letters."""
    used = 0.0
    for index, letter in enumerate(text):
        used += wide(letter, size)
        if used > room:
            return text[: max(1, index - 1)].rstrip() + "…"
    return text


def wide(text: str, size: float) -> float:
    """How many pixels a text takes, roughly: fonts differ."""
    return size * sum(0.86 if c in _WIDE else 0.36 if c in _NARROW else 0.6 for c in text)
