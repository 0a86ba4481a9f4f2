"""The page on studies: its program, its commands and its Python run, one after the other, in one folder."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("optuna", reason="the extra `tune` is not installed")
pytest.importorskip("dspy", reason="the extra `tune` is not installed")

from support.gotc import ROOT, gotc

from gotlang.tune.plan import read_plan
from gotlang.tune.space import space_of
from gotlang.tune.study import split

PAGE = (ROOT / "docs" / "studies.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(got|python|sh)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_page_is_true(tmp_path: Path) -> None:
    said: list[str] = []
    home = str(tmp_path / "config")
    for kind, text in BLOCKS:
        if kind == "got":
            (tmp_path / "guess.got").write_text(text)
        elif kind == "python":
            command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{text}"]
            env = {**os.environ, "XDG_CONFIG_HOME": home}
            done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120)
            assert done.returncode == 0, done.stderr
            said.append(done.stdout)
        else:
            for line in text.splitlines():
                done = gotc(*shlex.split(line)[1:], cwd=tmp_path, XDG_CONFIG_HOME=home)
                assert done.returncode == 0, (line, done.stderr)
                said.append(done.stdout)
    told = "".join(said)
    assert "better: " in told
    assert (tmp_path / "near.html").stat().st_size > 20_000
    assert 'param style = "fancy"' in (tmp_path / "guess.got").read_text()
    assert len(BLOCKS) >= 6


def test_the_table_of_studies_is_what_they_vary() -> None:
    row = r"^\| `(studies/\w+\.got)` \| [^|]* \| [^|]* \| ([^|]*) \| (\d+) \|$"
    rows = re.findall(row, PAGE, re.MULTILINE)
    assert {file for file, _, _ in rows} == {f"studies/{p.name}" for p in (ROOT / "studies").glob("*.got")}
    for file, varies, trials in rows:
        plan = read_plan(ROOT / file)
        assert plan.trials == int(trials)
        assert split(plan).test  # its data has as many different rows as it asks for
        ranges = re.findall(r"`(\w+)` (\d+)\.\.(\d+)", varies)
        for dimension in space_of(plan).dimensions:
            if dimension.low != dimension.high:
                assert (dimension.param, str(dimension.low), str(dimension.high)) in ranges
        assert bool(plan.searches) == ("COPRO" in varies)
