"""What a run from the cache does not import."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.gotc import VOTE, gotc
from support.openai_server import OpenAIServer

UNUSED = {"gotlang.data.table", "gotlang.report.trace"}
"""What only other programs and options need."""


@pytest.mark.parametrize(("provider", "client"), [("openai", "aiohttp"), ("openai-sdk", "openai")])
def test_a_run_from_the_cache_imports_no_client(tmp_path: Path, provider: str, client: str) -> None:
    (tmp_path / "vote.got").write_text(VOTE.partition("\n")[2])
    with OpenAIServer(lambda body, index: f"{index % 2}") as server:
        more = ("--input", "question=why", "--model", f"{provider}:small", "--base-url", server.url)
        runs = [gotc("run", "vote.got", *more, cwd=tmp_path, PYTHONPROFILEIMPORTTIME="1") for _ in range(2)]
    assert [run.returncode for run in runs] == [0, 0], runs[1].stderr
    imported = [{line.rpartition("|")[2].strip() for line in run.stderr.splitlines()} for run in runs]
    assert client in imported[0]
    assert client not in imported[1]
    assert "gotlang.runtime.run" in imported[1]
    assert sorted(imported[1] & UNUSED) == []
