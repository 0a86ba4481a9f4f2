"""The newer schemes of programs/: their agreement with the papers, and the errors of their simulators."""

from __future__ import annotations

import json
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.gotc import gotc
from support.openai_server import Body, OpenAIServer

from benchmarks.schemes import ROWS, given, program_of
from gotlang.api import Options
from gotlang.errors import RunError
from gotlang.models.base import Request
from gotlang.models.simulated import NotSimulated, SimulatedModel
from gotlang.result import Result
from gotlang.runtime.sampler.events import Asked, Event

PROGRAMS = Path(__file__).parents[1] / "programs"
GSM8K = (
    "Natalia sold clips to 48 of her friends in April, and then she sold half as many clips in May. How many"
    " clips did Natalia sell altogether in April and May?"
)
STORY = (
    "Mia has 12 shells. She finds 5 more. She loses 3 of them. She finds 6 more. She gives 4 of them to a"
    " friend. How many shells does Mia have?"
)


def asked(program: str, row: int = 0, **params: Any) -> tuple[Result, list[Request]]:
    """A simulated run on a row of the program's data, and what it asked, in order."""
    one = next(row for row in ROWS if row.program == program)
    found, truth = given(type(one)(**{**{name: getattr(one, name) for name in one.__slots__}, "row": row}))
    requests: list[Request] = []

    def note(event: Event) -> None:
        if isinstance(event, Asked):
            requests.extend([event.request] * len(event.numbers))

    options = Options(params=params, level=1, observe=note, python=True)
    return program_of(program).run(found, scheme=one.scheme, options=options, **truth), requests


def prompts(requests: list[Request]) -> list[str]:
    return [request.prompt for request in requests]


def text(request: Request) -> str:
    return "\n".join(message.content for message in request.messages)


