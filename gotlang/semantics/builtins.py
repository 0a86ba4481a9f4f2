"""The built-in functions: their types and implementations.

All are pure; they depend on their arguments only, and raise nothing but EvaluationError.
"""

from __future__ import annotations

import json
import math
import operator
import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Final, TypeVar, final

from msgspec import Struct

from gotlang.diagnostics import Report
from gotlang.errors import EvaluationError, LimitExceeded
from gotlang.operations.checks import frozen
from gotlang.operations.record import wrong_in_regex
from gotlang.patterns import lazy_pattern
from gotlang.semantics.bm25 import Ranking
from gotlang.semantics.limits import MAX_ELEMENTS
from gotlang.syntax.expressions import Call, Constant
from gotlang.types import (
    ANY,
    BOOL,
    DYNAMIC,
    FLOAT,
    INT,
    NEVER,
    NONE,
    STR,
    AnyType,
    DictType,
    ListType,
    OptionalType,
    PairType,
    RecordType,
    Type,
    TypeVariable,
    accepts,
    has_error,
    is_text,
    join,
    listed,
    ordered,
    parts_as,
    present,
)

T, U, ORDERED = TypeVariable("T"), TypeVariable("U"), TypeVariable("Ordered", ordered=True)
NUMBERS = ListType(FLOAT)
TEXTS = ListType(STR)
COUNTS = DictType(INT)
LIST, MAPPING = ListType(T), DictType(T)

CONSTANTS = {"pi": math.pi}


@final
class BuiltinType(Struct, frozen=True):
    """The parameters of a built-in (`rest`: any further number) and its result. A call binds type variables
    to the smallest type of all values there."""

    takes: tuple[Type, ...]
    gives: Type
    rest: Type | None = None

    def written(self, name: str) -> str:
        """`round(float, int) -> float`: for messages and the reference."""
        words = [*map(str, self.takes), *([f"{self.rest}..."] if self.rest is not None else [])]
        return f"{name}({', '.join(words)}) -> {self.gives}"


@final
class Builtin(Struct, frozen=True):
    """A built-in function: its types (a call has the first that matches), and a description."""

    name: str
    types: tuple[BuiltinType, ...]
    call: Callable[..., Any]
    doc: str

    def signature(self) -> str:
        """Its types: for messages and the reference."""
        return ", ".join(type_.written(self.name) for type_ in self.types)


BUILTINS: dict[str, Builtin] = {}

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _typed(*takes: Type, gives: Type, rest: Type | None = None) -> BuiltinType:
    return BuiltinType(takes, gives, rest)


def _builtin(*takes: Type | BuiltinType, gives: Type = DYNAMIC) -> Callable[[_Function], _Function]:
    """Registers a function as the built-in with its name, described by the first line of its docstring."""
    several = tuple(type_ for type_ in takes if isinstance(type_, BuiltinType))
    one = tuple(type_ for type_ in takes if not isinstance(type_, BuiltinType))

    def register(function: _Function) -> _Function:
        name = function.__name__.removesuffix("_")
        doc = (function.__doc__ or "").partition("\n")[0].rstrip(".")
        types = several or (BuiltinType(one, gives),)
        BUILTINS[name] = Builtin(name, types, function, doc[:1].lower() + doc[1:])
        return function

    return register


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
    pool = values[0] if len(values) == 1 and isinstance(values[0], list | str) else values
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
    import statistics

    return float(statistics.median(_pool("median", [values])))


@_builtin(_typed(NUMBERS, gives=FLOAT), _typed(FLOAT, gives=FLOAT, rest=FLOAT))
def hmean(*values: Any) -> float:
    """Harmonic mean; 0 if a value is 0."""
    pool = _pool("hmean", values)
    if any(v < 0 for v in pool):
        raise EvaluationError("`hmean` of a negative number")
    return 0.0 if any(v == 0 for v in pool) else len(pool) / math.fsum(1 / v for v in pool)


