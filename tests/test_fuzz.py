"""A small share of `python -m tests.fuzz`, and the sizes and shapes it meets too rarely.

LAWS=1 python -m pytest tests/test_fuzz.py     # of a megabyte; in CI a tenth
"""

from __future__ import annotations

import threading
import tracemalloc
from random import Random

import pytest

from gotlang.span import Source
from gotlang.syntax.nodes import Module
from gotlang.syntax.parse import parse
from tests.fuzz import ROOT, hold, programs
from tests.support.laws import NEW
from tests.support.mutations import NESTS, mutated
from tests.support.timing import within

SORT128 = (ROOT / "programs" / "sort128.got").read_text()


@pytest.mark.parametrize("share", range(6))
def test_broken_programs_give_diagnostics(share: int) -> None:
    texts = programs()
    for number in range(30):
        random = Random(f"test/{share}/{number}")
        hold(mutated(random, random.choice(texts), texts))


def test_a_program_cut_at_any_character() -> None:
    for end in range(0, len(SORT128), 61):
        hold(SORT128[:end])


@pytest.mark.parametrize(
    "part", ["a", "(", "[1, ", "x + ", "not ", '"', '"""', "# ", " ", "\\", "é", "f(x) "]
)
def test_a_line_of_a_megabyte_or_its_share(part: str) -> None:
    line = part * ((1_000_000 if NEW else 100_000) // len(part))
    for text in (
        line,
        f"scheme s() -> int:\n    x = {line}\n",
        f'prompt p() -> int:\n    """\n    {line}\n    """\n',
    ):
        hold(text)


@pytest.mark.parametrize(("opening", "closing"), NESTS)
def test_nesting_has_a_limit(opening: str, closing: str) -> None:
    def deep(count: int) -> str:
        return f"scheme s() -> int:\n    x = {opening * count}1{closing * count}\n"

    assert "GOT0005" not in hold(deep(90))
    assert "GOT0005" in hold(deep(2000))


def test_blocks_have_a_limit_too() -> None:
    def deep(count: int) -> str:
        lines = [f"{' ' * depth}if x:" for depth in range(1, count)]
        return "\n".join(["scheme s() -> int:", *lines, " " * count + "x"])

    assert "GOT0005" not in hold(deep(90))
    assert "GOT0005" in hold(deep(1500))


def test_long_programs_in_time_and_in_linear_memory() -> None:
    def peak(lines: int) -> int:
        source = Source.of("long.got", SORT128 * (lines // SORT128.count("\n")))
        # 10,000 lines take less than 2 s; the bound leaves room for slow machines.
        _, problems = within(2, lambda: parse(source))
        assert problems == ()
        tracemalloc.start()
        kept = parse(source)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        del kept
        return most

    assert peak(2_500) < 6 * peak(500)


def test_threads_parse_side_by_side() -> None:
    wanted, _ = parse(Source.of("a.got", SORT128))
    found: list[Module] = []

    def work() -> None:
        for _ in range(5):
            found.append(parse(Source.of("a.got", SORT128))[0])

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 40
    assert all(module == wanted for module in found)
