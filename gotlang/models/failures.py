"""Failed requests as values: whether to retry, when, and what to tell the user."""

from __future__ import annotations

import json
import math
import random
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Self, final

from msgspec import Struct

from gotlang.models.base import Usage
from gotlang.models.endpoint import Endpoint
from gotlang.patterns import lazy_pattern

MAX_WORDS = 300
"""Maximum length of an endpoint's message."""
FIRST_WAIT_S = 0.5
MAX_BACK_OFF_S = 30.0
MAX_REQUESTED_WAIT_S = 600.0
"""A requested wait that is longer is an error instead (a day's quota is used up)."""
ANY_OTHER = ""
FREE: Mapping[str, frozenset[int]] = {
    "api.openai.com": frozenset({429, 503}),
    "api.anthropic.com": frozenset({429, 529}),
    "generativelanguage.googleapis.com": frozenset({429, 503}),
    "openrouter.ai": frozenset({429, 503}),
    ANY_OTHER: frozenset({429}),
}
"""By host, the statuses that reject a request before a model processes it, so that it is free. Others that
are retried (408, 500, 502, 504, ...) may come from a gateway whose upstream did the work; so may 503 from an
endpoint that is not listed: proxies return it for a connection that broke."""

_NO_CREDIT = ("insufficient_quota", "billing_hard_limit_reached", "insufficient_credits", "credit_limit")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = lazy_pattern(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")


@final
class HttpResponse(Struct, frozen=True):
    """A response of the endpoint: header names are in lower case, the body is its text, unparsed."""

    status: int
    headers: Mapping[str, str]
    body: str


@final
class NoResponse(Struct, frozen=True):
    """No complete response. `arrived`: the endpoint may have received, and charged, the request; `final`:
    sending it again is useless."""

    reason: str
    arrived: bool
    timed_out: bool = False
    final: bool = False


@final
class RequestFailure(Struct, frozen=True):
    """A request without a completion.

    `congested`: the endpoint cannot keep up, so all requests slow down. `wait_s`: how long it asks to wait.
    `lost`: the request may have been charged; `usage` is the charge, if the endpoint said so. `bad_request`:
    the request itself was refused, because of `parameter` if the endpoint names one.
    """

    words: str
    retryable: bool = False
    congested: bool = False
    wait_s: float | None = None
    lost: bool = False
    usage: Usage | None = None
    bad_request: bool = False
    parameter: str | None = None
    help: str | None = None

    @classmethod
    def of(cls, response: HttpResponse | NoResponse, endpoint: Endpoint, *, reached: bool) -> Self:
        """The failure that a response other than a success means; see `from_no_response` for `reached`."""
        if isinstance(response, NoResponse):
            return cls.from_no_response(response, endpoint, reached=reached)
        return cls.from_status(response, endpoint)

    @classmethod
    def from_no_response(cls, lost: NoResponse, endpoint: Endpoint, *, reached: bool) -> Self:
        """The failure if there was no response. An endpoint that was never `reached` does not exist: waiting
        does not help."""
        if lost.arrived:
            return cls(lost.reason, retryable=not lost.final, congested=lost.timed_out, lost=True)
        help = f"check that the server at {endpoint.shown} runs, and the base URL (--base-url or "
        return cls(
            lost.reason, retryable=reached or lost.timed_out, help=f"{help}{endpoint.names.url_variable})"
        )

    @classmethod
    def from_unreadable(cls, reason: str, endpoint: Endpoint, usage: Usage | None, error: Any = None) -> Self:
        """A success without a completion; some gateways wrap an `error` in one."""
        code = error.get("code") if isinstance(error, dict) else None
        if isinstance(code, int) and 400 <= code <= 599:
            return cls.from_status(HttpResponse(code, {}, json.dumps({"error": error})), endpoint)
        return cls(
            f"HTTP 200, but {reason}",
            retryable=True,
            lost=usage is None,
            usage=usage,
            help=f"check the base URL {endpoint.shown}{endpoint.hint}",
        )

    @classmethod
    def from_status(cls, response: HttpResponse, endpoint: Endpoint) -> Self:
        """An HTTP status other than success."""
        status = response.status
        message, code, parameter = _error(response.body)
        message = shorten(endpoint.scrub(message))
        words = f"HTTP {status}" + (f": {message}" if message else "")
        if status in (401, 403):
            return cls(words, help=endpoint.key_help)
        if status == 402 or (status == 429 and code in _NO_CREDIT):
            return cls(words, help="the account with the provider has no credit left")
        if status == 404:
            return cls(words, help=f"check the model's name and the base URL {endpoint.shown}{endpoint.hint}")
        if status in (400, 422):
            return cls(words, bad_request=True, parameter=parameter)
        if 300 <= status < 400:
            where = shorten(endpoint.scrub(response.headers.get("location", "an unknown address")))
            help = "if you trust that address, give it as the base URL; redirects are not followed"
            return cls(f"HTTP {status}: redirected to {where}", help=help)
        if status not in (408, 409, 429) and status < 500:
            return cls(words)
        wait = requested_wait(response.headers)
        lost = status != 409 and status not in FREE.get(endpoint.host, FREE[ANY_OTHER])
        if (wait or 0.0) > MAX_REQUESTED_WAIT_S:
            return cls(words, congested=True, lost=lost, help=f"the endpoint asks to wait {wait:.0f} s")
        congested = status in (429, 503, 529)
        return cls(words, retryable=True, congested=congested, wait_s=wait, lost=lost)


def shorten(text: str) -> str:
    """An endpoint's message on one line, cut to MAX_WORDS characters."""
    line = " ".join(text.split())
    line = "".join(c if c.isprintable() else "?" for c in line)
    return line if len(line) <= MAX_WORDS else line[: MAX_WORDS - 3] + "..."


def _error(body: str) -> tuple[str, str | None, str | None]:
    """The message, the code and the parameter of an error body, in any of the forms that servers send."""
    try:
        payload = json.loads(body)
    except (ValueError, RecursionError):
        return ("" if body.lstrip().startswith("<") else body), None, None
    error: Any = payload
    if isinstance(payload, dict):
        error = payload.get("error", payload.get("detail", payload))
    if isinstance(error, list) and error and isinstance(error[0], dict):
        # FastAPI: each entry says where in the body (`loc`) and what (`msg`).
        where = error[0].get("loc")
        path = [str(part) for part in where] if isinstance(where, list) else []
        name = next((part for part in path if part != "body"), None)
        return f"{'.'.join(path[1:] or path)} {error[0].get('msg', '')}".strip(), None, name
    if not isinstance(error, dict):
        return (error if isinstance(error, str) else ""), None, None
    words = error.get("message") or error.get("detail") or error.get("code") or ""
    codes = [code for code in (error.get("code"), error.get("type")) if isinstance(code, str)]
    code = next((c for c in codes if c in _NO_CREDIT), codes[0] if codes else None)
    name = error.get("param")
    return str(words), code, name if isinstance(name, str) and name else None


def back_off(failures: int, chance: random.Random) -> float:
    """Seconds to wait after this number of consecutive failures: exponential, with up to half of it random,
    so that requests which failed together are not retried together."""
    whole = min(MAX_BACK_OFF_S, FIRST_WAIT_S * 2.0 ** min(failures - 1, 16))
    return whole * (0.5 + 0.5 * chance.random())


def requested_wait(headers: Mapping[str, str]) -> float | None:
    """Seconds that the endpoint asks to wait: `retry-after-ms`, `retry-after` (seconds or date), else the
    reset of an exhausted limit. None if it does not say."""
    milliseconds = number(headers.get("retry-after-ms"))
    wait = milliseconds / 1000 if milliseconds is not None else _retry_after(headers)
    if wait is not None:
        return wait
    told = [reported_limit(headers, kind) for kind in ("requests", "tokens")]
    resets = [reset for _, remaining, reset in told if remaining == 0 and reset is not None]
    # The reset is when a minute's whole allowance is restored: a part of it is available within the minute.
    return min(max(resets), 60.0) if resets else None


def reported_limit(headers: Mapping[str, str], kind: str) -> tuple[float | None, float | None, float | None]:
    """An endpoint's report on its limit of `requests` or `tokens` per minute: the limit, the remainder, and
    the seconds until it is fully restored. OpenAI's headers are `x-ratelimit-limit-requests` and the like,
    Anthropic's `anthropic-ratelimit-requests-limit`, where the reset is a point in time."""
    if f"anthropic-ratelimit-{kind}-limit" in headers:
        limit, left, reset = (
            headers.get(f"anthropic-ratelimit-{kind}-{part}") for part in ("limit", "remaining", "reset")
        )
        return number(limit), number(left), _until(reset, headers)
    limit, left, reset = (
        headers.get(f"x-ratelimit-{part}-{kind}") for part in ("limit", "remaining", "reset")
    )
    return number(limit), number(left), duration(reset)


def _until(moment: str | None, headers: Mapping[str, str]) -> float | None:
    """Seconds until a time such as `2026-01-31T12:00:00Z`; None for anything else."""
    try:
        return max(0.0, _aware(datetime.fromisoformat(moment or "")).timestamp() - _now(headers))
    except (ValueError, OverflowError):
        return None


def _now(headers: Mapping[str, str]) -> float:
    """The time of the endpoint's own clock if known, since ours may differ."""
    return _timestamp(headers["date"]) if "date" in headers else time.time()


def _retry_after(headers: Mapping[str, str]) -> float | None:
    text = headers.get("retry-after")
    seconds = number(text)
    if seconds is not None or not text:
        return seconds
    try:
        return max(0.0, _timestamp(text) - _now(headers))
    except (ValueError, OverflowError):
        return None


def _timestamp(text: str) -> float:
    """The Unix time of an HTTP date, which is never local. Raises ValueError, OverflowError."""
    from email.utils import parsedate_to_datetime

    return _aware(parsedate_to_datetime(text)).timestamp()


def _aware(moment: datetime) -> datetime:
    """A time with a time zone."""
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def duration(text: str | None) -> float | None:
    """Seconds in `1.5`, `20ms`, `6m0s` or `1h2m3.5s`; None for anything else."""
    text = (text or "").strip()
    if (plain := number(text)) is not None:
        return plain
    parts = _DURATION.findall(text)
    if not parts or "".join(digits + unit for digits, unit in parts) != text:
        return None
    return sum(float(digits) * _UNITS[unit] for digits, unit in parts)


def number(text: str | None) -> float | None:
    """A finite non-negative number, or None."""
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None
