"""Every program of programs/: it passes the check without a warning, and its calls agree with its
formulas."""

from __future__ import annotations

import csv
import importlib.util
import json
import random
import re
import statistics
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.laws import tried
from support.timing import within

import gotlang
from benchmarks.schemes import PAGE, ROWS, Row, code_lines, measure, page, program_of
from gotlang.data import load as load_data
from gotlang.files import compile_file
from gotlang.models.simulated import NotSimulated

PROGRAMS = Path(__file__).parents[1] / "programs"
FILES = sorted(PROGRAMS.rglob("*.got"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PROGRAMS)))
def test_a_program_has_no_error_and_no_warning(path: Path) -> None:
    assert program_of(str(path.relative_to(PROGRAMS).with_suffix(""))).compilation.diagnostics == ()


TESTED = [path for path in FILES if '\ntest "' in (text := path.read_text()) or '\nlaw "' in text]


@pytest.mark.parametrize("path", TESTED, ids=lambda path: str(path.relative_to(PROGRAMS)))
def test_the_tests_and_laws_of_a_program_hold_on_its_simulator(path: Path) -> None:
    if "\nimport mcp " in path.read_text():
        pytest.importorskip("mcp", reason="the extra `mcp` is not installed")
    options = gotlang.Options(model="simulated", cache=None, python=True)
    report = gotlang.test(path, options=options)
    assert [r for r in report.results if r.verdict != "holds"] == []
    assert report.results and report.simulated


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_scheme_asks_what_its_formulas_say_and_takes_no_time(row: Row) -> None:
    program_of(row.program)
    measured = within(2, lambda: measure(row))
    outcome = measured.result.outcome
    assert outcome.value is not None
    assert outcome.failures == ()
    assert outcome.ledger.accounts[0].calls == measured.calls
    assert outcome.hops >= measured.path if row.at_least else outcome.hops == measured.path


@pytest.mark.parametrize(
    ("program", "scheme", "calls", "path"),
    [
        ("listings/listing1", "listing1", 21, 3),
        ("listings/listing2", "listing2", 51, 4),
        ("listings/listing3", "listing3", 61, 3),
        ("listings/listing4", "listing4", 76, 5),
        ("listings/listing5", "listing5", 31, 4),
        ("listings/listing6", "listing6", 71, 6),
        ("listings/listing7", "listing7", 151, 8),
        ("documents", "got", 4 * (5 + 5 + 10), 6),
        ("documents", "got2", 4 * (2 * 5 + 5 + 5), 6),
        ("documents", "tot", 120, 6),
    ],
)
def test_the_papers_own_counts(program: str, scheme: str, calls: int, path: int) -> None:
    found = measure(next(row for row in ROWS if (row.program, row.scheme) == (program, scheme)))
    assert (found.calls, found.path) == (calls, path)


def test_sorting_as_framework_of_thoughts_has_it() -> None:
    found = [measure(row) for row in ROWS if row.scheme in ("tot_rounds", "got_rounds")]
    assert [(one.calls, one.path) for one in found] == [(100, 5), (98, 7), (112, 6), (110, 7)]


OVER_STD = {
    *("agent", "reflexion", "self_refine", "chain_of_verification", "debate", "mixture_of_agents", "rap"),
    *("lats", "rstar", "beam_search", "frugalgpt", "self_certainty", "deepconf", "buffer_of_thoughts"),
    *("invoices", "deepconf_online"),
}
PLAIN = {"s1", "folder_agent", "tutor", "stock", "queries"}
"""Newer programs that are one prompt, which the standard library would not make shorter."""


@pytest.mark.parametrize("name", sorted(OVER_STD | PLAIN))
def test_most_newer_programs_are_over_the_standard_library_and_all_are_short(name: str) -> None:
    assert ("\nfrom std." in (PROGRAMS / f"{name}.got").read_text()) == (name in OVER_STD)
    assert len((PROGRAMS / f"{name}.got").read_text().splitlines()) <= 40


