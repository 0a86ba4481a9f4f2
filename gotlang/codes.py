"""Every diagnostic code with its explanation, as `gotc explain GOT0203` prints it.

They are read from the page `docs/diagnostics.md`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, final

from gotlang.packages import DOCUMENTATION

PAGE: Final = DOCUMENTATION / "docs" / "diagnostics.md"
_ENTRY = re.compile(r"^## (GOT\d{4}): (.*)\n\n(.*)\n((?:.*\n)*?)(?=\n## |\Z)", re.MULTILINE)
_EXAMPLE = re.compile(r"^(Wrong|Right):\n\n```text\n((?:.*\n)*?)```$", re.MULTILINE)


@final
@dataclass(frozen=True, slots=True)
class Code:
    """A diagnostic code: its title, its explanation, and a wrong and a corrected example, if any."""

    code: str
    title: str
    text: str
    wrong: str = ""
    right: str = ""


def _read(page: str) -> Iterator[Code]:
    for code, title, text, rest in _ENTRY.findall(page):
        examples = {word.lower(): lines.removesuffix("\n") for word, lines in _EXAMPLE.findall(rest)}
        yield Code(code, title, text, **examples)


CODES: Final = {entry.code: entry for entry in _read(PAGE.read_text("utf-8"))}
"""All codes in the order of the page."""
