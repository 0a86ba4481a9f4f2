"""Estimates of token counts: no vocabulary, no network, a few microseconds.

The rules by which GPT-3.5 and GPT-4 split text before the vocabulary is used are public (cl100k): digits in
groups of up to three, a word with the space before it, runs of punctuation, runs of space. The effect of the
vocabulary inside a long word is estimated. A list such as `[1, 2, 3]` is exact: three tokens per element.
Counts reported by an endpoint always take precedence.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from gotlang.models.base import Media, Message
from gotlang.patterns import lazy_pattern

_WORD_BYTES = 8
"""Bytes per token of an English word: up to seven letters and the space before them."""
_FOREIGN_BYTES = 4
"""Bytes per token of other text: about two Cyrillic letters or one Chinese character."""
_PUNCTUATION = 4
"""Characters per token of a run of punctuation."""
_MESSAGE_TOKENS, _REPLY_TOKENS = 4, 3
"""The tokens that the OpenAI chat format adds to each message (its role and two marks), and to open the
reply."""

_IMAGE_TOKENS = 765
"""An image of 1024 x 1024 pixels by the rule of GPT-4o."""

_PIECE = lazy_pattern(
    r"(?i:'(?:[sdmt]|ll|ve|re))(?![^\W\d_])"  # the end of "it's"
    r"|(?P<word>(?:[^\w\r\n]|_)?[^\W\d_]+)"
    r"|\d{1,3}"
    r"|(?P<signs> ?(?:[^\s\w]|_)+[\r\n]*)"
    r"|\s*[\r\n]+"
    r"|\s+(?!\S)"
    r"|\s+"
)


def split_tokens(text: str) -> list[str]:
    """The text split into its likely tokens, which concatenate to the text."""
    tokens: list[str] = []
    for match in _PIECE.finditer(text):
        piece = match.group()
        if match.lastgroup == "word":
            size = _WORD_BYTES
            if not piece.isascii():
                size = max(1, _FOREIGN_BYTES * len(piece) // len(piece.encode("utf-8", "surrogatepass")))
        elif match.lastgroup == "signs":
            size = _PUNCTUATION if piece.isascii() else 1
        else:
            tokens.append(piece)
            continue
        if len(piece) <= size:
            tokens.append(piece)
        else:
            tokens.extend(piece[i : i + size] for i in range(0, len(piece), size))
    return tokens


@lru_cache(maxsize=1024)
def estimate_tokens(text: str) -> int:
    """The approximate number of tokens of a text for a GPT model; never more than its bytes, 0 for the empty
    text."""
    return len(split_tokens(text))


def request_tokens(messages: Iterable[Message]) -> int:
    """The approximate number of input tokens of a request with these messages."""
    return _REPLY_TOKENS + sum(
        _MESSAGE_TOKENS + estimate_tokens(message.content) + sum(map(_media_tokens, message.media))
        for message in messages
    )


def _media_tokens(media: Media) -> int:
    return _IMAGE_TOKENS if media.kind == "image" else media.token_bound("") // _WORD_BYTES
