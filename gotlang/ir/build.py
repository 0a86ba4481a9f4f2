"""From a checked program to IR: names become pools, calls become arguments by parameter."""

from __future__ import annotations

from functools import reduce
from pathlib import PurePosixPath
from typing import final

from gotlang.ir import program as ir
from gotlang.ir.declarations import build_param, build_prompt
from gotlang.ir.names import POOL_NAMES, free_names
from gotlang.semantics.builtins import THOUGHT_FUNCTIONS
from gotlang.semantics.check import Checked
from gotlang.semantics.params import constant_value
from gotlang.semantics.scope import START, Pool
from gotlang.semantics.settings import setting
from gotlang.semantics.symbols import Signature
from gotlang.span import NOWHERE, Span
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.types import ANY, ListType, Type, accepts, join

START_POOL = "%start"
"""The empty thought that a scheme starts with, wherever in it."""
_LOOKS_AT_POOL = POOL_NAMES | THOUGHT_FUNCTIONS.keys()
ONE = e.Constant(NOWHERE, 1)
TRUE = e.Constant(NOWHERE, True)


def build(checked: Checked, name: str) -> ir.Program:
    """The IR of a program without errors. `name` is what runs and traces call it."""
    params: list[ir.Param] = []
    prompts: list[ir.Prompt] = []
    scores: list[ir.Score] = []
    schemes: list[ir.Scheme] = []
    python: list[ir.PythonImport] = []
    corpora: list[ir.Corpus] = []
    simulators: list[ir.PythonImport] = []
    symbols = checked.symbols
    for module in checked.modules:
        folder = str(PurePosixPath(module.span.source).parent)
        for d in module.declarations:
            match d:
                case n.Param():
                    params.append(build_param(d, symbols.params[d.name.text]))
                case n.Prompt():
                    prompts.append(build_prompt(d, symbols.prompts[d.name.text]))
                case n.Score():
                    scores.append(_Builder(checked).score(d, symbols.scores[d.name.text]))
                case n.Scheme():
                    schemes.append(_Builder(checked).scheme(d, symbols.schemes[d.name.text]))
                case n.ImportPython():
                    names = tuple(i.text for i in d.names)
                    python.append(ir.PythonImport(str(d.path.value), names, folder))
                case n.ImportCorpus():
                    corpora.append(ir.Corpus(d.name.text, str(d.path.value), folder))
                case n.Simulate():
                    simulators.append(ir.PythonImport(str(d.path.value), (), folder))
    return ir.Program(
        name,
        tuple(params),
        tuple(prompts),
        tuple(scores),
        tuple(schemes),
        tuple(python),
        tuple(corpora),
        tuple(simulators),
    )


def build_region(checked: Checked, suite: n.Suite, entry: str, pool: Pool) -> tuple[ir.Region, Pool]:
    """The region of a block that starts from a pool of a name, and the pool it leaves."""
    return _Builder(checked).region(suite, entry, pool)


def _source(values: tuple[e.Expression, ...], pool: str) -> str:
    """The pool that values are made from: the current one where they look at its thoughts. What looks at
    names only waits for those: `merge step 2 from part[2], part[3]` does not wait for merge step 1."""
    return pool if any(free_names(value).keys() & _LOOKS_AT_POOL for value in values) else START_POOL


