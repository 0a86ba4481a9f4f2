"""Every code that is given is explained, every one that is explained can be given, and the page is theirs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gotlang.codes import CODES, as_markdown

ROOT = Path(__file__).parents[1]


def test_codes_in_use_are_those_explained() -> None:
    used = {
        code
        for path in (ROOT / "gotlang").rglob("*.py")
        if path.name != "codes.py"
        for code in re.findall(r"GOT\d{4}", path.read_text())
    }
    examples = {"GOT0123"}  # stands in a help text
    assert used - examples == set(CODES)


def test_the_page_is_made_from_the_table(request: pytest.FixtureRequest) -> None:
    page = ROOT / "docs" / "diagnostics.md"
    if request.config.getoption("--accept"):
        page.write_text(as_markdown())
    assert page.read_text() == as_markdown(), "run pytest with --accept"


def test_each_code_has_a_golden_case() -> None:
    shown = {
        code
        for path in (ROOT / "tests" / "cases").rglob("*.case")
        for code in re.findall(r"(?:error|warning)\[(GOT\d{4})\]", path.read_text())
    }
    assert set(CODES) - shown == set()
