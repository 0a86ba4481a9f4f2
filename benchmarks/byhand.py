"""Wall time of a run of sort128 at 50 ms per call, compared with the same requests written by hand in
asyncio.

    python benchmarks/byhand.py [--quick] [--rounds 7]

The hand-written version is a coroutine that sorts, merges and repairs, reads the responses, scores them and
keeps the best. Its prompts are rendered in advance. Both send the same requests, one per operation; `default`
is a run with the options of the command. In process, the responses are known in advance; over HTTP, they come
from a server in another process, by hand through the official SDK.

Each time is taken in a process of its own. `first` is the first run, with the import of the client and the
connections but without compiling, `next` the median of five more. Ratios are of one round to by hand in the
same round. The table has medians over the rounds, and the range of the ratio of `next`.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from measurement import options, report
from wall import CALL_S, PROGRAM, Slow, numbers
from wire import serve, serving

from gotlang.api import Options, Session
from gotlang.models.base import PERMITTED, Model, ModelOptions, Permit, Reply, Request
from gotlang.models.registry import open_model

Requests = dict[tuple[str, str], tuple[Request, int, int]]
"""By prompt and arguments, with how many completions from which number on."""
Ask = Callable[[Request, int, int], Awaitable[list[str]]]
DEFAULT = "got, default"
ARMS = {DEFAULT: None, "got, `--prefer cost`": "cost"}
GOALS = {"in process": "at most 1.05", "over HTTP": "at most 1.10"}
BY_HAND = "by hand"
RUNS = 5


class Recording(Model):
    """Asks another model, and keeps the requests by their prompts and arguments."""

    simulated, price, batch = False, None, 128

    def __init__(self, inside: Model) -> None:
        self.inside, self.name = inside, inside.name
        self.requests: Requests = {}

    async def ask(self, request: Request, n: int, first: int = 0, permit: Permit = PERMITTED) -> Reply:
        self.requests[request.prompt, repr(dict(request.arguments))] = request, n, first
        return await self.inside.ask(request, n, first, permit)


def read(text: str) -> list[int] | None:
    """The last list in a response."""
    try:
        found = json.loads(text[text.rindex("[") : text.rindex("]") + 1])
    except ValueError:
        return None
    return found if all(isinstance(x, int) for x in found) else None


def mistakes(attempt: list[int], source: list[int]) -> int:
    """Descents, and the difference in the count of each digit."""
    descents = sum(a > b for a, b in itertools.pairwise(attempt))
    return descents + sum(abs(attempt.count(x) - source.count(x)) for x in range(10))


async def by_hand(requests: Requests, ask: Ask) -> list[int]:
    """Sort the numbers: eight parts, merged in pairs, each repaired."""

    async def best(source: list[int], prompt: str, *others: list[int], **arguments: Any) -> list[int]:
        if others and not mistakes(others[0], source):
            return others[0]  # nothing to repair
        found = [read(text) for text in await ask(*requests[prompt, repr(arguments)])]
        return min([*others, *filter(None, found)], key=lambda attempt: mistakes(attempt, source))

    async def ordered(parts: list[list[int]], last: bool = False) -> list[int]:
        if len(parts) == 1:
            return await best(parts[0], "sort", numbers=parts[0])
        half = len(parts) // 2
        left, right = await asyncio.gather(ordered(parts[:half]), ordered(parts[half:]))
        source = numbers() if last else list(itertools.chain(*parts))
        merged = await best(source, "merge", left=left, right=right)
        return await best(source, "repair", merged, numbers=source, attempt=merged)

    (text,) = await ask(*requests["split", repr({"numbers": numbers(), "parts": 8})])
    return await ordered(list(json.loads(text[text.index("{") :]).values()), last=True)


async def timed(run: Callable[[], Awaitable[Any]]) -> dict[str, float]:
    """The seconds of the first run, and the median of more."""
    walls = []
    for _ in range(1 + RUNS):
        started = time.perf_counter()
        await run()
        walls.append(time.perf_counter() - started)
    return {"first": walls[0], "next": statistics.median(walls[1:])}


async def measure(arm: str, url: str) -> dict[str, float]:
    """An arm in this process; an empty `url` is in process."""
    inputs, slow = {"numbers": numbers()}, Slow()
    if arm in ARMS:
        model = open_model("openai:m", ModelOptions(base_url=url)) if url else slow
        slow.call_s = CALL_S
        async with Session(PROGRAM, Options(model=model, prefer=ARMS[arm], cache=None)) as session:
            found = await timed(lambda: session.run(inputs))
            await model.close()
            return found
    client: Any = None
    recording = Recording(open_model("openai:m", ModelOptions(base_url=url)) if url else slow)
    async with Session(PROGRAM, Options(model=recording, level=1)) as session:
        result = await session.run(inputs)
        await recording.inside.close()
    slow.call_s = CALL_S

    async def post(request: Request, n: int, first: int) -> list[str]:
        nonlocal client
        if client is None:
            import openai

            client = openai.AsyncOpenAI(api_key="no-key", base_url=url, max_retries=0)
        messages: Any = [{"role": m.role, "content": m.content} for m in request.messages]
        limit = request.settings.max_tokens
        found = await client.chat.completions.create(
            model="m", messages=messages, temperature=1.0, max_tokens=limit, n=n
        )
        return [choice.message.content for choice in found.choices]

    async def known(request: Request, n: int, first: int) -> list[str]:
        return [one.text for one in (await slow.ask(request, n, first)).completions]

    last: list[int] = []

    async def run() -> None:
        last[:] = await by_hand(recording.requests, post if url else known)

    found = await timed(run)
    assert last == result.value, "both do the same"
    return found


def complete(body: bytes) -> bytes:
    """The completions of the simulators."""
    from support.openai_server import OpenAIServer, Seen
    from support.sorter import Sorter

    asked = json.loads(body)
    seen = Seen(0, 0.0, "/v1/chat/completions", {}, asked, asked)
    return json.dumps(OpenAIServer(Sorter(by="place"))._completion(seen)).encode()


def rows(rounds: int) -> Iterator[tuple[Any, ...]]:
    with serving(__file__) as server:
        for place, url in (("in process", ""), ("over HTTP", server)):
            found: dict[str, list[dict[str, float]]] = {arm: [] for arm in (BY_HAND, *ARMS)}
            for _ in range(rounds):
                for arm, times in found.items():
                    command = [sys.executable, __file__, "--arm", arm, "--url", url]
                    done = subprocess.run(command, capture_output=True, text=True, check=True)
                    times.append(json.loads(done.stdout))
            for arm, times in found.items():
                line: list[Any] = [place, arm]
                for what in ("first", "next"):
                    ratios = [a[what] / b[what] for a, b in zip(times, found[BY_HAND], strict=True)]
                    line += [statistics.median(t[what] for t in times), statistics.median(ratios)]
                goal = GOALS[place] if arm == DEFAULT else None
                yield *line, f"{min(ratios):.2f} to {max(ratios):.2f}", goal


COLUMNS = {
    "place": "{}",
    "way": "{}",
    "first": "{:.3f} s",
    "to by hand": "{:.2f}",
    "next": "{:.3f} s",
    "to by hand ": "{:.2f}",
    "range": "{}",
    "goal": "{}",
}


if __name__ == "__main__":
    parser = options(__doc__, rounds=7, quick=2)
    parser.add_argument("--serve", action="store_true", help="only serve")
    parser.add_argument("--arm", help="only this arm, as JSON")
    parser.add_argument("--url", default="")
    given = parser.parse_args()
    if given.serve:
        asyncio.run(serve(functools.cache(complete), CALL_S))
    elif given.arm:
        print(json.dumps(asyncio.run(measure(given.arm, given.url))))
    else:
        report(given, COLUMNS, rows(given.rounds))
