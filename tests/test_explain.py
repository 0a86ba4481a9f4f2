"""Estimates agree with runs: for every scheme of programs/, and for generated ones."""

from __future__ import annotations

import math
import random
from functools import cache
from statistics import fmean
from textwrap import dedent
from typing import Any

import pytest
from hypothesis import given
from msgspec.structs import replace
from support.answers import any_model, some_value
from support.generated import SIMULATORS, Generated, programs
from support.laws import NEW, tried
from support.orders import compiled
from support.timing import within

from benchmarks.schemes import PROGRAMS, ROWS, Row, program_of, value_of
from benchmarks.schemes import given as inputs_of
from gotlang.api import Options, compile
from gotlang.errors import RunError, UsageError
from gotlang.estimate.cost import (
    Bills,
    CostRange,
    Costs,
    Estimate,
    cost_range,
    costs_of,
    estimate,
    may_stop_early,
)
from gotlang.ir.program import Invoke, Param
from gotlang.metric import steps
from gotlang.models.base import ModelOptions
from gotlang.models.simulated import SimulatedModel
from gotlang.models.tokens import estimate_tokens
from gotlang.result import Result
from gotlang.runtime.outcome import Outcome
from gotlang.runtime.sizes import Sizes, likely

SCHEMES = [
    pytest.param(name, scheme.name, id=f"{name}-{scheme.name}")
    for path in sorted(PROGRAMS.rglob("*.got"))
    for name in [str(path.relative_to(PROGRAMS))[: -len(".got")]]
    for scheme in program_of(name).ir(0).schemes
]


def outside(costs: Costs, outcome: Outcome) -> dict[str, tuple[float | None, CostRange]]:
    """What a run did outside its bounds. Where answers failed, less may have been asked."""
    did = likely(outcome, None)
    found: dict[str, tuple[float | None, CostRange]] = {}
    for name, bounds in costs.ranges():
        number = did[name]
        if bounds is None or number is None:
            continue
        if outcome.failures and (name == "volume" or bounds.high is None or number <= bounds.high):
            continue
        if not bounds.holds(number):
            found[name] = number, bounds
    return found


def ways(estimate: Estimate) -> tuple[tuple[tuple[int, str | None], Costs], ...]:
    """Level and preference of runs, and the costs that hold for them."""
    return (
        ((1, None), estimate.costs),
        ((2, "cost"), estimate.early),
        ((2, None), estimate.at_once),
        ((2, "latency"), estimate.ahead),
    )


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_run_asks_what_its_estimate_says(row: Row) -> None:
    program, (found, _) = program_of(row.program), inputs_of(row)
    estimate = program.explain(found, scheme=row.scheme, options=Options(params=row.params))
    if not row.dynamic:
        for exact in (estimate.costs.calls, estimate.costs.requests, estimate.costs.critical_path):
            assert exact.low == exact.high
    for (level, prefer), costs in ways(estimate):
        paid = []
        # Another seed than the estimate's own: neither bounds nor prices are a memory of one run.
        for seed in (0, 7) if level == 1 or NEW else (0,):
            options = Options(params=row.params, level=level, prefer=prefer, seed=seed)
            outcome = program.run(found, scheme=row.scheme, options=options).outcome
            assert outside(costs, outcome) == {}
            paid.append(outcome.ledger.accounts[0].usd)
        assert costs.usd is not None
        assert costs.usd.expected == pytest.approx(paid[0], rel=0.25)
        if not row.dynamic and level == 1:
            assert costs.usd.expected == pytest.approx(fmean(paid), rel=0.25)  # type: ignore[arg-type]


def test_every_scheme_of_programs_has_a_row_or_is_called_by_one_that_has() -> None:
    covered = {(row.program, row.scheme) for row in ROWS}
    for row in ROWS:
        ir = program_of(row.program).ir(0)
        called = [step.scheme for step in steps(ir, ir.scheme(row.scheme)) if isinstance(step, Invoke)]
        covered |= {(row.program, scheme) for scheme in called}
    # What is imported has its row in the program that it comes from; these and `evidence` are of no paper.
    others = {"folder_agent", "incident", "invoices", "manuals", "queries", "refunds", "stock", "tutor"}
    declared = {
        (name, scheme)
        for name, scheme in (param.values for param in SCHEMES)
        if f"\nscheme {scheme}(" in (PROGRAMS / f"{name}.got").read_text(encoding="utf-8")
    }
    assert {
        (name, scheme)
        for name, scheme in declared - covered
        if not name.startswith("evidence/") and name not in others
    } == set()


