"""The worked examples of CONTRIBUTING.md, followed in a copy of the tree."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text()
PROGRAM = """\
simulate with "top_sim.py"

prompt parts(n: int) -> many int:
    "parts of {{ n }}"

score size(n: int) -> higher:
    n

scheme top(n: int) -> many int:
    Generate() parts(n)
    Score() size(it)
    KeepTopP(0.5)
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree in which the page's example of an operation was followed."""
    tree = tmp_path_factory.mktemp("tree")
    ignore = shutil.ignore_patterns(".*", "pictures", "schemes")
    for folder in ("gotlang", "grammars", "tests", "docs"):
        shutil.copytree(ROOT / folder, tree / folder, ignore=ignore)
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, tree)
    for source, target in re.findall(r"^cp (docs/contributing/keep_top_p\S+) (\S+)$", PAGE, re.MULTILINE):
        shutil.copy(tree / source, tree / target)
    (old, new), *rest = re.findall(r"^-(.*)\n\+(.*)\n", PAGE, re.MULTILINE)
    assert not rest, "one line of the registry changes"
    registry = tree / "gotlang" / "operations" / "__init__.py"
    text = registry.read_text()
    assert text.count(old) == 1
    registry.write_text(text.replace(old, new))
    (tree / "top.got").write_text(PROGRAM)
    (tree / "top_sim.py").write_text("def parts(rng, n):\n    return str(list(range(n)))\n")
    return tree


def run(tree: Path, *arguments: str, **more: str) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "GOTC_"))}
    done = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=tree,
        env={**kept, "PYTHONPATH": str(tree), "NO_COLOR": "1", **more},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_commands_know_the_operation(tree: Path) -> None:
    commands = (
        "check",
        "fmt --check",
        "ir",
        "explain",
        "run --input n=5 --no-cache",
        "graph --format mermaid",
    )
    lines = [[name, "top.got", *options] for name, *options in map(str.split, commands)]
    (tree / "commands.py").write_text(
        "from gotlang.cli.main import exit_code\n"
        f"for line in {lines}:\n    assert exit_code(line) == 0, line\n    print('end of', line[0])\n"
    )
    check, fmt, ir, explain, result, graph, _ = re.split(r"end of \w+\n", run(tree, "commands"))
    assert (check, fmt, result.strip()) == ("", "", "[4, 3]")
    assert "KeepTopP 0.5 from" in ir and "calls" in explain and "KeepTopP" in graph


def test_its_case_and_its_row_are_made_and_none_of_its_fields_is_idle(tree: Path) -> None:
    run(
        tree,
        "pytest",
        "-q",
        "tests/test_cases.py",
        "tests/test_docs.py",
        "-k",
        "KeepTopP or table",
        "--accept",
    )
    assert "`KeepTopP(p)`" in (tree / "docs" / "language.md").read_text()
    assert "value: [2]" in (tree / "tests" / "cases" / "operations" / "keep_top_p.case").read_text()
    mutations = "KeepTopP or every_record or a_mutation"
    run(tree, "pytest", "tests/test_operation_records.py", "-k", mutations, LAWS="1")


def test_the_page_names_files_that_are_there() -> None:
    named = re.findall(r"`((?:gotlang|grammars|programs|tests|docs|benchmarks|\.ci)/[\w./-]*)`", PAGE)
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []
