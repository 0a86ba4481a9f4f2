"""`--corpus`: another corpus for one that a program imports, in run, eval, compare, tune and Python."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.gotc import document, gotc

import gotlang
from gotlang.api import Options
from gotlang.errors import UsageError

TEXT = """
import corpus "small.jsonl": pages

scheme main(question: str, style: int) -> str:
    Retrieve(k=1) pages(question)
    Vote()
scheme other(question: str, style: int) -> str:
    Retrieve(k=1) pages(question)
    Vote()
metric known(found: str, truth: str) -> higher:
    found == truth
study s:
    scheme tuned
    data "q.csv"
    maximize known
    trials 1
param k = 1 in 1..2
scheme tuned(question: str, style: int) -> str:
    Retrieve(k=k) pages(question)
    Vote()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    home = tmp_path / "program"
    home.mkdir()
    (home / "p.got").write_text(TEXT)
    (home / "small.jsonl").write_text(json.dumps({"text": "the Sorn is short"}) + "\n")
    (home / "q.csv").write_text(
        "question,style,answer\n" + "".join(f"Sorn?,{n},the Sorn is long\n" for n in range(4))
    )
    (tmp_path / "large.jsonl").write_text(json.dumps({"text": "the Sorn is long"}) + "\n")
    return home


@pytest.fixture
def large() -> tuple[str, str]:
    return "--corpus", "pages=../large.jsonl"


def test_every_command_searches_the_corpus_that_the_user_gives(folder: Path, large: tuple[str, str]) -> None:
    asked = ("run", "p.got", "--scheme", "main", "--input", "question=Sorn?", "--input", "style=1", "--json")
    assert document(gotc(*asked, cwd=folder))["result"] == "the Sorn is short"
    assert document(gotc(*asked, *large, cwd=folder))["result"] == "the Sorn is long"
    rows = ("p.got", "--data", "q.csv", "--json")
    found = document(gotc("eval", *rows, "--scheme", "main", *large, cwd=folder))
    assert found["metrics"]["known"]["mean"] == 1
    page = ("--html", "page.html")
    found = document(gotc("compare", *rows, "--schemes", "main,other", *large, *page, cwd=folder))
    assert [one["metrics"]["known"]["mean"] for one in found["schemes"]] == [1, 1]
    assert "--corpus pages=../large.jsonl" in (folder / "page.html").read_text()
    done = gotc("tune", "p.got", *large, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    first = json.loads((folder / "s.tuned.json").read_text())["provenance"]["identity"]
    assert gotc("tune", "p.got", cwd=folder).returncode == 0
    assert json.loads((folder / "s.tuned.json").read_text())["provenance"]["identity"] != first


def test_a_wrong_corpus_is_one_message(folder: Path) -> None:
    asked = ("run", "p.got", "--scheme", "main", "--input", "question=Sorn?", "--input", "style=1")
    for given, words in (
        ("page=../large.jsonl", "did you mean `pages`?"),
        ("pages=../none.jsonl", "cannot read the corpus ../none.jsonl"),
        ("pages", "is not of the form NAME=PATH"),
    ):
        done = gotc(*asked, "--corpus", given, cwd=folder)
        assert done.returncode == 2
        assert words in done.stderr


def test_a_run_is_repeated_with_its_corpus_if_that_is_not_a_strangers(
    folder: Path, large: tuple[str, str]
) -> None:
    (folder / "inner.jsonl").write_text((folder.parent / "large.jsonl").read_text())
    asked = ("run", "p.got", "--scheme", "main", "--input", "question=Sorn?", "--input", "style=1")
    for corpus, code in (("inner.jsonl", 0), ("../large.jsonl", 2)):
        assert gotc(*asked, "--corpus", f"pages={corpus}", cwd=folder).returncode == 0
        latest = max(
            (folder / ".gotc" / "runs").glob("*.json"), key=lambda path: path.stat().st_mtime_ns
        ).stem
        done = gotc("run", "--resume", latest, cwd=folder)
        assert done.returncode == code, done.stderr
        assert ("long" in done.stdout) == (code == 0)
        assert ("needs your trust" in done.stderr) == (code == 2)
        assert gotc("run", "--resume", latest, "--corpus", f"pages={corpus}", cwd=folder).returncode == 0
    (folder / "gotc.toml").write_text('[run]\ncorpus = ["pages=../large.jsonl"]\n')
    done = gotc(*asked, cwd=folder)
    assert done.returncode == 2
    assert "needs your trust" in done.stderr


def test_python_has_the_same(folder: Path) -> None:
    program = gotlang.load(folder / "p.got")
    options = Options(model="simulated", cache=None, corpora={"pages": folder.parent / "large.jsonl"})
    assert program.run(scheme="main", question="Sorn?", style=1, options=options).value == "the Sorn is long"
    with pytest.raises(UsageError, match="imports no corpus `wiki`"):
        program.run(scheme="main", question="Sorn?", style=1, options=Options(corpora={"wiki": "x"}))
