"""A model that finds the things of a question, looks each up and calculates. It knows the results only from
the text protocol's messages. At times it takes the first of several things whose names are alike, or
calculates wrongly.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from random import Random
from typing import Any

from gotlang.models.simulated import NotSimulated

SLIP = 0.05
"""The chance of a wrong calculation."""
HASTY = 0.2
"""The chance that the first thing found is taken, whatever its name."""
FORMS = (
    r"What do (?P<wanted>\d+) (?P<one>[a-z ]+)s cost\?",
    r"How many more (?P<one>[a-z ]+)s than (?P<other>[a-z ]+)s are in stock\?",
    r"How many (?P<one>[a-z ]+)s are in stock\?",
)


def _results(message: str, tool: str) -> list[Any]:
    return [json.loads(found) for found in re.findall(rf"^Result of {tool}: (.*)$", message, re.MULTILINE)]


def _chosen(thing: str, alike: Sequence[dict[str, str]], hasty: bool) -> str:
    exact = [one["code"] for one in alike if one["thing"] == thing and not hasty]
    return [*exact, *(one["code"] for one in alike), "none"][0]


def answer(rng: Random, question: str, messages: Sequence[Any]) -> str:
    """One turn: what to find, what to look up, or the answer."""
    asked = next((found for form in FORMS if (found := re.fullmatch(form, question))), None)
    if asked is None:
        raise NotSimulated(f"a question about the stock, not {question!r}")
    parts = asked.groupdict()
    things = [parts[name] for name in ("one", "other") if parts.get(name)]
    last = messages[-1].content
    if looked := _results(last, "look_up"):
        said = [found["price" if "wanted" in parts else "count"] for found in looked]
        number = said[0] * int(parts.get("wanted") or 1) - sum(said[1:])
        return f"Answer: {number + (rng.choice((-10, 10)) if rng.random() < SLIP else 0)}"
    if found := _results(last, "find_things"):
        pairs = zip(things, found, strict=True)
        codes = [_chosen(thing, alike, rng.random() < HASTY) for thing, alike in pairs]
        return "\n".join(f'Call: look_up {{"code": "{code}"}}' for code in codes)
    if "Result of" in last:
        return "Answer: 0"
    return "I look for them.\n" + "\n".join(f'Call: find_things {{"words": "{thing}"}}' for thing in things)
