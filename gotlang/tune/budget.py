"""The money of a study: one hard limit over all its roles, workers and restarts.

It is a shared budget with the study's name: what a dead worker had not sent returns, what it had sent may
have been charged.
"""

from __future__ import annotations

from typing import final

from gotlang.cache.coordination import Coordination
from gotlang.models.prices import dollars
from gotlang.runtime.sampler.budget import exact
from gotlang.runtime.sampler.shared import SharedBudget


@final
class StudyBudget(SharedBudget):
    """The budget of a study for one worker; `max_usd`, at first all of it, is what may be spent for now, None
    for no limit. A study that is given more money, or less, goes on with that."""

    def __init__(self, coordination: Coordination, name: str, max_usd: float | None) -> None:
        total = None if max_usd is None else exact(max_usd)
        if coordination.make(name, total, None).max_usd != total:
            coordination.limit(name, total, None)
        super().__init__(coordination, name, coordination.make(name, total, None))
        self._total = max_usd

    def allow(self, max_usd: float | None) -> None:
        """Set what may be spent from now on."""
        self.max_usd = max_usd
        self._for_now = None if max_usd is None else exact(max_usd)
        self.refused = 0

    def reason(self) -> str:
        """Why the next request was not sent, in words."""
        if self._over:
            return super().reason()
        stored = self.stored
        parts = [f"{dollars(float(stored.charged.usd))} charged"]
        if stored.uncertain.usd:
            most = dollars(float(stored.uncertain.usd))
            parts.append(f"{most} uncertain, of requests that failed or whose process was killed")
        if stored.reserved.usd:
            parts.append(f"{dollars(float(stored.reserved.usd))} reserved by requests under way")
        if self.max_usd is not None and self._total is not None and self.max_usd < self._total:
            parts.append(f"{dollars(self._total - self.max_usd)} reserved for its later stages")
        words = f"the study's budget of {dollars(self._total)} does not allow the next request: "
        return words + ", ".join(parts)
