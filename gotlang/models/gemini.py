"""Google's Gemini API, generateContent: `gemini:MODEL`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any
from urllib.parse import quote

from gotlang.models.base import Completion, Request, Usage
from gotlang.models.capabilities import Capabilities
from gotlang.models.endpoint import EndpointNames
from gotlang.models.http import HttpModel, ParsedResponse, entries, token_count
from gotlang.models.wire import HttpWire, Wire

FINISH_REASONS = {"STOP": "stop", "MAX_TOKENS": "length"}
SETTINGS = {
    "temperature": "temperature",
    "top_p": "topP",
    "stop": "stopSequences",
    "seed": "seed",
    "logprobs": "responseLogprobs",
}
ROLES = {"user": "user", "assistant": "model"}


class GeminiModel(HttpModel):
    """A Gemini model. Some return up to eight completions per request; others refuse that."""

    about = "Google's Gemini API: `gemini:MODEL`"
    names = EndpointNames(
        "https://generativelanguage.googleapis.com/v1beta", "GEMINI_BASE_URL", "GEMINI_API_KEY"
    )
    models_path = "/models?pageSize=1000"
    most = 8
    seller = "google"

    @staticmethod
    def headers(key: str) -> dict[str, str]:
        """The headers of every request."""
        return {"x-goog-api-key": key}

    def _connect(self, timeout_s: float, batches: Path | None) -> Wire:
        path = f"/models/{quote(self.name, safe='')}:generateContent"
        return HttpWire(self.at, path, self.headers(self.at.key), timeout_s)

    @staticmethod
    def names_in(payload: dict[str, Any]) -> list[str]:
        """The names of the models that complete prompts, in a list of all."""
        return [
            str(entry["name"]).removeprefix("models/")
            for entry in payload["models"]
            if "generateContent" in entry.get("supportedGenerationMethods", ["generateContent"])
        ]

    def body(self, request: Request, n: int, first: int, known: Capabilities) -> dict[str, Any]:
        """A request in the form of generateContent: the system's text is not a content."""
        given = known.settings(request, first)
        config = {theirs: given[ours] for ours, theirs in SETTINGS.items() if ours in given}
        if "response_format" in given:
            schema = given["response_format"]["json_schema"]["schema"]
            config |= {"responseMimeType": "application/json", "responseJsonSchema": schema}
        if n > 1:
            config["candidateCount"] = n
        messages = known.messages(request)
        system = [{"text": message["content"]} for message in messages if message["role"] == "system"]
        return {
            "contents": [
                {"role": ROLES[message["role"]], "parts": [{"text": message["content"]}]}
                for message in messages
                if message["role"] != "system"
            ],
            **({"systemInstruction": {"parts": system}} if system else {}),
            "generationConfig": {"maxOutputTokens": request.settings.max_tokens, **config},
        }

    @staticmethod
    def parse(payload: dict[str, Any]) -> ParsedResponse:
        """The candidates of a response. Nothing in it is trusted to be there."""
        found = [_completion(candidate) for candidate in entries(payload.get("candidates"))]
        return ParsedResponse(found, _usage(payload.get("usageMetadata")))


def _completion(candidate: dict[str, Any]) -> Completion:
    content = candidate.get("content")
    parts = entries(content.get("parts")) if isinstance(content, dict) else []
    texts = [part["text"] for part in parts if isinstance(part.get("text"), str) and not part.get("thought")]
    reason = str(candidate.get("finishReason") or "unknown")
    tokens = _tokens(candidate.get("logprobsResult"))
    return Completion(
        "".join(texts),
        FINISH_REASONS.get(reason, reason.lower()),
        math.fsum(logprob for _, logprob in tokens) if tokens else None,
        tokens,
    )


def _tokens(result: object) -> tuple[tuple[str, float], ...]:
    """Every token with its log-probability, or none."""
    chosen = entries(result.get("chosenCandidates")) if isinstance(result, dict) else []
    tokens = tuple((one.get("token"), one.get("logProbability")) for one in chosen)
    if all(isinstance(t, str) and isinstance(p, int | float) and math.isfinite(p) for t, p in tokens):
        return tuple((str(token), float(logprob)) for token, logprob in tokens if logprob is not None)
    return ()


def _usage(usage: object) -> Usage | None:
    """The token counts; None if one is not a possible count. Those of thoughts are counted apart."""
    if not isinstance(usage, dict):
        return None
    names = ("promptTokenCount", "toolUsePromptTokenCount", "candidatesTokenCount", "thoughtsTokenCount")
    read, tools, wrote, thought = (token_count(usage.get(name) or 0) for name in names)
    if read is None or tools is None or wrote is None or thought is None:
        return None
    cached = token_count(usage.get("cachedContentTokenCount") or 0) or 0
    return Usage(read + tools, wrote + thought, min(cached, read))
