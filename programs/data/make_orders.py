"""Makes the notes that orders.got reads: `python programs/data/make_orders.py`.

A note asks for a delivery, with or without an address and a date, or says something else. `Note` is the text,
`Order` what it says, as JSON. The seed is fixed, so the same file comes out every time.
"""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path
from typing import Any

ROWS = 40
THINGS = ("lamp", "chair", "kettle", "rug", "shelf", "mirror")
STREETS, TOWNS = ("Mill Lane", "Dock Road", "High Street"), ("Tarn", "Weller", "Osby")
NAMES = ("Noor", "Mia", "Rosa", "Inge")
REMARKS = ("When do you open on Monday?", "The last parcel was fine, thank you.", "Do you repair clocks?")


def note(chance: random.Random) -> tuple[str, dict[str, Any]]:
    """One note and what it says."""
    if chance.random() < 0.25:
        text = chance.choice(REMARKS)
        return text, {"type": "Remark", "about": text}
    wanted = chance.sample(THINGS, chance.randint(1, 3))
    items = [{"thing": thing, "count": chance.randint(1, 4)} for thing in wanted]
    listed = ", ".join(f"{item['count']} x {item['thing']}" for item in items)
    name = chance.choice(NAMES)
    address, words = None, ""
    if chance.random() < 0.6:
        number = chance.randint(1, 90)
        address = {"street": f"{number} {chance.choice(STREETS)}", "town": chance.choice((*TOWNS, None))}
        words = f" to {address['street']}" + (f", {address['town']}" if address["town"] else "")
    urgent = chance.random() < 0.3
    text = f"{name} here. Please send {listed}{words}.{' It is urgent!' if urgent else ''}"
    speed = "fast" if urgent else "normal"
    return text, {"type": "Order", "name": name, "items": items, "address": address, "speed": speed}


def rows() -> list[tuple[str, str]]:
    """All rows."""
    chance = random.Random("orders")
    return [(text, json.dumps(said)) for text, said in (note(chance) for _ in range(ROWS))]


def main() -> None:
    """Write the file."""
    with (Path(__file__).parent / "orders.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("Note", "Order"))
        writer.writerows(rows())


if __name__ == "__main__":
    main()
