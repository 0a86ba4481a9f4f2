"""The types of conversations: messages, and the images and files in them."""

from __future__ import annotations

from typing import Final

from gotlang.types import FILE, IMAGE, STR, LiteralType, Part, RecordType, Type, parts_of

MESSAGE = RecordType(
    (("role", LiteralType(("system", "user", "assistant"))), ("content", STR)), name="Message"
)
"""One turn of a conversation, the element of a history."""
DECLARED: Final[dict[str, Part]] = {"Message": MESSAGE}
"""Types that every program has, unless it declares its own with that name."""


def holds_media(type_: Type) -> bool:
    """Whether values of a type may hold images or files."""
    seen: list[Part] = []
    waiting: list[Part] = [type_]
    while waiting:
        part = waiting.pop()
        if part in (IMAGE, FILE):
            return True
        if part not in seen:
            seen.append(part)
            waiting += parts_of(part)
    return False
