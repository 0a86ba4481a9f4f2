"""A simulator of the prompts: it reads mails as a model does, and now and then gets a field wrong."""

from __future__ import annotations

import json
import random
import re
from typing import Any

SLIPS = 0.12
"""How often each field is read wrongly."""


def order(mail: str) -> dict[str, Any]:
    """What the mail says."""
    thing = re.search(r"(\d+) (\w+)", mail)
    name = re.search(r"Yours, ([\w ]+)", mail)
    return {
        "customer": name[1].strip() if name else "unknown",
        "product": thing[2] if thing else "unknown",
        "count": int(thing[1]) if thing else 1,
        "urgent": any(word in mail for word in ("urgent", "today", "at once")),
    }


def read_order(rng: random.Random, mail: str) -> str:
    """The order as JSON, with slips."""
    found = order(mail)
    wrong = {
        "customer": "Ada",
        "product": "goods",
        "count": found["count"] + 1,
        "urgent": not found["urgent"],
    }
    return json.dumps({name: wrong[name] if rng.random() < SLIPS else found[name] for name in found})


def mend(rng: random.Random, mail: str, found: dict[str, Any]) -> str:
    """What was not in the mail, read again; the rest as it was."""
    right = order(mail)
    return json.dumps(found | {name: right[name] for name in ("customer", "product")})
