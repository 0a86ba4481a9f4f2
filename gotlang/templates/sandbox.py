"""Where templates run: Jinja's immutable sandbox without any access to the insides of objects.

Fields and indices read dicts, lists and texts only; arithmetic is limited; the tree is rewritten so that each
loop, comparison, slice and concatenation pays from the budget of its rendering.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from functools import cache, cached_property
from typing import Any, Final, cast, final

from jinja2 import StrictUndefined, nodes, pass_context
from jinja2 import Template as JinjaTemplate
from jinja2.exceptions import TemplateError as JinjaError
from jinja2.exceptions import TemplateSyntaxError
from jinja2.ext import Extension
from jinja2.lexer import TOKEN_RAW_BEGIN, TOKEN_RAW_END, Token, TokenStream, ignored_tokens
from jinja2.runtime import Context, LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

from gotlang.errors import TemplateError
from gotlang.templates.budget import kind, short
from gotlang.templates.filters import FILTERS, TESTS, Rendering, defined
from gotlang.templates.plain import FAILURES, Place, PlainTemplate, Shown, failure

LOOP: Final = frozenset(
    ["first", "index", "index0", "last", "length", "nextitem", "previtem", "revindex", "revindex0"]
)
"""The fields of `loop`."""

_RENDERING = "_rendering"
"""The name of a rendering's budget; no template can say it, for it starts with an underscore."""

_FILE = "<template>"

_ARITHMETIC: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod,
}  # fmt: skip
_MOST_BITS = 4096

_MOST_TOKENS = 20_000
"""Tokens inside the braces of one template; to parse and compile so many takes half a second."""


