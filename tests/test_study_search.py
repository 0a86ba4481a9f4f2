"""Where a search spends: what it measures of programs whose worth is known, and what that costs."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any

import numpy as np
import pytest

pytest.importorskip("optuna", reason="the extra `tune` is not installed")

from gotlang.tune.allocation import FIRST, PASSES, Allocation, Cells, PointFacts
from gotlang.tune.noise import estimated
from gotlang.tune.prices import LEAST, Prices, packed
from gotlang.tune.search import SHARE
from gotlang.tune.space import Dimension, Point, Space, key_of
from gotlang.tune.surrogate import Surrogate, gaps_of

ROWS = 30
SHARES = frozenset({1})
Worth = Callable[[Point], float]


def searched(
    space: Space,
    worth: Worth,
    *,
    noise: float,
    seed: int,
    cost: Worth = lambda _: 1.0,
    asked: Callable[[Point], Sequence[int]] | None = None,
    bound: float | None = None,
    rough: float = 0.0,
    right: Worth | None = None,
    least: float = 0.95,
    trials: int = 40,
    judged: int = PASSES * ROWS,
    fails: float = 0.0,
    grows: bool = False,
) -> tuple[Point, dict[str, list[float]]]:
    """The point that a search of these points ends with, and what was measured of each."""
    rng = random.Random(f"{seed} rows")
    easy = [rng.gauss(0, 2) for _ in range(PASSES * ROWS)]
    points = space.points(1000)
    assert points is not None
    allocation = Allocation(
        space, ROWS, judged, round(SHARE * trials * ROWS), seed, lambda _: False, grows, SHARES
    )
    seen: dict[str, list[float]] = {}
    order: list[Point] = []
    planned, best = [Cells(points[0], 0, FIRST)], [0]
    while planned:
        for cells in planned:
            found = seen.setdefault(key_of(cells.point), [])
            assert len(found) == cells.first < cells.last, "each cell is measured once, in order"
            order += [] if found else [cells.point]
            draw = random.Random(f"{seed} {key_of(cells.point)} {cells.first}")
            found += [
                worth(cells.point) + easy[i] + draw.gauss(0, noise) for i in range(cells.first, cells.last)
            ]
        base = seen[key_of(order[0])]
        known = []
        for place, point in enumerate(order):
            values = seen[key_of(point)]
            draw = random.Random(f"{seed} {key_of(point)} cost")
            spent = [cost(point) + draw.gauss(0, rough) for _ in values]
            over = [[each - bound for each in spent]] if bound is not None else []
            if right is not None:
                both = [i for i in range(len(values)) if i % ROWS < len(base)]
                hits = [
                    [random.Random(f"{seed} row {i}").random() < right(p) for i in both]
                    for p in (order[0], point)
                ]
                over = [[least * b - a for b, a in zip(*hits, strict=True)]]
            lost = random.Random(f"{seed} {key_of(point)} failures")
            over = [[float(bool(place) and lost.random() < fails) for _ in values], *over]
            ids = asked(point) if asked is not None else range(100 * place, 100 * place + 20)
            known.append(
                PointFacts(point, len(seen[key_of(point)]), [values], over, packed(ids), cost(point))
            )
        new = [point for point in points if key_of(point) not in seen]
        planned, best = allocation.plan(known, new, [abs(fmean(base))], finite=True)
    return order[best[0]], seen


PEAK = Space(tuple(Dimension(n, n, d, 1, 10, whole=True) for n, d in (("a", 6), ("b", 3))), {"a": 6, "b": 3})


def peak(point: Point) -> float:
    a, b = (float(point[name] or 0) for name in "ab")
    return 10 + (a - 3) ** 2 / 2 + (b - 7) ** 2 / 2


def test_a_peak_is_found_for_a_part_of_what_all_rows_of_all_trials_cost() -> None:
    spent, missed = [], []
    for seed in range(12):
        found, seen = searched(PEAK, peak, noise=3.0, seed=seed)
        spent.append(sum(map(len, seen.values())))
        missed.append(peak(found) - 10)
    assert fmean(missed) <= 0.25  # half of the step from the best point to the next
    assert fmean(spent) < 0.28 * 40 * ROWS


def test_what_breaks_the_bound_never_wins() -> None:
    for seed in range(3):
        found, _ = searched(
            PEAK, lambda p: -peak(p), noise=1.0, seed=seed, cost=lambda p: float(p["a"] or 0), bound=6.0
        )
        assert float(found["a"] or 0) <= 6


def test_what_breaks_a_rough_bound_seldom_wins() -> None:
    """Rows cost more or less by chance: of many points beyond the bound some seem to keep it."""
    space = Space((Dimension("n", "n", 5, 1, 20, whole=True),), {"n": 5})
    won = [
        searched(
            space,
            lambda p: 40.0 - float(p["n"] or 0),
            noise=1.0,
            seed=seed,
            cost=lambda p: 1.0 + 0.05 * float(p["n"] or 0),
            bound=1.5,
            rough=1.0,
        )[0]["n"]
        for seed in range(16)
    ]
    assert sum(int(n or 0) > 10 for n in won) <= 4
    assert sum(int(n or 0) > 12 for n in won) <= 1  # more than 7% beyond the bound
    assert sum(int(n or 0) > 6 for n in won) >= 12


def test_rare_failures_do_not_hold_a_point_back() -> None:
    """Of any other point 1.5% of the rows fail; the verdict tolerates 2%."""
    best = [searched(PEAK, peak, noise=1.0, seed=seed, fails=0.015)[0] for seed in range(6)]
    assert fmean(peak(point) - 10 for point in best) < 0.4  # 0.67 if every failure counted


def test_a_search_of_points_that_cost_more_may_cost_more() -> None:
    """The limit counts runs of the untuned program; if structure varies, runs of the points on average."""

    def cells(seed: int, grows: bool) -> int:
        def cost(point: Point) -> float:
            return 1.0 if point == PEAK.start else 20.0

        seen = searched(PEAK, peak, noise=6.0, seed=seed, cost=cost, trials=12, grows=grows)[1]
        return sum(map(len, seen.values()))

    more, fewer = (sum(cells(seed, grows) for seed in range(6)) for grows in (True, False))
    assert more > 1.1 * fewer


def test_points_that_are_wrong_more_often_are_left_soon() -> None:
    """Four rows that are all right say little: cheap points seem to be as good as the untuned program."""
    steps = tuple(Dimension(name, name, 4, 1, 6, whole=True) for name in "abc")
    space = Space(steps, dict.fromkeys("abc", 4))

    def cheap(point: Point) -> float:
        return sum(float(point[name] or 0) for name in "abc")

    def able(point: Point) -> float:
        return 0.8 if min(float(point[name] or 0) for name in "abc") >= 2 else 0.4

    wrong = [point for point in space.points(1000) or () if able(point) < 0.8]
    cheaper, most = 0, []
    for seed in range(1, 7):
        found, seen = searched(
            space, cheap, noise=0.05, seed=seed, cost=cheap, asked=lambda _: range(20), right=able
        )
        assert able(found) == 0.8
        cheaper += cheap(found) < 12
        most.append(max(len(seen.get(key_of(point), ())) for point in wrong))
    assert cheaper >= 4 and fmean(most) <= 2 * ROWS


def test_rows_that_are_all_right_do_not_show_that_none_is_wrong() -> None:
    """A cheap point is right in 75% of rows, the untuned program in 99.5%: on four rows often both are."""
    space = Space((Dimension("n", "n", 2, 1, 2, whole=True),), {"n": 2})

    def able(point: Point) -> float:
        return 0.995 if point["n"] == 2 else 0.75

    won = [
        searched(space, lambda p: float(p["n"] or 0), noise=0.05, seed=seed, right=able, least=1.0)[0]["n"]
        for seed in range(12)
    ]
    assert won.count(1) <= 1


def test_points_that_cost_next_to_nothing_are_all_run() -> None:
    _, apart = searched(PEAK, peak, noise=1.0, seed=1)
    _, shared = searched(PEAK, peak, noise=1.0, seed=1, asked=lambda _: range(20))
    assert len(shared) == 100 > len(apart)


def test_a_search_of_equals_ends_early() -> None:
    for seed in range(3):
        _, seen = searched(PEAK, lambda _: 10.0, noise=0.01, seed=seed)
        assert sum(map(len, seen.values())) < 0.2 * 40 * ROWS


def test_the_untuned_program_runs_only_where_it_may_be_the_best_or_a_bound_is_uncertain() -> None:
    start, cost = key_of({"a": 6, "b": 3}), lambda p: float(p["a"] or 0)
    for seed in range(3):
        _, free = searched(PEAK, peak, noise=3.0, seed=seed)
        _, bounded = searched(PEAK, peak, noise=3.0, seed=seed, cost=cost, bound=4.5)
        _, rough = searched(PEAK, peak, noise=3.0, seed=seed, cost=cost, bound=3.0, rough=2.0)
        assert len(free[start]) < ROWS and len(bounded[start]) < ROWS == len(rough[start])


def test_points_repeat_the_train_rows_up_to_as_many_cells_as_there_are_test_rows() -> None:
    for judged, most in ((10, ROWS), (40, 40), (1000, PASSES * ROWS)):
        _, seen = searched(PEAK, peak, noise=9.0, seed=1, judged=judged)
        assert max(map(len, seen.values())) == most
        assert len(seen[key_of({"a": 6, "b": 3})]) <= ROWS, "of the untuned program each row runs once"


def test_a_search_keeps_within_its_trials() -> None:
    for trials in (1, 2, 5):
        _, seen = searched(PEAK, peak, noise=9.0, seed=2, trials=trials)
        assert sum(map(len, seen.values())) <= (trials + 3) * ROWS


# ---------------------------------------------------------------- prices


def test_what_others_asked_for_is_free() -> None:
    line = Space((Dimension("k", "k", 5, 1, 10, whole=True),), {"k": 5})
    points: list[Point] = [{"k": k} for k in (5, 10, 3)]
    asked = {place: packed(range(count)) for place, count in enumerate((5, 10, 3))}
    prices = Prices(
        gaps_of(line, points),
        asked,
        {0: 5.0, 1: 10.0, 2: 3.0},
        {0: 8, 1: 4, 2: 4},
        5.0,
        (Surrogate(), Surrogate()),
    )
    assert prices.price(2, 4, 8) == pytest.approx(4 * LEAST * 5.0), "the first three of five"
    assert prices.price(1, 4, 8) == pytest.approx(4 * 5.0), "the first five of ten are there"
    assert prices.price(1, 4, 12) == pytest.approx(4 * 5.0 + 4 * 10.0), "and further on they are not"


# ---------------------------------------------------------------- noise that points share


def sampled(seed: int, counts: Sequence[int], noise: float) -> list[list[float | None]]:
    """By point its leads over the last one: the point at place k asks for the first k + 1 samples."""
    rng = random.Random(seed)
    rows = [[rng.gauss(0, noise) for _ in counts] for _ in range(max(counts))]
    found = [[sum(row[: k + 1]) / (k + 1) ** 0.5 for row in rows] for k, _ in enumerate(counts)]
    leads = [[a - b for a, b in zip(each, found[-1], strict=True)] for each in found]
    return [list(each[:count]) for each, count in zip(leads, counts, strict=True)]


def test_errors_of_points_are_known_by_the_samples_that_they_share() -> None:
    """Points on few rows are compared with those on many by the rows that they have in common."""
    counts = [4, 40, 4, 8, 4, 16, 4, 40]
    asked = [packed(range(k + 1)) for k, _ in enumerate(counts)]
    scores, alone, together = [], 0.0, 0.0
    for seed in range(60):
        cells = sampled(seed, counts, 3.0)
        values, errors = estimated(cells, asked)
        for one, other in ((0, 1), (1, 2), (3, 5), (4, 7), (1, 7)):
            by = values[one] - values[other]
            scores.append(by**2 / (errors[one, one] + errors[other, other] - 2 * errors[one, other]))
            together += by**2
            alone += (fmean(x or 0 for x in cells[one]) - fmean(x or 0 for x in cells[other])) ** 2
    assert together < 0.9 * alone
    assert 0.7 < fmean(scores) < 1.4


def test_points_that_share_nearly_all_samples_have_noise_of_their_own() -> None:
    """The one sample of twenty that two points do not share may repair a whole row."""
    counts = [8] * 20
    _, errors = estimated(sampled(1, counts, 3.0), [packed(range(k + 1)) for k, _ in enumerate(counts)])
    near, far = (errors[k, k] + errors[19, 19] - 2 * errors[k, 19] for k in (18, 0))
    assert near > 0.1 * far


def test_rows_without_a_result_are_left_out() -> None:
    cells = sampled(1, [12, 12, 12], 0.0)
    cells[1][:5] = [None] * 5
    cells[2] = [None, 2.0, *[None] * 10]
    values, errors = estimated([[0.0] * 12, *cells[1:]], [packed([k]) for k in range(3)])
    assert list(values) == pytest.approx([0.0, 0.0, 2.0]) and not errors.any()
    cells = [
        [0.0] * 12,
        *([None if i == j else x for i, x in enumerate(c)] for j, c in enumerate(sampled(2, [12, 12], 1.0))),
    ]
    values, errors = estimated(cells, [packed([k]) for k in range(3)])
    assert np.isfinite(values).all() and np.linalg.eigvalsh(errors).min() > 0


# ---------------------------------------------------------------- what points are worth

LINE = Space((Dimension("x", "x", 10, 0, 20, whole=True), Dimension("c", "c", "a", choices=("a", "b"))), {})


def hollow(point: Point) -> float:
    """A hollow at 14, and half as good again with b."""
    return (float(point["x"] or 0) - 14) ** 2 / 20 + (2.0 if point["c"] == "a" else 0.0)


def test_points_together_are_nearer_to_the_truth_than_each_alone() -> None:
    alone, together = 0.0, 0.0
    for seed in range(10):
        rng = random.Random(seed)
        points: list[Point] = [{"x": rng.randint(0, 20), "c": rng.choice("ab")} for _ in range(40)]
        points = list({key_of(point): point for point in points}.values())
        values = [hollow(point) + rng.gauss(0, 0.9) for point in points]
        mean, _ = Surrogate().posterior(
            gaps_of(LINE, points), range(len(points)), values, [0.81] * len(points)
        )
        alone += sum((v - hollow(p)) ** 2 for v, p in zip(values, points, strict=True))
        together += sum((m - hollow(p)) ** 2 for m, p in zip(mean, points, strict=True))
    assert together < 0.6 * alone


def test_no_single_scale_is_more_likely_than_that_of_the_fit() -> None:
    rng = random.Random(4)
    points: list[Point] = [{"x": x, "c": rng.choice("ab")} for x in range(21)]
    values = np.array([hollow(point) + rng.gauss(0, 0.3) for point in points])
    gaps, fitted = gaps_of(LINE, points), Surrogate()
    fitted.posterior(gaps, range(21), values.tolist(), [0.09] * 21)

    def likelihood(scales: Sequence[float]) -> float:
        far = [gap / scale**2 for gap, scale in zip(gaps, scales, strict=True)]
        root = [np.sqrt(5 * each) for each in (sum(far), *far)]
        whole, *apart = ((1 + each + each * each / 3) * np.exp(-each) for each in root)
        together, each, _ = fitted._mix
        mixed = together * whole + each * sum(apart) / len(apart)
        inner = fitted._signal * values.var() * mixed + (0.09 + 1e-6 * values.var()) * np.eye(21)
        off = values - values.mean()
        loss = float(off @ np.linalg.solve(inner, off)) + float(np.linalg.slogdet(inner)[1])
        return -0.5 * loss - 0.5 * float((np.log(np.array(scales) / 0.6) ** 2).sum())

    best = likelihood(fitted._scales)
    for place in range(len(gaps)):
        for scale in (0.2, 0.4, 0.8, 1.6, 3.2):
            changed = [*fitted._scales[:place], scale, *fitted._scales[place + 1 :]]
            assert likelihood(changed) <= best + 1e-9


def test_points_without_a_dimension_have_a_covariance_with_those_that_have_it() -> None:
    """Other distances may have none: three places in a row that are all equally far from a fourth."""
    inner = tuple(Dimension(name, name, 3, 0, 9, whole=True) for name in "xyz")
    points: list[Point] = [{}, *({name: n} for name in "xyz" for n in range(10))]
    for scale in (0.2, 0.8, 3.2):
        near = np.exp(-0.5 * sum(gap / scale**2 for gap in gaps_of(Space(inner, {}), points)))
        assert np.linalg.eigvalsh(near).min() > -1e-9
    gap = gaps_of(Space(inner, {}), points)[0]
    assert gap[0, 1] == gap[0, 10] == pytest.approx(1.25)
    assert gap[0, 11] == 0.0


def test_without_noise_each_point_is_worth_what_it_is() -> None:
    rng = random.Random(1)
    points: list[Point] = [{"x": x, "c": rng.choice("ab")} for x in range(21)]
    values = [hollow(point) for point in points]
    mean, _ = Surrogate().posterior(gaps_of(LINE, points), range(21), values, [0.0] * 21)
    assert list(mean) == pytest.approx(values, abs=0.01)


def test_samples_hardly_depend_on_rounding() -> None:
    """Processors round differently in the last digit: the samples of a model differ little then."""
    points = [{"a": a, "b": b} for a in range(1, 11) for b in range(1, 11)]
    gaps, values = gaps_of(PEAK, points), [peak(point) for point in points[::3]]

    def samples(by: float) -> Any:
        rng = np.random.default_rng(1)
        moved = [value * (1 + by) for value in values]
        return Surrogate().draws(gaps, range(0, 100, 3), moved, [0.5] * len(values), rng, 20)[1]

    assert np.abs(samples(0.0) - samples(1e-13)).max() < 1e-3


def test_there_are_samples_of_points_that_are_known_nearly_exactly() -> None:
    """Their covariance is next to nothing, and rounding may make it no covariance."""
    chance = random.Random(14)
    space = Space(tuple(Dimension(n, n, 1, 1, 2, whole=True) for n in "abc"), dict.fromkeys("abc", 1))
    points = [space.sample(chance) for _ in range(330)]
    values = [float(sum(int(value or 0) for value in point.values())) for point in points]
    _, found = Surrogate().draws(
        gaps_of(space, points), range(186), values[:186], [0.0] * 186, np.random.default_rng(1), 20
    )
    assert np.abs(found - np.array(values)).max() < 0.05
