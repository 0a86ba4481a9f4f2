"""Early stop: no more sampling once what competes with a thought cannot beat it.

    %1 = Generate @sort(...) from part, k 5     %1 = Generate @sort(...) from part, k 5, stop 1 @wrong(...)
    %2 = Score @wrong(...) from %1          →   %2 = Score @wrong(...) from %1
    %3 = KeepBestN 1 from %2                    %3 = KeepBestN 1 from %2

It applies where only a local score with a `best` takes the samples, and only a `KeepBestN` what
that leaves. `KeepBestN` keeps the earlier of equal thoughts, so the thoughts that are kept are the same; so
are the samples of later steps, which are numbered by what was asked for, not by what was sent. An `Improve`
whose pool holds a perfect thought already asks nothing.

A sampling must not wait for more than it did before: that would cost time, and what it waits for decides how
its samples are numbered. So the score may look only at what the sampling knows anyway, and at plain values.
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
"""Gets each sampling that does not stop early, and why."""


def stop_early(program: ir.Program, told: Told = lambda step, why: None) -> ir.Program:
    """Mark the samplings that may end early."""
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

    def ending(index: int, step: ir.Sampling) -> ir.EarlyStop | str:
        """What ends a sampling early, or why nothing does."""
        if step.until is not None:
            return "it has an `until` of its own"
        if step.prompt in talking:
            return "its prompt has tools"
        rate = only_taker(step)
        if not isinstance(rate, ir.Score):
            return "no `Score` is all that takes its thoughts"
        if rate.score not in local:
            return "what scores its thoughts is no declared score with a `best` that asks no model"
        keep = only_taker(rate)
        if not isinstance(keep, ir.KeepBestN):
            return "no `KeepBestN` is all that takes the scored thoughts"
        assert rate.score is not None
        stop = ir.EarlyStop(rate.score, rate.arguments, keep.count)
        names = {name for expression in stop.expressions for name in free_names(expression)}
        unknown = sorted(name for name in names - {"it"} - set(values) if not waits.known(name, index))
        if unknown or looks_at_pool(keep.count):
            looked = f"`{unknown[0]}`" if unknown else "its own thoughts"
            return f"the score looks at {looked}, which is not there when the sampling starts"
        return stop

    out = list(region.steps)
    for index, step in enumerate(region.steps):
        if isinstance(step, ir.Sampling):
            found = ending(index, step)
            if isinstance(found, str):
                told(step, found)
            else:
                out[index] = replace(step, stop=found)
    return replace(region, steps=tuple(out))


@final
class _Waits:
    """The names that the steps of a region wait for, by themselves or by what they wait for in it."""

    def __init__(self, steps: tuple[ir.Step, ...]) -> None:
        self.places = {step.result: index for index, step in enumerate(steps)}
        self.direct = [{step.pool, *needed_names(step)} for step in steps]
        self.found: dict[str, set[int]] = {}

    def known(self, name: str, index: int) -> bool:
        """Whether a step waits for a name."""
        return name in self.direct[index] or index in self._waiting(name)

    def _waiting(self, name: str) -> set[int]:
        if name not in self.found:
            found = self.found[name] = set()
            for index in range(self.places.get(name, -1) + 1, len(self.direct)):
                if name in self.direct[index] or any(self.places.get(n) in found for n in self.direct[index]):
                    found.add(index)
        return self.found[name]
