"""Messages: a client gets an answer to each request, even to one that cannot be parsed."""

from __future__ import annotations

from typing import Any, NamedTuple, final

from lsprotocol.types import EXIT
from pygls.exceptions import JsonRpcException, JsonRpcInvalidRequest
from pygls.protocol import LanguageServerProtocol


class _InvalidMessage(NamedTuple):
    """A message with parts of wrong types, and the reason."""

    message: object
    error: JsonRpcException


@final
class GotProtocol(LanguageServerProtocol):
    """The protocol of pygls, which by itself only logs messages that it cannot parse and those after
    `shutdown`."""

    abrupt = False
    """Whether the client sent `exit` without `shutdown`: the process then ends with 1."""
    ended = False
    """Whether the client sent `exit`: the output is closed then."""

    def structure_message(self, data: dict[str, Any]) -> Any:
        """A message from its JSON, or a part of one."""
        if "jsonrpc" in data and (wrong := _fault(data)) is not None:
            return _InvalidMessage(data, JsonRpcInvalidRequest(wrong))
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            return _InvalidMessage(data, error)

    def handle_message(self, message: Any) -> None:
        """Answer a request, process a notification."""
        if not hasattr(message, "jsonrpc"):
            content, error = (
                message
                if isinstance(message, _InvalidMessage)
                else (message, JsonRpcInvalidRequest("a message is an object with `jsonrpc`"))
            )
            request = content if isinstance(content, dict) else {"id": None, "method": None}
            if "method" in request and "id" in request:
                self._refuse(request["id"] if _is_id(request["id"]) else None, error)
        elif self._shutdown and hasattr(message, "method") and hasattr(message, "id"):
            self._refuse(message.id, JsonRpcInvalidRequest("the server is shutting down"))
        else:
            self.ended = getattr(message, "method", None) == EXIT
            self.abrupt = self.ended and not self._shutdown
            super().handle_message(message)

    def _send_data(self, data: Any) -> None:
        """Send a message; none after `exit`, although diagnostics may be due then: pygls would report the
        error in sending to the client, which fails in the same way, again and again."""
        if not self.ended:
            super()._send_data(data)

    def _refuse(self, number: object, error: JsonRpcException) -> None:
        """Answer with an error; without a number if the request has none that can be read."""
        told = {"code": error.code, "message": error.message}
        self._send_data({"jsonrpc": self.VERSION, "id": number, "error": told})


def _fault(message: dict[str, Any]) -> str | None:
    """The error in an invalid message."""
    if message["jsonrpc"] != GotProtocol.VERSION:
        return f"`jsonrpc` must be {GotProtocol.VERSION}"
    if "method" in message and not _is_id(message.get("id", 0)):
        return "`id` must be an integer or a string"
    return None


def _is_id(value: object) -> bool:
    return isinstance(value, int | str) and not isinstance(value, bool)
