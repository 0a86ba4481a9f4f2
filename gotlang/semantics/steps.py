"""The checker at one step of a pipeline: its settings, and the interface for its operation's type rule."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, final

from msgspec import Struct

from gotlang.diagnostics import Fix, Report, nearest
from gotlang.operations import OPERATIONS
from gotlang.operations.names import free_names, is_own_score, looks_at_pool
from gotlang.operations.record import MODEL_SETTINGS, SEED, K, SettingRule, Syntax
from gotlang.scope import UNKNOWN, Facts, PoolType, Scope, ScoredBy, Variable
from gotlang.semantics.builtins import BUILTINS
from gotlang.semantics.expressions import ExpressionChecker
from gotlang.semantics.facts import require_one_score
from gotlang.semantics.symbols import Symbols
from gotlang.span import Span
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.syntax.format import format_expression
from gotlang.types import ANY, BOOL, EMPTY, FLOAT, ListType, Type, accepts, has_error, join, widen

REPEAT = Syntax(
    {"k": K, "temperature": MODEL_SETTINGS["temperature"], "seed": SEED},
    "Generate(k=5) sort(part) Repeat(3)",
    first="k",
    required=True,
    operands=(0, 0),
)
"""`Repeat(k)` after a step or a call, or over a block: the same k times in separate contexts, the later ones
at another temperature or with seeds from one on."""


def setting(step: n.Step, name: str) -> e.Expression | None:
    """The expression of a step's setting, given by name or positionally."""
    operation = OPERATIONS.get(step.operation.text)
    first = operation.syntax.first if operation is not None else REPEAT.first
    for argument in step.settings or ():
        if (argument.name.text if argument.name is not None else first) == name:
            return argument.value
    return None


def check_setting(
    name: str, value: e.Expression, wanted: SettingRule, scope: Scope, expressions: ExpressionChecker
) -> None:
    """Check the type of a setting's value; its range is checked with the constants."""
    found = expressions.infer(value, scope)
    if not any(accepts(type_, found) for type_ in wanted.types):
        types = " or ".join(map(str, wanted.types))
        expressions.mismatch(value, wanted.types[0], found, f"`{name}` must be {types}")


def check_settings(node: n.Step, syntax: Syntax, scope: Scope, expressions: ExpressionChecker) -> None:
    """Check the settings of a step by name, number and type."""
    report, seen = expressions.report, set[str]()
    operation, takes = node.operation.text, f"it takes: {', '.join(syntax.settings) or 'no settings'}"
    for argument in node.settings or ():
        name = argument.name.text if argument.name is not None else syntax.first
        if name is None or (argument.name is None and name in seen):
            message = f"unexpected setting of `{operation}` without a name"
            report.error("GOT0311", message, argument.span, notes=(takes,))
            continue
        if name not in syntax.settings:
            guess = nearest(name, syntax.settings)
            help = f"did you mean `{guess}`?" if guess else None
            message = f"`{operation}` has no setting `{name}`"
            fix = Fix(argument.name.span, guess) if guess and argument.name is not None else None
            report.error("GOT0311", message, argument.span, notes=(takes,), help=help, fix=fix)
            continue
        if name in seen:
            report.error("GOT0311", f"duplicate setting `{name}`", argument.span)
        seen.add(name)
        if not syntax.settings[name].per_thought:
            check_setting(name, argument.value, syntax.settings[name], scope, expressions)
    if syntax.required and syntax.first not in seen:
        help = f"for example `{syntax.example}`"
        report.error("GOT0311", f"`{operation}` needs `{syntax.first}`", node.span, help=help)


def value_pool(
    expressions: ExpressionChecker,
    node: e.Expression,
    pool: PoolType,
    scope: Scope,
    wanted: Type | None = None,
) -> PoolType:
    """The pool of an expression: bound thoughts, or any other value as one new thought."""
    where = scope.whole(pool)
    found, variable = expressions.infer(node, where, wanted), thoughts_named(node, where)
    if variable is None:
        return PoolType(found, True) if found != ANY else UNKNOWN
    single = variable.kind == "thought" or isinstance(node, e.Index)
    element = found.element if isinstance(found, ListType) else ANY
    return PoolType(found if single else element, single, variable.facts)


