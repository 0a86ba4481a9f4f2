"""Checks schemes and the bodies of scores: the flow of thoughts, and whether each step accepts them."""

from __future__ import annotations

from typing import final

from gotlang.diagnostics import Label, Report
from gotlang.operations.reduce import REDUCE_STEP
from gotlang.scope import START, UNKNOWN, PoolType, Scope, Variable
from gotlang.semantics.expressions import ExpressionChecker
from gotlang.semantics.steps import StepChecker
from gotlang.semantics.symbols import Signature, Symbols
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.types import ANY, FLOAT, INT, NONE, ListType, Type, accepts, join, widen


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
        self.steps = StepChecker(symbols, report, expressions)

    def scheme(self, node: n.Scheme, signature: Signature) -> None:
        """Check a scheme's pipeline against its signature."""
        scope = Scope()
        self._results = set()
        for parameter, (name, type_) in zip(node.parameters, signature.parameters, strict=False):
            scope.add(Variable(name, type_, "value", parameter.name.span))
        truth = signature.truth or (ListType(signature.result) if signature.many else signature.result)
        self.steps.truth = truth
        self.steps.pools = self.pools
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
        self.steps.pools = self.pools
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
                return self.steps.step(node, pool, scope)
            case n.Evaluate(value=value):
                return self._evaluate(value, pool, scope)
            case n.Bind():
                return self._bind(node, pool, scope)
            case n.Return(value=value):
                if not last:
                    self.report.error(
                        "GOT0304", "`return` must be the last step", node.span, "steps follow it"
                    )
                return self.steps.value_pool(value, pool, scope)
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
            return self.steps.invoke(value, pool, scope)
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
                found = self.steps.step(node.value, pool, scope)
            case n.Suite():
                found = self.suite(node.value, pool, scope.inside())
            case n.Foreach() | n.Reduce() | n.RepeatBlock() | n.If() | n.Labelled():
                found = self.statement(node.value, pool, scope, True)
            case e.Call(function=function) if function.text in self.symbols.schemes:
                found = self.steps.invoke(node.value, pool, scope)
            case _:
                found = self.steps.value_pool(node.value, pool, scope)
                if isinstance(node.value, e.Reference) and not found.single:
                    found = PoolType(found.type, False, found.scored)
        self.pools[id(node)] = found
        name = node.name
        if name.text in scope.names:
            labels = (Label(scope.names[name.text].span, "first here"),)
            message = f"duplicate name `{name.text}` in this block"
            self.report.error("GOT0101", message, name.span, "here again", labels=labels)
        self.steps.reserved(name)
        scope.add(found.variable(name.text, name.span))
        return found

    # ---------------------------------------------------------------- blocks

    def _elements(
        self, node: n.Foreach | n.Reduce, pool: PoolType, scope: Scope, what: str
    ) -> tuple[Type, bool]:
        """The type of the elements of a block, and whether they are thoughts with a score."""
        if node.iterable is not None:
            where = self.steps.each(pool, scope) if pool.single else scope
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
        self.steps.bound(node.name, node.position)
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
        self.steps.bound(node.left, node.right, node.step)
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
        where = self.steps.each(pool, scope) if pool.single else scope
        self.expressions.expect(node.count, where, INT, "the number of rounds")
        inside = scope.inside()
        if node.counter is not None:
            self.steps.reserved(node.counter)
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
            self.expressions.condition(
                node.until, self.steps.whole(result, inside), "the condition of `until`"
            )
        return result

    def _if(self, node: n.If, pool: PoolType, scope: Scope) -> PoolType:
        results: list[tuple[PoolType, n.Suite]] = []
        for condition, body in (*node.branches, (None, node.otherwise)):
            if condition is not None:
                self.expressions.condition(condition, self.steps.whole(pool, scope))
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
                known = self.steps.value_pool(source, pool, scope)
            self.pools[id(source)] = known
            pools.append(known)
            found = known.type if found is None else join(found, known.type)
            if found is None:
                self.report.error("GOT0207", "these thoughts have no common type", source.span)
                found = ANY
        if node.names and len(node.names) != len(pools):
            message = f"{len(pools)} thoughts and {len(node.names)} names"
            self.report.error("GOT0202", message, node.names[-1].span)
        self.steps.bound(*node.names)
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
