"""From a checked program to IR: names become pools, calls become arguments by parameter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from pathlib import PurePosixPath
from typing import TypeVar, final

from msgspec import Struct, structs
from msgspec.structs import replace

from gotlang.ir import program as ir
from gotlang.ir.lines import with_lines
from gotlang.ir.model_scores import ONE, START_POOL, ModelScoreSteps, with_question
from gotlang.ir.names import PAIR, ROUND, IrNames
from gotlang.ir.prompts import build_metric, build_param, build_prompt
from gotlang.ir.text import line_text
from gotlang.operations import OPERATIONS
from gotlang.operations.names import POOL_NAMES, free_names, is_own_score, looks_at_pool, with_expressions
from gotlang.operations.record import MODEL_SETTINGS
from gotlang.operations.search import BACKUPS, selected
from gotlang.operations.step import LineKey
from gotlang.scope import START, PoolType
from gotlang.semantics.check import Checked
from gotlang.semantics.params import constant_value
from gotlang.semantics.steps import setting
from gotlang.semantics.symbols import Signature
from gotlang.semantics.test_declarations import limits_of
from gotlang.span import NOWHERE, Span
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.types import ANY, DYNAMIC, INT, NEVER, ListType, Type, accepts, join

TRUE = e.Constant(NOWHERE, True)

_Node = TypeVar("_Node", bound=e.Node)


def build(checked: Checked, name: str, *, tests: bool = False) -> ir.Program:
    """The IR of a program without errors. `name` identifies it in runs and traces; with `tests`, its tests
    become schemes."""
    symbols = checked.symbols
    placed = [
        (declaration, str(PurePosixPath(module.span.source).parent))
        for module in checked.modules
        for declaration in module.declarations
    ]

    def every(kind: type[_Node]) -> Iterator[tuple[_Node, str]]:
        return ((declaration, folder) for declaration, folder in placed if isinstance(declaration, kind))

    def functions(names: Iterable[str]) -> tuple[ir.PythonFunction, ...]:
        return tuple(ir.PythonFunction(name, symbols.results.get(name, DYNAMIC)) for name in names)

    def built(signature: Signature) -> Builder:
        return Builder(checked, dict(signature.parameters))

    def imported(d: n.ImportPython, folder: str) -> ir.PythonImport:
        return ir.PythonImport(str(d.path.value), functions(f.name.text for f in d.functions), folder)

    scores = [(d, symbols.scores[d.name.text]) for d, _ in every(n.Score)]
    schemes = [(d, symbols.schemes[d.name.text]) for d, _ in every(n.Scheme)]
    schemes += [(test.scheme, test.signature) for test in checked.tests if tests]
    program = ir.Program(
        name,
        tuple(build_param(d, symbols.params[d.name.text]) for d, _ in every(n.Param)),
        tuple(build_prompt(d, symbols.prompts[d.name.text]) for d, _ in every(n.Prompt)),
        tuple(built(signature).score(d, signature) for d, signature in scores),
        tuple(built(signature).scheme(d, signature) for d, signature in schemes),
        tuple(imported(d, folder) for d, folder in every(n.ImportPython) if not isinstance(d, n.ImportMcp)),
        tuple(ir.Corpus(d.name.text, str(d.path.value), folder) for d, folder in every(n.ImportCorpus)),
        tuple(ir.PythonImport(str(d.path.value), (), folder) for d, folder in every(n.Simulate)),
        tuple(symbols.types.items()),
        functions(symbols.provided),
        symbols.default_scheme(checked.modules[0].span.source),
        tuple(build_metric(d, symbols) for d, _ in every(n.Metric)),
        tuple(imported(d, folder) for d, folder in every(n.ImportMcp)),
    )
    return with_question(program)


def build_region(
    checked: Checked, suite: n.Suite, entry: str, pool: PoolType, given: Iterable[str]
) -> tuple[ir.Region, PoolType]:
    """The region of a block that starts from a pool, and its output pool; names are `given`."""
    region, left = Builder(checked, given).region(suite, entry, pool)
    return with_lines(region), left


@final
class Builder:
    """Builds one scheme or score, whose parameters are `given`."""

    def __init__(self, checked: Checked, given: Iterable[str]) -> None:
        self.checked = checked
        self.naming = IrNames(given)
        symbols = checked.symbols
        self.asking = ModelScoreSteps(
            symbols.asking,
            checked.arguments,
            lambda score: dict(symbols.scores[score].parameters),
            self.naming.fresh,
            self.naming.here,
            self.naming.own,
        )
        self.left_out: list[str] = []
        """The pools that continue without the elements that a `skip` here leaves out, the innermost last."""

    def scheme(self, node: n.Scheme, signature: Signature) -> ir.Scheme:
        body, pool = self.region(node.body, START_POOL, START)
        wanted = signature.result
        collect = (
            not signature.many
            and not pool.single
            and isinstance(wanted, ListType)
            and accepts(wanted.element, pool.type)
        )
        truth = signature.truth or (ListType(wanted) if signature.many else wanted)
        return ir.Scheme(
            signature.name,
            signature.parameters,
            wanted,
            signature.many,
            collect,
            truth,
            with_lines(body),
            node.span,
            tuple(limits_of(node.within).items()),
        )

    def score(self, node: n.Score, signature: Signature) -> ir.ScoreFunction:
        *bindings, last = node.body.statements
        steps: list[ir.Step] = []
        for statement in bindings:
            self.statement(statement, START_POOL, START, steps)
        assert isinstance(last, n.Evaluate | n.Return)
        best = constant_value(node.best) if node.best is not None else None
        value, _ = self.asking.hoisted(last.value, START_POOL, START, steps)
        region = with_lines(ir.Region(START_POOL, tuple(steps), START_POOL))
        return ir.ScoreFunction(
            signature.name,
            signature.parameters,
            node.direction == "lower",
            best,
            region,
            value,
            node.span,
        )

    def region(
        self, suite: n.Suite, entry: str, pool: PoolType, names: Iterable[str] = ()
    ) -> tuple[ir.Region, PoolType]:
        """A block's region; its pool starts as `entry`, and `names` are bound in it."""
        self.naming.open(names)
        region = self.steps_of(suite, entry, pool)
        self.naming.close()
        return region

    def steps_of(self, suite: n.Suite, entry: str, pool: PoolType) -> tuple[ir.Region, PoolType]:
        steps: list[ir.Step] = []
        current = entry
        for index, statement in enumerate(suite.statements):
            result = self.statement(statement, current, pool, steps)
            if not isinstance(statement, n.Bind) or index == len(suite.statements) - 1:
                current, pool = result, self.checked.pools[id(statement)]
        return ir.Region(entry, tuple(steps), current), pool

    def statement(self, node: n.Statement, pool: str, kind: PoolType, out: list[ir.Step]) -> str:
        """Append the steps of a statement; returns the name of its output pool."""
        left = self.checked.pools.get(id(node), kind)
        match node:
            case n.Bind():
                return self._bind(node, pool, kind, left, out)
            case n.Step():
                before = len(out)
                step = self.step(node, self.naming.fresh(), pool, kind, left, out)
                if isinstance(step, ir.GroundTruth) and len(out) > before:
                    # The result does not wait for measurements of it.
                    out.append(step)
                    return pool
            case n.Evaluate(value=value) | n.Return(value=value):
                step = self._value(value, self.naming.fresh(), pool, kind, left, node.span, out)
            case n.Foreach(element=name) if id(node) in self.checked.named:
                step = self.block(node, self.naming.of_name(name.text), pool, kind, left, out)
                self.naming.bind(name.text, step.result)
            case n.Labelled(label=label):
                step = self.block(node, self.naming.of_label(label), pool, kind, left, out)
            case n.Skip():
                step = ir.Skip(
                    self.naming.fresh(), NEVER, True, START_POOL, self.left_out[-1], span=node.span
                )
            case _:
                step = self.block(node, self.naming.fresh(), pool, kind, left, out)
        out.append(step)
        return step.result

    def _bind(self, node: n.Bind, pool: str, kind: PoolType, left: PoolType, out: list[ir.Step]) -> str:
        name = bound = self.naming.of_name(node.name.text)
        self.left_out.append(name)
        cast, given = id(node) in self.checked.casts, left
        if cast:
            name, left = self.naming.fresh(), self.checked.pools[id(node.value)]
        step: ir.Step
        match node.value:
            case n.Step():
                step = self.step(node.value, name, pool, kind, left, out)
            case n.Suite():
                body, _ = self.region(node.value, pool, kind)
                label = node.name.text
                step = ir.Block(name, left.type, left.single, pool, label, (), body=body, span=node.span)
            case _ if isinstance(node.value, n.Block):
                step = self.block(node.value, name, pool, kind, left, out)
            case _:
                step = self._value(node.value, name, pool, kind, left, node.span, out)
        out.append(step)
        if cast:
            value = e.Reference(node.span, name)
            base = (bound, given.type, given.single, START_POOL)
            out.append(ir.Pool(*base, (value,), True, span=node.span))
        self.left_out.pop()
        self.naming.bind(node.name.text, bound)
        return bound

    def source(self, values: Iterable[e.Expression], pool: str) -> str:
        """The input pool of values: the current one if they depend on its thoughts. Values that depend only
        on names do not wait for it: `merge step 2 from part[2], part[3]` does not wait for merge step 1."""
        names = {name for value in values for name in free_names(value) if not self.naming.own(name)}
        return pool if names & POOL_NAMES else START_POOL

    def _value(
        self,
        value: e.Expression,
        name: str,
        pool: str,
        kind: PoolType,
        left: PoolType,
        span: Span,
        out: list[ir.Step],
    ) -> ir.Step:
        if isinstance(value, e.Call) and value.function.text in self.checked.symbols.schemes:
            scheme, arguments = value.function.text, self.checked.arguments[id(value)]
            step = ir.Invoke(name, left.type, left.single, pool, scheme, arguments, span=span)
            return self._placed(step, kind, out)
        found, pool = self.asking.hoisted(value, self.source((value,), pool), kind, out)
        return ir.Pool(name, left.type, left.single, pool, (found,), span=span)

    # ---------------------------------------------------------------- blocks

    def block(
        self, node: n.Block, name: str, pool: str, kind: PoolType, left: PoolType, out: list[ir.Step]
    ) -> ir.Step:
        """The step of a block; sources of a labelled one are gathered into `out` first."""
        base = (name, left.type, left.single)
        here = self.naming.here
        iterable = None
        list_ = node.iterable if isinstance(node, n.Foreach | n.Reduce) else None
        if isinstance(node, n.Foreach) and node.enumerated is not None:
            list_ = node.enumerated
        if list_ is not None:
            iterable, pool = self.asking.hoisted(list_, self.source((list_,), pool), kind, out)
        match node:
            case n.Foreach():
                *_, element = loop = tuple(name.text for name in node.names)
                position = loop[0] if node.enumerated is not None else None
                parts = loop if len(loop) == 2 and position is None else ()
                self.naming.open(loop)
                named = (self.naming.fresh() if parts else element, position, parts)
                after = here(node.after) if node.after is not None else None
                self.left_out.append(name)
                body, _ = self.steps_of(node.body, named[0], PoolType(left.type, True))
                self.left_out.pop()
                self.naming.close()
                return ir.Foreach(*base, pool, iterable, *named, after, body=body, span=node.span)
            case n.Reduce():
                first, second, step = node.left.text, node.right.text, node.step.text if node.step else None
                names = [first, second, *([step] if step is not None else [])]
                body, _ = self.region(node.body, PAIR, PoolType(left.type, False), names)
                return ir.Reduce(*base, pool, iterable, first, second, step, body=body, span=node.span)
            case n.RepeatBlock():
                return self._repeat(node, base, pool, kind, out)
            case n.If():
                return self._if(node, 0, base, pool, kind, out)
            case n.Repeated():
                body, _ = self.region(node.body, pool, kind)
                k, settings, pool = self._repetitions(node.again, pool, kind, out)
                return ir.Repeated(*base, pool, k, settings, body=body, span=node.span)
            case n.Match():
                return self._match(node, base, pool, kind, out)
            case n.Try():
                tried, other = (self.region(body, pool, kind)[0] for body in (node.body, node.otherwise))
                return ir.Try(*base, pool, tried, other, span=node.span)
            case n.Search():
                return self._search(node, base, pool, kind, out)
            case n.First():
                return self._first(node, base, pool, kind)
            case n.Labelled():
                return self._labelled(node, base, pool, kind, out)

    def _repeat(
        self, node: n.RepeatBlock, base: tuple[str, Type, bool], pool: str, kind: PoolType, out: list[ir.Step]
    ) -> ir.Step:
        counter = node.counter.text if node.counter else None
        count, _ = self.asking.hoisted(node.count, pool, kind, out)
        # From the second round on there may be several, even if the first starts from one.
        kind = replace(kind, single=kind.single and base[2])
        self.naming.open([counter] if counter is not None else [])
        body, left = self.steps_of(node.body, ROUND, kind)
        until, asked = None, list[ir.Step]()
        if node.until is not None:  # it sees the body's names
            until, _ = self.asking.hoisted(node.until, body.result, left, asked)
        self.naming.close()
        if asked:
            # After the last round no model is called, since nothing depends on it.
            if looks_at_pool(count):
                out.append(ir.Pool(self.naming.fresh(), INT, True, pool, (count,), span=node.span))
                count = e.Reference(node.span, out[-1].result)
            counter = counter or self.naming.fresh()
            number = e.Binary(node.span, "+", e.Reference(node.span, counter), ONE)
            goes_on = e.Compare(node.span, number, (("<", count),))
            steps = tuple(self._unless_last(step, goes_on) for step in asked)
            body = replace(body, steps=(*body.steps, *steps))
        return ir.Repeat(*base, pool, count, counter, until, body=body, span=node.span)

    def _unless_last(self, step: ir.Step, goes_on: e.Expression) -> ir.Step:
        """A step that calls the scores in the condition of `until`, or an unused number."""
        if not isinstance(step, ir.Invoke):
            return step
        inner, other = replace(step, result=self.naming.fresh()), self.naming.fresh()
        zero = ir.Pool(other, step.type, True, START_POOL, (e.Constant(step.span, 0.0),), span=step.span)
        otherwise = ir.Region(step.pool, (zero,), other)
        asked = ir.Region(step.pool, (inner,), inner.result)
        return ir.If(step.result, step.type, True, step.pool, ((goes_on, asked),), otherwise, span=step.span)

    def _if(
        self, node: n.If, at: int, base: tuple[str, Type, bool], pool: str, kind: PoolType, out: list[ir.Step]
    ) -> ir.Step:
        """An `if`, from its branch `at` on. The scores of a later condition are called only if the earlier
        ones are false."""
        branches: list[tuple[e.Expression, ir.Region]] = []
        otherwise = None
        for index, (condition, body) in enumerate(node.branches[at:], at):
            asked: list[ir.Step] = []
            found, _ = self.asking.hoisted(condition, pool, kind, asked)
            if asked and branches:
                rest = self._if(node, index, (self.naming.fresh(), *base[1:]), pool, kind, asked := [])
                otherwise = ir.Region(pool, (*asked, rest), rest.result)
                break
            out += asked
            branches.append((found, self.region(body, pool, kind)[0]))
        else:
            if node.otherwise is not None:
                otherwise = self.region(node.otherwise, pool, kind)[0]
            elif id(node) in self.checked.exhaustive:
                *branches, (_, otherwise) = branches
        return ir.If(*base, pool, tuple(branches), otherwise, span=node.span)

    def _match(
        self, node: n.Match, base: tuple[str, Type, bool], pool: str, kind: PoolType, out: list[ir.Step]
    ) -> ir.Step:
        """A `match`, whose value gets a name if it has none; names of fields are bound in its blocks."""
        (subject, _), given = self.asking.hoisted(node.subject, pool, kind, out), node.subject
        start = self.source((given,), pool)
        if (known := self.checked.pools.get(id(given))) is not None:
            name = self.naming.fresh()
            out.append(ir.Pool(name, known.type, True, start, (subject,), span=given.span))
            subject, start = e.Reference(given.span, name), START_POOL
        branches: list[tuple[tuple[e.Expression, ...], ir.Region]] = []
        for branch in node.branches:
            patterns: list[e.Expression] = []
            bound: list[tuple[e.Identifier, e.Expression]] = []
            bound += [(branch.name, subject)] if branch.name is not None else []
            for pattern in branch.patterns:
                case = e.Case(pattern.span, pattern.case) if isinstance(pattern, n.CasePattern) else pattern
                patterns.append(case)
                fields = pattern.fields if isinstance(pattern, n.CasePattern) else ()
                bound += [(field, e.Field(field.span, subject, field.text)) for field in fields]
            self.naming.open()
            first: list[ir.Step] = []
            for own, value in bound:
                inner, known = self.naming.of_name(own.text), self.checked.pools[id(own)]
                first.append(ir.Pool(inner, known.type, True, start, (value,), span=own.span))
                self.naming.bind(own.text, inner)
            body, _ = self.steps_of(branch.body, pool, kind)
            self.naming.close()
            branches.append((tuple(patterns), replace(body, steps=(*first, *body.steps))))
        otherwise = self.region(node.otherwise, pool, kind)[0] if node.otherwise else None
        return ir.Match(*base, pool, tuple(branches), otherwise, subject, span=node.span)

    def _search(
        self,
        node: n.Search,
        base: tuple[str, Type, bool],
        pool: str,
        kind: PoolType,
        out: list[ir.Step],
    ) -> ir.Step:
        asked, name, state = self.asking.hoisted, node.state.text, PoolType(base[1], True)
        root, type_ = self.naming.fresh(), self.checked.pools[id(node.root)].type
        given, start = asked(node.root, self.source((node.root,), pool), kind, out)

        def number(value: e.Expression) -> e.Expression:
            return asked(value, pool, kind, out)[0]

        strategy, amount = map(number, selected(node.clause("select") or ONE))
        rollouts, parallel = (number(node.clause(word) or ONE) for word in ("rollouts", "parallel"))
        depth = number(given_depth) if (given_depth := node.clause("depth")) is not None else None
        out.append(ir.Pool(root, type_, True, start, (given,), span=node.root.span))
        self.naming.open([name])
        until = asked(node.until, name, state, [])[0] if node.until is not None else None
        self.left_out.append(base[0])
        expand, *simulate, value = (self.region(part, name, state)[0] for part in node.parts)
        self.left_out.pop()
        self.naming.close()
        return ir.Search(
            *base,
            root,
            name,
            until,
            rollouts,
            strategy,
            amount,
            parallel,
            depth,
            node.backup.text if node.backup is not None else BACKUPS[0],
            expand,
            simulate[0] if simulate else None,
            value,
            span=node.span,
        )

    def _first(self, node: n.First, base: tuple[str, Type, bool], pool: str, kind: PoolType) -> ir.Step:
        """The step of a `first` or a `race`; the scores of a condition are called in its alternative."""
        branches: list[tuple[e.Expression, ir.Region]] = []
        for line in node.lines:
            self.naming.open()
            self.left_out.append(base[0])
            body, left = self.steps_of(line, pool, kind)
            self.left_out.pop()
            found: e.Expression = TRUE
            asked = list[ir.Step]()
            if node.until is not None and (node.way == "race" or line is not node.lines[-1]):
                found, _ = self.asking.hoisted(node.until, body.result, left, asked)
            self.naming.close()
            branches.append((found, replace(body, steps=(*body.steps, *asked))))
        otherwise = branches.pop()[1] if node.way != "race" else None
        return ir.First(*base, pool, node.way, tuple(branches), otherwise, span=node.span)

    def _labelled(
        self, node: n.Labelled, base: tuple[str, Type, bool], pool: str, kind: PoolType, out: list[ir.Step]
    ) -> ir.Step:
        names: list[tuple[str, str]] = []
        if node.sources:
            kinds = [self.checked.pools[id(source)] for source in node.sources]
            gathered: list[e.Expression] = []
            for position, (source, known) in enumerate(zip(node.sources, kinds, strict=True)):
                if isinstance(source, n.LabelReference):
                    inner = self.naming.label(source.label)
                else:
                    inner = self.naming.fresh()
                    value, start = self.asking.hoisted(source, self.source((source,), pool), kind, out)
                    out.append(ir.Pool(inner, known.type, known.single, start, (value,), span=source.span))
                gathered.append(e.Reference(source.span, inner))
                if node.names:
                    names.append((node.names[position].text, inner))
            pool = self.naming.fresh()
            type_ = reduce(lambda left, right: join(left, right) or ANY, (known.type for known in kinds))
            single = len(kinds) == 1 and kinds[0].single
            out.append(ir.Pool(pool, type_, single, START_POOL, tuple(gathered), span=node.span))
            kind = PoolType(type_, single)
        body, _ = self.region(node.body, pool, kind, [name for name, _ in names])
        self.naming.bind_label(node.label, base[0])
        return ir.Block(*base, pool, node.label, tuple(names), body=body, span=node.span)

    # ---------------------------------------------------------------- steps

    def step(
        self, node: n.Step, name: str, pool: str, kind: PoolType, left: PoolType, out: list[ir.Step]
    ) -> ir.Step:
        """The step of an operation, in the names of the IR."""
        if node.again is not None and len(node.again.settings or ()) > 1:
            start, inside = pool, list[ir.Step]()
            inner = self.step(
                structs.replace(node, again=None), self.naming.fresh(), pool, kind, left, inside
            )
            k, settings, pool = self._repetitions(node.again, pool, kind, out)
            body = ir.Region(start, (*inside, inner), inner.result)
            return ir.Repeated(name, left.type, left.single, pool, k, settings, body=body, span=node.span)
        if node.operation.text == "Pool":
            pool = self.source(node.operands, pool)
        step = OPERATIONS[node.operation.text].build(node, _StepBuild(self, node, name, pool, left))
        return self._placed(step, kind, out)

    def _placed(self, step: ir.Step, kind: PoolType, out: list[ir.Step]) -> ir.Step:
        """A step in the names of the IR, with its line as the program writes it; scores in its expressions
        are called in steps before it."""
        text, pool = line_text(step), step.pool

        def change(node: e.Expression) -> e.Expression:
            nonlocal pool
            found, pool = self.asking.hoisted(node, pool, kind, out)
            return found

        step = with_expressions(replace(step, line=LineKey(text)) if text else step, change)
        return replace(step, pool=pool)

    def _repetitions(
        self, again: n.Step, pool: str, kind: PoolType, out: list[ir.Step]
    ) -> tuple[e.Expression, ir.Arguments, str]:
        """The number of repetitions of `Repeat`, the settings of the later ones, and the pool it starts
        from."""
        found: list[tuple[str, e.Expression]] = []
        for name in ("k", "temperature", "seed"):
            if (value := setting(again, name)) is not None:
                value, pool = self.asking.hoisted(value, pool, kind, out)
                found.append((name, value))
        (_, k), *others = found
        return k, tuple(others), pool


