"""The documentation cannot go stale: its programs are checked and run, its tables are made from the code."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from gotlang.api import Options, check, compile
from gotlang.errors import RunError
from gotlang.semantics.builtins import BUILTINS, THOUGHT_FUNCTIONS
from tests.support.answers import any_model, some_value

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
SNIPPETS = [
    pytest.param(match[1], id=f"{page.relative_to(ROOT)}:{page.read_text()[: match.start()].count(chr(10))}")
    for page in PAGES
    if page.exists()
    for match in re.finditer(r"^```got\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
]


@pytest.mark.parametrize("text", SNIPPETS)
def test_every_program_in_the_docs_checks_and_runs(text: str) -> None:
    compilation = check(text, "snippet.got")
    assert [d for d in compilation.diagnostics if d.severity == "error"] == []
    program = compile(text, "snippet.got")
    for scheme in program.ir(0).schemes:
        inputs = {name: some_value(type_, random.Random(name)) for name, type_ in scheme.parameters}
        options = Options(model=any_model(program.ir(0)), python=False)
        try:
            result = program.run(inputs, scheme=scheme.name, options=options)
        except RunError as error:
            # Made-up answers may leave nothing valid; that is a result in the language's own terms.
            assert error.failures
        else:
            assert result.value is not None


def builtins_table() -> str:
    rows = ["| built-in | gives |", "| --- | --- |"]
    rows += [f"| `{b.signature()}` | {b.doc} |" for b in sorted(BUILTINS.values(), key=lambda b: b.name)]
    rows += [f"| `{name}(thought)` | {doc} |" for name, (_, doc) in THOUGHT_FUNCTIONS.items()]
    return "\n".join(rows)


def test_the_table_of_built_ins_is_the_code(request: pytest.FixtureRequest) -> None:
    page = ROOT / "docs" / "language.md"
    text = page.read_text()
    begin, end = "<!-- built-ins: begin -->\n", "<!-- built-ins: end -->"
    start, stop = text.index(begin) + len(begin), text.index(end)
    wanted = builtins_table() + "\n"
    if text[start:stop] != wanted and request.config.getoption("--accept"):
        page.write_text(text[:start] + wanted + text[stop:])
        text = page.read_text()
        stop = text.index(end)
    assert text[start:stop] == wanted, "run pytest with --accept"


GUIDE = [
    pytest.param(*match.groups(), id=match[3].split("scheme ")[1].split("(")[0])
    for match in re.finditer(
        r"^```got\n# (\d+) answers?, (\d+) in a row\n(.*?)^```",
        (ROOT / "docs" / "guide.md").read_text(),
        re.MULTILINE | re.DOTALL,
    )
]


@pytest.mark.parametrize(("answers", "in_a_row", "text"), GUIDE)
def test_a_program_of_the_guide_asks_for_what_it_says(answers: str, in_a_row: str, text: str) -> None:
    program = compile(text, "guide.got")
    (scheme,) = program.ir(0).schemes
    inputs = {name: some_value(type_, random.Random(name)) for name, type_ in scheme.parameters}
    model = any_model(program.ir(0))
    outcome = program.run(inputs, options=Options(model=model, early_stop=False)).outcome
    assert (outcome.ledger.accounts[0].calls, outcome.hops) == (int(answers), int(in_a_row))


def test_the_guide_states_counts_for_all_shapes_but_the_open_one() -> None:
    assert len(GUIDE) == 8
