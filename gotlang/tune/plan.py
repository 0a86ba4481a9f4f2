"""What a study asks for, as plain data: from its declaration, or from Python."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, final

from gotlang.compiler import Compilation
from gotlang.data.table import Table
from gotlang.diagnostics import Report
from gotlang.errors import CompileError, UsageError
from gotlang.evaluate.rows import TRUTH, Dataset, as_table, read_dataset
from gotlang.files import beside, compile_file
from gotlang.ir.text import value_text
from gotlang.operations.names import free_names
from gotlang.program import CheckedProgram
from gotlang.semantics.params import constant_value
from gotlang.semantics.studies import OPTIONS, Target, check_study, method, sides
from gotlang.span import NOWHERE, Source
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.syntax.parse import parse

TRIALS = 50
PARALLEL = 4
TRAIN_SHARE = 0.5
FINALS = 8
SEEDS = 2**32
"""The number of seeds that samplers have; a study's own may be any whole number."""
METHODS = frozenset(name for name, wanted in OPTIONS.items() if isinstance(wanted, dict))
"""The settings that choose a method."""


@final
@dataclass(frozen=True, slots=True)
class Method:
    """A sampler, a race or a prompt optimizer, with its arguments."""

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
        """1 to minimize, -1 to maximize: less of `sign * value` is better."""
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


@final
@dataclass(frozen=True, slots=True)
class PromptSearch:
    """Prompts for which an optimizer proposes texts or examples."""

    prompts: tuple[str, ...]
    optimizer: Method


@final
@dataclass(frozen=True)
class StudyPlan:
    """A whole study. Money is in US dollars; `train` and `test` are numbers of rows (None: half of them
    each).

    `parallel` is how many trials are proposed from the same knowledge, so how many workers can share the
    study without changing it, `finals` how many of the best trials are rerun with new samples (below 2:
    none).
    """

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
    parallel: int = PARALLEL
    finals: int = FINALS
    seed: int = 0
    budget: float | None = None
    failed: float | None = None
    batching: bool = True
    early_stop: bool = True
    model: str | None = None
    proposer: str | None = None
    storage: str | None = None
    sampler: Method = field(default_factory=lambda: Method("tpe"))
    race: Method | None = field(default_factory=lambda: Method("wilcoxon"))

    def fingerprint(self, *more: object) -> str:
        """16 hexadecimal digits of everything the course of the study depends on, but for its length.

        A study whose program, objectives or data changed is another study; more trials or money continue it.
        """
        parts: list[object] = [source.text for source in self.program.compilation.sources.values()]
        parts += [f"{o.maximize} {o.text}" for o in self.objectives]
        parts += [c.text for c in self.constraints]
        parts += [repr((v.name.text, v.domain)) for v in self.vary]
        parts += [(s.prompts, s.optimizer.name, dict(s.optimizer.arguments)) for s in self.searches]
        parts += [self.scheme, self.train, self.test, self.split_seed, self.parallel, self.seed]
        parts += [self.failed, self.batching, self.early_stop, sorted(self.columns.items())]
        parts += [(m.name, dict(m.arguments)) if m else "" for m in (self.sampler, self.race)]
        whole = "\0".join(map(str, (*parts, *more)))
        return hashlib.sha256(whole.encode("utf-8", "replace")).hexdigest()[:16]

    def read_rows(self, numbers: Sequence[int] | None = None) -> Dataset:
        """These rows of the study's data (None: all), in this order. Raises UsageError as `read_dataset`."""
        table, program = as_table(self.data), self.program.ir(0)
        expressions = [o.expression for o in self.objectives] + [c.quantity for c in self.constraints]
        truth = any(TRUTH in free_names(node) for node in expressions)
        truth = truth or any(column.casefold() == TRUTH for column in table.columns)
        scheme = program.scheme(self.scheme)
        return read_dataset(table, program, scheme, self.columns, numbers=numbers, truth=truth)


def read_plan(path: str | Path, study: str | None = None) -> StudyPlan:
    """The plan of a study in a file: the one named, or the only one.

    Raises UsageError if there is none, CompileError with every mistake.
    """
    return plan_of(compile_file(path).compiled(), Path(path).parent, study)


