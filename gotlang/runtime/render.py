"""A prompt as a model gets it: its texts filled in, what is the same for many calls first.

The user's message is the instruction, the examples and the text, in this order, so that providers' prompt
caches hit. An example is the text itself with the example's inputs, followed by its answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gotlang.ir.program import Prompt
from gotlang.models.base import Message
from gotlang.runtime.read import render_value
from gotlang.templates import Template
from gotlang.types import ListType


def render(
    prompt: Prompt, arguments: Mapping[str, Any], shown: Sequence[str] | None = None
) -> tuple[Message, ...]:
    """The messages of a prompt for its arguments; `shown` are its examples, where they were written before.

    Raises TemplateError where a text cannot be filled in.
    """
    parts = []
    if prompt.instruction is not None:
        parts.append(Template.parse(prompt.instruction).render(arguments))
    if prompt.user is not None:
        parts += [
            *(examples(prompt) if shown is None else shown),
            Template.parse(prompt.user).render(arguments),
        ]
    messages = [Message("user", "\n\n".join(parts))]
    if prompt.system is not None:
        messages.insert(0, Message("system", Template.parse(prompt.system).render(arguments)))
    return tuple(messages)


def examples(prompt: Prompt) -> list[str]:
    """A prompt's examples as they stand in its message: the text for their inputs, with their answers."""
    if not prompt.examples:
        return []
    text = Template.parse(prompt.user or "")
    result = ListType(prompt.result) if prompt.many else prompt.result
    out = []
    for example in prompt.examples:
        answer = example.output if example.raw else render_value(example.output, result, prompt.form)
        out.append(answered(text.render(dict(example.inputs)), answer))
    return out


def answered(question: str, answer: str) -> str:
    """A question with its answer: on the same line after `Output:`, else on the next one."""
    if question.endswith(":") and "\n" not in answer:
        return f"{question} {answer}"
    return f"{question}\n{answer}"
