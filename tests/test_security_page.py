"""docs/security.md: each guarantee names an existing test."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "security.md").read_text()


def test_each_guarantee_names_its_test() -> None:
    rows = re.findall(r"^\| (?!guarantee |---)(.*) \| (.*) \|$", PAGE, re.MULTILINE)
    assert len(rows) > 30
    for guarantee, tests in rows:
        named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", tests)
        assert named, guarantee
        for file, function in named:
            found = ast.parse((ROOT / file).read_text())
            names = {node.name for node in found.body if isinstance(node, ast.FunctionDef)}
            assert any(name.startswith("test_") for name in names), file
            assert not function or function in names, f"{file} has no {function}"
