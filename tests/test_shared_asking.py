"""Two runs share a cache: a request that had to wait is looked for once more before it is sent."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from pathlib import Path
from typing import Any

from support.asking import openai_model
from support.openai_server import Body, OpenAIServer

from gotlang.api import Options, Session, compile

PROGRAM = """\
prompt answer(question: str) -> str:
    "{{ question }}"

scheme each(questions: list[str]) -> list[str]:
    foreach question in questions:
        Generate(k=2) answer(question)
        Select(positions=[0])
    Pool() [one for one in question]
"""


class Clock:
    """Time that passes when it may, and not before."""

    def __init__(self) -> None:
        self.now = 0.0
        self.may = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        await self.may.wait()
        self.now += seconds


async def run(
    server: OpenAIServer, folder: Path, questions: list[str], concurrency: int | None = None, **more: Any
) -> dict[str, Any]:
    model = openai_model("small", base_url=server.url, **more)
    options = Options(model=model, cache=folder / "cache.sqlite", concurrency=concurrency)
    async with Session(compile(PROGRAM), options) as session:
        found = await session.run({"questions": questions})
    await model.close()
    return found.to_dict()


async def asked(server: OpenAIServer) -> None:
    """Wait for the first request."""
    async with asyncio.timeout(60):
        while not server.requests:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def text(body: Body) -> str:
    return str(body["messages"][-1]["content"])


def test_what_another_run_asked_while_this_one_kept_to_a_limit_is_not_asked_again(tmp_path: Path) -> None:
    async def main(server: OpenAIServer) -> tuple[dict[str, Any], dict[str, Any]]:
        clock = Clock()
        limits = {"rpm": 1, "sleep": clock.sleep, "clock": lambda: clock.now}
        waiting = asyncio.ensure_future(run(server, tmp_path, ["first", "both"], **limits))
        await asked(server)
        other = await run(server, tmp_path, ["both"])
        clock.may.set()
        return other, await waiting

    with OpenAIServer(lambda body, index: f"{text(body)} {index}") as server:
        other, waited = asyncio.run(main(server))
    assert Counter(text(seen.body) for seen in server.requests) == {"first": 1, "both": 1}
    assert waited["result"] == ["first 0", "both 0"]
    assert (other["spent"]["calls"], waited["spent"]["calls"], waited["spent"]["requests"]) == (2, 2, 1)
    assert waited["ledger"]["none"]["calls"] == 4


def test_nor_what_it_asked_while_this_one_had_all_under_way_that_may_be(tmp_path: Path) -> None:
    """One request at a time, one answer each: the second draw waits for the first."""
    answered = threading.Event()

    async def main(server: OpenAIServer) -> tuple[dict[str, Any], dict[str, Any]]:
        waiting = asyncio.ensure_future(run(server, tmp_path, ["both"], 1, batch=1))
        await asked(server)
        other = await run(server, tmp_path, ["both"], batch=1)
        answered.set()
        return other, await waiting

    held = iter([answered])
    with OpenAIServer(lambda body, index: text(body), latency_s=lambda body: next(held, 0.0)) as server:
        other, waited = asyncio.run(main(server))
    assert len(server.requests) == 3
    assert (other["spent"]["calls"], waited["spent"]["calls"], waited["ledger"]["none"]["calls"]) == (2, 1, 2)
