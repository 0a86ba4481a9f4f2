"""The operations of the language, as data: which settings each takes and what stands behind it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from gotlang.types import ANY, BOOL, FLOAT, INT, STR, Type

MODEL_SETTINGS: dict[str, Type] = {
    "temperature": FLOAT,
    "top_p": FLOAT,
    "max_tokens": INT,
    "stop": ANY,
    "model": STR,
    "logprobs": BOOL,
}
"""Settings of a model call, in prompts and in operations; `stop` is a text or a list of texts."""

PROMPT_SETTINGS: dict[str, Type] = {**MODEL_SETTINGS, "structured": BOOL}
"""Settings in prompts. `structured` is one of them alone: the form of an answer is the prompt's."""


@final
@dataclass(frozen=True, slots=True)
class Operation:
    """An operation: `settings` by name, `first` the one that may stand without its name.

    `operands` is how many expressions follow the settings, at least and at most (None: any number).
    `bare` marks the one that may go without parentheses.
    """

    name: str
    doc: str
    settings: dict[str, Type]
    first: str | None = None
    required: bool = False
    operands: tuple[int, int | None] = (1, 1)
    bare: bool = False
    example: str = ""


OPERATIONS: dict[str, Operation] = {
    o.name: o
    for o in (
        Operation(
            "Generate",
            "for each current thought, k answers to a prompt",
            {"k": INT, **MODEL_SETTINGS, "until": BOOL},
            "k",
            example="Generate(k=5) sort(part)",
        ),
        Operation(
            "Improve",
            "the same as Generate, and the thoughts it started from stay in the pool",
            {"k": INT, **MODEL_SETTINGS, "until": BOOL},
            "k",
            example="Improve(k=5) repair(numbers, it)",
        ),
        Operation(
            "Aggregate",
            "the current thoughts together into one, tried k times",
            {"k": INT, **MODEL_SETTINGS, "until": BOOL},
            "k",
            example="Aggregate(10) merge(left, right)",
        ),
        Operation(
            "Score",
            "a score for each current thought, the mean of k samples",
            {"k": INT},
            "k",
            example="Score() mistakes(it, part)",
        ),
        Operation(
            "Validate",
            "marks each current thought valid or not",
            {},
            example="Validate() len(it) == len(numbers)",
        ),
        Operation("KeepValid", "keeps the valid thoughts", {}, operands=(0, 0), example="KeepValid()"),
        Operation(
            "ValidateAndImprove",
            "improves each thought that is not valid, up to `tries` times",
            {"tries": INT, **MODEL_SETTINGS},
            "tries",
            operands=(2, 2),
            example="ValidateAndImprove(tries=3) len(it) == 4, repair(it)",
        ),
        Operation(
            "KeepBestN",
            "keeps the n best scored thoughts, best first; ties keep the earlier",
            {"n": INT},
            "n",
            required=True,
            operands=(0, 0),
            example="KeepBestN(1)",
        ),
        Operation(
            "Select",
            "keeps the thoughts that a condition holds for, or those at given positions in that order",
            {"positions": ANY},
            "positions",
            operands=(0, 1),
            example="Select() len(it) > 2",
        ),
        Operation(
            "Vote",
            "keeps the most frequent value (self-consistency), each vote weighing 1 or `weight`",
            {"weight": FLOAT},
            operands=(0, 0),
            example="Vote()",
        ),
        Operation("Map", "replaces each thought's value by an expression", {}, example="Map() it.path"),
        Operation(
            "Pool",
            "makes several thoughts or lists of thoughts the current ones",
            {},
            operands=(1, None),
            example="Pool() closed, opened",
        ),
        Operation(
            "Retrieve",
            "the k documents that fit a query best",
            {"k": INT},
            "k",
            example="Retrieve(k=5) wiki(question)",
        ),
        Operation("Call", "what an imported Python function gives", {}, bare=True, example="Call search(it)"),
        Operation(
            "GroundTruth",
            "compares with the known answer: measured, never seen by the scheme",
            {},
            example="GroundTruth() it == sorted(numbers)",
        ),
        Operation(
            "Repeat",
            "after a step: the same step k times in separate contexts",
            {"k": INT},
            "k",
            required=True,
            operands=(0, 0),
            example="Generate(k=5) sort(part) Repeat(3)",
        ),
    )
}
