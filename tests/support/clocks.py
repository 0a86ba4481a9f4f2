"""Time that passes when somebody sleeps, and at no other moment."""

from __future__ import annotations

import asyncio


class FakeTime:
    """`sleeps` lists the seconds of every sleep, `now` is their sum."""

    def __init__(self) -> None:
        self.sleeps: list[float] = []
        self.now = 0.0

    def clock(self) -> float:
        """Seconds since the start."""
        return self.now

    async def sleep(self, seconds: float) -> None:
        """Let time pass at once."""
        self.sleeps.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)
