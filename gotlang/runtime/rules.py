"""The rules for operations that change the graph, and the errors that name the one an edit breaks.

(Framework of Thoughts, section 3.2.) They let operations that run side by side change the graph without
locks: what one may change, no other can. One relaxation goes beyond the paper, named `commute` here. An
operation may add a connection to a descendant that it shares with others, where that one takes any number of
thoughts: such additions commute, since thoughts that are added come in the order of their places in the
program's run, never in that of their arrival.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, final

from gotlang.errors import GotError
from gotlang.runtime.regions import Region

Rule = Literal["sight", "ancestors", "shared", "exclusive", "feeding", "moving"]

RULES: dict[Rule, str] = {
    "sight": "an operation sees only its ancestors, its descendants and itself",
    "ancestors": "an operation cannot change what lies among its ancestors",
    "shared": "an operation cannot change what lies among descendants that others reach too",
    "exclusive": "an operation adds and removes only what lies among its exclusive descendants, and "
    "connections from itself to them",
    "feeding": "an operation adds connections from its ancestors only, and only to its exclusive descendants",
    "moving": "only connections from the operation itself or an exclusive descendant can be moved, and they "
    "then start there or at an ancestor",
}
"""The six rules, by the name that an error has for them."""


What = Callable[[], str]
"""Says what cannot be done; called only where it cannot, since names of operations may be long."""


class GraphError(GotError):
    """A change that would leave a graph that cannot run."""


@final
class ForbiddenEdit(GraphError):
    """A change of the graph that a rule forbids; `rule` is the rule's name in `RULES`."""

    def __init__(self, rule: Rule, what: What) -> None:
        super().__init__(f"{what()}: {RULES[rule]} (rule `{rule}`)")
        self.rule = rule


def may_see(region: Region | None, what: What) -> Region:
    """The region of something that may be seen. Raises ForbiddenEdit."""
    if region is None:
        raise ForbiddenEdit("sight", what)
    return region


def may_remove(region: Region, what: What) -> None:
    """Check the removal of an operation. Raises ForbiddenEdit."""
    if region != "exclusive":
        raise ForbiddenEdit(_PROTECTS.get(region, "exclusive"), what)


def may_connect(source: Region, target: Region, what: What, *, gathers: bool) -> None:
    """Check a new connection; `gathers` tells whether the target takes any number of thoughts, so that adding
    to it commutes with what others add. Raises ForbiddenEdit."""
    if source == "shared":
        raise ForbiddenEdit("feeding", what)
    if target == "exclusive" or (target == "shared" and gathers):
        return
    raise ForbiddenEdit(_PROTECTS.get(target, "exclusive"), what)


def may_disconnect(source: Region, target: Region, what: What) -> None:
    """Check the removal of a connection. Raises ForbiddenEdit."""
    if target in ("ancestor", "itself"):
        raise ForbiddenEdit("ancestors", what)  # so it starts among them
    if source == "shared" or target == "shared":
        raise ForbiddenEdit("shared", what)
    if source == "ancestor":
        # Also one that this operation added: by the rules such connections are only ever added.
        raise ForbiddenEdit("feeding", what)


def may_move(source: Region, start: Region, what: What) -> None:
    """Check that a connection from `source` may start at `start` from now on. Raises ForbiddenEdit."""
    if source not in ("itself", "exclusive") or start == "shared":
        raise ForbiddenEdit("moving", what)


_PROTECTS: dict[Region, Rule] = {"ancestor": "ancestors", "shared": "shared"}
