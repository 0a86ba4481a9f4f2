"""The tree builder: from Lark's parse tree to nodes, one method per rule in the order of the grammar."""

# Every method gets the rule's position and its children from Lark, which have no static type.
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from difflib import get_close_matches
from math import inf
from typing import Any

from lark import Token, Tree

from gotlang.answers.forms import After, Form, Json, Lines, Tag
from gotlang.diagnostics import Diagnostic
from gotlang.span import Span
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.syntax.hints import CAPITAL, LABELS
from gotlang.syntax.texts import read_long, unescape
from gotlang.syntax.walk import nodes_in

MAX_DIGITS = 1234
"""The most characters of a number: what whole numbers of 4,096 bits take."""

RESERVED = frozenset(
    {"and", "elif", "else", "false", "for", "foreach", "if", "in", "none", "not", "or", "reduce", "repeat"}
    | {"after", "as", "from", "return", "true", "until", "when", "with"}
)
"""Words that cannot be names: they would make an expression or a statement mean something else."""

Make = Callable[["TreeBuilder", Any, list[Any]], Any]


def present(children: list[Any]) -> tuple[Any, ...]:
    """The children without the gaps that Lark leaves for optional parts."""
    return tuple(child for child in children if child is not None)


def _all(_builder, _meta, children):
    return present(children)


def _true(_builder, _meta, _children):
    return True


def _node(kind: Callable[..., e.Node]) -> Make:
    """A rule whose children are the fields of its node, in order."""
    return lambda builder, meta, children: kind(builder._here(meta), *children)


def _block(kind: Callable[..., e.Node]) -> Make:
    """The same for a rule that ends with a block: the node ends where the block does."""
    return lambda builder, meta, children: kind(builder._until(meta, children[-1]), *children)


def _list(kind: Callable[..., e.Node]) -> Make:
    """A rule whose children are the one field of its node."""
    return lambda builder, meta, children: kind(builder._here(meta), present(children))


def _form(kind: Callable[..., Form]) -> Make:
    """A way to read an answer, with its text if it has one."""
    return lambda builder, _meta, children: kind(*map(builder._read, present(children)))


def _constant(value: bool | None) -> Make:
    return lambda builder, meta, _children: e.Constant(builder._here(meta), value)


def _part(kind: str) -> Make:
    """A part of a prompt or study of which there is one: its kind and its value."""
    return lambda _builder, _meta, children: (kind, children[0])


def _parts(kind: str) -> Make:
    """A part of several values."""
    return lambda _builder, _meta, children: (kind, tuple(children))


