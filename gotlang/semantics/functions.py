"""What the built-in functions do. All are pure, and total but for EvaluationError."""

from __future__ import annotations

import json
import math
import re
import statistics
import string
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from gotlang.errors import EvaluationError
from gotlang.operations.checks import frozen
from gotlang.semantics.limits import MAX_ELEMENTS


def reversed_(values: Any) -> list[Any]:
    """Last element first."""
    return list(values)[::-1]


def extreme(pick: Callable[[Any], Any], name: str) -> Callable[..., Any]:
    def run(*values: Any) -> Any:
        pool = values[0] if len(values) == 1 and isinstance(values[0], list) else values
        if not pool:
            raise EvaluationError(f"`{name}` of an empty list")
        return pick(pool)

    return run


def mean(values: list[float]) -> float:
    if not values:
        raise EvaluationError("`mean` of an empty list")
    return math.fsum(values) / len(values)


def median(values: list[float]) -> float:
    if not values:
        raise EvaluationError("`median` of an empty list")
    return float(statistics.median(values))


def hmean(*values: Any) -> float:
    pool = values[0] if len(values) == 1 and isinstance(values[0], list) else values
    if not pool:
        raise EvaluationError("`hmean` of an empty list")
    if any(v < 0 for v in pool):
        raise EvaluationError("`hmean` of a negative number")
    return 0.0 if any(v == 0 for v in pool) else len(pool) / math.fsum(1 / v for v in pool)


def range_(*bounds: int) -> list[int]:
    numbers = range(*bounds)
    if len(numbers) > MAX_ELEMENTS:
        raise EvaluationError(f"`range` of more than {MAX_ELEMENTS:,} numbers")
    return list(numbers)


def unique(values: Sequence[Any]) -> list[Any]:
    return list({frozen(value): value for value in reversed(values)}.values())[::-1]


def set_(values: Sequence[Any]) -> list[Any]:
    return sorted_(unique(values))


def sorted_(values: Sequence[Any]) -> list[Any]:
    try:
        return sorted(values)
    except TypeError:
        raise EvaluationError("these values have no order between them") from None


def descents(values: list[Any]) -> int:
    return sum(a > b for a, b in pairwise(values))


def count_difference(left: list[Any], right: list[Any]) -> int:
    if {*map(type, left), *map(type, right)} <= {int, float, str}:  # as they are, counted much faster
        a, b = Counter(left), Counter(right)
    else:
        a, b = Counter(map(frozen, left)), Counter(map(frozen, right))
    return sum(abs(a[key] - b[key]) for key in a.keys() | b.keys())


def split(text: str, separator: str | None = None) -> list[str]:
    if separator == "":
        raise EvaluationError("`split` by an empty text")
    return text.split(separator)


def to_int(value: Any) -> int:
    try:
        return int(value.replace(",", "").strip() if isinstance(value, str) else value)
    except (ValueError, OverflowError):
        raise EvaluationError(f"`{str(value)[:40]}` is not a whole number") from None


def to_float(value: Any) -> float:
    try:
        made = float(value)
    except ValueError:
        made = math.nan
    if isinstance(value, str) and not math.isfinite(made):  # Python also reads `nan`, `infinity` and `1e999`
        raise EvaluationError(f"`{value[:40]}` is not a number")
    return made


def guarded(function: Callable[[float], float], name: str) -> Callable[[float], float]:
    def run(x: float) -> float:
        try:
            return function(x)
        except (ValueError, OverflowError):
            raise EvaluationError(f"`{name}({x:g})` has no value") from None

    return run


def round_(value: float, digits: int | None = None) -> float:
    return round(value, digits)


_REFERENCE = re.compile(r"<(\d{1,6})>")


def references(text: str) -> list[int]:
    """The positions (from 0) that `<1>`, `<2>`, ... in a text refer to, each once, in order of mention."""
    return list(dict.fromkeys(int(m[1]) - 1 for m in _REFERENCE.finditer(text) if int(m[1]) > 0))


def fill(text: str, answers: list[Any]) -> str:
    """The text with the answers in place of its references, in the order in which `references` gives them.

    One without an answer stays: a model may refer to what does not come before."""
    found = dict(zip(references(text), answers, strict=False))
    known = {position: text_of(answer) for position, answer in found.items() if answer is not None}
    return _REFERENCE.sub(lambda m: known.get(int(m[1]) - 1, m[0]), text)


