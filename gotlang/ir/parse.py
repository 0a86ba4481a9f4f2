"""The IR's text back to a program (`grammars/ir.lark`): for tests of passes, and to look at what one did."""

# Every method gets the rule's position and its children from Lark, which have no static type.
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from lark.exceptions import LarkError

from gotlang.errors import UsageError
from gotlang.ir import program as ir
from gotlang.ir.declarations import build_param, build_prompt
from gotlang.ir.text import LOCAL_SCORE
from gotlang.semantics.params import constant_value
from gotlang.semantics.symbols import Signature
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.syntax.build import TreeBuilder, present
from gotlang.syntax.grammar import build_parser, grammar_text
from gotlang.types import ANY, NONE, SIMPLE, DictType, ListType, LiteralType, RecordType, Type

if TYPE_CHECKING:
    from lark import Lark

_parsers = threading.local()


def from_text(text: str) -> ir.Program:
    """The program that a text in the form of `to_text` stands for. Raises UsageError where it is none."""
    try:
        tree = _parser().parse(text if text.endswith("\n") else text + "\n", start="ir")
    except LarkError as error:
        at = getattr(error, "pos_in_stream", None) or 0
        raise UsageError(f"this is no IR, from line {text.count(chr(10), 0, at) + 1} on") from None
    builder = _IRBuilder("ir", text, 0)
    program: ir.Program = builder.build(tree)
    if builder.problems:
        raise UsageError(f"this is no IR: {builder.problems[0].message}")
    return program


def _parser() -> Lark:
    """This thread's parser: the indenter keeps state."""
    found: Lark | None = getattr(_parsers, "ir", None)
    if found is None:
        found = _parsers.ir = build_parser(grammar_text("ir.lark"), starts=["ir"])
    return found


def to_type(node: n.TypeNode) -> Type:
    """The type that a type's text stands for; names of a program's own types are not known here."""
    match node:
        case n.UnionTypeNode(values=values):
            return LiteralType(values)
        case n.RecordTypeNode(fields=fields):
            return RecordType(tuple((field.name.text, to_type(field.type)) for field in fields))
        case n.NamedType(name=name, arguments=arguments):
            match name.text, arguments:
                case "list", (element,):
                    return ListType(to_type(element))
                case "dict", (_, value):
                    return DictType(to_type(value))
                case "any", ():
                    return ANY
                case "none", ():
                    return NONE
                case text, () if text in SIMPLE:
                    return SIMPLE[text]
    raise UsageError("this is no type of the IR")


def _typed(parameters: tuple[n.TypedName, ...]) -> tuple[tuple[str, Type], ...]:
    return tuple((parameter.name.text, to_type(parameter.type)) for parameter in parameters)


