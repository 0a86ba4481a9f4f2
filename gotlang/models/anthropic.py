"""Anthropic's Messages API: `anthropic:MODEL`.

A provider is one file; everything else is shared (`gotlang.models.http`): retries, limits, timeouts, budgets,
error messages, masking of secrets, settings that an endpoint refuses. A provider in a package of its own is
registered by an entry point:

    [project.entry-points."gotlang.models"]
    claude = "gotc_claude:AnthropicModel"
"""

from __future__ import annotations

import json
from typing import Any

from gotlang.models.base import Completion, Media, Message, Request, ToolCall, ToolSpec, Usage
from gotlang.models.capabilities import Capabilities
from gotlang.models.endpoint import EndpointNames
from gotlang.models.http import HttpModel, ParsedResponse, entries, token_count
from gotlang.models.parts import arguments_of, base64_of, grouped, parts_of, text_in
from gotlang.models.streams import MessagesFold

FINISH_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "tool_use": "tool_calls",
}
INPUT_COUNTS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class AnthropicModel(HttpModel):
    """A Claude model. The API returns one completion per request, and has no seed and no
    log-probabilities."""

    about = "Anthropic's Messages API: `anthropic:MODEL`"
    names = EndpointNames("https://api.anthropic.com", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY")
    path = "/v1/messages"
    models_path = "/v1/models?limit=1000"
    settings = frozenset({"temperature", "top_p", "stop", "response_format", "effort", "thinking_budget"})
    tools = True
    fold = MessagesFold
    seller = "anthropic"

    @staticmethod
    def headers(key: str) -> dict[str, str]:
        """The headers of every request; the next version of the API refuses `temperature`."""
        return {"x-api-key": key, "anthropic-version": "2023-06-01"}

    def body(self, request: Request, n: int, first: int, known: Capabilities) -> dict[str, Any]:
        """A request in the form of the Messages API: the system text is not a message."""
        settings = known.settings(request, first)
        if "stop" in settings:
            settings["stop_sequences"] = settings.pop("stop")
        turns = known.turns(request)
        output: dict[str, Any] = {}
        if "effort" in settings:
            output["effort"] = settings.pop("effort")
        if (format := settings.pop("response_format", None)) is not None:
            output["format"] = {"type": "json_schema", "schema": format["json_schema"]["schema"]}
        budget = settings.pop("thinking_budget", None)
        # A turn that continues after tools would need the signed thoughts from before them.
        if budget is not None and turns[-1].role != "tool":
            settings["thinking"] = {"type": "enabled", "budget_tokens": budget}
        system = "\n\n".join(turn.content for turn in turns if turn.role == "system")
        messages = grouped(
            ("assistant" if turn.role == "assistant" else "user", _blocks(turn))
            for turn in turns
            if turn.role != "system"
        )
        if messages and messages[-1][0] == "assistant" and "text" in messages[-1][1][-1]:
            last = messages[-1][1][-1]
            last["text"] = last["text"].rstrip()  # the API refuses a prefill that ends with space
        return {
            "model": request.model,
            "max_tokens": request.settings.max_tokens,
            "messages": [{"role": role, "content": _plain(blocks)} for role, blocks in messages],
            **({"system": system} if system else {}),
            **({"tools": [_tool(tool) for tool in request.tools]} if request.tools else {}),
            **({"output_config": output} if output else {}),
            **settings,
        }

    @staticmethod
    def parse(payload: dict[str, Any]) -> ParsedResponse:
        """The one completion of a response. No field is assumed to be present."""
        usage = _usage(payload.get("usage"))
        if not isinstance(payload.get("content"), list):
            return ParsedResponse((), usage)
        blocks = entries(payload["content"])
        said = {
            kind: "".join(b[kind] for b in blocks if b.get("type") == kind and isinstance(b.get(kind), str))
            for kind in ("text", "thinking")
        }
        calls = tuple(
            ToolCall(str(block.get("id")), str(block.get("name")), json.dumps(block.get("input") or {}))
            for block in blocks
            if block.get("type") == "tool_use"
        )
        reason = str(payload.get("stop_reason"))
        found = Completion(
            said["text"], FINISH_REASONS.get(reason, reason), calls=calls, reasoning=said["thinking"]
        )
        return ParsedResponse([found], usage)


def _blocks(turn: Message) -> list[dict[str, Any]]:
    parts = [_block(part) for part in parts_of(turn)]
    if turn.role == "tool":
        return [{"type": "tool_result", "tool_use_id": turn.call, "content": _plain(parts)}]
    return parts + [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": arguments_of(call)}
        for call in turn.calls
    ]


def _block(part: str | Media) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    if (text := text_in(part)) is not None:
        source = {"type": "text", "media_type": "text/plain", "data": text}
    else:
        source = {"type": "base64", "media_type": part.mime, "data": base64_of(part)}
    return {"type": "image" if part.kind == "image" else "document", "source": source}


def _tool(tool: ToolSpec) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "input_schema": json.loads(tool.schema)}


def _plain(blocks: list[dict[str, Any]]) -> str | list[dict[str, Any]]:
    """Blocks; a single text block is abbreviated to its text."""
    return blocks[0]["text"] if len(blocks) == 1 and blocks[0]["type"] == "text" else blocks


def _usage(usage: object) -> Usage | None:
    """The token counts; cached ones are counted separately. None if one is not a possible count."""
    if not isinstance(usage, dict):
        return None
    read = [token_count(usage.get(name) or 0) for name in INPUT_COUNTS]
    wrote = token_count(usage.get("output_tokens"))
    if wrote is None or any(count is None for count in read):
        return None
    fresh, written, cached = (count or 0 for count in read)
    details = usage.get("output_tokens_details")
    thought = token_count(details.get("thinking_tokens")) if isinstance(details, dict) else 0
    return Usage(fresh + written + cached, wrote, cached, min(thought or 0, wrote), written)
