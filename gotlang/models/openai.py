"""OpenAI's chat completions, through the official SDK: OpenAI, vLLM, llama.cpp, Ollama, gateways, and so
on."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from gotlang import keys
from gotlang.models.base import Completion, Request, Usage
from gotlang.models.capabilities import Capabilities, encodable
from gotlang.models.endpoint import OPENAI, Endpoint
from gotlang.models.failures import NoResponse, Response
from gotlang.models.http import (
    CONNECT_TIMEOUT_S,
    MAX_BODY,
    UNCOMPRESSED,
    HttpModel,
    ParsedResponse,
    RefusedBody,
    Wire,
    lower,
    no_response,
    safe_client,
    text_of,
    token_count,
)

if TYPE_CHECKING:
    from openai import AsyncOpenAI, Timeout


_ACCOUNT = ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_CUSTOM_HEADERS")
"""What the SDK reads of the environment and sends along."""


@final
class OpenAIModel(HttpModel):
    """A model behind an OpenAI-compatible endpoint. It learns what that accepts: many refuse some setting."""

    about = "any OpenAI-compatible endpoint: `openai:MODEL`"
    names = OPENAI
    path = "/chat/completions"
    models_path = "/models"
    most = 128
    batches = True

    @staticmethod
    def headers(key: str) -> dict[str, str]:
        """The key as a bearer token."""
        return {"Authorization": f"Bearer {key}"}

    def body(self, request: Request, n: int, first: int, known: Capabilities) -> dict[str, Any]:
        """The arguments of the SDK."""
        return {
            "model": encodable(request.model),
            "messages": known.messages(request),
            **known.settings(request, first),
            **({known.limit_name: request.settings.max_tokens} if known.limit_name else {}),
            **({"n": n} if n > 1 else {}),
        }

    @staticmethod
    def parse(payload: dict[str, Any]) -> ParsedResponse:
        """The choices in their order."""
        choices = [
            choice
            for choice in _list(payload.get("choices"))
            if isinstance(choice, dict) and isinstance(choice.get("message"), dict)
        ]
        if all(token_count(choice.get("index")) is not None for choice in choices):
            choices.sort(key=lambda choice: int(choice["index"]))
        hidden = (
            _text(choice["message"].get(name)) or ""
            for choice in choices
            for name in ("reasoning_content", "reasoning")
        )
        size = sum(len(text.encode("utf-8", "surrogatepass")) for text in hidden)
        return ParsedResponse([_completion(choice) for choice in choices], _usage(payload.get("usage")), size)

    def _first(self) -> Capabilities:
        # OpenAI's newer models refuse the old name; others often ignore the new one without a word, and a
        # limit that is ignored breaks a budget.
        newer = self.at.host == OPENAI.host
        return Capabilities(self.most, "max_completion_tokens" if newer else "max_tokens")

    def _connect(self, timeout_s: float, batches: Path | None) -> Wire:
        if batches is None:
            return SdkWire(self.at, timeout_s)
        from gotlang.models.batches import BatchWire, PendingBatches

        return BatchWire(self.at, PendingBatches(batches, self.at.shown), sleep=self._sleep)


@final
class SdkWire:
    """The SDK's client, imported and made on the first request, since that takes a third of a second. Its own
    retries are off: every request is counted by the caller."""

    def __init__(self, endpoint: Endpoint, timeout_s: float) -> None:
        self._endpoint = endpoint
        self._timeout_s = timeout_s
        self._client: AsyncOpenAI | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def prepare(self) -> None:
        """Load the SDK and make its client."""
        _ = self._connected().chat.completions.with_raw_response

    async def send(self, body: Mapping[str, Any], key: str) -> Response | NoResponse:
        """Post a chat completion."""
        import openai

        if self._loop not in (None, loop := asyncio.get_running_loop()):
            self._client = None  # its connections ended with the event loop of an earlier run
        self._loop = loop
        try:
            try:
                async with asyncio.timeout(self._timeout_s):
                    sent = await self._connected().chat.completions.with_raw_response.create(
                        **body, extra_headers={"Idempotency-Key": key, **UNCOMPRESSED}
                    )
                raw = sent.http_response
            except openai.APIStatusError as error:
                raw = error.response
            return Response(raw.status_code, lower(raw.headers), text_of(raw.content))
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

    # An address that the user did not give learns nothing of their account.
    account = (
        dict.fromkeys(_ACCOUNT, "") if endpoint.project else {name: keys.read(name) for name in _ACCOUNT}
    )
    organization, project, headers = account.values()
    pairs = (line.partition(":") for line in headers.split("\n") if ":" in line)
    with keys.without(also=_ACCOUNT):
        return openai.AsyncOpenAI(
            api_key=endpoint.key,
            base_url=endpoint.url,
            organization=organization or None,
            project=project or None,
            default_headers={name.strip(): value.strip() for name, _, value in pairs},
            max_retries=retries,
            timeout=timeout,
            # A proxy from the environment cannot reach this machine's own loopback.
            http_client=openai.DefaultAsyncHttpxClient(
                trust_env=not endpoint.loopback, timeout=timeout, **safe_client(most)
            ),
        )


def _completion(choice: dict[str, Any]) -> Completion:
    message, reason = choice["message"], choice.get("finish_reason")
    text = _text(message.get("content"))
    tokens = _tokens(choice.get("logprobs"))
    return Completion(
        text=text if text is not None else _text(message.get("refusal")) or "",
        finish_reason=reason if isinstance(reason, str) and reason else "unknown",
        logprob=math.fsum(logprob for _, logprob in tokens) if tokens else None,
        tokens=tokens,
    )


def _text(content: object) -> str | None:
    """A message's text: some endpoints send it in parts."""
    if isinstance(content, str):
        return content
    parts = [p["text"] for p in _list(content) if isinstance(p, dict) and isinstance(p.get("text"), str)]
    return "".join(parts) if parts else None


def _tokens(logprobs: object) -> tuple[tuple[str, float], ...]:
    """Every token with its log-probability, or none: a sum over some of them would be wrong."""
    tokens = []
    for entry in _list(logprobs.get("content")) if isinstance(logprobs, dict) else ():
        if not isinstance(entry, dict):
            return ()
        token, logprob = entry.get("token"), entry.get("logprob")
        if not isinstance(token, str) or isinstance(logprob, bool) or not isinstance(logprob, int | float):
            return ()
        if not math.isfinite(logprob):
            return ()
        tokens.append((token, float(logprob)))
    return tuple(tokens)


def _usage(usage: object) -> Usage | None:
    """The endpoint's token counts, if all of them are possible."""
    if not isinstance(usage, dict):
        return None
    read, wrote = token_count(usage.get("prompt_tokens")), token_count(usage.get("completion_tokens"))
    if read is None or wrote is None:
        return None
    details = usage.get("prompt_tokens_details")
    cached = token_count(details.get("cached_tokens")) if isinstance(details, dict) else 0
    return Usage(read, wrote, min(cached or 0, read))


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
