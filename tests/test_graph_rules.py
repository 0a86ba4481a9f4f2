"""The rules for operations that change the graph: exactly those of the paper."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.graphs import Built, Name, Oracle, Shape, below, shapes
from support.laws import tried

from gotlang.changes.change import RULES, ForbiddenEdit
from gotlang.runtime.graph import STATES
from gotlang.thought import Thought, Thoughts

many = tried(200)

KINDS = ["add", "add", "connect", "connect", "disconnect", "move", "move", "move", "remove"]


def draw_edit(data: st.DataObject, names: list[Name], oracle: Oracle) -> tuple[str, tuple[Name, ...]]:
    """An edit that may be forbidden, but often is not."""

    def one(of: Iterable[Name] = ()) -> Name:
        likely = [name for name in names if name in of]
        return data.draw(st.sampled_from(likely if likely and data.draw(st.booleans()) else names))

    kind = data.draw(st.sampled_from(KINDS))
    mine = oracle.own | oracle.exclusive
    edges = sorted(oracle.edges, key=str)
    movable = [edge for edge in edges if edge[0] in mine | {oracle.me}]
    if kind == "add":
        return kind, tuple(dict.fromkeys(one() for _ in range(data.draw(st.integers(0, 3)))))
    if kind == "remove":
        return kind, (one(mine),)
    if kind == "connect" or not edges or not data.draw(st.integers(0, 3)):
        edge = (one(mine | oracle.ancestors), one(mine | oracle.descendants))
    else:
        edge = data.draw(st.sampled_from(movable if movable and data.draw(st.integers(0, 3)) else edges))
    return kind, (*edge, one(mine | oracle.ancestors)) if kind == "move" else edge


@many
@given(shapes(), st.data())
def test_a_view_accepts_exactly_what_the_rules_allow(shape: Shape, data: st.DataObject) -> None:
    built = Built(shape)
    (me,) = shape.running
    oracle = Oracle(me, set(range(len(shape.sources))), shape.edges())
    names: list[Name] = list(range(len(shape.sources)))
    for number in range(data.draw(st.integers(0, 12))):
        kind, nodes = draw_edit(data, names, oracle)
        new = (me, number)
        allowed = oracle.allows(kind, nodes)
        refused = built.edit(me, kind, nodes, new)
        assert (refused is None) == allowed, (kind, nodes, refused)
        if isinstance(refused, ForbiddenEdit):
            assert f"rule `{refused.rule}`" in refused.message and RULES[refused.rule] in refused.message
        if allowed:
            oracle.do(kind, nodes, new)
            if kind == "add":
                names.append(new)
        regions(built, me, oracle, names)
    before = set(built.graph.operations)
    built.carry_out(me)
    assert built.edges() == oracle.edges
    built.check()
    assert all(o.origin is built.operations[me] for o in built.graph.operations if o not in before)


NAMED: list[tuple[str, tuple[int, ...], str]] = [
    ("remove", (0,), "ancestors"),
    ("connect", (3, 0), "ancestors"),
    ("connect", (1, 2), "exclusive"),
    ("disconnect", (0, 1), "ancestors"),
    ("disconnect", (0, 2), "ancestors"),
    ("remove", (2,), "exclusive"),
    ("remove", (5,), "shared"),
    ("disconnect", (3, 5), "shared"),
    ("disconnect", (5, 6), "shared"),
    ("connect", (5, 3), "feeding"),
    ("disconnect", (1, 3), "feeding"),
    ("move", (1, 3, 0), "moving"),
    ("move", (3, 5, 6), "moving"),
    ("move", (5, 6, 3), "moving"),
    ("connect", (4, 3), "sight"),
    ("remove", (4,), "sight"),
    ("move", (3, 5, 4), "sight"),
]
"""Edits of the operation 2 in a graph: 0 and 1 are its ancestors, 3 is exclusively its own, 5 and 6 it shares
with 4, which it does not see."""


@pytest.mark.parametrize(("kind", "nodes", "rule"), NAMED)
def test_the_rule_that_an_edit_breaks_is_named(kind: str, nodes: tuple[int, ...], rule: str) -> None:
    shape = Shape(((), (0,), (0, 1), (2,), (), (3, 4), (5,)), frozenset({0, 1}), (2,))
    refused = Built(shape).edit(2, kind, nodes, "new")
    assert isinstance(refused, ForbiddenEdit) and refused.rule == rule


def test_what_is_connected_anew_is_ready_only_once_all_is_there() -> None:
    built = Built(Shape(((), (0,), (1,), (2,)), frozenset({0}), (1,)))
    last = built.operations[3]
    built.graph.release(last)
    assert built.edit(1, "move", (2, 3, 0), None) is None  # 0 is there
    assert built.edit(1, "connect", (1, 3), None) is None
    built.carry_out(1)
    assert STATES[last.state] == "waiting" and last not in built.graph.ready
    built.graph.complete(built.operations[1], Thoughts([Thought(1)]))
    assert STATES[last.state] == "ready" and last in built.graph.ready


def test_what_was_connected_may_be_taken_away_again() -> None:
    built = Built(Shape(((), (0,), (1,)), frozenset({0}), (1,)))
    for edit in (("add", (), "new"), ("move", (1, 2, "new"), None), ("move", ("new", 2, 0), None)):
        assert built.edit(1, *edit) is None
    assert built.edit(1, "remove", ("new",), None) is None
    built.carry_out(1)
    assert built.edges() == {(0, 1), (0, 2)}


def regions(built: Built, me: int, oracle: Oracle, names: list[Name]) -> None:
    """What is kept of regions is what brute force finds."""
    for name in names:
        try:
            found: str | None = built.views[me].region(built.places[name])
        except ForbiddenEdit as error:
            assert error.rule == "sight"
            found = None
        assert found == oracle.region(name), name


@many
@given(shapes(runners=2, absorb=True), st.data())
def test_operations_that_run_side_by_side_change_the_same_graph_in_any_order(
    shape: Shape, data: st.DataObject
) -> None:
    """Their edits commute, those of descendants that they share among them: accepted or refused alike whether
    the other was before or after, or something beside them failed, and the same graph in the end."""
    if len(shape.running) < 2:
        return
    names = list(range(len(shape.sources)))
    edits: dict[int, list[tuple[str, tuple[Name, ...], Name]]] = {}
    for me in shape.running:
        own: list[Name] = [*names]
        oracle = Oracle(me, set(names), shape.edges(), absorbing=shape.absorbing)
        edits[me] = []
        for number in range(data.draw(st.integers(0, 8))):
            kind, nodes = draw_edit(data, own, oracle)
            edits[me].append((kind, nodes, (me, number)))
            if oracle.allows(kind, nodes):
                oracle.do(kind, nodes, (me, number))
                if kind == "add":
                    own.append((me, number))
    first, second = shape.running
    after = set().union(*(below(at, shape.edges()) for at in shape.running))
    beside = [at for at in names if at not in {*shape.done, *shape.running, *after}]
    failing = data.draw(st.sampled_from(beside)) if beside and data.draw(st.booleans()) else None

    def ask(built: Built, me: int) -> list[str | None]:
        found = []
        for kind, nodes, new in edits[me]:
            if all(node in built.places for node in nodes):
                refused = built.edit(me, kind, nodes, new)
                found.append(refused.message if refused is not None else None)
        return found

    def inputs(built: Built, me: int) -> dict[Name, list[Name]]:
        """The connections that one sees."""
        called = {place: name for name, place in built.places.items()}
        found = {}
        for name in names:
            with suppress(ForbiddenEdit):
                found[name] = [called.get(place) for place in built.views[me].inputs(built.places[name])]
        return found

    def run(order: list[tuple[str, int]]) -> Any:
        built = Built(shape)
        answers = {}
        waiting = list(shape.running)
        for what, me in order:
            if what == "ask":
                answers[me] = ask(built, me), inputs(built, me)
            elif what == "fail":
                if failing is not None:
                    built.graph.fail(built.operations[failing])
                built.go_on()
            else:
                built.carry_out(me)
                built.check()
                waiting.remove(me)
            for other in waiting:
                # What one sees of the graph stays true while the other changes it.
                if other in answers:
                    assert inputs(built, other) == answers[other][1]
                kept = [name for name in names if built.operations[name] not in built.changes[other].removed]
                oracle = Oracle(other, set(names), shape.edges(), absorbing=shape.absorbing)
                regions(built, other, oracle, kept)
        for at in shape.running:
            built.graph.complete(built.operations[at], Thoughts([Thought(1, built.operations[at])]))
        built.go_on()
        return answers, built.edges(), built.orders(), built.states()

    ways = [
        [("ask", first), ("do", first), ("ask", second), ("do", second), ("fail", first)],
        [("fail", first), ("ask", second), ("do", second), ("ask", first), ("do", first)],
        [("ask", first), ("fail", first), ("ask", second), ("do", second), ("do", first)],
        [("ask", first), ("ask", second), ("do", second), ("fail", first), ("do", first)],
    ]
    expected = run(ways[0])
    assert all(run(way) == expected for way in ways[1:])
