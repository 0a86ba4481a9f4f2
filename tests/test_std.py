"""The standard library: each scheme and operation runs, with the calls that its page says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import gotlang
from gotlang.files import compile_file
from gotlang.models.simulated import SimulatedModel

PROGRAM = """
from std.vote import self_consistency, best_of, SelfConsistency, WeightedVote, BestOf
from std.vote import FilteredVote, RankedVote, ValidVote
from std.confidence import self_certainty, perplexity, lowest_group, bottom_groups, tail
from std.cascade import Cascade, CascadeAtOnce
from std.refine import SelfRefine, reflexion, chain_of_verification
from std.debate import debate, mixture_of_agents
from std.rag import retrieve_and_answer, decompose_and_retrieve
from std.agent import react, plan_and_solve
from std.search import Strategy, TreeSearch, beam, climb

simulate with "sim.py"

import corpus "pages.jsonl": pages

prompt num(q: str) -> int:
    "{{ q }}"
prompt act(q: str, lessons: list[str]) -> int:
    "{{ q }} {{ lessons }}"
prompt reflect(q: str, n: int) -> str:
    "{{ q }} {{ n }}"
prompt better(q: str, n: int, note: str) -> int:
    "{{ q }} {{ n }} {{ note }}"
prompt hear(q: str, own: int, all: list[int]) -> int:
    "{{ q }} {{ own }} {{ all }}"
prompt more(q: str, all: list[int]) -> int:
    "{{ q }} {{ all }}"
prompt next(s: {n: int}) -> many {n: int}:
    "{{ s }}"
score small(s: {n: int}) -> lower, best 0:
    s.n
score right(q: str, n: int) -> higher, best 1:
    1 if n == len(q) else 0

scheme look(tool: str, input: str) -> str:
    Retrieve(k=1) pages(tool + " " + input)
    Vote()

scheme a(q: str) -> str:
    self_consistency(q)
scheme b(q: str) -> int:
    best_of(q, num, right, k=3)
scheme c(q: str) -> int:
    SelfRefine(3) num(q), reflect(q, it), better(q, it)
scheme d(q: str) -> int:
    reflexion(q, act, right, reflect)
scheme e(q: str) -> str:
    chain_of_verification(q)
scheme f(q: str) -> int:
    debate(q, num, hear, agents=4)
scheme f2(q: str) -> str:
    debate(q)
scheme g(q: str) -> int:
    mixture_of_agents(q, more)
scheme g2(q: str) -> str:
    mixture_of_agents(q, layers=3)
scheme h(q: str) -> str:
    retrieve_and_answer(q, pages)
scheme i(q: str) -> str:
    decompose_and_retrieve(q, pages, k=3)
scheme j(q: str) -> str:
    react(q, "look", look)
scheme k(q: str) -> str:
    plan_and_solve(q)
scheme l(n: int) -> {n: int}:
    s = {n: n}
    beam(s, next, small, width=2)
scheme m(n: int) -> {n: int}:
    s = {n: n}
    climb(s, next, small)
scheme o(q: str) -> int:
    x = SelfConsistency(3) num(q)
    WeightedVote(3) num(q), it + x + 0.5

param strategy: Strategy = "uct" in ["uct", "beam", "best", "depth"]
prompt guess(q: str) -> int:
    temperature 1
    top_logprobs 2
    "{{ q }}"
scheme both(s: {n: int}) -> many {n: int}:
    Pool() {n: s.n - 1}, {n: s.n + 1}
scheme p(q: str) -> int:
    FilteredVote(4, kept=0.5) guess(q), it
scheme p2(q: str) -> int:
    RankedVote(4, power=1) guess(q), -it
scheme p3(q: str) -> int:
    ValidVote(4) guess(q), it > 2
scheme p4(q: str) -> int:
    ValidVote(4) guess(q), it > 9
scheme r(q: str) -> int:
    BestOf(4) guess(q), self_certainty(tokens)
scheme r2(q: str) -> list[float]:
    x = Generate() guess(q)
    groups = [lowest_group(tokens(x), 1), bottom_groups(tokens(x), 1), tail(tokens(x), 1)]
    Pool() [round(100 * n) for n in groups + [perplexity(tokens(x))]]
scheme t(q: str) -> int:
    Cascade(small="a", medium="b") num(q), it == len(q)
scheme t2(q: str) -> int:
    CascadeAtOnce() num(q), it > 99
scheme u(n: int) -> {n: int}:
    Pool() {n: n}
    TreeSearch(9, levels=9, strategy=strategy) both(it), small(it), it.n == 0
"""
SIMULATOR = """
import itertools
import json
import math

from gotlang.models.simulated import Simulated

def num(rng, q): return str(len(q) + rng.choice([0, 0, 1]))
SAMPLES = itertools.cycle([(1, 0.6), (2, 0.6), (3, 0.6), (3, 0.9)])  # of `guess`

def guess(rng, q):
    number, share = SAMPLES.__next__()
    tokens = (("So ", 0.9), (str(number), share))
    top = lambda text, p: ((text, math.log(p)), ("or", math.log(1 - p)))
    return Simulated(f"So {number}", tokens=tuple((text, math.log(p), top(text, p)) for text, p in tokens))

