"""Layers and order: for every group, in which row each of its members stands and in which place.

A layout is made of boxes in boxes. Inside a group its nodes and inner groups are laid out like a graph of
their own (Sugiyama's method: layers by the longest way, order by barycenters), whether inner groups are
folded or not, so that folding one changes nothing but sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from gotlang.report.picture.nodes import Picture
from gotlang.report.picture.tidy import sorted_by_dependency

SWEEPS = 6
WIDEST = 12
"""Members of a layer that stand side by side; more go into further rows."""

Item = tuple[str, int]
"""A member: `("node", id)` or `("group", id)`."""


@final
@dataclass(frozen=True, slots=True)
class Arrangement:
    """The rows of a group (None: the whole picture), each from left to right, and the connections between
    its members."""

    rows: tuple[tuple[Item, ...], ...]
    edges: tuple[tuple[Item, Item], ...]


def arrange(picture: Picture) -> dict[int | None, Arrangement]:
    """The arrangement of every group by id, and of the whole under None."""
    chains: dict[int | None, list[int | None]] = {None: [None]}
    for group in picture.groups:
        chains[group.id] = [group.id, *chains[group.parent]]
    # A dict keeps the order: a group stands among its neighbours where its first node does.
    members: dict[int | None, dict[Item, None]] = {None: {}, **{group.id: {} for group in picture.groups}}
    for node in picture.nodes:
        item: Item = ("node", node.id)
        for group_id in chains[node.group]:
            members[group_id][item] = None
            if group_id is not None:
                item = ("group", group_id)
    lifted = _lifted(picture, chains)
    return {group_id: _arranged(list(items), lifted.get(group_id, {})) for group_id, items in members.items()}


def _lifted(
    picture: Picture, chains: dict[int | None, list[int | None]]
) -> dict[int | None, dict[tuple[Item, Item], None]]:
    """Each connection between the two members of the innermost group that holds both ends."""
    home = {node.id: node.group for node in picture.nodes}
    out: dict[int | None, dict[tuple[Item, Item], None]] = {}
    for source, target in picture.edges:
        left, right = chains[home[source]], chains[home[target]]
        shared = 1
        while shared < len(left) and shared < len(right) and left[-1 - shared] == right[-1 - shared]:
            shared += 1
        start = _member(left, shared, source)
        end = _member(right, shared, target)
        if start != end:
            out.setdefault(left[-shared], {})[start, end] = None
    return out


def _member(chain: list[int | None], shared: int, node: int) -> Item:
    if len(chain) == shared:
        return "node", node
    group = chain[-1 - shared]
    assert group is not None
    return "group", group


def _arranged(items: Sequence[Item], edges: dict[tuple[Item, Item], None]) -> Arrangement:
    number = {item: place for place, item in enumerate(items)}
    pairs = [(number[source], number[target]) for source, target in edges]
    order = sorted_by_dependency(range(len(items)), pairs)
    place = {node: index for index, node in enumerate(order)}
    forward = [(a, b) for a, b in pairs if place[a] < place[b]]
    before: list[list[int]] = [[] for _ in items]
    after: list[list[int]] = [[] for _ in items]
    for a, b in forward:
        before[b].append(a)
        after[a].append(b)
    layer = [0] * len(items)
    for node in order:
        layer[node] = max((layer[a] + 1 for a in before[node]), default=0)
    for node in reversed(order):  # what nothing leads to stands just above what it leads to
        if after[node] and not before[node]:
            layer[node] = min(layer[b] for b in after[node]) - 1
    rows: list[list[int]] = [[] for _ in range(max(layer, default=-1) + 1)]
    for node in range(len(items)):
        rows[layer[node]].append(node)
    _order(rows, before, after)
    split = [line for row in rows for line in _lines(row)]
    return Arrangement(
        tuple(tuple(items[node] for node in row) for row in split),
        tuple((items[a], items[b]) for a, b in forward),
    )


def _lines(row: list[int]) -> list[list[int]]:
    """A row in lines of about the same length, none of them longer than the widest."""
    count = -(-len(row) // WIDEST)
    longest = -(-len(row) // max(1, count))
    return [row[start : start + longest] for start in range(0, len(row), max(1, longest))]


def _order(rows: list[list[int]], before: list[list[int]], after: list[list[int]]) -> None:
    """Order each row by the middle of what its members are connected to, downwards and upwards in turn."""
    place: dict[int, float] = {}

    def note(row: list[int]) -> None:
        for index, node in enumerate(row):
            place[node] = index - (len(row) - 1) / 2

    for row in rows:
        note(row)
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        near = before if down else after
        for row in rows if down else reversed(rows):
            middle = {
                node: sum(place[o] for o in near[node]) / len(near[node]) if near[node] else place[node]
                for node in row
            }
            row.sort(key=lambda node: middle[node])
            note(row)
