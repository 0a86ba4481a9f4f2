"""The maximum length of the text of a template if only the sizes of some values are known."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, final

from gotlang.amounts import bounded
from gotlang.flows import SCATTERED
from gotlang.templates import nodes

_NUMBER: Final = 310
"""Maximum tokens of a computed number; large whole ones are as long as their operands."""
_BESIDE: Final = 4
"""Tokens of the punctuation around each element of a list."""
_NUMBERS: Final = ("wordcount", "length", "count")
_KEPT: Final = {
    *("string", "trim", "first", "last", "min", "max", "sum", "int", "float", "round", "abs"),
}
"""Filters whose result is not longer than their input, or a number."""
_PIECES: Final = {
    *("capitalize", "lower", "title", "upper", "tojson"),
    *("list", "sort", "unique", "reverse", "batch", "items"),
}
"""Filters that may show each character of a text separately. Others are unbounded."""
_SAME_COUNT: Final = ("list", "sort", "reverse", "unique", "items", "map", "batch")
"""Filters that do not increase the number of elements."""


@final
@dataclass(frozen=True)
class Longest:
    """Bounds for a template, in tokens as `tokens` counts them for a known value. `sizes` are the maximum
    sizes of the values by name, `counts` the numbers of their elements, infinity if unknown."""

    tokens: Callable[[Any], int]
    sizes: Mapping[str, float]
    counts: Mapping[str, float]

    def blocks(self, parts: Iterable[nodes.TemplateNode]) -> float:
        """The bound of texts and blocks in sequence."""
        return bounded(sum(map(self._block, parts)))

    def _block(self, node: nodes.TemplateNode) -> float:
        match node:
            case nodes.Data(text=text):
                return self.tokens(text)
            case nodes.Shown(expression=expression):
                return self._expression(expression)
            case nodes.If():
                ways = (branch.body for branch in node.branches)
                return max(map(self.blocks, (node.otherwise, *ways)))
            case nodes.For():
                count, whole = self._count(node.iterable), self._expression(node.iterable)
                # A block is not longer than a line that leads from no element to one that is all of them.
                empty, full = (self._inside(node, size).blocks(node.body) for size in (0.0, whole))
                return (bounded(count * empty) if empty else 0) + (full - empty if full < math.inf else full)
        return math.inf

    def _inside(self, loop: nodes.For, size: float) -> Longest:
        """The bounds in a loop, whose element has this size."""
        names = [target.name for target in nodes.named(loop.target)]
        own = dict.fromkeys(names, size)
        counts = {**self.counts, **dict.fromkeys(names, size or 1)}
        return Longest(self.tokens, {**self.sizes, **own, "loop": size + _NUMBER}, counts)

    def _count(self, node: nodes.TemplateNode) -> float:
        """The number of elements of a loop."""
        match node:
            case nodes.Name():
                return self.counts.get(node.name, math.inf)
            case nodes.Getattr() | nodes.Getitem() | nodes.Slice():
                return self._count(node.node)
            case nodes.Filter(name=name) if name in _SAME_COUNT:
                return self._count(node.node)
            case nodes.List():
                return len(node.items)
            case nodes.RangeCall(args=(nodes.Const(constant=int() as stop),)):
                return max(0, stop)
            case nodes.RangeCall(args=(nodes.Filter(name="length" | "count", node=of),)):
                return self._count(of)
        return math.inf

    def _expression(self, node: nodes.Expression) -> float:
        of = self._expression
        match node:
            case nodes.Const(constant=constant):
                return self.tokens(constant)
            case nodes.Name():
                return self.sizes.get(node.name, math.inf)
            case nodes.Getattr() | nodes.Getitem() | nodes.Slice() | nodes.Signed():
                return of(node.node) + 1
            case nodes.Compare() | nodes.Not() | nodes.IsTest() | nodes.Binary(sign="/"):
                return _NUMBER
            case nodes.Conditional():
                return max(of(node.then), of(node.otherwise))
            case nodes.Binary() | nodes.And() | nodes.Or():
                return max(_NUMBER, of(node.left) + of(node.right) + 1)
            case nodes.Concat():
                return sum(map(of, node.items))
            case nodes.List():
                return sum((of(item) + _BESIDE for item in node.items), 2)
            case nodes.Filter(name="join"):
                return bounded(of(node.node) * (1 + sum(map(of, node.args))))
            case nodes.Filter(name="default"):
                return max(of(node.node), *map(of, node.args), 0)
            case nodes.Filter(name=name) if name in _NUMBERS:
                return _NUMBER
            case nodes.Filter(name=name) if name in _KEPT:
                return max(_NUMBER, of(node.node))
            case nodes.Filter(name=name) if name in _PIECES:
                return of(node.node) * SCATTERED + _BESIDE
        return math.inf
