"""From a checked program to IR: names become pools, calls become arguments by parameter."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import PurePosixPath
from typing import Any, TypeVar, final

from gotlang.diagnostics import Diagnostic
from gotlang.errors import CompileError, EvaluationError
from gotlang.ir import program as ir
from gotlang.ir.evaluate import evaluate
from gotlang.operations import OPERATIONS
from gotlang.operations.names import POOL_NAMES, free_names, with_expressions
from gotlang.operations.record import MODEL_SETTINGS
from gotlang.scope import START, PoolType
from gotlang.semantics.check import Checked
from gotlang.semantics.params import constant_value
from gotlang.semantics.pipelines import setting
from gotlang.semantics.symbols import Signature
from gotlang.span import NOWHERE, Span
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.syntax.walk import with_parts
from gotlang.templates import Template
from gotlang.types import ANY, STR, ListType, Type, accepts, fits, join

ONE = e.Constant(NOWHERE, 1)
START_POOL = "%start"
"""The empty thought that a scheme starts with, wherever in it."""
PAIR, ROUND = "%pair", "%round"
"""What each merge of a `reduce`, and each round of a `repeat`, starts from."""

_Node = TypeVar("_Node", bound=e.Node)


def build(checked: Checked, name: str) -> ir.Program:
    """The IR of a program without errors. `name` is what runs and traces call it."""
    symbols = checked.symbols
    placed = [
        (declaration, str(PurePosixPath(module.span.source).parent))
        for module in checked.modules
        for declaration in module.declarations
    ]

    def every(kind: type[_Node]) -> Iterator[tuple[_Node, str]]:
        return ((declaration, folder) for declaration, folder in placed if isinstance(declaration, kind))

    def built(signature: Signature) -> _Builder:
        return _Builder(checked, dict(signature.parameters))

    scores = [(d, symbols.scores[d.name.text]) for d, _ in every(n.Score)]
    schemes = [(d, symbols.schemes[d.name.text]) for d, _ in every(n.Scheme)]
    return ir.Program(
        name,
        tuple(build_param(d, symbols.params[d.name.text]) for d, _ in every(n.Param)),
        tuple(build_prompt(d, symbols.prompts[d.name.text]) for d, _ in every(n.Prompt)),
        tuple(built(signature).score(d, signature) for d, signature in scores),
        tuple(built(signature).scheme(d, signature) for d, signature in schemes),
        tuple(
            ir.PythonImport(str(d.path.value), tuple(i.text for i in d.names), folder)
            for d, folder in every(n.ImportPython)
        ),
        tuple(ir.Corpus(d.name.text, str(d.path.value), folder) for d, folder in every(n.ImportCorpus)),
        tuple(ir.PythonImport(str(d.path.value), (), folder) for d, folder in every(n.Simulate)),
    )


def build_region(
    checked: Checked, suite: n.Suite, entry: str, pool: PoolType, given: Iterable[str]
) -> tuple[ir.Region, PoolType]:
    """The region of a block that starts from a pool of a name, and the pool it leaves; names are `given`."""
    return _Builder(checked, given).region(suite, entry, pool)


@final
class _Builder:
    """Builds one scheme or score, whose parameters are `given`."""

    def __init__(self, checked: Checked, given: Iterable[str]) -> None:
        self.checked = checked
        self.naming = _Naming(given)

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
            signature.name, signature.parameters, wanted, signature.many, collect, truth, body, node.span
        )

    def score(self, node: n.Score, signature: Signature) -> ir.ScoreFunction:
        *bindings, last = node.body.statements
        steps: list[ir.Step] = []
        for statement in bindings:
            self.statement(statement, START_POOL, START, steps)
        assert isinstance(last, n.Evaluate | n.Return)
        best = constant_value(node.best) if node.best is not None else None
        region = ir.Region(START_POOL, tuple(steps), START_POOL)
        return ir.ScoreFunction(
            signature.name,
            signature.parameters,
            node.direction == "lower",
            best,
            region,
            self.naming.here(last.value),
            node.span,
        )

    def region(
        self, suite: n.Suite, entry: str, pool: PoolType, names: Iterable[str] = ()
    ) -> tuple[ir.Region, PoolType]:
        """A block's region; its pool starts as `entry`, and `names` are bound in it."""
        self.naming.open(names)
        region = self._steps(suite, entry, pool)
        self.naming.close()
        return region

    def _steps(self, suite: n.Suite, entry: str, pool: PoolType) -> tuple[ir.Region, PoolType]:
        steps: list[ir.Step] = []
        current = entry
        for index, statement in enumerate(suite.statements):
            result = self.statement(statement, current, pool, steps)
            if not isinstance(statement, n.Bind) or index == len(suite.statements) - 1:
                current, pool = result, self.checked.pools[id(statement)]
        return ir.Region(entry, tuple(steps), current), pool

    def statement(self, node: n.Statement, pool: str, kind: PoolType, out: list[ir.Step]) -> str:
        """Append the steps of a statement; the name of the pool it leaves."""
        left = self.checked.pools.get(id(node), kind)
        match node:
            case n.Bind():
                return self._bind(node, pool, kind, left, out)
            case n.Step():
                step = self.step(node, self.naming.fresh(), pool, left)
            case n.Evaluate(value=value) | n.Return(value=value):
                step = self._value(value, self.naming.fresh(), pool, left, node.span)
            case n.Foreach(name=name) if id(node) in self.checked.named:
                step = self.block(node, self.naming.of_name(name.text), pool, kind, left, out)
                self.naming.bind(name.text, step.result)
            case n.Labelled(label=label):
                step = self.block(node, self.naming.of_label(label), pool, kind, left, out)
            case _:
                step = self.block(node, self.naming.fresh(), pool, kind, left, out)
        out.append(step)
        return step.result

    def _bind(self, node: n.Bind, pool: str, kind: PoolType, left: PoolType, out: list[ir.Step]) -> str:
        name = self.naming.of_name(node.name.text)
        step: ir.Step
        match node.value:
            case n.Step():
                step = self.step(node.value, name, pool, left)
            case n.Suite():
                body, _ = self.region(node.value, pool, kind)
                label = node.name.text
                step = ir.Block(name, left.type, left.single, pool, label, (), body=body, span=node.span)
            case n.Foreach() | n.Reduce() | n.RepeatBlock() | n.If() | n.Labelled():
                step = self.block(node.value, name, pool, kind, left, out)
            case _:
                step = self._value(node.value, name, pool, left, node.span)
        out.append(step)
        self.naming.bind(node.name.text, name)
        return name

    def _source(self, values: Iterable[e.Expression], pool: str) -> str:
        """The pool that values are made from: the current one where they look at its thoughts. What looks at
        names only waits for those: `merge step 2 from part[2], part[3]` does not wait for merge step 1."""
        names = {name for value in values for name in free_names(value) if not self.naming.own(name)}
        return pool if names & POOL_NAMES else START_POOL

    def _value(self, value: e.Expression, name: str, pool: str, left: PoolType, span: Span) -> ir.Step:
        if isinstance(value, e.Call) and value.function.text in self.checked.symbols.schemes:
            arguments = self._arguments(value)
            scheme = value.function.text
            return ir.Invoke(name, left.type, left.single, pool, scheme, arguments, span=span)
        source = self._source((value,), pool)
        return ir.Pool(name, left.type, left.single, source, (self.naming.here(value),), span=span)

    # ---------------------------------------------------------------- blocks

    def block(
        self, node: n.Block, name: str, pool: str, kind: PoolType, left: PoolType, out: list[ir.Step]
    ) -> ir.Step:
        """The step of a block; sources of a labelled one are gathered into `out` first."""
        base = (name, left.type, left.single)
        here = self.naming.here
        iterable = None
        if isinstance(node, n.Foreach | n.Reduce) and node.iterable is not None:
            pool, iterable = self._source((node.iterable,), pool), here(node.iterable)
        match node:
            case n.Foreach():
                element, position = node.name.text, node.position.text if node.position else None
                names = [element, *([position] if position is not None else [])]
                self.naming.open(names)
                after = here(node.after) if node.after is not None else None
                body, _ = self._steps(node.body, element, PoolType(left.type, True))
                self.naming.close()
                return ir.Foreach(*base, pool, iterable, element, position, after, body=body, span=node.span)
            case n.Reduce():
                first, second, step = node.left.text, node.right.text, node.step.text if node.step else None
                names = [first, second, *([step] if step is not None else [])]
                body, _ = self.region(node.body, PAIR, PoolType(left.type, False), names)
                return ir.Reduce(*base, pool, iterable, first, second, step, body=body, span=node.span)
            case n.RepeatBlock():
                counter = node.counter.text if node.counter else None
                count = here(node.count)
                self.naming.open([counter] if counter is not None else [])
                body, _ = self._steps(node.body, ROUND, kind)
                until = here(node.until) if node.until is not None else None  # it sees the body's names
                self.naming.close()
                return ir.Repeat(*base, pool, count, counter, until, body=body, span=node.span)
            case n.If():
                branches = tuple((here(c), self.region(b, pool, kind)[0]) for c, b in node.branches)
                otherwise = self.region(node.otherwise, pool, kind)[0] if node.otherwise else None
                return ir.If(*base, pool, branches, otherwise, span=node.span)
            case n.Labelled():
                return self._labelled(node, base, pool, kind, out)

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
                    start, value = self._source((source,), pool), self.naming.here(source)
                    out.append(ir.Pool(inner, known.type, known.single, start, (value,), span=source.span))
                gathered.append(e.Reference(source.span, inner))
                if node.names:
                    names.append((node.names[position].text, inner))
            pool = self.naming.fresh()
            type_ = reduce(lambda left, right: join(left, right) or ANY, (known.type for known in kinds))
            single = len(kinds) == 1 and kinds[0].single
            out.append(ir.Pool(pool, type_, single, START_POOL, tuple(gathered), span=node.span))
        body, _ = self.region(node.body, pool, kind, [name for name, _ in names])
        self.naming.bind_label(node.label, base[0])
        return ir.Block(*base, pool, node.label, tuple(names), body=body, span=node.span)

    # ---------------------------------------------------------------- steps

    def step(self, node: n.Step, name: str, pool: str, left: PoolType) -> ir.Step:
        """The step of an operation, in the names of the IR."""
        if node.operation.text == "Pool":
            pool = self._source(node.operands, pool)
        step = OPERATIONS[node.operation.text].build(node, _StepBuild(self, node, name, pool, left))
        return with_expressions(step, self.naming.here)

    def _arguments(self, call: e.Call) -> ir.Arguments:
        return tuple((name, self.naming.here(value)) for name, value in self.checked.arguments[id(call)])


