"""Anthropic's Messages API: `anthropic:MODEL`.

A provider is one file: what is not here, every provider shares (`gotlang.models.http`): retries, limits,
timeouts, budgets, failures in words, secrets that are masked, settings that an endpoint refuses. In a package
of its own it becomes a provider by an entry point:

    [project.entry-points."gotlang.models"]
    claude = "gotc_claude:AnthropicModel"
"""

from __future__ import annotations

from typing import Any

from gotlang.models.base import Completion, Request, Usage
from gotlang.models.capabilities import Capabilities
from gotlang.models.endpoint import EndpointNames
from gotlang.models.http import HttpModel, ParsedResponse, token_count

FINISH_REASONS = {"end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length"}
INPUT_COUNTS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class AnthropicModel(HttpModel):
    """A Claude model. The API returns one completion per request, and has no seed and no
    log-probabilities."""

    about = "Anthropic's Messages API: `anthropic:MODEL`"
    names = EndpointNames("https://api.anthropic.com", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY")
    path = "/v1/messages"
    models_path = "/v1/models"
    settings = frozenset({"temperature", "top_p", "stop"})
    seller = "anthropic"

    @staticmethod
    def headers(key: str) -> dict[str, str]:
        """The headers of every request."""
        return {"x-api-key": key, "anthropic-version": "2023-06-01"}

    def body(self, request: Request, n: int, first: int, known: Capabilities) -> dict[str, Any]:
        """A request in the form of the Messages API: the system's text is not a message."""
        settings = known.settings(request, first)
        if "stop" in settings:
            settings["stop_sequences"] = settings.pop("stop")
        messages = known.messages(request)
        system = [message["content"] for message in messages if message["role"] == "system"]
        if system:
            settings["system"] = "\n\n".join(system)
        return {
            "model": request.model,
            "max_tokens": request.settings.max_tokens,
            "messages": [message for message in messages if message["role"] != "system"],
            **settings,
        }

    @staticmethod
    def parse(payload: dict[str, Any]) -> ParsedResponse:
        """The one completion of a response: its text blocks. Nothing in it is trusted to be there."""
        usage = _usage(payload.get("usage"))
        blocks = payload.get("content")
        if not isinstance(blocks, list):
            return ParsedResponse((), usage)
        texts = [
            block["text"]
            for block in blocks
            if isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str)
        ]
        reason = FINISH_REASONS.get(str(payload.get("stop_reason")), "unknown")
        return ParsedResponse([Completion("".join(texts), reason)], usage)


def _usage(usage: object) -> Usage | None:
    """The token counts, of which cached ones are counted apart; None if one is not a possible count."""
    if not isinstance(usage, dict):
        return None
    read = [token_count(usage.get(name) or 0) for name in INPUT_COUNTS]
    wrote = token_count(usage.get("output_tokens"))
    if wrote is None or any(count is None for count in read):
        return None
    return Usage(sum(count or 0 for count in read), wrote, read[-1] or 0)
