"""Pages to walk through: every command runs, the edits fit, and what they show is what comes out.

`pytest --accept tests/test_walked_pages.py` writes the outputs into the pages.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.gotc import ROOT, environment

PAGES = [ROOT / "docs" / f"{name}.md" for name in ("tutorial", "compare", "results")]
PICTURE = ROOT / "docs" / "pictures" / "tutorial.svg"
STEP = re.compile(r"^```(console|diff)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
UNSTABLE = [
    (re.compile(r"\b[0-9a-f]{8}\b"), "RUN"),
    (re.compile(r"^(  time +).*$", re.MULTILINE), r"\1TIME"),
    (re.compile(r"/\S*/(?=sort\.got)"), ""),
]
"""What differs from one run to the next: numbers of runs, times on this machine, folders."""


PROGRESS = re.compile(r"^.* operations done, .*\n", re.MULTILINE)
"""The line that comes every five seconds: machines that are busy take that long."""


def stable(text: str) -> str:
    for pattern, word in UNSTABLE:
        text = pattern.sub(word, text)
    return text


def console(block: str, folder: Path) -> str:
    """The block's commands with what each writes on a terminal; `$?` is the exit code of the one before."""
    out = []
    code = 0
    for command in re.findall(r"^\$ (.*)$", block, re.MULTILINE):
        done = subprocess.run(
            command.replace("$?", str(code)),
            shell=True,
            cwd=folder,
            env=environment(PATH=f"{folder / 'bin'}:{os.environ['PATH']}", PYTHONUNBUFFERED="1"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
        )
        code = done.returncode
        said = PROGRESS.sub("", done.stdout)
        out.append(f"$ {command}\n{said}" + ("" if said.endswith("\n") else "\n"))
    return "".join(out)


def edit(block: str, folder: Path) -> None:
    """Replace the lines after `-` by those after `+`; they must occur exactly once."""
    head, *lines = block.splitlines()
    path = folder / head.removeprefix("--- ")
    before, after = ("".join(line[1:] + "\n" for line in lines if line[0] == sign) for sign in "-+")
    text = path.read_text()
    assert text.count(before) == 1, before
    path.write_text(text.replace(before, after))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Something like a clone with the environment active."""
    (tmp_path / "programs").symlink_to(ROOT / "programs")
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "gotc"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gotlang "$@"\n')
    command.chmod(0o755)
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_shows_what_comes_out(page: Path, folder: Path, accept: bool) -> None:
    text = page.read_text("utf-8")

    def run(match: re.Match[str]) -> str:
        kind, block = match.groups()
        if kind == "diff":
            edit(block, folder)
            return match[0]
        seen = console(block, folder)
        if stable(seen) == stable(block):
            return match[0]
        assert accept, f"run pytest with --accept\n{seen}"
        return f"```console\n{seen.replace(f'{folder}/', '')}```"

    written = STEP.sub(run, text)
    if accept:
        page.write_text(written, "utf-8")
    assert STEP.search(text)
    if (folder / "sort.svg").exists():
        if accept:
            shutil.copy(folder / "sort.svg", PICTURE)
        assert (folder / "sort.svg").read_text() == PICTURE.read_text()
