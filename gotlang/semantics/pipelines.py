"""Checks schemes and the bodies of scores: the flow of thoughts, and whether each step accepts them.

An operation's own rule is in its record (`gotlang.operations`); here is what all have in common.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from gotlang.diagnostics import Label, Report, nearest
from gotlang.operations import OPERATIONS
from gotlang.operations.record import K, SettingRule, Syntax
from gotlang.operations.reduce import REDUCE_STEP
from gotlang.operations.sampling import Sampling
from gotlang.scope import START, UNKNOWN, PoolType, Scope, Variable
from gotlang.semantics.expressions import ExpressionChecker
from gotlang.semantics.symbols import RESERVED, Signature, Symbols
from gotlang.span import Span
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.types import ANY, BOOL, FLOAT, INT, NONE, ListType, Type, accepts, general, join, widen

REPEAT = Syntax({"k": K}, "Generate(k=5) sort(part) Repeat(3)", first="k", required=True, operands=(0, 0))
"""`Repeat(k)`, which follows a step that samples: the same step k times in separate contexts."""


def setting(step: n.Step, name: str) -> e.Expression | None:
    """The expression of a step's setting, given by name or as the one that needs no name."""
    operation = OPERATIONS.get(step.operation.text)
    first = operation.syntax.first if operation is not None else REPEAT.first
    for argument in step.settings or ():
        if (argument.name.text if argument.name is not None else first) == name:
            return argument.value
    return None


def check_setting(
    name: str, value: e.Expression, wanted: SettingRule, scope: Scope, expressions: ExpressionChecker
) -> None:
    """Check the value of a setting, and that a plain number is in its range."""
    found = expressions.infer(value, scope)
    if not any(accepts(type_, found) for type_ in wanted.types):
        types = " or ".join(map(str, wanted.types))
        message, at = f"`{name}` must be {types}", f"this is {widen(found)}"
        expressions.report.error("GOT0201", message, value.span, at)
    number = value.value if isinstance(value, e.Constant) else None
    if isinstance(value, e.Unary) and value.operator == "-" and isinstance(value.operand, e.Constant):
        number = -1 if isinstance(value.operand.value, int | float) and value.operand.value > 0 else None
    if wanted.least is not None and isinstance(number, int | float) and number < wanted.least:
        expressions.report.error("GOT0312", f"`{name}` must be at least {wanted.least}", value.span)


