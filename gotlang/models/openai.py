"""OpenAI's chat completions: OpenAI, vLLM, llama.cpp, Ollama, gateways, and so on."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, final

from gotlang.answers.regex import Regex
from gotlang.models.base import Completion, Media, Message, Request, ToolCall, ToolSpec, Usage
from gotlang.models.capabilities import CONTINUING, OPTIONAL, PREFILL, Capabilities, continues, encodable
from gotlang.models.endpoint import OPENAI, account_headers
from gotlang.models.http import HttpModel, ParsedResponse, entries, token_count
from gotlang.models.parts import parts_of, text_in, url_of_data
from gotlang.models.streams import ChatFold, PartialResponse
from gotlang.models.wire import HttpWire, Wire


class OpenAIModel(HttpModel):
    """A model behind an OpenAI-compatible endpoint, whose capabilities are learned: many refuse some
    setting."""

    about = "any OpenAI-compatible endpoint: `openai:MODEL`"
    names = OPENAI
    path = "/chat/completions"
    models_path = "/models"
    settings = frozenset(OPTIONAL) - {"thinking_budget"}
    most = 128
    fold: ClassVar[type[PartialResponse] | None] = ChatFold
    tools = True
    batches = True

    @staticmethod
    def headers(key: str) -> dict[str, str]:
        """The key as a bearer token."""
        return {"Authorization": f"Bearer {key}"}

    def body(self, request: Request, n: int, first: int, known: Capabilities) -> dict[str, Any]:
        """The arguments of the SDK."""
        settings = known.settings(request, first)
        if "effort" in settings:
            settings["reasoning_effort"] = settings.pop("effort")
        if request.tools:
            settings["tools"] = [{"type": "function", "function": tool_json(tool)} for tool in request.tools]
        return {
            "model": encodable(request.model),
            "messages": [message_json(message) for message in known.turns(request)],
            **_constrained(settings),
            **({known.limit_name: request.settings.max_tokens} if known.limit_name else {}),
            **({"n": n} if n > 1 else {}),
            **(CONTINUING if continues(request) else {}),
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
        return ParsedResponse([_completion(choice) for choice in choices], read_usage(payload.get("usage")))

    def _first(self) -> Capabilities:
        # OpenAI's newer models refuse the old name; others often ignore the new one silently, and an ignored
        # limit breaks a budget.
        newer = self.at.host == OPENAI.host
        refused = frozenset({PREFILL} if newer or "api-version=" in self.at.url else ())
        return Capabilities(self.most, "max_completion_tokens" if newer else "max_tokens", refused)

    def _connect(self, timeout_s: float, batches: Path | None) -> Wire:
        if batches is None:
            return self._wire_of(timeout_s)
        from gotlang.models.batches import BatchWire, PendingBatches

        return BatchWire(self.at, PendingBatches(batches, self.at.shown), sleep=self._sleep)

    def _wire_of(self, timeout_s: float) -> Wire:
        # Azure's addresses of deployments have a version, and their key has a header of its own.
        azure = "api-version=" in self.at.url
        own = {"api-key": self.at.key} if azure else self.headers(self.at.key)
        headers = own | account_headers(self.at)
        return HttpWire(self.at, self.path, headers, timeout_s)


@final
class OpenAISdkModel(OpenAIModel):
    """The same through the official SDK, which takes several times as much processor time."""

    about = "the same through the official SDK: `openai-sdk:MODEL`"

    def _wire_of(self, timeout_s: float) -> Wire:
        from gotlang.models.sdk import SdkWire

        return SdkWire(self.at, timeout_s)


def message_json(message: Message) -> dict[str, Any]:
    """A message of chat completions."""
    found: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.media:
        found["content"] = [_part(part) for part in parts_of(message)]
    if message.call:
        found["tool_call_id"] = message.call
    if message.calls:
        found["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.calls
        ]
    return found


def tool_json(tool: ToolSpec) -> dict[str, Any]:
    """A tool as OpenAI's protocols have it."""
    return {"name": tool.name, "description": tool.description, "parameters": json.loads(tool.schema)}


