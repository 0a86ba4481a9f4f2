"""Samples are independent unless the program says otherwise: which are shared, which are new, and what moves
none of them.

The simulator answers with one of 10**6 numbers, so equal answers are the same sample.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.generated import SIMULATORS, Generated, programs
from support.gotc import document, gotc
from support.laws import tried
from support.orders import Delayed, run_in_order, try_in_order

from gotlang import changes_graph
from gotlang.api import Options, compile
from gotlang.cache.memory import MemoryCache
from gotlang.models.base import DecodingSettings, Request
from gotlang.models.capabilities import Capabilities
from gotlang.models.simulated import SimulatedModel
from gotlang.result import Result
from gotlang.runtime.graph import path_text
from gotlang.runtime.sampler.events import Asked, Event

NUMBERS = {
    name: lambda rng, **_: str(rng.randrange(10**6))
    for name in ("answer", "other", "judge", "cold", "rate", "same")
}
NUMBERS["listed"] = lambda rng, **_: str([rng.randrange(10**6) for _ in range(3)])
NUMBERS["good"] = lambda rng, **_: "no"

PROMPTS = """\
prompt answer(q: str) -> int:
    temperature 1.0
    "{{ q }}?"
prompt other(q: str) -> int:
    temperature 1.0
    "other {{ q }}"
prompt cold(q: str) -> int:
    temperature 0.0
    "cold {{ q }}"
prompt judge(q: str) -> int:
    temperature 1.0
    share true
    "judge {{ q }}"
prompt rate(q: str) -> float:
    temperature 1.0
    "rate {{ q }}"
prompt good(q: str) -> bool:
    temperature 1.0
    "good {{ q }}"
prompt listed(q: str) -> list[int]:
    temperature 1.0
    "listed {{ q }}"
prompt same(q: str) -> int:
    temperature 1.0
    "{{ q }}?"
score asked(q: str) -> higher:
    found = Generate() rate(q)
    found
scheme inner(q: str) -> int:
    Generate() answer(q)
scheme cool(q: str) -> int:
    Generate() cold(q)
