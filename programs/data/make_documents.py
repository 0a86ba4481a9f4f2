"""Makes the agreements that documents.got is tried on: `python programs/data/make_documents.py`.

50 sets of four non-disclosure agreements that overlap in part, in the columns of the published set (ID,
document1 to document4). Each clause is one line. The seed is fixed, so the same file comes out every time.
"""

from __future__ import annotations

import csv
import random
from pathlib import Path

ROWS = 50
DOCUMENTS = 4
CLAUSES = {
    "Purpose": ("talks about a joint {x}", "the trial of a {x}", "the sale of a {x}"),
    "Confidential information": (
        "designs and drawings",
        "prices and lists of customers",
        "source code and data",
    ),
    "Use": ("only for the purpose above", "by staff who need to know", "never outside the premises"),
    "Exclusions": ("what was public before", "what was known before", "what was found independently"),
    "Term": ("two years from signing", "three years from signing", "until either party gives notice"),
    "Return": ("within thirty days of a request", "on the last day of the term"),
    "Penalty": ("a fee of {n},000 for each breach", "an injunction and damages"),
    "Competition": ("none during the term", "none for one year after the term"),
    "Governing law": ("the law of {s}", "the law of {s}, and its courts alone"),
    "Amendments": ("in writing and signed by both parties",),
    "Assignment": ("to successors only", "never without written consent"),
    "Copies": ("two, one for each party",),
}
GOODS = ("water pump", "weather balloon", "sewing machine", "night train", "bread oven")
STATES = ("Norland", "Westmark", "Eastmoor")


def agreement(chance: random.Random, good: str, state: str, fee: int) -> str:
    """One agreement: seven to nine clauses, most of which the others of its set have as well."""
    topics = chance.sample(list(CLAUSES), chance.randint(7, 9))
    lines = ["NON-DISCLOSURE AGREEMENT"]
    for topic in CLAUSES:
        if topic in topics:
            lines.append(f"{topic}: {chance.choice(CLAUSES[topic]).format(x=good, n=fee, s=state)}.")
    return "\n".join(lines)


def rows() -> list[list[str]]:
    """Number and four agreements about the same thing."""
    out = []
    for number in range(ROWS):
        chance = random.Random(f"documents {number}")
        good, state, fee = chance.choice(GOODS), chance.choice(STATES), chance.randrange(20, 300, 10)
        out.append([str(number), *(agreement(chance, good, state, fee) for _ in range(DOCUMENTS))])
    return out


def main() -> None:
    """Write the file beside this script."""
    with Path(__file__).with_name("documents.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("ID", *(f"document{n + 1}" for n in range(DOCUMENTS))))
        writer.writerows(rows())


if __name__ == "__main__":
    main()
