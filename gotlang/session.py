"""Runs: a program with its model, cache, budget and limits, on an event loop."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, final

from gotlang.cache.base import Cache
from gotlang.errors import UsageError
from gotlang.ir.names import reached_names
from gotlang.ir.program import Scheme
from gotlang.models.registry import ModelOptions, is_simulated
from gotlang.options import Options
from gotlang.program import CheckedProgram
from gotlang.result import Result
from gotlang.runtime.opening import Models, model_limits, open_replayed
from gotlang.runtime.plain import both
from gotlang.runtime.recording import Recorder
from gotlang.runtime.run import DEFAULT_TIMEOUT_S, Runner, Settings, check_params, check_truth

if TYPE_CHECKING:
    from gotlang.runtime.budget import Budget

T = TypeVar("T")


def run_program(
    program: CheckedProgram,
    inputs: Mapping[str, Any],
    *,
    scheme: str | None = None,
    truth: Any = None,
    options: Options | None = None,
) -> Result:
    """Run a scheme of a program and wait for it, as `gotlang.api.Program.run` does."""
    chosen = options or Options()

    async def go() -> Result:
        async with Session(program, chosen, virtual=True) as session:
            return await session.run(inputs, scheme=scheme, truth=truth)

    return run_to_end(go(), virtual=is_simulated(chosen.model))


def run_to_end(work: Coroutine[Any, Any, T], *, virtual: bool) -> T:
    """Run a coroutine on a loop of its own; `virtual` makes simulated time pass in no time.

    Inside a running loop (a notebook) it runs in a thread of its own.
    """

    def go() -> T:
        from gotlang.models.loops import VirtualTimeLoop

        with asyncio.Runner(loop_factory=VirtualTimeLoop if virtual else None) as runner:
            return runner.run(work)

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return go()
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(go).result()


def run_name() -> str:
    """A name for a run: 8 hexadecimal digits, drawn by chance."""
    return secrets.token_hex(4)


@final
class Session:
    """A program with its model, cache, budget and limits: one or many runs on one event loop."""

    def __init__(self, program: CheckedProgram, options: Options, *, virtual: bool = False) -> None:
        self.program = program
        self.options = options
        self.virtual = virtual
        self.skip = frozenset(
            name
            for name, wanted in (("early stop", options.early_stop), ("sample fusion", options.fusion))
            if not wanted
        )
        self.ir = program.ir(options.level, skip=self.skip)
        self.params = check_params(self.ir, options.params)
        self._own_cache: Cache | None = None
        self._recorder: Recorder | None = None

    async def __aenter__(self) -> Self:
        from gotlang.cache import open_cache
        from gotlang.runtime.budget import Budget
        from gotlang.runtime.python import load_functions

        options = self.options
        assert self.program.compilation.checked is not None
        functions = {**load_functions(self.ir, allowed=options.python), **options.functions}
        for name in self.program.compilation.checked.symbols.functions:
            if name not in functions:
                raise UsageError(f"no function `{name}` is there", help="give it in `Options.functions`")
        recording = open_replayed(options.model)
        self.models = Models(options.model, self._model_options(), recording)
        self.model = self.models(None)
        budget = Budget(options.max_usd, options.max_calls)
        budget.check(self.model)
        # A replay takes the answers of its recording and no others.
        cache = options.cache if recording is None else recording.cache
        if isinstance(cache, str | Path):
            cache = self._own_cache = open_cache(cache)
        try:
            self.runner = self._runner(functions, budget, cache)
            if options.record is not None:
                self.runner.record = self._recorder = Recorder(Path(options.record))
        except BaseException:
            await self._let_go()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._recorder is not None:
                self._recorder.write(self.model, self.models.opened)
        finally:
            await self._let_go()

    async def _let_go(self) -> None:
        try:
            await self.models.close()
        finally:
            if self._own_cache is not None:
                self._own_cache.close()

    def _runner(
        self, functions: Mapping[str, Callable[..., Any]], budget: Budget, cache: Cache | None
    ) -> Runner:
        from gotlang.passes.added import AddedSteps
        from gotlang.runtime.gate import Gate

        options = self.options
        assert self.program.compilation.checked is not None
        corpora: Mapping[str, Any] = {}
        if self.ir.corpora:
            from gotlang.runtime.python import load_corpora

            corpora = load_corpora(self.ir)
        settings = Settings(
            options.seed,
            options.concurrency,
            options.schedule,
            options.wave,
            options.timeout or DEFAULT_TIMEOUT_S,
        )
        return Runner(
            self.ir,
            self.models,
            {**functions, **corpora},
            corpora,
            self.params,
            settings,
            budget,
            # What waits for a batch is held up by no limit: the more wait, the fewer batches there are.
            Gate(
                None if options.batch else options.concurrency,
                model_limits(self.ir, self.model.name, options.model_concurrency),
            ),
            cache,
            options.observe,
            AddedSteps(self.program.compilation.checked, self.ir, options.level, self.skip),
        )

    def _model_options(self) -> ModelOptions:
        from gotlang.runtime.python import load_simulators, simulators_version

        options = self.options
        simulated = is_simulated(options.model)
        return ModelOptions(
            load_simulators(self.ir, allowed=options.python) if simulated else {},
            seed=options.seed,
            base_url=options.base_url,
            retries=None if options.retry else 0,
            prices=options.prices,
            sleep=self.virtual,
            version=simulators_version(self.ir) if simulated else "",
            rpm=options.rpm,
            tpm=options.tpm,
            timeout_s=options.timeout,
            batches=options.batches(),
            known=options.folder / "endpoints.json" if isinstance(options.cache, str | Path) else None,
        )

    async def run(
        self,
        inputs: Mapping[str, Any],
        *,
        scheme: str | None = None,
        truth: Any = None,
        name: str | None = None,
    ) -> Result:
        """One run of a scheme; `name` is what the run goes by (default: one drawn by chance)."""
        chosen = self.ir.scheme(self.program.scheme(scheme).name)
        self._check_probabilities(chosen)
        if truth is not None:
            check_truth(chosen, truth)
        outcome = await self.runner.run(chosen, inputs, truth, has_truth=truth is not None)
        spec = self.options.model if isinstance(self.options.model, str) else self.model.name
        return Result(
            name or run_name(),
            self.program.name,
            spec,
            self.model.simulated,
            self.options.seed,
            outcome,
            self.program.compilation.sources,
        )

    def graphs(self) -> list[dict[str, Any]]:
        """Both graphs of every run under way, as they are now: `operations` and `thoughts`, as plain data."""
        sources = self.program.compilation.sources
        return [both(engine.graph, sources) for engine in self.runner.engines]

    def _check_probabilities(self, scheme: Scheme) -> None:
        """Raise UsageError where a scheme rests on log-probabilities that its endpoint does not give."""
        if "logprobs" in self.model.refuses and "confidence" in reached_names(self.ir, scheme):
            raise UsageError(
                f"`{scheme.name}` asks how sure the model was, and `{self.model.name}` refused to say before",
                help="choose another model; `gotc models forget` has it tried again",
            )

    def stop(self, reason: str) -> None:
        """Finish what is under way and ask nothing more."""
        self.runner.stop(reason)
