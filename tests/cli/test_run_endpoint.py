"""Runs against an OpenAI-compatible server on loopback, through the real SDK."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.gotc import SORT128, digits, document, gotc, row, vote
from support.openai_server import OpenAIServer, status
from support.sorter import Sorter

MODEL = ("--model", "openai:small")
KEY = "sk-a-key-that-nobody-may-see"


def sorted_by(server: OpenAIServer, folder: Path, *more: str) -> dict[str, Any]:
    command = ("run", SORT128, *row(folder / "digits.csv", 0), *MODEL, "--base-url", server.url, "--json")
    return document(gotc(*command, "-O", "1", *more, cwd=folder, OPENAI_API_KEY=KEY))


def test_151_answers_in_23_requests_and_the_same_by_single_calls(tmp_path: Path) -> None:
    digits(tmp_path)
    with OpenAIServer(Sorter()) as server:
        batched = sorted_by(server, tmp_path, "--no-cache")
    asked = [seen.n for seen in server.requests]
    assert batched["ledger"]["none"]["calls"] == sum(asked) == 151
    assert batched["spent"]["requests"] == len(asked) <= 23
    assert batched["simulated"] is False
    with OpenAIServer(Sorter(), refuses=["n"]) as server:
        single = sorted_by(server, tmp_path, "--no-cache")
    answered = [seen for seen in server.requests if seen.status == 200]
    assert len(answered) == single["spent"]["calls"] == 151
    for same in ("result", "score", "ground_truth", "failed"):
        assert single[same] == batched[same]
    assert 0 < batched["score"] < 60


def test_again_from_the_cache_without_a_request(tmp_path: Path) -> None:
    digits(tmp_path)
    with OpenAIServer(Sorter()) as server:
        first = sorted_by(server, tmp_path)
        seen = len(server.requests)
        again = sorted_by(server, tmp_path, "--concurrency", "1")
    assert len(server.requests) == seen
    assert again["spent"]["calls"] == 0
    assert again["result"] == first["result"]


def test_real_and_simulated_answers_never_mix(tmp_path: Path) -> None:
    digits(tmp_path)
    simulated = document(gotc("run", SORT128, *row(tmp_path / "digits.csv", 0), "--json", cwd=tmp_path))
    with OpenAIServer(Sorter()) as server:
        real = sorted_by(server, tmp_path)
    assert (simulated["simulated"], real["simulated"]) == (True, False)
    assert real["spent"]["calls"] == 151


def test_a_price_that_is_not_known_is_null_and_unknown(tmp_path: Path) -> None:
    vote(tmp_path)
    command = ("run", "vote.got", "--input", "question=why", *MODEL, "--no-cache")
    with OpenAIServer(lambda body, index: "7") as server:
        found = document(gotc(*command, "--json", "--base-url", server.url, cwd=tmp_path))
        shown = gotc(*command, cwd=tmp_path, OPENAI_BASE_URL=server.url)
    assert found["spent"]["usd"] is None
    assert found["ledger"]["none"]["usd"] is None
    assert "unknown" in shown.stderr
    assert "$0" not in shown.stderr


def test_a_given_price_is_kept_to_as_a_limit(tmp_path: Path) -> None:
    vote(tmp_path)
    (tmp_path / "prices.toml").write_text("[small]\ninput_per_million = 100\noutput_per_million = 100\n")
    command = (
        "run",
        "vote.got",
        "--input",
        "question=why",
        "--set",
        "tries=9",
        *MODEL,
        "--no-cache",
        "--json",
    )
    with OpenAIServer(lambda body, index: "7") as server:
        options = ("--base-url", server.url, "--prices", "prices.toml", "--max-usd", "0.006")
        found = document(gotc(*command, *options, "--partial", cwd=tmp_path), 3)
    charged = (server.charged.input_tokens + server.charged.output_tokens) / 1e4
    assert 0 < charged <= 0.006
    assert found["spent"]["usd"] == pytest.approx(charged)
    assert found["result"] == 7


def test_a_setting_that_is_refused_is_noted(tmp_path: Path) -> None:
    vote(tmp_path)
    command = ("run", "vote.got", "--input", "question=why", *MODEL, "--json")
    with OpenAIServer(lambda body, index: "7", refuses=["temperature"]) as server:
        done = gotc(*command, "--base-url", server.url, cwd=tmp_path)
    assert any("temperature" in note for note in document(done)["notes"])
    assert "temperature" in done.stderr


def test_no_retry_sends_a_request_once(tmp_path: Path) -> None:
    vote(tmp_path)
    command = ("run", "vote.got", "--input", "question=why", *MODEL)
    with OpenAIServer(faults=lambda seen: status(503)) as server:
        done = gotc(*command, "--no-retry", "--base-url", server.url, cwd=tmp_path)
    assert done.returncode == 1
    assert len(server.requests) == 1
