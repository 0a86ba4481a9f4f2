"""What a pass asks before it merges, moves or evaluates something: whether it does nothing but compute."""

from __future__ import annotations

from gotlang.ir import program as ir
from gotlang.ir.names import own_expressions
from gotlang.semantics.builtins import BUILTINS, THOUGHT_FUNCTIONS
from gotlang.syntax import expressions as e
from gotlang.syntax.walk import walk


def computing_functions(program: ir.Program) -> frozenset[str]:
    """The functions that only compute: the built-in ones that nothing hides, and scores made of such."""
    python = {name for module in program.python for name in module.names}
    builtin = (BUILTINS.keys() | THOUGHT_FUNCTIONS.keys()) - python
    scores = {score.name: score for score in program.scores if not score.body.steps}
    while True:
        known = builtin | scores.keys()
        others = [name for name, score in scores.items() if not calls_only(score.value, known)]
        if not others:
            return frozenset(known)
        for name in others:
            del scores[name]


def calls_only(node: e.Expression, functions: frozenset[str] | set[str]) -> bool:
    """Whether an expression calls nothing but these functions."""
    return all(call.function.text in functions for call in walk(node) if isinstance(call, e.Call))


def computes(step: ir.AnyStep, functions: frozenset[str]) -> bool:
    """Whether a step does nothing but compute here: it asks no model, calls no Python, holds no other steps
    and measures nothing."""
    match step:
        case ir.Score(score=str(name)) if name not in functions:
            return False
        case ir.Validate(prompt=str()):
            return False
        case (
            ir.Score()
            | ir.Validate()
            | ir.KeepValid()
            | ir.KeepBestN()
            | ir.Select()
            | ir.Vote()
            | ir.Map()
            | ir.Pool()
        ):
            return all(calls_only(expression, functions) for expression in own_expressions(step))
    return False
