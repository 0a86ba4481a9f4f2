"""Outline, folds, colours and formatting, through the protocol and on every program of the tree."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from lsprotocol import types
from support.editor import Editor, at, change, editor
from support.gotc import ROOT

from gotlang.editing.documents import Document, analyzed
from gotlang.editing.outline import folds, outline
from gotlang.editing.tokens import MODIFIERS, TYPES, tokens

TEXT = """\
# What it is about,
# in two lines.
import "lib.got"
import python "tools.py": look -> str

type Act = Look {where: str} | Stop

param tries = 3 in 1..5

prompt answer(question: str) -> str:
    temperature 0.5
    \"\"\"
    😀 Answer {{ question }}
    \"\"\"

scheme vote(question: str) -> str:
    asked = Generate(k=tries) answer(question)
    foreach one in [question]:
        Pool() one
    Vote()

test "is short": vote("a") == "b"
"""


def read(made: Document) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(made.source.text[t.start : t.end], t.type, t.modifiers) for t in tokens(made)]


def test_the_outline_has_each_declaration_with_its_parts() -> None:
    made = analyzed("<a.got>", TEXT, {})
    found = [(x.name, x.kind, [(y.name, y.kind) for y in x.inside]) for x in outline(made)]
    assert found == [
        ("look", "python", []),
        ("Act", "type", [("Look", "case"), ("where", "field"), ("Stop", "case")]),
        ("tries", "param", []),
        ("answer", "prompt", []),
        ("vote", "scheme", [("asked", "local")]),
        ("is short", "test", []),
    ]
    assert outline(made)[4].detail == "scheme vote(question: str) -> str"


def test_declarations_blocks_texts_comments_and_imports_fold() -> None:
    made = analyzed("<a.got>", TEXT, {})
    assert [(fold.start, fold.end, fold.kind) for fold in folds(made)] == [
        (1, 2, "comment"),
        (3, 4, "imports"),
        (10, 14, "region"),
        (12, 14, "region"),
        (16, 20, "region"),
        (18, 19, "region"),
    ]


def test_words_have_types_by_what_they_mean() -> None:
    found = read(analyzed("<a.got>", TEXT, {}))
    for word in (
        ("# in two lines.", "comment", ()),
        ("param", "keyword", ()),
        ("tries", "variable", ("declaration", "readonly")),
        ("tries", "variable", ("readonly",)),
        ("answer", "function", ("declaration",)),
        ("answer", "function", ()),
        ("question", "parameter", ("declaration",)),
        ("question", "parameter", ()),
        ("one", "variable", ("declaration",)),
        ("Act", "type", ("declaration",)),
        ("Look", "enumMember", ("declaration",)),
        ("where", "property", ("declaration",)),
        ("0.5", "number", ()),
        ("Generate", "function", ("defaultLibrary",)),
    ):
        assert word in found, word


@pytest.mark.parametrize("folder", ["programs", "docs", "gotlang/std", "studies"])
def test_every_program_has_an_outline_folds_and_words_in_order(folder: str) -> None:
    for path in sorted((ROOT / folder).rglob("*.got")):
        made = analyzed(str(path), path.read_text("utf-8"), {})
        end = 0
        for token in tokens(made):
            assert end <= token.start < token.end, path
            assert "\n" not in made.source.text[token.start : token.end], path
            assert token.type in TYPES and {*token.modifiers} <= {*MODIFIERS}, path
            end = token.end
        for entry in outline(made):
            assert entry.span.start <= entry.at.start < entry.at.end <= entry.span.end, path
            assert all(
                entry.span.start <= x.span.start and x.span.end <= entry.span.end for x in entry.inside
            )
        count = made.source.text.count("\n")
        assert all(1 <= fold.start < fold.end <= count for fold in folds(made)), path


async def decoded(made: Editor, name: str, text: str) -> list[tuple[str, str]]:
    """The words and types that the server's numbers mean, as an editor reads them."""
    given = await made.text_document_semantic_tokens_full_async(
        types.SemanticTokensParams(made.identifier(name))
    )
    assert given is not None
    lines = [line.encode("utf-16-le") for line in text.split("\n")]
    line = start = 0
    found = []
    for i in range(0, len(given.data), 5):
        down, right, length, type_, _ = given.data[i : i + 5]
        line, start = line + down, right + (0 if down else start)
        found.append((lines[line][2 * start : 2 * (start + length)].decode("utf-16-le"), TYPES[type_]))
    return found


def test_through_the_protocol(tmp_path: Path) -> None:
    (tmp_path / "lib.got").write_text("param width = 3\n")
    (tmp_path / "tools.py").write_text("def look():\n    return ''\n")

    async def ask() -> None:
        async with editor(tmp_path) as made:
            made.open("a.got", TEXT)
            document = made.identifier("a.got")
            words = await decoded(made, "a.got", TEXT)
            assert words == [
                (word, type_) for word, type_, _ in read(analyzed(str(tmp_path / "a.got"), TEXT, {}))
            ]
            assert ("question", "parameter") in words
            symbols = await made.text_document_document_symbol_async(types.DocumentSymbolParams(document))
            assert symbols is not None and [x.name for x in symbols][-2:] == ["vote", "is short"]
            found = await made.workspace_symbol_async(types.WorkspaceSymbolParams("wid"))
            assert found is not None and [x.name for x in found] == ["width"]
            lines = await made.text_document_folding_range_async(types.FoldingRangeParams(document))
            assert lines is not None and (lines[0].start_line, lines[0].end_line) == (0, 1)

    asyncio.run(ask())


def test_formatting_changes_only_lines_that_are_not_canonical(tmp_path: Path) -> None:
    options = types.FormattingOptions(tab_size=4, insert_spaces=True)

    async def ask() -> None:
        async with editor(tmp_path) as made:
            made.open("a.got", "# 😀\r\nparam a=3\r\nparam b = 4")
            document = made.identifier("a.got")
            params = types.DocumentFormattingParams(document, options)
            edits = await made.text_document_formatting_async(params)
            assert edits is not None
            (edit,) = edits
            assert edit.range == types.Range(at(1, 0), at(2, 11))
            assert edit.new_text == "param a = 3\nparam b = 4\n"
            made.edit("a.got", change(edit.range.start, edit.range.end, edit.new_text))
            assert not await made.text_document_formatting_async(params)
            made.edit("a.got", "param a=3\nscheme s(:\n")  # what cannot be read stays as it is
            assert not await made.text_document_formatting_async(params)

    asyncio.run(ask())
