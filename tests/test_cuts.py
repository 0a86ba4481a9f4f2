"""A share of `python -m tests.cuts`.

LAWS=2000 python -m pytest tests/test_cuts.py     # so many new ones in each share
"""

from __future__ import annotations

import time
from collections import Counter
from random import Random

import pytest

from tests.cuts import hold
from tests.recovery import Lost, programs
from tests.support.laws import NEW, times

RARE = 0.05
"""The share of the cuts that may lose more, or add an error: inside the texts and lists of examples over many
lines, and in the head of a `search` that is."""


@pytest.mark.parametrize("share", range(4))
def test_a_cut_line_takes_nothing_else_with_it(share: int) -> None:
    results: Counter[str] = Counter()
    lost: list[str] = []
    for number in range(times(40)):
        rng = Random(f"{time.time() if NEW else 'cuts'}/{share}/{number}")
        try:
            results[hold(rng, rng.choice(programs()))] += 1
        except Lost as error:
            lost.append(str(error))
    assert results["one error"] > 12
    assert len(lost) <= RARE * times(40), "\n\n".join(lost)
