"""The verifier: every program is valid at every level, and each kind of inconsistency is detected and
named."""

from __future__ import annotations

from pathlib import Path

import pytest

from gotlang.api import load
from gotlang.ir.parse import from_text
from gotlang.ir.verify import VerificationError, verify

PROGRAMS = sorted((Path(__file__).parent.parent / "programs").rglob("*.got"))

HEAD = """program "x"

param tries: int = 5 in 1..10

prompt ask(xs: list[int]) -> list[int]:
    "{{ xs }}"

prompt parts(xs: list[int]) -> many list[int]:
    count 4
    "{{ xs }}"

prompt good(xs: list[int]) -> bool:
    "{{ xs }}"

score wrong(xs: list[int]) -> lower, best 0:
    value len(xs)

score judged(xs: list[int]) -> higher, best 10:
    enter %start
    v = Generate @good(xs=xs) from %start, k 1 : bool one
    yield %start
    value 1 if v else 0

scheme s(xs: list[int]) -> list[int], truth list[int]:
    enter %start
"""
BODY = """    %1 = Generate @ask(xs=xs) from %start, k tries, stop 1 @wrong(xs=it) : list[int]
    %2 = Score @wrong(xs=it) from %1, k 1 : list[int]
    %3 = KeepBestN 1 from %2 : list[int] one
    %4 = foreach part at i in [it, xs] after range(i) from %3 : list[int]
        enter part
        %5 = Generate @ask(xs=part + flatten(done)) from part, k 1 : list[int] one
        yield %5
    %6 = reduce a, b in %4 as step from %4 : list[int] one
        enter %pair
        %7 = Aggregate @ask(xs=a + b) from %pair, k 1 : list[int] one
        yield %7
    %8 = repeat 3 as n until len(it) > n from %6 : list[int] one
        enter %round
        %9 = if from %round : list[int] one
            when n > 1
                enter %round
                %10 = Map it from %round : list[int] one
                yield %10
        yield %9
    %11 = GroundTruth it == truth from %8 : list[int] one
    yield %11
"""


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
@pytest.mark.parametrize("level", [0, 1, 2])
def test_every_program_is_right(path: Path, level: int) -> None:
    verify(load(path).ir(level))


def test_the_program_that_the_mistakes_are_made_in_is_right() -> None:
    verify(from_text(HEAD + BODY))


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("from %1, k 1", "from %12, k 1", "unknown pool `%12`"),
        ("from %1, k 1", "from %7, k 1", "unknown pool `%7`"),
        ("yield %11", "yield %12", "unknown pool `%12`"),
        ("enter part", "enter %none", "unknown pool `%none`"),
        ("%2 = Score", "%1 = Score", "duplicate name"),
        ("@ask(xs=xs) from %start", "@ask(xs=ys) from %start", "`ys` is not known"),
        ("@ask(xs=xs) from %start", "@ask(xs=1) from %start", "an expression has type int"),
        ("@ask(xs=xs) from %start", "@ask() from %start", "takes \\(xs\\), not \\(\\)"),
        ("@ask(xs=xs) from %start", "@ask(xs=it) from %start", "`it` is the current thought"),
        ("@ask(xs=xs) from %start", "@asks(xs=xs) from %start", "unknown prompt `asks`"),
        ("k tries, stop", 'k "five", stop', "declared: int"),
        ("k tries, stop 1 @wrong(xs=it)", "k tries, stop 1 @judged(xs=it)", "cannot stop sampling"),
        ("k tries, stop 1 @wrong(xs=it)", "k tries, stop 1 @wrong(xs=1)", "an expression has type int"),
        ("k tries, stop", "k tries, settings(heat=1), stop", "unknown setting `heat`"),
        (
            "(xs=it) : list[int]\n    %2",
            "(xs=it) : list[int] one\n    %2",
            "marked `one`, but may return any",
        ),
        ("KeepBestN 1", "KeepBestN tries", "marked `one`, but may return any"),
        ("KeepBestN 1 from %2 : list[int]", "KeepBestN 1 from %2 : int", "declared: int"),
        ("after range(i)", "after i", "declared: list\\[int\\]"),
        ("in [it, xs]", "in tries", "int"),
        ("a + b", "a + c", "`c` is not known"),
        ("until len(it) > n", "until m > n", "`m` is not known"),
        ("when n > 1", "when n", "declared: bool"),
        ("Map it from %round : list[int] one", "Map it from %round : str one", "declared: str"),
        ("Map it from", "Map judged(it) from", "score `judged` calls a model"),
        ("Map it from", "Map truth from", "`truth` is defined only"),
        ("scheme s(xs: list[int]) -> list[int]", "scheme s(xs: list[int]) -> str", "declared: str"),
        ("scheme s(xs: list[int]) -> list[int], ", "scheme s(xs: list[int]) -> int, collect, ", "collects"),
        ("    count 4\n", "    heat 4\n", "unknown setting `heat`"),
        ("many list[int]", "list[int]", "counts values but returns one"),
        ("value len(xs)", "value xs", "declared: float"),
    ],
)
def test_a_mistake_is_found(old: str, new: str, reason: str) -> None:
    text = HEAD + BODY
    assert old in text
    with pytest.raises(VerificationError, match=reason) as caught:
        verify(from_text(text.replace(old, new, 1)))
    assert "the compiler produced an invalid program" in caught.value.message


def test_the_place_is_named() -> None:
    with pytest.raises(VerificationError) as caught:
        verify(from_text((HEAD + BODY).replace("a + b", "c")))
    assert caught.value.place == "scheme s / %6 / %7"
