"""`gotc` in this process, for tests that need no process of their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.gotc import vote

from gotlang.cli.main import exit_code


@dataclass(frozen=True)
class Done:
    """What a command gave."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """The document on stdout."""
        import json

        return json.loads(self.out)


Gotc = Callable[..., Done]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: an empty one but for a small program."""
    monkeypatch.chdir(tmp_path)
    vote(tmp_path)
    return tmp_path


@pytest.fixture
def gotc(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Gotc:
    """Run `gotc` in the folder."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("OPENAI_MODEL", raising=False)

    def run(*arguments: object) -> Done:
        capsys.readouterr()
        code = exit_code([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return Done(code, out, err)

    return run
