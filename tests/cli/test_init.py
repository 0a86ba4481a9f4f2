"""`gotc init`: each generated folder passes its checks, and all commands of its README work offline."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from cli.conftest import Gotc
from support.gotc import gotc as process

from gotlang.cli.init import TEMPLATES


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_folder_does_all_that_its_readme_says(template: str, tmp_path: Path) -> None:
    made = process("init", "my folder", "--template", template, cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    folder = tmp_path / "my folder"
    program = f"{template}.got"
    assert process("fmt", "--check", program, cwd=folder).returncode == 0
    readme = (folder / "README.md").read_text()
    assert "{" not in readme and readme.startswith("# my folder\n")
    (block,) = re.findall(r"^```sh\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    said = {}
    for line in block.splitlines():
        _, command, *words = shlex.split(line, comments=True)
        done = process(command, *words, cwd=folder)
        assert done.returncode == 0, (line, done.stdout, done.stderr)
        said[command] = done.stdout + done.stderr
    assert list(said) == ["check", "test", "run", "eval", "compare", "explain", "tune"]
    assert "1 file: 0 errors" in said["check"] and "does not hold" not in said["test"]
    assert re.search(r"  better$", said["compare"], re.MULTILINE), said["compare"]
    assert "better: the tuned program is better on held-out rows" in said["tune"]
    assert "failed" not in said["run"]
    # The last lines of `gotc init` are what to do next.
    there, run = made.stdout.splitlines()[-2:]
    assert there == "  cd 'my folder'" and run.strip() in readme
    (tuned,) = folder.glob("*.tuned.json")
    assert process(*shlex.split(run)[1:], "--tuned", tuned.name, cwd=folder).returncode == 0


def test_templates_are_listed(gotc: Gotc) -> None:
    done = gotc("init")
    assert (done.code, done.err) == (0, "")
    assert all(f"  {name:<8}  {one.shows}" in done.out for name, one in TEMPLATES.items())


def test_init_writes_over_nothing(gotc: Gotc, folder: Path) -> None:
    (folder / "here").mkdir()
    (folder / "here" / "README.md").write_text("mine")
    done = gotc("init", "here")
    assert done.code == 2
    assert done.err.startswith("error: here/README.md already exists\n")
    assert [one.name for one in (folder / "here").iterdir()] == ["README.md"]
    assert (folder / "here" / "README.md").read_text() == "mine"
    (folder / "here" / "README.md").unlink()
    (folder / "here" / "README.md").symlink_to("nowhere")
    assert gotc("init", "here").code == 2
    assert not (folder / "here" / "nowhere").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("new", "--template", "clasify"),
            "there is no template `clasify`\n  = help: did you mean `classify`?",
        ),
        (("new", "--template", "x"), "there is no template `x`\n  = help: there are classify, extract, "),
        (("vote.got",), "cannot write vote.got/"),
        (("loop",), "cannot write loop/"),
        (("x" * 3000,), "cannot make xxxx"),
    ],
)
def test_a_wrong_word_is_one_message(gotc: Gotc, folder: Path, words: tuple[str, ...], message: str) -> None:
    (folder / "loop").symlink_to("loop")
    before = sorted(folder.rglob("*"))
    done = gotc("init", *words)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"error: {message}")
    assert sorted(folder.rglob("*")) == before


def test_what_a_folder_makes_is_not_for_git(gotc: Gotc, folder: Path) -> None:
    assert gotc("init", "new").code == 0
    ignored = (folder / "new" / ".gitignore").read_text().split()
    assert ".gotc/" in ignored
    rows = [json.loads(line) for line in _lines(folder, gotc)]
    assert all(row["mail"].endswith(row["truth"]["customer"]) for row in rows)


def _lines(folder: Path, gotc: Gotc) -> list[str]:
    assert gotc("init", "mails", "--template", "extract").code == 0
    return (folder / "mails" / "mails.jsonl").read_text().splitlines()
