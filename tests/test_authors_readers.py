"""The authors' readers and score formulas, on outputs made by a seeded generator, malformed ones among them.

What the authors' code counts is written here once more, from its meaning. Where it has no number (it then
counts 300, 1000 or 100, or a rating of 0), a program has a failed thought instead.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from statistics import fmean, harmonic_mean
from types import ModuleType
from typing import Any

import pytest

from gotlang.api import compile as compile_text
from gotlang.api import load

PROGRAMS = Path(__file__).parents[1] / "programs"
COUNT = 240


@cache
def module(name: str) -> ModuleType:
    sys.path.insert(0, str(PROGRAMS))
    return __import__(name)


# ---------------------------------------------------------------- made outputs


def list_output(rng: random.Random, right: list[int]) -> str:
    """A response with a list, well formed or not."""
    found = [n for n in right if rng.random() > 0.05]
    if rng.random() < 0.3 and found:
        found[rng.randrange(len(found))] = rng.choice((0, 7, 12))
    text = str(found)
    return rng.choice(
        (
            text,
            f"Output: {text}",
            f"Reason: {found[:3]} is wrong.\nOutput: {text}",
            f"Reason: {found[:3]}\nOutput:\n{text}",
            f"First attempt {found[:4]}\nFinal {text}",
            f"{text}\nThe list contains [{len(found)}] numbers.",
            f"```\n{text}\n```",
            text[:-1],
            text[1:],
            text[:-1] + ",]",
            text.replace(", ", ",\n"),
            text.replace(",", ".0,"),
            ", ".join(map(str, found)),
            "[]",
            "I cannot do this.",
            f"] {text}",
            f"Output: {text}\nOutput: {found[:2]}",
        )
    )


def authors_list(text: str, merged: bool) -> list[int] | None:
    """The numbers that the authors' code takes from a response; None if it has none."""
    rows = text.strip().split("\n")
    bracketed = [row for row in rows if {"[", "]"} <= set(row)]
    considered = rows if merged else bracketed
    marked = [at for at, row in enumerate(considered) if "Output" in row]
    if marked:
        considered = considered[considered.index(considered[max(marked)]) :]
    lists = [row for row in considered if {"[", "]"} <= set(row)]
    if not lists and merged:
        for row in considered:
            if all(re.fullmatch(r"\s*[-+]?\d+\s*", word) for word in row.split(",")):
                lists.append(f"[{row}]")
    if not lists:
        return None
    inner = re.search(r"\[", lists[0])
    closing = lists[0].index("]")
    if inner is None or closing < inner.start():
        return None
    words = lists[0][inner.start() + 1 : closing].split(",")
    return (
        [int(word) for word in words]
        if all(re.fullmatch(r"\s*[-+]?\d+\s*", word) for word in words)
        else None
    )


def read(reader: Callable[[str], Any], text: str) -> Any:
    try:
        return reader(text)
    except ValueError:
        return None


@cache
def scorer(program: str, score: str, types: tuple[tuple[str, str], ...]) -> Callable[..., float]:
    """A score of a program, as a function."""
    text = (PROGRAMS / program).read_text(encoding="utf-8")
    declared = text[text.index(f"score {score}(") :]
    declared = declared[
        : re.search(r"\n\n(?! )", declared).start() if re.search(r"\n\n(?! )", declared) else None
    ]
    names = ", ".join(name for name, _ in types)
    inputs = ", ".join(f"{name}: {kind}" for name, kind in types)
    made = compile_text(
        f"{declared}\n\nscheme counted({inputs}) -> float:\n    Pool() 1.0 * {score}({names})\n"
    )
    return lambda **given: float(made.run(given).value)


LIST = "list[int]"