"""


def text(body: str, result: str = "many int") -> str:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return f"{PROMPTS}scheme main(q: str, xs: list[str]) -> {result}:\n{lines}"


def run(body: str, xs: Sequence[str] = (), *, result: str = "many int", **options: Any) -> Result:
    chance = options.pop("chance", None)
    model = Delayed(SimulatedModel(NUMBERS, batch=options.pop("batch", 128)), chance)
    return run_in_order(text(body, result), {"q": "x", "xs": list(xs)}, model, **options)


def values(body: str, xs: Sequence[str] = (), **options: Any) -> list[int]:
    found: list[int] = run(body, xs, **options).value
    return found


def paid(body: str, xs: Sequence[str] = (), **options: Any) -> int:
    return run(body, xs, **options).outcome.ledger.spent.calls


BRANCHES = "foreach i in range(5):\n    Generate() answer(q)"
INDEPENDENT = {
    "branches": (BRANCHES, 5),
    "equal elements": ('foreach x in ["a", "a", "b"]:\n    Generate() answer(q)', 3),
    "branches in branches": (
        "foreach i in range(3):\n    foreach j in range(3):\n        Generate() answer(q)",
        9,
    ),
    "rounds": ("Pool() [0]\nrepeat 4:\n    y = Generate() answer(q)\n    Map() it + [y]\nMap() it[1:5]", 4),
    "two lines": ("a = Generate() answer(q)\nb = Generate() answer(q)\nPool() a, b", 2),
    "lines that read differently": (
        "p = q\na = Generate() answer(q)\nb = Generate() answer(p)\nPool() a, b",
        2,
    ),
    "two prompts that say the same": ("a = Generate() answer(q)\nb = Generate() same(q)\nPool() a, b", 2),
    "two equal thoughts": ("Pool() q, q\nGenerate(k=3) answer(it)", 6),
    "thoughts that are not shown": ("Generate(k=3) other(q)\nGenerate(k=2) answer(q)", 6),
    "two calls of a scheme": ("a = inner(q)\nb = inner(q)\nPool() a, b", 2),
    "a scheme and its line": ("a = inner(q)\nb = Generate() answer(q)\nPool() a, b", 2),
    "a call for each of two equal thoughts": ("Pool() q, q\ninner(it)", 2),
    "a call for each thought": ('Pool() "a", "b"\ninner(q)', 2),
    "Repeat": ("Generate(k=2) answer(q) Repeat(3)", 6),
}


@pytest.mark.parametrize("name", INDEPENDENT)
def test_operations_share_no_sample(name: str) -> None:
    body, count = INDEPENDENT[name]
    result = "list[int]" if name == "rounds" else "many int"
    found = values(body, result=result)
    found = found if isinstance(found[0], int) else found[0]
    assert len(found) == len(set(found)) == count
    for seed in range(3):
        again = values(body, result=result, chance=Random(seed), concurrency=1 + seed)
        assert again == found or again == [found], "in any order of completion"


def test_merges_of_a_reduce_take_samples_of_their_own() -> None:
    """Each merge keeps what it drew: four merges of five."""
    merge = "    y = Aggregate() answer(str(len(thoughts)))\n    Pool() a + b + [y]"
    body = f"reduce a, b in [[0], [0], [0], [0], [0]]:\n{merge}"
    (found,) = values(body, result="many list[int]")
    drawn = [value for value in found if value]  # type: ignore[attr-defined]
    assert len(drawn) == len(set(drawn)) == 4


def test_trees_of_a_forest_and_scores_share_none() -> None:
    forest = (
        "trees = foreach i in range(2):\n    Generate(k=2) answer(q)\n    Score(k=2) asked(q)\n"
        "    KeepBestN(2)\nPool() trees"
    )
    found = run(forest)
    assert len(set(found.value)) == 4
    assert found.outcome.ledger.spent.calls == found.outcome.ledger.accounts[0].calls == 4 + 2 * 2 * 2
    scores = [
        thought.score
        for thought in run("Pool() q, q\nScore(k=3) asked(it)", result="many str").outcome.thoughts
    ]
    assert len(set(scores)) == 2
    scores = [
        thought.score
        for thought in run("Pool() q, q\nScore(k=3) rate(it)", result="many str").outcome.thoughts
    ]
    assert len(set(scores)) == 2


def test_at_temperature_0_equal_requests_are_one_call() -> None:
    for body, _ in INDEPENDENT.values():
        if "answer(q)" in body and not any(word in body for word in ("inner", "other", "same", "Repeat")):
            cold = body.replace("answer", "cold")
            result = "list[int]" if "it[1:5]" in cold else "many int"
            assert paid(cold, result=result) == 1


@pytest.mark.parametrize(
    "body", ["Generate() answer({})", "inner({})", "Generate(k=2) answer(q)\nScore(k=2) asked({})"]
)
@pytest.mark.parametrize("batch", [1, 128])
def test_an_element_pays_for_itself_alone(body: str, batch: int) -> None:
    steps = "".join(f"    {line}\n" for line in body.format("x").splitlines())
    body = f"foreach x in xs:\n{steps}"
    each = 4 * 2 - 2 if "Score" in body else 1
    cache = MemoryCache()
    for xs, new in (
        (["a", "b", "c"], 3),
        (["new", "a", "b", "c"], 1),
        (["new", "a", "more", "b", "c"], 1),
        (["new", "a", "more", "b", "c", "a"], 1),
        (["a", "a", "b"], 0),
        (["new", "a", "more", "b", "c", "a", "b"], 1),
    ):
        assert paid(body, xs, cache=cache, batch=batch) == new * each, xs


def test_an_element_shifts_no_other_s_samples() -> None:
    def found(xs: list[str]) -> dict[str, int]:
        return dict(zip(xs, values("foreach x in xs:\n    Generate() answer(q)", xs), strict=True))

    few, many = found(["a", "b"]), found(["c", "a", "d", "b"])
    assert {name: many[name] for name in few} == few


def test_a_larger_k_pays_the_difference_and_running_again_nothing() -> None:
    cache = MemoryCache()
    body = "Generate(k={}) answer(q)\nGenerate(k=1) other(str(it))"
    assert paid(body.format(5), cache=cache) == 10
    assert paid(body.format(8), cache=cache) == 6
    assert paid(body.format(8), cache=cache, batch=1) == 0
    assert paid(body.format(3), cache=cache) == 0


UNRELATED = {
    "a line before": "z = Generate(k=2) other(q)\n",
    "a loop before": "z = foreach i in range(3):\n    Generate() other(q)\n",
    "a name that another block uses": "first = foreach x in xs:\n    Map() it + q\n",
    "an if before": 'if q == "y":\n    Pool() 1\nelse:\n    Pool() 2\n',
}


@pytest.mark.parametrize("name", UNRELATED)
def test_lines_elsewhere_move_no_sample(name: str) -> None:
    body = (
        "a = Generate(k={k}) answer(q)\nb = Generate(k=3) answer(q)\n"
        "c = foreach x in xs:\n    Generate() answer(x)\n    inner(q)\nPool() b, c"
    )
    plain = values(body.format(k=1), ["a", "b"])
    assert values(UNRELATED[name] + body.format(k=1), ["a", "b"]) == plain
    assert values(body.format(k=7), ["a", "b"]) == plain, "nor does another k"
    assert values(body.format(k=1), ["a", "b"], level=0) == plain, "nor optimization"


def test_params_that_a_request_does_not_show_move_no_sample() -> None:
    source = "param k = 2 in 1..9\nparam n = 3 in 1..9\nparam keep = 2 in 1..9\n" + text(
        "a = Generate(k=k) answer(q)\nb = foreach i in range(n):\n    Generate() other(q)\n"
        "c = repeat n:\n    Generate(k=k) other(q)\n    Score() it\n    KeepBestN(keep)\n"
        "d = Generate() answer(q)\nPool() c, a, b[0], d"
    )
    found = []
    for params in ({}, {"k": 9}, {"n": 7}, {"keep": 1, "k": 1}):
        options = Options(model=SimulatedModel(NUMBERS), params=params)
        each = compile(source).run(q="x", xs=[], options=options).value
        found.append((each[-2 - params.get("k", 2)], *each[-2:]))
    assert len(set(found)) == 1


def test_exclusive_branches_share_and_lines_after_them_go_on() -> None:
    body = (
        'if q {} "x":\n    a = Generate() answer(q)\n    b = Generate() answer(q)\n    Pool() a, b\n'
        "else:\n    Generate() answer(q)\nc = Generate() answer(q)\nPool() thoughts, c"
    )
    then, otherwise = values(body.format("==")), values(body.format("!="))
    assert otherwise == [then[0], then[2]] and len(set(then)) == 4
    cache = MemoryCache()
    assert (paid(body.format("=="), cache=cache), paid(body.format("!="), cache=cache)) == (4, 0)


def test_equal_lines_of_two_schemes_share_across_runs() -> None:
    source = (
        text("Generate(k=5) answer(q)")
        + "scheme one(q: str, xs: list[str]) -> int:\n    Generate(k=1) answer(q)\n"
    )
    cache, program = MemoryCache(), compile(source)
    calls = []
    for scheme in ("main", "one"):
        options = Options(model=SimulatedModel(NUMBERS), cache=cache)
        calls.append(program.run(scheme=scheme, q="x", xs=[], options=options).outcome.ledger.spent.calls)
    assert calls == [5, 0]


SHARED = {
    "a prompt that says so": (BRANCHES.replace("answer", "judge"), 5, 1),
    "a step that says so": (BRANCHES.replace("Generate()", "Generate(share=true)"), 5, 1),
    "rounds": ("repeat 3:\n    Generate(share=true) answer(q)", 3, 1),
    "elements and k": (
        "a = foreach x in xs:\n    Generate() judge(q)\nb = Generate(k=3) judge(q)\nPool() a, b",
        5,
        3,
    ),
    "k": ("a = Generate(k=2) judge(q)\nb = Generate(k=3) judge(q)\nPool() a, b", 5, 3),
    "Aggregate": (
        "foreach i in range(3):\n    Pool() 1\n    Aggregate(share=true) answer(str(thoughts))",
        3,
        1,
    ),
    "Improve": ("Pool() 1, 1\nImprove(share=true) answer(str(it))", 2, 1),
    "Score": ("Pool() 1, 1\nScore(k=3, share=true) rate(str(it))", 6, 3),
    "Score by a score": ("Pool() 1, 1, 2\nScore(k=3, share=true) asked(str(it))", 9, 6),
    "Validate": ("Pool() 1, 1\nValidate(share=true) good(str(it))", 2, 1),
    "ValidateAndImprove": ("Pool() 1, 1\nValidateAndImprove(2, share=true) it > 10 ** 7, answer(q)", 4, 2),
}


@pytest.mark.parametrize("name", SHARED)
def test_what_is_shared_is_asked_once(name: str) -> None:
    body, asked, made = SHARED[name]
    xs = ["a", "b"] if "xs" in body else []
    found = run(body, xs).outcome.ledger
    assert (found.accounts[0].calls, found.accounts[1].calls, found.spent.calls) == (asked, made, made)
    unshared = run(body.replace("share=true", "share=false").replace("judge", "answer"), xs).outcome.ledger
    assert unshared.spent.calls == asked


def test_the_samples_of_a_shared_scorer_stay_k() -> None:
    (one, two) = (
        thought.score
        for thought in run(
            "Pool() q, q\nScore(k=3, share=true) asked(it)", result="many str"
        ).outcome.thoughts
    )
    assert one == two
    cache = MemoryCache()
    body = "Pool() q, q\nScore(k={}, share=true) asked(it)"
    assert [paid(body.format(k), cache=cache, result="many str") for k in (3, 5, 5)] == [3, 2, 0]


def test_the_summary_tells_what_is_shared(tmp_path: Any) -> None:
    (tmp_path / "main.got").write_text('simulate with "sim.py"\n' + text(SHARED["a prompt that says so"][0]))
    (tmp_path / "sim.py").write_text("".join(f"def {name}(rng, **_): return '1'\n" for name in NUMBERS))
    command = ("run", "main.got", "--input", "q=x", "--input", "xs=[]", "--no-cache")
    assert "5 in 1 request, 0 from cache, 4 shared within the run" in gotc(*command, cwd=tmp_path).stderr
    accounts = document(gotc(*command, "--json", cwd=tmp_path))["ledger"]
    assert (accounts["none"]["calls"], accounts["process"]["calls"]) == (5, 1)


REPEATED = {
    "a call": ("inner(q) Repeat(3)", 3),
    "a bound call": ("a = inner(q) Repeat(2)\nb = inner(q)\nPool() a, b", 3),
    "a block": (
        "Repeat(3):\n    Generate(k=2) answer(q)\n    b = Generate() other(q)\n    Pool() thoughts, b",
        12,
    ),
    "blocks in blocks": ("Repeat(2):\n    Repeat(3):\n        inner(q) Repeat(2)", 12),
    "several thoughts": ("Pool() q, q\nRepeat(2):\n    Generate() answer(it)", 4),
    "a later temperature": ("Generate() cold(q) Repeat(4, temperature=0.5)", 4),
    "later temperatures of a call": ("a = cool(q) Repeat(3, temperature=0.5)\nPool() a", 3),
    "seeds": ("Generate() cold(q) Repeat(4, seed=3)", 4),
    "seeds of a block": ("Repeat(3, seed=1):\n    Generate() cold(q)", 3),
    "a shared prompt": ("Repeat(3):\n    Generate() judge(q)", 3),
}


@pytest.mark.parametrize("name", REPEATED)
def test_repetitions_are_separate(name: str) -> None:
    body, count = REPEATED[name]
    found = values(body)
    assert len(found) == len(set(found)) == count
    assert values(body, chance=Random(1), concurrency=2) == found
    cache = MemoryCache()
    made = paid(body, cache=cache)
    assert (made, paid(body, cache=cache)) == (count, 0)


@pytest.mark.parametrize("form", ["inner(q) Repeat({})", "Repeat({}):\n    Generate(k=2) answer(q)"])
def test_more_repetitions_pay_the_difference(form: str) -> None:
    cache, each = MemoryCache(), form.count("k=2") + 1
    assert [paid(form.format(k), cache=cache) for k in (3, 5, 4)] == [3 * each, 2 * each, 0]


def test_a_seed_of_its_own_is_another_call_at_temperature_0() -> None:
    for seeds, calls in ((("", ""), 1), (("", "seed=1"), 2), (("seed=1", "seed=2"), 2), (("seed=1",) * 2, 1)):
        lines = [f"x{at} = Generate({seed}) cold(q)" for at, seed in enumerate(seeds)]
        assert paid("\n".join([*lines, "Pool() x0, x1"]), result="many int") == calls


def test_the_first_repetition_is_asked_as_it_stands_and_the_later_ones_as_said() -> None:
    seen: list[Any] = []
    body = "Generate() answer(q) Repeat(3, temperature=0.25, seed=7)"
    run(
        body, observe=lambda event: seen.append(event.request.settings) if hasattr(event, "request") else None
    )
    found = {(settings.temperature, settings.seed) for settings in seen}
    assert found == {(1.0, None), (0.25, 7), (0.25, 8)}


def test_numbers_are_exact_in_any_json() -> None:
    numbers: list[int] = []
    found = run(BRANCHES, observe=lambda event: numbers.extend(getattr(event, "numbers", ())))
    assert len(found.value) == len(set(numbers)) == 5
    assert all(2**52 <= number < 2**53 and float(number) == number for number in numbers)
    assert json.loads(json.dumps(numbers)) == numbers


@tried(30)
@given(programs(), st.integers(0, 2**32), st.sampled_from([0, 1, 2]), st.sampled_from([1, 128]))
def test_no_two_operations_of_any_program_share_a_sample(
    program: Generated, seed: int, level: int, batch: int
) -> None:
    """Above temperature 0 each (request, number) is one operation's, the same in any order of completion."""

    def taken(chance: Random | None, **options: Any) -> dict[tuple[str, int], Counter[str]]:
        found: dict[tuple[str, int], Counter[str]] = {}

        def see(event: Event) -> None:
            if isinstance(event, Asked) and event.request.settings.temperature != 0:
                assert event.operation is not None
                for number in event.numbers:
                    found.setdefault((event.key, number), Counter())[path_text(event.operation)] += 1

        model = Delayed(SimulatedModel(SIMULATORS, batch=batch), chance)
        try_in_order(program.text, dict(program.inputs), model, truth=3, level=level, observe=see, **options)
        return found

    found = taken(None, concurrency=1)
    assert {key: askers for key, askers in found.items() if askers.total() > 1} == {}
    other = taken(Random(seed))
    both = found.keys() & other.keys()
    assert {key: found[key] for key in both} == {key: other[key] for key in both}


def test_what_python_adds_takes_samples_of_its_own() -> None:
    @changes_graph
    def grow(view: Any, n: int) -> list[Any]:
        return [view.add("Generate() answer(q)", q="x") for _ in range(n)]

    cache = MemoryCache()
    body = (
        "Pool() 1, 1\nb = Call grow(len(xs))\nc = Call grow(len(xs))\nd = Pool() b, c\nPool() [x for x in d]"
    )
    found = [run(body, "x" * n, result="any", functions={"grow": grow}, cache=cache) for n in (2, 3)]
    first, second = (set(each.value) for each in found)
    assert (len(first), len(second), first <= second) == (8, 12, True)
    assert [each.outcome.ledger.spent.calls for each in found] == [8, 4]


def test_an_endpoint_is_sent_no_seed_that_it_cannot_take() -> None:
    request = Request("m", (), DecodingSettings(seed=5))
    sent = [Capabilities(1).settings(request, first)["seed"] for first in (0, 2**52, 2**53 - 1)]
    assert sent[0] == 5 and all(0 <= seed < 2**31 for seed in sent)
