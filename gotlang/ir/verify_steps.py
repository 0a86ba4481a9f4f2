"""The verifier's lower half: names in force, expressions, calls, and the steps that hold no others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import final

from gotlang.errors import GotError
from gotlang.ir import program as ir
from gotlang.ir.names import own_expressions
from gotlang.scope import PoolType, Scope, Variable
from gotlang.semantics.builtins import BUILTINS, THOUGHT_FUNCTIONS
from gotlang.semantics.expressions import ExpressionChecker
from gotlang.semantics.operations import MODEL_SETTINGS
from gotlang.semantics.report import Report
from gotlang.semantics.symbols import Signature, Symbols
from gotlang.span import NOWHERE
from gotlang.syntax import expressions as e
from gotlang.syntax.walk import walk
from gotlang.types import ANY, BOOL, FLOAT, INT, NONE, STR, ListType, Type, accepts, join

_HARMLESS = {"GOT0206", "GOT0207"}
"""What may come of folding and is no mistake there: a comparison whose outcome is known, and its like."""


@final
class VerificationError(GotError):
    """A program in IR that cannot be: a mistake of ours, not of the program's author."""

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(
            f"the compiler made a wrong program: {place}: {reason}",
            help="this is a mistake in gotc; please report it with the program",
        )
        self.place = place
        self.reason = reason


def _is_one(node: e.Expression) -> bool:
    return isinstance(node, e.Constant) and node.value == 1


@final
class Names:
    """What is in force in a region: names of expressions, and the pools among them."""

    def __init__(self, scope: Scope, pools: dict[str, PoolType]) -> None:
        self.scope = scope
        self.pools = pools

    def inside(self) -> Names:
        return Names(self.scope.inside(), dict(self.pools))

    def pool(self, name: str, pool: PoolType) -> None:
        self.pools[name] = pool
        self.scope.add(pool.variable(name, NOWHERE))

    def value(self, name: str, type_: Type) -> None:
        self.pools.pop(name, None)
        self.scope.add(Variable(name, type_))

    def each(self, pool: PoolType) -> Scope:
        """The names for what is evaluated once a thought."""
        return self.scope if pool.type == NONE else self.scope.inside(Variable("it", pool.type, "thought"))

    def whole(self, pool: PoolType) -> Scope:
        """The names for what is evaluated once for all thoughts."""
        if pool.type == NONE:
            return self.scope
        names = [Variable("thoughts", ListType(pool.type), "thoughts")]
        names += [Variable("it", pool.type, "thought")] if pool.single else []
        return self.scope.inside(*names)


