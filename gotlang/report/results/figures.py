"""The charts, as inline SVG in the page's colors: quality as box plots over cost, as in Figures 5 to 8 of
Graph of Thoughts, cost against quality with the Pareto front, and differences to the baseline."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape

from gotlang.evaluate.comparison import COST_LABELS, ComparedScheme, Comparison
from gotlang.report.results.axes import Axis, axis
from gotlang.report.results.words import bounds, brief, shown
from gotlang.statistics import quantile

LEFT, RIGHT, TOP = 74.0, 16.0, 14.0
SLOT = 92.0
MOST_SLOTS = 9
"""Schemes at full width; more stand closer."""
LETTER = 7.2
"""Pixels that a letter of a name takes, roughly."""
MOST_LETTERS = 22


def boxes(found: Comparison) -> str:
    """Quality as box plots with every row as a dot, and under it what a row costs."""
    entries = found.entries
    slot = SLOT if len(entries) <= MOST_SLOTS else SLOT * MOST_SLOTS / len(entries)
    width = LEFT + RIGHT + slot * max(len(entries), 3)
    values = [value for entry in entries for value in entry.evaluation.values(found.metric).values()]
    if found.metric == "correct":
        values = [i.high for entry in entries if (i := entry.evaluation.interval("correct")) is not None]
    upper = axis(values, 390.0, TOP + 6)
    costs = [i.mean for entry in entries if (i := entry.evaluation.interval(found.cost_metric)) is not None]
    height = 560.0 if costs else 440.0
    parts = [*_horizontal(upper, width, lambda v: shown(found.metric, v, short=True))]
    parts.append(_title(14, (upper.start + upper.end) / 2, found.label))
    lower = axis(costs, 540.0, 456.0, ticks=3)
    if costs:
        parts += _horizontal(lower, width, lambda v: shown(found.cost_metric, v, short=True))
        parts.append(_title(14, (lower.start + lower.end) / 2, f"{COST_LABELS[found.cost_metric]} a row"))
    for number, entry in enumerate(entries, start=1):
        middle = LEFT + slot * (number - 0.5 + max(0, 3 - len(entries)) / 2)
        draw = _share if found.metric == "correct" else _box
        parts += draw(entry, found, upper, middle, min(slot * 0.5, 46.0))
        times = f" ×{entry.repeats}" if entry.repeats > 1 else ""
        parts.append(_name("name", middle, 421, entry.name, slot - LETTER * len(times), times))
        cost = entry.evaluation.interval(found.cost_metric)
        if cost is not None:
            top = lower(cost.mean)
            parts.append(
                f'<rect class="bar" x="{middle - 17:.1f}" y="{top:.1f}" width="34" '
                f'height="{max(0.8, lower.start - top):.1f}" rx="3"/>'
            )
            parts.append(_text("value", middle, top - 4, shown(found.cost_metric, cost.mean)))
    return _svg(width, height, parts, f"{found.label} and {COST_LABELS[found.cost_metric]} of each scheme")


def _box(entry: ComparedScheme, found: Comparison, scale: Axis, middle: float, width: float) -> Iterator[str]:
    values = entry.evaluation.values(found.metric)
    if not values:
        yield f'<text class="value" x="{middle:.1f}" y="{scale.start - 8:.1f}">none</text>'
        return
    for row, value in values.items():
        # Each row stands at the same place in every box, so that the eye can follow it.
        x = middle + ((row * 0.618034) % 1 - 0.5) * width * 0.9
        yield (
            f'<circle class="dot" cx="{x:.1f}" cy="{scale(value):.1f}" r="2.4" data-row="{row}">'
            f"<title>{escape(entry.name)}, row {row}: {shown(found.metric, value)}</title></circle>"
        )
    ordered = sorted(values.values())
    first, half, third = (quantile(ordered, share) for share in (0.25, 0.5, 0.75))
    reach = 1.5 * (third - first)
    low = min(v for v in ordered if v >= first - reach)
    high = max(v for v in ordered if v <= third + reach)
    mean = sum(ordered) / len(ordered)
    left, right = middle - width / 2, middle + width / 2
    told = [shown(found.metric, value) for value in (half, first, third, mean)]
    words = f"{entry.name}: median {told[0]}, quartiles {told[1]} and {told[2]}, mean {told[3]}"
    yield f'<g class="box"><title>{escape(words)}</title>'
    whiskers = "".join(
        f"M{middle:.1f} {scale(a):.1f}V{scale(b):.1f}" for a, b in ((third, high), (first, low))
    )
    yield f'<path d="{whiskers}"/>'
    yield f'<path d="M{middle - 9:.1f} {scale(high):.1f}h18M{middle - 9:.1f} {scale(low):.1f}h18"/>'
    tall = max(1.5, scale(first) - scale(third))
    yield f'<rect x="{left:.1f}" y="{scale(third):.1f}" width="{width:.1f}" height="{tall:.1f}" rx="4"/>'
    yield f'<path class="median" d="M{left:.1f} {scale(half):.1f}H{right:.1f}"/>'
    yield f'<path class="mean" d="M{middle:.1f} {scale(mean) - 5:.1f}l5 5-5 5-5-5z"/></g>'


def _share(
    entry: ComparedScheme, found: Comparison, scale: Axis, middle: float, width: float
) -> Iterator[str]:
    """The share of right answers with its interval: rows are right or wrong, which no quartile tells."""
    interval = entry.evaluation.interval(found.metric)
    if interval is None:
        yield f'<text class="value" x="{middle:.1f}" y="{scale.start - 8:.1f}">none</text>'
        return
    mean, low, high = (scale(value) for value in (interval.mean, interval.low, interval.high))
    told = [shown(found.metric, value) for value in (interval.mean, interval.low, interval.high)]
    yield f'<g class="box"><title>{escape(entry.name)}: {told[0]} ({told[1]} to {told[2]})</title>'
    tall = max(1.5, scale.start - mean)
    left = middle - width / 2
    yield f'<rect x="{left:.1f}" y="{mean:.1f}" width="{width:.1f}" height="{tall:.1f}" rx="4"/>'
    ends = "".join(f"M{middle - 9:.1f} {end:.1f}h18" for end in (low, high))
    yield f'<path d="M{middle:.1f} {low:.1f}V{high:.1f}{ends}"/>'
    yield "</g>" + _text("value", middle + width / 2 + 4, mean - 6, told[0])


def spread(found: Comparison) -> str:
    """Every row of one scheme at its cost and quality: whether what is hard is dear."""
    evaluation = found.entries[0].evaluation
    costs, values = evaluation.values(found.cost_metric), evaluation.values(found.metric)
    rows = [row for row in values if row in costs]
    if not rows or found.metric == "correct":
        return ""
    width, height = 520.0, 440.0
    across = axis([costs[row] for row in rows], LEFT, width - 40)
    up = axis([values[row] for row in rows], height - 46, TOP)
    parts = _plane(found, across, up, width, height)
    for row in rows:
        parts.append(
            f'<circle class="dot" cx="{across(costs[row]):.1f}" cy="{up(values[row]):.1f}" r="4" '
            f'data-row="{row}"><title>row {row}: {shown(found.metric, values[row])} for '
            f"{shown(found.cost_metric, costs[row])}</title></circle>"
        )
    return _svg(width, height, parts, f"{COST_LABELS[found.cost_metric]} and {found.label} of each row")


def _plane(found: Comparison, across: Axis, up: Axis, width: float, height: float) -> list[str]:
    """Axes of cost, to the right, and quality."""
    parts = [*_horizontal(up, width, lambda v: shown(found.metric, v, short=True))]
    for tick in across.ticks:
        parts.append(
            _text("tick middle", across(tick), height - 28, shown(found.cost_metric, tick, short=True))
        )
    parts.append(_text("axis", (LEFT + width) / 2, height - 8, f"{COST_LABELS[found.cost_metric]} a row"))
    parts.append(_title(14, height / 2 - 20, found.label))
    return parts


def tradeoff(found: Comparison) -> str:
    """Each scheme at its mean cost and quality, with intervals, and the front that none is beyond."""
    known = [(entry, point) for entry in found.entries if (point := found.point(entry)) is not None]
    if not known:
        return ""
    width, height = 520.0, 340.0
    intervals = [i for entry, _ in known if (i := entry.evaluation.interval(found.metric)) is not None]
    across = axis([cost for _, (cost, _) in known], LEFT, width - 40)
    up = axis([b for i in intervals for b in (i.low, i.mean, i.high)], height - 46, TOP)
    parts = _plane(found, across, up, width, height)
    front = [found.point(entry) for entry in found.front()]
    corners = [(across(p[0]), up(p[1])) for p in front if p is not None]
    if corners:
        path = f"M{corners[0][0]:.1f} {corners[0][1]:.1f}"
        path += "".join(f"H{x:.1f}V{y:.1f}" for x, y in corners[1:]) + f"H{across.end:.1f}"
        parts.append(f'<path class="front" d="{path}"/>')
    best = {entry.name for entry in found.front()}
    taken = [
        (across(cost) - 6, up(quality) - 6, across(cost) + 6, up(quality) + 6) for _, (cost, quality) in known
    ]
    for entry, (cost, quality) in known:
        x, y = across(cost), up(quality)
        interval = entry.evaluation.interval(found.metric)
        if interval is not None and math.isfinite(interval.low):
            line = f"M{x:.1f} {up(interval.low):.1f}V{up(interval.high):.1f}"
            parts.append(f'<path class="whisker" d="{line}"/>')
        kind = "point front" if entry.name in best else "point"
        parts.append(
            f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="5.5"><title>{escape(entry.name)}: '
            f"{shown(found.metric, quality)} for {shown(found.cost_metric, cost)}</title></circle>"
        )
        anchor, dx, dy = _free(brief(entry.name, MOST_LETTERS), x, y, width, taken)
        parts.append(_name(f"name {anchor}", x + dx, y + dy, entry.name, LETTER * MOST_LETTERS))
    return _svg(width, height, parts, f"{COST_LABELS[found.cost_metric]} against {found.label}")


def _free(
    name: str, x: float, y: float, width: float, taken: list[tuple[float, float, float, float]]
) -> tuple[str, float, float]:
    """Where a name stands beside its point without covering another, and which end of it is there; `taken`
    are the boxes of what is drawn, to which the name's is added."""
    long = LETTER * len(name)
    choices = [("start", 9.0, -8.0), ("end", -9.0, -8.0), ("start", 9.0, 17.0), ("end", -9.0, 17.0)]
    best = choices[0]
    for anchor, dx, dy in choices:
        left = x + dx - (long if anchor == "end" else 0)
        box = (left, y + dy - 11, left + long, y + dy + 3)
        inside = left > 24 and box[2] < width
        if inside and not any(
            box[0] < b[2] and b[0] < box[2] and box[1] < b[3] and b[1] < box[3] for b in taken
        ):
            best = (anchor, dx, dy)
            taken.append(box)
            break
    return best


