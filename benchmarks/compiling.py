"""Seconds that each stage of the compiler takes for a scheme of 1,000 to 10,000 chained steps.

    python benchmarks/compiling.py [--steps 1000 3000 10000] [--rounds 3]

Every fourth step is a binding, the others are `Generate`, `Score` and `KeepBestN`, so that early stopping
applies. Processor time within one process; the table has the minimum of the rounds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from measurement import options, report

from gotlang.compiler import compile_source
from gotlang.span import Source
from gotlang.syntax.parse import parse

HEAD = """prompt p(x: int) -> int:
    "{{ x }}"
score d(x: int) -> lower, best 0:
    x
scheme s(x: int) -> int:
    Pool() x
"""
STEPS = ["Generate(k=2) p(it)", "Score() d(it)", "KeepBestN(1)"]
COLUMNS = {"steps": "{:,}", "parse": "{:.2f} s", "check": "{:.2f} s", "build": "{:.2f} s", "-O2": "{:.2f} s"}


def program(steps: int) -> str:
    """A scheme of so many steps, each of which starts from what the one before it leaves."""
    lines = (STEPS[i % 4] if i % 4 < 3 else f"y{i} = Map() it + 1" for i in range(steps))
    return HEAD + "".join(f"    {line}\n" for line in lines) + "    Vote()\n"


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.process_time()
    result = work()
    return time.process_time() - began, result


def stages(source: Source) -> tuple[float, ...]:
    """Seconds to parse, to check, to build the IR and to optimize it."""
    parsed, _ = timed(lambda: parse(source))
    checked, compilation = timed(lambda: compile_source(source))
    compiled = compilation.compiled()
    built, _ = timed(lambda: compiled.program(0))
    optimized, _ = timed(lambda: compiled.program(2))
    return parsed, checked - parsed, built, optimized


def rows(sizes: list[int], rounds: int) -> Iterator[tuple[float, ...]]:
    stages(Source.of("first.got", program(10)))
    for size in sizes:
        source = Source.of("chain.got", program(size))
        yield size, *map(min, zip(*(stages(source) for _ in range(rounds)), strict=True))


if __name__ == "__main__":
    parser = options(__doc__, rounds=3, quick=1)
    parser.add_argument("--steps", type=int, nargs="+", default=[1000, 3000, 10000])
    given = parser.parse_args()
    report(given, COLUMNS, rows(given.steps, given.rounds))
