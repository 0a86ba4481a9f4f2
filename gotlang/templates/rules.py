"""What a template may contain: a whitelist over Jinja's syntax tree, applied before anything runs.

A construct that is not named here is refused, with its name and line, so a new version of Jinja adds none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from inspect import signature
from typing import Any, Final

from jinja2 import nodes
from jinja2.exceptions import TemplateSyntaxError
from jinja2.parser import Parser

from gotlang.diagnostics import nearest
from gotlang.errors import TemplateError
from gotlang.templates.filters import FILTERS, TESTS
from gotlang.templates.sandbox import LOOP, environment

_DEEPEST = 60
"""Levels of nested expressions and blocks; Python's own compiler fails at 20 loops or 200 brackets."""

_MOST_LOOPS = 8

_WORDS: Final = {
    "assign": "set", "assignblock": "set", "nsref": "set", "callblock": "call", "filterblock": "filter",
    "fromimport": "import", "pow": "**", "scopedevalcontextmodifier": "autoescape",
}  # fmt: skip
"""How templates write the nodes that are named otherwise."""

_TRANSPARENT = (
    nodes.Output, nodes.Scope, nodes.List, nodes.Tuple, nodes.Dict, nodes.Pair, nodes.Keyword, nodes.Slice,
    nodes.Getitem, nodes.Compare, nodes.Operand, nodes.Concat, nodes.And, nodes.Or, nodes.Not, nodes.Neg,
    nodes.Pos, nodes.Add, nodes.Sub, nodes.Mul, nodes.Div, nodes.FloorDiv, nodes.Mod,
)  # fmt: skip
"""Nodes that are allowed if all their children are."""


def tree(text: str) -> nodes.Template:
    """Jinja's tree of a text. Raises TemplateError for a syntax error."""
    parser = None
    try:
        parser = Parser(environment(), text)
        return parser.parse()
    except TemplateSyntaxError as error:
        message = error.message or "not a template"
        raise TemplateError(message[:1].lower() + message[1:].rstrip("."), line=error.lineno) from None
    except RecursionError:
        line = parser.stream.current.lineno if parser else None
        raise TemplateError("brackets nested too deeply", line=line) from None


def check(root: nodes.Template) -> dict[str, int]:
    """The names that a template needs from outside, each with its first place. Raises TemplateError for what
    is not allowed."""
    checker = _Checker()
    checker.visit_all(root.body, frozenset(), 0, 0)
    return checker.names


