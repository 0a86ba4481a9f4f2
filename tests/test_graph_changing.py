"""Python that changes the graph of a run: what it adds runs, what it may not do is refused, by name."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.changing import ANSWERS, HEAD, go
from support.generated import SIMULATORS, Generated, programs
from support.graphs import exclusive
from support.laws import tried
from support.orders import Delayed, everything, on_virtual_time, try_in_order

from gotlang import ForbiddenEdit, GraphError, Options, View, compile, load
from gotlang.api import Session
from gotlang.changes.change import RULES, Regions, sources
from gotlang.errors import GotError, RunError
from gotlang.models.simulated import SimulatedModel
from gotlang.result import Result
from gotlang.runtime.context import Context
from gotlang.runtime.engine import SCHEDULERS
from gotlang.runtime.graph import Frame, Graph, Handle, Operation
from gotlang.runtime.roles import ROLES


def spread(view: View, x: int) -> Any:
    drafts = [view.add("Generate() draft(x, by)", x=x, by=by) for by in (10, 20, 30)]
    return view.add("Aggregate() merge(thoughts)", after=drafts)


def test_three_operations_and_one_of_their_thoughts() -> None:
    found = go("Call change(x)\nMap() it * 2", spread)
    assert isinstance(found, Result), found
    assert found.value == (11 + 21 + 31) * 2
    assert found.outcome.hops == 2 and found.outcome.ledger.accounts[0].calls == 4


def test_the_thought_at_hand_is_what_added_steps_start_from() -> None:
    found = go("Generate() parts(x)\nCall change()", lambda view: view.add("Map() it * 10"), many=True)
    assert isinstance(found, Result) and found.value == [10, 20, 30]


@pytest.mark.parametrize(
    ("function", "value"),
    [
        (lambda view: 7, 7),
        (lambda view: [], []),
        (lambda view: view.given, 1),
        (lambda view: [view.add("Map() [it, n]", n=5)], [1, 5]),
        (lambda view: view.connect(view.add("Map() it + 8"), view.result), 9),
        (lambda view: view.add("Map() it + a", a=view.add("Map() it * 10"), after=view.named("start")), 12),
        (lambda view: view.add("Pool() sum(thoughts)", after=[view.given, view.named("start")]), 3),
    ],
)
def test_what_a_function_may_give(function: Callable[..., Any], value: Any) -> None:
    # What a call is given by name it depends on, and may use.
    found = go(
        "start = x + 1\nPool() x\nCall change(start)", lambda view, start: function(view), returns="any"
    )
    assert isinstance(found, Result), found
    assert found.value == value


def test_a_function_may_be_async() -> None:
    async def change(view: View) -> Any:
        return view.add("Map() it + 1\nMap() it * 2")

    found = go("Pool() x\nCall change()", change)
    assert isinstance(found, Result) and found.value == 4


def again(view: View, depth: int) -> Any:
    if depth == 0:
        return view.given
    return view.add("Map() it + 1\nCall change(depth)", depth=depth - 1)


def test_what_is_added_may_change_the_graph_again() -> None:
    found = go("Pool() x\nCall change(300)", again)
    assert isinstance(found, Result), found
    assert found.value == 301


def test_connections_of_the_program_are_moved() -> None:
    """The step after the call then takes other thoughts, under its name for them too."""

    def change(view: View) -> Any:
        (after,) = view.outputs(view.result)
        better = view.add("Map() it * 100", after=view.result)
        view.move(view.result, after, better)
        return view.given

    for body in (
        "a = Call change()\nMap() a + it",
        "Call change()\nMap() it + it",
        "Call change()\nif it > 1:\n    Map() it * 2",
    ):
        found = go("Pool() x\n" + body, change)
        assert isinstance(found, Result), found
        assert found.value in (200, 101)


def test_steps_that_are_not_needed_are_taken_away() -> None:
    def change(view: View) -> Any:
        asks, last = list(view.descendants())[1:3]
        view.move(asks, last, view.result)
        view.remove(asks)
        return view.given

    found = go("Pool() x\nCall change()\nGenerate() draft(it, 5)\nMap() it + 1", change)
    assert isinstance(found, Result), found
    assert found.value == 2 and found.outcome.ledger.accounts[0].calls == 0
    assert [o.state for o in found.outcome.graph.operations].count(5) == 1


def test_what_is_gathered_comes_in_the_order_of_places() -> None:
    """Two calls side by side add to the list that both of them lead to."""

    def change(view: View, n: int) -> Any:
        gathers = next(p for p in view.descendants() if view.region(p) == "shared")
        view.connect(view.add("Map() n * 10", n=n), gathers)
        return n

    for seed in range(5):
        found = go("foreach y in [1, 2, 3]:\n    Call change(y)", change, many=True, chance=Random(seed))
        assert isinstance(found, Result), found
        assert found.value == [1, 2, 3, 10, 20, 30]


WRONG: dict[str, tuple[Callable[..., Any], str]] = {
    "raises": (lambda view: 1 / 0, "`change` raised ZeroDivisionError"),
    "nothing": (lambda view: None, "returned None and connected nothing"),
    "no value": (lambda view: object(), "returned a object, which is not a value"),
    "itself": (lambda view: view, "returned a View, which is not a value"),
    "several": (lambda view: view.add("Generate(k=3) draft(it, 1)"), "the program needs one"),
    "two": (lambda view: [view.given, view.add("Map() 1")], "the program needs one"),
    "syntax": (lambda view: view.add("Generate( draft(it, 1)"), "in `Generate( draft(it, 1)`"),
    "a prompt": (lambda view: view.add("Generate() nothing(it)"), "prompt `nothing` is not known"),
    "a name": (lambda view: view.add("Map() it + y"), "`y` is not known"),
    "an argument": (lambda view: view.add("Generate() draft(it)"), "`by`"),
    "a word": (lambda view: view.add("Map() it", thoughts=3), "`thoughts` is declared or reserved"),
    "no place": (lambda view: view.add("Map() it", after=["a"]), "expected a place"),
    "no thoughts": (lambda view: view.named("x"), "`x` is not bound to thoughts"),
    "ancestors": (lambda view: view.remove(next(view.ancestors())), "rule `ancestors`"),
    "itself removed": (lambda view: view.remove(view.itself), "rule `exclusive`"),
    "its result": (lambda view: view.move(view.itself, view.result, view.given), "belong together"),
    "what is needed": (lambda view: view.remove(view.result), "takes its thoughts"),
    "a step's thoughts": (
        lambda view: view.connect(view.given, list(view.descendants())[1]),
        "does not gather",
    ),
    "the end": (lambda view: view.remove(list(view.descendants())[-1]), "it gives the run's result"),
    "a circle": (
        lambda view: (
            view.add("Map() it", after=view.add(after=view.result))
            and view.connect(view.add(after=view.result), view.result)
        ),
        "wait for itself",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_ends_the_run_and_changes_nothing(case: str) -> None:
    function, message = WRONG[case]
    found = go("Pool() x\nCall change()\nMap() it", function)
    assert isinstance(found, RunError), found
    assert message in found.message, found.message
    assert found.message.startswith("Call change")


def test_a_function_that_fails_for_one_thought_is_left_out_for_it() -> None:
    def change(view: View, n: int) -> Any:
        view.add("Generate() draft(0, 0)")
        if n == 2:
            raise ValueError("not this one")
        return view.add("Map() it * 10")

    found = go("Generate() parts(x)\nCall change(it)", change, many=True)
    assert isinstance(found, Result), found
    assert found.value == [10, 30]
    (failure,) = found.outcome.failures
    assert "not this one" in failure.reason
    # What it had added by then is not there.
    assert sum(o.role == "Generate" for o in found.outcome.graph.operations) == 1 + 2


def test_places_of_others_cannot_be_seen() -> None:
    kept: dict[int, Any] = {}
    rules: list[str] = []

    def change(view: View, n: int) -> Any:
        for place in kept.values():
            try:
                view.add("Map() it", after=place)
            except ForbiddenEdit as error:
                rules.append(error.rule)
        kept[n] = view.given
        return n

    found = go("foreach y in [1, 2]:\n    Call change(y)", change, many=True, concurrency=1)
    assert isinstance(found, Result), found
    assert rules == ["sight"]


def test_an_expression_cannot_change_the_graph() -> None:
    found = go("Map() change(x)", lambda view, x: x)
    assert isinstance(found, RunError)
    assert "only `Call() change(...)` can run it" in found.message


@tried(8)
@given(st.integers(0, 2**32), st.none() | st.integers(1, 4), st.sampled_from(sorted(SCHEDULERS)))
def test_order_changes_nothing(seed: int, limit: int | None, schedule: str) -> None:
    def change(view: View, n: int) -> Any:
        drafts = [view.add("Generate(k=2) draft(it, by)\nVote()", by=by) for by in range(n)]
        last = view.add("Aggregate() merge(thoughts)", after=[view.given, *drafts])
        return view.add("Call change(n)", after=last, n=n - 1) if n > 1 else last

    body = "Generate() parts(x)\nCall change(2)\nAggregate() merge(thoughts)"
    plain = go(body, change, concurrency=1)
    other = go(body, change, chance=Random(seed), concurrency=limit, schedule=schedule)
    assert isinstance(plain, Result) and isinstance(other, Result), other
    assert everything(other) == everything(plain)


def test_what_others_add_meanwhile_is_not_seen() -> None:
    """An independent block uses the call's result by name. Whether it is expanded yet depends on timing."""
    body = (
        "many = Generate() parts(x)\n"
        "Generate() draft(x, 1)\n"
        "mine = Call change()\n"
        "foreach y in many:\n"
        "    Pool() y, mine\n"
        "    Vote()"
    )
    seen: set[tuple[str, ...]] = set()
    grown: set[bool] = set()

    def change(view: View) -> Any:
        seen.add(tuple(place.name for place in view.descendants()))
        joins = view._change.result
        assert joins is not None
        grown.add(bool(joins.successors))
        return view.given

    for seed in range(20):
        found = go(body, change, many=True, chance=Random(seed))
        assert isinstance(found, Result), found
    assert grown == {True, False} and len(seen) == 1


