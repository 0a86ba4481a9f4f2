"""One run of a scheme: from inputs to a result with its cost and its graph."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, final

from msgspec import Struct, field

from gotlang.cache.base import Cache
from gotlang.cache.coordination import Coordination
from gotlang.errors import RunError, UsageError
from gotlang.gc_tuning import relaxed_gc
from gotlang.ir.program import Param, Program, Scheme
from gotlang.models.base import Model
from gotlang.models.media import media_in
from gotlang.runtime.context import Context, RunSettings
from gotlang.runtime.engine import GraphEngine, scheduler
from gotlang.runtime.expansion import Expander, Layout
from gotlang.runtime.expansion import scheme as lay_out
from gotlang.runtime.graph import Frame, Graph, GraphFull, Handle
from gotlang.runtime.outcome import Outcome, outcome_of
from gotlang.runtime.program_tables import ProgramTables
from gotlang.runtime.sampler.budget import Budget
from gotlang.runtime.sampler.events import Observer, guarded
from gotlang.runtime.sampler.ledger import Ledger
from gotlang.runtime.sampler.limits import RequestLimits
from gotlang.runtime.sampler.sampler import Sampler
from gotlang.runtime.score import score
from gotlang.runtime.watch import PythonWatch
from gotlang.types import OptionalType, accepts, fits, of_value


@final
class Runner(Struct):
    """The environment of a run without its inputs. Runs that share one (rows of a dataset) have separate
    process caches, and their limits, budget and persistent cache in common.

    `changes` lays out calls of Python that changes the graph. `observe` is the caller's own observer,
    `record` that of a recording: neither ends the other if it fails. `coordination` is with other processes
    on the cache. `on_loss` is called when the cache can no longer store anything.
    """

    program: Program
    models: Callable[[str | None], Model]
    functions: Mapping[str, Callable[..., Any]]
    corpora: Mapping[str, Callable[..., list[str]]]
    params: Mapping[str, Any]
    settings: RunSettings
    budget: Budget
    limits: RequestLimits
    cache: Cache | None = None
    observe: Observer | None = None
    changes: Layout | None = None
    record: Observer | None = None
    coordination: Coordination | None = None
    on_loss: Callable[[str], None] | None = None
    prove: Callable[[Scheme, Mapping[str, Any]], None] | None = None
    """Called before a run sends anything: raises UsageError for a budget that is not proven."""
    stream: bool = False
    """Whether completions are observed while they arrive."""
    engines: set[GraphEngine] = field(default_factory=set)
    watch: PythonWatch = field(default_factory=lambda: PythonWatch(None))
    """The time limit of Python in expressions, which `settings` has."""
    _tables: ProgramTables | None = None

    def __post_init__(self) -> None:
        self.watch.timeout_s = self.settings.timeout_s

    @property
    def tables(self) -> ProgramTables:
        """What its runs know of the program with these functions."""
        tables = self._tables
        if tables is None or tables.program is not self.program or tables.functions is not self.functions:
            tables = self._tables = ProgramTables(self.program, self.functions, self.watch)
        return tables

    async def run(
        self, scheme: Scheme, inputs: Mapping[str, Any], truth: Any = None, *, has_truth: bool = False
    ) -> Outcome:
        """Run a scheme. Raises RunError, with the outcome until then, if it ends without a result; cancelling
        leaves nothing running. Raises UsageError, before it sends anything, for invalid inputs and for a
        budget that is not proven."""
        with relaxed_gc():
            given = check_inputs(scheme, inputs)
            if self.prove is not None:
                self.prove(scheme, given)
            return await self._run(scheme, given, truth, has_truth)

    async def _run(self, scheme: Scheme, inputs: dict[str, Any], truth: Any, has_truth: bool) -> Outcome:
        settings, tables = self.settings, self.tables
        order = scheduler(settings.schedule, tables.remaining)
        started = asyncio.get_running_loop().time()
        notes: dict[str, None] = {}
        observe = guarded((self.record, self.observe), notes)
        queue = self.limits.queue()
        sampler = Sampler(
            Ledger(),
            self.budget,
            queue,
            notes,
            cache=self.cache,
            coordination=self.coordination,
            observe=observe,
            on_loss=self.on_loss,
            streaming=self.stream,
        )
        context = Context(
            tables,
            Graph(),
            sampler,
            self.models,
            self.functions,
            self.corpora,
            self.params,
            settings,
            truth,
            has_truth,
            observe,
            media=media_in(dict(scheme.parameters), inputs),
        )
        params = Frame(None, None, None, dict(self.params))
        frame = Frame(params, params, scheme.name, inputs)
        try:
            grown = {"score": score, "change": self.changes, **_RARE}
            handle = lay_out(Expander(context, grown), scheme, frame)
        except GraphFull as error:
            raise RunError(error.message, help=error.help) from None
        engine = GraphEngine(context, order, settings.concurrency)
        self.engines.add(engine)
        try:
            await engine.run(handle.operation)
        finally:
            self.engines.discard(engine)
            sampler.finish()
        wall = asyncio.get_running_loop().time() - started
        return outcome_of(context, scheme, handle, wall, engine.stopped)

    def stop(self, reason: str) -> None:
        """Let every run finish its requests in flight, and send no more."""
        for engine in self.engines:
            engine.stop(reason)


def _tools(*step: Any) -> Handle:
    from gotlang.runtime.tools import tools

    return tools(*step)


def _search(*step: Any) -> Handle:
    from gotlang.runtime.search import search

    return search(*step)


def _first(*step: Any) -> Handle:
    from gotlang.runtime.first import first

    return first(*step)


_RARE: Mapping[str, Layout] = {"tools": _tools, "search": _search, "first": _first}
"""The layout functions that are imported only if a program has such a step."""


def check_inputs(scheme: Scheme, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """All inputs; an optional one that is missing is none. Raises UsageError for inputs that are missing,
    unknown, or of the wrong type."""
    wanted = dict(scheme.parameters)
    takes = "its inputs: " + (", ".join(f"{name}: {type_}" for name, type_ in scheme.parameters) or "none")
    for name, value in inputs.items():
        if name not in wanted:
            raise UsageError(f"scheme `{scheme.name}` has no input `{name}`", help=takes)
        if why := fits(wanted[name], value):
            raise UsageError(f"input `{name}`: {why}")
    left_out = {name: type_ for name, type_ in wanted.items() if name not in inputs}
    if missing := [f"`{name}`" for name, type_ in left_out.items() if not isinstance(type_, OptionalType)]:
        raise UsageError(f"scheme `{scheme.name}` needs {', '.join(missing)}", help=takes)
    return {**inputs, **dict.fromkeys(left_out)}


def check_params(program: Program, given: Mapping[str, Any]) -> dict[str, Any]:
    """Every param of a program with its value, the given one or its default. Raises UsageError for an unknown
    param, or a value outside its type or range."""
    table = {param.name: param for param in program.params}
    for name, value in given.items():
        if name not in table:
            from gotlang.diagnostics import suggestion

            known = suggestion(name, table) or f"its params: {', '.join(table) or 'none'}"
            raise UsageError(f"this program has no param `{name}`", help=known)
        _check_param(table[name], value)
    return {**{param.name: param.default for param in program.params}, **given}


def _check_param(param: Param, value: Any) -> None:
    if why := fits(param.type, value):
        raise UsageError(f"param `{param.name}`: {why}")
    domain = param.domain
    if domain is None:
        return
    for part in value if param.each and isinstance(value, list) else [value]:
        if domain.choices:
            if part not in domain.choices:
                choices = ", ".join(map(str, domain.choices))
                raise UsageError(f"param `{param.name}`: {part!r} is not one of {choices}")
        elif domain.low is not None and domain.high is not None and not domain.low <= part <= domain.high:
            raise UsageError(
                f"param `{param.name}`: {part!r} is outside {domain.low}..{domain.high}",
                help="the program declares its range",
            )


def check_truth(scheme: Scheme, truth: Any) -> None:
    """Raise UsageError for a ground truth of a type that the scheme cannot compare with its result."""
    if not accepts(scheme.truth, of_value(truth)) and (why := fits(scheme.truth, truth)):
        raise UsageError(f"the known answer `truth`: {why}")
