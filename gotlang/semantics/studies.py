"""Checks studies: their settings, and their scheme, inputs, params and objectives in the program."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, final

from msgspec import Struct, field

from gotlang.diagnostics import Report
from gotlang.scope import Scope, Variable
from gotlang.semantics.aims import BASELINE, MEASURES, AimCheck, sides
from gotlang.semantics.expressions import ExpressionChecker
from gotlang.semantics.metrics import misfit_of
from gotlang.semantics.params import constant_value
from gotlang.semantics.symbols import Signature, Symbols
from gotlang.semantics.variations import SCHEME, STRUCTURE, VaryCheck, name_of, reached
from gotlang.span import Span
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.syntax.format import format_expression
from gotlang.types import BOOL, FLOAT, INT, STR, ListType, Type, accepts, of_value


@final
class Choice(Struct, frozen=True):
    """One of several methods, such as `tpe(seed=42)`: its arguments with their types, and a description."""

    takes: Mapping[str, Type] = field(default_factory=dict)
    doc: str = ""


SAMPLERS: dict[str, Choice] = {
    "tpe": Choice({"seed": INT, "startup": INT}, "tree-structured Parzen estimator"),
    "gp": Choice({"seed": INT, "startup": INT}, "Gaussian process (needs torch)"),
    "cmaes": Choice({"seed": INT, "startup": INT}, "covariance matrix adaptation (needs cmaes)"),
    "nsga2": Choice({"seed": INT, "population": INT}, "evolution of a Pareto front"),
    "random": Choice({"seed": INT}, "at random"),
    "grid": Choice({"seed": INT}, "every combination, in random order"),
}

OPTIMIZERS: dict[str, Choice] = {
    "copro": Choice({"breadth": INT, "depth": INT, "temperature": FLOAT, "keep": INT, "rows": INT}),
    "miprov2": Choice({"candidates": INT, "trials": INT, "demos": INT, "keep": INT, "rows": INT}),
    "gepa": Choice({"calls": INT, "keep": INT, "rows": INT}),
    "bootstrap": Choice({"demos": INT, "sets": INT, "keep": INT, "rows": INT}),
}

OPTIONS: dict[str, Type | dict[str, Choice]] = {
    "trials": INT,
    "budget": FLOAT,
    "seed": INT,
    "failed": FLOAT,
    "batching": BOOL,
    "early_stop": BOOL,
    "model": STR,
    "proposer": STR,
    "storage": STR,
    "sampler": SAMPLERS,
}
"""The settings of a study by name: the type of a constant, or the methods to choose from."""

GONE = {
    "race": "studies no longer race: rows are added where the expected gain per cost is largest",
    "finals": "there are no finals: the trials that may be best see more rows",
    "parallel": "trials are not proposed in batches: any number of workers shares a study",
}
"""Settings of earlier versions, with why they were removed."""

CLAUSES = ("data", "maximize", "minimize", "program", "prompts", "scheme", "subject to", "vary")
"""The other clauses of a study, for suggestions."""

DATA_OPTIONS: dict[str, Type] = {"train": INT, "test": INT, "seed": INT}

BOUNDS: dict[str, tuple[float, float]] = {
    **dict.fromkeys(("trials", "train", "test"), (1, math.inf)),
    **dict.fromkeys(("budget", "seed"), (0, math.inf)),
    **dict.fromkeys(("depth", "keep", "rows", "candidates", "calls", "sets"), (1, math.inf)),
    **dict.fromkeys(("startup", "demos"), (0, math.inf)),
    **dict.fromkeys(("population", "breadth"), (2, math.inf)),
    "temperature": (0, 2),
}
"""The bounds of numeric settings and dimensions, by name; others have none."""


@final
class Target(Struct, frozen=True):
    """The program of a study: its declarations, and its file, which selects the default scheme."""

    symbols: Symbols
    file: str

    def scheme(self, wanted: str | None) -> str | None:
        """The scheme that is tuned: the one named, else the program's default."""
        if wanted is not None:
            return wanted if wanted in self.symbols.schemes else None
        return self.symbols.default_scheme(self.file)


def check_study(node: n.Study, target: Target | None, report: Report) -> None:
    """Report the errors of a study. Without a target, only checks that do not need it are done."""
    lost = any(n.is_unreadable(option) or option.name.text not in OPTIONS for option in node.options)
    lost |= any(option.name.text not in DATA_OPTIONS for option in (node.data.options if node.data else ()))
    if node.data is None and not lost:
        help = 'write `data "rows.csv" (input = Column)`'
        report.error("GOT0601", "a study needs data", node.name.span, help=help)
    if not node.objectives and not lost:
        help = "write `minimize ...` or `maximize ...`"
        report.error("GOT0601", "a study needs an objective", node.name.span, help=help)
    _settings(node, report)
    for constraint in node.constraints:
        if sides(constraint) is None:
            message, help = (
                "a constraint compares a quantity with a bound",
                "write `cost <= baseline` or `cost <= 0.05`",
            )
            report.error("GOT0603", message, constraint.span, help=help)
    if target is not None:
        _against(node, target, report)


