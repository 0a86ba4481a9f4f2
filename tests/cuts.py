"""Cuts one line of a right program at a random place, as while it is typed, and asks for all the rest: every
other declaration and step is in the tree, an error elsewhere is reported, and none that only follows.

    python -m tests.cuts --runs 2000

`tests/test_cuts.py` runs a few of the same.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from gotlang.diagnostics import Diagnostic, render
from gotlang.span import Source
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.syntax.parse import parse
from gotlang.syntax.walk import walk
from tests.recovery import Lost, errors, mistaken, programs
from tests.support.laws import command

_PARTS = (
    n.Step | n.Evaluate | n.Bind | n.Return | n.Skip | n.Block | n.MatchBranch
    | n.Turn | n.Example | n.ParseForm | n.Setting
)  # fmt: skip


class Cut(NamedTuple):
    """A program of which a line ends early: the offsets of what is gone, and the lines, from 0, of what is
    broken by that (more than one where brackets or quotes were open)."""

    text: str
    start: int
    end: int
    first: int
    last: int


def cut(rng: Random, text: str) -> Cut:
    """A program with a random line cut behind its first character."""
    lines = text.split("\n")
    at = rng.choice([i for i, line in enumerate(lines) if line.strip() and line.strip()[0] != "#"])
    margin = len(lines[at]) - len(lines[at].lstrip())
    keep = rng.randrange(margin + 1, len(lines[at]) + 1)
    start = len("\n".join(lines[:at])) + (at > 0) + keep
    end = start - keep + len(lines[at])
    first, last = _logical(text, at)
    return Cut(text[:start] + text[end:], start, end, first, last)


def _logical(text: str, at: int) -> tuple[int, int]:
    """The first and the last line of the step, head or part that a line belongs to."""
    source = Source.of("whole.got", text)
    module, _ = parse(source)
    found = at, at
    for _, start, end in _places(module):
        first, last = (source.position(offset)[0] - 1 for offset in (start, max(start, end - 1)))
        if first <= at <= last and last - first > found[1] - found[0]:
            found = first, last
    return found


def _places(module: n.Module) -> Iterator[tuple[e.Node, int, int]]:
    """The declarations and their parts, each with the offsets of its own lines without those inside it."""
    for node in walk(module):
        if isinstance(node, n.Declaration | _PARTS):
            inner = [part.span.start for part in walk(node) if isinstance(part, _PARTS) and part is not node]
            simple = isinstance(node, n.Step | n.Evaluate | n.Return | n.Turn | n.Example)
            yield node, node.span.start, node.span.end if simple or not inner else min(inner)


def parts(text: str, broken: Cut | None = None) -> Counter[str]:
    """The declarations and parts of a program as texts; only those that are not `broken`."""
    source = Source.of("whole.got", text)
    module, _ = parse(source)
    found: Counter[str] = Counter()
    for node, start, _ in _places(module):
        line = source.position(start)[0]
        if broken is None or not broken.first <= line - 1 <= broken.last:
            text = type(node).__name__
            text += f" in {line}: {source.line(line).strip()}"
            if isinstance(node, n.Step | n.Turn | n.Example):
                text += " " + source.text[node.span.start : node.span.end]
            found[text] += 1
    return found


def hold(rng: Random, text: str) -> str:
    """Cut a line of a program, with a mistake in another one, and look at what is left of the tree and is
    said; returns what became of it. Raises Lost."""
    made = cut(rng, text)
    if missing := parts(text, made) - parts(made.text):
        found, source = errors(made.text)
        raise Lost(_told(f"not in the tree: {[*missing]}", made, found, source))
    found, source = errors(made.text)
    on = {source.position(problem.span.start)[0] - 1 for problem in found}
    if not found:
        return "right"
    if not any(made.first <= line <= made.last for line in on):
        return "another program"
    if len(found) > 1:
        raise Lost(_told(f"{len(found)} errors", made, found, source))
    return "one error" if planted(rng, text, made) else "one error, and no place for another"


def planted(rng: Random, text: str, made: Cut) -> bool:
    """Whether a mistake elsewhere could be made; it is reported, or Lost is raised."""
    lines = made.text.split("\n")
    mistake = mistaken(rng, lines, made.first)
    if mistake is None or made.first - 1 <= mistake[0] <= made.last + 1:
        return False
    head = max(line for line in range(mistake[0] + 1) if lines[line][:1].strip())
    alone, source = errors(
        "\n".join([*text.split("\n")[: mistake[0]], mistake[1], *text.split("\n")[mistake[0] + 1 :]])
    )
    on = [source.position(problem.span.start)[0] - 1 for problem in alone]
    if mistake[0] not in on or head == made.first:  # any name in it may be one of its inputs
        return False
    lines[mistake[0]] = mistake[1]
    found, source = errors("\n".join(lines))
    if mistake[0] not in {source.position(problem.span.start)[0] - 1 for problem in found}:
        raise Lost(_told(f"the mistake in line {mistake[0] + 1} is not found", made, found, source))
    return True


def _told(what: str, made: Cut, found: list[Diagnostic], source: Source) -> str:
    shown = "\n".join(render(problem, {source.name: source}) for problem in found)
    return f"{what}: line {made.first + 1} is cut: {made.text[: made.start].splitlines()[-1]!r}\n{shown}"


def tried(seed: str) -> list[str]:
    """One line of one program cut, both chosen by a seed."""
    rng = Random(seed)
    return [hold(rng, rng.choice(programs()))]


if __name__ == "__main__":
    sys.exit(command(__doc__, tried, runs=2000))
