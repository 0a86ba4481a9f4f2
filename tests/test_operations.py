"""What each operation and block means, on small programs with exact simulators."""

from __future__ import annotations

from typing import Any

import pytest

from gotlang.api import Options, compile
from gotlang.errors import RunError
from gotlang.models.simulated import SimulatedModel
from gotlang.result import Result


def run(body: str, *, declarations: str = "", result: str = "any", inputs: str = "", **given: Any) -> Result:
    simulators = given.pop("simulators", {})
    options = given.pop("options", {})
    lines = "\n".join("    " + line for line in body.strip("\n").split("\n"))
    text = f"{PROMPTS}\n{declarations}\nscheme main({inputs}) -> {result}:\n{lines}\n"
    model = SimulatedModel({**SIMULATORS, **simulators})
    return compile(text, "main.got").run(given, options=Options(model=model, **options))


PROMPTS = """
prompt digit(of: any) -> int:
    "digit {{ of }}"
prompt next(n: int) -> int:
    "after {{ n }}"
prompt add(a: int, b: int) -> int:
    "{{ a }} + {{ b }}"
prompt add_all(numbers: list[int]) -> int:
    "sum of {{ numbers }}"
prompt parts(n: int) -> many int:
    "parts of {{ n }}"
prompt listed(n: int) -> list[int]:
    "list of {{ n }}"
prompt even(n: int) -> bool:
    "is {{ n }} even?"
prompt rate(n: int) -> float:
    "rate {{ n }}"
score size(n: int) -> higher:
    n
score distance(n: int, goal: int) -> lower, best 0:
    abs(n - goal)
score grade(n: int) -> higher:
    points = Generate() rate(n)
    points
"""
SIMULATORS = {
    "digit": lambda rng, of: str(rng.randrange(10)),
    "next": lambda rng, n: str(n + 1),
    "add": lambda rng, a, b: str(a + b),
    "add_all": lambda rng, numbers: str(sum(numbers)),
    "parts": lambda rng, n: str(list(range(n))),
    "listed": lambda rng, n: str(list(range(n))),
    "even": lambda rng, n: "yes" if n % 2 == 0 else "no",
    "rate": lambda rng, n: str(n * 10),
}


def calls(result: Result) -> int:
    return result.outcome.ledger.accounts[0].calls


def test_generate_gives_k_thoughts_for_each_current_one() -> None:
    result = run("Generate() parts(3)\nGenerate(k=2) next(it)", result="list[int]")
    assert result.value == [1, 1, 2, 2, 3, 3]
    assert calls(result) == 1 + 3 * 2
    assert result.outcome.hops == 2


def test_improve_replaces_what_it_started_from_or_keeps_it_in_front() -> None:
    assert run("Generate() parts(2)\nImprove(k=1) next(it)", result="list[int]").value == [1, 2]
    assert run("Generate() parts(2)\nImprove(keep=true) next(it)", result="list[int]").value == [0, 1, 1, 2]
    assert run("Generate() parts(2)\nImprove(keep=false) next(it)", result="list[int]").value == [1, 2]


@pytest.mark.parametrize("scorer", ["rate(it)", "grade(it)"])
def test_a_thought_that_improve_keeps_is_not_scored_again(scorer: str) -> None:
    first = f"Generate() parts(2)\nScore(k=3) {scorer}\n"
    again = run(first + f"Improve(keep=true) next(it)\nScore(k=3) {scorer}", result="many int")
    assert [thought.score for thought in again.outcome.thoughts] == [0, 10, 10, 20]
    assert calls(again) == 1 + 2 * 3 + 2 + 2 * 3
    replaced = run(first + f"Improve(k=2) next(it)\nScore(k=3) {scorer}", result="list[int]")
    assert calls(replaced) == 1 + 2 * 3 + 4 + 4 * 3
    other = run(first + f"Improve(keep=true) next(it)\nScore(k=2) {scorer}", result="list[int]")
    assert calls(other) == 1 + 2 * 3 + 2 + 4 * 2
    once_more = run(first + f"Score(k=3) {scorer}", result="list[int]")
    assert calls(once_more) == 1 + 2 * 3 + 2 * 3