def thoughts_named(node: e.Expression, scope: Scope) -> Variable | None:
    """The variable whose thoughts an expression names, by itself or by a position; None for a value."""
    place = isinstance(node, e.Index)
    inner = node.value if isinstance(node, e.Index) else node
    variable = scope.find(inner.name) if isinstance(inner, e.Reference) else None
    if variable is None or variable.kind == "value" or (place and variable.kind == "thought"):
        return None
    return variable


@final
class StepCheck(Struct, frozen=True):
    """The checker at one step, for an operation's type rule (`gotlang.operations.stages.Checking`)."""

    expressions: ExpressionChecker
    truth: Type
    """The type of the ground truth."""
    node: n.Step
    pool: PoolType
    scope: Scope

    @property
    def symbols(self) -> Symbols:
        """The declarations of the program."""
        return self.expressions.symbols

    @property
    def report(self) -> Report:
        """Where mistakes are reported."""
        return self.expressions.report

    @property
    def each(self) -> Scope:
        return self.scope.each(self.pool)

    @property
    def whole(self) -> Scope:
        return self.scope.whole(self.pool)

    @property
    def repeated(self) -> bool:
        return self.node.again is not None and self.node.again.operation.text == "Repeat"

    def setting(self, name: str) -> e.Expression | None:
        return setting(self.node, name)

    def infer(self, node: e.Expression, scope: Scope) -> Type:
        return self.expressions.infer(node, scope)

    def expect(self, node: e.Expression, scope: Scope, wanted: Type, what: str) -> Type:
        return self.expressions.expect(node, scope, wanted, what)

    def error(
        self, code: str, message: str, span: Span | None = None, at: str = "", help: str | None = None
    ) -> None:
        self.report.error(code, message, span or self.node.span, at, help=help)

    def warning(self, code: str, message: str, span: Span, *, help: str | None = None) -> None:
        self.report.warning(code, message, span, help=help)

    def selected(self, condition: e.Expression) -> Type:
        return self.expressions.selected(condition, self.pool, self.each)

    def needs_thoughts(self, purpose: str = "to work on") -> None:
        if self.pool.type == EMPTY:
            name = self.node.operation.text
            self.error("GOT0306", f"`{name}` has no thoughts {purpose}", help="begin with `Generate`")

    def joined(self, operand: e.Expression, result: Type) -> Type | None:
        found = join(self.pool.type, result)
        if found is None:
            message = "an improved thought must have the type of the one it started from"
            at = f"this returns {widen(result)}, the pool has {widen(self.pool.type)}"
            self.error("GOT0201", message, operand.span, at)
        return found

    def prompt(self, operand: e.Expression, scope: Scope) -> tuple[Type, bool]:
        operation, symbols = self.node.operation.text, self.symbols
        if not isinstance(operand, e.Call):
            before = len(self.report.diagnostics)
            if self.infer(operand, scope) == ANY and len(self.report.diagnostics) > before:
                return ANY, False
            at, help = "not a call of a prompt", "write `name(arguments)`"
            if operation == "Ask":
                help = f"write `Ask({format_expression(operand)})` for a text"
            self.error("GOT0313", f"`{operation}` needs a prompt", operand.span, at, help)
            return ANY, False
        name = operand.function.text
        signature = symbols.prompts.get(name)
        if signature is not None:
            symbols.used.add(name)
            self.expressions.match(operand, signature, "prompt", scope)
            declared = symbols.nodes.get(name)
            if isinstance(declared, n.Prompt) and declared.tools:
                until = self.setting("until")
                if operation != "Generate" or until is not None:
                    message = f"`{name}` has tools, so only `Generate` without `until` can call it"
                    help = "call it in a `Generate` before, and use its result here"
                    self.error("GOT0712", message, (until or operand).span, help=help)
            if self._plainly(operand, "temperature") == 0 and self._plainly(operand, "retries"):
                message = "at temperature 0 every sample is the same response"
                help = "remove `retries`, or raise the temperature"
                self.error("GOT0344", message, operand.span, "nothing to retry", help)
            k = self._plainly(operand, "k")
            cold = self._plainly(operand, "temperature") == 0 and self._given(operand, "seed") is None
            if cold and isinstance(k, int) and k > 1:
                message = f"at temperature 0 all {k} samples are the same response"
                help = "remove `k`, or raise the temperature: `temperature=0.7`"
                self.warning("GOT0509", message, self.node.span, help=help)
            return signature.result, signature.many
        for argument in operand.arguments:
            self.infer(argument.value, scope)
        if name not in symbols.callables():
            self.report.unknown("GOT0103", "prompt", name, operand.function.span, symbols.prompts)
            return ANY, False
        kind = "scheme" if name in symbols.schemes else "score" if name in symbols.scores else "function"
        symbols.used.add(name)
        own = f"write `{name}(...)` on a line of its own" if kind == "scheme" else None
        message = f"`{operation}` needs a prompt, and `{name}` is a {kind}"
        self.error("GOT0313", message, operand.span, help=own)
        return ANY, False

    def _by_prompt(self, operand: e.Expression, scope: Scope, wanted: Type, must: str) -> bool:
        """Whether an operand calls a prompt, which then must return one value of a type."""
        if not isinstance(operand, e.Call) or operand.function.text not in self.symbols.prompts:
            return False
        if (name := operand.function.text) in BUILTINS:
            help = "rename the prompt, or bind the value of the function to a name before"
            self.error("GOT0102", f"`{name}` is a prompt and a built-in function", operand.span, help=help)
        result, many = self.prompt(operand, scope)
        if many or not accepts(wanted, result):
            self.error("GOT0201", f"a {must}", operand.span, f"this returns {widen(result)}")
        return True

    def knowing(self, facts: Facts, type_: Type, scope: Scope, place: str) -> Scope:
        it = Variable("it", type_, "thought", facts=facts, used=True)
        return scope.inside(*([it] if type_ != EMPTY else []), place=place)

    def judgement(self, operand: e.Expression, scope: Scope) -> None:
        if not self._by_prompt(operand, scope, BOOL, "validating prompt must return bool"):
            self.expect(operand, scope, BOOL, "the condition of validity")

    def score(self, operand: e.Expression) -> ScoredBy:
        symbols, name = self.symbols, operand.function.text if isinstance(operand, e.Call) else ""
        lower = False
        if isinstance(operand, e.Call) and name in symbols.scores:
            symbols.used.add(name)
            self.expressions.match(operand, symbols.scores[name], "score", self.each)
            declared = symbols.nodes[name]
            lower = isinstance(declared, n.Score) and declared.direction == "lower"
        elif not self._by_prompt(operand, self.each, FLOAT, "scoring prompt must return a number"):
            self.expect(operand, self.each, FLOAT, "a score")
            name = format_expression(operand)
            self.prefers_high(operand)
        return ScoredBy(f"`{name}`", lower, operand.span)

    def prefers_high(self, node: e.Expression, *, mirrored: bool = False) -> None:
        for part in rises_with(node):
            if not (mirrored and part is node) and is_lower(part, self.symbols, self.pool, self.each):
                shown = format_expression(part)
                message = f"higher is better here, but this rises with `{shown}`"
                help = "declare it as a score, `-> lower`"
                help += ", and use only that" if mirrored else f", or put a minus before `{shown}`"
                self.error("GOT0345", message, node.span, f"of `{shown}` lower is better", help)
                return

    def compares_scores(self) -> None:
        require_one_score(self.pool.facts, self.node.span, self.report)

    def looks_at_thoughts(self, operand: e.Expression, scope: Scope, *, named: bool = True) -> bool:
        if has_error(self.pool.type) or looks_at_pool(operand):
            return True
        for name in free_names(operand):
            variable = scope.find(name)
            if variable is None and self.symbols.declared(name) is None:
                return True  # an unknown one, which is reported
            if variable is not None and ((named and variable.kind != "value") or has_error(variable.type)):
                return True
        return False

    def gives_logprobs(self, operand: e.Expression) -> bool:
        name = operand.function.text if isinstance(operand, e.Call) else ""
        declared = self.symbols.nodes.get(name)
        settings = declared.settings if isinstance(declared, n.Prompt) else ()
        if declared is None or any(n.is_unreadable(s) or isinstance(s.value, e.Reference) for s in settings):
            return True  # an unreadable setting may have it
        top = self._plainly(operand, "top_logprobs")
        return top is not None or self._plainly(operand, "logprobs") is True

    def _plainly(self, operand: e.Expression, name: str) -> Any:
        """The value of a constant setting; None for any other."""
        given = self._given(operand, name)
        return given.value if isinstance(given, e.Constant) else None

    def _given(self, operand: e.Expression, name: str) -> e.Expression | None:
        """A setting of the step, or else of the prompt that an operand calls."""
        given, nodes = self.setting(name), self.symbols.nodes
        declared = nodes.get(operand.function.text) if isinstance(operand, e.Call) else None
        if given is None and isinstance(declared, n.Prompt):
            given = next((s.value for s in declared.settings if s.name.text == name), None)
        return given

    def shares(self) -> None:
        share, operand = self.setting("share"), self.node.operands[0]
        if share is None:
            return
        nodes, name = (
            self.symbols.nodes,
            operand.function.text if isinstance(operand, e.Call) else "",
        )
        declared = nodes.get(name)
        asks = isinstance(declared, n.Score) and len(declared.body.statements) > 1
        if not (asks or isinstance(declared, n.Prompt)):
            message, help = "nothing to share: this calls no model", "remove `share`"
            self.error("GOT0317", message, share.span, help=help)

    def value_pool(self, operand: e.Expression) -> PoolType:
        return value_pool(self.expressions, operand, self.pool, self.scope)

    def function(self, operand: e.Expression) -> bool:
        return isinstance(operand, e.Call) and operand.function.text in self.symbols.functions

    def corpus(self, operand: e.Expression) -> bool:
        symbols = self.symbols
        if not isinstance(operand, e.Call):
            return False
        name = operand.function.text
        if name not in symbols.corpora and name not in symbols.functions:
            return False
        symbols.used.add(name)
        return True


