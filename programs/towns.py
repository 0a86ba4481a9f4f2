"""A small made-up country to ask questions about: facts, pages that tell them, and questions of several hops.

The simulators of several programs answer such questions, so that what they write can be right or wrong.
`answer` knows everything; `parse` takes a question apart into its hops.
"""

from __future__ import annotations

import random
import re
from functools import cache

ASK = {
    "singer": ("Who is the singer of {e}?", "the singer of {e}"),
    "born": ("In which town was {e} born?", "the town where {e} was born"),
    "formed": ("In which town was {e} formed?", "the town where {e} was formed"),
    "founded": ("In which year was {e} founded?", "the year in which {e} was founded"),
    "river": ("Which river runs through {e}?", "the river that runs through {e}"),
    "mayor": ("Who is the mayor of {e}?", "the mayor of {e}"),
    "source": ("On which mountain does {e} rise?", "the mountain where {e} rises"),
}
"""How each relation is asked for, and how it is named inside another question."""
OLDER = "Which was founded first, {a} or {b}?"
CHAINS = (
    ("singer", "born"),
    ("formed", "founded"),
    ("mayor", "born"),
    ("singer", "born", "river"),
    ("formed", "mayor", "born"),
    ("singer", "born", "founded"),
    ("formed", "river", "source"),
    ("singer", "born", "river", "source"),
)
_FIRST = (
    "Ar",
    "Bel",
    "Cor",
    "Dun",
    "Esk",
    "Fal",
    "Gor",
    "Hal",
    "Ister",
    "Jor",
    "Kel",
    "Lan",
    "Mor",
    "Nor",
    "Ost",
    "Pel",
)
_LAST = ("dale", "wick", "mouth", "stead", "haven", "bridge", "field", "minster")
_GIVEN = ("Ada", "Bruno", "Clara", "Dario", "Edda", "Felix", "Greta", "Hugo", "Irma", "Jonas", "Karla", "Leo")
_FAMILY = ("Ashby", "Bolt", "Crane", "Dorn", "Elmer", "Frost", "Gale", "Holm", "Ives", "Kray")
_COLOURS = ("Blue", "Quiet", "Golden", "Broken", "Northern", "Paper", "Velvet", "Wooden")
_THINGS = ("Kettles", "Lanterns", "Sparrows", "Engines", "Umbrellas")


@cache
def facts() -> dict[tuple[str, str], str]:
    """Everything there is to know: `(relation, entity)` to its answer."""
    chance = random.Random("towns")
    towns = chance.sample([a + b for a in _FIRST for b in _LAST], 24)
    rivers = [f"the {name}" for name in chance.sample([a + end for a in _FIRST for end in ("a", "ow")], 10)]
    mountains = [
        f"Mount {name}" for name in chance.sample([a + end for a in _FIRST for end in ("ock", "un")], 6)
    ]
    people = chance.sample([f"{a} {b}" for a in _GIVEN for b in _FAMILY], 40)
    bands = [f"The {a} {b}" for a in _COLOURS for b in chance.sample(_THINGS, 2)]
    known: dict[tuple[str, str], str] = {}
    for number, town in enumerate(towns):
        known["founded", town] = str(chance.randint(1050, 1890))
        known["river", town] = chance.choice(rivers)
        known["mayor", town] = people[number]
    for river in rivers:
        known["source", river] = chance.choice(mountains)
    for person in people:
        known["born", person] = chance.choice(towns)
    for number, band in enumerate(bands):
        known["singer", band] = people[24 + number]
        known["formed", band] = chance.choice(towns)
    return known


def pages() -> list[dict[str, str]]:
    """One page for each town, river, person and band."""
    tells = {
        "founded": "It was founded in {x}.",
        "river": "The river that runs through it is {x}.",
        "mayor": "Its mayor is {x}.",
        "source": "It rises on {x}.",
        "born": "Born in {x}.",
        "singer": "Its singer is {x}.",
        "formed": "The band was formed in {x}.",
    }
    texts: dict[str, list[str]] = {}
    for (relation, entity), found in facts().items():
        texts.setdefault(entity, []).append(tells[relation].format(x=found))
    return [{"title": entity, "text": " ".join([f"{entity}.", *lines])} for entity, lines in texts.items()]


def question(chance: random.Random, chain: tuple[str, ...], entity: str) -> str:
    """A question that goes through relations, the first one first."""
    phrase = entity
    for relation in chain[:-1]:
        phrase = ASK[relation][1].format(e=phrase)
    return ASK[chain[-1]][0].format(e=phrase)


def parse(text: str) -> tuple[list[str], list[str]] | None:
    """The entities a question starts from and the relations it goes through, in order, or None.
    A comparison has two entities, each of which may be a phrase of its own. One that a reference without an
    answer left is empty."""
    text = text.strip()
    comparison = _match(OLDER, text)
    if comparison is not None:
        return [comparison["a"], comparison["b"]], ["older"]
    for relation, (asked, _) in ASK.items():
        if (found := _match(asked, text)) is not None:
            entity, chain = hops(found["e"])
            return [entity], [*chain, relation]
    return None


def hops(phrase: str) -> tuple[str, list[str]]:
    """The entity inside a phrase, and the relations that lead to what it means."""
    for relation, (_, named) in ASK.items():
        if (found := _match(named, phrase)) is not None:
            entity, chain = hops(found["e"])
            return entity, [*chain, relation]
    return phrase, []


def follow(entity: str, chain: list[str]) -> str | None:
    """Where some relations lead from an entity."""
    found: str | None = entity
    for relation in chain:
        found = facts().get((relation, found)) if found is not None else None
    return found


def answer(text: str) -> str | None:
    """The right answer to a question, or None."""
    parsed = parse(text)
    if parsed is None:
        return None
    entities, chain = parsed
    if chain == ["older"]:
        years = [follow(*_with_year(phrase)) for phrase in entities]
        if None in years:
            return None
        return follow(*hops(entities[0 if int(years[0] or 0) < int(years[1] or 0) else 1]))
    return follow(entities[0], chain)


def _with_year(phrase: str) -> tuple[str, list[str]]:
    entity, chain = hops(phrase)
    return entity, [*chain, "founded"]


def _match(form: str, text: str) -> dict[str, str] | None:
    pattern = re.escape(form)
    for name in ("e", "a", "b"):
        pattern = pattern.replace(r"\{" + name + r"\}", f"(?P<{name}>.*)")
    found = re.fullmatch(pattern, text)
    return found.groupdict() if found else None


def questions(chance: random.Random, count: int) -> list[tuple[str, str]]:
    """Questions of two to four hops and comparisons, each with its answer."""
    bands = sorted({entity for relation, entity in facts() if relation == "singer"})
    towns = sorted({entity for relation, entity in facts() if relation == "founded"})
    out = []
    for number in range(count):
        chain = CHAINS[number % len(CHAINS)]
        if number % 9 == 8:
            a, b = ASK["formed"][1].format(e=chance.choice(bands)), chance.choice(towns)
            text = OLDER.format(a=a, b=b)
        else:
            text = question(chance, chain, chance.choice(towns if chain[0] == "mayor" else bands))
        out.append((text, answer(text) or ""))
    return out
