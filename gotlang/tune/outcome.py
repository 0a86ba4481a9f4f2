"""What a study found: the winner judged on held-out rows, and the result as a whole."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, final

from gotlang.models.base import Address
from gotlang.models.prices import Spent
from gotlang.result import Displayed
from gotlang.statistics import Interval, paired_difference, verdict
from gotlang.tune.plan import StudyPlan
from gotlang.tune.points import Measured, mean
from gotlang.tune.proposer import Proposed
from gotlang.tune.search import Finalist, front, violations
from gotlang.tune.space import point_text
from gotlang.tune.trials import Trial
from gotlang.tune.tuned import Tuned

VERDICTS = {
    "better": "the tuned program is better on held-out rows",
    "not significant": "the interval of the difference contains 0",
    "worse": "the tuned program is worse on held-out rows: the original stays",
    "constraint violated": "the tuned program violates a constraint on held-out rows: the original stays",
    "no improvement found": "no trial was feasible and better than the original",
    "no feasible trial": "no trial satisfies the constraints, and the original does not either",
}
ROLES = {
    "proposer": "proposing texts",
    "texts": "trying proposed texts on the untuned params",
    "search": "points on train rows",
    "held-out rows": "points on test rows",
}
"""What a study spends money on."""
STAYS = frozenset(VERDICTS) - {"better", "not significant"}
"""The verdicts after which the result of a study is the original program."""


@final
@dataclass(frozen=True, slots=True)
class Compared:
    """One quantity of both programs: means, and the tuned one's lead (tuned minus original)."""

    name: str
    original: float | None
    tuned: float | None
    lead: Interval

    def __str__(self) -> str:
        lead, both = self.lead, f"{amount(self.name, self.original)} -> {amount(self.name, self.tuned)}"
        low, middle, high = (amount(self.name, x, sign=True) for x in (lead.low, lead.mean, lead.high))
        return f"{both} ({middle}, 95% CI {low} to {high})"


@final
@dataclass(frozen=True, slots=True)
class HeldOut:
    """The winner compared with the original on the test rows. `verdict` is one of `VERDICTS`."""

    rows: int
    compared: tuple[Compared, ...]
    verdict: str

    @property
    def unchanged(self) -> bool:
        """Whether the original itself won the search, so that there was nothing to compare."""
        return self.verdict in {"no improvement found", "no feasible trial"}

    def to_dict(self) -> dict[str, Any]:
        """As files hold it."""
        compared = [asdict(each) for each in self.compared]
        return {**asdict(self), "compared": compared, "meaning": VERDICTS[self.verdict]}


def compare_held_out(
    plan: StudyPlan, original: Sequence[Measured], tuned: Sequence[Measured], *, same: str | None = None
) -> HeldOut:
    """Judge the tuned program by rows that both ran. `same` is the verdict if no other point won."""

    def quantities(rows: Sequence[Measured]) -> dict[str, list[float | None]]:
        found = {o.text: [row.objectives[i] for row in rows] for i, o in enumerate(plan.objectives)}
        found.setdefault("cost", [row.usd for row in rows])
        found.setdefault("latency", [row.seconds for row in rows])
        found.setdefault("calls", [float(row.calls) for row in rows])
        found.setdefault("failures", [float(bool(row.failure)) for row in rows])
        return found

    before, after = quantities(original), quantities(tuned)
    compared = tuple(
        Compared(name, mean(own), mean(after[name]), paired_difference(after[name], own))
        for name, own in before.items()
    )
    return HeldOut(len(original), compared, same or _verdict(plan, original, tuned, compared))


def _verdict(
    plan: StudyPlan, original: Sequence[Measured], tuned: Sequence[Measured], compared: Sequence[Compared]
) -> str:
    if any(over > 0 for over in violations(plan, tuned, original).values()):
        return "constraint violated"
    judged = zip(plan.objectives, compared, strict=False)
    verdicts = {verdict(each.lead, lower_is_better=not objective.maximize) for objective, each in judged}
    return next(word for word in ("worse", "better", "not significant") if word in verdicts)


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


