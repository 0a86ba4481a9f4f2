"""What a template may hold: a whitelist over Jinja's own syntax tree, applied before anything runs.

A construct that is not named here is refused with its name and line, so a new version of Jinja cannot
open a door by itself.
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
from gotlang.templates import filters, predicates
from gotlang.templates.sandbox import LOOP, environment

_Table = Mapping[str, Callable[..., Any]]

_DEEPEST = 60
"""Expressions and blocks inside each other; Python's own compiler gives up at 20 loops or 200 brackets."""

_MOST_LOOPS = 8

_WORDS: Final = {
    "Assign": "`set`",
    "AssignBlock": "`set`",
    "Block": "`block`",
    "CallBlock": "`call`",
    "Extends": "`extends`",
    "FilterBlock": "a `filter` block",
    "FromImport": "`import`",
    "Import": "`import`",
    "Include": "`include`",
    "Macro": "`macro`",
    "NSRef": "`set`",
    "Pow": "`**`",
    "ScopedEvalContextModifier": "`autoescape`",
    "With": "`with`",
}

_TRANSPARENT = (
    nodes.Output, nodes.Scope, nodes.List, nodes.Tuple, nodes.Dict, nodes.Pair, nodes.Keyword, nodes.Slice,
    nodes.Getitem, nodes.Compare, nodes.Operand, nodes.Concat, nodes.And, nodes.Or, nodes.Not, nodes.Neg,
    nodes.Pos, nodes.Add, nodes.Sub, nodes.Mul, nodes.Div, nodes.FloorDiv, nodes.Mod,
)  # fmt: skip
"""Nodes that are allowed wherever all their children are."""


def tree(text: str) -> nodes.Template:
    """Jinja's tree of a text. Raises TemplateError where Jinja's grammar is not met."""
    parser = None
    try:
        parser = Parser(environment(), text)
        return parser.parse()
    except TemplateSyntaxError as error:
        raise TemplateError(_plain(error.message or "not a template"), line=error.lineno) from None
    except RecursionError:
        line = parser.stream.current.lineno if parser else None
        raise TemplateError("too many brackets inside each other", line=line) from None


def check(root: nodes.Template) -> frozenset[str]:
    """The names that a template takes from outside. Raises TemplateError for what is not allowed."""
    names: set[str] = set()
    _Checker(names).visit_all(root.body, frozenset(), 0, 0)
    return frozenset(names)


def constant_prefix(root: nodes.Template) -> str:
    """The text before the first expression or block."""
    parts: list[str] = []
    for statement in root.body:
        if not isinstance(statement, nodes.Output):
            break
        for node in statement.nodes:
            if not isinstance(node, nodes.TemplateData):
                return "".join(parts)
            parts.append(node.data)
    return "".join(parts)


class _Checker:
    """One walk over a tree; `names` collects the free ones."""

    def __init__(self, names: set[str]) -> None:
        self.names = names

    def visit_all(self, found: Iterable[nodes.Node], bound: frozenset[str], depth: int, loops: int) -> None:
        for node in found:
            self.visit(node, bound, depth, loops)

    def visit(self, node: nodes.Node, bound: frozenset[str], depth: int, loops: int) -> None:
        """Check a node; `bound` are the names that loops around it define."""
        if depth > _DEEPEST:
            raise TemplateError("expressions or blocks too deep inside each other", line=node.lineno)
        depth += 1
        match node:
            case nodes.TemplateData() | nodes.Const():
                return
            case nodes.Name(name="loop") if "loop" in bound:
                raise TemplateError(f"`loop` stands only before one of: {_listed(LOOP)}", line=node.lineno)
            case nodes.Name():
                self._name(node)
                if node.name not in bound:
                    self.names.add(node.name)
                return
            case nodes.Getattr(node=nodes.Name(name="loop")) if "loop" in bound:
                if node.attr not in LOOP:
                    raise TemplateError(_unknown("`loop`", "field", node.attr, LOOP), line=node.lineno)
                return
            case nodes.Getattr():
                if node.attr.startswith("_"):
                    raise TemplateError(f"a template may not use the field `{node.attr}`", line=node.lineno)
            case nodes.Filter():
                self._applied(node, "filter", filters.TABLE, 2)
            case nodes.Test():
                self._applied(node, "test", predicates.TABLE, 1)
            case nodes.Call():
                self._call(node)
                self.visit_all(node.args, bound, depth, loops)
                return
            case nodes.CondExpr():
                if node.expr2 is None:
                    raise TemplateError("an `if` inside an expression needs its `else`", line=node.lineno)
            case nodes.If():
                # Python nests an `elif` inside the one before it, so each is one deeper here too.
                self.visit_all([node.test, *node.body, *node.else_], bound, depth, loops)
                for further, branch in enumerate(node.elif_):
                    self.visit(branch, bound, depth + further, loops)
                return
            case nodes.For():
                self._for(node, bound, depth, loops + 1)
                return
            case _ if isinstance(node, _TRANSPARENT):
                pass
            case _:
                word = _WORDS.get(type(node).__name__, f"`{type(node).__name__.lower()}`")
                raise TemplateError(f"a template may not use {word}", line=node.lineno)
        self.visit_all(node.iter_child_nodes(), bound, depth, loops)

    def _for(self, node: nodes.For, bound: frozenset[str], depth: int, loops: int) -> None:
        if node.recursive:
            raise TemplateError("a template may not use a recursive loop", line=node.lineno)
        if loops > _MOST_LOOPS:
            raise TemplateError(f"more than {_MOST_LOOPS} loops inside each other", line=node.lineno)
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
            raise TemplateError(f"a template may not use the name `{node.name}`", line=node.lineno)

    def _applied(
        self, node: nodes.Filter | nodes.Test, kind: str, known: Mapping[str, Callable[..., Any]], given: int
    ) -> None:
        if node.name not in known:
            raise TemplateError(_unknown("a template", kind, node.name, known), line=node.lineno)
        if node.dyn_args is not None or node.dyn_kwargs is not None:
            raise TemplateError("a template may not spread arguments with `*`", line=node.lineno)
        # Wrong arguments are found here, not when a prompt is first rendered; `given` is what Jinja adds.
        parameters = signature(known[node.name])
        try:
            parameters.bind(
                *[None] * given, *node.args, **{str(pair.key): pair.value for pair in node.kwargs}
            )
        except TypeError:
            takes = [str(p) for p in list(parameters.parameters.values())[given:]]
            takes = [name.split(":")[0] for name in takes] or ["nothing"]
            raise TemplateError(
                f"the {kind} `{node.name}` takes {', '.join(takes)} in its parentheses", line=node.lineno
            ) from None

    def _call(self, node: nodes.Call) -> None:
        called = node.node
        if isinstance(called, nodes.Name) and called.name == "range":
            plain = not node.kwargs and node.dyn_args is None and node.dyn_kwargs is None
            if not plain or not 1 <= len(node.args) <= 3:
                raise TemplateError("`range` takes one to three numbers", line=node.lineno)
            return
        help = None
        if isinstance(called, nodes.Getattr) and called.attr in filters.TABLE:
            help = f"write `| {called.attr}`"
        raise TemplateError("a template calls nothing but `range`", line=node.lineno, help=help)


def _unknown(what: str, kind: str, name: str, known: Iterable[str]) -> str:
    near = nearest(name, known)
    hint = f"did you mean `{near}`?" if near else f"it has: {_listed(known)}"
    return f"{what} has no {kind} `{name}`; {hint}"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))


def _plain(message: str) -> str:
    """Jinja's message as part of a sentence."""
    return message[:1].lower() + message[1:].rstrip(".")
