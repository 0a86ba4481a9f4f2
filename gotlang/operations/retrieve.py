"""`Retrieve`: the k documents of a corpus, or of a list, that match a query best, best first."""

from __future__ import annotations

from typing import final

from gotlang.amounts import ONE, ZERO, Amount, Polynomial
from gotlang.errors import EvaluationError, OperationFailed
from gotlang.flows import FREE, NOTHING_KNOWN, Flow, FlowScope, Result
from gotlang.operations.record import NO_FACT, K, OperationRecord, StepLabel, Syntax, tool
from gotlang.operations.sampled import one_call
from gotlang.operations.stages import Building, Checking, Estimating, Running, Verifying
from gotlang.operations.step import Step
from gotlang.scope import PoolType
from gotlang.span import NOWHERE
from gotlang.syntax import nodes as n
from gotlang.syntax.expressions import Argument, Call, Expression, Identifier, Reference
from gotlang.thought import Thought, Thoughts
from gotlang.types import INT, STR, ListType

_GIVEN = tuple(Argument(NOWHERE, None, Reference(NOWHERE, name)) for name in ("texts", "query", "k"))
_BEST = Call(NOWHERE, Identifier(NOWHERE, "bm25"), _GIVEN)


@final
class Retrieve(Step, frozen=True):
    """Documents become new thoughts: those of a corpus, or of the list `texts`, which has that name."""

    corpus: str
    query: Expression
    k: Expression
    texts: Expression | None = None


def _check(node: n.Step, c: Checking) -> PoolType:
    operand = node.operands[0]
    name = operand.function.text if isinstance(operand, Call) else ""
    if isinstance(operand, Call) and c.each.find(name) is not None:
        c.expect(Reference(operand.function.span, name), c.each, ListType(STR), "what is searched")
    elif not c.corpus(operand):
        c.error(
            "GOT0315",
            "`Retrieve` searches a corpus",
            operand.span,
            f"`{name}` is neither a corpus nor a list" if name else "",
            help='declare it: `import corpus "pages.jsonl": wiki`, then `Retrieve(k=5) wiki(question)`',
        )
        return PoolType(STR, False)
    assert isinstance(operand, Call)
    if len(operand.arguments) != 1:
        c.error("GOT0202", f"`{name}` takes one query", operand.span)
    for argument in operand.arguments:
        c.expect(argument.value, c.each, STR, "a query")
    return PoolType(STR, False)


def _build(node: n.Step, b: Building) -> Retrieve:
    call = node.operands[0]
    assert isinstance(call, Call)
    name, query = call.function.text, call.arguments[0].value
    texts = Reference(call.function.span, name) if b.in_force(name) else None
    return Retrieve(*b.base, name, query, b.count("k"), texts, span=node.span)


def _verify(step: Retrieve, v: Verifying) -> PoolType:
    v.expect(step.query, v.each, STR)
    v.expect(step.k, v.whole, INT)
    if step.texts is not None:
        v.expect(step.texts, v.each, ListType(STR))
    return PoolType(STR, False)


def _estimate(step: Retrieve, scope: FlowScope, e: Estimating) -> Result:
    pool = scope.flow(step.pool)
    most = pool.count * e.amount(step.k, scope.whole(pool))
    hops = scope.hops(e.needs(step), pool.hops)
    volume = ZERO if pool.start else pool.volume + ONE
    return Flow(Amount(Polynomial.of(0), most.high), NOTHING_KNOWN, hops, volume), FREE


async def _run(step: Retrieve, thoughts: Thoughts, running: Running) -> Thoughts:
    """`Retrieve`: a thought whose search fails is left out."""
    k = running.count(step.k, thoughts, "k", 1)

    async def search(thought: Thought) -> list[str]:
        names = running.each(thought)
        query = running.evaluate(step.query, names)
        if step.texts is not None:
            found: list[str] = running.evaluate(
                _BEST, {"texts": running.evaluate(step.texts, names), "query": query, "k": k}
            )
            return found
        texts = await running.search(step.corpus, query, k)
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise EvaluationError(f"`{step.corpus}` did not return a list of strings")
        return texts

    out: list[Thought] = []
    for at, texts in await running.for_each_call(thoughts, search):
        out.extend(running.derived(text, len(out) + i, (thoughts[at],)) for i, text in enumerate(texts))
    if not out:
        raise OperationFailed(f"`{step.corpus}` has no matching document")
    return Thoughts(out)


OPERATION = OperationRecord(
    name="Retrieve",
    syntax=Syntax({"k": K}, "Retrieve(k=5) wiki(question)", first="k"),
    usage="`Retrieve(k=5) corpus(query)`, `Retrieve(k=5) texts(query)`",
    doc="retrieves the k documents of a corpus, or of a list of texts, that match the query best, best first",
    fails="no document is found",
    asks=NO_FACT,
    keeps=False,
    check=_check,
    step=Retrieve,
    build=_build,
    text="Retrieve {corpus(query):search}[ in {texts}] from {pool}, k {k}",
    verify=_verify,
    effects=lambda step, declared: frozenset({"reads"}),
    estimate=_estimate,
    remaining=one_call,
    run=tool(_run),
    label=lambda step: StepLabel.of(step.k, "k", step.corpus),
    family="tool",
)
