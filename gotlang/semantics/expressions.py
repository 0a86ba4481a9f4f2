"""The types of expressions: one method a kind of node, every mistake noted, `ANY` where one was made."""

from __future__ import annotations

from typing import final

from gotlang.diagnostics import Label, nearest
from gotlang.scope import THOUGHT_FUNCTIONS, Scope, Variable
from gotlang.semantics.builtins import CONSTANTS
from gotlang.semantics.calls import CallChecker
from gotlang.semantics.report import Report
from gotlang.semantics.symbols import Symbols
from gotlang.span import Span
from gotlang.syntax import expressions as e
from gotlang.types import (
    ANY,
    BOOL,
    FLOAT,
    INT,
    NONE,
    STR,
    AnyType,
    DictType,
    ListType,
    LiteralType,
    RecordType,
    Type,
    accepts,
    join,
    of_value,
    widen,
)


def _counts(node: e.Expression) -> bool:
    """Whether an expression is written as a whole number that is not negative."""
    return isinstance(node, e.Constant) and isinstance(node.value, int) and node.value >= 0


def is_text(type_: Type) -> bool:
    """Whether values of a type are texts."""
    return type_ == STR or isinstance(type_, LiteralType)


@final
class ExpressionChecker:
    """Infers types. `calls` checks calls, and gathers their arguments by parameter."""

    def __init__(self, symbols: Symbols, report: Report) -> None:
        self.symbols = symbols
        self.report = report
        self.calls = CallChecker(self)

    def infer(self, node: e.Expression, scope: Scope) -> Type:
        """The type of an expression where the names of `scope` are in force."""
        match node:
            case e.Constant():
                return LiteralType((node.value,)) if isinstance(node.value, str) else of_value(node.value)
            case e.Reference():
                return self._reference(node, scope)
            case e.Unary():
                return self._unary(node, scope)
            case e.Binary():
                return self._binary(node, scope)
            case e.Comparison():
                return self._comparison(node, scope)
            case e.Conditional():
                return self._conditional(node, scope)
            case e.Index():
                return self._index(node, scope)
            case e.Slice():
                return self._slice(node, scope)
            case e.Field():
                return self._field(node, scope)
            case e.Call():
                return self.calls.call(node, scope)
            case e.ListDisplay(elements=elements):
                return ListType(self._common([self.infer(x, scope) for x in elements]))
            case e.Comprehension():
                return self._comprehension(node, scope)
            case e.RecordDisplay(entries=entries):
                for position, (name, value) in enumerate(entries):
                    if name in [other for other, _ in entries[:position]]:
                        self.report.error("GOT0205", f"`{name}` stands twice in this record", value.span)
                return RecordType(tuple((name, self.infer(value, scope)) for name, value in entries))

    def expect(self, node: e.Expression, scope: Scope, wanted: Type, what: str) -> Type:
        """Infer, and note an error where the type is not the one wanted; `what` names the place."""
        found = self.infer(node, scope)
        if not accepts(wanted, found):
            self.report.error("GOT0201", f"{what} must be {wanted}", node.span, f"this is {widen(found)}")
        return found

    def condition(self, node: e.Expression, scope: Scope, what: str = "a condition") -> None:
        """Infer what must be true or false."""
        self.expect(node, scope, BOOL, what)

    # ---------------------------------------------------------------- one method a node

    def _reference(self, node: e.Reference, scope: Scope) -> Type:
        variable = scope.find(node.name)
        if variable is not None:
            variable.used = True
            return variable.type
        name = node.name
        if name in self.symbols.params:
            self.symbols.used.add(name)
            return self.symbols.params[name]
        if name in THOUGHT_FUNCTIONS and scope.find("it") is not None:
            return THOUGHT_FUNCTIONS[name][0]
        if name in CONSTANTS:
            return FLOAT
        self._unknown_name(node, scope)
        return ANY

    def _unknown_name(self, node: e.Reference, scope: Scope) -> None:
        name = node.name
        if name == "it":
            self.report.error(
                "GOT0105",
                "`it` is the current thought, and here there is none, or more than one",
                node.span,
                help="`thoughts` are all current thoughts; `foreach` goes through them one by one",
            )
        elif name in {"thoughts", "truth", "done", "result"}:
            where = {
                "thoughts": "where they are looked at together, as in `Aggregate` and `Pool`",
                "truth": "in `GroundTruth`",
                "done": "inside `foreach ... after`",
                "result": "in a study's objective",
            }[name]
            self.report.error("GOT0105", f"`{name}` has a meaning only {where}", node.span)
        elif name in self.symbols.callables():
            self.report.error("GOT0105", f"`{name}` must be called", node.span, help=f"write `{name}(...)`")
        else:
            known = [*scope.visible(), *self.symbols.params]
            self.report.unknown("GOT0103", "name", name, node.span, known)

    def _unary(self, node: e.Unary, scope: Scope) -> Type:
        if node.operator == "not":
            self.condition(node.operand, scope, "what `not` turns round")
            return BOOL
        return self._number(node.operand, scope, node.operator)

    def _number(self, node: e.Expression, scope: Scope, operator: str) -> Type:
        found = self.infer(node, scope)
        if not accepts(FLOAT, found):
            self.report.error("GOT0201", f"`{operator}` needs a number", node.span, f"this is {widen(found)}")
            return ANY
        return found

    def _binary(self, node: e.Binary, scope: Scope) -> Type:
        operator = node.operator
        if operator in {"and", "or"}:
            self.condition(node.left, scope, f"what stands beside `{operator}`")
            self.condition(node.right, scope, f"what stands beside `{operator}`")
            return BOOL
        if operator == "+":
            left, right = self.infer(node.left, scope), self.infer(node.right, scope)
            return self._plus(node, left, right)
        left = self._number(node.left, scope, operator)
        right = self._number(node.right, scope, operator)
        if operator == "/":
            return FLOAT
        if operator == "**" and not _counts(node.right):
            return FLOAT  # `2 ** -1` is a half
        return join(left, right) or ANY

    def _plus(self, node: e.Binary, left: Type, right: Type) -> Type:
        if isinstance(left, AnyType) or isinstance(right, AnyType):
            return ANY
        if isinstance(left, ListType) and isinstance(right, ListType):
            return ListType(join(left.element, right.element) or ANY)
        if is_text(left) and is_text(right):
            return STR
        if accepts(FLOAT, left) and accepts(FLOAT, right):
            return join(left, right) or ANY
        self.report.error(
            "GOT0201",
            f"`+` cannot add {widen(left)} and {widen(right)}",
            node.span,
            "numbers, texts or lists",
            help="`str(...)` makes a text of a value" if is_text(left) or is_text(right) else None,
        )
        return ANY

    def _comparison(self, node: e.Comparison, scope: Scope) -> Type:
        left_node, left = node.first, self.infer(node.first, scope)
        for operator, right_node in node.rest:
            right = self.infer(right_node, scope)
            span = left_node.span.to(right_node.span)
            if operator in {"in", "not in"}:
                self._membership(span, left, right)
            elif operator in {"==", "!="}:
                if join(left, right) is None and not (is_text(left) and is_text(right)):
                    self.report.error(
                        "GOT0206", f"{widen(left)} and {widen(right)} are never equal", span, "compared here"
                    )
                elif isinstance(left, LiteralType) and isinstance(right, LiteralType):
                    self._literals(span, left, right)
            elif not self._ordered(left, right):
                self.report.error(
                    "GOT0206",
                    f"`{operator}` cannot order {widen(left)} and {widen(right)}",
                    span,
                    "compared here",
                )
            left_node, left = right_node, right
        return BOOL

    def _literals(self, span: Span, left: LiteralType, right: LiteralType) -> None:
        if not set(left.values) & set(right.values):
            wide, narrow = (left, right) if len(left.values) > len(right.values) else (right, left)
            guess = nearest(narrow.values[0], wide.values)
            self.report.error(
                "GOT0206",
                f"{left} is never {right}",
                span,
                "compared here",
                help=f'did you mean "{guess}"?' if guess else None,
            )

    def _membership(self, span: Span, left: Type, right: Type) -> None:
        match right:
            case ListType(element) if join(element, left) is not None:
                return
            case ListType():
                self.report.error("GOT0206", f"{right} never holds {widen(left)}", span)
            case AnyType() | DictType() | RecordType():
                return
            case _ if is_text(right) and (is_text(left) or isinstance(left, AnyType)):
                return
            case _:
                self.report.error("GOT0206", f"`in` needs a list or a text, not {widen(right)}", span)

    @staticmethod
    def _ordered(left: Type, right: Type) -> bool:
        if accepts(FLOAT, left) and accepts(FLOAT, right):
            return True
        if is_text(left) and is_text(right):
            return True
        return isinstance(left, ListType) and isinstance(right, ListType)

    def _conditional(self, node: e.Conditional, scope: Scope) -> Type:
        self.condition(node.condition, scope)
        then, otherwise = self.infer(node.then, scope), self.infer(node.otherwise, scope)
        if then == NONE or otherwise == NONE:
            return ANY
        return self._common_of(node, then, otherwise)

    def _common_of(self, node: e.Expression, left: Type, right: Type) -> Type:
        found = join(left, right)
        if found is None:
            if is_text(left) and is_text(right):
                return STR
            self.report.error(
                "GOT0207", f"this is {widen(left)} or {widen(right)}", node.span, "make both the same type"
            )
            return ANY
        return found

    def _common(self, types: list[Type]) -> Type:
        found: Type | None = None
        for type_ in types:
            found = type_ if found is None else join(found, type_)
            if found is None:
                return ANY
        return found or ANY

    def _index(self, node: e.Index, scope: Scope) -> Type:
        value = self.infer(node.value, scope)
        if isinstance(value, DictType | RecordType):
            self.expect(node.index, scope, STR, "a name in a mapping")
            if isinstance(value, DictType):
                return value.value
            key = node.index.value if isinstance(node.index, e.Constant) else None
            found = value.field(key) if isinstance(key, str) else None
            return found or self._common([t for _, t in value.fields])
        self.expect(node.index, scope, INT, "a position")
        if isinstance(value, ListType):
            return value.element
        return self._text_or_error(node.value, value, "has no positions")

    def _text_or_error(self, node: e.Expression, value: Type, why: str) -> Type:
        if is_text(value):
            return STR
        if not isinstance(value, AnyType):
            self.report.error("GOT0201", f"{widen(value)} {why}", node.span, "needs a list or a text")
        return ANY

    def _slice(self, node: e.Slice, scope: Scope) -> Type:
        value = self.infer(node.value, scope)
        for bound in (node.start, node.stop):
            if bound is not None:
                self.expect(bound, scope, INT, "a position")
        if isinstance(value, ListType):
            return value
        return self._text_or_error(node.value, value, "cannot be sliced")

    def _field(self, node: e.Field, scope: Scope) -> Type:
        value = self.infer(node.value, scope)
        if isinstance(value, AnyType):
            return ANY
        if isinstance(value, RecordType):
            if (found := value.field(node.name)) is not None:
                return found
            names = [name for name, _ in value.fields]
            self.report.unknown(
                "GOT0208", "field", node.name, node.span, names, f"it has: {', '.join(names)}"
            )
            return ANY
        self.report.error("GOT0208", f"{widen(value)} has no fields", node.span)
        return ANY

    def _comprehension(self, node: e.Comprehension, scope: Scope) -> Type:
        inner = self.elements(node.iterable, scope)
        names = [Variable(node.name.text, inner, "value", node.name.span)]
        if node.position is not None:
            self.distinct(node.name, node.position)
            names.append(Variable(node.position.text, INT, "value", node.position.span))
        inside = scope.inside(*names)
        if node.condition is not None:
            self.condition(node.condition, inside)
        return ListType(self.infer(node.element, inside))

    def distinct(self, first: e.Identifier, name: e.Identifier) -> None:
        """Note an error where a name is bound that another one of the same block has."""
        if name is not first and name.text == first.text:
            self.report.error(
                "GOT0101",
                f"`{name.text}` is bound twice here",
                name.span,
                "here again",
                labels=(Label(first.span, "first here"),),
            )

    def elements(self, node: e.Expression, scope: Scope) -> Type:
        """The type of the elements of what a loop goes through."""
        found = self.infer(node, scope)
        if isinstance(found, ListType):
            return found.element
        if not isinstance(found, AnyType):
            self.report.error("GOT0201", f"{widen(found)} has no elements", node.span, "needs a list")
        return ANY
