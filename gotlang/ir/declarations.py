"""Params and prompts from syntax to IR."""

from __future__ import annotations

from typing import Any

from gotlang.diagnostics import Diagnostic
from gotlang.errors import CompileError, EvaluationError
from gotlang.ir import program as ir
from gotlang.ir.evaluate import evaluate
from gotlang.semantics.params import constant_value
from gotlang.semantics.symbols import Signature
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.types import STR, ListType, Type, accepts, fits


def build_param(node: n.Param, type_: Type) -> ir.Param:
    """The IR of a param whose type is known."""
    domain: ir.Domain | None = None
    if isinstance(node.domain, n.Range):
        domain = ir.Domain(constant_value(node.domain.low), constant_value(node.domain.high))
    elif isinstance(node.domain, n.Choices):
        domain = ir.Domain(choices=tuple(constant_value(c) for c in node.domain.values))
    default = constant_value(node.default)
    return ir.Param(node.name.text, type_, default, node.each, domain, node.guard, node.span)


def _value(node: e.Expression) -> Any:
    """The value of a part of an example. Raises CompileError where it has none."""
    try:
        return evaluate(node, {})
    except EvaluationError as error:
        diagnostic = Diagnostic(
            "GOT0405", f"this part of an example has no value: {error.message}", node.span
        )
        raise CompileError((diagnostic,)) from None


def build_prompt(node: n.Prompt, signature: Signature) -> ir.Prompt:
    """The IR of a prompt whose types are known."""
    result: Type = ListType(signature.result) if signature.many else signature.result
    examples = []
    for example in node.examples:
        inputs = tuple((a.name.text, _value(a.value)) for a in example.inputs if a.name is not None)
        output = _value(example.output)
        raw = isinstance(output, str) and not accepts(result, STR) and fits(result, output) is not None
        examples.append(ir.Example(inputs, output, raw))

    def text(constant: e.Constant | None) -> str | None:
        return str(constant.value) if constant is not None else None

    return ir.Prompt(
        signature.name,
        signature.parameters,
        signature.result,
        signature.many,
        tuple((s.name.text, s.value) for s in node.settings if s.name.text != "count"),
        text(node.system),
        text(node.instruction),
        tuple(examples),
        text(node.user),
        node.parse.form if node.parse else None,
        node.parse.function.text if node.parse and node.parse.function else None,
        next((s.value for s in node.settings if s.name.text == "count"), None),
        span=node.span,
    )
