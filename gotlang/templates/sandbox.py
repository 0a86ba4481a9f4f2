"""Where a template runs: Jinja's immutable sandbox with every way to reach an object's insides taken out.

Fields and indices look into dicts, lists and texts and nowhere else; arithmetic is ours; the tree is
rewritten so that each loop, comparison, slice and concatenation pays out of the budget of its rendering.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from functools import cache, wraps
from typing import Any, Final, cast, final

from jinja2 import StrictUndefined, nodes, pass_context
from jinja2 import Template as JinjaTemplate
from jinja2.exceptions import TemplateError as JinjaError
from jinja2.exceptions import TemplateSyntaxError
from jinja2.ext import Extension
from jinja2.lexer import Token, TokenStream
from jinja2.runtime import Context, LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

from gotlang.errors import TemplateError
from gotlang.templates import filters, predicates
from gotlang.templates.budget import Budget

LOOP: Final = frozenset(
    ["first", "index", "index0", "last", "length", "nextitem", "previtem", "revindex", "revindex0"]
)
"""What may follow `loop.`."""

_BUDGET = "_budget"
"""The name a rendering's budget goes by; no template can say it, for it starts with an underscore."""

_FILE = "<template>"

_ARITHMETIC: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
}
_MOST_BITS = 4096

_MOST_TOKENS = 20_000
"""Words and signs inside the braces of one template; to parse and compile so many takes half a second."""


