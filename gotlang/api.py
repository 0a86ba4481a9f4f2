"""The public Python API: load a program, then run, evaluate, compare, tune and plot it.

Every verb is a method of `Program` and a function of this module that takes a program or the path of one.
`run` waits for `arun`, and so on; both work inside a running event loop, such as that of a notebook.
"""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, TypeVar, cast, final

from msgspec.structs import replace

from gotlang.cache.base import Cache as Cache
from gotlang.errors import RunError, SimulatedWarning, UsageError
from gotlang.files import compile_file
from gotlang.files import formatted as formatted
from gotlang.models.base import ModelOptions
from gotlang.models.prices import Spent as Spent
from gotlang.models.registry import default_model as default_model
from gotlang.options import Options as Options
from gotlang.program import CheckedProgram
from gotlang.result import Result as Result
from gotlang.runtime.graph import within as within
from gotlang.runtime.person import Question as Question
from gotlang.runtime.plain import RequestLog as RequestLog
from gotlang.runtime.plain import operations as operations
from gotlang.runtime.python import refused, simulated_models
from gotlang.runtime.run import check_inputs as check_inputs
from gotlang.runtime.run import check_params
from gotlang.session import Session as Session
from gotlang.session import run_to_end as run_to_end
from gotlang.span import Source

if TYPE_CHECKING:
    from gotlang.compiler import Compilation as Compilation
    from gotlang.estimate.cost import Estimate as Estimate
    from gotlang.evaluate.comparison import ComparedScheme as ComparedScheme
    from gotlang.evaluate.comparison import Comparison as Comparison
    from gotlang.evaluate.comparison import Contender
    from gotlang.evaluate.evaluation import Evaluation as Evaluation
    from gotlang.evaluate.evaluation import RowRun as RowRun
    from gotlang.evaluate.rows import ColumnMatch as ColumnMatch
    from gotlang.evaluate.rows import Dataset as Dataset
    from gotlang.evaluate.tests import TestReport as TestReport
    from gotlang.evaluate.tests import TestResult as TestResult
    from gotlang.evaluate.threshold import Threshold as Threshold
    from gotlang.ir.program import Scheme as Scheme
    from gotlang.metric import ScoreKind as ScoreKind
    from gotlang.models.prices import Spent
    from gotlang.passes.remarks import Remark as Remark
    from gotlang.report.plot import Plot
    from gotlang.runtime.sampler.events import Event as Event
    from gotlang.runtime.sampler.events import Failure as Failure
    from gotlang.tune.budget import StudyBudget
    from gotlang.tune.outcome import StudyResult as StudyResult
    from gotlang.tune.search import StudyProgress
    from gotlang.tune.tuned import Tuned

P = ParamSpec("P")
T = TypeVar("T")
Method = Callable[Concatenate["Program", P], T]
OnSession = Callable[[Session], object]
Data = Any
"""A path, a list of mappings, a pandas DataFrame, a `gotlang.data.Table` or a `Dataset`."""


def _ignore(*_: object) -> None:
    """Do nothing."""


def _blocking(work: Method[P, Coroutine[Any, Any, T]]) -> Method[P, T]:
    """The blocking variant of an async method. Simulated time takes no real time in it."""

    @functools.wraps(work)
    def wait(program: Program, /, *arguments: P.args, **settings: P.kwargs) -> T:
        options = prepare(program, cast("Options | None", settings.get("options")))
        settings["options"] = options
        virtual = options.simulated and options.engine == "embedded"
        return run_to_end(work(program, *arguments, **settings), virtual=virtual)

    wait.__name__ = work.__name__.removeprefix("a")
    wait.__qualname__ = f"Program.{wait.__name__}"
    return wait


