"""Params and prompts from syntax to IR."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gotlang.diagnostics import Diagnostic
from gotlang.errors import CompileError, EvaluationError
from gotlang.ir import program as ir
from gotlang.ir.evaluate import evaluate
from gotlang.semantics.params import constant_value
from gotlang.semantics.symbols import Signature
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.templates import Template
from gotlang.types import STR, ListType, Type, accepts, fits


def build_param(node: n.Param, type_: Type) -> ir.Param:
    """The IR of a param whose type is known."""
    default = constant_value(node.default)
    domain = build_domain(node.domain)
    return ir.Param(node.name.text, type_, default, node.each, domain, node.guard, node.span)


def build_domain(node: n.Range | n.Choices | None) -> ir.Domain | None:
    """The values that a param, or a setting of a study, may have."""
    if isinstance(node, n.Range):
        return ir.Domain(constant_value(node.low), constant_value(node.high))
    return ir.Domain(choices=tuple(constant_value(c) for c in node.values)) if node is not None else None


def _value(node: e.Expression) -> Any:
    """The value of a part of an example. Raises CompileError where it has none."""
    try:
        return evaluate(node, {})
    except EvaluationError as error:
        diagnostic = Diagnostic(
            "GOT0405", f"this part of an example has no value: {error.message}", node.span
        )
        raise CompileError((diagnostic,)) from None


def _example(node: n.Example, prompt: ir.Prompt) -> ir.Example:
    """The IR of an example. Raises CompileError if no response text would be read as its output."""
    inputs = tuple((a.name.text, _value(a.value)) for a in node.inputs if a.name is not None)
    try:
        return build_example(inputs, _value(node.output), prompt)
    except EvaluationError as error:
        raise CompileError((Diagnostic("GOT0405", error.message, node.output.span),)) from None


def build_example(inputs: tuple[tuple[str, Any], ...], output: Any, prompt: ir.Prompt) -> ir.Example:
    """An example of a prompt. Raises EvaluationError if no response text would be read as its output."""
    result: Type = ListType(prompt.result) if prompt.many else prompt.result
    if isinstance(output, str) and not accepts(result, STR) and fits(result, output) is not None:
        return ir.Example(inputs, output, output)  # the response itself
    from gotlang.answers.reader import write

    return ir.Example(inputs, output, write(output, result, prompt.form))


def build_prompt(node: n.Prompt, signature: Signature) -> ir.Prompt:
    """The IR of a prompt whose types are known."""

    def template(constant: e.Constant | None) -> Template | None:
        return Template.parse(str(constant.value)) if constant is not None else None

    prompt = ir.Prompt(
        signature.name,
        signature.parameters,
        signature.result,
        signature.many,
        tuple((s.name.text, s.value) for s in node.settings if s.name.text != "count"),
        template(node.system),
        template(node.instruction),
        (),
        template(node.user),
        node.parse.form if node.parse else None,
        node.parse.function.text if node.parse and node.parse.function else None,
        next((s.value for s in node.settings if s.name.text == "count"), None),
        span=node.span,
    )
    return replace(prompt, examples=tuple(_example(example, prompt) for example in node.examples))
