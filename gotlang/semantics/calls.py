"""The types of calls: arguments matched to parameters, built-ins, functions of thoughts, Python's."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from gotlang.diagnostics import nearest
from gotlang.scope import THOUGHT_FUNCTIONS, Scope
from gotlang.semantics.builtins import BUILTINS, Builtin, fits_argument
from gotlang.semantics.symbols import Signature
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.types import ANY, FLOAT, Type, accepts, widen

if TYPE_CHECKING:
    from gotlang.semantics.expressions import ExpressionChecker

Matched = tuple[tuple[str, e.Expression], ...]


@final
class CallChecker:
    """Checks calls. `arguments` gathers, for each call of a declared name, its arguments by parameter."""

    def __init__(self, expressions: ExpressionChecker) -> None:
        self.expressions = expressions
        self.arguments: dict[int, Matched] = {}

    def match(self, call: e.Call, signature: Signature, kind: str, scope: Scope) -> Matched:
        """The arguments of a call by parameter, in the order of the parameters; mistakes are noted."""
        wanted = dict(signature.parameters)
        given: dict[str, e.Expression] = {}
        takes = f"it takes: {signature.takes()}"
        positions = [name for name, _ in signature.parameters]
        for index, argument in enumerate(call.arguments):
            if argument.name is not None:
                name = argument.name.text
                if name not in wanted:
                    self._no_parameter(call, argument, kind, wanted, takes, scope)
                    continue
            elif index < len(positions):
                name = positions[index]
            else:
                plural = "s" * (len(positions) != 1)
                self.expressions.report.error(
                    "GOT0202",
                    f"{kind} `{call.function.text}` takes {len(positions)} argument{plural}",
                    argument.span,
                    "one too many",
                    notes=(takes,),
                )
                self.expressions.infer(argument.value, scope)
                continue
            if name in given:
                self.expressions.report.error(
                    "GOT0202", f"`{name}` is given twice", argument.span, notes=(takes,)
                )
            given[name] = argument.value
            found = self.expressions.infer(argument.value, scope)
            if not accepts(wanted[name], found):
                self.expressions.report.error(
                    "GOT0201",
                    f"`{name}` of {kind} `{call.function.text}` must be {wanted[name]}",
                    argument.value.span,
                    f"this is {widen(found)}",
                    notes=(takes,),
                )
        # An argument by a wrong name is most likely one of those that lack: said once.
        unknown = sum(a.name is not None and a.name.text not in wanted for a in call.arguments)
        if missing := [name for name in wanted if name not in given][unknown:]:
            self.expressions.report.error(
                "GOT0202",
                f"{kind} `{call.function.text}` needs {', '.join(f'`{m}`' for m in missing)}",
                call.span,
                notes=(takes,),
            )
        matched = tuple((name, given[name]) for name in wanted if name in given)
        self.arguments[id(call)] = matched
        return matched

    def _no_parameter(
        self,
        call: e.Call,
        argument: e.Argument,
        kind: str,
        wanted: dict[str, Type],
        takes: str,
        scope: Scope,
    ) -> None:
        assert argument.name is not None
        name = argument.name.text
        given = {a.name.text for a in call.arguments if a.name is not None}
        free = [parameter for parameter in wanted if parameter not in given]
        guess = nearest(name, free) or (free[0] if len(free) == 1 else None)
        found = self.expressions.infer(argument.value, scope)
        if guess is None:
            guess = next((p for p in free if accepts(wanted[p], found)), None)
        value = argument.value.name if isinstance(argument.value, e.Reference) else "..."
        self.expressions.report.error(
            "GOT0203",
            f"{kind} `{call.function.text}` has no parameter `{name}`",
            argument.name.span,
            f"not a parameter of `{call.function.text}`",
            notes=(takes,),
            help=f"did you mean `{guess}={value}`?" if guess else None,
        )

    def call(self, node: e.Call, scope: Scope) -> Type:
        name = node.function.text
        self.expressions.symbols.used.add(name)
        if name in THOUGHT_FUNCTIONS:
            return self._thought_function(node, scope)
        if name in self.expressions.symbols.scores:
            self.match(node, self.expressions.symbols.scores[name], "score", scope)
            return FLOAT
        if name in self.expressions.symbols.functions:
            for argument in node.arguments:
                self.expressions.infer(argument.value, scope)
            return ANY
        if name in BUILTINS and not isinstance(
            self.expressions.symbols.nodes.get(name), n.Prompt | n.Score | n.Scheme
        ):
            return self._builtin(node, BUILTINS[name], scope)
        for argument in node.arguments:
            self.expressions.infer(argument.value, scope)
        if name in self.expressions.symbols.prompts:
            self.expressions.report.error(
                "GOT0209",
                f"prompt `{name}` cannot be asked inside an expression",
                node.span,
                help=f"give it a step of its own: `answer = Generate() {name}(...)`",
            )
        elif name in self.expressions.symbols.schemes:
            self.expressions.report.error(
                "GOT0209",
                f"scheme `{name}` cannot run inside an expression",
                node.span,
                help=f"give it a step of its own: `answer = {name}(...)`",
            )
        else:
            self.expressions.report.unknown(
                "GOT0103", "function", name, node.function.span, self.expressions.symbols.callables()
            )
        return ANY

    def _thought_function(self, node: e.Call, scope: Scope) -> Type:
        name = node.function.text
        result = THOUGHT_FUNCTIONS[name][0]
        if len(node.arguments) != 1 or node.arguments[0].name is not None:
            self.expressions.report.error(
                "GOT0202", f"`{name}` takes one thought", node.span, help=f"write `{name}(it)`"
            )
            return result
        value = node.arguments[0].value
        field = isinstance(value, e.Field) and name == "confidence"
        inner = value.value if isinstance(value, e.Index) or (field and isinstance(value, e.Field)) else value
        self.expressions.infer(value, scope)
        variable = scope.find(inner.name) if isinstance(inner, e.Reference) else None
        if isinstance(inner, e.Reference) and variable is None:
            return result
        wanted = "thoughts" if isinstance(value, e.Index) else "thought"
        if variable is None or variable.kind != wanted:
            self.expressions.report.error(
                "GOT0201",
                f"`{name}` takes the name of one thought",
                value.span,
                "this is a value",
                help=f"`{name}(it)`",
            )
        return result

    def _builtin(self, node: e.Call, builtin: Builtin, scope: Scope) -> Type:
        types = []
        takes = f"it takes: {builtin.signature()}"
        for argument in node.arguments:
            if argument.name is not None:
                self.expressions.report.error(
                    "GOT0202", f"`{builtin.name}` takes no named arguments", argument.span, notes=(takes,)
                )
            types.append(self.expressions.infer(argument.value, scope))
        least, most = len(builtin.takes) - builtin.optional, len(builtin.takes)
        if len(types) < least or (len(types) > most and builtin.rest is None):
            self.expressions.report.error(
                "GOT0202",
                f"`{builtin.name}` takes {least if least == most else f'{least} to {most}'} "
                f"argument{'s' * (most != 1)}, not {len(types)}",
                node.span,
                notes=(takes,),
            )
            return ANY
        for index, (argument, found) in enumerate(zip(node.arguments, types, strict=True)):
            wanted = builtin.takes[index] if index < most else builtin.rest
            assert wanted is not None
            if not fits_argument(wanted, found):
                self.expressions.report.error(
                    "GOT0201",
                    f"`{builtin.name}` needs {wanted} here",
                    argument.span,
                    f"this is {widen(found)}",
                    notes=(takes,),
                )
                return ANY
        return builtin.result(types)
