"""The real model against a real server that fails: no hangs, false reports, leaks or losses."""

from __future__ import annotations

import asyncio
import gc
import random
import socket
import traceback
from collections.abc import Iterator
from dataclasses import replace

import pytest
from support.asking import KEY, MODEL, a_request, collect, counting, failure, openai_model, told, use
from support.openai_server import (
    Body,
    Fault,
    OpenAIServer,
    Seen,
    dropped,
    edited,
    half_body,
    limited,
    raw,
    stalled,
    status,
)

from gotlang.errors import ModelError
from gotlang.models.base import Reply, Usage
from gotlang.models.openai import OpenAIModel, OpenAISdkModel

PASSING = {
    "408": status(408),
    "409": status(409),
    "429": limited(),
    "500": status(500),
    "503": status(503),
    "dropped": dropped(),
    "half": half_body(),
    "not json": raw("<html>oops"),
    "empty body": raw(""),
    "not an object": raw("[1]"),
    "deep": raw("[" * 100_000),
    "no choices": edited(lambda completion: completion["choices"].clear()),
    "null choices": edited(lambda completion: completion.update(choices=None)),
    "no message": edited(lambda completion: completion.update(choices=[{"index": 0}])),
    "error in a success": raw('{"error": {"message": "upstream broke", "code": 502}}'),
    "error without a code": raw('{"error": "upstream broke"}'),
}


@pytest.fixture(params=[OpenAIModel, OpenAISdkModel], ids=["ours", "sdk"], autouse=True)
def _wire(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Through our own connections and through the SDK's."""
    monkeypatch.setattr("support.asking.OpenAIModel", request.param)


@pytest.fixture(autouse=True)
def _no_collection_in_a_full_stack(request: pytest.FixtureRequest) -> Iterator[None]:
    """The end of other tests' objects would fail there."""
    if "deep" in request.node.name:
        gc.collect()
        gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("name", PASSING)
def test_a_failure_that_passes_is_retried(name: str) -> None:
    with OpenAIServer(counting(), faults=[None, PASSING[name], PASSING[name], None]) as server:

        async def work(model: OpenAIModel) -> tuple[Reply, Reply]:
            return await model.ask(a_request(), 1), await model.ask(a_request(), 2)

        (_, reply), sleeps = use(server, work)
    assert len(reply.completions) == 2
    assert reply.requests == 3
    assert 0.25 <= sleeps[0] <= 0.5 <= sleeps[1] <= 1.0
    assert len(server.requests) == 4


@pytest.mark.parametrize("name", PASSING)
def test_without_retries_one_failure_is_the_end(name: str) -> None:
    with OpenAIServer(faults=[PASSING[name]]) as server:
        error = failure(server, retries=0)
    assert len(server.requests) == 1
    assert error.retryable
    assert error.requests == 1


def test_a_stall_is_a_time_out_and_the_retry_is_the_same_request() -> None:
    with OpenAIServer(faults=[stalled(30)], idempotent=True) as server:
        reply, charges = told(server, timeout_s=0.2)
    assert isinstance(reply, Reply)
    assert reply.requests == 2
    assert charges == [None]
    keys = {seen.headers["idempotency-key"] for seen in server.requests}
    assert len(keys) == 1
    assert server.charged == reply.usage


def test_a_trickle_is_a_time_out_too() -> None:
    async def trickle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        try:
            while not writer.is_closing():
                writer.write(b" ")
                await writer.drain()
                await asyncio.sleep(0.02)
        except ConnectionError:
            pass
        writer.close()

    async def main() -> None:
        server = await asyncio.start_server(trickle, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        model = openai_model(MODEL, base_url=f"http://127.0.0.1:{port}/v1", retries=0, timeout_s=0.2)
        with pytest.raises(ModelError, match="no response within"):
            await asyncio.wait_for(model.ask(a_request(), 1), 30)
        await model.close()
        server.close()

    asyncio.run(main())


def test_what_may_have_been_charged_without_an_answer_is_counted() -> None:
    empty = edited(lambda completion: completion["choices"].clear())
    with OpenAIServer(faults=[dropped(), half_body(), empty]) as server:
        reply, charges = told(server)
    assert isinstance(reply, Reply)
    assert len(server.requests) == reply.requests == 4
    assert charges == [None, None, server.requests[2].charged]
    assert reply.usage == server.requests[3].charged


def test_a_final_error_says_how_many_requests_may_have_been_charged() -> None:
    with OpenAIServer(faults=lambda seen: dropped()) as server:
        error = failure(server, retries=2)
    assert error.requests == 3
    assert "after 3 requests" in str(error)
    assert "may have been charged without a response: 3" in str(error)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "Retry-After": "9"}, 0.25),
        ({"Date": "Sat, 21 Nov 2026 08:00:00 GMT", "Retry-After": "Sat, 21 Nov 2026 08:00:40 GMT"}, 40.0),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "12.5s"}, 12.5),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "6m0s"}, 60.0),
        (
            {
                "Date": "Sat, 21 Nov 2026 08:00:00 GMT",
                "anthropic-ratelimit-tokens-limit": "40000",
                "anthropic-ratelimit-tokens-remaining": "0",
                "anthropic-ratelimit-tokens-reset": "2026-11-21T08:00:21Z",
            },
            21.0,
        ),
    ],
)
def test_the_endpoint_says_how_long_to_wait(headers: dict[str, str], seconds: float) -> None:
    with OpenAIServer(faults=[limited(headers)]) as server:
        _, sleeps = use(server, lambda model: model.ask(a_request(), 1))
    assert sum(sleeps) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text", ["soon", "-3", "nan", "0", "Sat, 99 Nov 2026", "Sat, 21 Nov 2020 08:00:00 GMT", ""]
)
def test_a_wait_that_is_none_is_backed_off_instead(text: str) -> None:
    with OpenAIServer(faults=[limited({"Retry-After": text})]) as server:
        _, sleeps = use(server, lambda model: model.ask(a_request(), 1))
    assert 0.25 <= sum(sleeps) <= 0.5


