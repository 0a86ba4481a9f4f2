"""The tree builder: from Lark's parse tree to nodes, one method per rule in the order of the grammar."""

# Every method gets the place of its rule and the children that Lark found, which have no static type.
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from difflib import get_close_matches
from math import inf
from typing import Any

from lark import Token, Tree

from gotlang.answers.forms import After, Json, Lines, Tag
from gotlang.diagnostics import Diagnostic
from gotlang.span import Fragment, Span
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


_WORDS = {"true": True, "false": False, "none": None}


def present(children: Iterable[Any]) -> tuple[Any, ...]:
    """The children without the gaps that Lark leaves for optional parts."""
    return tuple(child for child in children if child is not None)


def _all(_builder, _span, *children):
    return present(children)


def _list(kind):
    """A rule whose children are the one field of its node."""
    return lambda _builder, span, *children: kind(span, present(children))


def _block(kind):
    """A rule whose children are the fields of its node, up to the end of its last one, a block."""
    return lambda builder, span, *children: kind(builder._until(span, children[-1]), *children)


def _form(kind):
    """A way to read a response, with its text if it has one."""
    return lambda _builder, _span, *texts: kind(*(text.value for text in present(texts)))


def _part(kind):
    """A part of a prompt or study that is one value: its kind and the value."""
    return lambda _builder, _span, *children: (kind, children[-1])


def _parts(kind):
    """A part of several values."""
    return lambda _builder, _span, *children: (kind, children)


