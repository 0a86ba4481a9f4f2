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

from collections.abc import Collection
from dataclasses import replace

from gotlang.ir import program as ir
from gotlang.operations.names import free_names, looks_at_pool, needed_names, own_expressions, used_names
from gotlang.passes.rewrite import rewrite_region, schemes_invoked, values_in, with_bodies


def stop_early(program: ir.Program) -> ir.Program:
    """Mark the samplings that may end early."""
    local = {score.name for score in program.scores if score.best is not None and not score.body.steps}
    invoked = schemes_invoked(program)

    def body(declared: ir.Scheme | ir.ScoreFunction) -> ir.Region:
        plain = isinstance(declared, ir.Scheme) and declared.name not in invoked
        values = values_in(program, declared, plain=plain)
        return rewrite_region(declared.body, lambda inner: _marked(inner, local, values))

    return with_bodies(program, body)


def _marked(region: ir.Region, local: Collection[str], values: Collection[str]) -> ir.Region:
    out = list(region.steps)
    for index, step in enumerate(region.steps):
        if not isinstance(step, ir.Sampling) or step.until is not None:
            continue
        rate = _only_taker(region, step)
        keep = _only_taker(region, rate) if isinstance(rate, ir.Score) else None
        if not isinstance(rate, ir.Score) or not isinstance(keep, ir.KeepBestN) or rate.score not in local:
            continue
        assert rate.score is not None
        stop = ir.Stop(rate.score, rate.arguments, keep.count)
        known = _known(region.steps[:index], step) | set(values) | {"it"}
        if _names(stop) <= known and not looks_at_pool(keep.count):
            out[index] = replace(step, stop=stop)
    return replace(region, steps=tuple(out))


def _only_taker(region: ir.Region, step: ir.Step) -> ir.Step | None:
    """The one step that takes a step's thoughts as its pool, if nothing else uses them."""
    takers = [other for other in region.steps if step.result in used_names(other)]
    if len(takers) != 1 or takers[0].pool != step.result or region.result == step.result:
        return None
    inside = {name for expression in own_expressions(takers[0]) for name in free_names(expression)}
    return takers[0] if step.result not in inside else None


def _known(before: tuple[ir.Step, ...], ask: ir.Step) -> set[str]:
    """The names that a step waits for, by itself or by what it waits for in its region."""
    names = {ask.pool, *needed_names(ask)}
    for step in reversed(before):
        if step.result in names:
            names |= {step.pool, *needed_names(step)}
    return names


def _names(stop: ir.Stop) -> set[str]:
    return {name for expression in stop.expressions for name in free_names(expression)}
