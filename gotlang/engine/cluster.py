"""The driver's side of the engine `ray`: one worker on each node, rows handed out as they finish.

Neither `ray.util.ActorPool` nor Ray Data's pool fits. The former gives each actor one call at a time and puts
one that died back into the pool; the latter sends blocks of rows through the object store and repeats a block
as a whole. Here a worker has up to `--parallel` rows, the one with the fewest gets the next, and a row whose
worker is lost goes to another one, which finds in the cache what was paid for.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, redirect_stdout, suppress
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from typing import Any, Final, TextIO, final

from msgspec import structs

from gotlang import keys
from gotlang.cache.coordination import NO_CHARGE
from gotlang.engine.worker import MeasurementJob, Opened, RowReply, Worker, fingerprints
from gotlang.errors import CacheError, CacheLost, GotError, UsageError
from gotlang.evaluate.evaluation import Engine, Notes, RowRun
from gotlang.evaluate.rows import Row
from gotlang.ir.program import MetricFunction, Scheme
from gotlang.metric import Metric
from gotlang.options import Options
from gotlang.packages import pip_install
from gotlang.program import CheckedProgram
from gotlang.runtime.python import refused
from gotlang.runtime.run import Runner
from gotlang.runtime.sampler.events import RowsEnded
from gotlang.runtime.sampler.shared import ROLE, SharedBudget
from gotlang.session import Session
from gotlang.version import __version__

WINDOW_S: Final = 62.0
"""Seconds for which a request counts: a provider's minute, and a margin."""
PATIENCE_S: Final = 10.0
"""Seconds for which a free share waits for a worker until the others get it."""


@final
class Shares:
    """The shares of a limit, initially `1 / count` of it for each of this number of workers.

    Requests of a lost worker still count, so its share is free after `WINDOW_S`; so do requests of others
    with larger shares, so an additional worker may start only after that.
    """

    def __init__(self, workers: int) -> None:
        self.count = self._unused = max(1, workers)
        self._free_from: list[float] = []

    def take(self, now: float) -> float:
        """The time at which a worker may start with a share."""
        if self._unused:
            self._unused -= 1
            return now
        if self._free_from:
            return max(now, self._free_from.pop(0))
        self.count += 1
        return now + WINDOW_S

    def lose(self, now: float, *, sent: bool = True) -> None:
        """A worker with a share has ended; `sent` tells whether it may have sent requests."""
        self._free_from.append(now + WINDOW_S * sent)
        self._free_from.sort()

    def spread(self, now: float) -> None:
        """Distribute unused shares to the running workers."""
        while self._free_from and self._free_from[0] < now - PATIENCE_S and self.count > 1:
            self._free_from.pop(0)
            self.count -= 1


LOOK_S: Final = 0.5
"""Seconds between two checks of the available nodes."""
AWAY_S: Final = 30.0
"""Maximum seconds without any worker before the run ends."""
STARTS: Final = 3
"""Number of workers that fail to start before that is an error."""
OTHERS_S: Final = 5.0
"""Seconds that the first worker waits for the others to start."""
MOST_DEATHS: Final = 5
"""Number of workers that may die while they run a row before the row counts as failed: it may be the
cause."""
_STORE_BYTES: Final = 100 * 2**20
"""Size of a local cluster's object store, which contains a program and its jobs: rows do not go through
it."""
_REACH_S: Final = 10.0


# ---------------------------------------------------------------- requirements


def _check(program: CheckedProgram, options: Options) -> None:
    """Raise UsageError for unsupported options, and NotTrusted for untrusted Python."""
    if (error := refused(program.ir(0), options.python, simulators=options.simulated)) is not None:
        raise error
    if not isinstance(options.chosen_model, str) or not isinstance(options.cache, str | Path | None):
        raise UsageError("with the engine `ray`, specify the model and the cache by name", help=_NAMES)
    for name, given in (("batch", options.batch), ("record", options.record)):
        if given:
            raise UsageError(f"`--{name}` does not work with `--engine ray`", help="leave one of them out")
    for what, value in (("cache", options.cache), ("endpoint", options.base_url)):
        if keys.is_key("", text := str(value)) or "password=" in text:
            raise UsageError(
                f"the address of the {what} has a password, which would be visible in Ray's dashboard",
                help="set it in the environment of every node: PGPASSWORD, or the key's own variable",
            )


