"""A share of `python -m tests.recovery`, and that a long declaration is read again only so often.

LAWS=2000 python -m pytest tests/test_recovery.py     # so many new ones in each share
"""

from __future__ import annotations

import time
from random import Random

import pytest

from gotlang.compiler import compile_source
from gotlang.span import Source
from gotlang.syntax.parse import parse
from tests.recovery import hold, programs
from tests.support.laws import NEW, times
from tests.support.timing import within


@pytest.mark.parametrize("share", range(2))
def test_a_broken_line_costs_one_error_and_hides_no_other(share: int) -> None:
    results = []
    for number in range(times(25)):
        rng = Random(f"{time.time() if NEW else 'test'}/{share}/{number}")
        results.append(hold(rng, rng.choice(programs())))
    assert results.count("2 errors") > 5


def test_all_kinds_of_errors_come_in_one_report() -> None:
    text = (
        'prompt p(q: strng) -> int:\n    "{{ q }} {% if %}"\n\n'
        "scheme s(q: str) -> int\n    Genrate() p(q)\n    x = = 3\n    Map() lenn(it)\n"
    )
    found = compile_source(Source.of("a.got", text)).diagnostics
    assert [problem.code for problem in found] == [
        "GOT0104",
        "GOT0403",
        "GOT0001",
        "GOT0106",
        "GOT0001",
        "GOT0103",
    ]


def test_many_broken_lines_are_found_in_time() -> None:
    lines = "    Generate() p(q)\n" * 300 + "    x = = 3\n"
    text = 'prompt p(q: str) -> str:\n    "{{ q }}"\n' + "scheme s(q: str) -> str:\n" + lines * 20
    _, problems = within(5, lambda: parse(Source.of("a.got", text)))
    assert len(problems) >= 2
