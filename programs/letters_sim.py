"""Simulators of the prompts of decomposed_prompting.got: they ask the next question, take names and lists
apart, and read pages, with mistakes: a question too few, a wrong reference, an element left out, the more
often the longer a word or a list is. Only the constants at the top set how often.
"""

from __future__ import annotations

import json
import random
import re
from typing import Any

from towns import ASK, facts, parse

from gotlang.models.simulated import NotSimulated

ASTRAY = 0.03
"""The chance that a step has a wrong reference, or is left out."""
LEFT_OUT = 0.002
"""The chance that an element is left out of a list or a word, for each element of it."""
TANGLED = 0.02
"""The chance that two neighbours change places when a list is reversed at once, for each element of it."""
MISREAD = 0.03
"""The chance that a page is misread."""
EXAMPLE = 'Join the last letters of the words in "Ada King" with a space.'
SHORT = 3
"""The longest list that is reversed at once."""


def next_step(rng: random.Random, kind: str, problem: str, turns: list[dict[str, Any]]) -> str:
    """The next question of a problem, sometimes with a wrong reference; sometimes it ends too early."""
    steps = [*_PLANS[kind](problem), ("end", False, "")]
    at = min(len(turns), len(steps) - 1)
    if 0 < at < len(steps) - 1 and rng.random() < ASTRAY:
        at += 1
    handler, each, question = steps[at]
    if rng.random() < ASTRAY:
        question = re.sub(r"<\d+>", lambda _: f"<{rng.randint(1, max(1, len(turns)))}>", question)
    return json.dumps({"handler": handler, "each": each, "question": question})


Plan = list[tuple[str, bool, str]]


def _letters(problem: str) -> Plan:
    form = r'Join the (last letter|letters? at position \d+)s? of the words in "(.+)" with a space\.'
    found = re.fullmatch(form, problem)
    if found is None:
        raise NotSimulated(f"{problem!r:.80} is not like {EXAMPLE!r}")
    which = found[1].replace("letters", "letter")
    return [
        ("split", False, f'Which words are in "{found[2]}"?'),
        ("letter", True, f'What is the {which} of "<1>"?'),
        ("merge", False, "Join with a space: <2>"),
    ]


def _letter(problem: str) -> Plan:
    found = re.fullmatch(r'What is the (?:(last) letter|letter at (position \d+)) of "(.*)"\?', problem)
    if found is None:
        raise NotSimulated(f"no letter of a word is asked for by {problem!r:.80}")
    where = "the last position" if found[1] else found[2]
    return [
        ("split", False, f'Which letters, with their positions, are in "{found[3]}"?'),
        ("pick", False, f"What is at {where} of: <1>"),
    ]


def _reverse(problem: str) -> Plan:
    if not problem.startswith("Reverse: "):
        raise NotSimulated(f"only lists are reversed, as in 'Reverse: pen, cup, key', not {problem!r:.80}")
    items = problem.removeprefix("Reverse: ")
    if items.count(",") < SHORT:
        return [("short", False, problem)]
    return [
        ("half", False, f"What is the first half of: {items}"),
        ("half", False, f"What is the second half of: {items}"),
        ("reverse", False, "Reverse: <1>"),
        ("reverse", False, "Reverse: <2>"),
        ("merge", False, "Put one after the other: <4>, <3>"),
    ]


def _hops(problem: str) -> Plan:
    parsed = parse(problem)
    if parsed is None or parsed[1] == ["older"]:
        raise NotSimulated(f"only questions about one of the towns of towns.csv are, not {problem!r:.80}")
    (entity,), chain = parsed
    names = [entity, *(f"<{number}>" for number in range(1, len(chain)))]
    return [("retrieve", False, ASK[hop][0].format(e=name)) for hop, name in zip(chain, names, strict=True)]


_PLANS = {"letters": _letters, "letter": _letter, "reverse": _reverse, "hops": _hops}


def split(rng: random.Random, question: str) -> str:
    """The words of a name, or the letters of a word with their positions."""
    quoted = re.search(r'"(.*)"', question)
    text = quoted[1] if quoted else ""
    if "letters" not in question:
        return json.dumps(_some(rng, text.split()))
    return json.dumps([f"{number} {one}" for number, one in enumerate(_some(rng, list(text)), 1)])


def pick(rng: random.Random, question: str) -> str:
    """What is at a position."""
    at = re.search(r"at (?:position (\d+)|the last position) of: (.*)", question)
    items = _items(at[2]) if at else []
    position = int(at[1]) if at and at[1] else len(items)
    return json.dumps([items[position - 1].split()[-1]] if 0 < position <= len(items) else ["?"])


def merge(rng: random.Random, question: str) -> str:
    """What is listed, in one text or one list."""
    what, _, listed = question.partition(": ")
    items = _some(rng, _items(listed))
    return json.dumps([" ".join(items)] if "space" in what else items)


def half(rng: random.Random, question: str) -> str:
    """The first or the second half of a list."""
    items = _items(question.partition(": ")[2])
    middle = len(items) // 2
    return json.dumps(_some(rng, items[:middle] if "first" in question else items[middle:]))


def short(rng: random.Random, question: str) -> str:
    """A list reversed at once."""
    items = _some(rng, _items(question.partition(": ")[2]))[::-1]
    for at in range(len(items) - 1):
        if rng.random() < TANGLED * len(items) / SHORT:
            items[at : at + 2] = items[at : at + 2][::-1]
    return json.dumps(items)


def read_pages(rng: random.Random, question: str, texts: list[str]) -> str:
    """What the page of what is asked about says."""
    parsed = parse(question)
    if parsed is None:
        raise NotSimulated(f"only questions about the towns of towns.csv are, not {question!r:.80}")
    entity, relation = parsed[0][0], parsed[1][-1]
    values = sorted({value for (known, _), value in facts().items() if known == relation})
    right = facts().get((relation, entity)) if any(one.startswith(f"{entity}:") for one in texts) else None
    return json.dumps([right if right is not None and rng.random() >= MISREAD else rng.choice(values)])


def _items(listed: str) -> list[str]:
    return [one.strip() for one in listed.split(",") if one.strip()]


def _some(rng: random.Random, items: list[str]) -> list[str]:
    kept = [one for one in items if rng.random() >= LEFT_OUT * len(items)]
    return kept or items[:1]
