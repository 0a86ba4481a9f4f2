"""Identity of endpoints: requests' keys distinguish them, in one normalized form, and contain no secrets."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.asking import openai_model
from support.gotc import gotc, vote
from support.openai_server import OpenAIServer

from gotlang.cache.cassette import ReplayModel, open_recording
from gotlang.errors import UsageError
from gotlang.models.base import Message, Request
from gotlang.models.endpoint import Endpoint
from gotlang.models.simulated import SimulatedModel

RUN = ("run", "vote.got", "--input", "question=why", "--model", "openai:small", "--json")


@pytest.mark.parametrize(
    ("url", "identity"),
    [
        ("https://api.openai.com/v1", ""),
        ("https://API.openai.com:443/v1/", ""),
        ("http://127.0.0.1:8080/v1", "http://127.0.0.1:8080/v1"),
        ("HTTPS://Host.Example:443/v1/", "https://host.example/v1"),
        ("http://host.example:80/a/v1", "http://host.example/a/v1"),
        ("https://user:sk-secret@host.example/v1?key=sk-secret#sk-secret", "https://host.example/v1"),
        ("http://[::1]:8080/v1", "http://[::1]:8080/v1"),
    ],
)
def test_an_endpoint_has_one_spelling_without_secrets(url: str, identity: str) -> None:
    assert Endpoint(url, "sk-secret").identity == identity


def test_keys_tell_endpoints_apart_and_nothing_else_changes_by_them() -> None:
    plain = Request("small", (Message("user", "why?"),))
    there = Request("small", (Message("user", "why?"),), endpoint="http://host.example/v1")
    assert plain.key() != there.key()
    assert "endpoint" not in plain.identity()
    assert {**plain.identity(), "endpoint": "http://host.example/v1"} == there.identity()
    assert SimulatedModel({}).endpoint == ""
    assert openai_model("small", base_url="http://127.0.0.1:9/v1").endpoint == "http://127.0.0.1:9/v1"


def test_two_endpoints_share_a_cache_and_no_answer(tmp_path: Path) -> None:
    vote(tmp_path)
    with (
        OpenAIServer(lambda body, index: "7") as seven,
        OpenAIServer(lambda body, index: "8") as eight,
    ):
        for server, answer in ((seven, '"result": 7'), (eight, '"result": 8'), (seven, '"result": 7')):
            assert answer in gotc(*RUN, "--base-url", server.url, cwd=tmp_path).stdout
        assert [len(server.requests) for server in (seven, eight)] == [1, 1]
        shown = gotc("cache", "list", cwd=tmp_path).stdout
        assert f"small at {seven.url}" in shown
        key = next(line.split()[0] for line in shown.splitlines() if eight.url in line)
        assert f"small at {eight.url} · " in gotc("cache", "show", key, cwd=tmp_path).stdout
    recording = open_recording(tmp_path / ".gotc" / "cache.sqlite")
    with pytest.raises(UsageError, match="several endpoints") as caught:
        ReplayModel(recording, "small")
    assert f"#small@{eight.url}" in str(caught.value.help)
    recording.cache.close()
    for server, answer in ((seven, 7), (eight, 8)):
        spec = f"replay:.gotc/cache.sqlite#small@{server.url}"
        done = gotc(*RUN[:5], spec, "--json", cwd=tmp_path)
        assert f'"result": {answer}' in done.stdout, done.stderr


def test_a_recording_is_replayed_wherever_it_was_made(tmp_path: Path) -> None:
    vote(tmp_path)
    with OpenAIServer(lambda body, index: "7") as server:
        assert gotc(*RUN, "--base-url", server.url, "--record", "run.jsonl", cwd=tmp_path).returncode == 0
    done = gotc(*RUN[:5], "replay:run.jsonl", "--json", cwd=tmp_path)
    assert '"result": 7' in done.stdout, done.stderr
