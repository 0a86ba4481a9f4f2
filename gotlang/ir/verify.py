"""Checks that a program in IR is consistent: run between passes, so that a faulty pass is identified.

Every pool and name is defined before it is used and in scope; names are unique in their region; the types of
steps' inputs and outputs agree with the declarations; a step that is marked `one` yields exactly one;
expressions call no model, and conditions that end sampling early are computed without one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import final

from gotlang.diagnostics import Report
from gotlang.errors import GotError
from gotlang.ir import program as ir
from gotlang.operations import record_of
from gotlang.operations.record import MODEL_SETTINGS, PROMPT_SETTINGS, SettingRule
from gotlang.scope import START, Narrowed, PoolType, Scope, Variable
from gotlang.semantics import conditions
from gotlang.semantics.expressions import ExpressionChecker
from gotlang.semantics.symbols import Signature, Symbols
from gotlang.span import NOWHERE
from gotlang.syntax import expressions as e
from gotlang.types import ANY, BOOL, EMPTY, FLOAT, INT, STR, ListType, Type, accepts, cases_of, common

_HARMLESS = {"GOT0206", "GOT0207", "GOT0314", "GOT0321", "GOT0322"}
"""Diagnostics that folding may cause and that are not errors there: a comparison with a known result, and the
like; and requirements on thoughts, which were checked."""


@final
class VerificationError(GotError):
    """An inconsistent program in IR: a bug of the compiler, not an error of the program's author."""

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(
            f"the compiler produced an invalid program: {place}: {reason}",
            help="this is a bug in gotc; please report it with the program",
        )
        self.place = place
        self.reason = reason


def verify(program: ir.Program) -> None:
    """Raise VerificationError, with the place and the reason, for an inconsistent program."""
    verifier = _ProgramVerifier(program)
    for prompt in program.prompts:
        verifier.prompt(prompt)
    for score in program.scores:
        verifier.score(score)
    for metric in program.metrics:
        verifier.metric(metric)
    for scheme in program.schemes:
        verifier.scheme(scheme)


@final
class _ProgramVerifier:
    """Visits declarations. `place` is the current one, for errors."""

    def __init__(self, program: ir.Program) -> None:
        self.program = program
        self.prompts = {prompt.name: prompt for prompt in program.prompts}
        self.scores = {score.name: score for score in program.scores}
        self.schemes = {scheme.name: scheme for scheme in program.schemes}
        self.place: list[str] = []
        self.truth: Type = ANY
        self.report = Report()
        symbols = Symbols(
            params={param.name: param.type for param in program.params},
            scores={s.name: Signature(s.name, s.parameters, FLOAT) for s in program.scores},
            functions=dict.fromkeys(program.results, NOWHERE),
            results=program.results,
            cases={case.tag: case for _, type_ in program.types for case in cases_of(type_)},
        )
        symbols.asking = {score.name for score in program.scores if score.body.steps}
        self.expressions = ExpressionChecker(symbols, self.report, notes=True)

    def at(self, parameters: Iterable[tuple[str, Type]] = ()) -> StepVerify:
        """The verifier at the start of a declaration."""
        return StepVerify(self, START, Scope(), {}).inside({}, dict(parameters))

    def prompt(self, prompt: ir.Prompt) -> None:
        """Verify a prompt's settings."""
        self.place = [f"prompt {prompt.name}"]
        here = self.at()
        here.check_settings(prompt.settings, PROMPT_SETTINGS, here.names)
        if unknown := {*prompt.tools} - {*self.program.results, *self.schemes}:
            raise here.fail(f"unknown tools {', '.join(sorted(unknown))}")
        if prompt.count is not None:
            if not prompt.many:
                raise here.fail("it counts values but returns one")
            there = self.at(prompt.parameters)
            there.expect(prompt.count, there.names, INT)
        if prompt.stop_when is not None:
            there = self.at((*prompt.parameters, ("it", STR)))
            there.expect(prompt.stop_when, there.names, BOOL)

    def score(self, score: ir.ScoreFunction) -> None:
        """Verify a score's body and value."""
        self.place = [f"score {score.name}"]
        here = self.at(score.parameters).inside({score.body.entry: START})
        here.region(score.body)
        here.expect(score.value, here.names, FLOAT)

    def metric(self, metric: ir.MetricFunction) -> None:
        """Verify a metric's value."""
        self.place = [f"metric {metric.name}"]
        here = self.at(metric.parameters)
        here.expect(metric.value, here.names, BOOL if metric.share else FLOAT)

    def scheme(self, scheme: ir.Scheme) -> None:
        """Verify a scheme's body and result."""
        self.place = [f"scheme {scheme.name}"]
        self.truth = scheme.truth
        here = self.at(scheme.parameters).inside({scheme.body.entry: START})
        found = here.region(scheme.body)
        wanted = scheme.result
        if scheme.collect:
            if not isinstance(wanted, ListType):
                raise here.fail(f"it collects its thoughts into {wanted}")
            wanted = wanted.element
        elif not found.single and not scheme.many:
            raise here.fail("it returns any number of thoughts, but its result is a single value")
        here.fits(wanted, found.type, "its result")