@final
@dataclass(frozen=True, slots=True)
class _StepBuild:
    """The builder at one step: what an operation's record asks (`gotlang.operations.stages.Building`)."""

    builder: _Builder
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


@final
class _Naming:
    """Which pool each name and each label in force at a place of one scheme or score stands for; `given` are
    its parameters.

    A program may use a name again: for the elements of another `foreach`, or inside a block for something
    else than outside. In the IR no name in force is given twice, since steps look theirs up when they run:
    the later one is called `%part`, `%part_` and so on, and the expressions that mean it say so.
    """

    def __init__(self, given: Iterable[str]) -> None:
        self._count = 0
        self._taken = {START_POOL, PAIR, ROUND}
        self._names: ChainMap[str, str] = ChainMap({name: name for name in given})
        self._labels: ChainMap[str, str] = ChainMap()

    # ---------------------------------------------------------------- new pools

    def fresh(self) -> str:
        """A pool that has no name."""
        self._count += 1
        return f"%{self._count}"

    def of_label(self, label: str) -> str:
        """A pool for what a labelled block leaves: no other one's, whatever other labels there are."""
        name = "%" + label.replace(" ", "_")
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name

    def of_name(self, name: str) -> str:
        """A pool for a name: called like it, unless something in force is."""
        return self.of_label(name) if name in self._names else name

    # ---------------------------------------------------------------- names in force

    def bind(self, name: str, pool: str) -> None:
        """From here on a name stands for a pool."""
        self._names[name] = pool

    def bind_label(self, label: str, pool: str) -> None:
        """From here on a label stands for a pool."""
        self._labels[label] = pool

    def label(self, label: str) -> str:
        """The pool that a label stands for."""
        return self._labels[label]

    def own(self, name: str) -> bool:
        """Whether a name is the program's, whatever it means elsewhere."""
        return name in self._names

    def open(self, names: Iterable[str] = ()) -> None:
        """A block begins, with names of its own."""
        self._names = self._names.new_child({name: name for name in names})
        self._labels = self._labels.new_child()

    def close(self) -> None:
        """The block has ended."""
        self._names, self._labels = self._names.parents, self._labels.parents

    def here(self, node: e.Expression) -> e.Expression:
        """An expression of the program in the names of the IR."""
        other = {name: pool for name, pool in self._names.items() if name != pool}
        return _renamed(node, other) if other else node


