"""The cost of each step of a program while it is written, from the estimator of `gotc explain`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import final

from gotlang.compiler import Compiled
from gotlang.editing.documents import Document
from gotlang.errors import GotError
from gotlang.estimate.cost import CostRange, StepCost, costs_of_steps
from gotlang.gc_tuning import relaxed_gc
from gotlang.ir.program import Program, Scheme
from gotlang.models.prices import dollars
from gotlang.syntax import nodes as n
from gotlang.syntax.walk import walk

_LOOPS = n.Foreach | n.Reduce | n.RepeatBlock | n.Repeated | n.Search


@final
@dataclass(frozen=True, slots=True)
class PriceHint:
    """A price at the end of a line, by the offset there; `detail` is its dependence on the params."""

    offset: int
    text: str
    detail: str


@lru_cache(64)
@relaxed_gc()
def price_hints(document: Document) -> tuple[PriceHint, ...]:
    """The calls, hops and dollars of each step and scheme of a program's own file that calls a model, without
    a cache and without early stopping; none if the program has errors. Unknown values are labelled as
    such."""
    if not isinstance(document.compilation, Compiled):
        return ()
    try:
        program = document.compilation.program(0)
        return tuple(sorted(_hints(document, program), key=lambda hint: hint.offset))
    except GotError:
        return ()  # a constant without a value, which is reported when it is run


def _hints(document: Document, program: Program) -> Iterator[PriceHint]:
    from gotlang.models.base import ModelOptions
    from gotlang.options import Options
    from gotlang.runtime.python import simulated_models
    from gotlang.runtime.sizes import Sizes

    options = Options()
    simulated = options.simulated
    models = cache(partial(simulated_models, program)) if simulated else dict
    given = ModelOptions(base_url=options.base_url, prices=options.prices, declared=models)
    sizes = Sizes(options.chosen_model, given)
    source = document.source
    for declared in document.module.declarations:
        scheme = _scheme(program, declared)
        if scheme is None:
            continue
        parts = [part for part in walk(declared) if isinstance(part, _LOOPS | n.Step | n.Evaluate)]
        loops = [part.span for part in parts if isinstance(part, _LOOPS)]
        statements = [part.span.start for part in parts if isinstance(part, n.Step | n.Evaluate)]
        inside, own = declared.span, set[int]()
        for cost in costs_of_steps(program, scheme, sizes):
            span = cost.span
            if span.source != source.name or span.use or not inside.start <= span.start < inside.end:
                continue
            head = any(span.start < start < span.end for start in statements)
            line = source.position(span.start if head else max(span.start, span.end - 1))[0]
            if line in own or (cost.calls.high == 0):
                continue
            own.add(line)
            each = any(loop.start < span.start and span.end <= loop.end for loop in loops)
            yield PriceHint(_end_of_code(document, line), _text(cost, each, simulated), _detail(cost))


def _scheme(program: Program, declared: n.Declaration) -> Scheme | None:
    """The scheme of a declaration; None for any other, and for one that is instantiated at its uses."""
    if not isinstance(declared, n.Scheme):
        return None
    return next((scheme for scheme in program.schemes if scheme.name == declared.name.text), None)


def _end_of_code(document: Document, line: int) -> int:
    source = document.source
    return source.offset(line) + len(source.line(line).rstrip())


def _text(cost: StepCost, each: bool, simulated: bool) -> str:
    """`10 calls each · 2 hops · $0.0012`."""
    calls = _counted(cost.calls, "call") + (" each" if each else "")
    usd = _range(cost.usd, lambda usd: dollars(usd) if usd else "$0") if cost.usd is not None else ""
    price = f"{usd}{' simulated' if simulated else ''}" if usd else "price unknown"
    return f"{calls} · {_counted(cost.hops, 'hop')} · {price}"


def _counted(found: CostRange, noun: str) -> str:
    shown = _range(found, "{:,.0f}".format)
    return f"{shown} {noun}{'' if found.high == found.low == 1 else 's'}" if shown else f"{noun}s unknown"


def _range(found: CostRange, shown: Callable[[float], str]) -> str:
    """A range in words; empty if nothing is known."""
    if found.high is None:
        return f"at least {shown(found.low)}" if found.low else ""
    if found.low == found.high:
        return shown(found.low)
    return f"{shown(found.low)} to {shown(found.high)}"


def _detail(cost: StepCost) -> str:
    """The dependence of the calls on the params, and a description of the numbers."""
    formula = cost.calls.formula or cost.calls.formula_high
    of = f"calls {'=' if cost.calls.formula else '<='} {formula}; " if formula else ""
    return f"{of}hops: sequential model calls up to here; all samples, with an empty cache"
