"""Google's Gemini API, generateContent: `gemini:MODEL`."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from gotlang.models.base import Completion, Media, Message, Request, ToolCall, ToolSpec, Usage
from gotlang.models.capabilities import Capabilities
from gotlang.models.endpoint import EndpointNames
from gotlang.models.http import HttpModel, ParsedResponse, entries, token_count
from gotlang.models.openai import read_tokens
from gotlang.models.parts import arguments_of, base64_of, grouped, parts_of
from gotlang.models.streams import GeminiFold
from gotlang.models.wire import HttpWire, Wire

FINISH_REASONS = {"STOP": "stop", "MAX_TOKENS": "length"}
SETTINGS = {
    "temperature": "temperature",
    "top_p": "topP",
    "stop": "stopSequences",
    "seed": "seed",
    "logprobs": "responseLogprobs",
    "top_logprobs": "logprobs",
}
THINKING = {"effort": "thinkingLevel", "thinking_budget": "thinkingBudget"}
NO_SIGNATURE = "skip_thought_signature_validator"
"""A value that the API accepts in place of the signature of the thoughts before a call."""


class GeminiModel(HttpModel):
    """A Gemini model. Some return up to eight completions per request; others refuse that."""

    about = "Google's Gemini API: `gemini:MODEL`"
    names = EndpointNames(
        "https://generativelanguage.googleapis.com/v1beta", "GEMINI_BASE_URL", "GEMINI_API_KEY"
    )
    models_path = "/models?pageSize=1000"
    most = 8
    tools = True
    fold = GeminiFold
    seller = "google"

    @staticmethod
    def headers(key: str) -> dict[str, str]:
        """The headers of every request."""
        return {"x-goog-api-key": key}

    def _connect(self, timeout_s: float, batches: Path | None) -> Wire:
        path = f"/models/{quote(self.name, safe='')}:"
        stream = f"{path}streamGenerateContent?alt=sse"
        return HttpWire(self.at, f"{path}generateContent", self.headers(self.at.key), timeout_s, stream)

    @staticmethod
    def names_in(payload: dict[str, Any]) -> list[str]:
        """The names of the models that complete prompts, in a list of all."""
        return [
            str(entry["name"]).removeprefix("models/")
            for entry in payload["models"]
            if "generateContent" in entry.get("supportedGenerationMethods", ["generateContent"])
        ]

    def body(self, request: Request, n: int, first: int, known: Capabilities) -> dict[str, Any]:
        """A request in the form of generateContent: the system text is not a content."""
        given = known.settings(request, first)
        config = {theirs: given[ours] for ours, theirs in SETTINGS.items() if ours in given}
        if "response_format" in given:
            schema = given["response_format"]["json_schema"]["schema"]
            config |= {"responseMimeType": "application/json", "responseJsonSchema": schema}
        if n > 1:
            config["candidateCount"] = n
        thinking = {theirs: given[ours] for ours, theirs in THINKING.items() if ours in given}
        if thinking:
            config["thinkingConfig"] = {"includeThoughts": True, **thinking}
        turns = known.turns(request)
        system = [{"text": turn.content} for turn in turns if turn.role == "system"]
        called = {call.id: call.name for turn in turns for call in turn.calls}
        contents = grouped(
            ("model" if turn.role == "assistant" else "user", _parts(turn, called))
            for turn in turns
            if turn.role != "system"
        )
        tools = [{"functionDeclarations": [_tool(tool) for tool in request.tools]}]
        return {
            "contents": [{"role": role, "parts": parts} for role, parts in contents],
            **({"systemInstruction": {"parts": system}} if system else {}),
            **({"tools": tools} if request.tools else {}),
            "generationConfig": {"maxOutputTokens": request.settings.max_tokens, **config},
        }

    @staticmethod
    def parse(payload: dict[str, Any]) -> ParsedResponse:
        """The candidates of a response. No field is assumed to be present."""
        found = [_completion(candidate) for candidate in entries(payload.get("candidates"))]
        return ParsedResponse(found, _usage(payload.get("usageMetadata")))


def _parts(turn: Message, called: Mapping[str, str]) -> list[dict[str, Any]]:
    """The parts of a turn; `called` are the names of tools by the ids of their calls."""
    if turn.role == "tool":
        name = called.get(turn.call, turn.call)
        return [{"functionResponse": {"id": turn.call, "name": name, "response": {"output": turn.content}}}]
    return [_part(part) for part in parts_of(turn)] + [
        {
            "functionCall": {"id": call.id, "name": call.name, "args": arguments_of(call)},
            "thoughtSignature": NO_SIGNATURE,
        }
        for call in turn.calls
    ]


def _part(part: str | Media) -> dict[str, Any]:
    if isinstance(part, str):
        return {"text": part}
    return {"inlineData": {"mimeType": part.mime, "data": base64_of(part)}}


def _tool(tool: ToolSpec) -> dict[str, Any]:
    schema = json.loads(tool.schema)
    return {"name": tool.name, "description": tool.description, "parametersJsonSchema": schema}


def _completion(candidate: dict[str, Any]) -> Completion:
    content = candidate.get("content")
    parts = entries(content.get("parts")) if isinstance(content, dict) else []
    texts: tuple[list[str], list[str]] = ([], [])
    for part in parts:
        if isinstance(part.get("text"), str):
            texts[bool(part.get("thought"))].append(part["text"])
    called = [part["functionCall"] for part in parts if isinstance(part.get("functionCall"), dict)]
    calls = tuple(
        ToolCall(str(one.get("id") or f"call_{at}"), str(one.get("name")), json.dumps(one.get("args") or {}))
        for at, one in enumerate(called)
    )
    reason = str(candidate.get("finishReason") or "unknown")
    result = candidate.get("logprobsResult")
    tokens: tuple[tuple[str, float], ...] = ()
    likeliest: tuple[tuple[tuple[str, float], ...], ...] = ()
    if isinstance(result, dict) and (tokens := _tokens(result.get("chosenCandidates"))):
        likeliest = tuple(_tokens(top.get("candidates")) for top in entries(result.get("topCandidates")))
    return Completion(
        "".join(texts[0]),
        "tool_calls" if calls else FINISH_REASONS.get(reason, reason.lower()),
        math.fsum(logprob for _, logprob in tokens) if tokens else None,
        tokens,
        reasoning="".join(texts[1]),
        calls=calls,
        alternatives=likeliest if len(likeliest) == len(tokens) else (),
    )


def _tokens(chosen: object) -> tuple[tuple[str, float], ...]:
    """Every token with its log-probability, or none."""
    return read_tokens(
        [{"token": one.get("token"), "logprob": one.get("logProbability")} for one in entries(chosen)]
    )


def _usage(usage: object) -> Usage | None:
    """The token counts; None if one is not a possible count. Those of thoughts are counted separately."""
    if not isinstance(usage, dict):
        return None
    names = ("promptTokenCount", "toolUsePromptTokenCount", "candidatesTokenCount", "thoughtsTokenCount")
    read, tools, wrote, thought = (token_count(usage.get(name) or 0) for name in names)
    if read is None or tools is None or wrote is None or thought is None:
        return None
    cached = token_count(usage.get("cachedContentTokenCount") or 0) or 0
    return Usage(read + tools, wrote + thought, min(cached, read), thought)
