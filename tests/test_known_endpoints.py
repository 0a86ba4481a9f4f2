"""Capabilities of an endpoint are remembered from run to run, shown, and deleted on request."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path

import pytest
from support.asking import openai_model
from support.gotc import document, gotc, vote
from support.openai_server import OpenAIServer

from gotlang.api import Options, load
from gotlang.errors import UsageError
from gotlang.models.base import DecodingSettings, Message, Reply, Request
from gotlang.models.capabilities import REMEMBERED_S, Capabilities, CapabilityStore

REQUEST = Request(
    "small",
    (Message("system", "Be brief."), Message("user", "why?")),
    DecodingSettings(0.7, top_p=0.9, max_tokens=20, stop=("\n",), logprobs=True, seed=3),
)
ALL = {"temperature", "top_p", "stop", "logprobs", "seed", "system", "max_tokens", "n"}


def ask(server: OpenAIServer, path: Path, n: int = 3) -> list[Reply]:
    async def main() -> list[Reply]:
        model = openai_model("small", base_url=server.url, known=path)
        try:
            replies = [await model.ask(REQUEST, n)]
            while sum(len(reply.completions) for reply in replies) < n:
                replies.append(await model.ask(REQUEST, n, sum(len(reply.completions) for reply in replies)))
            return replies
        finally:
            await model.close()

    return asyncio.run(main())


def test_what_was_refused_is_never_sent_again_by_any_run(tmp_path: Path) -> None:
    with OpenAIServer(refuses=ALL) as server:
        first = ask(server, tmp_path / "endpoints.json")
        refused = server.statuses[400]
        assert refused == len(ALL)
        again = ask(server, tmp_path / "endpoints.json")
        assert server.statuses[400] == refused
    assert again[0].notes == first[0].notes
    assert len(again[0].notes) == 8


def test_more_than_it_gives_is_not_asked_for_again(tmp_path: Path) -> None:
    with OpenAIServer(most=4) as server:
        ask(server, tmp_path / "endpoints.json", 20)
        (one,) = CapabilityStore(tmp_path / "endpoints.json").all()
        assert (one.good, one.bad) == (4, 5)
        seen = len(server.requests)
        ask(server, tmp_path / "endpoints.json", 20)
        assert [request.n for request in server.requests[seen:]] == [4] * 5


def test_it_is_known_by_endpoint_and_model_for_a_month(tmp_path: Path) -> None:
    path = tmp_path / "endpoints.json"
    known, first = CapabilityStore(path), Capabilities(128)
    known.learn("http://a/v1", "small", Capabilities(128, refused=frozenset({"seed"})))
    known.learn("http://a/v1", "large", Capabilities(128))
    assert known.start("http://a/v1", "small", first).refused == {"seed"}
    assert known.start("http://b/v1", "small", first) == known.start("http://a/v1", "large", first) == first
    data = json.loads(path.read_text())
    assert len(data["learned"]) == 1, "nothing learned is nothing kept"
    data["learned"][0]["at"] = time.time() - REMEMBERED_S - 1
    path.write_text(json.dumps(data))
    assert known.start("http://a/v1", "small", first) == first


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"format": 2, "learned": []}',
        '{"format": 1, "learned": [1, {"endpoint": "http://a/v1", "model": "small", "refused": 7}]}',
        '{"format": 1, "learned": [{"endpoint": "http://a/v1", "model": "small", "refused": ["model"], '
        '"good": 1, "bad": null, "at": 9e9}]}',
    ],
)
def test_a_broken_file_knows_nothing_and_is_written_anew(tmp_path: Path, text: str) -> None:
    path = tmp_path / "endpoints.json"
    path.write_text(text)
    assert CapabilityStore(path).all() == []
    CapabilityStore(path).learn("http://a/v1", "small", Capabilities(128, refused=frozenset({"seed"})))
    assert len(CapabilityStore(path).all()) == 1


def test_where_it_cannot_be_written_runs_go_on(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with OpenAIServer(refuses={"seed"}) as server:
        (reply, *_) = ask(server, tmp_path / "file" / "endpoints.json")
    assert reply.completions


def test_from_the_command_line_it_is_shown_and_forgotten(tmp_path: Path) -> None:
    vote(tmp_path)
    with OpenAIServer(lambda body, index: "7", refuses={"temperature"}) as server:
        run = ("run", "vote.got", "--model", "openai:small", "--base-url", server.url, "--input")
        for question, refused in (("question=a", 1), ("question=b", 1)):
            done = gotc(*run, question, cwd=tmp_path)
            assert done.returncode == 0, done.stderr
            assert "refuses `temperature`" in done.stderr + done.stdout
            assert server.statuses[400] == refused
        assert f"small at {server.url}  no `temperature`" in gotc("models", "--offline", cwd=tmp_path).stdout
        (one,) = document(gotc("models", "--offline", "--json", cwd=tmp_path))["learned"]
        assert one["refused"] == ["temperature"]
        assert "0 models" in gotc("models", "forget", "large", cwd=tmp_path).stderr
        assert "1 model" in gotc("models", "forget", "small", cwd=tmp_path).stderr
        gotc(*run, "question=c", cwd=tmp_path)
        assert server.statuses[400] == 2


def test_a_scheme_that_rests_on_probabilities_is_not_begun_where_none_are_given(tmp_path: Path) -> None:
    (tmp_path / "sure.got").write_text(
        'prompt answer(question: str) -> int:\n    logprobs true\n    "{{ question }}"\n\n'
        "score sure(it: int) -> higher:\n    confidence(it)\n\n"
        "scheme sure(question: str) -> int:\n    Generate(k=2) answer(question)\n"
        "    Score() confidence(it)\n    KeepBestN(1)\n"
        "\nscheme plain(question: str) -> int:\n    Generate() answer(question)\n"
    )
    text = (tmp_path / "sure.got").read_text()
    a, b = text.index("score sure"), text.index("scheme sure")
    (tmp_path / "sure.got").write_text(text[:a] + text[b:])
    program = load(tmp_path / "sure.got")
    with OpenAIServer(lambda body, index: "7", refuses={"logprobs"}) as server:
        options = Options(model="openai:small", base_url=server.url, cache=tmp_path / "c.sqlite")
        assert program.run(question="why", scheme="plain", options=options).value == 7
        seen = len(server.requests)
        with pytest.raises(UsageError, match="needs log-probabilities"):
            program.run(question="why else", scheme="sure", options=options)
        assert len(server.requests) == seen
