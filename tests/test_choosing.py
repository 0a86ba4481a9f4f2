"""`first`, `first ..., at once` and `race`: the chosen alternative, and the cost of the others."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from msgspec.structs import replace
from support.orders import on_virtual_time, run_in_order

from gotlang.api import Options, Session, compile
from gotlang.cache.memory import MemoryCache
from gotlang.errors import RunError
from gotlang.models.base import PERMITTED, Model, Permit, Price, Reply, Request
from gotlang.models.simulated import SimulatedModel
from gotlang.report.graphs import execution
from gotlang.result import Result
from gotlang.runtime.plain import RequestLog, operations

PROMPTS = """
prompt slow(x: int) -> int:
    "slow {{ x }}"
prompt fast(x: int) -> int:
    "fast {{ x }}"
prompt bad(x: int) -> int:
    "bad {{ x }}"
"""
ANSWERS = {
    "slow": lambda rng, x: "200",
    "fast": lambda rng, x: "10",
    "bad": lambda rng, x: "nothing",
}
SECONDS = {"slow": 9.0, "fast": 1.0, "bad": 0.5}


@dataclass
class Timed(Model):
    """Answers after as many (virtual) seconds as the prompt says, as an endpoint does; `sent` are the prompts
    that were asked."""

    model: Model = field(default_factory=lambda: SimulatedModel(ANSWERS))
    simulated: bool = False
    sent: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def batch(self) -> int:
        return 1

    @property
    def price(self) -> Price | None:
        return self.model.price

    async def ask(self, request: Request, n: int, first: int = 0, permit: Permit = PERMITTED) -> Reply:
        await permit.send()
        self.sent.append(request.prompt)
        await asyncio.sleep(SECONDS[request.prompt])
        return await self.model.ask(request, n, first)


def run(body: str, model: Timed, **options: object) -> Result:
    text = PROMPTS + "scheme main(x: int) -> int:\n" + body
    return run_in_order(text, {"x": 1}, model, **options)


def line(*prompts: str) -> str:
    return "".join(f"        Generate() {prompt}(x)\n" for prompt in prompts)


def test_the_next_line_is_asked_for_only_where_the_one_before_does_not_pass() -> None:
    model = Timed()
    assert run("    first until it > 5:\n" + line("fast", "slow"), model).value == 10
    assert model.sent == ["fast"]
    model = Timed()
    found = run("    first until it > 50:\n" + line("bad", "fast", "slow"), model)
    assert (found.value, model.sent, found.outcome.hops) == (200, ["bad", "fast", "slow"], 3)
    assert found.status == "complete" and found.outcome.ledger.spent.uncertain_calls == 0


def test_where_no_line_passes_the_last_that_left_something_is_taken() -> None:
    assert run("    first until it > 500:\n" + line("slow", "fast", "bad"), Timed()).value == 10
    tried = "    try:\n" + "".join(
        f"    {each}\n" for each in ("    first:", *line("bad", "bad").splitlines())
    )
    assert run(tried + "    else:\n        Pool() -1\n", Timed()).value == -1


def test_at_once_takes_the_first_in_order_and_cancels_the_rest() -> None:
    model = Timed()
    found = run("    first until it > 5, at once:\n" + line("fast", "slow"), model)
    spent = found.outcome.ledger.spent
    assert found.value == 10 and sorted(model.sent) == ["fast", "slow"]
    assert (spent.calls, spent.uncertain_calls) == (1, 1), "what was cancelled may have been billed"
    assert found.outcome.wall_s < SECONDS["slow"]
    model = Timed()
    found = run("    first until it > 5, at once:\n" + line("slow", "fast"), model)
    assert (found.value, found.outcome.ledger.spent.uncertain_calls) == (200, 0), "in order, not in time"


def test_the_winner_of_a_race_is_the_one_that_ends_first_and_is_noted() -> None:
    body, cache = "    race:\n" + line("slow", "fast", "bad"), MemoryCache()
    model = Timed()
    found = run(body, model, cache=cache)
    spent = found.outcome.ledger.spent
    assert (found.value, found.status) == (10, "complete")
    assert (spent.calls, spent.uncertain_calls) == (2, 1) and spent.uncertain_usd is not None
    assert spent.uncertain_usd > 0
    SECONDS["fast"] = 99.0
    try:
        again = Timed()
        assert run(body, again, cache=cache).value == 10
    finally:
        SECONDS["fast"] = 1.0
    assert again.sent == [], "the line that won is in the cache, and no other is asked"
    other = Timed()
    assert run(body.replace("slow(x)", "slow(x + 1)"), other, cache=cache).value == 10
    assert "slow" in other.sent, "other lines are another race"


def test_a_race_may_have_a_condition() -> None:
    assert run("    race until it > 50:\n" + line("fast", "slow"), Timed()).value == 200
    assert run("    race until it > 500:\n" + line("fast", "slow"), Timed()).value == 200


def test_on_a_simulator_a_race_is_carried_out_whole() -> None:
    found = run("    race:\n" + line("slow", "fast"), Timed(simulated=True))
    assert found.value == 200, "both say that they took as long: the first on the page"
    assert (found.outcome.ledger.spent.calls, found.outcome.ledger.spent.uncertain_calls) == (2, 0)


@dataclass
class Uneven(Timed):
    """The 21st request takes very long."""

    async def ask(self, request: Request, n: int, first: int = 0, permit: Permit = PERMITTED) -> Reply:
        await permit.send()
        self.sent.append(request.prompt)
        seconds = 500.0 if len(self.sent) == 21 else 1.0 + len(self.sent) / 100
        await asyncio.sleep(seconds)
        return replace(await self.model.ask(request, n, first), latency_s=seconds)


@pytest.mark.parametrize("hedge", ["", ", hedge=0.9"])
def test_a_response_that_is_late_is_asked_for_twice(hedge: str) -> None:
    body = f"    repeat 24:\n        Generate(temperature=1{hedge}) fast(x)\n"
    model = Uneven()
    found = run(body, model)
    spent = found.outcome.ledger.spent
    assert found.value == 10 and spent.calls == 24
    if hedge:
        assert found.outcome.wall_s < 100 and spent.uncertain_calls == len(model.sent) - 24 > 0
    else:
        assert found.outcome.wall_s > 500 and len(model.sent) == 24


SHARED = (
    PROMPTS
    + """
