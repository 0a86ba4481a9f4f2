"""Checks single steps: what every operation has in common; an operation's own rule is in its record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from gotlang.diagnostics import Report, nearest
from gotlang.operations import OPERATIONS
from gotlang.operations.record import K, Setting, Syntax
from gotlang.operations.sampling import Sampling
from gotlang.scope import UNKNOWN, PoolType, Scope, Variable
from gotlang.semantics.expressions import ExpressionChecker
from gotlang.semantics.symbols import RESERVED, Symbols
from gotlang.span import Span
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.types import ANY, BOOL, FLOAT, NONE, ListType, Type, accepts, general, join, widen

REPEAT = Syntax({"k": K}, "Generate(k=5) sort(part) Repeat(3)", first="k", required=True, operands=(0, 0))
"""`Repeat(k)`, which follows a step that samples: the same step k times in separate contexts."""


def setting(step: n.Step, name: str) -> e.Expression | None:
    """The expression of a step's setting, by its name or by being the one that needs none."""
    operation = OPERATIONS.get(step.operation.text)
    first = operation.syntax.first if operation is not None else REPEAT.first
    for argument in step.settings or ():
        if (argument.name.text if argument.name is not None else first) == name:
            return argument.value
    return None


def check_setting(
    name: str, value: e.Expression, wanted: Setting, scope: Scope, expressions: ExpressionChecker
) -> None:
    """Check the value of a setting, and that a plain number is in its range."""
    found = expressions.infer(value, scope)
    if not any(accepts(type_, found) for type_ in wanted.types):
        types = " or ".join(map(str, wanted.types))
        expressions.report.error(
            "GOT0201", f"`{name}` must be {types}", value.span, f"this is {widen(found)}"
        )
    number = value.value if isinstance(value, e.Constant) else None
    if isinstance(value, e.Unary) and value.operator == "-" and isinstance(value.operand, e.Constant):
        number = -1 if isinstance(value.operand.value, int | float) and value.operand.value > 0 else None
    if wanted.least is not None and isinstance(number, int | float) and number < wanted.least:
        expressions.report.error("GOT0312", f"`{name}` must be at least {wanted.least}", value.span)


