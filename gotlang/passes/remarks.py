"""The effect of the passes on each step, and why they left others unchanged: `gotc ir --remarks`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from msgspec.structs import replace

from gotlang.ir import program as ir
from gotlang.ir.effects import Effects
from gotlang.passes import stages
from gotlang.passes.early_stop import stop_early
from gotlang.span import Span


@final
@dataclass(frozen=True, slots=True)
class Remark:
    """A remark of a pass on a step: `kind` is its operation, `done` whether the pass changed or removed
    it."""

    of_pass: str
    declared: str
    step: str
    kind: str
    span: Span
    done: bool
    text: str


def remarks(program: ir.Program, level: int) -> Iterator[Remark]:
    """The remarks of each pass of a level, in order."""
    for name, after in stages(program, level):
        match name:
            case "sharing":
                yield from _left_out(
                    name, program, after, "equal to another step of its block: computed once"
                )
                yield from _not_shared(name, after)
            case "dead steps":
                yield from _left_out(name, program, after, "it is never used")
            case "request batching":
                yield from _batched(name, after)
            case "early stopping":
                yield from _ended_early(name, program, after)
        program = after


def _steps(program: ir.Program) -> Iterator[tuple[str, ir.Step]]:
    for declared, body in program.bodies.items():
        yield from ((declared, step) for step in body.all_steps())


def _remark(of_pass: str, declared: str, step: ir.Step, done: bool, text: str) -> Remark:
    return Remark(of_pass, declared, step.result, type(step).__name__, step.span, done, text)


def _left_out(of_pass: str, before: ir.Program, after: ir.Program, text: str) -> Iterator[Remark]:
    kept = {(declared, step.result) for declared, step in _steps(after)}
    for declared, step in _steps(before):
        if (declared, step.result) not in kept:
            yield _remark(of_pass, declared, step, True, text)


def _not_shared(of_pass: str, program: ir.Program) -> Iterator[Remark]:
    effects = Effects(program)
    for declared, body in program.bodies.items():
        for region in (body, *(inner for step in body.all_steps() for inner in step.regions)):
            first: dict[ir.Step, str] = {}
            for step in region.steps:
                like = first.setdefault(replace(step, result="", line=None), step.result)
                if like != step.result:
                    does = "calls a model: `share true` takes the same samples"
                    why = does if "samples" in effects.of(step) else "may have side effects"
                    yield _remark(of_pass, declared, step, False, f"equal to `{like}`, and it {why}")


def _batched(of_pass: str, program: ir.Program) -> Iterator[Remark]:
    effects = Effects(program)
    for declared, step in _steps(program):
        if isinstance(step, ir.SampledStep | ir.Score) and "samples" in effects.of(step):
            yield _remark(of_pass, declared, step, True, "its samples may be in one request")
        elif isinstance(step, ir.Validate | ir.ValidateAndImprove) and "samples" in effects.of(step):
            text = "it takes one sample of each request, so there is nothing to batch"
            yield _remark(of_pass, declared, step, False, text)


def _ended_early(of_pass: str, before: ir.Program, after: ir.Program) -> Iterator[Remark]:
    why: dict[int, str] = {}
    stop_early(before, lambda step, reason: why.update({id(step): reason}))
    for declared, step in _steps(before):
        if id(step) in why:
            yield _remark(of_pass, declared, step, False, why[id(step)])
    for declared, step in _steps(after):
        if isinstance(step, ir.SampledStep) and step.stop is not None:
            text = f"it ends once `{step.stop.score}` reaches its `best`"
            yield _remark(of_pass, declared, step, True, text)
