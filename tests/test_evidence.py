"""The page of evidence: every table comes out of its recording, byte for byte, without a model and a network.

`pytest --accept tests/test_evidence.py` writes the tables into the page.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.gotc import ROOT, environment

PAGE = ROOT / "docs" / "evidence.md"
EVIDENCE = ROOT / "programs" / "evidence"
BLOCK = re.compile(r"^```console\n\$ (gotc [^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS = BLOCK.findall(PAGE.read_text("utf-8"))
MOST_SECONDS = 20.0
MOST_BYTES = 20_000_000

OFFLINE = """\
import sys

def refuse(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo"):
        raise RuntimeError(f"{event}: a replay asked for the network")

sys.addaudithook(refuse)
from gotlang.cli.main import main

sys.exit(main())
"""


def replay(command: str, folder: Path) -> tuple[str, float]:
    """What a command prints, without weights, key and network, and how many seconds it took."""
    (folder / "programs").symlink_to(ROOT / "programs")
    (folder / "gotc.py").write_text(OFFLINE)
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "gotc.py", *command.split()[1:]],
        cwd=folder,
        env=environment(XDG_CACHE_HOME=str(folder / "empty"), PYTHONPATH=str(ROOT)),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, time.monotonic() - started


@pytest.mark.parametrize("number", range(len(BLOCKS)), ids=lambda number: str(number))
def test_a_table_is_what_its_recording_gives(number: int, tmp_path: Path, accept: bool) -> None:
    command, shown = BLOCKS[number]
    seen, seconds = replay(command, tmp_path)
    if accept:
        page = PAGE.read_text("utf-8")
        start = page.index(f"$ {command}\n") + len(command) + 3
        PAGE.write_text(page[:start] + seen + page[page.index("```", start) :], "utf-8")
    else:
        assert seen == shown
    assert seconds < MOST_SECONDS * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def test_contenders_at_equal_cost_cost_the_same() -> None:
    compared = [shown for command, shown in BLOCKS if "--equal-cost" in command]
    for shown in compared:
        head, *lines = [re.split(r"  +", line) for line in shown.splitlines()[1:]]
        column = head.index("tokens")
        lines = [line for line in lines if len(line) >= column + 3]
        tokens = [float(line[column].replace(",", "")) for line in lines]
        assert len(tokens) >= 2
        assert max(tokens) <= 1.03 * min(tokens), shown
    assert len(compared) >= 5


def test_every_recording_is_on_the_page_and_all_are_small() -> None:
    recordings = sorted(EVIDENCE.rglob("*.jsonl"))
    for path in recordings:
        named = f"replay:{path.relative_to(ROOT)}"
        assert any(named in command for command, _ in BLOCKS), named
        assert str(Path.home()) not in path.read_text("utf-8")
    assert len(recordings) >= 5
    assert sum(path.stat().st_size for path in recordings) < MOST_BYTES


def test_the_rows_are_what_their_script_makes(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("make", EVIDENCE / "data" / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name in module.FILES:
        made = tmp_path / f"{name}.csv"
        module.write(name, made)
        assert made.read_bytes() == (EVIDENCE / "data" / f"{name}.csv").read_bytes()
