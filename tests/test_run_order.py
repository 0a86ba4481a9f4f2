"""The same result, the same graph and the same ledger, in whatever order things end."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st
from support.generated import SIMULATORS, Generated, programs
from support.laws import tried
from support.orders import Delayed, everything, run_in_order, try_in_order

from gotlang.errors import RunError
from gotlang.models.simulated import SimulatedModel
from gotlang.result import Result
from gotlang.runtime.engine import SCHEDULERS

limits = st.none() | st.integers(1, 100)
orders = st.tuples(st.integers(0, 2**32), limits, st.sampled_from(sorted(SCHEDULERS)))


@tried(60)
@given(
    programs(),
    orders,
    st.sampled_from([0, 1, 2]),
    st.fixed_dictionaries({"batching": st.booleans(), "prefer": st.sampled_from(("cost", "latency"))}),
    st.none() | st.integers(1, 3),
    st.sampled_from([1, 2, 128]),
)
def test_order_changes_nothing(
    program: Generated,
    order: tuple[int, int | None, str],
    level: int,
    saving: dict[str, bool],
    wave: int | None,
    batch: int,
) -> None:
    """Whatever is optimized, sampled in waves and asked together."""

    def run(chance: Random | None, **options: object) -> Result | RunError:
        model = Delayed(SimulatedModel(SIMULATORS, batch=batch), chance)
        how = {"level": level, "wave": wave, **saving, **options}
        return try_in_order(program.text, dict(program.inputs), model, truth=3, **how)

    seed, limit, schedule = order
    plain = run(None, concurrency=1)
    other = run(Random(seed), concurrency=limit, schedule=schedule)
    if isinstance(plain, RunError):
        assert isinstance(other, RunError)
        return
    assert isinstance(other, Result), other
    assert everything(other) == everything(plain)
    paid, again = plain.outcome.ledger.spent, other.outcome.ledger.spent
    assert (again.calls, again.output_tokens) == (paid.calls, paid.output_tokens)


TREE = """
prompt parts(x: int, depth: int) -> list[int]:
    "parts {{ x }} {{ depth }}"
prompt leaf(x: int) -> int:
    "leaf {{ x }}"
prompt merge(a: int, b: int) -> int:
    "merge {{ a }} {{ b }}"
score near(x: int) -> lower, best 0:
    abs(x - 50)
scheme grow(x: int, depth: int) -> int:
    Generate() parts(x, depth)
    foreach i, part in enumerate(it):
        if depth > 0 and part > 1:
            grow(10 * x + part, depth - 1)
        else:
            Generate(k=3) leaf(10 * x + part)
            Score() near(it)
            KeepBestN(1)
    reduce a, b as step:
        Aggregate(k=2) merge(a, b)
        Score() near(it)
        KeepBestN(1)
        Improve() leaf(it)
        Score() near(it)
        KeepBestN(1)
scheme tree(x: int) -> int:
    grow(x, 3)
"""
TREE_SIMULATORS = {
    "parts": lambda rng, x, depth: str([rng.randrange(5) for _ in range(rng.randrange(1, 4))]),
    "leaf": lambda rng, x: str(rng.randrange(30, 60)),
    "merge": lambda rng, a, b: str((a + b) // 2 + rng.randrange(-3, 3)),
}


@tried(20)
@given(orders, st.integers(0, 50))
def test_a_graph_that_answers_grow_is_the_same_in_any_order(
    order: tuple[int, int | None, str], start: int
) -> None:
    seed, limit, schedule = order

    def run(chance: Random | None, **options: object) -> Result:
        return run_in_order(TREE, {"x": start}, Delayed(SimulatedModel(TREE_SIMULATORS), chance), **options)

    plain = run(None, concurrency=1)
    assert everything(run(Random(seed), concurrency=limit, schedule=schedule)) == everything(plain)


LOST = """
prompt fails(x: int) -> int:
    "fails {{ x }}"
prompt listed(x: int) -> list[int]:
    "listed {{ x }}"
prompt add(a: int, b: int) -> int:
    "{{ a }} {{ b }}"
scheme main(x: int) -> many int:
    bad = Generate() fails(x)
    xs = Generate() listed(x)
    try:
        foreach y in xs:
            Generate() add(bad, y)
    else:
        Pool() x
"""


def test_what_never_ran_adds_to_no_path() -> None:
    """Whether what it needs had failed by the time it was added, or failed later."""
    simulators = {"fails": lambda rng, x: "none", "listed": lambda rng, x: "[1, 2]"}
    found = [
        run_in_order(LOST, {"x": 1}, Delayed(SimulatedModel(simulators), late=late))
        for late in ("fails", "listed")
    ]
    assert everything(found[0]) == everything(found[1])
    assert found[0].value == [1] and found[0].outcome.hops == 0


UNDONE = """
prompt listed(x: int) -> list[int]:
    "listed {{ x }}"
prompt near(x: int) -> int:
    "near {{ x }}"
prompt add(a: int, b: int) -> int:
    "{{ a }} {{ b }}"
scheme main(x: int) -> many int:
    xs = Generate() listed(x)
    ys = foreach y in xs:
        Generate() near(y)
    sums = foreach z in [1, 2] after [1 // (2 * x - z)]:
        reduce a, b in ys:
            Aggregate() add(a, b)
    try:
        Pool() sums
    else:
        Pool() ys
"""


def test_a_block_that_was_not_laid_out_asks_nothing_later() -> None:
    simulators = {
        "listed": lambda rng, x: "[1, 2]",
        "near": lambda rng, x: str(x),
        "add": lambda rng, a, b: str(a + b),
    }
    found = run_in_order(UNDONE, {"x": 1}, SimulatedModel(simulators))
    assert found.value == [1, 2] and "division by zero" in found.outcome.failures[0].reason
    assert found.outcome.ledger.spent.calls == 3


TOGETHER = """
prompt first(x: int) -> int:
    "first {{ x }}"
prompt second(x: int) -> int:
    "second {{ x }}"
prompt near(x: int) -> int:
    "near {{ x }}"
scheme main(x: int) -> many int:
    p = Generate() first(x)
    q = Generate() second(x)
    one = Generate(k=1) near(p)
    three = Generate(k=3) near(q)
    Pool() one, three
"""


def test_how_long_an_answer_took_does_not_hang_on_what_was_asked_with_it() -> None:
    simulators = dict.fromkeys(("first", "second", "near"), lambda rng, x: str(x))
    found = [
        run_in_order(TOGETHER, {"x": 1}, Delayed(SimulatedModel(simulators), late=late))
        for late in ("first", "second")
    ]
    assert everything(found[0]) == everything(found[1])


def test_what_a_thought_cost_does_not_hang_on_what_was_asked_with_it() -> None:
    text = TOGETHER.replace("Pool() one, three", "Pool() one, three\n    Score() cost(it)")
    simulators = dict.fromkeys(("first", "second", "near"), lambda rng, x: str(x))
    costs = []
    for late in ("first", "second"):
        found = run_in_order(text, {"x": 1}, Delayed(SimulatedModel(simulators), late=late))
        costs.append([thought.score for thought in found.outcome.thoughts])
    assert costs[0] == costs[1]
    assert costs[0][0] > costs[0][1] == costs[0][3], "one that is asked alone pays the whole prompt"
