"""A simulator of `write_query`: it misreads a part of some questions, and is held to no grammar, so that now
and then it writes something around the query.
"""

from __future__ import annotations

import random
import re

from gotlang.models.simulated import NotSimulated

SLIP = 0.25
"""The chance that a part of the question is misread."""
AROUND = 0.1
"""The chance of words around the query, as where no grammar holds the model to it."""
WHAT = {
    "How many rentals were there of": "count",
    "How many dollars came from rentals of": "sum price",
    "How many days was the longest of the rentals of": "max days",
}
_ASKED = re.compile(
    rf"(?P<what>{'|'.join(WHAT)}) (?P<kind>\w+) bicycles(?: in (?P<town>\w+))?"
    r"(?: for (?P<than>more|less) than (?P<days>\d+) days)?\?"
)


def write_query(rng: random.Random, question: str) -> str:
    """The query for a question."""
    asked = _ASKED.fullmatch(question)
    if asked is None:
        raise NotSimulated(f"a question about rentals, not {question!r}")
    conditions = [f"kind = {asked['kind']}"]
    conditions += [f"town = {asked['town']}"] if asked["town"] else []
    conditions += [f"days {'>' if asked['than'] == 'more' else '<'} {asked['days']}"] if asked["than"] else []
    what = WHAT[asked["what"]]
    if rng.random() < SLIP:
        if rng.random() < 0.5:
            what = rng.choice([other for other in WHAT.values() if other != what])
        else:
            conditions.remove(rng.choice(conditions))
    query = what + (f" where {' and '.join(conditions)}" if conditions else "")
    return f"The query is: {query}" if rng.random() < AROUND else query