def test_every_program_with_a_scheme_has_its_row() -> None:
    # No schemes of the papers:
    others = {"folder_agent", "incident", "invoices", "manuals", "queries", "refunds", "small_model"}
    others |= {"stock", "tutor"}
    named = {row.program for row in ROWS} | others
    missing = [
        path.name
        for path in FILES
        if compile_file(path).compiled().program().schemes
        and path.parent.name != "evidence"
        and str(path.relative_to(PROGRAMS))[: -len(".got")] not in named
    ]
    assert missing == []


def test_the_page_of_schemes_is_what_was_measured(request: pytest.FixtureRequest) -> None:
    wanted = page()
    if request.config.getoption("--accept"):
        PAGE.write_text(wanted, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == wanted, "run pytest with --accept"


def test_programs_are_short() -> None:
    sizes = {name: code_lines(name) for name in {row.program for row in ROWS}}
    assert {name: size for name, size in sizes.items() if size > 90} == {}
    assert statistics.median(sizes.values()) <= 30


# ---------------------------------------------------------------- data


def module(name: str) -> ModuleType:
    path = PROGRAMS / f"{name}.py"
    sys.path.insert(0, str(PROGRAMS))
    spec = importlib.util.spec_from_file_location(f"programs_{path.stem}", path)
    assert spec and spec.loader
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@pytest.mark.parametrize(
    ("maker", "file"),
    [
        ("make_countries", "countries.csv"),
        ("make_documents", "documents.csv"),
        ("make_stories", "stories.csv"),
        ("make_commands", "commands.csv"),
        ("make_letters", "letters.csv"),
        ("make_products", "products.csv"),
        ("make_invoices", "invoices.csv"),
        ("make_towns", "towns.csv"),
        ("make_lakes", "lakes.csv"),
        ("make_words", "words.csv"),
        ("make_orders", "orders.csv"),
        ("make_stock", "stock_questions.csv"),
        ("make_rentals", "rental_questions.csv"),
    ],
)
def test_the_data_is_what_its_generator_makes(maker: str, file: str) -> None:
    with (PROGRAMS / "data" / file).open(newline="", encoding="utf-8") as stored:
        found = list(csv.reader(stored))[1:]
    assert found == [[str(cell) for cell in row] for row in module(f"data/{maker}").rows()]


@pytest.mark.parametrize(
    ("maker", "function", "file"),
    [("make_stories", "solved", "solved_stories.jsonl"), ("make_commands", "examples", "commands.jsonl")],
)
def test_solved_examples_are_what_their_generator_makes(maker: str, function: str, file: str) -> None:
    lines = (PROGRAMS / "data" / file).read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == getattr(module(f"data/{maker}"), function)()


@pytest.mark.parametrize("length", [128, 256])
def test_the_lists_of_egot_are_what_their_generator_makes(length: int) -> None:
    table = load_data(PROGRAMS / "data" / f"numbers{length}.csv")
    for number, row in enumerate(module("data/make_numbers").rows(length)):
        assert tuple(table.row(number).values()) == (str(row[0]), row[1], row[2])
        assert len(json.loads(row[1])) == length


@pytest.mark.parametrize("size", [32, 64, 128])
def test_pairs_of_sets_are_what_their_generator_makes_and_share_a_quarter_to_three(size: int) -> None:
    table = load_data(PROGRAMS / "data" / f"sets{size}.csv")
    made = module("data/make_sets").rows(size)
    for number, (_, first, second, both) in enumerate(made):
        assert list(table.row(number).values()) == [str(number), first, second, both]
        assert size / 4 <= len(json.loads(both)) <= 3 * size / 4
        assert set(json.loads(both)) == set(json.loads(first)) & set(json.loads(second))


def test_every_game_of_24_can_be_won_and_none_is_missing() -> None:
    tools = module("game24_tools")
    games = [
        r["Puzzles"] for r in csv.DictReader((PROGRAMS / "data" / "game24.csv").read_text().splitlines())
    ]
    assert len(games) == len(set(games)) == 1362
    for game in games[::40]:
        numbers = [int(word) for word in game.split()]
        steps = tools.steps_to_24(tuple(map(tools.Fraction, numbers)))
        assert tools.solves(numbers, tools.expression(list(steps)))


# ---------------------------------------------------------------- verifiers


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("8 / (3 - 8 / 3) = 24", True),
        ("Steps:\n8 / 3 = 2.67\nAnswer: 8 / (3 - (8 / 3)) = 24", True),
        ("8 / (3 - 2.67) = 24", False),
        ("8 * 3 = 24", False),
        ("8 * 3 * (3 - 8) = 24", False),
        ("8 over 3", False),
        ("8 / (3 - 3) + 8", False),
        ("", False),
    ],
)
def test_a_solution_of_3_3_8_8_is_checked_exactly(answer: str, right: bool) -> None:
    assert module("game24_tools").solves([3, 3, 8, 8], answer) is right


