"""Repeated `gotc check`: the same output without compiling, until something changes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import Gotc
from support.gotc import VOTE, environment

import gotlang.checks
from gotlang.files import compile_in

PROGRAM = f"""
import "shared.got"
import python "tools.py": letters -> int
import corpus "papers.jsonl": papers
{VOTE}
scheme counted(question: str) -> int:
    Pool() letters(question)
study s:
    program "other.got"
    minimize cost
    data "rows.csv"
"""
FILES = {
    "shared.got": "type Kind = int\n",
    "tools.py": "def letters(text):\n    return len(text)\n",
    "papers.jsonl": "{}\n",
    "other.got": VOTE,
    "main.got": PROGRAM.lstrip(),
}


@pytest.fixture
def compiled(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The programs that are compiled, of those in the folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    for name, text in FILES.items():
        (folder / name).write_text(text)
    found: list[str] = []

    def noted(source: gotlang.checks.Source, files: gotlang.checks.Beside, **more: Any) -> object:
        found.append(source.name)
        return compile_in(source, files, **more)

    monkeypatch.setattr(gotlang.checks, "compile_in", noted)
    return found


def records(folder: Path) -> list[Path]:
    return list((folder / "cache" / "gotc" / "checks").iterdir())


@pytest.mark.parametrize("format", ["text", "json", "github", "sarif"])
@pytest.mark.parametrize("wrong", [False, True])
def test_what_is_known_is_said_again(
    gotc: Gotc, folder: Path, compiled: list[str], format: str, wrong: bool
) -> None:
    if wrong:
        (folder / "shared.got").write_text("type Kind = in\nparam é 5\n")
    first, again = (gotc("check", "main.got", "--format", format) for _ in range(2))
    assert first == again
    assert first.code == (2 if wrong else 0)
    assert compiled == ["main.got"]


CHANGES: dict[str, Callable[[Path], object]] = {
    "its text": lambda folder: (folder / "main.got").write_text(PROGRAM + "\n"),
    "an import": lambda folder: (folder / "shared.got").write_text("type Kind = str\n"),
    "Python": lambda folder: (folder / "tools.py").write_text("def other(): ...\n"),
    "Python that goes": lambda folder: (folder / "tools.py").unlink(),
    "a corpus that goes": lambda folder: (folder / "papers.jsonl").unlink(),
    "the program of a study": lambda folder: (folder / "other.got").write_text("param a 5\n"),
    "a program of a study that goes": lambda folder: (folder / "other.got").unlink(),
    "a damaged record": lambda folder: [path.write_text("[]") for path in records(folder)],
    "a torn record": lambda folder: [path.write_bytes(path.read_bytes()[:-9]) for path in records(folder)],
    "a folder that others write to": lambda folder: (folder / "cache" / "gotc" / "checks").chmod(0o777),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_has_changed_is_checked_again(
    gotc: Gotc, folder: Path, compiled: list[str], change: str
) -> None:
    gotc("check", "main.got")
    CHANGES[change](folder)
    changed = gotc("check", "main.got")
    assert compiled == ["main.got"] * 2
    for path in records(folder):
        path.unlink()
    assert changed == gotc("check", "main.got")


@pytest.mark.parametrize("change", CHANGES)
def test_the_ir_of_what_has_changed_is_built_again(
    gotc: Gotc, folder: Path, compiled: list[str], change: str
) -> None:
    asked = ("ir", "main.got", "--json")
    known = [gotc(*asked) for _ in range(3)]
    assert known == known[:1] * 3 and known[0].code == 0
    assert compiled == ["main.got"]
    CHANGES[change](folder)
    changed = gotc(*asked)
    assert compiled == ["main.got"] * 2
    for path in records(folder):
        path.unlink()
    assert changed == gotc(*asked)


def test_ir_that_is_damaged_or_of_another_check_is_none(
    gotc: Gotc, folder: Path, compiled: list[str]
) -> None:
    asked = ("ir", "main.got", "--json")
    wanted = gotc(*asked)
    (kept,) = (path for path in records(folder) if path.suffix == ".ir")
    good = kept.read_bytes()
    for damaged in (b"", good[:-9], good[:40] + bytes([good[40] ^ 1]) + good[41:]):
        kept.write_bytes(damaged)
        assert gotc(*asked) == wanted
        assert kept.read_bytes() == good
    assert compiled == ["main.got"] * 4
    (folder / "main.got").write_text(PROGRAM.replace("k=", "k=1") + "param unused = 1\n")
    gotc("check", "main.got")  # its record has no IR
    kept.write_bytes(good)
    assert gotc(*asked) != wanted


def test_a_program_is_not_kept_with_files_that_change_while_it_is_compiled(
    gotc: Gotc, folder: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    gotc("check", "main.got")

    def changing(source: gotlang.checks.Source, files: gotlang.checks.Beside, **more: Any) -> object:
        (folder / "shared.got").write_text("type Kind = str\n")
        return compile_in(source, files, **more)

    monkeypatch.setattr(gotlang.checks, "compile_in", changing)
    gotc("ir", "main.got")
    assert not [path for path in records(folder) if path.suffix == ".ir"]


def test_another_gotc_checks_again(gotc: Gotc, compiled: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    gotc("check", "main.got")
    monkeypatch.setattr(gotlang.checks, "_version", lambda: "another")
    gotc("check", "main.got")
    assert compiled == ["main.got"] * 2


def test_a_stranger_s_record_is_none(
    gotc: Gotc, folder: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    gotc("check", "main.got")
    monkeypatch.setattr(os, "getuid", lambda: 4711)
    gotc("check", "main.got")
    assert compiled == ["main.got"] * 2


def test_names_are_those_of_the_current_folder(
    gotc: Gotc, folder: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "below").mkdir()
    (folder / "main.got").write_text("param a 5\n")
    assert "main.got:1:9" in gotc("check", "main.got").out
    monkeypatch.chdir(folder / "below")
    assert "../main.got:1:9" in gotc("check", "../main.got").out


def test_where_nothing_can_be_written_checks_go_on(gotc: Gotc, folder: Path, compiled: list[str]) -> None:
    (folder / "cache").write_text("")
    assert [gotc("check", "main.got").code for _ in range(2)] == [0, 0]
    assert compiled == ["main.got"] * 2


def test_only_so_many_records_are_kept(
    gotc: Gotc, folder: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gotlang.checks, "_MOST", 2)
    for name in ("shared.got", "main.got", "other.got"):
        gotc("check", name)
    kept = {json.loads(path.read_text())["sources"][0] for path in records(folder)}
    assert kept == {"main.got", "other.got"}


_LEAN = "import gotlang.__main__ as start; start._import_msgspec(); from gotlang.cli.main import exit_code"
_LOADED = """
import sys
print("MODULES", *sys.modules)
for module in [one for name, one in sys.modules.items() if name.startswith("gotlang")]:
    for made in vars(module).values():
        if "__dataclass_fields__" in vars(made) if isinstance(made, type) else False:
            print(f"dataclass:{made.__module__}.{made.__qualname__}", end=" ")
