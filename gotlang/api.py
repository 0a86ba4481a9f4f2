"""The Python side: load a program, run it, look at what became of it."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Coroutine, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, final

from gotlang.cache.base import Cache
from gotlang.compiler import Compilation, compile_source, handed_in
from gotlang.errors import RunError, UsageError
from gotlang.files import compile_file
from gotlang.ir.build import build
from gotlang.ir.names import reached_names
from gotlang.ir.program import Program as IR
from gotlang.ir.program import Scheme
from gotlang.models.base import refused_by
from gotlang.models.registry import ModelOptions, is_simulated
from gotlang.options import Options as Options
from gotlang.result import Result
from gotlang.runtime.events import Event, Observer
from gotlang.runtime.opening import Models, model_limits, open_replayed
from gotlang.runtime.recording import Recorder
from gotlang.runtime.run import DEFAULT_TIMEOUT_S, Runner, Settings, check_inputs, check_params, check_truth
from gotlang.span import Source

if TYPE_CHECKING:
    from gotlang.ir.cost import Estimate

T = TypeVar("T")


@final
class Program:
    """A checked program, ready to run. Get one from `load` or `compile`."""

    def __init__(self, compilation: Compilation) -> None:
        self.compilation = compilation
        self._ir = compilation.program(0)

    def __deepcopy__(self, memo: dict[int, Any]) -> Program:
        """Itself: a program never changes, and its tables know its nodes by identity."""
        return self

    @property
    def name(self) -> str:
        """The file's name without its ending."""
        return self._ir.name

    def ir(self, level: int = 2, *, skip: frozenset[str] = frozenset()) -> IR:
        """The IR at an optimization level from 0 to 2, without the passes named in `skip`."""
        from gotlang.passes import optimize

        assert self.compilation.checked is not None
        return optimize(build(self.compilation.checked, self.name), level, skip)

    def scheme(self, name: str | None = None) -> Scheme:
        """The scheme of a name; by default the one named like the file, else the only one, else the last."""
        schemes = {scheme.name: scheme for scheme in self._ir.schemes}
        if not schemes:
            raise UsageError(f"`{self.name}` holds no scheme, so there is nothing to run")
        if name is None:
            name = self.name if self.name in schemes else list(schemes)[-1]
        if name not in schemes:
            raise UsageError(f"no scheme `{name}` in `{self.name}`", help=f"there are {', '.join(schemes)}")
        return schemes[name]

    def run(
        self,
        inputs: Mapping[str, Any] | None = None,
        *,
        scheme: str | None = None,
        truth: Any = None,
        options: Options | None = None,
        **more: Any,
    ) -> Result:
        """Run a scheme and wait for it.

        Inputs come by keyword or in `inputs`. Raises UsageError for wrong inputs, RunError where there is no
        result. With a limit, the result may be partial: then `result.partial` says why.
        """
        given = {**(inputs or {}), **more}

        async def go() -> Result:
            async with Session(self, options or Options(), virtual=True) as session:
                return await session.run(given, scheme=scheme, truth=truth)

        return run_to_end(go(), virtual=is_simulated((options or Options()).model))

    def explain(
        self,
        inputs: Mapping[str, Any] | None = None,
        *,
        scheme: str | None = None,
        options: Options | None = None,
        simulate: bool = True,
        **more: Any,
    ) -> Estimate:
        """What a scheme costs, before anything is paid: calls, longest path, tokens, dollars.

        Without inputs, what depends on them stays open. With them, and with stand-ins in the program, one
        simulated run (two, for early stop) says what to expect inside the bounds; `simulate=False` leaves
        that out. Raises UsageError for wrong inputs and params.
        """
        from gotlang.ir.cost import estimate
        from gotlang.runtime.estimating import Sizes, likely

        options = options or Options()
        given = {**(inputs or {}), **more} or None
        skip = frozenset() if options.fusion else frozenset({"sample fusion"})
        ir = self.ir(options.level, skip=skip)
        chosen = ir.scheme(self.scheme(scheme).name)
        if given is not None:
            check_inputs(chosen, given)
        sizes = Sizes(options.model, ModelOptions(base_url=options.base_url, prices=options.prices))
        params = check_params(ir, options.params)
        price = sizes.price_of(None)
        source = price.source if price is not None else None
        found = estimate(ir, chosen, sizes, inputs=given, params=params, wave=options.wave, prices=source)
        if given is None or not simulate or not self._stands_in(options):
            return found
        free: dict[str, Any] = {
            "cache": None,
            "observe": None,
            "record": None,
            "max_usd": None,
            "max_calls": None,
        }
        free |= {"model": "simulated"} if isinstance(options.model, str) else {}
        costs = []
        for early, bounds in ((False, found.costs), (True, found.early)):
            own = replace(options, early_stop=early, **free)
            try:
                outcome = self.run(given, scheme=chosen.name, options=own).outcome
            except RunError:
                return found
            costs.append(bounds.expecting(likely(outcome, price)))
        return replace(found, costs=costs[0], early=costs[1])

    def _stands_in(self, options: Options) -> bool:
        """Whether a run can be simulated."""
        if not isinstance(options.model, str):
            return options.model.simulated
        return bool(self._ir.simulators) and options.python

    def tune(self, **wishes: Any) -> Any:
        """Look for better params and prompts; `gotlang.tune.python.tune_program` says what it takes."""
        from gotlang.tune.python import tune_program

        return tune_program(self, **wishes)

    async def arun(
        self,
        inputs: Mapping[str, Any] | None = None,
        *,
        scheme: str | None = None,
        truth: Any = None,
        options: Options | None = None,
        **more: Any,
    ) -> Result:
        """The same on the running event loop. A simulated model answers at once there, and reports how long
        it would have taken."""
        async with Session(self, options or Options(), virtual=False) as session:
            return await session.run({**(inputs or {}), **more}, scheme=scheme, truth=truth)


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

    def __init__(self, program: Program, options: Options, *, virtual: bool = False) -> None:
        self.program = program
        self.options = options
        self.virtual = virtual
        self._skip = frozenset(
            name
            for name, wanted in (("early stop", options.early_stop), ("sample fusion", options.fusion))
            if not wanted
        )
        self.ir = program.ir(options.level, skip=self._skip)
        self.params = check_params(self.ir, options.params)
        self._own_cache: Cache | None = None
        self._recorder: Recorder | None = None

    async def __aenter__(self) -> Self:
        from gotlang.cache import open_cache
        from gotlang.passes.added import AddedSteps
        from gotlang.runtime.budget import Budget
        from gotlang.runtime.gate import Gate
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
        self.runner = Runner(
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
            self._observer(),
            AddedSteps(self.program.compilation.checked, self.ir, options.level, self._skip),
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._recorder is not None:
                self._recorder.write(self.model, self.models.opened)
        finally:
            try:
                await self.models.close()
            finally:
                if self._own_cache is not None:
                    self._own_cache.close()

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

    def _observer(self) -> Observer | None:
        """Who is told of what happens: the caller's own, and the recorder where there is one."""
        own = self.options.observe
        if self.options.record is None:
            return own
        recorder = self._recorder = Recorder(Path(self.options.record))
        if own is None:
            return recorder

        def both(event: Event) -> None:
            recorder(event)
            own(event)

        return both

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
        from gotlang.report.operations import both

        sources = self.program.compilation.sources
        return [both(engine.graph, sources) for engine in self.runner.engines]

    def _check_probabilities(self, scheme: Scheme) -> None:
        """Raise UsageError where a scheme rests on log-probabilities that its endpoint does not give."""
        if "logprobs" in refused_by(self.model) and "confidence" in reached_names(self.ir, scheme):
            raise UsageError(
                f"`{scheme.name}` asks how sure the model was, and `{self.model.name}` refused to say before",
                help="choose another model; `gotc models forget` has it tried again",
            )

    def stop(self, reason: str) -> None:
        """Finish what is under way and ask nothing more."""
        self.runner.stop(reason)


def check(text: str, name: str = "<text>.got") -> Compilation:
    """Check a program's text; the diagnostics are in the result, nothing is raised."""
    return compile_source(Source.of(name, text))


def compile(text: str, name: str = "<text>.got", *, functions: Iterable[str] = ()) -> Program:
    """A program from its text. `functions` are names that it may call and that `Options.functions` gives it.

    Raises CompileError with every mistake found, UsageError for the name of a built-in function.
    """
    return Program(compile_source(Source.of(name, text), functions=handed_in(functions)))


def load(path: str | Path, *, functions: Iterable[str] = ()) -> Program:
    """A program from its file, with the same `functions`.

    Raises UsageError where it cannot be read, CompileError with every mistake.
    """
    return Program(compile_file(path, handed_in(functions)))
