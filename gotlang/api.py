"""The Python side: load a program, run it, look at what became of it, have it tuned."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from gotlang.compiler import Compilation, compile_source, handed_in
from gotlang.errors import RunError
from gotlang.files import compile_file
from gotlang.models.registry import ModelOptions
from gotlang.options import Options as Options
from gotlang.program import CheckedProgram
from gotlang.result import Result
from gotlang.runtime.run import check_inputs, check_params
from gotlang.session import Session as Session
from gotlang.session import run_program
from gotlang.session import run_to_end as run_to_end
from gotlang.span import Source

if TYPE_CHECKING:
    from gotlang.ir.cost import Estimate
    from gotlang.tune.driver import Studied


@final
class Program(CheckedProgram):
    """A checked program, ready to run. Get one from `load` or `compile`."""

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
        return run_program(self, given, scheme=scheme, truth=truth, options=options)

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

    def tune(self, **wishes: Any) -> Studied:
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
