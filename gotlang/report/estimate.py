"""An estimate as text: a line for each cost, with its bounds and its formula."""

from __future__ import annotations

from collections.abc import Iterator

from gotlang.estimate.cost import CostRange, Costs, Estimate

LABELS = {
    "calls": "calls",
    "requests": "requests",
    "critical_path": "critical path",
    "volume": "volume",
    "input_tokens": "prompt tokens",
    "output_tokens": "completion tokens",
    "usd": "cost",
}
_UNCHANGED = {"volume", "input_tokens", "output_tokens"}
"""Costs that early stopping changes little or not at all."""


def estimate_lines(estimate: Estimate) -> Iterator[str]:
    """The lines of an estimate."""
    yield f"{estimate.scheme}: all samples, with an empty cache"
    yield ""
    yield from _table(estimate.costs, formulas=True)
    if estimate.early != estimate.costs:
        yield from ("", "with `--prefer cost`: sampling stops early", "")
        yield from _table(estimate.early, formulas=False)
        usual = "by default" if estimate.ahead != estimate.at_once else "with `--prefer latency`, the default"
        if estimate.at_once == estimate.costs:
            yield from ("", f"{usual} of `gotc run`: all samples, at once")
        else:
            yield from ("", f"{usual} of `gotc run`: samples at once, or none", "")
            yield from _table(estimate.at_once, formulas=False)
    if estimate.ahead != estimate.at_once:
        yield from ("", "with `--prefer latency`: samples at once, and what is not needed is withdrawn", "")
        yield from _table(estimate.ahead, formulas=False)
    notes = list(_notes(estimate))
    yield from ["", *notes] if notes else []


def _table(costs: Costs, *, formulas: bool) -> Iterator[str]:
    """The costs; without formulas only those that early stopping changes."""
    shown = {name: found for name, found in costs.ranges() if formulas or name not in _UNCHANGED}
    values = {name: _range(found, usd=name == "usd") for name, found in shown.items()}
    width = max(len(LABELS[name]) for name in shown)
    room = max(map(len, values.values()))
    for name, found in shown.items():
        formula = _formula(found) if formulas and found is not None else ""
        yield f"  {LABELS[name]:<{width}}  {values[name]:<{room}}  {formula}".rstrip()


def _formula(found: CostRange) -> str:
    for sign, formula in (("=", found.formula), ("at most", found.formula_high)):
        if formula is not None and not formula.isdecimal():
            return f"{sign} {formula}"
    return ""


def _range(found: CostRange | None, *, usd: bool) -> str:
    """`151`, `45 to 151, about 92`, `at least 4`."""
    if found is None:
        return "no known price"
    show = _dollars if usd else "{:,.0f}".format
    if found.low == found.high:
        return show(found.low)
    text = f"at least {show(found.low)}" if found.high is None else f"{show(found.low)} to {show(found.high)}"
    return text if found.expected is None else f"{text}, about {show(found.expected)}"


def _dollars(value: float) -> str:
    """With six decimals below a tenth of a cent: bounds and ways to run are compared."""
    return f"${value:.6f}" if 0 < value < 0.001 else f"${value:.4f}" if value < 1 else f"${value:,.2f}"


def _notes(estimate: Estimate) -> Iterator[str]:
    if estimate.params:
        yield "with " + ", ".join(f"{name} = {value}" for name, value in estimate.params.items())
    if estimate.unknown:
        who = "a model" if estimate.inputs_known else "a model or the inputs"
        yield f"decided by {who}: {', '.join(estimate.unknown)}"
    if estimate.prices:
        yield f"prices: {estimate.prices}"
    if estimate.not_expected is not None:
        yield f"expected values are missing: {estimate.not_expected}"
    if not estimate.inputs_known:
        yield "give inputs as to `gotc run` for tighter bounds and expected values"
    elif any(found and found.low != found.high and found.expected for _, found in estimate.costs.ranges()):
        yield "`about`: from one simulated run; tokens are estimates"
