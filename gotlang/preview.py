"""Prompts as a model would receive them, without a model.

A run with a model that records its requests and never responds yields the prompts that are sent before any
response. All other prompts depend on responses: they are shown with placeholders.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from gotlang.diagnostics import suggestion
from gotlang.errors import ModelError, RunError, UsageError
from gotlang.ir.program import Prompt
from gotlang.models.base import PERMITTED, Message, Model, Permit, Reply, Request
from gotlang.options import Options
from gotlang.program import CheckedProgram
from gotlang.runtime.render import raw, render
from gotlang.session import Session


@final
@dataclass(frozen=True, slots=True)
class PromptPreview:
    """The messages of a prompt; `placeholders` tells that values in them are unknown."""

    name: str
    messages: Sequence[Message]
    placeholders: bool


@final
class _Listener(Model):
    """A model that records its requests and never responds."""

    name = "nobody"
    simulated = False
    price = None
    batch = 128

    def __init__(self) -> None:
        self.requests: dict[str, Request] = {}

    async def ask(self, request: Request, n: int, first: int = 0, permit: Permit = PERMITTED) -> Reply:
        """Raises ModelError."""
        self.requests.setdefault(request.key(), request)
        raise ModelError("no model is called")

    async def close(self) -> None:
        """Do nothing."""


async def preview(
    program: CheckedProgram,
    inputs: Mapping[str, Any] | None,
    *,
    scheme: str | None = None,
    truth: Any = None,
    params: Mapping[str, Any] | None = None,
    python: bool | None = None,
) -> list[PromptPreview]:
    """Every prompt of a program: first those that a scheme requests before any response, if its inputs are
    known (None: they are not), then the others with placeholders."""
    listener = _Listener()
    if inputs is not None:
        options = Options(model=listener, params=params or {}, python=python, cache=None, max_usd=None)
        try:
            async with Session(program, options) as session:
                await session.run(inputs, scheme=scheme, truth=truth)
        except RunError:
            if not listener.requests:
                raise
    found = [PromptPreview(r.prompt, r.messages, placeholders=False) for r in listener.requests.values()]
    names = {request.name for request in found}
    return found + [_open(prompt) for prompt in program.prompts.values() if prompt.name not in names]


def preview_prompt(program: CheckedProgram, name: str, values: Mapping[str, Any]) -> PromptPreview:
    """One prompt, with values for its parameters or, without any, with placeholders. Raises UsageError."""
    prompt = find_prompt(program, name)
    types = dict(prompt.parameters)
    if not values:
        return _open(prompt)
    for wrong in [n for n in values if n not in types] + [n for n in types if n not in values]:
        what = "has no parameter" if wrong in values else "needs"
        takes = ", ".join(f"{n}: {t}" for n, t in types.items()) or "none"
        raise UsageError(f"prompt `{name}` {what} `{wrong}`", help=f"parameters: {takes}")
    return PromptPreview(name, render(prompt, values), placeholders=False)


def find_prompt(program: CheckedProgram, name: str) -> Prompt:
    """The prompt of a name. Raises UsageError for an unknown one."""
    prompts = program.prompts
    if name not in prompts:
        hint = suggestion(name, prompts) or f"there are {', '.join(prompts) or 'none'}"
        raise UsageError(f"there is no prompt `{name}`", help=hint)
    return prompts[name]


def _open(prompt: Prompt) -> PromptPreview:
    """A prompt with its examples rendered and its texts as in the program."""
    return PromptPreview(prompt.name, raw(prompt), placeholders=bool(prompt.parameters))
