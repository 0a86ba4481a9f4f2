"""Simulators of the prompts of documents.got: they merge agreements line by line, and rate what came out.

A simulator takes each line for one thing that an agreement says. Merging loses some of them and says others
twice; rating looks at both, with some noise. Only the constants at the top set how often:
fitted, not published, so that the schemes come out in the order of Figure 8 of "Graph of Thoughts" (Besta
et al., 2024), and the graph about as well as Table 3 of "Framework of Thoughts" (2026) says, 8.4 of 10.
"""

from __future__ import annotations

import random

LOST = 0.36
"""The share of lines that merging loses."""
TWICE = 0.18
"""The share of lines that merging says twice."""
STEPS = 0.85
"""What is left of both where the lines are listed first."""
MENDED = 0.12
"""The share of lost lines that improving a draft brings back, and of repeated ones that it strikes out."""
SPOILED = 0.16
"""The share of lines that improving a draft loses."""
HIGHEST = 0.9
"""The share of the points that a draft without a flaw gets."""
NOISE = 0.5
"""The standard deviation of a rating, in points of ten."""


HALF = 0.02
"""How often one of the two ratings is left out."""


def merge(rng: random.Random, documents: list[str]) -> str:
    """One agreement of several."""
    return _draft(_merged(rng, documents, 1.0))


def merge_in_steps(rng: random.Random, documents: list[str]) -> str:
    """The same with a list first: a little better, more tokens."""
    lines = _merged(rng, documents, STEPS)
    return "New in each:\n" + "\n".join(f"- {line}" for line in lines) + "\n" + _draft(lines)


def combine(rng: random.Random, documents: list[str], drafts: list[str]) -> str:
    """What any of the drafts holds, once, but for a few lines."""
    known = dict.fromkeys(line for draft in drafts for line in _lines(draft))
    return _draft([line for line in known if rng.random() > SPOILED])


def combine_parts(rng: random.Random, drafts: list[str]) -> str:
    """The same without the agreements that the drafts are of."""
    return combine(rng, [], drafts)


def improve(rng: random.Random, documents: list[str], draft: str) -> str:
    """A draft with some lines brought back and some repetitions struck out."""
    lines: list[str] = []
    for line in _lines(draft):
        if rng.random() < SPOILED or (line in lines and rng.random() < MENDED):
            continue
        lines.append(line)
    lines += [line for line in _wanted(documents) if line not in lines and rng.random() < MENDED]
    return _draft(lines)


def rate(rng: random.Random, documents: list[str], draft: str) -> str:
    """Both ratings: 10 for nothing twice and 10 for nothing lost, with noise."""
    lines, wanted = _lines(draft), _wanted(documents)
    repeated = len(lines) - len(set(lines))
    redundancy = 10 * (1 - 2 * repeated / len(lines)) if lines else 0.0
    retention = 10 * len(set(lines) & set(wanted)) / len(wanted) if wanted else 0.0
    noisy = [min(10.0, max(0.0, HIGHEST * value + rng.gauss(0, NOISE))) for value in (redundancy, retention)]
    tags = [f"<Redundancy>{noisy[0]:.0f}</Redundancy>", f"<Retained>{noisy[1]:.0f}</Retained>"]
    if rng.random() < HALF:
        del tags[rng.randrange(2)]
    return "\n".join(["It reads well.", *tags])


def _lines(document: str) -> list[str]:
    return [line.strip() for line in document.splitlines() if line.strip()]


def _wanted(documents: list[str]) -> list[str]:
    return list(dict.fromkeys(line for document in documents for line in _lines(document)))


def _merged(rng: random.Random, documents: list[str], factor: float) -> list[str]:
    lines = []
    for line in _wanted(documents):
        if rng.random() >= LOST * factor:
            lines.extend([line] * (2 if rng.random() < TWICE * factor else 1))
    return lines


def _draft(lines: list[str]) -> str:
    return "<Merged>\n" + "\n".join(lines) + "\n</Merged>"
