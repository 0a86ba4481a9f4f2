"""The result of a study."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, final

from msgspec import structs, to_builtins

from gotlang.models.base import Address
from gotlang.models.prices import Spent
from gotlang.result import Displayed
from gotlang.statistics import FEWEST_ROWS, LEVEL, Interval, confidence_sequence
from gotlang.tune.judge import FrontPoint, HeldOut, judged_point
from gotlang.tune.plan import StudyPlan
from gotlang.tune.proposer import Proposed
from gotlang.tune.space import Space, point_text
from gotlang.tune.trials import Trial
from gotlang.tune.tuned import PromptTexts, Tuned

ROLES = {
    "proposer": "proposing texts",
    "texts": "trying proposed texts on the untuned params",
    "search": "points on train rows",
    "held-out rows": "points on test rows",
}
"""The purposes on which a study spends."""
UNFINISHED = "the study has not ended"
"""The prefix of `partial` if a point was picked before the end."""


@final
@dataclass(frozen=True, repr=False)
class StudyResult(Displayed):
    """The result of a study. `partial` says why the search ended early, if it did.

    `spent` is the total cost of the study, over all workers and restarts, and `roles` the same by role
    (`ROLES`); `usd` and `calls` are the charged part. `proposed` has the results of each prompt optimizer.

    `trained` and `tested` are the numbers of the train and the test rows. `front` are the points to choose
    from, the original first. The verdict is about one of them, `judged`; the tuned file contains `written`:
    that point if it is better, otherwise the original, or the point the user `picked`.
    """

    plan: StudyPlan
    trials: dict[int, Trial]
    space: Space
    front: Sequence[FrontPoint]
    picked: FrontPoint | None
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
    trained: Sequence[int] = ()
    tested: Sequence[int] = ()
    proposed: Sequence[Proposed] = ()
    texts: Mapping[str, Mapping[str, PromptTexts]] = field(default_factory=dict)
    """The texts of each point of the front by prompt, by the point's first name."""

    @property
    def ended(self) -> Counter[str]:
        """The number of trials by the way they ended."""
        return Counter(trial.ended for trial in self.trials.values())

    @property
    def judged(self) -> FrontPoint:
        """The point that the verdict is about."""
        return self.picked or judged_point(self.front)

    @property
    def written(self) -> FrontPoint:
        """The point in the tuned file."""
        return written(self.front, self.picked)

    @property
    def winner(self) -> Trial:
        """The trial of the judged point."""
        return self.judged.trial

    @property
    def held_out(self) -> HeldOut | None:
        """The verdict; None if the test rows were not run."""
        return self.judged.held_out

    @property
    def unfinished(self) -> bool:
        """Whether a point was picked before the study has ended."""
        return self.partial is not None and self.partial.startswith(UNFINISHED)

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
            "endpoints": [structs.asdict(one) for one in self.endpoints],
            "trials": len(self.trials),
            "ended": dict(self.ended),
            "rejected": self.rejected,
            "unmet": self.unmet,
            "winner": _brief(self.winner),
            "written": self.written.names[0],
            "original": {"train": _brief(self.trials[0])["train"]},
            "front": [
                {
                    **point.to_dict(),
                    "train_intervals": [
                        [each.low, each.high] if math.isfinite(each.low) else None
                        for each in self.on_train(point)
                    ],
                    "prompts": to_builtins(self.texts.get(point.names[0], {})),
                }
                for point in self.front
            ],
            "held_out": self.held_out.to_dict() if self.held_out is not None else None,
            "proposed": [each.to_dict() for each in self.proposed],
            "spent": self.spent.to_dict(),
            "roles": {role: spent.to_dict() for role, spent in self.roles.items()},
            "wall_s": self.wall_s,
            "partial": self.partial,
            "storage": self.storage,
            "tuned": tuned,
        }

    def on_train(self, point: FrontPoint) -> list[Interval]:
        """Each objective of a point in the search, empty for a point without results. The intervals of all
        points hold simultaneously with 95%, and at any number of rows, so that points may be chosen by them;
        they are infinite for a point with few train rows."""
        level = 1 - (1 - LEVEL) / (len(self.trials) * len(self.plan.objectives))
        found = []
        for at, middle in enumerate(point.trial.result.values or ()):
            everywhere = [
                x for t in self.trials.values() for r in t.rows if (x := r.objectives[at]) is not None
            ]
            rows = point.trial.rows[: len(self.trained)]
            own = [x for row in rows if (x := row.objectives[at]) is not None]
            interval = Interval(middle, -math.inf, math.inf, len(own), level)
            if len(own) >= FEWEST_ROWS:
                unit = max(everywhere) - min(everywhere)
                ran = confidence_sequence(own, level=level, unit=unit)
                by = middle - ran.mean  # rows that it did not run on are estimated from other points'
                interval = replace(ran, mean=middle, low=ran.low + by, high=ran.high + by)
            found.append(interval)
        return found

    def texts_of(self, point: FrontPoint) -> list[str]:
        """The texts of a point of the front, one line each, such as `prompt sort: Sort the numbers`."""
        found = []
        for prompt, texts in self.texts.get(point.names[0], {}).items():
            if texts.instruction is not None:
                found.append(f"prompt {prompt}: {' '.join(texts.instruction.split())}")
            if texts.examples is not None:
                shots = len(texts.examples)
                found.append(f"prompt {prompt}: {shots} example{'s' * (shots != 1)}")
        return found

    def facts(self) -> list[tuple[str, str]]:
        """The verdict, the judged point, what was compared, and the cost."""
        compared = self.held_out.compared if self.held_out is not None else ()
        values = {**self.tuned.params, **self.tuned.settings}
        several = self.front if len(self.front) > 2 else ()
        return [
            ("verdict", self.held_out.verdict if self.held_out is not None else "not compared"),
            ("judged", f"{self.judged.title}: {point_text(self.winner.point)}"),
            *((each.name, str(each)) for each in compared if each.tuned is not None),
            *(("proposed", str(each)) for each in self.proposed),
            ("tuned file", f"{self.written.title}: {point_text(values)}"),
            *((point.title, point_text(point.trial.point)) for point in several),
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


def written(front: Sequence[FrontPoint], picked: FrontPoint | None) -> FrontPoint:
    """The point that a study writes: the picked one, else the judged one if it is better, else the
    original."""
    judged = judged_point(front)
    better = judged.held_out is not None and judged.held_out.verdict == "better"
    return picked or (judged if better else front[0])