@_builtin(*(_typed(*[INT] * bounds, gives=ListType(INT)) for bounds in (1, 2, 3)))
def range_(*bounds: int) -> list[int]:
    """As in Python."""
    if bounds[2:] == (0,):
        raise EvaluationError("`range` in steps of 0")
    numbers = range(*bounds)
    if len(numbers) > MAX_ELEMENTS:
        raise LimitExceeded(f"`range` of more than {MAX_ELEMENTS:,} numbers")
    return list(numbers)


@_builtin(_typed(FLOAT, gives=INT), _typed(STR, gives=INT))
def int_(value: Any) -> int:
    """A number without its fraction, or a text parsed as a number."""
    try:
        return int(value.replace(",", "").strip() if isinstance(value, str) else value)
    except (ValueError, OverflowError):
        raise EvaluationError(f"`{str(value)[:40]}` is not a whole number") from None


@_builtin(_typed(FLOAT, gives=FLOAT), _typed(STR, gives=FLOAT))
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


@_builtin(ListType(ORDERED), gives=ListType(ORDERED))
def sorted_(values: Sequence[Any]) -> list[Any]:
    """In ascending order."""
    return sorted(values)


@_builtin(LIST, gives=LIST)
def unique(values: Sequence[Any]) -> list[Any]:
    """Each element once, in the order of first occurrence."""
    return list({frozen(value): value for value in reversed(values)}.values())[::-1]


@_builtin(ListType(ORDERED), gives=ListType(ORDERED))
def set_(values: Sequence[Any]) -> list[Any]:
    """Each element once, in ascending order."""
    return sorted_(unique(values))


@_builtin(LIST, ListType(U), gives=ListType(PairType((T, U))))
def zip_(left: Sequence[Any], right: Sequence[Any]) -> list[Any]:
    """Pairs of elements, up to the shorter list."""
    return [list(pair) for pair in zip(left, right, strict=False)]


@_builtin(LIST, gives=ListType(PairType((INT, T))))
def enumerate_(values: Sequence[Any]) -> list[Any]:
    """Pairs of position and element."""
    return [list(pair) for pair in enumerate(values)]


@_builtin(LIST, gives=ListType(PairType((T, T))))
def pairs(values: Sequence[Any]) -> list[Any]:
    """Each element with the next."""
    return [list(pair) for pair in pairwise(values)]


@_builtin(LIST, LIST, gives=LIST)
def intersection(left: Sequence[Any], right: Sequence[Any]) -> list[Any]:
    """Elements of both, each once."""
    known = {frozen(value) for value in right}
    return [value for value in unique(left) if frozen(value) in known]


@_builtin(LIST, LIST, gives=LIST)
def difference(left: Sequence[Any], right: Sequence[Any]) -> list[Any]:
    """Elements of the first that are not in the second."""
    known = {frozen(value) for value in right}
    return [value for value in left if frozen(value) not in known]


@_builtin(_typed(LIST, gives=LIST, rest=LIST))
def concat(*lists: Sequence[Any]) -> list[Any]:
    """Lists one after the other."""
    return [value for part in lists for value in part]


@_builtin(_typed(STR, INT, gives=TEXTS), _typed(LIST, INT, gives=ListType(LIST)))
def chunks(values: Sequence[Any], parts: int) -> list[Any]:
    """A list split into this number of parts of equal length; the first ones may be longer by one."""
    if parts < 1:
        raise EvaluationError("`chunks` into fewer than one part")
    if parts > MAX_ELEMENTS:
        raise LimitExceeded(f"`chunks` into more than {MAX_ELEMENTS:,} parts")
    size, extra = divmod(len(values), parts)
    ends = [size * i + min(i, extra) for i in range(parts + 1)]
    return [values[a:b] for a, b in pairwise(ends)]


@_builtin(ListType(ORDERED), gives=INT)
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


_WRITTEN: Final = json.JSONEncoder(ensure_ascii=False)


@_builtin(DYNAMIC, gives=STR)
def str_(value: Any) -> str:
    """As a prompt shows it."""
    return value if isinstance(value, str) else _WRITTEN.encode(value)


