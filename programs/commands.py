"""Commands such as `spin left twice and hop after bow`, their moves, and solved examples of them.

`exemplars` is the selection of dynamic least-to-most prompting: the examples were parsed beforehand, and are
matched with the parse of a command from its top down and from its leaves up.
"""

from __future__ import annotations

import json
import random
import re
from functools import cache
from pathlib import Path

VERBS = ("hop", "spin", "bow", "clap", "jump", "wave")
SIDES = ("left", "right")
TIMES = {"twice": 2, "thrice": 3}


def clause(chance: random.Random) -> str:
    """One clause: a verb, perhaps a side, perhaps how often."""
    words = [chance.choice(VERBS)]
    if chance.random() < 0.5:
        words.append(chance.choice(SIDES))
    if chance.random() < 0.6:
        words.append(chance.choice(list(TIMES)))
    return " ".join(words)


def command(chance: random.Random, clauses: int) -> str:
    """Clauses with `and` or `after` between them."""
    text = clause(chance)
    for _ in range(clauses - 1):
        text += f" {chance.choice(('and', 'after'))} {clause(chance)}"
    return text


def moves(text: str) -> list[str]:
    """What a command stands for; `a after b` does b first, and `and` binds more closely."""
    if " after " in text:
        first, _, then = text.partition(" after ")
        return moves(then) + moves(first)
    if " and " in text:
        first, _, then = text.partition(" and ")
        return moves(first) + moves(then)
    words = text.split()
    done = [f"TURN_{word.upper()}" for word in words if word in SIDES] + [words[0].upper()]
    for word in words[1:]:
        done = done * TIMES.get(word, 1)
    return done


# ---------------------------------------------------------------- solved examples


@cache
def _solved() -> list[dict[str, str]]:
    lines = (Path(__file__).parent / "data" / "commands.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def shape(command: str, clauses: list[str]) -> str:
    """A command without its words: `_ and _ after _`."""
    for clause in sorted(clauses, key=len, reverse=True):
        command = re.sub(rf"\b{re.escape(clause)}\b", "_", command)
    return command


def exemplars(
    command: str, halves: list[str], clauses: list[str], phrases: list[str], alike: int, each: int
) -> list[str]:
    """The examples to show for a command: up to `alike` for the command and each of its halves that are built
    like it, then up to `each` for every phrase that have that phrase among their own, short ones first."""
    found: list[str] = []
    for whole in (command, *halves):
        built = [one["text"] for one in _solved() if one["shape"] == shape(whole, clauses) != "_"]
        found += built[:alike]
    for phrase in phrases:
        has = [one["text"] for one in _solved() if phrase in one["phrases"]]
        found += sorted(has, key=len)[:each]
    return list(dict.fromkeys(found))
