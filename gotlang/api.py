"""The public Python API: load a program, then run, evaluate, compare, tune and plot it.

Every verb is a method of `Program` and a function of this module that takes a program or the path of one.
`run` waits for `arun`, and so on; both work inside a running event loop, such as that of a notebook.
"""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast, final

from gotlang.compiler import Compilation, compile_source, handed_in
from gotlang.errors import RunError, SimulatedWarning, UsageError
from gotlang.files import compile_file
from gotlang.models.base import ModelOptions
from gotlang.options import Options as Options
from gotlang.program import CheckedProgram
from gotlang.result import Result
from gotlang.runtime.run import check_inputs, check_params
from gotlang.session import Session as Session
from gotlang.session import run_program
from gotlang.session import run_to_end as run_to_end
from gotlang.span import Source

if TYPE_CHECKING:
    from gotlang.estimate.cost import Estimate
    from gotlang.tune.study import StudyResult

P = ParamSpec("P")
T = TypeVar("T")
Method = Callable[Concatenate["Program", P], T]


def _blocking(work: Method[P, Coroutine[Any, Any, T]]) -> Method[P, T]:
    """The twin of an async method that waits for it. Simulated time takes no time there."""

    @functools.wraps(work)
    def wait(program: Program, /, *arguments: P.args, **settings: P.kwargs) -> T:
        options = prepare(program, cast("Options | None", settings.get("options")))
        settings["options"] = options
        return run_to_end(work(program, *arguments, **settings), virtual=options.simulated)

    wait.__name__ = work.__name__.removeprefix("a")
    wait.__qualname__ = f"Program.{wait.__name__}"
    return wait


@final
class Program(CheckedProgram):
    """A program that compiles, ready to run. Get one from `load` or `compile`.

    `schemes`, `params` and `prompts` are its parts by name.
    """

    async def arun(
        self,
        /,
        inputs: Mapping[str, Any] | None = None,
        *,
        scheme: str | None = None,
        truth: Any = None,
        options: Options | None = None,
        **more: Any,
    ) -> Result:
        """Run a scheme (default: the one named like the file, otherwise the last one).

        Inputs are given by keyword or in `inputs`; `truth` is the known answer. With a limit the result may
        be partial: then `result.partial` says why. Raises UsageError for wrong inputs and options, RunError
        if there is no result, TypeError for inputs that are not given by name.
        """
        return await run_program(
            self,
            {**self._inputs(inputs), **more},
            scheme=scheme,
            truth=truth,
            options=prepare(self, options),
        )

    def _inputs(self, inputs: Mapping[str, Any] | None) -> Mapping[str, Any]:
        if inputs is None or isinstance(inputs, Mapping):
            return inputs or {}
        name = next(iter(dict(self.scheme().parameters)), "name")
        raise TypeError(f"inputs are given by name, as in run({name}=...), not as a {type(inputs).__name__}")

    run = _blocking(arun)

    def explain(
        self,
        /,
        inputs: Mapping[str, Any] | None = None,
        *,
        scheme: str | None = None,
        options: Options | None = None,
        simulate: bool = True,
        **more: Any,
    ) -> Estimate:
        """What a scheme costs, before any request is sent: calls, critical path, tokens, US dollars.

        Without inputs, what depends on them stays open. With inputs, and with simulators in the program, one
        simulated run (two, for early stopping) gives the expected costs within the bounds; `simulate=False`
        leaves them out. Raises UsageError for wrong inputs and params.
        """
        from gotlang.estimate.cost import estimate
        from gotlang.runtime.estimating import Sizes, likely

        options = options or Options()
        model = options.chosen_model
        given = {**self._inputs(inputs), **more} or None
        # Whether samples may stop early is what both estimates are about.
        ir = self.ir(options.level, skip=options.skipped_passes - {"early stop"})
        chosen = ir.scheme(self.scheme(scheme).name)
        if given is not None:
            check_inputs(chosen, given)
        sizes = Sizes(model, ModelOptions(base_url=options.base_url, prices=options.prices))
        params = check_params(ir, options.params)
        price = sizes.price_of(None)
        source = price.source if price is not None else None
        found = estimate(ir, chosen, sizes, inputs=given, params=params, wave=options.wave, prices=source)
        can_simulate = bool(self.ir(0).simulators) and options.python
        if given is None or not simulate or not (can_simulate if isinstance(model, str) else model.simulated):
            return found
        free = replace(
            options,
            model="simulated" if isinstance(model, str) else model,
            cache=None,
            observe=None,
            record=None,
            max_usd=None,
            max_calls=None,
        )
        costs = []
        for early, bounds in ((False, found.costs), (True, found.early)):
            try:
                done = self.run(given, scheme=chosen.name, options=replace(free, early_stop=early))
            except RunError:
                return found
            costs.append(bounds.expecting(likely(done.outcome, price)))
        return replace(found, costs=costs[0], early=costs[1])

    def tune(
        self,
        *,
        options: Options | None = None,
        folder: Path | None = Path(".gotc/tune"),
        **settings: Any,
    ) -> StudyResult:
        """Search for better params and prompts. `settings` are those of `gotlang.tune.plan.make_plan`."""
        from gotlang.tune.plan import make_plan
        from gotlang.tune.study import tune

        return tune(make_plan(self, **settings), options, folder=folder)


