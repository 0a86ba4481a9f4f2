"""Constant folding: expressions that do not depend on a run are computed before it.

    %1 = Generate @sort(...) from part, k 2 * 5    →    %1 = Generate @sort(...) from part, k 10

Params stay as they are: they are set when a program runs. No name disappears from an expression, since a step
waits for the names it uses; and no expression becomes a bare name or position, which would pass thoughts on
instead of creating new ones.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from gotlang.errors import EvaluationError
from gotlang.ir import program as ir
from gotlang.ir.evaluate import Evaluator, is_literal, literal
from gotlang.operations.names import free_names, with_expressions
from gotlang.passes.rewrite import rewrite
from gotlang.semantics.builtins import BUILTINS
from gotlang.syntax import expressions as e
from gotlang.syntax.walk import children, rebuilt, walk, with_parts

MAX_SIZE = 100
"""Maximum size of a folded value, in elements and hundreds of characters: `range(1000)` stays a call."""

Fold = Callable[[e.Expression], e.Expression]


def fold_constants(program: ir.Program) -> ir.Program:
    """Compute constant parts of expressions."""
    builtin = frozenset(BUILTINS.keys() - program.functions - {score.name for score in program.scores})

    def inner(node: e.Expression) -> e.Expression:
        return rebuilt(node, lambda part: _folded(part, builtin))

    def fold(node: e.Expression) -> e.Expression:
        folded = inner(node)
        if isinstance(folded, e.Reference | e.Index) and type(folded) is not type(node):
            return with_parts(node, inner)
        return folded

    def change(region: ir.Region) -> ir.Region:
        return replace(region, steps=tuple(with_expressions(step, fold) for step in region.steps))

    folded = rewrite(program, change)
    return replace(
        folded,
        prompts=tuple(_prompt(prompt, fold) for prompt in folded.prompts),
        scores=tuple(replace(score, value=fold(score.value)) for score in folded.scores),
    )


def _prompt(prompt: ir.Prompt, fold: Fold) -> ir.Prompt:
    return replace(
        prompt,
        settings=tuple((name, fold(value)) for name, value in prompt.settings),
        count=None if prompt.count is None else fold(prompt.count),
        stop_when=None if prompt.stop_when is None else fold(prompt.stop_when),
    )


def _folded(node: e.Expression, builtin: frozenset[str]) -> e.Expression:
    """An expression whose parts are folded, folded."""
    match node:
        case e.Conditional(then=then, condition=e.Constant(value=bool() as holds), otherwise=otherwise):
            taken, dropped = (then, otherwise) if holds else (otherwise, then)
            return taken if free_names(dropped).keys() <= free_names(taken).keys() else node
        case e.Binary(operator="and", left=e.Constant(value=False), right=right) if not free_names(right):
            return e.Constant(node.span, False)
        case e.Binary(operator="or", left=e.Constant(value=True), right=right) if not free_names(right):
            return e.Constant(node.span, True)
    return _computed(node) if _is_constant(node, builtin) else node


def _is_constant(node: e.Expression, builtin: frozenset[str]) -> bool:
    """Whether an expression is not a literal and may become one: its parts are literals, so it is cheap."""
    match node:
        case e.Reference() | e.Constant() | e.ListDisplay() | e.RecordDisplay() | e.Case():
            return False
        case e.Comprehension(iterable=iterable):
            calls = (call.function.text for call in walk(node) if isinstance(call, e.Call))
            return is_literal(iterable) and not free_names(node) and all(call in builtin for call in calls)
        case e.Call(function=function, arguments=arguments):
            return function.text in builtin and all(is_literal(a.value) and a.name is None for a in arguments)
    return all(is_literal(part) for part in children(node))  # type: ignore[arg-type]


def _computed(node: e.Expression) -> e.Expression:
    """The value of an expression as a literal; the expression itself if it has no value, or one too large to
    write."""
    try:
        value = Evaluator()(node, {})
        return literal(value, node.span) if _size(value) <= MAX_SIZE else node
    except (EvaluationError, ValueError):
        return node


def _size(value: object) -> int:
    match value:
        case str():
            return 1 + len(value) // 100
        case list() | dict() if len(value) > MAX_SIZE:
            return len(value)
        case list():
            return 1 + sum(map(_size, value))
        case dict():
            return 1 + sum(map(_size, value.values()))
    return 1
