"""Parsing of responses and usage by the real model, including malformed ones."""

from __future__ import annotations

import pytest
from support.asking import KEY, a_request, ask
from support.openai_server import (
    Body,
    OpenAIServer,
    edited,
)

from gotlang.models.base import Usage, token_bound


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        {"prompt_tokens": -5, "completion_tokens": 3},
        {"prompt_tokens": None, "completion_tokens": None},
        {"prompt_tokens": "12", "completion_tokens": 3},
        {"prompt_tokens": 0, "completion_tokens": 0},
        {"prompt_tokens": 10**15, "completion_tokens": 3},
        {"prompt_tokens": 12.5, "completion_tokens": True},
    ],
)
def test_usage_that_cannot_be_true_counts_as_reserved(usage: object) -> None:
    with OpenAIServer(faults=[edited(lambda completion: completion.update(usage=usage))]) as server:
        reply = ask(server, n=2)
    assert server.charged.input_tokens <= reply.usage.input_tokens <= token_bound(a_request())
    assert reply.usage.output_tokens == 2 * a_request().settings.max_tokens
    assert sum(answer.output_tokens for answer in reply.completions) == reply.usage.output_tokens
    assert reply.notes[0] == "the endpoint returned no valid usage: the cost is uncertain"


@pytest.mark.parametrize(("cached", "counted"), [(2, 2), (10**6, 7), (-1, 0), (None, 0)])
def test_cached_tokens_are_part_of_the_input(cached: int | None, counted: int) -> None:
    def edit(completion: Body) -> None:
        completion["usage"]["prompt_tokens_details"] = {"cached_tokens": cached}

    with OpenAIServer(faults=[edited(edit)]) as server:
        assert ask(server).usage == Usage(7, 2, counted)


@pytest.mark.parametrize(("reasoning", "counted"), [(1, 1), (10**6, 2), (-1, 0), (None, 0)])
def test_reasoning_is_kept_and_its_tokens_are_part_of_the_output(
    reasoning: int | None, counted: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def edit(completion: Body) -> None:
        completion["usage"]["completion_tokens_details"] = {"reasoning_tokens": reasoning}
        completion["choices"][0]["message"]["reasoning_content"] = f"First, with {KEY}."

    with OpenAIServer(faults=[edited(edit)]) as server:
        reply = ask(server)
    assert reply.usage == Usage(7, 2, 0, counted)
    assert (
        reply.completions[0].reasoning.startswith("First, with ")
        and KEY not in reply.completions[0].reasoning
    )


def test_unknown_finish_reasons_pass_and_missing_ones_are_unknown() -> None:
    def edit(completion: Body) -> None:
        completion["choices"][0]["finish_reason"] = "tired"
        del completion["choices"][1]["finish_reason"]

    with OpenAIServer(faults=[edited(edit)]) as server:
        reply = ask(server, n=2)
    assert [answer.finish_reason for answer in reply.completions] == ["tired", "unknown"]


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"role": "assistant", "content": None}, ""),
        ({"role": "assistant", "content": None, "refusal": "I will not."}, "I will not."),
        ({"role": "assistant"}, ""),
        ({"role": "assistant", "content": [{"type": "text", "text": "in "}, {"text": "parts"}]}, "in parts"),
        ({"role": "assistant", "content": 5}, ""),
    ],
)
def test_messages_without_a_plain_text_are_answers_too(message: Body, text: str) -> None:
    def edit(completion: Body) -> None:
        completion["choices"][0]["message"] = message
        completion["choices"][0]["finish_reason"] = "content_filter"

    with OpenAIServer(faults=[edited(edit)]) as server:
        answer = ask(server).completions[0]
    assert (answer.text, answer.finish_reason) == (text, "content_filter")


def test_choices_are_put_in_their_order() -> None:
    def edit(completion: Body) -> None:
        completion["choices"].reverse()

    with OpenAIServer(faults=[edited(edit)]) as server:
        reply = ask(server, n=3)
    assert [answer.text for answer in reply.completions] == ["answer 0", "answer 1", "answer 2"]


@pytest.mark.parametrize(
    "logprobs",
    [
        None,
        {"content": None},
        {"content": [{"token": "a", "logprob": None}]},
        {"content": [{"token": "a", "logprob": float("nan")}]},
        {"content": [{"logprob": -1}]},
        {"content": ["a"]},
        [1],
    ],
)
def test_log_probabilities_that_cannot_be_read_are_missing(logprobs: object) -> None:
    def edit(completion: Body) -> None:
        completion["choices"][0]["logprobs"] = logprobs

    with OpenAIServer(faults=[edited(edit)]) as server:
        reply = ask(server, a_request(logprobs=True))
    assert reply.completions[0].logprob is None
    assert reply.completions[0].tokens == ()
    assert reply.notes == ("log-probabilities were requested but not returned",)
