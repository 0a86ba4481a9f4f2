"""JSON form of what caches keep: answers, and the requests they answer.

Every store and the export format share it, so that a value reads the same wherever it comes from. Reading
trusts nothing: cache files are passed around, so each field is checked for type and range, and what is not
as written here is `Damaged`. JSON and nothing else: no value can make the reader run code.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from gotlang.cache.base import StoredSample
from gotlang.errors import CacheError
from gotlang.models.base import Completion, DecodingSettings, Message, Request, Usage

MAX_VALUE_BYTES = 64 * 1024 * 1024
"""A stored value that is longer is a damaged one; what is stored is at most a quarter as many characters."""

_KEY = re.compile(r"[0-9a-f]{64}")
_LARGEST = 2**63 - 1
_NOT_FINITE = {"inf", "-inf", "nan"}


class Damaged(ValueError):
    """A value that is not what a cache writes; the message says which field, and what belongs there."""


def is_key(text: str) -> bool:
    """Whether a text is a request key (64 hexadecimal digits, lower case)."""
    return _KEY.fullmatch(text) is not None


def check_key(key: str) -> None:
    """Raise ValueError where `key` is not a request key."""
    if not is_key(key):
        raise ValueError(f"not a request key: {key[:80]!r} (64 hexadecimal digits stand for a request)")


def to_json(value: Any, *, sort_keys: bool = False) -> str:
    """One line of JSON that can always be written as UTF-8 (lone surrogates stand escaped)."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=sort_keys, separators=(",", ":"))
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        text = json.dumps(value, allow_nan=False, sort_keys=sort_keys, separators=(",", ":"))
    return text


