"""What `gotc run` says of a run without a result: once, in the program's words, with its line."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest
from cli.conftest import Gotc

SIM = 'def ask(rng, x):\n    return "none at all" if x < 5 else "5"\n'
HEAD = 'simulate with "sim.py"\nprompt ask(x: int) -> int:\n    "{{ x }}"\n'


@pytest.fixture
def tell(gotc: Gotc, folder: Path) -> object:
    """What a program says on stderr that ends without a result."""

    def run(body: str) -> str:
        (folder / "sim.py").write_text(SIM)
        (folder / "p.got").write_text(HEAD + dedent(body).lstrip("\n"))
        done = gotc("run", "p.got", "--model", "simulated")
        assert (done.code, done.out) == (1, "")
        return done.err

    return run


def test_a_reason_is_told_once_with_its_line(tell) -> None:  # type: ignore[no-untyped-def]
    told = tell(
        """
        scheme p() -> many int:
            foreach part in [7, 1, 7]:
                Generate(k=3) ask(part)
        """
    )
    assert told == (
        "spent $0.000034 on 9 calls (simulated)\n"
        "error: Generate ask in part[1]: every thought failed: no number found: 'none at all'\n"
        " --> p.got:6:9\n"
        "  |\n"
        "6 |         Generate(k=3) ask(part)\n"
        "  |         ^^^^^^^^^^^^^^^^^^^^^^^\n"
        "  |\n"
        "  = help: to continue without it, use `try:` with `skip` below `else:`\n"
    )


def test_other_reasons_stand_beside_it(tell) -> None:  # type: ignore[no-untyped-def]
    told = tell(
        """
        scheme p() -> many int:
            try:
                Generate() ask(1)
            else:
                foreach n in [5]:
                    Generate() ask(n)
                    Map() 8 // (it - 5)
        """
    )
    assert told.count("no number found") == 1
    assert told.count("division by zero") == 1
    assert "failed        1 time in addition, all handled" in told
    assert "= help: to continue without it, use `try:` with `skip` below `else:`" in told


def test_calls_inside_each_other_show_no_inner_names(tell) -> None:  # type: ignore[no-untyped-def]
    told = tell(
        """
        scheme deeper(x: any, n: int) -> any:
            if n > 0:
                deeper([x, x], n - 1)
            else:
                Map() x
        scheme p() -> any:
            first = Generate() ask(7)
            deeper([first], 60)
        """
    )
    assert "\nerror: x: this would have more than 1,000,000 elements\n --> p.got:6:16\n" in told
    assert "%" not in told and "[it]" not in told