def test_aggregate_sees_all_thoughts() -> None:
    result = run("Generate() parts(4)\nAggregate() add_all(thoughts)", result="int")
    assert result.value == 6
    assert len(result.outcome.thoughts[0].parents) == 4


def test_a_score_may_see_the_other_thoughts() -> None:
    body = "Generate() parts(4)\nrivals = thoughts\nScore() beaten(it, rivals)\nKeepBestN(2)"
    score = "score beaten(n: int, rivals: list[int]) -> higher:\n    len([x for x in rivals if x > n])"
    assert run(body, declarations=score, result="list[int]").value == [0, 1]


def test_keep_best_prefers_the_earlier_of_equals_and_obeys_the_direction() -> None:
    body = "Generate() parts(5)\nScore() distance(it, 2)\nKeepBestN(3)"
    assert run(body, result="list[int]").value == [2, 1, 3]
    assert run("Generate() parts(5)\nScore() size(it)\nKeepBestN(2)", result="list[int]").value == [4, 3]
    assert run("Generate() parts(5)\nScore() 0 - it\nKeepBestN(1)", result="int").value == 0


def test_scores_by_prompts_are_means_of_samples() -> None:
    result = run("Generate() parts(3)\nScore(k=4) rate(it)\nKeepBestN(1)", result="int")
    assert (result.value, result.score) == (2, 20.0)
    assert calls(result) == 1 + 3 * 4


def test_a_score_may_ask_a_model_before_its_number() -> None:
    declarations = (
        "score quality(n: int) -> lower:\n    a = Generate(k=2) rate(n)\n"
        "    b = Generate() next(n)\n    mean(a) + b"
    )
    result = run(
        "Generate() parts(3)\nScore(k=2) quality(it)\nKeepBestN(1)", declarations=declarations, result="int"
    )
    assert (result.value, result.score) == (0, 1.0)
    assert calls(result) == 1 + 3 * 2 * 3


@pytest.mark.parametrize("by", ["rate(it)", "quality(it)"])
def test_samples_that_are_too_large_together_have_a_mean(by: str) -> None:
    declarations = "score quality(n: int) -> lower:\n    a = Generate() rate(n)\n    a"
    given = {"declarations": declarations, "simulators": {"rate": lambda rng, n: "1e308"}}
    assert run(f"Generate() next(1)\nScore(k=3) {by}", result="int", **given).score == pytest.approx(1e308)


def test_samples_of_a_score_are_separate_contexts() -> None:
    declarations = "score luck(n: int) -> higher:\n    a = Generate() digit(n)\n    a"
    result = run("Generate() next(1)\nScore(k=20) luck(it)", declarations=declarations, result="int")
    assert result.score is not None
    assert result.score != int(result.score) or calls(result) == 21
    assert result.outcome.ledger.accounts[1].calls == 21  # no sample was shared with another


@pytest.mark.parametrize("judged", ["Validate() even(it)", "ValidateAndImprove(tries=2) even(it), next(it)"])
@pytest.mark.parametrize(("max_calls", "value"), [(1, [0, 2]), (2, [0]), (4, [0, 2])])
def test_what_no_judge_was_asked_about_is_not_called_invalid(judged: str, max_calls: int, value: Any) -> None:
    body = f"Generate() parts(3)\nSelect() it != 1\n{judged}\nKeepValid()"
    found = run(body, result="many any", options={"max_calls": max_calls})
    assert found.value == value
    assert (found.outcome.partial is None) == (max_calls == 4)


