"""A picture as SVG: one file, no script, light or dark as whoever looks at it likes."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from html import escape

from gotlang.report.picture.arrange import Item, arrange
from gotlang.report.picture.nodes import COLORS, Node, Picture
from gotlang.report.picture.place import HEADER, Box, place

MARGIN = 24.0
TITLE = 34.0
_WIDE = "WMmw@%&ABCDGHNOQRUVXKSTYZ"
_NARROW = "iljtf.,;:'|!()[]{} r1"


def svg(picture: Picture, folded: Collection[int] = (), *, titled: bool = True) -> str:
    """The text of an `.svg` file; `folded` are the ids of groups to be shown closed."""
    boxes, whole = place(picture, arrange(picture), folded)
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
    lines += _groups(picture, boxes, folded)
    lines += _edges(picture, boxes, folded)
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
        + ".detail{font-size:11px}.name{font-size:11px;font-weight:600;letter-spacing:.02em}"
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
        f".group{{fill:{colors['soft']};stroke:{colors['line']}}}.edge{{stroke:{edge}}}"
        f".box.failed{{stroke:{failed}}}{families}"
    )


def _groups(picture: Picture, boxes: dict[Item, Box], folded: Collection[int]) -> Iterator[str]:
    for group in picture.groups:
        box = boxes.get(("group", group.id))
        if box is None:
            continue
        yield (
            f'<rect class="group" x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" '
            f'height="{box.height:.1f}" rx="12"/>'
        )
        label = escape(cut(group.label, box.width - 24, 11))
        if group.id in folded:
            yield f'<text class="label" x="{box.x + 14:.1f}" y="{box.y + 28:.1f}">{label} …</text>'
        else:
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
    room = box.width - 30
    middle = box.y + box.height / 2 + 4 if not node.detail else box.y + 20
    label = escape(cut(node.label, room, 12.5))
    yield f'<text class="label" x="{box.x + 20:.1f}" y="{middle:.1f}">{label}</text>'
    if node.detail:
        detail = escape(cut(node.detail, room, 11))
        yield f'<text class="detail" x="{box.x + 20:.1f}" y="{box.y + 35:.1f}">{detail}</text>'
    yield "</g>"


def cut(text: str, room: float, size: float) -> str:
    """A text that is cut to fit into so many pixels, by rough widths of letters."""
    used = 0.0
    for index, letter in enumerate(text):
        used += size * (0.82 if letter in _WIDE else 0.33 if letter in _NARROW else 0.56)
        if used > room:
            return text[: max(1, index - 1)].rstrip() + "…"
    return text