def test_steps_are_put_together_as_one_expression() -> None:
    tools = module("game24_tools")
    assert tools.expression(["8 / 3 = 8/3", "3 - 8/3 = 1/3", "8 / 1/3 = 24"]) == "8 / (3 - (8 / 3)) = 24"
    assert tools.expression(["5 + 5 = 10", "5 + 9 = 14", "10 + 14 = 24"]) == "(5 + 5) + (5 + 9) = 24"
    assert tools.expression(["5 plus 5"]) == "5 plus 5"


@given(st.integers(0, 2**32), st.integers(3, 7))
@tried(40)
def test_a_lake_has_its_holes_and_a_way_over_it(seed: int, size: int) -> None:
    tools = module("lake_tools")
    rows = tools.lake(random.Random(seed), size, size)
    assert sum(row.count("H") for row in rows) == size
    assert (rows[0][0], rows[-1][-1]) == ("S", "G")
    assert tools.lake_errors(tools.shortest(rows), rows) == 0


@pytest.mark.parametrize(
    ("route", "errors"),
    [
        ([[0, 0], [1, 0], [2, 0], [2, 1], [2, 2]], 0),
        ([[0, 0], [0, 1], [0, 2], [1, 2], [2, 2]], 1),  # over the hole
        ([[0, 0], [2, 0], [2, 1], [2, 2]], 1),  # a jump over one tile
        ([[0, 0], [1, 0], [2, 0]], 1),  # not at the goal
        ([[0, 0], [1, 0], [2, 0], [3, 0], [2, 1], [2, 2]], 2),  # off the lake, then across
        ([], 3),
    ],
)
def test_holes_and_jumps_of_a_route_are_counted(route: list[list[int]], errors: int) -> None:
    assert module("lake_tools").lake_errors(route, ["SHF", "FFF", "FFG"]) == errors


def some_text(grammar: str, chance: random.Random) -> str:
    """A text that a grammar of literals, digits, groups and the marks ? * + permits."""
    rules = dict(line.strip().split(" ::= ") for line in grammar.strip().splitlines())
    read = {name: re.findall(r'"[^"]*"|\[0-9\]|\w+|[()|?*+]', rule) for name, rule in rules.items()}

    def choice(tokens: list[str]) -> str:
        ways = [""]
        while tokens and tokens[0] != ")":
            token = tokens.pop(0)
            if token == "|":
                ways.append("")
                continue
            start = list(tokens)
            said = one(token, tokens)
            if tokens and tokens[0] in "?*+":
                mark = tokens.pop(0)
                times = chance.randint(mark == "+", 1 if mark == "?" else 3)
                said = "".join(one(token, list(start)) for _ in range(times))
            ways[-1] += said
        return chance.choice(ways)

    def one(token: str, after: list[str]) -> str:
        if token == "(":
            said = choice(after)
            after.pop(0)
            return said
        if token == "[0-9]":
            return str(chance.randrange(10))
        return token[1:-1] if token[0] == '"' else choice(list(read[token]))

    return choice(list(read["root"]))


