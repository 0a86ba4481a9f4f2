"""Streams: the events of each protocol, assembled into the response that they would be without a stream."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from gotlang.models.base import Completion, Listener

Event = dict[str, Any]


class PartialResponse:
    """The state of a stream. `texts` are the texts so far by the number of the completion, `finished` whether
    the endpoint has ended it."""

    asks: ClassVar[Mapping[str, Any]] = {"stream": True}
    """Further fields of a request for a stream."""

    def __init__(self) -> None:
        self.texts: dict[int, str] = {}
        self.finished = False
        self.error: object = None

    @abstractmethod
    def add(self, event: Event) -> None:
        """Process one event. An exception means that the event is not of the protocol."""

    @abstractmethod
    def response(self) -> Event:
        """The events so far, in the form of a whole response."""

    def write(self, index: int, text: object) -> None:
        """Add text to a completion."""
        if isinstance(text, str):
            self.texts[index] = self.texts.get(index, "") + text


class ChatFold(PartialResponse):
    """Chat completions."""

    asks: ClassVar[Mapping[str, Any]] = {"stream": True, "stream_options": {"include_usage": True}}

    def __init__(self) -> None:
        super().__init__()
        self._choices: dict[int, Event] = {}
        self._usage: object = None

    def add(self, event: Event) -> None:
        self.error = event.get("error") or self.error
        self._usage = event.get("usage") or self._usage
        for part in event.get("choices") or ():
            index, delta = int(part.get("index") or 0), part.get("delta") or {}
            choice = self._choices.setdefault(index, {"index": index, "message": {}, "finish_reason": None})
            choice["finish_reason"] = part.get("finish_reason") or choice["finish_reason"]
            message = choice["message"]
            for name in ("content", "reasoning_content", "reasoning", "refusal"):
                if isinstance(delta.get(name), str):
                    message[name] = message.get(name, "") + delta[name]
            self.write(index, delta.get("content"))
            for call in delta.get("tool_calls") or ():
                calls = message.setdefault("tool_calls", {})
                known = calls.setdefault(call.get("index", 0), {"function": {"name": "", "arguments": ""}})
                known["id"] = call.get("id") or known.get("id")
                for name in ("name", "arguments"):
                    known["function"][name] += (call.get("function") or {}).get(name) or ""
            if tokens := (part.get("logprobs") or {}).get("content"):
                choice.setdefault("logprobs", {"content": []})["content"] += tokens
        choices = self._choices.values()
        self.finished = bool(choices) and all(choice["finish_reason"] for choice in choices)

    def response(self) -> Event:
        choices = []
        for choice in self._choices.values():
            message = choice["message"]
            calls = list(message.get("tool_calls", {}).values())
            choices.append({**choice, "message": {**message, "tool_calls": calls}})
        return {"choices": choices, "usage": self._usage, "error": self.error}


class MessagesFold(PartialResponse):
    """Anthropic's Messages API."""

    _DELTAS: ClassVar = {
        "text_delta": "text",
        "thinking_delta": "thinking",
        "input_json_delta": "partial_json",
    }

    def __init__(self) -> None:
        super().__init__()
        self._message: Event = {}
        self._blocks: dict[int, Event] = {}

    def add(self, event: Event) -> None:
        match event.get("type"):
            case "message_start":
                self._message = event["message"]
            case "content_block_start":
                self._blocks[event["index"]] = {**event["content_block"]}
            case "content_block_delta" if (kind := self._DELTAS.get(event["delta"]["type"])) is not None:
                block, more = self._blocks[event["index"]], event["delta"][kind]
                block[kind] = block.get(kind, "") + more
                self.write(0, more if kind == "text" else None)
            case "message_delta":
                self._message = {**self._message, **event["delta"]}
                told = {name: count for name, count in event["usage"].items() if count is not None}
                self._message["usage"] = {**self._message.get("usage", {}), **told}
            case "message_stop":
                self.finished = True
            case "error":
                self.error = event["error"]

    def response(self) -> Event:
        blocks = [
            {**block, "input": json.loads(block["partial_json"])} if block.get("partial_json") else block
            for block in self._blocks.values()
        ]
        return {**self._message, "content": blocks, "error": self.error}


