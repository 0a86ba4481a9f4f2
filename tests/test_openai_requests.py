"""What the real model sends: settings, samples in one request, and what it learns from refusals."""

from __future__ import annotations

import asyncio
import json

import pytest
from msgspec.structs import replace
from support.asking import MODEL, a_request, ask, collect, counting, failure, use
from support.openai_server import (
    Body,
    Fault,
    OpenAIServer,
    Seen,
    edited,
    status,
)

from gotlang.errors import ModelError
from gotlang.models.base import DecodingSettings, Message, Reply, Request, Usage
from gotlang.models.openai import OpenAIModel


def test_a_request_goes_out_as_it_is_told() -> None:
    request = Request(
        MODEL,
        (Message("system", "Be brief."), Message("user", "Sort ünï.")),
        DecodingSettings(temperature=0.5, top_p=0.9, max_tokens=33, stop=("\n",), logprobs=True, seed=7),
    )
    with OpenAIServer() as server:
        ask(server, request, n=3)
    assert server.requests[0].body == {
        "model": MODEL,
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Sort ünï."}],
        "temperature": 0.5,
        "top_p": 0.9,
        "max_tokens": 33,
        "stop": ["\n"],
        "logprobs": True,
        "seed": 7,
        "n": 3,
    }


def test_settings_that_are_not_set_stay_at_home() -> None:
    with OpenAIServer() as server:
        ask(server)
    assert set(server.requests[0].body) == {"model", "messages", "max_tokens"}


def test_draws_of_one_seed_differ_where_each_is_its_own_request() -> None:
    with OpenAIServer(refuses={"n"}) as server:
        use(server, lambda model: collect(model, a_request(seed=5), 3))
    assert [seen.body["seed"] for seen in server.requests if seen.status == 200] == [5, 6, 7]


def test_half_a_surrogate_pair_does_not_stop_a_request() -> None:
    with OpenAIServer() as server:
        ask(server, a_request("a\ud800b"))
    assert server.requests[0].body["messages"][0]["content"] == "a?b"


def test_answers_come_with_their_usage_and_log_probabilities() -> None:
    texts = ["[1, 2, 3]", "no"]
    with OpenAIServer(lambda body, index: texts[index]) as server:
        reply = ask(server, a_request(logprobs=True), n=2)
    assert [answer.text for answer in reply.completions] == texts
    assert [answer.logprob for answer in reply.completions] == [-0.75, -0.25]
    assert reply.completions[0].tokens == (("[1, ", -0.25), ("2, 3", -0.25), ("]", -0.25))
    assert reply.usage == server.charged
    assert [answer.output_tokens for answer in reply.completions] == [3, 1]
    assert (reply.requests, reply.notes) == (1, ())


def test_ten_samples_are_one_request() -> None:
    with OpenAIServer(counting()) as server:
        texts, _ = use(server, lambda model: collect(model, a_request(), 10))
    assert len(set(texts)) == 10
    assert [seen.n for seen in server.requests] == [10]


def test_refused_n_is_remembered_and_nothing_is_paid_for_it() -> None:
    async def work(model: OpenAIModel) -> tuple[list[str], list[str], int]:
        first = await collect(model, a_request(), 3)
        return first, await collect(model, a_request("Sort 5, 4."), 3), model.batch

    with OpenAIServer(counting(), refuses={"n"}) as server:
        (first, second, batch), sleeps = use(server, work)
    assert [seen.n for seen in server.requests] == [3, 1, 1, 1, 1, 1, 1]
    assert len({seen.headers["idempotency-key"] for seen in server.requests}) == 7, "none is another's retry"
    assert len({*first, *second}) == 6
    assert batch == 1
    assert sum(sleeps) < 0.1, "what is refused for good is not waited for"
    assert len([seen for seen in server.requests if seen.charged != Usage()]) == 6


def test_refused_n_is_noticed_where_the_endpoint_does_not_name_it() -> None:
    def mute(seen: Seen) -> Fault | None:
        return status(400, "Bad Request") if seen.n > 1 else None

    with OpenAIServer(counting(), faults=mute) as server:
        texts, _ = use(server, lambda model: collect(model, a_request(), 2))
    assert len(set(texts)) == 2
    assert [seen.n for seen in server.requests] == [2, 1, 1]


def test_fewer_choices_are_kept_and_remembered() -> None:
    with OpenAIServer(counting(), ignores={"n"}) as server:
        texts, _ = use(server, lambda model: collect(model, a_request(), 4))
    assert len(set(texts)) == 4
    assert [seen.n for seen in server.requests] == [4, 1, 1, 1]


@pytest.mark.parametrize("most", range(1, 9))
def test_the_largest_n_is_found_and_no_refusal_comes_back(most: int) -> None:
    async def work(model: OpenAIModel) -> list[list[str]]:
        return [await collect(model, a_request(str(i)), 9) for i in range(6)]

    with OpenAIServer(counting(), most=most) as server:
        runs, _ = use(server, work)
    assert all(len(run) == 9 for run in runs)
    assert len({text for run in runs for text in run}) == 54
    assert max(seen.n for seen in server.requests if seen.status == 200) == most
    assert server.statuses[400] <= 4
    last = server.requests[-(9 // most) :]
    assert all(seen.status == 200 for seen in last)


def test_more_choices_than_asked_for_are_not_more_answers() -> None:
    def double(completion: Body) -> None:
        completion["choices"] *= 2

    with OpenAIServer(faults=[edited(double)]) as server:
        assert len(ask(server, n=2).completions) == 2


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", 0.7),
        ("top_p", 0.5),
        ("seed", 3),
        ("logprobs", True),
        ("stop", ("3",)),
        ("response_format", '{"type": "json_object"}'),
    ],
)
def test_a_refused_setting_is_left_out_with_a_note_and_remembered(name: str, value: object) -> None:
    request = a_request(**{name: value})

    async def work(model: OpenAIModel) -> tuple[Reply, Reply]:
        return await model.ask(request, 1), await model.ask(request, 1)

    with OpenAIServer(refuses={name}) as server:
        (first, second), _ = use(server, work)
    assert [name in seen.body for seen in server.requests] == [True, False, False]
    assert f"`{name}`" in first.notes[0]
    assert second.notes == first.notes
    assert (first.requests, second.requests) == (2, 1)


