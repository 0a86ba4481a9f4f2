"""Expressions and types to text, with as few parentheses as their meaning allows."""

from __future__ import annotations

import re

from gotlang.span import Source
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.syntax.pieces import INDENT, Brackets, Item, LongText, Piece, flat
from gotlang.syntax.texts import long_lines, quote, reindented

# How tightly an expression binds, from the loosest; the ladder of the grammar.
_ANY, _OR, _AND, _NOT, _SUM, _PRODUCT, _FACTOR, _VALUE, _NOTHING = range(9)
_BINARY = {
    "or": (_OR, _OR, _AND),
    "and": (_AND, _AND, _NOT),
    "+": (_SUM, _SUM, _PRODUCT),
    "-": (_SUM, _SUM, _PRODUCT),
    "*": (_PRODUCT, _PRODUCT, _FACTOR),
    "/": (_PRODUCT, _PRODUCT, _FACTOR),
    "//": (_PRODUCT, _PRODUCT, _FACTOR),
    "%": (_PRODUCT, _PRODUCT, _FACTOR),
    "**": (_FACTOR, _VALUE, _FACTOR),
}
_NUMBER = re.compile(r"-?[0-9]{1,40}(?:\.[0-9]{1,40})?(?:[eE][+-]?[0-9]{1,3})?")
_KEY = re.compile(r"[a-z_][A-Za-z0-9_]*")


def format_expression(expression: e.Expression) -> str:
    """An expression on one line, which parses back to an equal one. Numbers must be finite."""
    return flat(ExpressionPrinter(None).expression(expression))


def format_type(type_: n.TypeNode) -> str:
    """A type on one line, which parses back to an equal one."""
    return flat(ExpressionPrinter(None).type(type_))