@final
@dataclass(frozen=True, slots=True)
class StepCheck:
    """The checker at one step: what an operation's type rule asks (`gotlang.operations.stages.Checking`)."""

    checker: StepChecker
    node: n.Step
    pool: PoolType
    scope: Scope

    @property
    def each(self) -> Scope:
        """The names for what is evaluated once per thought."""
        return self.checker.each(self.pool, self.scope)

    @property
    def whole(self) -> Scope:
        """The names for what is evaluated once for all thoughts."""
        return self.checker.whole(self.pool, self.scope)

    @property
    def truth(self) -> Type:
        """The type of the known answer."""
        return self.checker.truth

    @property
    def repeated(self) -> bool:
        """Whether `Repeat(k)` follows the step."""
        return self.node.again is not None and self.node.again.operation.text == "Repeat"

    def setting(self, name: str) -> e.Expression | None:
        """The expression of a setting; None where it is left out."""
        return setting(self.node, name)

    def infer(self, node: e.Expression, scope: Scope) -> Type:
        """The type of an expression."""
        return self.checker.expressions.infer(node, scope)

    def expect(self, node: e.Expression, scope: Scope, wanted: Type, what: str) -> Type:
        """The type of an expression, an error unless it is the one wanted."""
        return self.checker.expressions.expect(node, scope, wanted, what)

    def error(
        self, code: str, message: str, span: Span | None = None, at: str = "", help: str | None = None
    ) -> None:
        """Report an error, at the step unless a place is given."""
        self.checker.report.error(code, message, span or self.node.span, at, help=help)

    def needs_thoughts(self, purpose: str = "to look at") -> None:
        """Report a step that has no thoughts before it."""
        if self.pool.type == NONE:
            name = self.node.operation.text
            self.error("GOT0306", f"`{name}` has no thoughts {purpose}", help="begin with `Generate`")

    def joined(self, operand: e.Expression, result: Type) -> Type | None:
        """The type of improved thoughts beside those they started from; None, and an error, where they
        differ."""
        found = join(self.pool.type, result)
        if found is None:
            self.error(
                "GOT0201",
                "an improved thought must be like the one it started from",
                operand.span,
                f"this gives {widen(result)}, the pool holds {widen(self.pool.type)}",
            )
        return found

    def prompt(self, operand: e.Expression, scope: Scope) -> tuple[Type, bool]:
        """The result type of the prompt that an operand calls, and whether it gives several values."""
        operation, symbols = self.node.operation.text, self.checker.symbols
        if not isinstance(operand, e.Call):
            self.infer(operand, scope)
            at, help = "not a prompt's call", "write `name(arguments)`"
            self.error("GOT0313", f"`{operation}` asks a prompt", operand.span, at, help)
            return ANY, False
        name = operand.function.text
        signature = symbols.prompts.get(name)
        if signature is not None:
            symbols.used.add(name)
            self.checker.expressions.match(operand, signature, "prompt", scope)
            return signature.result, signature.many
        for argument in operand.arguments:
            self.infer(argument.value, scope)
        if name not in symbols.callables():
            self.checker.report.unknown("GOT0103", "prompt", name, operand.function.span, symbols.prompts)
            return ANY, False
        kind = "scheme" if name in symbols.schemes else "score" if name in symbols.scores else "function"
        symbols.used.add(name)
        own_line = f"write `{name}(...)` on a line of its own" if kind == "scheme" else None
        self.error(
            "GOT0313", f"`{operation}` asks a prompt, and `{name}` is a {kind}", operand.span, help=own_line
        )
        return ANY, False

    def _by_prompt(self, operand: e.Expression, wanted: Type, must: str) -> bool:
        """Whether an operand calls a prompt, which then must give one value of a type."""
        if not isinstance(operand, e.Call) or operand.function.text not in self.checker.symbols.prompts:
            return False
        result, many = self.prompt(operand, self.each)
        if many or not accepts(wanted, result):
            self.error("GOT0201", f"a {must}", operand.span, f"this gives {widen(result)}")
        return True

    def judgement(self, operand: e.Expression) -> None:
        """Check what makes a thought valid: a condition, or a prompt that answers with a bool."""
        if not self._by_prompt(operand, BOOL, "validating prompt must give bool"):
            self.expect(operand, self.each, BOOL, "what makes a thought valid")

    def score(self, operand: e.Expression) -> None:
        """Check what scores a thought: a score, a prompt that answers with a number, or an expression."""
        scores = self.checker.symbols.scores
        if isinstance(operand, e.Call) and operand.function.text in scores:
            self.checker.symbols.used.add(operand.function.text)
            self.checker.expressions.match(operand, scores[operand.function.text], "score", self.each)
        elif not self._by_prompt(operand, FLOAT, "scoring prompt must give a number"):
            self.expect(operand, self.each, FLOAT, "a score")

    def value_pool(self, operand: e.Expression) -> PoolType:
        """The pool that an expression names: bound thoughts as they are, any other value as one new
        thought."""
        return self.checker.value_pool(operand, self.pool, self.scope)

    def function(self, operand: e.Expression) -> bool:
        """Whether an operand calls an imported Python function."""
        return isinstance(operand, e.Call) and operand.function.text in self.checker.symbols.functions

    def corpus(self, operand: e.Expression) -> bool:
        """Whether an operand searches a corpus, or a function that stands for one, which then is used."""
        symbols = self.checker.symbols
        if not isinstance(operand, e.Call):
            return False
        name = operand.function.text
        if name not in symbols.corpora and name not in symbols.functions:
            return False
        symbols.used.add(name)
        return True


