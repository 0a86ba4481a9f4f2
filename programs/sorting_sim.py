"""Simulators of the prompts of sort128.got and sorting.got: they sort as gpt-3.5-turbo does, with mistakes.

A simulator makes the mistakes that models make with long lists: it loses digits, writes one digit too often
in the place of another, and swaps neighbours. It never writes a digit that its input does not hold, and never
more digits than the right answer has.

Above temperature 1 there are more mistakes, below it answers differ less; the model `small` makes more of
them. Lists of anything but digits are not simulated.

Only the constants at the top set how many mistakes it makes. They are fitted, not published:
with them the schemes come out in the order and about the size that the papers on Graph of Thoughts (Besta et
al., 2024) and Framework of Thoughts report. benchmarks/calibration.py prints both side by side.
"""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from itertools import pairwise

from gotlang.models.simulated import NotSimulated, typical

MODELS = {"small": {"input_per_million": 0.05, "output_per_million": 0.15, "per_token_s": 0.003}}
WORSE = {"small": 2.5}
"""The mistakes of a model for each of the model that the rates below are fitted to; made up."""

LENGTHS = (16, 32, 64, 128)

RATES = {
    # Mistakes in one answer, on average and before some cancel out, for right answers of the lengths above.
    # Fitted to: Framework of Thoughts, Tables 3 and 6, 128 digits: 12.7 mistakes with 5 sorts and 10 merges,
    # 12.1 with 2 and 13 (so short lists are sorted nearly without mistakes), 18.4 in a tree of 20 branches
    # and 4 improvements. Graph of Thoughts, section 7.2, 64 digits: one prompt makes about 6 times and a
    # chain of thought 3 times the mistakes of the graph.
    "sort": (0.35, 4.0, 20.0, 80.0),
    "sort_in_steps": (0.35, 3.0, 9.5, 48.0),
    "merge": (0.5, 2.0, 7.0, 19.0),
    # New mistakes that a repair makes whatever it finds. Graph of Thoughts, Table 7: nine of ten repairs of a
    # list with one mistake come out wrong.
    "repair": (0.1, 0.2, 0.4, 1.2),
    # Digits that copying loses.
    "split": (0.0, 0.0, 0.01, 0.03),
}

STUBBORN = 0.3
"""The share of mistakes that come back whenever the same list is sorted or merged, however often it is tried.
Graph of Thoughts, Table 7: four of five sorts and all ten merges of one list lack the same digit."""

SEEN = 0.5
"""The share of the ten digits whose miscounts a repair sees, the same whenever the same list is repaired."""
MENDED = 0.6
"""The share of the mistakes it sees that one repair mends."""
SPOILED = 0.7
"""New mistakes for each mistake in the attempt: a repair that is told of many changes much."""

SPREAD = 0.4
"""How much answers to one prompt differ: the relative standard deviation of their expected mistakes. It is
what makes the best of ten better than the best of five."""

KINDS = ("lost", "repeated", "swapped")
SHARES = (0.65, 0.2, 0.15)
"""Kinds of mistakes. Graph of Thoughts, Table 7: mostly lost digits, then one in the place of another."""
_COUNTED = 1 * SHARES[0] + 2 * SHARES[1] + 1 * SHARES[2]
"""What one of them adds to the count of mistakes: a repeated digit is one too many and one missing."""

CHATTER = (("", ""), ("Output: ", ""), ("Here is the sorted list:\n", ""), ("```\n", "\n```"))
CHATTER_WEIGHTS = (90, 6, 3, 1)
"""What models write around a list even when they are asked not to, and how often."""
EXPLAINED = 0.6
"""The share of repairs that say what was wrong first. Graph of Thoughts, Table 7: six of ten."""


