"""How many tokens prompts have before they are asked: whole ones exactly as the simulated model counts, those
with holes about, from the sizes of what goes into the holes."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, final

from gotlang.errors import EvaluationError, TemplateError
from gotlang.ir.program import Prompt
from gotlang.models.base import DEFAULT_MAX_TOKENS, Message
from gotlang.models.tokens import estimate_tokens
from gotlang.runtime.render import render
from gotlang.types import DictType, ListType, LiteralType, RecordType, Simple, Type

_MESSAGE_TOKENS = 4
_REPLY_TOKENS = 3


@final
class Sizes:
    """Counts tokens for a forecast. `batch` is how many answers one request may ask for."""

    default_max_tokens = DEFAULT_MAX_TOKENS

    def __init__(self, batch: int) -> None:
        self.batch = batch

    def value(self, value: Any) -> int:
        """The tokens of a value as a prompt shows it."""
        return estimate_tokens(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))

    def request(
        self, prompt: Prompt, known: Mapping[str, Any], tokens: Mapping[str, tuple[float, float]]
    ) -> tuple[float, float]:
        """The fewest and the most tokens of a request: the text around the holes, and what they may hold."""
        types = dict(prompt.parameters)
        smallest = {name: _smallest(types[name]) for name in tokens}
        try:
            around = _count(render(prompt, {**known, **smallest}))
        except (TemplateError, EvaluationError):
            return 0, math.inf  # a text that goes through what is not there yet
        holes = [(tokens[name], _shown(prompt, name)) for name in tokens]
        low = around + sum(max(0, low - 1) * shown for (low, _), shown in holes)
        return low, around + sum(high * shown if shown else 0 for (_, high), shown in holes)


def _count(messages: tuple[Message, ...]) -> int:
    return _REPLY_TOKENS + sum(_MESSAGE_TOKENS + estimate_tokens(message.content) for message in messages)


def _shown(prompt: Prompt, name: str) -> int:
    """How often a text shows a value."""
    texts = (text for text in (prompt.system, prompt.instruction, prompt.user) if text is not None)
    return sum(len(re.findall(rf"\{{[{{%][^{{}}]*\b{name}\b[^{{}}]*[}}%]\}}", text)) for text in texts)


def _smallest(type_: Type) -> Any:
    """A value that takes as little room as one of its type may."""
    match type_:
        case Simple(name="int" | "float"):
            return 0
        case Simple(name="bool"):
            return True
        case ListType():
            return []
        case DictType():
            return {}
        case RecordType(fields=fields):
            return {name: _smallest(field) for name, field in fields}
        case LiteralType(values=values):
            return min(values, key=len)
    return ""
