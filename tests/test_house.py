"""Project rules: layers, types, style, module sizes, imports at start-up."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[1]
MODULES = sorted((ROOT / "gotlang").rglob("*.py"))


def run(*command: str, cwd: Path = ROOT, **settings: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=cwd, text=True, capture_output=True, timeout=300, **settings)  # type: ignore[call-overload, no-any-return]


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return run(sys.executable, *arguments)


@pytest.mark.parametrize("tool", [("ruff", "check", "."), ("ruff", "format", "--check", "."), ("mypy",)])
def test_style_and_types(tool: tuple[str, ...]) -> None:
    done = python("-m", *tool)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_module_imports_from_lower_floors_only() -> None:
    done = python("-c", "from importlinter.cli import lint_imports_command; lint_imports_command()")
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_circle_of_imports() -> None:
    """Imports inside functions and for types only count, too."""
    graph = grimp.build_graph("gotlang", cache_dir=None)
    TopologicalSorter({m: graph.find_modules_directly_imported_by(m) for m in graph.modules}).prepare()


def test_no_module_is_longer_than_700_lines() -> None:
    sizes = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in MODULES}
    assert {name: size for name, size in sizes.items() if size > 700} == {}


def test_every_module_says_what_it_is() -> None:
    silent = [str(path) for path in MODULES if not path.read_text().lstrip().startswith('"""')]
    assert silent == []


FORMS = {
    "syntax/nodes": "tree",
    "syntax/expressions": "tree",
    "ir/declarations": "IR",
    "operations": "IR",
    "templates/nodes": "template",
}
"""Where a part of the language may have the same name: the forms of a program, and of a template."""
PUBLIC = {"api.Program", "metric.Metric"}
"""What the Python API shows of a part of the language, under its name."""


def test_a_class_name_means_one_thing() -> None:
    owners: dict[str, list[str]] = {}
    for path in MODULES:
        module = path.relative_to(ROOT / "gotlang").with_suffix("").as_posix()
        form = FORMS.get(module) or FORMS.get(module.partition("/")[0]) or module
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and f"{form}.{node.name}" not in PUBLIC:
                owners.setdefault(node.name, []).append(form)
    several = {name: found for name, found in owners.items() if len(found) > 1}
    assert {
        name: found
        for name, found in several.items()
        if len(found) != len(set(found)) or not set(found) <= set(FORMS.values())
    } == {}


def test_modules_are_nouns() -> None:
    """A gerund says what a module does, not what it is; `gc_tuning` is a term."""
    assert [path.stem for path in MODULES if path.stem.endswith("ing")] == ["gc_tuning"]


def test_the_architecture_page_names_files_that_are_there() -> None:
    page = (ROOT / "docs" / "ARCHITECTURE.md").read_text()
    named = re.findall(r"`((?:gotlang|grammars|programs|studies|tests|docs|benchmarks|\.ci)/[\w./-]*)`", page)
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_start_up_imports_nothing_heavy() -> None:
    heavy = {
        "aiohttp",
        "openai",
        "httpx2",
        "jinja2",
        "sqlitedict",
        "rich",
        "optuna",
        "dspy",
        "genai_prices",
        "asyncio",
    }
    code = "import sys, gotlang.cli.main; print(' '.join(m for m in sys.modules if '.' not in m))"
    loaded = set(python("-c", code).stdout.split())
    assert loaded & heavy == set()
