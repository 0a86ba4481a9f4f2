"""Simulators of programs/ depend on the model and the temperature, and not otherwise on either."""

from __future__ import annotations

import importlib
import json
import random
import shutil
import sys
from collections import Counter
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from msgspec.structs import replace

from gotlang.api import Options, load

PROGRAMS = Path(__file__).parents[1] / "programs"
sys.path.insert(0, str(PROGRAMS))


ASKED: dict[tuple[str, str], dict[str, Any]] = {
    ("sorting_sim", "sort"): {"numbers": [n * n % 10 for n in range(32)]},
    ("sorting_sim", "sort_in_steps"): {"numbers": [n * n % 10 for n in range(64)]},
    ("sorting_sim", "merge"): {"left": [n // 4 for n in range(32)], "right": [n // 4 for n in range(32)]},
    ("sets_sim", "intersect"): {"first": list(range(60)), "second": list(range(30, 90))},
    ("keywords_sim", "count_countries"): {"text": "Peru was far from Chile, and Chile from Ghana. " * 8},
    ("documents_sim", "merge"): {"documents": ["a\nb\nc\nd\ne", "b\nc\nf\ng\nh"]},
    ("game24_sim", "value"): {"left": "4 6 8"},
}
"""What some prompts are asked, and `_wrong` counts."""


def _wrong(prompt: str, asked: dict[str, Any], text: str) -> float:
    """Mistakes in an answer, of whatever kind."""
    if prompt == "merge" and "documents" in asked:
        lines = text.splitlines()[1:-1]
        return len({line for one in asked["documents"] for line in one.split()} - set(lines))
    if prompt == "value":
        return float(text.splitlines()[-1] != "sure")
    found = json.loads(text[text.rindex("{" if "text" in asked else "[") :].partition("\n```")[0])
    right: dict[Any, int] = {"Peru": 8, "Chile": 16, "Ghana": 8}
    if "text" not in asked:
        numbers = asked.get("numbers") or [*asked.get("left", []), *asked.get("right", [])] or range(30, 60)
        found, right = Counter(found), Counter(numbers)
    return sum(abs(found.get(one, 0) - right.get(one, 0)) for one in {**found, **right})


@pytest.mark.parametrize(("name", "prompt"), ASKED)
def test_simulators_see_the_model_and_the_temperature(name: str, prompt: str) -> None:
    asked, simulator = ASKED[name, prompt], getattr(importlib.import_module(name), prompt)
    usual = 0.7 if name == "game24_sim" else 1.0

    def texts(model: str = "simulated", temperature: float | None = None, count: int = 200) -> list[str]:
        each = (random.Random(seed) for seed in range(count))
        return [simulator(rng, **asked, model=model, temperature=temperature) for rng in each]

    def wrong(found: list[str]) -> float:
        return fmean(_wrong(prompt, asked, text) for text in found)

    plain = [simulator(random.Random(seed), **asked) for seed in range(200)]
    assert texts() == texts(temperature=usual) == plain
    assert len(set(texts(temperature=0))) == 1
    assert wrong(texts("small")) > 1.2 * wrong(plain) > 0
    assert wrong(texts(temperature=2 * usual)) > 1.2 * wrong(plain)
    cool = texts(temperature=usual / 4)
    assert max(Counter(cool).values()) >= 130 and len(set(cool)) > 1


def test_a_step_on_the_small_model_costs_less_and_errs_more(tmp_path: Path) -> None:
    for file in ("sorting_sim.py", "readers.py"):
        shutil.copy(PROGRAMS / file, tmp_path)
    text = (PROGRAMS / "sorting.got").read_text(encoding="utf-8")
    path = tmp_path / "sorting.got"
    step = text.replace(
        "Generate(k=sort_tries) sort(part)", 'Generate(k=sort_tries, model="small") sort(part)'
    )
    assert step != text
    path.write_text(step, encoding="utf-8")
    options = Options(model="simulated", cache=None, python=True)
    data = PROGRAMS / "data" / "digits64.csv"
    mixed, plain = (
        load(one).evaluate(data, scheme="got", limit=30, options=options)
        for one in (path, PROGRAMS / "sorting.got")
    )
    small = load(PROGRAMS / "sorting.got").evaluate(
        data, scheme="got", limit=30, options=replace(options, model="simulated:small")
    )
    costs = [fmean(run.usd or 0.0 for run in one.runs) for one in (plain, mixed, small)]
    errors = [fmean(run.score or 0.0 for run in one.runs) for one in (plain, mixed, small)]
    assert costs[0] > costs[1] > costs[2] > 0 and errors[0] < errors[1] < errors[2]
