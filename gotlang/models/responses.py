"""OpenAI's Responses API: `openai-responses:MODEL`."""

from __future__ import annotations

from typing import Any

from gotlang.models.base import Completion, Request
from gotlang.models.capabilities import Capabilities, encodable
from gotlang.models.http import ParsedResponse, entries
from gotlang.models.openai import OpenAIModel, read_tokens, read_usage

REASONS = {"max_output_tokens": "length"}


class ResponsesModel(OpenAIModel):
    """A model behind OpenAI's Responses API. It returns one completion per request, has no seed and no stop
    sequences, and is told to store nothing."""

    about = "OpenAI's Responses API: `openai-responses:MODEL`"
    path = "/responses"
    most = 1
    batches = False
    settings = frozenset({"temperature", "top_p", "logprobs", "response_format"})

    def body(self, request: Request, n: int, first: int, known: Capabilities) -> dict[str, Any]:
        """A request in the form of the API."""
        settings = known.settings(request, first)
        if settings.pop("logprobs", None):
            settings["include"] = ["message.output_text.logprobs"]
        if (format := settings.pop("response_format", None)) is not None:
            settings["text"] = {"format": {"type": "json_schema", **format["json_schema"]}}
        return {
            "model": encodable(request.model),
            "input": known.messages(request),
            "max_output_tokens": request.settings.max_tokens,
            "store": False,
            **settings,
        }

    @staticmethod
    def parse(payload: dict[str, Any]) -> ParsedResponse:
        """The one completion of a response. Nothing in it is trusted to be there."""
        usage = read_usage(payload.get("usage"), "input", "output")
        if payload.get("status") not in ("completed", "incomplete"):
            return ParsedResponse((), usage)
        output = entries(payload.get("output"))
        parts = [
            part for item in output if item.get("type") == "message" for part in entries(item.get("content"))
        ]
        texts = [part.get("text", part.get("refusal")) for part in parts]
        tokens = tuple(token for part in parts for token in read_tokens(part.get("logprobs")))
        details = payload.get("incomplete_details")
        reason = str(details.get("reason")) if isinstance(details, dict) else "stop"
        completion = Completion(
            "".join(text for text in texts if isinstance(text, str)),
            REASONS.get(reason, reason),
            sum(logprob for _, logprob in tokens) if tokens else None,
            tokens,
        )
        return ParsedResponse([completion], usage)
