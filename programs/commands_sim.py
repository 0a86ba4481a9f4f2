"""Simulators of the prompts of dynamic_least_to_most.got: they parse and translate commands, with mistakes.

A translation is put together from those that are shown, right or wrong. Where a part is missing it is guessed
at, and how parts go together is known from an example that is built alike. Cuts are wrong at times. Only the
constants at the top set how often.
"""

from __future__ import annotations

import json
import random
import re

from commands import SIDES, TIMES, VERBS, moves

from gotlang.models.simulated import NotSimulated

UNKNOWN = 0.2
"""The chance that a part whose translation is not shown is translated wrongly."""
KNOWN = 0.01
"""The same for what is put together from parts that are shown."""
UNSEEN = 0.15
"""The chance that a verb goes wrong without an example of it."""
DISORDER = 0.4
"""The chance that `after` is taken for `and`, without an example that has it."""
MISCUT = 0.03
"""The chance that a command is not cut where it should be, or that a phrase is left out."""


def sequence(rng: random.Random, command: str) -> str:
    """The parts around `after`, one per line."""
    _known(command)
    return "\n".join(_cut(rng, command, " after "))


def clauses(rng: random.Random, part: str) -> str:
    """The clauses, one per line."""
    _known(part)
    return "\n".join(_cut(rng, part, " and "))


def phrases(rng: random.Random, clause: str) -> str:
    """The shorter commands in a clause, then the clause."""
    _known(clause)
    words = clause.split()
    found = [" ".join(words[: n + 1]) for n in range(len(words))]
    found = [one for one in found if _is_command(one)]  # without those that end in `and` or `after`
    if len(found) > 1 and rng.random() < MISCUT:
        found.pop(rng.randrange(len(found) - 1))
    return "\n".join(f"- {one}" for one in found)


def translate(
    rng: random.Random, command: str, examples: list[str], known: list[str], answers: list[list[str]]
) -> str:
    """The moves of a command."""
    _known(command)
    told = dict(zip(known, answers, strict=True))
    return json.dumps(_moves(rng, command, told, "\n".join(examples)))


def _moves(rng: random.Random, text: str, told: dict[str, list[str]], examples: str) -> list[str]:
    for word in (" after ", " and "):
        first, found, then = text.partition(word)
        if found:
            left, right = (_part(rng, one, told, examples) for one in (first, then))
            turned = word == " after " and (word in examples or rng.random() >= DISORDER)
            return _slipped(rng, right + left if turned else left + right, KNOWN)
    words = text.split()
    if len(words) == 1:
        return _slipped(rng, moves(text), 0.0 if re.search(rf"\b{text}\b", examples) else UNSEEN)
    before = _part(rng, " ".join(words[:-1]), told, examples)
    if words[-1] in SIDES:
        return _slipped(rng, [f"TURN_{words[-1].upper()}", *before], KNOWN)
    return _slipped(rng, before * TIMES[words[-1]], KNOWN)


def _part(rng: random.Random, text: str, told: dict[str, list[str]], examples: str) -> list[str]:
    return told[text] if text in told else _slipped(rng, _moves(rng, text, told, examples), UNKNOWN)


def _cut(rng: random.Random, text: str, word: str) -> list[str]:
    parts = text.split(word)
    if len(parts) > 1 and rng.random() < MISCUT:
        at = rng.randrange(len(parts) - 1)
        parts[at : at + 2] = [word.join(parts[at : at + 2])]
    return parts


def _slipped(rng: random.Random, right: list[str], chance: float) -> list[str]:
    if rng.random() >= chance:
        return right
    at = rng.randrange(len(right))
    return right[:at] + right[at + 1 :] if len(right) > 1 else right * min(TIMES.values())


def _is_command(text: str) -> bool:
    verb = f"({'|'.join(VERBS)})( ({'|'.join(SIDES)}))?( ({'|'.join(TIMES)}))?"
    return re.fullmatch(f"{verb}( (and|after) {verb})*", text) is not None


def _known(command: str) -> None:
    if not _is_command(command):
        raise NotSimulated(f"{command!r:.80} is no command such as 'spin left twice and hop after bow'")