@final
class _StepBuild(Struct, frozen=True):
    """The builder at one step, for an operation's record (`gotlang.operations.stages.Building`)."""

    builder: Builder
    node: n.Step
    name: str
    pool: str
    left: PoolType

    @property
    def base(self) -> tuple[str, Type, bool, str]:
        """The first fields of the step."""
        return self.name, self.left.type, self.left.single, self.pool

    def setting(self, name: str) -> e.Expression | None:
        return setting(self.node, name)

    def count(self, name: str) -> e.Expression:
        found, again = self.setting(name) or ONE, self.node.again
        return found if again is None else e.Binary(self.node.span, "*", found, setting(again, "k") or ONE)

    def model_settings(self) -> ir.Arguments:
        given = [(a.name.text, a.value) for a in self.node.settings or () if a.name is not None]
        return tuple((name, value) for name, value in given if name in MODEL_SETTINGS)

    def called(self, operand: e.Expression) -> tuple[str, ir.Arguments]:
        assert isinstance(operand, e.Call)
        return operand.function.text, self.builder.checked.arguments[id(operand)]

    def judgement(self, operand: e.Expression) -> tuple[e.Expression | None, str | None, ir.Arguments]:
        return (None, *self.called(operand)) if self.is_prompt(operand) else (operand, None, ())

    def is_prompt(self, operand: e.Expression) -> bool:
        return isinstance(operand, e.Call) and operand.function.text in self.builder.checked.symbols.prompts

    def is_score(self, operand: e.Expression) -> bool:
        return isinstance(operand, e.Call) and operand.function.text in self.builder.checked.symbols.scores

    def in_force(self, name: str) -> bool:
        return self.builder.naming.own(name)

    def is_lower(self, operand: e.Expression) -> bool:
        own = (
            isinstance(operand, e.Reference)
            and operand.name == "score"
            and not self.builder.naming.own("score")
        )
        if own or is_own_score(operand):
            return any(score.lower for score in self.left.facts.scores)
        declared = (
            self.builder.checked.symbols.nodes.get(operand.function.text)
            if isinstance(operand, e.Call)
            else None
        )
        return isinstance(declared, n.Score) and declared.direction == "lower"
