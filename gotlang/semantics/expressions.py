"""The types of expressions and calls: one method for each kind of node.

All errors are reported; the type of an expression with an error is `ANY`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gotlang.diagnostics import Fix, Report, nearest
from gotlang.operations import OPERATIONS
from gotlang.scope import THOUGHT_FUNCTIONS, Narrowed, PoolType, Scope, Variable
from gotlang.semantics import conditions
from gotlang.semantics.builtins import BUILTINS, CONSTANTS, Builtin, misfit, result, with_pattern
from gotlang.semantics.facts import FACT_OF, refuse_asking, require
from gotlang.semantics.mismatch import code_and_help, in_words, of_elements, of_operand, of_sum
from gotlang.semantics.symbols import Signature, Symbols
from gotlang.span import Span
from gotlang.syntax import expressions as e
from gotlang.syntax.build_expressions import without_parentheses
from gotlang.syntax.format import format_expression
from gotlang.types import (
    ANY,
    BOOL,
    DYNAMIC,
    FLOAT,
    INT,
    NEVER,
    NONE,
    STR,
    AnyType,
    DictType,
    DynamicType,
    ListType,
    LiteralType,
    OptionalType,
    PairType,
    RecordType,
    Type,
    UnionType,
    accepts,
    cases_of,
    common,
    general,
    grown,
    is_text,
    join,
    listed,
    of_value,
    ordered,
    present,
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


class ExpressionChecker:
    """Infers types. `arguments` has, for each call of a declared name, its arguments by parameter."""

    def __init__(self, symbols: Symbols, report: Report, *, notes: bool = False) -> None:
        """`notes`: `score(it, "%1")` is the result of a call, as in the IR."""
        self.notes = notes
        self.symbols = symbols
        self.report = report
        self.arguments: dict[int, Matched] = {}
        self._error = report.error

    def infer(self, node: e.Expression, scope: Scope, wanted: Type | None = None) -> Type:
        """The type of an expression with the names of `scope`; `wanted` is that of its place, with which
        lists and records are compared part by part."""
        if scope.narrowing and conditions.is_subject(node):
            found = scope.narrowed_type(node, conditions.names_of(node))
            if found is not None:
                return found
        match node:
            case e.Constant():
                return LiteralType((node.value,)) if isinstance(node.value, str) else of_value(node.value)
            case e.Reference():
                return self._reference(node, scope)
            case e.Unary():
                if node.operator != "not":
                    return self._number(node.operand, self.infer(node.operand, scope), node.operator)
                self.condition(node.operand, scope, "the operand of `not`")
                return BOOL
            case e.Binary():
                return self._binary(node, scope)
            case e.Compare():
                return self._comparison(node, scope)
            case e.Conditional():
                return self._conditional(node, scope, wanted)
            case e.Index():
                return self._index(node, scope)
            case e.Slice():
                sliced = self._solid(node.value, self.infer(node.value, scope))
                for bound in (node.start, node.stop):
                    if bound is not None:
                        self.expect(bound, scope, INT, "a position")
                if sliced == NEVER or (list_ := listed(sliced)) is not None:
                    return NEVER if sliced == NEVER else list_ or ANY
                return self._text(node.value, sliced, "cannot be sliced")
            case e.Field():
                return self._field(node, scope)
            case e.Call():
                return self._call(node, scope)
            case e.ListDisplay(elements=elements):
                inner = wanted.element if isinstance(wanted := present(wanted or ANY), ListType) else None
                return ListType(self._alike(elements, scope, inner))
            case e.Comprehension():
                return self._comprehension(node, scope, wanted)
            case e.RecordDisplay():
                return self._record(node, scope, present(wanted or ANY))
            case e.Case():
                return self._case(node, scope)

    def expect(self, node: e.Expression, scope: Scope, wanted: Type, what: str) -> Type:
        """Infer a type, and report an error if it is not the expected one; `what` names the place."""
        found = self.infer(node, scope, wanted)
        if not accepts(wanted, found):
            self.mismatch(node, wanted, found, f"{what} must be {wanted}")
        return found

    def mismatch(
        self, node: e.Expression, wanted: Type, found: Type, message: str, notes: tuple[str, ...] = ()
    ) -> None:
        """Report an expression of another type than the expected one, with advice."""
        code, help = code_and_help(node, wanted, found, self.symbols.provided)
        self._error(code, message, node.span, f"this is {widen(found)}", notes=notes, help=help)

    def facts(self, condition: e.Expression, scope: Scope, holds: bool = True) -> Narrowed:
        """The narrowed types where a condition is true, or false."""
        return conditions.facts(condition, holds, scope, self.quiet)

    def quiet(self, node: e.Expression, scope: Scope) -> Type:
        """The type of an expression, without reports."""
        before = len(self.report.diagnostics)
        found = self.infer(node, scope)
        del self.report.diagnostics[before:]
        return found

    def where(self, condition: e.Expression, scope: Scope, holds: bool = True) -> Scope:
        """The scope where a condition is true, or false."""
        return scope.narrowed(self.facts(condition, scope, holds))

    def inside(
        self, condition: e.Expression, holds: bool, pool: PoolType, scope: Scope, whole: Scope
    ) -> tuple[PoolType, Scope]:
        """The pool and the names where a condition, which sees those of `whole`, is true or false."""
        return conditions.inside(self.facts(condition, whole, holds), pool, scope)

    def selected(self, condition: e.Expression, pool: PoolType, each: Scope) -> Type:
        """The type of the thoughts of a pool for which a condition is true."""
        return conditions.narrowed_thought(pool.type, "it", self.facts(condition, each))

    def _solid(self, node: e.Expression, found: Type, wanted: Type = DYNAMIC) -> Type:
        """The type of an operand of a computation: none and `any` are errors."""
        if isinstance(found, OptionalType | DynamicType) or found == NONE:
            code, help = code_and_help(node, wanted, found, self.symbols.provided)
            what = "`any` needs a type before it is used" if found == DYNAMIC else "this may be none"
            self._error(code, what, node.span, f"this is {widen(found)}", help=help)
            return ANY if found in (DYNAMIC, NONE) else present(found)
        return found

    def condition(self, node: e.Expression, scope: Scope, what: str = "a condition") -> None:
        """Infer an expression that must be true or false."""
        self.expect(node, scope, BOOL, what)

    def elements(self, node: e.Expression, scope: Scope) -> Type:
        """The type of the elements that a loop iterates over."""
        found = self._solid(node, self.infer(node, scope), ListType(INT))
        if (list_ := listed(found)) is not None:
            return list_.element
        if found == NEVER:
            return NEVER
        if not isinstance(found, AnyType):
            message, help = f"{widen(found)} has no elements", of_elements(node, found)
            self._error("GOT0201", message, node.span, "needs a list", help=help)
        return ANY

    def parts(
        self, names: Sequence[e.Identifier], element: Type, iterable: e.Expression | None, place: Span
    ) -> list[Variable]:
        """The names of a loop over elements of a type: the element's, or those of the two parts of a pair.
        `iterable` is the expression that the loop iterates over; None for the current thoughts."""
        if len(names) == 1:
            return [Variable(names[0].text, element, "value", names[0].span)]
        types: tuple[Type, Type] = (ANY, ANY)
        if isinstance(element, PairType):
            types = element.types
        elif element == NEVER:
            types = (NEVER, NEVER)
        elif not isinstance(element, AnyType):
            first, second = names[0].text, names[1].text
            message, at = "two names unpack pairs", f"the elements are {widen(element)}"
            source = format_expression(iterable) if iterable is not None else "thoughts"
            help = f"for positions, write `{second}, {first} in enumerate({source})`"
            if isinstance(element, ListType):
                help = "a list may have any length: give it one name, and write `x[0]`, `x[1]`"
            self._error("GOT0110", message, place, at, help=help)
        return [Variable(x.text, t, "value", x.span) for x, t in zip(names, types, strict=True)]

    # ---------------------------------------------------------------- names and operators

    def _reference(self, node: e.Reference, scope: Scope) -> Type:
        name = node.name
        if name == e.HOLE:
            return ANY
        variable = scope.find(name)
        if variable is not None:
            variable.used = True
            return variable.type
        if name in self.symbols.params:
            self.symbols.used.add(name)
            return self.symbols.params[name]
        if name in THOUGHT_FUNCTIONS and (it := scope.find("it")) is not None:
            self._fact(name, it, node.span, scope)
            return THOUGHT_FUNCTIONS[name][0]
        if name in CONSTANTS:
            return FLOAT
        if name == "it":
            help = "`thoughts` are all current thoughts; `Map()` and `foreach` take them one by one"
            message = "`it` is the current thought, and here there is none, or more than one"
            self._error("GOT0105", message, node.span, help=help)
        elif name in _ELSEWHERE:
            way = "name the step that leaves them, `xs = ...`, or show them to one prompt in an `Aggregate()`"
            message = f"`{name}` is defined only {_ELSEWHERE[name]}"
            self._error("GOT0105", message, node.span, help=way if name == "thoughts" else None)
        elif name in THOUGHT_FUNCTIONS:
            message = f"`{name}` is of the current thought, and here there is none, or more than one"
            help = f"for a thought with a name, write `{name}(name)`"
            self._error("GOT0105", message, node.span, help=help)
        elif name in self.symbols.callables():
            self._error("GOT0105", f"`{name}` must be called", node.span, help=f"write `{name}(...)`")
        elif not scope.begun(name):
            known = [*scope.visible(), *self.symbols.params]
            help = "write `right`" if name == "correct" and "right" in known else ""
            self.report.unknown("GOT0103", "name", name, node.span, known, help=help)
        return ANY

    def _number(self, node: e.Expression, found: Type, operator: str, other: Type = NEVER) -> Type:
        if accepts(FLOAT, found):
            return found
        message, help = f"`{operator}` needs a number", of_operand(node, found, operator, other)
        if help is not None:
            self._error("GOT0201", message, node.span, f"this is {widen(found)}", help=help)
        else:
            self.mismatch(node, FLOAT, found, message)
        return ANY

    def _binary(self, node: e.Binary, scope: Scope) -> Type:
        operator = node.operator
        if operator in {"and", "or"}:
            self.condition(node.left, scope, f"an operand of `{operator}`")
            inside = self.where(node.left, scope, operator == "and")
            self.condition(node.right, inside, f"an operand of `{operator}`")
            return BOOL
        if operator == "+":
            parts = [self._solid(part, self.infer(part, scope)) for part in (node.left, node.right)]
            return self._plus(node, *parts)
        one, other = self.infer(node.left, scope), self.infer(node.right, scope)
        left = self._number(node.left, one, operator, other)
        right = self._number(node.right, other, operator, one)
        power = node.right.value if operator == "**" and isinstance(node.right, e.Constant) else None
        if operator == "/" or (operator == "**" and not (isinstance(power, int) and power >= 0)):
            return FLOAT  # `2 ** -1` is a half
        return join(left, right) or ANY

    def _plus(self, node: e.Binary, left: Type, right: Type) -> Type:
        if isinstance(left, AnyType) or isinstance(right, AnyType):
            return ANY
        if NEVER in (left, right):
            return general(right if left == NEVER else left)
        left, right = listed(left) or left, listed(right) or right
        if isinstance(left, ListType) and isinstance(right, ListType):
            joined = join(left, right)
            if joined is None:
                message = "the values of a list have one type"
                at = f"{widen(left)} and {widen(right)} have none in common"
                self._error("GOT0207", message, node.span, at)
            return joined or ANY
        if is_text(left) and is_text(right):
            return STR
        if accepts(FLOAT, left) and accepts(FLOAT, right):
            return join(left, right) or ANY
        message = f"`+` cannot add {widen(left)} and {widen(right)}"
        self._error("GOT0201", message, node.span, "numbers, texts or lists", help=of_sum(node, left, right))
        return ANY

    def _comparison(self, node: e.Compare, scope: Scope) -> Type:
        left_node, left = node.first, self.infer(node.first, scope)
        for operator, right_node in node.rest:
            right = self.infer(right_node, scope)
            span = left_node.span.to(right_node.span)
            if operator in {"in", "not in"}:
                self._membership(span, left, right)
            elif operator in {"==", "!="}:
                if NONE in (left, right):  # `elif n != none` may repeat what is known already
                    left, right = (self.infer(side, Scope(scope)) for side in (left_node, right_node))
                self._equality(span, left, right)
            else:
                solid = [self._solid(*side) for side in ((left_node, left), (right_node, right))]
                joined = join(*solid)
                if joined is None or not ordered(joined):
                    message = f"`{operator}` cannot order {widen(left)} and {widen(right)}"
                    help = "numbers, texts and lists of them are ordered"
                    self._error("GOT0206", message, span, "compared here", help=help)
            left_node, left = right_node, right
        return BOOL

    def _equality(self, span: Span, left: Type, right: Type) -> None:
        never = any(one == NONE and not _may_be_none(other) for one, other in ((left, right), (right, left)))
        if join(left, right) is None or never:
            message = f"{widen(left)} and {widen(right)} are never equal"
            cased = any(cases_of(present(side)) for side in (left, right)) and any(
                map(is_text, (left, right))
            )
            help = 'compare its case: `x.type == "Stop"`' if cased else None
            self._error("GOT0206", message, span, "compared here", help=help)
        elif isinstance(left, LiteralType) and isinstance(right, LiteralType):
            wide, narrow = (left, right) if len(left.values) > len(right.values) else (right, left)
            if not set(wide.values) & set(narrow.values):
                guess = nearest(narrow.values[0], wide.values)
                help = f'did you mean "{guess}"?' if guess else None
                self._error("GOT0206", f"{left} is never {right}", span, "compared here", help=help)

    def _membership(self, span: Span, left: Type, right: Type) -> None:
        right = listed(right) or right
        match right:
            case ListType(element=element):
                never = join(element, left) is None or (left == NONE and not _may_be_none(element))
            case DictType() | RecordType() | UnionType() | LiteralType():
                never = not accepts(STR, left)
            case _ if right in (STR, NEVER, ANY):
                never = not accepts(STR, left) and right == STR
            case _:
                self._error("GOT0206", f"`in` needs a list or a text, not {widen(right)}", span)
                return
        if never:
            help = "`str(...)` makes a text of a value" if is_text(right) else None
            self._error("GOT0206", f"{widen(right)} never contains {widen(left)}", span, help=help)

    def _conditional(self, node: e.Conditional, scope: Scope, wanted: Type | None) -> Type:
        self.condition(node.condition, scope)
        then, otherwise = (
            self.infer(part, self.where(node.condition, scope, holds), wanted)
            for part, holds in ((node.then, True), (node.otherwise, False))
        )
        found = join(then, otherwise)
        if found is None:
            message = f"this is {widen(then)} or {widen(otherwise)}"
            self._error("GOT0207", message, node.span, "make both the same type")
        return found or ANY

    def _alike(self, nodes: Iterable[e.Expression], scope: Scope, wanted: Type | None = None) -> Type:
        """The common type of values; an error at the first one without a common type with those before."""
        found: Type = NEVER
        types = [self.infer(node, scope, wanted) for node in nodes]
        if wanted is not None and all(accepts(wanted, type_) for type_ in types):
            return wanted if types else NEVER
        for node, type_ in zip(nodes, types, strict=True):
            joined = join(found, type_)
            if joined is None:
                at = f"this is {widen(type_)}, those before it are {widen(found)}"
                help = "give each its own field of a record: `{name: ..., count: ...}`"
                self._error("GOT0207", "the values of a list have one type", node.span, at, help=help)
                return ANY
            found = joined
        return found

    def _record(self, node: e.RecordDisplay, scope: Scope, wanted: Type) -> Type:
        """The type of a record. One that spreads another has no new fields, and keeps their types, unless
        another record is expected in its place."""
        fields: dict[str, Type] = {}
        taken, mapping = set[str](), False
        given: set[str] = set()
        owner: RecordType | None = None
        known = wanted if isinstance(wanted, RecordType) else None
        for name, value in node.entries:
            if name is None:
                spread = self._solid(value, self.infer(value, scope))
                if isinstance(spread, RecordType):
                    owner = spread  # whose name stays if its fields' types do
                    fields |= spread.fields
                    taken |= {name for name, _ in spread.fields}
                    given -= taken
                elif spread not in (ANY, NEVER):
                    message = "only a record can be spread with `...`"
                    self._error("GOT0201", message, value.span, f"this is {widen(spread)}")
                    mapping = True
                else:
                    mapping = True
                continue
            if name in given:
                self._error("GOT0205", f"duplicate field `{name}`", value.span)
            given.add(name)
            inner = wanted.value if isinstance(wanted, DictType) else (known or RecordType(())).field(name)
            found = self.infer(value, scope, inner)
            if taken and known is None:
                found = self._taken_over(name, value, fields, found)
            fields[name] = found
        made = RecordType(tuple(fields.items()))
        return ANY if mapping else owner if made == owner and owner is not None else made

    def _taken_over(self, name: str, value: e.Expression, fields: dict[str, Type], found: Type) -> Type:
        """The type of a field that replaces one of the spread record."""
        old = fields.get(name)
        if old is None:
            note = f"it has: {', '.join(fields)}"
            self.report.unknown("GOT0208", "field", name, value.span, fields, note)
            return found
        new = grown(old, found)
        if new is None:
            self.mismatch(value, old, found, f"field `{name}` is {widen(old)}")
        return new or ANY

    # ---------------------------------------------------------------- parts

    def _index(self, node: e.Index, scope: Scope) -> Type:
        value = self._solid(node.value, self.infer(node.value, scope))
        if isinstance(value, UnionType):
            self.expect(node.index, scope, STR, "a name in a mapping")
            key = node.index.value if isinstance(node.index, e.Constant) else None
            return self._named_field(node, key, value) if isinstance(key, str) else ANY
        if isinstance(value, DictType | RecordType):
            self.expect(node.index, scope, STR, "a name in a mapping")
            if isinstance(value, DictType):
                return value.value
            if isinstance(node.index, e.Constant) and isinstance(node.index.value, str):
                return self._named_field(node, node.index.value, value)
            found = common(type_ for _, type_ in value.fields)
            if found is None:
                help = f"write the field's name: `.{value.fields[0][0]}`"
                message = "the fields of this record have different types"
                self._error("GOT0207", message, node.index.span, "which field is not known", help=help)
            return found or ANY
        self.expect(node.index, scope, INT, "a position")
        if isinstance(value, PairType):
            return self._of_pair(node, value)
        return (
            value.element
            if isinstance(value, ListType)
            else self._text(node.value, value, "has no positions")
        )

    def _of_pair(self, node: e.Index, pair: PairType) -> Type:
        at = node.index.value if isinstance(node.index, e.Constant) else None
        if at in (0, -2):
            return pair.types[0]
        if at in (1, -1):
            return pair.types[1]
        if isinstance(at, int):
            self._error("GOT0201", f"a pair has no position {at}", node.index.span, "0 or 1")
        found = join(*pair.types)
        if found is None and at is None:
            help = "write `[0]` or `[1]`, or unpack it: `for a, b in ...`"
            self._error("GOT0207", f"this is {' or '.join(map(widen, pair.types))}", node.span, help=help)
        return found or ANY

    def _text(self, node: e.Expression, value: Type, why: str) -> Type:
        if is_text(value) or value == NEVER:
            return STR if is_text(value) else NEVER
        if not isinstance(value, AnyType):
            self._error("GOT0201", f"{widen(value)} {why}", node.span, "needs a list or a text")
        return ANY

    def _field(self, node: e.Field, scope: Scope) -> Type:
        value = self._solid(node.value, self.infer(node.value, scope))
        if isinstance(value, RecordType | UnionType):
            return self._named_field(node, node.name, value)
        if not isinstance(value, AnyType) and value != NEVER:
            name = format_expression(node.value)
            first = f"it is a list: `{name}[0].{node.name}` is that of its first element"
            help = first if isinstance(value, ListType) else None
            self._error("GOT0208", f"{widen(value)} has no fields", node.span, help=help)
        return ANY if value != NEVER else NEVER

    def _named_field(self, node: e.Field | e.Index, name: str, value: RecordType | UnionType) -> Type:
        found = value.field(name)
        if found is None and isinstance(value, UnionType) and any(case.field(name) for case in value.cases):
            message = f"not every case of {value} has a field `{name}`"
            help = f"distinguish the cases in a `match {format_expression(node.value)}:`"
            self._error("GOT0208", message, node.span, help=help)
        elif found is None:
            names = [name for name, _ in value.fields] if isinstance(value, RecordType) else ["type"]
            note = f"it has: {', '.join(names)}"
            last = isinstance(node, e.Field)
            self.report.unknown("GOT0208", "field", name, node.span, names, note, last=last)
        return found or ANY

    def _case(self, node: e.Case, scope: Scope) -> Type:
        """One of the cases of a declared type, with exactly its fields."""
        name, span = node.case.text, node.case.span
        declared = self.symbols.cases.get(name)
        wanted = dict(declared.fields[1:]) if declared is not None else {}
        given: dict[str, tuple[e.Expression, Type]] = {}
        for key, value in node.entries:
            found = self.infer(value, scope, wanted.get(key or ""))
            if key is not None:
                given[key] = value, found
            elif isinstance(found, RecordType):
                given |= {name: (value, type_) for name, type_ in found.fields if name != "type"}
            elif not isinstance(found, AnyType):
                self.mismatch(value, RecordType(()), found, "only a record can be spread with `...`")
        if declared is None:
            if name in OPERATIONS:
                self.report.diagnostics.append(without_parentheses(name, span))
            elif name in self.symbols.types:
                message = f"`{name}` is a type, not a case"
                self._error("GOT0219", message, span, help="write its value, for a record `{field: value}`")
            else:
                known = self.symbols.cases
                note = f"cases: {', '.join(known)}" if known else "no type of this program has cases"
                self.report.unknown("GOT0219", "case", name, span, known, note)
            return ANY
        note, missing = f"it is {declared.written()}", [f"`{key}`" for key in wanted if key not in given]
        for key, (value, found) in given.items():
            if key not in wanted:
                self.report.unknown("GOT0208", "field", key, value.span, wanted, note)
                missing = missing[1:]  # most likely one of those, and reported here
            elif not accepts(wanted[key], found):
                self.mismatch(value, wanted[key], found, f"`{key}` of `{name}` must be {wanted[key]}")
        if missing:
            self._error("GOT0208", f"`{name}` needs {', '.join(missing)}", node.span, notes=(note,))
        return declared

    def _comprehension(self, node: e.Comprehension, scope: Scope, wanted: Type | None) -> Type:
        inner = self.elements(node.iterable, scope)
        names = self.parts(node.names, inner, node.iterable, node.iterable.span)
        inside = scope.inside(*names, place="a comprehension")
        if node.condition is not None:
            self.condition(node.condition, inside)
            inside = self.where(node.condition, inside)
        part = wanted.element if isinstance(wanted, ListType) else None
        return ListType(self.infer(node.element, inside, part))

    # ---------------------------------------------------------------- calls

    def match(self, call: e.Call, signature: Signature, kind: str, scope: Scope) -> Matched:
        """The arguments of a call by parameter, in the order of the parameters; errors are reported."""
        if signature.unreadable:
            for argument in call.arguments:
                self.infer(argument.value, scope)
            return ()
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
            found = self.infer(argument.value, scope, wanted[name])
            if not accepts(wanted[name], found):
                message = f"`{name}` of {called} must be {wanted[name]}"
                self.mismatch(argument.value, wanted[name], found, message, notes)
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
        name, given = argument.name.text, {a.name.text for a in call.arguments if a.name is not None}
        free = [parameter for parameter in wanted if parameter not in given]
        found = self.infer(argument.value, scope)
        guess = nearest(name, free) or (free[0] if len(free) == 1 else None)
        guess = guess or next((p for p in free if accepts(wanted[p], found)), None)
        value = argument.value.name if isinstance(argument.value, e.Reference) else "..."
        help = f"did you mean `{guess}={value}`?" if guess else None
        fix = Fix(argument.name.span, guess) if guess else None
        message, at = f"{called} has no parameter `{name}`", f"not a parameter of `{call.function.text}`"
        self._error("GOT0203", message, argument.name.span, at, notes=notes, help=help, fix=fix)

    def _call(self, node: e.Call, scope: Scope) -> Type:
        name, symbols = node.function.text, self.symbols
        symbols.used.add(name)
        if name in THOUGHT_FUNCTIONS:
            return self._thought_function(node, scope)
        if name in symbols.scores:
            self.match(node, symbols.scores[name], "score", scope)
            if name in symbols.asking:
                refuse_asking(node, scope, self.report)
            return FLOAT
        if name in BUILTINS:
            return self._builtin(node, BUILTINS[name], scope)
        known = symbols.callables()
        for argument in node.arguments:  # the argument of an unknown function may be a prompt or a score
            if name in known or getattr(argument.value, "name", "") not in known:
                self.infer(argument.value, scope)
        if name in symbols.functions:
            return symbols.results.get(name, DYNAMIC)
        if name in symbols.prompts:
            help = f"call it in a step of its own: `answer = Generate() {name}(...)`"
            if (result := symbols.prompts[name].result) == BOOL:
                help += f", or `Validate() {name}(...)` and then `valid`"
            elif accepts(FLOAT, result):
                help += f", or `Score() {name}(...)` and then `score`"
            self._error("GOT0209", f"prompt `{name}` cannot be called in an expression", node.span, help=help)
        elif name in symbols.schemes:
            help = f"call it in a step of its own: `answer = {name}(...)`"
            self._error("GOT0209", f"scheme `{name}` cannot be called in an expression", node.span, help=help)
        elif name in symbols.metrics:
            help = "declare a `score` for use in steps"
            message = f"metric `{name}` is measured after the run, and cannot be called"
            self._error("GOT0209", message, node.span, help=help)
        else:
            symbols.unknown_function(node.function, self.report)
        return ANY

    def _thought_function(self, node: e.Call, scope: Scope) -> Type:
        name = node.function.text
        result = THOUGHT_FUNCTIONS[name][0]
        if self.notes and len(node.arguments) == 2:
            self.infer(node.arguments[0].value, scope)
            return result
        if len(node.arguments) != 1 or node.arguments[0].name is not None:
            help = f"write `{name}`, or `{name}(name)`"
            self._error("GOT0202", f"`{name}` takes one thought", node.span, help=help)
            return result
        value = inner = node.arguments[0].value
        if isinstance(value, e.Index) or (isinstance(value, e.Field) and name == "confidence"):
            inner = value.value
        self.infer(value, scope)
        variable = scope.find(inner.name) if isinstance(inner, e.Reference) else None
        entry = name == "confidence" and variable is not None and isinstance(variable.type, DictType)
        wanted = "thoughts" if isinstance(value, e.Index) and not entry else "thought"
        if variable is None and isinstance(inner, e.Reference) and inner.name not in self.symbols.params:
            return result
        if variable is None or variable.kind != wanted:
            message = f"`{name}` takes the name of one thought"
            self._error("GOT0201", message, value.span, "this is a value", help=f"`{name}` is that of `it`")
        else:
            self._fact(name, variable, value.span, scope)
        return result

    def _fact(self, name: str, variable: Variable, span: Span, scope: Scope) -> None:
        """Report a function of a thought that needs an unknown fact."""
        early = "write the score itself, which is evaluated as soon as a sample arrives: `until=len(it) > 2`"
        if name in FACT_OF:
            help = early if name == "score" and scope.without_model_scores() == "`until`" else ""
            require(FACT_OF[name], variable.facts, f"`{variable.name}`", span, self.report, help)

    def _builtin(self, node: e.Call, builtin: Builtin, scope: Scope) -> Type:
        types = []
        notes = (f"it takes: {builtin.signature()}",)
        for argument in node.arguments:
            if argument.name is not None:
                message = f"`{builtin.name}` takes no named arguments"
                reverse = argument.name.text == "reverse"
                help = "write `reversed(sorted(...))`" if reverse else "use positional arguments"
                self._error("GOT0202", message, argument.span, notes=notes, help=help)
                return ANY
            types.append(self.infer(argument.value, scope))
        found = result(builtin, types)
        if found is not None:
            return with_pattern(node, found, self.report)
        counts = sorted({len(type_.takes) for type_ in builtin.types})
        if len(types) not in counts and not any(
            t.rest is not None and len(types) > len(t.takes) for t in builtin.types
        ):
            takes = f"{' or '.join(map(str, counts))} argument{'s' * (counts != [1])}"
            message = f"`{builtin.name}` takes {takes}, not {len(types)}"
            self._error("GOT0202", message, node.span, notes=notes)
        else:
            position, wanted = misfit(builtin, types)
            message = f"`{builtin.name}` needs {in_words(wanted)} here"
            self.mismatch(node.arguments[position].value, wanted, types[position], message, notes)
        return ANY


def _may_be_none(type_: Type) -> bool:
    return isinstance(type_, OptionalType | AnyType | DynamicType) or type_ in (NONE, NEVER)
