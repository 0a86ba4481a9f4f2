"""Makes what README.md shows, from real runs of the programs in this repository (simulated).

    python docs/pictures/make.py

writes `docs/pictures/sort128.svg`, what one run did, and the table between README's marks. A test holds both
against what the code gives now.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "pictures" / "sort128.svg"
README = ROOT / "README.md"
BEGIN, END = "<!-- compare: begin -->\n", "<!-- compare: end -->"

RUN = "run programs/sort128.got --data programs/data/digits128.csv --row 7 --map numbers=Unsorted"
GRAPH = "graph last --format svg --most 20"
COMPARE = "compare programs/sorting.got --schemes io,cot,tot,got --data programs/data/digits64.csv --limit 30"


def made() -> tuple[str, str]:
    """The picture, and the text between README's marks."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "programs").symlink_to(ROOT / "programs")
        _gotc(RUN, folder)
        picture = _gotc(GRAPH, folder)
        table = _gotc(COMPARE, folder)
    return picture, f"```sh\ngotc {COMPARE}\n```\n\n```\n{table}```\n"


def _gotc(command: str, folder: str) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GOTC_", "OPENAI_"))}
    done = subprocess.run(
        [sys.executable, "-m", "gotlang", *command.split()],
        cwd=folder,
        env={**kept, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout


def main() -> None:
    """Write both."""
    picture, table = made()
    PICTURE.write_text(picture)
    text = README.read_text()
    start, stop = text.index(BEGIN) + len(BEGIN), text.index(END)
    README.write_text(text[:start] + table + text[stop:])


if __name__ == "__main__":
    main()