def test_every_query_that_the_grammar_of_queries_permits_can_be_run() -> None:
    grammar = (PROGRAMS / "queries.got").read_text().split('grammar """')[1].split('"""')[0]
    texts = {some_text(grammar, random.Random(seed)) for seed in range(400)}
    assert {"count", "sum price"} <= texts and len(texts) > 150
    assert any(text.count(" and ") >= 2 for text in texts)
    run_query = module("query_tools").run_query
    assert len({run_query(text) for text in texts}) > 20
    for text in ("", "the sum price", "count where town = ", "min days", "count where days = 3"):
        with pytest.raises(ValueError, match="this is no"):
            run_query(text)


# ---------------------------------------------------------------- simulators


def test_simulated_trees_have_every_mistake_and_are_mostly_right() -> None:
    sim = module("towns_sim")
    question = "Which river runs through the town where the singer of The Blue Lanterns was born?"
    town = "In which town was the singer of The Blue Lanterns born?"
    found = [json.loads(sim.understand(random.Random(seed), question).text) for seed in range(300)]
    first = [tree[question] for tree in found]
    right = [town, "Which river runs through <1>?"]
    assert 0.7 < first.count(right) / 300 < 0.9
    assert [] in first and [question] in first
    assert [town, "Which river runs through <2>?"] in first
    assert any(len(parts) == 3 for parts in first)
    assert all(question in tree for tree in found)


def test_simulated_answers_may_ignore_what_is_known_or_say_that_they_do_not_know() -> None:
    sim = module("towns_sim")
    question = "In which town was the singer of The Blue Lanterns born?"
    known = ["Who is the singer of The Blue Lanterns? Ada.", "In which town was Ada born? Nowhere."]
    combined = [sim.combine(random.Random(seed), question, known).text for seed in range(300)]
    assert 0.8 < sum("Nowhere" in text for text in combined) / 300 < 0.97
    asked = [sim.open_book(random.Random(seed), question, ["nothing"]).text for seed in range(300)]
    assert 0.3 < sum("Unknown" in text for text in asked) / 300 < 0.7


@pytest.mark.parametrize(
    ("name", "prompt", "arguments"),
    [
        ("towns_sim", "closed_book", {"question": "Who wrote Hamlet?"}),
        ("towns_sim", "next_step", {"question": "Who is the mayor of Paris?", "past": []}),
        ("towns_sim", "attempt", {"question": "What is 2 + 2?", "hints": []}),
        ("egot_lake_sim", "solve", {"lake": ["S.", ".G"], "method": "", "hints": []}),
        ("sorting_sim", "sort", {"numbers": [3, 12, 5]}),
        ("sorting_sim", "merge", {"left": [3], "right": [-1]}),
        ("sets_sim", "intersect", {"first": [1, 2, 1], "second": [2]}),
        ("keywords_sim", "count_countries", {"text": "It rained. Nobody came. We waited. It got dark."}),
        ("keywords_sim", "split_sentences", {"text": "It rained. Nobody came. We waited. It got dark."}),
        ("documents_sim", "merge", {"documents": ["A poem of one line."]}),
        ("documents_sim", "rate", {"documents": ["A poem of one line."], "draft": "a\nb"}),
        ("game24_sim", "propose", {"left": "1 2 3 4 5", "count": 3}),
        ("game24_sim", "value", {"left": "four"}),
        ("stock_sim", "answer", {"question": "Do you sell kettles?", "messages": []}),
        ("queries_sim", "write_query", {"question": "How many rentals?"}),
    ],
)
def test_a_simulator_refuses_what_is_outside_of_its_world(
    name: str, prompt: str, arguments: dict[str, Any]
) -> None:
    with pytest.raises(NotSimulated):
        getattr(module(name), prompt)(random.Random(0), **arguments)
