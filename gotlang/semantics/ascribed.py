"""Types that definitions give to what is put in for their names, where they are used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import final

from gotlang.diagnostics import Label, Report
from gotlang.linking.inline import Ascription
from gotlang.scope import Scope
from gotlang.semantics.declarations import resolve_type
from gotlang.semantics.expressions import ExpressionChecker
from gotlang.semantics.seen import Place, Seen
from gotlang.semantics.symbols import Symbols
from gotlang.syntax import expressions as e
from gotlang.types import STR, LiteralType, Type, accepts, has_error


@final
class AscribingChecker(ExpressionChecker):
    """Infers types, and compares those of some expressions, by identity, with what was declared; tells `seen`
    of each."""

    def __init__(
        self,
        symbols: Symbols,
        report: Report,
        ascribed: Mapping[int, Sequence[Ascription]],
        seen: Seen | None = None,
    ) -> None:
        super().__init__(symbols, report)
        self._ascribed = ascribed
        self._seen = seen

    def infer(self, node: e.Expression, scope: Scope, wanted: Type | None = None) -> Type:
        """The type of an expression."""
        found = super().infer(node, scope, wanted)
        if self._seen is not None:
            self._seen.types[node.span.source, node.span.start, node.span.end] = found
            self._seen.places.append(Place(node.span, scope, None))
        for each in self._ascribed.get(id(node), ()):
            type_ = resolve_type(each.type, self.symbols, Report())
            if not has_error(found) and not has_error(type_) and not accepts(type_, found):
                labels = (Label(each.place, "declared here"),)
                self.report.error("GOT0201", f"{each.what} is {type_}, not {found}", node.span, labels=labels)
                found = type_  # nothing more is said of it
            elif isinstance(found, LiteralType) and (type_ == STR or isinstance(type_, LiteralType)):
                found = type_  # a definition may compare it with what it was not given this time
        return found
