"""OpenAI's Responses API: `openai-responses:MODEL`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from gotlang.models.base import Completion, Media, Message, Request, ToolCall
from gotlang.models.capabilities import PREFILL, Capabilities, encodable
from gotlang.models.http import ParsedResponse, entries
from gotlang.models.openai import OpenAIModel, read_tokens, read_usage, tool_json
from gotlang.models.parts import parts_of, text_in, url_of_data
from gotlang.models.streams import ResponsesFold

REASONS = {"max_output_tokens": "length"}


class ResponsesModel(OpenAIModel):
    """A model behind OpenAI's Responses API. It returns one completion per request, has no seed and no stop
    sequences, and requests set `store` to false."""

    about = "OpenAI's Responses API: `openai-responses:MODEL`"
    path = "/responses"
    most = 1
    fold = ResponsesFold
    batches = False
    settings = frozenset({"temperature", "top_p", "logprobs", "top_logprobs", "response_format", "effort"})

    def _first(self) -> Capabilities:
        return Capabilities(self.most, refused=frozenset({PREFILL}))

    def body(self, request: Request, n: int, first: int, known: Capabilities) -> dict[str, Any]:
        """A request in the form of the API."""
        settings = known.settings(request, first)
        if settings.pop("logprobs", None):
            settings["include"] = ["message.output_text.logprobs"]
        if (format := settings.pop("response_format", None)) is not None:
            settings["text"] = {"format": {"type": "json_schema", **format["json_schema"]}}
        if "effort" in settings:
            settings["reasoning"] = {"effort": settings.pop("effort"), "summary": "auto"}
        if request.tools:
            settings["tools"] = [
                {"type": "function", "strict": False, **tool_json(tool)} for tool in request.tools
            ]
        return {
            "model": encodable(request.model),
            "input": [item for turn in known.turns(request) for item in _items(turn)],
            "max_output_tokens": request.settings.max_tokens,
            "store": False,
            **settings,
        }

    @staticmethod
    def parse(payload: dict[str, Any]) -> ParsedResponse:
        """The one completion of a response. No field is assumed to be present."""
        usage = read_usage(payload.get("usage"), "input", "output")
        if payload.get("status") not in ("completed", "incomplete"):
            return ParsedResponse((), usage)
        output = entries(payload.get("output"))
        messages = [item for item in output if item.get("type") == "message"]
        said = [part for message in messages for part in entries(message.get("content"))]
        thoughts = [str(part.get("text", "")) for item in output for part in entries(item.get("summary"))]
        calls = tuple(
            ToolCall(str(item.get("call_id")), str(item.get("name")), str(item.get("arguments")))
            for item in output
            if item.get("type") == "function_call"
        )
        logprobs = [entry for part in said for entry in entries(part.get("logprobs"))]
        tokens = read_tokens(logprobs)
        likeliest = tuple(read_tokens(entry.get("top_logprobs")) for entry in logprobs) if tokens else ()
        details = payload.get("incomplete_details")
        reason = (
            str(details.get("reason")) if isinstance(details, dict) else "tool_calls" if calls else "stop"
        )
        completion = Completion(
            "".join(str(part.get("text", part.get("refusal", ""))) for part in said),
            REASONS.get(reason, reason),
            math.fsum(logprob for _, logprob in tokens) if tokens else None,
            tokens,
            reasoning="".join(thoughts),
            calls=calls,
            alternatives=likeliest if any(likeliest) else (),
        )
        return ParsedResponse([completion], usage)


def _items(turn: Message) -> list[dict[str, Any]]:
    """A message as items of the input: calls of tools and their results are items of their own."""
    if turn.role == "tool":
        return [{"type": "function_call_output", "call_id": turn.call, "output": turn.content}]
    said: list[dict[str, Any]] = []
    if turn.media:
        said.append({"role": turn.role, "content": [_part(part) for part in parts_of(turn)]})
    elif turn.content or not turn.calls:
        said.append({"role": turn.role, "content": turn.content})
    return said + [
        {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments}
        for call in turn.calls
    ]


def _part(part: str | Media) -> dict[str, Any]:
    if isinstance(part, str) or (text := text_in(part)) is not None:
        return {"type": "input_text", "text": part if isinstance(part, str) else text}
    if part.kind == "image":
        return {"type": "input_image", "image_url": url_of_data(part), "detail": "auto"}
    return {"type": "input_file", "filename": Path(part.path).name, "file_data": url_of_data(part)}
