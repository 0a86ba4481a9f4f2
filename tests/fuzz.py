"""Fuzzes the front end: broken programs yield diagnostics with a place, quickly, and never an exception.

What `gotc check` does is done to each; what parses is printed and read again; what compiles becomes IR.

    python -m tests.fuzz --runs 20000

`tests/test_fuzz.py` runs a few of the same.
"""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random

from gotlang.codes import CODES
from gotlang.compiler import compile_source
from gotlang.diagnostics import render
from gotlang.span import Source
from gotlang.syntax.format import format_module
from gotlang.syntax.parse import parse
from tests.support.laws import command
from tests.support.mutations import mutated
from tests.support.timing import within

ROOT = Path(__file__).parents[1]
MOST_SECONDS = 2.0


def programs() -> list[str]:
    """The text of every program of the project."""
    return [path.read_text() for path in sorted((ROOT / "programs").rglob("*.got"))]


def hold(text: str) -> tuple[str, ...]:
    """Check a text and what comes back; the codes of its mistakes. Raises AssertionError."""
    source = Source.of("fuzz.got", text)
    compilation = within(MOST_SECONDS, lambda: compile_source(source, read))
    for problem in compilation.diagnostics:
        span = problem.span
        assert problem.code in CODES
        assert 0 <= span.start < span.end <= len(compilation.sources[span.source].text), problem
        assert problem.code in render(problem, compilation.sources)
    if compilation.ok:
        compilation.program()
    module, problems = parse(source)
    if not problems:
        written = Source.of("fuzz.got", format_module(module, source))
        again, problems = parse(written)
        assert problems == ()
        assert again == module
        assert len(again.comments) == len(module.comments)
        assert Source.of("fuzz.got", format_module(again, written)) == written
    return tuple(problem.code for problem in compilation.diagnostics)


def read(name: str) -> str:
    """What a program imports, from the folder of the programs."""
    return (ROOT / "programs" / name).read_text()


def tried(seed: str) -> set[str]:
    """One program with mutations by a seed. Raises AssertionError with its text."""
    random, texts = Random(seed), programs()
    text = mutated(random, random.choice(texts), texts)
    try:
        return set(hold(text)) or {"none"}
    except Exception as error:
        raise AssertionError(f"{text!r} fails") from error


if __name__ == "__main__":
    sys.exit(command(__doc__, tried, runs=20_000))
