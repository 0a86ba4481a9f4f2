"""The remarks of `gotc ir --remarks`: what a pass did to each step, or why it did nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli.conftest import Gotc, folder, gotc  # noqa: F401

from gotlang.api import compile

HEAD = """\
prompt sort(xs: list[int]) -> list[int]:
    "{{ xs }}"
prompt fine(xs: list[int]) -> bool:
    "{{ xs }}"
score wrong(xs: list[int], n: int) -> lower, best 0:
    descents(xs) * n
score far(xs: list[int]) -> lower:
    descents(xs)
"""
BODIES = {
    "it ends once `wrong` reaches its `best`": (
        "Generate(k=3) sort(xs)", "Score() wrong(it, 1)", "KeepBestN(1)"
    ),
    "it has an `until` of its own": (
        "Generate(k=3, until=wrong(it, 1) == 0) sort(xs)", "Score() wrong(it, 1)", "KeepBestN(1)"
    ),
    "its thoughts are not used only by a `Score`": ("Generate(k=3) sort(xs)", "Vote()"),
    "the scorer of its thoughts is not a declared score with a `best` that calls no model": (
        "Generate(k=3) sort(xs)", "Score() far(it)", "KeepBestN(1)"
    ),
    "the scored thoughts are not used only by a `KeepBestN`": (
        "Generate(k=3) sort(xs)", "Score() wrong(it, 1)", "Select() len(it) > 0", "KeepBestN(1)"
    ),
    "the score uses `ys`, which is not available when sampling starts": (
        "ys = Generate() sort(xs)", "Generate(k=3) sort(xs)", "Score() wrong(it, len(ys))", "KeepBestN(1)"
    ),
    "equal to another step of its block: computed once": (
        "a = len(xs) + 1", "b = len(xs) + 1", "Map() [a, b]"
    ),
    "equal to `a`, and it calls a model: `share true` takes the same samples": (
        "a = Generate() sort(xs)", "b = Generate() sort(xs)", "Pool() a, b", "Vote()"
    ),
    "it is never used": ("a = len(xs)", "Generate() sort(xs)"),
    "its samples may be in one request": ("Generate(k=3) sort(xs)", "Vote()"),
    "it takes one sample of each request, so there is nothing to batch": (
        "Generate(k=3) sort(xs)", "Validate() fine(it)", "Vote()"
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", BODIES)
def test_each_remark_is_made_where_it_holds(text: str) -> None:
    def told(body: tuple[str, ...]) -> list[str]:
        lines = "".join(f"    {line}\n" for line in body)
        program = compile(f"{HEAD}scheme main(xs: list[int]) -> list[int]:\n{lines}")
        return [one.text for one in program.remarks() if one.declared == "main"]

    assert text in told(BODIES[text])
    assert sum(text in told(body) for body in BODIES.values()) < len(BODIES)


def test_the_command_says_them_with_their_place(gotc: Gotc, folder: Path) -> None:  # noqa: F811
    lines = gotc("ir", "vote.got", "--remarks").out.splitlines()
    step = "vote.got:11: early stopping: Generate(k=tries) answer(question): "
    assert f"{step}not done: its thoughts are not used only by a `Score`" in lines
    found = gotc("ir", "vote.got", "--remarks", "--json").json()["remarks"]
    assert len(found) == len(lines)
    assert found[-1] == {
        "pass": "early stopping", "declaration": "vote", "step": "%1", "kind": "Generate", "file": "vote.got",
        "line": 11, "text": "Generate(k=tries) answer(question)", "done": False,
        "remark": "its thoughts are not used only by a `Score`",
    }  # fmt: skip
    assert gotc("ir", "vote.got", "--remarks", "-O0").out == ""
