"""The checker: from modules to a checked program, with all errors at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import final

from gotlang.diagnostics import Diagnostic, Report, in_order
from gotlang.scope import PoolType
from gotlang.semantics.expressions import ExpressionChecker, Matched
from gotlang.semantics.params import check_params
from gotlang.semantics.pipelines import PipelineChecker
from gotlang.semantics.prompts import check_prompt
from gotlang.semantics.studies import Target, check_study
from gotlang.semantics.symbols import Symbols, collect
from gotlang.semantics.warnings import warn_unused, warn_unused_thoughts
from gotlang.syntax import nodes as n


@final
@dataclass(frozen=True)
class Checked:
    """A checked program, with what is known of its nodes in tables keyed by their identity.

    `pools` are the pools of statements, `arguments` the arguments of calls by parameter, `named` the
    `foreach` blocks after which the element's name means the results.
    """

    modules: tuple[n.Module, ...]
    symbols: Symbols
    pools: Mapping[int, PoolType]
    arguments: Mapping[int, Matched]
    named: frozenset[int]
    diagnostics: tuple[Diagnostic, ...]

    @property
    def ok(self) -> bool:
        """Whether there is no error; warnings do not count."""
        return not any(d.severity == "error" for d in self.diagnostics)


def check(
    modules: tuple[n.Module, ...],
    functions: frozenset[str] = frozenset(),
    targets: Mapping[int, Target | None] | None = None,
) -> Checked:
    """Check a program: its own module first, then those it imports.

    `functions` are names that Python provides in addition to the program's imports. `targets` are the
    programs that studies name, by the identity of the study's node; None for one that cannot be read.
    """
    report = Report()
    symbols = collect(modules, report)
    for name in functions:
        symbols.functions.setdefault(name, modules[0].span)
    expressions = ExpressionChecker(symbols, report)
    declarations = [d for module in modules for d in module.declarations]
    check_params([d for d in declarations if isinstance(d, n.Param)], symbols, expressions)
    pipelines = PipelineChecker(symbols, report, expressions)
    for d in declarations:
        match d:
            case n.Prompt() if symbols.nodes.get(d.name.text) is d:
                check_prompt(d, symbols.prompts[d.name.text], symbols, expressions)
            case n.Score() if symbols.nodes.get(d.name.text) is d:
                pipelines.score(d, symbols.scores[d.name.text])
            case n.Scheme() if symbols.nodes.get(d.name.text) is d:
                pipelines.scheme(d, symbols.schemes[d.name.text])
                warn_unused_thoughts(d.body, report)
            case n.Study():
                check_study(d, (targets or {}).get(id(d)) or _itself(d, modules[0], symbols, report), report)
    warn_unused(modules[0], symbols, report)
    return Checked(
        modules,
        symbols,
        pipelines.pools,
        expressions.arguments,
        frozenset(pipelines.named),
        in_order(report.diagnostics),
    )


def _itself(node: n.Study, module: n.Module, symbols: Symbols, report: Report) -> Target | None:
    """The target of a study that names no program: its own file."""
    if node.program is not None:
        return None
    if not symbols.schemes:
        help = 'write `program "sort128.got"`'
        report.error("GOT0601", "a study needs a program", node.name.span, help=help)
        return None
    return Target(symbols, PurePosixPath(module.span.source).stem)
