"""Type narrowing: the types of names, fields and elements where a condition is true, and where it is
false."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeGuard

from msgspec.structs import replace

from gotlang.scope import Narrowed, PoolType, Scope
from gotlang.syntax import expressions as e
from gotlang.syntax.walk import walk
from gotlang.types import NEVER, NONE, OptionalType, RecordType, Type, accepts, narrowed, optional, present

Infer = Callable[[e.Expression, Scope], Type]
"""Infers the type of an expression in a scope, without reports."""


def is_subject(node: e.Expression) -> TypeGuard[e.Reference | e.Field | e.Index]:
    """Whether a condition may narrow the type of an expression."""
    match node:
        case e.Reference():
            return True
        case e.Field(value=value):
            return is_subject(value)
        case e.Index(value=value, index=index):
            return is_subject(value) and (isinstance(index, e.Constant | e.Unary) or is_subject(index))
    return False


def names_of(node: e.Expression) -> list[str]:
    """The names that an expression uses."""
    return [part.name for part in walk(node) if isinstance(part, e.Reference)]


def of_pool(node: object) -> bool:
    """Whether an expression is one of the current thoughts, which other steps replace."""
    parts = walk(node) if isinstance(node, e.Node) else ()
    return any(isinstance(part, e.Reference) and part.name in ("it", "thoughts") for part in parts)


def facts(condition: e.Expression, holds: bool, scope: Scope, infer: Infer) -> Narrowed:
    """The types of subjects where a condition is true, or false."""
    match condition:
        case e.Unary(operator="not", operand=operand):
            return facts(operand, not holds, scope, infer)
        case e.Binary(operator="and" | "or" as operator, left=left, right=right) if (
            operator == "and"
        ) is holds:
            found = facts(left, holds, scope, infer)
            return {**found, **facts(right, holds, scope.narrowed(found), infer)}
        case e.Compare(first=first, rest=rest) if holds or len(rest) == 1:
            known: dict[Hashable, Type] = {}
            for sign, right in rest:
                same = (sign in ("==", "in")) is holds
                if sign in ("==", "!="):
                    known |= {
                        **_equal(first, (right,), same, scope, infer),
                        **_equal(right, (first,), same, scope, infer),
                    }
                elif sign in ("in", "not in") and isinstance(right, e.ListDisplay):
                    known |= _equal(first, right.elements, same, scope, infer)
                first = right
            return known
    return {}


def _equal(
    node: e.Expression, others: Sequence[e.Expression], same: bool, scope: Scope, infer: Infer
) -> Narrowed:
    """The facts if a subject is one of others, or none of them."""
    if not is_subject(node):
        return {}
    found = infer(node, scope)
    values = [other.value for other in others if isinstance(other, e.Constant)]
    texts = [value for value in values if value is None or isinstance(value, str)]
    if len(texts) == len(others):
        type_ = _among(found, texts, same)
        known: dict[Hashable, Type] = {node: type_} if type_ != found else {}
        if isinstance(node, e.Field) and node.name == "type" and is_subject(node.value):
            owner = narrowed(infer(node.value, scope), texts, same, "type")
            known |= {node.value: NEVER if owner is None else owner}
        return known
    cases = [other for other in others if isinstance(other, e.Case)]
    if len(cases) == len(others) and (same or not any(case.entries for case in cases)):
        left = narrowed(present(found), [case.case.text for case in cases], same, "type") or NEVER
        return {node: left if same or not isinstance(found, OptionalType) else optional(left)}
    if same and isinstance(found, OptionalType):
        types = [infer(other, scope) for other in others]
        return {node: found.inner} if all(type_ == present(type_) for type_ in types) else {}
    return {}


def _among(type_: Type, texts: list[str | None], same: bool) -> Type:
    """A type where the value is one of some texts and none, or none of them; NEVER if that is impossible."""
    if type_ == NONE:
        return NONE if (None in texts) is same else NEVER
    if same and texts == [None] and not accepts(type_, NONE):
        return NEVER
    if isinstance(type_, OptionalType):
        if same and texts == [None]:
            return NONE
        if same is (None in texts):
            return type_
        type_ = present(type_)
    return narrowed(type_, texts, same) or NEVER


def inside(known: Narrowed, pool: PoolType, scope: Scope) -> tuple[PoolType, Scope]:
    """The pool and the names where these types are known."""
    other = {node: type_ for node, type_ in known.items() if not of_pool(node)}
    type_ = narrowed_thought(pool.type, "it", known) if pool.single else pool.type
    return replace(pool, type=type_), scope.narrowed(other)


def narrowed_thought(type_: Type, name: str, found: Narrowed) -> Type:
    """The type of a thought for which a condition on `name`, its fields and their fields is true."""
    for subject, fact in found.items():
        fields: list[str] = []
        while isinstance(subject, e.Field):
            fields.insert(0, subject.name)
            subject = subject.value
        if isinstance(subject, e.Reference) and subject.name == name:
            type_ = _with_field(type_, fields, fact)
    return type_


def _with_field(type_: Type, fields: list[str], fact: Type) -> Type:
    if not fields:
        return fact
    if not isinstance(type_, RecordType):
        return type_
    parts = [(n, _with_field(t, fields[1:], fact) if n == fields[0] else t) for n, t in type_.fields]
    return RecordType(tuple(parts), type_.case)
