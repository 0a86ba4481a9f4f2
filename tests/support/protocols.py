"""The protocols that the server of `support.openai_server` speaks, each as its vendor's SDK expects it.

The server thinks in chat completions. A protocol converts a request to one of these, and a completion or an
error to its own form, whole or as the events of a stream.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, ClassVar

Body = dict[str, Any]
Event = tuple[str, str]
"""The event as it goes over the wire, and the text of the model in it."""


class Chat:
    """OpenAI's chat completions, also under the paths of Azure."""

    key_header = "authorization"

    def matches(self, path: str) -> bool:
        return path.partition("?")[0].endswith("/v1/chat/completions") or "/openai/deployments/" in path

    def asked(self, path: str, body: Body) -> Body:
        return body

    def streams(self, path: str, body: Body) -> bool:
        return bool(body.get("stream"))

    def error(self, status: int, error: Body) -> Body:
        return {"error": error}

    def reply(self, made: Body) -> Body:
        return made

    def events(self, made: Body, body: Body) -> Iterator[Event]:
        head = {name: made[name] for name in ("id", "created", "model")}
        head["object"] = "chat.completion.chunk"

        def chunk(index: int, delta: Body, text: str = "", **more: Any) -> Event:
            choice = {"index": index, "delta": delta, "finish_reason": None, **more}
            return sse({**head, "choices": [choice]}), text

        for choice in made["choices"]:
            at, message = choice["index"], choice["message"]
            yield chunk(at, {"role": "assistant", "content": ""})
            for piece in pieces(message.get("reasoning_content") or ""):
                yield chunk(at, {"reasoning_content": piece})
            logprobs = (choice.get("logprobs") or {}).get("content") or []
            for number, piece in enumerate(pieces(message.get("content") or "")):
                more = {"logprobs": {"content": [logprobs[number]]}} if logprobs else {}
                yield chunk(at, {"content": piece}, piece, **more)
            for number, call in enumerate(message.get("tool_calls") or ()):
                function = {"name": call["function"]["name"], "arguments": ""}
                start = {"index": number, "id": call["id"], "type": "function", "function": function}
                yield chunk(at, {"tool_calls": [start]})
                for piece in pieces(call["function"]["arguments"]):
                    more = {"index": number, "function": {"arguments": piece}}
                    yield chunk(at, {"tool_calls": [more]})
            yield chunk(at, {}, finish_reason=choice["finish_reason"])
        if (body.get("stream_options") or {}).get("include_usage"):
            yield sse({**head, "choices": [], "usage": made["usage"]}), ""
        yield "data: [DONE]\n\n", ""


