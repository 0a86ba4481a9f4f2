"""Effects of steps other than computing thoughts, as their records declare them: passes check these before
they drop, share or move a step."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cached_property
from typing import final

from gotlang.ir import program as ir
from gotlang.operations import record_of
from gotlang.operations.names import own_expressions
from gotlang.operations.record import PURE
from gotlang.operations.step import Effect, Region, Step
from gotlang.scope import THOUGHT_FUNCTIONS
from gotlang.semantics.builtins import BUILTINS
from gotlang.syntax import expressions as e
from gotlang.syntax.walk import children_first, walk

NOTED: frozenset[Effect] = frozenset({"acts", "measures"})
"""Effects for which a step is kept even if its thoughts are not used."""


@final
class Effects:
    """The effects of a program's steps, schemes and scores. `changing` are the Python functions that change
    graphs, known only in a run."""

    def __init__(self, program: ir.Program, changing: Collection[str] = ()) -> None:
        self._program = program
        self._changing = changing
        self.prompts = {prompt.name: prompt for prompt in program.prompts}
        self.scores = {score.name: score for score in program.scores}
        self._bodies = program.bodies
        self._local = {score.name: score for score in program.scores if not score.body.steps}
        self._declared: dict[str, frozenset[Effect]] | None = None

    @cached_property
    def _functions(self) -> frozenset[str]:
        """The pure functions: built-in ones that are not hidden by others, and scores that use only such."""
        builtin = (BUILTINS.keys() | THOUGHT_FUNCTIONS.keys()) - self._program.functions
        scores = dict(self._local)
        while True:
            known = builtin | scores.keys()
            others = [name for name, score in scores.items() if not _calls_only(score.value, known)]
            if not others:
                return frozenset(known)
            for name in others:
                del scores[name]

    # ---------------------------------------------------------------- what records ask

    def asks(self, name: str | None) -> bool:
        return name in self.prompts

    def local_score(self, name: str | None) -> bool:
        return name in self._local

    def changes_graph(self, function: str) -> bool:
        return function in self._changing

    def effects(self, name: str) -> frozenset[Effect]:
        if self._declared is None:
            self._declared = dict.fromkeys(self._bodies, PURE)
            order = [*children_first(self._bodies, self._program.callees)]
            changes = True
            while changes:  # twice, but for circles
                found = self._declared.copy()
                for each in order:
                    self._declared[each] = self._of_region(self._bodies[each])
                changes = found != self._declared
        return self._declared.get(name, PURE)

    def tools(self, prompt: str) -> frozenset[Effect]:
        tools = self.prompts[prompt].tools
        acts = frozenset[Effect]({"acts"})
        found = [self.effects(name) if name in self._bodies else acts for name in tools]
        return frozenset[Effect]({"grows"}).union(*found) if tools else PURE

    # ---------------------------------------------------------------- what passes ask

    def of(self, step: Step) -> frozenset[Effect]:
        """The effects of a step and of what is inside it."""
        found = record_of(step).effects(step, self)
        for region in step.regions:
            found |= self._of_region(region)
        return found

    def _of_region(self, region: Region) -> frozenset[Effect]:
        return frozenset(effect for step in region.steps for effect in self.of(step))

    def computes(self, step: Step) -> bool:
        """Whether a step does nothing but compute: it has no effect, and its expressions call no Python."""
        return not self.of(step) and all(_calls_only(node, self._functions) for node in self._evaluated(step))

    def _evaluated(self, step: Step) -> Iterator[e.Expression]:
        """The expressions that a step evaluates, including the value of a score that it names."""
        yield from own_expressions(step)
        if isinstance(step, ir.Score) and step.score in self._local:
            yield self._local[step.score].value


def _calls_only(node: e.Expression, functions: frozenset[str] | set[str]) -> bool:
    """Whether an expression calls nothing but these functions."""
    return all(call.function.text in functions for call in walk(node) if isinstance(call, e.Call))
