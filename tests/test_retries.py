"""`timeout` and `retries`: the first k responses that can be read, whatever comes first, and nothing is paid
twice."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.laws import tried
from support.orders import Delayed, try_in_order
from support.plans import Failing

from gotlang.api import Options, compile
from gotlang.cache.memory import MemoryCache
from gotlang.errors import RunError
from gotlang.models.simulated import SimulatedModel
from gotlang.result import Result

HEAD = """
prompt number(x: int) -> int:
    "number {{ x }}"
prompt patient(x: int) -> int:
    timeout 5
    retries 3
    "patient {{ x }}"
prompt rate(x: int) -> float:
    retries 4
    "rate {{ x }}"
prompt fine(x: int) -> bool:
    retries 4
    "fine {{ x }}"
"""
MOST = 10**6


def _mostly_silent(rng: Random, x: Any) -> str:
    return "I would rather not say." if rng.random() < 0.6 else str(rng.randrange(MOST))


SILENT: dict[str, Any] = {
    "number": _mostly_silent,
    "patient": _mostly_silent,
    "rate": _mostly_silent,
    "fine": lambda rng, x: "well" if rng.random() < 0.6 else "yes",
}


def go(body: str, *, seed: int = 0, **options: Any) -> Result | RunError:
    lines = "\n".join("    " + line for line in body.strip().splitlines())
    text = f"{HEAD}\nscheme main(x: int) -> many any:\n{lines}\n"
    return try_in_order(text, {"x": 1}, Delayed(SimulatedModel(SILENT), Random(seed)), **options)


def numbers(found: Result) -> list[tuple[int, ...]]:
    return [round_.numbers for round_ in found.outcome.ledger.rounds]


def test_the_first_k_that_can_be_read() -> None:
    alone = go("Generate(k=30) number(x)")
    found = go("Generate(k=10, retries=2) number(x)")
    assert isinstance(alone, Result) and isinstance(found, Result)
    assert found.value == alone.value[:10]
    asked = [number for numbers_ in numbers(found) for number in numbers_]
    assert asked == sorted(set(asked))
    assert len(asked) < 30


def test_no_more_than_k_times_one_more_than_retries() -> None:
    found = go("Generate(k=2, retries=3) never(x)".replace("never", "number"), seed=1)
    assert isinstance(found, Result)
    model = SimulatedModel({**SILENT, "number": lambda rng, x: "no"})
    text = f"{HEAD}\nscheme main(x: int) -> many any:\n    Generate(k=2, retries=3) number(x)\n"
    lost = try_in_order(text, {"x": 1}, model)
    assert isinstance(lost, RunError)
    assert lost.outcome.ledger.spent.calls == 8
    assert [f.handled for f in lost.failures if f.sample is not None] == [True] * 6 + [False] * 2


@tried(100)
@given(
    st.integers(1, 6),
    st.integers(0, 4),
    st.integers(0, 2**32),
    st.sampled_from([None, 1, 2, 5]),
    st.sampled_from([0, 1, 2]),
    st.sampled_from(["", "\nScore() it % 10\nKeepBestN(2)", "\nScore() -it\nKeepBestN(1)"]),
    st.sampled_from(["", ", until=it % 2 == 0"]),
)
def test_the_order_of_responses_and_the_optimizer_change_nothing(
    k: int, retries: int, seed: int, wave: int | None, level: int, after: str, until: str
) -> None:
    body = f"Pool() x, x + 1, x + 2\nGenerate(k={k}, retries={retries}{until}) number(it){after}"
    found = [
        go(body, seed=0, level=0),
        go(body, seed=seed, level=level, wave=wave, concurrency=2),
    ]
    if any(isinstance(one, RunError) for one in found):
        assert all(isinstance(one, RunError) for one in found)
    else:
        assert found[0].value == found[1].value  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "body",
    [
        "Generate(k=4, retries=3) number(x)",
        "Generate(k=2) patient(x)",
        "Pool() x\nScore(k=2) rate(it)",
        "Pool() x\nValidate() fine(it)\nKeepValid()",
        "Pool() x\nValidateAndImprove(2) fine(it), patient(it)",
        "foreach y in [1, 2, 3]:\n    try:\n        Generate(retries=1) number(y)\n    else:\n        skip",
    ],
)
def test_a_second_run_pays_nothing_and_bounds_hold(body: str) -> None:
    lines = "\n".join("    " + line for line in body.splitlines())
    text = f"{HEAD}\nscheme main(x: int) -> many any:\n{lines}\n"
    cache = MemoryCache()
    found = [try_in_order(text, {"x": 1}, SimulatedModel(SILENT), cache=cache, level=0) for _ in range(2)]
    assert all(isinstance(one, Result) for one in found), found
    first, again = (one for one in found if isinstance(one, Result))
    assert again.value == first.value
    assert again.outcome.ledger.spent.calls == 0
    costs = compile(text, "t.got").explain({"x": 1}, options=Options(level=0), simulate=False).costs
    spent = first.outcome.ledger.spent
    assert costs.calls.low <= spent.calls <= costs.calls.high
    assert costs.requests.low <= spent.requests <= costs.requests.high
    assert costs.critical_path.low <= first.outcome.hops <= costs.critical_path.high


@pytest.mark.parametrize("sleep", [asyncio.sleep, None])
def test_a_response_that_takes_too_long_is_a_failed_sample(sleep: Any) -> None:
    text = f"{HEAD}\nscheme main(x: int) -> int:\n    Generate(timeout=0.2, retries=1) number(x)\n"
    program = compile(text, "t.got")
    model = SimulatedModel({**SILENT, "number": lambda rng, x: str(x)}, sleep=sleep)
    with pytest.raises(RunError) as caught:
        program.run(x=1, options=Options(model=model))
    assert caught.value.message == "Generate number: every thought failed: no response within 0.2 seconds"
    outcome = caught.value.outcome
    assert (outcome.ledger.spent.calls, outcome.ledger.spent.uncertain_calls) == (0, 2)


@tried(100)
@given(st.integers(0, 2**32), st.sampled_from([0.2, 0.5]), st.none() | st.integers(1, 4), st.integers(0, 3))
def test_what_fails_anyhow_is_asked_for_again(
    seed: int, share: float, limit: int | None, retries: int
) -> None:
    plain = {"number": lambda rng, x: str(rng.randrange(MOST))}
    body = f"    Generate(k=3, retries={retries}, temperature=1.0) number(x)\n"
    text = f"{HEAD}\nscheme main(x: int) -> many int:\n{body}"
    values = []
    for order in (1, 2):
        model = SimulatedModel(plain)
        failing = Failing(model, Random(order), seed=seed, share=share, kinds=("error", "rubbish"))
        found = try_in_order(text, {"x": 1}, failing, concurrency=limit, level=0)
        values.append(found.value if isinstance(found, Result) else None)
        assert failing.under_way == 0
    assert values[0] == values[1]


def test_retries_at_temperature_0_are_refused_and_ignored() -> None:
    from gotlang.api import check

    text = f"{HEAD}\nscheme main(x: int) -> int:\n    Generate(temperature=0.0, retries=1) number(x)\n"
    assert [d.code for d in check(text, "t.got").diagnostics if d.severity == "error"] == ["GOT0344"]
    text = text.replace("temperature=0.0", "temperature=x * 0.0")
    lost = try_in_order(text, {"x": 1}, SimulatedModel({**SILENT, "number": lambda rng, x: "no"}))
    assert isinstance(lost, RunError) and lost.outcome.ledger.spent.calls == 1
