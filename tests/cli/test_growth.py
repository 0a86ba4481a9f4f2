"""What commands do is linear in what they run and show; counted in lines of Python, not in seconds."""

from __future__ import annotations

from math import log
from pathlib import Path

import pytest
from support.lines import lines_run

from tests.cli.conftest import Gotc

PROGRAM = "scheme s(n: int) -> int:\n    foreach i in range(n):\n        Map() i\n    Vote()\n"
CALLED = "scheme s0(x: int) -> int:\n    Map() x\n"


def with_tests(n: int) -> str:
    return PROGRAM + "".join(f'test "{i}": s({i % 5} + 1) >= 0\n' for i in range(n))


def called(n: int) -> str:
    return CALLED + "".join(f"scheme s{i + 1}(x: int) -> int:\n    s{i}(x + 1)\n" for i in range(n))


def grows(few: int, many: int) -> float:
    """The power with which work grows, if there is four times as much to do."""
    return log(many / few) / log(4)


def test_tests(gotc: Gotc, folder: Path) -> None:
    took = []
    for n in (5, 60, 240):
        (folder / "t.got").write_text(with_tests(n))
        took.append(lines_run(lambda: gotc("test", "t.got")))
    assert grows(*took[1:]) < 1.1


@pytest.mark.parametrize(
    "command",
    [
        ("show", "last"),
        ("show", "last", "--json"),
        ("graph", "last", "--format", "json"),
        ("graph", "last", "--format", "json", "--view", "reasoning"),
    ],
    ids=" ".join,
)
def test_a_run(gotc: Gotc, folder: Path, command: tuple[str, ...]) -> None:
    (folder / "r.got").write_text(PROGRAM)
    took = []
    for n in (5, 100, 400):
        assert gotc("run", "r.got", "--input", f"n={n}").code == 0
        took.append(lines_run(lambda: gotc(*command)))
    assert grows(*took[1:]) < 1.1


def test_the_picture_of_branches(gotc: Gotc, folder: Path) -> None:
    took = []
    for n in (5, 75, 300):
        branches = "".join(f"    elif it > {i}:\n        Map() it + {i}\n" for i in range(n))
        text = f"scheme s(x: int) -> int:\n    Pool() x\n    if it < 0:\n        Map() -it\n{branches}"
        (folder / "b.got").write_text(text)
        assert gotc("check", "b.got").code == 0
        took.append(lines_run(lambda: gotc("graph", "b.got", "--format", "json")))
    assert grows(*took[1:]) < 1.1


def test_schemes_that_call_each_other_deeply(gotc: Gotc, folder: Path) -> None:
    """Nothing but a run has a limit."""
    (folder / "deep.got").write_text(called(1_500))
    for command in ("check", "explain", "ir", "graph"):
        options = ("--out", "deep.html") if command == "graph" else ()
        assert gotc(command, "deep.got", *options).code == 0, command
    done = gotc("run", "deep.got", "--input", "x=1")
    assert done.code == 1
    assert "schemes call each other more than 200 deep" in done.err
    assert gotc("run", "deep.got", "--scheme", "s150", "--input", "x=1").out == "151\n"
