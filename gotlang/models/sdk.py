"""The official OpenAI SDK, for `openai-sdk:MODEL` and for provider batches."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, final

from gotlang import keys
from gotlang.errors import UsageError
from gotlang.models.capabilities import CONTINUING
from gotlang.models.endpoint import ACCOUNT, Endpoint, account_headers
from gotlang.models.failures import HttpResponse, NoResponse
from gotlang.models.wire import (
    CONNECT_TIMEOUT_S,
    MAX_BODY,
    UNCOMPRESSED,
    RefusedBody,
    check_encoding,
    lower,
    no_response,
    text_of,
    too_long,
)
from gotlang.packages import pip_install

if TYPE_CHECKING:
    from openai import AsyncOpenAI, Timeout


def require_sdk(feature: str) -> None:
    """Raise UsageError if the SDK, which a feature needs, is not installed."""
    if find_spec("openai") is None:
        raise UsageError(f"{feature} needs OpenAI's SDK", help=pip_install("openai"))


@final
class SdkWire:
    """The official SDK's client, imported and created on the first request. Its own retries are off: every
    request is counted by the caller."""

    def __init__(self, endpoint: Endpoint, timeout_s: float) -> None:
        require_sdk("`openai-sdk:NAME`")
        self._endpoint = endpoint
        self._timeout_s = timeout_s
        self._client: AsyncOpenAI | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def prepare(self) -> None:
        """Load the SDK and make its client."""
        _ = self._connected().chat.completions.with_raw_response

    async def send(self, body: Mapping[str, Any], key: str) -> HttpResponse | NoResponse:
        """Post a chat completion."""
        import openai

        if self._loop not in (None, loop := asyncio.get_running_loop()):
            self._client = None  # its connections ended with the event loop of an earlier run
        self._loop = loop
        try:
            try:
                async with asyncio.timeout(self._timeout_s):
                    sent = await self._connected().chat.completions.with_raw_response.create(
                        **{name: value for name, value in body.items() if name not in CONTINUING},
                        extra_body={name: body[name] for name in CONTINUING if name in body},
                        extra_headers={"Idempotency-Key": key, **UNCOMPRESSED},
                    )
                raw = sent.http_response
            except openai.APIStatusError as error:
                raw = error.response
            return HttpResponse(raw.status_code, lower(raw.headers), text_of(raw.content))
        except openai.OpenAIError as error:
            return no_response(error.__cause__ or error, self._timeout_s)
        except (TimeoutError, RefusedBody) as error:
            return no_response(error, self._timeout_s)

    async def close(self) -> None:
        """Release the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    def _connected(self) -> AsyncOpenAI:
        if self._client is None:
            import openai

            timeout = openai.Timeout(self._timeout_s, connect=min(self._timeout_s, CONNECT_TIMEOUT_S))
            self._client = client_of(self._endpoint, timeout)
        return self._client


def client_of(
    endpoint: Endpoint,
    timeout: Timeout | float,
    *,
    retries: int = 0,
    most: Callable[[], int] = lambda: MAX_BODY,
) -> AsyncOpenAI:
    """The SDK's client of an endpoint. `timeout` is in seconds; `retries` are the SDK's own; a response of
    more than `most` bytes is refused."""
    import openai

    with keys.without(also=ACCOUNT):
        return openai.AsyncOpenAI(
            api_key=endpoint.key,
            base_url=endpoint.url,
            default_headers=account_headers(endpoint),
            max_retries=retries,
            timeout=timeout,
            # A proxy from the environment cannot reach this machine's own loopback.
            http_client=openai.DefaultAsyncHttpxClient(
                trust_env=not endpoint.loopback, timeout=timeout, **_safe_client(most)
            ),
        )


class _Limited:
    """A response's bytes as they arrive, up to `most`."""

    def __init__(self, stream: Any, most: int) -> None:
        self._stream = stream
        self._most = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = self._most
        async for part in self._stream:
            if (left := left - len(part)) < 0:
                raise too_long(self._most)
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()


def _safe_client(most: Callable[[], int]) -> dict[str, Any]:
    """Arguments of an HTTP client: keys and prompts go only to the given address, and no body of more than
    `most` bytes fills the memory."""

    async def limit(response: Any) -> None:
        check_encoding(response.headers)
        # The client checks the class of a stream; the SDK chooses the library it is from.
        bases = [base for base in type(response.stream).__mro__ if base.__name__ == "AsyncByteStream"]
        response.stream = type("LimitedStream", (_Limited, *bases), {})(response.stream, most())

    return {"follow_redirects": False, "event_hooks": {"request": [], "response": [limit]}}