class GeminiFold(PartialResponse):
    """Gemini's generateContent."""

    asks: ClassVar[Mapping[str, Any]] = {}

    def __init__(self) -> None:
        super().__init__()
        self._candidates: dict[int, Event] = {}
        self._usage: object = None

    def add(self, event: Event) -> None:
        self.error = event.get("error") or self.error
        self._usage = event.get("usageMetadata") or self._usage
        for part in event.get("candidates") or ():
            index = int(part.get("index") or 0)
            known = self._candidates.setdefault(index, {"content": {"parts": []}})
            parts = (part.get("content") or {}).get("parts") or []
            known["content"]["parts"] += parts
            known |= {name: value for name, value in part.items() if name != "content"}
            for one in parts:
                self.write(index, None if one.get("thought") else one.get("text"))
        candidates = self._candidates.values()
        self.finished = bool(candidates) and all("finishReason" in one for one in candidates)

    def response(self) -> Event:
        candidates = [self._candidates[index] for index in sorted(self._candidates)]
        return {"candidates": candidates, "usageMetadata": self._usage, "error": self.error}


class ResponsesFold(PartialResponse):
    """OpenAI's Responses API, whose last event contains the whole response."""

    def __init__(self) -> None:
        super().__init__()
        self._whole: Event | None = None

    def add(self, event: Event) -> None:
        match event.get("type"):
            case "response.output_text.delta":
                self.write(0, event["delta"])
            case "response.completed" | "response.incomplete" | "response.failed":
                self._whole, self.finished = event["response"], True
            case "error":
                self.error = event

    def response(self) -> Event:
        if self._whole is not None:
            return self._whole
        said = {"type": "message", "content": [{"text": self.texts.get(0, "")}]}
        return {"status": "failed" if self.error else "completed", "output": [said], "error": self.error}


class StreamListener:
    """A stream with a listener, which receives each text so far as it is shown, without what may be the
    beginning of a secret, and decides when each completion can be ended. `stopped` are the texts of those, by
    number. `broken`: an event was not of the protocol."""

    def __init__(
        self,
        fold: PartialResponse,
        n: int,
        listen: Listener,
        show: Callable[[str], str],
        clock: Callable[[], float],
        read: Callable[[Event], Sequence[Completion]],
    ) -> None:
        self.fold = fold
        self._read = read
        self.stopped: dict[int, str] = {}
        self.first_at: float | None = None
        self.broken = False
        self._n = n
        self._listen = listen
        self._show = show
        self._clock = clock
        self._shown: dict[int, str] = {}

    def __call__(self, data: str) -> bool:
        """Process the data of one event; returns whether the stream can be ended."""
        if data == "[DONE]":
            return False
        try:
            self.fold.add(json.loads(data))
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            self.broken = True
            return True
        for index, text in self.fold.texts.items():
            if index in self.stopped or index >= self._n:
                continue
            if self.first_at is None:
                self.first_at = self._clock()
            shown = self._show(text)
            if shown != self._shown.get(index, ""):
                self._shown[index] = shown
                if self._listen(index, shown, partial(self._heard, index, len(shown))):
                    self.stopped[index] = shown
        return len(self.stopped) >= self._n

    def _heard(self, index: int, end: int) -> Completion:
        """A completion so far, as the protocol has it."""
        found = self._read(self.fold.response())
        return found[index].until(end) if index < len(found) else Completion("")

    @property
    def complete(self) -> bool:
        """Whether everything needed has arrived."""
        return not self.broken and (self.fold.finished or len(self.stopped) >= self._n)


def held_back(text: str, marks: Iterable[str]) -> str:
    """A text without the longest suffix that is a prefix of one of some marks."""
    sizes = (
        size
        for mark in marks
        for size in range(min(len(mark) - 1, len(text)), 0, -1)
        if text.endswith(mark[:size])
    )
    longest = max(sizes, default=0)
    return text[: len(text) - longest]
