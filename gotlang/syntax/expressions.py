"""Expressions of the syntax tree, in the order of the grammar (`grammars/got.lark`), and the base of all
nodes.

Nodes are frozen data. Two nodes are equal if they represent the same text; their places (`span`) are ignored.
Later stages do not write into them. The IR uses the same expressions.
"""

from __future__ import annotations

from gotlang.frozen import Frozen
from gotlang.span import Span


class Node(Frozen, frozen=True):
    """A node of the tree, with a place in the text."""

    span: Span


class Identifier(Node, frozen=True):
    """A name where it is declared or bound."""

    text: str


# ---------------------------------------------------------------- expressions


class Constant(Node, frozen=True):
    """`5`, `0.7`, `"plain"`, `true`, `none`; `long` marks a text in triple quotes."""

    value: int | float | str | bool | None
    long: bool = False

    def place(self, offset: int) -> Span:
        """The place of a character of a text; the whole text if it has escapes or several lines."""
        start = self.span.start + 1 + offset
        plain = not self.long and self.span.end - self.span.start - 2 == len(str(self.value))
        return Span(self.span.source, start, start + 1) if plain else self.span

    def _meaning(self) -> tuple[object, ...]:
        # 1, 1.0 and true are equal in Python and different constants here.
        return type(self.value), self.value


HOLE = "?"
"""The name of an unreadable part."""


class Reference(Node, frozen=True):
    """`numbers`: the use of a name."""

    name: str


class Unary(Node, frozen=True):
    """`-x`, `+x`, `not x`."""

    operator: str
    operand: Expression


class Binary(Node, frozen=True):
    """`a + b`, and `a and b`, `a or b`, which evaluate `b` only if needed."""

    operator: str
    left: Expression
    right: Expression


class Compare(Node, frozen=True):
    """`a < b <= c`: true if each neighbouring pair is."""

    first: Expression
    rest: tuple[tuple[str, Expression], ...]


class Conditional(Node, frozen=True):
    """`then if condition else otherwise`."""

    then: Expression
    condition: Expression
    otherwise: Expression


class Index(Node, frozen=True):
    """`xs[i]`."""

    value: Expression
    index: Expression


class Slice(Node, frozen=True):
    """`xs[start:stop]`."""

    value: Expression
    start: Expression | None
    stop: Expression | None


class Field(Node, frozen=True):
    """`state.left`."""

    value: Expression
    name: str


class Argument(Node, frozen=True):
    """`value` or `name=value` in a call or in settings."""

    name: Identifier | None
    value: Expression


class Call(Node, frozen=True):
    """`sort(part)`: a built-in, a prompt, a score, a scheme or an imported function."""

    function: Identifier
    arguments: tuple[Argument, ...]


class ListDisplay(Node, frozen=True):
    """`[a, b]`."""

    elements: tuple[Expression, ...]


class Comprehension(Node, frozen=True):
    """`[element for name in iterable if condition]`; two names unpack the elements of a list of pairs."""

    element: Expression
    names: tuple[Identifier, ...]
    iterable: Expression
    condition: Expression | None


class RecordDisplay(Node, frozen=True):
    """`{path: a, left: b}`; an entry without a name, `{...state, left: b}`, spreads all fields of a
    record."""

    entries: tuple[tuple[str | None, Expression], ...]


class Case(Node, frozen=True):
    """`Act {tool: "search", arg: q}`, or `Stop` without fields: a value of one case of a type."""

    case: Identifier
    entries: tuple[tuple[str | None, Expression], ...] = ()


Expression = (
    Constant
    | Reference
    | Unary
    | Binary
    | Compare
    | Conditional
    | Index
    | Slice
    | Field
    | Call
    | ListDisplay
    | Comprehension
    | RecordDisplay
    | Case
)


def is_plain_number(node: Expression) -> bool:
    """Whether this is a number that is written without a sign."""
    if not isinstance(node, Constant) or not isinstance(node.value, int | float):
        return False
    return type(node.value) is not bool and (node.value > 0 or str(node.value) in {"0", "0.0"})
