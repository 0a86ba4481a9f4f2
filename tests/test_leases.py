"""Workers that reserve for several requests at a time: a law over what many of them do on one budget."""

from __future__ import annotations

import asyncio
import random
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.caches import a_request

from gotlang.cache import open_cache
from gotlang.cache.coordination import NO_CHARGE, Charge, Coordination
from gotlang.cache.sqlite import SqliteCoordination
from gotlang.errors import BudgetExceeded
from gotlang.models.base import Price
from gotlang.runtime.sampler import shared
from gotlang.runtime.sampler.budget import Allowance, worst_case
from gotlang.runtime.sampler.shared import SharedBudget

PRICE = Price(1000.0, 1000.0)
EACH = worst_case(a_request(), 1, PRICE)


class Priced:
    """What an allowance needs of a model."""

    price = PRICE
    name = "m"
    simulated = False


class Worker:
    """One process: its budget with leases, and what it sent."""

    def __init__(self, coordination: Coordination, lease: int) -> None:
        self.coordination = coordination
        self.budget = SharedBudget.open(coordination, "all", None, None)
        self.budget.lease_calls = lease
        self.sent = self.uncertain = Fraction(0)

    async def request(self, chance: random.Random) -> bool:
        """One request; whether there was money for it."""
        try:
            allowance = await Allowance.of(self.budget, a_request(), 1, Priced())  # type: ignore[arg-type]
        except BudgetExceeded:
            return False
        try:
            await asyncio.sleep(chance.choice((0, 0, 0.002)))
            if chance.random() < 0.1:
                return True  # it was in the cache after all
            await allowance.sending("key/0")
            used = EACH * chance.choice((Fraction(1, 4), Fraction(1, 2), Fraction(1)))
            self.sent += EACH
            await asyncio.sleep(chance.choice((0, 0.001)))
            allowance._settle(Charge(1, used))
            self.sent += used - EACH
        finally:
            allowance.end()
        return True


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(5, 60), st.sampled_from((1, 4, 16)), st.booleans())
def test_no_number_of_workers_crosses_a_limit_and_little_is_left(
    tmp_path_factory: pytest.TempPathFactory, seed: int, requests: int, lease: int, killed: bool
) -> None:
    path = tmp_path_factory.mktemp("leases") / "cache.sqlite"
    asyncio.run(spend(path, random.Random(seed), requests, lease, killed=killed))


async def spend(path: Path, chance: random.Random, requests: int, lease: int, *, killed: bool) -> None:
    """Three workers ask for more than there is; one of them is killed in the midst of it."""
    cache, limit, shared.IDLE_S = open_cache(path), EACH * requests, 0.01
    joined = [cache.coordination() for _ in range(4)]
    owners = [each for each in joined if each is not None]
    owners[0].make("all", limit, None)
    workers = [Worker(each, lease) for each in owners[1:]]

    async def work(worker: Worker) -> int:
        most = 4 * requests if worker is not workers[2] else 2  # and one has nothing to do soon
        return [await worker.request(chance) for _ in range(most)].count(False)

    tasks = [asyncio.create_task(work(worker)) for worker in workers for _ in range(2)]
    if killed:
        await asyncio.sleep(0.003)
        for task in tasks[:2]:
            task.cancel()
        await asyncio.gather(*tasks[:2], return_exceptions=True)
        found = owners[0].budget("all")
        assert found is not None and found.used.usd <= limit
        owners[0].bury(owners[1].owner)
        tasks = tasks[2:]
    async with asyncio.timeout(30):
        refused = await asyncio.gather(*tasks)
    await asyncio.sleep(0.05)
    for worker in workers:
        worker.coordination.flush()
    found = owners[0].budget("all")
    assert found is not None
    spent = sum(worker.sent for worker in workers)
    assert spent <= found.charged.usd + found.uncertain.usd <= limit
    assert found.reserved == NO_CHARGE  # what was borrowed and not spent is back
    # Whoever was refused was so since not one more request fits.
    assert all(refused[:-2]) and limit - found.used.usd < EACH
    for each in owners:
        each.close()
    cache.close()


@pytest.mark.parametrize("simulated", [False, True])
def test_what_is_sent_to_a_model_is_on_the_disk_before_unless_nobody_bills_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, simulated: bool
) -> None:
    synced = list[bool]()
    real = SqliteCoordination.transaction

    def transaction(self: SqliteCoordination, work: Any, *, durable: bool = False) -> Any:
        synced.append(durable)
        return real(self, work, durable=durable)

    async def send(coordination: Coordination) -> None:
        budget = SharedBudget.open(coordination, "all", 1000.0, None)
        model = cast(Any, Priced())
        model.simulated = simulated
        allowance = await Allowance.of(budget, a_request(), 1, model)
        synced.clear()
        await allowance.sending("key/0")

    monkeypatch.setattr(SqliteCoordination, "transaction", transaction)
    cache = open_cache(tmp_path / "cache.sqlite")
    coordination = cache.coordination()
    assert coordination is not None
    asyncio.run(send(coordination))
    coordination.close()
    cache.close()
    assert synced and any(synced) is not simulated