class Messages:
    """Anthropic's Messages API."""

    key_header = "x-api-key"
    reasons: ClassVar = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}

    def matches(self, path: str) -> bool:
        return path.partition("?")[0].endswith("/v1/messages")

    def streams(self, path: str, body: Body) -> bool:
        return bool(body.get("stream"))

    def asked(self, path: str, body: Body) -> Body:
        messages = [{"role": "system", "content": text_of(body["system"])}] if "system" in body else []
        for message in body["messages"]:
            messages += _from_blocks(message)
        found = {"model": body["model"], "messages": messages, "max_tokens": body["max_tokens"]}
        names = {"temperature": "temperature", "top_p": "top_p", "stop_sequences": "stop"}
        return found | {ours: body[theirs] for theirs, ours in names.items() if theirs in body}

    def error(self, status: int, error: Body) -> Body:
        kinds = {400: "invalid_request_error", 401: "authentication_error", 404: "not_found_error"}
        kind = kinds.get(status) or ("rate_limit_error" if status == 429 else "api_error")
        return {"type": "error", "error": {"type": kind, "message": error["message"]}, "request_id": "req_1"}

    def reply(self, made: Body) -> Body:
        (choice,) = made["choices"]
        message, usage = choice["message"], made["usage"]
        blocks: list[Body] = []
        if message.get("reasoning_content"):
            blocks.append({"type": "thinking", "thinking": message["reasoning_content"], "signature": "c2ln"})
        if message.get("content"):
            blocks.append({"type": "text", "text": message["content"]})
        for call in message.get("tool_calls") or ():
            given = json.loads(call["function"]["arguments"])
            name = call["function"]["name"]
            blocks.append({"type": "tool_use", "id": call["id"], "name": name, "input": given})
        cached = usage.get("prompt_tokens_details", {}).get("cached_tokens", 0)
        written = usage.get("prompt_tokens_details", {}).get("cache_write_tokens", 0)
        reasoning = usage.get("completion_tokens_details", {}).get("reasoning_tokens", 0)
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": made["model"],
            "content": blocks,
            "stop_reason": self.reasons[choice["finish_reason"]],
            "stop_sequence": None,
            "usage": {
                "input_tokens": usage["prompt_tokens"] - cached - written,
                "cache_read_input_tokens": cached,
                "cache_creation_input_tokens": written,
                "output_tokens": usage["completion_tokens"],
                "output_tokens_details": {"thinking_tokens": reasoning},
            },
        }

    def events(self, made: Body, body: Body) -> Iterator[Event]:
        whole = self.reply(made)
        usage = whole["usage"]
        start = {**whole, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
        yield _named("message_start", message=start), ""
        yield _named("ping"), ""
        kinds = {"text": ("text", "text_delta"), "thinking": ("thinking", "thinking_delta")}
        for index, block in enumerate(whole["content"]):
            if block["type"] == "tool_use":
                yield _named("content_block_start", index=index, content_block={**block, "input": {}}), ""
                for piece in ("", *pieces(json.dumps(block["input"]))):
                    delta = {"type": "input_json_delta", "partial_json": piece}
                    yield _named("content_block_delta", index=index, delta=delta), ""
            else:
                name, kind = kinds[block["type"]]
                empty = {**block, name: ""}
                yield _named("content_block_start", index=index, content_block=empty), ""
                for piece in pieces(block[name]):
                    delta = {"type": kind, name: piece}
                    text = piece if name == "text" else ""
                    yield _named("content_block_delta", index=index, delta=delta), text
            yield _named("content_block_stop", index=index), ""
        ended = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
        yield _named("message_delta", delta=ended, usage=usage), ""
        yield _named("message_stop"), ""


class Gemini:
    """Gemini's generateContent."""

    key_header = "x-goog-api-key"
    reasons: ClassVar = {"stop": "STOP", "length": "MAX_TOKENS", "tool_calls": "STOP"}

    def matches(self, path: str) -> bool:
        return path.partition("?")[0].endswith((":generateContent", ":streamGenerateContent"))

    def streams(self, path: str, body: Body) -> bool:
        return ":streamGenerateContent" in path

    def asked(self, path: str, body: Body) -> Body:
        messages = []
        if "systemInstruction" in body:
            messages.append({"role": "system", "content": _parts(body["systemInstruction"])})
        for content in body["contents"]:
            role = "assistant" if content.get("role") == "model" else "user"
            if any("functionResponse" in part for part in content["parts"]):
                role = "tool"
            calls = [part["functionCall"] for part in content["parts"] if "functionCall" in part]
            messages.append({"role": role, "content": _parts(content), "tool_calls": calls})
        settings = body.get("generationConfig", {})
        names = {
            "temperature": "temperature",
            "topP": "top_p",
            "stopSequences": "stop",
            "maxOutputTokens": "max_tokens",
            "candidateCount": "n",
            "responseLogprobs": "logprobs",
            "seed": "seed",
        }
        found = {ours: settings[theirs] for theirs, ours in names.items() if theirs in settings}
        return {"model": path.rpartition("/models/")[2].partition(":")[0], "messages": messages, **found}

    def error(self, status: int, error: Body) -> Body:
        kinds = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 429: "RESOURCE_EXHAUSTED"}
        said = {"code": status, "message": error["message"], "status": kinds.get(status, "INTERNAL")}
        return {"error": said}

    def reply(self, made: Body) -> Body:
        usage = made["usage"]
        thought = usage.get("completion_tokens_details", {}).get("reasoning_tokens", 0)
        return {
            "candidates": [self._candidate(choice) for choice in made["choices"]],
            "usageMetadata": {
                "promptTokenCount": usage["prompt_tokens"],
                "candidatesTokenCount": usage["completion_tokens"] - thought,
                "thoughtsTokenCount": thought,
                "cachedContentTokenCount": usage.get("prompt_tokens_details", {}).get("cached_tokens", 0),
                "totalTokenCount": usage["prompt_tokens"] + usage["completion_tokens"],
            },
            "modelVersion": made["model"],
            "responseId": made["id"],
        }

    def _candidate(self, choice: Body) -> Body:
        message = choice["message"]
        parts: list[Body] = []
        if message.get("reasoning_content"):
            parts.append({"text": message["reasoning_content"], "thought": True})
        if message.get("content"):
            parts.append({"text": message["content"]})
        for call in message.get("tool_calls") or ():
            given = {"name": call["function"]["name"], "args": json.loads(call["function"]["arguments"])}
            parts.append({"functionCall": given, "thoughtSignature": "c2ln"})
        found = {
            "content": {"role": "model", "parts": parts},
            "finishReason": self.reasons[choice["finish_reason"]],
            "index": choice["index"],
        }
        if "logprobs" in choice:
            chosen = [
                {"token": one["token"], "tokenId": 1, "logProbability": one["logprob"]}
                for one in choice["logprobs"]["content"]
            ]
            top = [{"candidates": [one]} for one in chosen]
            found["logprobsResult"] = {"chosenCandidates": chosen, "topCandidates": top}
        return found

    def events(self, made: Body, body: Body) -> Iterator[Event]:
        whole = self.reply(made)
        wrote = 0
        for candidate in whole["candidates"]:
            parts = candidate["content"]["parts"]
            few = [({**p, "text": t}) for p in parts if "text" in p for t in pieces(p["text"])]
            few += [part for part in parts if "text" not in part]
            for number, part in enumerate(few, 1):
                wrote += 1
                last = number == len(few)
                content = {"role": "model", "parts": [part]}
                one: Body = {"content": content, "index": candidate["index"]}
                if last:
                    one |= {name: v for name, v in candidate.items() if name != "content"}
                usage = {**whole["usageMetadata"]}
                if not last:
                    usage |= {"candidatesTokenCount": wrote, "thoughtsTokenCount": 0}
                text = part.get("text", "") if not part.get("thought") else ""
                yield sse({**whole, "candidates": [one], "usageMetadata": usage}), text


