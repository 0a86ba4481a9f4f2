"""`gotc prompts`, `explain` and `models`."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli.conftest import Gotc
from pytest_httpserver import HTTPServer
from support.gotc import SORT128
from support.openai_server import OpenAIServer


def test_prompts_before_the_first_answer_are_whole_and_no_model_is_asked(gotc: Gotc, folder: Path) -> None:
    found = gotc("prompts", SORT128, "--input", "numbers=[3, 1, 2]", "--json").json()["prompts"]
    assert [entry["prompt"] for entry in found] == ["split", "sort", "merge", "repair"]
    assert [entry["placeholders"] for entry in found] == [False, True, True, True]
    assert "Input: [3, 1, 2]" in found[0]["messages"][-1]["content"]
    assert "{{ numbers }}" in found[1]["messages"][-1]["content"]
    assert "Input: [5, 1, 0" not in found[1]["messages"][-1]["content"]
    assert "Output: [0, 1, 1" in found[1]["messages"][-1]["content"]  # its examples are filled in
    assert not (folder / ".gotc").exists()


def test_prompts_without_inputs_have_holes(gotc: Gotc) -> None:
    done = gotc("prompts", "vote.got")
    assert done.code == 0
    assert "{{ question }}" in done.out and "with placeholders" in done.out


def test_one_prompt_with_its_own_arguments(gotc: Gotc) -> None:
    command = ("prompts", SORT128, "--prompt", "merge")
    done = gotc(*command, "--input", "left=[1]", "--input", "right=[2, 3]")
    assert "First list: [1]\nSecond list: [2, 3]" in done.out
    assert "needs `right`" in gotc(*command, "--input", "left=[1]").err
    assert "has no parameter `lft`" in gotc(*command, "--input", "lft=[1]").err
    assert "did you mean `merge`?" in gotc("prompts", SORT128, "--prompt", "merg").err


def test_prompts_are_what_a_run_sends(gotc: Gotc) -> None:
    (shown,) = gotc("prompts", "vote.got", "--input", "question=why {{ x }}?", "--json").json()["prompts"]
    with OpenAIServer(lambda body, index: "1") as server:
        model = ("--model", "openai:m", "--base-url", server.url)
        assert gotc("run", "vote.got", "--input", "question=why {{ x }}?", *model).code == 0
    assert server.requests[0].body["messages"] == shown["messages"]


def test_a_code_is_explained(gotc: Gotc) -> None:
    assert gotc("explain", "GOT0203").out.startswith("GOT0203: ")
    assert gotc("explain", "got0203").out == gotc("explain", "203").out == gotc("explain", "GOT0203").out
    assert gotc("explain", "GOT0203", "--json").json()["code"] == "GOT0203"
    assert "GOT0203" in gotc("explain", "all").out
    unknown = gotc("explain", "GOT9999")
    assert (unknown.code, unknown.out) == (2, "")


def test_models_says_what_is_there(gotc: Gotc, monkeypatch: pytest.MonkeyPatch) -> None:
    found = gotc("models", "--json").json()
    assert (found["default"], found["endpoint"]["configured"]) == ("simulated", False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-nobody-sees-this")
    monkeypatch.setenv("OPENAI_MODEL", "gpt-4o-mini")
    done = gotc("models", "--offline")
    assert done.code == 0
    assert "openai:gpt-4o-mini" in done.out and "per million" in done.out
    assert "nobody-sees" not in done.out + done.err


def test_models_of_an_endpoint_with_their_prices(
    gotc: Gotc, folder: Path, httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-nobody-sees-this")
    # Loopback is never reached by way of a proxy.
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    listed = {"object": "list", "data": [{"id": "tiny", "object": "model"}, {"id": "own", "object": "model"}]}
    headers = {"Authorization": "Bearer sk-nobody-sees-this"}
    httpserver.expect_request("/v1/models", headers=headers).respond_with_json(listed)
    (folder / "prices.json").write_text('{"tiny": {"input_per_million": 1, "output_per_million": 2}}')
    url = httpserver.url_for("/v1")
    found = gotc("models", "--base-url", url, "--prices", "prices.json", "--json").json()["endpoint"]
    assert found["reachable"] is True
    assert {m["name"]: m["input_per_million"] for m in found["models"]} == {"tiny": 1.0, "own": None}
    assert "price unknown" in gotc("models", "--base-url", url).out


def test_an_endpoint_that_does_not_answer_is_a_failure(gotc: Gotc, httpserver: HTTPServer) -> None:
    httpserver.expect_request("/v1/models").respond_with_json({"error": {"message": "no"}}, status=500)
    done = gotc("models", "--base-url", httpserver.url_for("/v1"))
    assert done.code == 1
    assert "HTTP 500" in done.err
    assert "Traceback" not in done.err