def _part(part: str | Media) -> dict[str, Any]:
    if isinstance(part, str) or (text := text_in(part)) is not None:
        return {"type": "text", "text": part if isinstance(part, str) else text}
    if part.kind == "image":
        return {"type": "image_url", "image_url": {"url": url_of_data(part)}}
    return {"type": "file", "file": {"filename": Path(part.path).name, "file_data": url_of_data(part)}}


def _constrained(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings with `regex` and `grammar` in the forms of local servers: llama.cpp's own grammar, vLLM's
    `structured_outputs`, and `guided_...` before its version 0.12. Each ignores unknown ones."""
    regex, grammar = settings.pop("regex", None), settings.pop("grammar", None)
    if regex is not None:
        read = Regex.parse(regex)
        forms = {"structured_outputs": {"regex": read.text}, "guided_regex": read.text}
        settings |= {"grammar": read.gbnf(), **forms}
    if grammar is not None:
        forms = {"structured_outputs": {"grammar": grammar}, "guided_grammar": grammar}
        settings |= {"grammar": grammar, **forms}
    return settings


def _completion(choice: dict[str, Any]) -> Completion:
    message, reason = choice["message"], choice.get("finish_reason")
    text = _text(message.get("content"))
    logprobs = choice.get("logprobs")
    entries = _list(logprobs.get("content")) if isinstance(logprobs, dict) else []
    tokens = read_tokens(entries)
    likeliest = [_list(entry.get("top_logprobs")) for entry in entries] if tokens else []
    return Completion(
        text=text if text is not None else _text(message.get("refusal")) or "",
        finish_reason=reason if isinstance(reason, str) and reason else "unknown",
        logprob=math.fsum(logprob for _, logprob in tokens) if tokens else None,
        tokens=tokens,
        alternatives=tuple(read_tokens(some) for some in likeliest) if any(likeliest) else (),
        calls=tuple(_calls(message.get("tool_calls"))),
        reasoning=_text(message.get("reasoning_content")) or _text(message.get("reasoning")) or "",
    )


def _calls(calls: object) -> Iterator[ToolCall]:
    for number, call in enumerate(entries(calls)):
        function = call.get("function")
        if isinstance(function, dict) and isinstance(function.get("name"), str):
            given = function.get("arguments")
            given = given if isinstance(given, str) else json.dumps(given or {})
            yield ToolCall(str(call.get("id") or f"call_{number}"), function["name"], given)


def _text(content: object) -> str | None:
    """A message's text: some endpoints send it in parts."""
    if isinstance(content, str):
        return content
    parts = [p["text"] for p in _list(content) if isinstance(p, dict) and isinstance(p.get("text"), str)]
    return "".join(parts) if parts else None


def read_tokens(logprobs: object) -> tuple[tuple[str, float], ...]:
    """Every token with its log-probability, or none: a sum over some of them would be wrong."""
    tokens = []
    for entry in _list(logprobs):
        if not isinstance(entry, dict):
            return ()
        token, logprob = entry.get("token"), entry.get("logprob")
        if not isinstance(token, str) or isinstance(logprob, bool) or not isinstance(logprob, int | float):
            return ()
        if not math.isfinite(logprob):
            return ()
        tokens.append((token, float(logprob)))
    return tuple(tokens)


def read_usage(usage: object, input: str = "prompt", output: str = "completion") -> Usage | None:
    """The endpoint's token counts, if all of them are possible; `input` and `output` are its terms."""
    if not isinstance(usage, dict):
        return None
    read, wrote = token_count(usage.get(f"{input}_tokens")), token_count(usage.get(f"{output}_tokens"))
    if read is None or wrote is None:
        return None
    cached, reasoning = (
        token_count(details.get(name)) if isinstance(details := usage.get(where), dict) else 0
        for where, name in (
            (f"{input}_tokens_details", "cached_tokens"),
            (f"{output}_tokens_details", "reasoning_tokens"),
        )
    )
    return Usage(read, wrote, min(cached or 0, read), min(reasoning or 0, wrote))


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
