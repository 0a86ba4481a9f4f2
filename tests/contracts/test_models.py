"""The contract of models. Every implementation passes it; a new one joins by a line in `IMPLEMENTATIONS`."""

from __future__ import annotations

import asyncio
import math
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar

import pytest
from msgspec.structs import replace
from support.asking import KEY, openai_model
from support.listening import COMMAND
from support.openai_server import Fault, OpenAIServer, status

from gotlang.cache.base import StoredSample
from gotlang.cache.cassette import RecordedModel, Recording, ReplayModel
from gotlang.cache.memory import MemoryCache
from gotlang.errors import ModelError
from gotlang.models.anthropic import AnthropicModel
from gotlang.models.base import (
    Completion,
    DecodingSettings,
    Message,
    Model,
    ModelOptions,
    Price,
    Reply,
    Request,
    Usage,
    token_bound,
)
from gotlang.models.embeddings import OpenAIEmbeddings
from gotlang.models.endpoint import Endpoint
from gotlang.models.gemini import GeminiModel
from gotlang.models.http import HttpModel
from gotlang.models.local import FREE, LocalEmbeddings, LocalModel
from gotlang.models.openai import OpenAIModel, OpenAISdkModel
from gotlang.models.responses import ResponsesModel
from gotlang.models.simulated import Latency, SimulatedModel

T = TypeVar("T")
Open = Callable[[], Model]
"""Makes the model; called inside the event loop that it is used in."""
Implementation = Callable[[], AbstractContextManager[Open]]

MODEL = "a-model"
REQUEST = Request(
    MODEL,
    (Message("system", "Answer with a list."), Message("user", "Sort 3, 1, 2.")),
    DecodingSettings(temperature=0.7, max_tokens=64),
    prompt="sort",
    arguments={"numbers": [3, 1, 2]},
)


def _say(body: object, index: int) -> str:
    return f"[1, 2, 3] says choice {index}"


@contextmanager
def _openai() -> Iterator[Open]:
    with OpenAIServer(_say, latency_s=0.01) as server:
        yield lambda: openai_model(MODEL, base_url=server.url)


@contextmanager
def _openai_sdk() -> Iterator[Open]:
    with OpenAIServer(_say, latency_s=0.01) as server:
        yield lambda: OpenAISdkModel(MODEL, ModelOptions(base_url=server.url))


@contextmanager
def _openai_without_n() -> Iterator[Open]:
    with OpenAIServer(_say, latency_s=0.01, refuses={"n"}) as server:
        yield lambda: openai_model(MODEL, base_url=server.url)


@contextmanager
def _openai_with_fewer() -> Iterator[Open]:
    with OpenAIServer(_say, latency_s=0.01, ignores={"n"}) as server:
        yield lambda: openai_model(MODEL, base_url=server.url)


@contextmanager
def _openai_broken() -> Iterator[Open]:
    with OpenAIServer(faults=lambda seen: status(500, "out of order")) as server:
        yield lambda: openai_model(MODEL, base_url=server.url, retries=0)


def _native(kind: type[HttpModel], base: str, **faults: Any) -> Implementation:
    """A provider with a protocol of its own; `base` is what its base URL has after the server's."""

    @contextmanager
    def implementation() -> Iterator[Open]:
        with OpenAIServer(_say, latency_s=0.01, key=KEY, **faults) as server:
            at = Endpoint(server.root + base, KEY, names=kind.names)
            options = ModelOptions(retries=0 if "faults" in faults else None)
            yield lambda: kind(MODEL, options, endpoint=at)

    return implementation


def _no(seen: object) -> Fault:
    return status(400, "no")


def _sorted(rng: object, numbers: list[int]) -> str:
    return str(sorted(numbers))


@contextmanager
def _simulated() -> Iterator[Open]:
    yield lambda: SimulatedModel({"sort": _sorted}, latency=Latency(0.01, 0.0, 0.1), sleep=asyncio.sleep)


