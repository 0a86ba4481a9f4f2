"""The built-in functions: what each takes, what type it gives, and what it does. One entry a function.

All are pure and total but for EvaluationError; none looks at anything but its arguments.
"""

from __future__ import annotations

import math
import re
import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

from gotlang.errors import EvaluationError
from gotlang.semantics.limits import MAX_ELEMENTS
from gotlang.types import (
    ANY,
    BOOL,
    FLOAT,
    INT,
    STR,
    AnyType,
    DictType,
    ListType,
    RecordType,
    Type,
    accepts,
    join,
)

NUMBERS = ListType(FLOAT)
TEXTS = ListType(STR)
LIST = ListType(ANY)


@final
@dataclass(frozen=True, slots=True)
class Builtin:
    """A built-in function.

    `takes` are the types of its arguments, the last `optional` of which may be left out;
    `rest` is the type of any further ones. `gives` makes the result's type from the arguments'.
    """

    name: str
    takes: tuple[Type, ...]
    gives: Callable[[Sequence[Type]], Type]
    call: Callable[..., Any]
    optional: int = 0
    rest: Type | None = None
    doc: str = ""

    def signature(self) -> str:
        """`round(float, int?)`: for messages and the reference."""
        required = len(self.takes) - self.optional
        words = [f"{t}{'' if i < required else '?'}" for i, t in enumerate(self.takes)]
        if self.rest is not None:
            words.append(f"{self.rest}...")
        return f"{self.name}({', '.join(words)})"


def _always(type_: Type) -> Callable[[Sequence[Type]], Type]:
    return lambda _: type_


def _element(type_: Type) -> Type:
    return type_.element if isinstance(type_, ListType) else STR if type_ == STR else ANY


def _same(types: Sequence[Type]) -> Type:
    return types[0]


def _list_of_element(types: Sequence[Type]) -> Type:
    return ListType(_element(types[0]))


def _number(types: Sequence[Type]) -> Type:
    found = _element(types[0]) if len(types) == 1 and isinstance(types[0], ListType) else types[0]
    for other in types[1:]:
        found = join(found, other) or ANY
    return found


def _concat(types: Sequence[Type]) -> Type:
    element: Type | None = None
    for type_ in types:
        element = _element(type_) if element is None else join(element, _element(type_))
        if element is None:
            return LIST
    return ListType(element or ANY)


def _flatten(types: Sequence[Type]) -> Type:
    inner = _element(types[0])
    return ListType(_element(inner) if isinstance(inner, ListType) else ANY)


def _items(value: Any) -> list[Any]:
    return list(value)


def _extreme(pick: Callable[[Any], Any], name: str) -> Callable[..., Any]:
    def run(*values: Any) -> Any:
        pool = values[0] if len(values) == 1 and isinstance(values[0], list) else values
        if not pool:
            raise EvaluationError(f"`{name}` of an empty list")
        return pick(pool)

    return run


def _mean(values: list[float]) -> float:
    if not values:
        raise EvaluationError("`mean` of an empty list")
    return math.fsum(values) / len(values)


def _median(values: list[float]) -> float:
    if not values:
        raise EvaluationError("`median` of an empty list")
    return float(statistics.median(values))


def _hmean(*values: Any) -> float:
    pool = values[0] if len(values) == 1 and isinstance(values[0], list) else values
    if not pool:
        raise EvaluationError("`hmean` of an empty list")
    if any(v < 0 for v in pool):
        raise EvaluationError("`hmean` of a negative number")
    return 0.0 if any(v == 0 for v in pool) else len(pool) / math.fsum(1 / v for v in pool)


def _range(*bounds: int) -> list[int]:
    numbers = range(*bounds)
    if len(numbers) > MAX_ELEMENTS:
        raise EvaluationError(f"`range` of more than {MAX_ELEMENTS:,} numbers")
    return list(numbers)


