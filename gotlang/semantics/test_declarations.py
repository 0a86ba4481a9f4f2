"""Tests and laws, lowered to schemes: its calls are bound first, and its result contains their values.

test "sorts": sort(xs) == ys    →    `sort(xs)` = Generate() sort(xs)
                                     return {holds: `sort(xs)` == ys, "sort(xs)": `sort(xs)`}
"""

from __future__ import annotations

from typing import final

from msgspec import Struct, structs

from gotlang.diagnostics import Report
from gotlang.semantics.generators import Generator, generator
from gotlang.semantics.names import check_names
from gotlang.semantics.pipelines import PipelineChecker
from gotlang.semantics.symbols import Signature, Symbols
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.syntax.format import format_expression
from gotlang.syntax.walk import walk, with_parts
from gotlang.types import ANY, BOOL, DYNAMIC, RecordType, accepts

HOLDS = "holds"
UNITS = ("calls", "hops", "usd")
"""The units of `within`."""


@final
class DeclaredTest(Struct, frozen=True):
    """A test or a law, the scheme that it is lowered to, and the generators of its inputs."""

    node: n.Test
    scheme: n.Scheme
    signature: Signature
    inputs: tuple[tuple[str, Generator], ...]

    @property
    def limits(self) -> dict[str, float]:
        """The limits of `within`, by unit."""
        return limits_of(self.node.within)


def limits_of(within: tuple[n.Limit, ...]) -> dict[str, float]:
    """The numbers of a `within` by unit, each in the plural."""
    values = ((plural(each.unit.text), each.number.value) for each in within)
    return {unit: value for unit, value in values if isinstance(value, int | float)}


def plural(unit: str) -> str:
    """`calls` for `call`, `hops` for `hop`."""
    return unit + "s" if unit + "s" in UNITS else unit


def check_limits(within: tuple[n.Limit, ...], units: tuple[str, ...], report: Report) -> None:
    """Report limits of unknown units, those given twice, and numbers of calls and hops that are not whole."""
    seen: set[str] = set()
    for each in within:
        unit = plural(each.unit.text)
        if unit not in units:
            report.unknown("GOT0763", "unit", each.unit.text, each.unit.span, units)
        elif unit in seen:
            report.error("GOT0763", f"duplicate limit in {unit}", each.span, help="keep one of them")
        elif unit != "usd" and not isinstance(each.number.value, int):
            report.error("GOT0763", f"a number of {unit} is whole", each.number.span)
        seen.add(unit)


def check_tests(
    tests: list[n.Test], symbols: Symbols, pipelines: PipelineChecker, report: Report
) -> tuple[DeclaredTest, ...]:
    """Check the tests of a module as the schemes that they are lowered to."""
    found: list[DeclaredTest] = []
    seen: set[str] = set()
    for node in tests:
        name = str(node.name.value)
        if not name.strip() or not name.isprintable() or name in seen:
            message = f"duplicate test `{name}`" if name in seen else "a test needs a name"
            report.error("GOT0764", message, node.name.span, help="choose another name")
        seen.add(name)
        check_limits(node.within, ("calls", "usd"), report)
        if node.share is not None and not 0 < float(str(node.share.value)) <= 1:
            help = "write `at least 0.7 of 30`: for that share of 30 inputs"
            report.error("GOT0764", "a share is between 0 and 1", node.share.span, help=help)
        if node.times is not None and not 1 <= node.times <= 10_000:
            report.error("GOT0764", "a law has 1 to 10,000 inputs", node.span)
        inputs: list[tuple[str, Generator]] = []
        parameters: list[n.TypedName] = []
        for drawn in node.drawn:
            made = generator(drawn.generator, report)
            for each in drawn.names:
                placeholder = n.NamedType(each.span, e.Identifier(each.span, "any"))
                parameters.append(n.TypedName(each.span, each, placeholder))
                inputs.append((each.text, made or Generator(ANY, lambda _: None)))
        scheme = _lowered(node, tuple(parameters), symbols, report)
        types = tuple((each, drawn.type) for each, drawn in inputs)
        signature = Signature(scheme.name.text, types, DYNAMIC)
        pipelines.wrong |= check_names(scheme, symbols, report)
        pipelines.scheme(scheme, signature)
        left = pipelines.pools[id(scheme.body.statements[-1])].type
        holds = dict(left.fields)[HOLDS] if isinstance(left, RecordType) else ANY
        if not accepts(BOOL, holds):
            report.error("GOT0762", "a test is true or false", node.value.span, f"this is {holds}")
        found.append(DeclaredTest(node, scheme, signature, tuple(inputs)))
    return tuple(found)


def _lowered(node: n.Test, parameters: tuple[n.TypedName, ...], symbols: Symbols, report: Report) -> n.Scheme:
    bound: list[n.Bind] = []
    called = symbols.prompts.keys() | symbols.schemes.keys()

    def lift(part: e.Expression) -> e.Expression:
        if isinstance(part, e.Comprehension):
            inside = (part.element, part.condition)
            for call in (c for one in inside if one is not None for c in walk(one)):
                if isinstance(call, e.Call) and call.function.text in called:
                    message = f"`{call.function.text}` is called once for each element"
                    help = "call it in a `foreach` of a scheme, and test that scheme"
                    report.error("GOT0762", message, call.span, help=help)
                    return e.Reference(part.span, e.HOLE)
            return structs.replace(part, iterable=lift(part.iterable))
        written = format_expression(part)
        inner = with_parts(part, lift)
        if not isinstance(inner, e.Call) or inner.function.text not in called:
            return inner
        taken = {HOLDS, *(each.name.text for each in bound)}
        name, again = written, 1
        while name in taken:
            again += 1
            name = f"{written} ({again})"
        is_prompt = inner.function.text in symbols.prompts
        step = n.Step(part.span, e.Identifier(part.span, "Generate"), (), (inner,)) if is_prompt else inner
        bound.append(n.Bind(part.span, e.Identifier(part.span, name), None, step))
        return e.Reference(part.span, name)

    holds = lift(node.value)
    seen = tuple((each.name.text, e.Reference(each.span, each.name.text)) for each in bound)
    last = n.Return(node.value.span, e.RecordDisplay(node.value.span, ((HOLDS, holds), *seen)))
    kind = "law" if node.drawn else "test"
    return n.Scheme(
        node.span,
        e.Identifier(node.name.span, f'{kind} "{node.name.value}"'),
        parameters,
        False,
        n.NamedType(node.name.span, e.Identifier(node.name.span, "any")),
        None,
        n.Suite(node.value.span, (*bound, last)),
    )
