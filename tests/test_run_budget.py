"""The budget: charges never exceed it, and affordable requests are never refused.

LAWS=2000 python -m pytest tests/test_run_budget.py     # five budgets each
"""

from __future__ import annotations

import asyncio
import math
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.asking import openai_model
from support.charging import KINDS, Charging
from support.clocks import FakeTime
from support.generated import SIMULATORS, Generated, programs
from support.gotc import vote
from support.laws import tried
from support.openai_server import Fault, OpenAIServer, Seen, dropped, edited, half_body, limited, status
from support.orders import compiled, on_virtual_time

from gotlang.api import Options, Session, load
from gotlang.cache.coordination import Charge
from gotlang.errors import BudgetExceeded, RunError
from gotlang.models.base import DecodingSettings, Message, Price, Request, Usage, token_bound
from gotlang.models.simulated import SimulatedModel
from gotlang.result import Result
from gotlang.runtime.engine import SCHEDULERS
from gotlang.runtime.sampler.budget import Budget, cost, worst_case

amounts = st.sampled_from([0.0, 0.001, 0.15, 0.5, 1.5, 60.0]) | st.floats(0, 100)
prices = st.builds(Price, amounts, amounts, st.none() | amounts)
settings = st.fixed_dictionaries(
    {
        "concurrency": st.none() | st.integers(1, 20),
        "schedule": st.sampled_from(sorted(SCHEDULERS)),
        "level": st.sampled_from([0, 1, 2]),
        "wave": st.none() | st.integers(1, 3),
    }
)


def spend(
    program: Generated, model: Charging, *, rows: int = 1, **options: Any
) -> tuple[list[Result | BaseException], Fraction, int]:
    """Rows of a data set at the same time, with one budget; what that has counted, dollars and answers."""

    async def work() -> tuple[list[Result | BaseException], Fraction, int]:
        async with Session(compiled(program.text), Options(model=model, **options)) as session:
            inputs = [{**program.inputs, "x": row} for row in range(1, rows + 1)]
            runs = [session.run(given, truth=3) for given in inputs]
            found = await asyncio.gather(*runs, return_exceptions=True)
            budget = session.runner.budget
            return list(found), budget.charged.usd + budget.uncertain.usd, budget.spent_calls

    found, usd, calls = on_virtual_time(work)
    for one in found:
        assert isinstance(one, Result | RunError), one
    assert model.under_way == 0
    return found, usd, calls


def at_least(amount: Fraction) -> float:
    """The smallest number that can be given as a limit and is no less."""
    found = float(amount)
    return found if Fraction(repr(found)) >= amount else math.nextafter(found, math.inf)


def test_the_worst_case_of_a_price_that_is_higher_for_cached_tokens() -> None:
    request = Request("m", (Message("user", "why?"),), DecodingSettings(max_tokens=10))
    price = Price(1.0, 2.0, cached_input_per_million=5.0)
    most = token_bound(request)
    assert worst_case(request, 1, price) >= cost(price, Usage(most, 10, most))


def test_what_a_dear_request_gives_back_is_used() -> None:
    """The first request reserves 90% of the limit, and costs a tenth of it."""
    price = Price(0.0, 10_000.0)
    dear, cheap = (
        Request("m", (Message("user", "why?"),), DecodingSettings(max_tokens=most)) for most in (90, 30)
    )

    async def main() -> Budget:
        budget = Budget(1.0)

        async def spend(request: Request, output_tokens: int) -> None:
            reservation = await budget.reserve(request, 1, price)
            await asyncio.sleep(1.0)
            budget.settle(reservation, Charge(1, cost(price, Usage(0, output_tokens))))

        cheaply = (spend(cheap, 10) for _ in range(12))
        found = await asyncio.gather(spend(dear, 10), *cheaply, return_exceptions=True)
        assert all(one is None or isinstance(one, BudgetExceeded) for one in found)
        return budget

    budget = on_virtual_time(main)
    assert budget.charged == Charge(8, Fraction(8, 10)), "one more could cross the limit"


