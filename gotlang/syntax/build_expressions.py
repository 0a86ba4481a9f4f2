"""The tree builder for expressions: places, tokens and errors, common to all rules, and the rules of
expressions. `build.py` has the others."""

# Every method gets the place of its rule and the values of its parts, which have no static type.
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice, pairwise
from math import inf
from types import MappingProxyType
from typing import Any

from msgspec.structs import replace

from gotlang.diagnostics import Diagnostic, Fix
from gotlang.scope import THOUGHT_FUNCTIONS
from gotlang.span import Fragment, Span
from gotlang.syntax import expressions as e
from gotlang.syntax.texts import read_long, unescape
from gotlang.syntax.typos import CAPITAL, RESERVED, no_method
from gotlang.syntax.walk import nodes_in

MAX_DIGITS = 1234
"""Maximum length of a number: that of whole numbers of 4,096 bits."""

_WORDS = {"true": True, "false": False, "none": None}


def present(children: Iterable[Any]) -> tuple[Any, ...]:
    """The children without missing optional parts."""
    return tuple(child for child in children if child is not None)


def every(_builder, _span, *children):
    return present(children)


def listed(kind):
    """A rule whose children are the only field of its node."""
    return lambda _builder, span, *children: kind(span, present(children))


class ExpressionBuilder:
    """Builds nodes of one fragment of a program.

    Names become identifiers, quoted texts and words such as `true` constants, other tokens strings. A rule
    whose children are the fields of its node has the node's class as its method. Constructs that the grammar
    accepts and the language does not are collected in `problems`. `lost` has the text of each unreadable line
    by the offset of its hole.
    """

    def __init__(self, fragment: Fragment, lost: Mapping[int, str] = MappingProxyType({})) -> None:
        self._fragment = fragment
        self._lost = lost
        self.problems: list[Diagnostic] = []

    def rule(self, name: str, start: int, end: int, parts: list[Any]) -> Any:
        """The node of a rule, built from its parts."""
        return getattr(self, name)(self._fragment.span(start, end), *parts)

    def token(self, kind: str, text: str, start: int, end: int) -> e.Identifier | e.Expression | str:
        """The node of a name, a text or a word such as `true`; the text of other tokens."""
        match kind:
            case "NAME" | "OPERATION" | "POOL":
                return e.Identifier(self._fragment.span(start, end), text)
            case "STRING":
                return e.Constant(self._fragment.span(start, end), unescape(text[1:-1]))
            case "LONG_STRING":
                return e.Constant(self._fragment.span(start, end), read_long(text[3:-3]), long=True)
            case "TRUE" | "FALSE" | "NONE":
                return e.Constant(self._fragment.span(start, end), _WORDS[text])
            case "LOST_MATCH" | "LOST_SEARCH":
                return e.Reference(self._fragment.span(start, end), e.HOLE)
        return text

    # ------------------------------------------------------------ places, tokens and errors

    def _until(self, span: Span, *parts: e.Node) -> Span:
        """The place of a block: up to its last part, without the line end that closes it."""
        return Span(span.source, span.start, max((part.span.end for part in parts), default=span.end))

    def _problem(
        self, code: str, message: str, span: Span, help: str | None = None, fix: Fix | None = None
    ) -> None:
        self.problems.append(Diagnostic(code, message, span, help=help, fix=fix))

    def _arguments(self, children) -> tuple[e.Argument, ...]:
        found = tuple(
            child if isinstance(child, e.Argument) else e.Argument(child.span, None, child)
            for child in present(children)
        )
        for before, after in pairwise(found):
            if before.name is not None and after.name is None:
                help = "put it before the named ones, or name it"
                self._problem("GOT0013", "argument without a name after a named one", after.span, help)
        return found

    def _only(self, parts: dict[str, list[Any]], *kinds: str) -> Iterator[Any]:
        """The only part of each kind, or None; a second one is an error."""
        for kind in kinds:
            found = parts.get(kind, [None])
            message = "duplicate prompt text" if kind == "user" else f"duplicate `{kind}`"
            for again in found[1:]:
                for place in islice(nodes_in(again), 1):
                    self._problem("GOT0008", message, place.span, "keep one of them")
            yield found[0]

    def _no_constant(self, name):
        """Report Python's `True` and the like. Returns whether the name is none of them."""
        if name.text in CAPITAL:
            message, help = f"unexpected `{name.text}`", f"write `{CAPITAL[name.text]}`"
            self._problem("GOT0001", message, name.span, help)
        return name.text not in CAPITAL

    def _one_or_two(self, names):
        """The names of a loop: one, or two for pairs."""
        for name in names[2:]:
            help = "an element has one name, or two if it is a pair: `for a, b in zip(xs, ys)`"
            self._problem("GOT0012", f"unexpected name `{name.text}`", name.span, help)
        return names[:2]

    # ------------------------------------------------------------ expressions

    conditional = e.Conditional

    def binary(self, span, left, operator, right):
        return e.Binary(span, operator, left, right)

    def comparison(self, span, first, *rest):
        return e.Compare(span, first, tuple(zip(rest[::2], rest[1::2], strict=True)))

    def comparator(self, _span, *words):
        return " ".join(words)

    def unary(self, span, operator, operand):
        # `-5` is a number; `-(5)` and `-x` are operations.
        in_brackets = self._fragment.text[self._fragment.offset(operand.span.start)] == "("
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
        given = self._arguments(arguments)
        if name.text in THOUGHT_FUNCTIONS and len(given) == 1 and _is_it(given[0]):
            # `score(it)` and `score` are equal, and the second is the canonical form.
            return e.Reference(span, name.text)
        return e.Call(span, self.name(span, name), given)

    def member_call(self, span, value, name, *arguments):
        if not isinstance(value, e.Reference):
            self._problem("GOT0001", "unexpected `(`", name.span, no_method(name.text))
            return value
        function = e.Identifier(value.span.to(name.span), f"{value.name}.{name.text}")
        return e.Call(span, function, self._arguments(arguments))

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

    def case(self, span, name, fields=None):
        if not self._no_constant(name):
            return e.Reference(span, e.HOLE)
        return e.Case(span, name, fields.entries if fields is not None else ())

    list_ = listed(e.ListDisplay)

    def comprehension(self, span, element, names, iterable, condition):
        return e.Comprehension(span, element, self._one_or_two(names), iterable, condition)

    record = listed(e.RecordDisplay)

    def entry(self, _span, key, value):
        return key.text if isinstance(key, e.Identifier) else key.value, value

    def spread(self, _span, _dots, value):
        return None, value

    argument = e.Argument  # its name may be a reserved word: `until=score == 0`

    def name(self, _span, name):
        if name.text in RESERVED:
            self._problem("GOT0011", f"`{name.text}` is a reserved word, not a name", name.span)
        return name

    names = every


def _is_it(argument: e.Argument) -> bool:
    value = argument.value
    return argument.name is None and isinstance(value, e.Reference) and value.name == "it"


def without_parentheses(name: str, span: Span) -> Diagnostic:
    """The error for an operation without its parentheses."""
    help = f"write `{name}()`: parentheses are required, even without settings"
    fix = Fix(span, f"{name}()")
    return Diagnostic("GOT0010", f"missing parentheses after `{name}`", span, help=help, fix=fix)
