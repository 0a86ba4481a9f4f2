"""Failures: a run ends, leaves nothing running, and reports what failed, where and why."""

from __future__ import annotations

import re
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.generated import SIMULATORS, Generated, programs
from support.laws import tried
from support.orders import Delayed, try_in_order
from support.plans import Failing

from gotlang.cache.memory import MemoryCache
from gotlang.errors import RunError
from gotlang.models.base import PERMITTED, Permit, Reply, Request
from gotlang.models.simulated import SimulatedModel
from gotlang.result import Result


@tried(70)
@given(
    programs(),
    st.integers(0, 2**32),
    st.sampled_from([0.02, 0.1, 0.3, 1.0]),
    st.none() | st.integers(1, 20),
    st.sampled_from([0, 1, 2]),
    st.none() | st.integers(1, 3),
)
def test_every_run_ends_and_every_failure_is_reported(
    program: Generated, seed: int, share: float, limit: int | None, level: int, wave: int | None
) -> None:
    model = Failing(SimulatedModel(SIMULATORS), Random(seed), seed=seed, share=share)
    found = try_in_order(
        program.text, dict(program.inputs), model, truth=3, concurrency=limit, level=level, wave=wave
    )
    assert model.under_way == 0
    failures = found.failures if isinstance(found, RunError) else found.outcome.failures
    reasons = "\n".join(failure.reason for failure in failures)
    for word in model.told:
        assert word in reasons
    if isinstance(found, RunError):
        assert "internal error" not in found.message, found
        check_error(found)


def check_error(error: RunError) -> None:
    """It names the operation, and each failure its place in the source."""
    assert ": " in error.message
    assert all(f.operation and f.reason for f in error.failures)
    assert all(f.span.source == "program.got" for f in error.failures if f.sample is not None)


# ---------------------------------------------------------------- one failure, at every place

HEAD = """
prompt good(x: int) -> int:
    "good {{ x }}"
prompt bad(x: int) -> int:
    "bad {{ x }}"
prompt rate(x: int) -> float:
    "rate {{ x }}"
prompt parts(x: int) -> list[int]:
    "parts {{ x }}"
score judged(x: int) -> higher:
    r = Generate() bad(x)
    r
score broken(x: int) -> higher:
    log(x - x)
"""


def _says_nothing(rng: Random, x: int) -> str:
    return "nothing to say"


PARTLY: dict[str, Any] = {
    "good": lambda rng, x: str(x),
    "bad": _says_nothing,
    "rate": lambda rng, x: "NaN",
    "parts": lambda rng, x: "[1, 2, 3, 4]",
}


def go(body: str, **options: Any) -> Result | RunError:
    lines = "\n".join("    " + line for line in body.strip().splitlines())
    text = f"{HEAD}\nscheme again(x: int, n: int) -> int:\n    if n > 0:\n        again(x, n - 1)\n"
    text += f"    else:\n        Generate() bad(x)\nscheme main(x: int) -> many any:\n{lines}\n"
    model = Delayed(SimulatedModel(PARTLY), Random(0))
    found = try_in_order(text, {"x": 1}, model, truth=[3], **options)
    assert model.under_way == 0
    return found