@contextmanager
def _simulated_broken() -> Iterator[Open]:
    yield lambda: SimulatedModel({})


@contextmanager
def _dry_run() -> Iterator[Open]:
    limits = {"rpm": 1e6, "tpm": 1e9, "failure_rate": 0.3, "latency": Latency(0.01, 0.0, 0.1)}
    yield lambda: SimulatedModel({"sort": _sorted}, retries=50, **limits)


@contextmanager
def _local() -> Iterator[Open]:
    yield lambda: LocalModel(MODEL, COMMAND, slots=4)


@contextmanager
def _local_embeddings() -> Iterator[Open]:
    yield lambda: LocalEmbeddings(MODEL, COMMAND, slots=4)


@contextmanager
def _local_broken() -> Iterator[Open]:
    yield lambda: LocalModel(MODEL, [sys.executable, "-c", ""])


@contextmanager
def _replay() -> Iterator[Open]:
    cache = MemoryCache()
    silent = replace(REQUEST, settings=replace(REQUEST.settings, logprobs=True))
    for request in (silent, *(replace(REQUEST, sample=sample) for sample in range(40))):
        answers = (Completion("[1, 2, 3]", logprob=-0.5, tokens=(("[1,", -0.5),), output_tokens=3),) * 5
        usage = Usage(30, 15)
        together = {draw: StoredSample(answer, usage, 0.1, 5, draw) for draw, answer in enumerate(answers)}
        apart = {draw: StoredSample(answers[0], Usage(30, 3), 0.1) for draw in (5, 6)}
        cache.put(request.key(), request, together | apart)
    yield lambda: ReplayModel(Recording("c.jsonl", cache, None, {MODEL: RecordedModel()}))


@contextmanager
def _replay_of_nothing() -> Iterator[Open]:
    yield lambda: ReplayModel(Recording("c.jsonl", MemoryCache(), MODEL))


IMPLEMENTATIONS: dict[str, Implementation] = {
    "openai": _openai,
    "openai-sdk": _openai_sdk,
    "openai-without-n": _openai_without_n,
    "openai-with-fewer": _openai_with_fewer,
    "simulated": _simulated,
    "simulated-dry-run": _dry_run,
    "local": _local,
    "anthropic": _native(AnthropicModel, ""),
    "gemini": _native(GeminiModel, "/v1beta"),
    "gemini-without-n": _native(GeminiModel, "/v1beta", refuses={"n"}),
    "openai-responses": _native(ResponsesModel, "/v1"),
    "azure": _native(OpenAIModel, "/openai/deployments/a-model?api-version=2024-10-21"),
    "embeddings": _native(OpenAIEmbeddings, "/v1"),
    "local-embeddings": _local_embeddings,
    "replay": _replay,
}
BROKEN: dict[str, Implementation] = {
    "openai": _openai_broken,
    "simulated": _simulated_broken,
    "local": _local_broken,
    "anthropic": _native(AnthropicModel, "", faults=_no),
    "gemini": _native(GeminiModel, "/v1beta", faults=_no),
    "openai-responses": _native(ResponsesModel, "/v1", faults=_no),
    "embeddings": _native(OpenAIEmbeddings, "/v1", faults=_no),
    "replay": _replay_of_nothing,
}
"""The same where nothing can answer `REQUEST`."""


@pytest.fixture(params=sorted(IMPLEMENTATIONS))
def opened(request: pytest.FixtureRequest) -> Iterator[Open]:
    with IMPLEMENTATIONS[request.param]() as make:
        yield make


@pytest.fixture(params=sorted(BROKEN))
def broken(request: pytest.FixtureRequest) -> Iterator[Open]:
    with BROKEN[request.param]() as make:
        yield make


def using(make: Open, use: Callable[[Model], Awaitable[T]]) -> T:
    """Run `use` with a model that is closed afterwards."""

    async def main() -> T:
        model = make()
        try:
            return await use(model)
        finally:
            await model.close()

    return asyncio.run(main())


