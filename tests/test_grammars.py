"""Highlighters agree with the parser on every program of the tree, and the editors' files are made anew."""

from __future__ import annotations

import runpy
from collections.abc import Iterable, Iterator

import pytest
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.token import Comment, Keyword, Name, Number, String, Text
from support.highlighting import ROOT, programs, tokens

BUILD = runpy.run_path(str(ROOT / "editors" / "build.py"))
PROGRAMS = programs()


def test_the_files_made_from_the_grammar_are_fresh() -> None:
    for path, text in BUILD["files"]().items():
        assert path.read_text("utf-8") == text, f"run `python editors/build.py`: {path} is out of date"


def _of_pygments(text: str) -> Iterator[str]:
    """The kind of each character."""
    kinds = ((Keyword.Constant, "constant"), (Keyword, "keyword"), (Name.Class, "capital"), (Name, "name"))
    kinds += ((Number, "number"), (String, "string"), (Comment, "comment"), (Text, "blank"))
    for token, value in get_lexer_by_name("got", stripnl=False, ensurenl=False).get_tokens(text):
        kind = next((name for kind, name in kinds if token in kind), "sign")
        yield from [kind] * len(value)


def differences(name: str, found: Iterable[str]) -> list[str]:
    """Each token that a highlighter takes for something else than the parser."""
    text, kinds, wrong = PROGRAMS[name], list(found), []
    assert len(kinds) == len(text)
    for start, end, kind in tokens(text):
        seen = {*kinds[start:end]} if kind != "string" else {kinds[start], kinds[end - 1]}
        if kind == "capital" and seen == {"name"}:
            seen = {"capital"}  # an operation
        if seen != {kind}:
            line = text.count("\n", 0, start) + 1
            wrong.append(f"{name}:{line}: `{text[start:end]}` is a {kind}, not {sorted(seen)}")
    return wrong


@pytest.mark.parametrize("name", PROGRAMS)
def test_pygments_agrees_with_the_parser(name: str) -> None:
    assert differences(name, _of_pygments(PROGRAMS[name])) == []


def test_pygments_finds_the_lexer() -> None:
    assert get_lexer_for_filename("sorting.got").name == get_lexer_by_name("got").name == "got"