_RISING: Final = frozenset(
    {"max", "min", "sum", "mean", "median", "hmean", "round", "floor", "ceil", "int", "float", "sqrt", "log"}
)
"""Built-in functions that are increasing in each of their arguments."""


def rises_with(node: e.Expression, rises: bool = True) -> Iterator[e.Expression]:
    """The names and calls in which a number is increasing, as far as that is known: factors that are not
    constants count as positive, and other functions and conditions are ignored."""
    match node:
        case e.Unary(operator="-", operand=operand):
            yield from rises_with(operand, not rises)
        case e.Binary(operator="+" | "-" as sign, left=left, right=right):
            yield from rises_with(left, rises)
            yield from rises_with(right, rises is (sign == "+"))
        case e.Binary(operator="*" | "/" | "//" as sign, left=left, right=right):
            yield from rises_with(left, rises is not _negative(right))
            yield from rises_with(right, rises is not _negative(left) if sign == "*" else not rises)
        case e.Binary(operator="**", left=left):
            yield from rises_with(left, rises)
        case e.Conditional(then=then, otherwise=otherwise):
            yield from rises_with(then, rises)
            yield from rises_with(otherwise, rises)
        case e.Call(function=e.Identifier(text=name), arguments=arguments) if name in _RISING:
            for argument in arguments:
                yield from rises_with(argument.value, rises)
        case e.ListDisplay(elements=elements):
            for element in elements:
                yield from rises_with(element, rises)
        case e.Reference() | e.Call() if rises:
            yield node
        case _:
            pass


def _negative(node: e.Expression) -> bool:
    if isinstance(node, e.Unary) and node.operator == "-":
        return not _negative(node.operand)
    return isinstance(node, e.Constant) and isinstance(node.value, int | float) and node.value < 0


def is_lower(node: e.Expression, symbols: Symbols, pool: PoolType, scope: Scope) -> bool:
    """Whether a name or a call is a score where lower is better: a declared one, or that of thoughts."""
    if is_own_score(node) and isinstance(node, e.Call):
        named = node.arguments[0].value if node.arguments else None
        while isinstance(named, e.Index):
            named = named.value
        variable = scope.find(named.name) if isinstance(named, e.Reference) else None
        return variable is not None and any(score.lower for score in variable.facts.scores)
    if isinstance(node, e.Reference):
        return node.name == "score" and any(score.lower for score in pool.facts.scores)
    declared = symbols.nodes.get(node.function.text) if isinstance(node, e.Call) else None
    return isinstance(declared, n.Score) and declared.direction == "lower"
