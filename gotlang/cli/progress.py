"""Progress on stderr: a few lines that are redrawn on a terminal, otherwise plain lines; and Ctrl-C."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, Self, TextIO, final

from gotlang.cli.output import FAILED, INTERRUPTED, complain, count, cut, duration, message
from gotlang.result import NOTHING_SPENT, dollars
from gotlang.runtime.graph import RUNNING, Operation
from gotlang.runtime.sampler.events import (
    Added,
    Asked,
    Ended,
    Event,
    Failure,
    Retry,
    RowsEnded,
    Started,
    Streamed,
    Unsaved,
)

if TYPE_CHECKING:
    from gotlang.api import Options, Session
    from gotlang.report.history import State
    from gotlang.result import Spent

EVERY_S = 5.0
"""Seconds between plain lines."""
OUTAGE_S = 8.0
"""Seconds of only failed requests after which a model counts as out of service."""
REMIND_S = 60.0
"""Seconds between two reports of an outage."""
_REDRAWS_PER_SECOND = 8
_BAR = 24
"""The width of the bar of rows."""
_WIDE = 60
"""Terminals with fewer columns have no room for the bar."""
_ON_SCREEN: list[Any] = []
"""The display that is being redrawn."""
_MOST_NODES = 4
"""Maximum number of nodes in the progress line; the summary has all."""


@final
class Progress:
    """An observer that counts. Several runs may share one, as the rows of a data set do: then `rows` is their
    number, and `row_done` is called for each that ended.

    `budget` returns what was spent and its limits (None: unknown yet), `priced` whether prices are known.
    `now` returns seconds on any clock. `notice` is reported once, with the first response.
    """

    def __init__(
        self, *, rows: int | None = None, notice: str = "", now: Callable[[], float] = time.monotonic
    ) -> None:
        self.rows = rows
        self.notice = notice
        self.rows_done = 0
        self.budget: Any = None
        self._before = NOTHING_SPENT
        self.priced = True
        self.stopping = False
        self.operations = 0
        self.done = 0
        self.lost = 0
        self.paid = 0
        self.cached = 0
        self.failed = 0
        self.unsaved = 0
        self.nodes: dict[str, RowsEnded] = {}
        self._trouble = ""
        self._retry: tuple[Retry, float] | None = None
        self._out: tuple[float, str] | None = None
        self._now = now
        self._started = now()
        self._running: dict[int, Operation] = {}

    def __call__(self, event: Event) -> None:
        """Count an event."""
        match event:
            case Added():
                self.operations += event.more
            case Started():
                self._running[id(event.operation)] = event.operation
            case Ended():
                self._running.pop(id(event.operation), None)
                self.done += 1
            case Asked():
                for sample in event.samples:
                    if isinstance(sample, tuple):
                        self._notify()
                        self.paid += sample[1] == "model"
                        if sample[1] == "model":
                            self._retry = self._out = None
                        self.cached += sample[1] != "model"
            case Failure():
                self.failed += 1
                self.lost += event.fatal
            case Retry():
                self._retry = event, self._now()
                self._out = self._out or (self._now(), time.strftime("%H:%M:%S"))
            case RowsEnded():
                self._notify()
                self.paid += event.calls
                self.cached += event.cached
                self.failed += event.failed
                self.nodes[event.node] = self.nodes.get(event.node, RowsEnded()).and_these(event)
            case Unsaved():
                self.unsaved += event.more
                if event.reason and not self._trouble:
                    complain(f"completions cannot be cached at the moment: {event.reason}")
                self._trouble = event.reason or self._trouble

    def _notify(self) -> None:
        if self.notice:
            complain(self.notice)
            self.notice = ""

    def attach(self, session: Session) -> None:
        """Report the spending of a session in addition to earlier ones."""
        self._before = self.spent or NOTHING_SPENT
        self.budget = session.runner.budget
        self.priced = session.model.price is not None

    def tell_not_cached(self) -> None:
        """Report completions that could not be cached, if there are any."""
        if self.unsaved:
            are = "1 completion is" if self.unsaved == 1 else f"{self.unsaved:,} completions are"
            complain(f"{are} not in the cache and would be billed again: {self._trouble}")

    def row_done(self, _: object = None) -> None:
        """Count a finished row of the data set."""
        self.rows_done += 1

    def planned(self, rows: int) -> None:
        """Add to the number of rows."""
        self.rows = (self.rows or 0) + rows

    @property
    def running(self) -> int:
        """Operations that wait for a model or a tool."""
        # No event reports that an operation failed, but its state does.
        return sum(operation.state == RUNNING for operation in list(self._running.values()))

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return self._now() - self._started

    @property
    def seconds_left(self) -> float | None:
        """An estimate from the rows done; None if it is unknown how many are left."""
        if not self.rows or not self.rows_done:
            return None
        return self.seconds / self.rows_done * (self.rows - self.rows_done)

    @property
    def spent(self) -> Spent | None:
        """The spending so far; None before the start."""
        return None if self.budget is None else self._before + self.budget.spent(priced=self.priced)

    @property
    def waiting(self) -> int:
        """Operations that are known but not ready, or held back by `--concurrency`."""
        return max(0, self.operations - self.done - self.lost - self.running)

    def lines(self) -> list[str]:
        """The progress, most important first: rows, operations, calls and money."""
        far = [f"{self.rows_done} of {self.rows} rows"] if self.rows is not None else []
        left = self.seconds_left
        if left is not None:
            far.append(f"{duration(left)} left")
        operations = f"{self.done:,} operations done, {self.running:,} running, {self.waiting:,} waiting"
        calls = self.paid + self.cached
        found = [count(calls, "call") + (f" ({self.cached:,} cached)" if self.cached else "")]
        if self.failed:
            found.append(f"{self.failed:,} failed")
        if self.unsaved:
            found.append(f"{self.unsaved:,} not cached")
        if self.seconds > 0:
            found.append(f"{calls / self.seconds:.1f} per second")
        found.append(self._limits())
        # The work of other nodes is known row by row.
        groups = (far, [self._retries()], [self._nodes_line() if self.nodes else operations], found)
        return [line for parts in groups if (line := " · ".join(part for part in parts if part))]

    @property
    def outage(self) -> str:
        """`no response since 14:03:12 (2 min): HTTP 503`, while all requests fail; empty otherwise."""
        out, retry = self._out, self._retry
        if out is None or retry is None or (lasts := self._now() - out[0]) < OUTAGE_S:
            return ""
        return f"{retry[0].model}: no response since {out[1]} ({duration(lasts)}): {cut(retry[0].reason, 60)}"

    def _retries(self) -> str:
        """`retry 3 of 6 in 8 s: HTTP 500`, until the next completion; empty without one."""
        if self._retry is None:
            return ""
        event, at = self._retry
        left = event.seconds - (self._now() - at)
        when = f"in {duration(left)}" if left > 0 else "in flight"
        return f"retry {event.number} of {event.most} {when}: {cut(event.reason, 60)}"

    def _nodes_line(self) -> str:
        """`3 nodes: 10.0.0.5 40 rows, 10.0.0.6 38 rows, ...`."""
        each = [f"{node.node} {count(node.rows, 'row')}" for node in list(self.nodes.values())[:_MOST_NODES]]
        more = ["..."] * (len(self.nodes) > _MOST_NODES)
        return f"{count(len(self.nodes), 'node')}: {', '.join([*each, *more])}"

    def summary(self, *, simulated: bool = False) -> str:
        """`spent $0.0451 on 37 calls`, the unused part of limits, and what each node did, on a line of its
        own."""
        lines = [f"spent {self.spent or 'nothing'}" + (" (simulated)" if simulated else "") + self._unused()]
        for (name, *_, rate, usd), node in zip(self.each_node(), self.nodes.values(), strict=True):
            parts = [count(node.rows, "row"), count(node.calls, "call"), f"{node.cached:,} cached"]
            lines.append(f"node {name}: {', '.join([*parts, f'{rate} per second', usd])}")
        return "\n".join(lines)

    def each_node(self) -> list[tuple[str, ...]]:
        """What each node did so far, as `RowsEnded.cells` has it."""
        return [node.cells(self.seconds) for node in self.nodes.values()]

    def _unused(self) -> str:
        """The unused part of limits, if there are any."""
        budget, spent, left = self.budget, self.spent, list[str]()
        if spent is None or not budget.whole:
            return ""
        if budget.max_usd is not None:
            left.append(dollars(max(0.0, budget.max_usd - spent.most_usd)))
        if budget.max_calls is not None:
            left.append(count(max(0, budget.max_calls - spent.calls - spent.uncertain_calls), "call"))
        return f"; not used: {' and '.join(left)}" if left else ""

    def line(self) -> str:
        """The whole progress on one line."""
        return ("stopping: " if self.stopping else "") + " · ".join(self.lines())

    def _limits(self) -> str:
        if self.budget is None:
            return ""
        parts = [] if self.priced else ["cost unknown"]
        return ", ".join([*parts, *self.budget.used(priced=self.priced)])


@contextmanager
def display(progress: Progress, *, quiet: bool = False, every_s: float = EVERY_S) -> Iterator[None]:
    """Show a Progress within the block, and leave only a report of what could not be cached.

    A thread draws, so that the display continues while a loop is busy. `quiet` shows only the report. What
    the program's Python prints meanwhile goes to stderr too, since stdout is for the result.
    """
    ended = threading.Event()

    def lines() -> None:
        while not ended.wait(every_s):
            complain(progress.line())

    failed = True
    try:
        with ExitStack() as stack:
            if not quiet and _redraws(sys.stderr):
                live = stack.enter_context(_live_lines(progress))
                _ON_SCREEN.append(live)
                stack.callback(_ON_SCREEN.remove, live)
            elif not quiet:
                thread = threading.Thread(target=lines, name="progress", daemon=True)
                thread.start()
                stack.callback(thread.join)
                stack.callback(ended.set)
            stack.enter_context(redirect_stdout(sys.stderr))
            yield
        failed = False
    finally:
        if failed or progress.rows is not None:
            progress.tell_not_cached()  # otherwise it is among the notes of the result


@contextmanager
def off_screen() -> Iterator[None]:
    """Remove the redrawn lines within the block, so that the user can read and type there."""
    drawn = [*_ON_SCREEN]
    for live in drawn:
        live.stop()
    try:
        yield
    finally:
        for live in drawn:
            if live in _ON_SCREEN:
                live.start(refresh=True)


@contextmanager
def outages(progress: Progress, record: Callable[[str], None]) -> Iterator[None]:
    """Within the block, report that a model does not respond, after `OUTAGE_S` and then every `REMIND_S`, and
    that it responds again. `record` is called with the same, and with an empty text at the end of an
    outage."""
    ended = threading.Event()

    def watch() -> None:
        told, last = None, False
        while not last:
            last = ended.wait(0.5)
            now, outage = time.monotonic(), progress.outage
            if outage and (told is None or now - told >= REMIND_S):
                told = now
                record(outage)
                complain(
                    f"{outage}; requests are retried. Ctrl-C ends the command; run it again later to continue"
                )
            elif not outage and told is not None:
                told = None
                record("")
                complain("the model responds again")

    thread = threading.Thread(target=watch, name="outages", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _redraws(stream: TextIO) -> bool:
    """Whether lines on a stream can be overwritten."""
    named = os.name == "nt" or os.environ.get("TERM") not in (None, "", "dumb", "unknown")
    return named and stream.isatty()


def _live_lines(progress: Progress) -> Any:
    from rich.console import Console, Group
    from rich.live import Live
    from rich.padding import Padding
    from rich.progress_bar import ProgressBar
    from rich.spinner import Spinner
    from rich.table import Table
    from rich.text import Text

    console = Console(stderr=True)
    spinner = Spinner("dots" if console.encoding.startswith("utf") else "line")
    bar = _BAR if console.width >= _WIDE else 0

    def draw() -> Any:
        first, *rest = progress.lines()
        head = Table.grid(padding=(0, 1))
        cells: list[Any] = [spinner, Text(("stopping: " if progress.stopping else "") + first)]
        if progress.rows and bar:
            cells.insert(1, ProgressBar(progress.rows, progress.rows_done, width=bar))
        head.add_row(*cells)
        return Group(head, *(Padding(Text(line), (0, 0, 0, 2), expand=False) for line in rest))

    return Live(
        get_renderable=draw,
        console=console,
        refresh_per_second=_REDRAWS_PER_SECOND,
        transient=True,
        redirect_stdout=False,  # output that is printed meanwhile appears above the lines
    )


PATIENCE_S = 0.8
"""Seconds after a second Ctrl-C until the process ends in any case."""


@final
class Interrupted(KeyboardInterrupt):
    """The user pressed Ctrl-C; the text says how to continue."""


def proceed(options: Options) -> str:
    """How to continue after an interruption: only cached calls are not lost."""
    return (
        ""
        if options.cache is None
        else "; run the same command again to continue: completed calls are cached"
    )


@final
class Interrupts:
    """Within its block, the first SIGINT or SIGTERM stops the attached session, and the next one cancels the
    task that it was attached in; if that does not help within a second, `end` is called with the state of the
    run and an error, and the process ends.
    """

    def __init__(
        self, progress: Progress, end: Callable[[State, str | None], object] = lambda *_: None
    ) -> None:
        self._progress = progress
        self._end = end
        self._attached: tuple[Session, asyncio.AbstractEventLoop, asyncio.Task[Any] | None] | None = None
        self._before: dict[int, Any] = {}
        self._deadline: threading.Timer | None = None
        self.count = 0

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._received)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        # After a second signal the deadline stays: closing connections and threads may hang too.
        if self.count <= 1 and self._deadline is not None:
            self._deadline.cancel()

    def attach(self, session: Session) -> None:
        """Stop this session, which runs in the current task."""
        self._attached = session, asyncio.get_running_loop(), asyncio.current_task()
        session.runner.watch.on_stuck = self._fail
        self._progress.attach(session)

    def _received(self, number: int, frame: FrameType | None) -> None:
        if self._attached is None:
            raise KeyboardInterrupt
        session, loop, task = self._attached
        self.count += 1
        if self.count == 1:
            if session.runner.watch.hasten(PATIENCE_S):
                self._stop(session)  # the loop waits for a function of the program
            else:
                loop.call_soon_threadsafe(self._stop, session)
        elif self.count == 2:
            self._deadline = threading.Timer(PATIENCE_S, self._leave)
            self._deadline.daemon = True
            self._deadline.start()
            if task is not None:
                loop.call_soon_threadsafe(task.cancel)
        else:
            self._leave()

    def _stop(self, session: Session) -> None:
        session.stop("interrupted")
        self._progress.stopping = True
        running = self._progress.running
        complain(f"stopping: waiting for {running or 'requests'} in progress; Ctrl-C again stops immediately")

    def _fail(self, words: str) -> None:
        if self.count:
            self._leave()
        self._end("failed", words)
        message(words, "a function must not catch every exception, as `except:` does")
        os._exit(FAILED)

    def _leave(self) -> None:
        self._end("interrupted", None)
        complain("stopped immediately; completed calls are cached")
        os._exit(INTERRUPTED)


_Name = tuple[str, int]


@final
class StreamPrinter:
    """An observer that prints completions as they grow: the one that began first, until it ends, then the
    next. One that starts again after a failure is printed again."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._texts: dict[_Name, str] = {}
        self._prompts: dict[_Name, str] = {}
        self._ended: set[_Name] = set()
        self._printed: str | None = None

    def __call__(self, event: Event) -> None:
        """Process an event."""
        match event:
            case Streamed(key=key, number=number):
                self._texts[key, number] = event.text
                self._prompts[key, number] = event.prompt
            case Asked(key=key, numbers=numbers):
                self._ended |= {(key, number) for number in numbers}
            case _:
                return
        while self._texts:
            name = next(iter(self._texts))
            self._print(name, self._texts[name])
            if name not in self._ended:
                break
            del self._texts[name]
            self._out.write("\n")
            self._printed = None
        self._out.flush()

    def _print(self, name: _Name, text: str) -> None:
        if self._printed is None:
            self._out.write(f"{self._prompts[name]}: ")
            self._printed = ""
        elif not text.startswith(self._printed):
            self._out.write(f"\n{self._prompts[name]}, again: ")
            self._printed = ""
        more, self._printed = text[len(self._printed) :], text
        self._out.write("".join(c if c.isprintable() or c in "\n\t" else "?" for c in more))
