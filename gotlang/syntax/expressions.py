"""Expressions of the syntax tree, in the order of the grammar (`grammars/got.lark`), and what every node has.

Nodes are frozen data. Two nodes are equal when they mean the same text; their places (`span`) do
not count. Later stages write nothing into them. The IR uses the same expressions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

from gotlang.span import Span

_T = TypeVar("_T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def node(kind: type[_T]) -> type[_T]:
    """The decorator of every node: a frozen dataclass with slots."""
    return dataclass(frozen=True, slots=True)(kind)


@node
class Node:
    """Anything with a place in the text."""

    span: Span = field(compare=False, repr=False)


@node
class Identifier(Node):
    """A name where it is declared or bound."""

    text: str


# ---------------------------------------------------------------- expressions


@node
class Constant(Node):
    """`5`, `0.7`, `"plain"`, `true`, `none`; `long` marks a text in triple quotes."""

    value: int | float | str | bool | None
    long: bool = field(default=False, compare=False)

    def __eq__(self, other: object) -> bool:
        # 1, 1.0 and true are equal in Python and different constants here.
        return (
            isinstance(other, Constant)
            and type(self.value) is type(other.value)
            and self.value == other.value
        )

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


HOLE = "?"
"""The name that stands for what could not be read."""


@node
class Reference(Node):
    """`numbers`: the use of a name."""

    name: str


@node
class Unary(Node):
    """`-x`, `+x`, `not x`."""

    operator: str
    operand: Expression


@node
class Binary(Node):
    """`a + b`, and `a and b`, `a or b`, which evaluate `b` only if needed."""

    operator: str
    left: Expression
    right: Expression


@node
class Compare(Node):
    """`a < b <= c`: true where each neighbouring pair is."""

    first: Expression
    rest: tuple[tuple[str, Expression], ...]


@node
class Conditional(Node):
    """`then if condition else otherwise`."""

    then: Expression
    condition: Expression
    otherwise: Expression


@node
class Index(Node):
    """`xs[i]`."""

    value: Expression
    index: Expression


@node
class Slice(Node):
    """`xs[start:stop]`."""

    value: Expression
    start: Expression | None
    stop: Expression | None


@node
class Field(Node):
    """`state.left`."""

    value: Expression
    name: str


@node
class Argument(Node):
    """`value` or `name=value` in a call or in settings."""

    name: Identifier | None
    value: Expression


@node
class Call(Node):
    """`sort(part)`: a built-in, a prompt, a score, a scheme or an imported function."""

    function: Identifier
    arguments: tuple[Argument, ...]


@node
class ListDisplay(Node):
    """`[a, b]`."""

    elements: tuple[Expression, ...]


@node
class Comprehension(Node):
    """`[element for name in iterable if condition]`; two names take the elements of a list of pairs apart."""

    element: Expression
    names: tuple[Identifier, ...]
    iterable: Expression
    condition: Expression | None


@node
class RecordDisplay(Node):
    """`{path: a, left: b}`; an entry without a name, `{...state, left: b}`, gives all fields of a record."""

    entries: tuple[tuple[str | None, Expression], ...]


@node
class Case(Node):
    """`Act {tool: "search", arg: q}`, or `Stop` without fields: a value of one of a type's alternatives."""

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
