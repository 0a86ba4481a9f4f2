"""`match`: the block for the case of a value. Each case has one, or `else` handles the others."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, final

from gotlang.operations.if_ import Branching, estimate_branches, verify_branches
from gotlang.operations.record import BlockRecord, StepLabel, grows
from gotlang.operations.stages import Verifying
from gotlang.operations.step import Region
from gotlang.scope import PoolType
from gotlang.span import NOWHERE
from gotlang.syntax import expressions as e
from gotlang.syntax.format import format_expression
from gotlang.types import (
    ANY,
    BOOL,
    NEVER,
    NONE,
    STR,
    LiteralType,
    OptionalType,
    Type,
    cases_of,
    common,
    present,
    widen,
)

Key = tuple[str, Any]
"""The meaning of a pattern: a `case` of a union by its name, or a `value`."""


@final
class Match(Branching, frozen=True):
    """A value, and blocks for its cases; `branches` pairs patterns (`Act`, `"sure"`, `none`,
    `true`) with their block."""

    branches: tuple[tuple[tuple[e.Expression, ...], Region], ...]
    subject: e.Expression

    @property
    def conditions(self) -> tuple[tuple[e.Expression, Region], ...]:
        """The blocks, each with the condition under which it runs."""
        return tuple((holds_for(self.subject, patterns), body) for patterns, body in self.branches)

    @property
    def heads(self) -> tuple[str, ...]:
        """The patterns of each block."""
        return tuple(" | ".join(map(format_expression, patterns)) for patterns, _ in self.branches)

    @property
    def passes_on(self) -> bool:
        """One of the cases always is."""
        return False


@lru_cache(maxsize=1024)
def holds_for(subject: e.Expression, patterns: tuple[e.Expression, ...]) -> e.Expression:
    """Whether a value matches one of some patterns."""
    found: list[e.Expression] = []
    for pattern in patterns:
        span = pattern.span
        if isinstance(pattern, e.Case):
            there = e.Compare(span, subject, (("!=", e.Constant(span, None)),))
            tag = e.Constant(span, pattern.case.text)
            own = e.Compare(span, e.Field(span, subject, "type"), (("==", tag),))
            found.append(e.Binary(span, "and", there, own))
        else:
            found.append(e.Compare(span, subject, (("==", pattern),)))
    condition, *others = found
    for other in others:
        condition = e.Binary(other.span, "or", condition, other)
    return condition


def key_of(pattern: e.Expression) -> Key:
    """The meaning of a pattern."""
    assert isinstance(pattern, e.Case | e.Constant)
    return ("case", pattern.case.text) if isinstance(pattern, e.Case) else ("value", pattern.value)


def key_text(key: Key) -> str:
    """A pattern as a program writes it."""
    kind, value = key
    return str(value) if kind == "case" else format_expression(e.Constant(NOWHERE, value))


def options(type_: Type) -> tuple[dict[Key, Type], Type | None]:
    """The possible values, each with its type; and the type of the values without a pattern."""
    if cases := cases_of(type_):
        return {("case", case.tag): case for case in cases}, None
    if isinstance(type_, LiteralType):
        return {("value", text): LiteralType((text,)) for text in type_.values}, None
    if isinstance(type_, OptionalType) or type_ == NONE:
        found, rest = options(present(type_))
        return {("value", None): NONE, **found}, rest if rest != NEVER else None
    if type_ == BOOL:
        return {("value", True): BOOL, ("value", False): BOOL}, None
    return {}, type_


def narrowed_by(type_: Type, keys: list[Key], otherwise: bool = False) -> Type | None:
    """The type of a value that matches one of these patterns; with `otherwise`, of the others, None if there
    are none."""
    found, rest = options(type_)
    if not otherwise:
        return common(found[key] if key in found else LiteralType((key[1],)) for key in keys) or ANY
    left = [inner for key, inner in found.items() if key not in keys]
    return common([*left, *([rest] if rest is not None else [])]) or (ANY if left or rest else None)


def possible(type_: Type, key: Key) -> bool:
    """Whether a value of a type may match a pattern."""
    found, rest = options(type_)
    return key in found or (rest == STR and key[0] == "value" and isinstance(key[1], str))


def _verify(step: Match, v: Verifying) -> PoolType:
    type_ = v.infer(step.subject, v.whole)
    keys = [key_of(pattern) for patterns, _ in step.branches for pattern in patterns]
    wrong = [key_text(key) for key in keys if not possible(type_, key) or keys.count(key) > 1]
    left = narrowed_by(type_, keys, otherwise=True)
    if wrong or (left is None) is not (step.otherwise is None):
        raise v.fail(f"its branches are not the cases of {widen(type_)}")
    types = [narrowed_by(type_, [key_of(p) for p in patterns]) for patterns, _ in step.branches]
    types += [left] if left is not None else []
    inside = [v.known({step.subject: found or ANY}, step.pool).inside({}) for found in types]
    return verify_branches(step, v, inside)


BLOCK = BlockRecord(
    name="match",
    usage="`match value:`",
    doc='the block of the case that the value is of, such as `Act {tool}:`, `"sure" | "likely":` or `else:`',
    step=Match,
    text="match {subject} from {pool}",
    verify=_verify,
    effects=grows,
    estimate=estimate_branches,
    remaining=lambda step, remaining: max(map(remaining.through, step.regions), default=0),
    label=lambda step: StepLabel.of(step.subject),
)
