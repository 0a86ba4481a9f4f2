"""The text forms of steps, as their records give them: how `gotc ir` writes a step, and how it is read back.

    "KeepBestN {count} from {pool}"
    "Score {value|score(arguments)} from {pool}, k {k}[, {batched:flag}]"

Braces hold a field of the step, or several that make one word; brackets hold what is left out where its
field is empty. Fields are expressions unless a kind is named after a colon, or parentheses and bars show
that they are a call. The form is also the rule of the grammar that reads the step.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, final

from gotlang.operations.step import Arguments, Step
from gotlang.syntax import expressions as e
from gotlang.syntax.format import format_expression as show
from gotlang.syntax.texts import quote


@final
@dataclass(frozen=True, slots=True)
class Kind:
    """How fields of one kind are written, the grammar that reads them, their values from what that gives,
    and their values where they are left out."""

    show: Callable[..., str]
    grammar: str
    read: Callable[[Any], tuple[Any, ...]]
    absent: tuple[Any, ...] = (None,)


def called(name: str, arguments: Arguments) -> str:
    """`@name(key=value, ...)`."""
    return f"@{name}({', '.join(f'{key}={show(value)}' for key, value in arguments)})"


def named(arguments: tuple[e.Argument, ...]) -> Arguments:
    """Arguments that were read, by name."""
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
    "pairs": Kind(
        lambda pairs: f"({', '.join(f'{inner}={outer}' for inner, outer in pairs)})",
        "ir_pairs",
        lambda pairs: (pairs,),
        ((),),
    ),
}


@final
@dataclass(frozen=True, slots=True)
class Slot:
    """Fields of a step at one place of its form."""

    names: tuple[str, ...]
    kind: Kind
    flag: bool

    def text(self, step: Step) -> str:
        """What stands there."""
        return self.names[0] if self.flag else self.kind.show(*(getattr(step, name) for name in self.names))

    def empty(self, step: Step) -> bool:
        """Whether nothing does."""
        return getattr(step, self.names[0]) in (None, False, ())

    @property
    def grammar(self) -> str:
        """The rule that reads it."""
        return f"ir_flag_{self.names[0]}" if self.flag else self.kind.grammar


@final
@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a form: words and slots, all of which may be left out where it is optional."""

    items: tuple[str | Slot, ...]
    optional: bool

    @property
    def slots(self) -> Iterator[Slot]:
        """The slots in it."""
        return (item for item in self.items if isinstance(item, Slot))


_PART = re.compile(r"\[([^\]]*)\]|([^\[]+)")
_SLOT = re.compile(r"\{([^}:]+)(?::(\w+))?\}")


@cache
def parts(form: str) -> tuple[Part, ...]:
    """A form, taken apart."""
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


def write(form: str, step: Step) -> str:
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
    """The fields of a step, from what its rule has read."""
    found: dict[str, Any] = {}
    slots = [slot for part in parts(form) for slot in part.slots]
    for slot, child in zip(slots, children, strict=True):
        values = slot.kind.absent if child is None else slot.kind.read(child)
        found.update(zip(slot.names, values, strict=True))
    return found
