"""Conversion of a request's messages for providers: text and media in order, turns in groups."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from gotlang.errors import ModelError
from gotlang.models.base import PLACE, Media, Message, ToolCall

Part = dict[str, Any]


def parts_of(message: Message) -> Iterator[str | Media]:
    """The text of a message and its media in their order, without empty texts."""
    left = list(message.media)
    for number, text in enumerate(message.content.split(PLACE) if left else [message.content]):
        if number and left:
            yield left.pop(0)
        elif number:
            text = PLACE + text
        if text:
            yield text


def content_of(media: Media) -> bytes:
    """The bytes of an image or a file. Raises ModelError if it is missing or has changed."""
    try:
        content = Path(media.path).read_bytes()
    except OSError as error:
        raise ModelError(f"cannot read {media.path}: {error.strerror or error}") from None
    if hashlib.sha256(content).hexdigest() != media.digest:
        raise ModelError(f"{media.path} was changed after the run had read it", help="run it again")
    return content


def base64_of(media: Media) -> str:
    """The same in base64."""
    return base64.b64encode(content_of(media)).decode("ascii")


def url_of_data(media: Media) -> str:
    """The same as a `data:` URL."""
    return f"data:{media.mime};base64,{base64_of(media)}"


def text_in(media: Media) -> str | None:
    """The text of a text file; None for any other media."""
    if media.kind != "file" or not (media.mime.startswith("text/") or media.mime == "application/json"):
        return None
    return content_of(media).decode("utf-8", "replace")


def grouped(turns: Iterable[tuple[str, list[Part]]]) -> list[tuple[str, list[Part]]]:
    """Consecutive turns of one role as one: the results of parallel calls belong together."""
    groups: list[tuple[str, list[Part]]] = []
    for role, parts in turns:
        if groups and groups[-1][0] == role:
            groups[-1][1].extend(parts)
        else:
            groups.append((role, list(parts)))
    return groups


def arguments_of(call: ToolCall) -> dict[str, Any]:
    """The arguments of a call as an object; empty if the model did not write one."""
    try:
        found = json.loads(call.arguments)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
