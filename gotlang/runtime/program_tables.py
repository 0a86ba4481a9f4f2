"""Cached facts about parts of a program, computed on first use and shared by all of its runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar, final

from gotlang.estimate.critical_path import CallsRemaining
from gotlang.ir import program as ir
from gotlang.ir.effects import Effects
from gotlang.ir.evaluate import Evaluator
from gotlang.ir.foreign import changes_graph
from gotlang.runtime.watch import PythonWatch
from gotlang.syntax import expressions as e

Part = TypeVar("Part")
T = TypeVar("T")

_MOST = 20_000
"""Maximum number of entries of a table, which is then cleared: runs make steps of their own for calls of
tools."""


@final
class PartTable(Generic[Part, T]):
    """A value for each part of a program. The table references the parts, since it identifies them by
    identity."""

    __slots__ = ("_found",)

    def __init__(self) -> None:
        self._found: dict[int, tuple[Part, T]] = {}

    def of(self, part: Part, find: Callable[[Part], T]) -> T:
        """The value of a part, which is computed if it is not in the table."""
        found = self._found.get(id(part))
        if found is None:
            if len(self._found) >= _MOST:
                self._found.clear()
            found = self._found[id(part)] = part, find(part)
        return found[1]


@final
class ProgramTables:
    """The shared data of all runs of a program with the same Python functions.

    For each step: its `layouts`, the names that it `needs`; for each expression: the names that it `uses`,
    its free `names`; for each region: the `guards` that may skip it. `calls` has the common data of all calls
    of a prompt by a step. `changing` are the functions that change graphs, `limited` are all with the limit
    of `watch`.
    """

    def __init__(
        self, program: ir.Program, functions: Mapping[str, Callable[..., Any]], watch: PythonWatch
    ) -> None:
        self.program = program
        self.functions = functions
        self.limited = watch.limited(functions)
        self.changing = frozenset(name for name, function in functions.items() if changes_graph(function))
        self.effects = Effects(program, self.changing)
        self.remaining = CallsRemaining(program)
        self.evaluate = Evaluator({s.name: s for s in program.scores}, self.limited, program.results)
        self.layouts = PartTable[ir.Step, Any]()
        self.needs = PartTable[ir.Step, tuple[str, ...]]()
        self.uses = PartTable[e.Expression, Any]()
        self.names = PartTable[e.Expression, tuple[str, ...]]()
        self.guards = PartTable[ir.Region, list[str]]()
        self.calls: dict[tuple[str, int, int], Any] = {}
