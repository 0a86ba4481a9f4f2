"""Rewrites preserve types and bounds: properties over generated programs, and results for known ones."""

from __future__ import annotations

from collections.abc import Iterator
from operator import is_
from pathlib import Path
from random import Random
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.generated import HEAD, SIMULATORS, Generated, programs
from support.laws import tried
from support.orders import compiled

from gotlang.api import Options, Program, compile, load
from gotlang.errors import RunError, UsageError
from gotlang.estimate.cost import CostRange
from gotlang.models.simulated import SimulatedModel
from gotlang.span import Source
from gotlang.syntax.format import format_module
from gotlang.syntax.parse import parse
from gotlang.tune.rewrites import REWRITES, Variant, simplest, variant, variants

MODELS = ("small", "large")
PROGRAMS = Path(__file__).parents[1] / "programs"


def calls(program: Program, inputs: object, scheme: str, params: dict[str, int]) -> CostRange:
    options = Options(model=SimulatedModel(ANSWERS), params=params)
    return program.explain(inputs, scheme=scheme, options=options, simulate=False).costs.calls  # type: ignore[arg-type]


JOINED = """
prompt joined(a: int, b: int) -> int:
    "{{ a }} and {{ b }}"
"""
ANSWERS = {**SIMULATORS, "joined": lambda rng, a, b: str((a + b + rng.randrange(2)) % 5)}


@st.composite
def staged(draw: st.DrawFn) -> Generated:
    """A program of one stage, such as rewrites work on, alone or for each of a list."""
    k = draw(st.sampled_from(["", "k=1", "k=3", "k=tries", "k=1 + 2"]))
    asked = draw(st.sampled_from(["folded(xs)", "folded(xs)", "pair(x, 2)", "one(x)", "fussy(x)"]))
    scored = draw(st.sampled_from(["off(it, sum(xs) % 5)", "near(it)", "judged(it)", "it", ""]))
    lines = [f"Generate({k}) {asked}"]
    lines += [f"Score() {scored}"] if scored else []
    if k not in ("", "k=1"):
        lines += [draw(st.sampled_from(["Vote()", *(["KeepBestN(1)"] * 2 if scored else [])]))]
    if draw(st.booleans()):
        lines += (
            ["Improve() pair(it, x)"]
            if not scored
            else [
                "repeat deep:",
                "    Improve(k=2, keep=true) pair(it, x)",
                f"    Score() {scored}",
                "    KeepBestN(1)",
            ]
        )
    if draw(st.booleans()):
        lines = ["foreach y in [x, 3]:", *(f"    {line}" for line in lines), "Aggregate() folded(thoughts)"]
    body = "".join(f"    {line}\n" for line in lines)
    return Generated(f"{HEAD}{JOINED}\nscheme main(x: int, xs: list[int]) -> int:\n{body}")


def by_last_rewrite(found: list[Variant[Program]], chance: Random) -> Iterator[Variant[Program]]:
    """One variant by each rewrite, and the program as it is."""
    chance.shuffle(found)
    yield from {one.rewrites[-1].partition("(")[0] if one.rewrites else "": one for one in found}.values()


@tried(5)
@given(programs() | staged(), st.integers(0, 2**32))
def test_a_variant_compiles_and_its_calls_lie_within_what_its_rewrites_declare(
    program: Generated, seed: int
) -> None:
    original, chance = compiled(program.text), Random(seed)
    scheme = original.scheme().name
    before = calls(original, program.inputs, scheme, {})
    for one in by_last_rewrite(variants(original, scheme, 2, 400, models=MODELS), chance):
        params = {n.name: chance.choice([n.low, n.default, n.low + 1]) for n in one.numbers}
        after = calls(one.program, program.inputs, scheme, params)
        least, most = one.factors(params)
        assert after.low >= least * before.low
        if most is not None and before.high is not None:
            assert after.high is not None and after.high <= most * before.high
        options = Options(model=SimulatedModel(ANSWERS), params=params, level=1)
        try:
            result = one.program.run(program.inputs, scheme=scheme, truth=3, options=options)
        except RunError:
            continue  # no bound is given for a run without a result
        assert after.high is None or result.calls <= after.high
        assert result.outcome.failures or result.calls >= after.low