def from_json(text: str | bytes) -> Any:
    """The JSON value of UTF-8 text. Raises Damaged."""
    try:
        return json.loads(text if isinstance(text, str) else text.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise Damaged(f"not JSON: {error}") from None


def encode_sample(stored: StoredSample) -> str:
    """A stored answer as JSON text. Raises CacheError where it is too long."""
    return _short_enough(to_json(sample_data(stored)))


def decode_sample(text: str | bytes) -> StoredSample:
    """The stored answer that `encode_sample` wrote. Raises Damaged."""
    return sample_from(from_json(_readable(text)))


def encode_request(request: Request) -> str:
    """What a request key stands for as JSON text: the request's identity and its prompt's name.

    Raises CacheError where it is too long.
    """
    return _short_enough(to_json(request_data(request)))


def decode_request(text: str | bytes) -> dict[str, Any]:
    """What `encode_request` wrote, as plain JSON data. Raises Damaged."""
    return request_data(request_from(from_json(_readable(text))))


def sample_data(stored: StoredSample) -> dict[str, Any]:
    """A stored answer as plain JSON data."""
    answer, usage = stored.completion, stored.usage
    return {
        "text": answer.text,
        "finish_reason": answer.finish_reason,
        "logprob": None if answer.logprob is None else _finite(answer.logprob),
        "tokens": [[token, _finite(logprob)] for token, logprob in answer.tokens],
        "output_tokens": answer.output_tokens,
        "usage": {
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "cached_input_tokens": usage.cached_input_tokens,
        },
        "latency_s": stored.latency_s,
        "batch": stored.batch,
        "position": stored.position,
        "created": stored.created,
    }


def sample_from(data: Any) -> StoredSample:
    """The stored answer in plain JSON data. Raises Damaged."""
    usage = _get(data, "usage")
    logprob = _get(data, "logprob")
    tokens = _get(data, "tokens")
    if not isinstance(tokens, list):
        raise Damaged("`tokens` is not a list")
    batch, position = _count(data, "batch"), _count(data, "position")
    if position >= batch:
        raise Damaged(f"`position` {position} is not below `batch` {batch}")
    return StoredSample(
        completion=Completion(
            text=_text(data, "text"),
            finish_reason=_text(data, "finish_reason"),
            logprob=None if logprob is None else _logprob(logprob),
            tokens=tuple(map(_token, tokens)),
            output_tokens=_count(data, "output_tokens"),
        ),
        usage=Usage(
            _count(usage, "input_tokens"),
            _count(usage, "output_tokens"),
            _count(usage, "cached_input_tokens"),
        ),
        latency_s=_seconds(data, "latency_s"),
        batch=batch,
        position=position,
        created=_seconds(data, "created"),
    )


def request_data(request: Request) -> dict[str, Any]:
    """What a request key stands for: `Request.identity()` with the prompt's name under `prompt`."""
    return {**request.identity(), "prompt": request.prompt}


def request_from(data: Any) -> Request:
    """The request in plain JSON data (without the prompt's arguments). Raises Damaged."""
    messages, settings, sample = _get(data, "messages"), _get(data, "settings"), _get(data, "sample")
    if not isinstance(messages, list) or not all(_is_pair_of_texts(message) for message in messages):
        raise Damaged("`messages` is not a list of pairs of role and content")
    stop = _get(settings, "stop")
    if not isinstance(stop, list) or not all(isinstance(text, str) for text in stop):
        raise Damaged("`stop` is not a list of texts")
    logprobs, seed = _get(settings, "logprobs"), _get(settings, "seed")
    if not isinstance(logprobs, bool):
        raise Damaged("`logprobs` is neither true nor false")
    return Request(
        model=_text(data, "model"),
        endpoint=_text(data, "endpoint") if "endpoint" in data else "",
        messages=tuple(Message(role, content) for role, content in messages),
        settings=DecodingSettings(
            temperature=_optional_number(settings, "temperature"),
            top_p=_optional_number(settings, "top_p"),
            max_tokens=_count(settings, "max_tokens"),
            stop=tuple(stop),
            logprobs=logprobs,
            seed=None if seed is None else _integer(seed, "seed"),
            response_format=_text(settings, "response_format") if "response_format" in settings else None,
        ),
        sample=_integer(sample, "sample"),
        prompt=_text(data, "prompt"),
    )


def _short_enough(text: str) -> str:
    # A character is at most four bytes in UTF-8: what is written here can be read.
    if len(text) > MAX_VALUE_BYTES // 4:
        raise CacheError(
            f"an answer or a prompt is too long for a cache: {len(text)} characters as JSON, at most "
            f"{MAX_VALUE_BYTES // 4} can be kept",
            help="ask for shorter answers (`max_tokens`), or run with --no-cache",
        )
    return text


def _readable(text: str | bytes) -> str | bytes:
    if len(text) > MAX_VALUE_BYTES:
        raise Damaged(f"{len(text)} bytes long (at most {MAX_VALUE_BYTES})")
    return text


def _get(data: Any, name: str) -> Any:
    try:
        return data[name]
    except (KeyError, TypeError, IndexError):
        what = "is missing" if isinstance(data, Mapping) else "cannot be: its place holds no object"
        raise Damaged(f"`{name}` {what}") from None


def _text(data: Any, name: str) -> str:
    value = _get(data, name)
    if not isinstance(value, str):
        raise Damaged(f"`{name}` is not a text")
    return value


def _count(data: Any, name: str) -> int:
    value = _get(data, name)
    if type(value) is not int or not 0 <= value <= _LARGEST:
        raise Damaged(f"`{name}` is not a whole number of 0 or more")
    return value


def _integer(value: Any, name: str) -> int:
    if type(value) is not int or not -_LARGEST <= value <= _LARGEST:
        raise Damaged(f"`{name}` is not a whole number")
    return value


def _is_number(value: Any) -> bool:
    if type(value) is int:
        return -_LARGEST <= value <= _LARGEST
    return type(value) is float and math.isfinite(value)


def _seconds(data: Any, name: str) -> float:
    value = _get(data, name)
    if not _is_number(value) or value < 0:
        raise Damaged(f"`{name}` is not a number of 0 or more")
    return float(value)


def _optional_number(data: Any, name: str) -> float | None:
    value = _get(data, name)
    if value is not None and not _is_number(value):
        raise Damaged(f"`{name}` is neither a number nor null")
    # As it came: a temperature of 1 and one of 1.0 are two requests with two keys.
    number: float | None = value
    return number


def _finite(number: float) -> float | str:
    """A logarithm of zero is minus infinity, for which JSON has no number: it is kept as a text."""
    return number if math.isfinite(number) else str(number)


def _logprob(value: Any) -> float:
    if _is_number(value) or (isinstance(value, str) and value in _NOT_FINITE):
        return float(value)
    raise Damaged("`logprob` is not a number")


def _token(pair: Any) -> tuple[str, float]:
    if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[0], str):
        raise Damaged("`tokens` is not a list of pairs of token and log-probability")
    return pair[0], _logprob(pair[1])


def _is_pair_of_texts(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(isinstance(part, str) for part in value)