@final
class _Builder:
    """Builds one scheme or score; `fresh` numbers the pools that have no name of their own."""

    def __init__(self, checked: Checked) -> None:
        self.checked = checked
        self.prompts = checked.symbols.prompts
        self.count = 0

    def fresh(self) -> str:
        self.count += 1
        return f"%{self.count}"

    def scheme(self, node: n.Scheme, signature: Signature) -> ir.Scheme:
        body, pool = self.region(node.body, "%start", START)
        wanted = signature.result
        collect = (
            not signature.many
            and not pool.single
            and isinstance(wanted, ListType)
            and accepts(wanted.element, pool.type)
        )
        truth = signature.truth or (ListType(wanted) if signature.many else wanted)
        return ir.Scheme(
            signature.name, signature.parameters, wanted, signature.many, collect, truth, body, node.span
        )

    def score(self, node: n.Score, signature: Signature) -> ir.Score:
        *bindings, last = node.body.statements
        steps: list[ir.AnyStep] = []
        for statement in bindings:
            self.statement(statement, "%start", START, steps)
        assert isinstance(last, n.Evaluate | n.Return)
        best = constant_value(node.best) if node.best is not None else None
        region = ir.Region("%start", tuple(steps), "%start")
        return ir.Score(
            signature.name,
            signature.parameters,
            node.direction == "lower",
            best,
            region,
            last.value,
            node.span,
        )

    def region(self, suite: n.Suite, entry: str, pool: Pool) -> tuple[ir.Region, Pool]:
        """A block's region; its pool starts as `entry`."""
        steps: list[ir.AnyStep] = []
        current = entry
        for index, statement in enumerate(suite.statements):
            result = self.statement(statement, current, pool, steps)
            if not isinstance(statement, n.Bind) or index == len(suite.statements) - 1:
                current, pool = result, self.checked.pools[id(statement)]
        return ir.Region(entry, tuple(steps), current), pool

    def statement(self, node: n.Statement, pool: str, kind: Pool, out: list[ir.AnyStep]) -> str:
        """Append the steps of a statement; the name of the pool it leaves."""
        left = self.checked.pools.get(id(node), kind)
        match node:
            case n.Bind():
                return self._bind(node, pool, kind, left, out)
            case n.Step():
                step = self.step(node, self.fresh(), pool, left)
            case n.Evaluate(value=value) | n.Return(value=value):
                step = self._value(value, self.fresh(), pool, left, node.span)
            case _:
                name = self.fresh()
                if id(node) in self.checked.named:
                    assert isinstance(node, n.Foreach)
                    name = node.name.text
                elif isinstance(node, n.Labelled):
                    name = "%" + node.label.replace(" ", "_")
                step = self.block(node, name, pool, kind, left, out)
        out.append(step)
        return step.result

    def _bind(self, node: n.Bind, pool: str, kind: Pool, left: Pool, out: list[ir.AnyStep]) -> str:
        name = node.name.text
        step: ir.AnyStep
        match node.value:
            case n.Step():
                step = self.step(node.value, name, pool, left)
            case n.Suite():
                body, _ = self.region(node.value, pool, kind)
                step = ir.Group(name, left.type, left.single, pool, name, (), body, span=node.span)
            case n.Foreach() | n.Reduce() | n.RepeatBlock() | n.If() | n.Labelled():
                step = self.block(node.value, name, pool, kind, left, out)
            case _:
                step = self._value(node.value, name, pool, left, node.span)
        out.append(step)
        return name

    def _value(self, value: e.Expression, name: str, pool: str, left: Pool, span: Span) -> ir.AnyStep:
        if isinstance(value, e.Call) and value.function.text in self.checked.symbols.schemes:
            arguments = self.checked.arguments[id(value)]
            scheme = value.function.text
            return ir.Invoke(name, left.type, left.single, pool, scheme, arguments, span=span)
        return ir.Gather(name, left.type, left.single, _source((value,), pool), (value,), span=span)

    # ---------------------------------------------------------------- blocks

    def block(
        self, node: n.Block, name: str, pool: str, kind: Pool, left: Pool, out: list[ir.AnyStep]
    ) -> ir.AnyStep:
        """The step of a block; sources of a labelled one are gathered into `out` first."""
        base = (name, left.type, left.single)
        if isinstance(node, n.Foreach | n.Reduce) and node.iterable is not None:
            pool = _source((node.iterable,), pool)
        match node:
            case n.Foreach():
                body, _ = self.region(node.body, node.name.text, Pool(left.type, True))
                position = node.position.text if node.position else None
                return ir.Foreach(
                    *base, pool, node.iterable, node.name.text, position, node.after, body, span=node.span
                )
            case n.Reduce():
                body, _ = self.region(node.body, "%pair", Pool(left.type, False))
                step = node.step.text if node.step else None
                return ir.Reduce(
                    *base, pool, node.iterable, node.left.text, node.right.text, step, body, span=node.span
                )
            case n.RepeatBlock():
                body, _ = self.region(node.body, "%round", kind)
                counter = node.counter.text if node.counter else None
                return ir.Loop(*base, pool, node.count, counter, node.until, body, span=node.span)
            case n.If():
                branches = tuple((c, self.region(b, pool, kind)[0]) for c, b in node.branches)
                otherwise = self.region(node.otherwise, pool, kind)[0] if node.otherwise else None
                return ir.Branch(*base, pool, branches, otherwise, span=node.span)
            case n.Labelled():
                return self._labelled(node, base, pool, kind, out)

    def _labelled(
        self, node: n.Labelled, base: tuple[str, Type, bool], pool: str, kind: Pool, out: list[ir.AnyStep]
    ) -> ir.AnyStep:
        names: list[tuple[str, str]] = []
        if node.sources:
            kinds = [self.checked.pools[id(source)] for source in node.sources]
            gathered: list[e.Expression] = []
            for position, (source, known) in enumerate(zip(node.sources, kinds, strict=True)):
                if isinstance(source, n.LabelReference):
                    inner = "%" + source.label.replace(" ", "_")
                else:
                    inner = self.fresh()
                    start = _source((source,), pool)
                    out.append(ir.Gather(inner, known.type, known.single, start, (source,), span=source.span))
                gathered.append(e.Reference(source.span, inner))
                if node.names:
                    names.append((node.names[position].text, inner))
            pool = self.fresh()
            type_ = reduce(lambda left, right: join(left, right) or ANY, (known.type for known in kinds))
            single = len(kinds) == 1 and kinds[0].single
            out.append(ir.Gather(pool, type_, single, START_POOL, tuple(gathered), span=node.span))
        body, _ = self.region(node.body, pool, kind)
        return ir.Group(*base, pool, node.label, tuple(names), body, span=node.span)

    # ---------------------------------------------------------------- steps

    def step(self, node: n.Step, name: str, pool: str, left: Pool) -> ir.AnyStep:
        """One operation."""
        base = (name, left.type, left.single)
        span = node.span
        match node.operation.text:
            case "Generate" | "Improve" | "Aggregate" as operation:
                prompt, arguments = self._call(node.operands[0])
                k = setting(node, "k") or ONE
                if node.again is not None:
                    k = e.Binary(span, "*", k, setting(node.again, "k") or ONE)
                kind = {"Generate": "generate", "Improve": "improve", "Aggregate": "aggregate"}[operation]
                until = setting(node, "until")
                return ir.Ask(*base, kind, pool, prompt, arguments, k, self._settings(node), until, span=span)  # type: ignore[arg-type]
            case "Score":
                operand = node.operands[0]
                k = setting(node, "k") or ONE
                if isinstance(operand, e.Call) and (
                    operand.function.text in self.checked.symbols.scores
                    or operand.function.text in self.prompts
                ):
                    score, arguments = self._call(operand)
                    return ir.Rate(*base, pool, score, arguments, None, k, span=span)
                return ir.Rate(*base, pool, None, (), operand, k, span=span)
            case "Validate":
                condition, judge, judge_arguments = self._judge(node.operands[0])
                return ir.Validate(*base, pool, condition, judge, judge_arguments, span=span)
            case "KeepValid":
                return ir.KeepValid(*base, pool, span=span)
            case "ValidateAndImprove":
                condition, judge, judge_arguments = self._judge(node.operands[0])
                prompt, arguments = self._call(node.operands[1])
                tries = setting(node, "tries") or ONE
                return ir.Mend(
                    *base,
                    pool,
                    condition,
                    judge,
                    judge_arguments,
                    prompt,
                    arguments,
                    tries,
                    self._settings(node),
                    span=span,
                )
            case "KeepBestN":
                return ir.KeepBest(*base, pool, setting(node, "n") or ONE, span=span)
            case "Select":
                condition = node.operands[0] if node.operands else None
                return ir.Select(*base, pool, condition, setting(node, "positions"), span=span)
            case "Vote":
                return ir.Vote(*base, pool, setting(node, "weight"), span=span)
            case "Map":
                return ir.Map(*base, pool, node.operands[0], span=span)
            case "Pool":
                return ir.Gather(*base, _source(node.operands, pool), node.operands, span=span)
            case "Retrieve":
                call = node.operands[0]
                assert isinstance(call, e.Call)
                query, k = call.arguments[0].value, setting(node, "k") or ONE
                return ir.Retrieve(*base, pool, call.function.text, query, k, span=span)
            case "Call":
                call = node.operands[0]
                assert isinstance(call, e.Call)
                given = tuple((a.name.text if a.name else None, a.value) for a in call.arguments)
                return ir.CallFunction(*base, pool, call.function.text, given, span=span)
            case _:
                return ir.Measure(*base, pool, node.operands[0], span=span)

    def _call(self, operand: e.Expression) -> tuple[str, ir.Arguments]:
        assert isinstance(operand, e.Call)
        return operand.function.text, self.checked.arguments[id(operand)]

    def _judge(self, operand: e.Expression) -> tuple[e.Expression | None, str | None, ir.Arguments]:
        if isinstance(operand, e.Call) and operand.function.text in self.prompts:
            prompt, arguments = self._call(operand)
            return None, prompt, arguments
        return operand, None, ()

    @staticmethod
    def _settings(node: n.Step) -> ir.Arguments:
        return tuple(
            (a.name.text, a.value)
            for a in node.settings or ()
            if a.name is not None and a.name.text not in {"k", "until", "tries"}
        )