@tried(3)
@given(programs() | staged())
def test_the_text_of_a_variant_is_canonical_and_its_name_makes_it_again(program: Generated) -> None:
    original = compiled(program.text)
    scheme = original.scheme().name
    found = variants(original, scheme, 2, 40, models=MODELS)
    assert len({one.text for one in found}) == len({one.name for one in found}) == len(found)
    for one in found[1::9]:
        source = Source.of("law.got", one.text)
        assert format_module(parse(source)[0], source) == one.text
        assert variant(original, scheme, one.name).text == one.text


GUESS = """\
param goal = 3 in 0..9  # what is wanted

prompt guess(x: int) -> int:
    "{{ x }}"
prompt mend(x: int, wrong: int) -> int:
    "{{ x }} is not {{ wrong }}"
score off(found: int, x: int) -> lower, best 0:
    abs(found - x - goal)

# One guess.
scheme near(x: int) -> int:
    Generate() guess(x)  # a note
    Score() off(it, x)

# Another scheme.
scheme far(x: int) -> int:
    Generate(k=4) guess(x)
    Score() off(it, x)
    KeepBestN(1)
    Improve() mend(x, it)
"""


def body(found: Variant[Program]) -> str:
    """The text of the scheme, without its first line."""
    text = found.text[found.text.index(f"scheme {found.scheme}(") :]
    return dedent(text.partition("\n")[2].partition("\n\n")[0])


@pytest.mark.parametrize(
    ("scheme", "name", "lines"),
    [
        ("near", "best_of(guess)", "Generate(k=guess_tries) guess(x)\nScore() off(it, x)\nKeepBestN(1)"),
        ("near", "vote(guess)", "Generate(k=guess_votes) guess(x)\nVote()\nScore() off(it, x)"),
        ("near", "refine(mend)", "repeat mend_rounds:\n    Improve(k=mend_tries, keep=true) mend(x, it)"),
        ("near", "validate(mend)", "ValidateAndImprove(mend_checks) off(it, x) == 0, mend(x, it)"),
        (
            "near",
            "escalate(small,large)",
            'if off(it, x) != 0:\n    Generate(model="large") guess(x)\nScore() off(it, x)',
        ),
        (
            "near",
            "best_of(guess)+two_models(small,large)",
            'first = Generate(k=guess_tries, model="small") guess(x)\n'
            'second = Generate(k=guess_second, model="large") guess(x)\nPool() first, second\nScore()',
        ),
        ("far", "drop(improving)", "Generate(k=4) guess(x)\nScore() off(it, x)\nKeepBestN(1)"),
        ("far", "best_of(guess)", "Generate(k=guess_tries) guess(x)\nScore() off(it, x)\nKeepBestN(1)\nImp"),
    ],
)
def test_what_a_rewrite_writes(scheme: str, name: str, lines: str) -> None:
    program = compile(GUESS)
    found = variant(program, scheme, name)
    without_comments = "\n".join(line.partition("  #")[0] for line in body(found).splitlines())
    assert lines in without_comments
    assert found.program.scheme(scheme).result == program.scheme(scheme).result


def test_comments_stay_where_they_are() -> None:
    found = variant(compile(GUESS), "near", "best_of(guess)+refine(mend)")
    assert "Generate(k=guess_tries) guess(x)  # a note\n" in found.text
    assert "\n\n# One guess.\nscheme near(" in found.text
    assert "\n\n# Another scheme.\nscheme far(" in found.text
    assert "param goal        = 3 in 0..9  # what is wanted\nparam guess_tries = 5 in 1..10" in found.text


def test_a_list_is_split_where_the_score_can_judge_a_part() -> None:
    program = load(PROGRAMS / "sets.got")
    found = variant(program, "io", "best_of(intersect)+split(set2,merge)")
    assert body(found).startswith(
        dedent("""\
        foreach part in chunks(set2, set2_parts):
            Generate(k=intersect_tries) intersect(set1, part)
            Score() errors(it, intersection(set1, part))
            KeepBestN(1)
            Map() {whole: part, found: it}
        reduce left, right:
            whole = left.whole + right.whole
            Aggregate(merge_tries_2) merge(left.found, right.found)
            Score() errors(it, intersection(set1, whole))
            KeepBestN(1)
            Map() {whole: whole, found: it}
        Map() it.found
        Score() errors(it, intersection(set1, set2))
        """)
    )


