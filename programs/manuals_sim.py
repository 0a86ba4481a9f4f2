"""The simulator of manuals.got: with little effort it sometimes copies another line of the document. Vectors
are counts of words, and a text of few words meets the rubric."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any
from zlib import crc32

from folder_agent_sim import common, words

from gotlang.models.simulated import Simulated

SLIPS = {"low": 0.4, "high": 0.05}
"""The chance of another line, by effort."""
SIZE = 256
MODELS = {"text-embedding-3-small": {"input_per_million": 0.02, "output_per_million": 0.0}}


def look_up(rng: Random, manual: str, question: str, settings: Any) -> Simulated:
    """A line of the document, and the thoughts on the way to it."""
    lines = [line for line in Path(manual).read_text(encoding="utf-8").splitlines() if ": " in line]
    line = max(lines, key=lambda line: common(line, question))
    if rng.random() < SLIPS[settings.effort]:
        line = rng.choice(lines)
    looked = lines if settings.effort == "high" else lines[:1]
    return Simulated(line, reasoning=" ".join(f"Is it this? {one}" for one in looked))


def rate(rng: Random, question: str, passage: str) -> str:
    """How many of the question's telling words are in the passage."""
    telling = words(question)
    return str(round(10 * sum(word in passage.lower() for word in telling) / len(telling)))


def shorten(rng: Random, question: str, passage: str) -> str:
    """What is after the colon."""
    return passage.partition(": ")[2]


def embed(rng: Random, text: str) -> str:
    """Counts of words, as a vector."""
    counts = [0.0] * SIZE
    for word in text.lower().split():
        counts[crc32(word.encode()) % SIZE] += 1.0
    return json.dumps(counts)


def judge(rng: Random, text: str, rubric: str) -> str:
    """A grade for the number of words."""
    few = len(text.split()) <= 10
    return json.dumps({"reasons": f"it has {len(text.split())} words", "grade": 9 if few else 2})
