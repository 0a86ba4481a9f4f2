"""Cassettes: a run that was recorded replays without its model, and says which request was not recorded."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import shutil
import socket
import threading
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from support.caches import a_request, an_answer
from support.gotc import SORT128, VOTE, document, gotc, vote
from support.openai_server import OpenAIServer

from gotlang.api import Options, load
from gotlang.cache import open_cache
from gotlang.cache.cassette import RecordedModel, Recording, ReplayModel, open_recording
from gotlang.cache.memory import MemoryCache
from gotlang.errors import CacheError, ModelError, RunError, UsageError
from gotlang.models.base import DecodingSettings, Message, Price, Request

NUMBERS = [7, 3, 1, 9, 2, 5, 8, 0, 4, 6] * 13
QUESTION = ("--input", "question=why")


def without_payment(document: dict[str, Any]) -> dict[str, Any]:
    """What a replay must repeat: all but the run's name, its model's, and what was paid this time."""
    ledger = {name: account for name, account in document["ledger"].items() if name != "persistent"}
    varying = ("run", "model", "spent", "wall_s")
    kept = {name: value for name, value in document.items() if name not in varying}
    return {**kept, "ledger": ledger}


def test_a_recorded_run_replays_to_the_same_bytes_without_simulators_or_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "programs"
    shutil.copytree(SORT128.parent, folder, ignore=shutil.ignore_patterns("data", "__pycache__"))
    cassette = tmp_path / "run.jsonl"
    program = load(folder / "sort128.got")
    recorded = program.run(numbers=NUMBERS, options=Options(record=cassette)).to_dict()
    simulators = (folder / "sorting_sim.py").read_text()
    (folder / "sorting_sim.py").write_text(
        simulators + "\nraise AssertionError('a replay asks no simulator')\n"
    )

    def no_network(*_: object, **__: object) -> None:
        raise AssertionError("a replay opens no connection")

    monkeypatch.setattr(socket.socket, "connect", no_network)
    again = load(folder / "sort128.got").run(numbers=NUMBERS, options=Options(model=f"replay:{cassette}"))
    assert again.simulated is True
    assert json.dumps(without_payment(again.to_dict())) == json.dumps(without_payment(recorded))
    paid = again.to_dict()["spent"]
    assert (paid["calls"], paid["requests"], paid["usd"]) == (0, 0, 0.0)


def test_a_replay_can_be_recorded_and_gives_the_same_cassette(tmp_path: Path) -> None:
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    program = load(SORT128)
    program.run(numbers=NUMBERS, options=Options(record=first))
    program.run(numbers=NUMBERS, options=Options(model=f"replay:{first}", record=second))
    assert first.read_bytes() == second.read_bytes()


def test_an_observer_that_breaks_costs_the_recording_nothing(tmp_path: Path) -> None:
    plain, watched = tmp_path / "plain.jsonl", tmp_path / "watched.jsonl"

    def breaks(event: object) -> None:
        raise ValueError("tired")

    program = load(SORT128)
    program.run(numbers=NUMBERS, options=Options(record=plain))
    result = program.run(numbers=NUMBERS, options=Options(record=watched, observe=breaks))
    keys, kept = ([json.loads(line).get("key") for line in path.open()] for path in (plain, watched))
    assert kept == keys
    assert "an observer raised ValueError and is not called again: tired" in result.outcome.notes


def test_a_session_that_cannot_start_leaves_nothing_open(tmp_path: Path) -> None:
    before = threading.active_count()
    (tmp_path / "file").touch()
    options = Options(record=tmp_path / "file" / "run.jsonl", cache=tmp_path / "cache.sqlite")
    with pytest.raises(UsageError, match="cannot write the recording"):
        load(SORT128).run(numbers=NUMBERS, options=options)
    assert threading.active_count() == before


def test_a_prompt_changed_by_a_letter_is_named(tmp_path: Path) -> None:
    vote(tmp_path)
    program, cassette = tmp_path / "vote.got", tmp_path / "c.jsonl"
    load(program).run(question="why", options=Options(record=cassette))
    program.write_text(VOTE.replace("{{ question }}", "{{ question }}?"))
    with pytest.raises(RunError) as caught:
        load(program).run(question="why", options=Options(model=f"replay:{cassette}"))
    message = str(caught.value)
    for words in ("c.jsonl", "prompt `answer`", '"why" where this one has "why?"', "character 4"):
        assert words in message


def test_a_run_on_an_endpoint_replays_when_it_is_gone_with_its_price(tmp_path: Path) -> None:
    vote(tmp_path)
    (tmp_path / "prices.toml").write_text("[small]\ninput_per_million = 100\noutput_per_million = 100\n")
    run = ("run", "vote.got", *QUESTION, "--json", "--no-cache")
    with OpenAIServer(lambda body, index: f"{index % 2}") as server:
        more = ("--model", "openai:small", "--base-url", server.url, "--prices", "prices.toml")
        recorded = document(gotc(*run, *more, "--record", "c.jsonl", cwd=tmp_path))
    again = document(gotc(*run, "--model", "replay:c.jsonl", cwd=tmp_path))
    assert again["simulated"] is False
    assert again["ledger"]["none"]["usd"] > 0
    assert again.pop("endpoints") == []
    assert [one["url"] for one in recorded.pop("endpoints")] == [server.url]
    assert without_payment(again) == without_payment(recorded)


def test_a_replay_takes_no_answer_from_the_run_s_own_cache(tmp_path: Path) -> None:
    vote(tmp_path)
    program, cassette = tmp_path / "vote.got", tmp_path / "c.jsonl"
    cache = tmp_path / "cache.sqlite"
    load(program).run(question="why", options=Options(record=cassette, cache=cache))
    load(program).run(question="where", options=Options(cache=cache))
    with pytest.raises(RunError, match="does not contain"):
        load(program).run(question="where", options=Options(model=f"replay:{cassette}", cache=cache))


def test_a_cache_file_is_a_recording_and_stays_as_it_is(tmp_path: Path) -> None:
    vote(tmp_path)
    cache = tmp_path / "cache.sqlite"
    first = load(tmp_path / "vote.got").run(question="why", options=Options(cache=cache))
    cache.chmod(0o444)
    again = load(tmp_path / "vote.got").run(question="why", options=Options(model=f"replay:{cache}"))
    assert again.value == first.value


def test_a_failed_run_is_recorded_too(tmp_path: Path) -> None:
    vote(tmp_path)
    (tmp_path / "vote_sim.py").write_text("def answer(rng, question):\n    return 'no number'\n")
    with pytest.raises(RunError):
        load(tmp_path / "vote.got").run(question="why", options=Options(record=tmp_path / "c.jsonl"))
    assert len((tmp_path / "c.jsonl").read_text().splitlines()) == 2
    assert list(tmp_path.glob("*.part")) == []


def test_a_recording_that_cannot_be_written_is_said_before_anything_is_asked(tmp_path: Path) -> None:
    vote(tmp_path)
    options = Options(record=tmp_path / "vote.got" / "c.jsonl", cache=tmp_path / "cache.sqlite")
    with pytest.raises(UsageError, match="cannot write the recording"):
        load(tmp_path / "vote.got").run(question="why", options=options)
    assert not list(open_cache(tmp_path / "cache.sqlite", readonly=True).entries())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("no json\n", "not JSON"),
        ('{"format":"gotlang cache export","version":1,"model":7}\n', "`$.model`"),
        (
            '{"format":"gotlang cache export","version":1,"models":{"a":{"batch":0}}}\n',
            "`batch`",
        ),
        ('{"format":"gotlang cache export","version":1,"models":{"a":{"batch":1,"price":{}}}}\n', ".price`"),
        ('{"format":"gotlang cache export","version":3}\n', "version 3"),
        ('{"format":"gotlang cache export","version":1}\n{"key":1}\n', "line 2"),
    ],
)
def test_what_is_no_recording_says_so(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "c.jsonl"
    path.write_text(text)
    with pytest.raises(CacheError) as caught:
        open_recording(path)
    assert words in str(caught.value)
    assert "--record" in str(caught.value.help)


def test_bytes_are_no_recording(tmp_path: Path) -> None:
    (tmp_path / "c.jsonl").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CacheError, match="not text"):
        open_recording(tmp_path / "c.jsonl")


@pytest.mark.parametrize(("spec", "words"), [("replay:", "names no file"), ("replay:gone", "cannot read")])
def test_a_recording_that_is_not_there(tmp_path: Path, spec: str, words: str) -> None:
    vote(tmp_path)
    done = gotc("run", "vote.got", *QUESTION, "--model", spec, cwd=tmp_path)
    assert done.returncode == 2
    assert words in done.stderr


def test_several_models_in_a_recording(tmp_path: Path) -> None:
    cache = MemoryCache()
    for name in ("large", "small"):
        request = a_request(model=name)
        cache.put(request.key(), request, {0: an_answer()})
    recording = Recording("c.jsonl", cache, None, {"large": RecordedModel(), "small": RecordedModel()})
    with pytest.raises(UsageError, match="several models: `large`, `small`"):
        ReplayModel(recording)
    with pytest.raises(UsageError, match="no samples of `medium`"):
        ReplayModel(recording, "medium")
    assert ReplayModel(recording, "small").name == "small"
    assert ReplayModel(dataclasses.replace(recording, model="large")).name == "large"
    assert ReplayModel(recording, "small", price=Price(1, 2)).price == Price(1, 2)


def asked(request: Request, n: int = 1, draw: int = 0) -> Any:
    """A model with three draws of one request and another draw of another asks this."""
    cache = MemoryCache()
    known = a_request()
    together = {draw: an_answer(str(draw), position=draw, batch=3) for draw in range(3)}
    cache.put(known.key(), known, {**together, 3: an_answer("3")})
    model = ReplayModel(Recording("here/c.jsonl", cache, None, {known.model: RecordedModel()}))
    return asyncio.run(model.ask(request, n, draw))


def test_answers_of_one_request_come_together_and_others_apart() -> None:
    assert [answer.text for answer in asked(a_request(), 9).completions] == ["0", "1", "2"]
    assert [answer.text for answer in asked(a_request(), 9, 2).completions] == ["2"]
    assert [answer.text for answer in asked(a_request(), 9, 3).completions] == ["3"]
    assert asked(a_request(), 2).usage.output_tokens == 12


KNOWN = a_request()


@pytest.mark.parametrize(
    ("request_", "draw", "words"),
    [
        (KNOWN, 4, "4 samples of prompt `sort`"),
        (replace(KNOWN, prompt="merge", sample=9), 0, "no request of this prompt"),
        (replace(KNOWN, model="other"), 0, "model `simulator`, not `other`"),
        (replace(KNOWN, sample=4), 0, "seed 3, not 4"),
        (replace(KNOWN, settings=DecodingSettings(0.8, stop=("\n",))), 0, "temperature 0.7, not 0.8"),
        (replace(KNOWN, messages=KNOWN.messages[1:]), 0, "roles system, user, not user"),
        (
            replace(KNOWN, messages=(Message("user", "Answer with a list."), KNOWN.messages[1])),
            0,
            "roles system, user, not user, user",
        ),
        (
            replace(KNOWN, messages=(KNOWN.messages[0], Message("user", "Sort list 0!"))),
            0,
            'another message 2: "Sort list 0." where this one has "Sort list 0!" (character 12)',
        ),
    ],
)
def test_a_miss_says_what_differs(request_: Request, draw: int, words: str) -> None:
    with pytest.raises(ModelError) as caught:
        asked(request_, 1, draw)
    assert words in str(caught.value)
    assert "here/" not in str(caught.value)