def test_a_text_is_split_by_a_prompt_and_scored_by_what_can_be_shown_the_part() -> None:
    found = variant(load(PROGRAMS / "keywords.got"), "io", "best_of(count_countries)+split(split_text,merge)")
    assert "text_list = Generate() split_text(text, text_parts)\nforeach part in text_list:" in body(found)
    assert "Score() local_errors(it, part, text, countries)" in body(found)
    assert 'whole = left.whole + " " + right.whole' in body(found)
    assert found.most is not None
    other = variant(load(PROGRAMS / "keywords.got"), "io", "split(split_sentences,merge)")
    assert other.most is None  # a model says how many sentences there are


def test_what_is_switched_off_is_left_out() -> None:
    program = load(PROGRAMS / "sorting.got")
    name = "best_of(sort)+refine(repair)+split(numbers,merge)"
    found = variant(program, "io", name)
    assert simplest(found, {}).name == name
    assert simplest(found, {"repair_rounds": 0}).name == name  # those after a merge are left
    off = {"repair_rounds": 0, "merge_repair_rounds": 0}
    assert simplest(found, off).name == "best_of(sort)+split(numbers,merge)"
    once = {**off, "sort_tries_2": 1, "merge_tries_2": 1}
    assert simplest(found, once).name == "split(numbers,merge)"
    names = [one.name for one in variants(program, "io")]
    assert names[0] == "io" and name in names and "best_of(sort)" not in names


def test_a_program_without_imports_is_rewritten_as_a_tree() -> None:
    """Its variants are checked without being written and read again, which takes five times as long."""
    found = compile(GUESS).compilation.compiled()
    assert all(map(is_, found.modules, found.checked.modules))


def test_what_cannot_be_rewritten_is_said(tmp_path: Path) -> None:
    (tmp_path / "guess.got").write_text(GUESS)
    (tmp_path / "other.got").write_text('import "guess.got"\n')
    with pytest.raises(UsageError, match="declared in another file"):
        variants(load(tmp_path / "other.got"), "far")
    with pytest.raises(UsageError, match=r"cannot be rewritten by `split\(x,merge\)`"):
        variant(compile(GUESS), "near", "best_of(guess)+split(x,merge)")


def test_the_page_on_studies_has_every_rewrite() -> None:
    page = (Path(__file__).parents[1] / "docs/studies.md").read_text("utf-8")
    for one in REWRITES:
        assert f"| `{one.name}` | {one.doc} | {one.calls} | {one.needs} |" in page


def test_programs_with_imports_and_definitions_are_rewritten(tmp_path: Path) -> None:
    parts = (
        'prompt guess(n: int) -> int:\n    temperature 0.8\n    "{{ n }}"\n\n'
        "score off(x: int, n: int) -> lower, best 0:\n    abs(x - n)\n"
    )
    scheme = "scheme main(n: int) -> int:\n    Generate() guess({n})\n    Score() off(it, n)\n"
    head = (
        "from std.vote import BestOf\n"
        'from "parts.got" import guess, off\n\n'
        "function twice(x: int) -> int = x * 2\n\n"
        "scheme other(n: int) -> int:\n    BestOf(2) guess(twice(n)), off(it, n)\n\n"
    )
    (tmp_path / "parts.got").write_text(parts)
    (tmp_path / "main.got").write_text(head + scheme.replace("{n}", "twice(n)"))
    program, plain = load(tmp_path / "main.got"), compile(parts + scheme.replace("{n}", "n * 2"))
    found = variants(program, "main", depth=2)
    assert [one.name for one in found] == [one.name for one in variants(plain, "main", depth=2)]
    assert "best_of(guess)" in {one.name for one in found}
    again = variant(program, "main", "best_of(guess)")
    assert head in again.text.replace("\n\nparam guess_tries = 5 in 1..10", "")
    assert "Generate(k=guess_tries) guess(twice(n))" in again.text
    model = SimulatedModel({"guess": lambda rng, n: str(n // 2 + rng.randrange(2))})
    assert again.program.run(n=3, scheme="main", options=Options(model=model)).value == 3