@pytest.fixture
def stories(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(str(PROGRAMS))
    import stories_sim

    yield stories_sim
    for name in ("stories_sim", "stories"):
        sys.modules.pop(name, None)


# ---------------------------------------------------------------- outside of what is simulated


@pytest.mark.parametrize(
    ("program", "inputs"),
    [
        ("zero_shot", {"story": GSM8K}),
        ("chain_of_thought", {"story": GSM8K}),
        ("self_consistency", {"story": GSM8K}),
        ("least_to_most", {"story": GSM8K}),
        ("self_discover", {"story": GSM8K}),
        ("forest_of_thought", {"story": GSM8K}),
        ("decompose_analyse_rethink", {"story": GSM8K}),
        ("adaptive_graph", {"question": GSM8K}),
        ("decomposed_prompting", {"kind": "letters", "question": GSM8K}),
        ("dynamic_least_to_most", {"command": GSM8K}),
        ("skeleton_of_thought", {"question": GSM8K}),
    ],
)
def test_a_question_of_another_world_gets_an_error_and_no_answer(
    program: str, inputs: dict[str, Any]
) -> None:
    with pytest.raises(RunError, match="does not simulate this: "):
        program_of(program).run(inputs, options=Options(python=True))


# ---------------------------------------------------------------- chains


def test_zero_shot_reasons_and_then_extracts_the_answer() -> None:
    result, requests = asked("zero_shot")
    first, second = requests
    assert (first.prompt, second.prompt) == ("think", "extract_answer")
    assert text(first).endswith("A: Let's think step by step.")
    assert second.arguments["reasoning"] in text(second)
    assert "7 + 5" not in text(first)  # no examples
    assert result.outcome.hops == 2


def test_chain_of_thought_has_eight_examples() -> None:
    _, requests = asked("chain_of_thought")
    assert text(requests[0]).count("The answer is") == 8


def test_a_chain_is_as_careful_as_what_the_text_shows_and_asks_for(stories: Any) -> None:
    _, (request,) = asked("chain_of_thought")
    shown = request.messages
    bare = [type(shown[0])("user", f"Story: {STORY} Go step by step.")]
    hasty = [type(shown[0])("user", f"Story: {STORY}")]

    def right(messages: Any, temperature: float) -> int:
        texts = [stories.solve(random.Random(n), STORY, temperature, messages) for n in range(600)]
        return sum(one.endswith("The answer is 16.") for one in texts)

    with_examples = [
        type(shown[0])(m.role, m.content.replace(request.arguments["story"], STORY)) for m in shown
    ]
    assert right(with_examples, 0.7) > right(bare, 0.7) + 30 > right(hasty, 0.7) + 130
    assert right(with_examples, 0.0) > right(with_examples, 1.5) + 30


def test_a_question_that_least_to_most_left_out_is_made_up_for(stories: Any) -> None:
    last = "How many shells does Mia have?"
    first = "How many are there after this: She finds 5 more."
    texts = [stories.answer(random.Random(n), STORY, [first], [17], last) for n in range(50)]
    assert Counter(texts).most_common(1)[0][0] == "17 - 3 = 14. 14 + 6 = 20. 20 - 4 = 16. The answer is 16."
    counts = [stories.decompose(random.Random(n), STORY).count("\n") for n in range(200)]
    assert set(counts) == {2, 3}  # a wrong decomposition now and then


# ---------------------------------------------------------------- Self-Discover


def test_self_discover_selects_from_39_modules_and_fills_in_a_plan_of_keys() -> None:
    _, requests = asked("self_discover")
    assert prompts(requests) == ["select", "adapt", "implement", "follow"]
    select, adapt, implement, follow = requests
    assert len(re.findall(r"^\d+\. ", text(select), re.MULTILINE)) == 39
    assert all(value == "" for value in follow.arguments["plan"].values())
    story = follow.arguments["story"]
    assert not any(story in text(request) for request in (select, adapt, implement))
    assert json.dumps(follow.arguments["plan"])[1:-1] in text(follow)


def test_self_discover_makes_one_plan_for_all_rows(tmp_path: Path) -> None:
    def reply(body: Body, index: int) -> str:
        asked_for = body["messages"][-1]["content"]
        if "JSON object whose keys" in asked_for:
            return '{"Steps": "", "Answer": ""}'
        return "The answer is 7." if "Follow this plan" in asked_for else "- Go step by step."

    (tmp_path / "rows.csv").write_text("story\n" + "".join(f"Story {n}?\n" for n in range(12)))
    with OpenAIServer(answer=reply) as server:
        program = PROGRAMS / "self_discover.got"
        where = ("--model", "openai:small", "--base-url", server.url)
        key = {"OPENAI_API_KEY": "k"}
        ran = gotc("eval", program, "--data", "rows.csv", *where, cwd=tmp_path, **key)
        assert ran.returncode == 0, ran.stderr
        assert len(server.requests) == 3 + 12


def test_a_plan_that_does_not_fit_makes_more_mistakes(stories: Any) -> None:
    good = {"Number after each sentence": "", "Is it what is asked for?": "", "Answer": ""}
    bad = {"Who is affected?": "", "Answer": ""}

    def right(plan: dict[str, str]) -> int:
        texts = [stories.follow(random.Random(n), plan, STORY, 0.0) for n in range(400)]
        return sum(one.endswith("The answer is 16.") for one in texts)

    assert right(good) > right(bad) + 40


# ---------------------------------------------------------------- forest of thought


def test_the_first_tree_gets_the_question_alone_and_the_others_a_solved_one_each() -> None:
    _, requests = asked("forest_of_thought", trees=4)
    shown = [r.arguments["solved"] for r in requests if r.prompt == "go_on"]
    cases = list(dict.fromkeys(map(tuple, shown)))
    assert cases[0] == () and len(cases) >= 3
    assert all(len(case) == 1 for case in cases[1:]) and len(set(cases)) == len(cases)


def test_trees_are_not_grown_once_more_than_half_agree() -> None:
    result, requests = asked("forest_of_thought", trees=9)
    answers = prompts(requests).count("finish")
    assert 5 <= answers < 9
    assert "decide" not in prompts(requests)
    assert result.value is not None


def test_a_tree_without_a_promising_step_is_not_activated_and_an_expert_decides() -> None:
    result, requests = asked("forest_of_thought", promising=10.0)
    assert "finish" not in prompts(requests)
    expert = requests[-1]
    assert (expert.prompt, expert.arguments["answers"]) == ("decide", [])
    assert result.value is not None


def test_improbable_steps_are_corrected_at_each_step() -> None:
    _, never = asked("forest_of_thought", sure=0.0)
    _, always = asked("forest_of_thought", sure=1.0)
    assert "correct" not in prompts(never)
    assert prompts(always).count("correct") == prompts(always).count("go_on")


# ---------------------------------------------------------------- decompose, analyse, rethink


def dear(rows: int = 12) -> Iterator[list[Request]]:
    for row in range(rows):
        yield asked("decompose_analyse_rethink", row)[1]


def test_dear_analyses_checks_and_rates_each_question_in_order() -> None:
    _, requests = asked("decompose_analyse_rethink", 1)
    names = prompts(requests)
    for name in ("self_check", "rate"):
        assert names.count(name) == names.count("analyse") > 3
    later = [r.arguments for r in requests if r.prompt == "analyse" and r.arguments["asked"]]
    assert later
    assert all([one["question"] for one in r["known"]] == r["asked"] for r in later)


def test_dear_has_no_fixed_root_question_and_open_width() -> None:
    widths = set()
    for requests in dear():
        assert requests[0].arguments["question"] == requests[0].arguments["story"]
        known = [len(r.arguments["asked"]) + 1 for r in requests if r.prompt == "analyse"]
        widths |= {a for a, b in zip(known, [*known[1:], 1], strict=True) if b == 1}
    assert {1, 2, 3} <= widths


def test_dear_rethinks_beyond_the_direct_parent() -> None:
    pairs = {
        (r.arguments["found"]["level"], r.arguments["node"]["level"])
        for requests in dear()
        for r in requests
        if r.prompt == "update"
    }
    assert {(1, 0), (2, 1), (2, 0), (1, 1)} <= pairs


def test_an_update_follows_the_new_answer_and_sometimes_does_not(stories: Any) -> None:
    old = "12 + 5 = 18, then 18 - 3 = 15, then 15 + 6 = 21, then 21 - 4 = 17"
    node = {"question": STORY, "rationale": old, "answer": 17}
    found = {"question": "After this: She loses 3 of them.", "rationale": "17 - 3 = 14", "answer": 14}
    answers = Counter(
        stories.update(random.Random(n), STORY, node, found).rpartition(" ")[2] for n in range(200)
    )
    assert answers.most_common(1)[0][0] == "16"  # goes on from 14, by the rationale of the old answer
    assert answers["17"] >= 10  # ignores what it is shown
    other = {"question": STORY, "rationale": old.replace("18", "17").replace("15", "14"), "answer": 17}
    assert stories.update(random.Random(0), STORY, other, found).endswith("Answer: 17")  # nothing to correct
    beyond = {"question": STORY, "rationale": "1", "answer": 3}
    lost = [
        stories.update(random.Random(n), STORY, {**node, "question": "x She finds 5 more."}, beyond)
        for n in range(200)
    ]
    assert 5 <= sum(one.endswith("Answer: 3") for one in lost) <= 60  # used where it does not belong


def test_a_question_about_nothing_in_the_story_is_not_simulated(stories: Any) -> None:
    with pytest.raises(NotSimulated, match="no question about a sentence"):
        stories.analyse(random.Random(0), STORY, "Who is the mayor?", [], [])


# ---------------------------------------------------------------- adaptive graph of thoughts


def agot(rows: int = 24) -> Iterator[tuple[Result, list[Request]]]:
    for row in range(rows):
        yield asked("adaptive_graph", row)


def test_layers_have_strategies_and_tasks_have_edges() -> None:
    edges = set()
    for _, requests in agot(9):
        for request in requests:
            if request.prompt == "extend":
                assert all(strategy in text(request) for strategy in request.arguments["strategies"])
            if request.prompt == "carry_out":
                edges.add((len(request.arguments["known"]) > 0, bool(request.arguments["pages"])))
                uses = request.arguments["task"]["uses"]
                assert len(request.arguments["known"]) >= min(1, len(uses))
    assert {(True, True), (True, False), (False, True)} <= edges


def test_a_final_layer_ends_the_graph_and_else_a_final_task_is_asked_for() -> None:
    closed = {len([r for r in requests if r.prompt == "close_graph"]) for _, requests in agot(12)}
    assert 0 in closed
    _, requests = asked("adaptive_graph", 7, layers=1, depth=0)
    assert prompts(requests).count("close_graph") == 1


def test_a_nested_graph_sees_the_graph_around_it() -> None:
    nested = [
        request
        for _, requests in agot()
        for request in requests
        if request.prompt == "begin_graph" and request.arguments["task"] != request.arguments["question"]
    ]
    assert nested
    seen = [one for one in nested if one.arguments["outer"]]
    assert seen and all(one.arguments["outer"][0]["result"] in text(one) for one in seen)


def test_tasks_of_a_layer_run_at_the_same_time() -> None:
    ran = [(result.outcome.hops, len(requests)) for result, requests in agot(12)]
    assert sum(hops < calls for hops, calls in ran) >= 6
    assert min(hops / calls for hops, calls in ran) < 0.8


# ---------------------------------------------------------------- decomposed prompting


def steps(requests: list[Request]) -> list[dict[str, Any]]:
    return [turn["step"] for r in requests if r.prompt == "next_step" for turn in r.arguments["turns"][-1:]]


def test_the_next_question_is_asked_after_each_answer() -> None:
    _, requests = asked("decomposed_prompting", 0)
    turns = [r.arguments["turns"] for r in requests if r.arguments.get("kind") == "letters"]
    assert [len(one) for one in turns] == [0, 1, 2, 3]
    assert text(requests[0]).count("\nQ: ") == 4  # three worked problems, and this one
    words = turns[1][0]["answer"]
    assert sum(r.arguments.get("kind") == "letter" for r in requests) == 3 * len(
        words
    )  # a hierarchy, for each


def test_a_decomposer_calls_itself_down_to_short_lists() -> None:
    _, requests = asked("decomposed_prompting", 20)
    problems = {r.arguments["problem"] for r in requests if r.arguments.get("kind") == "reverse"}
    assert {problem.count(",") + 1 for problem in problems} == {2, 4, 8}
    assert {r.prompt for r in requests} == {"next_step", "half", "short", "merge"}


def test_a_handler_looks_up_pages() -> None:
    _, requests = asked("decomposed_prompting", 31)
    read = [r for r in requests if r.prompt == "read_pages"]
    assert len(read) >= 2 and all(r.arguments["texts"] for r in read)
    assert not any("<" in r.arguments["question"] for r in read)


# ---------------------------------------------------------------- dynamic least-to-most


def test_exemplars_are_chosen_once_from_the_parse_of_the_command() -> None:
    _, requests = asked("dynamic_least_to_most", 1)  # wave left after bow and clap right
    translations = [r for r in requests if r.prompt == "translate"]
    shown = translations[0].arguments["examples"]
    assert all(r.arguments["examples"] == shown for r in translations)
    commands = [one.partition(" =")[0] for one in shown]
    assert any(" after " in one and " and " in one for one in commands)  # top down
    assert {"wave", "bow", "clap"} <= set(commands)  # bottom up
    assert prompts(requests)[:2] == ["sequence", "clauses"] and "phrases" in prompts(requests)


def test_a_translation_is_put_together_from_those_that_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PROGRAMS))
    import commands_sim

    known = ["hop twice", "bow"]
    wrong = [["HOP"], ["BOW"]]
    texts = Counter(
        commands_sim.translate(random.Random(n), "hop twice after bow", ["bow after hop = x"], known, wrong)
        for n in range(200)
    )
    assert texts.most_common(1)[0][0] == '["BOW", "HOP"]'
    blind = Counter(
        commands_sim.translate(random.Random(n), "hop twice after bow", [], known, wrong) for n in range(200)
    )
    assert blind['["HOP", "BOW"]'] > texts['["HOP", "BOW"]'] + 30  # nothing shows what "after" means


