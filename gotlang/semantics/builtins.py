"""The built-in functions: their types and what they do.

All are pure; they depend on their arguments only, and raise nothing but EvaluationError.
"""

from __future__ import annotations

import json
import math
import re
import statistics
import string
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar, final

from gotlang.errors import EvaluationError
from gotlang.operations.checks import frozen
from gotlang.semantics.limits import MAX_ELEMENTS
from gotlang.types import (
    ANY,
    BOOL,
    FLOAT,
    INT,
    STR,
    DictType,
    ListType,
    LiteralType,
    RecordType,
    Type,
    accepts,
    join,
)

NUMBERS = ListType(FLOAT)
TEXTS = ListType(STR)
LIST = ListType(ANY)
MAPPING = DictType(ANY)
COUNTS = DictType(INT)

CONSTANTS = {"pi": math.pi}


@final
@dataclass(frozen=True, slots=True)
class Builtin:
    """A built-in function.

    `takes` are the types of its arguments, the last `optional` of which may be omitted; `rest` is the type of
    any further ones. `gives` is the type of the result, or a function of the arguments' types.
    """

    name: str
    takes: tuple[Type, ...]
    gives: Type | Callable[[Sequence[Type]], Type]
    call: Callable[..., Any]
    doc: str
    optional: int = 0
    rest: Type | None = None

    def result(self, types: Sequence[Type]) -> Type:
        """The type of the result for arguments of some types."""
        return self.gives(types) if callable(self.gives) else self.gives

    def signature(self) -> str:
        """`round(float, int?)`: for messages and the reference."""
        required = len(self.takes) - self.optional
        words = [f"{t}{'' if i < required else '?'}" for i, t in enumerate(self.takes)]
        if self.rest is not None:
            words.append(f"{self.rest}...")
        return f"{self.name}({', '.join(words)})"


BUILTINS: dict[str, Builtin] = {}

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _builtin(
    *takes: Type,
    gives: Type | Callable[[Sequence[Type]], Type],
    optional: int = 0,
    rest: Type | None = None,
) -> Callable[[_Function], _Function]:
    """Registers a function as the built-in of its name, described by the first line of its docstring."""

    def register(function: _Function) -> _Function:
        name, doc = (
            function.__name__.removesuffix("_"),
            (function.__doc__ or "").partition("\n")[0].rstrip("."),
        )
        BUILTINS[name] = Builtin(name, takes, gives, function, doc[:1].lower() + doc[1:], optional, rest)
        return function

    return register


def fits_argument(wanted: Type, given: Type) -> bool:
    """Whether a built-in accepts an argument of a type; a text can be a list of its characters."""
    return accepts(wanted, given) or (wanted == LIST and is_text(given))


# ---------------------------------------------------------------- types of results


def is_text(type_: Type) -> bool:
    """Whether values of a type are texts."""
    return type_ == STR or isinstance(type_, LiteralType)


def _element(type_: Type) -> Type:
    return type_.element if isinstance(type_, ListType) else STR if is_text(type_) else ANY


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


def _get_type(types: Sequence[Type]) -> Type:
    inner = types[0].value if isinstance(types[0], DictType) else ANY
    return join(inner, types[2]) or ANY


# ---------------------------------------------------------------- numbers


def _guarded(function: Callable[[float], float]) -> Callable[[float], float]:
    def run(x: float) -> float:
        try:
            return function(x)
        except (ValueError, OverflowError):
            raise EvaluationError(f"`{function.__name__}({x:g})` has no value") from None

    return run


def _pool(name: str, values: Sequence[Any]) -> Any:
    """The values of a call with one list or several arguments."""
    pool = values[0] if len(values) == 1 and isinstance(values[0], list) else values
    if not pool:
        raise EvaluationError(f"`{name}` of an empty list")
    return pool


@_builtin(NUMBERS, gives=FLOAT)
def mean(values: list[float]) -> float:
    """Arithmetic mean."""
    return math.fsum(_pool("mean", [values])) / len(values)


