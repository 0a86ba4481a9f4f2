"""The winner beside the original on rows that the search never saw, with paired intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

from gotlang.statistics import LEVEL, Interval, difference_interval, verdict
from gotlang.tune.objective import Measured, excess, mean
from gotlang.tune.plan import Plan

VERDICTS = {
    "better": "the tuned program is better on rows it never saw",
    "not significant": "the interval of the difference holds 0",
    "worse": "the tuned program is worse on rows it never saw: the original stays",
    "over the constraint": "the tuned program breaks a constraint on rows it never saw: the original stays",
    "nothing found": "no trial was feasible and better than the original",
    "nothing allowed": "no trial keeps the constraints, and the original does not either",
}

STAYS = frozenset({"worse", "over the constraint", "nothing found", "nothing allowed"})
"""The verdicts after which the result of a study is the original program."""


@final
@dataclass(frozen=True, slots=True)
class Compared:
    """One quantity of both programs: means, and the interval of the tuned one's lead (tuned minus
    original)."""

    name: str
    original: float | None
    tuned: float | None
    lead: Interval

    def as_json(self) -> dict[str, Any]:
        """As files keep it."""
        return {
            "name": self.name,
            "original": self.original,
            "tuned": self.tuned,
            "difference": [_finite(self.lead.low), _finite(self.lead.high)],
        }


@final
@dataclass(frozen=True, slots=True)
class HeldOut:
    """What the test rows say. `verdict` is one of `VERDICTS`."""

    rows: int
    compared: tuple[Compared, ...]
    verdict: str

    def as_json(self) -> dict[str, Any]:
        """As files keep it."""
        return {
            "rows": self.rows,
            "level": LEVEL,
            "compared": [c.as_json() for c in self.compared],
            "verdict": self.verdict,
            "meaning": VERDICTS[self.verdict],
        }


def compare(
    plan: Plan, original: Sequence[Measured], tuned: Sequence[Measured], *, same: str | None = None
) -> HeldOut:
    """Judge the tuned program by rows that both ran. `same` is the verdict where no other point won."""
    compared = [
        _compared(
            objective.text, [m.objectives[place] for m in original], [m.objectives[place] for m in tuned]
        )
        for place, objective in enumerate(plan.objectives)
    ]
    besides: dict[str, Callable[[Measured], float | None]] = {
        "cost": lambda m: m.usd,
        "latency": lambda m: m.seconds,
        "calls": lambda m: float(m.calls),
    }
    wanted = {objective.text for objective in plan.objectives}
    compared += [
        _compared(name, [of(m) for m in original], [of(m) for m in tuned])
        for name, of in besides.items()
        if name not in wanted
    ]
    compared.append(
        _compared(
            "failures", [float(bool(m.failure)) for m in original], [float(bool(m.failure)) for m in tuned]
        )
    )
    return HeldOut(
        len(original), tuple(compared), _verdict(plan, original, tuned, compared) if same is None else same
    )


def _verdict(
    plan: Plan,
    original: Sequence[Measured],
    tuned: Sequence[Measured],
    compared: Sequence[Compared],
) -> str:
    for place, constraint in enumerate(plan.constraints):
        quantity = mean([m.quantities[place] for m in tuned])
        base = mean([m.quantities[place] for m in original])
        if quantity is None or base is None or excess(constraint, quantity, base) > 0:
            return "over the constraint"
    failures = compared[-1]
    if (failures.tuned or 0.0) > (failures.original or 0.0):
        return "over the constraint"
    verdicts = {
        verdict(found.lead, lower_is_better=not objective.maximize)
        for objective, found in zip(plan.objectives, compared, strict=False)
    }
    if "worse" in verdicts:
        return "worse"
    return "better" if "better" in verdicts else "not significant"


def _compared(name: str, original: Sequence[float | None], tuned: Sequence[float | None]) -> Compared:
    pairs = [(a, b) for a, b in zip(original, tuned, strict=True) if a is not None and b is not None]
    found = difference_interval([b for _, b in pairs], [a for a, _ in pairs])
    return Compared(name, mean(list(original)), mean(list(tuned)), found)


def amount(name: str, value: float | None, *, sign: bool = False) -> str:
    """A quantity as people write it: dollars, seconds, or four digits."""
    if value is None or not math.isfinite(value):
        return "–"
    before = "-" if value < 0 else "+" if sign else ""
    size = abs(value)
    if name == "cost":
        digits = 4 if size >= 0.001 or size == 0 else 2 - math.floor(math.log10(size))
        return f"{before}${size:.{digits}f}"
    return f"{before}{size:.4g}{' s' if name == 'latency' else ''}"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
