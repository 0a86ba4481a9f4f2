"""`gotc check` and `gotc fmt`: several files, standard input, every format, exit codes."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from cli.conftest import Gotc
from support.gotc import VOTE
from support.gotc import gotc as process

BROKEN = VOTE.replace("answer(question)\n    Vote", "anser(question)\n    Voten")


@pytest.fixture
def broken(folder: Path) -> Path:
    """A program with two errors."""
    path = folder / "broken.got"
    path.write_text(BROKEN)
    return path


def test_a_right_program_is_right(gotc: Gotc) -> None:
    done = gotc("check", "vote.got")
    assert (done.code, done.out) == (0, "")
    assert "1 file: 0 errors" in done.err


def test_every_mistake_of_every_file_at_once(gotc: Gotc, broken: Path) -> None:
    done = gotc("check", "vote.got", "broken.got", "gone.got", "broken.got")
    assert done.code == 2
    assert done.out.count("error[") == 2
    assert "broken.got:" in done.out and "^" in done.out
    assert "there is no file gone.got" in done.err
    assert "3 files: 3 errors" in done.err


@pytest.mark.parametrize("imported", [False, True])
def test_what_is_no_utf_8_has_a_place_too(gotc: Gotc, folder: Path, imported: bool) -> None:
    (folder / "latin.got").write_bytes("# caf\u00e9\n".encode("latin-1"))
    (folder / "other.got").write_text('import "latin.got"\n')
    done = gotc("check", "other.got" if imported else "latin.got")
    assert done.code == 2
    assert done.out.startswith("error[GOT0002]: invalid UTF-8 byte 0xe9\n --> latin.got:1:6\n")
    assert "save the file as UTF-8" in done.out


def test_json(gotc: Gotc, broken: Path) -> None:
    found = gotc("check", "broken.got", "vote.got", "--format", "json").json()
    assert (found["format_version"], found["ok"], found["files"]) == (2, False, ["broken.got", "vote.got"])
    errors = [entry for entry in found["diagnostics"] if entry["severity"] == "error"]
    assert len(errors) == 2
    assert all(entry["file"] == "broken.got" and entry["line"] > 1 for entry in errors)
    assert gotc("check", "vote.got", "--format", "json").json()["ok"] is True
    (broken.parent / "near.got").write_text(
        'prompt ask(q: str) -> str:\n    "{{ q }}"\nscheme a(q: str) -> str:\n    Generate() aks(q)\n'
    )
    (found, *_) = gotc("check", "near.got", "--format", "json").json()["diagnostics"]
    fix = {"file": "near.got", "line": 4, "column": 16, "end_line": 4, "end_column": 19, "text": "ask"}
    assert (found["code"], found["fix"]) == ("GOT0103", fix)
    assert gotc("check", "no.got", "--format", "json").json()["unreadable"][0]["file"] == "no.got"


def test_github_shows_each_at_its_line(gotc: Gotc, broken: Path) -> None:
    done = gotc("check", "broken.got", "--format", "github")
    lines = [line for line in done.out.splitlines() if line.startswith("::error ")]
    assert len(lines) == 2
    assert all("file=broken.got,line=" in line and "title=GOT" in line for line in lines)
    assert all("\n" not in line for line in done.out.splitlines())
    assert "%0Ahelp: did you mean `answer`?" in done.out


def test_sarif_has_what_code_scanning_wants(gotc: Gotc, broken: Path) -> None:
    found = gotc("check", "broken.got", "gone.got", "--format", "sarif").json()
    assert found["version"] == "2.1.0"
    (run,) = found["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert all(result["ruleId"] in rules for result in run["results"])
    region = run["results"][0]["locations"][0]["physicalLocation"]["region"]
    assert region["startLine"] >= 1 and region["endColumn"] > region["startColumn"]
    assert run["invocations"][0]["executionSuccessful"] is False


def test_standard_input(tmp_path: Path) -> None:
    assert process("check", "-", cwd=tmp_path, stdin=BROKEN.partition("\n")[2]).returncode == 2
    assert "<stdin>:" in process("check", "-", cwd=tmp_path, stdin=BROKEN).stdout
    done = process("fmt", "-", cwd=tmp_path, stdin="param  a=3\n")
    assert (done.returncode, done.stdout) == (0, "param a = 3\n")
    assert process("fmt", "-", "--check", cwd=tmp_path, stdin="param  a=3\n").returncode == 1
    assert process("ir", "-", cwd=tmp_path, stdin="param a = 3\n").returncode == 0


def test_fmt_changes_what_is_not_canonical_and_keeps_the_mode(gotc: Gotc, folder: Path) -> None:
    path = folder / "a.got"
    path.write_text("param   a=3   # three\r\n")
    path.chmod(0o640)
    checked = gotc("fmt", "--check", "a.got", "vote.got")
    assert checked.code == 1
    assert "would change a.got" in checked.err
    assert path.read_bytes() == b"param   a=3   # three\r\n"
    assert gotc("fmt", "a.got", "vote.got").code == 0
    assert path.read_bytes() == b"param a = 3  # three\r\n"  # the line ends are the author's
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert gotc("fmt", "--check", "a.got").code == 0
    assert [entry.name for entry in folder.iterdir() if entry.name.startswith(".a")] == []


def test_fmt_leaves_a_broken_file_and_goes_on_with_the_others(gotc: Gotc, folder: Path) -> None:
    (folder / "a.got").write_text("scheme s(")
    (folder / "b.got").write_text("param  b=1\n")
    done = gotc("fmt", "a.got", "b.got")
    assert done.code == 2
    assert "a.got:1" in done.err
    assert (folder / "a.got").read_text() == "scheme s("
    assert (folder / "b.got").read_text() == "param b = 1\n"


def test_ir_at_each_level(gotc: Gotc) -> None:
    plain, best = (gotc("ir", "vote.got", level).out for level in ("-O0", "-O2"))
    assert "batched" in best and "batched" not in plain
    assert gotc("ir", "vote.got", "-O3").code == 2


def test_files_that_are_not_there_are_told_with_what_to_do(gotc: Gotc, folder: Path) -> None:
    (folder / "rules.md").write_text("Hello {{ q }}")
    (folder / "round.py").symlink_to("round.py")
    (folder / "round.got").symlink_to("round.got")
    (folder / "m.got").write_text(
        'prompt ask(q: str) -> str from "rule.md"\nscheme main(q: str) -> str:\n    Generate() ask(q)\n'
    )
    (folder / "i.got").write_text('import "vot.got"\n')
    (folder / "s.got").write_text('simulate with "round.py"\n')
    told = gotc("check", "m.got", "i.got", "s.got", "round.got")
    assert told.code == 2
    assert told.out.count("error[") == 3, told.out
    for words in (
        "did you mean rules.md?",
        "did you mean vote.got?",
        "round.py is a link that leads to no file",
    ):
        assert words in told.out
    assert "error: cannot read round.got: it is a link that leads back to itself" in told.err
