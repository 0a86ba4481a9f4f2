"""Tests budgets: a run never exceeds a proven bound, and a run with an unproven budget does not start.

Each generated program gets the smallest budget that can be proven (calls and hops by the check where they do
not depend on inputs, otherwise and in dollars at the start of a run), and runs in three ways. With any limit
a little lower the check, or the start of the run, refuses it and nothing is sent.

    python -m tests.budgets --runs 5000

It says every 100 programs how many were tried; `--first` goes on from there. `tests/test_budgets.py` runs a
few.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections import Counter
from dataclasses import dataclass
from random import Random
from typing import Any

from msgspec.structs import replace

from gotlang.api import Options, Program, compile
from gotlang.errors import CompileError, RunError, UsageError
from gotlang.estimate.proof import unproven
from gotlang.models.base import ModelOptions
from gotlang.models.simulated import SimulatedModel
from gotlang.runtime.sampler.events import Asked, Event
from gotlang.runtime.sizes import Sizes
from tests.support.laws import command
from tests.support.newer_programs import newer_program

FEATURES = {
    name: re.compile(pattern, re.MULTILINE)
    for name, pattern in {
        "search": r"^ *(search |TreeSearch)",
        "first": r"^ *first|^ *Cascade",
        "at once": r", at once:|CascadeAtOnce",
        "race": r"^ *race",
        "hedge": r"hedge=",
        "tools": r" seek\(",
        "recursion": r"^ *down\(",
        "mutual recursion": r"^ *p[io]ng\(",
        "own operations": r"^ *Again\(",
        "own budgets": r"^ *capped\(",
        "repeat": r"^ *repeat ",
        "std": r"^ *(SelfConsistency|BestOf|WeightedVote|FilteredVote|RankedVote|ValidVote|SelfRefine|Cascade"
        r"|TreeSearch|self_consistency|debate|mixture_of_agents|beam|climb)",
    }.items()
}
"""How to tell that a scheme has some of what was added to the language, for the count."""
HEAD = re.compile(r"^scheme main\(.*:$", re.MULTILINE)
WAYS = ((1, "cost"), (2, "cost"), (2, "latency"))
UNITS = ("calls", "hops", "usd")
MOST = 3000
"""Calls beyond which a program is left out, for the sake of time."""


class Exceeded(AssertionError):
    """A run that cost more than was proven, or a budget that was proven one way and not the other."""


@dataclass
class Sent:
    """Counts requests."""

    count: int = 0

    def __call__(self, event: Event) -> None:
        """Note an event."""
        self.count += isinstance(event, Asked)


def proven(program: Program, model: SimulatedModel, inputs: dict[str, Any] | None) -> dict[str, float]:
    """The smallest numbers that can be proven, by unit; those without a bound are left out."""
    found: dict[str, float] = {}
    for level in (0, 1, 2):
        counter = None if inputs is None else Sizes(model, ModelOptions(), lambda _: model)
        ir = program.ir(level)
        nothing = replace(ir.scheme("main"), limits=tuple((unit, -1.0) for unit in UNITS))
        for one in unproven(ir, nothing, counter=counter, inputs=inputs):
            found[one.unit] = max(found.get(one.unit, 0), math.inf if one.most is None else one.most)
    return {unit: number for unit, number in found.items() if number < math.inf}


def main_of(text: str) -> str:
    """The lines of the main scheme."""
    return text.partition("\nscheme main(")[2].partition("\nmetric ")[0]


def limited(text: str, limits: dict[str, float]) -> str:
    """A program whose main scheme has these limits."""
    parts = [f"{json.dumps(n if unit == 'usd' else int(n))} {unit}" for unit, n in limits.items()]
    return HEAD.sub(
        lambda head: f"{head[0][:-1]} within {', '.join(parts)}:" if parts else head[0], text, count=1
    )


def hold(seed: str) -> Counter[str]:
    """Try one program. Raises Exceeded; returns what was proven of it."""
    made = newer_program(seed)
    model = SimulatedModel(made.simulators())
    try:
        program = compile(made.text, "law.got")
    except CompileError:
        return Counter(["refused by the check"])  # the soundness law looks at these
    if HEAD.search(made.text) is None:
        return Counter(["without a scheme"])
    always = proven(program, model, None)
    always.pop("usd", None)
    now = proven(program, model, made.inputs)
    if not now or now.get("calls", 0) > MOST:
        return Counter(["without a bound"])
    for unit in always:
        if now.get(unit, math.inf) > always[unit]:
            raise Exceeded(f"{now[unit]} {unit} for these inputs, {always[unit]} for any\n{made.text}")
    limits = {unit: number for unit, number in {**now, **always}.items() if unit in always or unit == "usd"}
    text = limited(made.text, limits)
    try:
        checked = compile(text, "law.got")
    except CompileError as error:
        raise Exceeded(f"{error}\n{text}") from error
    counts = Counter(
        [*limits, *(f"with {name}" for name, word in FEATURES.items() if word.search(main_of(made.text)))]
    )
    for level, prefer in WAYS:
        options = Options(model=model, cache=None, level=level, prefer=prefer)
        try:
            outcome = checked.run(made.inputs, scheme="main", options=options).outcome
        except RunError as error:
            if error.outcome is None:
                continue
            outcome, counts["failed runs"] = error.outcome, counts["failed runs"] + 1
        account = outcome.ledger.spent
        spent = {"calls": account.calls, "hops": outcome.hops, "usd": account.usd or 0.0}
        for unit, limit in {**now, **limits}.items():
            if spent[unit] > limit + 1e-12:
                raise Exceeded(f"{spent[unit]} {unit}, proven were {limit} ({level}, {prefer})\n{text}")
        counts["runs"] += 1
        if "calls" in now and account.calls == now["calls"]:
            counts["runs that made all calls that were proven"] += 1
        counts["calls made"] += account.calls
        counts["calls proven"] += int(now.get("calls", 0))
    return counts + refused(made.text, limits, made.inputs, model, seed)


def refused(
    text: str, limits: dict[str, float], inputs: dict[str, Any], model: SimulatedModel, seed: str
) -> Counter[str]:
    """A limit that is a little lower is refused, and nothing is sent."""
    lower = [unit for unit, number in limits.items() if number > 0]
    if not lower:
        return Counter()
    unit = Random(seed).choice(lower)
    less = {**limits, unit: limits[unit] * 0.99 if unit == "usd" else limits[unit] - 1}
    sent = Sent()
    try:
        checked = compile(limited(text, less), "law.got")
        options = Options(model=model, cache=None, observe=sent, level=0)
        checked.run(inputs, scheme="main", options=options)
    except (CompileError, UsageError):
        if sent.count:
            raise Exceeded(f"{sent.count} requests were sent before the budget was refused\n{text}") from None
        return Counter([f"refused {unit}"])
    except RunError:
        pass
    raise Exceeded(f"{less[unit]} {unit} passes, and {limits[unit]} is the least that is proven\n{text}")


if __name__ == "__main__":
    sys.exit(command(__doc__, hold, runs=5000))