@final
class PipelineChecker:
    """Walks a pipeline with the pool that flows through it.

    `pools` has the output of each statement and each source of a labelled block, `named` the `foreach` blocks
    whose results keep their name.
    """

    def __init__(self, symbols: Symbols, report: Report, expressions: ExpressionChecker) -> None:
        self.symbols = symbols
        self.report = report
        self.expressions = expressions
        self.pools: dict[int, PoolType] = {}
        self.named: set[int] = set()
        self._results: set[str] = set()
        self.truth: Type = ANY

    def scheme(self, node: n.Scheme, signature: Signature) -> None:
        """Check a scheme's pipeline against its signature."""
        scope = Scope()
        self._results = set()
        for parameter, (name, type_) in zip(node.parameters, signature.parameters, strict=False):
            scope.add(Variable(name, type_, "value", parameter.name.span))
        self.truth = signature.truth or (ListType(signature.result) if signature.many else signature.result)
        pool = self.suite(node.body, START, scope)
        self._result(node, signature, pool)
        for variable in scope.names.values():
            if not variable.used and variable.name in dict(signature.parameters):
                message = f"`{variable.name}` is never used in `{node.name.text}`"
                self.report.warning("GOT0504", message, variable.span)

    def _result(self, node: n.Scheme, signature: Signature, pool: PoolType) -> None:
        span = node.body.statements[-1].span
        wanted, scheme = signature.result, f"scheme `{node.name.text}`"
        fits = accepts(wanted, pool.type)
        # The thoughts together may be the list.
        together = not pool.single and isinstance(wanted, ListType) and accepts(wanted.element, pool.type)
        if pool.type == NONE:
            self.report.error("GOT0301", f"{scheme} has no output", span)
        elif together or (fits and (pool.single or signature.many)):
            return
        elif fits:
            help = "end with `KeepBestN(1)` or `Vote()`, or declare `many` before the result's type"
            message = f"{scheme} may output several thoughts, and its result is one {wanted}"
            self.report.error("GOT0302", message, span, "outputs any number", help=help)
        else:
            at = f"this outputs {widen(pool.type if pool.single else ListType(pool.type))}"
            labels = (Label(node.result.span, "declared here"),)
            self.report.error("GOT0201", f"{scheme} must output {wanted}", span, at, labels=labels)

    def score(self, node: n.Score, signature: Signature) -> None:
        """Check a score's body: bindings, then the number."""
        scope = Scope()
        for parameter, (name, type_) in zip(node.parameters, signature.parameters, strict=False):
            scope.add(Variable(name, type_, "value", parameter.name.span))
        *bindings, last = node.body.statements
        for statement in bindings:
            if not isinstance(statement, n.Bind):
                message = "a score is bindings and then one number"
                self.report.error("GOT0303", message, statement.span, help="write `name = ...`")
            else:
                self._bind(statement, START, scope)
        if not isinstance(last, n.Evaluate | n.Return):
            self.report.error("GOT0303", "a score ends with its number", last.span)
            return
        self.expressions.expect(last.value, scope, FLOAT, "a score")

    # ---------------------------------------------------------------- statements

    def suite(self, suite: n.Suite, pool: PoolType, scope: Scope) -> PoolType:
        """Check a block's statements in order; returns the output of the last one."""
        for index, statement in enumerate(suite.statements):
            last = index == len(suite.statements) - 1
            found = self.statement(statement, pool, scope, last)
            self.pools[id(statement)] = found
            if not isinstance(statement, n.Bind) or last:
                pool = found
        return pool

    def statement(self, node: n.Statement, pool: PoolType, scope: Scope, last: bool) -> PoolType:
        """Check one statement; returns its output."""
        match node:
            case n.Step():
                return self.step(node, pool, scope)
            case n.Evaluate(value=value):
                return self._evaluate(value, pool, scope)
            case n.Bind():
                return self._bind(node, pool, scope)
            case n.Return(value=value):
                if not last:
                    self.report.error(
                        "GOT0304", "`return` must be the last step", node.span, "steps follow it"
                    )
                return self.value_pool(value, pool, scope)
            case n.Foreach():
                found = self._foreach(node, pool, scope)
                self._name_results(node, found, scope)
                return found
            case n.Reduce():
                return self._reduce(node, pool, scope)
            case n.RepeatBlock():
                return self._repeat(node, pool, scope)
            case n.If():
                return self._if(node, pool, scope)
            case n.Labelled():
                return self._labelled(node, pool, scope)

    def _name_results(self, node: n.Foreach, found: PoolType, scope: Scope) -> None:
        """After the block, the name of its element means the list of its results (`part[0]`)."""
        name = node.name.text
        known = scope.find(name)
        if known is None or name in self._results:
            self._results.add(name)
            self.named.add(id(node))
            variable = Variable(name, ListType(found.type), "thoughts", node.name.span, found.scored, True)
            scope.add(variable)

    def _evaluate(self, value: e.Expression, pool: PoolType, scope: Scope) -> PoolType:
        if isinstance(value, e.Call) and value.function.text in self.symbols.schemes:
            return self.invoke(value, pool, scope)
        name = value.function.text if isinstance(value, e.Call) else None
        help = "write `Map() ...`, or bind it to a name"
        if name in self.symbols.prompts:
            help = f"write `Generate() {name}(...)`"
        elif name in self.symbols.scores:
            help = f"write `Score() {name}(...)`"
        self.report.error("GOT0305", "an expression is not a step", value.span, help=help)
        return UNKNOWN

    def _bind(self, node: n.Bind, pool: PoolType, scope: Scope) -> PoolType:
        match node.value:
            case n.Step():
                found = self.step(node.value, pool, scope)
            case n.Suite():
                found = self.suite(node.value, pool, scope.inside())
            case n.Foreach() | n.Reduce() | n.RepeatBlock() | n.If() | n.Labelled():
                found = self.statement(node.value, pool, scope, True)
            case e.Call(function=function) if function.text in self.symbols.schemes:
                found = self.invoke(node.value, pool, scope)
            case _:
                found = self.value_pool(node.value, pool, scope)
                if isinstance(node.value, e.Reference) and not found.single:
                    found = PoolType(found.type, False, found.scored)
        self.pools[id(node)] = found
        name = node.name
        if name.text in scope.names:
            labels = (Label(scope.names[name.text].span, "first here"),)
            message = f"duplicate name `{name.text}` in this block"
            self.report.error("GOT0101", message, name.span, "here again", labels=labels)
        self.reserved(name)
        scope.add(found.variable(name.text, name.span))
        return found

    # ---------------------------------------------------------------- blocks

    def _elements(
        self, node: n.Foreach | n.Reduce, pool: PoolType, scope: Scope, what: str
    ) -> tuple[Type, bool]:
        """The type of the elements of a block, and whether they are thoughts with a score."""
        if node.iterable is not None:
            where = self.each(pool, scope) if pool.single else scope
            element = self.expressions.elements(node.iterable, where)
            variable = scope.find(node.iterable.name) if isinstance(node.iterable, e.Reference) else None
            return element, bool(variable and variable.kind == "thoughts" and variable.scored)
        if pool.type == NONE:
            message = f"`{what}` has no thoughts to iterate over"
            self.report.error("GOT0306", message, node.span, help="give it a list: `in xs`")
            return ANY, False
        if pool.single and isinstance(pool.type, ListType):
            message = f"`{what}` iterates over thoughts, and here is only one"
            help = "to iterate over the elements of its value, write `in it`"
            self.report.error("GOT0306", message, node.span, help=help)
            return pool.type.element, False
        return pool.type, pool.scored

    def _foreach(self, node: n.Foreach, pool: PoolType, scope: Scope) -> PoolType:
        element, scored = self._elements(node, pool, scope, "foreach")
        self.bound(node.name, node.position)
        names = [Variable(node.name.text, element, "thought", node.name.span, scored, True)]
        if node.position is not None:
            names.append(Variable(node.position.text, INT, "value", node.position.span, used=True))
        inside = scope.inside(*names)
        if node.after is not None:
            self.expressions.expect(node.after, inside, ListType(INT), "the positions of `after`")
            inside.add(Variable("done", ListType(ANY), "thoughts", node.span, used=True))
        body = self.suite(node.body, PoolType(element, True, scored), inside)
        return PoolType(body.type, False, body.scored)

    def _reduce(self, node: n.Reduce, pool: PoolType, scope: Scope) -> PoolType:
        element, scored = self._elements(node, pool, scope, "reduce")
        sides = (node.left, node.right)
        names = [Variable(name.text, element, "thought", name.span, scored, True) for name in sides]
        self.bound(node.left, node.right, node.step)
        if node.step is not None:
            names.append(Variable(node.step.text, REDUCE_STEP, "value", node.step.span, used=True))
        body = self.suite(node.body, PoolType(element, False, scored), scope.inside(*names))
        span = node.body.statements[-1].span
        if not body.single:
            message, help = "a merge must output one thought", "end the block with `KeepBestN(1)`"
            self.report.error("GOT0307", message, span, "outputs any number", help=help)
        if not accepts(element, body.type):
            message = f"a merge of {widen(element)} must output {widen(element)}"
            self.report.error("GOT0201", message, span, f"this outputs {widen(body.type)}")
        return PoolType(join(element, body.type) or ANY, True, False)

    def _repeat(self, node: n.RepeatBlock, pool: PoolType, scope: Scope) -> PoolType:
        where = self.each(pool, scope) if pool.single else scope
        self.expressions.expect(node.count, where, INT, "the number of rounds")
        inside = scope.inside()
        if node.counter is not None:
            self.reserved(node.counter)
            inside.add(Variable(node.counter.text, INT, "value", node.counter.span, used=True))
        given = tuple(inside.names.values())
        body = self.suite(node.body, pool, inside)
        if pool.type != NONE and not accepts(pool.type, body.type):
            at = f"outputs {widen(body.type)}, starts from {widen(pool.type)}"
            span = node.body.statements[-1].span
            self.report.error("GOT0201", "a repeated block must accept its own output", span, at)
        if pool.single and not body.single:
            # The first round started from one thought, the others start from several: check those too.
            body = self.suite(node.body, PoolType(body.type, False, body.scored), scope.inside(*given))
        type_ = body.type if pool.type == NONE else join(pool.type, body.type) or ANY
        result = PoolType(type_, pool.single and body.single, body.scored)
        if node.until is not None:
            self.expressions.condition(node.until, self.whole(result, inside), "the condition of `until`")
        return result

    def _if(self, node: n.If, pool: PoolType, scope: Scope) -> PoolType:
        results: list[tuple[PoolType, n.Suite]] = []
        for condition, body in (*node.branches, (None, node.otherwise)):
            if condition is not None:
                self.expressions.condition(condition, self.whole(pool, scope))
            if body is not None:
                results.append((self.suite(body, pool, scope.inside()), body))
        found = pool if node.otherwise is None else results[0][0]
        if any(other is UNKNOWN for other, _ in results):
            return UNKNOWN
        for other, body in results:
            type_ = join(found.type, other.type) if NONE not in (found.type, other.type) else None
            if type_ is None and found.type != other.type:
                message = "the branches of `if` have outputs of different types"
                at = f"{widen(other.type)} here, {widen(found.type)} elsewhere"
                self.report.error("GOT0308", message, body.statements[-1].span, at)
                return UNKNOWN
            single, scored = found.single and other.single, found.scored and other.scored
            found = PoolType(type_ or found.type, single, scored)
        return found

    def _labelled(self, node: n.Labelled, pool: PoolType, scope: Scope) -> PoolType:
        inside = scope.inside()
        if node.sources:
            pool = self._sources(node, pool, scope, inside)
        body = self.suite(node.body, pool, inside)
        if node.label in scope.labels:
            self.report.error("GOT0101", f"duplicate label `{node.label}` in this block", node.span)
        scope.labels[node.label] = body
        return body

    def _sources(self, node: n.Labelled, pool: PoolType, scope: Scope, inside: Scope) -> PoolType:
        found: Type | None = None
        pools = []
        for source in node.sources:
            if isinstance(source, n.LabelReference):
                known = scope.find_label(source.label)
                if known is None:
                    self.report.unknown("GOT0103", "label", source.label, source.span, self._labels(scope))
                    known = PoolType(ANY, True)
            else:
                known = self.value_pool(source, pool, scope)
            self.pools[id(source)] = known
            pools.append(known)
            found = known.type if found is None else join(found, known.type)
            if found is None:
                self.report.error("GOT0207", "these thoughts have no common type", source.span)
                found = ANY
        if node.names and len(node.names) != len(pools):
            message = f"{len(pools)} thoughts and {len(node.names)} names"
            self.report.error("GOT0202", message, node.names[-1].span)
        self.bound(*node.names)
        for name, known in zip(node.names, pools, strict=False):
            variable = known.variable(name.text, name.span)
            variable.used = True
            inside.add(variable)
        single = len(pools) == 1 and pools[0].single
        return PoolType(found or ANY, single, all(p.scored for p in pools))

    @staticmethod
    def _labels(scope: Scope) -> list[str]:
        names: list[str] = []
        at: Scope | None = scope
        while at is not None:
            names.extend(at.labels)
            at = at.parent
        return names

    # ---------------------------------------------------------------- names at a place

    def each(self, pool: PoolType, scope: Scope) -> Scope:
        """The names for what is evaluated once per thought, with `it`."""
        if pool.type == NONE:
            return scope
        return scope.inside(Variable("it", pool.type, "thought", scored=pool.scored, used=True))

    def whole(self, pool: PoolType, scope: Scope) -> Scope:
        """The names for what is evaluated once for all: `thoughts`, and `it` if there is only one."""
        if pool.type == NONE:
            return scope
        names = [Variable("thoughts", ListType(pool.type), "thoughts", scored=pool.scored, used=True)]
        if pool.single:
            names.append(Variable("it", pool.type, "thought", scored=pool.scored, used=True))
        return scope.inside(*names)

    def reserved(self, name: e.Identifier) -> None:
        """Report a bound name that is reserved or declared."""
        declared = name.text in self.symbols.nodes or name.text in self.symbols.functions
        if name.text in RESERVED or declared:
            why = "is reserved" if name.text in RESERVED else "is declared in this program"
            self.report.error("GOT0102", f"`{name.text}` {why}", name.span, help="choose another name")

    def bound(self, *names: e.Identifier | None) -> None:
        """Report names of a block that cannot be bound, and duplicates."""
        seen: dict[str, e.Identifier] = {}
        for name in names:
            if name is None:
                continue
            self.reserved(name)
            self.expressions.distinct(seen.setdefault(name.text, name), name)

    def value_pool(self, node: e.Expression, pool: PoolType, scope: Scope) -> PoolType:
        """The pool of an expression: bound thoughts, or any other value as one new thought."""
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
        """Check a step; returns its output."""
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
        wanted = f"{least} or more" if most is None else str(least) if least == most else f"{least} to {most}"
        wanted = "nothing" if most == 0 else wanted
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
                message = f"unexpected setting of `{operation}` without a name"
                self.report.error("GOT0311", message, argument.span, notes=(takes,))
                continue
            if name not in syntax.settings:
                guess = nearest(name, syntax.settings)
                help = f"did you mean `{guess}`?" if guess else None
                message = f"`{operation}` has no setting `{name}`"
                self.report.error("GOT0311", message, argument.span, notes=(takes,), help=help)
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
            help = "write it on the next line; only `Repeat(k)` can follow a step"
            self.report.error("GOT0309", f"`{after}` must be a step of its own", node.again.span, help=help)
            return
        if not issubclass(OPERATIONS[name].step, Sampling):
            help = "only a step that calls a model can be repeated"
            self.report.error("GOT0309", f"`{name}` cannot be repeated", node.again.span, help=help)
        if (until := setting(node, "until")) is not None:
            message = "a step with `until` cannot be repeated: `until` would end all repetitions"
            self.report.error("GOT0309", message, until.span, help="put the step into a `foreach`")
        self._settings(node.again, REPEAT, scope)


