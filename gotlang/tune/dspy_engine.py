"""The model that proposes texts, as DSPy wants one: every call through the study's cache and its purse."""

from __future__ import annotations

import asyncio
import json
import os
import re
from typing import Any, final

from gotlang.errors import BudgetExceeded, ModelError
from gotlang.models.base import (
    PERMITTED,
    Completion,
    DecodingSettings,
    Message,
    Model,
    Permit,
    Price,
    Request,
)
from gotlang.runtime.sampler.sampler import Sampler
from gotlang.runtime.sampler.store import MissingSample

PROMPT = "proposal"
"""What requests of optimizers go by in caches and traces."""
MAX_TOKENS = 2000


def load_dspy() -> Any:
    """DSPy, told to keep to itself: no cache of its own, no network for its price list.

    Raises ImportError where it is not installed.
    """
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "true")
    import logging

    import dspy

    for name in ("dspy", "LiteLLM", "gepa", "optuna"):
        logging.getLogger(name).setLevel(logging.ERROR)
    dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=False)
    return dspy


@final
class Proposer:
    """Answers what optimizers ask. Equal requests get draws one after the other, so that each asking is
    another.

    `sampler` holds the study's cache and purse; `rehearsal` answers in the model's place where the model is
    only a program's stand-ins.
    """

    def __init__(self, model: Model, sampler: Sampler, loop: asyncio.AbstractEventLoop, seed: int) -> None:
        self.model = RehearsedProposer(model) if model.simulated else model
        self._sampler = sampler
        self._loop = loop
        self._seed = seed
        self._asked: dict[str, int] = {}

    def complete(self, request: Any) -> Any:
        """One candidate for a request of DSPy's."""
        from dspy.lm15 import Message as Said
        from dspy.lm15 import Response, TextPart, Usage

        answer = asyncio.run_coroutine_threadsafe(self._answer(request), self._loop).result()
        usage = Usage(input_tokens=None, output_tokens=answer.output_tokens)
        return Response(
            id=None,
            model=self.model.name,
            message=Said.assistant([TextPart(answer.text or " ")]),
            finish_reason="stop",
            usage=usage,
        )

    async def _answer(self, request: Any) -> Completion:
        said = [
            Message(m.role if m.role != "developer" else "system", m.text or "") for m in request.messages
        ]
        if request.system is not None:
            system = request.system
            text = system if isinstance(system, str) else "".join(part.text for part in system)
            said.insert(0, Message("system", text))
        settings = DecodingSettings(
            temperature=request.config.temperature, max_tokens=request.config.max_tokens or MAX_TOKENS
        )
        asked = Request(
            self.model.name, tuple(said), settings, self._seed, PROMPT, endpoint=self.model.endpoint
        )
        number = self._asked.get(asked.key(), 0)
        self._asked[asked.key()] = number + 1
        draws, _ = await self._sampler.sample(self.model, asked, asked.key(), [number], None)
        draw = draws[0]
        if isinstance(draw, MissingSample):
            raise BudgetExceeded(draw.reason) if draw.cut_off else ModelError(draw.reason)
        return draw[0].completion

    def stream(self, request: Any) -> Any:
        """The same as events."""
        from dspy.lm15 import response_to_events

        return response_to_events(self.complete(request))

    def close(self) -> None:
        """Nothing to let go of."""


class AsyncProposer:
    """The same for coroutines."""

    def __init__(self, proposer: Proposer) -> None:
        self._proposer = proposer

    async def complete(self, request: Any) -> Any:
        """One candidate for a request of DSPy's."""
        return await asyncio.to_thread(self._proposer.complete, request)

    async def stream(self, request: Any) -> Any:
        """The same as events."""
        for event in self._proposer.stream(request):
            yield event

    async def aclose(self) -> None:
        """Nothing to let go of."""


def language_model(dspy: Any, proposer: Proposer) -> Any:
    """A proposer as an LM of DSPy's."""
    return dspy.LM(
        f"gotlang/{proposer.model.name}",
        engine=proposer,
        async_engine=AsyncProposer(proposer),
        cache=False,
        num_retries=0,
    )


_ADVICE = (
    "Work step by step.",
    "Check your answer before you give it.",
    "Be exact and leave nothing out.",
    "Keep to the form that is asked for.",
    "Think of what is often overlooked.",
    "Give the answer and nothing else.",
)
_FIELDS = re.compile(r"\[\[ ## (\w+) ## \]\]")


@final
class RehearsedProposer(Model):
    """Stands in for a proposer where the program's own stand-ins stand in for the model: it repeats the
    text that it is given with a piece of general advice, a new one for each draw. It has the price of the
    model."""

    simulated = True
    price: Price | None = None
    batch = 1

    def __init__(self, model: Model) -> None:
        self.name = f"{model.name}-proposer"
        self.price = model.price

    async def ask(self, request: Request, n: int, first: int = 0, permit: Permit = PERMITTED) -> Any:
        """One answer, with every field that the request asks for."""
        from gotlang.models.base import Reply, Usage
        from gotlang.models.tokens import estimate_tokens

        asked = request.messages[-1].content
        advice = _ADVICE[(first + len(asked)) % len(_ADVICE)]
        proposal = _in_form(asked, f"{_given(asked)}\n{advice}".strip())
        tokens = estimate_tokens(proposal)
        usage = Usage(sum(estimate_tokens(m.content) for m in request.messages), tokens)
        return Reply((Completion(proposal, output_tokens=tokens),), usage, 0.0)


def _given(asked: str) -> str:
    """The text that a request gives to be bettered: its first field, or its first block."""
    found = re.search(r"```\n?(.*?)```|\]\]\n(.*?)(?:\n\n|\Z)", asked, re.S)
    return (found[1] or found[2] or "").strip() if found is not None else ""


def _in_form(asked: str, proposal: str) -> str:
    """A proposal in the form that a request asks for: JSON, fields with their marks, or a block."""
    _, _, wanted = asked.rpartition("Respond with")
    if "JSON object" in wanted:
        return json.dumps(dict.fromkeys(re.findall(r"`(\w+)`", wanted), proposal))
    if names := [name for name in _FIELDS.findall(wanted) if name != "completed"]:
        filled = "\n\n".join(f"[[ ## {name} ## ]]\n{proposal}" for name in names)
        return f"{filled}\n\n[[ ## completed ## ]]"
    return f"```\n{proposal}\n```"