@final
class Program(CheckedProgram):
    """A program that compiles, ready to run. Get one from `load` or `compile`.

    `schemes`, `params` and `prompts` are its parts by name. In its methods, `scheme` is the name of a scheme
    (default: the one named like the file, otherwise the last one of the file), `options` are the options of
    the runs (default: `Options()`), `level` is an optimization level from 0 to 2, and `on_session` is called
    with the open session, for example to stop it.
    """

    async def arun(
        self,
        /,
        inputs: Mapping[str, Any] | None = None,
        *,
        scheme: str | None = None,
        truth: Any = None,
        options: Options | None = None,
        run_id: str | None = None,
        on_session: OnSession = _ignore,
        **more: Any,
    ) -> Result:
        """Run a scheme.

        Inputs are given by keyword or in `inputs`; a `pathlib.Path` is read as `gotc run --input NAME=@FILE`
        reads it. `truth` is the known answer. `result.status` says whether the result is complete, invalid or
        partial; `run_id` is the run's name in the history (default: a new one). Raises UsageError for wrong
        inputs and options, RunError if there is no result, TypeError for inputs that are not given by name.
        """
        given = self._read(scheme, {**self._inputs(inputs), **more})
        async with Session(self, prepare(self, options)) as session:
            on_session(session)
            return await session.run(given, scheme=scheme, truth=truth, name=run_id)

    run = _blocking(arun)

    def _inputs(self, inputs: Mapping[str, Any] | None) -> Mapping[str, Any]:
        if inputs is None or isinstance(inputs, Mapping):
            return inputs or {}
        name = next(iter(dict(self.scheme().parameters)), "name")
        raise TypeError(f"inputs are given by name, as in run({name}=...), not as a {type(inputs).__name__}")

    def _read(self, scheme: str | None, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        """Inputs with the content of files for their paths."""
        from gotlang.data.inputs import parse_value, read_file

        files = {name: value for name, value in inputs.items() if isinstance(value, Path)}
        types = dict(self.scheme(scheme).parameters) if files else {}
        return {
            name: parse_value(read_file(value, f"input `{name}`"), types[name], f"input `{name}`")
            if name in types and name in files
            else value
            for name, value in inputs.items()
        }

    def contenders(self, names: Sequence[str] = (), *, least: int = 2) -> list[Contender]:
        """The schemes and baselines that `compare` compares. Raises UsageError for unknown ones, and for
        fewer than `least`."""
        from gotlang.evaluate.comparison import contenders

        return contenders(self.ir(0), names, least=least)

    def with_baseline(self, name: str | None) -> Program:
        """The program with the baseline of this name, such as `best-of-5`, as a scheme; itself for any other
        name. Raises UsageError for a baseline that cannot be made."""
        if name is None or name in self.schemes:
            return self
        from gotlang.evaluate.comparison import is_baseline

        return self.with_scheme(self.contenders([name], least=1)[0].scheme) if is_baseline(name) else self

    def thresholds(
        self, conditions: Iterable[str], *, scheme: str | None = None, metrics: Sequence[str] = ()
    ) -> list[Threshold]:
        """Conditions on an evaluation, such as `mean(score) > 2`, by the score and `metrics`. Raises
        UsageError for invalid ones."""
        from gotlang.evaluate.threshold import threshold

        chosen = self.scheme(scheme)
        names = [metric.name for metric in self.metrics(chosen, metrics)]
        return [threshold(text, self.metric(chosen).kind, names) for text in conditions]

    def tuned(self, file: str | Path | Tuned) -> Program:
        """The program with the result of a study in it, as `gotc tune` writes it. Raises UsageError."""
        from gotlang.tune.tuned import tuned

        return tuned(self, file)

    def ir_text(self, level: int = 2) -> str:
        """The intermediate representation at an optimization level from 0 to 2, as text."""
        from gotlang.ir.text import to_text

        return to_text(self.ir(level))

    def ir_json(self, level: int = 2) -> str:
        """The same as JSON (docs/ir.md), which `load` reads from a file whose name ends in `.ir.json`."""
        from gotlang.ir.json import to_document

        return to_document(self.ir(level), self.compilation.sources, level)

    def ir_after(self, name: str, level: int = 2) -> list[tuple[str, str]]:
        """The text of the IR after each pass with this name (`all`: every pass), under the pass's name.
        Raises UsageError for a pass that does not run at this level."""
        from gotlang.ir.text import to_text
        from gotlang.passes import PASSES, stages

        found = [(n, to_text(program)) for n, program in stages(self.ir(0), level) if name in (n, "all")]
        if not found:
            there = ", ".join(each for least, each, _ in PASSES if least <= level) or "none"
            raise UsageError(f"no pass `{name}` at level {level}", help=f"the passes: all, {there}")
        return found

    def remarks(self, level: int = 2) -> list[Remark]:
        """What each pass of the optimizer did to which step, and why it left others as they are."""
        from gotlang.passes.remarks import remarks

        return list(remarks(self.ir(0), level))

    def dataset(
        self,
        data: Data,
        *,
        scheme: str | Scheme | None = None,
        columns: Mapping[str, str] | None = None,
        limit: int | None = None,
        rows: slice | str | None = None,
        sample: int | tuple[int, int] | None = None,
        metrics: Sequence[str] = (),
    ) -> Dataset:
        """The rows of a data file, a list of mappings or a DataFrame, as inputs of a scheme.

        `columns` maps inputs, and `truth`, to columns (default: inferred). `rows` is a slice such as
        "900:1000" or `slice(900, 1000)`, or a list such as "3,7,-1", `sample` selects this number of them at
        random (with a seed: `(100, 7)`), and `limit` keeps the first ones. `metrics` are the metrics that
        need known answers. Raises UsageError if columns cannot be inferred, if no row is selected, and for a
        cell that cannot be read.
        """
        from gotlang.data.selection import RowSelection
        from gotlang.evaluate.rows import Dataset, read_dataset

        if isinstance(data, Dataset):
            return data
        chosen = self.scheme(scheme) if scheme is None or isinstance(scheme, str) else scheme
        selection = RowSelection.of(rows, sample, limit)
        return read_dataset(_records(data), self.ir(0), chosen, columns, selection, metrics=metrics)

    async def aevaluate(
        self,
        /,
        data: Data,
        *,
        scheme: str | None = None,
        columns: Mapping[str, str] | None = None,
        limit: int | None = None,
        rows: slice | str | None = None,
        sample: int | tuple[int, int] | None = None,
        metrics: Sequence[str] = (),
        repeat: int = 1,
        parallel: int = 16,
        max_failed: float = 0.5,
        options: Options | None = None,
        on_start: Callable[[Evaluation], None] = _ignore,
        on_row: Callable[[RowRun], None] | None = None,
        on_session: OnSession = _ignore,
        out: str | Path | None = None,
    ) -> Evaluation:
        """Run a scheme on every row; `data`, `columns`, `limit`, `rows` and `sample` are those of `dataset`.

        `metrics` are built-in ones (`f1`, `exact_match`, `accuracy`, `errors`) and those that the program
        declares. Each row runs `repeat` times, `parallel` rows at a time; no further runs are started once
        more than the fraction `max_failed` of them has failed. `on_start` is called with the evaluation of a
        scheme before its first run, `on_row` after every run. With `out`, finished runs are written to this
        JSON Lines file and not kept in memory; runs that it already contains, from an interrupted evaluation,
        are not repeated. Raises UsageError.
        """
        from gotlang.engine import opened
        from gotlang.evaluate.evaluation import evaluate

        chosen = self.dataset(
            data,
            scheme=scheme,
            columns=columns,
            limit=limit,
            rows=rows,
            sample=sample,
            metrics=metrics,
        )
        async with opened(self, prepare(self, options).of_rows()) as (session, engine):
            on_session(session)
            return await evaluate(
                session,
                chosen,
                scheme=scheme,
                metrics=metrics,
                repeat=repeat,
                parallel=parallel,
                max_failed=max_failed,
                on_start=on_start,
                on_row=on_row,
                stopping=lambda: session.stopped,
                engine=engine,
                out=out,
            )

    evaluate = _blocking(aevaluate)

    async def acompare(
        self,
        /,
        data: Data,
        *,
        schemes: Sequence[str] = (),
        models: Sequence[str] = (),
        baseline: str | None = None,
        equal_cost: bool = False,
        columns: Mapping[str, str] | None = None,
        limit: int | None = None,
        rows: slice | str | None = None,
        sample: int | tuple[int, int] | None = None,
        metrics: Sequence[str] = (),
        parallel: int = 16,
        max_failed: float = 0.5,
        options: Options | None = None,
        on_start: Callable[[Evaluation], None] = _ignore,
        on_row: Callable[[RowRun], None] | None = None,
        on_planned: Callable[[int], None] = _ignore,
        on_session: OnSession = _ignore,
    ) -> Comparison:
        """Run several schemes on the same rows and compare them with the baseline (default: the first).

        `schemes` are those of the program, and the baselines `single`, `best-of-N` and `vote-of-N` (default:
        all schemes with the same inputs and result). With several `models` each scheme runs with each of
        them, as `SCHEME @ MODEL`, one model after the other, within the limits of `options` over all; one
        scheme is enough then. With `equal_cost`, cheaper ones are repeated until they
        cost as much as the most expensive one. `on_planned` is called with the number of further runs
        whenever it is known. The first of `metrics` is the one that they are compared by (default: the first
        that all have, of the declared ones, the score and `correct`); all else is as in `evaluate`. Raises
        UsageError.
        """
        from gotlang.engine import opened
        from gotlang.evaluate.comparison import baseline_of, check_models, compare, joined
        from gotlang.models.prices import NOTHING_SPENT

        several = len(models) > 1
        sides = self.contenders(schemes, least=1 if several else 2)
        each = [replace(options or Options(), model=model) for model in models] or [options or Options()]
        check_models(models, [one.simulated for one in each])
        place = baseline_of(sides, models, baseline) if several else 0
        if several and (equal_cost or each[0].record is not None):
            what = "`equal_cost` compares" if equal_cost else "a recording is of"
            raise UsageError(f"{what} one model", help="choose one with `model`")
        chosen = self.dataset(
            data,
            scheme=sides[0].scheme,
            columns=columns,
            limit=limit,
            rows=rows,
            sample=sample,
            metrics=metrics,
        )
        on_planned(len(chosen) * len(sides) * len(each))
        parts: list[Comparison] = []
        spent, stopped = NOTHING_SPENT, False
        for one in each:
            if stopped:
                break
            prepared = prepare(self, one).of_rows()
            async with opened(self, _within(prepared, spent)) as (session, engine):
                on_session(session)
                found = await compare(
                    session,
                    chosen,
                    sides,
                    metrics=metrics,
                    baseline=None if several else baseline,
                    equal_cost=equal_cost,
                    parallel=parallel,
                    max_failed=max_failed,
                    on_start=on_start,
                    on_row=on_row,
                    on_planned=on_planned,
                    stopping=functools.partial(getattr, session, "stopped"),
                    engine=engine,
                )
                stopped = session.stopped is not None
            parts.append(found)
            spent += found.spent
        return joined(parts, models, place, next(iter(metrics), None)) if several else parts[0]

    _wait_for_compare = _blocking(acompare)

    @functools.wraps(_wait_for_compare)
    def compare(
        self, /, data: Data, *, models: Sequence[str] = (), options: Options | None = None, **settings: Any
    ) -> Comparison:
        if models:
            options = replace(options or Options(), model=models[0])
        return self._wait_for_compare(data, models=models, options=options, **settings)

    async def atest(
        self,
        /,
        names: str = "",
        *,
        options: Options | None = None,
        on_test: Callable[[TestResult], None] = _ignore,
        on_session: OnSession = _ignore,
    ) -> TestReport:
        """Run the tests and laws of the program's file whose names contain `names`, in any case.

        They run on the program's simulators, if it has some, unless `options` choose a model. `on_test` is
        called with each result. Raises UsageError for options and data files that do not fit, and where no
        test has such a name.
        """
        from gotlang.evaluate.tests import run_tests

        compilation = self.compilation.compiled()
        chosen = compilation.checked.tests_named(names)
        if not chosen:
            there = ", ".join(f"`{test.node.name.value}`" for test in compilation.checked.tests) or "none"
            raise UsageError(f"no test of `{self.name}` fits `{names}`", help=f"its tests: {there}")
        program = Program(compilation.with_tests())
        async with Session(program, prepare(program, self._on_simulator(options)).of_rows()) as session:
            on_session(session)
            return await run_tests(session, chosen, on_test)

    def _on_simulator(self, options: Options | None) -> Options:
        """Options with the program's simulators where there are some and no model was chosen."""
        options = options or Options()
        chosen = options.model is not None or not self.ir(0).simulators
        return options if chosen else replace(options, model="simulated")

    _wait_for_test = _blocking(atest)

    @functools.wraps(_wait_for_test)
    def test(self, /, names: str = "", *, options: Options | None = None, **settings: Any) -> TestReport:
        return self._wait_for_test(names, options=self._on_simulator(options), **settings)

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
        """Estimate the cost of a scheme before any request is sent: calls, critical path, tokens, US dollars.

        Without inputs, quantities that depend on them remain symbolic. With inputs, and with simulators in
        the program, one simulated run (more, for early stopping) yields the expected costs within the bounds.
        They are missing with `simulate=False` and if the program's Python is not trusted (`not_expected` has
        the reason). Raises UsageError for wrong inputs and params.
        """
        import dataclasses

        from gotlang.estimate.cost import estimate
        from gotlang.runtime.sizes import Sizes, likely

        options = options or Options()
        model = options.chosen_model
        given = {**self._inputs(inputs), **more} or None
        ir = self.ir(options.level, skip=options.skipped_passes)
        chosen = ir.scheme(self.scheme(scheme).name)
        if given is not None:
            check_inputs(chosen, given)
        priced = ModelOptions(base_url=options.base_url, prices=options.prices)
        if options.simulated:
            priced = replace(priced, declared=cache(partial(simulated_models, ir)))
        sizes = Sizes(model, priced)
        params = check_params(ir, options.params)
        price = sizes.price_of(None)
        source = price.source if price is not None else None
        found = estimate(ir, chosen, sizes, inputs=given, params=params, wave=options.wave, prices=source)
        if not simulate or not (self.ir(0).simulators if isinstance(model, str) else model.simulated):
            return found
        if (error := refused(self.ir(0), options.python, simulators=isinstance(model, str))) is not None:
            return dataclasses.replace(found, not_expected=error.in_words())
        if given is None:
            return found
        free = replace(
            options,
            model=model if options.simulated or not isinstance(model, str) else "simulated",
            cache=None,
            observe=None,
            record=None,
            max_usd=None,
            max_calls=None,
        )
        costs = []
        ways = (min(options.level, 1), None), *((options.level, way) for way in ("cost", None, "latency"))
        bounded = found.costs, found.early, found.at_once, found.ahead
        for (level, prefer), bounds in zip(ways, bounded, strict=True):
            try:
                done = self.run(given, scheme=chosen.name, options=replace(free, level=level, prefer=prefer))
            except RunError:
                return found
            expected = likely(done.outcome, price)
            if options.simulated:
                usd = done.outcome.ledger.accounts[0].usd  # of all models that were asked
                expected["usd"] = None if usd is None else round(usd, 12)
            costs.append(bounds.expecting(expected))
        return dataclasses.replace(found, costs=costs[0], early=costs[1], at_once=costs[2], ahead=costs[3])

    async def atune(
        self,
        /,
        data: Data,
        *,
        minimize: str | None = None,
        maximize: str | None = None,
        subject_to: Sequence[str] = (),
        vary: Sequence[str] = (),
        prompts: Mapping[str, str] | None = None,
        columns: Mapping[str, str] | None = None,
        rows: slice | str | None = None,
        sample: int | tuple[int, int] | None = None,
        scheme: str | None = None,
        train: int | None = None,
        test: int | None = None,
        trials: int | None = None,
        budget: float | None = None,
        sampler: str | None = None,
        options: Options | None = None,
        folder: Path | None = Path(".gotc/tune"),
        observe: Callable[[StudyProgress, StudyBudget], None] = _ignore,
        **settings: Any,
    ) -> StudyResult:
        """Search for better params and prompts under a cost constraint, and compare with the original.

        Expressions are strings, as in a study: `minimize="mistakes(result, numbers)"` (or `maximize`),
        `subject_to=["cost <= baseline"]`, `vary=["tries in 1..5"]`, `prompts={"repair": "copro(breadth=8)"}`.
        `data` is a path relative to the program's file, or rows in memory; `columns` maps inputs to columns
        (default: inferred), `rows` and `sample` select rows as in `dataset`. `train` and `test` are numbers
        of rows (default: half of them each), `budget` is in US dollars, `trials` is the maximum number of
        trials, `sampler` is the sampler for large spaces, such as `tpe`. Further settings are those of a
        study (docs/studies.md). The study is stored in `folder`, and the same call continues it; None stores
        nothing. `observe` is called with its progress.

        Raises UsageError, CompileError with every error in the expressions, RunError and BudgetExceeded, the
        last if not even the original could be measured.
        """
        import dataclasses

        from gotlang.data.selection import RowSelection
        from gotlang.tune.plan import make_plan
        from gotlang.tune.study import run_study

        plan = make_plan(
            self,
            data=_records(data),
            minimize=minimize,
            maximize=maximize,
            subject_to=subject_to,
            vary=vary,
            prompts=prompts,
            columns=columns,
            scheme=scheme,
            train=train,
            test=test,
            trials=trials,
            budget=budget,
            sampler=sampler,
            **settings,
        )
        plan = dataclasses.replace(plan, selection=RowSelection.of(rows, sample, None))
        return await run_study(plan, prepare(self, options), folder=folder, observe=observe)

    tune = _blocking(atune)


def _within(options: Options, spent: Spent) -> Options:
    """Options whose limits are what is left of them. A named budget knows itself what was spent from it."""
    if options.budget is not None:
        return options
    usd, calls = options.max_usd, options.max_calls
    return replace(
        options,
        max_usd=None if usd is None else max(0.0, usd - spent.most_usd),
        max_calls=None if calls is None else max(0, calls - spent.calls - spent.uncertain_calls),
    )


def _records(data: Data) -> Data:
    """Data as a path, a table or a list of mappings; a DataFrame becomes the latter."""
    return data.to_dict("records") if hasattr(data, "to_dict") else data


def read_tuned(path: str | Path) -> Tuned:
    """The result of a study, as `gotc tune` writes it. Raises UsageError if it is not one."""
    from gotlang.tune.tuned import read_tuned

    return read_tuned(path)


def check(text: str, name: str = "<text>.got") -> Compilation:
    """Check the text of a program; the result has the diagnostics, nothing is raised."""
    from gotlang.compiler import compile_source

    return compile_source(Source.of(name, text))


def compile(text: str, name: str = "<text>.got", *, functions: Iterable[str] = ()) -> Program:
    """A program from its text. `functions` are functions that it may call and that
    `Options.functions` provides, each as an import writes it: `search -> list[str]`, or its name alone.

    Raises CompileError with every error found, UsageError for the name of a built-in function.
    """
    from gotlang.compiler import compile_source, handed_in

    return Program(compile_source(Source.of(name, text), functions=handed_in(functions)))


def load(path: str | Path, *, functions: Iterable[str] = ()) -> Program:
    """A program from its file, with the same `functions` as `compile`.

    Raises UsageError if it cannot be read, CompileError with every error found.
    """
    from gotlang.compiler import handed_in

    return Program(compile_file(path, handed_in(functions)))


def simulation_notice(program: CheckedProgram, options: Options) -> str | None:
    """What to tell a user who chose no model and so gets simulated responses; None if a model was chosen.

    Raises UsageError if the program has no simulators.
    """
    if options.model is not None or not options.simulated or not program.ir(0).asked:
        return None
    if not program.ir(0).simulators:
        raise UsageError(
            "no model is configured, and this program has no simulator",
            help="choose a model, such as `openai:NAME` (its key in OPENAI_API_KEY), or write a simulator "
            "(`gotc init --simulator FILE` writes a first one)",
        )
    unused = ", and the base URL is not used" if isinstance(options.base_url, str) else ""
    return f"no model is configured: responses are simulated{unused}"


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


def plot(
    subject: Any, *, scheme: str | None = None, view: Literal["execution", "reasoning"] = "execution"
) -> Plot:
    """A picture of a program (its plan) or the path of one, of a result (its graph), or of an evaluation, a
    comparison or a study (charts). It is shown in notebooks, and `.save(path)` writes it: .html, .svg, ...

    `scheme` is the scheme of a program, `view` the graph of a result that is drawn.
    """
    from gotlang.report.plot import plot

    if isinstance(subject, str | Path):
        subject = load(subject)
    return plot(subject, scheme=scheme, view=view)


run, arun = _function(Program.run), _function(Program.arun)
test, atest = _function(Program.test), _function(Program.atest)
evaluate, aevaluate = _function(Program.evaluate), _function(Program.aevaluate)
compare, acompare = _function(Program.compare), _function(Program.acompare)
tune, atune = _function(Program.tune), _function(Program.atune)
