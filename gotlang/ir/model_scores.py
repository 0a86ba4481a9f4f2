"""Scores that call a model inside expressions: they are called in steps before.

    %2 = Select where judged(it) > 3 from %1        %3 = Score @judged(text=it) from %1, k 1, note "%3"
                                               →    %2 = Select where score(it, "%3") > 3 from %3

A score of one thought, or of no thought at all, is called like a scheme, and its number has a name:

    x = Pool judged(text) + 1 from %start           %3 = scheme judged(text=text) from %start : float one
                                               →    x = Pool %3 + 1 from %start
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import final

from msgspec import Struct
from msgspec.structs import replace

from gotlang.ir import program as ir
from gotlang.operations.ask import QUESTION
from gotlang.operations.names import POOL_NAMES, free_names
from gotlang.operations.step import LineKey
from gotlang.scope import PoolType
from gotlang.span import NOWHERE
from gotlang.syntax import expressions as e
from gotlang.syntax.format import format_expression
from gotlang.syntax.walk import with_parts
from gotlang.templates import Template
from gotlang.types import FLOAT, STR, Type

ONE = e.Constant(NOWHERE, 1)
START_POOL = "%start"
"""The empty thought that a scheme starts with, anywhere in it."""


def with_question(program: ir.Program) -> ir.Program:
    """A program with the prompt for questions to people that are texts, if it has any."""
    if QUESTION not in program.questions:
        return program
    text = Template.parse("{{ question }}")
    asked = ir.Prompt(QUESTION, (("question", STR),), STR, False, user=text)
    return replace(program, prompts=(*program.prompts, asked))


@final
class ModelScoreSteps(Struct, frozen=True):
    """Adds steps that call `scores` before the step whose expressions use them.

    `arguments` are those of calls, by parameter, `types` the types of a score's parameters; `fresh` creates
    names, `here` translates an expression to the names of the IR, and `own` distinguishes the program's names
    from those that the current thoughts define.
    """

    scores: Collection[str]
    arguments: Mapping[int, ir.Arguments]
    types: Callable[[str], Mapping[str, Type]]
    fresh: Callable[[], str]
    here: Callable[[e.Expression], e.Expression]
    own: Callable[[str], bool]

    def hoisted(
        self, node: e.Expression, pool: str, kind: PoolType, out: list[ir.Step]
    ) -> tuple[e.Expression, str]:
        """An expression without model calls, and the pool it is evaluated on: `pool`, which is of this
        `kind`, or the same thoughts with the numbers of the scores. The steps that call them are appended to
        `out`."""

        def change(part: e.Expression) -> e.Expression:
            nonlocal pool
            if not isinstance(part, e.Call) or part.function.text not in self.scores:
                return with_parts(part, change)
            arguments = tuple((name, change(value)) for name, value in self.arguments[id(part)])
            found, pool = self._step(part, arguments, pool, kind, out)
            return found

        return self.here(change(node) if self.scores else node), pool

    def _step(
        self, node: e.Call, given: ir.Arguments, pool: str, kind: PoolType, out: list[ir.Step]
    ) -> tuple[e.Expression, str]:
        score, result, span = node.function.text, self.fresh(), node.span
        line = LineKey(format_expression(node))
        arguments = tuple((name, self.here(value)) for name, value in given)
        looks = {name for _, value in given for name in free_names(value) if not self.own(name)} & POOL_NAMES
        if looks and "thoughts" not in looks and not kind.single:
            base = (result, kind.type, False, pool)
            out.append(ir.Score(*base, score, arguments, None, ONE, result, span=span, line=line))
            it, note = e.Reference(span, "it"), e.Constant(span, result)
            both = (e.Argument(span, None, it), e.Argument(span, None, note))
            return e.Call(span, e.Identifier(span, "score"), both), result
        if "thoughts" in looks:
            types = self.types(score)
            steps = [ir.Pool(self.fresh(), types[name], True, pool, (v,), span=span) for name, v in arguments]
            out += steps
            arguments = tuple(
                (name, e.Reference(span, step.result))
                for (name, _), step in zip(arguments, steps, strict=True)
            )
            looks = set()
        start = pool if looks else START_POOL
        out.append(ir.Invoke(result, FLOAT, True, start, score, arguments, span=span, line=line))
        return e.Reference(span, result), pool
