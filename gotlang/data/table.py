"""A data file in memory, and the number that stands for what is in it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any, final

from gotlang.errors import UsageError


@final
@dataclass(frozen=True, slots=True)
class Table:
    """A data file in memory. `columns` are in the file's order; a row of JSON may lack some of them.

    `as_text` tells that every value is still a text, to be read by the type it is needed as.
    """

    path: str
    columns: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]
    as_text: bool = False

    def __len__(self) -> int:
        return len(self.rows)

    def row(self, number: int) -> dict[str, Any]:
        """The row at a position counted from 0. Raises UsageError where there is none."""
        if not 0 <= number < len(self.rows):
            count = f"{len(self.rows)} row{'s' if len(self.rows) != 1 else ''}"
            raise UsageError(
                f"{self.path} has no row {number}",
                help=f"it has {count}, counted from 0 to {len(self.rows) - 1}",
            )
        return self.rows[number]


def fingerprint(table: Table) -> str:
    """64 hexadecimal digits that stand for the rows, whatever the name of the file (SHA-256)."""
    digest = hashlib.sha256()
    for row in table.rows:
        line = json.dumps(row, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        digest.update(line.encode("utf-8", "replace") + b"\n")
    return digest.hexdigest()