@cache
def estimated(name: str, scheme: str) -> tuple[dict[str, Any], Estimate]:
    """Made-up inputs of a scheme, and what it is said to cost with them."""
    program = program_of(name)
    ir = program.ir(0)
    made_up = random.Random(f"{name}/{scheme}")
    found = {name: some_value(type_, made_up) for name, type_ in ir.scheme(scheme).parameters}
    found |= {name: found[name] % 3 for name in ("depth", "left") if name in found}  # for the sake of time
    options = Options(model=any_model(ir))
    return found, program.explain(found, scheme=scheme, options=options, simulate=False)


@pytest.mark.parametrize(("name", "scheme"), SCHEMES)
@pytest.mark.parametrize("way", range(4))
def test_whatever_a_model_answers_stays_in_the_bounds(name: str, scheme: str, way: int) -> None:
    program, (found, estimate) = program_of(name), estimated(name, scheme)
    (level, prefer), costs = ways(estimate)[way]
    options = Options(model=any_model(program.ir(0)), level=level, prefer=prefer, python=True)
    try:
        outcome = program.run(found, scheme=scheme, options=options).outcome
    except RunError:
        return  # made-up answers may leave nothing, and no bound is given for a run without a result
    assert outside(costs, outcome) == {}


@tried(25)
@given(programs())
def test_a_generated_program_stays_in_its_bounds(program: Generated) -> None:
    options = Options(model=SimulatedModel(SIMULATORS))
    estimate = compiled(program.text).explain(program.inputs, options=options, simulate=False)
    for (level, prefer), costs in ways(estimate):
        result = program.try_run(level=level, prefer=prefer)
        if isinstance(result, Result):
            assert outside(costs, result.outcome) == {}
    whole, usual = program.try_run(level=1), program.try_run()
    if isinstance(whole, Result) and isinstance(usual, Result):
        assert usual.value == whole.value
        assert usual.outcome.hops <= whole.outcome.hops
        assert usual.outcome.ledger.spent.calls <= whole.outcome.ledger.spent.calls


def test_a_merge_of_a_thought_with_itself_is_made_from_one() -> None:
    """`Select` may give the same thought twice: the first and the last of one."""
    text = dedent("""
        prompt answer(x: int) -> int:
            "{{ x }}"

        scheme twice(x: int) -> int:
            Generate() answer(x)
            Select([-1, 0])
            reduce left, right:
                Aggregate() answer(left + right)
    """)
    program = compiled(text)
    options = Options(model=SimulatedModel({"answer": lambda rng, x: "7"}))
    costs = program.explain({"x": 1}, options=options, simulate=False).costs
    outcome = program.run({"x": 1}, options=options).outcome
    assert (outcome.volume, outside(costs, outcome)) == (1, {})


def test_a_merge_may_leave_what_no_thought_is_behind() -> None:
    text = dedent("""
        prompt numbers(x: int) -> many int:
            "{{ x }}"

        scheme fewest(x: int) -> int:
            foreach y in [x, x]:
                Generate() numbers(y)
            reduce a, b:
                Pool() a, 3
                Select([-1, 0])
                Vote()
    """)
    model = SimulatedModel({"numbers": lambda rng, x: "[4, 3, 3]"})
    program, options = compile(text), Options(model=model)
    estimate = program.explain({"x": 1}, options=options, simulate=False)
    assert outside(estimate.costs, program.run({"x": 1}, options=options).outcome) == {}


def test_formulas_hold_for_other_params() -> None:
    program, (numbers, _) = program_of("sorting"), inputs_of(row_of("got_rounds"))
    formula = program.explain(numbers, scheme="got_rounds", simulate=False).costs.calls.formula
    path = program.explain(numbers, scheme="got_rounds", simulate=False).costs.critical_path.formula
    assert formula == "1 + 8*sort_tries + 7*merge_tries + rounds"
    assert path == "5 + rounds"
    for params in ({"sort_tries": 2, "merge_tries": 13, "rounds": 2}, {"sort_tries": 1, "rounds": 3}):
        known = {"sort_tries": 5, "merge_tries": 10, "rounds": 1} | params
        options = Options(params=params)
        costs = program.explain(numbers, scheme="got_rounds", options=options, simulate=False).costs
        assert costs.calls.low == costs.calls.high == value_of(formula, known)
        assert costs.critical_path.low == costs.critical_path.high == value_of(path, known)


def test_without_inputs_what_depends_on_them_stays_open() -> None:
    estimate = program_of("sorting").explain(scheme="got_rounds")
    assert not estimate.inputs_known
    assert estimate.unknown == ("len(numbers) // 16",)
    assert estimate.costs.calls.high is None
    assert "len(numbers)" in str(estimate.costs.calls.formula)
    # What the inputs do not decide is known all the same.
    assert program_of("sorting").explain(scheme="io").costs.calls == CostRange(1, 1, 1, "1")