@final
class StepChecker:
    """Checks steps; the pool that each leaves is its operation's to tell."""

    def __init__(self, symbols: Symbols, report: Report, expressions: ExpressionChecker) -> None:
        self.symbols = symbols
        self.report = report
        self.expressions = expressions
        self.truth: Type = ANY
        self.pools: dict[int, PoolType] = {}

    # ---------------------------------------------------------------- names at a place

    def each(self, pool: PoolType, scope: Scope) -> Scope:
        """The names for what is evaluated once per thought: `it` is there."""
        if pool.type == NONE:
            return scope
        return scope.inside(Variable("it", pool.type, "thought", scored=pool.scored, used=True))

    def whole(self, pool: PoolType, scope: Scope) -> Scope:
        """The names for what is evaluated once for all: `thoughts`, and `it` where there is only one."""
        if pool.type == NONE:
            return scope
        names = [Variable("thoughts", ListType(pool.type), "thoughts", scored=pool.scored, used=True)]
        if pool.single:
            names.append(Variable("it", pool.type, "thought", scored=pool.scored, used=True))
        return scope.inside(*names)

    def reserved(self, name: e.Identifier) -> None:
        """Report a name that is bound although it means something by itself."""
        declared = name.text in self.symbols.nodes or name.text in self.symbols.functions
        if name.text in RESERVED or declared:
            why = "is reserved" if name.text in RESERVED else "is declared in this program"
            self.report.error("GOT0102", f"`{name.text}` {why}", name.span, help="choose another name")

    def bound(self, *names: e.Identifier | None) -> None:
        """Report those of the names that a block binds which cannot be bound, or are bound twice."""
        seen: dict[str, e.Identifier] = {}
        for name in names:
            if name is None:
                continue
            self.reserved(name)
            self.expressions.distinct(seen.setdefault(name.text, name), name)

    def value_pool(self, node: e.Expression, pool: PoolType, scope: Scope) -> PoolType:
        """The pool that an expression names: bound thoughts as they are, any other value as one new
        thought."""
        where = self.whole(pool, scope)
        inner = node.value if isinstance(node, e.Index) else node
        variable = where.find(inner.name) if isinstance(inner, e.Reference) else None
        found = self.expressions.infer(node, where)
        if variable is not None and variable.kind == "thoughts":
            element = variable.type.element if isinstance(variable.type, ListType) else ANY
            if isinstance(node, e.Reference | e.Index):
                return PoolType(element, isinstance(node, e.Index), variable.scored)
        if variable is not None and variable.kind == "thought" and isinstance(node, e.Reference):
            return PoolType(variable.type, True, variable.scored)
        return PoolType(general(found), True)

    def invoke(self, call: e.Call, pool: PoolType, scope: Scope) -> PoolType:
        """Check a scheme's call as a step: it runs once for each current thought."""
        signature = self.symbols.schemes[call.function.text]
        self.symbols.used.add(signature.name)
        self.expressions.match(call, signature, "scheme", self.each(pool, scope))
        return PoolType(signature.result, pool.single and not signature.many)

    # ---------------------------------------------------------------- steps

    def step(self, node: n.Step, pool: PoolType, scope: Scope) -> PoolType:
        """Check a step; the pool it leaves."""
        name = node.operation.text
        operation = OPERATIONS.get(name)
        if operation is None:
            if name == "Repeat":
                help = "to repeat steps, write `repeat k:`"
                self.report.error("GOT0309", "`Repeat` must follow a step", node.span, help=help)
            else:
                self.report.unknown("GOT0106", "operation", name, node.operation.span, OPERATIONS)
            for operand in node.operands:
                if not isinstance(operand, e.Call):
                    self.expressions.infer(operand, self.whole(pool, scope))
            return UNKNOWN
        if not self._operands(node, operation.syntax):
            return UNKNOWN
        # An Improve of several has no one thought that its settings could look at.
        several = name == "Improve" and not pool.single
        self._settings(node, operation.syntax, scope if several else self.whole(pool, scope))
        self._again(node, scope)
        return operation.check(node, StepCheck(self, node, pool, scope))

    def _operands(self, node: n.Step, syntax: Syntax) -> bool:
        """Whether a step has its parentheses and as many operands as its operation takes."""
        name, example = node.operation.text, f"for example `{syntax.example}`"
        if node.settings is None and not syntax.bare:
            self.report.error("GOT0310", f"`{name}` needs its parentheses", node.operation.span, help=example)
            return False
        least, most = syntax.operands
        count = len(node.operands)
        if least <= count and (most is None or count <= most):
            return True
        if most == 0:
            wanted = "nothing"
        elif most is None:
            wanted = f"{least} or more"
        else:
            wanted = str(least) if least == most else f"{least} to {most}"
        message = f"`{name}(...)` takes {wanted} after its settings, not {count}"
        self.report.error("GOT0310", message, node.span, help=example)
        return False

    def _settings(self, node: n.Step, syntax: Syntax, scope: Scope) -> None:
        """Check the settings of a step by name, number and type."""
        seen: set[str] = set()
        operation, takes = node.operation.text, f"it takes: {', '.join(syntax.settings) or 'no settings'}"
        for argument in node.settings or ():
            name = argument.name.text if argument.name is not None else syntax.first
            if name is None or (argument.name is None and name in seen):
                message = f"`{operation}` takes no setting without a name here"
                self.report.error("GOT0311", message, argument.span, notes=(takes,))
                continue
            if name not in syntax.settings:
                guess = nearest(name, syntax.settings)
                self.report.error(
                    "GOT0311",
                    f"`{operation}` has no setting `{name}`",
                    argument.span,
                    notes=(takes,),
                    help=f"did you mean `{guess}`?" if guess else None,
                )
                continue
            if name in seen:
                self.report.error("GOT0311", f"duplicate setting `{name}`", argument.span)
            seen.add(name)
            if not syntax.settings[name].per_thought:
                check_setting(name, argument.value, syntax.settings[name], scope, self.expressions)
        if syntax.required and syntax.first not in seen:
            help = f"for example `{syntax.example}`"
            self.report.error("GOT0311", f"`{operation}` needs `{syntax.first}`", node.span, help=help)

    def _again(self, node: n.Step, scope: Scope) -> None:
        """Check the `Repeat(k)` after a step."""
        if node.again is None:
            return
        name, after = node.operation.text, node.again.operation.text
        if after != "Repeat":
            help = "put it on the next line; only `Repeat(k)` follows a step"
            self.report.error("GOT0309", f"`{after}` starts a step of its own", node.again.span, help=help)
            return
        if not issubclass(OPERATIONS[name].step, Sampling):
            help = "only a step that asks a model can"
            self.report.error("GOT0309", f"`{name}` cannot be repeated", node.again.span, help=help)
        if (until := setting(node, "until")) is not None:
            message = "a step with `until` cannot be repeated: it would end all of it"
            self.report.error("GOT0309", message, until.span, help="put the step into a `foreach`")
        self._settings(node.again, REPEAT, scope)