def _frozen(value: Any) -> Any:
    """A value that can be counted: equal values give equal ones."""
    if isinstance(value, list):
        return ("list", *map(_frozen, value))
    if isinstance(value, dict):
        return ("dict", *sorted((k, _frozen(v)) for k, v in value.items()))
    return (isinstance(value, bool), value) if isinstance(value, bool | int) else value


def _unique(values: Sequence[Any]) -> list[Any]:
    return list({_frozen(value): value for value in reversed(values)}.values())[::-1]


def _set(values: Sequence[Any]) -> list[Any]:
    return _sorted(_unique(values))


def _sorted(values: Sequence[Any]) -> list[Any]:
    try:
        return sorted(values)
    except TypeError:
        raise EvaluationError("these values have no order between them") from None


def _descents(values: list[Any]) -> int:
    return sum(a > b for a, b in zip(values, values[1:], strict=False))


def _count_difference(left: list[Any], right: list[Any]) -> int:
    a, b = Counter(map(_frozen, left)), Counter(map(_frozen, right))
    return sum(abs(a[key] - b[key]) for key in a.keys() | b.keys())


def _split(text: str, separator: str | None = None) -> list[str]:
    if separator == "":
        raise EvaluationError("`split` by an empty text")
    return text.split(separator)


def _to_int(value: Any) -> int:
    try:
        return int(value.replace(",", "").strip() if isinstance(value, str) else value)
    except (ValueError, OverflowError):
        raise EvaluationError(f"`{str(value)[:40]}` is not a whole number") from None


def _to_float(value: Any) -> float:
    try:
        return float(value)
    except ValueError:
        raise EvaluationError(f"`{str(value)[:40]}` is not a number") from None


def _guarded(function: Callable[[float], float], name: str) -> Callable[[float], float]:
    def run(x: float) -> float:
        try:
            return function(x)
        except (ValueError, OverflowError):
            raise EvaluationError(f"`{name}({x:g})` has no value") from None

    return run


def _round(value: float, digits: int | None = None) -> float:
    return round(value, digits)


_REFERENCE = re.compile(r"<(\d{1,6})>")


def references(text: str) -> list[int]:
    """The positions (from 0) that `<1>`, `<2>`, ... in a text refer to, each once, in order of mention."""
    return list(dict.fromkeys(int(m[1]) - 1 for m in _REFERENCE.finditer(text) if int(m[1]) > 0))


def fill(text: str, answers: list[Any]) -> str:
    """The text with the answers in place of its references, in the order in which `references` gives them."""
    by_position = dict(zip(references(text), answers, strict=False))
    return _REFERENCE.sub(lambda m: str(by_position.get(int(m[1]) - 1, m[0])), text)


def _chunks(values: Sequence[Any], parts: int) -> list[Any]:
    if parts < 1:
        raise EvaluationError("`chunks` into fewer than one part")
    size, extra = divmod(len(values), parts)
    ends = [size * i + min(i, extra) for i in range(parts + 1)]
    return [values[a:b] for a, b in zip(ends, ends[1:], strict=False)]


def _keys(value: dict[str, Any]) -> list[str]:
    return list(value)


def _values(value: dict[str, Any]) -> list[Any]:
    return list(value.values())


def _value_type(types: Sequence[Type]) -> Type:
    match types[0]:
        case DictType(value):
            return ListType(value)
        case RecordType(fields):
            found: Type | None = None
            for _, type_ in fields:
                found = type_ if found is None else join(found, type_)
            return ListType(found or ANY)
    return LIST


def _get(value: dict[str, Any], key: str, default: Any) -> Any:
    return value.get(key, default)


def _get_type(types: Sequence[Type]) -> Type:
    inner = types[0].value if isinstance(types[0], DictType) else ANY
    return join(inner, types[2]) or ANY


def _counts(values: list[str]) -> dict[str, int]:
    return dict(Counter(map(str, values)))