def test_mistakes_of_sorting_are_the_authors_number() -> None:
    rng, readers, numbered = random.Random(3), module("readers"), 0
    ours = scorer("sorting.got", "mistakes", (("attempt", LIST), ("numbers", LIST)))
    for made in range(COUNT):
        numbers = [rng.randrange(10) for _ in range(16)]
        text, merged = list_output(rng, sorted(numbers)), made % 2 == 1
        wanted = authors_list(text, merged)
        found = read(readers.read_merged if merged else readers.read_list, text)
        assert found == wanted or (found == [] and wanted is None), text
        if wanted is not None:
            numbered += 1
            theirs = sum(abs(wanted.count(d) - numbers.count(d)) for d in range(10))
            theirs += sum(wanted[i] > wanted[i + 1] for i in range(len(wanted) - 1))
            assert ours(attempt=found, numbers=numbers) == theirs
    assert COUNT / 3 < numbered < COUNT


def test_errors_of_an_intersection_are_the_authors_number() -> None:
    rng, readers, numbered = random.Random(5), module("readers"), 0
    ours = scorer("listings/sets_prompts.got", "errors", (("found", LIST), ("wanted", LIST)))
    for made in range(COUNT):
        first, second = rng.sample(range(32), 16), rng.sample(range(32), 16)
        common = [n for n in first if n in second]
        text = list_output(rng, common + rng.sample(range(32), 2))
        found = read(readers.read_merged if made % 2 else readers.read_list, text)
        wanted = authors_list(text, made % 2 == 1)
        assert found == wanted or (found == [] and wanted is None), text
        if wanted is not None and found is not None:
            numbered += 1
            # Walking through both in order counts what either has and the other has not, repetitions too.
            theirs = (Counter(found) - Counter(common)).total() + (Counter(common) - Counter(found)).total()
            assert ours(found=found, wanted=common) == theirs
    assert COUNT / 3 < numbered < COUNT


def test_errors_of_keyword_counts_are_the_authors_number() -> None:
    rng, readers, numbered = random.Random(7), module("readers"), 0
    ours = scorer("keywords.got", "errors", (("found", "dict[str, int]"), ("countries", "list[str]")))
    for _ in range(COUNT):
        known = [rng.choice(("Iraq", "Israel", "Peru", "South Korea", "Chile")) for _ in range(12)]
        right = dict(Counter(known))
        answer = {
            name: count + rng.choice((0, 0, 0, 1, -1)) for name, count in right.items() if rng.random() > 0.1
        }
        if rng.random() < 0.2:
            answer["Ghana"] = 1
        written = json.dumps(answer)
        text = rng.choice(
            (
                written,
                f"Output: {written}",
                f'Text 1: {{"Peru": 1}}\nOutput:\n{written}',
                f"```json\n{written}\n```",
                f'{{"Peru": 9}} was wrong, {written} is right.',
                written[:-1],
                written.replace('"', "'"),
                written[:-1] + ",}",
                "There are none.",
            )
        )
        # From the last opening to the last closing brace after "Output:"; no object counts as an empty one.
        tail = text.split("Output:", 1)[-1]
        matched = re.search(r"\{[^{]*\}", tail[tail.rfind("{") :]) if "{" in tail else None
        try:
            theirs_read = json.loads(matched[0]) if matched else {}
        except ValueError:
            theirs_read = {}
        found = readers.read_counts(text)
        assert found == theirs_read, text
        theirs = sum(abs(right.get(name, 0) - theirs_read.get(name, 0)) for name in {*right, *theirs_read})
        assert ours(found=found, countries=known) == theirs
        numbered += bool(theirs_read)
    assert COUNT / 3 < numbered < COUNT


