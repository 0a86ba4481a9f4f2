"""`search` against a second implementation of its rules, and what it pays for."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.laws import tried
from support.orders import compiled, run_in_order

from gotlang.api import Options, compile
from gotlang.cache.memory import MemoryCache
from gotlang.errors import CompileError, RunError
from gotlang.models.simulated import SimulatedModel
from gotlang.report.graphs import execution
from gotlang.result import Result
from gotlang.runtime.plain import RequestLog, operations

TREE = """
param weight = 7 in 1..1000
scheme main(x: int) -> int:
    search state from x, rollouts {rollouts}, select {select}, parallel {parallel}{depth}:
        expand: Pool() 3 * state + 1, 3 * state + 2, 3 * state + 3
        value: Score() weight * state * state % 101
        backup {backup}
"""


@dataclass
class Node:
    state: int
    place: tuple[int, ...] = ()
    below: list[float] = field(default_factory=list)
    children: list[Node] = field(default_factory=list)
    chosen: bool = False
    worth: float = -math.inf


def order(
    weight: int, select: str, amount: float, rollouts: int, parallel: int, depth: int, backup: str
) -> list[set[tuple[int, ...]]]:
    """The places that each wave expands, by the page's rules."""
    root, waves, level = Node(0), list[set[tuple[int, ...]]](), list[Node]()
    every, left, worst = [root], rollouts, math.inf

    def open_below(node: Node) -> bool:
        if not node.children:
            return not node.chosen and len(node.place) < depth
        return any(open_below(child) for child in node.children)

    def down(virtual: dict[tuple[int, ...], int]) -> Node:
        node = root
        while node.children:

            def bound(child: Node, parent: Node = node) -> float:
                n = len(child.below) + virtual.get(child.place, 0)
                big = max(1, len(parent.below) + virtual.get(parent.place, 0))
                lost = virtual.get(child.place, 0) * worst if virtual.get(child.place) else 0.0
                q = max(child.below) if backup == "max" else (sum(child.below) + lost) / n
                return q + amount * math.sqrt(math.log(big) / n)

            node = max((child for child in node.children if open_below(child)), key=bound)
        return node

    level = [root]
    while left and open_below(root):
        wave: list[Node] = []
        if select == "beam":
            able = [node for node in level if open_below(node)]
            wave = sorted(able, key=lambda node: -node.worth)[: min(int(amount), left)]
            for node in level:
                node.chosen = True
        else:
            virtual: dict[tuple[int, ...], int] = {}
            while len(wave) < min(parallel, left) and open_below(root):
                able = [n for n in every if not n.children and not n.chosen and len(n.place) < depth]
                if select == "uct":
                    node = down(virtual)
                elif select == "best":
                    node = max(able, key=lambda node: node.worth)
                else:
                    node = max(able, key=lambda node: (len(node.place), node.worth))
                node.chosen = True
                wave.append(node)
                for at in range(len(node.place) + 1):
                    virtual[node.place[:at]] = virtual.get(node.place[:at], 0) + 1
        left -= len(wave)
        waves.append({node.place for node in wave})
        level = []
        for node in wave:
            for at in range(3):
                child = Node(3 * node.state + at + 1, (*node.place, at))
                child.worth = weight * child.state**2 % 101
                worst = min(worst, child.worth)
                node.children.append(child)
                level.append(child)
                every.append(child)
                for above in every:
                    if child.place[: len(above.place)] == above.place:
                        above.below.append(child.worth)
    return waves


def expanded(result: Result) -> list[set[tuple[int, ...]]]:
    """The places that each wave of a run expanded, by the calls in a row of its graph."""
    waves: dict[int, set[tuple[int, ...]]] = {}
    for operation in result.outcome.graph.operations:
        key = operation.frame.key
        if isinstance(key, tuple) and key[-1] == "expand" and operation.role != "rescue":
            origin = operation.frame.origin
            number = 0 if origin is None or origin.role != "wave" else origin.name[-1]
            waves.setdefault(number, set()).add(tuple(key[1:-1]))
    return [waves[number] for number in sorted(waves)]


@tried(60)
@given(
    st.integers(1, 1000),
    st.sampled_from(["best", "depth", "beam(2)", "beam(4)", "uct(0.5)", "uct(20)", "uct(200)"]),
    st.integers(1, 12),
    st.integers(1, 4),
    st.none() | st.integers(1, 4),
    st.sampled_from(["mean", "max"]),
)
def test_the_states_are_expanded_in_the_order_of_the_rules(
    weight: int, select: str, rollouts: int, parallel: int, depth: int | None, backup: str
) -> None:
    way, _, number = select.rstrip(")").partition("(")
    text = TREE.format(
        rollouts=rollouts,
        select=select,
        parallel=parallel,
        depth="" if depth is None else f", depth {depth}",
        backup=backup,
    )
    result = compiled(text).run({"x": 0}, options=Options(params={"weight": weight}))
    wanted = order(weight, way, float(number or 0), rollouts, parallel, depth or 99, backup)
    assert expanded(result) == wanted


