"""A program of a few texts that are joined, and a model of it that is a server on loopback."""

from __future__ import annotations

from pathlib import Path
from typing import Any

PROGRAM = """\
prompt write(part: int) -> str:
    system "You write."
    "Write part {{ part }}."

prompt join(left: str, right: str) -> str:
    "Join {{ left }} and {{ right }}."

prompt title(text: str) -> str:
    "A title for {{ text }}."

scheme text() -> str:
    foreach part in [1, 2]:
        Generate() write(part)
    reduce left, right:
        Aggregate() join(left, right)
    Generate() title(it)
"""


def asked(body: dict[str, Any]) -> str:
    """The text of the last message of a request."""
    return str(body["messages"][-1]["content"])


def answer(body: dict[str, Any], index: int) -> str:
    """What the model says: what it was asked, shorter."""
    return asked(body).replace("Write ", "<").replace("Join ", "(").replace(".", "|")


def write(folder: Path) -> Path:
    """The program in a folder, as `text.got`."""
    (folder / "text.got").write_text(PROGRAM)
    return folder / "text.got"
