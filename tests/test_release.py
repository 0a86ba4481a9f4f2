"""What is released: the wheel and the source archive, what is said of them, and their extras."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement
from support.gotc import ROOT, vote
from support.installed import Missing, gotc_of, install
from support.openai_server import OpenAIServer
from support.studies import guess_study

from gotlang.packages import pip_install
from gotlang.version import __version__

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
HOME = PROJECT["urls"]["Repository"]
OF_DEVELOPERS = {"dev", "docs"}
WORDS = r"pip install 'gotlang\[([\w,]+)\]'"


def python(*arguments: object) -> str:
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def base(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `pip install gotlang` installs."""
    return install(wheel, tmp_path_factory.mktemp("base") / "site")


@pytest.fixture(scope="module")
def tuning(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `pip install 'gotlang[tune]'` installs."""
    try:
        return install(wheel, tmp_path_factory.mktemp("tune") / "site", "tune")
    except Missing as missing:
        pytest.skip(f"the extra `tune` is not installed: {missing}")


# ---------------------------------------------------------------- the files


def test_the_index_and_the_checkers_accept_both_files(built: Path) -> None:
    """By the commands of the page."""
    (block,) = re.findall(r"^ *```sh\n(.*?)^ *```", (ROOT / "docs" / "release.md").read_text(), re.M | re.S)
    build, *checks = block.splitlines()
    assert shlex.split(build, comments=True) == ["python", "-m", "build"]
    assert len(checks) == 2
    bin = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for check in checks:
        line = check.replace("dist/", f"{built}/")
        done = subprocess.run(
            line, shell=True, text=True, capture_output=True, env={**os.environ, "PATH": bin}
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_wheel_has_what_it_needs_and_nothing_else(wheel: Path) -> None:
    assert wheel.name == f"gotlang-{__version__}-py3-none-any.whl"
    names = set(ZipFile(wheel).namelist())
    tracked = subprocess.run(["git", "ls-files", "gotlang"], cwd=ROOT, text=True, capture_output=True)
    if tracked.returncode == 0:
        assert set(tracked.stdout.splitlines()) <= names
    assert {"gotlang/grammars/got.lark", "gotlang/grammars/got.tables.json", "gotlang/py.typed"} <= names
    info = f"gotlang-{__version__}.dist-info/"
    assert f"{info}licenses/LICENSE" in names
    assert {name for name in names if not name.startswith(("gotlang/", info))} == set()


def test_the_source_archive_has_the_tests_and_pages(built: Path) -> None:
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as found:
        tops = {Path(name).parts[1] for name in found.getnames()}
        files = {str(Path(*Path(name).parts[1:])) for name in found.getnames()}
    assert {"gotlang", "grammars", "programs", "studies", "tests", "docs", "benchmarks", "README.md"} <= tops
    assert "tests/test_release.py" in files and not any(".gotc" in name for name in files)


def test_its_readme_links_to_addresses_that_are_files_here(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        head = archive.read(f"gotlang-{__version__}.dist-info/METADATA").decode()
    metadata, _, readme = head.partition("\n\n")
    for label in ("Documentation", "Repository", "Issues", "Changelog", "Security"):
        assert f"Project-URL: {label}, {HOME}" in metadata
    assert "Author: " in metadata and "License-Expression: Apache-2.0" in metadata
    text = re.sub(r"^```.*?^```", "", readme, flags=re.MULTILINE | re.DOTALL)
    targets = re.findall(r"\]\(([^)\s]+)\)", text)
    assert [target for target in targets if not target.startswith("https://")] == []
    raw = HOME.replace("https://github.com", "https://raw.githubusercontent.com")
    ours = (f"{HOME}/blob/v{__version__}/", f"{raw}/v{__version__}/")
    paths = [target.removeprefix(one) for target in targets for one in ours if target.startswith(one)]
    assert len(paths) > 20
    assert [path for path in paths if not (ROOT / path.partition("#")[0]).exists()] == []
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text)
    assert pictures and all(picture.startswith(raw) for picture in pictures)


def test_the_newest_version_of_the_changelog_is_this_one() -> None:
    heads = re.findall(r"^## (\S+) \((.+)\)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert [version for version, _ in heads] == ["0.2.0", "0.1.0"]
    assert heads[0][0] == __version__.partition(".dev")[0]
    assert (heads[0][1] == "unreleased") == (".dev" in __version__)


def test_the_syntax_is_that_of_the_oldest_python_named() -> None:
    """Nothing newer than Python 3.11 is written; the tests run on one version at a time."""
    oldest = re.fullmatch(r">=3\.(\d+)", PROJECT["requires-python"])
    assert oldest is not None
    named = {f"Programming Language :: Python :: 3.{minor}" for minor in range(int(oldest[1]), 14)}
    assert named <= set(PROJECT["classifiers"])
    python("-m", "ruff", "check", "--select", "E9", "--target-version", f"py3{oldest[1]}", "gotlang")


# ---------------------------------------------------------------- what is installed


def test_the_base_runs_a_program(base: Path, tmp_path: Path) -> None:
    program = vote(tmp_path)
    done = gotc_of(base, "run", program, "--input", "question=why", cwd=tmp_path, GOTC_ALLOW_PYTHON="1")
    assert done.returncode == 0 and "It is" not in done.stdout, done.stderr
    assert not (base / "openai").exists() and not (base / "optuna").exists()
    with OpenAIServer(lambda body, index: "41") as server:
        model = ("--model", "openai:small", "--base-url", server.url)
        done = gotc_of(base, "run", program, "--input", "question=why", *model, cwd=tmp_path)
    assert done.returncode == 0 and "41" in done.stdout, done.stderr


def test_the_base_tests_programs_with_corpora_tools_and_images(base: Path, tmp_path: Path) -> None:
    """Of the other programs, tests/test_programs.py runs the tests: they use what these use."""
    assert not (base / "bm25s").exists() and not (base / "numpy").exists()
    names = ("agent", "react", "buffer_of_thoughts", "folder_agent", "invoices", "refunds")
    programs = [ROOT / "programs" / f"{name}.got" for name in names]
    done = gotc_of(base, "test", *programs, "--no-cache", "--allow-python", cwd=tmp_path)
    assert done.returncode == 0 and "does not hold" not in done.stdout, done.stdout + done.stderr


def test_the_base_has_the_page_of_the_codes(base: Path, tmp_path: Path) -> None:
    (tmp_path / "wrong.got").write_text("scheme s() -> int:\n    x = tires\n    Pool() x\n")
    for words in (
        ("explain", "GOT0103"),
        ("docs", "diagnostics"),
        ("check", "wrong.got", "--format", "sarif"),
    ):
        done = gotc_of(base, *words, cwd=tmp_path)
        assert "GOT0103" in done.stdout and "bug in gotc" not in done.stderr, done.stderr


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (("run", "vote.got", "--input", "question=why", "--model", "openai-sdk:small"), "openai"),
        (("eval", "vote.got", "--data", "q.csv", "--model", "openai:small", "--batch"), "openai"),
        (("run", "vote.got", "--input", "question=why", "--otel", "http://127.0.0.1:1"), "otel"),
        (("eval", "vote.got", "--data", "q.parquet"), "parquet"),
        (("test", str(ROOT / "programs" / "stock.got"), "--no-cache"), "mcp"),
        (("eval", "vote.got", "--data", "q.csv", "--engine", "ray"), "ray"),
        (("tune", "study.got"), "tune"),
        (("lsp",), "lsp"),
        (("studio",), "studio"),
    ],
)
def test_the_base_says_which_extra_a_feature_needs(
    base: Path, tmp_path: Path, words: tuple[str, ...], extra: str
) -> None:
    guess_study(tmp_path, "train 4\nminimize error(result, target)\ntrials 2")
    vote(tmp_path)
    (tmp_path / "q.csv").write_text("question\nwhy\n")
    (tmp_path / "q.parquet").write_bytes(b"PAR1")
    more = {"GOTC_ALLOW_PYTHON": "1", "OPENAI_API_KEY": "sk-none"}
    done = gotc_of(base, *words, cwd=tmp_path, **more)
    assert done.returncode == 2, done.stderr
    assert f"help: {pip_install(extra)}" in done.stderr


def test_a_study_of_params_needs_no_dspy(tuning: Path, tmp_path: Path) -> None:
    assert not any((tuning / name).exists() for name in ("dspy", "litellm", "scipy", "plotly"))
    guess_study(tmp_path, "train 8, test 8\nminimize error(result, target)\ntrials 6")
    more = {"GOTC_ALLOW_PYTHON": "1"}
    words = ("tune", "study.got", "--model", "simulated", "--report", "near.html")
    done = gotc_of(tuning, *words, cwd=tmp_path, **more)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "near.html").exists()


def test_a_study_of_prompts_says_which_extra_it_needs_before_it_asks(tuning: Path, tmp_path: Path) -> None:
    clauses = "train 8\nminimize error(result, target)\nprompts guess with copro(breadth=4)\ntrials 2"
    guess_study(tmp_path, clauses)
    done = gotc_of(tuning, "tune", "study.got", "--model", "simulated", cwd=tmp_path, GOTC_ALLOW_PYTHON="1")
    assert done.returncode == 2, done.stderr
    assert "prompt optimizers need DSPy" in done.stderr and pip_install("prompts") in done.stderr
    assert not (tmp_path / ".gotc" / "cache.sqlite").exists()


# ---------------------------------------------------------------- what is said


def test_tune_is_without_dspy_and_all_has_every_extra() -> None:
    assert {Requirement(text).name for text in EXTRAS["tune"]} == {"optuna"}
    assert {Requirement(text).name for text in EXTRAS["prompts"]} == {"gotlang", "dspy-ai", "litellm"}
    (every,) = map(Requirement, EXTRAS["all"])
    assert every.extras | {"tune", "all"} | OF_DEVELOPERS == set(EXTRAS)  # tune comes with prompts


def test_an_extra_is_told_in_one_wording() -> None:
    named: set[str] = set()
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "programs").rglob("*.got")]
    for path in [*pages, *(ROOT / "gotlang").rglob("*.py"), *(ROOT / "gotlang").rglob("*.got")]:
        text = path.read_text()
        written = re.findall(WORDS, text)
        if path.name == "packages.py":
            continue
        assert text.count("gotlang[") == len(written), path
        called = re.findall(r"\bpip_install\(([^)]*)\)", text)
        named |= {name for group in written for name in group.split(",")}
        named |= {name for group in called for name in re.findall(r'"(\w+)"', group)}
    assert named <= set(EXTRAS) - OF_DEVELOPERS


def test_the_page_about_installing_has_every_extra() -> None:
    page = (ROOT / "docs" / "install.md").read_text()
    assert re.findall(rf"^\| `{WORDS}` \|", page, re.MULTILINE) == sorted(set(EXTRAS) - OF_DEVELOPERS)
