"""Checks schemes and the bodies of scores: the flow of thoughts, and whether each step accepts them.

An operation's own rule is in its record (`gotlang.operations`); here are the common rules.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from itertools import count
from typing import final

from msgspec.structs import replace

from gotlang.diagnostics import Fix, Label, Report
from gotlang.operations import OPERATIONS
from gotlang.operations.foreach import element_of_done
from gotlang.operations.names import free_names
from gotlang.operations.record import Syntax
from gotlang.operations.reduce import REDUCE_STEP
from gotlang.scope import EVERYTHING, NOTHING, SKIPPED, START, UNKNOWN, Facts, PoolType, Scope, Variable
from gotlang.semantics.blocks import (
    check_again,
    check_first,
    check_match,
    check_repeated,
    check_search,
    wider,
)
from gotlang.semantics.declarations import resolve_type
from gotlang.semantics.expressions import ExpressionChecker
from gotlang.semantics.facts import leaving_one, require
from gotlang.semantics.index import SemanticIndex, VisibleNames
from gotlang.semantics.mismatch import code_and_help, of_result
from gotlang.semantics.skips import may_skip
from gotlang.semantics.steps import StepCheck, check_settings, thoughts_named, value_pool
from gotlang.semantics.symbols import Signature, Symbols
from gotlang.span import Span
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.syntax.format import format_expression
from gotlang.syntax.typos import STATEMENTS, misspelt
from gotlang.syntax.walk import walk
from gotlang.types import (
    ANY,
    EMPTY,
    FLOAT,
    INT,
    NEVER,
    NONE,
    AnyType,
    DynamicType,
    ListType,
    Type,
    accepts,
    checked_later,
    has_error,
    join,
    present,
    widen,
    widened,
)

INSTEAD = {
    "continue": "to drop an element of a `foreach`, write `skip`",
    "break": "to end a loop early, write `repeat n until condition:`",
    "pass": "delete the line; the pool is unchanged if no branch of an `if` is taken",
}
"""Advice about words of Python."""

MAX_WIDENINGS = 8
"""Maximum number of checks of a block that is repeated on its own output and widens its type."""


@final
class PipelineChecker:
    """Checks a pipeline with the pool that flows through it.

    `pools` has the output of each statement and each source of a labelled block, `named` the `foreach` blocks
    whose results keep their name, `exhaustive` each `if` of which some condition is always true, `casts` the
    bindings whose type the run checks.
    """

    def __init__(
        self,
        symbols: Symbols,
        report: Report,
        expressions: ExpressionChecker,
        index: SemanticIndex | None = None,
    ) -> None:
        self.symbols = symbols
        self.index = index
        self.report = report
        self.expressions = expressions
        self.pools: dict[int, PoolType] = {}
        self.named: set[int] = set()
        self.exhaustive: set[int] = set()
        self.casts: set[int] = set()
        self.wrong: set[int] = set()
        """Bindings that have an error, by identity."""
        self._results: set[str] = set()
        self._entries: dict[int, PoolType] = {}
        self.truth: Type = ANY

    def scheme(self, node: n.Scheme, signature: Signature) -> Facts:
        """Check a scheme's pipeline against its signature; returns the facts about its output."""
        scope = Scope(place="")
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
        return pool.facts if accepts(signature.result, pool.type) else NOTHING

    def _result(self, node: n.Scheme, signature: Signature, pool: PoolType) -> None:
        span = _last(node.body).span
        wanted, scheme = signature.result, f"scheme `{node.name.text}`"
        fits = accepts(wanted, pool.type)
        # Several thoughts together may be the list.
        together = not pool.single and isinstance(wanted, ListType) and accepts(wanted.element, pool.type)
        if pool.type == EMPTY:
            self.report.error("GOT0301", f"{scheme} has no output", span)
        elif together or (fits and (pool.single or signature.many or signature.unreadable)):
            return
        elif fits:
            help = f"{leaving_one(pool.facts)}, or declare `many` before the result's type"
            message = f"{scheme} may output several thoughts, and its result is one {wanted}"
            self.report.error("GOT0302", message, span, "outputs any number", help=help)
        else:
            at = f"this outputs {widen(pool.type if pool.single else ListType(pool.type))}"
            labels = (Label(node.result.span, "declared here"),)
            last = node.body.statements[-1]
            returned = last.value if isinstance(last, n.Return) else None
            instead = of_result(wanted, pool, signature.many, returned)
            message = f"{scheme} must output {wanted}"
            self.report.error("GOT0201", message, span, at, labels=labels, help=instead)

    def score(self, node: n.Score, signature: Signature) -> None:
        """Check a score's body: bindings, then the number."""
        scope = Scope(place="")
        for parameter, (name, type_) in zip(node.parameters, signature.parameters, strict=False):
            scope.add(Variable(name, type_, "value", parameter.name.span))
        if node.best is not None:
            self.expressions.expect(node.best, scope, FLOAT, "`best`")
        *bindings, last = node.body.statements
        for statement in bindings:
            if n.is_unreadable(statement):
                self.statement(statement, UNKNOWN, scope, False)
            elif not isinstance(statement, n.Bind) and not any(map(n.is_unreadable, node.body.statements)):
                message = "a score is bindings and then one number"
                self.report.error("GOT0303", message, statement.span, help="write `name = ...`")
            elif isinstance(statement, n.Bind):
                self._bind(statement, START, scope)
        if n.is_unreadable(last):
            self.statement(last, UNKNOWN, scope, True)
        elif not isinstance(last, n.Evaluate | n.Return):
            self.report.error("GOT0303", "a score ends with its number", last.span)
        else:
            self.expressions.expect(last.value, scope, FLOAT, "a score")

    # ---------------------------------------------------------------- statements

    def suite(self, suite: n.Suite, pool: PoolType, scope: Scope) -> PoolType:
        """Check a block's statements in order; returns the output of the last one."""
        for index, statement in enumerate(suite.statements):
            last = index == len(suite.statements) - 1
            found = self.statement(statement, pool, scope, last)
            self.pools[id(statement)] = found
            if not isinstance(statement, n.Bind) or last:
                pool = found if id(statement) not in self.wrong else UNKNOWN
        return pool

    def statement(self, node: n.Statement, pool: PoolType, scope: Scope, last: bool) -> PoolType:
        """Check one statement; returns its output."""
        if self.index is not None:
            self.index.places.append(VisibleNames(node.span, scope, pool))
        match node:
            case n.Step():
                return self.step(node, pool, scope)
            case n.Evaluate(value=value):
                return self._evaluate(value, pool, scope)
            case n.Bind():
                return self._bind(node, pool, scope)
            case n.Return(value=value):
                return value_pool(self.expressions, value, pool, scope)
            case n.Foreach():
                found = self._foreach(node, pool, scope)
                self._name_results(node, found, scope)
                return found
            case n.Reduce():
                return self._reduce(node, pool, scope)
            case n.RepeatBlock():
                return self._repeat(node, pool, scope)
            case n.Repeated():
                return check_repeated(self, node, pool, scope)
            case n.If():
                return self._if(node, pool, scope)
            case n.Match():
                return check_match(self, node, pool, scope)
            case n.Try():
                bodies = (node.body, node.otherwise)
                return self.branches("try", [(self.suite(b, pool, scope.inside()), b) for b in bodies])
            case n.Search():
                return check_search(self, node, pool, scope)
            case n.First():
                return check_first(self, node, pool, scope)
            case n.Skip():
                return SKIPPED
            case n.Labelled():
                return self._labelled(node, pool, scope)

    def _name_results(self, node: n.Foreach, found: PoolType, scope: Scope) -> None:
        """After the block, the name of its element means the list of its results (`part[0]`)."""
        name = node.element.text
        known = scope.find(name)
        if known is None or name in self._results:
            self._results.add(name)
            self.named.add(id(node))
            variable = Variable(name, ListType(found.type), "thoughts", node.element.span, found.facts, True)
            scope.add(variable)

    def _evaluate(self, value: e.Expression, pool: PoolType, scope: Scope) -> PoolType:
        if isinstance(value, e.Reference) and value.name == e.HOLE:
            return UNKNOWN
        if isinstance(value, e.Call) and value.function.text in self.symbols.schemes:
            return self.invoke(value, pool, scope)
        name = value.function.text if isinstance(value, e.Call) else None
        text = isinstance(value, e.Constant) and isinstance(value.value, str)
        step = "Map" if "it" in free_names(value) else "Pool"
        help = "a comment starts with `#`" if text else f"write `{step}() ...`, or bind it to a name"
        if isinstance(value, e.Case):
            if isinstance(self.expressions.infer(value, scope.whole(pool)), AnyType):
                return UNKNOWN
            help = f"write `Pool() {format_expression(value)}`"
        if name in self.symbols.prompts:
            help = f"write `Generate() {name}(...)`"
        elif name in self.symbols.scores:
            help = f"write `Score() {name}(...)`"
        elif isinstance(value, e.Reference) and value.name in INSTEAD:
            help = INSTEAD[value.name]
        first = next((x for x in walk(value) if isinstance(x, e.Reference) or (x is value and name)), None)
        word = first.name if isinstance(first, e.Reference) else name or ""
        fix, start = None, value.span.start
        if (meant := misspelt(word, STATEMENTS)) is not None:
            help = f"did you mean `{meant}`?"
            if first is not None and first.span.start == start:
                fix = Fix(Span(value.span.source, start, start + len(word)), meant)
        elif name is not None and name not in self.symbols.callables():
            self.expressions.infer(value, scope.whole(pool))
            return UNKNOWN
        if isinstance(value, e.Reference) and scope.find(word) is None:
            scope.beginnings += (word,)
        self.report.error("GOT0305", "an expression is not a step", value.span, help=help, fix=fix)
        return UNKNOWN

    def _bind(self, node: n.Bind, pool: PoolType, scope: Scope) -> PoolType:
        wanted = resolve_type(node.type, self.symbols, self.report) if node.type is not None else None
        match node.value:
            case n.Step():
                found = self.step(node.value, pool, scope)
            case n.Suite():
                found = self.suite(node.value, pool, scope.inside())
            case _ if isinstance(node.value, n.Block):
                found = self.statement(node.value, pool, scope, True)
            case e.Call(function=function) if function.text in self.symbols.schemes:
                found = self.invoke(node.value, pool, scope)
            case _:
                found = value_pool(self.expressions, node.value, pool, scope, wanted)
        self.pools[id(node.value)] = found
        if wanted is not None:
            found = self._annotated(node, wanted, found)
        self.pools[id(node)] = found
        name = node.name
        variable = found.variable(name.text, name.span)
        if isinstance(node.value, e.Expression) and not self._gives_thoughts(node.value, pool, scope):
            variable.kind = "value"
        scope.add(variable)
        return found

    def _annotated(self, node: n.Bind, wanted: Type, found: PoolType) -> PoolType:
        """The type of a name with a declared type; one of type `any` is checked at run time."""
        given, several = found.type if found.single else ListType(found.type), not found.single
        if not accepts(wanted, given):
            if accepts(wanted, checked_later(given)):
                self.casts.add(id(node))
            else:
                message = f"`{node.name.text}` must be {wanted}"
                code, help = "GOT0201", None
                if isinstance(node.value, e.Expression):
                    code, help = code_and_help(node.value, wanted, given, self.symbols.provided)
                self.report.error(code, message, node.value.span, f"this is {widen(given)}", help=help)
                return UNKNOWN
        if several and isinstance(present(wanted), ListType | DynamicType):
            element = present(wanted)
            return replace(found, type=element.element if isinstance(element, ListType) else found.type)
        return replace(found, type=wanted)

    def _gives_thoughts(self, value: e.Expression, pool: PoolType, scope: Scope) -> bool:
        """Whether a name bound to an expression stands for thoughts, not for a value."""
        if isinstance(value, e.Call) and value.function.text in self.symbols.schemes:
            return True
        return thoughts_named(value, scope.whole(pool)) is not None

    # ---------------------------------------------------------------- blocks

    def _elements(
        self,
        node: n.Foreach | n.Reduce,
        iterable: e.Expression | None,
        pool: PoolType,
        scope: Scope,
        what: str,
    ) -> PoolType:
        """An element of a block, as the pool of one thought."""
        if iterable is not None:
            if isinstance(iterable, e.ListDisplay) and not iterable.elements:
                self.report.error("GOT0343", f"`{what}` over an empty list leaves nothing", iterable.span)
                return UNKNOWN
            where = scope.whole(pool)
            element = self.expressions.elements(iterable, where)
            variable = where.find(iterable.name) if isinstance(iterable, e.Reference) else None
            thoughts = variable is not None and variable.kind == "thoughts"
            return PoolType(element, True, variable.facts if variable is not None and thoughts else NOTHING)
        if pool.type == EMPTY:
            message = f"`{what}` has no thoughts to iterate over"
            self.report.error("GOT0306", message, node.span, help="give it a list: `in xs`")
            return UNKNOWN
        if pool.single and isinstance(pool.type, ListType) and not has_error(pool.type):
            message = f"`{what}` iterates over thoughts, and here is only one"
            help = "to iterate over the elements of its value, write `in it`"
            self.report.error("GOT0306", message, node.span, help=help)
            return UNKNOWN
        return PoolType(pool.type, True, pool.facts)

    def _foreach(self, node: n.Foreach, pool: PoolType, scope: Scope) -> PoolType:
        element = self._elements(node, node.enumerated or node.iterable, pool, scope, "foreach")
        if node.enumerated is None and len(node.names) == 2:
            place = (node.iterable or node.element).span
            names = self.expressions.parts(node.names, element.type, node.iterable, place)
        else:
            name = node.element
            names = [Variable(name.text, element.type, "thought", name.span, element.facts)]
            names += [Variable(at.text, INT, "value", at.span) for at in node.names[:-1]]
        for variable in names:
            variable.used = True
        inside = scope.inside(*names)
        if node.after is not None:
            here = inside.inside(place="`after`")
            self.expressions.expect(node.after, here, ListType(INT), "the positions of `after`")
            return self._waiting(node, node.after, element, inside)
        body = self.suite(node.body, element, inside)
        return PoolType(body.type, False, body.facts)

    def _waiting(self, node: n.Foreach, after: e.Expression, element: PoolType, inside: Scope) -> PoolType:
        """The output of a `foreach` whose elements see the results of earlier ones."""
        result: Type = NEVER
        position = node.names[0].text if node.enumerated is not None else None
        skips = any(map(may_skip, node.body.statements))
        for _ in range(MAX_WIDENINGS):
            mark = len(self.report.diagnostics)
            done = ListType(element_of_done(after, position, result, skips))
            where = inside.inside(Variable("done", done, "thoughts", node.span, used=True))
            body = self.suite(node.body, element, where)
            wider = None if has_error(body.type) else widened(result, body.type)
            if body.type == NEVER == result:
                wider = NONE  # it consists of earlier results alone, and there are none at first
            if wider is None:
                break
            del self.report.diagnostics[mark:]
            result = wider
        return PoolType(body.type, False, body.facts)

    def _reduce(self, node: n.Reduce, pool: PoolType, scope: Scope) -> PoolType:
        found = self._elements(node, node.iterable, pool, scope, "reduce")
        element = found.type

        def merge(pair: PoolType) -> tuple[PoolType, PoolType]:
            sides = (node.left, node.right)
            names = [Variable(name.text, pair.type, "thought", name.span, pair.facts, True) for name in sides]
            if node.step is not None:
                names.append(Variable(node.step.text, REDUCE_STEP, "value", node.step.span, used=True))
            body = self.suite(node.body, pair, scope.inside(*names))
            return body, replace(pair, type=wider(pair.type, body.type), facts=pair.facts.both(body.facts))

        pair, body = self.steady(node, PoolType(element, False, found.facts), merge)
        span = node.body.statements[-1].span
        if found.type == ANY:
            return PoolType(ANY, True, pair.facts)  # an error before this one
        if not body.single:
            help = _of_merge(node) or leaving_one(body.facts)
            message = "a merge must output one thought"
            self.report.error("GOT0307", message, span, "outputs any number", help=help)
        if not accepts(pair.type, body.type):
            message = f"a merge of {widen(element)} must output {widen(element)}"
            help = f"merge a list of {widen(body.type)}: `[... for x in xs]`"
            self.report.error("GOT0201", message, span, f"this outputs {widen(body.type)}", help=help)
            return PoolType(ANY, True, pair.facts)
        # A list of one is not merged, and the odd one of several moves up as it is.
        return PoolType(pair.type, True, pair.facts)

    def steady(
        self, node: n.Block, start: PoolType, again: Callable[[PoolType], tuple[PoolType, PoolType]]
    ) -> tuple[PoolType, PoolType]:
        """The facts that each round of a block can rely on, whose input is the output of the previous one,
        and its output. `again` checks a round: returns its output, and the facts that the next can rely on.

        A round never relies on more facts than an earlier one, so nested blocks start from their last result.
        """
        known = self._entries.get(id(node), start)
        type_ = known.type if accepts(known.type, start.type) else start.type
        entry = PoolType(type_, start.single and known.single, start.facts.both(known.facts))
        for number in count():
            mark = len(self.report.diagnostics)
            left, following = again(entry)
            if number >= MAX_WIDENINGS:
                following = replace(following, type=entry.type)
            if following == entry:
                self._entries[id(node)] = entry
                return entry, left
            del self.report.diagnostics[mark:]
            entry = following
        raise AssertionError

    def _repeat(self, node: n.RepeatBlock, pool: PoolType, scope: Scope) -> PoolType:
        where = scope.each(pool) if pool.single else scope
        self.expressions.expect(node.count, where, INT, "the number of rounds")
        inside = scope

        def turn(entry: PoolType) -> tuple[PoolType, PoolType]:
            nonlocal inside
            inside = scope.inside()
            if node.counter is not None:
                inside.add(Variable(node.counter.text, INT, "value", node.counter.span, used=True))
            body = self.suite(node.body, entry, inside)
            facts, single = entry.facts.both(body.facts), entry.single and body.single
            type_ = ANY if body is UNKNOWN else wider(entry.type, body.type)
            return body, PoolType(type_, single, facts)

        entry, body = self.steady(node, pool, turn)
        if entry.type != EMPTY and not (has_error(body.type) or accepts(entry.type, body.type)):
            at, way = f"outputs {widen(body.type)}, starts from {widen(pool.type)}", None
            if widened(entry.type, body.type) is not None:
                at = f"its type grows with each round, from {widen(pool.type)} on"
                way = "declare a `type` for it, and start with `first: Name = ...` and `Pool() first`"
            span = node.body.statements[-1].span
            self.report.error("GOT0201", "a repeated block must accept its own output", span, at, help=way)
            entry = replace(entry, type=ANY)
        type_ = body.type if entry.type == EMPTY else entry.type
        result = PoolType(type_, entry.single and body.single, body.facts)
        if node.until is not None:
            self.expressions.condition(node.until, inside.whole(result), "the condition of `until`")
        if body.facts == entry.facts or self._at_least_once(node.count, scope):
            return result
        return replace(result, facts=replace(entry.facts, rounds=node.count.span))

    def _at_least_once(self, count: e.Expression, scope: Scope) -> bool:
        """Whether a block surely runs: the number of rounds is a constant, or a param whose minimum is
        positive."""
        if isinstance(count, e.Reference) and scope.find(count.name) is None:
            declared = self.symbols.nodes.get(count.name)
            if declared is None:
                return True  # an error of its own, or in an unreadable line
            if not isinstance(declared, n.Param) or not isinstance(declared.domain, n.Range):
                return False
            count = declared.domain.low
        return isinstance(count, e.Constant) and isinstance(count.value, int) and count.value >= 1

    def _if(self, node: n.If, pool: PoolType, scope: Scope) -> PoolType:
        results: list[tuple[PoolType, n.Suite]] = []
        for condition, body in node.branches:
            whole = scope.whole(pool)
            self.expressions.condition(condition, whole)
            inner, around = self.expressions.inside(condition, True, pool, scope, whole)
            results.append((self.suite(body, inner, around.inside()), body))
            if NEVER in self.expressions.facts(condition, whole, False).values():
                self.exhaustive.add(id(node))
            pool, scope = self.expressions.inside(condition, False, pool, scope, whole)
        if node.otherwise is not None:
            results.append((self.suite(node.otherwise, pool, scope.inside()), node.otherwise))
        always = node.otherwise is not None or id(node) in self.exhaustive
        return self.branches("if", results, None if always else pool)

    def branches(
        self, block: str, results: list[tuple[PoolType, n.Suite]], passed: PoolType | None = None
    ) -> PoolType:
        """The output of a block of which one branch runs; or none, in which case the pool is unchanged."""
        if any(other is UNKNOWN for other, _ in results):
            return UNKNOWN
        found = passed or SKIPPED
        for other, body in results:
            type_ = join(found.type, other.type)
            if NEVER not in (found.type, other.type) and EMPTY in (found.type, other.type):
                type_ = None
            if type_ is None and found.type != other.type:
                message = f"the branches of `{block}` have outputs of different types"
                at, help = f"{widen(other.type)} here, {widen(found.type)} elsewhere", None
                if passed is not None:
                    at = f"{widen(other.type)} here, {widen(passed.type)} if no condition is true"
                    help = f"add `else:` with a step that outputs {widen(other.type)}"
                self.report.error("GOT0308", message, body.statements[-1].span, at, help=help)
                return UNKNOWN
            single, facts = found.single and other.single, found.facts.both(other.facts)
            found = PoolType(type_ or found.type, single, facts)
        return found

    def _labelled(self, node: n.Labelled, pool: PoolType, scope: Scope) -> PoolType:
        inside = scope.inside()
        if n.is_unreadable(node):
            for name in ("done", *(word.text for word in node.names)):  # it may be a `foreach`
                inside.add(Variable(name, ANY, used=True))
            if e.HOLE in inside.names:
                inside.beginnings = ("",)
            self.suite(node.body, UNKNOWN, inside)
            return UNKNOWN
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
                    known = UNKNOWN
            elif (
                isinstance(source, e.Reference)
                and scope.find(source.name) is None
                and (label := scope.find_label(source.name)) is not None
            ):
                message, help = f"`{source.name}` is a label, not a name", f'write `"{source.name}"`'
                self.report.error("GOT0103", message, source.span, help=help)
                known = label
            else:
                known = value_pool(self.expressions, source, pool, scope)
            self.pools[id(source)] = known
            pools.append(known)
            found = known.type if found is None else join(found, known.type)
            if found is None:
                self.report.error("GOT0207", "these thoughts have no common type", source.span)
                found = ANY
        if node.names and len(node.names) != len(pools):
            message = f"names and thoughts differ: {len(node.names)} after `as`, {len(pools)} after `from`"
            help = "give each of them a name, or none"
            self.report.error("GOT0202", message, node.names[-1].span, help=help)
        for name, known in zip(node.names, pools, strict=False):
            variable = known.variable(name.text, name.span)
            variable.used = True
            inside.add(variable)
        single = len(pools) == 1 and pools[0].single
        return PoolType(found or ANY, single, reduce(Facts.both, (known.facts for known in pools)))

    @staticmethod
    def _labels(scope: Scope) -> list[str]:
        names: list[str] = []
        at: Scope | None = scope
        while at is not None:
            names.extend(at.labels)
            at = at.parent
        return names

    def invoke(self, call: e.Call, pool: PoolType, scope: Scope) -> PoolType:
        """Check a scheme's call as a step: it runs once for each current thought."""
        signature = self.symbols.schemes[call.function.text]
        self.symbols.used.add(signature.name)
        self.expressions.match(call, signature, "scheme", scope.each(pool))
        facts = self.symbols.facts.get(signature.name, EVERYTHING)
        return PoolType(signature.result, pool.single and not signature.many, facts)

    # ---------------------------------------------------------------- steps

    def step(self, node: n.Step, pool: PoolType, scope: Scope) -> PoolType:
        """Check a step; returns its output."""
        name = node.operation.text
        operation = OPERATIONS.get(name)
        case = node.operation if name in self.symbols.cases else node.again.operation if node.again else None
        if case is not None and case.text in self.symbols.cases:
            fields = ", ".join(f"{field}: ..." for field, _ in self.symbols.cases[case.text].fields[1:])
            help = f"write `{case.text} {{{fields}}}`" if fields else f"write `{case.text}`"
            self.report.error("GOT0309", f"`{case.text}` is a case, not an operation", case.span, help=help)
            return UNKNOWN
        if operation is None:
            if name == "Repeat":
                help = "write `Repeat(k):` and the block below it"
                self.report.error("GOT0309", "`Repeat` must follow a step", node.span, help=help)
            else:
                self.report.unknown("GOT0106", "operation", name, node.operation.span, OPERATIONS)
            for operand in node.operands:
                if not isinstance(operand, e.Call):
                    self.expressions.infer(operand, scope.whole(pool))
            return UNKNOWN
        if not self._operands(node, operation.syntax):
            return UNKNOWN
        # An Improve of several has no single thought on which its settings could depend.
        several = name == "Improve" and not pool.single
        check_settings(node, operation.syntax, scope if several else scope.whole(pool), self.expressions)
        check_again(self, node, scope.whole(pool))
        here = StepCheck(self.expressions, self.truth, node, pool, scope)
        if operation.asks:
            here.needs_thoughts()
        for fact in sorted(operation.asks) if pool.type != EMPTY else ():
            require(fact, pool.facts, "these thoughts", node.span, self.report)
        found: PoolType = operation.check(node, here)
        return replace(found, facts=pool.facts.merged(found.facts)) if operation.keeps else found

    def _operands(self, node: n.Step, syntax: Syntax) -> bool:
        """Whether a step has its parentheses and the number of operands of its operation."""
        name, example = node.operation.text, f"for example `{syntax.example}`"
        if node.settings is None and not syntax.bare:
            return False  # reported by the parser
        least, most = syntax.operands
        count = len(node.operands)
        if least <= count and (most is None or count <= most):
            return True
        wanted = f"{least} or more" if most is None else str(least) if least == most else f"{least} to {most}"
        if most == 0:
            wanted, example = (
                "nothing",
                "a step before it makes them the current thoughts, such as `Pool() a, b`",
            )
        message = f"`{name}(...)` takes {wanted} after its settings, not {count}"
        self.report.error("GOT0310", message, node.span, help=example)
        return False


def _last(suite: n.Suite) -> n.Statement:
    """The statement that yields the result: after an `if` that returns, the last one that follows it."""
    last = suite.statements[-1]
    if not isinstance(last, n.If) or last.otherwise is None:
        return last
    returns = all(isinstance(branch.statements[-1], n.Return) for _, branch in last.branches)
    return _last(last.otherwise) if returns else last


def _of_merge(node: n.Reduce) -> str | None:
    """Advice about a merge that treats each of its two thoughts, where it must combine them."""
    first, last = node.body.statements[0], node.body.statements[-1]
    if isinstance(first, n.Step) and first.operation.text == "Generate":
        return "write `Aggregate()`: `Generate()` samples for each of the two"
    if isinstance(last, n.Step) and last.operation.text == "Map":
        value = last.operands[0]
        if {node.left.text, node.right.text} <= {x.name for x in walk(value) if isinstance(x, e.Reference)}:
            return f"write `Pool() {format_expression(value)}`: `Map()` replaces each of the two"
    return None