@final
@dataclass(frozen=True, slots=True)
class StepCheck:
    """The checker at one step: what an operation's type rule asks (`gotlang.operations.stages.Checking`)."""

    checker: PipelineChecker
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
        """The type of the ground truth."""
        return self.checker.truth

    @property
    def repeated(self) -> bool:
        """Whether `Repeat(k)` follows the step."""
        return self.node.again is not None and self.node.again.operation.text == "Repeat"

    def setting(self, name: str) -> e.Expression | None:
        """The expression of a setting; None if it is omitted."""
        return setting(self.node, name)

    def infer(self, node: e.Expression, scope: Scope) -> Type:
        """The type of an expression."""
        return self.checker.expressions.infer(node, scope)

    def expect(self, node: e.Expression, scope: Scope, wanted: Type, what: str) -> Type:
        """The type of an expression; an error if it is not the one wanted."""
        return self.checker.expressions.expect(node, scope, wanted, what)

    def error(
        self, code: str, message: str, span: Span | None = None, at: str = "", help: str | None = None
    ) -> None:
        """Report an error, at the step unless a place is given."""
        self.checker.report.error(code, message, span or self.node.span, at, help=help)

    def needs_thoughts(self, purpose: str = "to work on") -> None:
        """Report a step without thoughts before it."""
        if self.pool.type == NONE:
            name = self.node.operation.text
            self.error("GOT0306", f"`{name}` has no thoughts {purpose}", help="begin with `Generate`")

    def joined(self, operand: e.Expression, result: Type) -> Type | None:
        """The common type of improved thoughts and those they started from; None, and an error, if they
        differ."""
        found = join(self.pool.type, result)
        if found is None:
            message = "an improved thought must have the type of the one it started from"
            at = f"this returns {widen(result)}, the pool has {widen(self.pool.type)}"
            self.error("GOT0201", message, operand.span, at)
        return found

    def prompt(self, operand: e.Expression, scope: Scope) -> tuple[Type, bool]:
        """The result type of the prompt that an operand calls, and whether it gives several values."""
        operation, symbols = self.node.operation.text, self.checker.symbols
        if not isinstance(operand, e.Call):
            self.infer(operand, scope)
            at, help = "not a call of a prompt", "write `name(arguments)`"
            self.error("GOT0313", f"`{operation}` needs a prompt", operand.span, at, help)
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
        own = f"write `{name}(...)` on a line of its own" if kind == "scheme" else None
        message = f"`{operation}` needs a prompt, and `{name}` is a {kind}"
        self.error("GOT0313", message, operand.span, help=own)
        return ANY, False

    def _by_prompt(self, operand: e.Expression, wanted: Type, must: str) -> bool:
        """Whether an operand calls a prompt, which then must return one value of a type."""
        if not isinstance(operand, e.Call) or operand.function.text not in self.checker.symbols.prompts:
            return False
        result, many = self.prompt(operand, self.each)
        if many or not accepts(wanted, result):
            self.error("GOT0201", f"a {must}", operand.span, f"this returns {widen(result)}")
        return True

    def judgement(self, operand: e.Expression) -> None:
        """Check a condition of validity, or a prompt that returns a bool."""
        if not self._by_prompt(operand, BOOL, "validating prompt must return bool"):
            self.expect(operand, self.each, BOOL, "the condition of validity")

    def score(self, operand: e.Expression) -> None:
        """Check a score, a prompt that returns a number, or an expression."""
        scores = self.checker.symbols.scores
        if isinstance(operand, e.Call) and operand.function.text in scores:
            self.checker.symbols.used.add(operand.function.text)
            self.checker.expressions.match(operand, scores[operand.function.text], "score", self.each)
        elif not self._by_prompt(operand, FLOAT, "scoring prompt must return a number"):
            self.expect(operand, self.each, FLOAT, "a score")

    def value_pool(self, operand: e.Expression) -> PoolType:
        """The pool of an expression: bound thoughts, or any other value as one new thought."""
        return self.checker.value_pool(operand, self.pool, self.scope)

    def function(self, operand: e.Expression) -> bool:
        """Whether an operand calls an imported Python function."""
        return isinstance(operand, e.Call) and operand.function.text in self.checker.symbols.functions

    def corpus(self, operand: e.Expression) -> bool:
        """Whether an operand searches a corpus, or calls a function instead; marks it as used."""
        symbols = self.checker.symbols
        if not isinstance(operand, e.Call):
            return False
        name = operand.function.text
        if name not in symbols.corpora and name not in symbols.functions:
            return False
        symbols.used.add(name)
        return True
