"""Little stories about numbers: `story` makes one, `read` takes it apart again.

"Mia has 12 shells. She finds 5 more. She gives a third of them away. How many shells does Mia have?" Each
sentence between the first and the last changes how many there are. The simulators of several programs work
on them, so that what they write can be right or wrong.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from functools import cache
from typing import final

from gotlang.models.simulated import NotSimulated

NAMES = ("Mia", "Noor", "Lena", "Aiko", "Rosa", "Tara", "Wanda", "Inge")
THINGS = ("shells", "stamps", "marbles", "buttons", "cards", "coins", "stickers", "beads")
EXAMPLE = "Mia has 12 shells. She finds 5 more. How many shells does Mia have?"
_FORMS = (
    ("She finds {n} more.", "+"),
    ("Her aunt gives her {n} more.", "+"),
    ("She loses {n} of them.", "-"),
    ("She gives {n} of them to a friend.", "-"),
    ("She trades them so that she has {n} times as many.", "*"),
    ("She keeps one part in {n} and gives the rest away.", "/"),
)
_READ = tuple((re.compile(re.escape(form).replace(r"\{n\}", r"(\d+)")), sign) for form, sign in _FORMS)


@final
@dataclass(frozen=True, slots=True)
class Change:
    """One sentence: `sign` and `number` are what it does to how many there are."""

    sentence: str
    sign: str
    number: int

    def apply(self, before: int) -> int:
        """How many there are after it."""
        match self.sign:
            case "+":
                return before + self.number
            case "-":
                return before - self.number
            case "*":
                return before * self.number
            case _:
                return before // self.number

    def written(self, before: int, after: int) -> str:
        """The calculation, as a solution writes it."""
        return f"{before} {self.sign} {self.number} = {after}"


def story(chance: random.Random, length: int) -> tuple[str, int]:
    """A story with so many changes, and its answer. Whatever happens, the number stays whole and positive."""
    name, thing = chance.choice(NAMES), chance.choice(THINGS)
    now = chance.randint(6, 40)
    sentences = [f"{name} has {now} {thing}."]
    while len(sentences) <= length:
        form, sign = chance.choice(_FORMS)
        parts = [n for n in range(2, 6) if now % n == 0]
        if sign == "+":
            number = chance.randint(2, 30)
        elif sign == "-" and now > 3:
            number = chance.randint(1, now - 2)
        elif sign == "*" and now < 60:
            number = chance.randint(2, 3)
        elif sign == "/" and parts and now > 8:
            number = chance.choice(parts)
        else:
            continue
        now = Change("", sign, number).apply(now)
        sentences.append(form.format(n=number))
    sentences.append(f"How many {thing} does {name} have?")
    return " ".join(sentences), now


@final
@dataclass(frozen=True, slots=True)
class Story:
    """What a story says: how many there are at first, what happens, and the sentence that asks."""

    start: int
    changes: tuple[Change, ...]
    question: str


@cache
def read(text: str) -> Story:
    """A story, sentence by sentence. Raises NotSimulated for any other text."""
    sentences = re.split(r"(?<=[.?])\s+", text.strip())
    first = re.fullmatch(r"\w+ has (\d+) \w+\.", sentences[0])
    found = [_change(sentence) for sentence in sentences[1:-1]]
    if not first or None in found or not re.fullmatch(r"How many \w+ does \w+ have\?", sentences[-1]):
        raise NotSimulated(f"{text!r} is no story such as {EXAMPLE!r}")
    return Story(int(first[1]), tuple(change for change in found if change), sentences[-1])


def _change(sentence: str) -> Change | None:
    for pattern, sign in _READ:
        if match := pattern.fullmatch(sentence):
            return Change(sentence, sign, int(match[1]))
    return None
