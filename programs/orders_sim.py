"""A simulator of `read_note`: it reads as a model does, and now and then leaves out or makes up a part."""

from __future__ import annotations

import json
import random
import re

SLIP = 0.15
"""The chance that a part of an order is read wrongly."""
FENCED = 0.2
"""The chance that the JSON stands in a code fence, as where no schema holds the model to it."""

_NOTE = re.compile(
    r"(?P<name>\w+) here\. Please send (?P<items>.+?)(?: to (?P<street>\d+ [\w ]+)(?:, (?P<town>\w+))?)?\."
    r"(?P<urgent> It is urgent!)?"
)


def read_note(rng: random.Random, note: str) -> str:
    """The JSON of what a note says."""
    read = _NOTE.fullmatch(note)
    if read is None:
        return json.dumps({"answer": {"type": "Remark", "about": note}})
    items = [item.split(" x ") for item in read["items"].split(", ")]
    address = {"street": read["street"], "town": read["town"]} if read["street"] else None
    said = {
        "type": "Order",
        "name": read["name"],
        "items": [{"thing": thing, "count": int(count)} for count, thing in items],
        "address": address,
        "speed": "fast" if read["urgent"] else "normal",
    }
    if rng.random() < SLIP:
        said |= rng.choice(({"address": None}, {"items": said["items"][:1]}, {"speed": "fast"}))
    if rng.random() < FENCED:
        return f"Here it is:\n```json\n{json.dumps(said)}\n```"
    return json.dumps({"answer": said})
