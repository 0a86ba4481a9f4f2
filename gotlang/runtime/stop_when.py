"""When a response is ended early: `stop when` of a prompt."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import accumulate
from typing import Any, Final, final

from gotlang.errors import EvaluationError
from gotlang.ir.evaluate import Layer
from gotlang.ir.text import value_text
from gotlang.models.base import Completion
from gotlang.models.tokens import split_tokens
from gotlang.operations.names import free_names
from gotlang.scope import THOUGHT_FUNCTIONS
from gotlang.syntax import expressions as e
from gotlang.syntax.format import format_expression
from gotlang.syntax.walk import walk
from gotlang.thought import NO_RESPONSE, ResponseLogprobs, Thought


def response_of(completion: Completion) -> ResponseLogprobs:
    """The tokens of a thought's completion."""
    logprob, tokens = completion.logprob, completion.tokens
    if logprob is None and not tokens:
        return NO_RESPONSE
    if logprob is not None and tokens:
        logprob /= len(tokens)
    return ResponseLogprobs(logprob, tokens, completion.alternatives)


PACE: Final = 64


@final
class Enough:
    """Decides for a partial text whether the response can be ended. A condition that fails to evaluate on a
    part of a text is false there.

    `of_tokens`: it uses log-probabilities, for which all tokens so far are read each time. So it is evaluated
    when the text has grown by more than one of its `pace` parts. `text` is the condition with its known
    values, as a part of the request's identity.
    """

    def __init__(
        self,
        condition: e.Expression,
        names: Mapping[str, Any],
        evaluate: Callable[[e.Expression, Layer], Any],
    ) -> None:
        self._condition, self._names, self._evaluate = condition, names, evaluate
        calls = (one.function.text for one in walk(condition) if isinstance(one, e.Call))
        self.of_tokens = not THOUGHT_FUNCTIONS.keys().isdisjoint(calls)
        known = []
        for name in free_names(condition):
            if name != "it":
                try:
                    known.append(f"{name} = {value_text(names[name])}")
                except KeyError:  # a function
                    self.of_tokens = self.of_tokens or name in THOUGHT_FUNCTIONS
        self.pace = PACE if self.of_tokens else 1 << 62
        self.text = "; ".join([format_expression(condition), *known])

    def __call__(self, text: str, heard: Callable[[], Completion]) -> bool:
        """Whether the condition is true for a text; `heard` parses the completion so far."""
        it = Thought(text, response=response_of(heard())) if self.of_tokens else text
        try:
            return self._evaluate(self._condition, Layer({"it": it}, self._names)) is True
        except EvaluationError:
            return False

    def cut(self, one: Completion) -> Completion:
        """A complete completion, cut at the point where the condition is first true."""
        seen = 0
        for text in accumulate([token for token, _ in one.tokens] or split_tokens(one.text)):
            if len(text) - seen > seen // self.pace:
                seen = len(text)
                if self(text, partial(one.until, seen)):
                    return one if seen >= len(one.text) else one.until(seen)
        return one