def test_the_score_of_a_document_is_the_authors_number() -> None:
    rng, readers = random.Random(11), module("readers")
    ours = scorer("documents.got", "f1_of", (("redundancy", "list[float]"), ("retained", "list[float]")))
    tags = ("Redundancy", "Retained")
    some = 0
    for _ in range(COUNT):
        texts = []
        for _ in range(3):
            ratings = [rng.choice(("7", "8.5", "10", "about 6", "8/10", "6-7", "nine", "95")) for _ in tags]
            forms = ["<{0}>{1}</{0}>", "<{0}> {1} </{0}>", "<{0}>{1}", "{1}</{0}>", ""]
            chosen = rng.choices(forms, (8, 3, 1, 1, 1), k=2)
            prefix = rng.choice(("", "It is fine.\n", "Output: "))
            texts.append(
                prefix + "\n".join(f.format(t, r) for f, t, r in zip(chosen, tags, ratings, strict=True))
            )
        means = []
        for tag in tags:
            values = []
            for text in texts:
                part = text.split("Output:", 1)[-1]
                part = part.rsplit(f"<{tag}>", 1)[-1] if f"<{tag}>" in part else part
                part = part.rsplit(f"</{tag}>", 1)[0] if f"</{tag}>" in part else part
                numbers = re.findall(r"\d+(?:\.\d*)?", part)
                values += [float(numbers[-1])] if numbers else []
            means.append(fmean(values) if values else None)
        theirs = 0.0 if None in means else harmonic_mean([m for m in means if m is not None])
        read_all = [readers.read_rating(text) for text in texts]
        redundancy, retained = (
            [one[name] for one in read_all if one[name] is not None] for name in ("redundancy", "retained")
        )
        assert ours(redundancy=redundancy, retained=retained) == pytest.approx(theirs), texts
        some += theirs > 0
    assert some > COUNT / 2


def test_a_game_of_24_is_won_where_the_authors_say_so() -> None:
    rng, tools, won = random.Random(13), module("game24_tools"), 0
    games = [("4 4 6 8", "(4 + 8) * (6 - 4)"), ("1 4 8 8", "(1 + 8 / 4) * 8"), ("3 3 8 8", "8 / (3 - 8 / 3)")]
    for _ in range(COUNT):
        numbers, right = rng.choice(games)
        written = right if rng.random() < 0.6 else right.replace(rng.choice("+-*/"), rng.choice("+-*/"), 1)
        text = rng.choice(
            (
                f"{written} = 24",
                f"Steps:\n4 + 8 = 12 (left: 4 6 12)\nAnswer: {written} = 24",
                f"answer: {written}",
                f"Answer: {written} = 25",
                f"{written} = 24\nDone.",
                f"{written} + 0 = 24",
                f"{written}) = 24",
                written.replace("8", "9", 1),
                "",
            )
        )
        last = text.strip().split("\n")[-1].lower().replace("answer: ", "").split("=")[0]
        same = sorted(re.findall(r"\d+", last)) == sorted(numbers.split())
        balanced = last.count("(") == last.count(")")
        theirs = same and balanced and abs((value(last) or 0.0) - 24) < 1e-9
        assert tools.solves([int(n) for n in numbers.split()], text) == theirs, text
        won += theirs
    assert COUNT / 5 < won < COUNT


def value(written: str) -> float | None:
    """What an expression is worth, by steps on its text: brackets first, then * and /, then + and -."""
    number = r"(-?\d+(?:\.\d+)?(?:e-?\d+)?)"
    written = written.replace(" ", "")
    while match := re.search(r"\(([^()]*)\)", written):
        inner = value(match[1])
        if inner is None:
            return None
        written = written[: match.start()] + repr(inner) + written[match.end() :]
    for signs in (r"[*/]", r"[-+]"):
        while match := re.search(rf"{number}({signs}){number}", written):
            a, sign, b = float(match[1]), match[2], float(match[3])
            if sign == "/" and not b:
                return None
            made = a * b if sign == "*" else a / b if sign == "/" else a + b if sign == "+" else a - b
            written = written[: match.start()] + repr(made) + written[match.end() :]
    return float(written) if re.fullmatch(number, written) else None


def test_the_programs_declare_these_readers() -> None:
    for name in ("sorting", "keywords", "documents", "listings/sorting_prompts", "listings/sets_prompts"):
        assert load(PROGRAMS / f"{name}.got")
        assert "parse with read_" in (PROGRAMS / f"{name}.got").read_text(encoding="utf-8")
