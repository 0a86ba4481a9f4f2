"""Parts of studies: rows, spaces, racing, forecasts, the book of the money, texts in programs."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.laws import tried

pytest.importorskip("optuna", reason="the extra `tune` is not installed")

from support.studies import guess_plan

from gotlang.api import compile
from gotlang.cache.coordination import Charge, Coordination
from gotlang.cache.sqlite import MemoryCoordination, SqliteCoordination
from gotlang.errors import BudgetExceeded, UsageError
from gotlang.models.base import DecodingSettings, Message, Price, Request
from gotlang.syntax.format import format_module
from gotlang.tune.budget import StudyBudget
from gotlang.tune.plan import Method, read_plan
from gotlang.tune.sampler import Proposals, require_sampler
from gotlang.tune.space import Dimension, Space, space_of
from gotlang.tune.study import split
from gotlang.tune.trials import TrialResult
from gotlang.tune.tuned import PromptTexts, Shot, edited, rewritten

# ---------------------------------------------------------------- rows


@tried(25)
@given(
    values=st.lists(st.integers(0, 12), min_size=4, max_size=30),
    train=st.integers(1, 6),
    test=st.integers(1, 6),
    seed=st.integers(0, 9),
)
def test_no_row_is_on_both_sides(
    tmp_path_factory: pytest.TempPathFactory, values: list[int], train: int, test: int, seed: int
) -> None:
    folder = tmp_path_factory.mktemp("rows")
    plan = guess_plan(folder, f"train {train}, test {test}, seed {seed}\nminimize error(result, target)")
    (folder / "numbers.csv").write_text("Target\n" + "".join(f"{n}\n" for n in values))
    if train + test > len(set(values)):
        with pytest.raises(UsageError, match="different rows"):
            split(plan)
        return
    parts = split(plan)
    assert parts == split(plan)
    trained = {row.inputs["target"] for row in plan.read_rows(parts.train).rows}
    tested = {row.inputs["target"] for row in plan.read_rows(parts.test).rows}
    assert len(trained) == train
    assert len(tested) == test
    assert not trained & tested


def test_another_split_seed_is_another_split(tmp_path: Path) -> None:
    wish = "\nminimize error(result, target)"
    one = split(guess_plan(tmp_path, "train 20, test 20, seed 1" + wish))
    assert one.train != split(guess_plan(tmp_path, "train 20, test 20, seed 2" + wish)).train


# ---------------------------------------------------------------- spaces

CONDITIONAL = """
param search = "wide" in ["wide", "deep"]
param depth = 3 in 1..4 when search == "deep"
param samples = [3, 3] each in 1..5
param warmth = 0.5 in 0.0..1.0
param unused = 1 in 1..9
prompt guess(n: int) -> int:
    "Guess {{ n }}"
scheme s(n: int) -> int:
    repeat depth if search == "deep" else 1:
        Generate(k=samples[0] + samples[1], temperature=warmth) guess(n)
        Vote()
study t:
    data "rows.csv", train 1, test 1
    minimize abs(result - n)