BUILTINS: dict[str, Builtin] = {
    entry.name: entry
    for entry in (
        Builtin("len", (LIST,), _always(INT), len, doc="elements of a list, characters of a text"),
        Builtin("sum", (NUMBERS,), _number, sum, doc="0 for an empty list"),
        Builtin("min", (ANY,), _number, _extreme(min, "min"), rest=ANY, doc="of a list or of the arguments"),
        Builtin("max", (ANY,), _number, _extreme(max, "max"), rest=ANY, doc="of a list or of the arguments"),
        Builtin("mean", (NUMBERS,), _always(FLOAT), _mean, doc="arithmetic mean"),
        Builtin("median", (NUMBERS,), _always(FLOAT), _median, doc="the middle one, or the mean of the two"),
        Builtin("hmean", (ANY,), _always(FLOAT), _hmean, rest=FLOAT, doc="harmonic mean; 0 where one is 0"),
        Builtin("round", (FLOAT, INT), _same, _round, optional=1, doc="to a whole number, or to so many digits"),
        Builtin("abs", (FLOAT,), _same, abs, doc="without the sign"),
        Builtin("sorted", (LIST,), _list_of_element, _sorted, doc="in ascending order"),
        Builtin("reversed", (LIST,), _list_of_element, lambda v: _items(v)[::-1], doc="last element first"),
        Builtin("range", (INT, INT, INT), _always(ListType(INT)), _range, optional=2, doc="as in Python"),
        Builtin("zip", (LIST, LIST), _always(ListType(LIST)), lambda a, b: [[x, y] for x, y in zip(a, b, strict=False)], doc="pairs of elements, up to the shorter list"),
        Builtin("enumerate", (LIST,), _always(ListType(LIST)), lambda v: [[i, x] for i, x in enumerate(v)], doc="pairs of position and element"),
        Builtin("any", (ListType(BOOL),), _always(BOOL), any, doc="whether one is true"),
        Builtin("all", (ListType(BOOL),), _always(BOOL), all, doc="whether none is false"),
        Builtin("count", (LIST, ANY), _always(INT), lambda v, x: v.count(x), doc="how often an element is in a list, a text in a text"),
        Builtin("set", (LIST,), _list_of_element, _set, doc="each element once, in ascending order"),
        Builtin("unique", (LIST,), _list_of_element, _unique, doc="each element once, in the order of first mention"),
        Builtin("intersection", (LIST, LIST), _concat, lambda a, b: [x for x in _unique(a) if _frozen(x) in {_frozen(y) for y in b}], doc="elements of both, each once"),
        Builtin("difference", (LIST, LIST), _same, lambda a, b: [x for x in a if _frozen(x) not in {_frozen(y) for y in b}], doc="elements of the first that are not in the second"),
        Builtin("join", (TEXTS, STR), _always(STR), lambda v, s="": s.join(map(str, v)), optional=1, doc="texts one after the other, with a text between them"),
        Builtin("split", (STR, STR), _always(TEXTS), _split, optional=1, doc="at white space, or at a text"),
        Builtin("lines", (STR,), _always(TEXTS), lambda t: [s.strip() for s in t.splitlines() if s.strip()], doc="the lines that are not empty, trimmed"),
        Builtin("strip", (STR,), _always(STR), str.strip, doc="without white space at both ends"),
        Builtin("lower", (STR,), _always(STR), str.lower, doc="in small letters"),
        Builtin("upper", (STR,), _always(STR), str.upper, doc="in capital letters"),
        Builtin("replace", (STR, STR, STR), _always(STR), lambda t, a, b: t.replace(a, b) if len(t) * max(1, len(b)) <= 10 * MAX_ELEMENTS else _too_long(), doc="every mention of a text replaced by another"),
        Builtin("starts_with", (STR, STR), _always(BOOL), str.startswith, doc="whether a text starts with another"),
        Builtin("str", (ANY,), _always(STR), lambda v: text_of(v), doc="as a prompt would show it"),
        Builtin("int", (ANY,), _always(INT), _to_int, doc="a number without its fraction, or a text read as a number"),
        Builtin("float", (ANY,), _always(FLOAT), _to_float, doc="a text or whole number as a number"),
        Builtin("concat", (LIST,), _concat, lambda *v: [x for part in v for x in part], rest=LIST, doc="lists one after the other"),
        Builtin("flatten", (ListType(LIST),), _flatten, lambda v: [x for part in v for x in part], doc="a list of lists as one list"),
        Builtin("pairs", (LIST,), lambda t: ListType(_list_of_element(t)), lambda v: [list(p) for p in zip(v, v[1:], strict=False)], doc="each element with the next"),
        Builtin("chunks", (LIST, INT), lambda t: ListType(t[0]), _chunks, doc="a list cut into so many parts of equal length, the first ones longer by one where it must be"),
        Builtin("descents", (LIST,), _always(INT), _descents, doc="neighbours that stand in the wrong order (X in section 5.1 of the paper)"),
        Builtin("count_difference", (LIST, LIST), _always(INT), _count_difference, doc="by how much the counts of each element differ, in sum (Y in section 5.1)"),
        Builtin("keys", (DictType(ANY),), _always(TEXTS), _keys, doc="the names in a mapping"),
        Builtin("values", (DictType(ANY),), _value_type, _values, doc="the values in a mapping"),
        Builtin("get", (DictType(ANY), STR, ANY), _get_type, _get, doc="the value of a name in a mapping, or the third argument"),
        Builtin("counts", (TEXTS,), _always(DictType(INT)), _counts, doc="how often each text is in a list"),
        Builtin("references", (STR,), _always(ListType(INT)), references, doc="positions from 0 that `<1>`, `<2>`, ... refer to"),
        Builtin("fill", (STR, LIST), _always(STR), fill, doc="a text with answers in place of its references"),
        Builtin("exp", (FLOAT,), _always(FLOAT), _guarded(math.exp, "exp"), doc="e to the power"),
        Builtin("log", (FLOAT,), _always(FLOAT), _guarded(math.log, "log"), doc="natural logarithm"),
        Builtin("sqrt", (FLOAT,), _always(FLOAT), _guarded(math.sqrt, "sqrt"), doc="square root"),
        Builtin("cos", (FLOAT,), _always(FLOAT), math.cos, doc="cosine of radians"),
        Builtin("anneal", (FLOAT,), _always(FLOAT), lambda x: (1 + math.cos(math.pi * x)) / 2, doc="cosine annealing: from 1 at 0 down to 0 at 1"),
        Builtin("floor", (FLOAT,), _always(INT), math.floor, doc="the next whole number below"),
        Builtin("ceil", (FLOAT,), _always(INT), math.ceil, doc="the next whole number above"),
    )
}  # fmt: skip

CONSTANTS = {"pi": math.pi}

THOUGHT_FUNCTIONS: dict[str, tuple[Type, str]] = {
    "confidence": (FLOAT, "the probability the model gave its answer, 0 to 1 (needs `logprobs=true`)"),
    "cost": (FLOAT, "what the thought's answer cost, in US dollars"),
    "score": (FLOAT, "the score a `Score` gave the thought"),
    "valid": (BOOL, "whether a `Validate` found the thought valid"),
}
"""Functions of a thought rather than of its value: their argument is the name of one thought."""


def _too_long() -> str:
    raise EvaluationError(f"this would have more than {MAX_ELEMENTS:,} characters")


def text_of(value: Any) -> str:
    """A value as a prompt would show it: texts as they are, the rest as JSON."""
    if isinstance(value, str):
        return value
    import json

    return json.dumps(value, ensure_ascii=False)


def fits_argument(wanted: Type, given: Type) -> bool:
    """Whether a built-in takes an argument of a type; a text may stand for a list of its characters."""
    if wanted == LIST and (given == STR or isinstance(given, AnyType)):
        return True
    return accepts(wanted, given)