@_builtin(_typed(TEXTS, gives=STR), _typed(TEXTS, STR, gives=STR))
def join_(values: Sequence[str], separator: str = "") -> str:
    """Texts one after the other, with a separator."""
    return separator.join(values)


@_builtin(STR, gives=TEXTS)
def lines(text: str) -> list[str]:
    """The lines that are not empty, trimmed."""
    return [line.strip() for line in text.splitlines() if line.strip()]


@_builtin(_typed(STR, gives=TEXTS), _typed(STR, STR, gives=TEXTS))
def split(text: str, separator: str | None = None) -> list[str]:
    """At white space, or at a text."""
    if separator == "":
        raise EvaluationError("`split` by an empty text")
    return text.split(separator)


@_builtin(STR, STR, STR, gives=STR)
def replace(text: str, old: str, new: str) -> str:
    """Every occurrence of a text replaced by another."""
    if len(text) * max(1, len(new)) > 10 * MAX_ELEMENTS:
        raise LimitExceeded(f"this would have more than {MAX_ELEMENTS:,} characters")
    return text.replace(old, new)


_REFERENCE = lazy_pattern(r"<(\d{1,6})>")
_MARK = lazy_pattern(r"#(\d{1,6})\b")


@_builtin(STR, gives=ListType(INT))
def references(text: str) -> list[int]:
    """Positions from 0 that `<1>`, `<2>`, ..., or without any `#1`, `#2`, ... refer to, each once.

    They are in the order of their first occurrence.
    """
    return list(dict.fromkeys(int(m[1]) - 1 for m in _references(text).finditer(text) if int(m[1]) > 0))


def _references(text: str) -> re.Pattern[str]:
    """The form of references in a text: `#1`, as in MuSiQue, may mean "number one" in other texts."""
    return _REFERENCE if _REFERENCE.search(text) else _MARK


@_builtin(STR, LIST, gives=STR)
def fill(text: str, answers: list[Any]) -> str:
    """A text with answers in place of its references.

    Answers are in the order of `references`. A reference without an answer stays: a model may refer to
    something that does not come before.
    """
    found = dict(zip(references(text), answers, strict=False))
    known = {position: str_(answer) for position, answer in found.items() if answer is not None}
    return _references(text).sub(lambda m: known.get(int(m[1]) - 1, m[0]), text)


@_builtin(STR, STR, gives=BOOL)
def matches(text: str, pattern: str) -> bool:
    """Whether a whole text matches a regular expression, see [Structured responses](structured.md)."""
    from gotlang.answers.regex import Regex, RegexError

    try:
        return Regex.parse(pattern).matches(text)
    except RegexError as error:
        raise EvaluationError(f"`matches`: {error.message}, at character {error.offset}") from None


@_builtin(STR, gives=STR)
def escape(text: str) -> str:
    """The regular expression that matches exactly this text."""
    from gotlang.answers.regex import escaped

    return escaped(text)


@_builtin(STR, gives=BOOL)
def is_json(text: str) -> bool:
    """Whether a text is JSON and nothing else."""
    from gotlang.answers.literals import strict

    try:
        strict(text)
    except ValueError:
        return False
    return True


_MOST_CELLS = 5_000_000


@_builtin(_typed(STR, STR, gives=FLOAT), _typed(NUMBERS, NUMBERS, gives=FLOAT))
def similarity(left: Any, right: Any) -> float:
    """Of texts: 1 less the share of characters to change, add or leave out; of vectors: the cosine."""
    return _alike(left, right) if isinstance(left, str) else _cosine(left, right)


def _alike(left: str, right: str) -> float:
    """Levenshtein's distance, over the length of the longer text; 1 for two empty ones."""
    if len(left) * len(right) > _MOST_CELLS:
        raise LimitExceeded("texts too long for `similarity`: more than 5 million pairs of characters")
    row = list(range(len(right) + 1))
    for at, sign in enumerate(left, 1):
        before, row[0] = row[0], at
        for to, other in enumerate(right, 1):
            before, row[to] = row[to], min(row[to] + 1, row[to - 1] + 1, before + (sign != other))
    return 1 - row[-1] / max(1, len(left), len(right))


