"""From the parser's reductions to nodes, first part: the machinery, names, texts, expressions and types.

`build.py` and `build_pipelines.py` hold the rest. One method a grammar rule, in the order of the grammar.
"""

# Every method gets the rule's position and its children from Lark, which have no static type.
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import builtins
from math import inf
from typing import Any

from lark import Token, Tree

from gotlang.diagnostics import Diagnostic
from gotlang.span import Span
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.syntax.texts import read_long, unescape

MAX_DIGITS = 1234
"""How long a number may be, in characters: what whole numbers of 4,096 bits take."""

RESERVED = frozenset(
    {"and", "elif", "else", "false", "for", "foreach", "if", "in", "none", "not", "or", "reduce", "repeat"}
    | {"after", "as", "from", "return", "true", "until", "when", "with"}
)
"""Words that no name may be: they would make an expression or a statement mean something else."""


class ExpressionBuilder:
    """Makes nodes of one piece of a program, which starts at offset `base` of the source called `name`.

    What the grammar lets through and the language does not is collected in `problems`.
    """

    def __init__(self, name: str, text: str, base: int) -> None:
        self._name, self._text, self._base = name, text, base
        self.problems: builtins.list[Diagnostic] = []

    def build(self, tree: Tree[Any]) -> Any:
        """The node of a tree; children first, without recursion, since trees may be deep."""
        order = []
        stack = [tree]
        while stack:
            top = stack.pop()
            order.append(top)
            stack.extend(child for child in top.children if isinstance(child, Tree))
        made: dict[int, Any] = {}
        for part in reversed(order):
            children = [made.pop(id(c)) if isinstance(c, Tree) else c for c in part.children]
            made[id(part)] = getattr(self, part.data)(part.meta, children)
        return made[id(tree)]

    def _here(self, meta) -> Span:
        if meta.empty:
            return Span(self._name, self._base, self._base)
        return Span(self._name, self._base + meta.start_pos, self._base + meta.end_pos)

    def _problem(self, code: str, message: str, span: Span, help: str | None = None) -> None:
        self.problems.append(Diagnostic(code, message, span, help=help))

    # ------------------------------------------------------------ types

    def named_type(self, meta, children):
        name, *arguments = children
        return n.NamedType(self._here(meta), name, present(arguments))

    def record_type(self, meta, children):
        return n.RecordTypeNode(self._here(meta), present(children))

    def field_type(self, meta, children):
        return n.FieldType(self._here(meta), *children)

    def union_type(self, meta, children):
        return n.UnionTypeNode(self._here(meta), tuple(self._read(c) for c in children))

    def type_name(self, meta, children):
        return e.Identifier(self._here(meta), str(children[0]))

    # ------------------------------------------------------------ expressions

    def conditional(self, meta, children):
        return e.Conditional(self._here(meta), *children)

    def or_(self, meta, children):
        return e.Binary(self._here(meta), "or", *children)

    def and_(self, meta, children):
        return e.Binary(self._here(meta), "and", *children)

    def not_(self, meta, children):
        return e.Unary(self._here(meta), "not", children[0])

    def comparison(self, meta, children):
        first, *rest = children
        pairs = []
        words: builtins.list[str] = []
        for item in rest:
            if isinstance(item, Token):
                words.append(str(item))
            else:
                pairs.append((" ".join(words), item))
                words = []
        return e.Comparison(self._here(meta), first, tuple(pairs))

    def binary(self, meta, children):
        left, operator, right = children
        return e.Binary(self._here(meta), str(operator), left, right)

    def sign(self, meta, children):
        operator, operand = children
        # `-5` is a number; `-(5)` and `-x` are what they look like.
        if (
            operator == "-"
            and e.is_plain_number(operand)
            and self._text[operand.span.start - self._base] != "("
        ):
            return e.Constant(self._here(meta), -operand.value)
        return e.Unary(self._here(meta), str(operator), operand)

    def index(self, meta, children):
        return e.Index(self._here(meta), *children)

    def slice(self, meta, children):
        value, start, _, stop = children
        return e.Slice(self._here(meta), value, start, stop)

    def field(self, meta, children):
        return e.Field(self._here(meta), children[0], str(children[1]))

    def reference(self, meta, children):
        return e.Reference(self._here(meta), self._name_of(children[0]).text)

    def call(self, meta, children):
        name, *arguments = children
        return e.Call(self._here(meta), self._name_of(name), self._arguments(arguments))

    def group(self, meta, children):
        inner = children[0]
        # The parentheses belong to the place, so that a statement's span ends where its text ends.
        values = [getattr(inner, slot) for slot in inner.__dataclass_fields__ if slot != "span"]
        return type(inner)(self._here(meta), *values)

    def number(self, meta, children):
        token = children[0]
        value: int | float = 0
        if len(token) <= MAX_DIGITS:
            value = int(token) if token.type == "INT" else float(token)
        if len(token) > MAX_DIGITS or value == inf:
            self._problem("GOT0007", "this number is too large", self._here(meta))
            value = 0
        return e.Constant(self._here(meta), value)

    def text(self, _meta, children):
        return self._string(children[0])

    def true(self, meta, _children):
        return e.Constant(self._here(meta), True)

    def false(self, meta, _children):
        return e.Constant(self._here(meta), False)

    def none(self, meta, _children):
        return e.Constant(self._here(meta), None)

    def list(self, meta, children):
        return e.ListDisplay(self._here(meta), present(children))

    def comprehension(self, meta, children):
        return e.Comprehension(self._here(meta), *children)

    def record(self, meta, children):
        return e.RecordDisplay(self._here(meta), present(children))

    def entry(self, _meta, children):
        key, value = children
        return self._read(key) if key.type == "STRING" else str(key), value

    def argument(self, meta, children):
        # A setting may be called like a word of the language: `until=score == 0`.
        return e.Argument(self._here(meta), self._identifier(children[0]), children[1])

    def negative_constant(self, meta, children):
        return e.Constant(self._here(meta), -children[1].value)

    constant_list = list

    def name(self, _meta, children):
        return self._name_of(children[0])

    # ------------------------------------------------------------ tokens

    def _name_of(self, token: Token) -> e.Identifier:
        if token in RESERVED:
            message = f"`{token}` is a word of the language, not a name"
            self._problem("GOT0011", message, self._place(token))
        return self._identifier(token)

    def _identifier(self, token: Token) -> e.Identifier:
        return e.Identifier(self._place(token), str(token))

    def _read(self, token: Token) -> str:
        """What a quoted text says."""
        return read_long(token[3:-3]) if token.type == "LONG_STRING" else unescape(token[1:-1])

    def _string(self, token: Token) -> e.Constant:
        return e.Constant(self._place(token), self._read(token), long=token.type == "LONG_STRING")

    def _place(self, token: Token) -> Span:
        return Span(self._name, self._base + (token.start_pos or 0), self._base + (token.end_pos or 0))

    def _arguments(self, children) -> tuple[e.Argument, ...]:
        return tuple(
            child if isinstance(child, e.Argument) else e.Argument(child.span, None, child)
            for child in children
            if child is not None
        )


def present(children: list[Any]) -> tuple[Any, ...]:
    """The children without the gaps that Lark leaves for optional parts."""
    return tuple(child for child in children if child is not None)
