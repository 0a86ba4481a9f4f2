"""The checker: from modules to a checked program, with all errors at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import is_
from typing import TYPE_CHECKING, final

from msgspec import Struct, structs

from gotlang.diagnostics import Diagnostic, Label, Report, in_order
from gotlang.linking.inlined import Ascription
from gotlang.scope import EVERYTHING, PoolType
from gotlang.semantics.declarations import add_function, collect
from gotlang.semantics.expressions import ExpressionChecker, Matched
from gotlang.semantics.facts import asking, callees_first
from gotlang.semantics.index import AscribingChecker, SemanticIndex
from gotlang.semantics.metrics import check_fit, check_metric
from gotlang.semantics.names import check_names
from gotlang.semantics.params import check_params
from gotlang.semantics.pipelines import PipelineChecker
from gotlang.semantics.prompts import check_prompt
from gotlang.semantics.returns import with_returns
from gotlang.semantics.skips import SkipChecker
from gotlang.semantics.symbols import Symbols
from gotlang.semantics.test_declarations import UNITS, DeclaredTest, check_limits, check_tests
from gotlang.semantics.truth import check_ground_truth
from gotlang.semantics.warnings import warn_unused, warn_unused_thoughts
from gotlang.span import Source
from gotlang.syntax import nodes as n
from gotlang.syntax.expressions import HOLE, Identifier

if TYPE_CHECKING:
    from gotlang.semantics.studies import Target


@final
class Checked(Struct, frozen=True):
    """A checked program, with facts about its nodes in tables keyed by their identity.

    `pools` are the pools of statements, `arguments` the arguments of calls by parameter, `named` the
    `foreach` blocks after which the element's name means the results, `exhaustive` each `if` of which some
    condition is always true, `casts` the bindings whose type the run checks.
    """

    modules: tuple[n.Module, ...]
    symbols: Symbols
    pools: Mapping[int, PoolType]
    arguments: Mapping[int, Matched]
    named: frozenset[int]
    exhaustive: frozenset[int]
    casts: frozenset[int]
    diagnostics: tuple[Diagnostic, ...]
    tests: tuple[DeclaredTest, ...] = ()
    """Those of the program's own file."""

    @property
    def ok(self) -> bool:
        """Whether there is no error; warnings do not count."""
        return not any(d.severity == "error" for d in self.diagnostics)

    def tests_named(self, part: str) -> tuple[DeclaredTest, ...]:
        """The tests with this text in their name, in any case."""
        folded = part.casefold()
        return tuple(test for test in self.tests if folded in str(test.node.name.value).casefold())


