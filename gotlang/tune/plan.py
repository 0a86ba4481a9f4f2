"""What a study asks for, as plain data: from its declaration and the program it names."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

from gotlang.compiler import Compilation
from gotlang.errors import UsageError
from gotlang.files import beside, compile_file
from gotlang.program import CheckedProgram
from gotlang.semantics.studies import Target, sides
from gotlang.semantics.study_settings import OPTIONS, constant, method
from gotlang.span import Span
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n

TRIALS = 50
PARALLEL = 4
TRAIN_SHARE = 0.5
FINALS = 8
SEEDS = 2**32
"""As many seeds samplers have; a study's own may be any whole number."""


@final
@dataclass(frozen=True, slots=True)
class Method:
    """A sampler, a race or a prompt optimizer, with its arguments."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@final
@dataclass(frozen=True, slots=True)
class Objective:
    """A quantity to make small, or large, on average over rows; `text` is as the study writes it."""

    expression: e.Expression
    maximize: bool
    text: str


@final
@dataclass(frozen=True, slots=True)
class Constraint:
    """`quantity <= bound` on average over rows; `least` turns it round. In `bound`, `baseline` is the
    quantity of the untuned program on the same rows."""

    quantity: e.Expression
    bound: e.Expression
    least: bool
    strict: bool
    text: str


@final
@dataclass(frozen=True, slots=True)
class PromptSearch:
    """Prompts whose texts or examples an optimizer proposes."""

    prompts: tuple[str, ...]
    optimizer: Method


@final
@dataclass(frozen=True)
class Plan:
    """A whole study. Money is in US dollars; `train` and `test` are numbers of rows (None: half of them
    each).

    `folder` is where the study's paths start, `parallel` how many trials are proposed from the same
    knowledge, so how many workers can share the study without changing it, `finals` how many of the best
    trials run again with new draws (below 2: none).
    """

    name: str
    program: CheckedProgram
    scheme: str
    folder: Path
    data: Path
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
    fusion: bool = True
    early_stop: bool = True
    model: str | None = None
    proposer: str | None = None
    storage: str | None = None
    sampler: Method = field(default_factory=lambda: Method("tpe"))
    race: Method | None = field(default_factory=lambda: Method("wilcoxon"))

    def fingerprint(self, *more: object) -> str:
        """16 hexadecimal digits that stand for everything the course of the study depends on, but for its
        length.

        A study whose program, wishes or data changed is another study; more trials or money go on with it.
        """
        texts = [source.text for source in self.program.compilation.sources.values()]
        wishes = [
            *[f"{o.maximize} {o.text}" for o in self.objectives],
            *[c.text for c in self.constraints],
            *[repr((v.name.text, v.domain)) for v in self.vary],
            *[repr((s.prompts, s.optimizer.name, dict(s.optimizer.arguments))) for s in self.searches],
        ]
        rest: list[object] = [self.scheme, self.train, self.test, self.split_seed, self.parallel, self.seed]
        rest += [self.failed, self.fusion, self.early_stop, sorted(self.columns.items())]
        methods = [repr((m.name, dict(m.arguments))) if m else "" for m in (self.sampler, self.race)]
        whole = "\0".join(map(str, (*texts, *wishes, *rest, *methods, *more)))
        return hashlib.sha256(whole.encode("utf-8", "replace")).hexdigest()[:16]


def read_plan(path: str | Path, study: str | None = None) -> Plan:
    """The plan of a study in a file: the one named, or the only one.

    Raises UsageError where there is none, CompileError with every mistake.
    """
    return plan_of(compile_file(path).compiled(), Path(path).parent, study)


def plan_of(compilation: Compilation, folder: Path, study: str | None = None) -> Plan:
    """The plan of a study in a file that compiles; `folder` is where its paths start."""
    declared = {d.name.text: d for d in compilation.modules[0].declarations if isinstance(d, n.Study)}
    if not declared:
        raise UsageError(
            f"{compilation.source.name} holds no study", help="a study starts with `study name:`"
        )
    if study is None and len(declared) > 1:
        raise UsageError(
            f"{compilation.source.name} holds several studies: {', '.join(declared)}",
            help=f"say which: `--study {next(iter(declared))}`",
        )
    if study is not None and study not in declared:
        raise UsageError(f"there is no study `{study}`", help=f"there are {', '.join(declared)}")
    node = declared[study] if study is not None else next(iter(declared.values()))
    program = CheckedProgram(compilation)
    if node.program is not None:
        program = CheckedProgram(compile_file(beside(folder, str(node.program.value))))
    return _plan(node, program, folder, compilation.source.text)


def _plan(node: n.Study, program: CheckedProgram, folder: Path, text: str) -> Plan:
    assert node.data is not None
    checked = program.compilation.checked
    scheme = Target(checked.symbols, program.name).scheme(node.scheme.text if node.scheme else None)
    assert scheme is not None

    def written(span: Span) -> str:
        return text[span.start : span.end]

    settings = {option.name.text: option.value for option in node.options}
    data = {option.name.text: constant(option.value) for option in node.data.options}
    constants = {
        name: constant(settings[name])
        for name, kind in OPTIONS.items()
        if name in settings and not isinstance(kind, dict)
    }
    methods = {name: _method(settings[name]) for name in ("sampler", "race") if name in settings}
    if methods.get("sampler", True) is None:
        del methods["sampler"]
    return Plan(
        name=node.name.text,
        program=program,
        scheme=scheme,
        folder=folder,
        data=beside(folder, str(node.data.path.value)),
        columns=dict(node.data.columns),
        objectives=tuple(
            Objective(value, word == "maximize", written(value.span)) for word, value in node.objectives
        ),
        constraints=tuple(_constraint(value, written(value.span)) for value in node.constraints),
        vary=node.vary,
        searches=tuple(
            PromptSearch(tuple(name.text for name in p.names), _method(p.optimizer) or Method("copro"))
            for p in node.prompts
        ),
        train=data.get("train"),
        test=data.get("test"),
        split_seed=data.get("seed", 0),
        **constants,
        **methods,  # type: ignore[arg-type]
    )


def _method(node: e.Expression) -> Method | None:
    """A method; None for `none`."""
    if isinstance(node, e.Constant) and node.value is None:
        return None
    return Method(*method(node))


def _constraint(node: e.Expression, text: str) -> Constraint:
    found = sides(node)
    assert found is not None
    quantity, bound, sign = found
    return Constraint(quantity, bound, sign in {">", ">="}, sign in {"<", ">"}, text)
