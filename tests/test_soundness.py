"""Programs that pass the check fail only by data, and errors are reported at their place."""

from __future__ import annotations

import pytest

from tests.soundness import hold
from tests.support.laws import NEW, times


@pytest.mark.parametrize("part", range(4))
def test_generated_programs_and_their_edits(part: int) -> None:
    first = 1_000_000 if NEW else 0
    for number in range(first + part, first + times(48), 4):
        hold(str(number))