def test_validate_keep_valid_and_improve() -> None:
    assert run("Generate() parts(4)\nValidate() it > 1\nKeepValid()", result="list[int]").value == [2, 3]
    assert run("Generate() parts(4)\nValidate() even(it)\nKeepValid()", result="list[int]").value == [0, 2]
    mended = run("Generate() parts(4)\nValidateAndImprove(tries=2) it > 1, next(it)", result="list[int]")
    assert mended.value == [2, 2, 2, 3]
    assert calls(mended) == 1 + 2 + 1


def test_select_by_condition_and_by_position() -> None:
    assert run("Generate() parts(5)\nSelect() it % 2 == 1", result="list[int]").value == [1, 3]
    assert run("Generate() parts(5)\nSelect([3, 0])", result="list[int]").value == [3, 0]


def test_vote_counts_values_and_weights() -> None:
    assert run("xs = [2, 1, 1]\nforeach x in xs:\n    Map() x\nVote()", result="int").value == 1
    assert run("xs = [2, 1, 1]\nforeach x in xs:\n    Map() x\nVote(weight=it * it)", result="int").value == 2
    assert run("xs = [2, 1]\nforeach x in xs:\n    Map() x\nVote()", result="int").value == 2


def test_map_and_pool_and_bindings_leave_the_pool_alone() -> None:
    body = "Generate() next(1)\na = Generate() next(it)\nb = it * 100\nPool() it, a, b\nMap() it + 1"
    assert run(body, result="list[int]").value == [3, 4, 201]


def test_foreach_keeps_order_and_names_its_results() -> None:
    body = "foreach i, x in enumerate([5, 6, 7]):\n    Map() x * 10 + i\nPool() x[2], x[0]"
    assert run(body, result="list[int]").value == [72, 50]


def test_foreach_after_waits_for_what_it_names() -> None:
    body = (
        'texts = ["a", "b <1>", "c <2> <1>"]\n'
        "foreach t in texts after references(t):\n    Map() fill(t, done)"
    )
    assert run(body, result="list[str]").value == ["a", "b a", "c b a a"]


def test_reduce_merges_neighbours_and_moves_an_odd_one_up() -> None:
    body = "Generate() parts(5)\nreduce a, b as step:\n    Aggregate() add(a, b)"
    result = run(body, result="int")
    assert result.value == 10
    assert result.outcome.hops == 1 + 3
    assert calls(result) == 1 + 4


def test_reduce_tells_level_position_and_last() -> None:
    body = (
        "reduce a, b in [[0], [0], [0]] as step:\n"
        "    Map() a + b + [step.level * 10 + step.position, 1 if step.last else 0]\n"
        "    Select([0])\n    Vote()"
    )
    assert run(body, result="list[int]").value == [0, 0, 11, 0, 0, 21, 1]


def test_merges_start_before_their_level_is_complete() -> None:
    """The slow last element does not hold the merges of the others."""
    body = "foreach x in [1, 2, 3, 4]:\n    Generate() next(x)\nreduce a, b:\n    Aggregate() add(a, b)"
    result = run(body, result="int")
    grown = {o.role for o in result.outcome.graph.operations}
    assert "grow" not in grown  # the shape was known from the start
    assert result.outcome.hops == 3


def test_repeat_counts_and_stops() -> None:
    assert run("Generate() next(0)\nrepeat 3 as i:\n    Map() it * 10 + i", result="int").value == 1012
    body = "Generate() next(0)\nrepeat 10 until it >= 4:\n    Generate() next(it)"
    result = run(body, result="int")
    assert (result.value, calls(result)) == (4, 4)


def test_every_sampling_operation_takes_its_own_samples() -> None:
    lines = "".join(f"x{i} = Generate() digit(1)\n" for i in range(9))
    again = run(f"{lines}Pool() {', '.join(f'x{i}' for i in range(9))}", result="list[int]")
    assert len(set(again.value)) > 3
    assert (calls(again), again.outcome.ledger.spent.calls) == (9, 9)
    body = "Generate() digit(1)\nrepeat 6:\n    Improve(k=1, keep=true) digit(it)"
    rounds = run(body, result="list[int]")
    assert len(rounds.value) == 2**6
    assert len(set(rounds.value)) > 3
    assert rounds.outcome.ledger.spent.calls == 2**6


