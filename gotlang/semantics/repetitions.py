"""`Repeat(k)` after a step or a call and over a block: what it repeats, and whether that can differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from gotlang.operations import OPERATIONS
from gotlang.operations.sampling import Sampling
from gotlang.scope import SKIPPED, UNKNOWN, PoolType, Scope
from gotlang.semantics.blocks import BlockChecker
from gotlang.semantics.steps import REPEAT, check_settings, setting
from gotlang.semantics.symbols import Symbols
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.syntax.format import format_expression
from gotlang.syntax.walk import walk


def check_again(checker: BlockChecker, node: n.Step, scope: Scope) -> None:
    """Check the `Repeat(k)` after a step, whose settings are in a scope."""
    if node.again is None or not _is_repeat(checker, node.again):
        return
    name, report = node.operation.text, checker.report
    if not issubclass(OPERATIONS[name].step, Sampling):
        help = "only a step that calls a model, a scheme's call and a block can be repeated"
        report.error("GOT0309", f"`{name}` cannot be repeated", node.again.span, help=help)
        return
    if (until := setting(node, "until")) is not None:
        message = "a step with `until` cannot be repeated: `until` would end all repetitions"
        report.error("GOT0309", message, until.span, help="write `Repeat(k):`, and the step below it")
    _check_settings(checker, node.again, (node,), scope)


def check_repeated(checker: BlockChecker, node: n.Repeated, pool: PoolType, scope: Scope) -> PoolType:
    """Check a block or a scheme's call that is repeated; the pool it leaves."""
    value = node.body.statements[0]
    called = value.value if isinstance(value, n.Evaluate) else None
    schemes = checker.symbols.schemes
    if not _is_repeat(checker, node.again, block=not node.follows):
        return UNKNOWN
    if node.follows and not (isinstance(called, e.Call) and called.function.text in schemes):
        help = "`Repeat(k)` follows a step that calls a model, or a scheme's call"
        checker.report.error("GOT0309", "this cannot be repeated", node.again.span, help=help)
        return UNKNOWN
    found = checker.suite(node.body, pool, scope.inside())
    _check_settings(checker, node.again, node.body.statements, scope.whole(pool))
    return found if found in (UNKNOWN, SKIPPED) else PoolType(found.type, False, found.facts)


def _is_repeat(checker: BlockChecker, again: n.Step, *, block: bool = False) -> bool:
    name = again.operation.text
    if name == "Repeat":
        return True
    if (case := checker.symbols.cases.get(name)) is not None:
        help = f"write its fields in braces: `{case.written()}`"
        checker.report.error("GOT0309", f"`{name}` is a case, not a step", again.span, help=help)
        return False
    message = f"`{name}` begins no block" if block else f"`{name}` must be a step of its own"
    follow = "write it on the next line; only `Repeat(k)` can follow a step"
    help = "remove the `:`, and what is below it is a step of its own" if block else follow
    checker.report.error("GOT0309", message, again.span, help=help)
    return False


def _check_settings(
    checker: BlockChecker, again: n.Step, repeated: Iterable[n.Statement], scope: Scope
) -> None:
    """Check the settings of a `Repeat`, and that what it repeats can differ."""
    check_settings(again, REPEAT, scope, checker.expressions)
    temperature, k = setting(again, "temperature"), setting(again, "k")
    inner = (part for one in repeated for part in walk(one))
    known = checker.symbols.callables()
    lost = any(
        (isinstance(part, e.Reference) and part.name == e.HOLE)
        or (isinstance(part, e.Call) and part.function.text not in known)
        for part in inner
    )
    if k is None or lost or setting(again, "seed") is not None:
        return
    shown = format_expression(k)
    message = help = ""
    if temperature is not None:
        if _number(temperature) == 0:
            message = "at temperature 0 the later repetitions are all equal"
    elif not (asked := list(_temperatures(repeated, checker.symbols, set()))):
        message, help = "nothing here asks a model, so the repetitions are all equal", "remove the `Repeat`"
    elif all(each == 0 for each in asked):
        message = "at temperature 0 the repetitions are all equal"
    if message:
        higher = f"write `Repeat({shown}, temperature=0.7)` or `Repeat({shown}, seed=1)`, for the later ones"
        checker.report.error("GOT0316", message, again.span, help=help or higher)


def _number(node: e.Expression | None) -> Any:
    return node.value if isinstance(node, e.Constant) else None


def _temperatures(nodes: Iterable[e.Node], symbols: Symbols, seen: set[str]) -> Iterator[Any]:
    """The temperatures of what asks a model in some statements, and in what they call; None: not known."""
    for node in (inner for root in nodes for inner in walk(root)):
        own = None
        if isinstance(node, n.Step):
            own = setting(node, "temperature")
            if node.operation.text == "Call":
                yield None
            for operand in node.operands:
                prompt = symbols.nodes.get(operand.function.text) if isinstance(operand, e.Call) else None
                if isinstance(prompt, n.Prompt):
                    given = [each.value for each in prompt.settings if each.name.text == "temperature"]
                    yield _number(own if own is not None else next(iter(given), None))
        elif isinstance(node, e.Call) and node.function.text not in seen:
            declared = symbols.nodes.get(node.function.text)
            if isinstance(declared, n.Scheme | n.Score):
                seen.add(node.function.text)
                yield from _temperatures((declared.body,), symbols, seen)
