"""One run of a scheme: from inputs to a result with its cost and its graph."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, final

from gotlang.cache.base import Cache
from gotlang.errors import RunError, UsageError
from gotlang.ir.evaluate import Evaluator
from gotlang.ir.program import Param, Program, Scheme
from gotlang.models.base import Model
from gotlang.runtime.budget import Budget
from gotlang.runtime.calls import BLOCKS
from gotlang.runtime.calls import scheme as lay_out
from gotlang.runtime.collecting import seldom
from gotlang.runtime.context import Compile, Context, Failure
from gotlang.runtime.ending import best_score, best_so_far, measured, no_result, truly_failed, wrong_result
from gotlang.runtime.engine import Engine
from gotlang.runtime.events import Observer, guarded
from gotlang.runtime.expand import Expander
from gotlang.runtime.frame import Frame, Handle
from gotlang.runtime.gate import Gate
from gotlang.runtime.graph import DONE, Graph, GraphFull, largest_volume
from gotlang.runtime.ledger import Ledger, Times
from gotlang.runtime.remaining import Remaining
from gotlang.runtime.sampling import Sampler
from gotlang.runtime.scheduler import scheduler
from gotlang.thought import Thought
from gotlang.types import ListType, Type, accepts, fits, of_value

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
@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run gave. `value` is None, and `partial` tells why, where a budget or an interruption ended it
    without one. `hops` are the model calls on the longest path to the result. `stopped` tells that somebody
    stopped the run before its end; `notes` is what models said beside their answers, and what went wrong
    beside the run."""

    scheme: str
    value: Any
    score: float | None
    truth: bool | None
    thoughts: tuple[Thought, ...]
    ledger: Ledger
    times: Times
    hops: int
    volume: int
    operations: int
    thought_count: int
    failures: tuple[Failure, ...]
    wall_s: float
    partial: str | None = None
    skipped: int = 0
    stopped: bool = False
    notes: tuple[str, ...] = ()
    graph: Graph = field(default_factory=Graph, repr=False, compare=False)


@final
@dataclass(slots=True)
class Runner:
    """Everything a run needs but its inputs; several runs may share one (rows of a data set), with their
    process cache apart and their gate, budget and persistent cache in common. `observe` is the caller's own,
    `record` what keeps a recording: neither ends the other where it fails."""

    program: Program
    models: Callable[[str | None], Model]
    functions: Mapping[str, Callable[..., Any]]
    corpora: Mapping[str, Callable[..., list[str]]]
    params: Mapping[str, Any]
    settings: Settings
    budget: Budget
    gate: Gate
    cache: Cache | None = None
    observe: Observer | None = None
    compile: Compile | None = None
    record: Observer | None = None
    engines: set[Engine] = field(default_factory=set)

    async def run(
        self, scheme: Scheme, inputs: Mapping[str, Any], truth: Any = None, *, has_truth: bool = False
    ) -> Outcome:
        """Run a scheme. Raises RunError, with what was done until then, where it ends without a result;
        cancelling leaves nothing running."""
        check_inputs(scheme, inputs)
        settings, remaining = self.settings, Remaining(self.program)
        order = scheduler(settings.schedule, remaining)
        started = asyncio.get_running_loop().time()
        notes: dict[str, None] = {}
        observe = guarded((self.record, self.observe), notes)
        sampler = Sampler(Ledger(), self.budget, self.gate.lane(), notes, cache=self.cache, observe=observe)
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
            self.compile,
            settings.timeout_s,
            settings.wave,
            observe,
        )
        root = Frame(None, (), dict(self.params))
        frame = Frame(root, (scheme.name,), dict(inputs))
        try:
            handle = lay_out(Expander(context, BLOCKS, remaining), scheme, frame)
        except GraphFull as error:
            raise RunError(error.message, help=error.help) from None
        engine = Engine(context, order, settings.concurrency)
        self.engines.add(engine)
        try:
            with seldom():
                await engine.run(handle.operation)
        finally:
            self.engines.discard(engine)
            sampler.finish()
        wall = asyncio.get_running_loop().time() - started
        return _outcome(context, scheme, handle, wall, engine.stopped)

    def stop(self, reason: str) -> None:
        """Let every run under way finish what it asked for, and ask nothing more."""
        for engine in self.engines:
            engine.stop(reason)


def _outcome(context: Context, scheme: Scheme, handle: Handle, wall: float, stopped: str | None) -> Outcome:
    operation, sampler, graph = handle.operation, context.sampler, context.graph
    done = operation.state == DONE and bool(operation.output)
    partial = sampler.budget.reason() if sampler.refused else None
    # A stop that came when nothing was left to ask changes nothing.
    if stopped is not None and (context.skipped or not done):
        partial = stopped
    thoughts: tuple[Thought, ...] = ()
    lost: RunError | None = None
    if done:
        thoughts = tuple(operation.output)
    elif partial is None or truly_failed(context, operation):
        lost = no_result(context, operation)
    else:
        operation, thoughts = best_so_far(graph, scheme)
    many = scheme.many and operation is handle.operation
    value: Any = [t.value for t in thoughts] if many else thoughts[0].value if thoughts else None
    if done and (why := fits(ListType(scheme.result) if many else scheme.result, value)):
        lost = wrong_result(scheme, operation, why)
    ledger = sampler.ledger
    ledger.settle(graph, operation)
    outcome = Outcome(
        scheme.name,
        value,
        best_score(thoughts),
        measured(context, scheme) if done else None,
        thoughts,
        ledger,
        ledger.times,
        operation.hops,
        largest_volume(thoughts),
        len(graph.operations) - graph.constants,
        sum(t.maker is o and not t.empty for o in graph.operations for t in o.output),
        tuple(sorted(context.failures, key=lambda f: (f.place, -1 if f.draw is None else f.draw, f.reason))),
        wall,
        partial,
        context.skipped,
        partial is not None and partial == stopped,
        tuple(sampler.notes),
        graph,
    )
    if lost is not None:
        lost.outcome = outcome  # what failed was paid for all the same, and can be looked at
        raise lost
    return outcome


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
