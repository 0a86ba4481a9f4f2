"""A server's answers to the prompts of sort128: those of its simulators, with their mistakes."""

from __future__ import annotations

import json
import sys
import threading
from collections import Counter
from random import Random
from typing import Any, Literal

from support.gotc import ROOT

sys.path.insert(0, str(ROOT / "programs"))
import sorting_sim


class Sorter:
    """Answers as the simulators of sort128 do.

    Each answer depends on the messages and, `by` number, on how many answers they were given before, so that
    single requests get what one request for several gets; `by` place, on its place in the request, so that it
    does not matter which of equal requests comes first; `by` text, on nothing else, so that it does not
    matter how many are asked for in one. `drawn` counts the answers to each text."""

    def __init__(self, by: Literal["number", "place", "text"] = "number") -> None:
        self.drawn: Counter[str] = Counter()
        self._by = by
        self._lock = threading.Lock()

    def __call__(self, body: dict[str, Any], index: int) -> str:
        text = body["messages"][-1]["content"]
        with self._lock:
            number = self.drawn[text]
            self.drawn[text] += 1
        number = {"number": number, "place": index, "text": 0}[self._by]
        rng = Random(f"{number}/{text}")
        lines = text.rpartition("\n\n")[2].splitlines()
        lists = [json.loads(line[line.index("[") :]) for line in lines if "[" in line]
        if "Cut these" in text:
            return sorting_sim.split(rng, lists[-1], 8)
        if "Second list" in text:
            return sorting_sim.merge(rng, *lists[-2:])
        if "Attempt" in text:
            return sorting_sim.repair(rng, *lists[-2:])
        return sorting_sim.sort(rng, lists[-1])
