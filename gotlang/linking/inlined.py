"""Modules without definitions, as inlining leaves them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from gotlang.span import Span
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n

if TYPE_CHECKING:
    from gotlang.linking.unused import Definition


class Ascription(Struct, frozen=True):
    """A type that an expression must have, a description of it, and the place of its declaration; whether the
    expression then counts as of this type, even if its own is narrower."""

    type: n.TypeNode
    what: str
    place: Span
    widens: bool = False


class Inlined(Struct, frozen=True):
    """Modules without definitions; types that expressions must have, by identity; how generated names are
    shown. `kept` are these expressions. `unused` are the definitions that are never used."""

    modules: tuple[n.Module, ...]
    ascribed: Mapping[int, Sequence[Ascription]]
    shown: Mapping[str, str]
    kept: Sequence[e.Expression]
    unused: Sequence[Definition] = ()


def has_definitions(modules: Iterable[n.Module]) -> bool:
    """Whether modules have any definition."""
    declared = (d for module in modules for d in module.declarations)
    return any(isinstance(d, n.OperationDefinition | n.Function) or is_open(d) for d in declared)


def is_open(d: n.Declaration) -> bool:
    """Whether a declaration is a scheme that is instantiated for the prompts, scores and schemes it gets."""
    if not isinstance(d, n.Scheme):
        return False
    return bool(d.variables) or any(p.part for p in d.parameters)
