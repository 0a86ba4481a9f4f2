"""Law: an expression that passes the check has a value of its type, or fails by what data decides."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from support.expressions import NAMES, texts, values

from gotlang.diagnostics import Report
from gotlang.errors import EvaluationError
from gotlang.ir.evaluate import Evaluator
from gotlang.scope import Scope, Variable
from gotlang.semantics.expressions import ExpressionChecker
from gotlang.semantics.symbols import Symbols
from gotlang.span import Source
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.syntax.parse import parse
from gotlang.syntax.walk import walk
from gotlang.types import fits

DATA = (
    "division by zero", "position ", "there is no entry", "of an empty list", "is not a number",
    "is not a whole", "has no value", "a number too large", "of a negative number", "in steps of 0",
    "fewer than one part", "by an empty text", "more than", "not a real number",
)  # fmt: skip
"""What depends on the values: no type says that a list is not empty or a divisor not 0."""


def _expression(text: str) -> e.Expression:
    module, problems = parse(Source.of("x.got", f"scheme s(q: str) -> any:\n    return {text}\n"))
    assume(not problems)
    return next(node.value for node in walk(module) if isinstance(node, n.Return))


@settings(suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(texts, st.fixed_dictionaries({name: values(type_) for name, type_ in NAMES.items()}))
def test_what_has_a_type_never_fails_by_it(text: str, names: dict[str, Any]) -> None:
    node, report = _expression(text), Report()
    checker = ExpressionChecker(Symbols(), report)
    type_ = checker.infer(node, Scope().inside(*(Variable(name, t) for name, t in NAMES.items())))
    assume(not report.diagnostics)
    try:
        value = Evaluator()(node, names)
    except EvaluationError as error:
        assert any(part in error.message for part in DATA), (text, error.message)
        return
    assert fits(type_, value) is None, (text, type_, value)
