"""Early stopping: sampling ends once no further thought can be better.

    %1 = Generate @sort(...) from part, k 5     %1 = Generate @sort(...) from part, k 5, stop 1 @wrong(...)
    %2 = Score @wrong(...) from %1          →   %2 = Score @wrong(...) from %1
    %3 = KeepBestN 1 from %2                    %3 = KeepBestN 1 from %2

It applies if the samples are used only by a local score with a `best`, and its output only by a `KeepBestN`.
`KeepBestN` keeps the earlier of equal thoughts, so the thoughts that are kept are the same; so are the
samples of later steps, whose numbers do not depend on the requests sent. An `Improve` whose pool already
contains a perfect thought sends no request.

A sampling step must not get new dependencies: that would cost time, and the numbers of its samples depend on
them. So the score may use only the dependencies of the sampling step, and plain values.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection
from typing import final

from msgspec.structs import replace

from gotlang.ir import program as ir
from gotlang.operations.names import free_names, looks_at_pool, needed_names, own_expressions, used_names
from gotlang.passes.rewrite import rewrite_region, schemes_invoked, values_in, with_bodies

Told = Callable[[ir.Step, str], None]
"""Called for each sampling step that does not stop early, with the reason."""


def stop_early(program: ir.Program, told: Told = lambda step, why: None) -> ir.Program:
    """Mark the sampling steps that may end early."""
    local = {score.name for score in program.scores if score.best is not None and not score.body.steps}
    invoked = schemes_invoked(program)
    talking = {prompt.name for prompt in program.prompts if prompt.tools}

    def body(declared: ir.Scheme | ir.ScoreFunction) -> ir.Region:
        plain = isinstance(declared, ir.Scheme) and declared.name not in invoked
        values = values_in(program, declared, plain=plain)
        return rewrite_region(declared.body, lambda inner: _marked(inner, local, values, talking, told))

    return with_bodies(program, body)


def _marked(
    region: ir.Region, local: Collection[str], values: Collection[str], talking: Collection[str], told: Told
) -> ir.Region:
    takers: defaultdict[str, list[ir.Step]] = defaultdict(list)
    for step in region.steps:
        for name in used_names(step):
            takers[name].append(step)
    waits = _Waits(region.steps)

    def only_taker(step: ir.Step) -> ir.Step | None:
        """The one step that takes a step's thoughts as its pool, if nothing else uses them."""
        found = takers[step.result]
        if len(found) != 1 or found[0].pool != step.result or region.result == step.result:
            return None
        inside = {name for expression in own_expressions(found[0]) for name in free_names(expression)}
        return found[0] if step.result not in inside else None

    def ending(index: int, step: ir.SampledStep) -> ir.EarlyStop | str:
        """The condition that ends a sampling step early, or why there is none."""
        if step.until is not None:
            return "it has an `until` of its own"
        if step.prompt in talking:
            return "its prompt has tools"
        rate = only_taker(step)
        if not isinstance(rate, ir.Score):
            return "its thoughts are not used only by a `Score`"
        if rate.score not in local:
            return "the scorer of its thoughts is not a declared score with a `best` that calls no model"
        keep = only_taker(rate)
        if not isinstance(keep, ir.KeepBestN):
            return "the scored thoughts are not used only by a `KeepBestN`"
        assert rate.score is not None
        stop = ir.EarlyStop(rate.score, rate.arguments, keep.count)
        names = {name for expression in stop.expressions for name in free_names(expression)}
        unknown = sorted(name for name in names - {"it"} - set(values) if not waits.known(name, index))
        if unknown or looks_at_pool(keep.count):
            looked = f"`{unknown[0]}`" if unknown else "its own thoughts"
            return f"the score uses {looked}, which is not available when sampling starts"
        return stop

    out = list(region.steps)
    for index, step in enumerate(region.steps):
        if isinstance(step, ir.SampledStep):
            found = ending(index, step)
            if isinstance(found, str):
                told(step, found)
            else:
                out[index] = replace(step, stop=found)
    return replace(region, steps=tuple(out))


@final
class _Waits:
    """The dependencies of the steps of a region, direct and transitive, by name."""

    def __init__(self, steps: tuple[ir.Step, ...]) -> None:
        self.places = {step.result: index for index, step in enumerate(steps)}
        self.direct = [{step.pool, *needed_names(step)} for step in steps]
        self.found: dict[str, set[int]] = {}

    def known(self, name: str, index: int) -> bool:
        """Whether a step depends on a name."""
        return name in self.direct[index] or index in self._waiting(name)

    def _waiting(self, name: str) -> set[int]:
        if name not in self.found:
            found = self.found[name] = set()
            for index in range(self.places.get(name, -1) + 1, len(self.direct)):
                if name in self.direct[index] or any(self.places.get(n) in found for n in self.direct[index]):
                    found.add(index)
        return self.found[name]