BESIDE = {
    "what comes after": """
bad = Generate() fails(x)
s = Generate() draft(x, 1)
a = Call change(s)
f =
    try:
        Map() a + bad
    else:
        skip
p = Pool() f, x
foreach y in p:
    Map() y
""",
    "what came before": """
bad = Generate() fails(x)
s = Generate() draft(x, 1)
f =
    try:
        Map() s + bad
    else:
        skip
Pool() f, x
Call change()
""",
}


@pytest.mark.parametrize("body", BESIDE)
def test_when_something_beside_it_fails_changes_nothing(body: str) -> None:
    """A `try` goes on after what failed, so what an operation sees does not lead through it."""
    seen = []

    def change(view: View, *_: Any) -> Any:
        places = [*view.ancestors(), *view.descendants()]
        seen.append([(place.name, place.state, place.values, view.region(place)) for place in places])
        for place in view.descendants():
            if place.name == "main/y":
                view.connect(view.add("Map() 100"), place)
        return 3

    found = [go(BESIDE[body], change, many=True, late=late) for late in ("fails", "draft")]
    assert all(isinstance(one, Result) for one in found), found
    assert everything(found[0]) == everything(found[1])
    assert seen[0] == seen[-1]


def test_a_reduce_merges_what_its_list_gathered() -> None:
    def change(view: View, n: int) -> Any:
        gathers = next(p for p in view.descendants() if p.name == "main/y")
        view.connect(view.add("Map() n * 10", n=n), gathers)
        return n

    body = "foreach y in [1, 2, 3]:\n    Call change(y)\nreduce a, b:\n    Aggregate() merge([a, b])"
    found = go(body, change)
    assert isinstance(found, Result), found
    assert found.value == 66


