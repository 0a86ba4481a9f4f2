"""Makes the rows of the programs in programs/evidence: `python programs/evidence/data/make.py`.

The seeds are fixed, so the same files come out every time.
"""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

ROWS = 60
NOUNS = """
    apple bridge camera candle castle cloud doctor engine farmer flower forest garden guitar hammer island
    ladder lamp letter library market mirror mountain museum needle ocean painter pencil piano pilot planet
    river rocket sailor school shadow snow storm teacher tiger train umbrella valley village violin window
    winter
"""
NAMES = "Anna Ben Clara David Emma Frank Grace Henry Ivy Jack Kate Leo Mia Noah Paul Rosa Sam Tom"
TOWNS = "Paris London Rome Madrid Berlin Vienna Oslo Cairo Delhi Tokyo"
CAPITALS = """
    Afghanistan=Kabul Algeria=Algiers Argentina=Buenos_Aires Armenia=Yerevan Australia=Canberra
    Austria=Vienna Bangladesh=Dhaka Belgium=Brussels Bolivia=La_Paz Bulgaria=Sofia Canada=Ottawa
    Chile=Santiago China=Beijing Colombia=Bogota Croatia=Zagreb Cuba=Havana Denmark=Copenhagen
    Ecuador=Quito Egypt=Cairo Estonia=Tallinn Ethiopia=Addis_Ababa Finland=Helsinki France=Paris
    Germany=Berlin Ghana=Accra Greece=Athens Hungary=Budapest Iceland=Reykjavik India=New_Delhi
    Indonesia=Jakarta Iran=Tehran Iraq=Baghdad Ireland=Dublin Israel=Jerusalem Italy=Rome
    Jamaica=Kingston Japan=Tokyo Jordan=Amman Kenya=Nairobi Latvia=Riga Lebanon=Beirut Libya=Tripoli
    Morocco=Rabat Nepal=Kathmandu Netherlands=Amsterdam Norway=Oslo Pakistan=Islamabad Peru=Lima
    Philippines=Manila Poland=Warsaw Portugal=Lisbon Romania=Bucharest Russia=Moscow Senegal=Dakar
    Serbia=Belgrade Spain=Madrid Sweden=Stockholm Thailand=Bangkok Turkey=Ankara Vietnam=Hanoi
"""
SENTENCES = (
    "Last summer we went to {} by train.",
    "My uncle bought a house in {}.",
    "The food in {} was wonderful.",
    "She wrote a letter to a friend in {}.",
    "The team from {} won the game.",
    "It rained all week in {}.",
    "He learned to cook in {}.",
    "The old map showed the coast of {}.",
)

Row = tuple[str, ...]


def capital_of() -> dict[str, str]:
    """The capitals of countries."""
    pairs = (pair.replace("_", " ").partition("=") for pair in CAPITALS.split())
    return {country: capital for country, _, capital in pairs}


def words(chance: random.Random) -> Row:
    """Four different nouns."""
    return (json.dumps(chance.sample(NOUNS.split(), 4)),)


def countries(chance: random.Random) -> Row:
    """Four sentences that name a country each; the countries, in the order of the alphabet."""
    named = chance.sample(sorted(capital_of()), 4)
    text = [sentence.format(name) for sentence, name in zip(chance.sample(SENTENCES, 4), named, strict=True)]
    return json.dumps(text), json.dumps(sorted(named))


def capitals(chance: random.Random) -> Iterator[Row]:
    """Two capitals; their countries, in the order of the alphabet. Each capital is in two rows."""
    known = capital_of()
    for _ in range(2):
        order = chance.sample(sorted(known), len(known))
        for pair in zip(order[::2], order[1::2], strict=True):
            yield json.dumps([known[country] for country in pair]), json.dumps(sorted(pair))


def largest(chance: random.Random) -> Row:
    """Four different numbers of two digits, and the largest."""
    numbers = chance.sample(range(10, 100), 4)
    return json.dumps(numbers), str(max(numbers))


def kin(chance: random.Random) -> Row:
    """Facts about eight people, one of them, and the town of the boss of that one's brother."""
    people, towns = chance.sample(NAMES.split(), 8), chance.sample(TOWNS.split(), 8)
    facts = [f"{person} lives in {town}." for person, town in zip(people, towns, strict=True)]
    for first in (0, 3):
        one, brother, boss = people[first : first + 3]
        facts += [f"The brother of {one} is {brother}.", f"The boss of {brother} is {boss}."]
    chance.shuffle(facts)
    return json.dumps(facts), people[0], towns[2]


def sets(chance: random.Random) -> Row:
    """Two sets of eight numbers, and the three that stand in both, in ascending order."""
    numbers = chance.sample(range(10, 100), 13)
    both = numbers[:3]
    one, other = (chance.sample(both + more, 8) for more in (numbers[3:8], numbers[8:]))
    return json.dumps(one), json.dumps(other), json.dumps(sorted(both))


def each(row: Callable[[random.Random], Row]) -> Callable[[random.Random], Iterator[Row]]:
    """Rows that are made one by one."""
    return lambda chance: (row(chance) for _ in range(ROWS))


FILES = {
    "words": (each(words), ("Words",)),
    "countries": (each(countries), ("Sentences", "Answer")),
    "capitals": (capitals, ("Cities", "Answer")),
    "largest": (each(largest), ("Numbers", "Answer")),
    "kin": (each(kin), ("Facts", "Person", "Answer")),
    "sets": (each(sets), ("First", "Second", "Answer")),
}


def rows(name: str) -> Iterator[Sequence[str]]:
    """The rows of a file, its header first."""
    make, header = FILES[name]
    yield header
    yield from make(random.Random(name))


def write(name: str, path: Path) -> None:
    """Write a file of rows."""
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(rows(name))


def main() -> None:
    """Write the files beside this script."""
    for name in FILES:
        write(name, Path(__file__).with_name(f"{name}.csv"))


if __name__ == "__main__":
    main()
