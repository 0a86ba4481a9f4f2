"""Texts and diagnostics: what is open takes precedence over the disk, in each file of a program."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest
from lsprotocol import types
from support.editor import at, change, editor
from support.gotc import ROOT, environment

MAIN = """\
from "lib.got" import answer

scheme vote(question: str) -> str:
    Generate(k=3) answer(question)
    Vote()
"""
LIB = """\
prompt answer(question: str) -> str:
    "{{ question }} 😀"
"""

MARKED = """\
prompt p(q: str) -> str:
    "😀é {{ qq }}"

scheme s(q: str) -> str:
    Generate() p(q)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "main.got").write_text(MAIN)
    (tmp_path / "lib.got").write_text(LIB)
    return tmp_path


def test_a_text_that_is_not_saved_is_checked_while_it_changes(folder: Path) -> None:
    async def edits() -> None:
        async with editor(folder) as made:
            made.open("main.got")
            made.edit("main.got", change(at(3, 18), at(3, 24), "anser"))
            (found,) = await made.codes("main.got", "GOT0103")
            assert found.range == types.Range(at(3, 18), at(3, 23))
            assert found.source == "gotc" and found.severity == types.DiagnosticSeverity.Error
            assert "did you mean `answer`?" in found.message
            assert found.code_description is not None
            assert "diagnostics.md#got0103" in found.code_description.href
            made.edit("main.got", change(at(3, 18), at(3, 23), "answer"))
            await made.codes("main.got")

    asyncio.run(edits())


def test_diagnostics_are_of_each_file_and_end_when_its_program_is_closed(folder: Path) -> None:
    async def edits() -> None:
        async with editor(folder) as made:
            made.open("main.got")
            await made.codes("main.got")
            made.open("lib.got", LIB.replace("question }}", "question_1 }}"))
            await made.codes("lib.got", "GOT0404")
            made.close("lib.got")
            await made.codes("lib.got")
            (folder / "lib.got").write_text(LIB.replace("question }}", "questio }}"))
            assert made.registered == ["workspace/didChangeWatchedFiles"]
            event = types.FileEvent(made.uri("lib.got"), types.FileChangeType.Changed)
            made.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))
            await made.codes("lib.got", "GOT0404")
            (folder / "lib.got").write_text(LIB)
            made.text_document_did_save(types.DidSaveTextDocumentParams(made.identifier("lib.got")))
            await made.codes("lib.got")
            made.close("main.got")
            await made.codes("lib.got")

    asyncio.run(edits())


def test_positions_count_in_the_units_that_the_client_knows(tmp_path: Path) -> None:
    text = MARKED.replace("\n", "\r\n")

    async def edits(start: int, *kinds: types.PositionEncodingKind) -> None:
        async with editor(tmp_path, *kinds) as made:
            made.open("a.got", text)
            (found,) = await made.codes("a.got", "GOT0404")
            assert found.range.start == at(1, start), kinds
            made.edit("a.got", change(at(1, start), at(1, start + 1), ""))
            await made.codes("a.got")

    for kind, start in (("utf-16", 12), ("utf-8", 15), ("utf-32", 11)):
        asyncio.run(edits(start, types.PositionEncodingKind(kind)))
    asyncio.run(edits(12))  # a client that says nothing of it


def test_without_its_extra_it_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.util as u\n_find = u.find_spec\n"
        "u.find_spec = lambda name, *more: None if name == 'pygls' else _find(name, *more)\n"
    )
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    found = subprocess.run(
        [sys.executable, "-m", "gotlang", "lsp"],
        env=environment(PYTHONPATH=path),
        capture_output=True,
        text=True,
    )
    assert found.returncode == 2 and "pip install 'gotlang[lsp]'" in found.stderr


def test_no_python_of_a_program_runs(tmp_path: Path) -> None:
    """Nor in a trusted folder: the tests trust every folder."""
    for name in ("sim.py", "tools.py"):
        (tmp_path / name).write_text(
            f"open({str(tmp_path / 'ran')!r}, 'w').close()\ndef p(rng, question): return question\n"
        )
    text = 'simulate with "sim.py"\nimport python "tools.py": p2\n\n' + LIB.replace("answer", "p")

    async def session() -> None:
        async with editor(tmp_path) as made:
            made.open("a.got", text)
            document = made.identifier("a.got")
            await made.codes("a.got", "GOT0108")
            await made.text_document_hover_async(types.HoverParams(document, at(3, 8)))
            await made.text_document_completion_async(types.CompletionParams(document, at(4, 8)))
            await made.text_document_rename_async(types.RenameParams(document, at(3, 8), "other"))

    asyncio.run(session())
    assert not (tmp_path / "ran").exists()
