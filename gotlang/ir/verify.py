"""Checks that a program in IR hangs together: run between passes, so that a pass that breaks it is named.

Every pool and name is defined before it is used and where it is in scope; names are unique in their region;
the types of what steps take and give agree with the declarations; a step that says `one` gives exactly
one; expressions ask no model, and what ends sampling early is computed without one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import final

from gotlang.ir import program as ir
from gotlang.ir.verify_steps import Names, StepVerifier, VerificationError
from gotlang.scope import START, PoolType, Scope
from gotlang.semantics.operations import PROMPT_SETTINGS
from gotlang.semantics.pipelines import REDUCE_STEP
from gotlang.types import ANY, BOOL, FLOAT, INT, NONE, ListType, Type, join

__all__ = ["VerificationError", "verify"]


def verify(program: ir.Program) -> None:
    """Raise VerificationError, with the place and the reason, where a program cannot be."""
    verifier = _Verifier(program)
    for prompt in program.prompts:
        verifier.prompt(prompt)
    for score in program.scores:
        verifier.score(score)
    for scheme in program.schemes:
        verifier.scheme(scheme)


@final
class _Verifier(StepVerifier):
    """Goes through declarations, regions and blocks with the names in force."""

    # ---------------------------------------------------------------- declarations

    def prompt(self, prompt: ir.Prompt) -> None:
        self.place = [f"prompt {prompt.name}"]
        names = Names(Scope(), {})
        for setting, value in prompt.settings:
            if setting not in PROMPT_SETTINGS:
                raise self.fail(f"it has no setting `{setting}`")
            self.expect(value, names.scope, PROMPT_SETTINGS[setting])
        if prompt.count is not None:
            if not prompt.many:
                raise self.fail("it counts values and gives one")
            self.expect(prompt.count, self._parameters(prompt.parameters).scope, INT)

    def score(self, score: ir.ScoreFunction) -> None:
        self.place = [f"score {score.name}"]
        names = self._parameters(score.parameters)
        names.pool(score.body.entry, START)
        self.region(score.body, names)
        self.expect(score.value, names.scope, FLOAT)

    def scheme(self, scheme: ir.Scheme) -> None:
        self.place = [f"scheme {scheme.name}"]
        names = self._parameters(scheme.parameters)
        names.pool(scheme.body.entry, START)
        self.truth = scheme.truth
        found = self.region(scheme.body, names)
        wanted = scheme.result
        if scheme.collect:
            if not isinstance(wanted, ListType):
                raise self.fail(f"it collects its thoughts into {wanted}")
            wanted = wanted.element
        elif not found.single and not scheme.many:
            raise self.fail("it leaves any number of thoughts where its result is one")
        self.fits(wanted, found.type, "its result")

    @staticmethod
    def _parameters(parameters: Iterable[tuple[str, Type]]) -> Names:
        names = Names(Scope(), {})
        for name, type_ in parameters:
            names.value(name, type_)
        return names

    # ---------------------------------------------------------------- regions

    def region(self, region: ir.Region, names: Names) -> PoolType:
        """Check a region whose entry is in `names`; names are added to it. What it yields."""
        own: set[str] = set()
        self.pool(region.entry, names)
        for step in region.steps:
            self.place.append(step.result)
            if step.result in own or step.result == region.entry:
                raise self.fail("this name is given twice in its region")
            own.add(step.result)
            found = self.step(step, names)
            self.fits(step.type, found.type, "what it gives")
            if step.single and not found.single:
                raise self.fail("it says `one` and may give any number")
            names.pool(step.result, PoolType(step.type, step.single))
            self.place.pop()
        return self.pool(region.result, names)

    # ---------------------------------------------------------------- blocks

    def block(self, step: ir.AnyStep, pool: PoolType, names: Names) -> PoolType:
        inner = names.inside()
        match step:
            case ir.Foreach():
                element = PoolType(self._element(step, pool, names), True)
                inner.pool(step.name, element)
                if step.position is not None:
                    inner.value(step.position, INT)
                if step.after is not None:
                    self.expect(step.after, inner.scope, ListType(INT))
                    inner.pool("done", PoolType(ANY, False))
                return PoolType(self.region(step.body, inner).type, False)
            case ir.Reduce():
                element = PoolType(self._element(step, pool, names), True)
                inner.pool(step.left, element)
                inner.pool(step.right, element)
                inner.pool(step.body.entry, PoolType(element.type, False))
                if step.step is not None:
                    inner.value(step.step, REDUCE_STEP)
                merged = self.region(step.body, inner)
                if not merged.single:
                    raise self.fail("a merge gives any number of thoughts")
                return PoolType(join(element.type, merged.type) or ANY, True)
            case ir.Repeat():
                self.expect(step.count, names.whole(pool), INT)
                inner.pool(step.body.entry, PoolType(pool.type, pool.single and step.single))
                if step.counter is not None:
                    inner.value(step.counter, INT)
                left = self.region(step.body, inner)
                if step.until is not None:
                    self.expect(step.until, inner.whole(left), BOOL)
                if pool.type != NONE:
                    left = PoolType(join(pool.type, left.type) or ANY, pool.single and left.single)
                return left
            case ir.If():
                return self._branch(step, pool, names)
            case ir.Block():
                for name, outer in step.names:
                    inner.pool(name, self.pool(outer, names))
                return self.region(step.body, inner)
        raise self.fail(f"there is no step {type(step).__name__}")

    def _element(self, step: ir.Foreach | ir.Reduce, pool: PoolType, names: Names) -> Type:
        if step.iterable is None:
            return pool.type
        found = self.expressions.elements(step.iterable, names.each(pool) if pool.single else names.scope)
        self._raise_reported()
        return found

    def _branch(self, step: ir.If, pool: PoolType, names: Names) -> PoolType:
        results = [] if step.otherwise is not None else [pool]
        for condition, _ in step.branches:
            self.expect(condition, names.whole(pool), BOOL)
        for body in ir.regions(step):
            results.append(self.region(body, names.inside()))
        type_: Type | None = None
        for result in results:
            type_ = result.type if type_ is None else join(type_, result.type) or ANY
        return PoolType(type_ or ANY, all(result.single for result in results))
