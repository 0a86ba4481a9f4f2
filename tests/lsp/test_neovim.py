"""Neovim's own client, without a screen: every program of the tree, and one that is edited."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.gotc import ROOT, environment

from gotlang.checks import check
from gotlang.files import read_source

MAIN = """\
from "lib.got" import answer


scheme vote(question: str) -> str:
    Generate(k=3) answer(question)
    Vote()
"""
LIB = 'prompt answer(question: str) -> str:\n    "😀 {{ question }}"\n'
PROGRAMS = [
    path
    for folder in ("programs", "studies", "gotlang/std", "gotlang/cli/templates", "docs", "benchmarks")
    for path in sorted((ROOT / folder).rglob("*.got"))
]

pytestmark = pytest.mark.skipif(shutil.which("nvim") is None, reason="Neovim is not installed (apt: neovim)")


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What one session of Neovim saw."""
    folder = tmp_path_factory.mktemp("neovim")
    (folder / "main.got").write_text(MAIN)
    (folder / "lib.got").write_text(LIB)
    (folder / "files").write_text("".join(f"{path}\n" for path in PROGRAMS))
    environ = environment(
        GOT_OUT=str(folder / "out.json"),
        GOT_FILES=str(folder / "files"),
        GOT_SERVER="\n".join([sys.executable, "-m", "gotlang", "lsp"]),
        GOT_ROOT=str(folder),
        GOT_MAIN=str(folder / "main.got"),
        GOT_LIB=str(folder / "lib.got"),
        XDG_STATE_HOME=str(folder),
    )
    script = str(Path(__file__).with_name("neovim.lua"))
    done = subprocess.run(
        ["nvim", "--headless", "-u", "NONE", "-i", "NONE", "-c", f"luafile {script}"],
        cwd=folder,
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert (folder / "out.json").exists(), done.stderr
    found: dict[str, Any] = json.loads((folder / "out.json").read_text())
    assert "failed" not in found, found["failed"]
    return found


def test_no_program_of_the_tree_has_a_false_diagnostic(session: dict[str, Any]) -> None:
    assert len(PROGRAMS) > 60 and session["diagnostics"].keys() == {str(path) for path in PROGRAMS}
    for path in PROGRAMS:
        expected = check(read_source(path), path.parent).diagnostics
        own = sorted(d.code for d in expected if d.span.source == str(path))
        assert sorted(d["code"] for d in session["diagnostics"][str(path)]) == own, path


def test_a_mistake_is_shown_while_typing(session: dict[str, Any]) -> None:
    (mistake,) = session["answers"]["mistake"]
    assert (mistake["code"], mistake["line"], mistake["column"]) == ("GOT0103", 4, 18)
    assert "did you mean `answer`?" in mistake["message"]


def test_it_goes_to_a_definition(session: dict[str, Any]) -> None:
    (place,) = session["answers"]["definition"]
    assert place["uri"].endswith("lib.got")
    assert place["range"]["start"] == {"line": 0, "character": 7}


def test_it_completes_and_explains(session: dict[str, Any]) -> None:
    completion = session["answers"]["completion"]
    items = completion["items"] if isinstance(completion, dict) else completion
    assert "answer" in {item["label"] for item in items}
    contents = session["answers"]["hover"]["contents"]
    assert "answer(question: str)" in (contents["value"] if isinstance(contents, dict) else str(contents))


def test_it_renames_in_both_files(session: dict[str, Any]) -> None:
    renamed = session["answers"]["renamed"]
    assert renamed[0] == 'from "lib.got" import reply' and renamed[4] == "    Generate(k=3) reply(question)"
    assert session["answers"]["renamed_in_other"][0] == "prompt reply(question: str) -> str:"


def test_it_formats(session: dict[str, Any]) -> None:
    formatted = session["answers"]["formatted"]
    assert formatted[:4] == ['from "lib.got" import reply', "", "param a = 3", ""]
    assert formatted[4].startswith("scheme vote")