def _cosine(left: list[float], right: list[float]) -> float:
    if len(left) != len(right):
        raise EvaluationError(f"`similarity` of vectors of {len(left)} and {len(right)} numbers")
    sizes = math.hypot(*left) * math.hypot(*right)
    if not sizes:
        raise EvaluationError("`similarity` of a vector of zeros")
    return max(-1.0, min(1.0, math.fsum(map(operator.mul, left, right)) / sizes)) if sizes < math.inf else 0.0


_ARTICLES = lazy_pattern(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", r"""!"#$%&'()*+,-./:;<=>?@[\]^_`{|}~""")
_WHOLE = frozenset({"yes", "no", "noanswer"})
"""Answers that match as a whole or not at all."""


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


# ---------------------------------------------------------------- search


@_builtin(TEXTS, STR, INT, gives=TEXTS)
def bm25(texts: list[str], query: str, k: int) -> list[str]:
    """The k texts that fit a query best, best first, by the ranking of `Retrieve`; none without its words."""
    return [texts[number] for number in Ranking(texts).best(query, k)]


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


def _sum(values: list[float]) -> float:
    total = sum(values)
    if isinstance(total, float) and not math.isfinite(total):
        raise EvaluationError("a number too large")
    return total


_OF_MANY = "of a list or of the arguments"
_SAME = (_typed(INT, gives=INT), _typed(FLOAT, gives=FLOAT))
_MOST = (_typed(ListType(ORDERED), gives=ORDERED), _typed(ORDERED, gives=ORDERED, rest=ORDERED))
_SUM = (_typed(ListType(INT), gives=INT), _typed(NUMBERS, gives=FLOAT))
_ROUND = (_typed(FLOAT, gives=INT), _typed(INT, INT, gives=INT), _typed(FLOAT, INT, gives=FLOAT))
_REAL, _WHOLE_OF = (_typed(FLOAT, gives=FLOAT),), (_typed(FLOAT, gives=INT),)
_TRUTHS, _TEXT = (_typed(ListType(BOOL), gives=BOOL),), (_typed(STR, gives=STR),)

for _name, _types, _call, _doc in (
    ("len", (_typed(LIST, gives=INT),), len, "elements of a list, characters of a text"),
    ("sum", _SUM, _sum, "0 for an empty list"),
    ("min", _MOST, lambda *values: min(_pool("min", values)), _OF_MANY),
    ("max", _MOST, lambda *values: max(_pool("max", values)), _OF_MANY),
    ("round", _ROUND, round, "to the nearest whole number, or to this many digits; halves go to even"),
    ("abs", _SAME, abs, "absolute value"),
    ("exp", _REAL, _guarded(math.exp), "e to the power"),
    ("log", _REAL, _guarded(math.log), "natural logarithm"),
    ("sqrt", _REAL, _guarded(math.sqrt), "square root"),
    ("cos", _REAL, math.cos, "cosine of radians"),
    ("floor", _WHOLE_OF, math.floor, "rounded down"),
    ("ceil", _WHOLE_OF, math.ceil, "rounded up"),
    ("any", _TRUTHS, any, "whether any is true"),
    ("all", _TRUTHS, all, "whether all are true"),
    ("reversed", (_typed(LIST, gives=LIST),), lambda values: list(values)[::-1], "last element first"),
    ("count", (_typed(LIST, T, gives=INT),), lambda values, x: values.count(x), "occurrences of an element"),
    ("flatten", (_typed(ListType(LIST), gives=LIST),), lambda lists: concat(*lists), "elements of all lists"),
    ("strip", _TEXT, str.strip, "without white space at both ends"),
    ("lower", _TEXT, str.lower, "in lower case"),
    ("upper", _TEXT, str.upper, "in upper case"),
    ("starts_with", (_typed(STR, STR, gives=BOOL),), str.startswith, "whether a text starts with another"),
    ("keys", (_typed(MAPPING, gives=TEXTS),), list, "the names in a mapping"),
    ("values", (_typed(MAPPING, gives=LIST),), lambda found: list(found.values()), "the values in a mapping"),
    ("get", (_typed(MAPPING, STR, T, gives=T),), dict.get, "the value of a name, or the third argument"),
    ("counts", (_typed(TEXTS, gives=COUNTS),), lambda texts: dict(Counter(texts)), "count of each text"),
):  # fmt: skip
    BUILTINS[_name] = Builtin(_name, _types, _call, _doc)


