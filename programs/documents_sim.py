"""Simulators of the prompts of documents.got: they merge agreements line by line, and rate what came out.

A simulator takes each line for one thing that an agreement says. Merging loses some of them and says others
twice; rating looks at both, with some noise. Only the constants at the top set how often:
fitted, not published, so that the schemes come out in the order of Figure 8 of "Graph of Thoughts" (Besta
et al., 2024), and the graph about as well as Table 3 of "Framework of Thoughts" (2026) says, 8.4 of 10. Above
temperature 1 more is lost and repeated, below it answers differ less; the model `small` loses and repeats
more. A document of a single line is no agreement, and not simulated.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from math import prod

from gotlang.models.base import Message
from gotlang.models.simulated import NotSimulated, typical

MODELS = {"small": {"input_per_million": 0.05, "output_per_million": 0.15, "per_token_s": 0.003}}
WORSE = {"small": 1.5}
"""The mistakes of a model for each of the model that the shares below are fitted to; made up."""

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
ADVICE = {"check your answer": 0.1, "leave nothing out": 0.6, "plain words": 1.5}
"""What is left of the lines lost by improving, where the prompt says so too: made up, so that a study of its
text can be tried in a dry run. Other words do nothing."""
HIGHEST = 0.9
"""The share of the points that a draft without a flaw gets."""
NOISE = 0.5
"""The standard deviation of a rating, in points of ten."""


HALF = 0.02
"""How often one of the two ratings is left out."""


def merge(
    rng: random.Random, documents: list[str], model: str = "simulated", temperature: float | None = None
) -> str:
    """One agreement of several."""
    rng, factor = _mind(rng, model, temperature, _agreements(documents))
    return _draft(_merged(rng, documents, factor))


def merge_in_steps(
    rng: random.Random, documents: list[str], model: str = "simulated", temperature: float | None = None
) -> str:
    """The same with a list first: a little better, more tokens."""
    rng, factor = _mind(rng, model, temperature, _agreements(documents))
    lines = _merged(rng, documents, STEPS * factor)
    return "New in each:\n" + "\n".join(f"- {line}" for line in lines) + "\n" + _draft(lines)


def combine(
    rng: random.Random,
    documents: list[str],
    drafts: list[str],
    model: str = "simulated",
    temperature: float | None = None,
) -> str:
    """What any of the drafts holds, once, but for a few lines."""
    rng, factor = _mind(rng, model, temperature, _agreements(documents), drafts)
    known = dict.fromkeys(line for draft in drafts for line in _lines(draft))
    return _draft([line for line in known if rng.random() > SPOILED * factor])


def combine_parts(
    rng: random.Random, drafts: list[str], model: str = "simulated", temperature: float | None = None
) -> str:
    """The same without the agreements that the drafts are of."""
    return combine(rng, [], drafts, model, temperature)


def improve(
    rng: random.Random,
    documents: list[str],
    draft: str,
    model: str = "simulated",
    temperature: float | None = None,
    messages: Sequence[Message] = (),
) -> str:
    """A draft with some lines brought back and some repetitions struck out."""
    rng, factor = _mind(rng, model, temperature, _agreements(documents), draft)
    said = " ".join(message.content for message in messages).casefold()
    spoiled = SPOILED * factor * prod(share for words, share in ADVICE.items() if words in said)
    lines: list[str] = []
    for line in _lines(draft):
        if rng.random() < spoiled or (line in lines and rng.random() < MENDED):
            continue
        lines.append(line)
    lines += [line for line in _wanted(documents) if line not in lines and rng.random() < MENDED]
    return _draft(lines)


def rate(
    rng: random.Random,
    documents: list[str],
    draft: str,
    model: str = "simulated",
    temperature: float | None = None,
) -> str:
    """Both ratings: 10 for nothing twice and 10 for nothing lost, with noise."""
    # At temperature 0 all samples are one without help.
    rng, factor = _mind(rng, model, temperature or None, _agreements(documents), draft)
    lines, wanted = _lines(draft), _wanted(documents)
    repeated = len(lines) - len(set(lines))
    redundancy = 10 * (1 - 2 * repeated / len(lines)) if lines else 0.0
    retention = 10 * len(set(lines) & set(wanted)) / len(wanted) if wanted else 0.0
    noisy = [
        min(10.0, max(0.0, HIGHEST * value + rng.gauss(0, NOISE * factor)))
        for value in (redundancy, retention)
    ]
    tags = [f"<Redundancy>{noisy[0]:.0f}</Redundancy>", f"<Retained>{noisy[1]:.0f}</Retained>"]
    if rng.random() < HALF:
        del tags[rng.randrange(2)]
    return "\n".join(["It reads well.", *tags])


def _mind(
    rng: random.Random, model: str, temperature: float | None, *asked: object
) -> tuple[random.Random, float]:
    """What an answer is drawn with, and how many mistakes are made for each at temperature 1."""
    heat = 1.0 if temperature is None else max(1.0, temperature)
    return typical(rng, temperature, model, asked), WORSE.get(model, 1.0) * heat**2


def _agreements(documents: list[str]) -> list[str]:
    if (other := next((one for one in documents if len(_lines(one)) < 2), None)) is not None:
        raise NotSimulated(f"only agreements of several lines are, not {other!r:.80}")
    return documents


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
