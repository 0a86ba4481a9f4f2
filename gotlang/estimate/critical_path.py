"""The number of sequential model calls still to come: a static estimate over the IR, for scheduling only."""

from __future__ import annotations

from typing import final

from gotlang.ir import program as ir
from gotlang.operations import record_of
from gotlang.operations.names import needed_names
from gotlang.operations.stages import GUESSED_ROUNDS
from gotlang.syntax import expressions as e
from gotlang.syntax.walk import children_first


@final
class CallsRemaining:
    """Estimates for one program, each computed once. Names inside a block count as used where it begins."""

    def __init__(self, program: ir.Program) -> None:
        self._program = program
        self._prompts = {prompt.name for prompt in program.prompts}
        self._through: dict[int, int] = {}
        self._after: dict[int, int] = {}
        self._schemes: dict[str, int] = {}

    def after(self, step: ir.Step) -> int:
        """Model calls on the critical path from the end of a step to the end of its block; 0 if the block was
        not analyzed."""
        return self._after.get(id(step), 0)

    def own(self, step: ir.Step) -> int:
        """Sequential model calls of a step itself."""
        return record_of(step).remaining(step, self)

    def scheme(self, name: str) -> int:
        """Model calls on the critical path through a scheme; a scheme that calls itself counts once."""
        if name not in self._schemes:
            called = children_first([name], self._program.callees)
            order = [each for each in called if each not in self._schemes]
            self._schemes |= dict.fromkeys(order, 1)
            for each in order:
                self._schemes[each] = self.through(self._program.scheme(each).body)
        return self._schemes[name]

    def through(self, region: ir.Region) -> int:
        """Model calls on the critical path through a block, which must be one of the program's."""
        found = self._through.get(id(region))
        if found is None:
            found = self._through[id(region)] = self._measure(region)
        return found

    def score(self, name: str | None) -> int:
        """Sequential model calls of scoring one thought; 0 for a local score."""
        if name is None or name in self._prompts:
            return int(name is not None)
        body = self._program.score(name).body
        return self.through(body) if body.steps else 0

    def rounds(self, count: e.Expression) -> int:
        if isinstance(count, e.Constant) and isinstance(count.value, int):
            return int(count.value)
        return GUESSED_ROUNDS

    def _measure(self, region: ir.Region) -> int:
        rest = {region.result: 0}
        for step in reversed(region.steps):
            after = self._after[id(step)] = rest.get(step.result, 0)
            for name in (step.pool, *needed_names(step), *_inside(step)):
                rest[name] = max(rest.get(name, 0), after + self.own(step))
        return max(rest.values())


def _inside(step: ir.Step) -> set[str]:
    """The names that the blocks inside a step use."""
    return {
        name
        for region in step.regions
        for inner in region.steps
        for name in (inner.pool, *needed_names(inner), *_inside(inner))
    }
