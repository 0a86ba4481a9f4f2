"""The simulator of invoices.got: it looks at the picture, and misreads digits. Only the constant at the top
sets how often.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

import pictures

MISREAD = 0.06
"""The chance that a digit is taken for one that looks like it."""
_ALIKE = {"0": "8", "1": "7", "3": "8", "5": "6", "6": "8", "7": "1", "8": "3", "9": "8"}


def read(rng: random.Random, invoice: str) -> str:
    """What the picture says, as JSON."""
    lines = [
        "".join(_ALIKE.get(sign, sign) if rng.random() < MISREAD else sign for sign in line)
        for line in pictures.read(Path(invoice).read_bytes())
    ]
    found = {"number": 0, "lines": list[dict[str, int]](), "total": 0}
    for line in lines:
        match line.split():
            case ["#", number]:
                found["number"] = int(number)
            case ["=", total]:
                found["total"] = int(total)
            case [count, "x", price]:
                found["lines"].append({"count": int(count), "price": int(price)})
    return json.dumps(found)
