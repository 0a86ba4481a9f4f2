"""Rewrites of steps: remove some, call another prompt, or add steps that improve the thought."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from gotlang.semantics.params import constant_value
from gotlang.semantics.symbols import Signature
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.tune.rewrites.stage import CHOOSERS, MENDERS, SCORE, Number, Replacement, Rewrite, Stage, within


def _varies(stage: Stage) -> bool:
    """Whether a single sample is in the range of a param, or `best_of` makes one."""
    match stage.k:
        case e.Constant():
            return True
        case e.Reference(name=name):
            param = stage.program.checked.symbols.nodes.get(name)
            domain = param.domain if isinstance(param, n.Param) else None
            return isinstance(domain, n.Range) and constant_value(domain.low) <= 1
    return False


def _drop(stage: Stage) -> Iterator[Replacement]:
    if not stage.single or stage.numbers:  # the params of a rewrite remove what it adds
        return
    mending = [one for one in stage.rest if within(one, MENDERS)]
    if mending:
        # Thoughts that were scored after it are scored before it.
        kept = stage.rest[: stage.rest.index(mending[0])]
        yield Replacement("improving", (stage.head, *kept), least="0")
    if stage.k is not None and not mending and stage.has(CHOOSERS) and not _varies(stage):
        scoring = [s for s in stage.rest if isinstance(s, n.Step) and s.operation.text not in CHOOSERS]
        yield Replacement(stage.prompt.name, (stage.asking(None), *scoring), least="0")


DROP = Rewrite(
    "drop",
    "takes one sample instead of selecting among several, or removes an improvement",
    "at most as many",
    "a selection among samples, or steps that improve",
    _drop,
)


def _alike(own: Signature, other: Signature) -> bool:
    """Whether two prompts have the same parameters, by type and, if several have one type, by name; and the
    same result type."""
    types = [type_ for _, type_ in own.parameters]
    told_apart = len(set(types)) == len(types) and types == [type_ for _, type_ in other.parameters]
    return (
        (told_apart or own.parameters == other.parameters) and other.result == own.result and not other.many
    )


def _other_prompt(stage: Stage) -> Iterator[Replacement]:
    own = stage.prompt
    for other in stage.prompts.values():
        if other.name == own.name or not _alike(own, other):
            continue
        given = tuple(
            e.Argument(v.span, None, v) for v in (stage.arguments[name] for name, _ in own.parameters)
        )
        called = replace(stage.call, function=replace(stage.call.function, text=other.name), arguments=given)
        yield Replacement(other.name, (replace(stage.head, operands=(called,)), *stage.rest))


OTHER_PROMPT = Rewrite(
    "other_prompt",
    "calls another prompt with the same types",
    "as many as before",
    "a prompt with parameters of the same types, distinguishable by type or name",
    _other_prompt,
)


def _refine(stage: Stage) -> Iterator[Replacement]:
    if not stage.single or stage.has(MENDERS | {"Vote"}):
        return
    for name, call in stage.menders():
        last, rounds = stage.statements[-1], stage.number(f"{name}_rounds", 1, 0, 3)
        numbers: tuple[Number, ...] = (rounds,)
        if stage.score is None:
            added = stage.parsed(f"repeat {rounds.name}:", f"    Improve() {call}", after=last)
            most = f"1 + {rounds.name}"
        else:
            tries = stage.number(f"{name}_tries", 3, 1, 10)
            added = stage.parsed(
                "" if stage.has(SCORE) else stage.scoring,
                f"repeat {rounds.name}:",
                f"    Improve(k={tries.name}, keep=true) {call}",
                f"    {stage.scoring}",
                "    KeepBestN(1)",
                after=last,
            )
            numbers, most = (rounds, tries), f"1 + {rounds.name} * ({tries.name} + 1)"
        yield Replacement(name, (*stage.statements, *added), numbers, "1", most, (rounds.name, 0))


REFINE = Rewrite(
    "refine",
    "adds rounds in which a prompt improves the thought, and keeps the best of old and new",
    "1 to 1 + rounds * (n + 1) times as many",
    "a prompt that returns the same type and shows the thought",
    _refine,
)


def _validate(stage: Stage) -> Iterator[Replacement]:
    if not stage.single or stage.right is None or stage.has(MENDERS | {"Vote"}):
        return
    for name, call in stage.menders():
        last, tries = stage.statements[-1], stage.number(f"{name}_checks", 1, 0, 5)
        lines = f"ValidateAndImprove({tries.name}) {stage.right[0]}, {call}", stage.scoring
        added = stage.parsed(*lines, after=last)
        # A judge that is a prompt is called even if nothing may be improved.
        off = None if stage.right[1] else (tries.name, 0)
        most = f"2 + 2 * {tries.name}"
        yield Replacement(name, (*stage.statements, *added), (tries,), "1", most, off)


VALIDATE = Rewrite(
    "validate",
    "checks the thought, and lets a prompt improve it up to n times, until it is right",
    "1 to 2 + 2n times as many",
    "such a prompt, and a score with `best` or a prompt that returns a bool",
    _validate,
)
