"""The documentation cannot go stale: its programs are checked and run, its tables are made from the code."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from gotlang.api import Options, check, compile
from gotlang.errors import RunError
from gotlang.operations import OPERATIONS
from gotlang.operations.record import PROMPT_SETTINGS
from gotlang.runtime.sampler.events import Asked, Event
from gotlang.scope import THOUGHT_FUNCTIONS
from gotlang.semantics.builtins import BUILTINS, Builtin
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
        options = Options(model=any_model(program.ir(0)), python=False, ask=lambda question: "1")
        try:
            result = program.run(inputs, scheme=scheme.name, options=options)
        except RunError as error:
            # Made-up answers may leave nothing valid; that is a result in the language's own terms.
            assert error.failures
        else:
            assert result.value is not None


def types(builtin: Builtin) -> str:
    return " · ".join(f"`{type_.written(builtin.name)}`" for type_ in builtin.types)


def builtins_table() -> str:
    rows = ["| built-in | result |", "| --- | --- |"]
    rows += [f"| {types(b)} | {b.doc} |" for b in sorted(BUILTINS.values(), key=lambda b: b.name)]
    rows += [f"| `{name}(thought)` | {doc} |" for name, (_, doc) in THOUGHT_FUNCTIONS.items()]
    return "\n".join(rows)


def operations_table() -> str:
    rows = [
        "| operation | meaning | requires | keeps metadata | fails if |",
        "| --- | --- | --- | --- | --- |",
    ]
    rows += [
        f"| {record.usage} | {record.doc} | {', '.join(record.asks)} | {'yes' if record.keeps else ''} "
        f"| {record.fails} |"
        for record in OPERATIONS.values()
    ]
    rows += [
        "| `Repeat(k)` after a step that calls a model or a scheme's call, `Repeat(k):` over a block "
        "| the same k times in separate contexts, each from the same thoughts | | "
        "| that step fails; one of the k calls or blocks fails |"
    ]
    return "\n".join(rows)


@pytest.mark.parametrize(
    ("name", "table"), [("built-ins", builtins_table()), ("operations", operations_table())]
)
def test_a_table_of_the_reference_is_the_code(name: str, table: str, accept: bool) -> None:
    page = ROOT / "docs" / "language.md"
    text = page.read_text()
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
    start, stop = text.index(begin) + len(begin), text.index(end)
    if accept:
        page.write_text(text[:start] + table + "\n" + text[stop:])
    else:
        assert text[start:stop] == table + "\n", "run pytest with --accept"


GUIDE_TEXT = (ROOT / "docs" / "guide.md").read_text()
GUIDE = [
    pytest.param(*match.groups(), id=match[3].split("scheme ")[1].split("(")[0])
    for match in re.finditer(
        r"^```got\n# calls (\d+), critical path (\d+)\n(.*?)^```", GUIDE_TEXT, re.MULTILINE | re.DOTALL
    )
]
OPEN = r"^```got\n# calls (\S+ \+ \S+), critical path at most (\d+)\n(.*?)^```"
"""A program whose number of calls is decided by the model."""


@pytest.mark.parametrize(("calls", "path", "text"), GUIDE)
def test_a_program_of_the_guide_makes_the_calls_it_and_its_estimate_say(
    calls: str, path: str, text: str
) -> None:
    program = compile(text, "guide.got")
    (scheme,) = program.ir(0).schemes
    inputs = {name: some_value(type_, random.Random(name)) for name, type_ in scheme.parameters}
    options = Options(model=any_model(program.ir(0)), level=1)
    outcome = program.run(inputs, options=options).outcome
    asked = int(calls), int(path)
    assert (outcome.ledger.accounts[0].calls, outcome.hops) == asked
    # The page speaks of any input, and so does the estimate.
    for known in (None, inputs):
        costs = program.explain(known, options=options, simulate=False).costs
        assert (costs.calls.low, costs.critical_path.low) == asked
        assert (costs.calls.high, costs.critical_path.high) == asked


def test_the_guide_says_what_its_open_shape_asks_for_too() -> None:
    assert len(GUIDE) == 8
    (found,) = re.findall(OPEN, GUIDE_TEXT, re.MULTILINE | re.DOTALL)
    calls, path, text = found
    program = compile(text, "guide.got")
    options = Options(model=any_model(program.ir(0), seed=1))
    costs = program.explain(task="write", options=options, simulate=False).costs
    assert (costs.calls.formula, costs.critical_path.high) == (calls, int(path))
    events: list[Event] = []
    outcome = program.run(task="write", options=replace(options, observe=events.append)).outcome
    asked = [event.request.prompt for event in events if isinstance(event, Asked)]
    assert (len(asked), outcome.hops) == (2 + asked.count("work"), int(path))
    assert asked.count("work") > 1


SHOWN = re.findall(
    r"^\| .* \| `(.+)` \| (\[.*\)) \|$", GUIDE_TEXT.split("## Programs by feature")[1], re.MULTILINE
)


@pytest.mark.parametrize(("written", "programs"), SHOWN, ids=[written for written, _ in SHOWN])
def test_a_program_uses_the_feature_that_the_guide_says_it_shows(written: str, programs: str) -> None:
    for path in re.findall(r"\(\.\./(programs/\w+\.got)\)", programs):
        lines = (ROOT / path).read_text().splitlines()
        assert any(written in line for line in lines if not line.startswith("#")), path


def test_every_setting_of_a_prompt_is_used_by_a_program() -> None:
    text = "\n".join(path.read_text() for path in (ROOT / "programs").rglob("*.got"))
    used = {name for name in PROMPT_SETTINGS if re.search(rf"^    {name} |[(,] ?{name}=", text, re.MULTILINE)}
    assert used == {*PROMPT_SETTINGS}
    assert len(SHOWN) > 25
