"""The built-in functions: what each takes, what type it gives, and what it does. One entry a function.

All are pure and total but for EvaluationError; none looks at anything but its arguments.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

from gotlang.semantics import functions as f
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


def _is_text(type_: Type) -> bool:
    return type_ == STR or isinstance(type_, LiteralType)


def _element(type_: Type) -> Type:
    return type_.element if isinstance(type_, ListType) else STR if _is_text(type_) else ANY


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


BUILTINS: dict[str, Builtin] = {
    entry.name: entry
    for entry in (
        Builtin("len", (LIST,), _always(INT), len, doc="elements of a list, characters of a text"),
        Builtin("sum", (NUMBERS,), _number, sum, doc="0 for an empty list"),
        Builtin("min", (ANY,), _number, f.extreme(min, "min"), rest=ANY, doc="of a list or of the arguments"),
        Builtin("max", (ANY,), _number, f.extreme(max, "max"), rest=ANY, doc="of a list or of the arguments"),
        Builtin("mean", (NUMBERS,), _always(FLOAT), f.mean, doc="arithmetic mean"),
        Builtin("median", (NUMBERS,), _always(FLOAT), f.median, doc="the middle one, or the mean of the two"),
        Builtin("hmean", (ANY,), _always(FLOAT), f.hmean, rest=FLOAT, doc="harmonic mean; 0 where one is 0"),
        Builtin(
            "round", (FLOAT, INT), _same, f.round_, optional=1, doc="to a whole number, or to so many digits"
        ),
        Builtin("abs", (FLOAT,), _same, abs, doc="without the sign"),
        Builtin("sorted", (LIST,), _list_of_element, f.sorted_, doc="in ascending order"),
        Builtin("reversed", (LIST,), _list_of_element, f.reversed_, doc="last element first"),
        Builtin("range", (INT, INT, INT), _always(ListType(INT)), f.range_, optional=2, doc="as in Python"),
        Builtin(
            "zip",
            (LIST, LIST),
            _always(ListType(LIST)),
            f.zipped,
            doc="pairs of elements, up to the shorter list",
        ),
        Builtin(
            "enumerate", (LIST,), _always(ListType(LIST)), f.enumerated, doc="pairs of position and element"
        ),
        Builtin("any", (ListType(BOOL),), _always(BOOL), any, doc="whether one is true"),
        Builtin("all", (ListType(BOOL),), _always(BOOL), all, doc="whether none is false"),
        Builtin(
            "count",
            (LIST, ANY),
            _always(INT),
            f.counted,
            doc="how often an element is in a list, a text in a text",
        ),
        Builtin("set", (LIST,), _list_of_element, f.set_, doc="each element once, in ascending order"),
        Builtin(
            "unique",
            (LIST,),
            _list_of_element,
            f.unique,
            doc="each element once, in the order of first mention",
        ),
        Builtin("intersection", (LIST, LIST), _concat, f.intersection, doc="elements of both, each once"),
        Builtin(
            "difference",
            (LIST, LIST),
            _list_of_element,
            f.difference,
            doc="elements of the first that are not in the second",
        ),
        Builtin(
            "join",
            (TEXTS, STR),
            _always(STR),
            f.joined,
            optional=1,
            doc="texts one after the other, with a text between them",
        ),
        Builtin("split", (STR, STR), _always(TEXTS), f.split, optional=1, doc="at white space, or at a text"),
        Builtin("lines", (STR,), _always(TEXTS), f.lines, doc="the lines that are not empty, trimmed"),
        Builtin("strip", (STR,), _always(STR), str.strip, doc="without white space at both ends"),
        Builtin("lower", (STR,), _always(STR), str.lower, doc="in small letters"),
        Builtin("upper", (STR,), _always(STR), str.upper, doc="in capital letters"),
        Builtin(
            "replace",
            (STR, STR, STR),
            _always(STR),
            f.replaced,
            doc="every mention of a text replaced by another",
        ),
        Builtin(
            "starts_with", (STR, STR), _always(BOOL), str.startswith, doc="whether a text starts with another"
        ),
        Builtin("str", (ANY,), _always(STR), f.text_of, doc="as a prompt would show it"),
        Builtin(
            "int",
            (ANY,),
            _always(INT),
            f.to_int,
            doc="a number without its fraction, or a text read as a number",
        ),
        Builtin("float", (ANY,), _always(FLOAT), f.to_float, doc="a text or whole number as a number"),
        Builtin("concat", (LIST,), _concat, f.concatenated, rest=LIST, doc="lists one after the other"),
        Builtin("flatten", (ListType(LIST),), _flatten, f.flattened, doc="a list of lists as one list"),
        Builtin(
            "pairs",
            (LIST,),
            lambda t: ListType(_list_of_element(t)),
            f.neighbours,
            doc="each element with the next",
        ),
        Builtin(
            "chunks",
            (LIST, INT),
            lambda t: ListType(STR if _is_text(t[0]) else t[0]),
            f.chunks,
            doc="a list cut into so many parts of equal length, or the first ones longer by one",
        ),
        Builtin(
            "descents",
            (LIST,),
            _always(INT),
            f.descents,
            doc="neighbours that stand in the wrong order (X in section 5.1 of the paper)",
        ),
        Builtin(
            "count_difference",
            (LIST, LIST),
            _always(INT),
            f.count_difference,
            doc="by how much the counts of each element differ, in sum (Y in section 5.1)",
        ),
        Builtin("keys", (DictType(ANY),), _always(TEXTS), f.keys, doc="the names in a mapping"),
        Builtin("values", (DictType(ANY),), _value_type, f.values_, doc="the values in a mapping"),
        Builtin(
            "get",
            (DictType(ANY), STR, ANY),
            _get_type,
            f.get,
            doc="the value of a name in a mapping, or the third argument",
        ),
        Builtin("counts", (TEXTS,), _always(DictType(INT)), f.counts, doc="how often each text is in a list"),
        Builtin(
            "add_counts",
            (DictType(INT), DictType(INT)),
            _always(DictType(INT)),
            f.added_counts,
            doc="two mappings of counts as one, name by name",
        ),
        Builtin(
            "miscounts",
            (DictType(INT), DictType(INT)),
            _always(INT),
            f.miscounts,
            doc="by how much two mappings of counts differ, in sum (section 5.3)",
        ),
        Builtin(
            "exact_match",
            (STR, STR),
            _always(BOOL),
            f.exact_match,
            doc="whether two answers are the same but for case, punctuation and articles (HotpotQA)",
        ),
        Builtin(
            "f1",
            (STR, STR),
            _always(FLOAT),
            f.f1,
            doc="how far the words of two answers agree, 0 to 1 (HotpotQA)",
        ),
        Builtin(
            "references",
            (STR,),
            _always(ListType(INT)),
            f.references,
            doc="positions from 0 that `<1>`, `<2>`, ... refer to",
        ),
        Builtin(
            "fill", (STR, LIST), _always(STR), f.fill, doc="a text with answers in place of its references"
        ),
        Builtin("exp", (FLOAT,), _always(FLOAT), f.guarded(math.exp, "exp"), doc="e to the power"),
        Builtin("log", (FLOAT,), _always(FLOAT), f.guarded(math.log, "log"), doc="natural logarithm"),
        Builtin("sqrt", (FLOAT,), _always(FLOAT), f.guarded(math.sqrt, "sqrt"), doc="square root"),
        Builtin("cos", (FLOAT,), _always(FLOAT), math.cos, doc="cosine of radians"),
        Builtin(
            "anneal", (FLOAT,), _always(FLOAT), f.annealed, doc="cosine annealing: from 1 at 0 down to 0 at 1"
        ),
        Builtin("floor", (FLOAT,), _always(INT), math.floor, doc="the next whole number below"),
        Builtin("ceil", (FLOAT,), _always(INT), math.ceil, doc="the next whole number above"),
    )
}

CONSTANTS = {"pi": math.pi}


def fits_argument(wanted: Type, given: Type) -> bool:
    """Whether a built-in takes an argument of a type; a text may stand for a list of its characters."""
    return accepts(wanted, given) or (wanted == LIST and _is_text(given))