def test_what_a_model_decides_is_named() -> None:
    estimate = program_of("skeleton_of_thought").explain(question="why?", simulate=False)
    assert estimate.costs.calls.high is None
    assert estimate.costs.calls.expected is None
    assert estimate.unknown == ("len(points)",)
    with_a_run = program_of("skeleton_of_thought").explain(question="why?")
    assert with_a_run.costs.calls.expected == 5


def test_what_calls_itself_deeply_is_bounded_soon() -> None:
    program = program_of("adaptive_graph")
    # Two forecasts, each of which gives up after so many steps; the bound leaves room for slow machines.
    asked = {"question": "?", "larger": "?", "outer": [], "level": -30}
    costs = within(8, lambda: program.explain(asked, scheme="think", simulate=False).costs)
    assert costs.calls.low == 3
    assert costs.calls.high is None


def test_a_search_that_may_find_nothing_is_no_lower_bound() -> None:
    text = """
        import corpus "pages.jsonl": pages
        prompt answer(question: str, found: list[str]) -> str:
            "{{ found }} {{ question }}"
        scheme look_up(question: str) -> str:
            found = Retrieve(k=3) pages(question)
            Generate() answer(question, found)
        """
    costs = compile(dedent(text)).explain(question="?").costs
    assert (costs.volume.low, costs.volume.high) == (0, 3)
    assert costs.input_tokens.low == 3 + 4 + estimate_tokens("[] ?")


def test_the_price_is_that_of_the_model_that_will_be_asked() -> None:
    program, (numbers, _) = program_of("sort128"), inputs_of(row_of("sort128"))
    cheap, dear, unknown = (
        program.explain(numbers, options=Options(model=f"openai:{name}")).costs.usd
        for name in ("gpt-4o-mini", "gpt-4o", "nobody-sells-this")
    )
    assert cheap and dear and cheap.expected and dear.expected and cheap.high and dear.high
    assert dear.expected > 10 * cheap.expected
    assert dear.high > 10 * cheap.high
    assert unknown is None
    assert Sizes("openai:gpt-4o", ModelOptions()).price(None) == (2.5e-6, 10e-6)


def test_wrong_inputs_are_refused_before_anything_is_counted() -> None:
    program = program_of("sort128")
    for inputs, scheme, params in (
        ({"numbers": "abc"}, None, {}),
        ({"number": [1]}, None, {}),
        (None, "sort12", {}),
        (None, None, {"tries": 3}),
        (None, None, {"sort_tries": 99}),
    ):
        with pytest.raises(UsageError):
            program.explain(inputs, scheme=scheme, options=Options(params=params))


def row_of(scheme: str) -> Row:
    """A row by its scheme."""
    return next(row for row in ROWS if row.scheme == scheme)


KEEPING = """
prompt draft(x: int) -> str:
    "{{ x }}"
prompt better(text: str) -> str:
    "{{ text }}"
prompt rate(text: str, n: int) -> float:
    "{{ text }} {{ n }}"

score quality(text: str, n: int) -> higher:
    rating = Generate() rate(text, n)
    rating

scheme rated(x: int) -> many str:
    Generate(k=3) draft(x)
    Score() quality(it, x)
    KeepBestN(1)

scheme kept(x: int) -> many str:
    {between}
    Improve(k=2, keep=true) better(it)
    Score() quality(it, {n})
"""


RATED = "Generate(k=3) draft(x)\n    Score() quality(it, x)\n    KeepBestN(1)"
ROUNDS = """Generate(k=2) draft(x)
    repeat 3 as turn:
        Score() quality(it, turn)
        KeepBestN(1)
        Improve(k=1, keep=true) better(it)"""


@pytest.mark.parametrize(
    ("between", "n", "calls"),
    [
        (RATED, "x", 3 + 3 + 2 + 2),
        (RATED, "x + 1", 3 + 3 + 2 + 3),
        (RATED.replace("quality", "rate"), "x", 3 + 3 + 2 + 3),
        (RATED.replace("quality(it, x)", "len(it)"), "x", 3 + 2 + 3),
        (RATED + "\n    Map() it + it", "x", 3 + 3 + 2 + 3),
        ("rated(x + 1)", "x", 3 + 3 + 2 + 3),
        (ROUNDS, "2", 2 + 3 * 3 + 4 + 5),
    ],
)
def test_what_is_kept_is_known_to_be_rated_only_by_the_same_scorer(between: str, n: str, calls: int) -> None:
    simulators = {
        "draft": lambda rng, x: f"{x} {rng.random()}",
        "better": lambda rng, text: f"{text} {rng.random()}",
        "rate": lambda rng, text, n: str(rng.random()),
    }
    program = compile(KEEPING.replace("{between}", between).replace("{n}", n))
    options = Options(model=SimulatedModel(simulators), cache=None)
    estimate = program.explain({"x": 3}, scheme="kept", options=options, simulate=False)
    for seed in range(3):
        outcome = program.run(x=3, scheme="kept", options=replace(options, seed=seed)).outcome
        assert outside(estimate.costs, outcome) == {}
        assert outcome.ledger.accounts[0].calls == calls
    if (between, n) == (RATED, "x"):
        assert estimate.costs.calls.low == estimate.costs.calls.high == calls