def test_repeat_after_a_step_asks_in_separate_contexts() -> None:
    result = run("Generate(k=3) digit(1) Repeat(4)", result="list[int]")
    assert len(result.value) == 12
    assert len(set(result.value)) > 3


def test_if_takes_the_first_branch_that_holds() -> None:
    body = "Generate() next({0})\nif it > 5:\n    Map() 1\nelif it > 3:\n    Map() 2\nelse:\n    Map() 3"
    assert [run(body.format(n), result="int").value for n in (6, 4, 0)] == [1, 2, 3]
    assert run("Generate() next(1)\nif it > 5:\n    Map() 0", result="int").value == 2


def test_labelled_blocks_start_from_what_they_name() -> None:
    body = (
        "foreach x in [1, 2, 3]:\n    Generate() next(x)\n"
        "merge step 1 from x[0], x[1] as left, right:\n    Aggregate() add(left, right)\n"
        "final merge from merge step 1, x[2] as left, right:\n    Aggregate() add(left, right)"
    )
    result = run(body, result="int")
    assert (result.value, result.outcome.hops) == (2 + 3 + 4, 3)


def test_recursion_with_a_constant_depth_and_with_one_a_model_decides() -> None:
    declarations = (
        "scheme climb(n: int, depth: int) -> int:\n    Generate() next(n)\n"
        "    if depth > 0:\n        climb(it, depth - 1)"
    )
    result = run("climb(0, 20)", declarations=declarations, result="int")
    assert (result.value, result.outcome.hops) == (21, 21)
    declarations = "scheme climb(n: int) -> int:\n    Generate() next(n)\n    if it < 6:\n        climb(it)"
    assert run("climb(0)", declarations=declarations, result="int").value == 6


def test_endless_recursion_is_an_error() -> None:
    declarations = "scheme loop(n: int) -> int:\n    if n < 0:\n        return n\n    loop(n + 1)"
    with pytest.raises(RunError, match="200 deep"):
        run("loop(0)", declarations=declarations, result="int")


def test_until_ends_sampling_at_the_first_in_order() -> None:
    result = run("Generate(k=50, until=it == 7) digit(1)", result="list[int]")
    assert result.value[-1] == 7
    assert 7 not in result.value[:-1]


def test_a_failed_thought_is_noted_and_the_rest_goes_on() -> None:
    flaky = {"digit": lambda rng, of: rng.choice(["7", "no idea"])}
    result = run("Generate(k=20) digit(1)\nVote()", result="int", simulators=flaky)
    assert result.value == 7
    assert result.outcome.failures
    assert "no idea" in result.outcome.failures[0].reason


def test_all_thoughts_failed_is_an_error_that_says_where_and_why() -> None:
    mute = {"digit": lambda rng, of: "no idea"}
    with pytest.raises(RunError, match=r"Generate digit: every thought failed: .*no idea") as caught:
        run("Generate(k=3) digit(1)\nVote()", result="int", simulators=mute)
    assert caught.value.failures[0].span.source == "main.got"


def test_of_many_reasons_three_are_told_and_the_others_counted() -> None:
    words = iter(["one", "two", "three", "four"])
    with pytest.raises(RunError, match=r"every thought failed: [^;]*; [^;]*; [^;]*; and 1 more$"):
        run("Generate(k=4) digit(1)\nVote()", result="int", simulators={"digit": lambda rng, of: next(words)})


def test_a_pool_continues_without_a_skipped_member() -> None:
    mute = {"digit": lambda rng, of: "no idea"}
    body = "a = try:\n    Generate() digit(1)\nelse:\n    skip\nb = Generate() next(1)\nPool() a, b"
    result = run(body, result="list[int]", simulators=mute)
    assert result.value == [2]
    assert result.outcome.failures