def test_several_refused_settings_are_left_out_one_by_one() -> None:
    request = replace(
        a_request(temperature=0.7, top_p=0.5, seed=3, logprobs=True),
        messages=(Message("system", "Be brief."), Message("user", "Sort.")),
    )
    with OpenAIServer(
        refuses={"temperature", "top_p", "seed", "logprobs", "system", "max_tokens", "n"}
    ) as server:
        reply = ask(server, request, n=2)
    assert reply.requests == 8
    assert server.requests[-1].body == {
        "model": MODEL,
        "messages": [{"role": "user", "content": "Be brief.\n\nSort."}],
        "max_completion_tokens": 64,
    }


def test_many_calls_that_meet_the_same_refusal_at_once_all_get_their_answers() -> None:
    request = a_request(temperature=0.7, seed=1)

    async def work(model: OpenAIModel) -> list[Reply]:
        return await asyncio.gather(*(model.ask(request, 3) for _ in range(20)))

    with OpenAIServer(refuses={"temperature", "seed", "n"}, latency_s=0.002) as server:
        replies, _ = use(server, work)
    assert all(len(reply.completions) == 1 for reply in replies)


def test_stop_is_obeyed_here_where_the_endpoint_does_not() -> None:
    with OpenAIServer(lambda body, index: "[1, 2]\nand more", refuses={"stop"}) as server:
        reply = ask(server, a_request(stop=("\n",), logprobs=True))
    answer = reply.completions[0]
    assert (answer.text, answer.finish_reason) == ("[1, 2]", "stop")
    assert "".join(token for token, _ in answer.tokens) == "[1, 2]\na"


def test_the_token_limit_is_renamed_and_never_left_out() -> None:
    with OpenAIServer(refuses={"max_tokens"}) as server:
        ask(server)
    assert server.requests[-1].body["max_completion_tokens"] == 64
    with OpenAIServer(refuses={"max_tokens", "max_completion_tokens"}) as server:
        error = failure(server)
    assert "neither `max_tokens` nor" in str(error)
    assert server.charged == Usage()


@pytest.mark.parametrize(
    ("body", "dropped_name"),
    [
        ({"error": {"message": "Unrecognized request argument supplied: seed"}}, "seed"),
        ({"error": "'temperature' is not supported"}, "temperature"),
        ({"object": "error", "message": "logprobs are not available", "code": 400}, "logprobs"),
        ({"detail": [{"loc": ["body", "top_p"], "msg": "Extra inputs are not permitted"}]}, "top_p"),
        (
            {
                "error": {
                    "message": "Unsupported value: 'temperature' does not support 0.7 with this model. "
                    "Only the default (1) value is supported.",
                    "param": "temperature",
                    "code": "unsupported_value",
                }
            },
            "temperature",
        ),
        ({"detail": [{"loc": ["body", "response_format", "type"], "msg": "no such"}]}, "response_format"),
        ({"error": {"message": "json_schema is not supported here"}}, "response_format"),
        ({"error": {"message": "Invalid schema", "param": "response_format.schema"}}, "response_format"),
    ],
)
def test_refusals_are_read_in_every_form_that_servers_send(body: Body, dropped_name: str) -> None:
    form = '{"type": "json_object"}'
    request = a_request(temperature=0.7, top_p=0.5, seed=1, logprobs=True, response_format=form)
    fault = Fault(422 if "detail" in body else 400, body=json.dumps(body))
    with OpenAIServer(faults=[fault]) as server:
        ask(server, request)
    first, second = (seen.body for seen in server.requests)
    assert set(first) - set(second) == {dropped_name}


@pytest.mark.parametrize(
    "words",
    [
        "This model's maximum context length is 4096 tokens, however you requested 5000 tokens.",
        "temperature must be between 0 and 2",
        "max_tokens is too large: 64. This model supports at most 32 completion tokens.",
    ],
)
def test_a_mistake_in_the_request_is_told_and_not_hidden(words: str) -> None:
    with OpenAIServer(faults=lambda seen: status(400, words)) as server:
        error = failure(server, a_request(temperature=9.0))
    assert words in str(error)
    assert not error.retryable
    assert len(server.requests) == 1


def test_what_did_not_help_is_not_remembered() -> None:
    def prompt_is_bad(seen: Seen) -> Fault | None:
        return status(400, "stop asking for seed capital") if "bad" in str(seen.body["messages"]) else None

    async def work(model: OpenAIModel) -> Reply:
        with pytest.raises(ModelError, match="seed capital"):
            await model.ask(a_request("bad", seed=1, stop=("x",)), 2)
        return await model.ask(a_request("good", seed=1, stop=("x",)), 2)

    with OpenAIServer(faults=prompt_is_bad) as server:
        reply, _ = use(server, work)
    assert reply.notes == ()
    assert len(reply.completions) == 2