"""
"""Names modules, and the dataclasses that were made: each takes as long as twenty of msgspec's structs."""


def test_an_unchanged_check_imports_no_compiler_and_reads_no_grammar(folder: Path) -> None:
    parts = {"gotlang.compiler", "gotlang.syntax.grammar", "gotlang.semantics.check"}
    heavy = {*parts, "lark", "jinja2", "html.entities"}
    command = [sys.executable, "-c", f"{_LEAN}; exit_code(['check', 'vote.got'])\n{_LOADED}"]
    first, again = (
        set(
            subprocess.check_output(command, cwd=folder, env=environment(XDG_CACHE_HOME=str(folder)))
            .decode()
            .split()
        )
        for _ in range(2)
    )
    assert first & heavy
    assert not again & heavy
    # A prompt needs no Jinja, and a check without options no click.
    for found, own, most in ((first, 120, 224), (again, 21, 125)):
        assert found.isdisjoint({"jinja2", "click", "inspect", "typing_extensions"})
        assert len({name for name in found if name.startswith("gotlang")}) <= own
        assert len({name for name in found if "dataclass:" not in name}) < most
        assert not {name for name in found if name.startswith("dataclass:")}


@pytest.mark.parametrize(
    ("arguments", "most"), [(["fmt", "vote.got"], 200), (["--help"], 160), (["--version"], 160)]
)
def test_formatting_and_help_import_no_runtime(folder: Path, arguments: list[str], most: int) -> None:
    code = f"import sys; from gotlang.cli.main import exit_code; exit_code({arguments})"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{_LOADED}"],
        cwd=folder, env=environment(), capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = set(done.stdout.partition("MODULES ")[2].split())
    assert {"gotlang.cli.main", "click"} <= found
    assert found.isdisjoint({"asyncio", "jinja2", "lark", "gotlang.api", "gotlang.semantics.check"})
    assert len(found) < most and not any(name.startswith("dataclass:") for name in found)


def test_a_run_does_not_look_again_for_what_a_check_has_found(folder: Path) -> None:
    (folder / "vote.got").write_text(VOTE + "param unused = 1\n")
    run = ["run", "vote.got", "--input", "question=?", "--allow-python"]
    command = [sys.executable, "-c", f"{_LEAN}; exit_code({run})\n{_LOADED}"]
    kept = environment(XDG_CACHE_HOME=str(folder))
    found = [
        subprocess.run(command, cwd=folder, env=kept, capture_output=True, text=True, check=True)
        for _ in range(3)
    ]
    first, again, last = (done.stdout.split() for done in found)
    assert "gotlang.analysis" in first
    assert again[0] == first[0] and last[0] == first[0]
    assert all("1 warning" in done.stderr for done in found)
    heavy = {
        "gotlang.analysis",
        "lark",
        "email",
        "optuna",
        "openai",
        "aiohttp",
        "importlib.metadata",
        "tomllib",
        "difflib",
        "jinja2",
        "statistics",
        "gotlang.cache.cassette",
        "gotlang.evaluate.rows",
        "gotlang.compiler",
        "gotlang.syntax.parse",
        "gotlang.semantics.check",
        "sqlitedict",
        "click",
        "typing_extensions",
        "gotlang.statistics",
        "gotlang.operations.search",
        "gotlang.runtime.search",
    }
    assert heavy & set(last) == set()
    assert len({name for name in last if "dataclass:" not in name}) < 340
    assert len({name for name in last if name.startswith("dataclass:")}) <= 2
    (folder / "vote_sim.py").write_text("def other(rng): ...\n")
    wrong = subprocess.run(command, cwd=folder, env=kept, capture_output=True, text=True)
    assert "error[GOT" in wrong.stderr
