"""`Ask`: sources of answers, waiting questions, and how a run continues."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from gotlang.api import Options, Question, compile
from gotlang.errors import PartialResult, UsageError
from gotlang.models.simulated import SimulatedModel
from gotlang.result import Result
from tests.support.gotc import gotc

PROGRAM = Path(__file__).parents[1] / "programs" / "refunds.got"
TEXT = """
prompt parts(n: int) -> many int:
    "parts of {{ n }}"
prompt rate(n: int) -> int:
    "How good is {{ n }}?"
scheme main(n: int) -> list[str]:
    found = Generate() parts(n)
    foreach part in found:
        try:
            grade = Ask() rate(part)
            Pool() str(part) + ": " + str(grade)
        else:
            Pool() "nothing"
"""
MODEL = SimulatedModel({"parts": lambda rng, n: str(list(range(n)))})


def go(**options: Any) -> Result:
    return compile(TEXT).run(n=3, options=Options(model=MODEL, **options))


def answers(result: Result) -> Mapping[str, str]:
    """An answer to each question that waits: the number in it times ten."""
    numbers = {q.id: "".join(c for c in q.text if c.isdigit()) for q in result.outcome.waiting}
    return {id: f"{number}0" for id, number in numbers.items()}


def test_a_function_answers_one_question_after_the_other() -> None:
    asked, at_once = [], 0

    async def ask(question: Question) -> str:
        nonlocal at_once
        at_once += 1
        assert at_once == 1
        await asyncio.sleep(0.001)
        at_once -= 1
        asked.append(question)
        return "7"

    result = go(ask=ask)
    assert result.value == ["0: 7", "1: 7", "2: 7"]
    assert sorted(q.text for q in asked) == ["How good is 0?", "How good is 1?", "How good is 2?"]
    assert {q.prompt for q in asked} == {"rate"}


def test_without_anybody_every_question_waits_and_what_was_paid_is_kept(tmp_path: Path) -> None:
    cache = tmp_path / "cache.sqlite"
    first = go(cache=cache)
    assert (first.status, first.value, len(first.outcome.waiting)) == ("partial", None, 3)
    assert first.to_dict()["waiting"][0] == first.outcome.waiting[0]._asdict()
    with pytest.raises(PartialResult, match="3 questions to a person"):
        first.raise_for_status()
    given = dict(answers(first))
    last, text = given.popitem()
    second = go(cache=cache, answers=given)
    assert [q.id for q in second.outcome.waiting] == [last]
    assert second.outcome.ledger.spent.calls == 2  # the two answers; the model was not asked again
    third = go(cache=cache, ask=lambda question: text if question.id == last else None)
    assert third.value == ["0: 0", "1: 10", "2: 20"]
    assert go(cache=cache).value == third.value


def test_an_answer_that_cannot_be_read_is_asked_for_again() -> None:
    texts: dict[str, list[str]] = {}

    def ask(question: Question) -> str:
        seen = texts.setdefault(question.text, [])
        seen.append(question.id)
        return "good" if len(seen) < 3 else "3"

    assert go(ask=ask).value == ["0: 3", "1: 3", "2: 3"]
    assert all(len(set(ids)) == 3 for ids in texts.values())
    assert go(ask=lambda question: "good").value == ["nothing"] * 3


def test_a_simulator_answers_for_people_and_rows_ask_nobody(tmp_path: Path) -> None:
    (tmp_path / "sim.py").write_text(
        "def parts(rng, n):\n    return str(list(range(n)))\ndef rate(rng, n):\n    return str(n)\n"
    )
    (tmp_path / "main.got").write_text('simulate with "sim.py"\n' + TEXT)
    (tmp_path / "rows.csv").write_text("n\n1\n2\n")
    done = gotc("eval", "main.got", "--data", "rows.csv", "--allow-python", "--no-cache", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    with pytest.raises(UsageError, match="asks a person"):
        compile(TEXT).evaluate([{"n": 1}], options=Options(model=MODEL))


def test_a_command_ends_with_its_questions_and_goes_on_with_answers(tmp_path: Path) -> None:
    (tmp_path / "sim.py").write_text("def parts(rng, n):\n    return str(list(range(n)))\n")
    (tmp_path / "main.got").write_text('simulate with "sim.py"\n' + TEXT)
    command = ("run", "main.got", "--input", "n=2", "--allow-python")
    done = gotc(*command, cwd=tmp_path)
    assert done.returncode == 8
    assert "How good is 1?" in done.stderr and "--answer" in done.stderr
    waiting = json.loads(gotc(*command, "--json", cwd=tmp_path).stdout)["waiting"]
    first, second = (question["id"] for question in waiting)
    (tmp_path / "a.json").write_text(json.dumps({first: "4"}))
    done = gotc(
        *command, "--answers", "a.json", "--answer", f"{second}=4", "--record", "r.jsonl", cwd=tmp_path
    )
    assert (done.returncode, done.stdout) == (0, '["0: 4", "1: 4"]\n'), done.stderr
    # From then on nobody is asked: not with the cache, and not in a replay.
    assert gotc(*command, cwd=tmp_path).stdout == done.stdout
    replayed = gotc(*command, "--no-cache", "--model", "replay:r.jsonl", cwd=tmp_path)
    assert replayed.stdout == done.stdout, replayed.stderr


def test_a_question_that_waits_does_not_keep_back_what_needs_no_answer() -> None:
    text = TEXT + (
        'scheme two(n: int) -> list[str]:\n    name = Ask("Name?")\n    found = Generate() parts(n)\n'
        "    grade = Ask() rate(len(found))\n    Pool() [name, str(grade)]\n"
    )
    result = compile(text).run(n=3, scheme="two", options=Options(model=MODEL))
    assert sorted(question.text for question in result.outcome.waiting) == ["How good is 3?", "Name?"]


def test_a_desk_ends_responses_early_and_asks_a_person_about_large_sums(tmp_path: Path) -> None:
    done = gotc("test", PROGRAM, "--allow-python", "--no-cache", cwd=tmp_path)
    assert done.returncode == 0 and "2 tests: 2 hold" in done.stderr, done.stdout + done.stderr

    def ask(question: Question) -> str:
        assert "Pay back $" in question.text
        return "7"

    def answered(text: str, dollars: int) -> Result:
        said = f"It is broken.\nRefund: {dollars}\n" + "And so on. " * 50
        options = Options(model=SimulatedModel({"decide": lambda rng, letter: said}), ask=ask)
        return compile(text).run(letter="A letter.", scheme="refund", options=options)

    text = PROGRAM.read_text().replace('simulate with "refunds_sim.py"', "")
    whole = re.sub("    stop when .*\n", "", text)
    assert [answered(text, dollars).value for dollars in (50, 51)] == [50, 7]
    short, long = (answered(one, 50).outcome.ledger.spent.output_tokens for one in (text, whole))
    assert short < long / 4


def test_who_asks_only_people_needs_no_model(tmp_path: Path) -> None:
    text = 'scheme main(q: str) -> str:\n    Ask("What is " + q + "?")\n'
    (tmp_path / "main.got").write_text(text)
    command = ("run", "main.got", "--input", "q=x")
    done = gotc(*command, "--json", cwd=tmp_path)
    (waiting,) = json.loads(done.stdout)["waiting"]
    assert done.returncode == 8
    done = gotc(*command, "--answer", f"{waiting['id']}=a letter", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "a letter\n")
    assert "main· no model was called" in done.stderr and "--model" not in done.stderr
    assert compile(text).run(q="y", options=Options(ask=lambda question: "?")).value == "?"
    (tmp_path / "main.got").write_text(
        text + 'prompt p(q: str) -> str:\n    "{{ q }}"\nscheme other(q: str) -> str:\n    Generate() p(q)\n'
    )
    assert gotc(*command, "--scheme", "other", cwd=tmp_path).returncode == 2
    assert gotc(*command, "--scheme", "main", cwd=tmp_path).stdout == "a letter\n"