@final
class _Environment(ImmutableSandboxedEnvironment):
    intercepted_binops = frozenset(_ARITHMETIC)

    def getattr(self, obj: Any, attribute: str) -> Any:
        if isinstance(obj, LoopContext):
            return getattr(obj, attribute) if attribute in LOOP else self.undefined(obj=obj, name=attribute)
        return self.getitem(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        defined(obj)
        if isinstance(obj, dict):
            if isinstance(argument, str | int | float | bool | None) and argument in obj:
                return obj[argument]
            return self.undefined(hint=f"there is no field `{short(argument)}`")
        if isinstance(obj, list | tuple | str) and type(argument) is int:
            if -len(obj) <= argument < len(obj):
                return obj[argument]
            return self.undefined(hint=f"there is no element {argument}: it has {len(obj)}")
        return self.undefined(hint=f"{kind(obj)} has no `{short(argument)}`")

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        defined(left, right)
        numbers = isinstance(left, int | float) and isinstance(right, int | float)
        joined = operator == "+" and any(isinstance(left, t) and isinstance(right, t) for t in (str, list))
        if not numbers and not joined:
            raise TemplateError(f"`{operator}` between {kind(left)} and {kind(right)}")
        if joined:
            _rendering(context).spend(8 * (len(left) + len(right)))
        result = _ARITHMETIC[operator](left, right)
        if isinstance(result, int) and result.bit_length() > _MOST_BITS:
            raise TemplateError("a number with too many digits")
        return result


@final
class _Tokens(Extension):
    """Numbers the tokens, and stops the parser early: a prompt is mostly text, and to parse a megabyte of
    expressions is slow."""

    def filter_stream(self, stream: TokenStream) -> Iterator[Token]:
        try:
            for count, token in enumerate(stream):
                if count > _MOST_TOKENS:
                    raise TemplateSyntaxError("more expressions and blocks than a prompt needs", token.lineno)
                place = Place(token.lineno)
                place.index = count
                yield Token(place, token.type, token.value)
        except ValueError:  # Python reads no int of more than 4,300 digits, and Jinja lets that through
            raise TemplateSyntaxError("a number with too many digits", stream.current.lineno) from None


def placed(text: str, place: int) -> tuple[int, int] | None:
    """Where a place is in the text of its template: from and to, in characters from 0; None for a line
    alone."""
    if not isinstance(place, Place):
        return None
    at = index = 0
    found: tuple[int, int] | None = None
    for _, type_, value in environment().lexer.tokeniter(text, None):
        start = text.find(value, at)
        if start < 0:
            return None
        at = start + len(value)
        if type_ in ignored_tokens or type_ in (TOKEN_RAW_BEGIN, TOKEN_RAW_END):
            continue
        if found is not None:  # `.left` is shown at its name
            return start, at
        if index == place.index:
            if value not in (".", "|"):
                return start, at
            found = start, at
        index += 1
    return found


class _Payments(NodeTransformer):
    """Puts a paying filter around what can be expensive: loops, comparisons, slices, `~`."""

    def visit_For(self, node: nodes.For) -> nodes.Node:
        weight = _weight(node)
        self.generic_visit(node)
        node.iter = _applied(node.iter, "_each", nodes.Const(weight))
        return node

    def visit_Compare(self, node: nodes.Compare) -> nodes.Node:
        self.generic_visit(node)
        node.expr = _applied(node.expr, "_read")
        for operand in node.ops:
            operand.expr = _applied(operand.expr, "_read")
        return node

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:
        self.generic_visit(node)
        if not isinstance(node.arg, nodes.Slice):
            return node
        ends = (node.arg.start, node.arg.stop, node.arg.step)
        return _applied(node.node, "_slice", *(end or nodes.Const(None) for end in ends))

    def visit_Tuple(self, node: nodes.Tuple) -> nodes.Node:
        self.generic_visit(node)
        return nodes.List(node.items, lineno=node.lineno) if node.ctx == "load" else node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:
        self.generic_visit(node)
        return _applied(nodes.List(node.nodes, lineno=node.lineno), "join")


def _weight(loop: nodes.For) -> int:
    """The nodes that one iteration of a loop may run; loops inside it pay for themselves."""
    count = 0
    waiting: list[nodes.Node] = [loop]
    while waiting:
        for child in waiting.pop().iter_child_nodes():
            count += 1
            if not isinstance(child, nodes.For):
                waiting.append(child)
    return count


def _applied(node: nodes.Node, name: str, *arguments: nodes.Expr) -> nodes.Filter:
    return nodes.Filter(cast(nodes.Expr, node), name, list(arguments), [], None, None, lineno=node.lineno)


def _rendering(context: Context) -> Rendering:
    rendering = context.resolve(_RENDERING)
    assert isinstance(rendering, Rendering)
    return rendering


def _filter(function: Callable[..., Any]) -> Callable[..., Any]:
    """A filter as Jinja calls it: of the context's rendering, with defined values."""
    optional = function is Rendering.do_default

    @pass_context
    def call(context: Context, value: Any, *arguments: Any, **named: Any) -> Any:
        if not optional:
            defined(value)
        defined(*arguments, *named.values())
        return function(_rendering(context), value, *arguments, **named)

    return call


@pass_context
def _printed(context: Context, value: Any) -> str:
    defined(value)
    return _rendering(context).text(value)


@pass_context
def _range(context: Context, *bounds: Any) -> list[int]:
    defined(*bounds)
    if any(type(bound) is not int for bound in bounds):
        raise TemplateError("`range` expects whole numbers")
    if len(bounds) == 3 and bounds[2] == 0:
        raise TemplateError("`range` cannot have a step of 0")
    numbers = range(*bounds)
    try:
        _rendering(context).spend(8 * len(numbers))
    except OverflowError:
        raise TemplateError("`range` over too many numbers") from None
    return list(numbers)


@cache
def environment() -> ImmutableSandboxedEnvironment:
    """The environment that all templates share; it has no state of any rendering."""
    made = _Environment(
        undefined=StrictUndefined,
        autoescape=False,
        finalize=_printed,
        optimized=False,
        cache_size=0,
        # `{% for ... %}` on a line of its own leaves no empty line in the prompt.
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=[_Tokens],
    )
    internal: dict[str, Callable[..., Any]] = {
        "_each": Rendering.each,
        "_read": Rendering.read,
        "_slice": Rendering.slice,
    }
    made.filters = {name: _filter(function) for name, function in (FILTERS | internal).items()}
    made.tests = dict(TESTS)
    made.globals = {"range": _range}
    return made


def _failure(error: Exception, line: int | None) -> TemplateError:
    """What a rendering raises for an error at a line."""
    if isinstance(error, JinjaError):
        return TemplateError(error.message or "cannot be rendered", line=line)
    return failure(error, line)


@final
class SandboxedTemplate:
    """A template that Jinja runs, compiled when it is first rendered."""

    def __init__(self, root: nodes.Template) -> None:
        self.root = root

    @cached_property
    def _compiled(self) -> JinjaTemplate:
        code = environment().compile(_Payments().visit(deepcopy(self.root)), filename=_FILE)
        return JinjaTemplate.from_code(environment(), code, environment().globals)

    def render(self, values: Mapping[str, Any]) -> str:
        """The text with the values filled in. Raises TemplateError with the line."""
        rendering = Rendering()
        context = self._compiled.new_context({**values, _RENDERING: rendering})
        parts: list[str] = []
        try:
            for part in self._compiled.root_render_func(context):
                rendering.write(len(part))
                parts.append(part)
        except (JinjaError, *FAILURES) as error:
            raise _failure(error, self._line(error)) from None
        return "".join(parts)

    def _line(self, error: BaseException) -> int | None:
        """The line of the template at which an error was raised."""
        trace, line = error.__traceback__, None
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == _FILE:
                line = self._compiled.get_corresponding_lineno(trace.tb_lineno)
            trace = trace.tb_next
        return line


def runnable(root: nodes.Template) -> SandboxedTemplate | PlainTemplate:
    """A checked tree, ready to run."""
    parts: list[str | Shown] = []
    for statement in root.body:
        for node in statement.nodes if isinstance(statement, nodes.Output) else (statement,):
            if isinstance(node, nodes.TemplateData):
                parts.append(node.data)
            elif isinstance(node, nodes.Name) and node.name not in environment().globals:
                parts.append(Shown(node.name, node.lineno))
            else:
                return SandboxedTemplate(root)
    return PlainTemplate(parts)
