"""The tree of a template, whose nodes write their text and compute their values.

A missing value is a `Missing`. Fields, elements and branches pass it on, because `default` and `is defined`
may handle it; anywhere else it is an error.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, final

from msgspec import Struct

from gotlang.errors import TemplateError
from gotlang.templates.render_state import Rendering, kind, short


@final
class TemplatePlace(int):
    """A line, counted from 1, and the range on it: start and end, in characters of the text from 0."""

    start: int
    end: int


@final
class Missing(Struct, frozen=True):
    """A missing value, with the error message."""

    message: str


class TemplateNode(Struct, frozen=True):
    """A node; its place is a `TemplatePlace`, or only a line."""

    place: int

    def write(self, run: Rendering) -> None:
        """Write its text."""
        raise NotImplementedError


class Expression(TemplateNode, frozen=True):
    """A node with a value."""

    def value(self, run: Rendering) -> Any:
        """Its value, or a `Missing`."""
        raise NotImplementedError

    def known(self, run: Rendering) -> Any:
        """Its value. Raises TemplateError if it is missing."""
        value = self.value(run)
        if type(value) is Missing:
            raise TemplateError(value.message)
        return value


def children(node: TemplateNode) -> Iterator[TemplateNode]:
    """The child nodes, in the order of the text."""
    waiting = [getattr(node, name) for name in reversed(node.__struct_fields__)]
    while waiting:
        part = waiting.pop()
        if isinstance(part, TemplateNode):
            yield part
        elif isinstance(part, tuple):
            waiting.extend(reversed(part))


# ---------------------------------------------------------------- statements


@final
class Data(TemplateNode, frozen=True):
    """Literal text."""

    text: str

    def write(self, run: Rendering) -> None:
        run.write(self.text)


@final
class Shown(TemplateNode, frozen=True):
    """`{{ value }}`"""

    expression: Expression

    def write(self, run: Rendering) -> None:
        run.place = self.place
        run.write(run.text(self.expression.known(run)))


@final
class Branch(TemplateNode, frozen=True):
    """`{% if test %}` or `{% elif test %}`, with what follows."""

    test: Expression
    body: tuple[TemplateNode, ...]


@final
class If(TemplateNode, frozen=True):
    """`{% if %}` to `{% endif %}`; `otherwise` follows `{% else %}`."""

    branches: tuple[Branch, ...]
    otherwise: tuple[TemplateNode, ...]

    def write(self, run: Rendering) -> None:
        body = self.otherwise
        for branch in self.branches:
            run.place = branch.place
            if branch.test.known(run):
                body = branch.body
                break
        for part in body:
            part.write(run)


@final
class Names(TemplateNode, frozen=True):
    """The names that a loop gives to the parts of an element."""

    items: tuple[Name | Names, ...]


@final
class For(TemplateNode, frozen=True):
    """`{% for target in iterable if test %}` to `{% endfor %}`; `otherwise` is for no element at all. Its
    weight is the maximum number of nodes in an iteration; nested loops pay for themselves."""

    target: Name | Names
    iterable: Expression
    test: Expression | None
    body: tuple[TemplateNode, ...]
    otherwise: tuple[TemplateNode, ...]
    weight: int

    def write(self, run: Rendering) -> None:
        run.place = self.place
        outer, inner = run.values, dict(run.values)
        elements = run.each(self.iterable.known(run), self.weight)
        run.values = inner
        if self.test is not None:
            elements = [element for element in elements if self._chosen(self.test, element, run)]
        inner["loop"] = loop = Loop(elements)
        for loop.index0, element in enumerate(elements):
            run.place = self.place
            _bind(self.target, element, inner)
            for part in self.body:
                part.write(run)
        run.values = outer
        if not elements:
            for part in self.otherwise:
                part.write(run)

    def _chosen(self, test: Expression, element: Any, run: Rendering) -> bool:
        run.place = self.place
        _bind(self.target, element, run.values)
        run.place = test.place
        return bool(test.known(run))


def _bind(target: Name | Names, element: Any, values: dict[str, Any]) -> None:
    """Bind an element or its parts to names."""
    if isinstance(target, Name):
        values[target.name] = element
        return
    parts = list(element)
    if len(parts) != len(target.items):
        raise TemplateError("an element has more or fewer parts than its loop has names")
    for inner, part in zip(target.items, parts, strict=True):
        _bind(inner, part, values)


def named(target: Name | Names) -> Iterator[Name]:
    """The names that a loop gives."""
    if isinstance(target, Name):
        yield target
    else:
        for item in target.items:
            yield from named(item)


def weight(parts: Iterable[TemplateNode | None]) -> int:
    """The number of nodes in these, without those in nested loops."""
    count, waiting = 0, [part for part in parts if part is not None]
    while waiting:
        part = waiting.pop()
        count += 1
        if not isinstance(part, For):
            waiting.extend(children(part))
    return count


@final
class Loop:
    """The value of `loop`; `LOOP` has its fields."""

    __slots__ = ("elements", "index0")

    def __init__(self, elements: list[Any]) -> None:
        self.elements = elements
        self.index0 = 0

    def neighbour(self, step: int, otherwise: str) -> Any:
        """The element before or after the current one."""
        at = self.index0 + step
        return self.elements[at] if 0 <= at < len(self.elements) else Missing(otherwise)


LOOP: Final[Mapping[str, Callable[[Loop], Any]]] = {
    "first": lambda loop: loop.index0 == 0,
    "index": lambda loop: loop.index0 + 1,
    "index0": lambda loop: loop.index0,
    "last": lambda loop: loop.index0 + 1 == len(loop.elements),
    "length": lambda loop: len(loop.elements),
    "nextitem": lambda loop: loop.neighbour(1, "there is no next item"),
    "previtem": lambda loop: loop.neighbour(-1, "there is no previous item"),
    "revindex": lambda loop: len(loop.elements) - loop.index0,
    "revindex0": lambda loop: len(loop.elements) - loop.index0 - 1,
}
"""The fields of `loop`."""

# ---------------------------------------------------------------- expressions


@final
class Const(Expression, frozen=True):
    """A text, a number, `true`, `false` or `none`."""

    constant: Any

    def value(self, run: Rendering) -> Any:
        return self.constant


@final
class Name(Expression, frozen=True):
    """An input, or a loop variable."""

    name: str

    def value(self, run: Rendering) -> Any:
        found = run.values.get(self.name, run)  # which no value is
        return found if found is not run else Missing(f"'{self.name}' is undefined")


@final
class Getattr(Expression, frozen=True):
    """`node.attr`"""

    node: Expression
    attr: str

    def value(self, run: Rendering) -> Any:
        owner = self.node.known(run)
        if type(owner) is Loop:
            return LOOP[self.attr](owner)
        return part_of(owner, self.attr)


@final
class Getitem(Expression, frozen=True):
    """`node[arg]`"""

    node: Expression
    arg: Expression

    def value(self, run: Rendering) -> Any:
        return part_of(self.node.known(run), self.arg.known(run))


def part_of(value: Any, key: Any) -> Any:
    """A field of a record, an element of a list, a character of a text."""
    if isinstance(value, dict):
        if isinstance(key, str | int | float | bool | None) and key in value:
            return value[key]
        return Missing(f"there is no field `{short(key)}`")
    if isinstance(value, list | tuple | str) and type(key) is int:
        if -len(value) <= key < len(value):
            return value[key]
        return Missing(f"there is no element {key}: it has {len(value)}")
    return Missing(f"{kind(value)} has no `{short(key)}`")


@final
class Slice(Expression, frozen=True):
    """`node[start:stop:step]`"""

    node: Expression
    start: Expression | None
    stop: Expression | None
    step: Expression | None

    def value(self, run: Rendering) -> Any:
        ends = (end and end.known(run) for end in (self.start, self.stop, self.step))
        return run.slice(self.node.known(run), *ends)


@final
class List(Expression, frozen=True):
    """`[a, b]`, and `(a, b)`, which is shown as one."""

    items: tuple[Expression, ...]

    def value(self, run: Rendering) -> Any:
        return [item.known(run) for item in self.items]


@final
class Dict(Expression, frozen=True):
    """`{"a": b}`"""

    items: tuple[tuple[Expression, Expression], ...]

    def value(self, run: Rendering) -> Any:
        return {key.known(run): value.known(run) for key, value in self.items}


@final
class Concat(Expression, frozen=True):
    """`a ~ b ~ c`: their texts, concatenated."""

    items: tuple[Expression, ...]

    def value(self, run: Rendering) -> Any:
        texts = [run.text(item.known(run)) for item in self.items]
        run.spend(sum(map(len, texts)))
        return "".join(texts)


@final
class And(Expression, frozen=True):
    """`left and right`"""

    left: Expression
    right: Expression

    def value(self, run: Rendering) -> Any:
        return self.left.known(run) and self.right.value(run)


@final
class Or(Expression, frozen=True):
    """`left or right`"""

    left: Expression
    right: Expression

    def value(self, run: Rendering) -> Any:
        return self.left.known(run) or self.right.value(run)


@final
class Not(Expression, frozen=True):
    """`not node`"""

    node: Expression

    def value(self, run: Rendering) -> Any:
        return not self.node.known(run)


@final
class Signed(Expression, frozen=True):
    """`-node`, `+node`"""

    sign: str
    node: Expression

    def value(self, run: Rendering) -> Any:
        value = self.node.known(run)
        return -value if self.sign == "-" else +value


_ARITHMETIC: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod,
}  # fmt: skip
_MOST_BITS = 4096


@final
class Binary(Expression, frozen=True):
    """`left + right`, and other arithmetic of numbers; `+` also joins two texts or two lists."""

    sign: str
    left: Expression
    right: Expression

    def value(self, run: Rendering) -> Any:
        left, right = self.left.known(run), self.right.known(run)
        numbers = isinstance(left, int | float) and isinstance(right, int | float)
        joined = self.sign == "+" and any(isinstance(left, t) and isinstance(right, t) for t in (str, list))
        if not numbers and not joined:
            raise TemplateError(f"`{self.sign}` between {kind(left)} and {kind(right)}")
        if joined:
            run.spend(8 * (len(left) + len(right)))
        result = _ARITHMETIC[self.sign](left, right)
        if isinstance(result, int) and result.bit_length() > _MOST_BITS:
            raise TemplateError("a number with too many digits")
        return result


_COMPARISONS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge, "in": lambda left, right: left in right,
    "not in": lambda left, right: left not in right,
}  # fmt: skip


@final
class Compare(Expression, frozen=True):
    """`left < right <= further`; the operands are signs and the expressions after them."""

    left: Expression
    operands: tuple[tuple[str, Expression], ...]

    def value(self, run: Rendering) -> Any:
        left = run.read(self.left.known(run))
        for sign, operand in self.operands:
            right = run.read(operand.known(run))
            if not _COMPARISONS[sign](left, right):
                return False
            left = right
        return True


@final
class Conditional(Expression, frozen=True):
    """`then if test else otherwise`"""

    then: Expression
    test: Expression
    otherwise: Expression

    def value(self, run: Rendering) -> Any:
        return (self.then if self.test.known(run) else self.otherwise).value(run)


@final
class RangeCall(Expression, frozen=True):
    """`range(stop)`, `range(start, stop, step)`: the only function."""

    args: tuple[Expression, ...]

    def value(self, run: Rendering) -> Any:
        return run.range(*[bound.known(run) for bound in self.args])


class Applied(Expression, frozen=True):
    """A filter or a test, by its name and as a Python function, and its arguments."""

    node: Expression
    name: str
    function: Callable[..., Any]
    args: tuple[Expression, ...]
    kwargs: tuple[tuple[str, Expression], ...]

    def apply(self, run: Rendering, *given: Any) -> Any:
        """Its result for a value and its arguments."""
        args = [argument.known(run) for argument in self.args]
        kwargs = {name: argument.known(run) for name, argument in self.kwargs}
        return self.function(*given, *args, **kwargs)


@final
class Filter(Applied, frozen=True):
    """`node | name(...)`"""

    def value(self, run: Rendering) -> Any:
        value = self.node.value(run) if self.name == "default" else self.node.known(run)
        return self.apply(run, run, value)


@final
class IsTest(Applied, frozen=True):
    """`node is name(...)`"""

    def value(self, run: Rendering) -> Any:
        return self.apply(run, self.node.value(run))
