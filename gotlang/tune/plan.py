"""The plan of a study, as plain data: from its declaration, or from Python."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, final

from msgspec import structs

from gotlang import trust
from gotlang.compiler import Compilation
from gotlang.data.selection import ALL, RowSelection
from gotlang.data.table import Table
from gotlang.diagnostics import Diagnostic, Report
from gotlang.disk import reject_device
from gotlang.errors import CompileError, NotTrusted, UsageError
from gotlang.evaluate.evaluation import check_truth
from gotlang.evaluate.rows import TRUTH, Dataset, as_table, read_dataset, reads_truth
from gotlang.files import beside, compile_file, project, read_source
from gotlang.operations.names import free_names
from gotlang.program import CheckedProgram
from gotlang.semantics.aims import BASELINE, sides
from gotlang.semantics.params import constant_value
from gotlang.semantics.studies import OPTIONS, Target, check_study, method
from gotlang.semantics.variations import text_problem
from gotlang.span import NOWHERE, Source, Span
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.syntax.parse import parse, parse_expression, parse_vary

TRIALS = 50
TRAIN_SHARE = 0.5
OF_RUNS = frozenset({"cost", "calls", "latency"})
"""Quantities of a run, whatever its result."""
SEEDS = 2**32
"""The number of seeds that samplers have; a study's own may be any whole number."""


@final
@dataclass(frozen=True, slots=True)
class Method:
    """A sampler or a prompt optimizer, with its arguments."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@final
@dataclass(frozen=True, slots=True)
class Objective:
    """A quantity to minimize or maximize, on average over rows; `text` is as the study writes it."""

    expression: e.Expression
    maximize: bool
    text: str

    @property
    def sign(self) -> float:
        """1 to minimize, -1 to maximize: lower values of `sign * value` are better."""
        return -1.0 if self.maximize else 1.0


@final
@dataclass(frozen=True, slots=True)
class Constraint:
    """`quantity <= bound` on average over rows; `least` reverses it. In `bound`, `baseline` is the quantity
    of the untuned program on the same rows."""

    quantity: e.Expression
    bound: e.Expression
    least: bool
    strict: bool
    text: str

    @property
    def relative(self) -> bool:
        """Whether the bound depends on the untuned program."""
        return BASELINE in free_names(self.bound)

    @property
    def of_results(self) -> bool:
        """Whether the quantity is about results: then it may be right or wrong, 1 or 0 in each row."""
        return free_names(self.quantity).keys().isdisjoint(OF_RUNS)


@final
@dataclass(frozen=True, slots=True)
class PromptSearch:
    """Prompts for which an optimizer proposes texts or examples."""

    prompts: tuple[str, ...]
    optimizer: Method


@final
@dataclass(frozen=True)
class StudyPlan:
    """The plan of a study. Money is in US dollars; `train` and `test` are numbers of the selected rows (None:
    half of them each)."""

    name: str
    program: CheckedProgram
    scheme: str
    data: Path | Table
    columns: Mapping[str, str]
    objectives: tuple[Objective, ...]
    constraints: tuple[Constraint, ...] = ()
    vary: tuple[n.Vary, ...] = ()
    searches: tuple[PromptSearch, ...] = ()
    train: int | None = None
    test: int | None = None
    split_seed: int = 0
    trials: int = TRIALS
    seed: int = 0
    budget: float | None = None
    failed: float | None = None
    batching: bool = True
    early_stop: bool = True
    model: str | None = None
    proposer: str | None = None
    storage: str | None = None
    sampler: Method = field(default_factory=lambda: Method("tpe"))
    selection: RowSelection = ALL

    def fingerprint(self, *more: object) -> str:
        """16 hexadecimal digits of everything that the course of the study depends on, except its length.

        A study whose program, objectives or data changed is another study; with more trials or money it is
        continued.
        """
        parts: list[object] = [*_texts_without_studies(self.program)]
        parts += [f"{o.maximize} {o.text}" for o in self.objectives]
        parts += [c.text for c in self.constraints]
        parts += [repr((v.text, v.domain)) for v in self.vary]
        parts += [(s.prompts, s.optimizer.name, dict(s.optimizer.arguments)) for s in self.searches]
        test = self.test if self.train is None else None  # otherwise the search does not depend on it
        parts += [self.scheme, self.train, test, self.split_seed, self.seed]
        parts += [self.failed, self.batching, self.early_stop, sorted(self.columns.items())]
        parts += [(self.sampler.name, dict(self.sampler.arguments))]
        parts += [self.selection] if self.selection != ALL else []
        whole = "\0".join(map(str, (*parts, *more)))
        return hashlib.sha256(whole.encode("utf-8", "replace")).hexdigest()[:16]

    @cached_property
    def table(self) -> Table:
        """The study's data, read once. Raises UsageError as `load`."""
        return as_table(self.data)

    def read_rows(self, numbers: Sequence[int] | None = None) -> Dataset:
        """These rows of the study's data (None: those selected), in this order. Raises UsageError as
        `read_dataset`."""
        table, program = self.table, self.program.ir(0)
        expressions = [o.expression for o in self.objectives] + [c.quantity for c in self.constraints]
        truth = any(TRUTH in free_names(node) for node in expressions)
        truth = truth or any(column.casefold() == TRUTH for column in table.columns)
        scheme = program.scheme(self.scheme)
        found = read_dataset(
            table, program, scheme, self.columns, self.selection, numbers=numbers, truth=truth
        )
        names = {name for node in expressions for name in free_names(node)}
        needs = TRUTH in names or ("right" in names and reads_truth(program, scheme))
        if needs and TRUTH not in found.matching.columns:
            what = TRUTH if TRUTH in names else "right"
            raise UsageError(
                f"`{what}` needs the known answers, and {found.name} has no column for them",
                help=f'name it, `data "..." (truth = Column)`: there are {", ".join(table.columns)}',
            )
        if found.rows:
            check_truth(found, [metric for metric in program.metrics if metric.name in names])
        return found


