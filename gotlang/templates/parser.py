"""Templates in Jinja's notation: the part that fills values into a text, and nothing else.

A program may be untrusted, so there are no calls except of `range`, no assignments, no access to anything but
the values, and limits on nesting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, final

from gotlang.errors import TemplateError
from gotlang.templates import nodes as n
from gotlang.templates.lexer import Token, tokens

_DEEPEST = 60
"""Maximum nesting depth of expressions and blocks."""
_MOST_LOOPS = 8

_REFUSED: Final = {
    *("autoescape", "block", "call", "extends", "filter", "from", "import", "include", "macro", "print"),
    *("set", "with"),
}
"""Statements of Jinja that a template cannot use."""
_CONSTANTS: Final = {"true": True, "True": True, "false": False, "False": False, "none": None, "None": None}
_COMPARISONS: Final = {"==", "!=", "<", "<=", ">", ">="}
_PRIMARY: Final = {"name", "str", "int", "float", "(", "[", "{"}


def parse(text: str) -> tuple[n.TemplateNode, ...]:
    """The tree of a text. Raises TemplateError, with the place."""
    parser = _TemplateParser(text)
    try:
        return parser.body()
    except RecursionError:
        raise TemplateError("brackets nested too deeply", line=parser.current.place) from None


def names(body: Iterable[n.TemplateNode]) -> dict[str, int]:
    """The names that a template needs from outside, each with its first place. Raises TemplateError if it is
    nested too deeply, and for a name that is not allowed."""
    found: dict[str, int] = {}
    for part in body:
        _visit(part, found, frozenset(), 0, 0)
    return found


@final
class _TemplateParser:
    """A recursive descent parser; `following` is one token ahead of `current`."""

    def __init__(self, text: str) -> None:
        self._tokens = tokens(text)
        self.current = next(self._tokens)
        self.following = next(self._tokens, self.current)

    # ---------------------------------------------------------------- tokens

    def take(self) -> Token:
        """Consume and return the current token."""
        taken = self.current
        self.current, self.following = self.following, next(self._tokens, self.following)
        return taken

    def is_next(self, *written: str) -> bool:
        """Whether the current token is one of these words or signs."""
        return (self.current.value if self.current.kind == "name" else self.current.kind) in written

    def skip(self, *written: str) -> str | None:
        """Consume one of these words or signs if it is next."""
        return str(self.take().value) if self.is_next(*written) else None

    def expect(self, written: str) -> Token:
        """Consume this word or sign. Raises TemplateError if it is not next."""
        if not self.is_next(written):
            raise self.wrong(f"expected `{written}`, not {self.described()}")
        return self.take()

    def name(self) -> Token:
        if self.current.kind != "name":
            raise self.wrong(f"expected a name, not {self.described()}")
        return self.take()

    def described(self) -> str:
        match self.current:
            case Token(kind="end"):
                return "the end of the template"
            case Token(kind="str", value=value):
                return f'`"{value}"`'
            case Token(value=value):
                return f"`{value}`"

    def wrong(self, message: str, place: int | None = None, help: str | None = None) -> TemplateError:
        return TemplateError(message, line=self.current.place if place is None else place, help=help)

    # ---------------------------------------------------------------- blocks

    def body(self, block: str = "", *ends: str) -> tuple[n.TemplateNode, ...]:
        """The nodes up to one of the tags that end or divide a block, whose name is next."""
        if block:
            self.skip(":")
            self.expect("%}")
        found: list[n.TemplateNode] = []
        while True:
            token = self.take()
            match token.kind:
                case "data":
                    found.append(n.Data(token.place, token.value))
                case "{{":
                    place = self.current.place
                    found.append(n.Shown(place, self.listed(self.expression)))
                    self.expect("}}")
                case "{%":
                    if self.is_next(*ends):
                        return tuple(found)
                    found.append(self.statement(block))
                    self.expect("%}")
                case _:
                    if block:
                        raise self.wrong(f"`{{% {block} %}}` has no `{{% end{block} %}}`")
                    return tuple(found)

    def statement(self, block: str) -> n.TemplateNode:
        token = self.name()
        match token.value:
            case "for":
                return self.loop(token.place)
            case "if":
                return self.condition(token.place)
            case "elif" | "else" | "endif" | "endfor" as word:
                inside = f"; the block to end is `{{% {block} %}}`" if block else ""
                raise self.wrong(f"`{{% {word} %}}` belongs to no block here{inside}", token.place)
            case word if word in _REFUSED:
                raise self.wrong(f"a template cannot use `{word}`", token.place)
            case word:
                raise self.wrong(_unknown("a template", "tag", word, ("for", "if", "raw")), token.place)

    def loop(self, place: int) -> n.For:
        target = self.target("in")
        self.expect("in")
        iterable = self.listed(self.alternative, "recursive")
        test = self.expression() if self.skip("if") else None
        if self.is_next("recursive"):
            raise self.wrong("a template cannot use a recursive loop")
        body = self.body("for", "endfor", "else")
        otherwise = self.body("for", "endfor") if self.skip("else") else ()
        self.expect("endfor")
        weight = n.weight((target, iterable, test, *body, *otherwise))
        return n.For(place, target, iterable, test, body, otherwise, weight)

    def target(self, end: str) -> n.Name | n.Names:
        """The names of a loop."""
        found: list[n.Name | n.Names] = []
        place = self.current.place
        while not (found and self.is_next(end)):
            if self.skip("("):
                found.append(self.target(")"))
                self.expect(")")
            else:
                name = self.name()
                if name.value in _CONSTANTS or name.value == "loop":
                    raise self.wrong(f"a template cannot use the name `{name.value}`", name.place)
                found.append(n.Name(name.place, name.value))
            if not self.skip(","):
                return found[0] if len(found) == 1 else n.Names(place, tuple(found))
        return n.Names(place, tuple(found))

    def condition(self, place: int) -> n.If:
        branches: list[n.Branch] = []
        while True:
            test = self.listed(self.alternative)
            branches.append(n.Branch(place, test, self.body("if", "elif", "else", "endif")))
            place = self.current.place
            if not self.skip("elif"):
                break
        otherwise = self.body("if", "endif") if self.skip("else") else ()
        self.expect("endif")
        return n.If(branches[0].place, tuple(branches), otherwise)

    # ---------------------------------------------------------------- expressions

    def listed(self, part: Callable[[], n.Expression], *ends: str) -> n.Expression:
        """One expression, or several separated by commas."""
        place, found = self.current.place, [part()]
        if not self.is_next(","):
            return found[0]
        while self.skip(",") and not self.is_next("}}", "%}", ")", *ends):
            found.append(part())
        return n.List(place, tuple(found))

    def expression(self) -> n.Expression:
        place = self.current.place
        found = self.alternative()
        while self.skip("if"):
            test = self.alternative()
            if not self.skip("else"):
                raise self.wrong("an `if` in an expression needs an `else`", place)
            found = n.Conditional(place, found, test, self.expression())
        return found

    def alternative(self) -> n.Expression:
        place, found = self.current.place, self.conjunction()
        while self.skip("or"):
            found = n.Or(place, found, self.conjunction())
        return found

    def conjunction(self) -> n.Expression:
        place, found = self.current.place, self.negation()
        while self.skip("and"):
            found = n.And(place, found, self.negation())
        return found

    def negation(self) -> n.Expression:
        place = self.current.place
        return n.Not(place, self.negation()) if self.skip("not") else self.comparison()

    def comparison(self) -> n.Expression:
        place, found = self.current.place, self.sum()
        operands: list[tuple[str, n.Expression]] = []
        while True:
            if sign := self.skip("in", *_COMPARISONS):
                operands.append((sign, self.sum()))
            elif self.is_next("not") and self.following.value == "in":
                self.take()
                self.take()
                operands.append(("not in", self.sum()))
            else:
                return n.Compare(place, found, tuple(operands)) if operands else found

    def sum(self) -> n.Expression:
        return self.binary(self.joined, "+", "-")

    def joined(self) -> n.Expression:
        place, found = self.current.place, [self.product()]
        while self.skip("~"):
            found.append(self.product())
        return n.Concat(place, tuple(found)) if len(found) > 1 else found[0]

    def product(self) -> n.Expression:
        return self.binary(self.applied, "*", "/", "//", "%")

    def binary(self, part: Callable[[], n.Expression], *signs: str) -> n.Expression:
        """Operators of one precedence, from the left."""
        place, found = self.current.place, part()
        while sign := self.skip(*signs):
            found = n.Binary(place, sign, found, part())
        return found

    def applied(self) -> n.Expression:
        """An operand with its filters and tests."""
        found = self.operand()
        while True:
            place = self.current.place
            if self.skip("|"):
                found = self.filter(found)
            elif self.skip("is"):
                found = self.test(found, place)
            elif self.is_next("("):
                found = self.call(found)
            elif self.is_next("**"):
                raise self.wrong("a template cannot use `**`")
            else:
                return found

    def operand(self) -> n.Expression:
        """A value with its sign, and its fields and parts."""
        place = self.current.place
        sign = self.skip("-", "+")
        return self.parts(n.Signed(place, sign, self.operand()) if sign else self.primary())

    def parts(self, found: n.Expression) -> n.Expression:
        """A value with accesses to its parts."""
        while True:
            place = self.current.place
            if self.skip("."):
                key = self.take()
                if key.kind == "name":
                    found = n.Getattr(key.place, found, key.value)
                elif key.kind == "int":
                    found = n.Getitem(key.place, found, n.Const(key.place, key.value))
                else:
                    raise self.wrong("expected a name or a number after `.`", key.place)
            elif self.skip("["):
                found = self.subscript(found, place)
            elif self.is_next("("):
                found = self.call(found)
            else:
                return found

    def primary(self) -> n.Expression:
        token = self.current
        if token.kind not in _PRIMARY:
            raise self.wrong(f"expected an expression, not {self.described()}")
        place = self.take().place
        match token.kind:
            case "name" if token.value in _CONSTANTS:
                return n.Const(place, _CONSTANTS[token.value])
            case "name":
                return n.Name(place, token.value)
            case "str":
                text = token.value
                while self.current.kind == "str":
                    text += self.take().value
                return n.Const(place, text)
            case "(":
                found = n.List(place, ()) if self.is_next(")") else self.listed(self.expression)
                self.expect(")")
                return found
            case "[":
                return n.List(place, tuple(self.items("]", self.expression)))
            case "{":
                return n.Dict(place, tuple(self.items("}", self.pair)))
        return n.Const(place, token.value)

    def items(self, end: str, part: Callable[[], Any]) -> Iterable[Any]:
        """Items separated by commas, up to a bracket."""
        while not self.skip(end):
            yield part()
            if not self.is_next(end):
                self.expect(",")

    def pair(self) -> tuple[n.Expression, n.Expression]:
        key = self.expression()
        self.expect(":")
        return key, self.expression()

    def subscript(self, node: n.Expression, place: int) -> n.Expression:
        """The subscript after a `[`: a position, a name or a slice."""
        ends: list[n.Expression | None] = [None if self.is_next(":") else self.listed(self.expression, "]")]
        while len(ends) < 3 and self.skip(":"):
            ends.append(None if self.is_next(":", "]") else self.expression())
        self.expect("]")
        if len(ends) == 1 and (key := ends[0]) is not None:
            return n.Getitem(place, node, key)
        start, stop, step = (*ends, None)[:3]
        return n.Slice(place, node, start, stop, step)

    def call(self, called: n.Expression) -> n.Expression:
        place = self.current.place
        args, named = self.arguments()
        if isinstance(called, n.Name) and called.name == "range":
            if named or not 1 <= len(args) <= 3:
                raise self.wrong("`range` takes one to three numbers", place)
            return n.RangeCall(place, args)
        from gotlang.templates.filters import FILTERS

        known = isinstance(called, n.Getattr) and called.attr in FILTERS
        help = f"write `| {called.attr}`" if isinstance(called, n.Getattr) and known else None
        also = f" and partials, not `{called.name}`" if isinstance(called, n.Name) else ""
        raise self.wrong(f"a template can only call `range`{also}", place, help)

    def filter(self, node: n.Expression) -> n.Filter:
        from gotlang.templates.filters import FILTERS

        name = self.name()
        function = _known("filter", name, FILTERS)
        args, kwargs = self.arguments() if self.is_next("(") else ((), ())
        self.check("filter", name, function, 2, args, kwargs)
        return n.Filter(name.place, node, name.value, function, args, kwargs)

    def test(self, node: n.Expression, place: int) -> n.Expression:
        from gotlang.templates.filters import TESTS

        negated = self.skip("not")
        name = self.name()
        function = _known("test", name, TESTS)
        args: tuple[n.Expression, ...] = ()
        kwargs: tuple[tuple[str, n.Expression], ...] = ()
        if self.is_next("("):
            args, kwargs = self.arguments()
        elif self.current.kind in _PRIMARY and not self.is_next("else", "or", "and"):
            if self.is_next("is"):
                raise self.wrong("only one test can follow a value: write `and`")
            args = (self.parts(self.primary()),)
        self.check("test", name, function, 1, args, kwargs)
        found = n.IsTest(place, node, name.value, function, args, kwargs)
        return n.Not(place, found) if negated else found

    def arguments(self) -> tuple[tuple[n.Expression, ...], tuple[tuple[str, n.Expression], ...]]:
        """Positional arguments in brackets, then named ones."""
        self.expect("(")
        args: list[n.Expression] = []
        named: dict[str, n.Expression] = {}
        while not self.skip(")"):
            if self.is_next("*", "**"):
                raise self.wrong("a template cannot unpack arguments with `*`")
            key = self.take() if self.current.kind == "name" and self.following.kind == "=" else None
            if key is not None and key.value not in named:
                self.take()
                named[key.value] = self.expression()
            elif key is not None or named:
                raise self.wrong("an argument after a named one, or with the name of another")
            else:
                args.append(self.expression())
            if not self.is_next(")"):
                self.expect(",")
        return tuple(args), tuple(named.items())

    def check(
        self,
        kind: str,
        name: Token,
        function: Callable[..., Any],
        given: int,
        args: tuple[n.Expression, ...],
        named: tuple[tuple[str, n.Expression], ...],
    ) -> None:
        """Check the arguments of a filter or test, in addition to the `given` ones."""
        from gotlang.templates.filters import fits, parameters

        if not fits(function, given, len(args), dict(named)):
            takes = ", ".join(parameters(function, given)) or "no arguments"
            raise self.wrong(f"the {kind} `{name.value}` takes {takes}", name.place)


def _visit(
    node: n.TemplateNode, found: dict[str, int], bound: frozenset[str], depth: int, loops: int
) -> None:
    """Collect the free names of a node; `bound` are those of the enclosing loops."""
    if depth > _DEEPEST:
        raise TemplateError("expressions or blocks nested too deeply", line=node.place)
    parts: Iterable[n.TemplateNode] = n.children(node)
    match node:
        case n.Name(name="loop") if "loop" in bound:
            raise TemplateError(f"`loop` needs one of its fields: {_listed(n.LOOP)}", line=node.place)
        case n.Name(name=name):
            if name.startswith("_") or name == "self":
                raise TemplateError(f"a template cannot use the name `{name}`", line=node.place)
            if name not in bound:
                found.setdefault(name, node.place)
        case n.Getattr(node=n.Name(name="loop"), attr=attr) if "loop" in bound:
            if attr not in n.LOOP:
                raise TemplateError(_unknown("`loop`", "field", attr, n.LOOP), line=node.place)
            return
        case n.Getattr(attr=attr) if attr.startswith("_"):
            raise TemplateError(f"a template cannot use the field `{attr}`", line=node.place)
        case n.For():
            if loops == _MOST_LOOPS:
                raise TemplateError(f"more than {_MOST_LOOPS} nested loops", line=node.place)
            for target in (targets := list(n.named(node.target))):
                _visit(target, {}, frozenset(), depth, loops)
            inner = bound.union(target.name for target in targets)
            _visit(node.iterable, found, bound, depth + 1, loops + 1)
            if node.test is not None:
                _visit(node.test, found, inner - {"loop"}, depth + 1, loops + 1)
            for part in node.body:
                _visit(part, found, inner | {"loop"}, depth + 1, loops + 1)
            parts = node.otherwise
    for part in parts:
        _visit(part, found, bound, depth + 1, loops)


def _known(kind: str, name: Token, known: Mapping[str, Callable[..., Any]]) -> Callable[..., Any]:
    if (found := known.get(name.value)) is None:
        raise TemplateError(_unknown("a template", kind, name.value, known), line=name.place)
    return found


def _unknown(what: str, kind: str, name: str, known: Iterable[str]) -> str:
    from gotlang.diagnostics import suggestion

    return f"{what} has no {kind} `{name}`; {suggestion(name, known) or f'available: {_listed(known)}'}"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))
