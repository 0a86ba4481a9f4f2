"""People as models: the questions of `Ask`, and the answers that exist already."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple, final

from gotlang.errors import ModelError, Waiting
from gotlang.models.base import PERMITTED, Completion, Model, Permit, Price, Reply, Request, Usage
from gotlang.operations.ask import PERSON
from gotlang.runtime.python import call_function

FREE_OF_CHARGE = Price(0.0, 0.0, source="people are not paid by the token")


@final
class Question(NamedTuple):
    """A question to a person: its name, which stays the same when the program runs again, its text, and its
    prompt."""

    id: str
    text: str
    prompt: str


Answering = Callable[[Question], str | None] | Callable[[Question], Awaitable[str | None]]
"""Asks a person; None: nobody is available."""


@final
class Person(Model):
    """Answers: first the `answers` by the name of their question, then `ask`, one question after the other.
    If neither has an answer, the question waits (`Waiting`)."""

    name = PERSON
    simulated = False
    price: Price | None = FREE_OF_CHARGE
    batch = 1

    def __init__(self, answers: Mapping[str, str], ask: Answering | None) -> None:
        self._answers = answers
        self._ask = ask
        self._turn = asyncio.Lock()

    async def ask(self, request: Request, n: int, first: int = 0, permit: Permit = PERMITTED) -> Reply:
        """One answer. Raises Waiting if there is none yet."""
        text = "\n\n".join(message.content for message in request.messages)
        question = Question(f"{request.key()[:6]}{first % 4096:03x}", text, request.prompt)
        answer = self._answers.get(question.id)
        if answer is None and self._ask is not None:
            async with self._turn:
                answer = await call_function(self._ask, "ask", [question], {}, raw=True)
        if answer is None:
            raise Waiting(question)
        if not isinstance(answer, str):
            raise ModelError(f"the answer to {question.id} is a {type(answer).__name__}, not a text")
        await permit.send()
        return Reply((Completion(answer),), Usage(), 0.0)
