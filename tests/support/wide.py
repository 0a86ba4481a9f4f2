"""A program whose runs have as many operations as one likes: four for each cell, and one for each row."""

from __future__ import annotations

WIDE = """\
simulate with "wide_sim.py"

prompt guess(n: int) -> int:
    "Guess {{ n }}."

score distance(guessed: int, n: int) -> lower, best 0:
    abs(guessed - n)

scheme wide(rows: int, columns: int) -> many int:
    foreach i in range(rows):
        foreach j in range(columns):
            Generate() guess(i * columns + j)
            Score() distance(it, i * columns + j)
            KeepBestN(1)
            Map() it + 1
        Select() it % 7 == 0
"""
WIDE_SIM = """\
def guess(rng, n):
    return f"It is {n + rng.randrange(3)}."
"""