@_builtin(NUMBERS, gives=FLOAT)
def median(values: list[float]) -> float:
    """The middle value, or the mean of the two middle values."""
    return float(statistics.median(_pool("median", [values])))


@_builtin(ANY, gives=FLOAT, rest=FLOAT)
def hmean(*values: Any) -> float:
    """Harmonic mean; 0 if a value is 0."""
    pool = _pool("hmean", values)
    if any(v < 0 for v in pool):
        raise EvaluationError("`hmean` of a negative number")
    return 0.0 if any(v == 0 for v in pool) else len(pool) / math.fsum(1 / v for v in pool)


@_builtin(INT, INT, INT, gives=ListType(INT), optional=2)
def range_(*bounds: int) -> list[int]:
    """As in Python."""
    numbers = range(*bounds)
    if len(numbers) > MAX_ELEMENTS:
        raise EvaluationError(f"`range` of more than {MAX_ELEMENTS:,} numbers")
    return list(numbers)


@_builtin(ANY, gives=INT)
def int_(value: Any) -> int:
    """A number without its fraction, or a text parsed as a number."""
    try:
        return int(value.replace(",", "").strip() if isinstance(value, str) else value)
    except (ValueError, OverflowError):
        raise EvaluationError(f"`{str(value)[:40]}` is not a whole number") from None


@_builtin(ANY, gives=FLOAT)
def float_(value: Any) -> float:
    """A text or whole number as a number."""
    try:
        made = float(value)
    except ValueError:
        made = math.nan
    if isinstance(value, str) and not math.isfinite(made):  # Python also reads `nan`, `infinity` and `1e999`
        raise EvaluationError(f"`{value[:40]}` is not a number")
    return made


@_builtin(FLOAT, gives=FLOAT)
def anneal(progress: float) -> float:
    """Cosine annealing: from 1 at 0 down to 0 at 1."""
    return (1 + math.cos(math.pi * progress)) / 2


# ---------------------------------------------------------------- lists


@_builtin(LIST, gives=_list_of_element)
def sorted_(values: Sequence[Any]) -> list[Any]:
    """In ascending order."""
    try:
        return sorted(values)
    except TypeError:
        raise EvaluationError("these values cannot be ordered") from None


@_builtin(LIST, gives=_list_of_element)
def unique(values: Sequence[Any]) -> list[Any]:
    """Each element once, in the order of first occurrence."""
    return list({frozen(value): value for value in reversed(values)}.values())[::-1]


@_builtin(LIST, gives=_list_of_element)
def set_(values: Sequence[Any]) -> list[Any]:
    """Each element once, in ascending order."""
    return sorted_(unique(values))


@_builtin(LIST, LIST, gives=ListType(LIST))
def zip_(left: Sequence[Any], right: Sequence[Any]) -> list[Any]:
    """Pairs of elements, up to the shorter list."""
    return [list(pair) for pair in zip(left, right, strict=False)]


@_builtin(LIST, gives=ListType(LIST))
def enumerate_(values: Sequence[Any]) -> list[Any]:
    """Pairs of position and element."""
    return [list(pair) for pair in enumerate(values)]


@_builtin(LIST, gives=lambda types: ListType(_list_of_element(types)))
def pairs(values: Sequence[Any]) -> list[Any]:
    """Each element with the next."""
    return [list(pair) for pair in pairwise(values)]


@_builtin(LIST, LIST, gives=_concat)
def intersection(left: Sequence[Any], right: Sequence[Any]) -> list[Any]:
    """Elements of both, each once."""
    known = {frozen(value) for value in right}
    return [value for value in unique(left) if frozen(value) in known]


@_builtin(LIST, LIST, gives=_list_of_element)
def difference(left: Sequence[Any], right: Sequence[Any]) -> list[Any]:
    """Elements of the first that are not in the second."""
    known = {frozen(value) for value in right}
    return [value for value in left if frozen(value) not in known]


