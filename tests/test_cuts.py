"""A share of `python -m tests.cuts`.

LAWS=2000 python -m pytest tests/test_cuts.py     # so many new ones of each kind
"""

from __future__ import annotations

import time
from collections import Counter
from random import Random

import pytest

from tests.cuts import KINDS, hold
from tests.recovery import Lost, programs
from tests.support.laws import NEW, times

RARE = {"deleted": 0.02, "unclosed": 0.02}
"""The share of the damages of a kind that may lose more, or add an error, where it is not 1%: at the quotes
of texts over several lines, and in templates, of which only the first mistake is found. None here does."""


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_line_takes_nothing_else_with_it(kind: str) -> None:
    results: Counter[str] = Counter()
    lost: list[str] = []
    runs = times(30 if kind == "cut" else 12)
    for number in range(runs):
        rng = Random(f"{time.time() if NEW else 'cuts'}/{kind}/{number}")
        try:
            results[hold(rng, rng.choice(programs()), kind)] += 1
        except Lost as error:
            lost.append(str(error))
    assert results["one error"] > runs / 8 or kind == "deleted"
    assert len(lost) <= RARE.get(kind, 0.01) * runs, "\n\n".join(lost)