scheme main(x: int) -> int:
    a = race:
        Generate(temperature=0) fast(x)
        Generate(temperature=0) slow(x)
    b = Generate(temperature=0) slow(x)
    Pool() a + b
"""
)


def test_what_others_wait_for_too_is_asked_for_again() -> None:
    model = Timed()

    async def work() -> Result:
        async with Session(compile(SHARED, "program.got"), Options(model=model, cache=None)) as session:
            return await session.run({"x": 1})

    found = on_virtual_time(work)
    assert found.value == 210 and found.status == "complete"
    assert model.sent.count("slow") <= 2


SKIPS = """
scheme main(x: int) -> int:
    {block}:
        if x > 1:
            skip
        else:
            Pool() x
        try:
            if x > 2:
                skip
            else:
                Pool() 10 * x
        else:
            Pool() 0
"""


@pytest.mark.parametrize(
    "block", ["first", "first until it < 5", "first until it < 5, at once", "race until it < 5"]
)
def test_a_line_that_skips_is_not_taken(block: str) -> None:
    program = compile(SKIPS.format(block=block))
    assert [program.run(x=x, options=Options(model=Timed())).value for x in (1, 2)] == [1, 20]
    with pytest.raises(RunError, match="each of its alternatives was skipped"):
        program.run(x=3, options=Options(model=Timed()))


def test_a_block_is_skipped_with_what_it_starts_from() -> None:
    text = SKIPS.format(block="first").replace(
        "scheme main(x: int) -> int", "scheme main(xs: list[int]) -> list[int]"
    )
    head, _, body = text.partition("\n    first")
    inner = ("if x > 3:\n    skip\nelse:\n    Pool() x\nfirst" + body.replace("\n    ", "\n")).replace(
        "\n", "\n        "
    )
    program = compile(f"{head}\n    foreach x in xs:\n        {inner.rstrip()}\n")
    assert program.run(xs=[2, 4], options=Options(model=Timed())).value == [20]


def test_pictures_show_what_each_line_left() -> None:
    result = compile(SKIPS.format(block="first until it < 5")).run(x=2, options=Options(model=Timed()))
    lines = list(operations(result.outcome.graph, {}, RequestLog()))
    assert [[t["made"] for t in line["thoughts"]] != [] for line in lines if line["kind"] == "until"] == [
        False,
        True,
    ]
    assert "try" not in {node.kind for node in execution(lines, "t").nodes}


def test_a_replay_takes_the_line_that_won(tmp_path: Path) -> None:
    program = compile(PROMPTS + "scheme main(x: int) -> int:\n    race:\n" + line("slow", "fast"))
    path = tmp_path / "recorded.jsonl"

    async def recorded() -> Result:
        async with Session(program, Options(model=Timed(), cache=None, record=path)) as session:
            return await session.run({"x": 1})

    assert on_virtual_time(recorded).value == 10
    again = program.run(x=1, options=Options(model=f"replay:{path}", cache=None))
    assert (again.value, again.status, again.outcome.ledger.spent.uncertain_calls) == (10, "complete", 0)
