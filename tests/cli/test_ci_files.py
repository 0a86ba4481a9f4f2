"""What CI and shells use: the steps of action.yml, the hooks of pre-commit, and shell completion."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.gotc import ROOT, VOTE, VOTE_SIM, environment, gotc

ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
TESTED = VOTE + '\ntest "counts": vote("four") == 4\n'
ROWS = "question,truth\none,3\nthree,5\nseven,5\n"


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / name.replace("_got", ".got").replace("_csv", ".csv")).write_text(text)
    (folder / "vote_sim.py").write_text(VOTE_SIM)


@pytest.fixture
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A PATH on which `gotc` is this one."""
    folder = tmp_path_factory.mktemp("bin")
    (folder / "gotc").write_text(f'#!/bin/sh\nexec {sys.executable} -m gotlang "$@"\n')
    (folder / "gotc").chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def act(folder: Path, path: str, **inputs: str) -> tuple[int, str]:
    """Run the action's steps but for the installation, as GitHub's runner does; the exit code and output."""
    given = {name: one["default"] for name, one in ACTION["inputs"].items()} | {
        name.replace("_", "-"): value for name, value in inputs.items()
    }
    wanted = {"inputs.test == 'true'": given["test"] == "true", "inputs.eval != ''": given["eval"] != ""}
    said = ""
    for step in ACTION["runs"]["steps"]:
        if step.get("name", "Install") == "Install" or not wanted.get(step.get("if"), True):
            continue
        values = {}
        for name, text in step["env"].items():
            asked = text.removeprefix("${{ inputs.").removesuffix(" }}")
            values[name] = given[asked] if asked in given else str(int(given["allow-python"] == "true"))
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=folder,
            env=environment(**values, PATH=path, XDG_CONFIG_HOME=str(folder / "config")),
            capture_output=True,
            text=True,
            timeout=120,
            stdin=subprocess.DEVNULL,
        )
        said += done.stdout + done.stderr
        if done.returncode:
            return done.returncode, said
    return 0, said


def test_the_action_checks_tests_and_evaluates(tmp_path: Path, path: str) -> None:
    write(tmp_path, vote_got=TESTED, rows_csv=ROWS)
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "other.got").write_text("scheme main(n: int) -> int:\n    Pool() n\n")
    evals = (
        "vote.got --data rows.csv --fail-if 'mean(correct) < 0.1'\n\nvote.got --data 'rows.csv' --limit 1\n"
    )
    code, said = act(tmp_path, path, allow_python="true", eval=evals)
    assert code == 0, said
    assert "0 files of 2 would change" in said and "1 test: 1 holds" in said
    assert said.count("::notice title=gotc eval vote vote") == 2
    reports = sorted(one.name for one in (tmp_path / "gotc-reports").iterdir())
    assert reports == ["eval1.xml", "eval2.xml", "test.xml"]
    assert (tmp_path / "gotc-reports" / "eval1.xml").read_text().count("<testcase") == 4
    code, said = act(
        tmp_path, path, allow_python="true", eval="vote.got --data rows.csv --fail-if 'rows > 2'"
    )
    assert code == 4 and "::error title=gotc eval vote vote::condition is true: rows > 2" in said


@pytest.mark.parametrize(
    ("program", "inputs", "code", "said"),
    [
        ("scheme main(n: int) -> int:\n    Pool() m\n", {}, 2, "::error file=vote.got,line=2"),
        ("scheme main(n:int)->int:\n    Pool() n\n", {}, 1, "would change vote.got"),
        ("scheme main(n:int)->int:\n    Pool() n\n", {"fmt": "false"}, 0, ""),
        (TESTED.replace("== 4", "== 9"), {"allow_python": "true"}, 4, "::error file=vote.got,line="),
        (TESTED, {}, 2, "allow-python"),
        (TESTED, {"files": "*.gott"}, 2, "::error::no file matches *.gott"),
        (TESTED, {"test": "false"}, 0, "0 files of 1 would change"),
    ],
)
def test_the_action_fails_with_annotations(
    tmp_path: Path, path: str, program: str, inputs: dict[str, str], code: int, said: str
) -> None:
    write(tmp_path, vote_got=program)
    found = act(tmp_path, path, **inputs)
    assert found[0] == code, found[1]
    assert said in found[1]
    assert inputs.get("test") != "false" or "holds" not in found[1]