def check(
    modules: tuple[n.Module, ...],
    functions: tuple[n.PythonFunction, ...] = (),
    targets: Mapping[int, Target | None] | None = None,
    sources: Mapping[str, Source] | None = None,
    mentioned: frozenset[str] = frozenset(),
    ascribed: Mapping[int, Sequence[Ascription]] | None = None,
    index: SemanticIndex | None = None,
) -> Checked:
    """Check a program: its own module first, then those it imports.

    `functions` are provided by Python in addition to the program's imports. `targets` are the programs that
    studies name, by the identity of the study's node; None for one that cannot be read. `sources` are the
    texts of the modules by name, for the places inside templates. `mentioned` are names that Python which
    changes graphs may use. `ascribed` are types that expressions must have, by identity. `index` records
    the facts that editors show.
    """
    report = Report()
    modules, wrong = _with_returns(modules, report)
    symbols = collect(modules, report)
    for function in functions:
        if function.name.text not in symbols.functions:
            add_function(function, symbols, report)
            symbols.provided.append(function.name.text)
    symbols.asking = asking([d for d in symbols.nodes.values() if isinstance(d, n.Score)], report)
    expressions = (
        AscribingChecker(symbols, report, ascribed or {}, index)
        if ascribed or index is not None
        else ExpressionChecker(symbols, report)
    )
    if index is not None:
        index.symbols = symbols
    declarations = [d for module in modules for d in module.declarations]
    check_params([d for d in declarations if isinstance(d, n.Param)], symbols, expressions)
    pipelines = PipelineChecker(symbols, report, expressions, index)
    pipelines.wrong |= wrong
    studies: dict[str, Identifier] = {}
    for d in declarations:
        match d:
            case n.Prompt() if symbols.nodes.get(d.name.text) is d:
                check_prompt(d, symbols.prompts[d.name.text], symbols, expressions, sources or {})
            case n.Score() if symbols.nodes.get(d.name.text) is d:
                pipelines.wrong |= check_names(d, symbols, report)
                pipelines.score(d, symbols.scores[d.name.text])
                SkipChecker(pipelines.pools, report).suite(d.body)
            case n.Metric() if symbols.metrics.get(d.name.text, (None,))[0] is d:
                pipelines.wrong |= check_names(d, symbols, report)
                check_metric(d, symbols, expressions)
                if d in modules[0].declarations:
                    check_fit(d, symbols, modules[0].span.source, report)
            case n.Study():
                from gotlang.semantics.studies import check_study

                named = d in modules[0].declarations and d.name.text != HOLE
                if named and (first := studies.setdefault(d.name.text, d.name)) is not d.name:
                    labels = (Label(first.span, "first here"),)
                    message = f"duplicate study `{d.name.text}`"
                    report.error("GOT0101", message, d.name.span, "here again", labels=labels)
                known = targets or {}
                if id(d) in known:
                    target = known[id(d)]
                elif d.program is None and any(map(n.is_unreadable, d.options)):
                    target = None  # its program may be unreadable
                else:
                    target = _itself(d, modules[0], symbols, report)
                check_study(d, target, report)
    schemes = [d for d in declarations if isinstance(d, n.Scheme) and symbols.nodes.get(d.name.text) is d]
    for scheme in schemes:
        pipelines.wrong |= check_names(scheme, symbols, report)
        check_limits(scheme.within, UNITS, report)
    _check_schemes(schemes, pipelines, report)
    own = [d for d in modules[0].declarations if isinstance(d, n.Test)]
    tests = check_tests(own, symbols, pipelines, report)
    symbols.used |= mentioned
    warn_unused(modules[0], symbols, report)
    return Checked(
        modules,
        symbols,
        pipelines.pools,
        expressions.arguments,
        frozenset(pipelines.named),
        frozenset(pipelines.exhaustive),
        frozenset(pipelines.casts),
        in_order(report.diagnostics),
        tests,
    )


def _with_returns(modules: tuple[n.Module, ...], report: Report) -> tuple[tuple[n.Module, ...], set[int]]:
    """Modules whose schemes return only at their end, and the statements for which no further errors are
    reported. A module without a `return` stays the same object, so that its rewrites are checked as trees."""
    found, wrong = [], set[int]()
    for module in modules:
        declarations = list(module.declarations)
        for at, d in enumerate(declarations):
            if isinstance(d, n.Scheme):
                declarations[at], broken = with_returns(d, report)
                wrong |= broken
        same = all(map(is_, declarations, module.declarations))
        found.append(module if same else structs.replace(module, declarations=tuple(declarations)))
    return tuple(found), wrong


def _check_schemes(schemes: list[n.Scheme], pipelines: PipelineChecker, report: Report) -> None:
    """Check schemes, and repeat the check of those that call one whose thoughts have fewer facts than was
    assumed (as in a recursion, which starts from all facts)."""
    facts, found = pipelines.symbols.facts, dict[str, list[Diagnostic]]()
    order = list(callees_first(schemes))
    left, callers = {node.name.text for node, _ in order}, dict[str, list[str]]()
    for node, calls in order:
        for called in calls:
            callers.setdefault(called, []).append(node.name.text)
    while left:
        for node, _ in order:
            if (name := node.name.text) not in left:
                continue
            left.discard(name)
            known, start = facts.get(name, EVERYTHING), len(report.diagnostics)
            facts[name] = known.both(pipelines.scheme(node, pipelines.symbols.schemes[name]))
            found[name] = report.diagnostics[start:]
            del report.diagnostics[start:]
            if facts[name] != known:
                left.update(callers.get(name, ()))
    for node, _ in order:
        report.diagnostics += found[node.name.text]
        check_ground_truth(node, report)
        warn_unused_thoughts(node.body, report)
        SkipChecker(pipelines.pools, report).suite(node.body)


def _itself(node: n.Study, module: n.Module, symbols: Symbols, report: Report) -> Target | None:
    """The target of a study of its own file."""
    if not symbols.schemes:
        help = 'write `program "sort128.got"`'
        report.error("GOT0601", "a study needs a program", node.name.span, help=help)
        return None
    from gotlang.semantics.studies import Target

    return Target(symbols, module.span.source)
