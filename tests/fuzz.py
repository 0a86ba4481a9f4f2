"""Breaks programs and holds the front end to its word: soon diagnostics with a place, never an exception.

What `gotc check` does is done to each; what parses is printed and read again; what compiles becomes IR.

    python -m tests.fuzz --runs 20000

`tests/test_fuzz.py` runs a few of the same.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from pathlib import Path
from random import Random

from gotlang.codes import CODES
from gotlang.compiler import compile_source
from gotlang.diagnostics import render
from gotlang.span import Source
from gotlang.syntax.format import format_module
from gotlang.syntax.parse import parse
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


def main() -> None:
    """Run from the command line; a text that fails is written to `--keep`."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=20_000)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--keep", type=Path, default=Path("fuzz-failure.got"))
    chosen = options.parse_args()
    texts = programs()
    codes: Counter[str] = Counter()
    began = time.perf_counter()
    for number in range(chosen.runs):
        random = Random(f"{chosen.seed}/{number}")
        text = mutated(random, random.choice(texts), texts)
        try:
            found = hold(text)
        except BaseException:
            chosen.keep.write_text(text, errors="surrogatepass")
            print(f"run {number} failed; its text is in {chosen.keep}")
            raise
        codes.update(set(found) or {"none"})
    print(f"{chosen.runs} runs in {time.perf_counter() - began:.0f} s, none over {MOST_SECONDS} s to check")
    print(", ".join(f"{code}: {count}" for code, count in codes.most_common()))


if __name__ == "__main__":
    main()