def test_an_evaluation_writes_junit_beside_its_output(tmp_path: Path) -> None:
    write(tmp_path, vote_got=VOTE, rows_csv=ROWS)
    command = ("eval", "vote.got", "--data", "rows.csv", "--allow-python")
    done = gotc(*command, "--junit", "rows.xml", cwd=tmp_path)
    assert done.returncode == 0 and "correct" in done.stdout
    same = gotc(*command, "--format", "junit", cwd=tmp_path).stdout
    assert (tmp_path / "rows.xml").read_text() == same
    wrong = gotc(*command, "--junit", "rows.csv/a.xml", cwd=tmp_path)
    assert wrong.returncode == 2 and "--junit: cannot write rows.csv/a.xml" in wrong.stderr


def hooks() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    return found


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_the_hooks_of_pre_commit_stop_a_commit(tmp_path: Path, path: str) -> None:
    pytest.importorskip("pre_commit")
    assert [hook["id"] for hook in hooks()] == ["gotc-check", "gotc-fmt"]
    # A copy of the hooks in a repository of their own, which runs this `gotc` instead of building one.
    source, project = tmp_path / "source", tmp_path / "project"
    own = {
        "PATH": path,
        "HOME": str(tmp_path),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "PRE_COMMIT_HOME": str(tmp_path / "store"),
    }

    def run(*command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=cwd, env=environment(**own), capture_output=True, text=True, timeout=120
        )

    for folder in (source, project):
        folder.mkdir()
        assert run("git", "init", "-q", cwd=folder).returncode == 0
    (source / ".pre-commit-hooks.yaml").write_text(
        yaml.safe_dump([{**hook, "language": "system"} for hook in hooks()])
    )
    run("git", "add", "-A", cwd=source)
    named = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    assert run("git", *named, "commit", "-qm", "Hooks", cwd=source).returncode == 0
    (project / "bad.got").write_text("scheme main(n: int) -> int:\n    Pool() m\n")
    (project / "ugly.got").write_text("scheme main(n:int)->int:\n    Pool() n\n")
    (project / "not_a_program.txt").write_text("scheme scheme")
    run("git", "add", "-A", cwd=project)
    command = (sys.executable, "-m", "pre_commit", "try-repo", str(source), "--all-files")
    done = run(*command, cwd=project)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "GOT0103" in done.stdout and "2 files: 1 error" in done.stdout
    assert "changed ugly.got" in done.stdout
    (project / "bad.got").unlink()
    run("git", "add", "-A", cwd=project)
    done = run(*command, cwd=project)
    assert done.returncode == 0 and done.stdout.count("Passed") == 2, done.stdout + done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_completes(shell: str, tmp_path: Path, path: str) -> None:
    script = gotc("completion", shell, cwd=tmp_path)
    assert script.returncode == 0 and "_GOTC_COMPLETE" in script.stdout
    if (found := shutil.which(shell)) is None:
        return
    (tmp_path / "script").write_text(script.stdout)
    assert subprocess.run([found, "-n", "script"], cwd=tmp_path, capture_output=True).returncode == 0
    if shell == "bash":
        code = (
            "source ./script; COMP_WORDS=(gotc eval --fo); COMP_CWORD=2; "
            '_gotc_completion gotc; echo "${COMPREPLY[@]}"'
        )
        done = subprocess.run(
            [found, "-c", code], cwd=tmp_path, env=environment(PATH=path), capture_output=True, text=True
        )
        assert done.stdout.split() == ["--format"], done.stderr


def test_an_unknown_shell_is_one_message(tmp_path: Path) -> None:
    done = gotc("completion", "tcsh", cwd=tmp_path)
    assert done.returncode == 2 and done.stdout == ""
    assert "'tcsh' is not one of 'bash', 'zsh', 'fish'" in done.stderr
