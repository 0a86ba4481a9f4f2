"""A picture as data: nodes in nested groups, and connections between nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, final

FAMILIES: Final[Mapping[str, str]] = {
    "Generate": "ask",
    "Improve": "ask",
    "Aggregate": "ask",
    "ValidateAndImprove": "ask",
    "Score": "judge",
    "rated": "judge",
    "Validate": "judge",
    "GroundTruth": "truth",
    "KeepBestN": "choose",
    "KeepValid": "choose",
    "Select": "choose",
    "Vote": "choose",
    "Retrieve": "tool",
    "Call": "tool",
    "function": "tool",
    "thought": "thought",
    "input": "start",
}
"""Kinds of operations by the color they share. All others only pass thoughts on."""

COLORS: Final[Mapping[str, tuple[str, str]]] = {
    "ask": ("#3b6fe0", "#7aa2f7"),
    "judge": ("#b7791f", "#e0af68"),
    "choose": ("#2f8f5b", "#73c991"),
    "truth": ("#8250c4", "#bb9af7"),
    "tool": ("#0f8b9d", "#5fc9d8"),
    "thought": ("#3b6fe0", "#7aa2f7"),
    "start": ("#6b7280", "#8b93a7"),
    "pass": ("#6b7280", "#8b93a7"),
}
"""The color of each family on a light and on a dark ground."""

NAMES: Final[Mapping[str, str]] = {
    "rated": "Score",
    "function": "Call",
    "join": "join",
    "grow": "grow",
    "input": "input",
    "constant": "given",
}
"""How a picture names what is no operation of the language; operations go by their own names."""


@final
@dataclass(frozen=True, slots=True)
class Node:
    """One operation, or one thought. `detail` is its second line; `group` the group it is in (None: none)."""

    id: int
    kind: str
    label: str
    detail: str = ""
    state: str = "done"
    group: int | None = None
    score: float | None = None
    usd: float | None = None
    place: str | None = None

    @property
    def family(self) -> str:
        """What its color is named for."""
        return FAMILIES.get(self.kind, "pass")


@final
@dataclass(frozen=True, slots=True)
class Group:
    """A block of the program, or one run of it: an element of a `foreach`, a pair of a `reduce`."""

    id: int
    label: str
    parent: int | None = None


@final
@dataclass(frozen=True, slots=True)
class Picture:
    """Nodes, groups (parents before what is in them), and connections from one node to another by id.

    `lower` tells that a lower score is the better one; `facts` are lines for the margin; `results` are the
    thoughts that the run gave back.
    """

    title: str
    nodes: tuple[Node, ...]
    groups: tuple[Group, ...] = ()
    edges: tuple[tuple[int, int], ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    lower: bool = False
    view: str = "execution"
    details: Mapping[int, Any] = field(default_factory=dict, repr=False)
    results: tuple[int, ...] = ()