def test_who_uses_what_was_taken_away_is_told() -> None:
    body = (
        "many = Generate() parts(x)\n"
        "Generate() draft(x, 1)\n"
        "other = Call change()\n"
        "spare = other + 2\n"
        "foreach y in many:\n"
        "    Map() y + spare"
    )

    def change(view: View) -> Any:
        view.remove(next(p for p in view.descendants() if "spare" in p.name))
        return view.given

    messages = set()
    for seed in range(10):
        found = go(body, change, many=True, chance=Random(seed))
        assert isinstance(found, RunError), found
        messages.add(found.message.split(" (and ")[0])
    assert len(messages) == 1
    assert "it was removed by `change`" in messages.pop()


# ---------------------------------------------------------------- the language's own blocks


@tried(40)
@given(programs(), st.integers(0, 2**32))
def test_the_blocks_of_the_language_obey_the_rules(program: Generated, seed: int) -> None:
    """What a block adds while the graph runs lies between it and its own result: new connections to what was
    there lead to its exclusive descendants only, and start at what it added or at what it may see. Beside its
    ancestors that is what its names stood for when it was laid out: inputs it did not have to wait for.
    """

    def watched(context: Context, operation: Operation, thoughts: Any) -> Any:
        graph = context.graph
        before = {o: o.inputs for o in graph.operations}
        try:
            return plain(context, operation, thoughts)
        finally:
            check(graph, operation, before)

    plain = ROLES["grow"]
    ROLES["grow"] = watched
    try:
        model = Delayed(SimulatedModel(SIMULATORS), Random(seed))
        try_in_order(program.text, dict(program.inputs), model, truth=3)
    finally:
        ROLES["grow"] = plain


