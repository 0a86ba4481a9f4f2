"""The connections to an endpoint over HTTP/1.1, through aiohttp: a fifth of the processor time of the openai
SDK's fastest path (`benchmarks/requests.py`)."""

from __future__ import annotations

import asyncio
import importlib
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit
from weakref import finalize

from gotlang.models.endpoint import Endpoint
from gotlang.models.failures import HttpResponse, NoResponse
from gotlang.version import __version__

if TYPE_CHECKING:
    from aiohttp import BaseConnector, ClientSession, StreamReader

CONNECT_TIMEOUT_S = 10.0
IDLE_S = 4.0
"""Seconds after which an idle connection is not reused: many servers close theirs after five."""
MAX_BODY, MAX_VALUES = 10_000_000, 1_000_000
"""Maximum bytes of a response, and of JSON values in it: 20 completions of 4,096 tokens with all their
log-probabilities, in 200 MB of memory."""
_MAX_HEADER = 65_536
UNCOMPRESSED = {"Accept-Encoding": "identity"}
_NONE: Mapping[str, str] = {}
_HEADERS = {"Accept": "application/json", "User-Agent": f"gotc/{__version__}", **UNCOMPRESSED}

# Names of exceptions, of aiohttp and of the SDK's HTTP library, whose module changes.
_NOT_IN_TIME = ("ConnectTimeout", "ConnectionTimeoutError")
_NO_PROXY = ("ProxyError", "ClientProxyConnectionError", "ClientHttpProxyError", "ProxyConnectionError")
_NOT_SENT = (
    "ConnectError",
    "UnsupportedProtocol",
    "ClientConnectorError",
    "ClientConnectorDNSError",
    "ClientConnectorSSLError",
    "ClientConnectorCertificateError",
    "InvalidUrlClientError",
)


class Wire(Protocol):
    """The connections to one endpoint."""

    def prepare(self) -> None:
        """Load the client: on a busy machine it takes seconds, in which another process may send the same
        request."""

    async def send(self, body: Mapping[str, Any], key: str) -> HttpResponse | NoResponse:
        """Post a request. Requests with one idempotency key are retries of each other: an endpoint that
        honours it charges them once."""

    async def close(self) -> None:
        """Release the connections; a second call does nothing."""


class RefusedBody(Exception):
    """A response's body that is not read: too large, or compressed although the request did not accept
    that."""


def _close_at_once(session: ClientSession) -> None:
    """Close connections of an event loop that has ended, or that were not closed."""
    closing = session.close()
    with suppress(StopIteration, RuntimeError):
        closing.send(None)
    closing.close()