def check(text: str, name: str = "<text>.got") -> Compilation:
    """Check the text of a program; the result has the diagnostics, nothing is raised."""
    return compile_source(Source.of(name, text))


def compile(text: str, name: str = "<text>.got", *, functions: Iterable[str] = ()) -> Program:
    """A program from its text. `functions` are names of functions that it may call and that
    `Options.functions` provides.

    Raises CompileError with every error found, UsageError for the name of a built-in function.
    """
    return Program(compile_source(Source.of(name, text), functions=handed_in(functions)))


def load(path: str | Path, *, functions: Iterable[str] = ()) -> Program:
    """A program from its file, with the same `functions` as `compile`.

    Raises UsageError if it cannot be read, CompileError with every error found.
    """
    return Program(compile_file(path, handed_in(functions)))


def simulation_notice(program: CheckedProgram, options: Options) -> str | None:
    """What to tell a user who chose no model and so gets simulated responses; None if a model was chosen.

    Raises UsageError if the program has no simulators.
    """
    if options.model is not None or not options.simulated or not program.prompts:
        return None
    if not program.ir(0).simulators:
        raise UsageError(
            "no model is configured, and this program has no simulator",
            help="choose a model, such as `openai:NAME` (OPENAI_API_KEY holds its key), or write "
            "`simulate with` and a Python file",
        )
    return "no model is configured: responses are simulated"


def prepare(program: CheckedProgram, options: Options | None) -> Options:
    """Options with the model chosen; warns (SimulatedWarning) if that is the simulator by default."""
    options = options or Options()
    if (notice := simulation_notice(program, options)) is not None:
        level, frame = 1, sys._getframe()
        while frame.f_back is not None and frame.f_globals["__name__"].startswith("gotlang."):
            level, frame = level + 1, frame.f_back
        warnings.warn(f"{notice} (choose one with `Options(model=...)`)", SimulatedWarning, stacklevel=level)
    return replace(options, model=options.chosen_model, cache=options.chosen_cache)


def _function(method: Method[P, T]) -> Callable[Concatenate[Program | str | Path, P], T]:
    """A method of programs as a function that takes a program or the path of one."""

    @functools.wraps(method)
    def call(program: Program | str | Path, /, *arguments: P.args, **settings: P.kwargs) -> T:
        return method(program if isinstance(program, Program) else load(program), *arguments, **settings)

    return call


run, arun = _function(Program.run), _function(Program.arun)
