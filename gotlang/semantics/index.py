"""Facts about places of a program for editors, recorded by a check, and checks at the uses of a
definition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import final

from msgspec import Struct, field

from gotlang.diagnostics import Label, Report
from gotlang.linking.inlined import Ascription
from gotlang.scope import PoolType, Scope
from gotlang.semantics.declarations import resolve_type
from gotlang.semantics.expressions import ExpressionChecker
from gotlang.semantics.symbols import Symbols
from gotlang.span import Span
from gotlang.syntax import expressions as e
from gotlang.types import STR, LiteralType, Type, accepts, has_error


class VisibleNames(Struct, frozen=True):
    """A statement or an expression with the names in scope there; `pool` are the thoughts before a statement.

    The scope continues to grow below it: a name belongs to the place if it was bound above.
    """

    span: Span
    scope: Scope
    pool: PoolType | None


@final
class SemanticIndex(Struct):
    """Filled by a check, also of a program with errors. Places that are checked twice, as in a loop, are
    recorded twice: the last time counts."""

    types: dict[tuple[str, int, int], Type] = field(default_factory=dict)
    """By source, start and end of an expression."""
    places: list[VisibleNames] = field(default_factory=list)
    symbols: Symbols = field(default_factory=Symbols)
    """The declarations of the program and of what it imports."""


@final
class AscribingChecker(ExpressionChecker):
    """Infers types, and compares those of some expressions, by identity, with declared ones; reports each to
    `index`."""

    def __init__(
        self,
        symbols: Symbols,
        report: Report,
        ascribed: Mapping[int, Sequence[Ascription]],
        index: SemanticIndex | None = None,
    ) -> None:
        super().__init__(symbols, report)
        self._ascribed = ascribed
        self._recorded = index

    def infer(self, node: e.Expression, scope: Scope, wanted: Type | None = None) -> Type:
        """The type of an expression."""
        found = super().infer(node, scope, wanted)
        if self._recorded is not None:
            self._recorded.types[node.span.source, node.span.start, node.span.end] = found
            self._recorded.places.append(VisibleNames(node.span, scope, None))
        for each in self._ascribed.get(id(node), ()):
            type_ = resolve_type(each.type, self.symbols, Report())
            if not has_error(found) and not has_error(type_) and not accepts(type_, found):
                labels = (Label(each.place, "declared here"),)
                self.report.error("GOT0201", f"{each.what} is {type_}, not {found}", node.span, labels=labels)
                found = type_  # no further errors are reported for it
            elif each.widens or (
                isinstance(found, LiteralType) and (type_ == STR or isinstance(type_, LiteralType))
            ):
                found = type_  # a definition may test cases that its argument does not have this time
        return found
