"""Parses the IR's text (`grammars/ir.lark`): for tests of passes."""

# Every method gets the place of its rule and the children that Lark found, which have no static type.
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from lark import Token, Tree
from lark.exceptions import LarkError
from msgspec.structs import replace

from gotlang.diagnostics import Report
from gotlang.errors import UsageError
from gotlang.ir import program as ir
from gotlang.ir import text as forms
from gotlang.ir.prompts import build_param, build_prompt
from gotlang.operations import BLOCKS, OPERATIONS, record_named
from gotlang.operations.record import BlockRecord, OperationRecord
from gotlang.operations.step import LineKey
from gotlang.semantics.declarations import declare_types, resolve_type
from gotlang.semantics.params import constant_value
from gotlang.semantics.symbols import Signature, Symbols
from gotlang.span import Fragment
from gotlang.syntax import nodes as n
from gotlang.syntax.build import TreeBuilder
from gotlang.syntax.build_expressions import present
from gotlang.syntax.grammar import build_parser, grammar_text
from gotlang.types import DYNAMIC, EMPTY, NEVER, NONE, Type

if TYPE_CHECKING:
    from lark import Lark

_parsers = threading.local()


def from_text(text: str) -> ir.Program:
    """The program in a text in the form of `to_text`. Raises UsageError if it is invalid."""
    try:
        tree = _parser().parse(text if text.endswith("\n") else text + "\n", start="ir")
    except LarkError as error:
        at = getattr(error, "pos_in_stream", None) or 0
        raise UsageError(f"this is not IR, from line {text.count(chr(10), 0, at) + 1} on") from None
    builder = _IRBuilder(Fragment("ir", text))
    builder.declare(tree)
    program: ir.Program = builder.build(tree)
    if builder.problems:
        raise UsageError(f"this is not IR: {builder.problems[0].message}")
    return program


def _parser() -> Lark:
    """This thread's parser: the indenter keeps state."""
    found: Lark | None = getattr(_parsers, "ir", None)
    if found is None:
        found = _parsers.ir = build_parser(grammar_text("ir.lark"), *_rules(), starts=["ir"])
    return found


_RECORDS: tuple[OperationRecord[Any] | BlockRecord[Any], ...] = (*OPERATIONS.values(), *BLOCKS.values())
_BY_RULE = {f"ir_op_{record.step.__name__.lower()}": record for record in _RECORDS}
_BRANCHING = {"ir_op_if", "ir_op_match", "ir_op_try"}
"""Fields for which the grammar itself has rules."""
INNER: dict[str, Type] = {"none": NONE, "empty": EMPTY, "never": NEVER}
"""Types that programs cannot name."""


def _rules() -> Iterator[str]:
    """The grammar rules of steps, generated from their text forms."""
    bodies = {rule for rule, record in _BY_RULE.items() if "body" in record.step.__struct_fields__}
    lines = _BY_RULE.keys() - bodies - _BRANCHING - {"ir_op_search", "ir_op_first"}
    yield "_ir_operation: " + " | ".join(sorted(lines))
    yield "_ir_header: " + " | ".join(sorted(bodies))
    for rule, record in _BY_RULE.items():
        if rule not in _BRANCHING:
            yield f"{rule}: {forms.rule(record.text)}"
    for flag in sorted({flag for record in _RECORDS for flag in forms.flags(record.text)}):
        yield f'ir_flag_{flag}: "{flag}"'


