"""Sessions: a program with its model, cache, budget and limits, on an event loop."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Coroutine, Mapping
from contextlib import ExitStack
from functools import cache, partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, final

from gotlang import keys, trust
from gotlang.cache.base import Cache
from gotlang.cache.coordination import Coordination
from gotlang.errors import CacheLost, NotTrusted, UsageError
from gotlang.files import project
from gotlang.ir.evaluate import Evaluator
from gotlang.ir.foreign import changes_graph
from gotlang.ir.program import Scheme
from gotlang.metric import MetricScore, measure
from gotlang.models.base import Address, Model, ModelOptions
from gotlang.models.prices import Spent
from gotlang.models.registry import ModelPool, model_limits, open_model, specs_named
from gotlang.operations.ask import PERSON
from gotlang.options import Options
from gotlang.program import CheckedProgram
from gotlang.records import escaped
from gotlang.result import Result
from gotlang.runtime.context import DEFAULT_TIMEOUT_S, RunSettings
from gotlang.runtime.person import Person
from gotlang.runtime.plain import both
from gotlang.runtime.run import Runner, check_params, check_truth

if TYPE_CHECKING:
    from gotlang.cache.cassette import Recording
    from gotlang.runtime.sampler.budget import Budget
    from gotlang.runtime.sampler.recorder import CassetteRecorder

T = TypeVar("T")


def run_to_end(work: Coroutine[Any, Any, T], *, virtual: bool) -> T:
    """Run a coroutine on an event loop of its own; with `virtual`, simulated time takes no time.

    Inside a running loop (as in a notebook) that loop is in a thread of its own.
    """

    found: list[T] = []

    async def keep() -> None:
        # At its end asyncio makes a text of what its task returned, for an error that it catches.
        found.append(await work)

    def go() -> T:
        from gotlang.models.loops import VirtualTimeLoop

        with asyncio.Runner(loop_factory=VirtualTimeLoop if virtual else None) as runner:
            runner.run(keep())
        return found[0]

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return go()
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(go).result()


@final
class Session:
    """A program with its model, cache, budget and limits: for one or many runs on one event loop.

        async with Session(program, Options(max_usd=0.5)) as session:
            result = await session.run({"numbers": [3, 1, 2]})

    A simulated model has latency on an event loop with virtual time, and responds at once on any other loop.
    Raises UsageError for options that do not match the program.
    """

    def __init__(self, program: CheckedProgram, options: Options | None = None) -> None:
        self.program = program
        self.options = options = options or Options()
        self.ir = program.ir(options.level, skip=options.skipped_passes)
        self.params = check_params(self.ir, options.params)
        self.stopped: str | None = None
        """The reason of the first `stop`, if any."""
        self._own_cache: Cache | None = None
        self.coordination: Coordination | None = None
        self._alive: asyncio.Task[None] | None = None
        self._recorder: CassetteRecorder | None = None
        self.on_unrecorded: Callable[[UsageError], None] | None = None
        """Called with the error of a recording that cannot be written; without it, closing raises it."""
        self._hidden = ExitStack()
        """Restores the keys in the environment that are hidden from the program's Python."""

    async def __aenter__(self) -> Self:
        options = self.options
        if self.ir.python or (options.simulated and self.ir.simulators):
            self._hidden.enter_context(keys.without(options.python_keys))
        try:
            await self._open()
        except BaseException:
            self._hidden.close()
            raise
        return self

    async def _open(self) -> None:
        from gotlang.cache import open_cache
        from gotlang.runtime.python import load_functions

        options = self.options
        functions = {**load_functions(self.ir, allowed=options.python), **options.functions}
        if self.ir.servers:
            functions |= self._served()
        for name in self.ir.results:
            if name not in functions:
                raise UsageError(f"no function `{name}`", help="pass it in `Options.functions`")
        replay = _replayed(options.chosen_model)
        opener = self._open_model if replay is None else replay.open
        self.models = ModelPool(options.chosen_model, self._model_options(), opener)
        self.model = self.models(None)
        if replay is None and isinstance(options.chosen_model, str) and not options.simulated:
            for spec in filter(None, specs_named(self.ir) - {PERSON}):
                self._check_trust(spec)
        # A replay takes the responses of its recording and no others.
        cache = options.chosen_cache if replay is None else replay.cache
        if isinstance(cache, str | Path):
            cache = open_cache(cache)
        if cache is not options.chosen_cache:
            self._own_cache = cache
        self.coordination = cache.coordination() if cache is not None else None
        if self.coordination is not None and not self.model.simulated:
            self._alive = asyncio.create_task(self.coordination.keep_alive())
        try:
            budget = self._budget()
            budget.check(self.model)
            self.runner = self._runner(functions, budget, cache)
            if any(scheme.limits for scheme in self.ir.schemes):
                self.runner.prove = self._prove
            if options.on_cache_loss == "stop":
                self.runner.on_loss = self._cache_lost
            if options.record is not None:
                from gotlang.runtime.sampler.recorder import CassetteRecorder

                self.runner.record = self._recorder = CassetteRecorder(Path(options.record))
        except BaseException:
            await self._close()
            raise

    def _served(self) -> dict[str, Callable[..., Any]]:
        """The tools of the program's MCP servers, which are started. Raises NotTrusted, UsageError."""
        from gotlang.runtime.servers import Servers

        for one in self.ir.servers:
            folder = Path(one.folder or ".")
            allowed = self.options.python
            if allowed is None and not trust.granted(folder, "mcp", one.path):
                raise NotTrusted(
                    f"the program uses the MCP server {escaped(one.path)}, which needs your trust",
                    help="`gotc trust` its folder if you trust it, or allow it once with `--allow-python`",
                )
            if allowed is False:
                raise NotTrusted(f"`--no-python` forbids the MCP server {escaped(one.path)}")
        servers = Servers(self.ir.servers, self.options.timeout or DEFAULT_TIMEOUT_S)
        self._hidden.callback(servers.close)
        return servers.functions

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._recorder is not None:
                self._recorder.write(self.model, self.models.opened)
        except UsageError as refused:
            if self.on_unrecorded is None:
                raise
            self.on_unrecorded(refused)
        finally:
            await self._close()

    async def _close(self) -> None:
        try:
            await self.models.close()
        finally:
            if self._alive is not None:
                self._alive.cancel()
            if self.coordination is not None:
                self.coordination.close()
            if self._own_cache is not None:
                self._own_cache.close()
            self._hidden.close()

    def _budget(self) -> Budget:
        from gotlang.runtime.sampler.budget import Budget
        from gotlang.runtime.sampler.shared import SharedBudget

        name, limits = self.options.budget, (self.options.max_usd, self.options.max_calls)
        if name is None:
            return Budget(*limits)
        if not re.fullmatch(r"[A-Za-z][\w.-]{0,99}", name):
            raise UsageError(
                f"`{name}` is not the name of a budget, which starts with a letter",
                help="a limit in dollars is `--max-usd`",
            )
        if self.coordination is None:
            raise UsageError(
                "a shared budget is stored with the cache, and there is no cache", help="remove `--no-cache`"
            )
        # Simulated dollars are counted separately.
        name = f"{name} (simulated)" if self.model.simulated else name
        return SharedBudget.open(self.coordination, name, *limits)

    def _runner(
        self, functions: Mapping[str, Callable[..., Any]], budget: Any, cache: Cache | None
    ) -> Runner:
        from gotlang.runtime.python import load_corpora
        from gotlang.runtime.sampler.limits import RequestLimits

        options = self.options
        changes = None
        if any(map(changes_graph, functions.values())):
            from gotlang.changes.layout import AddedSteps, GraphChanges

            checked = self.program.compilation.compiled().checked
            changes = GraphChanges(AddedSteps(checked, self.ir, options.level, options.skipped_passes))
        corpora: Mapping[str, Any] = (
            load_corpora(self.ir, options.corpora) if self.ir.corpora or options.corpora else {}
        )
        return Runner(
            self.ir,
            self.models,
            {**functions, **corpora},
            corpora,
            self.params,
            RunSettings(
                options.seed,
                options.concurrency,
                options.schedule,
                options.wave,
                options.timeout or DEFAULT_TIMEOUT_S,
                options.prefer,
                options.edits,
            ),
            budget,
            # Requests for a batch are not held back by limits: the more requests wait, the fewer batches
            # there are.
            RequestLimits(
                None if options.batch else options.concurrency,
                model_limits(self.ir, self.model.name, options.model_concurrency),
            ),
            cache,
            options.observe,
            changes,
            coordination=self.coordination,
            stream=options.stream,
        )

    def _open_model(self, spec: str, options: ModelOptions) -> Model:
        if spec == PERSON:
            # A simulator that answers the questions of a program also replaces people.
            answered = self.ir.questions <= options.simulators.keys()
            return self.model if answered else Person(self.options.answers, self.options.ask)
        self._check_trust(spec)
        return open_model(spec, options)

    def _check_trust(self, spec: str) -> None:
        """Raise NotTrusted for a file that the program names as a model and that the user neither named nor
        trusts."""
        folder = Path(self.program.compilation.source.name).parent
        what = trust.reached_model(spec, Path(), inside=project(folder))
        if (
            what is not None
            and spec != self.options.chosen_model
            and not trust.granted(folder, "model", what)
        ):
            raise NotTrusted(
                f"the program names the model {escaped(spec)}, a file that needs your trust",
                help="`gotc trust` its folder if you trust it, or name the model yourself with `--model`",
            )

    def _model_options(self) -> ModelOptions:
        from gotlang.models.loops import VirtualTimeLoop
        from gotlang.runtime.python import load_simulators, simulated_models, simulators_version

        options = self.options
        simulated = options.simulated
        declared = cache(partial(simulated_models, self.ir))
        if simulated and (options.chosen_model != "simulated" or specs_named(self.ir)):
            declared()  # errors in declared models are reported before the run
        return ModelOptions(
            load_simulators(self.ir, allowed=options.python) if simulated else {},
            seed=options.seed,
            base_url=options.base_url,
            retries=None if options.retry else 0,
            prices=options.prices,
            sleep=isinstance(asyncio.get_running_loop(), VirtualTimeLoop),
            version=simulators_version(self.ir) if simulated else "",
            rpm=options.rpm,
            tpm=options.tpm,
            timeout_s=options.timeout,
            batches=options.batches(),
            known=options.folder / "endpoints.json" if isinstance(options.chosen_cache, str | Path) else None,
            declared=declared if simulated else dict,
        )

    @property
    def endpoints(self) -> tuple[Address, ...]:
        """The addresses of the models opened so far that are not their providers' own."""
        return tuple(dict.fromkeys(m.address for m in (self.model, *self.models.opened) if m.address))

    @property
    def spent(self) -> Spent:
        """What was spent so far by all runs."""
        return self.runner.budget.spent(priced=self.model.price is not None)

    async def run(
        self,
        inputs: Mapping[str, Any],
        *,
        scheme: str | None = None,
        truth: Any = None,
        name: str | None = None,
    ) -> Result:
        """One run of a scheme; `truth` is the known answer, `name` that of the run (default: random).

        Raises UsageError for wrong inputs, RunError if there is no result.
        """
        chosen = self.ir.scheme(self.program.scheme(scheme).name)
        self._check_probabilities(chosen)
        if truth is not None:
            check_truth(chosen, truth)
        outcome = await self.runner.run(chosen, inputs, truth, has_truth=truth is not None)
        metric, scored, measures = self.program.metric(chosen), MetricScore(), dict[str, MetricScore]()
        if outcome.value is not None:
            evaluate = Evaluator({s.name: s for s in self.ir.scores}, self.runner.tables.limited)
            scored = metric.score(outcome.score, outcome.value, inputs, evaluate, self.params)
            declared = self.program.metrics(chosen)
            measures = measure(declared, outcome.value, inputs, truth, evaluate, self.params)
        spec = self.options.chosen_model
        return Result(
            name or os.urandom(4).hex(),
            self.program.name,
            spec if isinstance(spec, str) else self.model.name,
            self.model.simulated,
            self.options.seed,
            outcome,
            metric,
            scored,
            self.program.compilation.sources,
            self.endpoints,
            measures,
        )

    def check_answered(self) -> None:
        """Raise UsageError if the program asks people and has no answers: rows of a data set cannot wait for
        them."""
        if self.ir.questions and isinstance(self.models(PERSON), Person) and self.options.ask is None:
            raise UsageError(
                f"`{self.program.name}` asks a person, who cannot answer for many rows",
                help="write a simulator for its questions, or answer in Python: `Options(ask=...)`",
            )

    def graphs(self) -> list[dict[str, Any]]:
        """Snapshots of both graphs of every current run: `operations` and `thoughts`, as plain data."""
        sources = self.program.compilation.sources
        return [both(engine.graph, sources) for engine in self.runner.engines]

    def _check_probabilities(self, scheme: Scheme) -> None:
        """Raise UsageError for a scheme that needs log-probabilities which its endpoint does not return."""
        if "logprobs" in self.model.refuses and {"confidence", "tokens"} & self.ir.reached(scheme):
            raise UsageError(
                f"`{scheme.name}` needs log-probabilities, which `{self.model.name}` does not return",
                help="choose another model; `gotc models forget` makes gotc ask the endpoint again",
            )

    def _prove(self, scheme: Scheme, inputs: Mapping[str, Any]) -> None:
        """Raise UsageError if the budget of a scheme, or of one that it calls, is not proven for these params
        and inputs with the prices of these models."""
        from gotlang.estimate.proof import unproven
        from gotlang.runtime.sizes import Sizes

        reached = self.ir.reached(scheme)
        changing = [name for name, f in self.runner.functions.items() if changes_graph(f) and name in reached]
        counter = Sizes(self.model, self._model_options(), self.models)
        limited = [each for each in self.ir.schemes if each.name in reached and each.limits]
        if limited and changing:
            raise UsageError(
                f"the budget of `{limited[0].name}` cannot be proven: `{changing[0]}` adds steps"
            )
        for each in limited:
            for one in unproven(self.ir, each, params=self.params):
                raise UsageError(one.message, help=one.help)
        for one in (
            unproven(self.ir, scheme, params=self.params, counter=counter, inputs=inputs) if limited else ()
        ):
            raise UsageError(one.message, help=one.help)

    def _cache_lost(self, reason: str) -> None:
        self.stop(CacheLost.WORDS + reason)

    def stop(self, reason: str) -> None:
        """Finish the requests that are in flight and send no more."""
        self.stopped = self.stopped or reason
        self.runner.stop(reason)


def _replayed(model: object) -> Recording | None:
    """The recording that a model replays; None for any other model. Raises UsageError, CacheError."""
    if not isinstance(model, str) or not model.startswith("replay:"):
        return None
    from gotlang.cache.cassette import open_replayed

    return open_replayed(model)
