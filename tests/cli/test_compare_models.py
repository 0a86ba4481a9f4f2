"""`gotc compare --models a,b`: schemes x models in one table, against a real server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.gotc import document, gotc
from support.openai_server import OpenAIServer

PROGRAM = """\
prompt answer(n: int) -> int:
    max_tokens 10
    "Double {{ n }}."

scheme once(n: int) -> int:
    Generate() answer(n)
    GroundTruth() it == truth

scheme twice(n: int) -> int:
    Generate(k=2) answer(n)
    Vote()
    GroundTruth() it == truth
"""
PRICES = {
    name: {"input_per_million": usd, "output_per_million": usd} for name, usd in (("small", 1), ("big", 9))
}
ROWS = 12


def answer(body: dict[str, Any], index: int) -> str:
    number = int(body["messages"][-1]["content"].split()[1].rstrip("."))
    return str(2 * number if body["model"] == "big" or number % 4 == 0 else 0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "p.got").write_text(PROGRAM)
    (tmp_path / "prices.json").write_text(json.dumps(PRICES))
    (tmp_path / "rows.csv").write_text("n,truth\n" + "".join(f"{n},{2 * n}\n" for n in range(1, ROWS + 1)))
    return tmp_path


def compare(folder: Path, server: OpenAIServer, *more: object) -> Any:
    command = ("compare", "p.got", "--data", "rows.csv", "--models", "openai:small,openai:big")
    given = ("--base-url", server.url, "--prices", "prices.json", "--quiet")
    return gotc(*command, *given, *more, cwd=folder, OPENAI_API_KEY="a-key")


def test_each_scheme_runs_with_each_model_in_one_table(folder: Path) -> None:
    with OpenAIServer(answer) as server:
        done = compare(folder, server)
        assert done.returncode == 0, done.stderr
        lines = done.stdout.splitlines()
        assert lines[0].startswith("p by openai:small, openai:big · 12 rows")
        shown = {line.partition("  ")[0]: line for line in lines[2:6]}
        assert list(shown) == [
            "once @ openai:small",
            "twice @ openai:small",
            "once @ openai:big",
            "twice @ openai:big",
        ]
        assert shown["once @ openai:small"].endswith("baseline") and "25.0%" in shown["once @ openai:small"]
        assert shown["once @ openai:big"].endswith("better") and "100.0%" in shown["once @ openai:big"]
        assert "Pareto-optimal in (correct, cost): once @ openai:small, once @ openai:big" in done.stdout
        sent = len(server.requests)
        # All of it is cached; the page and JSON have the same four.
        found = document(compare(folder, server, "--json", "--html", "page.html"))
        assert len(server.requests) == sent
    assert [(one["scheme"], one["model"]) for one in found["schemes"]][2] == (
        "once @ openai:big",
        "openai:big",
    )
    assert found["schemes"][2]["to_baseline"]["correct"]["mean"] == 0.75
    assert "twice @ openai:big" in (folder / "page.html").read_text()


def test_the_baseline_may_be_of_any_model_and_one_scheme_is_enough(folder: Path) -> None:
    with OpenAIServer(answer) as server:
        done = compare(folder, server, "--schemes", "once", "--baseline", "once @ openai:big")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[2].endswith("worse") and lines[3].endswith("baseline") and len(lines) == 5


def test_limits_are_of_all_models_together(folder: Path) -> None:
    with OpenAIServer(answer) as server:
        done = compare(folder, server, "--schemes", "once", "--max-calls", ROWS + 4)
        assert done.returncode == 3, done.stderr
        assert "once @ openai:big: stopped: " in done.stderr
        assert sum(request.body.get("n") or 1 for request in server.requests) == ROWS + 4
    (folder / ".gotc" / "cache.sqlite").unlink()
    with OpenAIServer(answer) as server:
        assert compare(folder, server, "--schemes", "once", "--max-calls", 3).returncode == 3
        assert sum(request.body.get("n") or 1 for request in server.requests) == 3


def test_what_is_spent_is_the_sum_of_both(folder: Path) -> None:
    with OpenAIServer(answer) as server:
        found = document(compare(folder, server, "--json"))
    assert (
        found["spent"]["calls"] == sum(request.body.get("n") or 1 for request in server.requests) == 4 * ROWS
    )
    assert {request.body["model"] for request in server.requests} == {"small", "big"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--models", "openai:a,openai:a"), "duplicate model `openai:a`"),
        (
            ("--models", "openai:a,simulated"),
            "simulated responses are not compared with those of real models",
        ),
        (("--models", "openai:a,openai:b", "--model", "openai:c"), "`--models` cannot be combined"),
        (("--models", "openai:a,openai:b", "--equal-cost"), "`equal_cost` compares one model"),
        (("--models", "openai:a,openai:b", "--record", "r.jsonl"), "a recording is of one model"),
        (("--models", "openai:a,openai:b", "--baseline", "one"), "the baseline `one` is not compared"),
        (("--models", "openai:a", "--schemes", "once"), "a comparison needs two schemes at least"),
        (("--models", "nobody:a,openai:b"), "nobody"),
    ],
)
def test_a_wrong_matrix_is_one_message(folder: Path, options: tuple[str, ...], message: str) -> None:
    with OpenAIServer(answer) as server:
        given = ("--data", "rows.csv", "--base-url", server.url, "--prices", "prices.json")
        done = gotc("compare", "p.got", *given, *options, cwd=folder, OPENAI_API_KEY="a-key")
        assert not server.requests
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