def test_a_list_of_thoughts_may_be_the_result_and_a_scheme_may_give_many() -> None:
    declarations = "scheme several(n: int) -> many int:\n    Generate() parts(n)"
    result = run("several(3)\nMap() it * 2", declarations=declarations, result="list[int]")
    assert result.value == [0, 2, 4]


def test_ground_truth_is_measured_beside_the_run() -> None:
    result = run("Generate() next(1)\nGroundTruth() it == 2", result="int")
    assert result.ground_truth is True
    text = PROMPTS + "scheme main() -> int:\n    Generate() next(1)\n    GroundTruth() it == truth\n"
    program = compile(text, "main.got")
    options = Options(model=SimulatedModel(SIMULATORS))
    assert program.run(truth=3, options=options).ground_truth is False
    assert program.run(options=options).ground_truth is None


def test_a_scheme_runs_once_for_each_current_thought() -> None:
    declarations = "scheme double(n: int) -> int:\n    Generate() add(n, n)"
    result = run("Generate() parts(3)\ndouble(it)", declarations=declarations, result="list[int]")
    assert result.value == [0, 2, 4]
    result = run(
        "xs = Generate() listed(3)\nforeach x in xs:\n    double(x)",
        declarations=declarations,
        result="list[int]",
    )
    assert result.value == [0, 2, 4]


def test_an_answer_is_made_from_the_thoughts_that_its_prompt_is_shown() -> None:
    body = "first = Generate() next(0)\nsecond = Generate() next(1)\nGenerate() add(first, second)"
    found = run(body)
    assert found.outcome.volume == 2
    assert [parent.value for parent in found.outcome.thoughts[0].parents] == [1, 2]


BEYOND = """
score capped(n: int) -> higher, best 3:
    n
score floored(n: int) -> lower, best 2:
    n
score asked(n: int) -> higher, best 3:
    points = Generate() rate(n)
    points / 10
"""


@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize(
    ("body", "score", "value"),
    [
        ("Generate() next(3)\nScore() capped(it)", "capped", "4"),
        ("Generate() next(3)\nScore() capped(it)\nKeepBestN(1)", "capped", "4"),
        ("Generate() next(0)\nScore() floored(it)\nSelect() it > 0\nVote()", "floored", "1"),
        ("Generate() next(3)\nScore() asked(it)\nKeepBestN(1)", "asked", "4.0"),
        ("Generate() next(3)\nSelect() asked(it) > 1\nVote()", "asked", "4.0"),
        ("Generate() next(3)\nSelect() capped(it) > 1\nVote()", "capped", "4"),
        ("Generate() next(3)\nScore() capped(it)\nx = score(it)\nPool() x", "capped", "4"),
        (
            "try:\n    Pool() 4\n    Score() capped(it)\n    Map() it\nelse:\n    Pool() 1",
            "capped",
            "4",
        ),
    ],
)
def test_a_score_beyond_its_best_ends_the_run(body: str, score: str, value: str, level: int) -> None:
    with pytest.raises(RunError, match=f"score `{score}` returned {value}, which is") as raised:
        run(body, declarations=BEYOND, options={"level": level})
    text = f"{PROMPTS}\n{BEYOND}"
    assert raised.value.span is not None
    assert text[raised.value.span.start :].startswith(f"score {score}(")
    assert raised.value.outcome.ledger.spent.calls >= ("Pool() 4" not in body)


@pytest.mark.parametrize("level", [0, 2])
def test_what_comes_after_the_best_does_not_count(level: int) -> None:
    """What an early stop never samples cannot end the run without one."""
    body = "Generate() parts({n})\nScore() capped(it)\nKeepBestN({keep})"

    def of(n: int, keep: int) -> Any:
        options = {"level": level}
        return run(body.format(n=n, keep=keep), declarations=BEYOND, options=options, result="many int").value

    assert of(6, 1) == [3]
    assert of(4, 2) == [3, 2]
    with pytest.raises(RunError, match="score `capped` returned 4"):
        of(6, 2)