MODEL = """
param rollouts = 4 in 1..50
prompt propose(state: int) -> int:
    "from {{ state }}"
scheme main(x: int) -> int:
    search state from x until state > 900, rollouts rollouts, select best, parallel 2:
        expand: Generate(k=3) propose(state)
        value:
            Score() state
            Select() score >= 0
"""
SIMULATORS = {"propose": lambda rng, state: str(state + rng.randrange(-3, 5)) if rng.random() > 0.1 else "no"}


def run(**options: object) -> Result:
    return run_in_order(MODEL, {"x": 5}, SimulatedModel(SIMULATORS), **options)


def test_more_rollouts_pay_for_the_difference_alone() -> None:
    cache = MemoryCache()
    four = run(cache=cache).outcome.ledger.spent.calls
    assert four == 12
    assert run(cache=cache).outcome.ledger.spent.calls == 0
    assert run(cache=cache, params={"rollouts": 10}).outcome.ledger.spent.calls == 30 - four


def test_a_search_that_the_budget_ends_leaves_its_best_state() -> None:
    whole, cut = run(params={"rollouts": 20}), run(params={"rollouts": 20}, max_calls=18)
    assert (whole.status, cut.status) == ("complete", "partial")
    assert 5 < cut.value <= whole.value
    assert cut.outcome.thoughts[0].score == cut.value


def test_dead_ends_are_left_and_a_root_without_children_fails() -> None:
    nothing = {"propose": lambda rng, state: "no"}
    with pytest.raises(RunError, match="the root leaves no state that has a value"):
        run_in_order(MODEL, {"x": 5}, SimulatedModel(nothing))
    seldom = {"propose": lambda rng, state: str(state + 1) if rng.random() > 0.5 else "no"}
    result = run_in_order(MODEL, {"x": 5}, SimulatedModel(seldom), params={"rollouts": 20})
    lost = [failure for failure in result.outcome.failures if failure.fatal]
    assert lost and all(failure.handled for failure in lost) and result.status == "complete"


SKIPS = """
scheme {name}(x: int) -> int:
    search state from x, rollouts 9, select best:
        expand:
            {expand}
        value:
            {value}
"""
BRANCHES = "if state > 3:\n                skip\n            else:\n                "


def test_what_skips_is_a_dead_end_or_no_state_and_no_failure() -> None:
    def skips(expand: str = "", value: str = "") -> Result:
        text = SKIPS.format(name="s", expand=expand + "Pool() state + 1", value=value + "Score() state")
        return compiled(text).run(x=0, options=Options(model=SimulatedModel({})))

    for result, value in ((skips(), 9), (skips(BRANCHES), 4), (skips("", BRANCHES), 3)):
        assert (result.value, result.status, result.outcome.failures) == (value, "complete", ())
    with pytest.raises(CompileError, match="every state"):
        compiled(SKIPS.format(name="s", expand="skip", value="Score() state")).run(x=0)


KINDS = ("expand", "backup", "rescue", "wave")


def test_its_parts_go_by_the_words_of_the_language_and_have_their_thoughts() -> None:
    graph = run(params={"rollouts": 3}).outcome.graph
    lines = list(operations(graph, {}, RequestLog()))
    shown = {kind: [len(one["thoughts"]) for one in lines if one["kind"] == kind] for kind in KINDS}
    assert shown["rescue"] == shown["wave"] == []
    assert shown["expand"] and sum(shown["expand"]) == sum(shown["backup"]) > 5
    backups = [node for node in execution(lines, "t").nodes if node.kind == "backup"]
    assert all(node.detail.endswith(f"best {node.score:g}") for node in backups)


def test_a_study_varies_the_strategy_and_what_only_one_of_them_has() -> None:
    """The second child looks worse, and all that is good lies below it: only a beam of two comes there."""
    pytest.importorskip("optuna", reason="the extra `tune` is not installed")
    text = """
param strategy = "best" in ["uct", "best", "depth", "beam"]
param width = 1 in 1..2 when strategy == "beam"
prompt steps(path: list[int]) -> many int:
    "{{ path }}"
scheme next(path: list[int]) -> many list[int]:
    Generate() steps(path)
    Map() path + [it]
score worth(path: list[int]) -> higher:
    100 if path[1:] == [2, 1] else 5 if path[1] == 1 else 1
scheme main(start: int) -> list[int]:
    search path from [start], rollouts 3, depth 3, select uct(0.1) if strategy == "uct" \\
            else beam(width) if strategy == "beam" else best if strategy == "best" else depth:
        expand: next(path)
        value: Score() worth(path)
"""
    program = compile(text)
    options = Options(model=SimulatedModel({"steps": lambda rng, path: "[1, 2]"}), cache=None)
    rows, vary = [{"start": i} for i in range(30)], ["strategy", "width"]
    found = program.tune(
        rows, maximize="worth(result)", vary=vary, trials=20, budget=1.0, folder=None, options=options
    )
    assert found.tuned.params == {"strategy": "beam", "width": 2}
    points = [(trial.point["strategy"], trial.point.get("width")) for trial in found.trials.values()]
    assert len(points) == 5 and {width for name, width in points if name != "beam"} == {None}