def split(
    rng: random.Random,
    numbers: list[int],
    parts: int,
    model: str = "simulated",
    temperature: float | None = None,
) -> str:
    """The numbers in `parts` lists of equal length, as the JSON that the prompt asks for."""
    rng, factor = _mind(rng, model, temperature, "split", numbers)
    kept = list(numbers)
    for _ in range(_poisson(rng, _rate("split", len(numbers)) * factor)):
        if kept:
            del kept[rng.randrange(len(kept))]
    count = max(1, parts)
    bounds = [len(kept) * i // count for i in range(count + 1)]
    lists = {f"List {i + 1}": kept[bounds[i] : bounds[i + 1]] for i in range(count)}
    return "{\n" + ",\n".join(f'"{name}": {part}' for name, part in lists.items()) + "\n}"


def sort(
    rng: random.Random, numbers: list[int], model: str = "simulated", temperature: float | None = None
) -> str:
    """The whole list sorted in one go."""
    rng, factor = _mind(rng, model, temperature, "sort", numbers)
    return _with_chatter(rng, _with_mistakes(rng, "sort", numbers, factor))


def sort_in_steps(
    rng: random.Random, numbers: list[int], model: str = "simulated", temperature: float | None = None
) -> str:
    """Halves sorted and merged in writing, then the answer: fewer mistakes, more tokens."""
    rng, factor = _mind(rng, model, temperature, "sort_in_steps", numbers)
    middle = len(numbers) // 2
    halves = [sorted(numbers[:middle]), sorted(numbers[middle:])]
    answer = _with_mistakes(rng, "sort_in_steps", numbers, factor)
    return f"First half sorted: {halves[0]}\nSecond half sorted: {halves[1]}\nMerged: {answer}"


def merge(
    rng: random.Random,
    left: list[int],
    right: list[int],
    model: str = "simulated",
    temperature: float | None = None,
) -> str:
    """Two sorted lists made one."""
    rng, factor = _mind(rng, model, temperature, "merge", left + right)
    return _with_chatter(rng, _with_mistakes(rng, "merge", left + right, factor))


def repair(
    rng: random.Random,
    numbers: list[int],
    attempt: list[int],
    model: str = "simulated",
    temperature: float | None = None,
) -> str:
    """An attempt mended in part, with new mistakes in other places."""
    rng, factor = _mind(rng, model, temperature, f"repair {attempt}", numbers)
    wanted = Counter(numbers)
    found = Counter(n for n in attempt if n in wanted)
    missing, surplus = wanted - found, found - wanted
    descents = sum(a > b for a, b in pairwise(attempt))
    habit = _habit("repair", numbers)
    for digit in sorted(wanted):
        if habit.random() < SEEN:
            found[digit] += _share(rng, missing[digit], MENDED) - _share(rng, surplus[digit], MENDED)
    for digit in surplus:  # never more digits than there should be
        found[digit] -= min(max(0, found[digit] - wanted[digit]), max(0, found.total() - len(numbers)))
    swaps = descents - _share(rng, descents, MENDED)
    wrong = missing.total() + surplus.total() + descents
    mistakes = _rate("repair", len(numbers)) * factor + SPOILED * wrong
    answer = list(found.elements())
    swaps += _spoil(rng, answer, mistakes * _mood(rng))
    reason = f"Reason: missing {_listed(missing)}; too many {_listed(surplus)}.\n"
    return f"{reason if rng.random() < EXPLAINED else ''}Output: {_in_order(rng, answer, swaps)}"


def _mind(
    rng: random.Random, model: str, temperature: float | None, what: str, numbers: list[int]
) -> tuple[random.Random, float]:
    """What an answer is drawn with, and how many mistakes are made for each at temperature 1."""
    if (other := next((n for n in numbers if n not in range(10)), None)) is not None:
        raise NotSimulated(f"only lists of the digits from 0 to 9 are, not one with {other}")
    heat = 1.0 if temperature is None else max(1.0, temperature)
    return typical(rng, temperature, model, what, numbers), WORSE.get(model, 1.0) * heat**2


def _with_mistakes(rng: random.Random, what: str, numbers: list[int], factor: float) -> list[int]:
    """The numbers sorted, with the mistakes that this list always brings and those of this one answer."""
    answer = sorted(numbers)
    mistakes = _rate(what, len(numbers)) * factor
    swaps = _spoil(_habit(what, numbers), answer, mistakes * STUBBORN)
    swaps += _spoil(rng, answer, mistakes * (1 - STUBBORN) * _mood(rng))
    return _in_order(rng, answer, swaps)


def _habit(what: str, numbers: list[int]) -> random.Random:
    """What is the same whenever this is asked about the same list."""
    return random.Random(f"{what} {numbers}")


def _mood(rng: random.Random) -> float:
    """How careless one answer is; 1 on average."""
    return rng.gammavariate(1 / SPREAD**2, SPREAD**2)


def _spoil(rng: random.Random, answer: list[int], mistakes: float) -> int:
    """Lose and repeat digits in place, as `mistakes` says, and tell how many neighbours are to be swapped."""
    swaps = 0
    for kind in rng.choices(KINDS, SHARES, k=_poisson(rng, mistakes / _COUNTED)):
        if kind == "swapped":
            swaps += 1
        elif answer:
            place = rng.randrange(len(answer))
            if kind == "lost":
                del answer[place]
            else:
                answer[place] = rng.choice(answer)
    return swaps


def _in_order(rng: random.Random, answer: list[int], swaps: int) -> list[int]:
    """The digits sorted but for some neighbours at the ends of runs."""
    answer.sort()
    ends = [i for i in range(len(answer) - 1) if answer[i] < answer[i + 1]]
    for i in rng.sample(ends, min(swaps, len(ends))):
        answer[i], answer[i + 1] = answer[i + 1], answer[i]
    return answer


def _share(rng: random.Random, count: int, share: float) -> int:
    return sum(rng.random() < share for _ in range(count))


def _rate(what: str, length: int) -> float:
    """The rate for a length: what the table says, and between its lengths a power of the length."""
    rates = RATES[what]
    if length <= 0:
        return 0.0
    upper = next((i for i, known in enumerate(LENGTHS) if i and length <= known), len(LENGTHS) - 1)
    low, high = rates[upper - 1], rates[upper]
    if not low:
        return high * length / LENGTHS[upper]
    power = math.log(high / low) / math.log(LENGTHS[upper] / LENGTHS[upper - 1])
    return high * math.pow(length / LENGTHS[upper], power)


def _poisson(rng: random.Random, mean: float) -> int:
    """A Poisson-distributed number: the ticks of an exponential clock of rate 1 before `mean`."""
    ticks, clock = 0, rng.expovariate(1.0)
    while clock < mean:
        ticks += 1
        clock += rng.expovariate(1.0)
    return ticks


def _with_chatter(rng: random.Random, answer: list[int]) -> str:
    before, after = rng.choices(CHATTER, CHATTER_WEIGHTS)[0]
    return f"{before}{json.dumps(answer)}{after}"


def _listed(digits: Counter[int]) -> str:
    return ", ".join(f"{count} x {digit}" for digit, count in sorted(digits.items())) or "none"
