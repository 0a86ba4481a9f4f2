"""The page `gotc docs quickstart`: its ten commands run from an empty folder, with the wheel alone, and print
what the page shows. `pytest --accept tests/test_quickstart.py` writes the outputs into the page."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from support.gotc import ROOT, environment
from support.installed import Missing, gotc_of, install
from test_walked_pages import PROGRESS, stable

PAGE = ROOT / "docs" / "quickstart.md"
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the page's `pip install` installs."""
    (extras,) = re.findall(r"^pip install 'gotlang\[(.*)\]'$", PAGE.read_text(), re.MULTILINE)
    try:
        return install(wheel, tmp_path_factory.mktemp("quickstart") / "site", *extras.split(","))
    except Missing as missing:
        pytest.skip(f"an extra is not installed: {missing}")


def test_the_ten_commands_print_what_the_page_shows(installed: Path, tmp_path: Path, accept: bool) -> None:
    empty, own = tmp_path / "empty", {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    empty.mkdir()
    folder, ran = empty, []

    def run(match: re.Match[str]) -> str:
        nonlocal folder
        out = ""
        for line in re.findall(r"^\$ (.*)$", match[1], re.MULTILINE):
            command, *words = shlex.split(line)
            out += f"$ {line}\n"
            if command == "cd":
                folder /= words[0]
                continue
            assert command == "gotc"
            done = subprocess.run(
                [sys.executable, "-S", "-m", "gotlang", *words],
                cwd=folder,
                env={**environment(**own), "PYTHONPATH": str(installed), "PYTHONUNBUFFERED": "1"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=120,
            )
            assert done.returncode == 0, (line, done.stdout)
            ran.append(words[0])
            out += PROGRESS.sub("", done.stdout)
        if not accept:
            assert stable(out) == stable(match[1]), "run pytest with --accept"
        return match[0] if stable(out) == stable(match[1]) else f"```console\n{out}```"

    text = BLOCK.sub(run, PAGE.read_text("utf-8"))
    assert ran == ["init", "check", "test", "run", "eval", "compare", "explain", "tune", "run", "studio"]
    if accept:
        PAGE.write_text(text, "utf-8")


def test_the_wheel_shows_and_searches_its_pages(installed: Path, tmp_path: Path) -> None:
    assert gotc_of(installed, "docs", "quickstart", cwd=tmp_path).stdout == PAGE.read_text("utf-8")
    listed = gotc_of(installed, "docs", cwd=tmp_path).stdout
    pages = {str(page.relative_to(ROOT / "docs").with_suffix("")) for page in (ROOT / "docs").rglob("*.md")}
    assert pages <= set(listed.split())
    assert "programs/sort128.got" in listed and "std/vote.got" in listed
    program = gotc_of(installed, "docs", "programs/sort128.got", cwd=tmp_path).stdout
    assert program == (ROOT / "programs" / "sort128.got").read_text()
    found = gotc_of(installed, "docs", "--search", "votes weight", cwd=tmp_path).stdout
    assert found.startswith("language#votes")
