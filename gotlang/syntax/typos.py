"""Misspelt keywords, and the words that may be a label without quotes."""

from __future__ import annotations

import re
from collections.abc import Iterable

from gotlang.patterns import lazy_pattern

RESERVED = frozenset(
    {"and", "elif", "else", "false", "for", "foreach", "if", "in", "none", "not", "or", "reduce", "repeat"}
    | {"after", "as", "from", "match", "return", "skip", "true", "try", "until", "when", "with"}
)
"""Words that cannot be names: they would make an expression or a statement mean something else."""

DECLARATIONS = (
    "from", "function", "import", "law", "metric", "operation", "param", "partial", "prompt", "scheme",
    "score", "simulate", "study", "test", "type",
)  # fmt: skip
"""Words that open a declaration."""

STATEMENTS = ("foreach", "reduce", "repeat", "if", "elif", "else", "return", "try", "skip", "match")
"""Words that open a statement."""
BLOCKS = ("first", "race", "search")
"""Words that open a block, and may also be names."""
_HEADS = (*STATEMENTS, "until", "while", "from")
"""Words with which no label starts, nor with a misspelling of them."""
OTHER_LANGUAGES = {
    **dict.fromkeys(("elseif", "elsif"), "write `elif`"),
    **dict.fromkeys(("otherwise", "default"), "write `else:`"),
    **dict.fromkeys(("switch", "case", "cond"), "write `match value:`, or `if`, `elif` and `else`"),
    "unless": "write `if not condition:`",
    "while": "write `repeat n until condition:`",
    **dict.fromkeys(("until", "do", "loop", "retry", "times"), "write `repeat n until condition:`"),
    **dict.fromkeys(("for", "each", "parallel"), "write `foreach x in xs:`"),
    **dict.fromkeys(("except", "catch", "finally", "rescue"), "write `else:` with the fallback of the `try`"),
    **dict.fromkeys(("then", "begin", "end"), "a block needs no such word"),
}
"""Words that open a block in other languages, and the equivalents here."""

CAPITAL = {"True": "true", "False": "false", "None": "none"}
"""Python's constants, and the equivalents here."""

_BARE = lazy_pattern(r"[a-z_]\w*(?: [a-z_]\w*)*(?P<number> [0-9]+)?", re.ASCII)


def no_method(name: str) -> str:
    """Advice about the call of a method."""
    return f"values have no methods: write `{'xs + [x]' if name == 'append' else f'{name}(...)'}`"


def misspelt(word: str, words: Iterable[str]) -> str | None:
    """The word that differs by a single typing error: a letter too many, too few, another, or two swapped."""
    return next((known for known in words if word not in (known, "it") and _one_slip(word, known)), None)


def _one_slip(word: str, known: str) -> bool:
    if len(word) < 2 or abs(len(word) - len(known)) > 1:
        return False
    at = next((i for i, (a, b) in enumerate(zip(word, known, strict=False)) if a != b), None)
    if at is None:
        return len(word) != len(known)
    left, right = word[at:], known[at:]
    return (
        left[1:] == right[1:]
        or left[1:] == right
        or left == right[1:]
        or (left[:2] == right[1::-1] and left[2:] == right[2:])
    )


def why_no_label(label: str, *, sources: bool) -> tuple[str, str | None] | None:
    """Why words without quotes are not a label, as the word at fault and what was meant; None if they are.

    `sources` says whether a `from` follows.
    """
    first, *_ = words = [word for word in label.split() if not word.isdigit()]
    if first in OTHER_LANGUAGES:
        return first, OTHER_LANGUAGES[first]
    if first in ("else", "elif"):
        return first, "there is no `if` or `try` above it at this indentation"
    if (meant := misspelt(first, _HEADS)) is not None:
        theirs = OTHER_LANGUAGES.get(meant)
        instead = f"did you mean `{meant}`?" if theirs is None else f"{theirs}."
        return first, f'{instead} A label like this needs quotes: `"{label}":`'
    if (word := next((word for word in words if word in RESERVED), None)) is not None:
        return word, f'write the label in quotes: `"{label}"`'
    if not sources and not label[-1].isdigit():
        for word in words:
            if (meant := misspelt(word, BLOCKS if word is first else ("from", "in", "as"))) is not None:
                return word, f"did you mean `{meant}`?"
        return first, f'a label has a number, a `from`, or quotes: `"{label}":`'
    return None


def is_bare(label: str, *, sources: bool) -> bool:
    """Whether a label is written without quotes before its block."""
    return _BARE.fullmatch(label) is not None and why_no_label(label, sources=sources) is None


def is_bare_reference(label: str) -> bool:
    """Whether a label is referred to without quotes: a single word would be a name."""
    return " " in label and is_bare(label, sources=True)