@_builtin(LIST, gives=_concat, rest=LIST)
def concat(*lists: Sequence[Any]) -> list[Any]:
    """Lists one after the other."""
    return [value for part in lists for value in part]


@_builtin(LIST, INT, gives=lambda types: ListType(STR if is_text(types[0]) else types[0]))
def chunks(values: Sequence[Any], parts: int) -> list[Any]:
    """A list split into so many parts of equal length; the first ones may be longer by one."""
    if parts < 1:
        raise EvaluationError("`chunks` into fewer than one part")
    if parts > MAX_ELEMENTS:
        raise EvaluationError(f"`chunks` into more than {MAX_ELEMENTS:,} parts")
    size, extra = divmod(len(values), parts)
    ends = [size * i + min(i, extra) for i in range(parts + 1)]
    return [values[a:b] for a, b in pairwise(ends)]


@_builtin(LIST, gives=INT)
def descents(values: list[Any]) -> int:
    """Adjacent pairs in the wrong order (X in section 5.1 of the paper)."""
    return sum(a > b for a, b in pairwise(values))


@_builtin(LIST, LIST, gives=INT)
def count_difference(left: list[Any], right: list[Any]) -> int:
    """The sum of the differences in the counts of each element (Y in section 5.1)."""
    if {*map(type, left), *map(type, right)} <= {int, float, str}:  # counted as they are, much faster
        a, b = Counter(left), Counter(right)
    else:
        a, b = Counter(map(frozen, left)), Counter(map(frozen, right))
    return sum(abs(a[key] - b[key]) for key in a.keys() | b.keys())


# ---------------------------------------------------------------- texts


@_builtin(ANY, gives=STR)
def str_(value: Any) -> str:
    """As a prompt shows it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


@_builtin(TEXTS, STR, gives=STR, optional=1)
def join_(values: Sequence[Any], separator: str = "") -> str:
    """Texts one after the other, with a separator."""
    return separator.join(map(str_, values))


@_builtin(STR, gives=TEXTS)
def lines(text: str) -> list[str]:
    """The lines that are not empty, trimmed."""
    return [line.strip() for line in text.splitlines() if line.strip()]


@_builtin(STR, STR, gives=TEXTS, optional=1)
def split(text: str, separator: str | None = None) -> list[str]:
    """At white space, or at a text."""
    if separator == "":
        raise EvaluationError("`split` by an empty text")
    return text.split(separator)


@_builtin(STR, STR, STR, gives=STR)
def replace(text: str, old: str, new: str) -> str:
    """Every occurrence of a text replaced by another."""
    if len(text) * max(1, len(new)) > 10 * MAX_ELEMENTS:
        raise EvaluationError(f"this would have more than {MAX_ELEMENTS:,} characters")
    return text.replace(old, new)


_REFERENCE = re.compile(r"<(\d{1,6})>")


@_builtin(STR, gives=ListType(INT))
def references(text: str) -> list[int]:
    """Positions from 0 that `<1>`, `<2>`, ... refer to, each once.

    They are in the order of their first occurrence.
    """
    return list(dict.fromkeys(int(m[1]) - 1 for m in _REFERENCE.finditer(text) if int(m[1]) > 0))


@_builtin(STR, LIST, gives=STR)
def fill(text: str, answers: list[Any]) -> str:
    """A text with answers in place of its references.

    Answers are in the order of `references`. A reference without an answer stays: a model may refer to
    something that does not come before.
    """
    found = dict(zip(references(text), answers, strict=False))
    known = {position: str_(answer) for position, answer in found.items() if answer is not None}
    return _REFERENCE.sub(lambda m: known.get(int(m[1]) - 1, m[0]), text)


_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_WHOLE = frozenset({"yes", "no", "noanswer"})
"""Answers that agree as a whole or not at all."""


def normal(text: str) -> str:
    """An answer in lower case, without punctuation and articles, as HotpotQA and MuSiQue compare it."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