class Responses:
    """OpenAI's Responses API."""

    key_header = "authorization"

    def matches(self, path: str) -> bool:
        return path.partition("?")[0].endswith("/responses")

    def streams(self, path: str, body: Body) -> bool:
        return bool(body.get("stream"))

    def asked(self, path: str, body: Body) -> Body:
        messages: list[Body] = []
        given = body["input"]
        for item in [{"role": "user", "content": given}] if isinstance(given, str) else given:
            if item.get("type") == "function_call":
                messages.append({"role": "assistant", "content": "", "tool_calls": [item]})
            elif item.get("type") == "function_call_output":
                messages.append({"role": "tool", "content": text_of(item["output"])})
            else:
                messages.append({"role": item["role"], "content": text_of(item["content"])})
        if body.get("instructions"):
            messages.insert(0, {"role": "system", "content": body["instructions"]})
        found = {"model": body["model"], "messages": messages}
        names = {"temperature": "temperature", "top_p": "top_p", "max_output_tokens": "max_tokens"}
        found |= {ours: body[theirs] for theirs, ours in names.items() if theirs in body}
        if "message.output_text.logprobs" in body.get("include", ()):
            found["logprobs"] = True
        return found

    def error(self, status: int, error: Body) -> Body:
        return {"error": {"type": "error", "param": None, "code": None, **error}}

    def reply(self, made: Body) -> Body:
        (choice,) = made["choices"]
        message, usage = choice["message"], made["usage"]
        output: list[Body] = []
        if message.get("reasoning_content"):
            summary = [{"type": "summary_text", "text": message["reasoning_content"]}]
            output.append({"type": "reasoning", "id": "rs_1", "summary": summary})
        if message.get("content") is not None:
            logprobs = (choice.get("logprobs") or {}).get("content") or []
            full = [{"bytes": [], "top_logprobs": [], **one} for one in logprobs]
            text = {"type": "output_text", "text": message["content"], "annotations": [], "logprobs": full}
            item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
            output.append({**item, "content": [text]})
        for call in message.get("tool_calls") or ():
            one = {"type": "function_call", "id": f"fc_{call['id']}", "call_id": call["id"]}
            output.append({**one, **call["function"], "status": "completed"})
        cut = choice["finish_reason"] == "length"
        return {
            "id": "resp_1",
            "object": "response",
            "created_at": 0,
            "status": "incomplete" if cut else "completed",
            "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
            "error": None,
            "instructions": None,
            "metadata": {},
            "model": made["model"],
            "output": output,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": {
                "input_tokens": usage["prompt_tokens"],
                "input_tokens_details": {"cache_write_tokens": 0, **usage.get("prompt_tokens_details", {})},
                "output_tokens": usage["completion_tokens"],
                "output_tokens_details": {
                    "reasoning_tokens": 0,
                    **usage.get("completion_tokens_details", {}),
                },
                "total_tokens": usage["prompt_tokens"] + usage["completion_tokens"],
            },
        }

    def events(self, made: Body, body: Body) -> Iterator[Event]:
        whole = self.reply(made)
        empty = {**whole, "output": [], "usage": None, "status": "in_progress", "incomplete_details": None}
        number = 0

        def event(kind: str, text: str = "", **fields: Any) -> Event:
            nonlocal number
            number += 1
            return _named(f"response.{kind}", sequence_number=number - 1, **fields), text

        yield event("created", response=empty)
        yield event("in_progress", response=empty)
        for at, item in enumerate(whole["output"]):
            where = {"item_id": item["id"], "output_index": at}
            started = {**item, "content": []} if item["type"] == "message" else {**item}
            if item["type"] == "function_call":
                started["arguments"] = ""
            yield event("output_item.added", output_index=at, item=started)
            for index, part in enumerate(item.get("content", ())):
                there = {**where, "content_index": index}
                yield event("content_part.added", part={**part, "text": ""}, **there)
                for piece in pieces(part["text"]):
                    yield event("output_text.delta", piece, delta=piece, logprobs=[], **there)
                yield event("output_text.done", text=part["text"], logprobs=[], **there)
                yield event("content_part.done", part=part, **there)
            for piece in pieces(item.get("arguments", "")):
                yield event("function_call_arguments.delta", delta=piece, **where)
            yield event("output_item.done", output_index=at, item=item)
        yield event(whole["status"], response=whole)


