"""The types of expressions and calls: one method for each kind of node.

All errors are reported; the type of what has one is `ANY`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from gotlang.diagnostics import Label, Report, nearest
from gotlang.scope import THOUGHT_FUNCTIONS, Scope, Variable
from gotlang.semantics.builtins import BUILTINS, CONSTANTS, Builtin, fits_argument, is_text
from gotlang.semantics.symbols import Signature, Symbols
from gotlang.span import Span
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
    DictType,
    ListType,
    LiteralType,
    RecordType,
    Type,
    accepts,
    join,
    of_value,
    widen,
)

Matched = tuple[tuple[str, e.Expression], ...]

_ELSEWHERE = {
    "thoughts": "where they are used together, as in `Aggregate` and `Pool`",
    "truth": "in `GroundTruth`",
    "done": "inside `foreach ... after`",
    "result": "in a study's objective",
}
"""Where the names are defined that have a meaning in some places only."""


@final
class ExpressionChecker:
    """Infers types. `arguments` has, for each call of a declared name, its arguments by parameter."""

    def __init__(self, symbols: Symbols, report: Report) -> None:
        self.symbols = symbols
        self.report = report
        self.arguments: dict[int, Matched] = {}
        self._error = report.error

    def infer(self, node: e.Expression, scope: Scope) -> Type:
        """The type of an expression with the names of `scope`."""
        match node:
            case e.Constant():
                return LiteralType((node.value,)) if isinstance(node.value, str) else of_value(node.value)
            case e.Reference():
                return self._reference(node, scope)
            case e.Unary():
                if node.operator != "not":
                    return self._number(node.operand, scope, node.operator)
                self.condition(node.operand, scope, "the operand of `not`")
                return BOOL
            case e.Binary():
                return self._binary(node, scope)
            case e.Compare():
                return self._comparison(node, scope)
            case e.Conditional():
                return self._conditional(node, scope)
            case e.Index():
                return self._index(node, scope)
            case e.Slice():
                sliced = self.infer(node.value, scope)
                for bound in (node.start, node.stop):
                    if bound is not None:
                        self.expect(bound, scope, INT, "a position")
                if isinstance(sliced, ListType):
                    return sliced
                return self._text(node.value, sliced, "cannot be sliced")
            case e.Field():
                return self._field(node, scope)
            case e.Call():
                return self._call(node, scope)
            case e.ListDisplay(elements=elements):
                return ListType(_common([self.infer(x, scope) for x in elements]))
            case e.Comprehension():
                return self._comprehension(node, scope)
            case e.RecordDisplay(entries=entries):
                for position, (name, value) in enumerate(entries):
                    if name in [other for other, _ in entries[:position]]:
                        self._error("GOT0205", f"duplicate field `{name}`", value.span)
                return RecordType(tuple((name, self.infer(value, scope)) for name, value in entries))

    def expect(self, node: e.Expression, scope: Scope, wanted: Type, what: str) -> Type:
        """Infer a type, and report an error if it is not the one wanted; `what` names the place."""
        found = self.infer(node, scope)
        if not accepts(wanted, found):
            self._error("GOT0201", f"{what} must be {wanted}", node.span, f"this is {widen(found)}")
        return found

    def condition(self, node: e.Expression, scope: Scope, what: str = "a condition") -> None:
        """Infer what must be true or false."""
        self.expect(node, scope, BOOL, what)

    def elements(self, node: e.Expression, scope: Scope) -> Type:
        """The type of the elements of what a loop iterates over."""
        found = self.infer(node, scope)
        if isinstance(found, ListType):
            return found.element
        if not isinstance(found, AnyType):
            self._error("GOT0201", f"{widen(found)} has no elements", node.span, "needs a list")
        return ANY

    def distinct(self, first: e.Identifier, name: e.Identifier) -> None:
        """Report an error if a name of a block is that of another one of the same block."""
        if name is not first and name.text == first.text:
            labels = (Label(first.span, "first here"),)
            self._error("GOT0101", f"duplicate name `{name.text}`", name.span, "here again", labels=labels)

    # ---------------------------------------------------------------- names and operators

    def _reference(self, node: e.Reference, scope: Scope) -> Type:
        name = node.name
        variable = scope.find(name)
        if variable is not None:
            variable.used = True
            return variable.type
        if name in self.symbols.params:
            self.symbols.used.add(name)
            return self.symbols.params[name]
        if name in THOUGHT_FUNCTIONS and scope.find("it") is not None:
            return THOUGHT_FUNCTIONS[name][0]
        if name in CONSTANTS:
            return FLOAT
        if name == "it":
            help = "`thoughts` are all current thoughts; `foreach` iterates over them"
            message = "`it` is the current thought, and here there is none, or more than one"
            self._error("GOT0105", message, node.span, help=help)
        elif name in _ELSEWHERE:
            self._error("GOT0105", f"`{name}` is defined only {_ELSEWHERE[name]}", node.span)
        elif name in self.symbols.callables():
            self._error("GOT0105", f"`{name}` must be called", node.span, help=f"write `{name}(...)`")
        else:
            known = [*scope.visible(), *self.symbols.params]
            self.report.unknown("GOT0103", "name", name, node.span, known)
        return ANY

    def _number(self, node: e.Expression, scope: Scope, operator: str) -> Type:
        found = self.infer(node, scope)
        if not accepts(FLOAT, found):
            self._error("GOT0201", f"`{operator}` needs a number", node.span, f"this is {widen(found)}")
            return ANY
        return found

    def _binary(self, node: e.Binary, scope: Scope) -> Type:
        operator = node.operator
        if operator in {"and", "or"}:
            self.condition(node.left, scope, f"an operand of `{operator}`")
            self.condition(node.right, scope, f"an operand of `{operator}`")
            return BOOL
        if operator == "+":
            return self._plus(node, self.infer(node.left, scope), self.infer(node.right, scope))
        left = self._number(node.left, scope, operator)
        right = self._number(node.right, scope, operator)
        power = node.right.value if operator == "**" and isinstance(node.right, e.Constant) else None
        if operator == "/" or (operator == "**" and not (isinstance(power, int) and power >= 0)):
            return FLOAT  # `2 ** -1` is a half
        return join(left, right) or ANY

    def _plus(self, node: e.Binary, left: Type, right: Type) -> Type:
        if isinstance(left, AnyType) or isinstance(right, AnyType):
            return ANY
        if isinstance(left, ListType) and isinstance(right, ListType):
            return ListType(join(left.element, right.element) or ANY)
        if is_text(left) and is_text(right):
            return STR
        if accepts(FLOAT, left) and accepts(FLOAT, right):
            return join(left, right) or ANY
        message = f"`+` cannot add {widen(left)} and {widen(right)}"
        help = "`str(...)` makes a text of a value" if is_text(left) or is_text(right) else None
        self._error("GOT0201", message, node.span, "numbers, texts or lists", help=help)
        return ANY

    def _comparison(self, node: e.Compare, scope: Scope) -> Type:
        left_node, left = node.first, self.infer(node.first, scope)
        for operator, right_node in node.rest:
            right = self.infer(right_node, scope)
            span = left_node.span.to(right_node.span)
            if operator in {"in", "not in"}:
                self._membership(span, left, right)
            elif operator in {"==", "!="}:
                self._equality(span, left, right)
            elif not (
                (accepts(FLOAT, left) and accepts(FLOAT, right))
                or (is_text(left) and is_text(right))
                or (isinstance(left, ListType) and isinstance(right, ListType))
            ):
                message = f"`{operator}` cannot order {widen(left)} and {widen(right)}"
                self._error("GOT0206", message, span, "compared here")
            left_node, left = right_node, right
        return BOOL

    def _equality(self, span: Span, left: Type, right: Type) -> None:
        if join(left, right) is None and not (is_text(left) and is_text(right)):
            message = f"{widen(left)} and {widen(right)} are never equal"
            self._error("GOT0206", message, span, "compared here")
        elif isinstance(left, LiteralType) and isinstance(right, LiteralType):
            wide, narrow = (left, right) if len(left.values) > len(right.values) else (right, left)
            if not set(wide.values) & set(narrow.values):
                guess = nearest(narrow.values[0], wide.values)
                help = f'did you mean "{guess}"?' if guess else None
                self._error("GOT0206", f"{left} is never {right}", span, "compared here", help=help)

    def _membership(self, span: Span, left: Type, right: Type) -> None:
        if isinstance(right, ListType):
            if join(right.element, left) is None:
                self._error("GOT0206", f"{right} never contains {widen(left)}", span)
        elif not isinstance(right, AnyType | DictType | RecordType) and not (
            is_text(right) and (is_text(left) or isinstance(left, AnyType))
        ):
            self._error("GOT0206", f"`in` needs a list or a text, not {widen(right)}", span)

    def _conditional(self, node: e.Conditional, scope: Scope) -> Type:
        self.condition(node.condition, scope)
        then, otherwise = self.infer(node.then, scope), self.infer(node.otherwise, scope)
        if then == NONE or otherwise == NONE:
            return ANY
        found = join(then, otherwise) or (STR if is_text(then) and is_text(otherwise) else None)
        if found is None:
            message = f"this is {widen(then)} or {widen(otherwise)}"
            self._error("GOT0207", message, node.span, "make both the same type")
        return found or ANY

    # ---------------------------------------------------------------- parts

    def _index(self, node: e.Index, scope: Scope) -> Type:
        value = self.infer(node.value, scope)
        if isinstance(value, DictType | RecordType):
            self.expect(node.index, scope, STR, "a name in a mapping")
            if isinstance(value, DictType):
                return value.value
            key = node.index.value if isinstance(node.index, e.Constant) else None
            found = value.field(key) if isinstance(key, str) else None
            return found or _common([type_ for _, type_ in value.fields])
        self.expect(node.index, scope, INT, "a position")
        return (
            value.element
            if isinstance(value, ListType)
            else self._text(node.value, value, "has no positions")
        )

    def _text(self, node: e.Expression, value: Type, why: str) -> Type:
        if is_text(value):
            return STR
        if not isinstance(value, AnyType):
            self._error("GOT0201", f"{widen(value)} {why}", node.span, "needs a list or a text")
        return ANY

    def _field(self, node: e.Field, scope: Scope) -> Type:
        value = self.infer(node.value, scope)
        if isinstance(value, RecordType):
            if (found := value.field(node.name)) is not None:
                return found
            names = [name for name, _ in value.fields]
            note = f"it has: {', '.join(names)}"
            self.report.unknown("GOT0208", "field", node.name, node.span, names, note)
        elif not isinstance(value, AnyType):
            self._error("GOT0208", f"{widen(value)} has no fields", node.span)
        return ANY

    def _comprehension(self, node: e.Comprehension, scope: Scope) -> Type:
        inner = self.elements(node.iterable, scope)
        names = [Variable(node.name.text, inner, "value", node.name.span)]
        if node.position is not None:
            self.distinct(node.name, node.position)
            names.append(Variable(node.position.text, INT, "value", node.position.span))
        inside = scope.inside(*names)
        if node.condition is not None:
            self.condition(node.condition, inside)
        return ListType(self.infer(node.element, inside))

    # ---------------------------------------------------------------- calls

    def match(self, call: e.Call, signature: Signature, kind: str, scope: Scope) -> Matched:
        """The arguments of a call by parameter, in the order of the parameters; errors are reported."""
        wanted = dict(signature.parameters)
        positions = list(wanted)
        given: dict[str, e.Expression] = {}
        called, notes = f"{kind} `{call.function.text}`", (f"it takes: {signature.takes()}",)
        for index, argument in enumerate(call.arguments):
            if argument.name is not None and argument.name.text not in wanted:
                self._unknown_parameter(call, argument, called, wanted, notes, scope)
                continue
            if argument.name is None and index >= len(positions):
                message = f"{called} takes {len(positions)} argument{'s' * (len(positions) != 1)}"
                self._error("GOT0202", message, argument.span, "one too many", notes=notes)
                self.infer(argument.value, scope)
                continue
            name = argument.name.text if argument.name is not None else positions[index]
            if name in given:
                self._error("GOT0202", f"duplicate argument `{name}`", argument.span, notes=notes)
            given[name] = argument.value
            found = self.infer(argument.value, scope)
            if not accepts(wanted[name], found):
                message, at = f"`{name}` of {called} must be {wanted[name]}", f"this is {widen(found)}"
                self._error("GOT0201", message, argument.value.span, at, notes=notes)
        # An argument with an unknown name is most likely one of the missing ones: reported once.
        unknown = sum(a.name is not None and a.name.text not in wanted for a in call.arguments)
        if missing := [f"`{name}`" for name in wanted if name not in given][unknown:]:
            self._error("GOT0202", f"{called} needs {', '.join(missing)}", call.span, notes=notes)
        matched = tuple((name, given[name]) for name in wanted if name in given)
        self.arguments[id(call)] = matched
        return matched

    def _unknown_parameter(
        self,
        call: e.Call,
        argument: e.Argument,
        called: str,
        wanted: dict[str, Type],
        notes: tuple[str, ...],
        scope: Scope,
    ) -> None:
        assert argument.name is not None
        name = argument.name.text
        given = {a.name.text for a in call.arguments if a.name is not None}
        free = [parameter for parameter in wanted if parameter not in given]
        found = self.infer(argument.value, scope)
        guess = nearest(name, free) or (free[0] if len(free) == 1 else None)
        guess = guess or next((p for p in free if accepts(wanted[p], found)), None)
        value = argument.value.name if isinstance(argument.value, e.Reference) else "..."
        help = f"did you mean `{guess}={value}`?" if guess else None
        message, at = f"{called} has no parameter `{name}`", f"not a parameter of `{call.function.text}`"
        self._error("GOT0203", message, argument.name.span, at, notes=notes, help=help)

    def _call(self, node: e.Call, scope: Scope) -> Type:
        name, symbols = node.function.text, self.symbols
        symbols.used.add(name)
        if name in THOUGHT_FUNCTIONS:
            return self._thought_function(node, scope)
        if name in symbols.scores:
            self.match(node, symbols.scores[name], "score", scope)
            return FLOAT
        declared = isinstance(symbols.nodes.get(name), n.Prompt | n.Score | n.Scheme)
        if name in BUILTINS and name not in symbols.functions and not declared:
            return self._builtin(node, BUILTINS[name], scope)
        for argument in node.arguments:
            self.infer(argument.value, scope)
        if name in symbols.functions:
            return ANY
        if name in symbols.prompts:
            help = f"call it in a step of its own: `answer = Generate() {name}(...)`"
            self._error("GOT0209", f"prompt `{name}` cannot be called in an expression", node.span, help=help)
        elif name in symbols.schemes:
            help = f"call it in a step of its own: `answer = {name}(...)`"
            self._error("GOT0209", f"scheme `{name}` cannot be called in an expression", node.span, help=help)
        else:
            self.report.unknown("GOT0103", "function", name, node.function.span, symbols.callables())
        return ANY

    def _thought_function(self, node: e.Call, scope: Scope) -> Type:
        name = node.function.text
        result = THOUGHT_FUNCTIONS[name][0]
        if len(node.arguments) != 1 or node.arguments[0].name is not None:
            self._error("GOT0202", f"`{name}` takes one thought", node.span, help=f"write `{name}(it)`")
            return result
        value = inner = node.arguments[0].value
        if isinstance(value, e.Index) or (isinstance(value, e.Field) and name == "confidence"):
            inner = value.value
        self.infer(value, scope)
        variable = scope.find(inner.name) if isinstance(inner, e.Reference) else None
        wanted = "thoughts" if isinstance(value, e.Index) else "thought"
        if variable is None and isinstance(inner, e.Reference):
            return result
        if variable is None or variable.kind != wanted:
            message = f"`{name}` takes the name of one thought"
            self._error("GOT0201", message, value.span, "this is a value", help=f"`{name}(it)`")
        return result

    def _builtin(self, node: e.Call, builtin: Builtin, scope: Scope) -> Type:
        types = []
        notes = (f"it takes: {builtin.signature()}",)
        for argument in node.arguments:
            if argument.name is not None:
                message = f"`{builtin.name}` takes no named arguments"
                self._error("GOT0202", message, argument.span, notes=notes)
            types.append(self.infer(argument.value, scope))
        least, most = len(builtin.takes) - builtin.optional, len(builtin.takes)
        if len(types) < least or (len(types) > most and builtin.rest is None):
            takes = f"{least if least == most else f'{least} to {most}'} argument{'s' * (most != 1)}"
            message = f"`{builtin.name}` takes {takes}, not {len(types)}"
            self._error("GOT0202", message, node.span, notes=notes)
            return ANY
        for index, (argument, found) in enumerate(zip(node.arguments, types, strict=True)):
            wanted = builtin.takes[index] if index < most else builtin.rest
            assert wanted is not None
            if not fits_argument(wanted, found):
                message, at = f"`{builtin.name}` needs {wanted} here", f"this is {widen(found)}"
                self._error("GOT0201", message, argument.span, at, notes=notes)
                return ANY
        return builtin.result(types)


def _common(types: Sequence[Type]) -> Type:
    found: Type | None = None
    for type_ in types:
        found = type_ if found is None else join(found, type_)
        if found is None:
            return ANY
    return found or ANY
