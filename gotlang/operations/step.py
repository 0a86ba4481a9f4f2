"""The common base of all steps of the IR, and the regions that contain steps.

A step has input pools by name and an output pool, `result`. Names that start with `%` are the compiler's. A
region is a block of steps with an input pool (`entry`) and an output pool (`result`); it sees the names of
the enclosing regions. Expressions are those of the syntax tree.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import cache
from typing import Any, Literal, NamedTuple, final

from msgspec import Struct
from msgspec.structs import replace

from gotlang.frozen import Frozen
from gotlang.span import NOWHERE, Span
from gotlang.syntax.expressions import Expression
from gotlang.types import Type

PythonArguments = tuple[tuple[str | None, Expression], ...]
"""Arguments of a Python function, by keyword or (None) by position."""
Arguments = tuple[tuple[str, Expression], ...]

GIVEN = frozenset({"it", "thoughts", "truth"})
"""Names that only a step's own thoughts define: no program binds them."""

Effect = Literal["samples", "reads", "acts", "measures", "grows"]
"""Effects other than computing thoughts: `samples` calls a model, `reads` looks up documents, `acts` calls
Python that may have side effects, `measures` records a comparison, `grows` adds operations while the graph
runs."""


@final
class LineKey(NamedTuple):
    """The identity of a line that calls a model, directly or not: its calls as the program writes them, and
    the number of equal lines before it in the scheme."""

    text: str
    rank: int = 0


class _Placed(Frozen, frozen=True, kw_only=True):
    span: Span = NOWHERE
    line: LineKey | None = None


class Step(_Placed, frozen=True):
    """Base of all steps: the name, element type and count of its output pool, its input pool, its place in
    the source, and its line, which identifies its samples."""

    result: str
    type: Type
    single: bool
    pool: str

    @property
    def regions(self) -> tuple[Region, ...]:
        """The regions directly inside the step."""
        return ()

    def with_regions(self, change: Callable[[Region], Region]) -> Step:
        """The step with its direct regions changed."""
        return self

    @property
    def bound_names(self) -> tuple[str, ...]:
        """The names that the step binds inside its regions, in addition to their entries."""
        return ()

    @property
    def pools_named(self) -> tuple[str, ...]:
        """The pools, in addition to its input, that the step names inside its regions."""
        return ()

    def names_seen_by(self, expression: Expression) -> Collection[str]:
        """The names that the step itself defines for one of its own expressions."""
        return GIVEN

    @property
    def own_fields(self) -> dict[str, Any]:
        """The fields of the step in addition to its name, type, count, pool and place."""
        return {name: getattr(self, name) for name in _own_names(type(self))}


@cache
def _own_names(kind: type[Step]) -> tuple[str, ...]:
    return tuple(name for name in kind.__struct_fields__ if name not in Step.__struct_fields__)


@final
class Region(Struct, frozen=True):
    """A block: the name of its input pool, its steps in order, the name of its output pool."""

    entry: str
    steps: tuple[Step, ...]
    result: str

    def all_steps(self) -> Iterator[Step]:
        """Its steps and nested ones, in order."""
        for step in self.steps:
            yield step
            for inner in step.regions:
                yield from inner.all_steps()

    @property
    def single(self) -> bool:
        """Whether it yields exactly one thought if it starts from one."""
        for step in reversed(self.steps):
            if step.result == self.result:
                return step.single
        return True


class WithBody(Step, frozen=True, kw_only=True):
    """Base of the steps with one block."""

    body: Region

    @property
    def regions(self) -> tuple[Region, ...]:
        """The body."""
        return (self.body,)

    def with_regions(self, change: Callable[[Region], Region]) -> Step:
        """The step with its body changed."""
        return replace(self, body=change(self.body))
