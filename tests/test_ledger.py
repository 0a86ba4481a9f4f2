"""The ledger: its sums are those over the operations, its critical path is the longest path."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from support.generated import SIMULATORS, Generated, programs
from support.laws import tried
from support.orders import Delayed, compiled, on_virtual_time
from support.plans import Failing

from gotlang.api import Options, Session
from gotlang.cache.base import StoredSample
from gotlang.cache.memory import MemoryCache
from gotlang.errors import RunError
from gotlang.models.base import Model, Price
from gotlang.models.simulated import SimulatedModel
from gotlang.result import Result
from gotlang.runtime.graph import DONE, Operation
from gotlang.runtime.outcome import Outcome
from gotlang.runtime.plain import RequestLog, operations
from gotlang.runtime.sampler.events import Asked, Event
from gotlang.runtime.sampler.ledger import Account

DEAR = Price(60.0, 90.0)
ELSEWHERE = 'prompt pair(x: int, y: int) -> int:\n    model "dear"\n'
Draw = tuple[str, int]


@dataclass
class Seen:
    """Every answer that operations took, as the events tell of them."""

    answers: list[tuple[Draw, StoredSample, str, Price]] = field(default_factory=list)
    asks: RequestLog = field(default_factory=RequestLog)
    cheap: Price = field(default_factory=lambda: Price(1.0, 2.0))

    def __call__(self, event: Event) -> None:
        self.asks(event)
        if isinstance(event, Asked):
            price = DEAR if event.model.endswith("dear") else self.cheap
            zero = event.request.settings.temperature == 0
            for number, drawn in zip(event.numbers, event.samples, strict=True):
                if isinstance(drawn, tuple):
                    draw = (event.key, 0 if zero else number)
                    self.answers.append((draw, drawn[0], drawn[1], price))

    def once(self, *, stored: bool) -> dict[Draw, tuple[Draw, StoredSample, str, Price]]:
        """Each answer once; without those that were there before, unless `stored`."""
        before = {draw for draw, _, source, _ in self.answers if source == "persistent"}
        return {entry[0]: entry for entry in self.answers if stored or entry[0] not in before}


def same(account: Account, entries: Iterable[tuple[Draw, StoredSample, str, Price]]) -> None:
    """An account holds these answers, each asked for by itself."""
    listed = [(stored, price) for _, stored, _, price in entries]
    assert account.calls == account.requests == len(listed)
    assert account.input_tokens == sum(stored.usage.input_tokens for stored, _ in listed)
    assert account.output_tokens == sum(stored.completion.output_tokens for stored, _ in listed)
    usd = math.fsum(price.usd(stored.usage) for stored, price in listed)
    assert account.usd is not None and math.isclose(account.usd, usd, rel_tol=1e-9, abs_tol=1e-15)
    seconds = math.fsum(stored.latency_s for stored, _ in listed)
    assert math.isclose(account.sequential_s, seconds, rel_tol=1e-9, abs_tol=1e-12)


def longest(lines: list[dict[str, Any]], waits: dict[int, float], end: int) -> float:
    """The longest of all paths to an operation of an exported graph, by what each operation waited."""
    table = {line["operation"]: line for line in lines}
    known: dict[int, float] = {}

    def to(number: int) -> float:
        if number not in known:
            line = table[number]
            before = [*line["inputs"], *([line["origin"]] if line["origin"] is not None else [])]
            never_ran = line["state"] == "failed" and not line["hops"]
            known[number] = 0.0 if never_ran else max(map(to, before), default=0.0) + waits.get(number, 0.0)
        return known[number]

    return to(end)


def waited(result: Result, *, stored: bool) -> dict[int, float]:
    """Seconds that each operation waited for models: the slowest answer of each of its rounds, in turn."""
    rounds: dict[tuple[int, int], float] = {}
    for asked in result.outcome.ledger.rounds:
        for number, answer in zip(asked.numbers, asked.samples, strict=True):
            if stored or number not in asked.persistent:
                place = (asked.operation, asked.turn)
                rounds[place] = max(rounds.get(place, 0.0), answer.latency_s)
    waits: dict[int, float] = {}
    for (operation, _), seconds in rounds.items():
        waits[operation] = waits.get(operation, 0.0) + seconds
    return waits


def is_end(operation: Operation, outcome: Outcome) -> bool:
    """Whether an operation may be the one that gave the result."""
    return operation.hops == outcome.hops and operation.seconds == outcome.times[0]


@tried(80)
@given(
    programs(),
    st.integers(0, 2**32),
    st.sampled_from([0.0, 0.0, 0.1]),
    st.none() | st.integers(0, 40),
    st.none() | st.integers(1, 10),
)
def test_sums_are_those_of_the_operations_and_no_path_is_longer(
    program: Generated, seed: int, share: float, known: int | None, limit: int | None
) -> None:
    text = program.text.replace("prompt pair(x: int, y: int) -> int:\n", ELSEWHERE)
    cache = MemoryCache()

    def run(**options: Any) -> tuple[Result | RunError, Seen, list[dict[str, Any]]]:
        seen = Seen()

        def model(inside: SimulatedModel) -> Model:
            return Failing(inside, Random(seed), seed=seed, share=share) if share else Delayed(inside)

        cheap = model(SimulatedModel(SIMULATORS, price=seen.cheap, batch=1))
        dear = model(SimulatedModel(SIMULATORS, price=DEAR, batch=1, version="dear"))

        async def work() -> Result:
            given = Options(model=cheap, observe=seen, cache=cache, concurrency=limit, **options)
            async with Session(compiled(text), given) as session:
                session.runner.models = lambda name: dear if name == "dear" else cheap
                return await session.run(program.inputs, truth=3)

        try:
            found = on_virtual_time(work)
        except RunError as error:
            return error, seen, []
        return found, seen, list(operations(found.outcome.graph, {}, seen.asks))

    if known is not None:
        run(max_calls=known)  # leaves some answers in the cache
    found, seen, lines = run()
    if isinstance(found, RunError):
        return
    ledger, outcome = found.outcome.ledger, found.outcome
    same(ledger.accounts[0], seen.answers)
    same(ledger.accounts[1], seen.once(stored=True).values())
    same(ledger.accounts[2], seen.once(stored=False).values())
    paid = [entry for entry in seen.answers if entry[2] == "model"]
    assert (ledger.spent.calls, ledger.spent.output_tokens) == (
        len(paid),
        sum(stored.completion.output_tokens for _, stored, _, _ in paid),
    )
    if not share:
        assert ledger.spent.requests == len(paid) == ledger.accounts[2].calls
    for operation in outcome.graph.operations:
        if operation.state == DONE and not operation.constant:
            found_s = longest(lines, waited(found, stored=True), operation.sequence)
            assert math.isclose(operation.seconds, found_s, abs_tol=1e-9)
    ends = [o for o in outcome.graph.operations if tuple(o.output) == outcome.thoughts and is_end(o, outcome)]
    assert ends
    if not ledger.shared:
        assert outcome.times[1] == outcome.times[0]
        paths = [longest(lines, waited(found, stored=False), o.sequence) for o in ends]
        assert any(math.isclose(outcome.times[2], path, abs_tol=1e-9) for path in paths)
    assert outcome.times[0] >= outcome.times[1] >= outcome.times[2] >= 0.0
    if not share:
        turns = {(r.operation, r.turn) for r in ledger.rounds}
        hops: dict[int, float] = {}
        for operation, _ in turns:
            hops[operation] = hops.get(operation, 0) + 1
        assert all(longest(lines, hops, o.sequence) == outcome.hops for o in ends)
