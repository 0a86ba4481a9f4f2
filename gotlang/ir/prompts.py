"""From checked prompts, params and metrics to IR."""

from __future__ import annotations

import json
from typing import Any

from msgspec.structs import replace

from gotlang.diagnostics import Diagnostic
from gotlang.errors import CompileError, EvaluationError
from gotlang.ir import declarations as ir
from gotlang.ir.evaluate import evaluate
from gotlang.semantics.params import constant_value
from gotlang.semantics.symbols import Signature, Symbols
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.templates import Template
from gotlang.types import STR, ListType, Type, accepts, fits


def plain_value(node: e.Expression) -> Any:
    """The value of a part of an example. Raises CompileError if it has none."""
    try:
        return evaluate(node, {})
    except EvaluationError as error:
        diagnostic = Diagnostic(
            "GOT0405", f"this part of an example has no value: {error.message}", node.span
        )
        raise CompileError((diagnostic,)) from None


def _example(node: n.Example, prompt: ir.Prompt) -> ir.Example:
    """The IR of an example. Raises CompileError if no response text would be read as its output."""
    inputs = tuple((a.name.text, plain_value(a.value)) for a in node.inputs if a.name is not None)
    try:
        return build_example(inputs, plain_value(node.output), prompt)
    except EvaluationError as error:
        raise CompileError((Diagnostic("GOT0405", error.message, node.output.span),)) from None


def build_example(inputs: tuple[tuple[str, Any], ...], output: Any, prompt: ir.Prompt) -> ir.Example:
    """An example of a prompt. Raises EvaluationError if no response text would be read as its output."""
    result: Type = ListType(prompt.result) if prompt.many else prompt.result
    if isinstance(output, str) and not accepts(result, STR) and fits(result, output) is not None:
        return ir.Example(inputs, output, output)  # the response itself
    from gotlang.answers.forms import ANSWER, is_wrapped
    from gotlang.answers.reader import write

    response = write(output, result, prompt.form)
    if is_wrapped(prompt.result, prompt.many) and ("structured", True) in [
        (name, value.value) for name, value in prompt.settings if isinstance(value, e.Constant)
    ]:
        response = json.dumps({ANSWER: output}, ensure_ascii=False)
    return ir.Example(inputs, output, response)


def build_prompt(node: n.Prompt, signature: Signature) -> ir.Prompt:
    """The IR of a prompt whose types are known."""

    def template(constant: e.Constant | None) -> Template | None:
        return Template.parse(str(constant.value)) if constant is not None else None

    def turn(part: n.Turn) -> ir.Turn:
        if isinstance(part.text, e.Constant):
            return ir.Turn(part.role, template(part.text))
        return ir.Turn("", None, part.text.text)

    given = {setting.name.text: setting.value for setting in node.settings}
    count, stop_when = given.pop("count", None), given.pop(n.STOP_WHEN, None)
    prompt = ir.Prompt(
        signature.name,
        signature.parameters,
        signature.result,
        signature.many,
        (*given.items(),),
        template(node.system),
        template(node.instruction),
        (),
        template(node.user),
        node.parse.form if node.parse else None,
        node.parse.function.text if node.parse and node.parse.function else None,
        count,
        tuple(name.text for name in node.tools),
        node.span,
        tuple(map(turn, node.turns)),
        node.as_turns,
        stop_when,
    )
    return replace(prompt, examples=tuple(_example(example, prompt) for example in node.examples))


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


def build_metric(node: n.Metric, symbols: Symbols) -> ir.MetricFunction:
    """The IR of a metric."""
    last = node.body.statements[-1]
    assert isinstance(last, n.Evaluate | n.Return)
    lower, share = node.direction == "lower", node.name.text in symbols.shares
    best, failed = (constant_value(c) if c is not None else None for c in (node.best, node.failed))
    if share and failed is None:
        failed = 1 if lower else 0
    parameters = symbols.metrics[node.name.text][1].parameters
    return ir.MetricFunction(node.name.text, parameters, lower, best, failed, share, last.value, node.span)