def chunks(values: Sequence[Any], parts: int) -> list[Any]:
    if parts < 1:
        raise EvaluationError("`chunks` into fewer than one part")
    if parts > MAX_ELEMENTS:
        raise EvaluationError(f"`chunks` into more than {MAX_ELEMENTS:,} parts")
    size, extra = divmod(len(values), parts)
    ends = [size * i + min(i, extra) for i in range(parts + 1)]
    return [values[a:b] for a, b in pairwise(ends)]


def keys(value: dict[str, Any]) -> list[str]:
    return list(value)


def values_(value: dict[str, Any]) -> list[Any]:
    return list(value.values())


def get(value: dict[str, Any], key: str, default: Any) -> Any:
    return value.get(key, default)


def counts(values: list[str]) -> dict[str, int]:
    return dict(Counter(map(text_of, values)))


def added_counts(left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
    """The numbers of two mappings added up, name by name."""
    return {key: left.get(key, 0) + right.get(key, 0) for key in left | right}


def miscounts(found: dict[str, Any], wanted: dict[str, Any]) -> Any:
    """By how much the numbers of two mappings differ, in sum; a name that one lacks counts 0 there."""
    return sum(abs(found.get(key, 0) - wanted.get(key, 0)) for key in found | wanted)


def lines(text: str) -> list[str]:
    """The lines that are not empty, trimmed."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def replaced(text: str, old: str, new: str) -> str:
    """A text with every mention of another replaced."""
    if len(text) * max(1, len(new)) > 10 * MAX_ELEMENTS:
        raise EvaluationError(f"this would have more than {MAX_ELEMENTS:,} characters")
    return text.replace(old, new)


def zipped(left: Sequence[Any], right: Sequence[Any]) -> list[Any]:
    """Pairs of elements, up to the shorter list."""
    return [[a, b] for a, b in zip(left, right, strict=False)]


def enumerated(values: Sequence[Any]) -> list[Any]:
    """Pairs of position and element."""
    return [[index, value] for index, value in enumerate(values)]


def counted(values: Any, element: Any) -> int:
    """How often an element is in a list, a text in a text."""
    return int(values.count(element))


def intersection(left: Sequence[Any], right: Sequence[Any]) -> list[Any]:
    """Elements of both, each once, in the order of the first."""
    known = {frozen(value) for value in right}
    return [value for value in unique(left) if frozen(value) in known]


def difference(left: Sequence[Any], right: Sequence[Any]) -> list[Any]:
    """Elements of the first that are not in the second."""
    known = {frozen(value) for value in right}
    return [value for value in left if frozen(value) not in known]


def concatenated(*lists: Sequence[Any]) -> list[Any]:
    """Lists one after the other."""
    return [value for part in lists for value in part]


def flattened(lists: Sequence[Sequence[Any]]) -> list[Any]:
    """A list of lists as one list."""
    return [value for part in lists for value in part]


def joined(values: Sequence[Any], separator: str = "") -> str:
    """Texts one after the other, with a text between them."""
    return separator.join(map(text_of, values))


def neighbours(values: Sequence[Any]) -> list[Any]:
    """Each element with the next."""
    return [list(pair) for pair in pairwise(values)]


def annealed(progress: float) -> float:
    """Cosine annealing: from 1 at 0 down to 0 at 1."""
    return (1 + math.cos(math.pi * progress)) / 2


def text_of(value: Any) -> str:
    """A value as a prompt would show it: texts as they are, the rest as JSON."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_WHOLE = frozenset({"yes", "no", "noanswer"})
"""Answers that agree as a whole or not at all."""


def normal(text: str) -> str:
    """An answer in lower case, without punctuation and articles, as HotpotQA and MuSiQue compare it."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(found: str, wanted: str) -> bool:
    return normal(found) == normal(wanted)


def f1(found: str, wanted: str) -> float:
    """The harmonic mean of precision and recall of the words of an answer, from 0 to 1."""
    left, right = normal(found), normal(wanted)
    if left != right and (left in _WHOLE or right in _WHOLE):
        return 0.0
    words, known = left.split(), right.split()
    together = sum((Counter(words) & Counter(known)).values())
    return 2 * together / (len(words) + len(known)) if together else 0.0