def _against(node: n.Study, target: Target, report: Report) -> None:
    symbols = target.symbols
    name = target.scheme(node.scheme.text if node.scheme else None)
    if name is None:
        if node.scheme:
            names, text = list(symbols.schemes), node.scheme.text
            there = f"its program has: {', '.join(f'`{each}`' for each in names) or 'no scheme'}"
            report.unknown("GOT0602", "scheme", text, node.scheme.span, names, there)
        else:
            report.error("GOT0602", "its program has no scheme to tune", node.name.span)
        return
    scheme = symbols.schemes[name]
    schemes = schemes_of(node, name, symbols)
    known = [*dict(scheme.parameters), "truth"]
    for column, _ in node.data.columns if node.data else ():
        if column not in known:
            assert node.data is not None
            text = f"the scheme `{name}` takes: {scheme.takes()}"
            report.unknown("GOT0602", "input", column, node.data.span, known, text)
    rewritten = any(vary.text == STRUCTURE for vary in node.vary)
    varied = VaryCheck(symbols, schemes, report, rewritten)
    for vary in node.vary:
        varied.check(vary)
    for prompt in (name for prompts in node.prompts for name in prompts.names):
        if prompt.text not in symbols.prompts:
            report.unknown("GOT0602", "prompt", prompt.text, prompt.span, symbols.prompts)
        elif not rewritten and all(prompt.text not in reached(symbols, each) for each in schemes):
            message, help = f"the scheme `{name}` does not call `{prompt.text}`", "name prompts that it calls"
            report.error("GOT0605", message, prompt.span, help=help)
    proposer = next((option for option in node.options if option.name.text == "proposer"), None)
    if proposer is not None and not node.prompts:
        help = "add `prompts ... with copro()`, or leave it out"
        report.error("GOT0605", "no prompt is searched, so nothing is proposed", proposer.span, help=help)
    before = len(report.diagnostics)
    aims = AimCheck(symbols, schemes, report)
    aims.lacking(node)
    expressions = ExpressionChecker(symbols, report)
    for each in schemes:
        if len(report.diagnostics) > before:
            return
        _quantities(node, symbols, symbols.schemes[each], expressions)
    if len(report.diagnostics) == before:
        aims.pointless(node)


def _quantities(node: n.Study, symbols: Symbols, scheme: Signature, expressions: ExpressionChecker) -> None:
    """Check the types of objectives and constraints for a scheme."""
    fitting = [metric.name for _, metric in symbols.metrics.values() if misfit_of(metric, scheme) is None]
    scope = measured_names(scheme, fitting)
    for _, objective in node.objectives:
        _number(objective, expressions, scope, "an objective")
    for constraint in node.constraints:
        if (parts := sides(constraint)) is not None:
            _number(parts[0], expressions, scope, "a constraint")
            bound = Scope(names={BASELINE: Variable(BASELINE, FLOAT)})
            expressions.expect(parts[1], bound, FLOAT, "a bound")


def schemes_of(node: n.Study, own: str, symbols: Symbols) -> list[str]:
    """The schemes that a study may run: its own, and those that it varies."""
    found = {own: None}
    for vary in node.vary:
        if vary.text == SCHEME and SCHEME not in symbols.params and isinstance(vary.domain, n.Choices):
            found |= {
                str(name): None for value in vary.domain.values if (name := name_of(value)) in symbols.schemes
            }
    return [*found]


def measured_names(scheme: Signature, metrics: Iterable[str] = ()) -> Scope:
    """The names that an objective may use, with their types; `metrics` are declared ones."""
    result: Type = ListType(scheme.result) if scheme.many else scheme.result
    given = {"result": result, "truth": scheme.truth or result, "score": FLOAT}
    names = {**dict.fromkeys(metrics, FLOAT), **dict(scheme.parameters), **given, **MEASURES}
    return Scope(names={name: Variable(name, type_, used=True) for name, type_ in names.items()})


def _number(node: e.Expression, expressions: ExpressionChecker, scope: Scope, what: str) -> None:
    found = expressions.infer(node, scope)
    if not accepts(FLOAT, found) and found != BOOL:
        message = f"{what} must be a number or a bool"
        expressions.report.error("GOT0603", message, node.span, f"this is {found}")


