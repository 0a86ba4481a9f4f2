"""A server on loopback that speaks Anthropic's Messages API, as much as a test of a provider needs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

KEY = "sk-ant-planted-0123456789abcdef"


def error(status: int, kind: str, message: str, **headers: str) -> Response:
    """An error in the form of the API."""
    body = {"type": "error", "error": {"type": kind, "message": message}}
    return Response(json.dumps(body), status, headers, content_type="application/json")


def message(text: str, *, read: int = 12, wrote: int = 3) -> Response:
    """A response of one text block."""
    body = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": read, "output_tokens": wrote},
    }
    return Response(json.dumps(body), content_type="application/json")


@contextmanager
def messages_server(
    say: Callable[[dict[str, Any]], str] = lambda body: "7", faults: Sequence[Response | None] = ()
) -> Iterator[HTTPServer]:
    """The server; `faults` are its first responses (None: a good one). `server.log` has what it saw."""
    left = list(faults)

    def respond(request: Request) -> Response:
        if request.headers["x-api-key"] != KEY:
            return error(401, "authentication_error", f"invalid x-api-key {request.headers['x-api-key']}")
        fault = left.pop(0) if left else None
        return fault or message(say(json.loads(request.data)))

    with HTTPServer(threaded=True) as server:
        server.expect_request("/v1/messages", method="POST").respond_with_handler(respond)
        models = {"data": [{"id": "claude-haiku-4-5"}, {"id": "claude-of-tomorrow"}]}
        server.expect_request("/v1/models").respond_with_json(models)
        yield server
