"""`Ask`: for each current thought, the answer of a person to a prompt, or to a text."""

from __future__ import annotations

from typing import Final, final

from gotlang.operations import sampled
from gotlang.operations.record import NO_FACT, OperationRecord, SettingRule, StepLabel, Syntax, asks
from gotlang.operations.stages import Building, Checking, Verifying
from gotlang.scope import PoolType
from gotlang.syntax import nodes as n
from gotlang.syntax.expressions import Constant
from gotlang.types import STR

PERSON: Final = "person"
"""The model name in requests to a person."""
QUESTION: Final = "ask__person"
"""The prompt of a question that is a text: its only input is shown, and any text is a valid answer."""


@final
class Ask(sampled.SampledStep, frozen=True):
    """`Ask`: a person's answer for each thought."""


def _check(node: n.Step, c: Checking) -> PoolType:
    question = c.setting("question")
    if (question is None) == (not node.operands):
        c.error(
            "GOT0714",
            "`Ask` asks one question",
            help='write it, `Ask("Which one?")`, or name a prompt, `Ask() choose(it)`',
        )
    if question is not None:
        c.expect(question, c.each, STR, "a question")
    if not node.operands:
        return PoolType(STR, c.pool.single)
    result, many = c.prompt(node.operands[0], c.each)
    return PoolType(result, c.pool.single and not many)


def _build(node: n.Step, b: Building) -> Ask:
    question = b.setting("question")
    prompt, arguments = (
        b.called(node.operands[0]) if question is None else (QUESTION, (("question", question),))
    )
    # An answer that cannot be parsed is requested again.
    settings = (
        ("model", Constant(node.span, PERSON)),
        ("retries", Constant(node.span, 2)),
    )
    return Ask(*b.base, prompt, arguments, Constant(node.span, 1), settings, span=node.span)


def _verify(step: Ask, v: Verifying) -> PoolType:
    found = sampled.verify_request(step, v, v.each)
    return PoolType(found.type, v.pool.single and found.single)


OPERATION = OperationRecord(
    name="Ask",
    syntax=Syntax(
        {"question": SettingRule((STR,), per_thought=True)},
        'Ask("Which one?")',
        first="question",
        operands=(0, 1),
    ),
    usage='`Ask("Which one?")`, `Ask() p(args)`',
    doc="for each current thought, the answer of a person: a text, or a value of prompt `p` "
    "(see [People](people.md))",
    fails="no answer can be read",
    asks=NO_FACT,
    keeps=False,
    check=_check,
    step=Ask,
    build=_build,
    text=f"Ask {sampled.TEXT}",
    verify=_verify,
    effects=sampled.samples,
    estimate=sampled.estimate_samples,
    remaining=sampled.one_call,
    run=asks(sampled.sample),
    label=lambda step: StepLabel(step.prompt if step.prompt != QUESTION else "a person"),
    family="ask",
)
