"""A study while it runs: a table that renews itself on a terminal, else a line for each trial, on stderr."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, final

from gotlang.cli.output import complain
from gotlang.cli.progress import duration
from gotlang.result import dollars
from gotlang.tune.space import point_text

if TYPE_CHECKING:
    from gotlang.tune.budget import StudyBudget
    from gotlang.tune.plan import StudyPlan
    from gotlang.tune.search import StudyProgress
    from gotlang.tune.trials import Trial

_MOST_LINES = 8


@final
class Watch:
    """Shows how a study goes, while its block runs. `quiet` shows nothing."""

    def __init__(self, plan: StudyPlan, *, quiet: bool = False) -> None:
        self._plan = plan
        self._quiet = quiet
        self._started = time.monotonic()
        self._told: set[int] = set()
        self._first: int | None = None
        self._stage = ""
        self._live: Any = None

    def __enter__(self) -> Self:
        if not self._quiet and sys.stderr.isatty():
            from rich.console import Console
            from rich.live import Live

            self._live = Live(console=Console(stderr=True), refresh_per_second=4, transient=True)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def __call__(self, progress: StudyProgress, budget: StudyBudget) -> None:
        """The study went on."""
        if self._quiet:
            return
        if self._first is None and not progress.stage:
            self._first = len(progress.finished)
            if self._first:
                complain(f"resuming the study: {self._first} of {progress.trials} trials are done")
                self._told.update(progress.finished)
        if self._live is not None:
            self._live.update(self._table(progress, budget))
            return
        if progress.stage != self._stage:
            self._stage = progress.stage
            complain(self.headline(progress, budget))
        for number, record in progress.finished.items():
            if number not in self._told:
                self._told.add(number)
                complain(f"{self.headline(progress, budget)} · trial {number}: {self._told_of(record)}")

    def headline(self, progress: StudyProgress, budget: StudyBudget) -> str:
        """Trials, best, spend and time left in one line."""
        done = len(progress.finished)
        parts = [f"{done} of {max(done, progress.trials)} trials"]
        best = progress.best
        if best is not None and best.result.values is not None:
            parts.append(f"best {best.result.values[0]:.4g} (trial {best.number})")
        limit = f" of ${self._plan.budget:g}" if self._plan.budget is not None else ""
        parts.append(f"{dollars(budget.log.spent_usd)}{limit}")
        fresh = done - (self._first or 0)
        if fresh > 0 and done < progress.trials:
            seconds = (time.monotonic() - self._started) / fresh * (progress.trials - done)
            parts.append(f"{duration(seconds)} left")
        if progress.stage:
            parts.append(progress.stage)
        return " · ".join(parts)

    def _told_of(self, record: Trial) -> str:
        value = f"{record.result.values[0]:.4g}" if record.result.values else "no value"
        over = " but infeasible" if record.ended == "complete" and not record.feasible else ""
        return f"{value} {record.ended}{over} after {len(record.rows)} rows · {point_text(record.point)}"

    def _table(self, progress: StudyProgress, budget: StudyBudget) -> Any:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None)
        for column in ("trial", "value", "rows", "ended", "values"):
            table.add_column(column, justify="right" if column in {"trial", "value", "rows"} else "left")
        for record in list(progress.finished.values())[-_MOST_LINES:]:
            value = f"{record.result.values[0]:.4g}" if record.result.values else ""
            mark = " *" if record is progress.best else ""
            cells = (f"{record.number}{mark}", value, str(len(record.rows)), record.ended)
            table.add_row(*cells, Text(point_text(record.point)))
        if progress.number is not None:
            seen = f"{progress.seen} of {progress.rows}"
            table.add_row(str(progress.number), "", seen, "racing", Text(point_text(progress.point)))
        return Group(Text(self.headline(progress, budget), style="bold"), table)
