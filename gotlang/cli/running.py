"""One run from the command line: observed, interruptible, written into the history."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from gotlang.api import Options, Program
from gotlang.cli.interrupts import Interrupts
from gotlang.cli.live import Display
from gotlang.cli.output import complain
from gotlang.cli.progress import Progress
from gotlang.cli.values import Given
from gotlang.errors import GotError, RunError
from gotlang.report.history import History, RunRecord, State
from gotlang.runtime.plain import Asks, operations
from gotlang.runtime.sampler.events import Event, Observer
from gotlang.session import Session, run_name, run_to_end
from gotlang.span import Source

if TYPE_CHECKING:
    from gotlang.report.trace import Telemetry, Trace
    from gotlang.result import Result
    from gotlang.runtime.outcome import Outcome

RESUME = "run the same command again: what is paid is in the cache"


@final
@dataclass(frozen=True, slots=True)
class Order:
    """What is to be run. `settings` are the command's parameters, for the history; `resumed` names the run
    that this one repeats."""

    program: Program
    scheme: str
    given: Given
    options: Options
    settings: Mapping[str, Any]
    trace: str | None = None
    otel: str | None = None
    quiet: bool = False
    resumed: str | None = None


@final
class Journal:
    """A run's record. A folder that cannot be written stops no run: it says so once and is silent then."""

    def __init__(self, record: RunRecord) -> None:
        self._history: History | None = History()
        self._record = record
        self._running = False

    def start(self) -> None:
        """Write that it runs."""
        try:
            if self._history is not None:
                self._record = self._history.start(self._record)
                self._running = True
        except OSError as error:
            self._give_up(error)

    def end(self, state: State, progress: Progress, **found: Any) -> None:
        """Write how it ended, the first time; nothing of a run that never started."""
        if self._history is None or not self._running:
            return
        self._running = False
        try:
            self._history.end(self._record, state, spent=progress.paid_for(), **found)
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        assert self._history is not None
        complain(f"this run is not in the history: cannot write {self._history.folder}: {error.strerror}")
        self._history = None


def execute(order: Order) -> tuple[Result, float]:
    """Run it; the result, and the seconds it really took. Raises GotError; KeyboardInterrupt where Ctrl-C
    came twice, or where it came once and there was no result to keep."""
    started = time.monotonic()
    name = run_name()
    progress, asks = Progress(), Asks()
    sources = order.program.compilation.sources
    journal = Journal(_record(order, name, sources))
    with ExitStack() as stack:
        trace, telemetry = _trace(order, name, stack), _telemetry(order, name, stack)
        observers: list[Observer] = [progress, asks]
        observers += [observer for observer in (trace, telemetry) if observer is not None]

        def observe(event: Event) -> None:
            for observer in observers:
                observer(event)

        def lines(outcome: Outcome) -> Iterator[dict[str, Any]]:
            return operations(outcome.graph, sources, asks, order.program.ir(0), outcome.failures)

        async def go() -> Result:
            options = replace(order.options, observe=observe)
            async with Session(order.program, options) as session:
                progress.budget = session.runner.budget
                progress.priced = session.model.price is not None
                journal.start()

                def drain() -> None:
                    session.stop("interrupted")
                    progress.stopping = True
                    complain(
                        f"stopping: waiting for {progress.running} under way, whose answers are kept; "
                        "Ctrl-C again stops at once"
                    )

                with Interrupts(drain, lambda: journal.end("interrupted", progress)):
                    return await session.run(
                        order.given.inputs, scheme=order.scheme, truth=order.given.truth, name=name
                    )

        stack.enter_context(Display(progress, quiet=order.quiet))
        try:
            result = run_to_end(go(), virtual=order.options.simulated)
        except asyncio.CancelledError:
            journal.end("interrupted", progress)
            raise KeyboardInterrupt from None
        except GotError as error:
            graph = lines(error.outcome) if isinstance(error, RunError) and error.outcome is not None else ()
            if progress.stopping:  # what failed then failed because it was stopped
                journal.end("interrupted", progress, error=error.message, graph=graph)
                raise KeyboardInterrupt from None
            journal.end("failed", progress, error=error.message, graph=graph)
            if progress.paid and not order.quiet:
                complain(f"paid for {progress.spent()}")
            raise
        except BaseException:
            journal.end("failed", progress, error="a mistake in gotc")
            raise
    outcome = result.outcome
    state: State = "interrupted" if outcome.stopped else "partial" if outcome.partial else "done"
    journal.end(state, progress, document=result.to_dict(), graph=lines(outcome))
    if trace is not None and trace.broken is not None:
        complain(f"the trace is not whole: cannot write {trace.path}: {trace.broken}")
    return result, time.monotonic() - started


def _trace(order: Order, name: str, stack: ExitStack) -> Trace | None:
    if order.trace is None:
        return None
    from gotlang.report.trace import Trace

    provider = str(order.options.model).partition(":")[0]
    trace = Trace(order.trace, run=name, provider=provider, clock=_clock)
    stack.callback(trace.close)
    return trace


def _telemetry(order: Order, name: str, stack: ExitStack) -> Telemetry | None:
    if order.otel is None:
        return None
    from gotlang.report.trace import Telemetry

    provider = str(order.options.model).partition(":")[0]
    telemetry = Telemetry(
        order.otel, run=name, program=order.program.name, scheme=order.scheme, provider=provider, clock=_clock
    )
    stack.callback(_finish, telemetry)
    return telemetry


def _finish(telemetry: Telemetry) -> None:
    telemetry.close()
    if telemetry.broken is not None:
        complain(f"telemetry is not whole: {telemetry.broken}")


def _clock() -> float:
    return asyncio.get_running_loop().time()


def _record(order: Order, name: str, sources: Mapping[str, Source]) -> RunRecord:
    source = order.program.compilation.source
    cache = order.options.cache
    return RunRecord(
        run=name,
        program=order.program.name,
        path=str(Path(source.name).resolve()),
        sha256=digest(source),
        scheme=order.scheme,
        model=str(order.options.model),
        inputs=order.given.inputs,
        truth=order.given.truth,
        settings=dict(order.settings),
        cache=str(cache) if cache is not None else None,
        resumed=order.resumed,
    )


def digest(source: Source) -> str:
    """64 hexadecimal digits that stand for a program's text."""
    return hashlib.sha256(source.text.encode("utf-8", "replace")).hexdigest()
