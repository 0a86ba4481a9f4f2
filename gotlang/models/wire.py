"""One HTTP request to an OpenAI-compatible endpoint through the official SDK, and what came of it as a value.

The SDK is imported and its client made on the first request, since it takes a third of a second. Its own
retries are off: every request that leaves is counted by whoever called.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from gotlang.models.endpoint import Endpoint

if TYPE_CHECKING:
    from openai import AsyncOpenAI, Timeout

CONNECT_TIMEOUT_S = 10.0


@final
@dataclass(frozen=True, slots=True)
class Response:
    """What the endpoint sent: header names are in lower case, the body is its text as it came."""

    status: int
    headers: Mapping[str, str]
    body: str


@final
@dataclass(frozen=True, slots=True)
class NoResponse:
    """Nothing whole came back. `arrived` tells whether the endpoint may have got, and charged, the request;
    `timed_out` whether it was we who gave up waiting."""

    reason: str
    arrived: bool
    timed_out: bool = False


def client_of(endpoint: Endpoint, timeout: Timeout | float, *, retries: int = 0) -> AsyncOpenAI:
    """A client of an endpoint. `timeout` is in seconds; `retries` are the SDK's own."""
    import openai

    return openai.AsyncOpenAI(
        api_key=endpoint.key,
        base_url=endpoint.url,
        max_retries=retries,
        timeout=timeout,
        # A proxy set in the environment cannot reach this machine's own loopback.
        http_client=openai.DefaultAsyncHttpxClient(trust_env=False, timeout=timeout)
        if endpoint.loopback
        else None,
    )


class Wire:
    """The connections to one endpoint. `timeout_s` bounds a whole request, however slowly it trickles in."""

    def __init__(self, endpoint: Endpoint, timeout_s: float) -> None:
        self._endpoint = endpoint
        self._timeout_s = timeout_s
        self._client: AsyncOpenAI | None = None

    def prepare(self) -> None:
        """Load the SDK and make its client, where that is not done: on a busy machine it takes seconds, in
        which another process may send what is about to be sent here."""
        _ = self._connected().chat.completions.with_raw_response

    async def send(self, body: Mapping[str, Any], idempotency_key: str) -> Response | NoResponse:
        """Post a chat completion. Requests with one idempotency key are retries of each other: an endpoint
        that honours the header charges them once."""
        import openai

        try:
            async with asyncio.timeout(self._timeout_s):
                raw = await self._connected().chat.completions.with_raw_response.create(
                    **body, extra_headers={"Idempotency-Key": idempotency_key}
                )
                return Response(raw.status_code, _lower(raw.headers), raw.text)
        except openai.APIStatusError as error:
            return Response(error.status_code, _lower(error.response.headers), error.response.text)
        except (openai.APITimeoutError, TimeoutError) as error:
            connected = "Connect" not in type(error.__cause__).__name__
            words = f"no answer within {self._timeout_s:g} s" if connected else "no connection in time"
            return NoResponse(words, arrived=connected, timed_out=True)
        except openai.OpenAIError as error:
            return _broken(error)

    async def close(self) -> None:
        """Let go of the connections; a second call does nothing."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    def _connected(self) -> AsyncOpenAI:
        if self._client is None:
            import openai

            timeout = openai.Timeout(self._timeout_s, connect=min(self._timeout_s, CONNECT_TIMEOUT_S))
            self._client = client_of(self._endpoint, timeout)
        return self._client


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _broken(error: Exception) -> NoResponse:
    """The cause is told by its class name, since the HTTP library under the SDK changed between versions."""
    cause = type(error.__cause__ or error).__name__
    if cause == "ProxyError":
        return NoResponse("the proxy that the environment names lets no connection through", arrived=False)
    if cause in ("ConnectError", "UnsupportedProtocol"):
        return NoResponse("no connection", arrived=False)
    return NoResponse(f"the connection broke off ({cause})", arrived=True)
