"""What `gotc ir --remarks` says of each step: what a pass did, and why it did not."""

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
    "no `Score` is all that takes its thoughts": ("Generate(k=3) sort(xs)", "Vote()"),
    "what scores its thoughts is no declared score with a `best` that asks no model": (
        "Generate(k=3) sort(xs)", "Score() far(it)", "KeepBestN(1)"
    ),
    "no `KeepBestN` is all that takes the scored thoughts": (
        "Generate(k=3) sort(xs)", "Score() wrong(it, 1)", "Select() len(it) > 0", "KeepBestN(1)"
    ),
    "the score looks at `ys`, which is not there when the sampling starts": (
        "ys = Generate() sort(xs)", "Generate(k=3) sort(xs)", "Score() wrong(it, len(ys))", "KeepBestN(1)"
    ),
    "equal to another step of its block: computed once": (
        "a = len(xs) + 1", "b = len(xs) + 1", "Map() [a, b]"
    ),
    "equal to `a`, and it asks a model: `share true` takes the same samples": (
        "a = Generate() sort(xs)", "b = Generate() sort(xs)", "Pool() a, b", "Vote()"
    ),
    "it is never used": ("a = len(xs)", "Generate() sort(xs)"),
    "its samples may be in one request": ("Generate(k=3) sort(xs)", "Vote()"),
    "it asks for one sample of each request, so there is nothing to put together": (
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
    assert f"{step}not done: no `Score` is all that takes its thoughts" in lines
    found = gotc("ir", "vote.got", "--remarks", "--json").json()["remarks"]
    assert len(found) == len(lines)
    assert found[-1] == {
        "pass": "early stopping", "declaration": "vote", "step": "%1", "kind": "Generate", "file": "vote.got",
        "line": 11, "text": "Generate(k=tries) answer(question)", "done": False,
        "remark": "no `Score` is all that takes its thoughts",
    }  # fmt: skip
    assert gotc("ir", "vote.got", "--remarks", "-O0").out == ""