class TreeBuilder:
    """Makes nodes of one piece of a program, which starts at offset `base` of the source called `name`.

    What the grammar lets through and the language does not is collected in `problems`.
    """

    def __init__(self, name: str, text: str, base: int) -> None:
        self._name, self._text, self._base = name, text, base
        self.problems: list[Diagnostic] = []

    def build(self, tree: Tree[Any]) -> Any:
        """The node of a tree; children first, without recursion, since trees may be deep."""
        order = []
        stack = [tree]
        while stack:
            top = stack.pop()
            order.append(top)
            stack.extend(child for child in top.children if isinstance(child, Tree))
        made: dict[int, Any] = {}
        for part in reversed(order):
            children = [made.pop(id(c)) if isinstance(c, Tree) else c for c in part.children]
            made[id(part)] = getattr(self, part.data)(part.meta, children)
        return made[id(tree)]

    # ------------------------------------------------------------ places, tokens and mistakes

    def _here(self, where) -> Span:
        """The place of a token or of a rule, which is empty where nothing was read."""
        start, end = getattr(where, "start_pos", 0), getattr(where, "end_pos", 0)
        return Span(self._name, self._base + start, self._base + end)

    def _until(self, meta, *parts: e.Node) -> Span:
        """The place of a block: up to its last part, without the line end that closes it."""
        return Span(self._name, self._base + meta.start_pos, max(part.span.end for part in parts))

    def _problem(self, code: str, message: str, span: Span, help: str | None = None) -> None:
        self.problems.append(Diagnostic(code, message, span, help=help))

    def _identifier(self, token: Token) -> e.Identifier:
        return e.Identifier(self._here(token), str(token))

    def _name_of(self, token: Token) -> e.Identifier:
        if token in RESERVED:
            self._problem("GOT0011", f"`{token}` is a reserved word, not a name", self._here(token))
        return self._identifier(token)

    def _read(self, token: Token) -> str:
        """The value of a quoted text."""
        return read_long(token[3:-3]) if token.type == "LONG_STRING" else unescape(token[1:-1])

    def _arguments(self, children) -> tuple[e.Argument, ...]:
        return tuple(
            child if isinstance(child, e.Argument) else e.Argument(child.span, None, child)
            for child in present(children)
        )

    def _only(self, parts: dict[str, list[Any]], kind: str, what: str) -> Any:
        """The one part of a kind, or None; a second one is a mistake."""
        found = parts.get(kind, [None])
        for again in found[1:]:
            self._problem("GOT0008", f"duplicate {what}", next(nodes_in(again)).span, "keep one of them")
        return found[0]

    # ------------------------------------------------------------ declarations

    module = _list(n.Module)
    import_got = _node(n.ImportGot)
    import_python = _node(n.ImportPython)
    import_corpus = _node(n.ImportCorpus)
    simulate = _node(n.Simulate)
    type_alias = _node(n.TypeAlias)

    def param(self, meta, children):
        name, type_, default, each, domain, guard = children
        return n.Param(self._here(meta), name, type_, default, each is not None, domain, guard)

    each = _true
    range = _node(n.Range)
    choices = _list(n.Choices)

    # ------------------------------------------------------------ prompts

    def prompt(self, meta, children):
        name, parameters, many, result, *children = children
        parts = _by_kind(children)
        return n.Prompt(
            self._until(meta, *nodes_in(children)),
            name,
            parameters,
            many is not None,
            result,
            tuple(parts.get("setting", ())),
            self._only(parts, "system", "system text"),
            self._only(parts, "instruction", "instruction"),
            self._only(parts, "examples", "`examples`") or (),
            self._only(parts, "user", "prompt text"),
            self._only(parts, "parse", "`parse`"),
        )

    prompt_setting = _part("setting")
    system = _part("system")
    instruction = _part("instruction")
    user = _part("user")
    examples = _parts("examples")

    def example(self, meta, children):
        *inputs, output = children
        return n.Example(self._here(meta), tuple(inputs), output)

    def parse(self, meta, children):
        form = children[0]
        function = form if isinstance(form, e.Identifier) else None
        return "parse", n.ParseForm(self._here(meta), None if function else form, function)

    parse_tag = _form(Tag)
    parse_json = _form(Json)
    parse_lines = _form(Lines)
    parse_after = _form(After)

    # ------------------------------------------------------------ scores and schemes

    def score(self, meta, children):
        name, parameters, direction, best, body = children
        return n.Score(self._until(meta, body), name, parameters, str(direction), best, body)

    def scheme(self, meta, children):
        name, parameters, many, result, truth, body = children
        return n.Scheme(self._until(meta, body), name, parameters, many is not None, result, truth, body)

    parameters = _all
    many = _true

    # ------------------------------------------------------------ studies

    def study(self, meta, children):
        name, *children = children
        parts = _by_kind(children)
        program, scheme = self._only(parts, "program", "`program`") or (None, None)
        objectives, constraints, vary, options = (
            tuple(item for group in parts.get(kind, ()) for item in group)
            for kind in ("objectives", "constraints", "vary", "options")
        )
        return n.Study(
            self._until(meta, *nodes_in(children)),
            name,
            program,
            scheme,
            self._only(parts, "data", "`data`"),
            objectives,
            constraints,
            vary,
            tuple(parts.get("prompts", ())),
            options,
        )

    study_program = _parts("program")

    def study_data(self, meta, children):
        path, columns, *options = children
        return "data", n.StudyData(self._here(meta), path, columns or (), tuple(options))

    columns = _all

    def column_pair(self, _meta, children):
        name, column = children
        return name.text, column

    def column(self, _meta, children):
        token = children[0]
        return self._read(token) if token.type == "STRING" else str(token)

    def objective(self, _meta, children):
        word, value = children
        return str(word), value

    study_objective = _parts("objectives")
    study_constraint = _parts("constraints")
    study_vary = _parts("vary")
    vary_item = _node(n.Vary)

    def study_prompts(self, meta, children):
        return "prompts", n.StudyPrompts(self._here(meta), *children)

    study_setting = _parts("options")
    setting = _node(n.Setting)

    # ------------------------------------------------------------ types

    def named_type(self, meta, children):
        name, *arguments = children
        return n.NamedType(self._here(meta), name, present(arguments))

    record_type = _list(n.RecordTypeNode)
    typed_name = _node(n.TypedName)

    def union_type(self, meta, children):
        return n.UnionTypeNode(self._here(meta), tuple(self._read(c) for c in children))

    # ------------------------------------------------------------ pipelines

    def suite(self, _meta, children):
        return n.Suite(children[0].span.to(children[-1].span), tuple(children))

    body = suite
    bind_line = _node(n.Bind)
    bind_block = _block(n.Bind)
    evaluate = _node(n.Evaluate)
    return_ = _node(n.Return)

    def step(self, meta, children):
        (name, settings), operands, again = children
        return n.Step(self._here(meta), name, settings, operands or (), again)

    def operation(self, _meta, children):
        token, settings = children
        name = self._identifier(token)
        if name.text == "Call":
            # `Call f(x)` and `Call() f(x)` are one thing, and the first is how it is written.
            return name, settings or None
        if name.text in CAPITAL:
            message, help = f"unexpected `{name.text}`", f"write `{CAPITAL[name.text]}`"
            self._problem("GOT0001", message, name.span, help)
        elif settings is None:
            help = f"write `{name.text}()`: parentheses are required, even without settings"
            self._problem("GOT0010", f"missing parentheses after `{name.text}`", name.span, help)
        return name, settings or ()

    def settings(self, _meta, children):
        return self._arguments(children)

    operands = _all

    def again(self, meta, children):
        token, settings = children
        return n.Step(self._here(meta), self._identifier(token), settings, ())

    def foreach(self, meta, children):
        (*adjectives, name), *rest = children
        for word in adjectives[1:]:
            # Any word may precede the name, so a misspelt `in` would make another program.
            if word == "of" or get_close_matches(word, ["in", "after"], cutoff=0.75):
                help = "write `foreach x in xs:`"
                self._problem("GOT0001", f"unexpected `{word}`", self._here(word), help)
        words = tuple(str(word) for word in adjectives)
        return n.Foreach(self._until(meta, children[-1]), words, self._name_of(name), *rest)

    reduce = _block(n.Reduce)
    repeat = _block(n.RepeatBlock)

    def if_(self, meta, children):
        *branches, otherwise = children
        return n.If(self._until(meta, otherwise or branches[-1][1]), tuple(branches), otherwise)

    branch = _all

    def labelled(self, meta, children):
        words, sources, names, body = children
        if words[0] in LABELS:
            message = f"unexpected `{words[0]}`"
            self._problem("GOT0001", message, self._here(words[0]), LABELS[words[0]])
        return n.Labelled(self._until(meta, body), " ".join(words), sources or (), names or (), body)

    sources = _all
    words = _all
    label = _all

    def label_reference(self, meta, children):
        return n.LabelReference(self._here(meta), " ".join(present(children)))

    # ------------------------------------------------------------ expressions

    conditional = _node(e.Conditional)

    def binary(self, meta, children):
        left, operator, right = children
        return e.Binary(self._here(meta), str(operator), left, right)

    def comparison(self, meta, children):
        first, *rest = children
        return e.Comparison(self._here(meta), first, tuple(zip(rest[::2], rest[1::2], strict=True)))

    def comparator(self, _meta, children):
        return " ".join(children)

    def unary(self, meta, children):
        operator, operand = children
        # `-5` is a number; `-(5)` and `-x` are what they look like.
        if (
            operator == "-"
            and e.is_plain_number(operand)
            and self._text[operand.span.start - self._base] != "("
        ):
            return e.Constant(self._here(meta), -operand.value)
        return e.Unary(self._here(meta), str(operator), operand)

    index = _node(e.Index)
    slice = _node(e.Slice)

    def field(self, meta, children):
        return e.Field(self._here(meta), children[0], str(children[1]))

    def reference(self, meta, children):
        return e.Reference(self._here(meta), self._name_of(children[0]).text)

    def call(self, meta, children):
        name, *arguments = children
        return e.Call(self._here(meta), self._name_of(name), self._arguments(arguments))

    def group(self, meta, children):
        # The parentheses belong to the place, so that a statement's span ends where its text ends.
        return replace(children[0], span=self._here(meta))

    def number(self, meta, children):
        token = children[0]
        value: int | float = 0
        if len(token) <= MAX_DIGITS:
            value = int(token) if token.type == "INT" else float(token)
        if len(token) > MAX_DIGITS or value == inf:
            self._problem("GOT0007", "number too large", self._here(meta))
            value = 0
        return e.Constant(self._here(meta), value)

    def text(self, _meta, children):
        token = children[0]
        return e.Constant(self._here(token), self._read(token), long=token.type == "LONG_STRING")

    string = text
    true = _constant(True)
    false = _constant(False)
    none = _constant(None)

    list_ = _list(e.ListDisplay)
    comprehension = _node(e.Comprehension)
    record = _list(e.RecordDisplay)

    def entry(self, _meta, children):
        key, value = children
        return self._read(key) if key.type == "STRING" else str(key), value

    def argument(self, meta, children):
        # A setting may be called like a reserved word: `until=score == 0`.
        return e.Argument(self._here(meta), self._identifier(children[0]), children[1])

    def name(self, _meta, children):
        return self._name_of(children[0])

    names = _all

    def type_name(self, _meta, children):
        return self._identifier(children[0])


def _by_kind(parts: list[tuple[str, Any]]) -> dict[str, list[Any]]:
    kinds: dict[str, list[Any]] = {}
    for kind, value in parts:
        kinds.setdefault(kind, []).append(value)
    return kinds
