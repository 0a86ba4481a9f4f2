"""Makes the words that small_model.got writes sentences with: `python programs/data/make_words.py`.

Three nouns a row, in the column Words. The seed is fixed, so the same file comes out every time.
"""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path

ROWS = 60
NOUNS = (
    "apple",
    "bridge",
    "camera",
    "candle",
    "castle",
    "cloud",
    "doctor",
    "engine",
    "farmer",
    "flower",
    "forest",
    "garden",
    "guitar",
    "hammer",
    "harbour",
    "hospital",
    "island",
    "kitchen",
    "ladder",
    "lamp",
    "letter",
    "library",
    "market",
    "mirror",
    "mountain",
    "museum",
    "needle",
    "ocean",
    "painter",
    "pencil",
    "piano",
    "pilot",
    "pirate",
    "planet",
    "pocket",
    "river",
    "rocket",
    "sailor",
    "school",
    "shadow",
    "shoe",
    "snow",
    "soldier",
    "station",
    "storm",
    "teacher",
    "tiger",
    "train",
    "umbrella",
    "valley",
    "village",
    "violin",
    "window",
    "winter",
)


def rows() -> list[tuple[str]]:
    """Three different nouns, again and again."""
    chance = random.Random("words")
    return [(json.dumps(chance.sample(NOUNS, 3)),) for _ in range(ROWS)]


def main() -> None:
    """Write the file beside this script."""
    path = Path(__file__).with_name("words.csv")
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("Words",))
        writer.writerows(rows())


if __name__ == "__main__":
    main()
