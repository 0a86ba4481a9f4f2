"""The IR as text: what `gotc ir` prints. `gotlang.ir.parse` reads it back to an equal program.

    part = foreach part from %1 : list[int]
        enter part
        %2 = Generate @sort(numbers=part) from part, k sort_tries, batched : list[int]
        %3 = Score @mistakes(attempt=it, numbers=part) from %2, k 1 : list[int]
        %4 = KeepBestN 1 from %3 : list[int] one
        yield %4

A line names the pool that a step gives, the step, the pool it takes (`from`), the type of the thoughts it
gives, and `one` where it gives exactly one. Declarations are written as in a program.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gotlang.answers.forms import After, Form, Json, Lines, Tag
from gotlang.ir import program as ir
from gotlang.ir.evaluate import literal
from gotlang.ir.forms import write
from gotlang.operations import record_of
from gotlang.syntax.format import format_expression
from gotlang.syntax.texts import long_lines, quote
from gotlang.types import Type

_INDENT = "    "
LOCAL_SCORE = ir.Region("%start", (), "%start")
"""The body of a score that asks no model; its text has nothing but the value."""


def to_text(program: ir.Program) -> str:
    """The text of a program, which `from_text` reads back."""
    blocks = [
        [f"program {quote(program.name)}"],
        list(_imports(program)),
        [_param(p) for p in program.params],
    ]
    blocks += [list(_prompt(prompt)) for prompt in program.prompts]
    blocks += [list(_score(score)) for score in program.scores]
    blocks += [list(_scheme(scheme)) for scheme in program.schemes]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


# ---------------------------------------------------------------- declarations


def _imports(program: ir.Program) -> Iterator[str]:
    for module in program.python:
        yield f"import python {quote(module.path)}: {', '.join(module.names)}"
    for corpus in program.corpora:
        yield f"import corpus {quote(corpus.path)}: {corpus.name}"
    for simulator in program.simulators:
        yield f"simulate with {quote(simulator.path)}"


def _param(param: ir.Param) -> str:
    line = f"param {param.name}: {param.type} = {_value(param.default)}"
    line += " each" if param.each else ""
    match param.domain:
        case ir.Domain(choices=choices) if choices:
            line += f" in [{', '.join(_value(choice) for choice in choices)}]"
        case ir.Domain(low=low, high=high):
            line += f" in {_value(low)}..{_value(high)}"
    return line + (f" when {format_expression(param.guard)}" if param.guard is not None else "")


def _prompt(prompt: ir.Prompt) -> Iterator[str]:
    many = "many " if prompt.many else ""
    yield f"prompt {prompt.name}({_parameters(prompt.parameters)}) -> {many}{prompt.result}:"
    settings = [*prompt.settings, *([("count", prompt.count)] if prompt.count is not None else [])]
    for name, value in settings:
        yield f"{_INDENT}{name} {format_expression(value)}"
    if prompt.system is not None:
        yield from _text("system ", prompt.system.text)
    if prompt.instruction is not None:
        yield from _text("instruction ", prompt.instruction.text)
    if prompt.examples:
        yield f"{_INDENT}examples:"
    for example in prompt.examples:
        inputs = ", ".join(f"{name} = {_value(value)}" for name, value in example.inputs)
        yield f"{_INDENT * 2}{inputs} -> {_value(example.output)}"
    if prompt.user is not None:
        yield from _text("user ", prompt.user.text)
    if prompt.reader is not None:
        yield f"{_INDENT}parse with {prompt.reader}"
    elif prompt.form is not None:
        yield f"{_INDENT}parse {_form(prompt.form)}"


def _form(form: Form) -> str:
    match form:
        case Json():
            return "json"
        case Tag(name=name):
            return f"tag({quote(name)})"
        case Lines(pattern=None):
            return "lines"
        case Lines(pattern=str(pattern)):
            return f"lines matching {quote(pattern)}"
        case After(text=text):
            return f"after {quote(text)}"
    raise TypeError(form)


def _text(name: str, value: str) -> Iterator[str]:
    if "\n" not in value:
        yield f"{_INDENT}{name}{quote(value)}"
        return
    yield f'{_INDENT}{name}"""'
    yield from (_INDENT + line if line else "" for line in long_lines(value))
    yield f'{_INDENT}"""'


def _score(score: ir.ScoreFunction) -> Iterator[str]:
    best = f", best {_value(score.best)}" if score.best is not None else ""
    direction = "lower" if score.lower else "higher"
    yield f"score {score.name}({_parameters(score.parameters)}) -> {direction}{best}:"
    if score.body != LOCAL_SCORE:
        yield from _region(score.body, _INDENT)
    yield f"{_INDENT}value {format_expression(score.value)}"


def _scheme(scheme: ir.Scheme) -> Iterator[str]:
    many = "many " if scheme.many else ""
    collect = ", collect" if scheme.collect else ""
    head = f"scheme {scheme.name}({_parameters(scheme.parameters)}) -> {many}{scheme.result}"
    yield f"{head}{collect}, truth {scheme.truth}:"
    yield from _region(scheme.body, _INDENT)


def _parameters(parameters: Iterable[tuple[str, Type]]) -> str:
    return ", ".join(f"{name}: {type_}" for name, type_ in parameters)


def _value(value: object) -> str:
    return format_expression(literal(value))


# ---------------------------------------------------------------- regions and steps


def _region(region: ir.Region, margin: str) -> Iterator[str]:
    yield f"{margin}enter {region.entry}"
    for step in region.steps:
        yield margin + step_text(step)
        yield from _inside(step, margin + _INDENT)
    yield f"{margin}yield {region.result}"


def _inside(step: ir.Step, margin: str) -> Iterator[str]:
    if not isinstance(step, ir.If):
        for body in step.regions:
            yield from _region(body, margin)
        return
    for condition, body in step.branches:
        yield f"{margin}when {format_expression(condition)}"
        yield from _region(body, margin + _INDENT)
    if step.otherwise is not None:
        yield f"{margin}otherwise"
        yield from _region(step.otherwise, margin + _INDENT)


def step_text(step: ir.Step) -> str:
    """The line of a step, without what is inside it."""
    one = " one" if step.single else ""
    return f"{step.result} = {write(record_of(step).text, step)} : {step.type}{one}"