@final
class StepVerify:
    """The verifier at one step, for an operation's record (`gotlang.operations.stages.Verifying`)."""

    def __init__(
        self, verifier: _ProgramVerifier, pool: PoolType, names: Scope, pools: dict[str, PoolType]
    ) -> None:
        self._verifier = verifier
        self._pools = pools
        self.pool = pool
        self.names = names

    # ---------------------------------------------------------------- names

    @property
    def each(self) -> Scope:
        if self.pool.type == EMPTY:
            return self.names
        return self.names.inside(Variable("it", self.pool.type, "thought"))

    @property
    def whole(self) -> Scope:
        return self.whole_of(self.pool)

    def whole_of(self, pool: PoolType) -> Scope:
        if pool.type == EMPTY:
            return self.names
        names = [Variable("thoughts", ListType(pool.type), "thoughts")]
        names += [Variable("it", pool.type, "thought")] if pool.single else []
        return self.names.inside(*names)

    @property
    def truth(self) -> Type:
        return self._verifier.truth

    def named(self, name: str) -> PoolType:
        if name not in self._pools:
            raise self.fail(f"unknown pool `{name}`")
        return self._pools[name]

    def joined(self, *types: Type) -> Type:
        found = common(types)
        if found is None:
            raise self.fail(f"{', '.join(map(str, types))} have no type in common")
        return found

    def selected(self, condition: e.Expression) -> Type:
        return self._verifier.expressions.selected(condition, self.pool, self.each)

    def where(self, condition: e.Expression, holds: bool, entry: str) -> StepVerify:
        return self.known(self._verifier.expressions.facts(condition, self.whole, holds), entry)

    def known(self, known: Narrowed, entry: str) -> StepVerify:
        pool, names = conditions.inside(known, self.pool, self.names)
        inner = StepVerify(self._verifier, pool, names.inside(), dict(self._pools))
        if pool.type != self.pool.type:
            inner._bind(entry, pool)
        return inner

    def inside(self, pools: Mapping[str, PoolType], values: Mapping[str, Type] | None = None) -> StepVerify:
        inner = StepVerify(self._verifier, self.pool, self.names.inside(), dict(self._pools))
        for name, type_ in (values or {}).items():
            inner._pools.pop(name, None)
            inner.names.add(Variable(name, type_))
        for name, pool in pools.items():
            inner._bind(name, pool)
        return inner

    def _bind(self, name: str, pool: PoolType) -> None:
        self._pools[name] = pool
        self.names.add(pool.variable(name, NOWHERE))

    def region(self, region: ir.Region) -> PoolType:
        own: set[str] = set()
        place = self._verifier.place
        self.named(region.entry)
        for step in region.steps:
            place.append(step.result)
            if step.result in own or step.result == region.entry:
                raise self.fail("duplicate name in its region")
            own.add(step.result)
            here = StepVerify(self._verifier, self.named(step.pool), self.names, self._pools)
            found = record_of(step).verify(step, here)
            self.fits(step.type, found.type, "its output")
            if step.single and not found.single:
                raise self.fail("it is marked `one`, but may return any number of thoughts")
            self._bind(step.result, PoolType(step.type, step.single))
            place.pop()
        return self.named(region.result)

    # ---------------------------------------------------------------- expressions and calls

    def fail(self, reason: str) -> VerificationError:
        return VerificationError(" / ".join(self._verifier.place), reason)

    def fits(self, wanted: Type, given: Type, what: str) -> None:
        if not accepts(wanted, given):
            raise self.fail(f"{what} has type {given}; declared: {wanted}")

    def expect(self, node: e.Expression, scope: Scope, wanted: Type) -> Type:
        found = self.infer(node, scope, wanted)
        self.fits(wanted, found, "an expression")
        return found

    def infer(self, node: e.Expression, scope: Scope, wanted: Type | None = None) -> Type:
        found = self._verifier.expressions.infer(node, scope, wanted)
        self._raise_reported()
        return found

    def elements(self, iterable: e.Expression | None) -> Type:
        if iterable is None:
            return self.pool.type
        found = self._verifier.expressions.elements(iterable, self.whole)
        self._raise_reported()
        return found

    def _raise_reported(self) -> None:
        report = self._verifier.report
        for diagnostic in report.diagnostics:
            if diagnostic.code not in _HARMLESS and diagnostic.severity == "error":
                raise self.fail(diagnostic.message)
        report.diagnostics.clear()

    def _arguments(
        self, parameters: Iterable[tuple[str, Type]], arguments: ir.Arguments, scope: Scope, what: str
    ) -> None:
        wanted, given = dict(parameters), dict(arguments)
        if list(wanted) != list(given) or len(given) != len(arguments):
            raise self.fail(
                f"{what} takes ({', '.join(wanted)}), not ({', '.join(name for name, _ in arguments)})"
            )
        for name, value in arguments:
            self.expect(value, scope, wanted[name])

    def prompt(self, name: str, arguments: ir.Arguments, scope: Scope) -> tuple[Type, bool]:
        if name not in self._verifier.prompts:
            raise self.fail(f"unknown prompt `{name}`")
        prompt = self._verifier.prompts[name]
        self._arguments(prompt.parameters, arguments, scope, f"prompt `{name}`")
        return prompt.result, prompt.many

    def is_score(self, name: str) -> bool:
        return name in self._verifier.scores

    def score(self, name: str, arguments: ir.Arguments, scope: Scope, *, ends_sampling: bool = False) -> None:
        score = self._verifier.scores.get(name)
        if score is None or (ends_sampling and (score.best is None or score.body.steps)):
            raise self.fail(f"score `{name}` cannot stop sampling")
        self._arguments(score.parameters, arguments, scope, f"score `{name}`")

    def scheme(self, name: str, arguments: ir.Arguments) -> tuple[Type, bool]:
        verifier = self._verifier
        if name not in verifier.schemes and name not in verifier.scores:
            raise self.fail(f"unknown scheme `{name}`")
        scheme = verifier.schemes.get(name) or verifier.scores[name].scheme
        self._arguments(scheme.parameters, arguments, self.each, f"scheme `{name}`")
        return scheme.result, scheme.many

    def settings(self, settings: ir.Arguments, scope: Scope) -> None:
        self.check_settings(settings, MODEL_SETTINGS, scope)

    def check_settings(self, settings: ir.Arguments, known: Mapping[str, SettingRule], scope: Scope) -> None:
        """Check settings, each of which must be known and have a valid value."""
        for name, value in settings:
            if name not in known:
                raise self.fail(f"unknown setting `{name}`")
            found = self.infer(value, scope)
            if not any(accepts(type_, found) for type_ in known[name].types):
                self.fits(known[name].types[0], found, "an expression")

    def judgement(self, condition: e.Expression | None, prompt: str | None, arguments: ir.Arguments) -> None:
        if prompt is not None:
            self.fits(BOOL, self.prompt(prompt, arguments, self.each)[0], "the result of the prompt")
        elif condition is not None:
            self.expect(condition, self.each, BOOL)
        else:
            raise self.fail("it has no condition")
