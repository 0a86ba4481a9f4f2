"""How many tokens a request is likely to take, learned from those that were answered."""

from __future__ import annotations

from typing import final

from gotlang.models.base import Request, Usage, token_bound

FIRST_TOKENS_PER_BYTE = 0.4
WEIGHT = 0.2
"""How much the latest reply counts in an average."""


@final
class Estimates:
    """Averages per prompt, and over all prompts for one that is new."""

    def __init__(self) -> None:
        self._per_byte = FIRST_TOKENS_PER_BYTE
        self._outputs: dict[str, float] = {}
        self._any_output: float | None = None

    def of(self, request: Request, n: int) -> tuple[float, float]:
        """Tokens that n answers will likely take, input and output, and the most they may as providers reckon
        it: the input, and `max_tokens` for each."""
        most = float(request.settings.max_tokens)
        each = min(most, self._outputs.get(request.prompt, self._any_output or most))
        read = token_bound(request) * self._per_byte
        return read + each * n, read + most * n

    def learn(self, request: Request, n: int, usage: Usage) -> None:
        """Take a reply with n answers into account."""
        self._per_byte += WEIGHT * (min(1.0, usage.input_tokens / token_bound(request)) - self._per_byte)
        each = usage.output_tokens / n
        self._any_output = _mixed(self._any_output, each)
        self._outputs[request.prompt] = _mixed(self._outputs.get(request.prompt), each)


def _mixed(average: float | None, latest: float) -> float:
    return latest if average is None else average + WEIGHT * (latest - average)