def differences(found: Comparison) -> str:
    """The paired difference of each scheme to the baseline, with its interval; 0 is no difference."""
    known = [(entry, d) for entry in found.entries if (d := entry.to_baseline.get(found.metric)) is not None]
    if not known:
        return ""
    width, line = 520.0, 34.0
    height = TOP + line * len(known) + 48
    across = axis([b for _, d in known for b in (d.low, d.mean, d.high)], 150.0, width - 30)
    parts = []
    for tick in across.ticks:
        x = across(tick)
        kind = "zero" if tick == 0 else "grid"
        parts.append(f'<path class="{kind}" d="M{x:.1f} {TOP:.1f}V{height - 42:.1f}"/>')
        parts.append(_text("tick middle", x, height - 26, shown(found.metric, tick, short=True)))
    for number, (entry, d) in enumerate(known):
        y = TOP + line * (number + 0.5)
        kind = (entry.verdict or "").split(" ", 1)[0]
        parts.append(_name("row", 138, y + 4, entry.name, 134))
        words = f"{entry.name}: {shown(found.metric, d.mean)} ({bounds(found.metric, d)}), {entry.verdict}"
        parts.append(f'<g class="difference {kind}"><title>{escape(words)}</title>')
        if math.isfinite(d.low) and math.isfinite(d.high):
            low, high = across(d.low), across(d.high)
            ends = "".join(f"M{end:.1f} {y - 5:.1f}v10" for end in (low, high))
            parts.append(f'<path d="M{low:.1f} {y:.1f}H{high:.1f}{ends}"/>')
        parts.append(f'<circle cx="{across(d.mean):.1f}" cy="{y:.1f}" r="5"/></g>')
    words = f"{found.label} more or less than {brief(found.baseline, MOST_LETTERS)}, row by row"
    parts.append(_text("axis", (150 + width - 30) / 2, height - 6, words))
    return _svg(width, height, parts, words)


def _horizontal(scale: Axis, width: float, words: object) -> Iterator[str]:
    assert callable(words)
    for tick in scale.ticks:
        y = scale(tick)
        yield f'<path class="grid" d="M{LEFT - 4:.1f} {y:.1f}H{width - RIGHT + 8:.1f}"/>'
        yield f'<text class="tick" x="{LEFT - 9:.1f}" y="{y + 3.5:.1f}">{words(tick)}</text>'


def _text(kind: str, x: float, y: float, words: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(words)}</text>'


def _name(kind: str, x: float, y: float, name: str, room: float, times: str = "") -> str:
    """A scheme's name in so many pixels; where it is cut, the whole of it comes up under the mouse."""
    words = brief(name, int(room / LETTER))
    whole = f"<title>{escape(name)}</title>" if words != name else ""
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{whole}{escape(words + times)}</text>'


def _title(x: float, y: float, words: str) -> str:
    return f'<text class="axis" transform="translate({x:.1f} {y:.1f}) rotate(-90)">{escape(words)}</text>'


def _svg(width: float, height: float, parts: Sequence[str], label: str) -> str:
    return (
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" style="max-width:{width:.0f}px" role="img" '
        f'aria-label="{escape(label)}">{"".join(parts)}</svg>'
    )
