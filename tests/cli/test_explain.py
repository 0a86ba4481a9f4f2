"""`gotc explain`: what a program will cost, to the letter, and what an error code means."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest
from cli.conftest import Gotc
from support.gotc import SORT128


def exactly(number: float, formula: str) -> dict[str, object]:
    """A cost that is known."""
    return {
        "low": number,
        "high": number,
        "expected": number,
        "formula": formula,
        "formula_high": None,
    }


def between(low: float, high: float, expected: float, formula: str) -> dict[str, object]:
    """A cost with bounds."""
    return {"low": low, "high": high, "expected": expected, "formula": None, "formula_high": formula}


VOTE_COSTS = {
    "calls": exactly(4, "tries"),
    "requests": exactly(1, "1"),
    "critical_path": exactly(1, "1"),
    "volume": exactly(0, "0"),
    "input_tokens": exactly(9, "9"),
    "output_tokens": between(4, 80, 20, "20*tries"),
    "usd": between(1.05e-05, 0.0001245, 3.45e-05, "4.5e-06 + 3e-05*tries"),
}
ONE = """\
prompt p(x: int) -> int:
    "{{ x }}"
scheme s(x: int) -> int:
    Generate() p(x)
"""
SKELETON = SORT128.with_name("skeleton_of_thought.got")


def shown(text: str) -> str:
    """An expected output, dedented."""
    return dedent(text).lstrip("\n")


def test_a_static_scheme_is_exact_with_a_formula(gotc: Gotc) -> None:
    done = gotc("explain", "vote.got", "--input", "question=why?", "--set", "tries=4")
    assert (done.code, done.err) == (0, "")
    assert done.out == shown(
        """
        vote: all samples, with an empty cache

          calls              4                                        = tries
          requests           1
          critical path      1
          volume             0
          prompt tokens      9
          completion tokens  4 to 80, about 20                        at most 20*tries
          cost               $0.000010 to $0.000124, about $0.000034  at most 4.5e-06 + 3e-05*tries

        with tries = 4
        prices: simulated with the prices of gpt-3.5-turbo
        `about`: from one simulated run; tokens are estimates
        """
    )


def test_what_inputs_and_models_decide_is_open(gotc: Gotc) -> None:
    done = gotc("explain", SKELETON)
    assert done.out == shown(
        """
        skeleton_of_thought: all samples, with an empty cache

          calls              at least 1          = 1 + len(points)
          requests           at least 1          = 1 + len(points)
          critical path      1 to 2
          volume             at least 2          at most 2 + 6*len(points)
          prompt tokens      at least 112
          completion tokens  at least 1          at most 2048 + 2048*len(points)
          cost               at least $0.000058

        with router = False
        decided by a model or the inputs: len(points)
        prices: simulated with the prices of gpt-3.5-turbo
        give inputs as to `gotc run` for tighter bounds and expected values
        """
    )


def test_a_simulated_run_says_what_to_expect(gotc: Gotc) -> None:
    done = gotc("explain", SKELETON, "--input", "question=How do I learn to draw?")
    assert done.out == shown(
        """
        skeleton_of_thought: all samples, with an empty cache

          calls              at least 1, about 5                  = 1 + len(points)
          requests           at least 1, about 5                  = 1 + len(points)
          critical path      1 to 2, about 2
          volume             at least 2, about 10                 at most 2 + 6*len(points)
          prompt tokens      at least 118, about 461
          completion tokens  at least 1, about 98                 at most 2048 + 2048*len(points)
          cost               at least $0.000061, about $0.000378

        with router = False
        decided by a model: len(points)
        prices: simulated with the prices of gpt-3.5-turbo
        `about`: from one simulated run; tokens are estimates
        """
    )


def test_the_document_has_the_same_as_data(gotc: Gotc) -> None:
    found = gotc("explain", "vote.got", "--input", "question=why?", "--set", "tries=4", "--json").json()
    assert found == {
        "format_version": 2,
        "program": "vote",
        "simulated": True,
        "scheme": "vote",
        "params": {"tries": 4},
        "inputs_known": True,
        **VOTE_COSTS,
        "with_early_stop": VOTE_COSTS,
        "at_once": VOTE_COSTS,
        "ahead": VOTE_COSTS,
        "unknown": [],
        "prices": "simulated with the prices of gpt-3.5-turbo",
        "not_expected": None,
    }


def test_a_program_without_simulators(gotc: Gotc, folder: Path) -> None:
    (folder / "one.got").write_text(
        'prompt p(x: int) -> int:\n    "{{ x }}"\nscheme s(x: int) -> int:\n    Generate() p(x)\n'
    )
    found = gotc("explain", "one.got", "--input", "x=3", "--model", "openai:gpt-4o-mini", "--json").json()
    assert (found["simulated"], found["calls"]["expected"]) == (False, 1)
    assert found["output_tokens"]["expected"] is None
    assert not (folder / ".gotc").exists()
    assert "no known price" in gotc("explain", "one.got", "--model", "openai:nobody-sells-this").out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("nofile.got",), "error: there is no file nofile.got"),
        (("vote.got", "--scheme", "vot"), "no scheme `vot` in `vote`"),
        (("vote.got", "--set", "trys=3"), "did you mean `tries`?"),
        (("vote.got", "--set", "tries=99"), "`tries`: 99 is outside 1..9"),
        (("vote.got", "--set", "tries=many"), "--set tries: expected int"),
        (
            ("vote.got", "--input", "question=why?", "--input", "depth=1"),
            "--input depth: scheme `vote` has no such input",
        ),
        (("vote.got", "--model", "opnai:gpt-4o"), "unknown model provider `opnai`"),
        ((SORT128, "--input", "numbers=three"), "numbers"),
        (("GOT0999",), "there is no error code `GOT0999`"),
        (("99999999999999999999",), "there is no error code"),
        (("vote_sim.py",), "error[GOT0001]"),
        (("vote.got", "--wave", "0"), "--wave"),
    ],
)
def test_wrong_usage_is_told_in_one_line_and_nothing_is_printed(
    arguments: tuple[object, ...], told: str, gotc: Gotc
) -> None:
    done = gotc("explain", *arguments)
    assert (done.code, done.out) == (2, "")
    assert told in done.err
    assert "Traceback" not in done.err


def test_a_program_with_mistakes_tells_them_as_check_does(gotc: Gotc, folder: Path) -> None:
    (folder / "wrong.got").write_text("scheme s() -> int:\n    Generte() p()\n")
    done = gotc("explain", "wrong.got")
    assert done.code == 2
    assert done.err.splitlines()[0] == gotc("check", "wrong.got").out.splitlines()[0]
    assert gotc("explain", "wrong.got", "--json").code == 2
