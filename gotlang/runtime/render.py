"""Renders prompts as messages, with the part that many calls share first.

The user's message is the instruction, the examples and the text, in this order, so that providers' prompt
caches hit. An example is the text itself with the example's inputs, followed by its response.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gotlang.ir.program import Prompt
from gotlang.models.base import Message


def render(
    prompt: Prompt, arguments: Mapping[str, Any], shown: Sequence[str] | None = None
) -> tuple[Message, ...]:
    """The messages of a prompt for its arguments; `shown` are its examples, if they are rendered already.

    Raises TemplateError if a text cannot be rendered.
    """
    parts = [] if prompt.instruction is None else [prompt.instruction.render(arguments)]
    if prompt.user is not None:
        parts += examples(prompt) if shown is None else shown
        parts.append(prompt.user.render(arguments))
    user = Message("user", "\n\n".join(parts))
    return (user,) if prompt.system is None else (Message("system", prompt.system.render(arguments)), user)


def examples(prompt: Prompt) -> list[str]:
    """A prompt's examples as its message shows them: the text for their inputs, with their responses."""
    text = prompt.user
    if text is None:
        return []
    return [answered(text.render(dict(example.inputs)), example.response) for example in prompt.examples]


def answered(question: str, answer: str) -> str:
    """A question with its answer: on the same line after `Output:`, else on the next one."""
    if question.endswith(":") and "\n" not in answer:
        return f"{question} {answer}"
    return f"{question}\n{answer}"
