"""The commands on the pages of docs/schemes run as they stand, with the program's simulators for a model."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from gotlang.cli.main import exit_code

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs" / "schemes").glob("*.md"))
COMMANDS = [
    pytest.param(match[1], id=f"{page.stem}-{number}")
    for page in PAGES
    for number, match in enumerate(
        re.finditer(r"^gotc ((?:run|eval|compare) .*)$", page.read_text(), re.MULTILINE)
    )
]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_runs(
    command: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    code = exit_code([*shlex.split(command), "--model", "simulated"])
    said = capsys.readouterr()
    assert (code, bool(said.out.strip())) == (0, True), said.err


def test_every_page_has_a_command() -> None:
    silent = [page.name for page in PAGES if not re.search(r"^gotc run ", page.read_text(), re.MULTILINE)]
    assert PAGES
    assert silent == []
