"""Checks before every request: the token, the host, the origin, and what a page may load.

The address that `gotc studio` prints has a random token. It is accepted once and becomes a cookie that
scripts cannot read and other sites cannot send; the browser keeps the address without it. Other names of this
machine (DNS rebinding) are refused by `Host`, other pages by `Origin`, regardless of their cookies.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from http.cookies import SimpleCookie
from typing import Final, final
from urllib.parse import parse_qs, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Nothing inline runs, and nothing is loaded from elsewhere."""
HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
MOST_BYTES: Final = 4_000_000
"""The maximum size of a request's body."""
READS: Final = ("GET", "HEAD")


@final
@dataclass(frozen=True)
class Guard:
    """The application `app` for holders of `token`, on a port of this machine."""

    app: ASGIApp
    token: str
    port: int

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "lifespan":
            return await self.app(scope, receive, send)
        if scope["type"] != "http":
            return None

        async def safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        answer = self._refused(scope) or self.app
        return await answer(scope, receive, safely)

    def _refused(self, scope: Scope) -> Response | None:
        """The response to a request that must not reach the application; None for others."""
        headers = Headers(scope=scope)
        hosts = {f"{name}:{self.port}" for name in ("127.0.0.1", "localhost")}
        if headers.get("host") not in hosts:
            return _refusal("unknown host", 421)
        reads = scope["method"] in READS
        origin = headers.get("origin")
        if origin not in {f"http://{host}" for host in hosts} and not (reads and origin is None):
            return _refusal("only pages of gotc studio may send this request", 403)
        query = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        if (given := query.pop("token", None)) is not None and reads:
            return self._entered(scope["path"], query, given[-1])
        if not self._knows(_cookies(headers).get(self.cookie, "")):
            return _refusal("open the address printed by `gotc studio`, which includes the token", 403)
        if reads:
            return None
        if headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return _refusal("the body must be application/json", 415)
        length = headers.get("content-length", "")
        if not length.isdecimal():
            return _refusal("the header Content-Length is missing", 411)
        return None if int(length) <= MOST_BYTES else _refusal("the body is too long", 413)

    @property
    def cookie(self) -> str:
        """The name of its cookie: cookies do not distinguish ports."""
        return f"gotc_studio_{self.port}"

    def _entered(self, path: str, query: dict[str, list[str]], given: str) -> Response:
        if not self._knows(given):
            return _refusal("invalid token", 403)
        # `//` would lead to another host.
        place = "/" + path.lstrip("/\\") + ("?" + urlencode(query, doseq=True) if query else "")
        response = RedirectResponse(place, 303)
        response.set_cookie(self.cookie, self.token, httponly=True, samesite="strict", path="/")
        return response

    def _knows(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self.token.encode())


def _cookies(headers: Headers) -> dict[str, str]:
    try:
        found = SimpleCookie(headers.get("cookie", ""))
    except ValueError:
        return {}
    return {name: morsel.value for name, morsel in found.items()}


def _refusal(why: str, status: int) -> Response:
    return PlainTextResponse(why + "\n", status)
