"""The compiler's work is linear in the size of programs: counted in lines of Python, not in seconds."""

from __future__ import annotations

from collections.abc import Callable
from math import log
from typing import Any

import pytest
from support.lines import lines_run

from gotlang.compiler import Compiled, compile_source
from gotlang.span import Source
from gotlang.syntax.parse import parse

HEAD = 'prompt p(x: int) -> int:\n    "{{ x }}"\nscore d(x: int) -> lower, best 0:\n    x\n'
SAMPLED = "Generate(k=2) p(it)\n{0}Score() d(it)\n{0}KeepBestN(1)\n"


def _scheme(*lines: str) -> str:
    return HEAD + "scheme s(x: int) -> int:\n    Pool() x\n" + "".join(lines)


PROGRAMS: dict[str, Callable[[int], str]] = {
    "steps": lambda n: _scheme(*["    " + SAMPLED.format("    ")] * n),
    "bindings": lambda n: _scheme(
        "    y0 = Pool() x\n",
        *[f"    y{i + 1} = Map() y{i} + x\n" for i in range(n)],
        f"    Pool() y{n}\n",
    ),
    "conditions": lambda n: _scheme(
        *[f"    if it > {i}:\n        Generate() p(it + {i})\n" for i in range(n)]
    ),
    "blocks": lambda n: _scheme(*[f"    step {i}:\n        " + SAMPLED.format("        ") for i in range(n)]),
    "labels": lambda n: _scheme(
        "    step 0:\n        Generate() p(it)\n",
        *[f"    step {i + 1} from step {i} as a:\n        Generate() p(a)\n" for i in range(n)],
    ),
    "declarations": lambda n: (
        HEAD
        + "".join(
            f"param k{i} = 2 in 1..4\nscheme s{i}(x: int, k: int) -> int:\n    Generate(k=k) p(x)\n"
            f"    Vote()\n    if k > 1:\n        Map() it\nscheme t{i}(x: int) -> int:\n    s{i}(x, k{i})\n"
            for i in range(n)
        )
    ),
    "calls": lambda n: (
        HEAD
        + "scheme s0(x: int) -> int:\n    Generate() p(x)\n"
        + "".join(f"scheme s{i + 1}(x: int) -> int:\n    s{i}(x + 1)\n" for i in range(n))
    ),
    "tests": lambda n: _scheme(*[f'test "{i}": s({i}) > 0\n' for i in range(n)]),
    "foreach": lambda n: _scheme(
        *["    foreach y:\n        " + SAMPLED.format("        ") for _ in range(n)], "    Vote()\n"
    ),
}


def work(text: str) -> dict[str, int]:
    # Under other names: declarations that were read before are not read again.
    first, second = (Source.of(f"{name}{len(text)}.got", text) for name in ("parsed", "checked"))
    found: list[Any] = []
    parsed = lines_run(lambda: parse(first))
    checked = lines_run(lambda: found.append(compile_source(second)))
    assert isinstance(found[0], Compiled)
    return {
        "parse": parsed,
        "check": checked - parsed,
        "build": lines_run(lambda: found[0].program(0)),
        "optimize": lines_run(lambda: found[0].program(2)),
    }


@pytest.mark.parametrize("kind", PROGRAMS)
def test_work_is_linear(kind: str) -> None:
    work(PROGRAMS[kind](2))  # what is made once
    few, many = work(PROGRAMS[kind](25)), work(PROGRAMS[kind](100))
    for stage, lines in many.items():
        assert log(lines / few[stage]) / log(4) < 1.1, stage
    assert many["check"] < 4 * many["parse"]
