"""The IR as text: what `gotc ir` prints. `gotlang.ir.parse` reads it back to an equal program.

    part = foreach part from %1 : list[int]
        enter part
        %2 = Generate @sort(numbers=part) from part, k sort_tries, batched : list[int]
        %3 = Score @mistakes(attempt=it, numbers=part) from %2, k 1 : list[int]
        %4 = KeepBestN 1 from %3 : list[int] one
        yield %4

A line has the output pool of a step, the step, its input pool (`from`), the type of its output, and `one` if
that is exactly one thought. Declarations are written as in a program.

The text form of a step is in its operation's record:

    "KeepBestN {count} from {pool}"
    "Score {value|score(arguments)} from {pool}, k {k}[, {batched:flag}]"

Braces contain a field of the step, or several that form one word; brackets contain parts that are left out if
their fields are empty. Fields are expressions unless a kind is named after a colon, or parentheses and bars
show that they are a call. The form is also the grammar rule that parses the step.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, final

from msgspec import Struct

from gotlang.answers.forms import After, Form, Json, Lines, Tag
from gotlang.ir import program as ir
from gotlang.ir.evaluate import literal
from gotlang.operations import record_of
from gotlang.operations.step import Arguments, LineKey, Step
from gotlang.patterns import lazy_pattern
from gotlang.syntax import expressions as e
from gotlang.syntax.format import format_expression as show
from gotlang.syntax.texts import long_lines, quote
from gotlang.types import DYNAMIC, Type, as_declared

_INDENT = "    "
LOCAL_SCORE = ir.Region("%start", (), "%start")
"""The body of a score that calls no model; its text has only the value."""


def to_text(program: ir.Program) -> str:
    """The text of a program, which `from_text` parses."""
    provided = f" with {', '.join(map(_function, program.provided))}" if program.provided else ""
    blocks = [
        [f"program {quote(program.name)}{provided}"],
        list(_imports(program)),
        [f"type {name} = {as_declared(t)}" for name, t in program.types],
        [_param(p) for p in program.params],
    ]
    blocks += [list(_prompt(prompt)) for prompt in program.prompts]
    blocks += [list(_score(score)) for score in program.scores]
    blocks += [list(_metric(metric)) for metric in program.metrics]
    blocks += [list(_scheme(scheme)) for scheme in program.schemes]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


# ---------------------------------------------------------------- declarations


def _imports(program: ir.Program) -> Iterator[str]:
    for module in program.python:
        yield f"import python {quote(module.path)}: {', '.join(map(_function, module.functions))}"
    for server in program.servers:
        yield f"import mcp {quote(server.path)}: {', '.join(map(_function, server.functions))}"
    for corpus in program.corpora:
        yield f"import corpus {quote(corpus.path)}: {corpus.name}"
    for simulator in program.simulators:
        yield f"simulate with {quote(simulator.path)}"


def _function(function: ir.PythonFunction) -> str:
    return function.name if function.result == DYNAMIC else f"{function.name} -> {function.result}"


def _param(param: ir.Param) -> str:
    line = f"param {param.name}: {param.type} = {value_text(param.default)}"
    line += " each" if param.each else ""
    match param.domain:
        case ir.Domain(choices=choices) if choices:
            line += f" in [{', '.join(value_text(choice) for choice in choices)}]"
        case ir.Domain(low=low, high=high):
            line += f" in {value_text(low)}..{value_text(high)}"
    return line + (f" when {show(param.guard)}" if param.guard is not None else "")


def _prompt(prompt: ir.Prompt) -> Iterator[str]:
    many = "many " if prompt.many else ""
    yield f"prompt {prompt.name}({_parameters(prompt.parameters)}) -> {many}{prompt.result}:"
    for name, value in (*prompt.settings, ("count", prompt.count), ("stop when", prompt.stop_when)):
        if value is not None:
            yield f"{_INDENT}{name} {show(value)}"
    if prompt.tools:
        yield f"{_INDENT}tools {', '.join(prompt.tools)}"
    if prompt.system is not None:
        yield from _text("system ", prompt.system.text)
    if prompt.instruction is not None:
        yield from _text("instruction ", prompt.instruction.text)
    if prompt.examples:
        yield f"{_INDENT}examples{' as turns' if prompt.as_turns else ''}:"
    for example in prompt.examples:
        inputs = ", ".join(f"{name} = {value_text(value)}" for name, value in example.inputs)
        yield f"{_INDENT * 2}{inputs} -> {value_text(example.output)}"
    if prompt.user is not None:
        yield from _text("", prompt.user.text)
    for turn in prompt.turns:
        if turn.text is not None:
            yield from _text(f"{turn.role} ", turn.text.text)
        else:
            yield f"{_INDENT}messages {turn.history}"
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
    best = f", best {value_text(score.best)}" if score.best is not None else ""
    direction = "lower" if score.lower else "higher"
    yield f"score {score.name}({_parameters(score.parameters)}) -> {direction}{best}:"
    if score.body != LOCAL_SCORE:
        yield from _region(score.body, _INDENT)
    yield f"{_INDENT}value {show(score.value)}"


def _metric(metric: ir.MetricFunction) -> Iterator[str]:
    claims = [(" best", metric.best), (" failed", metric.failed)]
    told = "".join(f",{word} {value_text(value)}" for word, value in claims if value is not None)
    direction = "lower" if metric.lower else "higher"
    share = ", share" if metric.share else ""
    yield f"metric {metric.name}({_parameters(metric.parameters)}) -> {direction}{told}{share}:"
    yield f"{_INDENT}value {show(metric.value)}"


def _scheme(scheme: ir.Scheme) -> Iterator[str]:
    many = "many " if scheme.many else ""
    collect = ", collect" if scheme.collect else ""
    head = f"scheme {scheme.name}({_parameters(scheme.parameters)}) -> {many}{scheme.result}"
    limits = ", ".join(f"{value_text(number)} {unit}" for unit, number in scheme.limits)
    yield f"{head}{collect}, truth {scheme.truth}{limits and f' within {limits}'}:"
    yield from _region(scheme.body, _INDENT)


def _parameters(parameters: Iterable[tuple[str, Type]]) -> str:
    return ", ".join(f"{name}: {type_}" for name, type_ in parameters)


def value_text(value: object) -> str:
    """A plain value as the language writes it. Raises ValueError if it cannot be written."""
    return show(literal(value))


# ---------------------------------------------------------------- regions and steps


def _region(region: ir.Region, margin: str) -> Iterator[str]:
    yield f"{margin}enter {region.entry}"
    for step in region.steps:
        yield margin + step_text(step)
        yield from _inside(step, margin + _INDENT)
    yield f"{margin}yield {region.result}"


def _inside(step: ir.Step, margin: str) -> Iterator[str]:
    if isinstance(step, ir.Try):
        yield from _region(step.tried, margin)
        yield f"{margin}otherwise"
        yield from _region(step.otherwise, margin + _INDENT)
        return
    if isinstance(step, ir.Search):
        parts = [("expand", step.expand), ("simulate", step.simulate), ("value", step.value)]
        for word, part in parts:
            if part is not None:
                yield f"{margin}{word}"
                yield from _region(part, margin + _INDENT)
        return
    if not isinstance(step, ir.Branching | ir.First):
        for body in step.regions:
            yield from _region(body, margin)
        return
    word = "case" if isinstance(step, ir.Match) else "when"
    for head, (_, body) in zip(step.heads, step.branches, strict=True):
        yield f"{margin}{word} {head}"
        yield from _region(body, margin + _INDENT)
    if step.otherwise is not None:
        yield f"{margin}otherwise"
        yield from _region(step.otherwise, margin + _INDENT)


def step_text(step: ir.Step) -> str:
    """The line of a step, without its nested regions."""
    one = " one" if step.single else ""
    return f"{step.result} = {_written(record_of(step).text, step)} : {step.type}{one}"


# ---------------------------------------------------------------- forms


@final
class Kind(Struct, frozen=True):
    """A kind of fields: how they are written, the grammar that parses them, the conversion of the parsed
    values, and the values when they are omitted."""

    show: Callable[..., str]
    grammar: str
    read: Callable[[Any], tuple[Any, ...]]
    absent: tuple[Any, ...] = (None,)


def called(name: str, arguments: Arguments) -> str:
    """`@name(key=value, ...)`."""
    return f"@{name}({', '.join(f'{key}={show(value)}' for key, value in arguments)})"


def named(arguments: tuple[e.Argument, ...]) -> Arguments:
    """Parsed arguments, by name."""
    return tuple((argument.name.text, argument.value) for argument in arguments if argument.name is not None)


def _judged(condition: e.Expression | None, prompt: str | None, arguments: Arguments) -> str:
    return called(prompt, arguments) if prompt is not None else "" if condition is None else show(condition)


def _python(function: str, arguments: tuple[tuple[str | None, e.Expression], ...]) -> str:
    given = (f"{key}={show(value)}" if key else show(value) for key, value in arguments)
    return f"@{function}({', '.join(given)})"


def _read_python(call: tuple[str, tuple[e.Argument, ...]]) -> tuple[Any, ...]:
    return call[0], tuple((a.name.text if a.name is not None else None, a.value) for a in call[1])


KINDS: dict[str, Kind] = {
    "expression": Kind(show, "expression", lambda node: (node,)),
    "name": Kind(str, "ir_name", lambda name: (name,)),
    "text": Kind(quote, "ir_text", lambda text: (text,)),
    "flag": Kind(lambda value: "", "", lambda flag: (True,), (False,)),
    "call": Kind(called, "ir_called", lambda call: (call[0], named(call[1]))),
    "judgement": Kind(
        _judged,
        "(ir_called | expression)",
        lambda found: (None, found[0], named(found[1])) if isinstance(found, tuple) else (found, None, ()),
    ),
    "search": Kind(
        lambda corpus, query: f"@{corpus}({show(query)})",
        "ir_called",
        lambda call: (call[0], call[1][0].value),
    ),
    "python": Kind(_python, "ir_called", _read_python),
    "settings": Kind(
        lambda settings: called("settings", settings)[1:], "ir_settings", lambda found: (found,), ((),)
    ),
    "stop": Kind(
        lambda stop: f"stop {show(stop.count)} {called(stop.score, stop.arguments)}",
        "ir_stop",
        lambda stop: (stop,),
    ),
    "expressions": Kind(lambda values: ", ".join(map(show, values)), "ir_values", lambda values: (values,)),
    "line": Kind(
        lambda line: f"line {quote(line.text)} {line.rank}", "ir_of_line", lambda found: (LineKey(*found),)
    ),
    "names": Kind(", ".join, "ir_names", lambda names: (names,), ((),)),
    "pairs": Kind(
        lambda pairs: f"({', '.join(f'{inner}={outer}' for inner, outer in pairs)})",
        "ir_pairs",
        lambda pairs: (pairs,),
        ((),),
    ),
}


_CALLS = tuple(KINDS[name] for name in ("call", "judgement", "python"))


def line_text(step: Step) -> str:
    """The call of a step, as its line says it unless a pass has changed the step; empty for one that calls no
    declaration of the program."""
    slots = [slot for part in parts(record_of(step).text) for slot in part.slots if slot.kind in _CALLS]
    return ", ".join(text[1:] for slot in slots if (text := slot.text(step)).startswith("@"))


@final
class Slot(Struct, frozen=True):
    """Fields of a step at one place of its form."""

    names: tuple[str, ...]
    kind: Kind
    flag: bool

    def text(self, step: Step) -> str:
        """The text of a step for it."""
        return self.names[0] if self.flag else self.kind.show(*(getattr(step, name) for name in self.names))

    def empty(self, step: Step) -> bool:
        """Whether all its fields are empty."""
        if self.names == ("line",):
            return step.line in (None, (line_text(step), 0))
        return getattr(step, self.names[0]) in (None, False, ())

    @property
    def grammar(self) -> str:
        """The rule that parses it."""
        return f"ir_flag_{self.names[0]}" if self.flag else self.kind.grammar


@final
class Part(Struct, frozen=True):
    """A part of a form: words and slots, all of which may be omitted if it is optional."""

    items: tuple[str | Slot, ...]
    optional: bool

    @property
    def slots(self) -> Iterator[Slot]:
        """The slots in it."""
        return (item for item in self.items if isinstance(item, Slot))


_PART = lazy_pattern(r"\[([^\]]*)\]|([^\[]+)")
_SLOT = lazy_pattern(r"\{([^}:]+)(?::(\w+))?\}")


@cache
def parts(form: str) -> tuple[Part, ...]:
    """A form, split into its parts."""
    return tuple(Part(tuple(_items(m[1] or m[2])), m[1] is not None) for m in _PART.finditer(form))


def _items(text: str) -> Iterator[str | Slot]:
    at = 0
    for match in _SLOT.finditer(text):
        if match.start() > at:
            yield text[at : match.start()]
        yield _slot(match[1], match[2])
        at = match.end()
    if at < len(text):
        yield text[at:]


def _slot(written: str, kind: str | None) -> Slot:
    names = tuple(re.findall(r"\w+", written))
    if kind is None:
        kind = "judgement" if "|" in written else "call" if "(" in written else "expression"
    return Slot(names, KINDS["name" if names == ("pool",) else kind], kind == "flag")


def _written(form: str, step: Step) -> str:
    """A step in its form."""
    shown = [
        part for part in parts(form) if not (part.optional and any(slot.empty(step) for slot in part.slots))
    ]
    return "".join(
        item if isinstance(item, str) else item.text(step) for part in shown for item in part.items
    )


def rule(form: str) -> str:
    """The right side of the grammar's rule for a form."""
    words = []
    for part in parts(form):
        inside = []
        for item in part.items:
            if isinstance(item, Slot):
                inside.append(item.grammar)
            else:
                inside += [f'"{word}"' for word in re.findall(r"\w+|[^\w\s]", item)]
        words.append(f"[{' '.join(inside)}]" if part.optional else " ".join(inside))
    return " ".join(words)


def flags(form: str) -> set[str]:
    """The names of the flags of a form."""
    return {slot.names[0] for part in parts(form) for slot in part.slots if slot.flag}


def fields(form: str, children: list[Any]) -> dict[str, Any]:
    """The fields of a step, from the parsed rule."""
    found: dict[str, Any] = {}
    slots = [slot for part in parts(form) for slot in part.slots]
    for slot, child in zip(slots, children, strict=True):
        values = slot.kind.absent if child is None else slot.kind.read(child)
        found.update(zip(slot.names, values, strict=True))
    return found
