"""Two runs share a cache: the cache is checked again before a delayed request is sent."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

from support.asking import openai_model
from support.openai_server import Body, OpenAIServer, status

from gotlang.api import Options, Session, compile
from gotlang.cache.coordination import Coordination

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


async def asked(server: OpenAIServer, times: int = 1) -> None:
    """Wait for so many requests."""
    async with asyncio.timeout(60):
        while len(server.requests) < times:  # noqa: ASYNC110
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


def test_nor_what_another_one_is_asking(tmp_path: Path) -> None:
    """One sample per request: the second run takes the first sample from the other, and asks for the next."""
    answered = threading.Event()

    async def main(server: OpenAIServer) -> list[dict[str, Any]]:
        first = asyncio.ensure_future(run(server, tmp_path, ["both"], 1, batch=1))
        await asked(server)
        second = asyncio.ensure_future(run(server, tmp_path, ["both"], 1, batch=1))
        await asked(server, 2)
        done, _ = await asyncio.wait([second], timeout=0.5)
        assert not done and len(server.requests) == 2
        answered.set()
        return list(await asyncio.gather(first, second))

    held = iter([answered])
    with OpenAIServer(lambda body, index: text(body), latency_s=lambda body: next(held, 0.0)) as server:
        runs = asyncio.run(main(server))
    assert len(server.requests) == 2
    assert sum(found["spent"]["calls"] for found in runs) == 2
    assert [found["ledger"]["none"]["calls"] for found in runs] == [2, 2]


def test_a_request_that_failed_is_anybody_s(tmp_path: Path) -> None:
    async def main(server: OpenAIServer) -> list[dict[str, Any]]:
        return await asyncio.gather(*(run(server, tmp_path, ["both"], 1, batch=1) for _ in range(3)))

    faults = [status(400, "no"), status(400, "no")]
    with OpenAIServer(lambda body, index: text(body), faults=faults, latency_s=0.05) as server:
        runs = asyncio.run(main(server))
    assert len(server.requests) == 4
    assert sum(found["spent"]["calls"] for found in runs) == 2


def test_a_run_that_waits_for_another_can_be_stopped(tmp_path: Path) -> None:
    answered = threading.Event()

    async def main(server: OpenAIServer) -> dict[str, Any]:
        first = asyncio.ensure_future(run(server, tmp_path, ["both"]))
        await asked(server)
        options = Options(model=openai_model("small", base_url=server.url), cache=tmp_path / "cache.sqlite")
        async with Session(compile(PROGRAM), options) as session:
            second = asyncio.ensure_future(session.run({"questions": ["both"]}))
            await asyncio.sleep(0.2)
            session.stop("enough")
            found = await asyncio.wait_for(second, 30)
        answered.set()
        await first
        return found.to_dict()

    with OpenAIServer(lambda body, index: text(body), latency_s=lambda body: answered) as server:
        stopped = asyncio.run(main(server))
    assert (stopped["partial"], stopped["spent"]["calls"]) == ("enough", 0)
    assert len(server.requests) == 1


KILLED = """
import os, sys
from gotlang.api import Options, compile, run
from gotlang.runtime.sampler.events import Asked

def observe(event):
    if isinstance(event, Asked):
        os._exit(9)

program, url, cache = sys.argv[1:]
endpoint = {"model": "openai:small", "base_url": url}
options = Options(**endpoint, cache=cache, budget="team", max_calls=3, observe=observe)
run(compile(program), {"questions": ["first"]}, options=options)
"""


def test_the_payment_of_a_dead_process_is_known_from_its_response(tmp_path: Path) -> None:
    cache = str(tmp_path / "cache.sqlite")

    def used(coordination: Coordination) -> tuple[int, int]:
        (budget,) = coordination.budgets()
        assert not budget.reserved.calls
        return budget.charged.calls, budget.uncertain.calls

    async def main(server: OpenAIServer) -> None:
        model = openai_model("small", base_url=server.url)
        options = Options(model=model, cache=Path(cache), budget="team")
        async with Session(compile(PROGRAM), options) as session:
            assert session.coordination is not None
            assert used(session.coordination) == (0, 2)
            assert (await session.run({"questions": ["first"]})).value == ["7"]
            await asyncio.sleep(0)
            assert used(session.coordination) == (2, 0)
            assert session.spent.calls == 0

    with OpenAIServer(lambda body, index: "7") as server:
        died = subprocess.run(
            [sys.executable, "-c", KILLED, PROGRAM, server.url, cache],
            env={**os.environ, "OPENAI_API_KEY": "k"},
            check=False,
        )
        assert died.returncode == 9
        asyncio.run(main(server))
        assert len(server.requests) == 1
