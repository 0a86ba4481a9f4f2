"""One run of a scheme: from inputs to a result with its cost and its graph."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, final

from gotlang.cache.base import Cache
from gotlang.errors import RunError, UsageError
from gotlang.estimate.remaining import CallsRemaining
from gotlang.ir.evaluate import Evaluator
from gotlang.ir.program import Param, Program, Scheme
from gotlang.models.base import Model
from gotlang.runtime.context import Context
from gotlang.runtime.engine import Engine
from gotlang.runtime.expansion.calls import BLOCKS, score
from gotlang.runtime.expansion.calls import scheme as lay_out
from gotlang.runtime.expansion.expander import Expander, Layout
from gotlang.runtime.gc_tuning import relaxed_gc
from gotlang.runtime.graph import Frame, Graph, GraphFull
from gotlang.runtime.outcome import Outcome, outcome_of
from gotlang.runtime.sampler.budget import Budget
from gotlang.runtime.sampler.events import Observer, guarded
from gotlang.runtime.sampler.ledger import Ledger
from gotlang.runtime.sampler.limits import RequestLimits
from gotlang.runtime.sampler.sampler import Sampler
from gotlang.runtime.scheduler import scheduler
from gotlang.types import Type, accepts, fits, of_value

DEFAULT_CONCURRENCY = 64
"""Requests under way at the same time where nothing else is said."""


DEFAULT_TIMEOUT_S = 180.0
"""Seconds that a function of the program may take where nothing else is said."""


@final
@dataclass(frozen=True, slots=True)
class Settings:
    """How to run. `concurrency` None means no limit. `wave` is how many answers the first wave of an
    early-stopped sampling asks for (None: what is likely cheapest), `timeout_s` how many seconds a function
    that `Call` runs may take (None: as long as it likes)."""

    seed: int = 0
    concurrency: int | None = DEFAULT_CONCURRENCY
    schedule: str = "breadth-first"
    wave: int | None = None
    timeout_s: float | None = DEFAULT_TIMEOUT_S


@final
@dataclass(slots=True)
class Runner:
    """Everything a run needs but its inputs; several runs may share one (rows of a data set), with their
    process cache apart and their gate, budget and persistent cache in common.

    `changes` lays out calls of Python that changes the graph. `observe` is the caller's own observer,
    `record` that of a recording: neither ends the other if it fails.
    """

    program: Program
    models: Callable[[str | None], Model]
    functions: Mapping[str, Callable[..., Any]]
    corpora: Mapping[str, Callable[..., list[str]]]
    params: Mapping[str, Any]
    settings: Settings
    budget: Budget
    limits: RequestLimits
    cache: Cache | None = None
    observe: Observer | None = None
    changes: Layout | None = None
    record: Observer | None = None
    engines: set[Engine] = field(default_factory=set)

    async def run(
        self, scheme: Scheme, inputs: Mapping[str, Any], truth: Any = None, *, has_truth: bool = False
    ) -> Outcome:
        """Run a scheme. Raises RunError, with what was done until then, where it ends without a result;
        cancelling leaves nothing running."""
        check_inputs(scheme, inputs)
        settings, remaining = self.settings, CallsRemaining(self.program)
        order = scheduler(settings.schedule, remaining)
        started = asyncio.get_running_loop().time()
        notes: dict[str, None] = {}
        observe = guarded((self.record, self.observe), notes)
        sampler = Sampler(
            Ledger(), self.budget, self.limits.queue(), notes, cache=self.cache, observe=observe
        )
        context = Context(
            self.program,
            Evaluator({s.name: s for s in self.program.scores}, self.functions),
            Graph(),
            sampler,
            self.models,
            self.functions,
            self.corpora,
            self.params,
            settings.seed,
            truth,
            has_truth,
            settings.timeout_s,
            settings.wave,
            observe,
        )
        root = Frame(None, (), dict(self.params))
        frame = Frame(root, (scheme.name,), dict(inputs))
        try:
            handle = lay_out(Expander(context, BLOCKS, remaining, score, self.changes), scheme, frame)
        except GraphFull as error:
            raise RunError(error.message, help=error.help) from None
        engine = Engine(context, order, settings.concurrency)
        self.engines.add(engine)
        try:
            with relaxed_gc():
                await engine.run(handle.operation)
        finally:
            self.engines.discard(engine)
            sampler.finish()
        wall = asyncio.get_running_loop().time() - started
        return outcome_of(context, scheme, handle, wall, engine.stopped)

    def stop(self, reason: str) -> None:
        """Let every run under way finish what it asked for, and ask nothing more."""
        for engine in self.engines:
            engine.stop(reason)


def check_inputs(scheme: Scheme, inputs: Mapping[str, Any]) -> None:
    """Refuse inputs that a scheme does not take, or that lack. Raises UsageError."""
    wanted = dict(scheme.parameters)
    takes = ", ".join(f"{name}: {type_}" for name, type_ in scheme.parameters) or "nothing"
    for name, value in inputs.items():
        if name not in wanted:
            raise UsageError(f"scheme `{scheme.name}` has no input `{name}`", help=f"it takes {takes}")
        if why := fits(wanted[name], value):
            raise UsageError(f"input `{name}`: {why}")
    if missing := [name for name in wanted if name not in inputs]:
        raise UsageError(
            f"scheme `{scheme.name}` needs {', '.join(f'`{m}`' for m in missing)}", help=f"it takes {takes}"
        )


def check_params(program: Program, given: Mapping[str, Any]) -> dict[str, Any]:
    """Every param of a program with its value: the default, or what was given. Raises UsageError."""
    params = {param.name: param.default for param in program.params}
    table = {param.name: param for param in program.params}
    for name, value in given.items():
        if name not in table:
            from gotlang.diagnostics import nearest

            guess = nearest(name, table)
            known = f"did you mean `{guess}`?" if guess else f"there are {', '.join(table) or 'none'}"
            raise UsageError(f"this program has no param `{name}`", help=known)
        params[name] = _param_value(table[name], value)
    return params


def _param_value(param: Param, value: Any) -> Any:
    if why := fits(param.type, value):
        raise UsageError(f"param `{param.name}`: {why}")
    parts = value if param.each and isinstance(value, list) else [value]
    domain = param.domain
    if domain is not None:
        for part in parts:
            if domain.choices:
                if part not in domain.choices:
                    shown = ", ".join(map(str, domain.choices))
                    raise UsageError(f"param `{param.name}`: {part!r} is none of {shown}")
            elif domain.low is not None and domain.high is not None and not domain.low <= part <= domain.high:
                raise UsageError(
                    f"param `{param.name}`: {part!r} is outside {domain.low}..{domain.high}",
                    help="its range stands where the program declares it",
                )
    return value


def check_truth(scheme: Scheme, truth: Any) -> None:
    """Refuse a known answer that is not of the type the scheme compares with. Raises UsageError."""
    wanted: Type = scheme.truth
    if not accepts(wanted, of_value(truth)) and (why := fits(wanted, truth)):
        raise UsageError(f"the known answer `truth`: {why}")


def now() -> float:
    """Seconds since 1970."""
    return time.time()
