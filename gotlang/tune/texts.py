"""What an optimizer found, in the program's own text: other defaults of params, other instructions and
examples.

Only the values that change are replaced, where they stand; everything else stays, to the character. So the
tuned program is a program like any other, and what changed is what `git diff` shows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

from gotlang.compiler import Compilation, compile_source
from gotlang.errors import UsageError
from gotlang.span import Source, Span
from gotlang.syntax import nodes as n
from gotlang.syntax.texts import long_lines, quote

_INDENT = 4


@final
@dataclass(frozen=True, slots=True, order=True)
class Shot:
    """A worked example: its inputs by name and its answer, each as JSON, so that shots can be compared."""

    inputs: tuple[tuple[str, str], ...]
    output: str


@final
@dataclass(frozen=True, slots=True, order=True)
class Texts:
    """Texts for one prompt; None leaves the program's own. `instruction` is the template of the
    instruction, or of the user's text where the prompt has no instruction."""

    instruction: str | None = None
    examples: tuple[Shot, ...] | None = None

    def as_json(self) -> dict[str, Any]:
        """As files keep it; what is left as it is does not stand there."""
        out: dict[str, Any] = {}
        if self.instruction is not None:
            out["instruction"] = self.instruction
        if self.examples is not None:
            out["examples"] = [
                {"inputs": {k: json.loads(v) for k, v in shot.inputs}, "output": json.loads(shot.output)}
                for shot in self.examples
            ]
        return out

    @classmethod
    def of_json(cls, given: Mapping[str, Any]) -> Texts:
        """Read back. Raises KeyError and TypeError for what is not of that form."""
        examples = given.get("examples")
        instruction = given.get("instruction")
        if instruction is not None and not isinstance(instruction, str):
            raise TypeError("an instruction is a text")
        return cls(
            instruction,
            None if examples is None else tuple(shot(x["inputs"], x["output"]) for x in examples),
        )


def shot(inputs: Mapping[str, Any], output: Any) -> Shot:
    """A worked example from plain values."""
    return Shot(tuple((name, json.dumps(value)) for name, value in inputs.items()), json.dumps(output))


Asking = Mapping[str, Mapping[str, Any]]
"""By prompt, the settings that it asks with, such as `temperature`."""
NOTHING: Asking = {}


def rewritten(
    compilation: Compilation,
    params: Mapping[str, Any],
    texts: Mapping[str, Texts],
    asking: Asking = NOTHING,
) -> Compilation:
    """A program compiled anew with other defaults, texts and settings of prompts.

    Raises UsageError where it has no such param or prompt, CompileError where it does not compile any more.
    """
    sources = edited(compilation, params, texts, asking)
    root = sources[compilation.source.name]
    return compile_source(root, lambda name: sources[name].text).compiled()


def edited(
    compilation: Compilation,
    params: Mapping[str, Any],
    texts: Mapping[str, Texts],
    asking: Asking = NOTHING,
) -> dict[str, Source]:
    """The sources of a program, by name, with other defaults of params, texts and settings of prompts."""
    edits: dict[str, list[tuple[Span, str]]] = {}
    left_params, left_texts = dict(params), dict(texts)
    for module in compilation.modules:
        source = compilation.sources[module.span.source]
        found = edits.setdefault(source.name, [])
        for d in module.declarations:
            if isinstance(d, n.Param) and d.name.text in left_params:
                found += _default(d, left_params.pop(d.name.text))
            elif isinstance(d, n.Prompt):
                found += _texts(d, left_texts.pop(d.name.text, Texts()), source)
                found += _settings(d, asking.get(d.name.text, {}), source)
    for kind, left in (("param", left_params), ("prompt", left_texts)):
        if left:
            raise UsageError(f"`{compilation.source.name}` has no {kind} `{next(iter(left))}`")
    return {name: _replaced(source, edits.get(name, [])) for name, source in compilation.sources.items()}


def _replaced(source: Source, edits: list[tuple[Span, str]]) -> Source:
    text = source.text
    for span, new in sorted(edits, key=lambda edit: edit[0].start, reverse=True):
        text = text[: span.start] + new + text[span.end :]
    return Source(source.name, text) if edits else source


