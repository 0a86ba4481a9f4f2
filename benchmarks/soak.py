"""A million calls through one process: memory, open files, time and spending.

    python benchmarks/soak.py [--answers 1000000]

One session with a limit in dollars and a cache in a file runs a program again and again, 16 runs at once, of
100 answers each. The model is the real one down to its wire, which answers at once; each 500th is lost after
it was charged. It fails unless the limit is kept, the reported charge equals that of the endpoint's ledger
for the responses that arrived, to the last digit, and every response is found in the cache afterwards.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

from measurement import options, report

from gotlang.api import Options, Session, compile
from gotlang.cache import open_cache
from gotlang.models.base import ModelOptions, Price
from gotlang.models.endpoint import Endpoint
from gotlang.models.failures import HttpResponse, NoResponse
from gotlang.models.openai import OpenAIModel

PROGRAM = """
prompt guess(row: int, turn: int) -> int:
    temperature 1
    max_tokens 8
    "Row {{ row }}, turn {{ turn }}."

scheme many(row: int) -> int:
    repeat 5 as turn:
        Generate(k=20) guess(row, turn)
        Vote()
"""
A_RUN, AT_ONCE, LOST = 100, 16, 500


class Wire:
    """Answers at once, and keeps a ledger: what was charged for what came, and for what did not."""

    def __init__(self) -> None:
        self.requests = self.answers = 0
        self.charged = self.lost = Fraction(0)

    def prepare(self) -> None:
        pass

    async def send(self, body: Mapping[str, Any], key: str) -> HttpResponse | NoResponse:
        await asyncio.sleep(0)
        self.requests += 1
        n = int(body.get("n", 1))
        usd = Fraction(12 * 3 + 2 * n * 15, 10**6)
        if self.requests % LOST == 0:
            self.lost += usd
            return NoResponse("the connection was lost", arrived=True)
        self.charged += usd
        self.answers += n
        said = str(len(body["messages"][-1]["content"]))
        choices = [{"index": i, "message": {"content": said}, "finish_reason": "stop"} for i in range(n)]
        usage = {"prompt_tokens": 12, "completion_tokens": 2 * n}
        return HttpResponse(200, {}, json.dumps({"choices": choices, "usage": usage}))

    async def close(self) -> None:
        pass


def resident_mb() -> float:
    """The memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE") / 1e6


def model_over(wire: Wire) -> OpenAIModel:
    """OpenAI's model over a wire of ours."""

    class Wired(OpenAIModel):
        def _connect(self, timeout_s: float, batches: Path | None) -> Any:
            return wire

    async def at_once(seconds: float) -> None:
        await asyncio.sleep(0)

    where = Endpoint("http://model.test/v1", "no-key")
    return Wired("m", ModelOptions(), endpoint=where, price=Price(3.0, 15.0), batch=10, sleep=at_once)


async def soak(answers: int, folder: Path) -> list[tuple[Any, ...]]:
    """The rows of the table: one before, and one after each tenth."""
    wire, rows = Wire(), list[tuple[Any, ...]]()
    cache, runs = folder / "cache.sqlite", answers // A_RUN
    need = float(Fraction(12 * 3 + 20 * 15, 10**6) * answers // 10) + 1
    began, before = time.process_time(), 0.0
    async with Session(
        compile(PROGRAM, "soak.got"),
        Options(model=model_over(wire), cache=cache, max_usd=2 * need, concurrency=None, level=1),
    ) as session:
        budget = session.runner.budget

        def row() -> tuple[Any, ...]:
            gc.collect()
            files, size = len(os.listdir("/proc/self/fd")), sum(f.stat().st_size for f in folder.iterdir())
            took = time.process_time() - began
            return wire.answers, took, resident_mb(), files, len(asyncio.all_tasks()), size / 1e6

        async def some(first: int) -> None:
            for number in range(first, runs, AT_ONCE):
                await session.run({"row": number})
                if wire.answers >= len(rows) * answers // 10 and len(rows) < 10:
                    rows.append(row())

        rows.append(row())
        await asyncio.gather(*(some(first) for first in range(AT_ONCE)))
        rows.append(row())
        assert budget.charged.usd == wire.charged, (budget.charged, wire.charged)
        assert budget.charged.calls == wire.answers == runs * A_RUN
        assert wire.lost <= budget.uncertain.usd
        assert wire.charged + wire.lost <= 2 * Fraction(need)
        before = wire.requests
        for number in range(0, runs, max(1, runs // 100)):
            await session.run({"row": number})
        assert wire.requests == before, "a stored answer was requested again"
    with closing(open_cache(cache, readonly=True)) as kept:
        assert sum(entry.samples for entry in kept.entries()) == runs * A_RUN
    return rows


COLUMNS = {
    "calls": "{:,}",
    "seconds": "{:,.0f}",
    "memory": "{:.0f} MB",
    "open files": "{}",
    "tasks": "{}",
    "cache": "{:,.0f} MB",
}


if __name__ == "__main__":
    parser = options(__doc__)
    parser.add_argument("--answers", type=int, default=1_000_000)
    given = parser.parse_args()

    def measured() -> Iterator[tuple[Any, ...]]:
        with tempfile.TemporaryDirectory() as folder:
            yield from asyncio.run(soak(given.answers, Path(folder)))

    report(given, COLUMNS, measured())