_NAMES = "such as `openai:NAME` and postgresql://user@host/database: each node opens its own"


def _connected(address: str | None) -> tuple[Any, bool]:
    """Ray, and whether it was connected here. Raises UsageError."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ImportError:
        words = "the engine `ray` needs Ray, which is not installed"
        raise UsageError(words, help=pip_install("ray")) from None
    if ray.is_initialized():
        return ray, False
    settings: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if address is None:
        settings |= {"include_dashboard": False, "object_store_memory": _STORE_BYTES}
    elif address != "auto":
        _reach(address)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        ray.init(address or "local", **settings)
    except Exception as error:  # any error of Ray about an address: ConnectionError, ValueError, RuntimeError
        raise _unreachable(address, str(error).strip().split("\n")[0]) from None
    if threading.current_thread() is threading.main_thread():
        for number, handler in handlers.items():  # Ray has installed its own handler of SIGTERM
            signal.signal(number, handler)
    return ray, True


def _reach(address: str) -> None:
    """Raise UsageError immediately if nothing listens: Ray would try for a minute."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_REACH_S).close()
    except (OSError, ValueError) as error:
        raise _unreachable(address, str(error)) from None


def _unreachable(address: str | None, why: str) -> UsageError:
    return UsageError(
        f"cannot reach the Ray cluster{f' at {address}' if address else ''}: {why}",
        help="`ray start --head` starts one and prints its address; without --address, a local one is used",
    )


@contextmanager
def _without_rays_lines() -> Iterator[None]:
    """Ray prints messages about nodes to standard output, where results go; they are in its logs, too."""
    with redirect_stdout(_Filtered(sys.stdout)):
        yield


@final
class _Filtered:
    def __init__(self, out: TextIO) -> None:
        self._out = out

    def __getattr__(self, name: str) -> Any:
        return getattr(self._out, name)

    def write(self, text: str) -> int:
        """Write text that is not from Ray's own thread."""
        if threading.current_thread().name == "ray_listen_error_messages":
            return len(text)
        return self._out.write(text)


@asynccontextmanager
async def on_cluster(
    program: CheckedProgram, options: Options
) -> AsyncIterator[tuple[Session, Engine | None]]:
    """A session whose rows run on a cluster. Raises UsageError."""
    _check(program, options)
    # All nodes spend from one budget; one without a name is that of this run.
    own = options.budget is None and (options.max_usd is not None or options.max_calls is not None)
    if own:
        options = structs.replace(options, budget=f"ray-{secrets.token_hex(6)}")
    with _without_rays_lines():
        ray, ours = _connected(options.address)  # first: the session hides keys, which local workers inherit
        try:
            async with Session(program, options) as session:
                cluster = Cluster(ray, program, session, own=own)
                try:
                    await cluster.open()
                    yield session, cluster
                finally:
                    await cluster.close()
                    if own and session.coordination is not None and options.budget is not None:
                        with suppress(CacheError):
                            session.coordination.remove(options.budget)
        finally:
            if ours:
                with redirect_stdout(StringIO()):  # what it has held back of the same
                    ray.shutdown()


# ---------------------------------------------------------------- the cluster


@final
@dataclass(eq=False, slots=True)
class _Node:
    """A node with its worker: its number of running rows, and its name in the coordination."""

    id: str
    name: str
    actor: Any
    opened: Opened
    rows: int = 0