"""


def test_a_space_holds_what_the_scheme_uses(tmp_path: Path) -> None:
    from gotlang.tune.plan import plan_of

    plan = plan_of(compile(CONDITIONAL, "s.got").compilation, tmp_path)
    space = space_of(plan)
    names = [d.name for d in space.dimensions]
    assert names == ["search", "depth", "samples[0]", "samples[1]", "warmth"]
    assert space.start == {"search": "wide", "samples[0]": 3, "samples[1]": 3, "warmth": 0.5}
    assert space.values({"search": "deep", "depth": 2, "samples[1]": 5}) == {
        "search": "deep",
        "depth": 2,
        "samples": [3, 5],
    }


def test_every_choice_comes_back_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "p.got").write_text(
        'param word = "json:[1]" in ["json:[1]", "json:", "x"]\n'
        "param shape = [1, 2] in [[1, 2], [3]]\n"
        'prompt ask(x: int) -> int:\n    "{{ x }}"\n'
        "scheme p(x: int) -> int:\n    Generate(k=len(word) + len(shape)) ask(x)\n    Vote()\n"
        'study s:\n    data "rows.csv", train 1, test 1\n    minimize cost\n'
    )
    space = space_of(read_plan(tmp_path / "p.got"))
    known = {
        dimension.name: [
            space.values({dimension.name: choice})[dimension.name] for choice in dimension.choices
        ]
        for dimension in space.dimensions
    }
    assert known == {"word": ["json:[1]", "json:", "x"], "shape": [[1, 2], [3]]}
    assert all(isinstance(choice, str) for dimension in space.dimensions for choice in dimension.choices)


def test_a_grid_of_infinitely_many_points_is_refused(tmp_path: Path) -> None:
    from gotlang.tune.plan import plan_of

    with pytest.raises(UsageError, match="no grid"):
        space_of(plan_of(compile(CONDITIONAL, "s.got").compilation, tmp_path)).grid()


def test_a_conditional_space_lists_each_of_its_points_once(tmp_path: Path) -> None:
    from gotlang.tune.plan import plan_of

    text = CONDITIONAL.replace("0.5 in 0.0..1.0", "0.5 in [0.0, 0.5]") + "    vary search, depth, warmth\n"
    space = space_of(plan_of(compile(text, "s.got").compilation, tmp_path))
    wide = [{"search": "wide", "warmth": warmth} for warmth in (0.0, 0.5)]
    deep = [{"search": "deep", "depth": d, "warmth": w} for d in range(1, 5) for w in (0.0, 0.5)]
    listed = space.points(10)
    assert listed is not None
    assert listed[0] == space.start == {"search": "wide", "warmth": 0.5}
    assert sorted(map(repr, listed)) == sorted(map(repr, wide + deep))
    assert space.points(9) is None
    endless = space_of(plan_of(compile(CONDITIONAL, "s.got").compilation, tmp_path))
    assert endless.points(10**9) is None
    *others, warmth = space.dimensions
    asked = replace(space, dimensions=(*others, replace(warmth, unset=True))).points(11)
    assert asked is not None
    assert asked[0] == {"search": "wide"}
    assert len(asked) == 11


def test_a_point_of_which_nothing_is_known_has_neighbours() -> None:
    space = Space((Dimension("warmth", "warmth", 0.0, 0.0, 1.0, unset=True),), {})
    near = space.near(space.start, random.Random(1))
    assert space.start == {} and 0 <= float(near["warmth"] or 0) <= 1


# ---------------------------------------------------------------- proposals

SQUARE = Space((Dimension("x", "x", 0, 0, 20, whole=True), Dimension("y", "y", 0, 0, 20, whole=True)), {})


def far(point: object) -> TrialResult:
    assert isinstance(point, dict)
    return TrialResult(
        ((point["x"] - 12) ** 2 + (point["y"] - 5) ** 2,), {"sum": point["x"] + point["y"] - 25.0}
    )


def proposals(sampler: str, seed: int = 3) -> Proposals:
    return Proposals(SQUARE, Method(sampler), seed=seed, maximize=[False])


def walked(source: Proposals, count: int) -> list[dict[str, object]]:
    """The points of so many rounds of four, of which the results of all are told."""
    points: list[dict[str, object]] = []
    for _ in range(count):
        found = source.points(4)
        points += map(dict, found)
        for point in found:
            source.tell(point, far(point))
    return points


@pytest.mark.parametrize("sampler", ["tpe", "random", "nsga2"])
def test_points_depend_on_the_seed_and_what_was_told_only(sampler: str) -> None:
    points = walked(proposals(sampler), 5)
    assert walked(proposals(sampler), 5) == points
    assert walked(proposals(sampler, 4), 5) != points
    assert all(len({tuple(p.values()) for p in points[i : i + 4]}) == 4 for i in range(0, len(points), 4))


def test_tpe_finds_the_hollow() -> None:
    points = walked(proposals("tpe"), 13)
    best = min(far(p).values[0] for p in points if far(p).excess["sum"] <= 0)  # type: ignore[index]
    assert best <= 8


def test_a_missing_library_is_named() -> None:
    try:
        import cmaes  # noqa: F401
    except ImportError:
        with pytest.raises(UsageError, match="needs cmaes"):
            require_sampler(Method("cmaes"))


# ---------------------------------------------------------------- money

PRICE = Price(1.0, 1.0)
ASKED = Request("m", (Message("user", "x" * 100),), DecodingSettings(max_tokens=1000))


@pytest.fixture(params=["file", "memory"])
def join(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Callable[[], Coordination]]:
    """Each call is a worker of its own; in memory, of the one process."""
    opened: list[Coordination] = []

    def one() -> Coordination:
        if request.param == "file":
            opened.append(Coordination(SqliteCoordination(tmp_path / "budgets.sqlite")))
        elif not opened:
            opened.append(Coordination(MemoryCoordination()))
        return opened[-1]

    yield one
    for shared in opened:
        shared.close()


def test_a_study_that_is_given_more_money_goes_on(join: Callable[[], Coordination]) -> None:
    async def go() -> None:
        first = StudyBudget(join(), "s", 0.003)
        reservation = await first.reserve(ASKED, 2, PRICE)
        first.settle(reservation, Charge(1, Fraction(1, 1000)), Charge(1, Fraction(1, 1000)))
        await asyncio.sleep(0)
        with pytest.raises(BudgetExceeded, match=r"of \$0.0030 .* \$0.0010 charged, \$0.0010 uncertain"):
            await first.reserve(ASKED, 1, PRICE)
        more = StudyBudget(join(), "s", 0.006)
        assert (await more.reserve(ASKED, 9, PRICE)).calls == 3

    asyncio.run(go())


def test_what_calls_without_a_price_cost_is_unknown_and_not_nothing(join: Callable[[], Coordination]) -> None:
    async def go() -> None:
        budget = StudyBudget(join(), "s", None, priced=False)
        reservation = await budget.reserve(ASKED, 2, None)
        budget.settle(reservation, Charge(2, Fraction(0)), Charge(0, Fraction(0)))
        await asyncio.sleep(0)
        assert str(budget.spent_by_all) == "an unknown amount on 2 calls"

    asyncio.run(go())


def test_workers_share_one_budget(join: Callable[[], Coordination]) -> None:
    most = 0.003

    async def spend() -> int:
        budget = StudyBudget(join(), "s", most)
        done = 0
        while True:
            try:
                reservation = await budget.reserve(ASKED, 1, PRICE)
            except BudgetExceeded:
                assert budget.exhausted
                return done
            await asyncio.sleep(0)
            budget.settle(reservation, Charge(1, Fraction(4, 10_000)))
            done += 1

    async def all_of_them() -> list[int]:
        return await asyncio.gather(*[spend() for _ in range(3)])

    calls = sum(asyncio.run(all_of_them()))
    stored = join().budget("s")
    assert stored is not None and stored.charged.calls == calls > 0
    assert stored.used.usd <= Fraction(3, 1000)
    assert stored.used.usd + Fraction(1, 1000) > Fraction(3, 1000) - Fraction(2, 10_000)


def test_money_that_may_come_back_is_waited_for(join: Callable[[], Coordination]) -> None:
    async def go() -> tuple[int, int]:
        budget = StudyBudget(join(), "s", 0.0045)
        other = StudyBudget(join(), "s", 0.0045)
        first = await other.reserve(ASKED, 2, PRICE)
        second = asyncio.create_task(budget.reserve(ASKED, 3, PRICE))
        await asyncio.sleep(0.1)
        assert not second.done()  # one or two would fit now
        other.settle(first, Charge(2, Fraction(1, 10_000)))
        granted = await second
        budget.settle(granted, Charge(3, Fraction(1, 10_000)))
        await asyncio.sleep(0)
        return granted.calls, (await budget.reserve(ASKED, 100, PRICE)).calls

    granted, rest = asyncio.run(asyncio.wait_for(go(), 10))
    assert granted == 3
    assert 3 < rest < 100  # nothing is under way that could give anything back


# ---------------------------------------------------------------- texts in programs

PROGRAM = '''# How far to go.
param tries = 5 in 1..9   # tries
param samples = [3, 3] each in 1..5

prompt guess(n: int) -> int:
    instruction """
    Guess the number.
    """
    """
    Number: {{ n }}
    """

prompt plain(n: int) -> int:
    "Number: {{ n }}"

scheme s(n: int) -> int:
    Generate(k=tries + samples[0]) guess(n)
    Generate() plain(n)
    Vote()
'''


def test_only_what_changes_is_written() -> None:
    program = compile(PROGRAM, "s.got")
    texts = {
        "guess": PromptTexts('Say "the" number.\nNothing else. {{ n }}'),
        "plain": PromptTexts("Of {{ n }}: \\n"),
    }
    source = edited(program.compilation, {"tries": 7, "samples": [1, 3]}, texts)["s.got"]
    before, after = PROGRAM.splitlines(), source.text.splitlines()
    assert [line for line in before if line not in after] == [
        "param tries = 5 in 1..9   # tries",
        "param samples = [3, 3] each in 1..5",
        "    Guess the number.",
        '    "Number: {{ n }}"',
    ]
    again = compile(source.text, "s.got")
    assert again.ir(0).prompt("guess").instruction.text == texts["guess"].instruction
    assert again.ir(0).prompt("plain").user.text == texts["plain"].instruction
    assert [p.default for p in again.ir(0).params] == [7, [1, 3]]


def test_a_value_that_stays_keeps_its_spelling() -> None:
    text = PROGRAM.replace("samples = [3, 3] each in 1..5", "samples = [3,3] each in 1..5")
    program = compile(text, "s.got")
    assert edited(program.compilation, {"samples": [3, 3], "tries": 5}, {})["s.got"].text == text


def test_what_is_written_is_canonical() -> None:
    formatted = format_module(
        compile(PROGRAM, "s.got").compilation.modules[0], compile(PROGRAM, "s.got").compilation.source
    )
    program = compile(formatted, "s.got")
    changes = PromptTexts("One.\n\nTwo.", (Shot({"n": 1}, 2), Shot({"n": 3}, 4)))
    done = rewritten(program.compilation, {"tries": 8}, {"guess": changes})
    assert format_module(done.modules[0], done.source) == done.source.text
    assert [e.output for e in compile(done.source.text).ir(0).prompt("guess").examples] == [2, 4]
    gone = rewritten(done, {}, {"guess": PromptTexts(None, ())})
    assert compile(gone.source.text).ir(0).prompt("guess").examples == ()
    fewer = rewritten(done, {}, {"guess": PromptTexts(None, (Shot({"n": 9}, 9),))})
    assert [e.output for e in compile(fewer.source.text).ir(0).prompt("guess").examples] == [9]


@tried(80)
@given(st.text(max_size=60))
def test_any_instruction_is_read_back(text: str) -> None:
    if any(mark in text for mark in ("{{", "{%", "{#")) or any(0xD800 <= ord(c) <= 0xDFFF for c in text):
        return
    text = text.replace("\r", "")
    if not text.strip():  # no prompt may have such a text, and `usable` refuses it
        return
    program = compile(PROGRAM, "s.got")
    try:
        done = rewritten(program.compilation, {}, {"guess": PromptTexts(text)})
    except UsageError:
        return
    node = next(
        d for d in done.modules[0].declarations if getattr(getattr(d, "name", None), "text", "") == "guess"
    )
    assert node.instruction.value == text  # type: ignore[union-attr]


@tried(60)
@given(
    st.recursive(
        st.integers(-99, 99) | st.floats(-1e9, 1e9) | st.booleans() | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3),
        max_leaves=6,
    )
)
def test_a_literal_reads_back(value: object) -> None:
    from gotlang.ir.evaluate import evaluate
    from gotlang.ir.text import value_text
    from gotlang.span import Source
    from gotlang.syntax.expressions import Expression
    from gotlang.syntax.parse import parse_expression

    node = parse_expression(Source.of("x", value_text(value)))
    assert not hasattr(node, "code"), node
    expression: Expression = node  # type: ignore[assignment]
    assert evaluate(expression, {}) == value
