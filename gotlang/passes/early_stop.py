"""Early stop: no more sampling once what competes with a thought cannot beat it.

    %1 = generate sort(...) from part, k 5        %1 = generate sort(...) from part, k 5, stop mistakes(...) 1
    %2 = score mistakes(it, part) from %1    →    %2 = score mistakes(it, part) from %1
    %3 = keep_best 1 from %2                      %3 = keep_best 1 from %2

It applies where a local score with a `best` follows at once and only the best go on. `KeepBestN` keeps the
earlier of equal thoughts, so the thoughts that are kept are the same; so are the draws of later steps, which
are numbered by what was asked for, not by what was sent. An `Improve` whose pool holds a perfect thought
already asks nothing.
"""

from __future__ import annotations

from dataclasses import replace

from gotlang.ir import program as ir
from gotlang.ir.names import free_names


def stop_early(program: ir.Program) -> ir.Program:
    """Mark the samplings that may end early."""
    from gotlang.passes.rewrite import rewrite

    local = {score.name: score for score in program.scores if score.best is not None and not score.body.steps}

    def change(steps: tuple[ir.AnyStep, ...]) -> tuple[ir.AnyStep, ...]:
        out = list(steps)
        for index, step in enumerate(steps[:-2]):
            rate, keep = steps[index + 1], steps[index + 2]
            if (
                isinstance(step, ir.Ask)
                and isinstance(rate, ir.Rate)
                and isinstance(keep, ir.KeepBest)
                and rate.pool == step.result
                and keep.pool == rate.result
                and rate.score in local
                and step.until is None
                and not _used_elsewhere(step.result, rate.result, steps[index + 3 :])
            ):
                assert rate.score is not None
                out[index] = replace(step, stop=ir.Stop(rate.score, rate.arguments, keep.count))
        return tuple(out)

    return rewrite(program, change)


def _used_elsewhere(asked: str, rated: str, following: tuple[ir.AnyStep, ...]) -> bool:
    """Whether a later step takes the thoughts before the best of them were kept."""
    return any(_uses(step, {asked, rated}) for step in following)


def _uses(step: ir.AnyStep, names: set[str]) -> bool:
    from gotlang.ir.names import own_expressions

    if step.pool in names:
        return True
    if any(names & set(free_names(expression)) for expression in own_expressions(step)):
        return True
    return any(
        region.result in names or any(_uses(s, names) for s in region.steps) for region in ir.regions(step)
    )
