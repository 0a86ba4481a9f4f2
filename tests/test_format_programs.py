"""Every program of the project is in canonical form, and those of the documentation keep the laws."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gotlang.span import Source
from gotlang.syntax.format import format_module
from gotlang.syntax.parse import parse

ROOT = Path(__file__).parents[1]
PROGRAMS = sorted([*(ROOT / "programs").rglob("*.got"), *(ROOT / "studies").rglob("*.got")])
SNIPPETS = [
    pytest.param(match[1], id=f"{page.name}:{number}")
    for page in sorted((ROOT / "docs").rglob("*.md"))
    for number, match in enumerate(
        re.finditer(r"^```got\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    )
]


def _formatted(text: str) -> str:
    source = Source.of("program.got", text)
    module, problems = parse(source)
    assert problems == ()
    once = Source.of("program.got", format_module(module, source))
    again, problems = parse(once)
    assert problems == ()
    assert again == module
    assert [comment.text for comment in again.comments] == [comment.text for comment in module.comments]
    assert format_module(again, once) == once.text
    return once.text


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_program_is_in_canonical_form(path: Path) -> None:
    text = path.read_text()
    assert _formatted(text) == text, f"run `gotc fmt {path.relative_to(ROOT)}`"


@pytest.mark.parametrize("text", SNIPPETS)
def test_a_snippet_keeps_its_meaning_and_its_comments(text: str) -> None:
    _formatted(text)
