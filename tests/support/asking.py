"""Asking the real model, as the tests of it do: a fake time, and no environment but what a test sets."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest
from msgspec import structs
from support.clocks import FakeTime
from support.openai_server import Body, OpenAIServer

from gotlang.errors import ModelError
from gotlang.models.base import DecodingSettings, Message, ModelOptions, Permit, Reply, Request, Usage
from gotlang.models.openai import OpenAIModel

T = TypeVar("T")
MODEL = "a-model"
KEY = "sk-planted-0123456789abcdef"


class Told(Permit):
    """A permit that notes what the requests that brought nothing are told to have been charged."""

    charges: list[Usage | None]

    def failed(self, usage: Usage | None) -> None:
        self.charges.append(usage)


def a_request(text: str = "Sort 3, 1, 2.", **settings: Any) -> Request:
    return Request(
        MODEL, (Message("user", text),), DecodingSettings(**{"max_tokens": 64} | settings), prompt="sort"
    )


def openai_model(name: str = MODEL, **given: Any) -> OpenAIModel:
    """A model by its options and arguments alike."""
    names = {field.name for field in structs.fields(ModelOptions)} - {"sleep"}
    options = {name: given.pop(name) for name in names & given.keys()}
    return OpenAIModel(name, ModelOptions(**options), **given)


def use(
    server: OpenAIServer | str, work: Callable[[OpenAIModel], Awaitable[T]], **arguments: Any
) -> tuple[T, list[float]]:
    """What `work` gives with a model for the server, and how long it slept; no real time is slept away."""
    waiting = FakeTime()
    url = server if isinstance(server, str) else server.url
    arguments = {"sleep": waiting.sleep, "clock": waiting.clock, "chance": random.Random(0)} | arguments

    async def main() -> T:
        model = openai_model(base_url=url, **arguments)
        try:
            return await work(model)
        finally:
            await model.close()

    return asyncio.run(main()), waiting.sleeps


def ask(server: OpenAIServer | str, request: Request | None = None, n: int = 1, **arguments: Any) -> Reply:
    return use(server, lambda model: model.ask(request or a_request(), n), **arguments)[0]


def failure(server: OpenAIServer | str, request: Request | None = None, **arguments: Any) -> ModelError:
    with pytest.raises(ModelError) as caught:
        ask(server, request, **arguments)
    return caught.value


def told(server: OpenAIServer | str, **arguments: Any) -> tuple[Reply | ModelError, list[Usage | None]]:
    """A reply or why there is none, and what the failed requests are told to have been charged."""
    charges: list[Usage | None] = []

    async def work(model: OpenAIModel) -> Reply | ModelError:
        try:
            return await model.ask(a_request(), 1, permit=Told(charges))
        except ModelError as error:
            return error

    return use(server, work, **arguments)[0], charges


async def collect(model: OpenAIModel, request: Request, n: int) -> list[str]:
    """n answers, as the runtime collects them."""
    texts: list[str] = []
    while len(texts) < n:
        reply = await model.ask(request, n - len(texts), len(texts))
        texts += [answer.text for answer in reply.completions]
    return texts


def counting() -> Callable[[Body, int], str]:
    """Distinguishable answers, so that a lost one is detected."""
    numbers = iter(range(10_000))
    return lambda body, index: f"answer {next(numbers)}"