@final
class _Environment(ImmutableSandboxedEnvironment):
    intercepted_binops = frozenset(_ARITHMETIC)

    def getattr(self, obj: Any, attribute: str) -> Any:
        if isinstance(obj, LoopContext):
            return getattr(obj, attribute) if attribute in LOOP else self.undefined(obj=obj, name=attribute)
        return self.getitem(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        filters.defined(obj)
        if isinstance(obj, dict):
            if isinstance(argument, str | int | float | bool | None) and argument in obj:
                return obj[argument]
            return self.undefined(hint=f"there is no field `{filters.short(argument)}`")
        if isinstance(obj, list | tuple | str) and type(argument) is int:
            if -len(obj) <= argument < len(obj):
                return obj[argument]
            return self.undefined(hint=f"there is no element {argument}: it has {len(obj)}")
        kind = filters.kind(obj)
        return self.undefined(hint=f"{kind} has no `{filters.short(argument)}`")

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        filters.defined(left, right)
        numbers = isinstance(left, int | float) and isinstance(right, int | float)
        joined = operator == "+" and (
            (isinstance(left, str) and isinstance(right, str))
            or (isinstance(left, list) and isinstance(right, list))
        )
        if not numbers and not joined:
            raise TemplateError(f"`{operator}` between {filters.kind(left)} and {filters.kind(right)}")
        if joined:
            _budget(context).spend(8 * (len(left) + len(right)))
        result = _ARITHMETIC[operator](left, right)
        if isinstance(result, int) and result.bit_length() > _MOST_BITS:
            raise TemplateError("a number with too many digits")
        return result


@final
class _Counting(Extension):
    """Stops the parser early: a prompt is mostly text, and a megabyte of expressions would take it long."""

    def filter_stream(self, stream: TokenStream) -> Iterator[Token]:
        try:
            for count, token in enumerate(stream):
                if count > _MOST_TOKENS:
                    raise TemplateSyntaxError("more expressions and blocks than a prompt needs", token.lineno)
                yield token
        except ValueError:  # Python reads no int of more than 4,300 digits, and Jinja lets that through
            raise TemplateSyntaxError("a number with too many digits", stream.current.lineno) from None


@final
class Program:
    """A template ready to run."""

    def __init__(self, compiled: JinjaTemplate) -> None:
        self._compiled = compiled

    @classmethod
    def of(cls, root: nodes.Template) -> Program:
        """Compile a tree that has been checked; it is rewritten in place."""
        jinja = environment()
        code = jinja.compile(_Paying().visit(root), filename=_FILE)
        return cls(JinjaTemplate.from_code(jinja, code, jinja.globals))

    def run(self, values: Mapping[str, Any]) -> str:
        """Render. Raises TemplateError with the line."""
        budget = Budget()
        context = self._compiled.new_context({**values, _BUDGET: budget})
        parts: list[str] = []
        try:
            for part in self._compiled.root_render_func(context):
                budget.write(len(part))
                parts.append(part)
        except TemplateError as error:
            raise TemplateError(error.message, line=self._line(error), help=error.help) from None
        except JinjaError as error:
            raise TemplateError(error.message or "cannot be rendered", line=self._line(error)) from None
        except ZeroDivisionError as error:
            raise TemplateError("a division by zero", line=self._line(error)) from None
        except RecursionError as error:
            raise TemplateError("a value too deep to print", line=self._line(error)) from None
        except (TypeError, ValueError, ArithmeticError) as error:
            raise TemplateError(f"cannot be rendered: {error}", line=self._line(error)) from None
        return "".join(parts)

    def _line(self, error: BaseException) -> int | None:
        """The line of the template that was running when an error came."""
        trace = error.__traceback__
        line = None
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == _FILE:
                line = self._compiled.get_corresponding_lineno(trace.tb_lineno)
            trace = trace.tb_next
        return line


class _Paying(NodeTransformer):
    """Puts a paying filter around what could cost much: what loops go over, comparisons, slices, `~`."""

    def visit_For(self, node: nodes.For) -> nodes.Node:
        weight = _weight(node)
        node = self.generic_visit(node)  # type: ignore[assignment]
        node.iter = _applied(node.iter, "_each", nodes.Const(weight))
        return node

    def visit_Compare(self, node: nodes.Compare) -> nodes.Node:
        node = self.generic_visit(node)  # type: ignore[assignment]
        node.expr = _applied(node.expr, "_read")
        for operand in node.ops:
            operand.expr = _applied(operand.expr, "_read")
        return node

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:
        node = self.generic_visit(node)  # type: ignore[assignment]
        if not isinstance(node.arg, nodes.Slice):
            return node
        ends = (node.arg.start, node.arg.stop, node.arg.step)
        return _applied(node.node, "_slice", *(end or nodes.Const(None) for end in ends))

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:
        node = self.generic_visit(node)  # type: ignore[assignment]
        return _applied(nodes.List(node.nodes, lineno=node.lineno), "join")


def _weight(loop: nodes.For) -> int:
    """The nodes that one turn of a loop may run; loops inside it pay for themselves."""
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


def _budget(context: Context) -> Budget:
    budget = context.resolve(_BUDGET)
    assert isinstance(budget, Budget)
    return budget


def _paid(function: Callable[..., Any]) -> Callable[..., Any]:
    """A filter as Jinja calls it: the budget comes from the rendering, missing values are reported."""

    @pass_context
    @wraps(function)
    def call(context: Context, value: Any, *arguments: Any, **named: Any) -> Any:
        if function is not filters.default:
            filters.defined(value)
        filters.defined(*arguments, *named.values())
        return function(_budget(context), value, *arguments, **named)

    return call


@pass_context
def _printed(context: Context, value: Any) -> str:
    """How a value stands in the text."""
    filters.defined(value)
    return filters.text(_budget(context), value)


@pass_context
def _range(context: Context, *bounds: Any) -> list[int]:
    filters.defined(*bounds)
    if any(type(bound) is not int for bound in bounds):
        raise TemplateError("`range` takes whole numbers")
    if len(bounds) == 3 and bounds[2] == 0:
        raise TemplateError("`range` takes no step of 0")
    numbers = range(*bounds)
    try:
        _budget(context).spend(8 * len(numbers))
    except OverflowError:
        raise TemplateError("`range` over too many numbers") from None
    return list(numbers)


@cache
def environment() -> ImmutableSandboxedEnvironment:
    """The one environment all templates share; it holds no state of any rendering."""
    made = _Environment(
        undefined=StrictUndefined,
        autoescape=False,
        finalize=_printed,
        optimized=False,
        cache_size=0,
        # `{% for ... %}` on a line of its own leaves no empty line in the prompt.
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=[_Counting],
    )
    made.filters = {name: _paid(function) for name, function in (filters.TABLE | filters.INTERNAL).items()}
    made.tests = dict(predicates.TABLE)
    made.globals = {"range": _range}
    return made
