"""`gotc docs`: pages, sections, search, and how a terminal shows them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from cli.conftest import Gotc
from support.gotc import ROOT
from support.terminal import on_terminal


def test_pages_are_listed_and_shown_as_they_are(gotc: Gotc) -> None:
    listed = gotc("docs")
    assert (listed.code, listed.err) == (0, "")
    assert listed.out.splitlines()[0].startswith("quickstart ")
    assert gotc("docs", "language").out == (ROOT / "docs" / "language.md").read_text("utf-8")
    assert gotc("docs", "docs/schemes/react.md").out == gotc("docs", "schemes/react").out
    assert gotc("docs", "std/vote.got").out == (ROOT / "gotlang" / "std" / "vote.got").read_text("utf-8")


def test_one_section(gotc: Gotc) -> None:
    text = gotc("docs", "language#votes").out
    assert text.startswith("### Votes\n\n`Vote` adds up") and "\n#" not in text


def test_a_search_finds_sections_by_all_words(gotc: Gotc) -> None:
    lines = gotc("docs", "--search", "VOTES weight").out.splitlines()
    assert lines[0].startswith("language#votes  ")
    section, _, _ = lines[0].partition("  ")
    assert gotc("docs", section).code == 0
    assert len(gotc("docs", "--search", "the").out.splitlines()) == 13


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("langage",), "there is no page `langage`\n  = help: did you mean `language`?"),
        (("../README",), "there is no page `../README`\n  = help: `gotc docs` lists"),
        (
            ("language#vote",),
            "page `language` has no section `vote`\n  = help: did you mean `language#votes`?",
        ),
        (("--search", "xyzzy votes"), "no section has all of `xyzzy votes`"),
        (("--search", " "), "nothing to search for"),
    ],
)
def test_a_wrong_word_is_one_message(gotc: Gotc, words: tuple[str, ...], message: str) -> None:
    done = gotc("docs", *words)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"error: {message}")


def test_a_terminal_shows_headings_and_tables(tmp_path: Path) -> None:
    seen = on_terminal("docs", "testing", cwd=tmp_path, TERM="xterm-256color", PAGER="cat", NO_COLOR="")
    text = re.sub(r"\x1b\[[0-9;]*m", "", seen)
    assert "\x1b[" in seen and "Tests and laws" in text
    assert "```" not in text and "| ---" not in text and "**holds**" not in text