@final
@dataclass(frozen=True, repr=False)
class StudyResult(Displayed):
    """The result of a study. `partial` says why the search ended early, if it did.

    `spent` is what the whole study spent, by all its workers and restarts, `roles` the same by the `ROLES`
    that spent something; `usd` and `calls` are what is known of it to have been charged. `proposed` is what
    each optimizer of prompts yielded.
    """

    plan: StudyPlan
    trials: dict[int, Trial]
    winner: Trial
    finals: list[Finalist]
    held_out: HeldOut | None
    tuned: Tuned
    spent: Spent
    roles: Mapping[str, Spent]
    simulated: bool
    model: str
    wall_s: float
    rejected: int
    partial: str | None
    storage: str | None
    study: Any = None
    endpoints: Sequence[Address] = ()
    proposed: Sequence[Proposed] = ()

    @property
    def ended(self) -> Counter[str]:
        """How many trials ended in which way."""
        return Counter(trial.ended for trial in self.trials.values())

    @property
    def pareto(self) -> list[Trial]:
        """The Pareto-optimal trials of a study with several objectives."""
        return front(self.plan, self.trials.values()) if len(self.plan.objectives) > 1 else []

    @property
    def usd(self) -> float:
        """US dollars that are known to have been charged."""
        return self.spent.usd or 0.0

    @property
    def calls(self) -> int:
        """Calls that are known to have been charged."""
        return self.spent.calls

    @property
    def unmet(self) -> list[str]:
        """The constraints that no trial satisfied."""
        texts, trials = [constraint.text for constraint in self.plan.constraints], self.trials.values()
        return [text for text in texts if all(t.result.excess.get(text, 1.0) > 0 for t in trials)]

    def to_dict(self) -> dict[str, Any]:
        """The document that `gotc tune --json` prints."""
        tuned = self.tuned.to_dict()
        return {
            "study": self.plan.name,
            "model": self.model,
            "simulated": self.simulated,
            "endpoints": [asdict(one) for one in self.endpoints],
            "trials": len(self.trials),
            "ended": dict(self.ended),
            "rejected": self.rejected,
            "unmet": self.unmet,
            "winner": {**_brief(self.winner), "params": tuned["params"], "settings": tuned["settings"]},
            "finals": [finalist.to_dict() for finalist in self.finals],
            "original": {"train": _brief(self.trials[0])["train"]},
            "pareto": [_brief(trial) for trial in self.pareto],
            "held_out": self.held_out.to_dict() if self.held_out is not None else None,
            "proposed": [each.to_dict() for each in self.proposed],
            "spent": self.spent.to_dict(),
            "roles": {role: spent.to_dict() for role, spent in self.roles.items()},
            "wall_s": self.wall_s,
            "partial": self.partial,
            "storage": self.storage,
            "tuned": tuned,
        }

    def facts(self) -> list[tuple[str, str]]:
        """The verdict, the point found, what was compared, and what it cost."""
        compared = self.held_out.compared if self.held_out is not None else ()
        values = {**self.tuned.params, **self.tuned.settings}
        return [
            ("verdict", self.held_out.verdict if self.held_out is not None else "not compared"),
            ("tuned", point_text(values) or "the original"),
            *((each.name, str(each)) for each in compared if each.tuned is not None),
            *(("proposed", str(each)) for each in self.proposed),
            ("trials", str(len(self.trials))),
            ("spent", str(self.spent)),
            *((f"  {role}", str(spent)) for role, spent in self.roles.items()),
            ("model", self.model + (" (simulated)" if self.simulated else "")),
        ]

    def rows(self) -> list[dict[str, Any]]:
        """The trials: a data frame has one row per trial."""
        texts = [objective.text for objective in self.plan.objectives]
        return [
            {
                "trial": trial.number,
                "ended": trial.ended,
                "rows": len(trial.rows),
                **dict(zip(texts, trial.result.values or [None] * len(texts), strict=True)),
                **trial.point,
            }
            for trial in self.trials.values()
        ]


def _brief(trial: Trial) -> dict[str, Any]:
    train = list(trial.result.values or ())
    return {"trial": trial.number, "point": dict(trial.point), "train": train}
