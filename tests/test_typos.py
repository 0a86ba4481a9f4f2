"""A misspelt keyword is never another program: every single slip is an error on its line."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.laws import times

from gotlang.compiler import compile_source
from gotlang.span import Source
from gotlang.syntax.grammar import parser

ROOT = Path(__file__).parents[1]
PROGRAMS = sorted((ROOT / "programs").glob("**/*.got"))
KEYWORDS = {
    terminal.pattern.value
    for terminal in parser().terminals
    if terminal.pattern.type == "str" and terminal.pattern.value.isalpha()
} | {"lower", "higher", "minimize", "maximize"}
OTHER = {"else": {"elif"}, "elif": {"else"}}
WORDS = re.compile(r'"""(?:[^"\\]|\\[\s\S]|"(?!""))*"""|"(?:[^"\\\n]|\\[^\n])*"|#[^\n]*|(?<![.\w])[a-z]+\b')


def slips(word: str) -> Iterator[str]:
    """A word with two letters swapped, one dropped, doubled, or another in its place."""
    for at, letter in enumerate(word):
        yield word[:at] + word[at + 1 :]
        yield word[:at] + letter + word[at:]
        yield word[:at] + ("x" if letter != "x" else "q") + word[at + 1 :]
        yield word[:at] + word[at : at + 2][::-1] + word[at + 2 :]


def places(text: str) -> Iterator[tuple[int, str]]:
    for found in WORDS.finditer(text):
        if found[0] in KEYWORDS:
            before, after = text[: found.start()], text[found.end() :]
            named = re.match(r"\s*[=:.(\[]", after) and found[0] not in ("else", "try", "not", "in", "if")
            if not named and not before.endswith(("{", "@")):
                yield found.start(), found[0]


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_slip_in_a_keyword_is_an_error_on_its_line(path: Path) -> None:
    text, chance = path.read_text(), random.Random(path.name)

    def read(name: str) -> str:
        return (path.parent / Path(name).relative_to(".")).read_text()

    tried = [(at, word, w) for at, word in places(text) for w in sorted(set(slips(word)) - {word, ""})]
    for at, word, wrong in chance.sample(tried, min(times(8), len(tried))):
        mutated = text[:at] + wrong + text[at + len(word) :]
        line = text.count("\n", 0, at)
        source = Source.of(path.name, mutated)
        found = [d for d in compile_source(source, read).diagnostics if d.severity == "error"]
        lines = {source.position(d.span.start)[0] - 1 for d in found if d.span.source == path.name}
        assert line in lines, (path.name, line + 1, word, wrong, [d.message for d in found][:3])