def plan_of(compilation: Compilation, folder: Path, study: str | None = None) -> StudyPlan:
    """The plan of a study in a file that compiles; its paths are relative to `folder`."""
    declared = {d.name.text: d for d in compilation.modules[0].declarations if isinstance(d, n.Study)}
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
    data = beside(folder, str(node.data.path.value)) if node.data is not None else folder
    return _plan(node, program, data, compilation.source)


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
    relative to the program's file, or rows in memory; `columns` maps inputs to columns, those left out are
    inferred. `settings` are those of a study, such as `trials`; None leaves their default, and `race=None`
    runs every trial on all rows.

    Raises CompileError with every mistake in them, UsageError for data that cannot be read.
    """

    def written(given: Mapping[str, Any]) -> list[str]:
        known = ((name, value) for name, value in given.items() if value is not None or name == "race")
        return [f"{name} {v if v and name in METHODS else value_text(v)}" for name, v in known]

    objectives = {"minimize": minimize, "maximize": maximize}
    clauses = [
        ", ".join(['data "rows"', *written({"train": train, "test": test, "seed": split_seed})]),
        *(f"{word} {text.strip()}" for word, text in objectives.items() if text),
        *(f"subject to {text.strip()}" for text in subject_to),
        *(f"vary {text.strip()}" for text in vary),
        *(f"prompts {prompt} with {text.strip()}" for prompt, text in (prompts or {}).items()),
        *written(settings),
    ]
    source = Source.of("<study>", "".join(["study tuned:\n", *(f"    {clause}\n" for clause in clauses)]))
    module, problems = parse(source)
    report = Report()
    report.diagnostics += problems
    node = next((d for d in module.declarations if isinstance(d, n.Study)), None)
    if node is not None and node.data is not None:
        data_node = replace(node.data, columns=tuple((columns or {}).items()))
        chosen = e.Identifier(NOWHERE, program.scheme(scheme).name)
        node = replace(node, name=e.Identifier(NOWHERE, name), scheme=chosen, data=data_node)
        check_study(node, _target(program), report)
    errors = tuple(d for d in report.diagnostics if d.severity == "error")
    if errors or node is None:
        raise CompileError(errors, {**program.compilation.sources, source.name: source})
    own = Path(program.compilation.source.name)
    folder = own.resolve().parent if own.exists() else Path.cwd()
    table = beside(folder, str(data)) if isinstance(data, str | Path) else as_table(data)
    return _plan(node, program, table, source)


def _target(program: CheckedProgram) -> Target:
    return Target(program.compilation.checked.symbols, program.name)


def _plan(node: n.Study, program: CheckedProgram, data: Path | Table, source: Source) -> StudyPlan:
    """The plan of a checked study, which `source` declares."""

    def written(value: e.Expression) -> str:
        return source.text[value.span.start : value.span.end]

    scheme = _target(program).scheme(node.scheme.text if node.scheme else None)
    split = {
        option.name.text: constant_value(option.value) for option in (node.data.options if node.data else ())
    }
    settings = {option.name.text: _setting(option) for option in node.options}
    if settings.get("sampler", True) is None:
        del settings["sampler"]
    return StudyPlan(
        name=node.name.text,
        program=program,
        scheme=str(scheme),
        data=data,
        columns=dict(node.data.columns) if node.data else {},
        objectives=tuple(
            Objective(value, word == "maximize", written(value)) for word, value in node.objectives
        ),
        constraints=tuple(_constraint(value, written(value)) for value in node.constraints),
        vary=node.vary,
        searches=tuple(
            PromptSearch(tuple(name.text for name in p.names), Method(*method(p.optimizer)))
            for p in node.prompts
        ),
        train=split.get("train"),
        test=split.get("test"),
        split_seed=split.get("seed", 0),
        **settings,
    )


def _setting(option: n.Setting) -> Any:
    """The value of a setting: a constant or a method."""
    node = option.value
    is_method = option.name.text in METHODS and not isinstance(node, e.Constant)
    return Method(*method(node)) if is_method else constant_value(node)


def _constraint(node: e.Expression, text: str) -> Constraint:
    found = sides(node)
    assert found is not None  # the checker has seen to it
    quantity, bound, sign = found
    return Constraint(quantity, bound, sign in {">", ">="}, sign in {"<", ">"}, text)
