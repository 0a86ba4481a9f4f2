"""docs/papers.md: it is what its script prints, and each row's test or page is there."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

from gotlang.files import compile_file

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

import papers  # noqa: E402

CLAIMS = tuple(papers.claims())


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.what)
def test_each_row_names_a_test_or_a_page(claim: papers.Claim) -> None:
    file, _, function = claim.where.partition("::")
    text = (ROOT / file).read_text(encoding="utf-8")
    if function:
        assert any(
            isinstance(node, ast.FunctionDef) and node.name == function for node in ast.walk(ast.parse(text))
        )
    else:
        assert file.endswith(".md") or "def test_" in text


def test_the_page_is_what_its_script_prints() -> None:
    assert papers.PAGE.read_text(encoding="utf-8") == papers.page()


@pytest.mark.parametrize(
    "claim",
    [claim for claim in CLAIMS if claim.calls.isdigit() or claim.path.isdigit()],
    ids=lambda claim: claim.what,
)
def test_where_the_paper_has_a_number_ours_is_the_same(claim: papers.Claim) -> None:
    for theirs, here in zip((claim.calls, claim.path), papers.ours(claim), strict=True):
        assert not theirs.isdigit() or here.removeprefix("at most ") == theirs


PROMPTS = [claim for claim in CLAIMS if claim.part == "Prompts of these"]


@pytest.mark.parametrize("claim", PROMPTS, ids=lambda claim: claim.what)
def test_the_prompts_have_as_many_examples_as_the_page_says(claim: papers.Claim) -> None:
    program, _, names = claim.what.partition(": ")
    ir = compile_file(ROOT / "programs" / f"{program}.got").compiled().program()
    has = {prompt.name: len(prompt.examples) for prompt in ir.prompts}
    said = claim.difference.partition(" there; ")[2].partition(" here")[0]
    counts = [int(number) for number in re.findall(r"\d+", re.sub(r"\(.*?\)", "", said))]
    assert dict(zip(names.split(", "), counts, strict=True)) == has
