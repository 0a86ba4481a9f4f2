"""What a run says of its result: complete, invalid, partial or failed; each with its exit code, and no value
on stdout that could be taken for the result."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from support.gotc import document, gotc

from gotlang import compile, run
from gotlang.cli.output import EXIT_CODES
from gotlang.errors import InvalidResult, PartialResult
from gotlang.models.simulated import SimulatedModel
from gotlang.options import Options

PROMPTS = """\
simulate with "sim.py"

prompt invoice(text: str) -> {total: float, lines: list[float]}:
    "Read {{ text }}"
prompt fix(text: str, wrong: {total: float, lines: list[float]}) -> {total: float, lines: list[float]}:
    "Mend {{ wrong }} of {{ text }}"
prompt sort(numbers: list[int]) -> list[int]:
    "Sort {{ numbers }}"
prompt merge(left: list[int], right: list[int]) -> list[int]:
    "Merge {{ left }} and {{ right }}"
prompt judge(numbers: list[int]) -> float:
    "Rate {{ numbers }}"
prompt better(numbers: list[int]) -> list[int]:
    "Improve {{ numbers }}"
"""
SIM = """\
def invoice(rng, text):
    return '{"total": 99.0, "lines": [10, 20, 30]}'


def fix(rng, text, wrong):
    return invoice(rng, text)


def sort(rng, numbers):
    return str(sorted(numbers))


def merge(rng, left, right):
    return str(sorted(left + right))


def judge(rng, numbers):
    return "5"


def better(rng, numbers):
    return str(numbers)
"""
INVALID = """
scheme main(text: str) -> {total: float, lines: list[float]}:
    Generate() invoice(text)
    ValidateAndImprove(tries=2) it.total == sum(it.lines), fix(text, it)
"""
HALVES = """
scheme main(numbers: list[int]) -> list[int]:
    foreach half in chunks(numbers, 2):
        Generate() sort(half)
    Aggregate() merge(half[0], half[1])
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    (tmp_path / "sim.py").write_text(SIM)
    return tmp_path / "main.got"


def test_an_invalid_result_is_said_and_not_printed(program: Path) -> None:
    program.write_text(PROMPTS + INVALID)
    plain = gotc("run", "main.got", "--input", "text=a", cwd=program.parent)
    assert (plain.returncode, plain.stdout) == (5, "")
    assert "not valid: the result does not pass `ValidateAndImprove fix` (line 18)" in plain.stderr
    assert "`--partial` prints it" in plain.stderr
    asked = gotc("run", "main.got", "--input", "text=a", "--partial", "--quiet", cwd=program.parent)
    assert (asked.returncode, json.loads(asked.stdout)["total"]) == (5, 99.0)
    found = document(gotc("run", "main.got", "--input", "text=a", "--json", cwd=program.parent), 5)
    assert (found["status"], found["valid"], found["result"]) == ("invalid", False, None)
    shown = gotc("show", cwd=program.parent).stdout
    assert "99.0" in shown and "not valid" in shown


def test_a_valid_result_says_so(program: Path) -> None:
    program.write_text(PROMPTS + INVALID.replace("it.total == sum(it.lines)", "it.total > 1"))
    found = document(gotc("run", "main.got", "--input", "text=a", "--json", cwd=program.parent))
    assert (found["status"], found["valid"], found["result"]["total"]) == ("complete", True, 99.0)


def test_a_list_with_an_invalid_part_is_invalid(program: Path) -> None:
    text = """
scheme main(numbers: list[int]) -> list[list[int]]:
    foreach half in chunks(numbers, 2):
        Generate() sort(half)
        Validate() it[0] == 1
"""
    program.write_text(PROMPTS + text)
    done = gotc("run", "main.got", "--input", "numbers=[2,1,4,3]", "--json", cwd=program.parent)
    assert document(done, 5)["valid"] is False


@pytest.mark.parametrize("limit", ["1", "2"])
def test_a_part_of_the_problem_is_no_partial_result(program: Path, limit: str) -> None:
    program.write_text(PROMPTS + HALVES)
    numbers = "numbers=[9,8,7,6,5,4,3,2,1]"
    done = gotc("run", "main.got", "--input", numbers, "--max-calls", limit, "--partial", cwd=program.parent)
    assert (done.returncode, done.stdout) == (3, "")
    assert "no result was created before that" in done.stderr


