"""Commands such as `spin left twice and hop after bow`, and the moves they stand for."""

from __future__ import annotations

import random

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
