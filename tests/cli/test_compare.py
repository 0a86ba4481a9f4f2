"""`gotc compare` as users run it."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
from support.gotc import SORTING, VOTE, document, gotc
from support.openai_server import OpenAIServer, dropped, gateway, half_body

from gotlang.models.base import Price
from gotlang.models.prices import dollars
from gotlang.runtime.sampler.budget import cost

from .test_eval import data


def test_a_line_a_scheme_with_its_interval_and_what_the_difference_shows(tmp_path: Path) -> None:
    done = gotc("compare", SORTING, "--schemes", "io,cot,got", "--data", data(tmp_path), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [line[0] for line in lines[1:5]] == ["scheme", "io", "cot", "got"]
    assert "simulated" in done.stdout
    assert "baseline" in done.stdout
    assert "Pareto-optimal in (mistakes, cost)" in done.stdout


def test_equal_cost_and_baselines_as_data(tmp_path: Path) -> None:
    command = ("compare", SORTING, "--schemes", "io,best-of-4,vote-of-4,got", "--data", data(tmp_path, 6, 32))
    found = document(gotc(*command, "--equal-cost", "--json", cwd=tmp_path))
    io, best, _, got = found["schemes"]
    assert (found["metric_name"], found["baseline"], got["repeats"]) == ("mistakes", "io", 1)
    target = got["metrics"]["cost"]["mean"]
    assert io["repeats"] > best["repeats"] > 1
    for entry in (io, best):
        assert abs(entry["metrics"]["cost"]["mean"] / target - 1) < 0.05  # of six rows
    again = document(gotc(*command, "--equal-cost", "--json", cwd=tmp_path))
    assert again["schemes"] == found["schemes"]
    assert again["spent"]["calls"] == 0


def test_a_recorded_comparison_replays(tmp_path: Path) -> None:
    command = ("compare", SORTING, "--schemes", "io,got", "--equal-cost", "--data", data(tmp_path, 6, 32))
    made = gotc(*command, "--record", "run.jsonl", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    again = gotc(*command, "--model", "replay:run.jsonl", "--no-cache", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert again.stdout.splitlines()[1:] == made.stdout.splitlines()[1:]


def test_what_cannot_be_compared_is_a_usage_error(tmp_path: Path) -> None:
    command = ("compare", SORTING, "--data", data(tmp_path, 2))
    for more, words in (
        (("--schemes", "io"), "needs two schemes"),
        (("--schemes", "io,goot"), "did you mean `got`?"),
        (("--schemes", "io,got", "--baseline", "tot"), "is not compared"),
    ):
        done = gotc(*command, *more, cwd=tmp_path)
        assert done.returncode == 2
        assert words in done.stderr


ONCE = """
scheme once(question: str) -> int:
    Generate() answer(question)
    GroundTruth() it == truth
"""
LOST = {"500": lambda: gateway(500), "504": lambda: gateway(504), "cut": half_body, "closed": dropped}


@pytest.mark.parametrize("limit", [0.2, 0.4, None])
@pytest.mark.parametrize("kind", LOST)
def test_charges_without_a_response_exceed_no_limit(tmp_path: Path, kind: str, limit: float | None) -> None:
    """Of two schemes on 12 rows 40% of the requests are charged and lost: the server's ledger stays below the
    limit and between what is told as charged and as uncertain, and each row says what became of it."""
    (tmp_path / "vote.got").write_text(VOTE.replace('simulate with "vote_sim.py"\n', "") + ONCE)
    (tmp_path / "q.csv").write_text("question,truth\n" + "".join(f"{n}?,{7 + n % 2}\n" for n in range(12)))
    (tmp_path / "p.toml").write_text("[small]\ninput_per_million = 1000\noutput_per_million = 1000\n")
    command = ("compare", "vote.got", "--schemes", "once,vote", "--data", "q.csv", "--prices", "p.toml")
    options = ["--concurrency", "2", "--no-retry", "--no-cache", "--max-failed", "1"]
    options += [] if limit is None else ["--max-usd", str(limit)]
    chance = Random(kind)
    with OpenAIServer(
        lambda body, index: "7", faults=lambda seen: LOST[kind]() if chance.random() < 0.4 else None
    ) as server:
        done = gotc(
            *command, *options, "--model", "openai:small", "--base-url", server.url, "--json", cwd=tmp_path
        )
        charged = float(cost(Price(1000.0, 1000.0), server.charged))
    found = json.loads(done.stdout)
    spent = found["spent"]
    assert limit is None or charged <= limit
    assert limit is None or spent["usd"] + spent["uncertain_usd"] <= limit + 1e-9
    assert 0 < spent["usd"] <= charged + 1e-9 <= spent["usd"] + spent["uncertain_usd"] + 2e-9
    uncertain = f"at most {dollars(spent['uncertain_usd'])} more on {spent['uncertain_calls']} calls"
    assert f"spent {dollars(spent['usd'])} on {spent['calls']} calls; uncertain: {uncertain}" in done.stderr
    failed = stopped = 0
    for scheme in found["schemes"]:
        runs = scheme["runs"]
        assert len(runs) + scheme["not_run"] == 12
        assert {run["state"] for run in runs} <= {"done", "partial", "failed"}
        for run in runs:
            lost = "requests that may have been charged without a response: 1" in (run["reason"] or "")
            assert lost is (run["state"] == "failed")
            assert run["usd"] == pytest.approx(0.001 * run["tokens"])
        failed += sum(each["runs"] for each in scheme["failed"])
        partial = sum(run["state"] == "partial" for run in runs)
        stopped += partial + scheme["not_run"]
        if partial:
            words = f"{partial} run{'s' * (partial > 1)} without a result"
            assert f"{scheme['scheme']}: stopped: the budget does not allow" in done.stderr
            assert words in done.stderr
    assert failed == sum(run["state"] == "failed" for s in found["schemes"] for run in s["runs"]) > 0
    assert done.returncode == (3 if stopped else 0), done.stderr
    assert stopped == 0 or limit is not None