def _settings(node: n.Study, report: Report) -> None:
    data = node.data.options if node.data else ()
    for settings, known in ((data, DATA_OPTIONS), (node.options, OPTIONS)):
        for option in settings:
            if not n.is_unreadable(option):
                _setting(option, known, report)
    for prompts in node.prompts:
        _method(prompts.optimizer, OPTIMIZERS, "optimizer", report)
    for option in node.options if node.prompts else ():
        if option.name.text == "trials" and option.value == e.Constant(option.value.span, 1):
            message = "with one trial only the untuned program runs, so no proposed text does"
            report.error("GOT0605", message, option.span, help="give it more trials, or leave `prompts` out")
        if option.name.text == "sampler" and _is_grid(option.value):
            message = "texts are proposed for prompts, so the size of the grid is not known beforehand"
            prompt = node.prompts[0].names[0].text
            help = f"leave it out, or list the texts: `vary {prompt}.instruction in [...]`"
            report.error("GOT0605", message, option.span, help=help)
    searched = [name for prompts in node.prompts for name in prompts.names]
    _duplicates("setting", [option.name for option in data], report)
    _duplicates("setting", [option.name for option in node.options if not n.is_unreadable(option)], report)
    _duplicates("param to vary", [e.Identifier(vary.place, vary.text) for vary in node.vary], report)
    _duplicates("prompt to optimize", searched, report)


def _duplicates(what: str, names: Iterable[e.Identifier], report: Report) -> None:
    """Report repeated names: the later clause would silently replace the earlier one."""
    seen: set[str] = set()
    for name in names:
        if name.text in seen:
            report.error("GOT0604", f"duplicate {what} `{name.text}`", name.span)
        seen.add(name.text)


def _setting(option: n.Setting, known: Mapping[str, Type | Mapping[str, Choice]], report: Report) -> None:
    name = option.name.text
    wanted = known.get(name)
    if wanted is None and name in GONE:
        help = f"remove it: {GONE[name]}"
        report.error("GOT0604", f"a study has no `{name}` any more", option.span, help=help)
    elif wanted is None and name in (*CLAUSES, *(OPTIONS if known is DATA_OPTIONS else ())):
        of = "the data" if known is DATA_OPTIONS else "the study"
        help = "start a new line with it"
        report.error("GOT0604", f"`{name}` is not a setting of {of}", option.span, help=help)
    elif wanted is None and name in DATA_OPTIONS:
        help = f'write it after the file: `data "...", {name} {format_expression(option.value)}`'
        report.error("GOT0604", f"`{name}` is a setting of the data", option.span, help=help)
    elif wanted is None:
        note = f"available: {', '.join(known)}"
        report.unknown("GOT0604", "setting", name, option.name.span, [*known, *CLAUSES], note)
    elif not isinstance(wanted, Mapping):
        try:
            _value(name, constant_value(option.value), wanted, option.value.span, report)
        except TypeError:
            report.error("GOT0604", f"`{name}` must be a constant", option.value.span)
    else:
        _method(option.value, wanted, name, report)


def _value(name: str, value: Any, wanted: Type, span: Span, report: Report) -> None:
    """Report a value that is not of a type, or not within the bounds of its name."""
    if not accepts(wanted, of_value(value)):
        report.error("GOT0604", f"`{name}` must be {wanted}", span)
    else:
        _bounded(name, value, span, report)


def _bounded(name: str, value: Any, span: Span, report: Report) -> None:
    least, most = BOUNDS.get(name, (-math.inf, math.inf))
    if isinstance(value, int | float) and not least <= value <= most:
        bounds = f"at least {least}" if most == math.inf else f"from {least} to {most}"
        report.error("GOT0604", f"`{name}` must be {bounds}", span)


def _method(node: e.Expression, known: Mapping[str, Choice], what: str, report: Report) -> None:
    available = f"available: {', '.join(known)}"
    try:
        name, given = method(node)
    except TypeError:
        report.error("GOT0604", f"this is not a valid {what}", node.span, help=available)
        return
    if name not in known:
        report.unknown("GOT0604", what, name, node.span, known, available)
        return
    takes = known[name].takes
    for argument, value in given.items():
        if argument in takes:
            _value(argument, value, takes[argument], node.span, report)
        else:
            note = f"`{name}` takes: {', '.join(takes)}"
            report.unknown("GOT0604", "argument", argument, node.span, takes, note)


def _is_grid(node: e.Expression) -> bool:
    try:
        return method(node)[0] == "grid"
    except TypeError:
        return False


def method(node: e.Expression) -> tuple[str, dict[str, Any]]:
    """The name and the arguments of `tpe(seed=42)` or `tpe`. Raises TypeError for anything else."""
    match node:
        case e.Reference(name=name):
            return name, {}
        case e.Call(function=function, arguments=arguments):
            given = {a.name.text: constant_value(a.value) for a in arguments if a.name is not None}
            if len(given) == len(arguments):
                return function.text, given
    raise TypeError(node)