class TreeBuilder:
    """Makes nodes of one fragment of a program.

    Names become identifiers, quoted texts and words such as `true` constants, other tokens strings. A rule
    whose children are the fields of its node has the node's class for a method. What the grammar lets through
    and the language does not is collected in `problems`.
    """

    def __init__(self, fragment: Fragment) -> None:
        self._fragment = fragment
        self.problems: list[Diagnostic] = []

    def build(self, tree: Tree[Any] | Token) -> Any:
        """The node of a tree; children first, without recursion, since trees may be deep."""
        if isinstance(tree, Token):
            return self._token(tree)
        order = []
        stack = [tree]
        while stack:
            top = stack.pop()
            order.append(top)
            stack.extend(child for child in top.children if isinstance(child, Tree))
        made: dict[int, Any] = {}
        for part in reversed(order):
            children = [made.pop(id(c)) if isinstance(c, Tree) else self._token(c) for c in part.children]
            made[id(part)] = getattr(self, part.data)(self._here(part.meta), *children)
        return made[id(tree)]

    def _token(self, token: Token | None) -> e.Identifier | e.Constant | str | None:
        if token is None:
            return None
        match token.type:
            case "NAME" | "OPERATION" | "POOL":
                return e.Identifier(self._here(token), str(token))
            case "STRING":
                return e.Constant(self._here(token), unescape(token[1:-1]))
            case "LONG_STRING":
                return e.Constant(self._here(token), read_long(token[3:-3]), long=True)
            case "TRUE" | "FALSE" | "NONE":
                return e.Constant(self._here(token), _WORDS[token])
        return str(token)

    # ------------------------------------------------------------ places, tokens and mistakes

    def _here(self, where) -> Span:
        """The place of a token or of a rule, which is empty where nothing was read."""
        try:
            return self._fragment.span(where.start_pos, where.end_pos)
        except AttributeError:
            return self._fragment.span(0, 0)

    def _until(self, span: Span, *parts: e.Node) -> Span:
        """The place of a block: up to its last part, without the line end that closes it."""
        return Span(span.source, span.start, max(part.span.end for part in parts))

    def _problem(self, code: str, message: str, span: Span, help: str | None = None) -> None:
        self.problems.append(Diagnostic(code, message, span, help=help))

    def _arguments(self, children) -> tuple[e.Argument, ...]:
        return tuple(
            child if isinstance(child, e.Argument) else e.Argument(child.span, None, child)
            for child in present(children)
        )

    def _only(self, parts: dict[str, list[Any]], *kinds: str) -> Iterator[Any]:
        """The one part of each kind, or None; a second one is a mistake."""
        for kind in kinds:
            found = parts.get(kind, [None])
            message = "duplicate prompt text" if kind == "user" else f"duplicate `{kind}`"
            for again in found[1:]:
                self._problem("GOT0008", message, next(nodes_in(again)).span, "keep one of them")
            yield found[0]

    # ------------------------------------------------------------ declarations

    module = _list(n.Module)
    import_got = n.ImportGot
    import_python = n.ImportPython
    import_corpus = n.ImportCorpus
    simulate = n.Simulate
    type_alias = n.TypeAlias

    def param(self, span, name, type_, default, each, domain, guard):
        return n.Param(span, name, type_, default, each is not None, domain, guard)

    each = _all
    range = n.Range
    choices = _list(n.Choices)

    # ------------------------------------------------------------ prompts

    def prompt(self, span, name, parameters, many, result, *children):
        place, parts = self._until(span, *nodes_in(children)), _by_kind(children)
        system, instruction, examples, user, parse = self._only(
            parts, "system", "instruction", "examples", "user", "parse"
        )
        inputs, settings = (name, parameters, many is not None, result), tuple(parts.get("setting", ()))
        return n.Prompt(place, *inputs, settings, system, instruction, examples or (), user, parse)

    prompt_setting = _part("setting")
    system = _part("system")
    instruction = _part("instruction")
    user = _part("user")
    examples = _parts("examples")

    def example(self, span, *children):
        return n.Example(span, children[:-1], children[-1])

    def parse(self, span, form):
        function = form if isinstance(form, e.Identifier) else None
        return "parse", n.ParseForm(span, None if function else form, function)

    parse_tag = _form(Tag)
    parse_json = _form(Json)
    parse_lines = _form(Lines)
    parse_after = _form(After)

    # ------------------------------------------------------------ scores and schemes

    def score(self, span, name, parameters, direction, best, body):
        return n.Score(self._until(span, body), name, parameters, direction, best, body)

    def scheme(self, span, name, parameters, many, result, truth, body):
        return n.Scheme(self._until(span, body), name, parameters, many is not None, result, truth, body)

    parameters = _all
    many = _all

    # ------------------------------------------------------------ studies

    def study(self, span, name, *children):
        place, parts = self._until(span, *nodes_in(children)), _by_kind(children)
        program, data = self._only(parts, "program", "data")
        objectives, constraints, vary, options = (
            tuple(item for group in parts.get(kind, ()) for item in group)
            for kind in ("objectives", "constraints", "vary", "options")
        )
        prompts = tuple(parts.get("prompts", ()))
        path, scheme = program or (None, None)
        clauses = (data, objectives, constraints, vary, prompts, options)
        return n.Study(place, name, path, scheme, *clauses)

    study_program = _parts("program")

    def study_data(self, span, path, columns, *options):
        return "data", n.StudyData(span, path, columns or (), options)

    columns = _all

    def column_pair(self, _span, name, column):
        return name.text, column

    def column(self, _span, column):
        return column.text if isinstance(column, e.Identifier) else column.value

    objective = _all
    study_objective = _parts("objectives")
    study_constraint = _parts("constraints")
    study_vary = _parts("vary")
    vary_item = n.Vary

    def study_prompts(self, span, names, optimizer):
        return "prompts", n.StudyPrompts(span, names, optimizer)

    study_setting = _parts("options")
    setting = n.Setting

    # ------------------------------------------------------------ types

    def named_type(self, span, name, *arguments):
        return n.NamedType(span, name, present(arguments))

    record_type = _list(n.RecordTypeNode)
    typed_name = n.TypedName

    def union_type(self, span, *texts):
        return n.UnionTypeNode(span, tuple(text.value for text in texts))

    # ------------------------------------------------------------ pipelines

    def suite(self, _span, *statements):
        return n.Suite(statements[0].span.to(statements[-1].span), statements)

    body = suite
    bind_line = n.Bind
    bind_block = _block(n.Bind)
    evaluate = n.Evaluate
    return_ = n.Return

    def step(self, span, operation, operands, again):
        name, settings = operation
        return n.Step(span, name, settings, operands or (), again)

    def operation(self, _span, name, settings):
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

    def settings(self, _span, *arguments):
        return self._arguments(arguments)

    operands = _all

    def again(self, span, name, settings):
        return n.Step(span, name, settings, ())

    def foreach(self, span, words, *rest):
        *adjectives, name = words
        for word in adjectives[1:]:
            # Any word may precede the name, so a misspelt `in` would make another program.
            if word.text == "of" or get_close_matches(word.text, ["in", "after"], cutoff=0.75):
                help = "write `foreach x in xs:`"
                self._problem("GOT0001", f"unexpected `{word.text}`", word.span, help)
        adjectives = tuple(word.text for word in adjectives)
        return n.Foreach(self._until(span, rest[-1]), adjectives, self.name(span, name), *rest)

    reduce = _block(n.Reduce)
    repeat = _block(n.RepeatBlock)

    def if_(self, span, *children):
        *branches, otherwise = children
        return n.If(self._until(span, otherwise or branches[-1][1]), tuple(branches), otherwise)

    branch = _all

    def labelled(self, span, label, sources, names, body):
        word = label.split(" ", 1)[0]
        if word in LABELS:
            place = Span(span.source, span.start, span.start + len(word))
            self._problem("GOT0001", f"unexpected `{word}`", place, LABELS[word])
        return n.Labelled(self._until(span, body), label, sources or (), names or (), body)

    sources = _all
    words = _all

    def label(self, _span, *words):
        return " ".join(word if isinstance(word, str) else word.text for word in present(words))

    def label_reference(self, span, *words):
        return n.LabelReference(span, self.label(span, *words))

    # ------------------------------------------------------------ expressions

    conditional = e.Conditional

    def binary(self, span, left, operator, right):
        return e.Binary(span, operator, left, right)

    def comparison(self, span, first, *rest):
        return e.Compare(span, first, tuple(zip(rest[::2], rest[1::2], strict=True)))

    def comparator(self, _span, *words):
        return " ".join(words)

    def unary(self, span, operator, operand):
        # `-5` is a number; `-(5)` and `-x` are what they look like.
        in_brackets = self._fragment.text[operand.span.start - self._fragment.base] == "("
        if operator == "-" and e.is_plain_number(operand) and not in_brackets:
            return e.Constant(span, -operand.value)
        return e.Unary(span, operator, operand)

    index = e.Index
    slice = e.Slice

    def field(self, span, value, name):
        return e.Field(span, value, name.text)

    def reference(self, span, name):
        return e.Reference(span, self.name(span, name).text)

    def call(self, span, name, *arguments):
        return e.Call(span, self.name(span, name), self._arguments(arguments))

    def group(self, span, inner):
        # The parentheses belong to the place, so that a statement's span ends where its text ends.
        return replace(inner, span=span)

    def number(self, span, digits):
        if len(digits) <= MAX_DIGITS:
            value = int(digits) if digits.isdigit() else float(digits)
            if value != inf:
                return e.Constant(span, value)
        self._problem("GOT0007", "number too large", span)
        return e.Constant(span, 0)

    list_ = _list(e.ListDisplay)
    comprehension = e.Comprehension
    record = _list(e.RecordDisplay)

    def entry(self, _span, key, value):
        return self.column(_span, key), value

    argument = e.Argument  # its name may be a reserved word: `until=score == 0`

    def name(self, _span, name):
        if name.text in RESERVED:
            self._problem("GOT0011", f"`{name.text}` is a reserved word, not a name", name.span)
        return name

    names = _all


def _by_kind(parts: Iterable[tuple[str, Any]]) -> dict[str, list[Any]]:
    kinds: dict[str, list[Any]] = {}
    for kind, value in parts:
        kinds.setdefault(kind, []).append(value)
    return kinds
