"""An estimate as people read it: a line for each cost, with its bounds and its formula."""

from __future__ import annotations

from collections.abc import Iterator

from gotlang.estimate.cost import Costs, Estimate, Range

NAMES = {
    "calls": "answers asked",
    "requests": "requests",
    "longest_path": "longest path",
    "volume": "volume",
    "input_tokens": "prompt tokens",
    "output_tokens": "answer tokens",
    "usd": "cost",
}
_EARLY = ("calls", "requests", "longest_path", "usd")
"""What early stop changes most."""


def estimate_lines(estimate: Estimate) -> Iterator[str]:
    """The lines of an estimate."""
    yield f"{estimate.scheme}: if every answer is asked for, and none is there already"
    yield ""
    yield from _table(estimate.costs, tuple(NAMES), formulas=True)
    if estimate.early != estimate.costs:
        yield ""
        yield "with early stop, as `gotc run` has it"
        yield ""
        yield from _table(estimate.early, _EARLY, formulas=False)
    notes = list(_notes(estimate))
    if notes:
        yield ""
        yield from notes


def _table(costs: Costs, names: tuple[str, ...], *, formulas: bool) -> Iterator[str]:
    ranges = {name: found for name, found in costs.ranges() if name in names}
    values = {name: range_text(found, money=name == "usd") for name, found in ranges.items()}
    width = max(len(NAMES[name]) for name in ranges)
    room = max(len(text) for text in values.values())
    for name, found in ranges.items():
        formula = _formula(found) if formulas else ""
        yield f"  {NAMES[name]:<{width}}  {values[name]:<{room}}  {formula}".rstrip()


def _formula(found: Range | None) -> str:
    if found is None:
        return ""
    if found.formula is not None and not found.formula.isdecimal():
        return f"= {found.formula}"
    if found.formula_high is not None and not found.formula_high.isdecimal():
        return f"at most {found.formula_high}"
    return ""


def range_text(found: Range | None, *, money: bool = False) -> str:
    """A range in words: `151`, `45 to 151, about 92`, `at least 4`."""
    if found is None:
        return "no known price"
    show = _dollars if money else _number
    if found.low == found.high:
        return show(found.low)
    text = f"at least {show(found.low)}" if found.high is None else f"{show(found.low)} to {show(found.high)}"
    return text if found.expected is None else f"{text}, about {show(found.expected)}"


def _number(value: float) -> str:
    return f"{value:,.0f}"


def _dollars(value: float) -> str:
    if 0 < value < 0.001:
        return f"${value:.6f}"
    return f"${value:.4f}" if value < 1 else f"${value:,.2f}"


def _notes(estimate: Estimate) -> Iterator[str]:
    if estimate.params:
        shown = ", ".join(f"{name} = {value}" for name, value in estimate.params.items())
        yield f"with {shown}"
    if estimate.unknown:
        who = "a model" if estimate.inputs_known else "a model or the inputs"
        yield f"decided by {who}: {', '.join(estimate.unknown)}"
    if estimate.prices:
        yield f"dollars: {estimate.prices}"
    if not estimate.inputs_known:
        yield "give the inputs, as to `gotc run`, for closer bounds and for what to expect"
    elif any(found and found.low != found.high and found.expected for _, found in estimate.costs.ranges()):
        yield "`about` is what one simulated run asked for; tokens are estimates"
