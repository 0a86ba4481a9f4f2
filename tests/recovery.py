"""Breaks one line of a correct program, puts an error elsewhere, and expects one diagnostic for each.

    python -m tests.recovery --runs 2000

`tests/test_recovery.py` runs a few of the same.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from random import Random

from gotlang.compiler import compile_source
from gotlang.diagnostics import Diagnostic, render
from gotlang.span import Source
from tests.fuzz import ROOT
from tests.support.laws import command

_STEP = re.compile(r"^( +(?:\w+ = )?)(?!Repeat\b)[A-Z]\w*(?=\(.*\) )")
_SHOWN = re.compile(r"\{\{ \w+(?= )")
_SYNTAX = re.compile("GOT00")


class Lost(AssertionError):
    """What was broken hides a mistake, or makes others up."""


@cache
def programs() -> list[str]:
    """Every right program of the project: its files but those of tests, and those of the pages."""
    folders = "programs", "studies", "benchmarks", "gotlang"
    texts = [path.read_text() for folder in folders for path in sorted((ROOT / folder).rglob("*.got"))]
    for page in sorted((ROOT / "docs").rglob("*.md")):
        texts += re.findall(r"^```got\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    return [text for text in dict.fromkeys(texts) if not errors(text)[0]]


def _read(name: str) -> str:
    """What a program imports, from its folder."""
    folders = (ROOT / "programs" / folder for folder in ("", "listings", "evidence"))
    return next((path for folder in folders if (path := folder / name).exists()), ROOT / name).read_text()


def errors(text: str) -> tuple[list[Diagnostic], Source]:
    """The errors of a text, and its source."""
    source = Source.of("broken.got", text)
    found = compile_source(source, _read).diagnostics
    return [problem for problem in found if problem.severity == "error"], source


def broken(rng: Random, line: str) -> str:
    """A line without a character, without its colon, or with a word twice."""
    kind, margin = rng.randrange(3), len(line) - len(line.lstrip())
    if kind == 0 and line.rstrip().endswith(":"):
        return line.rstrip()[:-1]
    if kind == 1 and (words := list(re.finditer(r"\w+", line))):
        word = rng.choice(words)
        return line[: word.end()] + " " + line[word.start() :]
    at = rng.randrange(margin, len(line))
    return line[:at] + line[at + 1 :]


def mistaken(rng: Random, lines: list[str], but: int) -> tuple[int, str] | None:
    """A mistake in another line, and which one: an operation or a name of a template that there is not. It is
    not in the text that the broken line starts: without its quotes that is lost."""
    found, quotes, ends = [], '"""', but
    if lines[but].count(quotes) == 1 and "\n".join(lines[:but]).count(quotes) % 2 == 0:
        ends = next((at for at in range(but + 1, len(lines)) if quotes in lines[at]), len(lines))
    for at, line in enumerate(lines):
        if not but - 1 <= at <= ends + 1 and "#" not in line:
            for pattern, wrong in ((_STEP, r"\1Fetch"), (_SHOWN, "{{ nowhere")):
                if pattern.search(line):
                    found.append((at, pattern.sub(wrong, line, count=1)))
    return rng.choice(found) if found else None


def hold(rng: Random, text: str) -> str:
    """Break a program in one line and look at what is said; returns what became of it. Raises Lost."""
    lines = text.split("\n")
    at = rng.choice([i for i, line in enumerate(lines) if line.strip() and line.strip()[0] != "#"])
    mistake = mistaken(rng, lines, at)
    if mistake is None:
        return "nothing to be wrong in"
    other, wrong = mistake
    alone, source = errors("\n".join([*lines[:other], wrong, *lines[other + 1 :]]))
    if [source.position(problem.span.start)[0] - 1 for problem in alone] != [other]:
        return "more than a mistake"
    lines[other] = wrong
    lines[at] = broken(rng, lines[at])
    found, source = errors("\n".join(lines))
    on = [source.position(problem.span.start)[0] - 1 for problem in found]
    syntax = any(_SYNTAX.match(problem.code) for problem in found)
    if other not in on and (syntax or on == []):
        raise Lost(_told("the other mistake is not found", at, other, found, source))
    if syntax and len(found) > 2:
        raise Lost(_told(f"{len(found)} errors", at, other, found, source))
    return f"{len(found)} errors" if syntax else "not of syntax"


def _told(what: str, at: int, other: int, found: list[Diagnostic], source: Source) -> str:
    shown = "\n".join(render(problem, {source.name: source}) for problem in found)
    return f"{what}: line {at + 1} is broken, line {other + 1} wrong\n{shown}\n\n{source.text}"


def tried(seed: str) -> list[str]:
    """One line of one program broken, both chosen by a seed."""
    rng = Random(seed)
    return [hold(rng, rng.choice(programs()))]


if __name__ == "__main__":
    sys.exit(command(__doc__, tried, runs=2000))
