"""Checks `search`, `first` and `race`: what flows through their parts, and what is taken in the end."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from msgspec.structs import replace

from gotlang.diagnostics import nearest
from gotlang.operations.search import BACKUPS, CLAUSES, SELECTIONS, selections
from gotlang.scope import UNKNOWN, Facts, PoolType, Scope, Variable
from gotlang.semantics.facts import leaving_one, require_one_score
from gotlang.semantics.steps import check_setting
from gotlang.span import Span
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.types import ANY, BOOL, EMPTY, Type, accepts, has_error, join, widen, widened

if TYPE_CHECKING:
    from gotlang.semantics.pipelines import PipelineChecker

_SELECT = (
    "write `select uct(1.4)`, `select beam(5)`, `select best` or `select depth`, or choose by `if` and `else`"
)


def wider(entry: Type, left: Type) -> Type:
    """The type that a block is entered with which left a type of thoughts."""
    return entry if entry == EMPTY or has_error(left) else widened(entry, left) or entry


def check_search(checker: PipelineChecker, node: n.Search, pool: PoolType, scope: Scope) -> PoolType:
    """Check a `search`; the state that it leaves, with its value for a score."""
    report = checker.report
    root = checker.value_pool(node.root, pool, scope)
    checker.pools[id(node.root)] = root
    _clauses(checker, node, scope)
    if not root.single:
        message, help = "a `search` starts from one state", "search from each: `foreach root in roots:`"
        report.error("GOT0751", message, node.root.span, "these are several", help=help)
    name = node.state

    def inside(state: PoolType, place: str | None = None) -> Scope:
        known = Variable(name.text, state.type, "thought", name.span, state.facts, True)
        return scope.inside(known, place=place)

    def turn(entry: PoolType) -> tuple[PoolType, PoolType]:
        left = checker.suite(node.expand, entry, inside(entry))
        return left, PoolType(wider(entry.type, left.type), True)

    state, left = checker.steady(node, PoolType(root.type, True), turn)
    state = PoolType(_again(checker, node.expand, "expand", state, left), True, left.facts)
    if node.simulate is not None:
        reached = checker.suite(node.simulate, state, inside(state))
        _one(checker, node.simulate, "simulate", reached)
        state = PoolType(_again(checker, node.simulate, "simulate", state, reached), True, reached.facts)
    valued = checker.suite(node.value, state, inside(state))
    _one(checker, node.value, "value", valued)
    if not valued.facts.scored:
        message, help = "`value` must score the state", "end it with `Score() ...`"
        report.error("GOT0751", message, node.value.span, "leaves no score", help=help)
    else:
        require_one_score(valued.facts, node.value.span, report)
    state = replace(state, facts=state.facts.besides(Facts(True, valued.facts.scores)))
    if node.until is not None:
        here = inside(state, "the `until` of a `search`")
        checker.expressions.condition(node.until, checker.whole(state, here), "the condition of `until`")
    return state if state.type != ANY else UNKNOWN


def _clauses(checker: PipelineChecker, node: n.Search, where: Scope) -> None:
    """Check what the head says, once each."""
    report = checker.report
    seen: set[str] = set()
    for clause in node.clauses:
        name = clause.name.text
        if name in seen:
            report.error("GOT0751", f"duplicate `{name}`", clause.span, help="keep one of them")
        seen.add(name)
        if name == "select":
            _selection(checker, clause.value, where)
        elif name in CLAUSES:
            check_setting(name, clause.value, CLAUSES[name], where, checker.expressions)
        else:
            known = (*CLAUSES, "select", "until")
            report.unknown("GOT0751", "clause", name, clause.name.span, known)
            seen.add(nearest(name, known) or name)
    lost = isinstance(node.root, e.Reference) and node.root.name == e.HOLE
    for name, help in (
        ("rollouts", "say how many states are expanded at most: `rollouts 30`"),
        ("select", _SELECT),
    ):
        if name not in seen and not lost:
            place = Span(node.span.source, node.span.start, node.span.start + len("search"))
            report.error("GOT0751", f"`search` needs `{name}`", place, help=help)
    if node.backup is not None and node.backup.text not in BACKUPS:
        report.unknown("GOT0751", "backup", node.backup.text, node.backup.span, BACKUPS)


def _selection(checker: PipelineChecker, value: e.Expression, where: Scope) -> None:
    """Check how the next state is selected: a name, or a choice between them."""
    if isinstance(value, e.Conditional):
        checker.expressions.expect(value.condition, where, BOOL, "a condition")
        _selection(checker, value.then, where)
        _selection(checker, value.otherwise, where)
        return
    for name, number in selections(value):
        if (rule := SELECTIONS.get(name)) is not None and number is not None:
            check_setting(name, number, rule, where, checker.expressions)
        elif not name:
            checker.report.error("GOT0751", "this selects no state", value.span, help=_SELECT)


def _again(checker: PipelineChecker, part: n.Suite, word: str, state: PoolType, left: PoolType) -> Type:
    """The type of a state that a part leaves, which it must take again."""
    if has_error(left.type) or accepts(state.type, left.type):
        return state.type
    message = f"`{word}` must leave states: {widen(state.type)}"
    checker.report.error("GOT0201", message, part.statements[-1].span, f"this outputs {widen(left.type)}")
    return ANY


def _one(checker: PipelineChecker, part: n.Suite, word: str, left: PoolType) -> None:
    if not left.single:
        message = f"`{word}` must output one thought"
        checker.report.error(
            "GOT0302", message, part.span, "outputs any number", help=leaving_one(left.facts)
        )


def check_first(checker: PipelineChecker, node: n.First, pool: PoolType, scope: Scope) -> PoolType:
    """Check a `first` or a `race`; what it leaves, which any of its lines may have left."""
    word = "race" if node.way == "race" else "first"
    if len(node.lines) < 2:
        message, help = f"`{word}` chooses between lines, and this is one", "add another below it"
        checker.report.error("GOT0752", message, node.lines[0].span, help=help)
    results = [(checker.suite(line, pool, scope.inside()), line) for line in node.lines]
    found = checker.branches(word, results)
    looked = results if node.way == "race" else results[:-1]
    if node.until is not None and looked and found is not UNKNOWN:
        pools = [left for left, _ in looked]
        type_ = reduce(lambda one, other: join(one, other) or ANY, (left.type for left in pools))
        facts = reduce(Facts.both, (left.facts for left in pools))
        kind = PoolType(type_, all(left.single for left in pools), facts)
        checker.expressions.condition(
            node.until, checker.whole(kind, scope.inside()), "the condition of `until`"
        )
    return found