class _IRBuilder(TreeBuilder):
    """Adds the rules of the IR. An operation's rule gives its class, its pool and its own fields."""

    def make(self, rule, meta, children):
        """Rules of the IR get Lark's position and their children as one list."""
        if rule.startswith("ir"):
            return getattr(self, rule)(meta, children)
        return super().make(rule, meta, children)

    def ir(self, _meta, children):
        name, *parts = children

        def every(kind: type) -> tuple[Any, ...]:
            return tuple(part for part in parts if isinstance(part, kind))

        return ir.Program(
            self._read(name),
            tuple(build_param(param, to_type(param.type)) for param in every(n.Param)),
            tuple(_prompt(prompt) for prompt in every(n.Prompt)),
            every(ir.ScoreFunction),
            every(ir.Scheme),
            tuple(
                ir.PythonImport(i.path.value, tuple(x.text for x in i.names)) for i in every(n.ImportPython)
            ),
            tuple(ir.Corpus(i.name.text, i.path.value) for i in every(n.ImportCorpus)),
            tuple(ir.PythonImport(i.path.value, ()) for i in every(n.Simulate)),
        )

    def ir_score(self, meta, children):
        name, parameters, direction, best, body, value = children
        return ir.ScoreFunction(
            name.text,
            _typed(parameters),
            str(direction) == "lower",
            constant_value(best) if best is not None else None,
            body or LOCAL_SCORE,
            value,
            self._here(meta),
        )

    def ir_scheme(self, meta, children):
        name, parameters, many, result, collect, truth, body = children
        return ir.Scheme(
            name.text,
            _typed(parameters),
            to_type(result),
            many is not None,
            collect is not None,
            to_type(truth),
            body,
            self._here(meta),
        )

    def ir_collect(self, _meta, _children):
        return True

    # ------------------------------------------------------------ regions and steps

    def ir_region(self, _meta, children):
        entry, *steps, result = children
        return ir.Region(entry, tuple(steps), result)

    def ir_line(self, meta, children):
        result, (kind, pool, fields), type_, one = children
        return kind(result, to_type(type_), one is not None, pool=pool, **fields, span=self._here(meta))

    def ir_block(self, meta, children):
        result, (kind, pool, fields), type_, one, body = children
        base = (result, to_type(type_), one is not None)
        return kind(*base, pool=pool, **fields, body=body, span=self._here(meta))

    def ir_branch(self, meta, children):
        result, pool, type_, one, *parts = children
        branches = tuple(part for part in parts if isinstance(part, tuple))
        otherwise = next((part for part in parts if isinstance(part, ir.Region)), None)
        base = (result, to_type(type_), one is not None)
        return ir.If(*base, pool, branches, otherwise, span=self._here(meta))

    def ir_when(self, _meta, children):
        return tuple(children)

    def ir_otherwise(self, _meta, children):
        return children[0]

    def ir_one(self, _meta, _children):
        return True

    # ------------------------------------------------------------ operations

    def ir_ask(self, _meta, children):
        kind, (prompt, arguments), pool, k, settings, until, fused, stop = children
        return (
            {"Generate": ir.Generate, "Improve": ir.Improve, "Aggregate": ir.Aggregate}[str(kind)],
            pool,
            {
                "prompt": prompt,
                "arguments": _named(arguments),
                "k": k,
                "settings": settings or (),
                "until": until,
                "fused": fused is not None,
                "stop": stop,
            },
        )

    def ir_settings(self, _meta, children):
        return _named(self._arguments(children))

    def ir_fused(self, _meta, _children):
        return True

    def ir_stop(self, _meta, children):
        count, (score, arguments) = children
        return ir.Stop(score, _named(arguments), count)

    def ir_rate(self, _meta, children):
        (score, arguments), pool, k, fused = children
        fields = {"score": score, "arguments": _named(arguments), "value": None, "k": k}
        return ir.Score, pool, {**fields, "fused": fused is not None}

    def ir_rate_value(self, _meta, children):
        value, pool, k, fused = children
        fields = {"score": None, "arguments": (), "value": value, "k": k, "fused": fused is not None}
        return ir.Score, pool, fields

    def ir_validate(self, _meta, children):
        return ir.Validate, children[1], {"condition": children[0]}

    def ir_validate_by(self, _meta, children):
        (prompt, arguments), pool = children
        return ir.Validate, pool, {"condition": None, "prompt": prompt, "arguments": _named(arguments)}

    def ir_keep_valid(self, _meta, children):
        return ir.KeepValid, children[0], {}

    def ir_mend(self, _meta, children):
        (prompt, arguments), judged, pool, tries, settings = children
        by_prompt = isinstance(judged, tuple)
        return (
            ir.ValidateAndImprove,
            pool,
            {
                "condition": None if by_prompt else judged,
                "judge": judged[0] if by_prompt else None,
                "judge_arguments": _named(judged[1]) if by_prompt else (),
                "prompt": prompt,
                "arguments": _named(arguments),
                "tries": tries,
                "settings": settings or (),
            },
        )

    def ir_keep_best(self, _meta, children):
        return ir.KeepBestN, children[1], {"count": children[0]}

    def ir_select_where(self, _meta, children):
        return ir.Select, children[1], {"condition": children[0], "positions": None}

    def ir_select_at(self, _meta, children):
        return ir.Select, children[1], {"condition": None, "positions": children[0]}

    def ir_vote(self, _meta, children):
        return ir.Vote, children[0], {"weight": children[1]}

    def ir_map(self, _meta, children):
        return ir.Map, children[1], {"value": children[0]}

    def ir_gather(self, _meta, children):
        *values, pool = children
        return ir.Pool, pool, {"values": tuple(values)}

    def ir_retrieve(self, _meta, children):
        (corpus, arguments), pool, k = children
        return ir.Retrieve, pool, {"corpus": corpus, "query": arguments[0].value, "k": k}

    def ir_call_function(self, _meta, children):
        (function, arguments), pool = children
        given = tuple((a.name.text if a.name is not None else None, a.value) for a in arguments)
        return ir.Call, pool, {"function": function, "arguments": given}

    def ir_measure(self, _meta, children):
        return ir.GroundTruth, children[1], {"condition": children[0]}

    def ir_invoke(self, _meta, children):
        (scheme, arguments), pool = children
        return ir.Invoke, pool, {"scheme": scheme, "arguments": _named(arguments)}

    # ------------------------------------------------------------ blocks

    def ir_foreach(self, _meta, children):
        name, position, iterable, after, pool = children
        return ir.Foreach, pool, {"iterable": iterable, "name": name, "position": position, "after": after}

    def ir_reduce(self, _meta, children):
        left, right, iterable, step, pool = children
        return ir.Reduce, pool, {"iterable": iterable, "left": left, "right": right, "step": step}

    def ir_loop(self, _meta, children):
        count, counter, until, pool = children
        return ir.Repeat, pool, {"count": count, "counter": counter, "until": until}

    def ir_group(self, _meta, children):
        label, *pairs, pool = children
        return ir.Block, pool, {"label": self._read(label), "names": present(pairs)}

    def ir_pair(self, _meta, children):
        return tuple(children)

    def ir_called(self, _meta, children):
        name, *arguments = children
        return str(name), self._arguments(arguments)

    def ir_name(self, _meta, children):
        return str(children[0])


def _named(arguments: tuple[e.Argument, ...]) -> ir.Arguments:
    return tuple((argument.name.text, argument.value) for argument in arguments if argument.name is not None)


def _python(node: n.ImportPython) -> ir.PythonImport:
    return ir.PythonImport(str(node.path.value), tuple(name.text for name in node.names))


def _prompt(node: n.Prompt) -> ir.Prompt:
    signature = Signature(node.name.text, _typed(node.parameters), to_type(node.result), node.many)
    return build_prompt(node, signature)