@final
class Cluster:
    """The workers of a session (an `Engine`); nodes may come and go."""

    def __init__(self, ray: Any, program: CheckedProgram, session: Session, *, own: bool) -> None:
        self._own = own
        """Whether the budget is this run's alone."""
        self._ray, self._program, self._session = ray, program, session
        self._nodes: dict[str, _Node] = {}
        self._opening: dict[str, asyncio.Task[None]] = {}
        self._changed = asyncio.Condition()
        self._watching: asyncio.Task[None] | None = None
        self._trouble: GotError | None = None
        self._worked = 0.0
        """The last time there was a worker, or 0."""
        self._most = 1
        self._shares: Shares | None = None
        self._share = 1.0
        self._failed = 0
        """Workers that did not start."""
        self._told = False

    async def open(self) -> None:
        """Start a worker on each node, and wait for the first. Raises UsageError if none starts."""
        options, ray = self._session.options, self._ray
        here = {"127.0.0.1", ray.util.get_node_ip_address()}
        there = {str(node["NodeManagerAddress"]) for node in ray.nodes() if node["Alive"]} - here
        if there and options.cache is not None and "://" not in str(options.cache):
            raise UsageError(
                f"the cache {options.cache} is a file, which {min(there)} cannot see",
                help="use `--cache postgresql://user@host/database`, which every node can reach",
            )
        python = options.python if options.python is False else True  # it was checked here
        sent = structs.replace(options, observe=None, python=python, max_usd=None, max_calls=None)
        self._sent = [ray.put(each) for each in (self._program, sent, os.getcwd())]
        self._sent += [ray.put(fingerprints(self._program)), ray.put(__version__)]
        if options.rpm is not None or options.tpm is not None:
            self._shares = Shares(sum(node["Alive"] for node in ray.nodes()))
        self._actor = ray.remote(num_cpus=0, max_restarts=0, max_concurrency=100_000)(Worker)
        self._watching = asyncio.create_task(self._watch())
        await self._until(lambda: bool(self._nodes))
        with suppress(TimeoutError):  # few rows would all go to the first
            async with asyncio.timeout(OTHERS_S):
                await self._until(lambda: not self._opening)

    async def close(self) -> None:
        """Let the workers close, and end them."""
        if self._watching is not None:
            self._watching.cancel()
        for task in self._opening.values():
            task.cancel()
        leaving = [asyncio.wrap_future(node.actor.close.remote().future()) for node in self._nodes.values()]
        if leaving:
            await asyncio.wait(leaving, timeout=AWAY_S)
        for left in leaving:
            with suppress(Exception):  # it was lost just now
                left.result()
        for node in self._nodes.values():
            self._ray.kill(node.actor)

    async def _watch(self) -> None:
        """Keep a worker on each available node."""
        while True:
            nodes = {str(n["NodeID"]): n for n in await asyncio.to_thread(self._ray.nodes) if n["Alive"]}
            for id in nodes.keys() - self._nodes.keys() - self._opening.keys():
                task = asyncio.create_task(self._start(id, str(nodes[id]["NodeManagerAddress"])))
                self._opening[id] = task
                task.add_done_callback(lambda _, id=id: self._opening.pop(id))  # type: ignore[misc]
            for node in [node for id, node in self._nodes.items() if id not in nodes]:
                await self._lose(node)
            if self._session.stopped is not None and not self._told:
                self._told = True
                for node in self._nodes.values():
                    node.actor.stop.remote(self._session.stopped)
            self._tell_shares()
            await self._wake()
            await asyncio.sleep(LOOK_S)

    async def _start(self, id: str, name: str) -> None:
        from ray.exceptions import RayError
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        now = asyncio.get_running_loop().time
        if self._shares is not None:
            start = self._shares.take(now())
            self._tell_shares()
            await asyncio.sleep(start - now())
        place = NodeAffinitySchedulingStrategy(id, soft=False)
        actor = self._actor.options(scheduling_strategy=place).remote(*self._sent)
        try:
            found: Opened | GotError = await actor.open.remote(self._share)
        except RayError as error:
            why = next((line for line in reversed(str(error).splitlines()) if line.strip()), "").strip()
            found = UsageError(f"no worker starts: {why}", help=_SAME)
            self._failed += 1
        if isinstance(found, Opened):
            others = sum(node.name.partition(" ")[0] == name for node in self._nodes.values())
            self._nodes[id] = _Node(id, f"{name} ({id[:6]})" if others else name, actor, found)
        else:
            self._ray.kill(actor)
            if self._shares is not None:
                self._shares.lose(now(), sent=False)
            if not self._failed or self._failed >= STARTS:  # a node may end while it starts one
                self._trouble = type(found)(f"node {name}: {found.message}", help=found.help)
        await self._wake()

    def _tell_shares(self) -> None:
        """Send the workers their shares of limits per minute."""
        if self._shares is not None:
            self._shares.spread(asyncio.get_running_loop().time())
            if (share := 1 / self._shares.count) != self._share:
                self._share = share
                for node in self._nodes.values():
                    node.actor.share.remote(share)

    async def _lose(self, node: _Node) -> None:
        """A worker no longer responds: what it sent may be charged, the rest of its reservation returns."""
        if self._nodes.get(node.id) is not node:
            return
        del self._nodes[node.id]
        if self._shares is not None:
            self._shares.lose(asyncio.get_running_loop().time())
        with suppress(Exception):  # its node may be gone
            self._ray.kill(node.actor)
        coordination, budget = self._session.coordination, self._session.runner.budget
        if coordination is not None:
            with suppress(CacheError):  # its lease ends
                budget.uncertain += coordination.bury(node.opened.owner).get(
                    getattr(budget, "name", ""), NO_CHARGE
                )

    # Rows

    def parallel(self, rows: int) -> int:
        """Maximum number of concurrent rows, given that of one worker."""
        self._most = rows
        return rows * max(1, len(self._nodes))

    def job(
        self,
        runner: Runner,
        scheme: Scheme,
        metric: Metric,
        measures: Sequence[MetricFunction],
        *,
        count_missing: bool,
        notes: Notes | None,
    ) -> Callable[[Row, int], Awaitable[RowRun]]:
        """A function that runs a row of these on some node; the data that is collected about it is added to
        `notes`."""
        budget = runner.budget
        shared = (budget.name, budget.for_now) if isinstance(budget, SharedBudget) else None
        found = MeasurementJob(
            runner.program,
            scheme,
            runner.params,
            runner.settings,
            runner.limits.total.limit,
            metric,
            tuple(measures),
            count_missing,
            shared,
            ROLE.get(),
            None if notes is None else type(notes),
        )
        name, sent = secrets.token_hex(8), [self._ray.put(found)]

        async def run(row: Row, repeat: int) -> RowRun:
            from ray.exceptions import RayActorError

            for _ in range(MOST_DEATHS):
                lost: str | None = ""
                while lost is not None:
                    if (node := await self._free()) is None:
                        return RowRun(row, repeat, "partial", reason=self._session.stopped)
                    node.rows += 1
                    try:
                        reply: RowReply = await node.actor.run.remote(name, sent, row, repeat)
                    except RayActorError:
                        await self._lose(node)
                        break
                    finally:
                        node.rows -= 1
                        await self._wake()
                    counted = self._count(node, reply, runner, notes)
                    if reply.error is not None:
                        raise reply.error
                    if (lost := reply.lost) is not None:
                        await self._lose(node)
                    elif reply.run is not None:
                        return replace(reply.run, row=row, node=counted)
            ended = GotError(f"{MOST_DEATHS} workers ended while they ran it", help="Ray's logs may say why")
            return RowRun(row, repeat, "failed", reason=ended.message, error=ended)

        return run

    async def settle(self) -> None:
        """Count the spending of all workers, including what lost ones did not report."""
        budget = self._session.runner.budget
        if self._own and isinstance(budget, SharedBudget):
            stored = budget.stored
            budget.charged, budget.uncertain, budget.whole = stored.charged, stored.uncertain, True

    def _count(self, node: _Node, reply: RowReply, runner: Runner, notes: Notes | None) -> RowsEnded:
        """Count the work of a worker for its node."""
        budget = runner.budget
        budget.charged += reply.charged
        budget.uncertain += reply.uncertain
        budget.free_calls += reply.free_calls
        budget.refused += reply.refused
        if notes is not None and reply.notes is not None:
            notes.add(reply.notes)
        usd = float(reply.charged.usd + reply.uncertain.usd)
        counted = structs.replace(reply.counted, node=node.name, usd=usd, rows=1)
        if runner.observe is not None:
            runner.observe(counted)
        return counted

    async def _free(self) -> _Node | None:
        """The worker with the fewest rows, once one can take another; None once the session is stopped."""
        nodes, session = self._nodes, self._session

        def ready() -> bool:
            return session.stopped is not None or any(node.rows < self._most for node in nodes.values())

        try:
            await self._until(ready)
        except CacheError as error:
            session.stop(CacheLost.WORDS + error.message)
        return None if session.stopped is not None else min(nodes.values(), key=lambda node: node.rows)

    async def _until(self, ready: Callable[[], bool]) -> None:
        """Wait. Raises the error that prevents workers from starting: for the first immediately, for others
        after a while."""
        loop = asyncio.get_running_loop()
        async with self._changed:
            while not ready():
                if self._nodes:
                    self._worked = loop.time()
                elif self._trouble is not None and loop.time() - self._worked > AWAY_S:
                    raise self._trouble
                await self._changed.wait()
            self._worked = loop.time()

    async def _wake(self) -> None:
        async with self._changed:
            self._changed.notify_all()


_SAME = "every node needs the same versions of Python, Ray and gotlang, and what the program imports"
