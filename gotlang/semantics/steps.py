"""Checks single steps: an operation's settings and operands, and the pool it leaves."""

from __future__ import annotations

from typing import final

from gotlang.diagnostics import nearest
from gotlang.semantics.expressions import ExpressionChecker, widen
from gotlang.semantics.operations import OPERATIONS, Operation
from gotlang.semantics.report import Report
from gotlang.semantics.scope import Pool, Scope, Variable
from gotlang.semantics.symbols import RESERVED, Symbols
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.types import ANY, BOOL, FLOAT, INT, NONE, STR, AnyType, ListType, Type, accepts, join


def setting(step: n.Step, name: str) -> e.Expression | None:
    """The expression of a step's setting, by its name or by being the one that needs none."""
    first = OPERATIONS[step.operation.text].first
    for argument in step.settings or ():
        if (argument.name.text if argument.name is not None else first) == name:
            return argument.value
    return None


def is_one(node: e.Expression | None) -> bool:
    """Whether a setting is left out or plainly 1."""
    return node is None or (isinstance(node, e.Constant) and node.value == 1)


@final
class StepChecker:
    """One method an operation; each gives the pool the step leaves."""

    def __init__(self, symbols: Symbols, report: Report, expressions: ExpressionChecker) -> None:
        self.symbols = symbols
        self.report = report
        self.expressions = expressions
        self.truth: Type = ANY
        self.pools: dict[int, Pool] = {}

    # ---------------------------------------------------------------- names at a place

    def each(self, pool: Pool, scope: Scope) -> Scope:
        """The names for what is evaluated once a thought: `it` is there."""
        if pool.type == NONE:
            return scope
        return scope.inside(Variable("it", pool.type, "thought", scored=pool.scored, used=True))

    def whole(self, pool: Pool, scope: Scope) -> Scope:
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

    # ---------------------------------------------------------------- steps

    def step(self, node: n.Step, pool: Pool, scope: Scope) -> Pool:
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
            return pool
        if not self._operands(node, operation):
            return pool
        each, whole = self.each(pool, scope), self.whole(pool, scope)
        self._settings(node, operation, whole if name != "Improve" or pool.single else scope)
        self._again(node, scope)
        match name:
            case "Generate" | "Improve" | "Aggregate":
                return self._ask(node, pool, whole if name == "Aggregate" else each)
            case "Score":
                return self._score(node, pool, each)
            case "Validate":
                self._condition(node.operands[0], each, pool)
                return pool
            case "KeepValid":
                return Pool(pool.type, False, pool.scored)
            case "ValidateAndImprove":
                return self._validate_and_improve(node, pool, each)
            case "KeepBestN":
                return self._keep_best(node, pool)
            case "Select":
                return self._select(node, pool, each, whole)
            case "Vote":
                return self._vote(node, pool, each)
            case "Map":
                return Pool(self.expressions.infer(node.operands[0], each), pool.single)
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

    def _operands(self, node: n.Step, operation: Operation) -> bool:
        least, most = operation.operands
        count = len(node.operands)
        if node.settings is None and not operation.bare:
            self.report.error(
                "GOT0310",
                f"`{operation.name}` needs its parentheses",
                node.operation.span,
                help=f"for example `{operation.example}`",
            )
            return False
        if least <= count and (most is None or count <= most):
            return True
        wanted = (
            "nothing"
            if most == 0
            else str(least)
            if least == most
            else f"{least} or more"
            if most is None
            else f"{least} to {most}"
        )
        self.report.error(
            "GOT0310",
            f"`{operation.name}(...)` takes {wanted} after its settings, not {count}",
            node.span,
            help=f"for example `{operation.example}`",
        )
        return False

    def _settings(self, node: n.Step, operation: Operation, scope: Scope) -> None:
        seen: set[str] = set()
        takes = f"it takes: {', '.join(operation.settings) or 'no settings'}"
        for argument in node.settings or ():
            name = argument.name.text if argument.name is not None else operation.first
            if name is None or (argument.name is None and name in seen):
                self.report.error(
                    "GOT0311",
                    f"`{operation.name}` takes no setting without a name here",
                    argument.span,
                    notes=(takes,),
                )
                continue
            if name not in operation.settings:
                guess = nearest(name, operation.settings)
                self.report.error(
                    "GOT0311",
                    f"`{operation.name}` has no setting `{name}`",
                    argument.span,
                    notes=(takes,),
                    help=f"did you mean `{guess}`?" if guess else None,
                )
                continue
            if name in seen:
                self.report.error("GOT0311", f"setting `{name}` stands twice", argument.span)
            seen.add(name)
            if name in {"until", "weight"}:
                continue  # evaluated once a thought, by the operation itself
            self.setting_value(name, argument.value, operation.settings[name], scope)
        if operation.required and operation.first not in seen:
            self.report.error(
                "GOT0311",
                f"`{operation.name}` needs `{operation.first}`",
                node.span,
                help=f"for example `{operation.example}`",
            )

    def setting_value(self, name: str, value: e.Expression, wanted: Type, scope: Scope) -> None:
        """Check the value of a setting, and that a plain number is one that can be."""
        found = self.expressions.expect(value, scope, wanted, f"`{name}`")
        if name == "stop" and not (accepts(STR, found) or accepts(ListType(STR), found)):
            self.report.error(
                "GOT0201", "`stop` must be a text or a list of texts", value.span, f"this is {widen(found)}"
            )
        least = {"k": 1, "n": 1, "max_tokens": 1, "tries": 0, "temperature": 0, "top_p": 0}.get(name)
        number = value.value if isinstance(value, e.Constant) else None
        if isinstance(value, e.Unary) and value.operator == "-" and isinstance(value.operand, e.Constant):
            number = -1 if isinstance(value.operand.value, int | float) and value.operand.value > 0 else None
        if least is not None and isinstance(number, int | float) and number < least:
            self.report.error("GOT0312", f"`{name}` must be at least {least}", value.span)

    def _again(self, node: n.Step, scope: Scope) -> None:
        if node.again is None:
            return
        if node.again.operation.text != "Repeat":
            self.report.error(
                "GOT0309",
                f"`{node.again.operation.text}` starts a step of its own",
                node.again.span,
                help="put it on the next line; only `Repeat(k)` stands after a step",
            )
            return
        if node.operation.text not in {"Generate", "Improve", "Aggregate"}:
            self.report.error(
                "GOT0309",
                f"`{node.operation.text}` cannot be repeated",
                node.again.span,
                help="only a step that asks a model can",
            )
        self._settings(node.again, OPERATIONS["Repeat"], scope)

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
            self.expressions.match(operand, signature, "prompt", scope)
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

    def _ask(self, node: n.Step, pool: Pool, scope: Scope) -> Pool:
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
            found = Pool(joined or result, False)
        else:
            single = (pool.single or operation == "Aggregate") and not many
            found = Pool(result, single and is_one(setting(node, "k")) and node.again is None)
        if (until := setting(node, "until")) is not None:
            drawn = Pool(result, True, True)
            self.expressions.condition(until, self.each(drawn, scope), "`until`")
        return found

    def _validate_and_improve(self, node: n.Step, pool: Pool, scope: Scope) -> Pool:
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
        return Pool(joined or ANY, pool.single)

    def _condition(self, operand: e.Expression, scope: Scope, pool: Pool) -> None:
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

    def _score(self, node: n.Step, pool: Pool, scope: Scope) -> Pool:
        self._need_thoughts(node, pool)
        operand = node.operands[0]
        scored = Pool(pool.type, pool.single, True)
        if isinstance(operand, e.Call):
            name = operand.function.text
            if name in self.symbols.scores:
                self.symbols.used.add(name)
                self.expressions.match(operand, self.symbols.scores[name], "score", scope)
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

    def invoke(self, call: e.Call, pool: Pool, scope: Scope) -> Pool:
        """Check a scheme's call as a step: it runs once for each current thought."""
        signature = self.symbols.schemes[call.function.text]
        self.symbols.used.add(signature.name)
        self.expressions.match(call, signature, "scheme", self.each(pool, scope))
        return Pool(signature.result, pool.single and not signature.many)

    # ---------------------------------------------------------------- operations on thoughts

    def _need_thoughts(self, node: n.Step, pool: Pool) -> None:
        if pool.type == NONE:
            self.report.error(
                "GOT0306",
                f"`{node.operation.text}` has no thoughts to look at",
                node.span,
                help="begin with `Generate`",
            )

    def _keep_best(self, node: n.Step, pool: Pool) -> Pool:
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
        return Pool(pool.type, pool.single or (count is not None and is_one(count)), True)

    def _select(self, node: n.Step, pool: Pool, each: Scope, whole: Scope) -> Pool:
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
        return Pool(pool.type, False, pool.scored)

    def _vote(self, node: n.Step, pool: Pool, each: Scope) -> Pool:
        self._need_thoughts(node, pool)
        if (weight := setting(node, "weight")) is not None:
            self.expressions.expect(weight, each, FLOAT, "`weight`")
        return Pool(pool.type, True, pool.scored)

    def _pool(self, node: n.Step, pool: Pool, whole: Scope) -> Pool:
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
        return Pool(found or ANY, single, scored)

    def value_pool(self, node: e.Expression, pool: Pool, scope: Scope) -> Pool:
        """What an expression names: bound thoughts as they are, any other value as one new thought."""
        where = self.whole(pool, scope)
        inner = node.value if isinstance(node, e.Index) else node
        variable = where.find(inner.name) if isinstance(inner, e.Reference) else None
        found = self.expressions.infer(node, where)
        if variable is not None and variable.kind == "thoughts":
            element = variable.type.element if isinstance(variable.type, ListType) else ANY
            if isinstance(node, e.Reference):
                return Pool(element, False, variable.scored)
            if isinstance(node, e.Index):
                return Pool(element, True, variable.scored)
        if variable is not None and variable.kind == "thought" and isinstance(node, e.Reference):
            return Pool(variable.type, True, variable.scored)
        return Pool(found, True)

    def _retrieve(self, node: n.Step, pool: Pool, scope: Scope) -> Pool:
        operand = node.operands[0]
        known = [*self.symbols.corpora, *self.symbols.functions]
        if not isinstance(operand, e.Call) or operand.function.text not in known:
            name = operand.function.text if isinstance(operand, e.Call) else ""
            self.report.error(
                "GOT0315",
                "`Retrieve` asks a corpus",
                operand.span,
                f"`{name}` is none" if name else "",
                help='declare it: `import corpus "pages.jsonl": wiki`, then write `Retrieve(k=5) wiki(question)`',
            )
            return Pool(STR, False)
        self.symbols.used.add(operand.function.text)
        if len(operand.arguments) != 1:
            self.report.error("GOT0203", f"corpus `{operand.function.text}` takes one query", operand.span)
        for argument in operand.arguments:
            self.expressions.expect(argument.value, scope, STR, "a query")
        return Pool(STR, False)

    def _call(self, node: n.Step, pool: Pool, scope: Scope) -> Pool:
        operand = node.operands[0]
        found = self.expressions.infer(operand, scope)
        if not isinstance(operand, e.Call) or operand.function.text not in self.symbols.functions:
            self.report.error(
                "GOT0315",
                "`Call` calls a Python function",
                operand.span,
                help='import it: `import python "tools.py": search`, then write `Call search(it)`',
            )
        return Pool(found if isinstance(found, AnyType) else ANY, pool.single)
