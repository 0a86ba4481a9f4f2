"""Refuses programs that are certain to fail by their constants: settings and rounds out of range, positions
beyond the end, divisions by zero, branches that never run. A param stands for each of its possible values."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any, assert_never, final

from msgspec import Struct
from msgspec.structs import replace

from gotlang.analysis.expressions import NOTHING, ExpressionConstants, least, most, param_place, plus, times
from gotlang.analysis.worlds import ALL_OF_RANGE, ONE, Bound, DataName, Env, KnownName
from gotlang.diagnostics import Report
from gotlang.errors import CompileError, TemplateError
from gotlang.operations import OPERATIONS
from gotlang.operations.checks import MOST
from gotlang.operations.match import holds_for
from gotlang.operations.record import PROMPT_SETTINGS, SettingRule, Syntax
from gotlang.operations.search import CLAUSES, SELECTIONS, selections
from gotlang.semantics.check import Checked
from gotlang.semantics.facts import callees_first
from gotlang.semantics.params import constant_value
from gotlang.semantics.prompts import COUNT
from gotlang.semantics.steps import REPEAT, setting
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.types import fits


@final
class _Pool(Struct, frozen=True):
    """The thoughts at a place of a pipeline: the maximum number, and the value of each, if it is known."""

    most: Bound | None = None
    it: KnownName | DataName | None = None

    @property
    def alone(self) -> KnownName | DataName | None:
        """The value of the remaining thoughts when some may be left out: known only of a single thought."""
        return self.it if self.most is ONE else None


START = _Pool(ONE)
UNKNOWN = _Pool()


def check_constants(checked: Checked, report: Report) -> None:
    """Report what fails by constants in the declarations of a program that have no errors."""
    _Constants(checked, report).program()


@final
class _Constants:
    """One walk over the declarations of a program."""

    def __init__(self, checked: Checked, report: Report) -> None:
        self.checked = checked
        self.report = report
        self.expressions = ExpressionConstants(checked.symbols, report)
        symbols = checked.symbols
        self.wrong = [d.span for d in checked.diagnostics if d.severity == "error"]
        params = {
            name: _param(d) if self._right(d) else DataName()
            for name, d in symbols.nodes.items()
            if isinstance(d, n.Param)
        }
        self.params = Env(dict(params))

    def _right(self, d: n.Declaration) -> bool:
        """Whether a declaration has no error."""
        here = d.span
        return not any(
            wrong.source == here.source and here.start <= wrong.start < here.end for wrong in self.wrong
        )

    def program(self) -> None:
        """Check every declaration; in one with an error only settings and rounds. Callers come first, so that
        the arguments of what they call are known."""
        declared = [d for module in self.checked.modules for d in module.declarations]
        bodies = [d for d in declared if isinstance(d, n.Scheme | n.Score | n.Metric)]
        callees = {d.name.text: rank for rank, (d, _) in enumerate(callees_first(bodies))}
        for d in sorted(bodies, key=lambda d: callees[d.name.text], reverse=True):
            self.expressions.wrong = not self._right(d)
            names = [parameter.name.text for parameter in d.parameters]
            self.suite(d.body, START, self._inputs(d.parameters))
            for inputs in self.expressions.calls.of(d.name.text, names, self.params):
                self.suite(d.body, START, inputs)
        for prompt in declared:
            if isinstance(prompt, n.Prompt):
                self.expressions.wrong = not self._right(prompt)
                self._prompt(prompt)

    def _inputs(self, parameters: Iterable[n.TypedName]) -> Env:
        return self.params.inside({parameter.name.text: DataName() for parameter in parameters})

    def _prompt(self, node: n.Prompt) -> None:
        names = [parameter.name.text for parameter in node.parameters]
        calls = list(self.expressions.calls.of(node.name.text, names, self.params))
        for given in node.settings:
            name = given.name.text
            if name == "count":
                for env in (self._inputs(node.parameters), *calls):
                    self._setting(name, given.value, COUNT, env)
            elif (rule := PROMPT_SETTINGS.get(name)) is not None:
                self._setting(name, given.value, rule, self.params)
        if (node.examples or calls) and not self.expressions.wrong:
            self._shown(node, names, calls)

    def _shown(self, node: n.Prompt, names: Sequence[str], calls: Iterable[Env]) -> None:
        """Report an example whose output no response expresses, and one whose inputs, or a call whose
        arguments, cannot be shown in the prompt."""
        from gotlang.ir.prompts import build_prompt

        try:
            prompt = build_prompt(node, self.checked.symbols.prompts[node.name.text])
        except CompileError as error:
            self.report.diagnostics += error.diagnostics
            return
        inputs = e.ListDisplay(node.span, tuple(e.Reference(node.span, name) for name in names))
        for env in calls:
            for world, found in self.expressions.values(inputs, env):
                try:
                    _ = prompt.asking.render(dict(zip(names, found, strict=True))) if prompt.asking else ""
                except TemplateError as error:
                    message = f"prompt `{node.name.text}` cannot show this: {error.message}"
                    first = env.find(names[0])
                    assert isinstance(first, KnownName)
                    self.expressions.fail(message, first.place(world), world, NOTHING)
        for place, example in zip(node.examples, prompt.examples, strict=True):
            try:
                _ = prompt.asking.render(dict(example.inputs)) if prompt.asking is not None else ""
            except TemplateError as error:
                message = f"the text cannot show this example: {error.message}"
                self.report.error("GOT0405", message, place.span)

    # ---------------------------------------------------------------- settings

    def _setting(self, name: str, value: e.Expression, rule: SettingRule, env: Env) -> None:
        """Report a setting that is out of range for some value that the params may have."""
        for world, found in self.expressions.values(value, env):
            if all(fits(type_, found) is not None for type_ in rule.types):
                return  # of another type, which is already reported
            if (why := rule.refused(name, found)) is not None:
                at = "" if isinstance(value, e.Constant) else f"this is {json.dumps(found)}"
                wrong = rule.wrong(found) if isinstance(found, str) else None
                span = value.place(wrong[1]) if wrong and isinstance(value, e.Constant) else value.span
                code = "GOT0312" if wrong is None else "GOT0731"
                self.expressions.fail(why, span, world, frozenset(world), code, at)
                return

    def _rounds(self, node: n.RepeatBlock, pool: _Pool, env: Env) -> None:
        """Report a number of rounds that is out of range, and one of 0 that leaves no thoughts."""
        for world, found in self.expressions.values(node.count, env):
            if not isinstance(found, int):
                continue
            needs, starts = frozenset(world), pool is START
            message = None
            if found < 0:
                message = "a block cannot be repeated fewer than 0 times"
            elif found > MOST:
                message = f"a block is repeated {MOST:,} times at most"
            elif found == 0 and not world and node.span.use is None:
                message = "this block never runs"
            elif found == 0 and starts:
                message = "without rounds there is no result: a scheme starts with no thoughts"
            if message is not None:
                self.expressions.fail(message, node.count.span, world, needs, "GOT0333")
                return

    # ---------------------------------------------------------------- statements

    def suite(self, suite: n.Suite, pool: _Pool, env: Env) -> _Pool:
        """Analyze the statements of a block; returns the output of the last one."""
        env = env.inside()
        for index, statement in enumerate(suite.statements):
            found = self.statement(statement, pool, env)
            if not isinstance(statement, n.Bind) or index == len(suite.statements) - 1:
                pool = found
        return pool

    def statement(self, node: n.Statement, pool: _Pool, env: Env) -> _Pool:
        """Analyze one statement; names that it binds are added to `env`."""
        match node:
            case n.Step():
                return self.step(node, pool, env)
            case n.Evaluate(value=value) | n.Return(value=value):
                return self._value(value, pool, env)
            case n.Bind():
                return self._bind(node, pool, env)
            case n.Foreach():
                return self._foreach(node, pool, env)
            case n.Reduce():
                here = self._here(pool, env)
                if node.iterable is not None:
                    self._over(node.iterable, here, "reduce")
                self.suite(node.body, _Pool(Bound(lambda world: 2)), env)
                return _Pool(ONE)
            case n.RepeatBlock():
                return self._repeat(node, pool, env)
            case n.If():
                return self._if(node, pool, env)
            case n.Match():
                return self._match(node, pool, env)
            case n.Try():
                around, self.expressions.tried = self.expressions.tried, True
                one = self.suite(node.body, pool, env)
                self.expressions.tried = around
                return _Pool(most(one.most, self.suite(node.otherwise, pool, env).most))
            case n.Search():
                return self._search(node, pool, env)
            case n.First(until=until, lines=lines):
                around, self.expressions.tried = self.expressions.tried, True
                left = [self.suite(line, pool, env) for line in lines]
                if until is not None:
                    self.expressions.check(until, self._here(UNKNOWN, env))
                self.expressions.tried = around
                return _Pool(reduce(most, (one.most for one in left)))
            case n.Repeated(again=again, body=body):
                here = self._here(pool, env)
                self._settings(again, REPEAT, pool, here)
                return _Pool(times(self.suite(body, pool, env).most, self._number(again, "k", here)))
            case n.Skip():
                return _Pool(Bound(lambda world: 0))
            case n.Labelled():
                return self._labelled(node, pool, env)
        assert_never(node)

    def _here(self, pool: _Pool, env: Env) -> Env:
        """The names for expressions on the current thoughts."""
        return env.inside({"it": pool.it or DataName(), "thoughts": DataName(pool.most, thoughts=True)})

    def _value(self, value: e.Expression, pool: _Pool, env: Env) -> _Pool:
        """The pool of an expression, or of a scheme's call."""
        here = self._here(pool, env)
        if isinstance(value, e.Call) and value.function.text in self.checked.symbols.schemes:
            self.expressions.check(value, here)
            many = isinstance(d := self.checked.symbols.nodes.get(value.function.text), n.Scheme) and d.many
            return UNKNOWN if many else _Pool(pool.most)
        variable = here.find(value.name) if isinstance(value, e.Reference) else None
        if isinstance(variable, DataName):
            return _Pool(variable.most if variable.thoughts else ONE)
        return _Pool(ONE, self.expressions.known("it", value, here))

    def _bind(self, node: n.Bind, pool: _Pool, env: Env) -> _Pool:
        value = node.value
        match value:
            case n.Suite():
                found = self.suite(value, pool, env)
            case _ if isinstance(value, n.Step | n.Block):
                found = self.statement(value, pool, env.inside())
            case _:
                found = self._value(value, pool, env)
        left = self.checked.pools.get(id(node))
        one = left is None or left.single
        name = (found.it or DataName()) if one else DataName(found.most, thoughts=True)
        text = node.name.text
        if env.find(text) is None:  # one that is already in scope is refused
            env.names[text] = replace(name, name=text) if isinstance(name, KnownName) else name
        return found

    # ---------------------------------------------------------------- blocks

    def _search(self, node: n.Search, pool: _Pool, env: Env) -> _Pool:
        here = self._here(pool, env)
        self.expressions.check(node.root, here)
        for clause in node.clauses:
            for name, value in selections(clause.value) if clause.name.text == "select" else ():
                if value is not None and (rule := SELECTIONS.get(name)) is not None:
                    self._setting(f"{name}(...)", value, rule, here)
            if clause.name.text in CLAUSES:
                self._setting(clause.name.text, clause.value, CLAUSES[clause.name.text], here)
        inside = env.inside({node.state.text: DataName()})
        around, self.expressions.tried = self.expressions.tried, True
        for part in node.parts:
            self.suite(part, _Pool(ONE, DataName()), inside)
        self.expressions.tried = around
        if node.until is not None:
            self.expressions.check(node.until, self._here(_Pool(ONE, DataName()), inside))
        return _Pool(ONE)

    def _foreach(self, node: n.Foreach, pool: _Pool, env: Env) -> _Pool:
        here = self._here(pool, env)
        names: dict[str, KnownName | DataName] = {node.element.text: pool.it or DataName()}
        count = pool.most
        if node.iterable is not None:
            needs = self.expressions.look(node.iterable, here)
            self._over(node.iterable, here, "foreach")
            names = self.expressions.elements(node.names, node.iterable, needs, here)
            count = self.expressions.length(node.iterable, here)
        if node.enumerated is not None and isinstance(names[node.names[0].text], DataName):
            names[node.names[0].text] = _first(node.names[0])  # there is at least one element
        inside = env.inside(names)
        if node.after is not None:
            self.expressions.check(node.after, inside)
            inside.names["done"] = DataName(self.expressions.length(node.after, inside))
        body = self.suite(node.body, _Pool(ONE, names[node.element.text]), inside)
        left = times(count, body.most)
        env.names.setdefault(node.element.text, DataName(left, thoughts=True))
        return _Pool(left)

    def _over(self, iterable: e.Expression, env: Env, what: str) -> None:
        self.expressions.needs_elements(iterable, env, f"`{what}` over an empty list leaves nothing")

    def _repeat(self, node: n.RepeatBlock, pool: _Pool, env: Env) -> _Pool:
        here = self._here(pool, env)
        self._rounds(node, pool, here)
        at = node.count.span
        some = e.Compare(at, node.count, ((">", e.Constant(at, 0)),))
        if node.span.use is not None and self._decided(some, here) is False:
            return pool
        inside = self.expressions.under(some, env, True).inside()
        if node.counter is not None:
            rounds = e.Call(at, e.Identifier(at, "range"), (e.Argument(at, None, node.count),))
            counter = self.expressions.known(node.counter.text, rounds, here, each=True)
            sure = isinstance(counter, KnownName) and node.until is None
            inside.names[node.counter.text] = counter if sure else _first(node.counter)
        body = self.suite(node.body, UNKNOWN if pool is not START else _Pool(None, None), inside)
        if node.until is not None:
            self.expressions.check(node.until, self._here(body, inside))
        return _Pool(ONE if pool.most is ONE and body.most is ONE else None)

    def _if(self, node: n.If, pool: _Pool, env: Env) -> _Pool:
        here = self._here(pool, env)
        left: list[_Pool] = []
        over, decided = False, None
        for condition, body in node.branches:  # the last one is checked again for `else`
            decided = self._decided(condition, here)
            if (over or decided is False) and node.span.use is not None:
                continue  # of an inlined definition, whose other uses may have another condition
            if over or decided is False:
                why = "the condition before it is always true" if over else "its condition is always false"
                self._error("GOT0331", "this branch never runs", condition, why, "delete the branch")
            inside = self.expressions.under(condition, here, True)
            left.append(self.suite(body, pool, inside))
            here = self.expressions.under(condition, here, False)
            over = over or decided is True
        if node.otherwise is not None:
            if decided is True and node.span.use is None:
                at = "this is always true"
                self._error(
                    "GOT0331", "`else` never runs", condition, at, "delete `else`, or fix the condition"
                )
            left.append(self.suite(node.otherwise, pool, here))
        else:
            left.append(pool)
        bound = left[0].most
        for other in left[1:]:
            bound = most(bound, other.most)
        return _Pool(bound)

    def _match(self, node: n.Match, pool: _Pool, env: Env) -> _Pool:
        here = self._here(pool, env)
        self.expressions.check(node.subject, here)
        subject, rest, left = node.subject, here, list[Bound | None]()
        for branch in node.branches:
            patterns = [
                e.Case(pattern.span, pattern.case) if isinstance(pattern, n.CasePattern) else pattern
                for pattern in branch.patterns
            ]
            condition = holds_for(subject, tuple(patterns))
            inside = self.expressions.under(condition, here, True)
            rest = self.expressions.under(condition, rest, False)
            for name in (name for pattern in branch.patterns for name in getattr(pattern, "fields", ())):
                field = e.Field(name.span, subject, name.text)
                inside.names[name.text] = self.expressions.known(name.text, field, inside)
            if branch.name is not None:
                inside.names[branch.name.text] = self.expressions.known(branch.name.text, subject, inside)
            left.append(self.suite(branch.body, pool, inside).most)
        left.append(pool.most if node.otherwise is None else self.suite(node.otherwise, pool, rest).most)
        return _Pool(reduce(most, left))

    def _decided(self, condition: e.Expression, env: Env) -> bool | None:
        """The value of a condition if it is the same for all params, else None."""
        if self.expressions.look(condition, env) != NOTHING:
            self.expressions.check(condition, env)
            return None
        values = [value for _, value in self.expressions.values(condition, env)]
        return values[0] if values and isinstance(values[0], bool) else None

    def _error(self, code: str, message: str, node: e.Expression, at: str, help: str) -> None:
        self.report.error(code, message, node.span, at, help=help)

    def _labelled(self, node: n.Labelled, pool: _Pool, env: Env) -> _Pool:
        here = self._here(pool, env)
        sources = [
            UNKNOWN if isinstance(source, n.LabelReference) else self._value(source, pool, here)
            for source in node.sources
        ]
        inside = env.inside()
        for name, known in zip(node.names, sources, strict=False):
            inside.names[name.text] = known.it or DataName(known.most, thoughts=True)
        bound = sources[0].most if sources else pool.most
        for known in sources[1:]:
            bound = plus(bound, known.most)
        return self.suite(node.body, _Pool(bound) if sources else pool, inside)

    # ---------------------------------------------------------------- steps

    def step(self, node: n.Step, pool: _Pool, env: Env) -> _Pool:
        """Analyze one step; returns the maximum of its output."""
        name, here = node.operation.text, self._here(pool, env)
        if name not in OPERATIONS:
            return UNKNOWN
        self._settings(node, OPERATIONS[name].syntax, pool, here)
        if node.again is not None:
            self._settings(node.again, REPEAT, pool, here)
        if name == "Pool":
            return self._pool(node, here)
        for operand in node.operands:
            self.expressions.check(operand, here)
        return self._left(node, pool, here)

    def _settings(self, node: n.Step, syntax: Syntax, pool: _Pool, env: Env) -> None:
        for argument in node.settings or ():
            name = argument.name.text if argument.name is not None else syntax.first
            rule = syntax.settings.get(name or "")
            if name == "positions":
                self.expressions.needs_elements(argument.value, env, "`Select` is given no position")
                self.expressions.position(
                    argument.value, env, None if "thoughts" in env.guarded else pool.most
                )
            elif rule is None or rule.per_thought:
                self.expressions.check(argument.value, env)
            elif name is not None:
                self._setting(name, argument.value, rule, env)

    def _left(self, node: n.Step, pool: _Pool, env: Env) -> _Pool:
        name = node.operation.text
        if self.expressions.wrong and not node.operands:
            return UNKNOWN
        match name:
            case "Map":
                return _Pool(pool.most, self.expressions.known("it", node.operands[0], env))
            case "Generate" | "Improve" | "Aggregate":
                each = times(self._number(node, "k", env), self._again(node, env))
                operand = node.operands[0]
                called = operand.function.text if isinstance(operand, e.Call) else ""
                declared = self.checked.symbols.prompts.get(called)
                if declared is None or declared.many:
                    return UNKNOWN
                if name == "Aggregate":
                    return _Pool(each)
                made = times(pool.most, each)
                return _Pool(made if name == "Generate" else plus(pool.most, made))
            case "Retrieve":
                return _Pool(times(pool.most, self._number(node, "k", env)))
            case "KeepBestN":
                return _Pool(least(pool.most, self._number(node, "n", env)), pool.alone)
            case "Select":
                positions = setting(node, "positions")
                left = pool.most if positions is None else self.expressions.length(positions, env)
                return _Pool(left, pool.alone)
            case "Vote":
                return _Pool(ONE, pool.alone)
            case "Score" | "KeepValid":
                return _Pool(pool.most, pool.alone)
            case "Validate" | "GroundTruth":
                return _Pool(pool.most, pool.it)
            case "ValidateAndImprove" | "Call":
                return _Pool(pool.most)
        return UNKNOWN

    def _number(self, node: n.Step, name: str, env: Env) -> Bound | None:
        value = setting(node, name)
        return ONE if value is None else self.expressions.number(value, env)

    def _again(self, node: n.Step, env: Env) -> Bound | None:
        return ONE if node.again is None else self._number(node.again, "k", env)

    def _pool(self, node: n.Step, env: Env) -> _Pool:
        """The pool of several thoughts, lists of thoughts or values."""
        found = [self._value(operand, START, env) for operand in node.operands]
        bound: Bound | None = Bound(lambda world: 0)
        for pool in found:
            bound = plus(bound, pool.most)
        if len(found) == 1:
            return replace(found[0], most=bound)
        listed = e.ListDisplay(node.span, node.operands)
        return _Pool(bound, self.expressions.known("it", listed, env, each=True))


def _first(name: e.Identifier) -> KnownName:
    """A number that counts from 0, if it is known."""
    return KnownName(name.text, name.span, (0,))


def _param(node: n.Param) -> KnownName:
    """A param with its possible values: the default, those that are listed, those of a range (of a wide one
    its ends)."""
    default = constant_value(node.default)
    values = [default]
    match node.domain:
        case n.Choices(values=choices):
            values += [constant_value(choice) for choice in choices]
        case n.Range():
            low, high = constant_value(node.domain.low), constant_value(node.domain.high)
            whole = isinstance(low, int) and isinstance(high, int) and isinstance(default, int | list)
            values += range(low, high + 1) if whole and high - low <= ALL_OF_RANGE else [low, high]
            values += [0] if low < 0 < high else []
    if node.each and isinstance(default, list):
        values = [default, *([value] * len(default) for value in values[1:])]
    return KnownName(node.name.text, param_place(node), tuple(_distinct(values)))


def _distinct(values: Iterable[Any]) -> list[Any]:
    return list({(type(value), repr(value)): value for value in values}.values())
