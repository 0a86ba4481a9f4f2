"""Damages one line of a correct program as typing does, and checks the rest: every other declaration and step
is in the tree, an error elsewhere is reported, and none that only follows.

    python -m tests.cuts --runs 2000

`tests/test_cuts.py` runs a few of the same.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
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
    | n.Example | n.ParseForm | n.Setting
)  # fmt: skip
_GARBAGE = (
    "%%",
    "= =",
    ")",
    "]",
    "}",
    "(",
    "[",
    "{",
    '"',
    "foo bar",
    "->",
    ":",
    ",",
    "=",
    "é",
    ".",
    "12",
    "??",
    "!",
    "@",
)


class Damage(NamedTuple):
    """A program with a damaged line: the offsets of what is new or gone, the lines of the program, from 0,
    that are broken by that (more than one where brackets or quotes were open), and how many were added."""

    text: str
    start: int
    end: int
    first: int
    last: int
    added: int
    kind: str = "cut"

    def moved(self, line: int) -> int:
        """Where a line of the program is in the damaged one."""
        return line + (self.added if line > self.last or (self.added < 0 and line >= self.last) else 0)


def _cut(rng: Random, line: str, margin: int) -> list[str]:
    return [line[: rng.randrange(margin + 1, len(line) + 1)]]


def _deleted(rng: Random, line: str, margin: int) -> list[str]:
    return []


def _garbage(rng: Random, line: str, margin: int) -> list[str]:
    at = rng.randrange(margin, len(line) + 1)
    return [line[:at] + rng.choice(_GARBAGE) + line[at:]]


def _unclosed(rng: Random, line: str, margin: int) -> list[str]:
    signs = [found.start() for found in re.finditer(r'["()\[\]{}]', line)]
    if signs and rng.random() < 0.7:
        at = rng.choice(signs)
        return [line[:at] + line[at + 1 :]]
    at = rng.randrange(margin, len(line) + 1)
    return [line[:at] + rng.choice('([{"') + line[at:]]


def _indented(rng: Random, line: str, margin: int) -> list[str]:
    return [" " * max(0, margin + rng.choice((-8, -4, -3, -2, -1, 1, 2, 4))) + line.strip()]


def _keyword(rng: Random, line: str, margin: int) -> list[str]:
    word = re.match(r"\w*", line[margin:])
    ends = margin + (len(word[0]) if word else 0)
    return [line[: rng.randrange(margin, max(ends, margin + 1))] + line[ends:]]


def _typed(rng: Random, line: str, margin: int) -> list[str]:
    others = [one for one in rng.choice(programs()).split("\n") if one.strip() and one.strip()[0] != "#"]
    if margin:
        others = [one for one in others if one[0] == " "] or others
    new = rng.choice(others).strip()
    new = " " * margin + new[: rng.randrange(1, len(new) + 1)]
    return [new, line] if line.rstrip().endswith(":") or rng.random() < 0.5 else [line, new]


KINDS: dict[str, Callable[[Random, str, int], list[str]]] = {
    "cut": _cut, "deleted": _deleted, "garbage": _garbage, "unclosed": _unclosed, "indented": _indented,
    "keyword": _keyword, "typed": _typed,
}  # fmt: skip


def damage(rng: Random, text: str, kind: str = "cut") -> Damage:
    """A program with a random line damaged."""
    lines = text.split("\n")
    at = rng.choice([i for i, line in enumerate(lines) if line.strip() and line.strip()[0] != "#"])
    new = KINDS[kind](rng, lines[at], len(lines[at]) - len(lines[at].lstrip()))
    made = "\n".join([*lines[:at], *new, *lines[at + 1 :]])
    same = next(
        (i for i, (a, b) in enumerate(zip(text, made, strict=False)) if a != b), min(len(text), len(made))
    )
    start = same if kind != "deleted" else len("\n".join(lines[:at])) + (at > 0)
    first, last = _logical(text, at)
    if kind == "typed" and first == last:
        return Damage(made, start, start, at + (new[0] == lines[at]), at - (new[0] != lines[at]), 1, kind)
    return Damage(made, start, start + max(0, len(text) - len(made)), first, last, len(new) - 1, kind)


def cut(rng: Random, text: str) -> Damage:
    """A program with a random line cut behind its first character."""
    return damage(rng, text)


def _logical(text: str, at: int) -> tuple[int, int]:
    """The first and the last line of the step, head or part that a line belongs to."""
    return max(
        ((first, last) for _, first, last in _placed(text) if first <= at <= last),
        key=lambda place: place[1] - place[0],
        default=(at, at),
    )


@cache
def _placed(text: str) -> list[tuple[e.Node, int, int]]:
    """The declarations and their parts, each with its first and last line, without those inside it."""
    source = Source.of("whole.got", text)
    return [
        (
            node,
            source.position(start)[0] - 1,
            source.position(max(start, len(text[:end].rstrip()) - 1))[0] - 1,
        )
        for node, start, end in _places(parse(source)[0])
    ]


def _places(module: n.Module) -> Iterator[tuple[e.Node, int, int]]:
    """The declarations and their parts, each with the offsets of its own lines without those inside it."""
    for node in walk(module):
        if isinstance(node, n.Declaration | _PARTS):
            inner = [part.span.start for part in walk(node) if isinstance(part, _PARTS) and part is not node]
            simple = isinstance(node, n.Step | n.Evaluate | n.Return | n.Example)
            yield node, node.span.start, node.span.end if simple or not inner else min(inner)
        if isinstance(node, n.Prompt):  # whose they are, another line may say
            for text in (node.system, node.user, *(turn.text for turn in node.turns)):
                if isinstance(text, e.Constant):
                    yield text, text.span.start, text.span.end


def parts(text: str, broken: Damage | None = None) -> Counter[str]:
    """The declarations and parts of a program as texts; only those that are not `broken`, where they are
    then."""
    lines = text.split("\n")
    found: Counter[str] = Counter()
    for node, line, _ in _placed(text):
        if broken is None or not broken.first <= line <= broken.last:
            now = broken.moved(line) if broken is not None else line
            shown = f"{type(node).__name__} in {now + 1}: {lines[line].strip()}"
            if isinstance(node, n.Step | n.Example):
                shown += " " + text[node.span.start : node.span.end]
            found[shown] += 1
    return found


def hold(rng: Random, text: str, kind: str = "cut") -> str:
    """Damage a line of a program, with a mistake in another one, and look at what is left of the tree and is
    said; returns what became of it. Raises Lost."""
    made = damage(rng, text, kind)
    if kind == "deleted" and re.match(r"[^ #\n]", text.split("\n")[made.first]):
        return "a declaration without its head"
    found, source = errors(made.text)
    if missing := parts(text, made) - parts(made.text):
        raise Lost(_told(f"not in the tree: {[*missing]}", made, found, source))
    last = made.last + max(0, made.added)
    on = {source.position(problem.span.start)[0] - 1 for problem in found}
    if not found:
        return "right"
    typed = kind == "typed" and not any(problem.code < "GOT0100" for problem in found)
    if kind == "deleted" or typed or not any(made.first <= line <= last for line in on):
        return "another program"
    if any(not made.first <= line <= last for line in on) or (len(found) > 1 and kind == "cut"):
        raise Lost(_told(f"{len(found)} errors", made, found, source))
    return "one error" if planted(rng, text, made) else "one error, and no place for another"


def planted(rng: Random, text: str, made: Damage) -> bool:
    """Whether a mistake elsewhere could be made; it is reported, or Lost is raised."""
    lines = text.split("\n")
    new = made.text.split("\n")[made.first : made.last + 1 + max(0, made.added)]
    if re.match(r'(?:import|from) +"', lines[made.first]) or any('.got"' in line for line in new):
        return False  # which file is imported is not known, so that any operation may be
    mistake = mistaken(rng, lines, made.first)
    if mistake is None or made.first - 1 <= mistake[0] <= made.last + 1:
        return False
    head = max(line for line in range(mistake[0] + 1) if lines[line][:1].strip())
    alone, source = errors("\n".join([*lines[: mistake[0]], mistake[1], *lines[mistake[0] + 1 :]]))
    on = [source.position(problem.span.start)[0] - 1 for problem in alone]
    if mistake[0] not in on or made.first <= head <= made.last:  # any name in it may be one of its inputs
        return False
    lines, there = made.text.split("\n"), made.moved(mistake[0])
    lines[there] = mistake[1]
    found, source = errors("\n".join(lines))
    if there not in {source.position(problem.span.start)[0] - 1 for problem in found}:
        raise Lost(_told(f"the mistake in line {there + 1} is not found", made, found, source))
    return True


def _told(what: str, made: Damage, found: Sequence[Diagnostic], source: Source) -> str:
    shown = "\n".join(render(problem, {source.name: source}) for problem in found)
    line = made.text.split("\n")[min(made.first, made.text.count("\n"))]
    at = made.text[: made.start].split("\n")[-1]
    return f"{what}: line {made.first + 1} is {made.kind}: {line!r} at {at!r}\n{shown}"


def tried(seed: str) -> list[str]:
    """One line of one program damaged in one way, all chosen by a seed."""
    rng = Random(seed)
    return [hold(rng, rng.choice(programs()), rng.choice([*KINDS]))]


if __name__ == "__main__":
    sys.exit(command(__doc__, tried, runs=2000))
