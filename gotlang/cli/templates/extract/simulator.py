"""A simulator of the prompts: it extracts fields like a model, and occasionally gets one wrong."""

from __future__ import annotations

import json
import random
import re
from typing import Any

SLIPS = 0.12
"""How often each field is wrong."""


def order(mail: str) -> dict[str, Any]:
    """The order in the mail."""
    thing = re.search(r"(\d+) (\w+)", mail)
    name = re.search(r"Yours, ([\w ]+)", mail)
    return {
        "customer": name[1].strip() if name else "unknown",
        "product": thing[2] if thing else "unknown",
        "count": int(thing[1]) if thing else 1,
        "urgent": any(word in mail for word in ("urgent", "today", "at once")),
    }


def read_order(rng: random.Random, mail: str) -> str:
    """The order as JSON, with errors."""
    found = order(mail)
    wrong = {
        "customer": "Ada",
        "product": "goods",
        "count": found["count"] + 1,
        "urgent": not found["urgent"],
    }
    return json.dumps({name: wrong[name] if rng.random() < SLIPS else found[name] for name in found})


def mend(rng: random.Random, mail: str, found: dict[str, Any]) -> str:
    """The order with fields that are not in the mail extracted again."""
    right = order(mail)
    return json.dumps(found | {name: right[name] for name in ("customer", "product")})