def check(graph: Graph, grew: Operation, before: dict[Operation, tuple[Operation, ...]]) -> None:
    regions = Regions(grew)
    edges = {(u, v) for v, inputs in before.items() for u in (inputs or sources(v))}
    mine: set[Operation] | None = None
    named = visible(grew.frame)
    for operation in graph.operations:
        was = before.get(operation, ())
        for source in (u for u in operation.inputs if u not in was):
            if operation in before:
                if mine is None:
                    mine = exclusive(grew, before, edges)
                assert operation in mine, f"{grew!r} changes {operation!r}"
            known = source not in before or source is grew or regions.is_ancestor(source)
            assert known or source in named, f"{grew!r} takes {source!r}"


def visible(frame: Frame | None) -> set[Operation]:
    """The operations that names in a frame stand for, and the parts of those."""
    found: set[Operation] = set()
    while frame is not None:
        found |= {bound.operation for bound in frame.names.values() if isinstance(bound, Handle)}
        frame = frame.parent
    return found | {part for operation in found for part in operation.parts or ()}


def test_errors_of_a_view_are_errors_of_the_language() -> None:
    assert issubclass(ForbiddenEdit, GraphError) and issubclass(GraphError, GotError)


# ---------------------------------------------------------------- both graphs, and the page about them

PAGE = Path(__file__).parents[1] / "docs" / "graphs.md"


def test_the_example_of_the_page_runs(tmp_path: Path) -> None:
    files = re.findall(r"^```\w+ file=(\S+)\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    for name, text in files:
        (tmp_path / name).write_text(text)
    simulators = {
        "draft": lambda rng, question, angle: f"{angle}!",
        "merge": lambda rng, drafts: " ".join(drafts),
    }
    options = Options(model=SimulatedModel(simulators))
    result = load(tmp_path / "angles.got").run(question="A bridge?", options=options)
    assert result.value == "safety! speed!"
    result = load(tmp_path / "angles.got").run(question="What cost?", options=options)
    assert result.value == "cost! safety! speed!" and result.outcome.hops == 2


def test_the_page_names_the_rules_that_there_are() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (?:an? |it )", PAGE.read_text(), re.MULTILINE)
    assert rows == list(RULES)


def test_both_graphs_are_there_at_any_step() -> None:
    seen: list[dict[str, Any]] = []

    async def work() -> Result:
        model = Delayed(SimulatedModel(ANSWERS), Random(5))
        text = HEAD + "scheme main(x: int) -> many int:\n    Generate() parts(x)\n"
        text += "    Generate(k=2) draft(it, 3)\n"
        async with Session(compile(text, "p.got"), Options(model=model)) as session:
            run = asyncio.create_task(session.run({"x": 1}))
            while not run.done():
                seen.extend(session.graphs())
                await asyncio.sleep(0.5)
            return await run

    result = on_virtual_time(work)
    lines, thoughts = result.graph(), result.thoughts()
    assert json.loads(json.dumps([lines, thoughts])) == [lines, thoughts]
    assert [line["kind"] for line in lines if line["kind"] != "constant"] == ["Generate", "Generate"]
    assert [t["value"] for t in thoughts] == [1, 2, 3, 4, 4, 5, 5, 6, 6]
    assert thoughts[3]["parents"] == [thoughts[0]["thought"]]
    counts = [len(now["thoughts"]) for now in seen]
    assert counts == sorted(counts) and counts[0] == 0
    states = {line["state"] for now in seen for line in now["operations"]}
    assert {"waiting", "running", "done"} <= states