class Embeddings:
    """OpenAI's embeddings: the vector of a completion's text, which is not charged."""

    key_header = "authorization"

    def matches(self, path: str) -> bool:
        return path.partition("?")[0].endswith("/v1/embeddings")

    def streams(self, path: str, body: Body) -> bool:
        return False

    def asked(self, path: str, body: Body) -> Body:
        return {
            "model": body["model"],
            "messages": [{"role": "user", "content": body["input"]}],
            "max_tokens": 0,
        }

    def error(self, status: int, error: Body) -> Body:
        return {"error": error}

    def reply(self, made: Body) -> Body:
        read = made["usage"]["prompt_tokens"]
        return {
            "object": "list",
            "model": made["model"],
            "data": [{"object": "embedding", "index": 0, "embedding": [0.5, -0.25, read / 100]}],
            "usage": {"prompt_tokens": read, "total_tokens": read},
        }

    def events(self, made: Body, body: Body) -> Iterator[Event]:
        return iter(())


PROTOCOLS = (Chat(), Messages(), Gemini(), Responses(), Embeddings())


def sse(data: Body) -> str:
    return f"data: {json.dumps(data)}\n\n"


def pieces(text: str) -> list[str]:
    """A text in tokens of four characters."""
    return [text[i : i + 4] for i in range(0, len(text), 4)]


def text_of(content: str | list[Body]) -> str:
    """The text of a content in any protocol: what is no text counts as its name."""
    if isinstance(content, str):
        return content
    return "".join(part.get("text", f"[{part.get('type')}]") for part in content)


def _named(kind: str, **fields: Any) -> str:
    return f"event: {kind}\n{sse({'type': kind, **fields})}"


def _parts(content: Body) -> str:
    return "".join(part.get("text") or f"[{next(iter(part))}]" for part in content["parts"])


def _from_blocks(message: Body) -> list[Body]:
    content = message["content"]
    if isinstance(content, str):
        return [message]
    results = [block for block in content if block["type"] == "tool_result"]
    if results:
        return [{"role": "tool", "content": text_of(block["content"])} for block in results]
    calls = [block for block in content if block["type"] == "tool_use"]
    rest = [block for block in content if block["type"] not in ("tool_use", "thinking")]
    return [{"role": message["role"], "content": text_of(rest), "tool_calls": calls}]