@_builtin(STR, STR, gives=BOOL)
def exact_match(found: str, wanted: str) -> bool:
    """Whether two answers are equal except for case, punctuation and articles (HotpotQA)."""
    return normal(found) == normal(wanted)


@_builtin(STR, STR, gives=FLOAT)
def f1(found: str, wanted: str) -> float:
    """Harmonic mean of precision and recall of an answer's words, 0 to 1 (HotpotQA)."""
    left, right = normal(found), normal(wanted)
    if left != right and (left in _WHOLE or right in _WHOLE):
        return 0.0
    words, known = left.split(), right.split()
    together = sum((Counter(words) & Counter(known)).values())
    return 2 * together / (len(words) + len(known)) if together else 0.0


# ---------------------------------------------------------------- mappings


@_builtin(COUNTS, COUNTS, gives=COUNTS)
def add_counts(left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
    """The sums of two mappings of counts, name by name."""
    return {key: left.get(key, 0) + right.get(key, 0) for key in left | right}


@_builtin(COUNTS, COUNTS, gives=INT)
def miscounts(found: dict[str, Any], wanted: dict[str, Any]) -> Any:
    """The sum of the differences between two mappings of counts (section 5.3)."""
    return sum(abs(found.get(key, 0) - wanted.get(key, 0)) for key in found | wanted)


# ---------------------------------------------------------------- one-liners

_OF_MANY = "of a list or of the arguments"

for _row in (
    Builtin("len", (LIST,), INT, len, "elements of a list, characters of a text"),
    Builtin("sum", (NUMBERS,), _number, sum, "0 for an empty list"),
    Builtin("min", (ANY,), _number, lambda *values: min(_pool("min", values)), _OF_MANY, rest=ANY),
    Builtin("max", (ANY,), _number, lambda *values: max(_pool("max", values)), _OF_MANY, rest=ANY),
    Builtin("round", (FLOAT, INT), _same, round, "to a whole number, or to so many digits", optional=1),
    Builtin("abs", (FLOAT,), _same, abs, "absolute value"),
    Builtin("exp", (FLOAT,), FLOAT, _guarded(math.exp), "e to the power"),
    Builtin("log", (FLOAT,), FLOAT, _guarded(math.log), "natural logarithm"),
    Builtin("sqrt", (FLOAT,), FLOAT, _guarded(math.sqrt), "square root"),
    Builtin("cos", (FLOAT,), FLOAT, math.cos, "cosine of radians"),
    Builtin("floor", (FLOAT,), INT, math.floor, "rounded down"),
    Builtin("ceil", (FLOAT,), INT, math.ceil, "rounded up"),
    Builtin("any", (ListType(BOOL),), BOOL, any, "whether any is true"),
    Builtin("all", (ListType(BOOL),), BOOL, all, "whether all are true"),
    Builtin("reversed", (LIST,), _list_of_element, lambda values: list(values)[::-1], "last element first"),
    Builtin("count", (LIST, ANY), INT, lambda values, part: values.count(part), "occurrences of an element"),
    Builtin("flatten", (ListType(LIST),), _flatten, lambda lists: concat(*lists), "elements of all lists"),
    Builtin("strip", (STR,), STR, str.strip, "without white space at both ends"),
    Builtin("lower", (STR,), STR, str.lower, "in lower case"),
    Builtin("upper", (STR,), STR, str.upper, "in upper case"),
    Builtin("starts_with", (STR, STR), BOOL, str.startswith, "whether a text starts with another"),
    Builtin("keys", (MAPPING,), TEXTS, list, "the names in a mapping"),
    Builtin("values", (MAPPING,), _value_type, lambda found: list(found.values()), "the values in a mapping"),
    Builtin("get", (MAPPING, STR, ANY), _get_type, dict.get, "the value of a name, or the third argument"),
    Builtin("counts", (TEXTS,), COUNTS, lambda texts: dict(Counter(map(str_, texts))), "count of each text"),
):  # fmt: skip
    BUILTINS[_row.name] = _row
