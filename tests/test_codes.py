"""Every reported code is explained on the page of codes, and vice versa."""

from __future__ import annotations

import re
from pathlib import Path

from gotlang.codes import CODES, PAGE

ROOT = Path(__file__).parents[1]


def test_codes_in_use_are_those_explained() -> None:
    used = {
        code
        for path in (ROOT / "gotlang").rglob("*.py")
        for code in re.findall(r"GOT\d{4}", path.read_text())
    }
    examples = {"GOT0123"}  # stands in a help text
    assert used - examples == set(CODES)


def test_the_page_is_read_completely() -> None:
    _, _, entries = PAGE.read_text().partition("\n\n## ")
    out = []
    for entry in CODES.values():
        out += ["", f"## {entry.code}: {entry.title}", "", entry.text]
        for word, example in (("Wrong", entry.wrong), ("Right", entry.right)):
            if example:
                out += ["", f"{word}:", "", "```text", example, "```"]
    assert "## " + entries == "\n".join(out[1:]) + "\n"


def test_each_code_has_a_golden_case() -> None:
    shown = {
        code
        for path in (ROOT / "tests" / "cases").rglob("*.case")
        for code in re.findall(r"(?:error|warning)\[(GOT\d{4})\]", path.read_text())
    }
    assert set(CODES) - shown == set()
