"""`gotc run --stream` and `stop when`, as processes against a server that streams."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

from support.gotc import ROOT, document, gotc, vote
from support.openai_server import OpenAIServer, cut

TEXT = "First. Second. Third. Fourth. Fifth. Sixth. Seventh. Eighth. Ninth. Tenth."
PROGRAM = """prompt think(question: str, most: int) -> str:
    temperature 0.5
    stop when len(split(it, ".")) > most
    "{{ question }}"

scheme once(question: str, most: int) -> str:
    Generate() think(question, most)
"""
RUN = ("run", "think.got", "--model", "openai:a-model", "--input", "question=why")
FEW = ("--input", "most=2")


def run(folder: Path, server: OpenAIServer | None, *more: str) -> subprocess.CompletedProcess[str]:
    (folder / "think.got").write_text(PROGRAM)
    url = {} if server is None else {"OPENAI_BASE_URL": server.url}
    return gotc(*more, cwd=folder, OPENAI_API_KEY="a-key", **url)


def test_stop_when_ends_a_stream_and_pays_for_what_came(tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text("[a-model]\ninput_per_million = 1\noutput_per_million = 10\n")
    limits = ("--prices", "prices.toml", "--max-usd", "1", "--json")
    with OpenAIServer(lambda body, index: TEXT, gap_s=0.02) as server:
        first = document(run(tmp_path, server, *RUN, *FEW, "--record", "run.jsonl", *limits))
        again = document(run(tmp_path, server, *RUN, *FEW, *limits))
        assert len(server.requests) == 1
        charged = server.charged.output_tokens
        more = document(run(tmp_path, server, *RUN, "--input", "most=4", *limits))
    replayed = document(
        run(tmp_path, None, "run", "think.got", *RUN[4:], *FEW, "--model", "replay:run.jsonl", "--json")
    )
    assert first["result"] == "First. Second. T"[: len("First. Second. T")]
    assert charged < len(TEXT) / 4 - 4
    assert again["result"] == replayed["result"] == first["result"] != more["result"]
    (recorded,) = re.findall(r'"first_s": ?([\d.e-]+)', (tmp_path / "run.jsonl").read_text())
    assert 0 < float(recorded) < 30
    assert again["spent"]["calls"] == again["spent"]["uncertain_calls"] == 0
    # What it cost is not known: the endpoint did not say, so the most that it may cost counts.
    assert first["spent"]["uncertain_calls"] == 1
    assert charged * 10e-6 <= first["spent"]["uncertain_usd"] <= 2048 * 10e-6 + 0.001
    assert "a stream was ended early: its cost is uncertain" in first["notes"]


def test_streams_are_printed_while_they_come_and_are_what_is_stored(tmp_path: Path) -> None:
    with OpenAIServer(lambda body, index: TEXT + "\x1b[2J", faults=[cut(5)]) as server:
        done = run(tmp_path, server, *RUN, "--input", "most=99", "--stream")
    assert done.returncode == 0, done.stderr
    shown = TEXT + "?[2J"
    assert f"think: {TEXT[:16]}" in done.stderr
    assert f"think, again: {shown}\n" in done.stderr
    assert "\x1b[2J" not in done.stderr


def test_a_condition_must_be_a_truth_value(tmp_path: Path) -> None:
    (tmp_path / "wrong.got").write_text(PROGRAM.replace("> most", "+ most"))
    done = gotc("check", "wrong.got", cwd=tmp_path)
    assert done.returncode == 2
    assert "GOT0505" not in done.stdout  # an input that only the condition sees is used
    assert "GOT0201" in done.stdout and "`stop when` must be bool" in done.stdout


def test_the_page_s_commands_run(tmp_path: Path) -> None:
    vote(tmp_path)
    page = (ROOT / "docs" / "streaming.md").read_text(encoding="utf-8")
    for command in re.findall(r"^gotc (.*)", page, re.MULTILINE):
        done = gotc(*shlex.split(command), cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "answer: " in done.stderr
