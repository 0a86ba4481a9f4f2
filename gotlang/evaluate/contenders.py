"""What schemes are compared with: a program's own schemes, and baselines made from its prompts.

| name | is |
| --- | --- |
| `single` | one answer to the first prompt that takes the scheme's inputs and gives its result |
| `best-of-5` | the best scored of 5 answers to it, where the program scores results without asking a model |
| `vote-of-5` | the most frequent of 5 answers to it: self-consistency |
| `best-of-n`, `vote-of-n` | as many answers as cost what the dearest of the others costs |

How a result is scored and held against the known answer is taken from the schemes with the same inputs.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

from gotlang.errors import UsageError
from gotlang.evaluate.measure import known, local_rate, result_steps
from gotlang.ir import program as ir
from gotlang.ir.program import Program, Scheme
from gotlang.passes import optimize
from gotlang.span import NOWHERE
from gotlang.syntax.expressions import Constant, Reference
from gotlang.types import accepts

MATCHED: Final = 0
"""The number of answers of a baseline that is to cost as much as the others."""
_BASELINE = re.compile(r"(single)|(best|vote)-of-(n|[1-9][0-9]{0,5})")
_START = "%start"


@final
@dataclass(frozen=True, slots=True)
class Contender:
    """One side of a comparison: a scheme, which `answers` tells to be a baseline (None: the program's own;
    MATCHED: still to be set) of the kind `single`, `best` or `vote`."""

    name: str
    scheme: Scheme
    kind: str | None = None
    answers: int | None = None


def contenders(program: Program, names: Sequence[str]) -> list[Contender]:
    """The contenders of these names. Raises UsageError for a name that is neither a scheme nor a baseline,
    for schemes with other inputs than the first's, and for a baseline that cannot be made."""
    own = {scheme.name: scheme for scheme in program.schemes}
    if len(set(names)) != len(names):
        raise UsageError("a scheme is named twice")
    first = next((own[name] for name in names if name in own), None)
    out = []
    for name in names:
        if name in own:
            out.append(Contender(name, own[name]))
            continue
        kind, answers = _baseline(name, own)
        reference = first or _last(program)
        out.append(Contender(name, _build(program, reference, name, kind, answers or 1), kind, answers))
    for contender in out:
        if contender.scheme.parameters != out[0].scheme.parameters:
            takes = ", ".join(f"{name}: {type_}" for name, type_ in contender.scheme.parameters)
            raise UsageError(
                f"`{contender.name}` takes other inputs than `{out[0].name}`: {takes or 'none'}",
                help="only schemes with the same inputs can be compared on the same rows",
            )
    return out


def comparable(program: Program, like: Scheme) -> list[str]:
    """The schemes of a program with the inputs and the result of one, in the order of the source."""
    return [s.name for s in program.schemes if s.parameters == like.parameters and s.result == like.result]


def with_answers(program: Program, contender: Contender, answers: int) -> Contender:
    """A baseline with another number of answers, which its name says; all else of it stays."""
    assert contender.kind is not None
    name = f"{contender.kind}-of-{answers}"
    scheme = _build(program, contender.scheme, name, contender.kind, answers)
    return Contender(name, scheme, contender.kind, answers)


def optimized(program: Program, scheme: Scheme, level: int, skip: frozenset[str]) -> Scheme:
    """A scheme as the passes leave it."""
    alone = dataclasses.replace(program, schemes=(*program.schemes, scheme))
    return optimize(alone, level, skip).schemes[-1]


def _baseline(name: str, own: dict[str, Scheme]) -> tuple[str, int]:
    found = _BASELINE.fullmatch(name)
    if found is None:
        from gotlang.diagnostics import nearest

        near = nearest(name, [*own, "single", "best-of-n", "vote-of-n"])
        there = f"there are {', '.join(own)}, and the baselines single, best-of-N and vote-of-N"
        raise UsageError(f"no scheme `{name}`", help=f"did you mean `{near}`?" if near else there)
    if found[1]:
        return "single", 1
    return found[2], MATCHED if found[3] == "n" else int(found[3])


def _last(program: Program) -> Scheme:
    if not program.schemes:
        raise UsageError(f"`{program.name}` holds no scheme, so there is nothing to compare")
    return next((s for s in program.schemes if s.name == program.name), program.schemes[-1])


def _build(program: Program, like: Scheme, name: str, kind: str, answers: int) -> Scheme:
    """The scheme of a baseline, with the inputs and the result of another."""
    prompt = _prompt(program, like)
    rate, measure = local_rate(program, like), _measure(program, like)
    if kind == "best" and rate is None:
        raise UsageError(
            f"`{name}` needs a score of the result that asks no model, and looks at nothing but the inputs",
            help="no scheme with the same inputs has such a `Score()`; `vote-of-N` needs none",
        )
    steps: list[ir.AnyStep] = []

    def add(step: ir.AnyStep) -> None:
        pool = steps[-1].result if steps else _START
        steps.append(dataclasses.replace(step, result=f"%{len(steps) + 1}", pool=pool))

    arguments = tuple((parameter, Reference(NOWHERE, parameter)) for parameter, _ in prompt.parameters)
    count = Constant(NOWHERE, answers)
    add(ir.Generate("", like.result, answers == 1, "", prompt.name, arguments, count, span=prompt.span))
    if kind == "best" and rate is not None:
        add(dataclasses.replace(rate, single=answers == 1))
        add(ir.KeepBestN("", like.result, True, "", Constant(NOWHERE, 1), span=prompt.span))
    elif kind == "vote":
        add(ir.Vote("", like.result, True, "", None, span=prompt.span))
    if kind != "best" and rate is not None:
        add(dataclasses.replace(rate, single=True))
    if measure is not None:
        add(dataclasses.replace(measure, single=True))
    body = ir.Region(_START, tuple(steps), steps[-1].result)
    return dataclasses.replace(like, name=name, many=False, collect=False, body=body, span=prompt.span)


def _prompt(program: Program, like: Scheme) -> ir.Prompt:
    inputs = dict(like.parameters)
    for prompt in program.prompts:
        fits = all(name in inputs and accepts(type_, inputs[name]) for name, type_ in prompt.parameters)
        if fits and prompt.parameters and not prompt.many and accepts(like.result, prompt.result):
            return prompt
    raise UsageError(
        f"no prompt of `{program.name}` takes the inputs of `{like.name}` and gives its result in one answer",
        help="the baselines single, best-of-N and vote-of-N are made from such a prompt",
    )


def _measure(program: Program, like: Scheme) -> ir.GroundTruth | None:
    for step in result_steps(program, like):
        if isinstance(step, ir.GroundTruth) and known(program, like, [step.condition]):
            return step
    return None