def _default(node: n.Param, value: Any) -> list[tuple[Span, str]]:
    from gotlang.semantics.params import constant_value

    old = constant_value(node.default)
    if type(old) is type(value) and old == value:
        return []
    return [(node.default.span, literal(value))]


def literal(value: Any) -> str:
    """A plain value as the language writes it."""
    match value:
        case None:
            return "none"
        case bool():
            return "true" if value else "false"
        case str():
            return quote(value)
        case float():
            text = repr(value)
            return text if "." in text or "e" not in text else text.replace("e", ".0e", 1)
        case list() | tuple():
            return "[" + ", ".join(map(literal, value)) + "]"
        case dict():
            return "{" + ", ".join(f"{_key(k)}: {literal(v)}" for k, v in value.items()) + "}"
    return str(value)


def _key(name: str) -> str:
    return name if name.isidentifier() and name.islower() else quote(name)


def _texts(node: n.Prompt, texts: Texts, source: Source) -> list[tuple[Span, str]]:
    edits: list[tuple[Span, str]] = []
    text = node.instruction or node.user
    if texts.instruction is not None and text is not None and texts.instruction != text.value:
        long = text.long or "\n" in texts.instruction or len(texts.instruction) > 60
        indent = _indentation(source, text.span.start)
        edits.append((text.span, _long(texts.instruction, indent) if long else quote(texts.instruction)))
    if texts.examples is not None:
        edits += _examples(node, texts.examples, source)
    return edits


def _settings(node: n.Prompt, settings: Mapping[str, Any], source: Source) -> list[tuple[Span, str]]:
    """Settings with other values where they stand, and new ones above the prompt's first text."""
    there = {setting.name.text: setting.value for setting in node.settings}
    edits = [
        (there[name].span, literal(value))
        for name, value in settings.items()
        if name in there and source.text[there[name].span.start : there[name].span.end] != literal(value)
    ]
    first = min(text.span.start for text in (node.system, node.instruction, node.user) if text is not None)
    margin = " " * _indentation(source, first)
    at = _line_start(source, first)
    new = "".join(
        f"{margin}{name} {literal(value)}\n" for name, value in settings.items() if name not in there
    )
    return [*edits, (Span(source.name, at, at), new)] if new else edits


def _long(value: str, indent: int) -> str:
    """A text in triple quotes whose lines stand at an indentation."""
    margin = " " * indent
    body = "".join(f"{margin}{line}\n" if line else "\n" for line in long_lines(value))
    return f'"""\n{body}{margin}"""'


def _examples(node: n.Prompt, shots: tuple[Shot, ...], source: Source) -> list[tuple[Span, str]]:
    lines = [_line(shot) for shot in shots]
    if node.examples:
        first, last = node.examples[0].span, node.examples[-1].span
        span = first.to(last)
        if not lines:
            start = source.text.rindex("examples", 0, first.start)
            start = _line_start(source, start)
            end = source.text.find("\n", last.end) + 1
            return [(Span(source.name, start, end), "")]
        indent = " " * _indentation(source, first.start)
        return [(span, f"\n{indent}".join(lines))]
    if not lines:
        return []
    place = node.user or node.instruction
    assert place is not None
    at = _line_start(source, place.span.start if node.user is not None else place.span.end)
    margin = " " * _indentation(source, place.span.start)
    inner = margin + " " * _INDENT
    if node.user is None:
        at = source.text.find("\n", place.span.end) + 1
    block = f"{margin}examples:\n" + "".join(f"{inner}{line}\n" for line in lines)
    return [(Span(source.name, at, at), block)]


def _line(shot: Shot) -> str:
    inputs = ", ".join(f"{name} = {literal(json.loads(value))}" for name, value in shot.inputs)
    return f"{inputs} -> {literal(json.loads(shot.output))}"


def _line_start(source: Source, at: int) -> int:
    return source.text.rfind("\n", 0, at) + 1


def _indentation(source: Source, at: int) -> int:
    start = _line_start(source, at)
    line = source.text[start:at]
    return len(line) - len(line.lstrip(" "))
