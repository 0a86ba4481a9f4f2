"""Simulators of the prompts of dynamic_least_to_most.got: they translate commands, with mistakes.

A command of several parts goes wrong where a part of it was not translated before, and an example that
shows its words helps. Only the constants at the top set how often.
"""

from __future__ import annotations

import json
import random
import re

from commands import TIMES, moves

UNKNOWN = 0.35
"""The chance that a command of several words goes wrong without a translation of its parts."""
KNOWN = 0.02
"""The same with one."""
UNSEEN = 0.15
"""The chance that a verb goes wrong without an example of it."""


def clauses(rng: random.Random, command: str) -> str:
    """The clauses, one per line."""
    return "\n".join(re.split(r" and | after ", command))


def phrases(rng: random.Random, clause: str) -> str:
    """The shorter commands in a clause, then the clause."""
    words = clause.split()
    return "\n".join(f"- {' '.join(words[: n + 1])}" for n in range(len(words)))


def translate(
    rng: random.Random, command: str, examples: list[str], known: list[str], answers: list[list[str]]
) -> str:
    """The moves of a command."""
    right = moves(command)
    words = command.split()
    parts = [part for part in re.split(r" and | after ", command) if part != command] or [
        " ".join(words[:-1])
    ]
    if len(words) == 1:
        wrong = rng.random() < (0.0 if any(words[0] in example for example in examples) else UNSEEN)
    else:
        wrong = rng.random() < (KNOWN if all(part in known for part in parts) else UNKNOWN)
    return json.dumps(_spoiled(rng, right) if wrong else right)


def _spoiled(rng: random.Random, right: list[str]) -> list[str]:
    at = rng.randrange(len(right))
    return right[:at] + right[at + 1 :] if len(right) > 1 else right * min(TIMES.values())
