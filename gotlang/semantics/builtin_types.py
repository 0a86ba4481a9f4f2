"""Which of a built-in's types fits a call, and what the call gives."""

from __future__ import annotations

from collections.abc import Sequence

from gotlang.diagnostics import Report
from gotlang.operations.record import wrong_in_regex
from gotlang.semantics.builtins import Builtin, BuiltinType
from gotlang.syntax.expressions import Call, Constant
from gotlang.types import (
    ANY,
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
    Variable,
    accepts,
    has_error,
    is_text,
    join,
    listed,
    ordered,
    parts_as,
    present,
)

Found = dict[str, Type]
"""The types that variables stand for in a call."""


def result(builtin: Builtin, given: Sequence[Type]) -> Type | None:
    """What a built-in gives for arguments of some types; None if it does not take them."""
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
    """The type found for a call; a regular expression that is wrong in one of `matches` is reported."""
    pattern = node.arguments[-1].value if node.function.text == "matches" else None
    if isinstance(pattern, Constant) and (wrong := wrong_in_regex(str(pattern.value))) is not None:
        report.error("GOT0731", f"`matches`: {wrong[0]}", pattern.place(wrong[1]))
    return found


def parameters(type_: BuiltinType, count: int) -> tuple[Type, ...]:
    """The types that a built-in takes, for a call with so many arguments if it takes any number."""
    further = count - len(type_.takes)
    return type_.takes + (type_.rest,) * further if type_.rest is not None and further > 0 else type_.takes


def misfit(builtin: Builtin, given: Sequence[Type]) -> tuple[int, Type]:
    """The first argument that a built-in does not take, and what it should be, where most fit."""
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
    if isinstance(type_, Variable):
        return found.get(type_.name, type_ if keep else NEVER)
    return parts_as(type_, lambda part: substituted(part, found, keep))


def _solve(wanted: Type, given: Type, found: Found) -> bool:
    """Whether an argument fits, with the variables of its type widened by it."""
    match wanted, given:
        case Variable(name=name), _:
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