def _texts_without_studies(program: CheckedProgram) -> list[str]:
    """The texts of a program's files; the studies in its own file are left out."""
    compilation = program.compilation
    texts = {source: source.text for source in compilation.sources.values()}
    own, node = compilation.source, compilation.compiled().checked.modules[0]
    for study in reversed([d for d in node.declarations if isinstance(d, n.Study)]):
        texts[own] = texts[own][: study.span.start] + texts[own][study.span.end :]
    return list(texts.values())


def read_plan(path: str | Path, study: str | None = None, *, storage: str | None = None) -> StudyPlan:
    """The plan of a study in a file: the one named, or the only one; `storage` is the user's own choice.

    Raises UsageError if there is none, NotTrusted for an untrusted storage outside the project, CompileError
    with every error.
    """
    plan = plan_of(compile_file(path).compiled(), Path(path).parent, study)
    if storage is not None or plan.storage is None:
        return replace(plan, storage=storage)
    for _, what in reaching(path, plan.storage):
        if not trust.granted(Path(path).parent, "storage", what):
            raise NotTrusted(
                f"{path} has the {trust.shown('storage', plan.storage)}, which is outside its project",
                help="`gotc trust` its folder if you trust it, or name another with `--storage`",
            )
    return plan


def reaching(path: str | Path, storage: str | None = None, here: Path = Path()) -> list[tuple[str, str]]:
    """The settings of the studies in a file that need the user's trust, with the value that is trusted: this
    storage, or any. Paths are relative to `here`."""
    found = [storage] if storage is not None else []
    if storage is None:
        module = parse(read_source(path))[0]
        options = [o for d in module.declarations if isinstance(d, n.Study) for o in d.options]
        found = [
            str(o.value.value)
            for o in options
            if isinstance(o.value, e.Constant) and o.name.text == "storage"
        ]
    top = project(Path(path).parent)
    reached = (trust.reached(text, here, inside=top) for text in found)
    return [("storage", what) for what in reached if what is not None]