def test_a_thought_that_was_computed_counts_in_the_volume() -> None:
    text = """
    prompt say(task: str, talk: list[str]) -> str:
        "{{ task }} {{ talk }}"
    scheme talk(task: str) -> list[str]:
        Map() ["hello"]
        repeat 2:
            said = Generate() say(task, it)
            Map() it + [said]
    """
    program = compile(dedent(text))
    options = Options(model=SimulatedModel({"say": lambda rng, task, talk: f"{rng.random()}"}), cache=None)
    estimate = program.explain({"task": "x"}, options=options, simulate=False)
    outcome = program.run(task="x", options=options).outcome
    assert outside(estimate.costs, outcome) == {}
    assert estimate.costs.volume.high == 2


def test_bills_of_one_program_differ_by_what_its_prompts_show() -> None:
    text = """
    param style = "plain" in ["plain", "terse, as if every word had to be paid for by the one who writes it"]
    param tries = 1 in 1..3

    prompt say(x: int, style: str) -> str:
        "Describe {{ x }} in this style: {{ style }}."

    scheme main(x: int) -> list[str]:
        Generate(k=tries) say(x, style)
    """
    ir = compile(dedent(text)).ir()
    sizes, (style, _) = Sizes("openai:gpt-4o-mini", ModelOptions()), ir.params
    assert style.domain is not None
    bills = Bills(ir, sizes, early=False)
    tokens = {}
    for chosen in (*style.domain.choices, *style.domain.choices):
        for tries in (1, 3):
            params, inputs = {"style": chosen, "tries": tries}, {"x": 17}
            bill = bills.bill("main", params, inputs)
            assert bill == Bills(ir, sizes, early=False).bill("main", params, inputs)
            tokens[chosen, tries] = bill.input_tokens.number
    assert len({*tokens.values()}) == 2  # the samples of one request share its tokens


def end(param: Param, *, most: bool) -> Any:
    """The last or the first value of a param's range."""
    domain = param.domain
    assert domain is not None
    if domain.choices:
        return domain.choices[-1 if most else 0]
    value = domain.high if most else domain.low
    return param.default if value is None or param.each else value


@pytest.mark.parametrize("most", [False, True], ids=["first", "last"])
@pytest.mark.parametrize(("name", "scheme"), SCHEMES)
def test_costs_have_bounds_at_the_ends_of_the_params(name: str, scheme: str, most: bool) -> None:
    """The texts of a deep graph may have more tokens than a fraction can tell."""
    ir = program_of(name).ir()
    params = {param.name: end(param, most=most) for param in ir.params if param.domain}
    found = estimate(ir, ir.scheme(scheme), Sizes("openai:gpt-4o-mini", ModelOptions()), params=params)
    for costs in (found.costs, found.early, found.at_once, found.ahead):
        for _, bounds in costs.ranges():
            assert bounds is None or 0 <= bounds.low <= (math.inf if bounds.high is None else bounds.high)


@pytest.mark.parametrize(("name", "scheme"), SCHEMES)
def test_a_bill_in_numbers_has_the_bounds_of_the_formulas(name: str, scheme: str) -> None:
    ir = program_of(name).ir()
    sizes = Sizes("openai:gpt-4o-mini", ModelOptions())
    params = {param.name: param.default for param in ir.params}
    for early in (False, True) if may_stop_early(ir) else (False,):
        costs, _ = costs_of(ir, ir.scheme(scheme), sizes, early=early, params=params, inputs={})
        bills = Bills(ir, sizes, early=early)
        bill = bills.bill(scheme, params, {})
        others = params | {param.name: end(param, most=True) for param in ir.params if param.domain}
        assert bills.bill(scheme, others, {}) == Bills(ir, sizes, early=early).bill(scheme, others, {})
        assert bills.bill(scheme, params, {}) == bill
        for of_formulas, amount in ((costs.calls, bill.calls), (costs.usd, bill.usd)):
            found = None if amount is None else cost_range(amount)
            assert (found and (found.low, found.high)) == (
                of_formulas and (of_formulas.low, of_formulas.high)
            )
