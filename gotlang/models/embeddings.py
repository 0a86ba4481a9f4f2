"""Embeddings as a model: `embeddings:MODEL` reads a prompt, and its response is the vector as a JSON list.

So a vector is a response like any other: cached, billed, within the budget, recorded. An endpoint bills the
input; there are no output tokens.
"""

from __future__ import annotations

import json
import math
from typing import Any, final

from gotlang.models.base import Completion, ModelOptions, Price, Request, Usage
from gotlang.models.capabilities import Capabilities, encodable
from gotlang.models.endpoint import url_of
from gotlang.models.http import ParsedResponse, entries, token_count
from gotlang.models.openai import OpenAIModel
from gotlang.models.prices import price_of
from gotlang.models.wire import HttpWire, Wire


@final
class OpenAIEmbeddings(OpenAIModel):
    """The embeddings of an OpenAI-compatible endpoint (OpenAI, vLLM, llama.cpp, Ollama)."""

    about = "vectors of texts, at the same endpoints: `embeddings:MODEL`"
    path = "/embeddings"
    settings = frozenset[str]()
    most = 1
    fold = None
    tools = False
    batches = False

    def body(self, request: Request, n: int, first: int, known: Capabilities) -> dict[str, Any]:
        """The texts of all messages, as one."""
        text = "\n\n".join(encodable(message.content) for message in request.messages)
        return {"model": encodable(request.model), "input": text, "encoding_format": "float"}

    @staticmethod
    def parse(payload: dict[str, Any]) -> ParsedResponse:
        """The first vector."""
        usage = payload.get("usage")
        read = token_count(usage.get("prompt_tokens")) if isinstance(usage, dict) else None
        vectors = [
            Completion(json.dumps(vector))
            for vector in (entry.get("embedding") for entry in entries(payload.get("data")))
            if isinstance(vector, list) and vector and all(map(_is_number, vector))
        ]
        return ParsedResponse(vectors[:1], None if read is None else Usage(read, 0), reads_only=True)

    @property
    def price(self) -> Price | None:
        """The price of input tokens."""
        return self._given_price or price_of(
            self.name, self._prices, base_url=self.at.url, seller=self.seller, reads_only=True
        )

    @classmethod
    def known_price(cls, name: str, options: ModelOptions) -> Price | None:
        """The price of a model without opening it; None if unknown."""
        url = url_of(options.base_url, cls.names)
        return price_of(name, options.prices, base_url=url, seller=cls.seller, reads_only=True)

    def _wire_of(self, timeout_s: float) -> Wire:
        return HttpWire(self.at, self.path, self.headers(self.at.key), timeout_s)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