def plan_of(compilation: Compilation, folder: Path, study: str | None = None) -> StudyPlan:
    """The plan of a study in a file that compiles; its paths are relative to `folder`."""
    modules = compilation.compiled().checked.modules  # with the names of the whole program
    declared = {d.name.text: d for d in modules[0].declarations if isinstance(d, n.Study)}
    if not declared:
        raise UsageError(f"{compilation.source.name} has no study", help="a study starts with `study name:`")
    if study is None and len(declared) > 1:
        raise UsageError(
            f"{compilation.source.name} has several studies: {', '.join(declared)}",
            help=f"choose one: `--study {next(iter(declared))}`",
        )
    if study is not None and study not in declared:
        raise UsageError(f"there is no study `{study}`", help=f"there are {', '.join(declared)}")
    node = declared[study] if study is not None else next(iter(declared.values()))
    program = CheckedProgram(compilation)
    if node.program is not None:
        program = CheckedProgram(compile_file(beside(folder, str(node.program.value))))
    text = compilation.source.text

    def written(span: Span) -> str:
        while span.use is not None:  # of a function, which is what is computed
            span = span.use
        return text[span.start : span.end]

    data = beside(folder, str(node.data.path.value)) if node.data is not None else folder
    return _plan(node, program, data, folder, written)


def make_plan(
    program: CheckedProgram,
    *,
    data: str | Path | Table | Sequence[Mapping[str, Any]],
    minimize: str | None = None,
    maximize: str | None = None,
    subject_to: Sequence[str] = (),
    vary: Sequence[str] = (),
    prompts: Mapping[str, str] | None = None,
    columns: Mapping[str, str] | None = None,
    scheme: str | None = None,
    train: int | None = None,
    test: int | None = None,
    split_seed: int = 0,
    name: str = "tuned",
    **settings: Any,
) -> StudyPlan:
    """The plan of a study of a program, from Python.

    Expressions are texts as a study writes them: `minimize="mistakes(result, numbers)"`, `subject_to=["cost
    <= baseline"]`, `vary=["tries in 1..5"]`, `prompts={"repair": "copro(breadth=8)"}`. `data` is a path,
    relative to the program's file, or rows in memory; `columns` maps inputs to columns, missing ones are
    inferred. `settings` are those of a study, such as `trials`; None leaves their default.

    Raises CompileError with every error in them, also for an unknown setting, UsageError for data that cannot
    be read.
    """
    own = program.compilation.source
    sources = {**program.compilation.sources}

    def read(text: str, place: str, parse: Callable[[Source], Any] = parse_expression) -> Any:
        source = Source.of(f"<{place}>", text)
        sources[source.name] = source
        found = parse(source)
        if isinstance(found, Diagnostic):
            raise CompileError((found,), sources)
        return found

    def value(name: str, given: Any) -> Any:
        is_method = name == "sampler" and isinstance(given, str)
        return read(given, name) if is_method else e.Constant(NOWHERE, given)

    def options(given: Mapping[str, Any]) -> tuple[n.Setting, ...]:
        known = ((name, each) for name, each in given.items() if each is not None)
        return tuple(n.Setting(NOWHERE, _name(name), value(name, each)) for name, each in known)

    wanted = [(word, text) for word, text in (("minimize", minimize), ("maximize", maximize)) if text]
    path = e.Constant(NOWHERE, str(data) if isinstance(data, str | Path) else "<rows>")
    split = options({"train": train, "test": test, "seed": split_seed})
    node = n.Study(
        NOWHERE,
        _name(name),
        None,
        _name(program.scheme(scheme).name),
        n.StudyData(NOWHERE, path, tuple((columns or {}).items()), split),
        tuple((word, read(text, word)) for word, text in wanted),
        tuple(read(text, f"subject_to {i}") for i, text in enumerate(subject_to, 1)),
        tuple(read(text, f"vary {i}", parse_vary) for i, text in enumerate(vary, 1)),
        tuple(
            n.StudyPrompts(NOWHERE, (_name(prompt),), read(text, f"prompts {prompt}"))
            for prompt, text in (prompts or {}).items()
        ),
        options(settings),
    )
    report = Report()
    check_study(node, _target(program), report)
    if errors := tuple(d for d in report.diagnostics if d.severity == "error"):
        raise CompileError(errors, sources)
    folder = Path(own.name).resolve().parent if Path(own.name).exists() else Path.cwd()
    table = beside(folder, str(data)) if isinstance(data, str | Path) else as_table(data)
    return _plan(node, program, table, folder, lambda span: sources[span.source].text[span.start : span.end])


