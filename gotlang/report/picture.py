"""A picture of a graph as data: nodes in nested groups, connections, and how a graph is simplified."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar, final

from gotlang.operations import OPERATIONS

WHOLE: Final = "all"
"""The key of the outermost group: the picture itself."""

MOST_REDUCED: Final = 20_000
"""Maximum number of nodes for removing implied connections: the memory for it grows quadratically."""

FAMILIES: Final[Mapping[str, str]] = {
    "rated": "judge",
    "turn": "ask",
    "function": "tool",
    "input": "start",
}
"""Kinds of operations by their common color. All others only pass thoughts on."""

NAMES: Final[Mapping[str, str]] = {"rated": "Score", "function": "Call", "constant": "given"}
"""The names of kinds that are not operations of the language; operations have their own names."""

COLORS: Final[Mapping[str, tuple[str, str]]] = {
    "ask": ("#3b6fe0", "#7aa2f7"),
    "judge": ("#b7791f", "#e0af68"),
    "choose": ("#2f8f5b", "#73c991"),
    "truth": ("#8250c4", "#bb9af7"),
    "tool": ("#0f8b9d", "#5fc9d8"),
    "start": ("#6b7280", "#8b93a7"),
    "pass": ("#6b7280", "#8b93a7"),
}
"""The color of each family on a light and on a dark background."""


def label(kind: str, name: str | None = None) -> str:
    """An operation as programs write it, with the prompt, score, function or corpus that it uses."""
    word = NAMES.get(kind, kind)
    return f"{word} {name}" if name else word


@final
@dataclass(frozen=True, slots=True)
class PictureNode:
    """One operation, or one thought. `detail` is its second line, `group` the id of its group, `seconds` how
    long it waited for a model or a tool, `words` the first words of its result, unless they are in its
    detail."""

    id: int
    kind: str
    label: str
    detail: str = ""
    state: str = "done"
    group: int | None = None
    score: float | None = None
    usd: float | None = None
    place: str | None = None
    seconds: float | None = None
    words: str = ""

    @property
    def key(self) -> str:
        """Its name among nodes and groups."""
        return f"n{self.id}"

    @property
    def family(self) -> str:
        """The family that determines its color."""
        record = OPERATIONS.get(self.kind)
        return FAMILIES.get(self.kind, "pass") if record is None else record.family


@final
@dataclass(frozen=True, slots=True)
class Group:
    """A block of the program, or one run of it: an element of a `foreach`, a pair of a `reduce`."""

    id: int
    label: str
    parent: int | None = None

    @property
    def key(self) -> str:
        """Its name among nodes and groups."""
        return f"g{self.id}"


@final
@dataclass(frozen=True, slots=True)
class Picture:
    """Nodes, groups (parents before what is in them), and connections from one node to another by id.

    `view` is `execution`, `reasoning`, `time line` or `plan`. `lower` says that a lower score is better.
    `details` are shown by the page for each node; `results` are the nodes of the thoughts that the run
    returned, or those on the critical path of a time line.
    """

    title: str
    nodes: tuple[PictureNode, ...]
    groups: tuple[Group, ...] = ()
    edges: tuple[tuple[int, int], ...] = ()
    lower: bool = False
    view: str = "execution"
    details: Mapping[int, Any] = field(default_factory=dict, repr=False)
    results: tuple[int, ...] = ()

    def around(self) -> dict[str, str]:
        """The key of the enclosing group of each group and each node, in this order; WHOLE for the
        outermost."""
        groups = {group.key: _key(group.parent) for group in self.groups}
        return groups | {node.key: _key(node.group) for node in self.nodes}


def _key(group: int | None) -> str:
    return WHOLE if group is None else f"g{group}"


def without_lone_groups(picture: Picture) -> Picture:
    """The picture without empty groups, and without groups that are the only content of another group.

    A `foreach` over one element needs one frame: the outer one, which has the name of the block.
    """
    direct = {node.group for node in picture.nodes}
    inner: dict[int | None, int] = {}
    filled = set(direct)
    for group in reversed(picture.groups):  # nested groups come later
        if group.id in filled:
            filled.add(group.parent)
            inner[group.parent] = inner.get(group.parent, 0) + 1
    frame: dict[int | None, int | None] = {None: None}
    groups = []
    for group in picture.groups:
        lone = group.parent is not None and group.parent not in direct and inner.get(group.parent) == 1
        frame[group.id] = frame[group.parent] if lone else group.id
        if group.id in filled and not lone:
            groups.append(dataclasses.replace(group, parent=frame[group.parent]))
    nodes = tuple(
        node if frame[node.group] == node.group else dataclasses.replace(node, group=frame[node.group])
        for node in picture.nodes
    )
    return dataclasses.replace(picture, nodes=nodes, groups=tuple(groups))


Item = TypeVar("Item", bound=Hashable)


def contract(
    nodes: Iterable[int], edges: Iterable[tuple[int, int]], hidden: Collection[int]
) -> tuple[list[int], list[tuple[int, int]]]:
    """A graph without the hidden nodes; paths through them become connections.

    A hidden node with many connections on both sides stays, since removing it would add far more.
    """
    order = list(nodes)
    before: dict[int, dict[int, None]] = {node: {} for node in order}
    after: dict[int, dict[int, None]] = {node: {} for node in order}
    for source, target in edges:
        if source in after and target in before and source != target:
            after[source][target] = before[target][source] = None
    for node in order:
        sources, targets = before[node], after[node]
        if node not in hidden or len(sources) * len(targets) > len(sources) + len(targets) + 2:
            continue
        for source in sources:
            del after[source][node]
        for target in targets:
            del before[target][node]
        for source in sources:
            for target in targets:
                if source != target:
                    after[source][target] = before[target][source] = None
        del before[node], after[node]
    return list(before), [(source, target) for source in before for target in after[source]]


def sorted_by_dependency(nodes: Iterable[Item], edges: Iterable[tuple[Item, Item]]) -> list[Item]:
    """Every node after its predecessors, otherwise in the given order; a cycle is broken where it is
    entered."""
    before: dict[Item, list[Item]] = {node: [] for node in nodes}
    for source, target in edges:
        before[target].append(source)
    done: dict[Item, None] = {}
    entered: set[Item] = set()
    for first in before:
        stack = [first]
        while stack:
            node = stack[-1]
            waiting = [] if node in entered else [one for one in reversed(before[node]) if one not in entered]
            entered.add(node)
            if waiting:
                stack += waiting
            else:
                done[stack.pop()] = None
    return list(done)


def reduced(nodes: Iterable[int], edges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The connections without those implied by a longer path (the transitive reduction)."""
    edges = list(dict.fromkeys(edges))
    order = sorted_by_dependency(nodes, edges)
    if len(order) > MOST_REDUCED:
        return edges
    place = {node: index for index, node in enumerate(order)}
    before: Mapping[int, list[int]] = {node: [] for node in order}
    for source, target in edges:
        if place[source] < place[target]:
            before[target].append(source)
    ancestors: dict[int, int] = {}
    kept: list[tuple[int, int]] = []
    for node in order:
        reached = 0
        for source in sorted(before[node], key=lambda one: -place[one]):
            if not reached >> place[source] & 1:
                kept.append((source, node))
                reached |= ancestors[source] | 1 << place[source]
        ancestors[node] = reached
    return kept