FATAL = {
    "a step": "Generate(k=3) bad(x)",
    "in foreach": (
        "foreach y in [1, 2, 3]:\n"
        "    if y == 2:\n"
        "        Generate() bad(y)\n"
        "    else:\n"
        "        Generate() good(y)"
    ),
    "in foreach over an answer": (
        "Generate() parts(x)\nforeach y in it:\n    Generate() bad(y)\n    Score() y\n    KeepBestN(1)"
    ),
    "in reduce": (
        "foreach y in [1, 2, 3, 4, 5]:\n    Generate() good(y)\nreduce a, b:\n    Aggregate() bad(a + b)"
    ),
    "before reduce": (
        "foreach y in [1, 2, 3, 4, 5]:\n"
        "    if y == 3:\n"
        "        Generate() bad(y)\n"
        "    else:\n"
        "        Generate() good(y)\n"
        "reduce a, b:\n"
        "    Aggregate() good(a + b)"
    ),
    "before reduce over an answer": (
        "parted = Generate() parts(x)\n"
        "foreach y in parted:\n"
        "    Generate() bad(y)\n"
        "reduce a, b:\n"
        "    Aggregate() good(a + b)"
    ),
    "in repeat": "Generate() good(x)\nrepeat 3:\n    Generate() bad(it)",
    "in repeat until": (
        "Generate() good(x)\n"
        "repeat 5 as i until it > 3:\n"
        "    if i == 1:\n"
        "        Generate() bad(it)\n"
        "    else:\n"
        "        Generate() good(it)"
    ),
    "until itself": "Generate() good(x)\nrepeat 5 until log(it - it) > 0:\n    Generate() good(it)",
    "how often": "Generate() good(x)\nrepeat it - 5:\n    Generate() good(it)",
    "a condition": "Generate() good(x)\nif 1 / (it - 1) > 0:\n    Generate() good(it)",
    "in a score's body": "Generate(k=2) good(x)\nScore(k=2) judged(it)\nKeepBestN(1)",
    "a score that is NaN": "Generate() good(x)\nScore() rate(it)\nKeepBestN(1)",
    "a local score": "Generate() good(x)\nScore() broken(it)\nKeepBestN(1)",
    "in a recursion": "again(x, 30)",
    "validation": "Generate() good(x)\nValidate() it > 7\nKeepValid()",
    "nothing selected": "Generate() good(x)\nSelect() it > 7",
    "nothing to merge": (
        "Generate() good(x)\nreduce a, b in [y for y in [x] if y > 90]:\n    Aggregate() good(a + b)"
    ),
    "every member": "a = Generate() bad(x)\nb = Generate() bad(x + 1)\nPool() a, b",
    "a member": "a = Generate() bad(x)\nb = Generate() good(x)\nPool() a, b",
    "the last of several": "b = Generate() good(x)\nGenerate() bad(x)\nPool() b, it",
    "a member made of it": "a = Generate() bad(x)\nb = Generate() good(x)\nPool() a + b, b",
    "a member without a value": "b = Generate() good(x)\nPool() b, 1 / (b - 1)",
    "a member behind others": (
        "a =\n    Generate() bad(x)\n    Score() it\n    KeepBestN(1)\nb = Generate() good(x)\nPool() a, b"
    ),
    "in a block laid out later": (
        "a = Generate() bad(x)\n"
        "b = Generate() good(x)\n"
        "Generate() parts(x)\n"
        "foreach y in it:\n"
        "    Pool() a, b\n"
        "    Vote()"
    ),
    "no element": "Generate() good(x)\nforeach y in [z for z in [1, 2] if z > it + 5]:\n    Pool() y",
    "no round": ("n = Generate() good(x)\nfound = repeat n - 1:\n    Generate() good(x)\nPool() found"),
    "no position": "Generate() parts(x)\nSelect([at for at in it if at > 9])",
    "a member's use": "a = Generate() bad(x)\nb = Generate() good(x)\nPool() a + b, a\nVote()",
    "a name in a later block": (
        "a = Generate() bad(x)\nGenerate() parts(x)\nforeach y in it:\n    Pool() y + a"
    ),
}


WRITTEN = {
    "in reduce": "Aggregate bad",
    "until itself": "repeat",
    "how often": "repeat",
    "a condition": "if",
    "a score that is NaN": "Score rate",
    "a local score": "Score broken",
    "validation": "KeepValid",
    "nothing selected": "Select",
    "nothing to merge": "reduce",
    "a member without a value": "Pool",
    "no element": "foreach y",
    "no round": "repeat",
    "no position": "Select",
}


@pytest.mark.parametrize("place", FATAL)
@pytest.mark.parametrize("limit", [None, 1])
def test_a_failure_ends_the_run_and_says_where(place: str, limit: int | None) -> None:
    found = go(FATAL[place], concurrency=limit)
    assert isinstance(found, RunError), found
    check_error(found)
    # As the program names it, and no otherwise.
    assert re.match(rf"{WRITTEN.get(place, 'Generate bad')}( in [a-z]\w*\[\d+\])*: ", found.message)
    assert "%" not in found.message
    assert found.span is not None


ABSORBED = {
    "some thoughts of several": ("Pool() 1, 2\nMap() 6 / (it - x)", [6.0]),
    "some scores": ("Pool() 1, 2, 3\nScore() 1 / (it - x - 1)\nKeepBestN(3)", [3, 1]),
    "some conditions": ("Pool() 1, 2, 3\nSelect() 1 / (it - x - 1) > 0", [3]),
}


@pytest.mark.parametrize("place", ABSORBED)
@pytest.mark.parametrize("limit", [None, 1])
def test_a_failure_among_several_is_left_out(place: str, limit: int | None) -> None:
    body, expected = ABSORBED[place]
    found = go(body, concurrency=limit)
    assert isinstance(found, Result), found
    assert found.value == expected
    assert found.outcome.failures


def test_measuring_ends_no_run() -> None:
    found = go("Generate() good(x)\nGroundTruth() 1 / (it - 1) == 1")
    assert isinstance(found, Result) and found.value == [1]
    assert found.ground_truth is None
    assert [f.reason for f in found.outcome.failures] == ["division by zero"]


def test_nothing_new_is_asked_once_the_result_is_lost() -> None:
    body = (
        "foreach y in range(40):\n"
        "    if y == 0:\n"
        "        Generate() bad(y)\n"
        "    else:\n"
        "        Generate() good(y)"
    )
    asked: list[int] = []

    class Counting(Delayed):
        async def ask(self, request: Request, n: int, first: int = 0, permit: Permit = PERMITTED) -> Reply:
            asked.append(self.under_way)
            return await super().ask(request, n, first, permit)

    model = Counting(SimulatedModel(PARTLY), Random(1))
    lines = "\n".join("    " + line for line in body.splitlines())
    cache = MemoryCache()
    found = try_in_order(
        f"{HEAD}\nscheme main(x: int) -> many any:\n{lines}\n", {"x": 1}, model, concurrency=4, cache=cache
    )
    assert isinstance(found, RunError)
    assert len(asked) < 40
    # What was under way was finished, and kept.
    assert sum(entry.samples for entry in cache.entries()) == len(asked)
