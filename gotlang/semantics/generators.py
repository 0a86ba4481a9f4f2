"""Generators of the inputs of a `law`: their types, random values, and smaller values for counterexamples.

int  ints(-5, 5)  float  floats(0, 1)  bool  str  texts(20)  ["a", "b"]  lists(int, 10)  {n: int, word: str}
rows("data/digits.csv", {numbers: list[int]}, numbers="Unsorted")
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, final

from msgspec import Struct

from gotlang.diagnostics import Report
from gotlang.frozen import Frozen
from gotlang.semantics.params import constant_value
from gotlang.span import Span
from gotlang.syntax import expressions as e
from gotlang.types import FILE, FLOAT, IMAGE, INT, STR, ListType, RecordType, Type, join, of_value

if TYPE_CHECKING:
    import random

LARGEST = 100
"""Numbers are from -100 to 100 unless a generator says otherwise."""
_LETTERS = "abcdefghijklmnopqrstuvwxyzABC 0123456789 .,-?'éß→"
_SOURCE = ("int", "float", "bool", "str", "ints", "floats", "texts", "lists", "rows")
HELP = 'write `int`, `ints(0, 9)`, `texts(20)`, `["a", "b"]`, `lists(int, 10)`, `{n: int}` or `rows(...)`'


@final
class DataRows(Frozen, frozen=True):
    """The rows of a data file, as records of these columns by field."""

    path: str
    columns: tuple[tuple[str, str], ...]
    span: Span


@final
class Generator(Struct, frozen=True):
    """A generator of values of a type: random ones, and simpler ones to try instead of one (the simplest
    first). Values of `rows` come from a file; they are neither random nor simplified here."""

    type: Type
    draw: Callable[[random.Random], Any]
    simpler: Callable[[Any], Iterator[Any]] = lambda _: iter(())
    rows: DataRows | None = None


def generator(node: e.Expression, report: Report) -> Generator | None:
    """The generator that an expression names. None, with an error in the report, if it names none."""
    try:
        match node:
            case e.Reference(name="int"):
                return _ints(-LARGEST, LARGEST)
            case e.Reference(name="float"):
                return _floats(-LARGEST, LARGEST)
            case e.Reference(name="bool"):
                return _one_of([False, True])
            case e.Reference(name="str"):
                return _texts(20)
            case e.ListDisplay(elements=(_, *_)):
                return _one_of(constant_value(node))
            case e.Index(value=e.Reference(name="list"), index=inner):
                found = generator(inner, report)
                return found and _lists(found, 10)
            case e.RecordDisplay(entries=entries) if all(key is not None for key, _ in entries):
                return _all_of({str(key): generator(value, report) for key, value in entries})
            case e.Call(function=e.Identifier(text=name), arguments=arguments) if name in _SOURCE:
                return _called(name, node, arguments, report)
    except (TypeError, ValueError):
        pass
    report.error("GOT0761", "not a generator", node.span, help=HELP)
    return None


def _called(name: str, node: e.Call, given: tuple[e.Argument, ...], report: Report) -> Generator | None:
    plain = [argument.value for argument in given if argument.name is None]
    named = {argument.name.text: argument.value for argument in given if argument.name is not None}
    match name, plain:
        case ("ints", [low, high]) if not named:
            return _ints(_whole(low), _whole(high))
        case ("floats", [low, high]) if not named:
            return _floats(_number(low), _number(high))
        case ("texts", [most]) if not named:
            return _texts(_whole(most))
        case ("ints" | "floats" | "texts", []) if not named:
            return generator(e.Reference(node.span, {"i": "int", "f": "float", "t": "str"}[name[0]]), report)
        case ("lists", [inner, *most]) if not named and len(most) < 2:
            found = generator(inner, report)
            return found and _lists(found, _whole(most[0]) if most else 10)
        case "rows", [e.Constant(value=str() as path), e.RecordDisplay(entries=entries)]:
            record = _all_of({str(key): _path(value) or generator(value, report) for key, value in entries})
            if record is None or not isinstance(record.type, RecordType):
                return None
            columns = tuple((key, str(constant_value(value))) for key, value in named.items())
            if named.keys() <= dict(record.type.fields).keys():
                return Generator(record.type, record.draw, rows=DataRows(path, columns, node.span))
    raise ValueError


def _all_of(parts: dict[str, Generator | None]) -> Generator | None:
    known = {key: part for key, part in parts.items() if part is not None}
    return _record(known) if len(known) == len(parts) else None


def _path(node: e.Expression) -> Generator | None:
    """An image or a file, which only rows contain."""
    kind = {"image": IMAGE, "file": FILE}.get(node.name) if isinstance(node, e.Reference) else None
    return None if kind is None else Generator(kind, lambda _: "")


def _number(node: e.Expression) -> float:
    value = constant_value(node)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError
    return value


def _whole(node: e.Expression) -> int:
    value = _number(node)
    if not isinstance(value, int) or abs(value) > 10**9:
        raise TypeError
    return value


def _ints(low: int, high: int) -> Generator:
    if low > high:
        raise ValueError
    nearest = min(max(0, low), high)

    def simpler(value: int) -> Iterator[int]:
        far = value - nearest
        while far:
            yield value - far
            far = int(far / 2)

    return Generator(INT, lambda chance: chance.randint(low, high), simpler)


def _floats(low: float, high: float) -> Generator:
    if low > high:
        raise ValueError
    return Generator(
        FLOAT,
        lambda chance: low + (high - low) * chance.random(),
        lambda value: (float(n) for n in (round(value),) if n != value and low <= n <= high),
    )


def _texts(most: int) -> Generator:
    if not 0 <= most <= 10_000:
        raise ValueError
    return Generator(
        STR, lambda chance: "".join(chance.choices(_LETTERS, k=chance.randint(0, most))), lambda t: _parts(t)
    )


def _one_of(values: list[Any]) -> Generator:
    found: Type | None = of_value(values[0])
    for value in values[1:]:
        found = join(found, of_value(value)) if found is not None else None
    if found is None:
        raise TypeError
    return Generator(
        found, lambda chance: chance.choice(values), lambda value: iter(values[: values.index(value)])
    )


def _lists(inner: Generator, most: int) -> Generator:
    if not 0 <= most <= 10_000 or inner.rows is not None:
        raise ValueError

    def simpler(value: list[Any]) -> Iterator[list[Any]]:
        yield from _parts(value)
        for at, element in enumerate(value):
            yield from ([*value[:at], other, *value[at + 1 :]] for other in inner.simpler(element))

    def draw(chance: random.Random) -> list[Any]:
        return [inner.draw(chance) for _ in range(chance.randint(0, most))]

    return Generator(ListType(inner.type), draw, simpler)


def _record(parts: dict[str, Generator]) -> Generator:
    if any(part.rows is not None for part in parts.values()):
        raise ValueError

    def simpler(value: dict[str, Any]) -> Iterator[dict[str, Any]]:
        for key, part in parts.items():
            yield from ({**value, key: other} for other in part.simpler(value[key]))

    return Generator(
        RecordType(tuple((key, part.type) for key, part in parts.items())),
        lambda chance: {key: part.draw(chance) for key, part in parts.items()},
        simpler,
    )


def _parts(value: Any) -> Iterator[Any]:
    """Parts of a text or list: nothing, its halves, and all but one element."""
    half = len(value) // 2
    if value:
        yield value[:0]
    if half:
        yield from (value[:half], value[half:])
    if len(value) > 2:
        yield from (value[:at] + value[at + 1 :] for at in range(len(value)))
