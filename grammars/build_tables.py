"""Writes the parser's tables beside the grammar: run by the build, also of an editable install, or by hand.
The build of a wheel also takes the pages and programs that `gotc docs` shows.

python grammars/build_tables.py
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # by hand, where nothing is built
    BuildHookInterface = object

ROOT = Path(__file__).resolve().parents[1]


class Tables(BuildHookInterface):
    """The hook that hatchling calls before a build."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the tables, and name the pages of a wheel."""
        write()
        if self.target_name == "wheel" and version != "editable":
            for path in (*(ROOT / "docs").rglob("*.md"), *(ROOT / "programs").glob("*.got")):
                build_data["force_include"][str(path)] = f"gotlang/pages/{path.relative_to(ROOT)}"


def write() -> None:
    """Write the tables of the grammar in this source tree."""
    sys.path.insert(0, str(ROOT))
    from gotlang.syntax.grammar import TABLES, build_parser, to_tables

    text = to_tables(build_parser())
    (ROOT / "grammars" / TABLES).write_text(text, "utf-8")


if __name__ == "__main__":
    write()
