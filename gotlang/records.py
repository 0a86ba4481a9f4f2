"""Records as JSON: typed classes to one line of text and back, every field validated, through msgspec.

Chosen over pydantic by `benchmarks/records.py`: msgspec 0.22 adds 6 ms of imports to a run, encodes a cached
answer in 0.3 us, and reads and validates it in 0.4 us; pydantic 2.14 takes 42 ms, 1.3 us and 2.4 us.

A record is a frozen dataclass or a `msgspec.Struct`. Reading trusts nothing: types are strict, `Count` and
`Seconds` are checked for range, unknown fields are ignored, and no value can run code.
"""

from __future__ import annotations

import sys
from typing import Annotated, Any, NoReturn, TypeVar

import msgspec

_Record = TypeVar("_Record")

_LARGEST = 2**63 - 1
Integer = Annotated[int, msgspec.Meta(ge=-_LARGEST, le=_LARGEST)]
Count = Annotated[int, msgspec.Meta(ge=0, le=_LARGEST)]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=sys.float_info.max)]


class InvalidRecord(ValueError):
    """Not the expected record. The message names the place: "Expected `int` >= 0 - at `$.batch`".

    What it quotes may be untrusted: control characters are escaped.
    """

    def __init__(self, message: str) -> None:
        super().__init__(escaped(message))


def escaped(text: str) -> str:
    """A text on one line, without control characters."""
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)


def to_json(record: object, *, sort_keys: bool = False) -> str:
    """A record, or plain data, as one line of JSON that UTF-8 can encode.

    Lone surrogates are escaped, infinities and NaN become null, values of other types their `str()`.
    """
    order: Any = "sorted" if sort_keys else None
    try:
        return msgspec.json.encode(record, enc_hook=str, order=order).decode()
    except UnicodeEncodeError:
        import json

        plain = msgspec.to_builtins(record, enc_hook=str)
        return json.dumps(plain, sort_keys=sort_keys, separators=(",", ":"))


def from_json(text: str | bytes, type: type[_Record]) -> _Record:
    """The record of this type in JSON text (UTF-8). Raises InvalidRecord."""
    try:
        return msgspec.json.decode(text, type=type)
    except msgspec.ValidationError as error:
        raise InvalidRecord(str(error)) from None
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        pass  # not JSON, or text with lone surrogates, which msgspec does not read
    import json

    try:
        return from_plain(json.loads(text, parse_constant=_refuse), type)
    except InvalidRecord:
        raise
    except (ValueError, RecursionError) as error:
        raise InvalidRecord(f"not JSON: {error}") from None


def from_plain(data: Any, type: type[_Record]) -> _Record:
    """The record of this type in plain JSON data. Raises InvalidRecord."""
    try:
        return msgspec.convert(data, type, str_keys=True)
    except (msgspec.ValidationError, RecursionError, UnicodeError) as error:
        raise InvalidRecord(str(error)) from None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a JSON value")
