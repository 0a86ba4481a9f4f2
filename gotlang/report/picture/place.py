"""Places: from rows to coordinates, boxes in boxes, the inner ones first.

A row's members stand as near as they can to the middle of what they are connected to, without changing their
order and without touching (a least-squares fit under order: pool adjacent violators). In the browser, where
folding changes sizes, `gotlang/report/assets/graph.js` does the same.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import final

from gotlang.report.picture.arrange import Arrangement, Item
from gotlang.report.picture.nodes import Picture

WIDTH, HEIGHT = 176.0, 46.0
"""Of a node's box."""
GAP_X, GAP_Y = 20.0, 30.0
PADDING, HEADER = 14.0, 24.0
"""Inside a group, and the line with its name."""
SWEEPS = 4


@final
@dataclass(frozen=True, slots=True)
class Box:
    """Left, top, width, height, in pixels from the picture's top left corner."""

    x: float
    y: float
    width: float
    height: float


def place(
    picture: Picture,
    arrangements: dict[int | None, Arrangement],
    folded: Collection[int] = (),
    *,
    width_of: Callable[[Item], float] = lambda _: WIDTH,
) -> tuple[dict[Item, Box], Box]:
    """The box of every visible member, and of the whole. What is in a folded group has none.

    `width_of` tells how wide a node or a folded group is.
    """
    sizes: dict[Item, tuple[float, float]] = {
        (item := ("node", node.id)): (width_of(item), HEIGHT) for node in picture.nodes
    }
    inner: dict[int | None, dict[Item, tuple[float, float]]] = {}
    for group in (*reversed(picture.groups), None):
        number = None if group is None else group.id
        if number is not None and number in folded:
            sizes["group", number] = (width_of(("group", number)), HEIGHT)
            continue
        inner[number], width, height = _lay(arrangements[number], sizes)
        if number is not None:
            sizes["group", number] = (width + 2 * PADDING, height + PADDING + HEADER)
        else:
            whole = Box(0, 0, width, height)
    boxes: dict[Item, Box] = {}
    stack: list[tuple[int | None, float, float]] = [(None, 0.0, 0.0)]
    while stack:
        number, left, top = stack.pop()
        for item, (x, y) in inner[number].items():
            boxes[item] = Box(left + x, top + y, *sizes[item])
            if item[0] == "group" and item[1] not in folded:
                stack.append((item[1], left + x + PADDING, top + y + HEADER))
    return boxes, whole


def _lay(
    arrangement: Arrangement, sizes: dict[Item, tuple[float, float]]
) -> tuple[dict[Item, tuple[float, float]], float, float]:
    """Places of the members of one group, and the room they take."""
    rows = [list(row) for row in arrangement.rows]
    near: dict[Item, list[Item]] = {item: [] for row in rows for item in row}
    for source, target in arrangement.edges:
        near[source].append(target)
        near[target].append(source)
    level = {item: number for number, row in enumerate(rows) for item in row}
    middle: dict[Item, float] = {}
    for row in rows:
        _spread(row, dict.fromkeys(row, 0.0), sizes, middle)
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        for row in rows if down else reversed(rows):
            wanted = {}
            for item in row:
                linked = [
                    middle[o]
                    for o in near[item]
                    if (level[o] < level[item]) == down and level[o] != level[item]
                ]
                wanted[item] = sum(linked) / len(linked) if linked else middle[item]
            _spread(row, wanted, sizes, middle)
    left = min((middle[item] - sizes[item][0] / 2 for item in middle), default=0.0)
    right = max((middle[item] + sizes[item][0] / 2 for item in middle), default=0.0)
    places: dict[Item, tuple[float, float]] = {}
    top = 0.0
    for row in rows:
        tallest = max(sizes[item][1] for item in row)
        for item in row:
            width, height = sizes[item]
            places[item] = (middle[item] - width / 2 - left, top + (tallest - height) / 2)
        top += tallest + GAP_Y
    return places, right - left, max(0.0, top - GAP_Y)


def _spread(
    row: list[Item],
    wanted: dict[Item, float],
    sizes: dict[Item, tuple[float, float]],
    middle: dict[Item, float],
) -> None:
    """Set the middles of a row: near to what is wanted, in order, and apart."""
    offset = 0.0
    blocks: list[list[float]] = []  # sum of wishes, members
    offsets = []
    for number, item in enumerate(row):
        if number:
            offset += sizes[row[number - 1]][0] / 2 + GAP_X + sizes[item][0] / 2
        offsets.append(offset)
        blocks.append([wanted[item] - offset, 1.0])
        while len(blocks) > 1 and blocks[-2][0] * blocks[-1][1] >= blocks[-1][0] * blocks[-2][1]:
            total, count = blocks.pop()
            blocks[-1][0] += total
            blocks[-1][1] += count
    index = 0
    for total, count in blocks:
        for _ in range(int(count)):
            middle[row[index]] = total / count + offsets[index]
            index += 1


def fold_deep(picture: Picture, most: int) -> set[int]:
    """Groups to fold, those without groups inside them first, until no more than `most` items are left."""
    height: dict[int, int] = {}
    for group in reversed(picture.groups):  # what is inside comes later
        height.setdefault(group.id, 0)
        if group.parent is not None:
            height[group.parent] = max(height.get(group.parent, 0), height[group.id] + 1)
    around: dict[int | None, list[int]] = {None: []}
    for group in picture.groups:
        around[group.id] = [*around[group.parent], group.id]
    folded: set[int] = set()
    for level in range(max(height.values(), default=-1) + 1):
        seen = {next((g for g in around[n.group] if g in folded), -1 - n.id) for n in picture.nodes}
        if len(seen) <= most:
            break
        folded |= {group.id for group in picture.groups if height[group.id] == level}
    return folded