def _renamed(node: e.Expression, names: dict[str, str]) -> e.Expression:
    match node:
        case e.Reference(name=name):
            return e.Reference(node.span, names[name]) if name in names else node
        case e.Comprehension(position=position, condition=condition):
            own = {node.name.text, *([position.text] if position is not None else [])}
            inner = {name: pool for name, pool in names.items() if name not in own}
            return replace(
                node,
                element=_renamed(node.element, inner),
                iterable=_renamed(node.iterable, names),
                condition=_renamed(condition, inner) if condition is not None else None,
            )
    return with_parts(node, lambda part: _renamed(part, names))


# ---------------------------------------------------------------- params and prompts


def build_param(node: n.Param, type_: Type) -> ir.Param:
    """The IR of a param whose type is known."""
    default = constant_value(node.default)
    domain = build_domain(node.domain)
    return ir.Param(node.name.text, type_, default, node.each, domain, node.guard, node.span)


def build_domain(node: n.Range | n.Choices | None) -> ir.Domain | None:
    """The values that a param, or a setting of a study, may have."""
    if isinstance(node, n.Range):
        return ir.Domain(constant_value(node.low), constant_value(node.high))
    return ir.Domain(choices=tuple(constant_value(c) for c in node.values)) if node is not None else None


def _value(node: e.Expression) -> Any:
    """The value of a part of an example. Raises CompileError where it has none."""
    try:
        return evaluate(node, {})
    except EvaluationError as error:
        diagnostic = Diagnostic(
            "GOT0405", f"this part of an example has no value: {error.message}", node.span
        )
        raise CompileError((diagnostic,)) from None


