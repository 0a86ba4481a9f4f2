"""Charts as SVG in the colors of pages: axes with round ticks, marks on them, and metrics as text."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import escape
from itertools import accumulate
from typing import Any, NamedTuple, final

from gotlang.report.page import asset, render
from gotlang.result import dollars
from gotlang.statistics import Interval

LETTER = 7.2
TICK_LETTER, TITLE_LETTER = 6.5, 6.2
"""The approximate widths of a letter of a name, of a tick's label, and of an axis's title, in pixels."""
WIDTH, HEIGHT = 520.0, 340.0
TOP, RIGHT, BELOW = 14.0, 30.0, 46.0
"""Margins above, to the right, and below."""
LINE = 34.0
"""Height of a line of an interval chart."""
MOST_LETTERS = 22
"""Maximum length of a name in a chart."""
GAP = 24.0
"""The gap between the charts of one file."""
_EQUAL = 1e-9
"""Values with a smaller relative difference are treated as one: no tick fits between them."""
_LARGE = 1e12
"""From this magnitude on, numbers are written with a power of ten."""

# ---------------------------------------------------------------- text


def shown(metric: str, value: float | None, *, short: bool = False) -> str:
    """A metric's value: percent of correct results, dollars, seconds; `short` for the ticks of an axis.

    The lower end of an interval may be slightly below 0; that is written as 0.
    """
    if value is None:
        return "unknown"
    if not math.isfinite(value):
        return "?"
    match metric:
        case "correct":
            return f"{100 * value:.{0 if short else 1}f}%"
        case "cost" if short:
            text = f"${abs(value):g}" if abs(value) >= 1e-4 else dollars(abs(value)).rstrip("0").rstrip(".")
            return "-" + text if value < 0 else text
        case "cost":
            return ("-" if value < 0 else "") + dollars(abs(value))
        case "seconds":
            return f"{value:z.1f} s"
        case "tokens":
            return f"{value:z,.0f}"
    return f"{value:,g}" if short else f"{value:z,.2f}" if abs(value) < _LARGE else f"{value:.3g}"


def bounds(metric: str, found: Interval) -> str:
    """The bounds of an interval, as in `1.46 to 2.41`; `unknown` for a single row, which has none."""
    if not (math.isfinite(found.low) and math.isfinite(found.high)):
        return "unknown"
    return f"{shown(metric, found.low)} to {shown(metric, found.high)}"


def brief(name: str, most: int) -> str:
    """A name, cut to this number of letters."""
    return name if len(name) <= most else f"{name[: max(1, most - 1)]}…"


# ---------------------------------------------------------------- axes


@final
@dataclass(frozen=True, slots=True)
class Axis:
    """A linear scale from `low` to `high` onto pixels `start` to `end`, with labels at `ticks`; one with
    `names` maps each name to its index."""

    low: float
    high: float
    start: float
    end: float
    ticks: tuple[float, ...]
    labels: tuple[str, ...]
    names: tuple[str, ...] = ()

    def __call__(self, value: Any) -> float:
        """The pixel of a value."""
        number = self.names.index(str(value)) if self.names else value
        return self.start + (number - self.low) / (self.high - self.low) * (self.end - self.start)

    @property
    def marks(self) -> list[tuple[float, str]]:
        """The pixels of the ticks and their labels."""
        values: Sequence[Any] = self.names or self.ticks
        return [(self(value), label) for value, label in zip(values, self.labels, strict=True)]

    @property
    def margin(self) -> float:
        """The width of the labels and a title beside a vertical axis."""
        return 36 + TICK_LETTER * max(map(len, self.labels))


@final
@dataclass(frozen=True, slots=True)
class Quantity:
    """The quantity of an axis: its title, the values to cover (numbers, or any others by their texts),
    whether it covers 0, the format of a tick, and the approximate number of ticks."""

    title: str
    values: Sequence[Any]
    zero: bool = True
    text: Callable[[float], str] = "{:,g}".format
    ticks: int = 5

    def over(self, start: float, end: float) -> Axis:
        """Its axis, which begins and ends at a tick. Whole numbers have ticks at whole numbers."""
        if any(isinstance(value, bool) or not isinstance(value, (int, float)) for value in self.values):
            names = tuple(sorted({str(value) for value in self.values}))
            room = max(4, int(abs(end - start) / len(names) / TICK_LETTER))
            labels = tuple(brief(name, room) for name in names)
            return Axis(-0.5, len(names) - 0.5, start, end, tuple(range(len(names))), labels, names)
        known = [value for value in self.values if math.isfinite(value)] or [0.0]
        low, high = min(known), max(known)
        if self.zero:
            low, high = min(low, 0.0), max(high, 0.0)
        if high - low <= _EQUAL * max(abs(low), abs(high)):
            high = low + (abs(low) or 1.0)
        step = (high - low) / self.ticks
        power = 10.0 ** math.floor(math.log10(step))
        step = next(f * power for f in (1, 2, 2.5, 5, 10) if f * power >= step * (1 - 1e-9))
        if step < 5 and all(value == round(value) for value in (*known, high)):
            step = math.ceil(step)
        first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
        ticks = tuple(number * step for number in range(first, last + 1))
        return Axis(first * step, last * step, start, end, ticks, tuple(map(self.text, ticks)))


# ---------------------------------------------------------------- charts


@final
@dataclass(slots=True)
class Chart:
    """A chart under construction: its size in pixels, its description, and its parts in order."""

    width: float
    height: float
    label: str
    parts: list[str] = field(default_factory=list)

    def mark(self, tag: str, kind: str, title: str = "", text: str = "", **attributes: Any) -> None:
        """An SVG element of a class; `title` is shown under the mouse, attributes may be None."""
        values = {
            name.replace("_", "-"): f"{value:.1f}" if isinstance(value, float) else escape(str(value))
            for name, value in attributes.items()
            if value is not None
        }
        inside = (f"<title>{escape(title)}</title>" if title else "") + escape(text)
        written = "".join(f' {name}="{value}"' for name, value in values.items())
        self.parts.append(f'<{tag} class="{kind}"{written}>{inside}</{tag}>')

    @contextmanager
    def group(self, kind: str, title: str) -> Iterator[None]:
        """Parts that are one mark; `title` is shown under the mouse."""
        self.parts.append(f'<g class="{kind}"><title>{escape(title)}</title>')
        yield
        self.parts.append("</g>")

    def name(self, kind: str, x: float, y: float, name: str, room: float, suffix: str = "") -> None:
        """A name cut to this number of pixels; the whole name is shown under the mouse."""
        words = brief(name, int(room / LETTER))
        self.mark("text", kind, name if words != name else "", words + suffix, x=x, y=y)

    def left(self, scale: Axis, title: str, margin: float = 0.0) -> None:
        """A vertical axis: lines across the chart, labels and a title (default: in the axis's own margin)."""
        left = margin or scale.margin
        for y, text in scale.marks:
            self.mark("path", "grid", d=f"M{left - 4:.1f} {y:.1f}H{self.width - 8:.1f}")
            self.mark("text", "tick", text=text, x=left - 9, y=y + 3.5)
        words = brief(title, int(abs(scale.start - scale.end) / TITLE_LETTER))
        turned = f"translate(14 {(scale.start + scale.end) / 2:.1f}) rotate(-90)"
        self.mark("text", "axis", text=words, transform=turned)

    def below(self, scale: Axis, title: str) -> None:
        """A horizontal axis below the marks; labels that would overlap are left out."""
        taken = -math.inf
        for x, text in scale.marks:
            half = TICK_LETTER * len(text) / 2
            if x - half > taken:
                self.mark("text", "tick middle", text=text, x=x, y=self.height - 28)
                taken = x + half + 4
        words = brief(title, int((self.width - 20) / TITLE_LETTER))
        self.mark("text", "axis", text=words, x=(scale.start + scale.end) / 2, y=self.height - 8)

    def svg(self) -> str:
        """The chart for a page."""
        return (
            f'<svg viewBox="0 0 {self.width:.0f} {self.height:.0f}" width="{self.width:.0f}" '
            f'role="img" aria-label="{escape(self.label)}">{"".join(self.parts)}</svg>'
        )


def stacked(title: str, charts: Sequence[Chart]) -> str:
    """Charts one below the other as the text of an `.svg` file."""
    tops = list(accumulate((chart.height + GAP for chart in charts), initial=GAP))
    return render(
        "charts.svg",
        title=title,
        style=asset("colors.css") + asset("charts.css"),
        width=max((chart.width for chart in charts), default=200.0) + 2 * GAP,
        height=tops[-1],
        charts=[(top, "".join(chart.parts)) for top, chart in zip(tops, charts, strict=False)],
        gap=GAP,
    )


Plane = tuple[Chart, Axis, Axis]
"""A chart with its horizontal and its vertical axis."""


def plane(
    label: str, across: Quantity, up: Quantity, *, width: float = WIDTH, height: float = HEIGHT
) -> Plane:
    """An empty chart with its axes."""
    chart = Chart(width, height, label)
    vertical = up.over(height - BELOW, TOP)
    horizontal = across.over(vertical.margin, width - RIGHT)
    chart.left(vertical, up.title)
    chart.below(horizontal, across.title)
    return chart, horizontal, vertical


class Dot(NamedTuple):
    """A point of a scatter plot: `title` is shown under the mouse, `name` beside it; `row` is selected by a
    click, `ends` are those of its interval."""

    x: Any
    y: Any
    title: str
    kind: str = "dot"
    name: str = ""
    row: int | None = None
    ends: tuple[float, ...] = ()


def scatter(
    across: Quantity,
    up: Quantity,
    points: Sequence[Dot],
    *,
    line: Sequence[tuple[float, float]] = (),
    width: float = WIDTH,
    height: float = HEIGHT,
) -> Chart:
    """Points, with a line in steps through others."""
    chart, horizontal, vertical = plane(
        f"{up.title} by {across.title}", across, up, width=width, height=height
    )
    if line:
        (x, y), *rest = [(horizontal(x), vertical(y)) for x, y in line]
        steps = "".join(f"H{x:.1f}V{y:.1f}" for x, y in rest)
        chart.mark("path", "front", d=f"M{x:.1f} {y:.1f}{steps}H{horizontal.end:.1f}")
    places = [(horizontal(point.x), vertical(point.y)) for point in points]
    taken = [(x - 6, y - 6, x + 6, y + 6) for x, y in places]
    for (x, y), point in zip(places, points, strict=True):
        if all(map(math.isfinite, point.ends)) and point.ends:
            low, high = (vertical(end) for end in point.ends)
            chart.mark("path", "whisker", d=f"M{x:.1f} {low:.1f}V{high:.1f}")
        chart.mark("circle", point.kind, point.title, cx=x, cy=y, r=5, data_row=point.row)
        if point.name:
            anchor, dx, dy = _free(brief(point.name, MOST_LETTERS), x, y, width, taken)
            chart.name(f"name {anchor}", x + dx, y + dy, point.name, LETTER * MOST_LETTERS)
    return chart


def _free(
    name: str, x: float, y: float, width: float, taken: list[tuple[float, float, float, float]]
) -> tuple[str, float, float]:
    """A free place for a name beside its point, and which end of it is there; its box is added to those
    `taken`."""
    length = LETTER * len(name)
    choices = [("start", 9.0, -8.0), ("end", -9.0, -8.0), ("start", 9.0, 17.0), ("end", -9.0, 17.0)]
    for anchor, dx, dy in choices:
        left, top = x + dx - (length if anchor == "end" else 0), y + dy - 11
        right, bottom = left + length, top + 14
        overlaps = any(left < b[2] and b[0] < right and top < b[3] and b[1] < bottom for b in taken)
        if left > 24 and right < width and not overlaps:
            taken.append((left, top, right, bottom))
            return anchor, dx, dy
    return choices[0]


class Whisker(NamedTuple):
    """A line of an interval chart: `kind` is its verdict, `title` is shown under the mouse."""

    name: str
    low: float
    middle: float
    high: float
    title: str
    kind: str = ""


def intervals(title: str, whiskers: Sequence[Whisker], text: Callable[[float], str]) -> Chart:
    """Named intervals one below the other, and a line at 0. `text` formats a tick's label."""
    chart = Chart(WIDTH, TOP + LINE * len(whiskers) + BELOW + 2, title)
    bottom = chart.height - BELOW + 4
    ends = [end for whisker in whiskers for end in whisker[1:4]]
    across = Quantity(title, ends, text=text).over(150.0, WIDTH - RIGHT)
    for x, _ in across.marks:
        chart.mark("path", "grid", d=f"M{x:.1f} {TOP:.1f}V{bottom:.1f}")
    chart.mark("path", "zero", d=f"M{across(0):.1f} {TOP:.1f}V{bottom:.1f}")
    chart.below(across, title)
    for number, whisker in enumerate(whiskers):
        y = TOP + LINE * (number + 0.5)
        chart.name("row", 138, y + 4, whisker.name, 134)
        with chart.group(f"interval {whisker.kind}".strip(), whisker.title):
            if math.isfinite(whisker.low) and math.isfinite(whisker.high):
                low, high = across(whisker.low), across(whisker.high)
                caps = "".join(f"M{end:.1f} {y - 5:.1f}v10" for end in (low, high))
                chart.mark("path", "whisker", d=f"M{low:.1f} {y:.1f}H{high:.1f}{caps}")
            chart.mark("circle", "middle", cx=across(whisker.middle), cy=y, r=5)
    return chart
