"""The facts about models that an estimate needs: the number of tokens in prompts before they are sent, and
prices.

Complete prompts are counted as the simulated model does; those with placeholders from the text around these
and the sizes of their values.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, final

from gotlang.errors import EvaluationError, TemplateError
from gotlang.ir.program import Prompt
from gotlang.models.base import DEFAULT_MAX_TOKENS, Message, Model, ModelOptions, Price, Usage
from gotlang.models.images import IMAGE_TOKENS, image_tokens
from gotlang.models.registry import model_spec, price_of_model
from gotlang.models.tokens import estimate_tokens, request_tokens
from gotlang.operations.ask import PERSON
from gotlang.runtime.outcome import Outcome
from gotlang.runtime.person import FREE_OF_CHARGE
from gotlang.runtime.render import examples, render
from gotlang.semantics.builtins import str_
from gotlang.templates import Template
from gotlang.turns import holds_media
from gotlang.types import (
    IMAGE,
    DictType,
    ListType,
    LiteralType,
    PairType,
    RecordType,
    Simple,
    Type,
    UnionType,
)

_BATCH = 128
_SPREAD = 4
"""Maximum tokens of a value other than a text, as JSON, per token in which a model wrote it."""


@final
class Sizes:
    """Counts tokens for a forecast, and knows the prices of `model` and of the models that prompts name.

    `batch` is the maximum number of samples in one request: that of the simulated model if the endpoint's is
    unknown. With the open `models` of a session, for a proof: prices are theirs, and texts have the maximum
    number of tokens of any tokenizer, one for each byte.
    """

    default_max_tokens = DEFAULT_MAX_TOKENS

    def __init__(
        self,
        model: str | Model,
        options: ModelOptions,
        models: Callable[[str | None], Model] | None = None,
    ) -> None:
        self.batch = _BATCH if isinstance(model, str) else max(1, model.batch)
        self._model = model
        self._options = options
        self._models = models
        self._shown: dict[int, tuple[Prompt, list[str | Message]]] = {}
        self._prices: dict[str | None, tuple[float, float] | None] = {}
        self.spread = 1 if models is None else _SPREAD

    def price_of(self, name: str | None) -> Price | None:
        """The price of a model by its name in a prompt (None: the run's own)."""
        if name == PERSON:
            return FREE_OF_CHARGE
        if self._models is not None:
            return self._models(name).price
        if not isinstance(self._model, str):
            return self._model.price
        return price_of_model(model_spec(name, self._model, self._options.declared), self._options)

    def price(self, model: str | None) -> tuple[float, float] | None:
        """US dollars of an input and of an output token. Looked up once for each model."""
        if model not in self._prices:
            price = self.price_of(model)
            self._prices[model] = price and (price.input_per_million / 1e6, price.output_per_million / 1e6)
        return self._prices[model]

    def image(self, name: Any) -> int:
        """The maximum tokens of an image, by the model's name as for `price_of`; UNKNOWN for any model."""
        if name is not None and (not isinstance(name, str) or name == PERSON):
            return IMAGE_TOKENS
        if self._models is not None:
            return image_tokens(self._models(name).name)
        if not isinstance(self._model, str):
            return image_tokens(self._model.name)
        return image_tokens(model_spec(name, self._model, self._options.declared).partition(":")[2])

    def value(self, value: Any) -> int:
        """The tokens of a value as a prompt shows it."""
        text = str_(value)
        return estimate_tokens(text) if self._models is None else _bytes(text)

    def _examples(self, prompt: Prompt) -> list[str | Message]:
        """The examples of a prompt as its message shows them, independent of the inputs."""
        if id(prompt) not in self._shown:
            self._shown[id(prompt)] = prompt, examples(prompt)
        return self._shown[id(prompt)][1]

    def request(
        self,
        prompt: Prompt,
        known: Mapping[str, Any],
        tokens: Mapping[str, tuple[float, float]],
        model: Any = None,
    ) -> tuple[float, float]:
        """The minimum and maximum tokens of a request: the text around the placeholders, and their possible
        values."""
        types = dict(prompt.parameters)
        shows = [name for name, type_ in types.items() if holds_media(type_)]
        smallest = {name: _smallest(types[name]) for name in (*tokens, *shows)}
        try:
            messages = render(prompt, {**known, **smallest}, self._examples(prompt))
        except (TemplateError, EvaluationError):
            return 0, math.inf  # a text that iterates over a value that does not exist yet
        if self._models is None:
            around = request_tokens(messages)
        else:
            around = 16 + sum(_bytes(message.content) + 16 for message in messages)
        holes = {name: bounds for name, bounds in tokens.items() if name not in shows}
        low = around + sum(max(0, low - 1) * _shown(prompt, name) for name, (low, _) in holes.items())
        most = around + sum(_most_of_media(prompt, name, self.image(model)) for name in shows)
        most += sum(
            high for name, (_, high) in holes.items() for turn in prompt.turns if turn.history == name
        )
        values = {**known, **smallest}
        for text in prompt.texts:
            if text.plain:
                shown = ((high, _shown_in(text, name)) for name, (_, high) in holes.items())
                most += sum(high * times for high, times in shown if times)
            else:
                sizes: dict[str, float] = {name: self.value(value) for name, value in values.items()}
                sizes |= {name: high for name, (_, high) in holes.items()}
                counts = {name: _elements(value) for name, value in known.items()}
                counts |= {name: _elements(smallest[name], high) for name, (_, high) in holes.items()}
                most += text.longest(self.value, sizes, counts) - self.value(text.render(values))
        return low, most


def _elements(value: Any, most: float | None = None) -> float:
    """The number of elements that a loop over a value has; with `most` tokens, the maximum: each element of a
    list takes at least one, and a text may have any number of characters."""
    if most is None:
        return len(value) if isinstance(value, list | dict | str) else 1
    return math.inf if isinstance(value, str) else most


def _most_of_media(prompt: Prompt, name: str, image: int) -> float:
    """The maximum tokens of the images and files of an input, where an image has at most `image`; infinity if
    their number is not known."""
    loops = any(re.search(r"\{%-?\s*for\b", text.text) for text in prompt.texts)
    return math.inf if loops or dict(prompt.parameters)[name] != IMAGE else image * _shown(prompt, name)


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _shown(prompt: Prompt, name: str) -> int:
    """How often a prompt shows a value."""
    histories = sum(turn.history == name for turn in prompt.turns)
    return histories + sum(_shown_in(text, name) for text in prompt.texts)


def _shown_in(text: Template, name: str) -> int:
    return len(re.findall(rf"\{{[{{%][^{{}}]*\b{name}\b[^{{}}]*[}}%]\}}", text.text))


def _smallest(type_: Type, around: tuple[Type, ...] = ()) -> Any:
    """The smallest value of a type; None inside a type that is `around` it."""
    match type_:
        case Simple("int" | "float"):
            return 0
        case Simple("bool"):
            return True
        case ListType():
            return []
        case PairType(types=types):
            return [_smallest(part) for part in types]
        case DictType():
            return {}
        case RecordType(fields=fields):
            record = {name: _smallest(field, around) for name, field in fields}
            return None if None in record.values() else record
        case UnionType(cases) if type_ not in around:
            found = [_smallest(case, (*around, type_)) for case in cases]
            return min((value for value in found if value is not None), key=len, default=None)
        case UnionType():
            return None
        case LiteralType(values):
            return min(values, key=len)
    return ""


def likely(outcome: Outcome, price: Price | None) -> dict[str, float | None]:
    """The number of requests and samples of a run, by the names in an estimate; `price` is that of the model
    that will be used."""
    account = outcome.ledger.accounts[0]
    usage = Usage(account.input_tokens, account.output_tokens)
    return {
        "calls": account.calls,
        "requests": account.requests,
        "critical_path": outcome.hops,
        "volume": outcome.volume,
        "input_tokens": account.input_tokens,
        "output_tokens": account.output_tokens,
        "usd": price.usd(usage) if price is not None else None,
    }
