"""One run of a scheme: from inputs to a result with its cost and its graph."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, final

from gotlang.cache.base import Cache
from gotlang.errors import EvaluationError, RunError, UsageError
from gotlang.ir.evaluate import Evaluator
from gotlang.ir.program import Param, Program, Scheme
from gotlang.ir.thought import Thought
from gotlang.models.base import Model
from gotlang.runtime.budget import Budget
from gotlang.runtime.context import Context, Failure
from gotlang.runtime.engine import Engine
from gotlang.runtime.events import Observer
from gotlang.runtime.expand import Expander
from gotlang.runtime.frame import Frame, Handle
from gotlang.runtime.gate import Gate
from gotlang.runtime.graph import DONE, Graph, Operation, volume
from gotlang.runtime.ledger import Ledger, Times
from gotlang.runtime.sampling import Sampler
from gotlang.runtime.scheduler import scheduler
from gotlang.types import Type, accepts, fits, of_value

DEFAULT_CONCURRENCY = 64
"""Requests under way at the same time where nothing else is said."""


@final
@dataclass(frozen=True, slots=True)
class Settings:
    """How to run. `concurrency` None means no limit. `wave` is how many answers the first wave of an
    early-stopped sampling asks for (None: a third). `fail_on_partial` is for callers that want no half result."""

    seed: int = 0
    concurrency: int | None = DEFAULT_CONCURRENCY
    schedule: str = "breadth-first"
    wave: int | None = None


@final
@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run gave. `value` is None, and `partial` tells why, where a budget or an interruption ended it
    without one. `hops` are the model calls on the longest path to the result. `stopped` tells that somebody
    stopped the run before its end; `notes` is what models said beside their answers."""

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
    process cache apart and their gate, budget and persistent cache in common."""

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
    engines: set[Engine] = field(default_factory=set)

    async def run(
        self, scheme: Scheme, inputs: Mapping[str, Any], truth: Any = None, *, has_truth: bool = False
    ) -> Outcome:
        """Run a scheme. Raises RunError where it ends without a result; cancelling leaves nothing running."""
        check_inputs(scheme, inputs)
        started = asyncio.get_running_loop().time()
        ledger = Ledger()
        sampler = Sampler(ledger, self.budget, self.gate, cache=self.cache, observe=self.observe)
        graph = Graph()
        evaluate = Evaluator({s.name: s for s in self.program.scores}, self.functions)
        context = Context(
            self.program,
            evaluate,
            graph,
            sampler,
            self.models,
            self.functions,
            self.corpora,
            self.params,
            self.settings.seed,
            truth,
            has_truth,
            self.settings.wave,
            self.observe,
        )
        root = Frame(None, (), dict(self.params))
        frame = Frame(root, (scheme.name,), dict(inputs))
        try:
            handle = Expander(context).scheme(scheme, frame)
        except EvaluationError as error:
            raise RunError(error.message, help=error.help) from None
        engine = Engine(context, scheduler(self.settings.schedule), self.settings.concurrency)
        self.engines.add(engine)
        try:
            await engine.run(handle.operation)
        finally:
            self.engines.discard(engine)
        wall = asyncio.get_running_loop().time() - started
        return _outcome(context, scheme, handle, ledger, wall, engine.stopped)

    def stop(self, reason: str) -> None:
        """Let every run under way finish what it asked for, and ask nothing more."""
        for engine in self.engines:
            engine.stop(reason)


def _outcome(
    context: Context, scheme: Scheme, handle: Handle, ledger: Ledger, wall: float, stopped: str | None
) -> Outcome:
    operation = handle.operation
    done = operation.state == DONE and bool(operation.output)
    sampler = context.sampler
    partial = sampler.budget.reason() if sampler.refused else None
    # A stop that came when nothing was left to ask changes nothing.
    if stopped is not None and (context.skipped or not done):
        partial = stopped
    if done:
        thoughts: tuple[Thought, ...] = tuple(operation.output)
    elif partial is None:
        raise _no_result(context, [failure for failure in context.failures if failure.draw is None])
    else:
        operation, thoughts = best_so_far(context.graph, scheme)
    many = scheme.many and operation is handle.operation
    value: Any = [t.value for t in thoughts] if many else thoughts[0].value if thoughts else None
    measured = [context.measured[key] for key in sorted(context.measured, key=str)]
    top = [context.measured[k] for k in context.measured if len(k) == 2 and k[0] == scheme.name]
    truth = (top or measured or [None])[-1]
    unique = {t.identity for o in context.graph.operations for t in o.output if t.value is not None}
    return Outcome(
        scheme.name,
        value,
        _score(thoughts),
        truth if operation is handle.operation else None,
        thoughts,
        ledger,
        operation.times,
        operation.hops,
        max((volume(t) for t in thoughts), default=0),
        sum(o.role != "constant" for o in context.graph.operations),
        len(unique),
        tuple(context.failures),
        wall,
        partial,
        context.skipped,
        partial is not None and partial == stopped,
        tuple(sampler.notes),
        context.graph,
    )


def _score(thoughts: tuple[Thought, ...]) -> float | None:
    if not thoughts:
        return None
    best = max(thoughts, key=lambda t: t.goodness)
    return best.score


def _no_result(context: Context, fatal: list[Failure]) -> RunError:
    if not fatal:
        return RunError("the run left no thought", failures=context.failures)
    first = fatal[0]
    more = f" (and {len(fatal) - 1} more failures)" if len(fatal) > 1 else ""
    return RunError(f"{first.operation}: {first.reason}{more}", failures=context.failures)


def best_so_far(graph: Graph, scheme: Scheme) -> tuple[Operation, tuple[Thought, ...]]:
    """The thought of the result's type that stands latest in the graph, the best scored one of those."""
    best: tuple[tuple[int, float, int], Operation, Thought] | None = None
    fallback = graph.operations[0]
    for operation in graph.operations:
        if operation.state != DONE or operation.role == "constant":
            continue
        for thought in operation.output:
            if thought.value is None or fits(scheme.result, thought.value) is not None:
                continue
            key = (operation.hops, thought.goodness, operation.sequence)
            if best is None or key > best[0]:
                best = (key, operation, thought)
    return (best[1], (best[2],)) if best is not None else (fallback, ())


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
