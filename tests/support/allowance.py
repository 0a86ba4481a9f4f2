"""How providers ration: so many requests and tokens a period, counted in one of three ways."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["sliding", "fixed", "bucket"]


@dataclass(frozen=True, slots=True)
class Said:
    """Whether a request is let in, and what the endpoint says about it."""

    admitted: bool
    words: str
    headers: Mapping[str, str]


@dataclass
class Allowance:
    """`sliding` counts the last period, `fixed` the current one (they start when the first request comes),
    `bucket` refills evenly. `ceiling` counts the tokens that a request may cost instead of those it did;
    what it did cost counts from its start or, where they are counted `late`, from its end. `headers` says
    limits and remainders, `retry_after` when to come again.
    """

    requests: float | None = None
    tokens: float | None = None
    period_s: float = 60.0
    kind: Kind = "sliding"
    ceiling: bool = False
    late: bool = False
    headers: bool = False
    retry_after: bool = True
    admitted: int = 0
    refused: int = 0
    _log: list[list[float]] = field(default_factory=list, init=False)
    _rows: dict[int, list[float]] = field(default_factory=dict, init=False)
    _start: float | None = field(default=None, init=False)
    _filled: dict[str, float] = field(default_factory=dict, init=False)
    _filled_at: float = field(default=0.0, init=False)

    def admit(self, number: int, used: float, ceiling: float, now: float) -> Said:
        """Ask for one request that will have used so many tokens."""
        if self._start is None:
            self._start = now
            self._filled = {"requests": self.requests or 0, "tokens": self.tokens or 0}
            self._filled_at = now
        tokens = ceiling if self.ceiling else used
        left = self._left(now)
        short = [
            kind for kind, need in (("requests", 1.0), ("tokens", tokens)) if left.get(kind, need) < need
        ]
        if short:
            self.refused += 1
            wait = self._wait(now, short[0], 1.0 if short[0] == "requests" else tokens)
            headers = {"Retry-After": f"{wait:.3f}"} if self.retry_after else {}
            words = f"Rate limit reached: {short[0]} per minute"
            return Said(False, words, headers | self._headers(left))
        self.admitted += 1
        row = [now, 1.0, 0.0 if self.late else tokens]
        self._log.append(row)
        self._rows[number] = row
        self._filled["requests"] -= 1
        self._filled["tokens"] -= 0.0 if self.late else tokens
        return Said(True, "", self._headers(self._left(now)))

    def settle(self, number: int, used: float, now: float) -> None:
        """A request is answered."""
        if self.late and self._rows.pop(number, None) is not None:
            self._log.append([now, 0.0, used])
            self._filled["tokens"] -= used

    def _left(self, now: float) -> dict[str, float]:
        limits = {"requests": self.requests, "tokens": self.tokens}
        if self.kind == "bucket":
            share = (now - self._filled_at) / self.period_s
            self._filled_at = now
            for kind, limit in limits.items():
                self._filled[kind] = min(limit or 0, self._filled[kind] + (limit or 0) * share)
            return {kind: self._filled[kind] for kind, limit in limits.items() if limit is not None}
        since = self._since(now)
        self._log = [row for row in self._log if row[0] > since or row[0] >= now]
        used = {"requests": sum(row[1] for row in self._log), "tokens": sum(row[2] for row in self._log)}
        return {kind: limit - used[kind] for kind, limit in limits.items() if limit is not None}

    def _since(self, now: float) -> float:
        if self.kind == "sliding":
            return now - self.period_s
        assert self._start is not None
        # A request at the very start of a period belongs to it.
        return self._start + (now - self._start) // self.period_s * self.period_s - 1e-9

    def _wait(self, now: float, kind: str, need: float) -> float:
        if self.kind == "fixed":
            return self._since(now) + self.period_s - now
        limit = (self.requests if kind == "requests" else self.tokens) or 1.0
        if self.kind == "bucket":
            return (need - self._filled[kind]) / limit * self.period_s
        column = 1 if kind == "requests" else 2
        over = sum(row[column] for row in self._log) + need - limit
        for row in sorted(self._log):
            over -= row[column]
            if over <= 0:
                return row[0] + self.period_s - now
        return self.period_s

    def _headers(self, left: Mapping[str, float]) -> dict[str, str]:
        if not self.headers:
            return {}
        limits = {"requests": self.requests, "tokens": self.tokens}
        said = {}
        for kind, remaining in left.items():
            limit = limits[kind] or 1.0
            said[f"x-ratelimit-limit-{kind}"] = f"{limit:.0f}"
            said[f"x-ratelimit-remaining-{kind}"] = f"{max(0.0, remaining):.0f}"
            said[f"x-ratelimit-reset-{kind}"] = f"{(limit - remaining) / limit * self.period_s:.3f}s"
        return said