class StepVerifier:
    """Checks what stands in one step. `place` is where it is, for errors."""

    def __init__(self, program: ir.Program) -> None:
        self.program = program
        self.prompts = {prompt.name: prompt for prompt in program.prompts}
        self.scores = {score.name: score for score in program.scores}
        self.schemes = {scheme.name: scheme for scheme in program.schemes}
        self.place: list[str] = []
        symbols = Symbols(
            params={param.name: param.type for param in program.params},
            scores={s.name: Signature(s.name, s.parameters, FLOAT) for s in program.scores},
            functions=dict.fromkeys(self._functions(), NOWHERE),
        )
        self.report = Report()
        self.expressions = ExpressionChecker(symbols, self.report)
        self.truth: Type = ANY

    def _functions(self) -> Iterable[str]:
        """The names of Python functions: those imported, and those that the host hands in."""
        yield from (name for module in self.program.python for name in module.names)
        known = {*self.prompts, *self.schemes, *self.scores, *BUILTINS, *THOUGHT_FUNCTIONS}
        bodies = [scheme.body for scheme in self.program.schemes]
        for body in (*bodies, *(score.body for score in self.program.scores)):
            for step in _steps(body):
                for expression in own_expressions(step):
                    for node in walk(expression):
                        if isinstance(node, e.Call) and node.function.text not in known:
                            yield node.function.text

    def fail(self, reason: str) -> VerificationError:
        return VerificationError(" / ".join(self.place), reason)

    def pool(self, name: str, names: Names) -> PoolType:
        if name not in names.pools:
            raise self.fail(f"there is no pool `{name}` here")
        return names.pools[name]

    def fits(self, wanted: Type, given: Type, what: str) -> None:
        if not accepts(wanted, given):
            raise self.fail(f"{what} is {given} where {wanted} is declared")

    # ---------------------------------------------------------------- expressions and calls

    def expect(self, node: e.Expression, scope: Scope, wanted: Type) -> Type:
        """The type of an expression, which must be one that fits."""
        found = self.infer(node, scope)
        self.fits(wanted, found, "an expression")
        return found

    def infer(self, node: e.Expression, scope: Scope) -> Type:
        """The type of an expression; it must ask no model."""
        found = self.expressions.infer(node, scope)
        self._raise_reported()
        for call in walk(node):
            if isinstance(call, e.Call) and call.function.text in self.scores:
                score = self.scores[call.function.text]
                if score.body.steps:
                    raise self.fail(f"an expression asks a model, by score `{score.name}`")
        return found

    def _raise_reported(self) -> None:
        for diagnostic in self.report.diagnostics:
            if diagnostic.code not in _HARMLESS and diagnostic.severity == "error":
                raise self.fail(diagnostic.message)
        self.report.diagnostics.clear()

    def arguments(
        self, parameters: Iterable[tuple[str, Type]], arguments: ir.Arguments, scope: Scope, what: str
    ) -> None:
        wanted, given = dict(parameters), dict(arguments)
        if list(wanted) != list(given) or len(given) != len(arguments):
            taken, got = ", ".join(wanted), ", ".join(name for name, _ in arguments)
            raise self.fail(f"{what} takes ({taken}), not ({got})")
        for name, value in arguments:
            self.expect(value, scope, wanted[name])

    def asks(self, name: str, arguments: ir.Arguments, scope: Scope) -> ir.Prompt:
        """The prompt that a step asks, whose arguments must fit."""
        if name not in self.prompts:
            raise self.fail(f"there is no prompt `{name}`")
        prompt = self.prompts[name]
        self.arguments(prompt.parameters, arguments, scope, f"prompt `{name}`")
        return prompt

    def settings(self, settings: ir.Arguments, scope: Scope) -> None:
        for name, value in settings:
            if name not in MODEL_SETTINGS:
                raise self.fail(f"there is no setting `{name}`")
            self.expect(value, scope, MODEL_SETTINGS[name])

    # ---------------------------------------------------------------- steps

    def step(self, step: ir.AnyStep, names: Names) -> PoolType:
        """Check a step; the pool it gives, as far as can be told."""
        pool = self.pool(step.pool, names)
        each, whole = names.each(pool), names.whole(pool)
        match step:
            case ir.Sampling():
                return self._ask(step, pool, each, whole)
            case ir.Score():
                self.expect(step.k, whole, INT)
                self._rate(step, each)
                return pool
            case ir.Validate():
                self._judge(step.condition, step.prompt, step.arguments, each)
                return pool
            case ir.KeepValid():
                return PoolType(pool.type, False)
            case ir.ValidateAndImprove():
                self._judge(step.condition, step.judge, step.judge_arguments, each)
                self.expect(step.tries, whole, INT)
                self.settings(step.settings, each)
                prompt = self.asks(step.prompt, step.arguments, each)
                return PoolType(join(pool.type, prompt.result) or ANY, pool.single and not prompt.many)
            case ir.KeepBestN(count=count):
                self.expect(count, whole, INT)
                return PoolType(pool.type, pool.single or _is_one(count))
            case ir.Select():
                self._select(step, each, whole)
                return PoolType(pool.type, False)
            case ir.Vote(weight=weight):
                if weight is not None:
                    self.expect(weight, each, FLOAT)
                return PoolType(pool.type, True)
            case ir.Map(value=value):
                return PoolType(self.infer(value, each), pool.single)
            case ir.Pool(values=values):
                return self._gather(values, names, whole)
            case ir.Retrieve():
                self.expect(step.query, each, STR)
                self.expect(step.k, whole, INT)
                return PoolType(STR, False)
            case ir.Call(arguments=arguments):
                for _, value in arguments:
                    self.infer(value, each)
                return PoolType(ANY, pool.single)
            case ir.GroundTruth(condition=condition):
                truth = each.inside(Variable("truth", self.truth))
                self.expect(condition, truth, BOOL)
                return pool
            case ir.Invoke():
                if step.scheme not in self.schemes:
                    raise self.fail(f"there is no scheme `{step.scheme}`")
                scheme = self.schemes[step.scheme]
                self.arguments(scheme.parameters, step.arguments, each, f"scheme `{step.scheme}`")
                return PoolType(scheme.result, pool.single and not scheme.many)
            case _:
                return self.block(step, pool, names)

    def block(self, step: ir.AnyStep, pool: PoolType, names: Names) -> PoolType:
        """Check a step that holds others."""
        raise NotImplementedError

    def _ask(self, step: ir.Sampling, pool: PoolType, each: Scope, whole: Scope) -> PoolType:
        together = isinstance(step, ir.Aggregate)
        prompt = self.asks(step.prompt, step.arguments, whole if together else each)
        self.settings(step.settings, whole if together else each)
        self.expect(step.k, whole, INT)
        drawn = each.inside(Variable("it", prompt.result, "thought"))
        if step.until is not None:
            self.expect(step.until, drawn, BOOL)
        if step.stop is not None:
            score = self.scores.get(step.stop.score)
            if score is None or score.best is None or score.body.steps:
                raise self.fail(f"score `{step.stop.score}` cannot end a sampling")
            self.arguments(score.parameters, step.stop.arguments, drawn, f"score `{score.name}`")
            self.expect(step.stop.count, each, INT)
        if isinstance(step, ir.Improve):
            return PoolType(join(pool.type, prompt.result) or ANY, False)
        one = (pool.single or together) and not prompt.many and _is_one(step.k)
        return PoolType(prompt.result, one)

    def _rate(self, step: ir.Score, each: Scope) -> None:
        if step.score is None:
            if step.value is None:
                raise self.fail("it has no score")
            self.expect(step.value, each, FLOAT)
        elif step.score in self.scores:
            score = self.scores[step.score]
            self.arguments(score.parameters, step.arguments, each, f"score `{score.name}`")
        else:
            prompt = self.asks(step.score, step.arguments, each)
            self.fits(FLOAT, prompt.result, "what the prompt gives")

    def _judge(
        self, condition: e.Expression | None, prompt: str | None, arguments: ir.Arguments, each: Scope
    ) -> None:
        if prompt is not None:
            self.fits(BOOL, self.asks(prompt, arguments, each).result, "what the prompt gives")
        elif condition is not None:
            self.expect(condition, each, BOOL)
        else:
            raise self.fail("it has no condition")

    def _select(self, step: ir.Select, each: Scope, whole: Scope) -> None:
        if step.condition is not None:
            self.expect(step.condition, each, BOOL)
        elif step.positions is not None:
            self.expect(step.positions, whole, ListType(INT))
        else:
            raise self.fail("it has no condition")

    def _gather(self, values: tuple[e.Expression, ...], names: Names, whole: Scope) -> PoolType:
        found: Type | None = None
        single = len(values) == 1
        for value in values:
            type_ = self.infer(value, whole)
            variable = whole.find(value.name) if isinstance(value, e.Reference) else None
            if variable is not None and variable.kind == "thoughts" and isinstance(variable.type, ListType):
                type_, single = variable.type.element, False
            found = type_ if found is None else join(found, type_) or ANY
        if found is None:
            raise self.fail("it gathers nothing")
        return PoolType(found, single)


def _steps(region: ir.Region) -> Iterable[ir.AnyStep]:
    for step in region.steps:
        yield step
        for body in ir.regions(step):
            yield from _steps(body)