@pytest.mark.parametrize("code", [408, 429, 500, 503, 520, 524, 530])
def test_a_wait_until_tomorrow_is_an_error(code: int) -> None:
    fault = replace(limited({"Retry-After": "86400"}), status=code)
    with OpenAIServer(faults=[fault]) as server:
        error = failure(server)
    assert error.help is not None
    assert "86400 s" in error.help


def test_while_one_waits_for_the_endpoint_nobody_else_is_sent() -> None:
    async def work(model: OpenAIModel) -> list[Reply]:
        return await asyncio.gather(*(model.ask(a_request(), 1) for _ in range(100)))

    def first_ones(seen: Seen) -> Fault | None:
        return limited({"Retry-After": "5"}) if seen.number < 4 else None

    with OpenAIServer(faults=first_ones, latency_s=0.05) as server:
        replies, sleeps = use(server, work)
    assert len(replies) == 100
    assert sum(sleeps) >= 5.0
    assert len(server.requests) == 104


def test_no_credit_is_not_waited_for() -> None:
    with OpenAIServer(faults=[status(429, "You exceeded your quota", code="insufficient_quota")]) as server:
        error = failure(server)
    assert "quota" in str(error)
    assert not error.retryable
    assert "credit" in (error.help or "")


def test_a_missing_or_wrong_key_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    with OpenAIServer(key="sk-right-key-0123456789") as server:
        missing = failure(server)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        wrong = failure(server)
    assert missing.help == "check the environment variable OPENAI_API_KEY, which is not set"
    assert wrong.help == "check the environment variable OPENAI_API_KEY, which is set, but was refused"
    assert len(server.requests) == 2


@pytest.mark.parametrize("key", [KEY, "planted:0123456789abcdef"])
def test_the_key_reaches_the_endpoint_and_no_text(
    key: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    caplog.set_level("DEBUG")
    texts = []
    faults = {
        "401": lambda seen: status(401, f"Incorrect key {key}"),
        "400": lambda seen: status(400, f"{'x' * 280} {key} is odd"),
        "500": lambda seen: Fault(500, body=f"dump: Authorization: Bearer {key}"),
        "drop": lambda seen: dropped(),
    }
    for fault in faults.values():
        with OpenAIServer(faults=fault) as server:
            error = failure(server, retries=1)
            texts += traceback.format_exception(error)
            texts += [str(error.help), repr(vars(error))]
            assert server.requests[0].headers["authorization"] == f"Bearer {key}"
    texts += [repr(openai_model(MODEL, base_url="http://127.0.0.1:1/v1")), caplog.text]
    assert all(key[:12] not in text for text in texts)


def test_an_unknown_model_is_told() -> None:
    with OpenAIServer(models={"other"}) as server:
        error = failure(server)
    assert "The model `a-model` does not exist" in str(error)
    assert "model's name" in (error.help or "")


def test_a_base_url_without_its_path_is_told() -> None:
    with OpenAIServer() as server:
        error = failure(server.url.removesuffix("/v1"))
    assert "HTTP 404" in str(error)
    assert "most end in /v1" in (error.help or "")


def test_a_server_that_is_not_there_is_told_at_once() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        error, charges = told(url)
    assert isinstance(error, ModelError)
    assert url in str(error)
    assert "OPENAI_BASE_URL" in (error.help or "")
    assert (error.requests, charges) == (1, [Usage()])


def test_a_server_that_was_there_is_waited_for() -> None:
    async def work(model: OpenAIModel) -> ModelError:
        await model.ask(a_request(), 1)
        server.__exit__()
        with pytest.raises(ModelError) as caught:
            await model.ask(a_request(), 1)
        return caught.value

    server = OpenAIServer().__enter__()
    error, sleeps = use(server, work, retries=3)
    assert error.requests == 4
    assert len(sleeps) == 3


def test_long_words_are_shortened_to_one_line() -> None:
    with OpenAIServer(faults=[status(400, "no\n" * 5000)]) as server:
        error = failure(server)
    assert "\n" not in str(error)
    assert len(str(error)) < 500


def hostile(chance: random.Random) -> Iterator[Fault | None]:
    kinds = [*PASSING.values(), limited({"Retry-After": "2"}), stalled(30)]
    while True:
        yield chance.choice(kinds) if chance.random() < 0.4 else None


def test_a_hostile_server_gives_the_same_answers_as_a_good_one() -> None:
    def sort(body: Body, index: int) -> str:
        return f"{body['messages'][0]['content']} sorted, {index}"

    requests = [a_request(f"list {i}", temperature=0.7, logprobs=True) for i in range(60)]

    async def work(model: OpenAIModel) -> list[list[str]]:
        return await asyncio.gather(*(collect(model, request, 4) for request in requests))

    with OpenAIServer(sort) as good:
        wanted, _ = use(good, work)
    faults = hostile(random.Random(1))
    refuses = {"temperature", "logprobs"}
    with OpenAIServer(sort, faults=lambda seen: next(faults), refuses=refuses, idempotent=True) as bad:
        got, _ = use(bad, work, timeout_s=0.5, retries=12)
    assert got == wanted
    assert len(bad.requests) > 80
    assert bad.charged == good.charged, "nothing is paid twice where the endpoint can tell a retry"
