"""Simulators of the prompts of keywords.got: they count countries as gpt-3.5-turbo does, with mistakes.

A simulator miscounts some of the countries it finds, the more the longer the text is and the more often a
country comes up in it, and adds counts up nearly without mistakes. Only the constants at the top set
how often: fitted, not published, so that the schemes come out in the order of Figure 7 of "Graph
of Thoughts" (Besta et al., 2024): counting sentence by sentence beats counting passages, which beats
counting the whole text. Above temperature 1 there are more mistakes, below it answers differ less; the model
`small` makes more of them. A text of more than three sentences in which none of the countries is named that
`countries.py` knows is not simulated.
"""

from __future__ import annotations

import json
import random
import re
from itertools import pairwise

from countries import mentions

from gotlang.models.simulated import NotSimulated, typical

MODELS = {"small": {"input_per_million": 0.05, "output_per_million": 0.15, "per_token_s": 0.003}}
WORSE = {"small": 2.5}
"""The mistakes of a model for each of the model that the chances below are fitted to; made up."""

MISCOUNTED = 0.02
"""The chance that one mention is overlooked or counted twice in a text of ten mentions."""
GROWTH = 1.9
"""The power by which that chance grows with the number of mentions."""
MOST = 0.45
"""It never grows beyond this."""
TWICE = 0.3
"""The share of those mistakes that count a mention twice."""
STUBBORN = 0.92
"""The share of mistakes that come back whenever the same text is counted."""
STEPS = 0.75
"""What is left of the mistakes where the text is counted in four passages in one answer."""
SEEN = 0.03
"""The share of wrong counts that checking an attempt puts right."""
SPOILED = 0.4
"""New mistakes of such a check, as a share of those of counting afresh."""
ADDING = 0.012
"""The chance that one name goes wrong when two objects are added up."""


def count_countries(
    rng: random.Random, text: str, model: str = "simulated", temperature: float | None = None
) -> str:
    """The countries of a text, in one go."""
    rng, factor = _mind(rng, model, temperature, _known(text))
    return json.dumps(_counted(rng, text, factor))


def count_in_steps(
    rng: random.Random, text: str, model: str = "simulated", temperature: float | None = None
) -> str:
    """The same in four passages and a sum."""
    rng, factor = _mind(rng, model, temperature, _known(text))
    total = json.dumps(_counted(rng, text, STEPS * factor))
    return f"I count passage by passage and add up.\nTotal: {total}"


def count_sentence(
    rng: random.Random, sentence: str, model: str = "simulated", temperature: float | None = None
) -> str:
    """The countries of one sentence."""
    rng, factor = _mind(rng, model, temperature, sentence)
    return json.dumps(_counted(rng, sentence, factor))


def recount(
    rng: random.Random,
    text: str,
    attempt: dict[str, int],
    model: str = "simulated",
    temperature: float | None = None,
) -> str:
    """An attempt with some counts put right and some spoiled."""
    rng, factor = _mind(rng, model, temperature, _known(text), attempt)
    right = mentions(text)
    answer = dict(attempt)
    for name in {**right, **attempt}:
        if answer.get(name, 0) != right.get(name, 0) and rng.random() < SEEN:
            answer[name] = right.get(name, 0)
    chance = _chance(sum(right.values())) * SPOILED * factor
    for name in list(answer):
        if rng.random() < chance:
            answer[name] += rng.choice((-1, 1))
    return "```json\n" + json.dumps({k: answer[k] for k in sorted(answer) if answer[k] > 0}) + "\n```"


def split_text(rng: random.Random, text: str, parts: int) -> str:
    """Passages of about the same length, cut between sentences."""
    sentences = _sentences(_known(text))
    bounds = [len(sentences) * i // parts for i in range(parts + 1)]
    passages = [" ".join(sentences[a:b]) for a, b in pairwise(bounds)]
    return json.dumps({f"Passage {i + 1}": p for i, p in enumerate(passages) if p}, ensure_ascii=False)


def split_sentences(rng: random.Random, text: str) -> str:
    """The sentences of a text."""
    return json.dumps(
        {f"Sentence {i + 1}": s for i, s in enumerate(_sentences(_known(text)))}, ensure_ascii=False
    )


def merge(
    rng: random.Random,
    left: dict[str, int],
    right: dict[str, int],
    model: str = "simulated",
    temperature: float | None = None,
) -> str:
    """Two objects added up."""
    rng, factor = _mind(rng, model, temperature, left, right)
    return json.dumps(_added(rng, left, right, ADDING * factor))


def repair(
    rng: random.Random,
    left: dict[str, int],
    right: dict[str, int],
    attempt: dict[str, int],
    model: str = "simulated",
    temperature: float | None = None,
) -> str:
    """The same again."""
    rng, factor = _mind(rng, model, temperature, left, right, attempt)
    return "Combined:\n" + json.dumps(_added(rng, left, right, ADDING * factor))


def _mind(
    rng: random.Random, model: str, temperature: float | None, *asked: object
) -> tuple[random.Random, float]:
    """What an answer is drawn with, and how many mistakes are made for each at temperature 1."""
    heat = 1.0 if temperature is None else max(1.0, temperature)
    return typical(rng, temperature, model, asked), WORSE.get(model, 1.0) * heat**2


def _known(text: str) -> str:
    """The text. Raises NotSimulated for more than three sentences that name no known country."""
    if len(_sentences(text)) > 3 and not mentions(text):
        raise NotSimulated(f"only texts that name countries are, as it knows them, not {text!r:.80}")
    return text


def _sentences(text: str) -> list[str]:
    return [s for s in re.split(r"(?<=[.!?])\s+", text.strip()) if s]


def _chance(total: int) -> float:
    return float(min(MOST, MISCOUNTED * (total / 10) ** GROWTH))


def _counted(rng: random.Random, text: str, factor: float) -> dict[str, int]:
    right = mentions(text)
    chance = _chance(sum(right.values())) * factor
    habit = random.Random(text)
    answer: dict[str, int] = {}
    for name, count in right.items():
        for _ in range(count):
            stubborn = habit.random() < chance * STUBBORN
            twice = habit.random() < TWICE
            careless = rng.random() < chance * (1 - STUBBORN)
            change = 0 if not (stubborn or careless) else 1 if twice else -1
            answer[name] = answer.get(name, 0) + 1 + change
    return {name: count for name, count in answer.items() if count > 0}


def _added(rng: random.Random, left: dict[str, int], right: dict[str, int], chance: float) -> dict[str, int]:
    answer = {}
    for name in left | right:
        wrong = rng.random() < chance
        answer[name] = (
            (left.get(name, right.get(name, 0))) if wrong else left.get(name, 0) + right.get(name, 0)
        )
    return answer