def test_a_command_that_was_not_cut_is_made_of_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PROGRAMS))
    import commands_sim

    for n in range(100):
        for phrase in commands_sim.phrases(random.Random(n), "hop left after bow twice").split("\n"):
            assert commands_sim.translate(random.Random(n), phrase.removeprefix("- "), [], [], [])


# ---------------------------------------------------------------- skeleton of thought


@pytest.mark.parametrize(
    ("question", "at_once"), [("How do I learn to draw?", False), ("Why is the sky blue?", True)]
)
def test_the_router_decides_which_questions_get_a_skeleton(question: str, at_once: bool) -> None:
    requests: list[Request] = []

    def note(event: Event) -> None:
        if isinstance(event, Asked):
            requests.append(event.request)

    options = Options(params={"router": True}, observe=note, python=True)
    program_of("skeleton_of_thought").run(question=question, options=options)
    assert prompts(requests)[0] == "route"
    assert ("answer_at_once" in prompts(requests)) is at_once
    assert ("skeleton" in prompts(requests)) is not at_once


def test_a_point_that_comes_twice_is_written_out_once() -> None:
    for number in range(40):
        requests: list[Request] = []

        def note(event: Event, requests: list[Request] = requests) -> None:
            if isinstance(event, Asked):
                requests.append(event.request)

        options = Options(observe=note, python=True, seed=number)
        program_of("skeleton_of_thought").run(question="How do I learn to draw?", options=options)
        points = requests[1].arguments["points"]
        assert len(points) == len(set(points)) == len(requests) - 1


# ---------------------------------------------------------------- ReAct


def test_react_asks_seven_times_at_most_and_sees_what_it_thought_searched_and_found() -> None:
    seen: list[list[dict[str, Any]]] = []

    def next_step(rng: random.Random, question: str, past: list[dict[str, Any]]) -> str:
        seen.append(past)
        query = "The Blue Lanterns" if past else "xyzzy"
        return json.dumps({"type": "Search", "thought": f"thought {len(past)}", "query": query})

    options = Options(model=SimulatedModel({"next_step": next_step}), python=True)
    assert program_of("react").run(question="Who sings?", options=options).value == "unknown"
    assert [len(past) for past in seen] == list(range(7))
    assert [turn["thought"] for turn in seen[-1]] == [f"thought {n}" for n in range(6)]
    assert seen[1][0]["found"] == ["No page fits."]
    assert "Blue Lanterns" in seen[2][1]["found"][0]
