"""The sorting simulators: never impossible answers, and mistakes in the order and size of the papers."""

from __future__ import annotations

import importlib.util
import json
import random
import statistics
from collections import Counter
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.laws import tried

from gotlang.span import Source
from gotlang.syntax import expressions as e
from gotlang.syntax.nodes import Example, Prompt
from gotlang.syntax.parse import parse

ROOT = Path(__file__).parents[1]
LISTS = st.lists(st.integers(0, 9), max_size=140)
FEW = st.lists(st.integers(0, 1), min_size=1, max_size=5)
MANY = st.lists(st.integers(0, 1), min_size=10, max_size=60)


@cache
def calibration() -> ModuleType:
    path = ROOT / "benchmarks" / "calibration.py"
    spec = importlib.util.spec_from_file_location("calibration", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SIM = calibration().SIMULATORS


def read(text: str) -> list[int]:
    return calibration().read(text)  # type: ignore[no-any-return]


# ---------------------------------------------------------------- laws


@given(LISTS, st.integers(0, 2**32))
def test_a_sort_has_only_digits_of_its_input_and_never_more(numbers: list[int], seed: int) -> None:
    for simulator in (SIM.sort, SIM.sort_in_steps):
        answer = read(simulator(random.Random(seed), numbers=numbers))
        assert len(answer) <= len(numbers)
        assert set(answer) <= set(numbers)


@given(LISTS, LISTS, st.integers(0, 2**32))
def test_a_merge_has_only_digits_of_its_inputs_and_never_more(
    left: list[int], right: list[int], seed: int
) -> None:
    answer = read(SIM.merge(random.Random(seed), left=left, right=right))
    assert len(answer) <= len(left) + len(right)
    assert set(answer) <= set(left + right)


@given(LISTS | FEW, st.lists(st.integers(-3, 20), max_size=300) | MANY, st.integers(0, 2**32))
def test_a_repair_of_anything_has_only_digits_of_the_input_and_never_more(
    numbers: list[int], attempt: list[int], seed: int
) -> None:
    answer = read(SIM.repair(random.Random(seed), numbers=numbers, attempt=attempt))
    assert len(answer) <= len(numbers)
    assert set(answer) <= set(numbers)


@given(LISTS, st.integers(-1, 12), st.integers(0, 2**32))
def test_a_split_keeps_order_and_loses_at_most_a_few(numbers: list[int], parts: int, seed: int) -> None:
    lists = list(json.loads(SIM.split(random.Random(seed), numbers=numbers, parts=parts)).values())
    assert len(lists) == max(1, parts)
    sizes = [len(part) for part in lists]
    assert max(sizes) - min(sizes) <= 1
    joined = iter(numbers)
    assert all(digit in joined for part in lists for digit in part)  # a subsequence of the input


@given(LISTS, st.integers(0, 2**32))
def test_answers_follow_from_the_random_source_alone(numbers: list[int], seed: int) -> None:
    calls = {
        SIM.sort: {"numbers": numbers},
        SIM.merge: {"left": numbers, "right": numbers[:5]},
        SIM.repair: {"numbers": numbers, "attempt": numbers},
        SIM.split: {"numbers": numbers, "parts": 3},
    }
    for simulator, arguments in calls.items():
        assert simulator(random.Random(seed), **arguments) == simulator(random.Random(seed), **arguments)


@given(LISTS.filter(lambda numbers: len(numbers) > 2))
@tried(20)
def test_longer_lists_bring_more_mistakes(numbers: list[int]) -> None:
    for what in ("sort", "sort_in_steps", "merge", "repair", "split"):
        rates = [SIM._rate(what, length) for length in range(0, 400, 7)]
        assert all(shorter <= longer for shorter, longer in pairwise(rates))
        assert [SIM._rate(what, length) for length in SIM.LENGTHS] == pytest.approx(SIM.RATES[what])


def test_all_kinds_of_mistakes_are_made() -> None:
    rng, lost, repeated, swapped = random.Random(1), 0, 0, 0
    for _ in range(50):
        numbers = [rng.randrange(10) for _ in range(64)]
        answer = read(SIM.merge(rng, left=sorted(numbers[:32]), right=sorted(numbers[32:])))
        lost += (Counter(numbers) - Counter(answer)).total()
        repeated += (Counter(answer) - Counter(numbers)).total()
        swapped += sum(a > b for a, b in pairwise(answer))
    assert lost > repeated > 10 and swapped > 10


def test_the_same_list_brings_some_of_the_same_mistakes() -> None:
    """What makes the best of many tries stop short of perfect."""
    rng, stubborn = random.Random(5), 0
    for _ in range(60):
        numbers = [rng.randrange(10) for _ in range(32)]
        tries = [read(SIM.merge(rng, left=numbers[:16], right=numbers[16:])) for _ in range(12)]
        lacking = [Counter(numbers) - Counter(one) for one in tries]
        stubborn += any(all(one[digit] for one in lacking) for digit in range(10))
    assert 5 < stubborn < 40


def test_repairs_mend_and_spoil() -> None:
    rng = random.Random(2)
    before, after = [], []
    for _ in range(300):
        numbers = [rng.randrange(10) for _ in range(64)]
        attempt = read(SIM.merge(rng, left=numbers[:32], right=numbers[32:]))
        before.append(calibration().mistakes(attempt, numbers))
        after.append(calibration().mistakes(read(SIM.repair(rng, numbers, attempt)), numbers))
    better = sum(a < b for a, b in zip(after, before, strict=True))
    worse = sum(a > b for a, b in zip(after, before, strict=True))
    assert better > 30 and worse > 30


# ---------------------------------------------------------------- against the papers


@cache
def mean(name: str, length: int) -> float:
    cases = {(case[0], case[1]): case[2] for case in calibration().CASES}
    scheme = next(scheme for (size, label), scheme in cases.items() if size == length and name in label)
    return statistics.fmean(calibration().measure(length, scheme, 40, seed=11))


@pytest.mark.parametrize("length", [64, 128])
def test_the_schemes_come_out_in_the_order_of_the_papers(length: int) -> None:
    got, tot = mean("Listing", length), mean("tot  k=20", length)
    tot2, cot, io = mean("tot2", length), mean("cot", length), mean("io", length)
    assert got < tot < cot < io
    assert got < tot2 < cot


def test_at_128_digits_the_sizes_are_those_of_framework_of_thoughts() -> None:
    assert mean("5 sorts, 10 merges", 128) == pytest.approx(12.7, abs=2)
    assert mean("2 sorts, 13 merges", 128) == pytest.approx(12.1, abs=2)
    assert mean("20 branches", 128) == pytest.approx(18.4, abs=3.5)


def test_at_32_digits_the_graph_is_hardly_better_than_the_deep_tree() -> None:
    assert abs(mean("Listing", 32) - mean("tot2", 32)) < 1


def test_merges_pay_more_than_sorts() -> None:
    """What there is to be found by tuning."""
    assert mean("2 sorts, 13 merges", 128) < mean("10 sorts, 5 merges", 128) - 1


# ---------------------------------------------------------------- examples in the programs


def digits(list_: e.Expression) -> list[int]:
    assert isinstance(list_, e.ListDisplay)
    return [int(one.value) for one in list_.elements if isinstance(one, e.Constant) and one.value is not None]


@pytest.mark.parametrize("name", ["sort128.got", "sorting.got"])
def test_what_examples_teach_is_right(name: str) -> None:
    module, diagnostics = parse(Source.of(name, (ROOT / "programs" / name).read_text("utf-8")))
    assert not diagnostics
    prompts = [prompt for prompt in module.declarations if isinstance(prompt, Prompt)]
    examples = [example for prompt in prompts for example in prompt.examples]
    assert len(examples) >= 7
    for example in examples:
        check(example)


def check(example: Example) -> None:
    inputs = {argument.name.text: digits(argument.value) for argument in example.inputs if argument.name}
    wanted = sorted(inputs["numbers"] if "numbers" in inputs else inputs["left"] + inputs["right"])
    if not isinstance(example.output, e.Constant):
        assert digits(example.output) == wanted
        return
    text = str(example.output.value)
    assert read(text) == wanted
    if "attempt" in inputs:
        numbers, attempt = Counter(inputs["numbers"]), Counter(inputs["attempt"])
        missing, surplus = SIM._listed(numbers - attempt), SIM._listed(attempt - numbers)
        assert text.startswith(f"missing {missing}; too many {surplus}.\n")
