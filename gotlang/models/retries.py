"""When to try again: back-off with jitter, and what an endpoint's headers ask for."""

from __future__ import annotations

import math
import random
import re
import time
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime

FIRST_WAIT_S = 0.5
LONGEST_BACK_OFF_S = 30.0
LONGEST_OBEYED_S = 600.0
"""An endpoint that asks for a longer wait than this gets an error instead (a day's quota is used up)."""

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")


def back_off(failures: int, chance: random.Random) -> float:
    """Seconds to wait after so many failures in a row: doubled each time, of which half is left to chance so
    that callers who failed together do not come back together."""
    whole = min(LONGEST_BACK_OFF_S, FIRST_WAIT_S * 2.0 ** min(failures - 1, 16))
    return whole * (0.5 + 0.5 * chance.random())


def asked_wait(headers: Mapping[str, str]) -> float | None:
    """Seconds the endpoint asks to wait: `retry-after-ms`, `retry-after` (seconds or date), else the reset of
    an `x-ratelimit-*` that is used up. None where it does not say."""
    milliseconds = number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    wait = _retry_after(headers)
    if wait is not None:
        return wait
    resets = [
        reset
        for kind in ("requests", "tokens")
        if number(headers.get(f"x-ratelimit-remaining-{kind}")) == 0
        and (reset := duration(headers.get(f"x-ratelimit-reset-{kind}"))) is not None
    ]
    # The reset names the time when all of a minute's allowance is back: some of it is back within the minute.
    return min(max(resets), 60.0) if resets else None


def _retry_after(headers: Mapping[str, str]) -> float | None:
    text = headers.get("retry-after")
    seconds = number(text)
    if seconds is not None or not text:
        return seconds
    try:
        until = _time(text)
        # Its own clock, where it says what that shows: ours may differ.
        now = _time(headers["date"]) if "date" in headers else time.time()
    except (ValueError, OverflowError):
        return None
    return max(0.0, until - now)


def _time(text: str) -> float:
    """The Unix time of a date in HTTP, which is never local. Raises ValueError, OverflowError."""
    found = parsedate_to_datetime(text)
    return (found if found.tzinfo is not None else found.replace(tzinfo=UTC)).timestamp()


def duration(text: str | None) -> float | None:
    """Seconds in `1.5`, `20ms`, `6m0s` or `1h2m3.5s`; None for anything else."""
    if not text:
        return None
    text = text.strip()
    if (plain := number(text)) is not None:
        return plain
    parts = _PART.findall(text)
    if not parts or "".join(digits + unit for digits, unit in parts) != text:
        return None
    return sum(float(digits) * _UNITS[unit] for digits, unit in parts)


def number(text: str | None) -> float | None:
    """A finite number that is not negative, or None."""
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None