class _Checker:
    """One walk over a tree; `names` collects the free ones."""

    def __init__(self) -> None:
        self.names: dict[str, int] = {}

    def visit_all(self, found: Iterable[nodes.Node], bound: frozenset[str], depth: int, loops: int) -> None:
        for node in found:
            self.visit(node, bound, depth, loops)

    def visit(self, node: nodes.Node, bound: frozenset[str], depth: int, loops: int) -> None:
        """Check a node; `bound` are the names that loops around it define."""
        if depth > _DEEPEST:
            raise TemplateError("expressions or blocks nested too deeply", line=node.lineno)
        depth += 1
        children: Iterable[nodes.Node] = node.iter_child_nodes()
        match node:
            case nodes.TemplateData() | nodes.Const():
                return
            case nodes.Name(name="loop") if "loop" in bound:
                raise TemplateError(f"`loop` needs one of its fields: {_listed(LOOP)}", line=node.lineno)
            case nodes.Name():
                self._name(node)
                if node.name not in bound:
                    self.names.setdefault(node.name, node.lineno)
                return
            case nodes.Getattr(node=nodes.Name(name="loop")) if "loop" in bound:
                if node.attr not in LOOP:
                    raise TemplateError(_unknown("`loop`", "field", node.attr, LOOP), line=node.lineno)
                return
            case nodes.Getattr():
                if node.attr.startswith("_"):
                    raise TemplateError(f"a template cannot use the field `{node.attr}`", line=node.lineno)
            case nodes.Filter():
                _check_arguments(node, "filter", FILTERS, 2)
            case nodes.Test():
                _check_arguments(node, "test", TESTS, 1)
            case nodes.Call():
                _check_call(node)
                children = node.args
            case nodes.CondExpr():
                if node.expr2 is None:
                    raise TemplateError("an `if` in an expression needs an `else`", line=node.lineno)
            case nodes.If():
                # Python nests an `elif` inside the one before it, so each is one deeper here too.
                for further, branch in enumerate(node.elif_):
                    self.visit(branch, bound, depth + further, loops)
                children = [node.test, *node.body, *node.else_]
            case nodes.For():
                self._for(node, bound, depth, loops + 1)
                return
            case _ if isinstance(node, _TRANSPARENT):
                pass
            case _:
                name = type(node).__name__.lower()
                raise TemplateError(f"a template cannot use `{_WORDS.get(name, name)}`", line=node.lineno)
        self.visit_all(children, bound, depth, loops)

    def _for(self, node: nodes.For, bound: frozenset[str], depth: int, loops: int) -> None:
        if node.recursive:
            raise TemplateError("a template cannot use a recursive loop", line=node.lineno)
        if loops > _MOST_LOOPS:
            raise TemplateError(f"more than {_MOST_LOOPS} nested loops", line=node.lineno)
        targets = list(node.target.find_all(nodes.Name))
        targets += [node.target] if isinstance(node.target, nodes.Name) else []
        for target in targets:
            self._name(target)
        inner = bound | {target.name for target in targets}
        self.visit(node.iter, bound, depth, loops)
        self.visit_all([node.test] if node.test is not None else [], inner - {"loop"}, depth, loops)
        self.visit_all(node.body, inner | {"loop"}, depth, loops)
        self.visit_all(node.else_, bound, depth, loops)

    def _name(self, node: nodes.Name) -> None:
        if node.name.startswith("_") or node.name == "self" or (node.ctx == "store" and node.name == "loop"):
            raise TemplateError(f"a template cannot use the name `{node.name}`", line=node.lineno)


def _check_arguments(
    node: nodes.Filter | nodes.Test, kind: str, known: Mapping[str, Callable[..., Any]], given: int
) -> None:
    """Check a filter's or test's name and arguments; the sandbox passes the first `given` ones."""
    if node.name not in known:
        raise TemplateError(_unknown("a template", kind, node.name, known), line=node.lineno)
    if node.dyn_args is not None or node.dyn_kwargs is not None:
        raise TemplateError("a template cannot unpack arguments with `*`", line=node.lineno)
    parameters = signature(known[node.name])
    try:
        parameters.bind(*[None] * given, *node.args, **{str(pair.key): pair.value for pair in node.kwargs})
    except TypeError:
        names = ", ".join(list(parameters.parameters)[given:]) or "no arguments"
        raise TemplateError(f"the {kind} `{node.name}` takes {names}", line=node.lineno) from None


def _check_call(node: nodes.Call) -> None:
    called = node.node
    if isinstance(called, nodes.Name) and called.name == "range":
        plain = not node.kwargs and node.dyn_args is None and node.dyn_kwargs is None
        if not plain or not 1 <= len(node.args) <= 3:
            raise TemplateError("`range` takes one to three numbers", line=node.lineno)
        return
    known = isinstance(called, nodes.Getattr) and called.attr in FILTERS
    help = f"write `| {called.attr}`" if isinstance(called, nodes.Getattr) and known else None
    also = f" and partials, not `{called.name}`" if isinstance(called, nodes.Name) else ""
    raise TemplateError(f"a template can only call `range`{also}", line=node.lineno, help=help)


def _unknown(what: str, kind: str, name: str, known: Iterable[str]) -> str:
    near = nearest(name, known)
    hint = f"did you mean `{near}`?" if near else f"available: {_listed(known)}"
    return f"{what} has no {kind} `{name}`; {hint}"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))