async def _all(model: Model, request: Request, n: int) -> list[Reply]:
    """Ask as the runtime does: again for what is missing."""
    replies: list[Reply] = []
    while (have := sum(len(reply.completions) for reply in replies)) < n:
        replies.append(await model.ask(request, n - have, have))
    return replies


@pytest.mark.parametrize("n", [1, 2, 7])
def test_a_reply_holds_between_one_and_n_answers(opened: Open, n: int) -> None:
    reply = using(opened, lambda model: model.ask(REQUEST, n))
    assert 1 <= len(reply.completions) <= n
    for answer in reply.completions:
        assert isinstance(answer, Completion)
        assert isinstance(answer.text, str)
        assert answer.finish_reason


@pytest.mark.parametrize("n", [1, 5])
def test_asking_again_for_the_rest_gives_them_all(opened: Open, n: int) -> None:
    replies = using(opened, lambda model: _all(model, REQUEST, n))
    assert sum(len(reply.completions) for reply in replies) == n


def test_usage_is_counted_and_shared_out(opened: Open, request: pytest.FixtureRequest) -> None:
    reply = using(opened, lambda model: model.ask(REQUEST, 3))
    assert 0 < reply.usage.input_tokens <= token_bound(REQUEST)
    assert 0 <= reply.usage.cached_input_tokens <= reply.usage.input_tokens
    assert sum(answer.output_tokens for answer in reply.completions) == reply.usage.output_tokens
    vectors = request.node.callspec.params["opened"].endswith("embeddings")
    assert (reply.usage.output_tokens == 0) == vectors
    assert all(0 <= answer.output_tokens <= REQUEST.settings.max_tokens for answer in reply.completions)


def test_a_reply_says_what_the_wire_saw(opened: Open) -> None:
    reply = using(opened, lambda model: model.ask(REQUEST, 2))
    assert reply.requests >= 0
    assert reply.usage_known and not reply.extra
    assert reply.latency_s >= 0


def test_log_probabilities_are_those_of_the_tokens_or_missing_with_a_note(opened: Open) -> None:
    asking = replace(REQUEST, settings=replace(REQUEST.settings, logprobs=True))
    reply = using(opened, lambda model: model.ask(asking, 1))
    answer = reply.completions[0]
    if answer.logprob is None:
        assert reply.notes
    else:
        assert answer.logprob <= 0
        assert math.isclose(answer.logprob, math.fsum(p for _, p in answer.tokens))


def test_the_model_says_what_it_is(opened: Open) -> None:
    async def look(model: Model) -> tuple[str, bool, int, Price | None]:
        return model.name, model.simulated, model.batch, model.price

    name, simulated, batch, price = using(opened, look)
    assert name and ":" not in name
    assert simulated in (True, False)
    assert batch >= 1
    # Nothing is free by default: only where somebody knows that it is.
    assert price is None or price.input_per_million + price.output_per_million > 0 or price == FREE


def test_many_may_ask_at_once(opened: Open) -> None:
    async def ask(model: Model) -> list[Reply]:
        requests = [replace(REQUEST, sample=sample) for sample in range(40)]
        return await asyncio.gather(*(model.ask(request, 2) for request in requests))

    assert len(using(opened, ask)) == 40


def test_cancelling_leaves_nothing_running(opened: Open) -> None:
    async def cancel(model: Model) -> set[str]:
        tasks = [asyncio.create_task(model.ask(REQUEST, 1), name="asking") for _ in range(50)]
        await asyncio.sleep(0.005)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert len((await model.ask(REQUEST, 1)).completions) == 1
        return {task.get_name() for task in left}

    assert using(opened, cancel) == set()


def test_no_answer_is_a_model_error(broken: Open) -> None:
    with pytest.raises(ModelError) as caught:
        using(broken, lambda model: model.ask(REQUEST, 2))
    assert str(caught.value)
