"""The budget of a study: one hard limit over all its roles, workers and restarts.

It is a shared budget with the study's name: unsent reservations of a dead worker return, its sent ones may
have been charged.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, final

from msgspec.structs import replace

from gotlang.cache.coordination import Coordination
from gotlang.estimate.cost import estimate
from gotlang.ir.program import Program, Prompt, Scheme
from gotlang.models.prices import Spent, dollars
from gotlang.runtime.sampler.budget import exact
from gotlang.runtime.sampler.shared import SharedBudget
from gotlang.runtime.sizes import Sizes


@final
class StudyBudget(SharedBudget):
    """The budget of a study for one worker; `max_usd`, initially all of it, is the current limit, None for no
    limit. If a study is given more or less money, it continues with that. `priced`: the price of its model is
    known."""

    def __init__(
        self, coordination: Coordination, name: str, max_usd: float | None, *, priced: bool = True
    ) -> None:
        total = None if max_usd is None else exact(max_usd)
        if coordination.make(name, total, None).max_usd != total:
            coordination.limit(name, total, None)
        super().__init__(coordination, name, coordination.make(name, total, None))
        self._total = max_usd
        self._priced = priced

    @property
    def spent_by_all(self) -> Spent:
        """The spending of all processes."""
        found = super().spent_by_all
        return found if self._priced else replace(found, usd=None, uncertain_usd=None)

    @property
    def spent_by_role(self) -> dict[str, Spent]:
        """The same by role; a role with another model than the study's has its own price."""
        roles = super().spent_by_role
        if self._priced:
            return roles
        return {
            role: replace(one, usd=one.usd or None, uncertain_usd=one.uncertain_usd or None)
            for role, one in roles.items()
        }

    def allow(self, max_usd: float | None) -> None:
        """Set the current limit."""
        self.max_usd = max_usd
        self.for_now = None if max_usd is None else exact(max_usd)
        self.refused = 0

    def reason(self) -> str:
        """Why the next request was not sent, in words."""
        if self._over:
            return super().reason()
        stored = self.stored
        parts = [f"{dollars(float(stored.charged.usd))} charged"]
        if stored.uncertain.usd:
            most = dollars(float(stored.uncertain.usd))
            parts.append(f"{most} uncertain, of requests that failed or whose process was killed")
        if stored.reserved.usd:
            parts.append(f"{dollars(float(stored.reserved.usd))} reserved by requests in flight")
        if self.max_usd is not None and self._total is not None and self.max_usd < self._total:
            parts.append(f"{dollars(self._total - self.max_usd)} reserved for its later stages")
        words = f"the study's budget of {dollars(self._total)} does not allow the next request: "
        return words + ", ".join(parts)


@final
class _Only:
    """An estimate's model that counts only the requests of one prompt, as an input token each, and their
    longest responses, as dollars. `least` is the minimum cost of one of them in US dollars before its
    response, and `per_output` the cost of a token of that; infinite without such a request or price."""

    batch = spread = 1

    def __init__(self, sizes: Sizes, prompt: str) -> None:
        self.default_max_tokens = sizes.default_max_tokens
        self._sizes, self._prompt = sizes, prompt
        self._tokens: float | None = None
        self.least = self.per_output = math.inf

    def value(self, value: Any) -> int:
        return self._sizes.value(value)

    def request(
        self,
        prompt: Prompt,
        known: Mapping[str, Any],
        tokens: Mapping[str, tuple[float, float]],
        model: Any = None,
    ) -> tuple[float, float]:
        own = prompt.name == self._prompt
        self._tokens = self._sizes.request(prompt, known, tokens, model)[0] if own else None
        return (0, 0) if self._tokens is None else (1, 1)

    def price(self, model: str | None) -> tuple[float, float]:
        if self._tokens is None:
            return 0.0, 0.0
        per_input, per_output = self._sizes.price(model) or (0.0, 0.0)
        self.least = min(self.least, self._tokens * per_input)
        self.per_output = min(self.per_output, per_output)
        return 0.0, 1.0


def costliest_call(
    program: Program, scheme: Scheme, sizes: Sizes, inputs: Mapping[str, Any]
) -> tuple[float, str]:
    """The largest minimum cost of one call in US dollars, if its response has the maximum length, and its
    prompt: among the calls that a run with these inputs makes in any case. 0 if none is known."""
    found = [(0.0, "")]
    for prompt in program.prompts:
        only = _Only(sizes, prompt.name)
        costs = estimate(program, scheme, only, inputs=inputs).early
        calls, longest = costs.input_tokens, costs.usd
        if calls.low and calls.high and longest is not None and longest.high is not None:
            found.append((only.least + longest.high / calls.high * only.per_output, prompt.name))
    return max(found)
