"""From the parser's reductions to nodes: one method a grammar rule, in the order of the grammar."""

# Every method is called by Lark with the rule's position and its children, which have no static type.
# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from lark import Token, v_args
from lark.visitors import Transformer_NonRecursive

from gotlang.forms import After, Json, Lines, Tag
from gotlang.span import Span
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n

_MAX_DIGITS = 40

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\", "\n": ""}


def unescape(text: str) -> str:
    """What stands between the quotes, with `\\n \\t \\r \\" \\\\` and a line's continuation taken for what they mean.

    Any other backslash stays as it is, so that patterns and LaTeX can be written plainly.
    """
    if "\\" not in text:
        return text
    return re.sub(r"\\([\s\S])", lambda m: _ESCAPES.get(m[1], m[0]), text)


def dedent(text: str) -> str:
    """A long text without its common indentation, first line break and last white space."""
    lines = text.split("\n")
    if lines[0].strip():
        head, rest = lines[0], lines[1:]
    else:
        head, rest = None, lines[1:]
    margin = min((len(line) - len(line.lstrip(" ")) for line in rest if line.strip()), default=0)
    body = [line[margin:] if line.strip() else "" for line in rest]
    if head is not None:
        body.insert(0, head)
    return "\n".join(body).rstrip()


class SyntaxProblem(Exception):
    """What the grammar lets through and the language does not, found while nodes are made."""

    def __init__(self, code: str, message: str, span: Span, help: str | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.span, self.help = code, message, span, help


@v_args(meta=True)
class TreeBuilder(Transformer_NonRecursive[Any, Any]):
    """Makes nodes. `source` and `base` say whose text this is and at which offset it starts."""

    def __init__(self, source: str, base: int) -> None:
        super().__init__()
        self.source_name, self.base = source, base

    def _here(self, meta) -> Span:
        if getattr(meta, "empty", True):
            return Span(self.source_name, self.base, self.base)
        return Span(self.source_name, self.base + meta.start_pos, self.base + meta.end_pos)

    def _line(self, meta, children) -> Span:
        """The rule's place without the line end or the block's end that closes it.

        Children that are nodes stand in the whole text already, tokens in this piece of it.
        """
        here = self._here(meta)
        ends = [
            child.span.end if isinstance(child, e.Node) else self.base + child.end_pos
            for child in _flat(children)
        ]
        return Span(here.source, here.start, max(ends, default=here.end))

    # ------------------------------------------------------------ declarations

    def module(self, meta, children):
        return n.Module(self._here(meta), tuple(children))

    def import_got(self, meta, children):
        return n.ImportGot(self._line(meta, children), self._string(children[0]))

    def import_python(self, meta, children):
        path, *names = children
        return n.ImportPython(self._line(meta, children), self._string(path), tuple(names))

    def simulate(self, meta, children):
        return n.Simulate(self._line(meta, children), self._string(children[0]))

    def type_alias(self, meta, children):
        return n.TypeAlias(self._line(meta, children), *children)

    def param(self, meta, children):
        name, type_, default, domain, guard = children
        each, allowed = domain if domain else (False, None)
        return n.Param(self._line(meta, children), name, type_, default, each, allowed, guard)

    def domain(self, _meta, children):
        return children[0] is not None, children[1]

    def each(self, meta, _children):
        return e.Constant(self._here(meta), True)

    def range(self, meta, children):
        return n.Range(self._here(meta), *children)

    def choices(self, meta, children):
        return n.Choices(self._here(meta), tuple(c for c in children if c is not None))

    def guard(self, _meta, children):
        return children[0]

    def prompt(self, meta, children):
        name, parameters, many, result, *parts = children
        kinds = _by_kind(parts)
        only = {
            kind: _only(kinds, kind, f"the {kind} text" if kind != "parse" else "`parse`")
            for kind in ("system", "instruction", "user", "parse")
        }
        return n.Prompt(
            self._line(meta, [name, result, *(value for _, value in parts)]),
            name,
            parameters,
            many is not None,
            result,
            tuple(kinds.get("setting", ())),
            only["system"],
            only["instruction"],
            tuple(example for block in kinds.get("examples", ()) for example in block),
            only["user"],
            only["parse"],
        )

    def setting(self, meta, children):
        return "setting", n.PromptSetting(self._line(meta, children), *children)

    def system(self, _meta, children):
        return "system", self._string(children[0])

    def instruction(self, _meta, children):
        return "instruction", self._string(children[0])

    def user(self, _meta, children):
        return "user", self._string(children[0])

    def examples(self, _meta, children):
        return "examples", tuple(children)

    def example(self, meta, children):
        *inputs, output = children
        return n.Example(self._line(meta, children), tuple(inputs), output)

    def parse(self, meta, children):
        form = children[0]
        span = self._line(meta, [form] if isinstance(form, e.Node) else [])
        if isinstance(form, e.Identifier):
            return "parse", n.ParseForm(span, None, form)
        return "parse", n.ParseForm(span, form)

    def parse_tag(self, _meta, children):
        return Tag(self._string(children[0]).value)

    def parse_json(self, _meta, _children):
        return Json()

    def parse_lines(self, _meta, children):
        return Lines(self._string(children[0]).value if children[0] is not None else None)

    def parse_after(self, _meta, children):
        return After(self._string(children[0]).value)

    def parse_with(self, _meta, children):
        return children[0]

    def score(self, meta, children):
        name, parameters, direction, best, body = children
        return n.Score(self._line(meta, children), name, parameters, str(direction), best, body)

    def scheme(self, meta, children):
        name, parameters, many, result, truth, body = children
        return n.Scheme(self._line(meta, children), name, parameters, many is not None, result, truth, body)

    def parameters(self, _meta, children):
        return tuple(c for c in children if c is not None)

    def parameter(self, meta, children):
        return n.Parameter(self._here(meta), *children)

    def many(self, meta, _children):
        return e.Constant(self._here(meta), True)

    # ------------------------------------------------------------ studies

    def study(self, meta, children):
        name, *clauses = children
        kinds = _by_kind(clauses)
        program, scheme = _only(kinds, "program", "`program`") or (None, None)

        def every(kind: str) -> tuple[Any, ...]:
            return tuple(item for group in kinds.get(kind, ()) for item in group)

        return n.Study(
            self._line(meta, [name, *(value for _, value in clauses)]),
            name,
            program,
            scheme,
            _only(kinds, "data", "`data`"),
            every("objectives"),
            every("constraints"),
            every("vary"),
            tuple(kinds.get("prompts", ())),
            every("options"),
        )

    def study_program(self, _meta, children):
        return "program", (self._string(children[0]), children[1])

    def study_data(self, meta, children):
        path, *rest = children
        columns = tuple(item for item in rest if isinstance(item, tuple))
        options = tuple(item for item in rest if isinstance(item, n.StudyOption))
        return "data", n.StudyData(self._line(meta, children), self._string(path), columns, options)

    def binding_pair(self, _meta, children):
        return children[0].text, children[1]

    def column(self, _meta, children):
        token = children[0]
        return self._string(token).value if token.type == "STRING" else str(token)

    def study_objective(self, _meta, children):
        return "objectives", tuple((str(children[i]), children[i + 1]) for i in range(0, len(children), 2))

    def study_constraint(self, _meta, children):
        return "constraints", tuple(children)

    def study_vary(self, _meta, children):
        return "vary", tuple(children)

    def vary_item(self, meta, children):
        return n.Vary(self._here(meta), *children)

    def study_prompts(self, meta, children):
        *names, optimizer = children
        return "prompts", n.StudyPrompts(self._line(meta, children), tuple(names), optimizer)

    def study_setting(self, _meta, children):
        return "options", tuple(children)

    def study_option(self, meta, children):
        return n.StudyOption(self._here(meta), *children)

    # ------------------------------------------------------------ types

    def named_type(self, meta, children):
        name, *arguments = children
        return n.NamedType(self._here(meta), name, tuple(a for a in arguments if a is not None))

    def record_type(self, meta, children):
        return n.RecordTypeNode(self._here(meta), tuple(c for c in children if c is not None))

    def field_type(self, meta, children):
        return n.FieldType(self._here(meta), *children)

    def union_type(self, meta, children):
        return n.UnionTypeNode(self._here(meta), tuple(self._string(c).value for c in children))

    def type_name(self, meta, children):
        return e.Identifier(self._here(meta), str(children[0]))

    # ------------------------------------------------------------ pipelines

    def suite(self, meta, children):
        start = children[0].span
        return n.Suite(start.to(children[-1].span), tuple(children))

    def step_statement(self, _meta, children):
        return children[0]

    def bind_step(self, meta, children):
        return n.Bind(self._line(meta, children), *children)

    bind_expression = bind_suite = bind_block = bind_step

    def expression_statement(self, meta, children):
        return n.Evaluate(self._line(meta, children), children[0])

    def return_(self, meta, children):
        return n.Return(self._line(meta, children), children[0])

    def step(self, meta, children):
        (name, settings), operands, again = children
        return n.Step(self._here(meta), name, settings, operands or (), again)

    def operation(self, _meta, children):
        token, settings = children
        return self._identifier(token), settings

    def settings(self, _meta, children):
        return self._arguments(children)

    def operands(self, _meta, children):
        return tuple(children)

    def again(self, meta, children):
        token, settings = children
        return n.Step(self._here(meta), self._identifier(token), settings, ())

    def foreach(self, meta, children):
        words, position, iterable, after, body = children
        *adjectives, name = words
        return n.Foreach(
            self._line(meta, [body]),
            tuple(str(word) for word in adjectives),
            self._identifier(name),
            position,
            iterable,
            after,
            body,
        )

    def reduce(self, meta, children):
        return n.Reduce(self._line(meta, children), *children)

    def repeat(self, meta, children):
        return n.RepeatBlock(self._line(meta, children), *children)

    def if_(self, meta, children):
        condition, body, *rest = children
        branches = [(condition, body), *(part for part in rest if isinstance(part, tuple))]
        otherwise = next((part for part in rest if isinstance(part, n.Suite)), None)
        last = otherwise or branches[-1][1]
        return n.If(self._line(meta, [last]), tuple(branches), otherwise)

    def elif_(self, _meta, children):
        return tuple(children)

    def else_(self, _meta, children):
        return children[0]

    def labelled(self, meta, children):
        words, number, *rest, body = children
        label = " ".join([*map(str, words), *([str(number)] if number is not None else [])])
        sources = tuple(c for c in rest if c is not None and not isinstance(c, e.Identifier))
        names = tuple(c for c in rest if isinstance(c, e.Identifier))
        return n.Labelled(self._line(meta, [body]), label, sources, names, body)

    def source(self, _meta, children):
        return children[0]

    def words(self, _meta, children):
        return tuple(children)

    def words_reference(self, meta, children):
        return n.LabelReference(self._here(meta), " ".join(str(c) for c in children if c is not None))

    # ------------------------------------------------------------ expressions

    def conditional(self, meta, children):
        return e.Conditional(self._here(meta), *children)

    def or_(self, meta, children):
        return e.Binary(self._here(meta), "or", *children)

    def and_(self, meta, children):
        return e.Binary(self._here(meta), "and", *children)

    def not_(self, meta, children):
        return e.Unary(self._here(meta), "not", children[0])

    def comparison(self, meta, children):
        first, *rest = children
        pairs = tuple((rest[i], rest[i + 1]) for i in range(0, len(rest), 2))
        return e.Comparison(self._here(meta), first, pairs)

    def comparator(self, _meta, children):
        return str(children[0])

    def in_(self, _meta, _children):
        return "in"

    def not_in(self, _meta, _children):
        return "not in"

    def sum(self, meta, children):
        left, operator, right = children
        return e.Binary(self._here(meta), str(operator), left, right)

    product = sum

    def negative(self, meta, children):
        return e.Unary(self._here(meta), str(children[0]), children[1])

    def power(self, meta, children):
        left, _, right = children
        return e.Binary(self._here(meta), "**", left, right)

    def call(self, meta, children):
        name, *arguments = children
        return e.Call(self._here(meta), name, self._arguments(arguments))

    def index(self, meta, children):
        return e.Index(self._here(meta), *children)

    def slice(self, meta, children):
        value, (start, stop) = children
        return e.Slice(self._here(meta), value, start, stop)

    def slice_bounds(self, _meta, children):
        start, _, stop = children
        return start, stop

    def field(self, meta, children):
        return e.Field(self._here(meta), children[0], str(children[1]))

    def reference(self, meta, children):
        return e.Reference(self._here(meta), children[0].text)

    def number(self, meta, children):
        token = children[0]
        if len(token) > _MAX_DIGITS or (token.type == "FLOAT" and float(token) == float("inf")):
            raise SyntaxProblem("GOT0007", "this number is too large", self._here(meta))
        return e.Constant(self._here(meta), int(token) if token.type == "INT" else float(token))

    def text(self, _meta, children):
        return self._string(children[0])

    def true(self, meta, _children):
        return e.Constant(self._here(meta), True)

    def false(self, meta, _children):
        return e.Constant(self._here(meta), False)

    def none(self, meta, _children):
        return e.Constant(self._here(meta), None)

    def list(self, meta, children):
        return e.ListDisplay(self._here(meta), tuple(c for c in children if c is not None))

    constant_list = list

    def comprehension(self, meta, children):
        return e.Comprehension(self._here(meta), *children)

    def record(self, meta, children):
        return e.RecordDisplay(self._here(meta), tuple(c for c in children if c is not None))

    def entry(self, _meta, children):
        key, value = children
        return key.value if isinstance(key, e.Constant) else str(key), value

    def group(self, meta, children):
        return children[0]

    def argument(self, meta, children):
        return e.Argument(self._here(meta), *children)

    def negative_constant(self, meta, children):
        value = children[1].value
        return e.Constant(self._here(meta), -value)

    def name(self, meta, children):
        return self._identifier(children[0])

    # ------------------------------------------------------------ tokens

    def _identifier(self, token: Token) -> e.Identifier:
        start, end = token.start_pos or 0, token.end_pos or 0
        return e.Identifier(Span(self.source_name, self.base + start, self.base + end), str(token))

    def _string(self, token: Token) -> e.Constant:
        start, end = token.start_pos or 0, token.end_pos or 0
        span = Span(self.source_name, self.base + start, self.base + end)
        if token.type == "LONG_STRING":
            return e.Constant(span, dedent(unescape(str(token)[3:-3])), long=True)
        return e.Constant(span, unescape(str(token)[1:-1]))

    def _arguments(self, children) -> tuple[e.Argument, ...]:
        return tuple(
            child if isinstance(child, e.Argument) else e.Argument(child.span, None, child)
            for child in children
            if child is not None
        )


def _by_kind(parts: list[tuple[str, Any]]) -> dict[str, list[Any]]:
    kinds: dict[str, list[Any]] = {}
    for kind, value in parts:
        kinds.setdefault(kind, []).append(value)
    return kinds


def _only(kinds: dict[str, list[Any]], kind: str, what: str) -> Any:
    found = kinds.get(kind, [None])
    if len(found) > 1:
        second = next(_flat([found[1]]))
        raise SyntaxProblem("GOT0008", f"{what} stands here a second time", second.span, "keep one of them")
    return found[0]


def _flat(children: Iterable[Any]) -> Iterator[Any]:
    for child in children:
        if isinstance(child, e.Node | Token):
            yield child
        elif isinstance(child, list | tuple):
            yield from _flat(child)
