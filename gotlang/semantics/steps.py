"""Checks single steps: an operation's settings and operands, and the pool it leaves."""

from __future__ import annotations

from typing import final

from gotlang.scope import UNKNOWN, PoolType, Scope, Variable
from gotlang.semantics.calls import widen
from gotlang.semantics.expressions import ExpressionChecker
from gotlang.semantics.operations import OPERATIONS
from gotlang.semantics.report import Report
from gotlang.semantics.settings import SettingChecker, is_one, setting
from gotlang.semantics.symbols import RESERVED, Symbols
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.types import (
    ANY,
    BOOL,
    FLOAT,
    INT,
    NONE,
    STR,
    AnyType,
    ListType,
    LiteralType,
    Type,
    accepts,
    join,
)


def general(type_: Type) -> Type:
    """The type of a new thought with a value: a plain text may later be replaced by any other."""
    return STR if isinstance(type_, LiteralType) and len(type_.values) == 1 else type_


@final
class StepChecker:
    """One method an operation; each gives the pool the step leaves."""

    def __init__(self, symbols: Symbols, report: Report, expressions: ExpressionChecker) -> None:
        self.symbols = symbols
        self.report = report
        self.expressions = expressions
        self.settings = SettingChecker(report, expressions)
        self.truth: Type = ANY
        self.pools: dict[int, PoolType] = {}

    # ---------------------------------------------------------------- names at a place

    def each(self, pool: PoolType, scope: Scope) -> Scope:
        """The names for what is evaluated once a thought: `it` is there."""
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
        """Note an error where a name that means something by itself is bound."""
        if name.text in RESERVED:
            self.report.error(
                "GOT0102", f"`{name.text}` has a meaning of its own", name.span, help="choose another name"
            )
        elif name.text in self.symbols.nodes or name.text in self.symbols.functions:
            self.report.error(
                "GOT0102", f"`{name.text}` is declared in this program", name.span, help="choose another name"
            )

    def bound(self, *names: e.Identifier | None) -> None:
        """Note an error where one of the names that a block binds cannot be bound, or is bound twice."""
        seen: dict[str, e.Identifier] = {}
        for name in names:
            if name is None:
                continue
            self.reserved(name)
            self.expressions.distinct(seen.setdefault(name.text, name), name)

    # ---------------------------------------------------------------- steps

    def step(self, node: n.Step, pool: PoolType, scope: Scope) -> PoolType:
        """Check a step; the pool it leaves."""
        name = node.operation.text
        operation = OPERATIONS.get(name)
        if operation is None or name == "Repeat":
            if operation is not None:
                self.report.error(
                    "GOT0309",
                    "`Repeat` stands after a step",
                    node.span,
                    help="to repeat steps, write `repeat k:`",
                )
            else:
                self.report.unknown("GOT0106", "operation", name, node.operation.span, OPERATIONS)
            for operand in node.operands:
                if not isinstance(operand, e.Call):
                    self.expressions.infer(operand, self.whole(pool, scope))
            return UNKNOWN
        if not self.settings.operands(node, operation):
            return UNKNOWN
        each, whole = self.each(pool, scope), self.whole(pool, scope)
        self.settings.check(node, operation, whole if name != "Improve" or pool.single else scope)
        self.settings.again(node, scope)
        match name:
            case "Generate" | "Improve" | "Aggregate":
                return self._ask(node, pool, whole if name == "Aggregate" else each)
            case "Score":
                return self._score(node, pool, each)
            case "Validate":
                self._condition(node.operands[0], each, pool)
                return pool
            case "KeepValid":
                return PoolType(pool.type, False, pool.scored)
            case "ValidateAndImprove":
                return self._validate_and_improve(node, pool, each)
            case "KeepBestN":
                return self._keep_best(node, pool)
            case "Select":
                return self._select(node, pool, each, whole)
            case "Vote":
                return self._vote(node, pool, each)
            case "Map":
                return PoolType(general(self.expressions.infer(node.operands[0], each)), pool.single)
            case "Pool":
                return self._pool(node, pool, whole)
            case "Retrieve":
                return self._retrieve(node, pool, each)
            case "Call":
                return self._call(node, pool, each)
            case _:
                truth = each.inside(Variable("truth", self.truth, "value", used=True))
                self.expressions.condition(node.operands[0], truth, "what `GroundTruth` measures")
                return pool

    # ---------------------------------------------------------------- operations that ask a model

    def _prompt(self, operand: e.Expression, operation: str, scope: Scope) -> tuple[Type, bool]:
        """The result of the prompt that an operand calls, and whether it gives several."""
        if not isinstance(operand, e.Call):
            self.expressions.infer(operand, scope)
            self.report.error(
                "GOT0313",
                f"`{operation}` asks a prompt",
                operand.span,
                "not a prompt's call",
                help="write `name(arguments)`",
            )
            return ANY, False
        name = operand.function.text
        signature = self.symbols.prompts.get(name)
        if signature is not None:
            self.symbols.used.add(name)
            self.expressions.calls.match(operand, signature, "prompt", scope)
            return signature.result, signature.many
        for argument in operand.arguments:
            self.expressions.infer(argument.value, scope)
        if name in self.symbols.callables():
            kind = (
                "scheme"
                if name in self.symbols.schemes
                else "score"
                if name in self.symbols.scores
                else "function"
            )
            self.symbols.used.add(name)
            self.report.error(
                "GOT0313",
                f"`{operation}` asks a prompt, and `{name}` is a {kind}",
                operand.span,
                help=f"write `{name}(...)` on a line of its own" if kind == "scheme" else None,
            )
        else:
            self.report.unknown("GOT0103", "prompt", name, operand.function.span, self.symbols.prompts)
        return ANY, False

    def _ask(self, node: n.Step, pool: PoolType, scope: Scope) -> PoolType:
        operation = node.operation.text
        if operation != "Generate" and pool.type == NONE:
            self.report.error(
                "GOT0306",
                f"`{operation}` has no thoughts to start from",
                node.span,
                help="begin with `Generate`",
            )
        result, many = self._prompt(node.operands[0], operation, scope)
        if operation == "Improve":
            joined = join(pool.type, result) if pool.type != NONE else result
            if joined is None:
                self.report.error(
                    "GOT0201",
                    "an improved thought must be like the one it started from",
                    node.operands[0].span,
                    f"this gives {widen(result)}, the pool holds {widen(pool.type)}",
                )
            found = PoolType(joined or result, False)
        else:
            single = (pool.single or operation == "Aggregate") and not many
            again = node.again is not None and node.again.operation.text == "Repeat"
            found = PoolType(result, single and is_one(setting(node, "k")) and not again)
        if (until := setting(node, "until")) is not None:
            drawn = PoolType(result, True, True)
            self.expressions.condition(until, self.each(drawn, scope), "`until`")
        return found

    def _validate_and_improve(self, node: n.Step, pool: PoolType, scope: Scope) -> PoolType:
        self._need_thoughts(node, pool)
        self._condition(node.operands[0], scope, pool)
        result, many = self._prompt(node.operands[1], "ValidateAndImprove", scope)
        if many:
            self.report.error(
                "GOT0313", "`ValidateAndImprove` needs a prompt that gives one value", node.operands[1].span
            )
        joined = join(pool.type, result)
        if joined is None:
            self.report.error(
                "GOT0201",
                "an improved thought must be like the one it started from",
                node.operands[1].span,
                f"this gives {widen(result)}, the pool holds {widen(pool.type)}",
            )
        return PoolType(joined or ANY, pool.single)

    def _condition(self, operand: e.Expression, scope: Scope, pool: PoolType) -> None:
        if isinstance(operand, e.Call) and operand.function.text in self.symbols.prompts:
            result, many = self._prompt(operand, "Validate", scope)
            if many or not accepts(BOOL, result):
                self.report.error(
                    "GOT0201",
                    "a validating prompt must give bool",
                    operand.span,
                    f"this gives {widen(result)}",
                )
            return
        self.expressions.condition(operand, scope, "what makes a thought valid")

    def _score(self, node: n.Step, pool: PoolType, scope: Scope) -> PoolType:
        self._need_thoughts(node, pool)
        operand = node.operands[0]
        scored = PoolType(pool.type, pool.single, True)
        if isinstance(operand, e.Call):
            name = operand.function.text
            if name in self.symbols.scores:
                self.symbols.used.add(name)
                self.expressions.calls.match(operand, self.symbols.scores[name], "score", scope)
                return scored
            if name in self.symbols.prompts:
                result, many = self._prompt(operand, "Score", scope)
                if many or not accepts(FLOAT, result):
                    self.report.error(
                        "GOT0201",
                        "a scoring prompt must give a number",
                        operand.span,
                        f"this gives {widen(result)}",
                    )
                return scored
        self.expressions.expect(operand, scope, FLOAT, "a score")
        return scored

    def invoke(self, call: e.Call, pool: PoolType, scope: Scope) -> PoolType:
        """Check a scheme's call as a step: it runs once for each current thought."""
        signature = self.symbols.schemes[call.function.text]
        self.symbols.used.add(signature.name)
        self.expressions.calls.match(call, signature, "scheme", self.each(pool, scope))
        return PoolType(signature.result, pool.single and not signature.many)

    # ---------------------------------------------------------------- operations on thoughts

    def _need_thoughts(self, node: n.Step, pool: PoolType) -> None:
        if pool.type == NONE:
            self.report.error(
                "GOT0306",
                f"`{node.operation.text}` has no thoughts to look at",
                node.span,
                help="begin with `Generate`",
            )

    def _keep_best(self, node: n.Step, pool: PoolType) -> PoolType:
        self._need_thoughts(node, pool)
        if not pool.scored and pool.type != NONE:
            self.report.error(
                "GOT0314",
                "these thoughts have no score",
                node.span,
                "which is best is not known",
                help="put a `Score() ...` before it",
            )
        count = setting(node, "n")
        return PoolType(pool.type, pool.single or is_one(count), True)

    def _select(self, node: n.Step, pool: PoolType, each: Scope, whole: Scope) -> PoolType:
        self._need_thoughts(node, pool)
        positions = setting(node, "positions")
        if (positions is None) == (not node.operands):
            self.report.error(
                "GOT0310",
                "`Select` takes a condition or positions",
                node.span,
                help="write `Select() len(it) > 2` or `Select([0, 2])`",
            )
        elif node.operands:
            self.expressions.condition(node.operands[0], each)
        elif positions is not None:
            self.expressions.expect(positions, whole, ListType(INT), "positions")
        return PoolType(pool.type, False, pool.scored)

    def _vote(self, node: n.Step, pool: PoolType, each: Scope) -> PoolType:
        self._need_thoughts(node, pool)
        if (weight := setting(node, "weight")) is not None:
            self.expressions.expect(weight, each, FLOAT, "`weight`")
        return PoolType(pool.type, True, pool.scored)

    def _pool(self, node: n.Step, pool: PoolType, whole: Scope) -> PoolType:
        found: Type | None = None
        scored = True
        single = len(node.operands) == 1
        for operand in node.operands:
            part = self.value_pool(operand, pool, whole)
            scored, single = scored and part.scored, single and part.single
            joined = part.type if found is None else join(found, part.type)
            if joined is None:
                self.report.error(
                    "GOT0207",
                    "these thoughts have no type in common",
                    operand.span,
                    f"this is {widen(part.type)}, before it stands {widen(found or ANY)}",
                )
                joined = ANY
            found = joined
        return PoolType(found or ANY, single, scored)

    def value_pool(self, node: e.Expression, pool: PoolType, scope: Scope) -> PoolType:
        """What an expression names: bound thoughts as they are, any other value as one new thought."""
        where = self.whole(pool, scope)
        inner = node.value if isinstance(node, e.Index) else node
        variable = where.find(inner.name) if isinstance(inner, e.Reference) else None
        found = self.expressions.infer(node, where)
        if variable is not None and variable.kind == "thoughts":
            element = variable.type.element if isinstance(variable.type, ListType) else ANY
            if isinstance(node, e.Reference):
                return PoolType(element, False, variable.scored)
            if isinstance(node, e.Index):
                return PoolType(element, True, variable.scored)
        if variable is not None and variable.kind == "thought" and isinstance(node, e.Reference):
            return PoolType(variable.type, True, variable.scored)
        return PoolType(general(found), True)

    def _retrieve(self, node: n.Step, pool: PoolType, scope: Scope) -> PoolType:
        operand = node.operands[0]
        known = [*self.symbols.corpora, *self.symbols.functions]
        if not isinstance(operand, e.Call) or operand.function.text not in known:
            name = operand.function.text if isinstance(operand, e.Call) else ""
            self.report.error(
                "GOT0315",
                "`Retrieve` asks a corpus",
                operand.span,
                f"`{name}` is none" if name else "",
                help='declare it: `import corpus "pages.jsonl": wiki`, then `Retrieve(k=5) wiki(question)`',
            )
            return PoolType(STR, False)
        self.symbols.used.add(operand.function.text)
        if len(operand.arguments) != 1:
            self.report.error("GOT0202", f"corpus `{operand.function.text}` takes one query", operand.span)
        for argument in operand.arguments:
            self.expressions.expect(argument.value, scope, STR, "a query")
        return PoolType(STR, False)

    def _call(self, node: n.Step, pool: PoolType, scope: Scope) -> PoolType:
        operand = node.operands[0]
        found = self.expressions.infer(operand, scope)
        if not isinstance(operand, e.Call) or operand.function.text not in self.symbols.functions:
            self.report.error(
                "GOT0315",
                "`Call` calls a Python function",
                operand.span,
                help='import it: `import python "tools.py": search`, then write `Call search(it)`',
            )
        return PoolType(found if isinstance(found, AnyType) else ANY, pool.single)
