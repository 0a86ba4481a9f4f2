"""Limits per minute of all nodes together: each worker has an equal share of them, while it runs."""

from __future__ import annotations

from typing import Final, final

WINDOW_S: Final = 62.0
"""Seconds for which a request counts; a provider's minute, and what it may come late."""
PATIENCE_S: Final = 10.0
"""Seconds for which a free share waits for a worker until the others have it."""


@final
class Shares:
    """Of a limit, one for each of so many workers at first: `1 / count` of it.

    What a worker that was lost has sent still counts, so its share is free after `WINDOW_S`; so does what
    others have sent with larger shares, so a worker more may start after that.
    """

    def __init__(self, workers: int) -> None:
        self.count = self._unused = max(1, workers)
        self._free_from: list[float] = []

    def take(self, now: float) -> float:
        """When a worker may start with a share."""
        if self._unused:
            self._unused -= 1
            return now
        if self._free_from:
            return max(now, self._free_from.pop(0))
        self.count += 1
        return now + WINDOW_S

    def lose(self, now: float, *, sent: bool = True) -> None:
        """A worker with a share has ended; `sent` tells whether it may have sent anything."""
        self._free_from.append(now + WINDOW_S * sent)
        self._free_from.sort()

    def spread(self, now: float) -> None:
        """Leave what nobody takes to those that run."""
        while self._free_from and self._free_from[0] < now - PATIENCE_S and self.count > 1:
            self._free_from.pop(0)
            self.count -= 1