class _IRBuilder(TreeBuilder):
    """Adds the rules of the IR. An operation's rule gives its class, its pool and its own fields."""

    def __init__(self, fragment: Fragment) -> None:
        super().__init__(fragment)
        self._report = Report()
        self._symbols = Symbols(dict(INNER))

    def declare(self, tree: Tree[Any]) -> None:
        """The types that a text declares, to which its other lines refer."""
        declare_types(
            [self.build(each) for each in tree.find_data("type_alias")], self._symbols, self._report
        )

    def build(self, tree: Tree[Any] | Token) -> Any:
        """The value of a tree; children first, without recursion, since trees may be deep."""
        order, stack, made = list[Any](), [tree], dict[int, Any]()
        while stack:
            order.append(stack.pop())
            stack.extend(child for child in getattr(order[-1], "children", ()) if child is not None)
        for part in reversed(order):
            if isinstance(part, Token):
                place = part.start_pos or 0, part.end_pos or 0
                made[id(part)] = self.token(part.type, str(part), *place)
            else:
                place = getattr(part.meta, "start_pos", 0), getattr(part.meta, "end_pos", 0)
                values = [None if child is None else made[id(child)] for child in part.children]
                made[id(part)] = self.rule(part.data, *place, values)
        return made[id(tree)]

    def _type(self, node: n.TypeNode) -> Type:
        found = resolve_type(node, self._symbols, self._report)
        if self._report.diagnostics:
            raise UsageError("not a type of the IR")
        return found

    def _typed(self, parameters: tuple[n.TypedName, ...]) -> tuple[tuple[str, Type], ...]:
        return tuple((parameter.name.text, self._type(parameter.type)) for parameter in parameters)

    def _prompt(self, node: n.Prompt) -> ir.Prompt:
        parameters, result = self._typed(node.parameters), self._type(node.result)
        return build_prompt(node, Signature(node.name.text, parameters, result, node.many))

    def _functions(self, nodes: Sequence[n.PythonFunction]) -> tuple[ir.PythonFunction, ...]:
        results = [self._type(node.result) if node.result is not None else DYNAMIC for node in nodes]
        return tuple(ir.PythonFunction(x.name.text, type_) for x, type_ in zip(nodes, results, strict=True))

    def ir(self, _span, name, provided, *parts):
        def every(kind: type) -> tuple[Any, ...]:
            return tuple(part for part in parts if isinstance(part, kind))

        def imported(node: n.ImportPython) -> ir.PythonImport:
            return ir.PythonImport(str(node.path.value), self._functions(node.functions))

        return ir.Program(
            name.value,
            tuple(build_param(param, self._type(param.type)) for param in every(n.Param)),
            tuple(self._prompt(prompt) for prompt in every(n.Prompt)),
            every(ir.ScoreFunction),
            every(ir.Scheme),
            tuple(imported(i) for i in every(n.ImportPython) if not isinstance(i, n.ImportMcp)),
            tuple(ir.Corpus(i.name.text, i.path.value) for i in every(n.ImportCorpus)),
            tuple(ir.PythonImport(i.path.value, ()) for i in every(n.Simulate)),
            tuple((name, type_) for name, type_ in self._symbols.types.items() if name not in INNER),
            provided or (),
            metrics=every(ir.MetricFunction),
            servers=tuple(map(imported, every(n.ImportMcp))),
        )

    def ir_provided(self, _span, *functions):
        return self._functions(functions)

    def ir_score(self, span, name, parameters, direction, best, body, value):
        return ir.ScoreFunction(
            name.text,
            self._typed(parameters),
            direction == "lower",
            constant_value(best) if best is not None else None,
            body or forms.LOCAL_SCORE,
            value,
            span,
        )

    def ir_metric(self, span, name, parameters, direction, best, failed, share, value):
        return ir.MetricFunction(
            name.text,
            self._typed(parameters),
            direction == "lower",
            constant_value(best) if best is not None else None,
            constant_value(failed) if failed is not None else None,
            share is not None,
            value,
            span,
        )

    def ir_scheme(self, span, name, parameters, many, result, collect, truth, within, body):
        return ir.Scheme(
            name.text,
            self._typed(parameters),
            self._type(result),
            many is not None,
            collect is not None,
            self._type(truth),
            body,
            span,
            tuple((limit.unit.text, limit.number.value) for limit in within or ()),
        )

    def ir_collect(self, _span):
        return True

    # ------------------------------------------------------------ regions and steps

    def ir_region(self, _span, entry, *children):
        *steps, result = children
        return ir.Region(entry, tuple(steps), result)

    def ir_line(self, span, result, operation, type_, one, *body):
        record, fields = operation
        inside = {"body": body[0]} if body else {}
        step = record.step(result, self._type(type_), one is not None, **fields, **inside, span=span)
        text = forms.line_text(step) if step.line is None else ""
        return replace(step, line=LineKey(text)) if text else step

    ir_block = ir_line

    def __getattr__(self, rule: str) -> Any:
        if rule in _BY_RULE:
            record = record_named(_BY_RULE[rule].name)
            return lambda _span, *children: (record, forms.fields(record.text, list(children)))
        if rule.startswith("ir_flag_"):
            return lambda _span: True
        raise AttributeError(rule)

    def ir_search(self, span, result, operation, type_, one, *parts):
        inside = dict(zip(("expand", "simulate", "value"), parts, strict=True))
        fields = {"result": result, "type": self._type(type_), "single": one is not None}
        return ir.Search(**fields, **operation[1], **inside, span=span)

    def ir_branch(self, span, result, pool, type_, one, *parts):
        branches = tuple(part for part in parts if isinstance(part, tuple))
        otherwise = next((part for part in parts if isinstance(part, ir.Region)), None)
        base = (result, self._type(type_), one is not None)
        if isinstance(pool, tuple):
            return ir.First(*base, **pool[1], branches=branches, otherwise=otherwise, span=span)
        return ir.If(*base, pool, branches, otherwise, span=span)

    def ir_match(self, span, result, subject, *parts):
        like = self.ir_branch(span, result, *parts)
        base = (like.result, like.type, like.single, like.pool)
        return ir.Match(*base, like.branches, like.otherwise, subject, span=span)

    def ir_case(self, _span, *parts):
        return parts[:-1], parts[-1]

    def ir_try(self, span, result, pool, type_, one, tried, otherwise):
        return ir.Try(result, self._type(type_), one is not None, pool, tried, otherwise, span=span)

    def ir_when(self, _span, condition, body):
        return condition, body

    def ir_otherwise(self, _span, body):
        return body

    ir_expand = ir_simulate = ir_value = ir_otherwise

    ir_one = ir_share = ir_collect

    # ------------------------------------------------------------ parts of steps

    def ir_settings(self, _span, *arguments):
        return forms.named(self._arguments(arguments))

    def ir_stop(self, _span, count, called):
        score, arguments = called
        return ir.EarlyStop(score, forms.named(arguments), count)

    def ir_of_line(self, _span, text, rank):
        return text.value, int(rank)

    def ir_values(self, _span, *values):
        return values

    ir_pair = ir_names = ir_values

    def ir_pairs(self, _span, *pairs):
        return present(pairs)

    def ir_text(self, _span, text):
        return text.value

    def ir_called(self, _span, name, *arguments):
        return name.text, self._arguments(arguments)

    def ir_name(self, _span, name):
        return name.text