def _target(program: CheckedProgram) -> Target:
    return Target(program.compilation.compiled().checked.symbols, program.compilation.source.name)


def _name(text: str) -> e.Identifier:
    return e.Identifier(NOWHERE, text)


def _varied(vary: n.Vary, folder: Path, program: CheckedProgram) -> n.Vary:
    """The same with names as texts, and with the contents of files instead of their names."""
    if not isinstance(vary.domain, n.Choices):
        return vary

    def plain(value: e.Expression | n.TextFile) -> e.Expression:
        match value:
            case e.Reference(name=name):
                return e.Constant(value.span, name)
            case n.TextFile(path=path):
                return e.Constant(value.span, _text_in(beside(folder, str(path.value)), vary, program))
        return value

    return structs.replace(
        vary, domain=structs.replace(vary.domain, values=tuple(map(plain, vary.domain.values)))
    )


def _text_in(file: Path, vary: n.Vary, program: CheckedProgram) -> str:
    """A text for a prompt. Raises UsageError for one that cannot be read or is not allowed there."""
    symbols = program.compilation.compiled().checked.symbols
    prompt = symbols.nodes[vary.name.text]
    assert isinstance(prompt, n.Prompt)  # the checker ensures this
    try:
        reject_device(file)
        text = file.read_text("utf-8").strip()
    except (OSError, UnicodeError) as error:
        why = (isinstance(error, OSError) and error.strerror) or "it is not UTF-8"
        raise UsageError(f"cannot read {file}, which `{vary.text}` names: {why}") from None
    if problem := text_problem(text, prompt, symbols):
        raise UsageError(f"{file}: {problem[0]}", help=problem[1])
    return text


def _plan(
    node: n.Study,
    program: CheckedProgram,
    data: Path | Table,
    folder: Path,
    written: Callable[[Span], str],
) -> StudyPlan:
    """The plan of a checked study in a folder; `written` returns the text of a span."""
    scheme = _target(program).scheme(node.scheme.text if node.scheme else None)
    settings = {option.name.text: option.value for option in node.options}
    split = _constants(node.data.options if node.data else ())
    constants = _constants(o for o in node.options if not isinstance(OPTIONS[o.name.text], dict))
    sampler = Method(*method(settings["sampler"])) if "sampler" in settings else Method("tpe")
    return StudyPlan(
        name=node.name.text,
        program=program,
        scheme=str(scheme),
        data=data,
        columns=dict(node.data.columns) if node.data else {},
        objectives=tuple(
            Objective(value, word == "maximize", written(value.span)) for word, value in node.objectives
        ),
        constraints=tuple(_constraint(value, written(value.span)) for value in node.constraints),
        vary=tuple(_varied(vary, folder, program) for vary in node.vary),
        searches=tuple(
            PromptSearch(tuple(name.text for name in p.names), Method(*method(p.optimizer)))
            for p in node.prompts
        ),
        train=split.get("train"),
        test=split.get("test"),
        split_seed=split.get("seed", 0),
        **constants,
        sampler=sampler,
    )


def _constants(options: Iterable[n.Setting]) -> dict[str, Any]:
    return {option.name.text: constant_value(option.value) for option in options}


def _constraint(node: e.Expression, text: str) -> Constraint:
    found = sides(node)
    assert found is not None  # the checker ensures this
    quantity, bound, sign = found
    return Constraint(quantity, bound, sign in {">", ">="}, sign in {"<", ">"}, text)