class ExpressionPrinter:
    """Makes pieces of expressions and types; with the source, texts in triple quotes keep their lines."""

    def __init__(self, source: Source | None) -> None:
        self._source = source

    def expression(self, node: e.Expression, level: int = _ANY) -> list[Piece]:
        """The pieces of an expression, in parentheses where it binds less than `level`."""
        own, pieces = self._bare(node)
        return pieces if own >= level else ["(", *pieces, ")"]

    def _bare(self, node: e.Expression) -> tuple[int, list[Piece]]:
        """How tightly an expression binds, and its pieces."""
        match node:
            case e.Constant():
                return self._constant(node)
            case e.Reference(name=name):
                return _VALUE, [name]
            case e.Unary(operator="not", operand=operand):
                return _NOT, ["not ", *self.expression(operand, _NOT)]
            case e.Unary(operator=operator, operand=operand):
                # `-5` is one number, so the operation on the number 5 is `-(5)`.
                level = _NOTHING if operator == "-" and e.is_plain_number(operand) else _FACTOR
                return _FACTOR, [operator, *self.expression(operand, level)]
            case e.Binary(operator=operator, left=left, right=right):
                own, before, after = _BINARY[operator]
                pieces = [*self.expression(left, before), f" {operator} ", *self.expression(right, after)]
                return own, pieces
            case e.Comparison(first=first, rest=rest):
                pieces = self.expression(first, _SUM)
                for operator, operand in rest:
                    pieces += [f" {operator} ", *self.expression(operand, _SUM)]
                return _NOT, pieces
            case e.Conditional(then=then, condition=condition, otherwise=otherwise):
                pieces = [*self.expression(then, _OR), " if ", *self.expression(condition, _OR), " else "]
                return _ANY, pieces + self.expression(otherwise)
            case e.Index(value=value, index=index):
                return _VALUE, [*self.expression(value, _VALUE), "[", *self.expression(index), "]"]
            case e.Slice(value=value, start=start, stop=stop):
                bounds = [*self._optional(start), ":", *self._optional(stop)]
                return _VALUE, [*self.expression(value, _VALUE), "[", *bounds, "]"]
            case e.Field(value=value, name=name):
                return _VALUE, [*self.expression(value, _VALUE), "." + name]
            case e.Call():
                place = (node.function.span.end, node.span.end)
                return _VALUE, [node.function.text, self.arguments(node.arguments, place)]
            case e.ListDisplay(elements=elements):
                items = tuple(self.item(element) for element in elements)
                return _VALUE, [Brackets("[", items, "]", node.span.start, node.span.end)]
            case e.RecordDisplay(entries=entries):
                items = tuple(self._entry(key, value) for key, value in entries)
                return _VALUE, [Brackets("{", items, "}", node.span.start, node.span.end)]
            case e.Comprehension():
                return _VALUE, self._comprehension(node)

    def item(self, node: e.Expression) -> Item:
        """An expression among others between brackets."""
        return Item(tuple(self.expression(node)), node.span.start, node.span.end)

    def arguments(self, arguments: tuple[e.Argument, ...], place: tuple[int, int]) -> Brackets:
        """The arguments of a call or the settings of an operation, between offsets of the source."""
        return Brackets("(", tuple(self._argument(argument) for argument in arguments), ")", *place)

    def _argument(self, node: e.Argument) -> Item:
        name = [node.name.text + "="] if node.name else []
        return Item((*name, *self.expression(node.value)), node.span.start, node.span.end)

    def _entry(self, key: str, value: e.Expression) -> Item:
        shown = key if _KEY.fullmatch(key) else quote(key)
        return Item((shown + ": ", *self.expression(value)), value.span.start, value.span.end)

    def _optional(self, node: e.Expression | None) -> list[Piece]:
        return self.expression(node) if node else []

    def _comprehension(self, node: e.Comprehension) -> list[Piece]:
        position = f", {node.position.text}" if node.position else ""
        pieces: list[Piece] = ["[", *self.expression(node.element), f" for {node.name.text}{position} in "]
        pieces += self.expression(node.iterable, _OR)
        if node.condition:
            pieces += [" if ", *self.expression(node.condition, _OR)]
        return [*pieces, "]"]

    def _constant(self, node: e.Constant) -> tuple[int, list[Piece]]:
        match node.value:
            case None:
                return _VALUE, ["none"]
            case bool():
                return _VALUE, ["true" if node.value else "false"]
            case str():
                return _VALUE, [self.text(node)]
            case _:
                return _VALUE if e.is_plain_number(node) else _FACTOR, [self._number(node)]

    def _number(self, node: e.Constant) -> str:
        """A number, with the digits that its author wrote."""
        raw, value = self._written(node), node.value
        if _NUMBER.fullmatch(raw):
            again = float(raw) if set(raw) & set(".eE") else int(raw)
            if repr(again) == repr(value):
                return raw
        return repr(value)

    def _written(self, node: e.Constant) -> str:
        """What stands in the source at the place of a constant."""
        return self._source.text[node.span.start : node.span.end] if self._source else ""

    def text(self, node: e.Constant, hang: int = INDENT) -> Piece:
        """A text in the quotes that it has."""
        value = str(node.value)
        if not node.long:
            return quote(value)
        raw = self._written(node)
        if len(raw) >= 6 and raw.startswith('"""') and raw.endswith('"""'):
            return LongText(value, tuple(reindented(raw[3:-3], value)), hang)
        return LongText(value, tuple(long_lines(value)), hang)

    def type(self, node: n.TypeNode) -> list[Piece]:
        """The pieces of a type."""
        match node:
            case n.NamedType(name=name, arguments=arguments):
                pieces: list[Piece] = [name.text]
                for number, argument in enumerate(arguments):
                    pieces += [", " if number else "[", *self.type(argument)]
                return [*pieces, "]"] if arguments else pieces
            case n.RecordTypeNode(fields=fields):
                items = tuple(
                    Item((f.name.text + ": ", *self.type(f.type)), f.span.start, f.span.end) for f in fields
                )
                return [Brackets("{", items, "}", node.span.start, node.span.end)]
            case n.UnionTypeNode(values=values):
                return [" | ".join(quote(value) for value in values)]
