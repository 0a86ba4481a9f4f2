"""What is said of a diagnostic code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True, slots=True)
class Code:
    """A diagnostic code: what is wrong, why it matters, and a wrong and a mended line where lines show it."""

    code: str
    title: str
    text: str
    wrong: str = ""
    right: str = ""
