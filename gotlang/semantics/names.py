"""Checks the names that are bound: each has one meaning in its block and in nested blocks."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping
from typing import assert_never, final

from msgspec import Struct
from msgspec.structs import replace

from gotlang.diagnostics import Label, Report
from gotlang.scope import THOUGHT_FUNCTIONS
from gotlang.semantics.builtins import BUILTINS, CONSTANTS
from gotlang.semantics.symbols import RESERVED, Symbols
from gotlang.span import Span
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.syntax.format import format_inline
from gotlang.syntax.walk import children, rebuilt, walk

TAKEN = RESERVED | THOUGHT_FUNCTIONS.keys() | CONSTANTS.keys()
"""Names that have a meaning in the language."""
_OTHER = "choose another name"

_Loop = n.Foreach | n.Reduce | n.RepeatBlock | n.Repeated | n.Search


class _Bound(Struct, frozen=True):
    """Where a name was bound, the number of enclosing loops, and whether it means the results of a
    `foreach`."""

    place: Span
    loops: int = 0
    results: bool = False


_Names = ChainMap[str, _Bound]


def check_names(node: n.Scheme | n.Score | n.Metric, symbols: Symbols, report: Report) -> set[int]:
    """Report names of a scheme or a score that cannot be bound, and blocks that end with a binding.

    Returns the identities of the invalid bindings.
    """
    names = _NameChecker(symbols, report)
    own: _Names = ChainMap()
    for parameter in node.parameters:
        # A metric calls neither prompts nor schemes, so its parameters may have their names.
        free = {"truth", "result", *symbols.prompts, *symbols.schemes} if isinstance(node, n.Metric) else ()
        if not n.is_unreadable(parameter) and parameter.name.text not in free:
            if parameter.name.text not in RESERVED:  # which is reported where it is declared
                names.taken(parameter.name, an_input=True)
            own[parameter.name.text] = _Bound(parameter.name.span)
    names.suite(node.body, own)
    return names.wrong


@final
class _NameChecker:
    """Visits a scheme or a score with the names in scope. `loops` are the enclosing ones."""

    def __init__(self, symbols: Symbols, report: Report) -> None:
        self.symbols = symbols
        self.report = report
        self.loops: list[_Loop] = []
        self.wrong: set[int] = set()

    # ---------------------------------------------------------------- one name

    def taken(self, name: e.Identifier, an_input: bool = False, help: str | None = None) -> bool:
        """Whether a name has a meaning already, in the language or in the program, which is an error. Inputs
        may have the name of a built-in function: they are named by data."""
        text, declared = name.text, self.symbols.declared(name.text)
        labels = (Label(declared, "declared here"),) if declared is not None else ()
        if text in TAKEN:
            message = f"`{text}` has a meaning in the language"
        elif text in BUILTINS and not an_input:
            message = f"`{text}` is a built-in function"
        elif declared is not None:
            message = f"`{text}` is declared in this program"
        else:
            return False
        help = help or f"choose another name, such as `{text}_1`"
        self.report.error("GOT0102", message, name.span, labels=labels, help=help)
        return True

    def bind(self, name: e.Identifier, names: _Names, element: bool = False, help: str | None = None) -> None:
        """Bring a name into scope; an error if it is already in scope. The name of an `element` may be that
        of an earlier `foreach`, whose results it meant."""
        text = name.text
        if self.taken(name, help=help):
            pass
        elif text in names and not (element and names[text].results):
            here = text in names.maps[0]
            message = f"duplicate name `{text}` in this block" if here else f"`{text}` is already in scope"
            code, at, help = (
                ("GOT0101", "here again", None) if here else ("GOT0111", "hides it", help or _OTHER)
            )
            labels = (Label(names[text].place, "first here"),)
            self.report.error(code, message, name.span, at, labels=labels, help=help)
        names[text] = _Bound(name.span, len(self.loops))

    def _bound(self, node: n.Bind, names: _Names) -> None:
        """Check the name of a binding, which would be another one in each round of a loop."""
        name, known = node.name, names.get(node.name.text)
        if known is None or name.text in names.maps[0] or known.loops == len(self.loops):
            return self.bind(name, names)
        if not self.taken(name):
            loop = self.loops[known.loops]
            word = {n.Foreach: "foreach", n.Reduce: "reduce", n.Search: "search"}.get(type(loop), "repeat")
            message = f"`{name.text}` keeps its value: a block cannot change a name from outside"
            labels = (Label(known.place, f"bound here, outside the `{word}`"),)
            help = self._as_pool(node, loop) or _OTHER
            self.report.error("GOT0111", message, name.span, "another name", labels=labels, help=help)
        self.wrong.add(id(node))
        names[name.text] = _Bound(name.span, len(self.loops))
        return None

    def _as_pool(self, node: n.Bind, loop: _Loop) -> str | None:
        """How to write a value that grows from round to round: in the pool."""
        name, value, round_ = node.name.text, node.value, ""
        if not isinstance(value, n.Step | e.Expression) or isinstance(loop, n.Reduce | n.Repeated | n.Search):
            return None
        used = {part.name for part in walk(value) if isinstance(part, e.Reference)}
        if name not in used or "it" in used:
            return None
        other: dict[str, e.Expression] = {name: e.Reference(node.span, "it")}
        if isinstance(loop, n.Foreach):
            if not isinstance(loop.iterable, e.Reference) or len(loop.names) > 1:
                return "a `foreach` runs its elements at the same time: combine its results after it"
            at = e.Index(node.span, loop.iterable, e.Reference(node.span, "i"))
            other[loop.element.text] = at
            round_ = f", then `repeat len({loop.iterable.name}) as i:`"
        line = format_inline(_replaced(value, other))
        if isinstance(value, e.Expression) and not self._is_call(value):
            line = f"Map() {line}"
        before, after = f"`Pool() {name}` before{round_}", "after the block, `it` is the result"
        return f"let the pool hold it: {before}, and `{line}` here; {after}"

    def _is_call(self, value: e.Expression) -> bool:
        return isinstance(value, e.Call) and value.function.text in self.symbols.schemes

    # ---------------------------------------------------------------- statements

    def suite(self, suite: n.Suite, names: _Names, own: Iterable[e.Identifier] = ()) -> None:
        """Check a block, inside which some names are in scope."""
        inside = names.new_child()
        for name in own:
            self.bind(name, inside)
        self._statements(suite, inside)

    def _statements(self, suite: n.Suite, names: _Names) -> None:
        for statement in suite.statements:
            self.statement(statement, names)
        last = suite.statements[-1]
        if isinstance(last, n.Bind) and id(last) not in self.wrong:
            self.wrong.add(id(last))
            message, name = "a binding does not change the pool, so a block cannot end with one", last.name
            help = f"leave out `{name.text} =`, or continue with `Pool() {name.text}`"
            self.report.error("GOT0113", message, name.span, help=help)

    def statement(self, node: n.Statement, names: _Names) -> None:
        """Check a statement, whose names are in scope from then on."""
        match node:
            case n.Bind(value=value):
                if isinstance(value, n.Suite):
                    self.suite(value, names)
                elif isinstance(value, n.Block):
                    self.block(value, names)
                else:
                    self.expressions(value, names)
                self._bound(node, names)
            case n.Step() | n.Evaluate() | n.Return() | n.Skip():
                self.expressions(node, names)
            case n.Foreach(element=name):
                self.block(node, names)
                known = names.get(name.text)
                if known is None or known.results:
                    names[name.text] = _Bound(name.span, len(self.loops), results=True)
            case _:
                self.block(node, names)

    def block(self, node: n.Block, names: _Names) -> None:
        """Check a block, and its nested statements."""
        match node:
            case n.Foreach(iterable=iterable, after=after, body=body):
                self.expressions(iterable, names)
                self._loop(node, names, node.names, after, body)
            case n.Reduce(iterable=iterable, body=body):
                self.expressions(iterable, names)
                self._loop(node, names, _some(node.left, node.right, node.step), None, body)
            case n.RepeatBlock(count=count, body=body):
                self.expressions(count, names)
                self._loop(node, names, _some(node.counter), node.until, body)
            case n.Repeated(again=again, body=body):
                self.expressions(again, names)
                self._loop(node, names, (), None, body)
            case n.If(branches=branches, otherwise=otherwise):
                for condition, body in branches:
                    self.expressions(condition, names)
                    self.suite(body, names)
                if otherwise is not None:
                    self.suite(otherwise, names)
            case n.Match(subject=subject, branches=cases, otherwise=otherwise):
                self.expressions(subject, names)
                for case in cases:
                    fields = [
                        field for p in case.patterns if isinstance(p, n.CasePattern) for field in p.fields
                    ]
                    inside = names.new_child()
                    for field in fields:
                        help = (
                            f"a field keeps its name here; write `as x` after the case, and `x.{field.text}`"
                        )
                        self.bind(field, inside, help=help)
                    for name in _some(case.name):
                        self.bind(name, inside)
                    self._statements(case.body, inside)
                if otherwise is not None:
                    self.suite(otherwise, names)
            case n.Try(body=body, otherwise=otherwise):
                self.suite(body, names)
                if otherwise is not body:
                    self.suite(otherwise, names)
            case n.Search():
                for value in (node.root, *(clause.value for clause in node.clauses)):
                    self.expressions(value, names)
                inside = names.new_child()
                self.bind(node.state, inside)
                self.loops.append(node)
                self.expressions(node.until, inside)
                for part in node.parts:
                    self.suite(part, inside)
                self.loops.pop()
            case n.First(until=until, lines=lines):
                self.expressions(until, names)
                for line in lines:
                    self.suite(line, names)
            case n.Labelled(sources=sources, body=body):
                for source in sources:
                    self.expressions(source, names)
                self.suite(body, names, node.names if not n.is_unreadable(node) else ())
            case _:
                assert_never(node)

    def _loop(
        self,
        node: _Loop,
        names: _Names,
        own: Iterable[e.Identifier],
        expression: e.Expression | None,
        body: n.Suite,
    ) -> None:
        inside = names.new_child()
        for name in own:
            self.bind(name, inside, element=True)
        self.loops.append(node)
        if isinstance(node, n.RepeatBlock):
            self._statements(body, inside)
            self.expressions(expression, inside)
        else:
            self.expressions(expression, inside)
            self._statements(body, inside)
        self.loops.pop()

    def expressions(self, node: e.Node | None, names: _Names) -> None:
        """Check the names that comprehensions bind."""
        if isinstance(node, e.Comprehension):
            self.expressions(node.iterable, names)
            inside = names.new_child()
            for name in node.names:
                self.bind(name, inside, element=True)
            for part in (node.condition, node.element):
                self.expressions(part, inside)
        elif node is not None:
            for child in children(node):
                self.expressions(child, names)


def _some(*names: e.Identifier | None) -> list[e.Identifier]:
    return [name for name in names if name is not None]


def _replaced(value: n.Step | e.Expression, other: Mapping[str, e.Expression]) -> n.Step | e.Expression:
    """A step or an expression with other expressions for some names."""

    def change(part: e.Expression) -> e.Expression:
        return other.get(part.name, part) if isinstance(part, e.Reference) else part

    if not isinstance(value, n.Step):
        return rebuilt(value, change)
    operands = tuple(rebuilt(operand, change) for operand in value.operands)
    settings = value.settings and tuple(replace(s, value=rebuilt(s.value, change)) for s in value.settings)
    return replace(value, operands=operands, settings=settings)
