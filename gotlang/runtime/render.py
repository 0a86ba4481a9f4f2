"""Renders prompts as messages, with the part that many calls share first.

The user's message is the instruction, the examples and the text, in this order, so that providers' prompt
caches hit. An example is the text itself with the example's inputs, followed by its response. In a prompt
with turns the instruction is at the start of the user's first text, and examples are turns after the initial
system turns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from gotlang.errors import TemplateError
from gotlang.ir.program import Prompt
from gotlang.models.base import PLACE, Media, Message
from gotlang.patterns import lazy_pattern
from gotlang.templates import Template
from gotlang.types import FILE, IMAGE, DictType, ListType, OptionalType, PairType, RecordType, Type, UnionType

_MARK = lazy_pattern(f"{PLACE}([0-9]+){PLACE}")
_NONE: Mapping[tuple[str, str], Media] = {}


def render(
    prompt: Prompt,
    arguments: Mapping[str, Any],
    shown: Sequence[str | Message] | None = None,
    media: Mapping[tuple[str, str], Media] = _NONE,
) -> tuple[Message, ...]:
    """The messages of a prompt for its arguments; `shown` are its examples, if they are rendered already,
    `media` the images and files that may be among the arguments.

    Raises TemplateError if a text cannot be rendered.
    """
    if media:
        return _with_media(prompt, arguments, shown, media)
    if shown is None:
        shown = examples(prompt)
    if prompt.turns or prompt.as_turns:
        found = tuple(_turns(prompt, arguments, shown, lambda text: text.render(arguments)))
        if not found:
            raise TemplateError("the prompt has no turn: its history is empty")
        return found
    parts: list[Any] = [] if prompt.instruction is None else [prompt.instruction.render(arguments)]
    if prompt.user is not None:
        parts += shown
        parts.append(prompt.user.render(arguments))
    user = Message("user", "\n\n".join(parts))
    return (user,) if prompt.system is None else (Message("system", prompt.system.render(arguments)), user)


def _with_media(
    prompt: Prompt,
    arguments: Mapping[str, Any],
    shown: Sequence[str | Message] | None,
    media: Mapping[tuple[str, str], Media],
) -> tuple[Message, ...]:
    """Messages in which a marker stands for each image and file while the texts are rendered."""
    placed: list[Media] = []

    def mark(value: Any, type_: Type | None) -> Any:
        match value:
            case str() if type_ in (IMAGE, FILE):
                found = media.get((str(type_), value))
                if found is None:
                    raise TemplateError(f"`{value}` is not a {type_} of the inputs")
                placed.append(found)
                return f"{PLACE}{len(placed) - 1}{PLACE}"
            case str():
                return value.replace(PLACE, "\ufffd")
            case list() | tuple():
                parts = type_.types if isinstance(type_, PairType) else None
                element = type_.element if isinstance(type_, ListType) else None
                return [mark(each, parts[i] if parts else element) for i, each in enumerate(value)]
            case dict():
                record = type_.case(str(value.get("type"))) if isinstance(type_, UnionType) else type_
                inside = record.value if isinstance(record, DictType) else None
                fields = dict(record.fields) if isinstance(record, RecordType) else {}
                return {name: mark(each, _present(fields.get(name, inside))) for name, each in value.items()}
        return value

    marked = {name: mark(arguments[name], _present(type_)) for name, type_ in prompt.parameters}
    found = []
    for message in render(prompt, marked, shown):
        parts = _MARK.split(message.content)
        if any(PLACE in text for text in parts[::2]):
            raise TemplateError("an image or a file is shown as it is, by `{{ its name }}`")
        shows = tuple(placed[int(number)] for number in parts[1::2])
        found.append(Message(message.role, PLACE.join(parts[::2]), shows) if shows else message)
    return tuple(found)


def _present(type_: Type | None) -> Type | None:
    return type_.inner if isinstance(type_, OptionalType) else type_


def raw(prompt: Prompt) -> tuple[Message, ...]:
    """The messages of a prompt with its texts as in the program."""
    shown = examples(prompt)
    if prompt.turns or prompt.as_turns:
        return tuple(_turns(prompt, {}, shown, lambda text: text.text))
    texts = (prompt.instruction and prompt.instruction.text, *shown, prompt.user and prompt.user.text)
    user = Message("user", "\n\n".join(str(text) for text in texts if text is not None))
    return (user,) if prompt.system is None else (Message("system", prompt.system.text), user)


def _turns(
    prompt: Prompt,
    arguments: Mapping[str, Any],
    shown: Sequence[str | Message],
    said: Callable[[Template], str],
) -> Iterator[Message]:
    lead = [] if prompt.instruction is None else [said(prompt.instruction)]
    waiting = [one for one in shown if isinstance(one, Message)]
    for turn in prompt.all_turns:
        if waiting and turn.role != "system":
            first, *others = waiting
            yield Message(first.role, "\n\n".join([*lead, first.content]))
            yield from others
            lead, waiting = [], []
        if turn.history:
            found = arguments.get(turn.history)
            held = [{"role": "messages", "content": turn.history}] if found is None else found
            yield from (Message(one["role"], one["content"]) for one in held)
        elif turn.role == "user":
            yield Message("user", "\n\n".join([*lead, *([said(turn.text)] if turn.text else [])]))
            lead = []
        elif turn.text is not None:
            yield Message(turn.role, said(turn.text))
    if lead:
        yield Message("user", lead[0])


def examples(prompt: Prompt) -> list[str | Message]:
    """A prompt's examples as its message shows them, the text for their inputs with their responses; or as
    turns."""
    text = prompt.asking
    if text is None:
        return []
    found = [(text.render(dict(example.inputs)), example.response) for example in prompt.examples]
    if prompt.as_turns:
        roles = ("user", "assistant")
        return [Message(role, said) for pair in found for role, said in zip(roles, pair, strict=True)]
    return [answered(*pair) for pair in found]


def answered(question: str, answer: str) -> str:
    """A question with its answer: on the same line after `Output:`, else on the next one."""
    if question.endswith(":") and "\n" not in answer:
        return f"{question} {answer}"
    return f"{question}\n{answer}"