Found = dict[str, Type]
"""The types of variables in a call."""


def result(builtin: Builtin, given: Sequence[Type]) -> Type | None:
    """The result type of a built-in for arguments of some types; None if it does not accept them."""
    results = []
    for type_ in builtin.types:
        found: Found = {}
        wanted = parameters(type_, len(given))
        if len(wanted) == len(given) and all(map(lambda w, g: _solve(w, g, found), wanted, given)):
            results.append(substituted(type_.gives, found))
            if not any(map(has_error, given)):
                break
    return None if not results else results[0] if len(set(results)) == 1 else ANY


def with_pattern(node: Call, found: Type, report: Report) -> Type:
    """The type found for a call; an invalid regular expression in `matches` is reported."""
    pattern = node.arguments[-1].value if node.function.text == "matches" else None
    if isinstance(pattern, Constant) and (wrong := wrong_in_regex(str(pattern.value))) is not None:
        report.error("GOT0731", f"`matches`: {wrong[0]}", pattern.place(wrong[1]))
    return found


def parameters(type_: BuiltinType, count: int) -> tuple[Type, ...]:
    """The parameter types of a built-in for a call with this number of arguments, if it accepts it."""
    further = count - len(type_.takes)
    return type_.takes + (type_.rest,) * further if type_.rest is not None and further > 0 else type_.takes


def misfit(builtin: Builtin, given: Sequence[Type]) -> tuple[int, Type]:
    """The first argument that a built-in does not accept, and the expected types, in the signature that
    matches most."""
    best: tuple[int, Type] = (-1, NEVER)
    for type_ in builtin.types:
        found: Found = {}
        wanted = parameters(type_, len(given))
        for position, (one, other) in enumerate(zip(wanted, given, strict=False)):
            before = dict(found)
            if not _solve(one, other, found):
                if position > best[0]:
                    best = (position, substituted(one, before, keep=True))
                break
    return best


def substituted(type_: Type, found: Found, keep: bool = False) -> Type:
    """A type with its variables replaced; one that nothing decides is `never`, or stays."""
    if isinstance(type_, TypeVariable):
        return found.get(type_.name, type_ if keep else NEVER)
    return parts_as(type_, lambda part: substituted(part, found, keep))


def _solve(wanted: Type, given: Type, found: Found) -> bool:
    """Whether an argument matches, with the variables of its type widened by it."""
    match wanted, given:
        case TypeVariable(name=name), _:
            joined = join(found.get(name, NEVER), given)
            if joined is None or (wanted.ordered and not ordered(joined)):
                return False
            found[name] = joined
            return True
        case ListType(element=element), _ if is_text(given):
            return _solve(element, STR, found)  # a text can be the list of its characters
        case ListType(), PairType() if (list_ := listed(given)) is not None:
            return _solve(wanted, list_, found)
        case ListType(element=inner) | DictType(value=inner), AnyType():
            return _solve(inner, given, found)
        case ListType(element=element), ListType(element=other):
            return _solve(element, other, found)
        case DictType(value=value), DictType(value=other):
            return _solve(value, other, found)
        case DictType(value=value), RecordType(fields=fields):
            return all(_solve(value, other, found) for _, other in fields)
        case OptionalType(inner=inner), _:
            return given == NONE or _solve(inner, present(given), found)
    return accepts(wanted, given)
