"""Garbage collection during and after runs."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from gotlang.api import Options, compile
from gotlang.gc_tuning import RELAXED, relaxed_gc

SEEN: list[tuple[int, int, int]] = []


@pytest.fixture(autouse=True)
def usual() -> Iterator[None]:
    """The thresholds that Python starts with, whatever the test makes of them."""
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


def look(x: int) -> int:
    SEEN.append(gc.get_threshold())
    return x


def test_it_is_seldom_during_a_run_and_as_before_afterwards() -> None:
    SEEN.clear()
    program = compile("scheme s(x: int) -> int:\n    Map() look(x)\n", "s.got", functions=["look -> int"])
    for fails in (False, True):
        options = Options(model="simulated", functions={"look": 7 if fails else look}, cache=None)
        if fails:
            with pytest.raises(Exception, match="look"):
                program.run(x=1, options=options)
        else:
            assert program.run(x=1, options=options).value == 1
        assert gc.get_threshold() == (700, 10, 10)
    assert SEEN == [RELAXED]


def test_runs_side_by_side_give_back_what_was_before_the_first() -> None:
    first, second = relaxed_gc(), relaxed_gc()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert gc.get_threshold() == RELAXED
    second.__exit__(None, None, None)
    assert gc.get_threshold() == (700, 10, 10)


@pytest.mark.parametrize("own", [(0, 10, 10), (200_000, 50, 100)])
def test_what_somebody_chose_stays(own: tuple[int, int, int]) -> None:
    gc.set_threshold(*own)
    with relaxed_gc():
        assert gc.get_threshold() == own
    assert gc.get_threshold() == own


class Link:
    """An object of a cycle."""

    def __init__(self) -> None:
        self.itself = self


def test_all_is_looked_at_less_often_while_that_frees_nothing() -> None:
    seen = []
    gc.collect()  # what other tests have left
    with relaxed_gc():
        for _ in range(2):
            gc.collect()
            seen.append(gc.get_threshold()[1])
        gc.disable()
        garbage = [Link() for _ in range(700_000)]
        gc.enable()
        del garbage
        gc.collect()
        assert gc.get_threshold() == RELAXED, "it freed much"
    assert seen == [4 * RELAXED[1], 16 * RELAXED[1]]