@tried(60)
@given(
    programs(),
    prices,
    st.integers(0, 2**32),
    st.sampled_from([0.0, 0.05, 0.3, 0.8]),
    st.sampled_from([1, 2, 128]),
    st.integers(1, 3),
    settings,
    st.lists(st.tuples(st.none() | st.floats(0, 1.1), st.none() | st.floats(0, 1.1)), min_size=5, max_size=5),
)
def test_what_the_server_charges_never_crosses_the_budget(
    program: Generated,
    price: Price,
    seed: int,
    share: float,
    batch: int,
    rows: int,
    how: dict[str, Any],
    budgets: list[tuple[float | None, float | None]],
) -> None:
    def charging() -> Charging:
        inside = SimulatedModel(SIMULATORS, price=price, batch=batch)
        return Charging(inside, Random(seed), seed=seed, share=share)

    free = charging()
    spend(program, free, rows=rows, **how)
    for dollars, calls in budgets:
        model = charging()
        max_usd = None if dollars is None else float(dollars * float(free.usd + free.dearest))
        max_calls = None if calls is None else int(calls * free.answers)
        found, usd, answers = spend(program, model, rows=rows, max_usd=max_usd, max_calls=max_calls, **how)
        if max_usd is not None:
            assert model.usd <= Fraction(repr(max_usd))
        if max_calls is not None:
            assert model.answers <= max_calls
        # The run knows what it has spent: never less than the bill.
        assert answers >= model.answers
        assert usd >= model.usd or math.isclose(usd, model.usd, rel_tol=1e-9)
        for one in found:
            if isinstance(one, Result) and one.partial is not None:
                assert "budget" in one.partial


@tried(60)
@given(
    programs(),
    prices,
    st.integers(0, 2**32),
    st.sampled_from([0.0, 0.1, 0.4]),
    settings,
    st.sampled_from(["dollars", "answers", "both"]),
)
def test_a_run_that_fits_its_budget_is_never_stopped(
    program: Generated, price: Price, seed: int, share: float, how: dict[str, Any], limited: str
) -> None:
    """One answer a request: then the bill is the same in any order, and what must be set aside is known."""

    def charging(order: int) -> Charging:
        inside = SimulatedModel(SIMULATORS, price=price, batch=1)
        kinds = tuple(kind for kind in KINDS if kind != "fewer")
        return Charging(inside, Random(order), seed=seed, share=share, kinds=kinds)

    free = charging(1)
    (whole,), counted, _ = spend(program, free, **how | {"concurrency": None})
    limits: dict[str, Any] = {}
    if limited != "answers":
        # What was charged for a last try that brought nothing is not told, and counts at its worst.
        limits["max_usd"] = at_least(max(free.usd, counted) + free.dearest)
    if limited != "dollars":
        # What fails without a charge needs a place all the same.
        limits["max_calls"] = free.answers + (1 if share else 0)
    (found,), _, _ = spend(program, charging(2), **how, **limits)
    if isinstance(whole, RunError):
        # How much a run that fails has asked by then is a matter of order: more than this may be too much.
        assert found.exit_code != 3 if isinstance(found, RunError) else found.partial is not None
        return
    assert isinstance(found, Result) and isinstance(whole, Result)
    assert (found.partial, found.outcome.skipped) == (None, 0)
    assert found.value == whole.value


FAULTS = [
    lambda: None,
    lambda: None,
    dropped,
    lambda: dropped(charged=False),
    half_body,
    limited,
    lambda: status(500),
    lambda: edited(lambda completion: completion.update(choices=[])),
]


@pytest.mark.parametrize("seed", range(8))
def test_the_real_client_never_crosses_it_either(tmp_path: Path, seed: int) -> None:
    """Against a real server that breaks connections, refuses, and charges for nothing."""
    chance = Random(seed)
    vote(tmp_path)

    def fault(seen: Seen) -> Fault | None:
        return chance.choice(FAULTS)()

    price = Price(chance.choice([1.0, 250.0]), chance.choice([2.0, 1000.0]))
    max_usd = chance.choice([None, chance.random() * 40 * (price.output_per_million + 1) * 20 / 1e6])
    max_calls = chance.choice([None, chance.randrange(40)])
    with OpenAIServer(lambda body, index: "7", faults=fault) as server:
        waiting = FakeTime()
        model = openai_model(
            "small",
            base_url=server.url,
            batch=chance.choice([1, 4]),
            price=price,
            retries=2,
            sleep=waiting.sleep,
            clock=waiting.clock,
        )
        options = Options(model=model, params={"tries": 9}, level=1, max_usd=max_usd, max_calls=max_calls)
        program = load(tmp_path / "vote.got")

        async def rows() -> None:
            async with Session(program, options) as session:
                runs = [session.run({"question": "why" * row}) for row in range(1, 6)]
                await asyncio.gather(*runs, return_exceptions=True)

        asyncio.run(rows())
    if max_usd is not None:
        assert cost(price, server.charged) <= Fraction(repr(max_usd))
    if max_calls is not None:
        assert sum(seen.n for seen in server.requests if seen.charged.input_tokens) <= max_calls
