"""Scheduling: order of operations, concurrency, and no starvation."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest
from support.orders import on_virtual_time

from gotlang.api import Options, Session, compile
from gotlang.errors import UsageError
from gotlang.models.base import PERMITTED, Model, Permit, Price, Reply, Request
from gotlang.models.simulated import SimulatedModel

TEXT = """
prompt first(x: int) -> int:
    "first {{ x }}"
prompt then(x: int) -> int:
    "then {{ x }}"
prompt last(x: int) -> int:
    "last {{ x }}"

scheme main(x: int) -> many int:
    foreach y in [1, 2, 3]:
        Generate() first(y)
        Generate() then(it)
    foreach z:
        Generate() last(z)

scheme ranked(x: int) -> many int:
    foreach y in [1, 2, 3, 4]:
        Pool() y
        Score() 10 if y == 3 else 0 - y
        Generate() first(it)

scheme uneven(x: int) -> many int:
    short = Generate() first(1)
    long =
        Generate() first(2)
        Generate() then(it)
        Generate() last(it)
    Pool() short, long

scheme flat(x: int, n: int) -> many int:
    foreach y in range(n):
        Generate() first(x * 1000 + y)
"""

SIMULATORS = {name: lambda rng, x: str(x) for name in ("first", "then", "last")}


@dataclass
class Watching(Model):
    """A model whose answers take a second; it notes what was asked, and how much at a time."""

    name: str = "watched"
    price: Price | None = None
    batch: int = 1
    simulated: bool = True
    asked: list[str] = field(default_factory=list)
    under_way: Counter[str] = field(default_factory=Counter)
    most: Counter[str] = field(default_factory=Counter)

    async def ask(self, request: Request, n: int, first: int = 0, permit: Permit = PERMITTED) -> Reply:
        self.asked.append(request.messages[-1].content)
        for name in (self.name, "all"):
            self.under_way[name] += 1
            self.most[name] = max(self.most[name], self.under_way[name])
        await asyncio.sleep(1.0)
        for name in (self.name, "all"):
            self.under_way[name] -= 1
        return await SimulatedModel(SIMULATORS).ask(request, n, first, permit)


def asked(scheme: str, **options: Any) -> list[str]:
    """What one run asked for, in order."""
    model = Watching()

    async def work() -> None:
        async with Session(compile(TEXT, "p.got"), Options(model=model, **options)) as session:
            await session.run({"x": 0}, scheme=scheme)

    on_virtual_time(work)
    return model.asked


def test_breadth_first_asks_the_earliest_first() -> None:
    found = asked("main", schedule="breadth-first", concurrency=1)
    assert [line.split()[0] for line in found] == ["first"] * 3 + ["then"] * 3 + ["last"] * 3


def test_depth_first_ends_what_it_began() -> None:
    found = asked("main", schedule="depth-first", concurrency=1)[:6]
    assert found == ["first 1", "then 1", "first 2", "then 2", "first 3", "then 3"]


def test_best_first_goes_on_with_the_best_score() -> None:
    found = asked("ranked", schedule="best-first", concurrency=1)
    assert found == ["first 3", "first 1", "first 2", "first 4"]


def test_longest_path_first_does_not_keep_the_end_waiting() -> None:
    assert asked("uneven", schedule="breadth-first", concurrency=1)[0] == "first 1"
    assert asked("uneven", schedule="critical-path-first", concurrency=1)[0] == "first 2"
    found = asked("uneven", schedule="critical-path-first", concurrency=1)
    assert found.index("first 1") > found.index("then 2")


# ---------------------------------------------------------------- how many at a time


@pytest.mark.parametrize("limit", [1, 4, None])
def test_no_more_requests_are_under_way_than_allowed(limit: int | None) -> None:
    model = Watching()

    async def work() -> float:
        async with Session(compile(TEXT, "p.got"), Options(model=model, concurrency=limit)) as session:
            rows = [session.run({"x": x, "n": 6}, scheme="flat") for x in range(3)]
            await asyncio.gather(*rows)
            return asyncio.get_running_loop().time()

    seconds = on_virtual_time(work)
    assert model.most["all"] == (limit or 18)
    assert seconds == -(-18 // (limit or 18))


def test_no_row_starves() -> None:
    """Ten rows share a limit of four: each gets its share all the time, however much the others want."""
    model = Watching()

    async def work() -> None:
        options = Options(model=model, concurrency=4)
        async with Session(compile(TEXT, "p.got"), options) as session:
            rows = [session.run({"x": x, "n": 40 if x < 5 else 8}, scheme="flat") for x in range(10)]
            await asyncio.gather(*rows)

    on_virtual_time(work)
    rows = [int(line.split()[1]) // 1000 for line in model.asked]
    assert len(rows) == 5 * 40 + 5 * 8
    for row in range(10):
        own = [at for at, r in enumerate(rows) if r == row]
        # The first four came before anybody stood in line; from then on the rows take turns.
        assert all(after - before <= (14 if before < 4 else 10) for before, after in pairwise(own)), row
        assert own[0] <= 14 and (row < 5 or own[-1] < 4 + 8 * 10)


MODELS = """
prompt small(x: int) -> int:
    model "small"
    "small {{ x }}"
prompt big(x: int) -> int:
    model "big"
    "big {{ x }}"

scheme main(n: int) -> many int:
    a =
        foreach y in range(n):
            Generate() big(y)
    b =
        foreach y in range(n):
            Generate() small(y)
    Pool() a, b
"""


def two_models(**options: Any) -> tuple[Counter[str], float, list[str]]:
    """The most requests under way for each of two models, the seconds, and what was asked in order."""
    shared: Counter[str] = Counter()
    most: Counter[str] = Counter()
    order: list[str] = []

    async def work() -> float:
        session = Session(compile(MODELS, "p.got"), Options(model=Watching(), **options))
        async with session:
            models = {
                name: Watching(name, under_way=shared, most=most, asked=order) for name in ("big", "small")
            }
            session.runner.models = lambda name: models[name or "small"]
            await session.run({"n": 20})
            return asyncio.get_running_loop().time()

    simulators = {name: lambda rng, x: str(x) for name in ("small", "big")}
    SIMULATORS.update(simulators)
    seconds = on_virtual_time(work)
    return most, seconds, order


def test_each_model_has_a_limit_of_its_own() -> None:
    most, seconds, _ = two_models(concurrency=None, model_concurrency={"openai:big": 2, "small": 5})
    assert (most["big"], most["small"], most["all"]) == (2, 5, 7)
    assert seconds == 10


def test_who_waits_for_one_model_leaves_its_place_to_others() -> None:
    """The big model's requests come first and may be two at a time; the small one's do not wait for them."""
    most, seconds, order = two_models(concurrency=6, model_concurrency={"big": 2})
    assert (most["big"], most["all"]) == (2, 6)
    assert seconds <= 12
    assert sum(line.startswith("small") for line in order[:10]) >= 6


@pytest.mark.parametrize("limits", [{"bigger": 2}, {"big": 0}])
def test_a_limit_that_cannot_be_is_refused(limits: dict[str, int]) -> None:
    with pytest.raises(UsageError) as found:
        two_models(model_concurrency=limits)
    assert next(iter(limits)) in found.value.message