def _example(node: n.Example, prompt: ir.Prompt) -> ir.Example:
    """The IR of an example. Raises CompileError if no response text would be read as its output."""
    inputs = tuple((a.name.text, _value(a.value)) for a in node.inputs if a.name is not None)
    try:
        return build_example(inputs, _value(node.output), prompt)
    except EvaluationError as error:
        raise CompileError((Diagnostic("GOT0405", error.message, node.output.span),)) from None


def build_example(inputs: tuple[tuple[str, Any], ...], output: Any, prompt: ir.Prompt) -> ir.Example:
    """An example of a prompt. Raises EvaluationError if no response text would be read as its output."""
    result: Type = ListType(prompt.result) if prompt.many else prompt.result
    if isinstance(output, str) and not accepts(result, STR) and fits(result, output) is not None:
        return ir.Example(inputs, output, output)  # the response itself
    from gotlang.answers.reader import write

    return ir.Example(inputs, output, write(output, result, prompt.form))


def build_prompt(node: n.Prompt, signature: Signature) -> ir.Prompt:
    """The IR of a prompt whose types are known."""

    def template(constant: e.Constant | None) -> Template | None:
        return Template.parse(str(constant.value)) if constant is not None else None

    prompt = ir.Prompt(
        signature.name,
        signature.parameters,
        signature.result,
        signature.many,
        tuple((s.name.text, s.value) for s in node.settings if s.name.text != "count"),
        template(node.system),
        template(node.instruction),
        (),
        template(node.user),
        node.parse.form if node.parse else None,
        node.parse.function.text if node.parse and node.parse.function else None,
        next((s.value for s in node.settings if s.name.text == "count"), None),
        span=node.span,
    )
    return replace(prompt, examples=tuple(_example(example, prompt) for example in node.examples))
