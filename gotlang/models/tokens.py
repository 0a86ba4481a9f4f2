"""Estimates of token counts, for the simulated model: no vocabulary, no network, a few microseconds.

The rules by which GPT-3.5 and GPT-4 cut text before their vocabulary is looked at are public (cl100k): digits
in groups of up to three, a word with the space before it, runs of punctuation, runs of space. What the
vocabulary then does inside a long word is estimated. A list such as `[1, 2, 3]` comes out exact: three
tokens an element. What an endpoint reports always goes before these estimates.
"""

from __future__ import annotations

import re
from functools import lru_cache

_WORD_BYTES = 8
"""What one token of an English word holds: up to seven letters and the space before them."""
_FOREIGN_BYTES = 4
"""What one token holds where text is not ASCII: about two letters of Cyrillic or one Chinese sign."""
_PUNCTUATION = 4
"""How many signs of one run of punctuation share a token."""

_PIECE = re.compile(
    r"(?i:'(?:[sdmt]|ll|ve|re))(?![^\W\d_])"  # the end of "it's"
    r"|(?P<word>(?:[^\w\r\n]|_)?[^\W\d_]+)"
    r"|\d{1,3}"
    r"|(?P<signs> ?(?:[^\s\w]|_)+[\r\n]*)"
    r"|\s*[\r\n]+"
    r"|\s+(?!\S)"
    r"|\s+"
)


def split_tokens(text: str) -> list[str]:
    """The text cut into what a model would likely have as tokens; joined they are the text again."""
    tokens: list[str] = []
    for match in _PIECE.finditer(text):
        piece = match.group()
        if match.lastgroup == "word":
            size = (
                _WORD_BYTES if piece.isascii() else max(1, _FOREIGN_BYTES * len(piece) // len(_utf8(piece)))
            )
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
    """About how many tokens a text has for a GPT model; never more than its bytes, 0 for the empty text."""
    return len(split_tokens(text))


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
