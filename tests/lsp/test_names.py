"""Definitions, references and rename through the protocol, with files that are not saved."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from support.editor import Editor, at, editor

MAIN = """\
from "lib.got" import answer
from std.vote import self_consistency

scheme vote(question: str) -> str:
    Generate(k=3) answer(question)
    Vote()

scheme again(question: str) -> str:
    self_consistency(question, answer)
"""
LIB = """\
prompt answer(question: str) -> str:
    "😀 {{ question }}"
"""
OTHER = """\
import "lib.got" as lib

scheme other(question: str) -> str:
    Generate() lib.answer(question)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "main.got").write_text(MAIN)
    (tmp_path / "lib.got").write_text(LIB)
    (tmp_path / "other.got").write_text(OTHER)
    return tmp_path


def shown(made: Editor, places: object) -> list[str]:
    """`lib.got:0:7-13` for each location."""
    assert isinstance(places, list | tuple)
    found = []
    for place in places:
        assert isinstance(place, types.Location)
        start, end = place.range.start, place.range.end
        found.append(f"{Path(place.uri).name}:{start.line}:{start.character}-{end.character}")
    return found


def test_definitions_references_and_highlights(folder: Path) -> None:
    async def ask() -> None:
        async with editor(folder) as made:
            made.open("main.got")
            main = made.identifier("main.got")
            found = await made.text_document_definition_async(types.DefinitionParams(main, at(4, 20)))
            assert shown(made, found) == ["lib.got:0:7-13"]
            found = await made.text_document_definition_async(types.DefinitionParams(main, at(8, 6)))
            assert [place.split(":")[0] for place in shown(made, found)] == ["vote.got"]
            context = types.ReferenceContext(include_declaration=True)
            found = await made.text_document_references_async(types.ReferenceParams(context, main, at(4, 20)))
            everywhere = ["lib.got:0:7-13", "main.got:0:22-28", "main.got:4:18-24", "main.got:8:31-37"]
            assert shown(made, found) == [*everywhere, "other.got:3:19-25"]
            lit = await made.text_document_document_highlight_async(
                types.DocumentHighlightParams(main, at(3, 14))
            )
            assert lit is not None
            assert [(x.range.start.line, x.range.start.character) for x in lit] == [(3, 12), (4, 25)]
            # Files that are open count with the text that they have there.
            made.open("lib.got", "# first\n" + LIB)
            found = await made.text_document_definition_async(types.DefinitionParams(main, at(4, 20)))
            assert shown(made, found) == ["lib.got:1:7-13"]

    asyncio.run(ask())


def test_rename_changes_every_file_or_says_why_not(folder: Path) -> None:
    async def ask() -> None:
        async with editor(folder) as made:
            made.open("main.got")
            main, lib = made.identifier("main.got"), made.identifier("lib.got")
            may = await made.text_document_prepare_rename_async(types.PrepareRenameParams(main, at(4, 20)))
            assert isinstance(may, types.PrepareRenamePlaceholder) and may.placeholder == "answer"
            edit = await made.text_document_rename_async(types.RenameParams(main, at(4, 20), "reply"))
            assert edit is not None and edit.changes is not None
            assert {
                Path(uri).name: [(e.range.start.line, e.range.start.character, e.new_text) for e in edits]
                for uri, edits in edit.changes.items()
            } == {
                "lib.got": [(0, 7, "reply")],
                "main.got": [(0, 22, "reply"), (4, 18, "reply"), (8, 31, "reply")],
                "other.got": [(3, 19, "reply")],
            }
            edit = await made.text_document_rename_async(types.RenameParams(lib, at(1, 11), "task"))
            assert edit is not None and edit.changes is not None
            (edits,) = edit.changes.values()
            assert [(e.range.start.line, e.range.start.character) for e in edits] == [(0, 14), (1, 11)]
            for position, new, reason in (
                (at(4, 6), "x", "there is no name to rename here"),
                (at(8, 6), "x", "is declared in the package `std`"),
                (
                    at(4, 20),
                    "vote",
                    "`vote` causes an error: duplicate name `vote` (in main.got)",
                ),
                (at(4, 20), "if", "`if` is a reserved word"),
            ):
                with pytest.raises(JsonRpcException, match=reason.replace("(", "\\(").replace(")", "\\)")):
                    await made.text_document_rename_async(types.RenameParams(main, position, new))

    asyncio.run(ask())


def test_only_files_of_the_folder_are_read(tmp_path: Path) -> None:
    """A pipe that looks like a program would never end."""
    os.mkfifo(tmp_path / "pipe.got")
    (tmp_path / "folder.got").mkdir()
    (tmp_path / "a.got").write_text('prompt ask(q: str) -> str:\n    "{{ q }}"\n')

    async def session() -> None:
        async with editor(tmp_path) as made:
            made.open("a.got")
            context = types.ReferenceContext(include_declaration=True)
            asked = types.ReferenceParams(context, made.identifier("a.got"), at(0, 8))
            async with asyncio.timeout(30):
                assert len(await made.text_document_references_async(asked) or ()) == 1

    asyncio.run(session())
