"""What went wrong with a request, as a value: whether to try again, when, and what to tell the user."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, final

from gotlang.models.base import Usage
from gotlang.models.completions import Unreadable
from gotlang.models.endpoint import KEY_VARIABLE, URL_VARIABLE, Endpoint
from gotlang.models.retries import LONGEST_OBEYED_S, asked_wait
from gotlang.models.wire import NoResponse, Response

LONGEST_WORDS = 300
_NO_CREDIT = ("insufficient_quota", "billing_hard_limit_reached", "insufficient_credits", "credit_limit")


@final
@dataclass(frozen=True, slots=True)
class Trouble:
    """A request without an answer.

    `congested`: the endpoint cannot keep up, so all should slow down. `wait_s`: how long it asks to wait.
    `lost`: it may have been charged; `usage` is the charge, where the endpoint said so. `bad_request`: the
    request itself was refused, over `parameter` where the endpoint names one.
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


def of_no_response(lost: NoResponse, endpoint: Endpoint, *, reached: bool) -> Trouble:
    """Nothing came back. Where nothing ever did (`reached` is false), nobody listens: no use in waiting."""
    if lost.arrived:
        return Trouble(lost.reason, retryable=True, congested=lost.timed_out, lost=True)
    return Trouble(
        lost.reason,
        retryable=reached or lost.timed_out,
        help=f"check that the server at {endpoint.shown} runs, and the base URL (argument or {URL_VARIABLE})",
    )


def of_unreadable(body: Unreadable, endpoint: Endpoint) -> Trouble:
    """A success that holds no answer; some gateways wrap an error in one."""
    code = body.error.get("code") if isinstance(body.error, dict) else None
    if isinstance(code, int) and 400 <= code <= 599:
        return of_status(Response(code, {}, json.dumps({"error": body.error})), endpoint)
    return Trouble(
        f"the endpoint said 200, but {body.reason}",
        retryable=True,
        lost=body.usage is None,
        usage=body.usage,
        help=f"check the base URL {endpoint.shown}: most end in /v1",
    )


def of_status(response: Response, endpoint: Endpoint) -> Trouble:
    """An HTTP status other than success."""
    said, code, parameter = _error(response.body)
    said = shorten(endpoint.scrub(said))
    words = f"HTTP {response.status}" + (f": {said}" if said else "")
    wait = asked_wait(response.headers)
    match response.status:
        case 401 | 403:
            state = "is set, but refused" if endpoint.has_key else "is not set"
            return Trouble(words, help=f"check the environment variable {KEY_VARIABLE}, which {state}")
        case 402:
            return Trouble(words, help="there is no credit left with the provider")
        case 404:
            return Trouble(
                words, help=f"check the model's name and the base URL {endpoint.shown} (most end in /v1)"
            )
        case 400 | 422:
            return Trouble(words, bad_request=True, parameter=parameter)
        case 429 if code in _NO_CREDIT:
            return Trouble(words, help="there is no credit left with the provider")
        case status if (status in (408, 409, 429) or status >= 500) and (wait or 0.0) > LONGEST_OBEYED_S:
            return Trouble(words, congested=True, help=f"the endpoint asks to wait {wait:.0f} s")
        case 429 | 503 | 529:
            return Trouble(words, retryable=True, congested=True, wait_s=wait)
        case 408 | 409:
            return Trouble(words, retryable=True, wait_s=wait)
        case status if status >= 500:
            return Trouble(words, retryable=True, wait_s=wait)
    return Trouble(words)


def shorten(text: str) -> str:
    """An endpoint's words on one line, and not too many of them."""
    line = " ".join(text.split())
    line = "".join(c if c.isprintable() else "?" for c in line)
    return line if len(line) <= LONGEST_WORDS else line[: LONGEST_WORDS - 3] + "..."


def _error(body: str) -> tuple[str, str | None, str | None]:
    """The words, the code and the parameter of an error body, in any of the forms that servers send."""
    try:
        payload = json.loads(body)
    except (ValueError, RecursionError):
        return ("" if body.lstrip().startswith("<") else body), None, None
    error: Any = payload
    if isinstance(payload, dict):
        error = payload.get("error", payload.get("detail", payload))
    if isinstance(error, list) and error and isinstance(error[0], dict):
        # FastAPI's: each entry says where in the body and what.
        where = error[0].get("loc")
        path = [str(part) for part in where] if isinstance(where, list) else []
        name = next((part for part in path if part != "body"), None)
        return f"{'.'.join(path[1:] or path)} {error[0].get('msg', '')}".strip(), None, name
    if not isinstance(error, dict):
        return (error if isinstance(error, str) else ""), None, None
    words = error.get("message") or error.get("detail") or error.get("code") or ""
    codes = [error.get("code"), error.get("type")]
    code = next((c for c in codes if c in _NO_CREDIT), next((c for c in codes if isinstance(c, str)), None))
    name = error.get("param")
    return str(words), code, name if isinstance(name, str) and name else None