def act(rng, q, lessons): return str(len(q) - 2 + len(lessons))
def reflect(rng, q, n): return "one too few"
def better(rng, q, n, note): return str(n + 1)
def hear(rng, q, own, all): return str(max(all))
def more(rng, q, all): return str(1 + sum(all))
def next(rng, s): return json.dumps([{"n": s["n"] - 1}, {"n": s["n"] + 1}])
def reason(rng, question): return "So. Answer: " + question.upper()
def draft(rng, task): return task
def plan_checks(rng, task, answer): return "- Is it?\\n- Was it?"
def check(rng, question): return "No."
def correct(rng, task, answer, questions, findings): return answer + str(len(findings))
def opinion(rng, question): return "Answer: " + rng.choice("ab")
def reply(rng, question, own, all): return "Answer: " + min(all)
def propose(rng, question, others): return "<" + "".join(others) + ">" if others else "p"
def from_passages(rng, question, passages): return str(len(passages))
def split(rng, question): return "rivers\\nhills"
def next_move(rng, task, tools, past):
    move = {"type": "Act", "thought": "t", "tool": "look", "input": "rivers"}
    if past:
        move = {"type": "Finish", "thought": "t", "answer": past[-1]["found"]}
    return json.dumps(move)
def plan(rng, task): return "first\\nsecond"
def carry_out(rng, task, steps, results): return steps[len(results)] + "!"
def conclude(rng, task, steps, results): return " ".join(results)
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("std")
    texts = ["about rivers", "about hills", "about towns"]
    pages = "".join(f'{{"text": "{text}"}}\n' for text in texts)
    for name, text in (("use.got", PROGRAM), ("sim.py", SIMULATOR), ("pages.jsonl", pages)):
        (folder / name).write_text(text)
    return folder / "use.got"


@pytest.fixture(scope="module")
def program(path: Path) -> gotlang.Program:
    return gotlang.load(path)


def test_all_of_it_checks(path: Path) -> None:
    assert compile_file(path).diagnostics == ()


@pytest.mark.parametrize(
    ("scheme", "value", "calls"),
    [
        ("a", "HELLO", 5),
        ("b", 5, 3),
        ("c", None, 7),
        ("d", 5, 5),
        ("e", "hello2", 5),
        ("f", None, 12),
        ("f2", None, 9),
        ("g", None, 7),
        ("g2", None, 10),
        ("h", "1", 1),
        ("i", "2", 2),
        ("j", "about rivers", 2),
        ("k", "first! second!", 4),
        ("l", {"n": 0}, 5),
        ("m", {"n": 0}, 9),
        ("o", None, 6),
        ("p", 3, 4),
        ("p2", 1, 4),
        ("p3", 3, 4),
        ("p4", 3, 4),
        ("r", 3, 4),
        ("r2", [71, 71, 71, 136], 1),
        ("t", None, 2),
        ("t2", None, 3),
        ("u", {"n": 0}, 0),
    ],
)
def test_a_scheme_of_it_asks_what_its_page_says(
    program: gotlang.Program, scheme: str, value: Any, calls: int
) -> None:
    options = gotlang.Options(model="simulated", cache=None, python=True)
    inputs: dict[str, Any] = {"q": "rivers" if scheme in "hi" else "hello"}
    if scheme in ("l", "m", "u"):
        inputs = {"n": 3}
    result = program.run(scheme=scheme, options=options, **inputs)
    assert all(failure.handled for failure in result.outcome.failures)
    assert value is None or result.value == value
    assert result.outcome.ledger.accounts[0].calls == calls


REFLECTIVE = """
from std.refine import reflexion
from std.search import lats
prompt act(goal: int, lessons: list[str]) -> int:
    "{{ goal }} {{ lessons }}"
prompt wrong(goal: int, found: int) -> str:
    "{{ goal }} {{ found }}"
prompt next(state: int, lessons: list[str]) -> int:
    "{{ state }} {{ lessons }}"
prompt dead(state: int) -> str:
    "{{ state }}"
score right(goal: int, found: int) -> higher, best 1:
    1 if found == goal else 0
score nine(state: int) -> higher, best 1:
    1 if state == 9 else 0
scheme further(state: int, lessons: list[str]) -> many int:
    Generate(k=2) next(state, lessons)
scheme once(goal: int) -> int:
    reflexion(goal, act, right, wrong)
scheme searched(root: int) -> int:
    lats(root, further, nine, nine, dead, trials=3, rollouts=1, levels=1)
"""


def test_what_is_right_at_once_is_not_reflected_on_and_lessons_enter_the_next_search() -> None:
    simulators = {
        "act": lambda rng, goal, lessons: str(2 + len(lessons)),
        "wrong": lambda rng, goal, found: "too few",
        "next": lambda rng, state, lessons: str(state + 3 + len(lessons)),
        "dead": lambda rng, state: f"not {state}",
    }
    program = gotlang.compile(REFLECTIVE)
    options = gotlang.Options(model=SimulatedModel(simulators), cache=None)

    def ran(scheme: str, **inputs: int) -> tuple[object, int]:
        result = program.run(inputs, scheme=scheme, options=options)
        return result.value, result.outcome.ledger.spent.calls

    assert ran("once", goal=2) == (2, 1)
    assert ran("once", goal=3) == (3, 3)
    assert ran("searched", root=6) == (9, 2)  # the first search gets there
    assert ran("searched", root=4) == (9, 2 + 1 + 2 + 1 + 2)  # two lessons are needed
    assert ran("searched", root=0)[0] == 5
