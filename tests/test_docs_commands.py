"""Commands on the pages: those of README run as they stand, and none names an option that is not there.

Pages to walk through, those on models and on studies and those of schemes have tests of their own
(`test_walked_pages.py`, `test_docs_models.py`, `test_docs_studies.py`, `test_scheme_pages.py`), and those of
many machines in `test_ray.py`.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest
from support.gotc import ROOT, environment, gotc
from support.openai_server import OpenAIServer

from gotlang.cli.group import gotc as group

README = (ROOT / "README.md").read_text("utf-8")
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
PRICES = '{"gpt-4o-mini": {"input_per_million": 0.15, "output_per_million": 0.6}}'


def blocks(kind: str, page: str = README) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", page, re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "programs").symlink_to(ROOT / "programs")
    return tmp_path


@pytest.mark.parametrize(("name", "count"), [("README.md", 6), ("docs/tutorial.md", 2)])
def test_every_command_runs(name: str, count: int, folder: Path) -> None:
    page = (ROOT / name).read_text("utf-8")
    (folder / "prices.json").write_text(PRICES)
    stranger = {"XDG_CONFIG_HOME": str(folder / "config")}
    gotc("init", "sort", "--template", "sort", cwd=folder, **stranger)
    ran = 0
    with OpenAIServer(lambda body, index: "[1, 2, 3]") as server:
        real = {"OPENAI_API_KEY": "a-key", "OPENAI_BASE_URL": server.url, "GOTC_RUN_PRICES": "prices.json"}
        commands = [c for line in "".join(blocks("sh", page)).splitlines() for c in line.split(" && ")]
        for line in commands:
            # Making the environment is the wheel's test (test_release.py), and CI itself.
            program, *words = shlex.split(line)
            if not program.endswith("gotc"):
                assert line.startswith(
                    ("export OPENAI_API_KEY", "python3 -m venv", ".venv/bin/p", "source .venv")
                ), line
                continue
            asked = "openai:gpt-4o-mini" in words
            done = gotc(*words, cwd=folder, **stranger, **(real if asked else {}))
            # A model that always answers with three digits splits no list: that run fails, in words.
            assert done.returncode == (asked and "programs/sort128.got" in words), (line, done.stderr)
            ran += 1
        assert server.requests
    assert ran == count


RUN = {
    "README.md": {"sh"},  # here
    "docs/tutorial.md": {"sh", "console"},  # here, and in test_walked_pages.py
    "docs/quickstart.md": {"sh", "console"},  # test_quickstart.py
    "docs/compare.md": {"console"},
    "docs/results.md": {"console"},
    "docs/evidence.md": {"console"},
    "docs/models.md": {"sh", "sh batches", "sh local"},
    "docs/providers.md": {"sh"},
    "docs/streaming.md": {"sh"},  # tests/cli/test_stream.py
    "docs/scale.md": {"sh"},
    "docs/install.md": {"sh"},  # test_release.py, and benchmarks/install.py
    "docs/release.md": {"sh"},  # test_release.py
    "docs/studies.md": {"sh"},
    "docs/editors.md": {"sh"},  # test_grammars.py
    **{f"docs/schemes/{page.name}": {"sh"} for page in (ROOT / "docs" / "schemes").glob("*.md")},
}
"""The kinds of blocks that a test takes from a page and runs, every line of them."""
COMMAND = re.compile(r"^\s*(?:\$ |(?:\.venv/bin/)?(?:gotc|python3?|pip|git|export) )", re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_page_has_commands_that_no_test_runs(page: Path) -> None:
    name = str(page.relative_to(ROOT))
    fences = re.findall(
        r"^ *(`{3,}|~{3,})([^\n]*)\n(.*?)^ *\1 *$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    for _, kind, text in fences:
        if kind.split(" ")[0] in ("sh", "console", "bash", "shell") or COMMAND.search(text):
            assert kind in RUN.get(name, set()), (name, kind, text)
        if name.startswith("docs/schemes/") and kind == "sh":
            assert all(re.match("gotc (run|eval|compare) ", line) for line in text.splitlines()), text


def test_the_python_of_the_readme_runs(folder: Path) -> None:
    (code,) = blocks("python")
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment(), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("[1, 1, ")


WRONG = """\
# Line 12 is the one.
simulate with "vote_sim.py"

param tries = 3 in 1..9

prompt sort(numbers: list[int]) -> list[int]:
    "Sort {{ numbers }}"



scheme digits(numbers: list[int]) -> list[int]:
    Generate(k=tries) sort(part=numbers)
"""


def test_the_error_of_the_readme_is_the_one_that_comes(tmp_path: Path) -> None:
    (tmp_path / "sort.got").write_text(WRONG)
    done = gotc("check", "sort.got", cwd=tmp_path)
    assert done.returncode == 2
    shown = README[README.index("error[") :].partition("```")[0]
    assert shown in done.stdout


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_named_on_a_page_and_their_options_are_there(page: Path) -> None:
    context = click.Context(group)
    for text in re.findall(r"(?:`|^|\$ |bin/)gotc ([a-z][^`\n|>&]*)", page.read_text("utf-8"), re.MULTILINE):
        words = text.split()
        command = group.get_command(context, words[0])
        assert command is not None, text
        if isinstance(command, click.Group) and len(words) > 1 and not words[1].startswith("-"):
            command = command.get_command(context, words[1])
            assert command is not None, text
        known = {name for option in command.params for name in (*option.opts, *option.secondary_opts)}
        for word in words[1:]:
            if word.startswith("--"):
                assert word.partition("=")[0].rstrip(".,;)") in {*known, "--help"}, text