class HttpWire:
    """Requests to one path below an endpoint. `timeout_s` bounds a whole request, however slowly its response
    trickles in. Keys and prompts go only to the given address: redirects are not followed, cookies not
    kept."""

    def __init__(
        self,
        at: Endpoint,
        path: str,
        headers: Mapping[str, str],
        timeout_s: float,
        stream_path: str | None = None,
    ) -> None:
        self._at = at
        base, mark, query = at.url.partition("?")
        self._url = f"{base.rstrip('/')}{path}{mark}{query}"
        self._stream_url = f"{base.rstrip('/')}{stream_path}" if stream_path else self._url
        self._headers = {**_HEADERS, **headers}
        self._timeout_s = timeout_s
        self._session: ClientSession | None = None
        self._abandon: Callable[[], object] = lambda: None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._proxy: str | None = None

    def prepare(self) -> None:
        """Load the client."""
        self._connected()

    async def send(
        self, body: Mapping[str, Any], key: str, hear: Callable[[str], bool] | None = None
    ) -> HttpResponse | NoResponse:
        """Post a request. `hear` gets the data of each event of a stream, and returns when to end it; the
        response has no body then."""
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
        more = {"Idempotency-Key": key, "Content-Type": "application/json"}
        return await self.request("POST", text.encode("utf-8", "replace"), more, hear)

    async def request(
        self,
        method: str,
        data: bytes | None = None,
        more: Mapping[str, str] = _NONE,
        hear: Callable[[str], bool] | None = None,
    ) -> HttpResponse | NoResponse:
        """Any request to the path, with more headers."""
        import aiohttp

        session = self._connected()
        try:
            async with (
                asyncio.timeout(self._timeout_s),
                session.request(
                    method,
                    self._url if hear is None else self._stream_url,
                    data=data,
                    headers={**self._headers, **more},  # those of a session would also go to a proxy
                    proxy=self._proxy,
                    allow_redirects=False,
                ) as response,
            ):
                found = lower(response.headers)
                check_encoding(found)
                left, parts = MAX_BODY, []
                streamed = found.get("content-type", "").startswith("text/event-stream")
                if hear is not None and streamed and response.status == 200:
                    await _events(response.content, hear)
                    response.close()  # also of a stream that has not ended
                    return HttpResponse(response.status, found, "")
                async for part in response.content.iter_any():
                    if (left := left - len(part)) < 0:
                        raise too_long(MAX_BODY)
                    parts.append(part)
                return HttpResponse(response.status, found, text_of(b"".join(parts)))
        except (aiohttp.ClientError, OSError, RefusedBody) as error:
            return no_response(error, self._timeout_s)

    async def close(self) -> None:
        """Release the connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _connected(self) -> ClientSession:
        if self._session is not None and self._loop is asyncio.get_running_loop():
            return self._session
        import aiohttp

        self._abandon()
        self._loop = asyncio.get_running_loop()
        self._proxy = _proxy_of(self._at)
        self._session = aiohttp.ClientSession(
            connector=self._connector(),
            timeout=aiohttp.ClientTimeout(connect=min(self._timeout_s, CONNECT_TIMEOUT_S)),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            max_line_size=_MAX_HEADER,
            max_field_size=_MAX_HEADER,
        )
        # Unlike `__del__`, before the collector ends parts of the session in an order of its own.
        self._abandon = finalize(self, _close_at_once, self._session)
        return self._session

    def _connector(self) -> BaseConnector:
        """Connections without a limit of their own. The trusted certificates are those of the SDK's
        client."""
        import aiohttp

        tls = self._url.startswith("https:")
        how: dict[str, Any] = {"limit": 0, "keepalive_timeout": IDLE_S}
        if tls:
            how["ssl"] = http_library().create_ssl_context()
        if self._proxy is None or not self._proxy.startswith("socks"):
            return aiohttp.TCPConnector(**how)
        proxy, self._proxy = self._proxy.replace("socks5h:", "socks5:", 1), None
        connector = importlib.import_module("aiohttp_socks").ProxyConnector
        found: BaseConnector = connector.from_url(proxy, rdns=True, **how)
        return found


async def _events(content: StreamReader, hear: Callable[[str], bool]) -> None:
    """Pass on the data of each event, until `hear` ends the stream. Raises RefusedBody for too long a
    stream."""
    left, rest = MAX_BODY, b""
    data: list[bytes] = []
    async for part in content.iter_any():
        if (left := left - len(part)) < 0:
            raise too_long(MAX_BODY)
        *lines, rest = (rest + part).split(b"\n")
        for line in lines:
            if line.startswith(b"data:"):
                data.append(line[5:].strip())
            elif not line.strip() and data:
                if hear(text_of(b"\n".join(data))):
                    return
                data = []


def _proxy_of(at: Endpoint) -> str | None:
    """The proxy in the environment for an endpoint; none for this machine's own loopback, which a proxy
    cannot reach."""
    from urllib.request import getproxies, proxy_bypass

    parts, known = urlsplit(at.url), getproxies()
    proxy = known.get(parts.scheme) or known.get("all")
    if not proxy or at.loopback or proxy_bypass(parts.netloc):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def http_library() -> Any:
    """The HTTP library that came with the openai SDK: httpx2 since its version 3, httpx before."""
    try:
        return importlib.import_module("httpx2")
    except ImportError:
        return importlib.import_module("httpx")


def check_encoding(headers: Mapping[str, str]) -> None:
    """Raise RefusedBody for a compressed body, which can fill the memory."""
    if headers.get("content-encoding", "identity").lower() not in ("identity", ""):
        raise RefusedBody("its body is compressed although the request did not accept that")


def too_long(most: int) -> RefusedBody:
    """The error for a body of more bytes."""
    return RefusedBody(f"its body is longer than {most:,} bytes")


def text_of(content: bytes) -> str:
    """A body's text. JSON is UTF-8, whatever charset the endpoint names. Raises RefusedBody for more than
    MAX_VALUES values, each of which takes at least a hundred bytes of memory."""
    if sum(map(content.count, (b",", b"[", b"{"))) > MAX_VALUES:
        raise RefusedBody(f"its body has more than {MAX_VALUES:,} values")
    return content.decode("utf-8", "replace")


def lower(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers with their names in lower case."""
    return {name.lower(): value for name, value in headers.items()}


def no_response(error: BaseException, timeout_s: float) -> NoResponse:
    """Why there is no response. Errors are distinguished by class name: the HTTP library changes its
    module."""
    cause = type(error).__name__
    if isinstance(error, RefusedBody):
        return NoResponse(f"the response is refused: {error}", arrived=True, final=True)
    if cause in _NOT_IN_TIME:
        return NoResponse("no connection in time", arrived=False, timed_out=True)
    if "Timeout" in cause:
        return NoResponse(f"no response within {timeout_s:g} s", arrived=True, timed_out=True)
    if cause in _NO_PROXY:
        return NoResponse("the proxy from the environment refuses connections", arrived=False)
    if cause in _NOT_SENT:
        return NoResponse("no connection", arrived=False)
    return NoResponse(f"the connection was lost ({cause})", arrived=True)