PARTIAL = [
    ("Generate() sort(numbers)\n    Score() judge(it)\n    KeepBestN(1)", 1, [1, 2, 3]),
    ("Generate() sort(numbers)\n    Improve() better(it)\n    Vote()", 1, [1, 2, 3]),
    ("Generate() sort(numbers)\n    ValidateAndImprove() it == [], better(it)", 1, [1, 2, 3]),
    ("inner(numbers)\n    Score() judge(it)\n    KeepBestN(1)", 1, [1, 2, 3]),
    ("Generate(k=3) sort(numbers)\n    Vote()", 1, [1, 2, 3]),
    ("Generate() sort(numbers)\n    Generate() better(it)", 1, None),
    ("Pool() numbers\n    repeat 3:\n        Generate() better(it)", 2, [3, 1, 2]),
    ("Pool() numbers\n    repeat 3:\n        Generate() better(it)", 0, None),
    ("Pool() numbers\n    repeat 3 until len(it) == 0:\n        Generate() better(it)", 2, [3, 1, 2]),
    (
        "Generate() sort(numbers)\n    Validate() false\n    Score() judge(it)\n    KeepValid()\n    Vote()",
        1,
        None,
    ),
]


@pytest.mark.parametrize(("body", "limit", "value"), PARTIAL)
def test_a_partial_result_is_a_thought_of_the_result(
    program: Path, body: str, limit: int, value: object
) -> None:
    inner = "\nscheme inner(numbers: list[int]) -> list[int]:\n    Generate() sort(numbers)\n"
    program.write_text(f"{PROMPTS}{inner}\nscheme main(numbers: list[int]) -> list[int]:\n    {body}\n")
    how = ("run", "main.got", "--input", "numbers=[3,1,2]", "--no-cache", "--max-calls", str(limit), "--json")
    assert document(gotc(*how, cwd=program.parent), 3)["result"] is None
    found = document(gotc(*how, "--partial", cwd=program.parent), 3)
    assert (found["status"], found["result"]) == ("partial", value)


def test_python_says_the_same(program: Path) -> None:
    program.write_text(PROMPTS + INVALID)
    options = Options(model="simulated", cache=None)
    found = run(program, text="a", options=options)
    assert (found.status, found.valid, found.value["total"]) == ("invalid", False, 99.0)
    assert "not valid" in repr(found)
    with pytest.raises(InvalidResult, match="does not pass `ValidateAndImprove fix`") as caught:
        found.raise_for_status()
    assert caught.value.exit_code == 5
    program.write_text(PROMPTS + HALVES)
    part = run(program, numbers=[3, 2, 1], options=Options(model="simulated", cache=None, max_calls=1))
    assert (part.status, part.value) == ("partial", None)
    with pytest.raises(PartialResult, match="1 of 1 calls made"):
        part.raise_for_status()
    whole = run(program, numbers=[3, 2, 1], options=options)
    assert whole.raise_for_status().value == [1, 2, 3]


SCORED = """
prompt sort(numbers: list[int]) -> list[int]:
    "Sort {{ numbers }}"
score mistakes(attempt: list[int], numbers: list[int]) -> lower, best 0:
    count_difference(attempt, numbers)
scheme main(numbers: list[int]) -> list[int]:
    part = Generate() sort(numbers[0:1])
    Pool() part
    Score() mistakes(it, part)
    KeepBestN(1)
"""


def scored(text: str) -> tuple[float | None, str | None]:
    model = SimulatedModel({"sort": lambda rng, numbers: str(sorted(numbers))})
    found = compile(text, "main.got").run(numbers=[3, 1, 2], options=Options(model=model))
    return found.score, found.score_unknown


def test_the_score_is_that_of_the_result_against_the_inputs() -> None:
    assert scored(SCORED) == (2.0, None)  # and not 0, of the step, which compares with what it was made from
    score, why = scored(
        SCORED.replace("numbers: list[int]) -> lower", "other: list[int]) -> lower").replace(
            "(attempt, numbers)", "(attempt, other)"
        )
    )
    assert score is None
    assert why == "end scheme `main` with a score against its inputs, such as `Score() mistakes(it, numbers)`"


def test_one_table_of_exit_codes() -> None:
    page = (Path(__file__).parents[2] / "docs" / "results.md").read_text()
    rows = re.findall(r"^\| (\d+) \| (.+) \|$", page, re.MULTILINE)
    assert {int(code): meaning for code, meaning in rows} == EXIT_CODES
    help = gotc("--help", cwd=Path.cwd()).stdout
    assert all(f"{code} {meaning[:20]}" in help for code, meaning in EXIT_CODES.items())
