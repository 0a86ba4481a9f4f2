"""The page on models: its commands run, its numbers are those of the recorded answers."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from support.batch_server import BatchServer
from support.gotc import ROOT, document, gotc, vote
from support.openai_server import OpenAIServer

from .test_local_model import why_not

PAGE = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
RECORDED = "programs/data/small_model.jsonl"


def commands(kind: str) -> list[list[str]]:
    """The commands in the page's blocks of a kind, in their order."""
    blocks = re.findall(rf"^```{kind}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    return [shlex.split(line)[1:] for block in blocks for line in block.splitlines()]


def test_every_command_runs(tmp_path: Path) -> None:
    vote(tmp_path)
    (tmp_path / "programs").symlink_to(ROOT / "programs")
    prices = re.search(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert prices is not None
    (tmp_path / "prices.toml").write_text(prices[1])
    (tmp_path / "questions.csv").write_text("question,truth\nwhy,7\n")
    with OpenAIServer(lambda body, index: "7") as server:
        for command in commands("sh"):
            done = gotc(*command, cwd=tmp_path, OPENAI_API_KEY="a-key", OPENAI_BASE_URL=server.url)
            assert done.returncode == 0, (command, done.stderr)
    assert len(commands("sh")) >= 10


def test_the_command_with_batches_runs(tmp_path: Path) -> None:
    vote(tmp_path)
    (tmp_path / "questions.csv").write_text("question,truth\nwhy,7\n")
    (command,) = commands("sh batches")
    with BatchServer(lambda body, index: "7") as server:
        done = gotc(*command, cwd=tmp_path, OPENAI_API_KEY="a-key", OPENAI_BASE_URL=server.url)
    assert done.returncode == 0, done.stderr
    assert len(server.batches) == 1


@pytest.mark.skipif(bool(why_not()), reason=why_not() or "it can be")
def test_the_commands_with_a_real_local_model_run(tmp_path: Path) -> None:
    vote(tmp_path)
    fetch, run, _ = commands("sh local")  # the last is held against its recorded answers below
    assert gotc(*fetch, cwd=tmp_path).returncode == 0
    done = gotc(*run, cwd=tmp_path)
    # A model so small may answer a question like "why" without a number: that run fails, in words.
    assert done.returncode == 0 or "no number found" in done.stderr, done.stderr


def test_a_replay_of_another_prompt_says_what_the_page_says(tmp_path: Path) -> None:
    vote(tmp_path)
    run = ("run", "vote.got", "--model")
    gotc(*run, "simulated", "--input", "question=why", "--record", "run.jsonl", cwd=tmp_path)
    done = gotc(*run, "replay:run.jsonl", "--input", "question=why?", cwd=tmp_path)
    (told,) = re.findall(r"^```text\n(run\.jsonl does.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert " ".join(told.split()) in " ".join(done.stderr.split())


def test_the_small_model_s_numbers_are_those_of_its_recorded_answers(tmp_path: Path) -> None:
    (compare,) = [command for command in commands("sh local") if command[0] == "compare"]
    replayed = [f"replay:{ROOT / RECORDED}" if part == "local:smollm2" else part for part in compare]
    replayed = [str(ROOT / part) if part.startswith("programs/") else part for part in replayed]
    found = document(gotc(*replayed, "--json", cwd=tmp_path))
    for scheme in found["schemes"]:
        right, calls = scheme["metrics"]["correct"], scheme["metrics"]["calls"]["mean"]
        gained = scheme["to_baseline"]["correct"]
        cells = [f"`{scheme['scheme']}`", _percent(right["mean"]), _interval(right), f"{calls:.1f}"]
        cells += ["", ""] if gained is None else [f"+{_percent(gained['mean'])}", _interval(gained)]
        assert f"| {' | '.join(cells)} |".replace("|  |", "| |").replace("|  |", "| |") in PAGE
        assert (gained is None) or gained["low"] > 0
    assert found["spent"]["calls"] == 0
    assert f"replay:{RECORDED}" in PAGE


def _percent(share: float) -> str:
    return f"{share:.1%}"


def _interval(found: dict[str, float]) -> str:
    return f"{_percent(found['low'])} to {_percent(found['high'])}"


@pytest.mark.parametrize("name", ["rpm", "tpm", "failures", "n", "base_s", "per_token_s", "spread"])
def test_every_setting_of_a_dry_run_is_on_the_page(name: str) -> None:
    from gotlang.models.simulated import SETTINGS

    assert f"`{name}`" in PAGE
    assert name in SETTINGS
