"""Messages: a client gets an answer to each request, also to one that cannot be read."""

from __future__ import annotations

from typing import Any, NamedTuple, final

from pygls.exceptions import JsonRpcException, JsonRpcInvalidRequest
from pygls.protocol import LanguageServerProtocol


class _Unreadable(NamedTuple):
    """A message whose parts are not of their types, and why."""

    message: dict[str, Any]
    error: JsonRpcException


@final
class Answering(LanguageServerProtocol):
    """The protocol of pygls, which only logs what it cannot read and what comes after `shutdown`."""

    def structure_message(self, data: dict[str, Any]) -> Any:
        """A message from its JSON."""
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            return _Unreadable(data, error)

    def handle_message(self, message: Any) -> None:
        """Answer a request, follow a notification."""
        if isinstance(message, _Unreadable):
            content, error = message
            if "id" in content and "method" in content:
                self._send_response(content["id"], error=error.to_response_error())
        elif self._shutdown and hasattr(message, "method") and hasattr(message, "id"):
            late = JsonRpcInvalidRequest("the server is shutting down")
            self._send_response(message.id, error=late.to_response_error())
        else:
            super().handle_message(message)
