"""Checks blocks: `match`, `search`, `first`, `race` and `Repeat(k)`, and their outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce
from typing import Any, Protocol

from msgspec.structs import replace

from gotlang.diagnostics import Fix, Label, Report, nearest
from gotlang.operations import OPERATIONS
from gotlang.operations.match import Key, key_of, key_text, narrowed_by, options, possible
from gotlang.operations.sampled import SampledStep
from gotlang.operations.search import BACKUPS, CLAUSES, SELECTIONS, selections
from gotlang.scope import SKIPPED, UNKNOWN, Facts, Narrowed, PoolType, Scope, Variable
from gotlang.semantics import conditions
from gotlang.semantics.expressions import ExpressionChecker
from gotlang.semantics.facts import leaving_one, require_one_score
from gotlang.semantics.steps import REPEAT, check_setting, check_settings, setting, value_pool
from gotlang.semantics.symbols import Symbols
from gotlang.span import Span
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.syntax.format import format_expression
from gotlang.syntax.walk import walk
from gotlang.types import (
    ANY,
    BOOL,
    EMPTY,
    NEVER,
    AnyType,
    RecordType,
    Type,
    accepts,
    common,
    has_error,
    join,
    widen,
    widened,
)


class BlockChecker(Protocol):
    """The checker of a pipeline, as its blocks see it."""

    symbols: Symbols
    report: Report
    expressions: ExpressionChecker
    pools: dict[int, PoolType]

    def suite(self, suite: n.Suite, pool: PoolType, scope: Scope) -> PoolType:
        """Check the statements of a block in order; returns the output of the last one."""

    def branches(
        self, block: str, results: list[tuple[PoolType, n.Suite]], passed: PoolType | None = None
    ) -> PoolType:
        """The output of a block of which one branch runs; or none, in which case the pool is unchanged."""

    def steady(
        self, node: n.Block, start: PoolType, again: Callable[[PoolType], tuple[PoolType, PoolType]]
    ) -> tuple[PoolType, PoolType]:
        """The facts that each round of a block can rely on, and its output; `again` checks a round."""


def check_match(checker: BlockChecker, node: n.Match, pool: PoolType, scope: Scope) -> PoolType:
    """Check a `match`; returns its output."""
    type_ = checker.expressions.infer(node.subject, scope.whole(pool))
    seen: dict[Key, Span] = {}
    right = not any(map(n.is_unreadable, node.branches))

    def inside(known: Type) -> tuple[PoolType, Scope]:
        facts: Narrowed = {node.subject: known} if conditions.is_subject(node.subject) else {}
        inner, names = conditions.inside(facts, pool, scope)
        if checker.expressions.quiet(node.subject, names.whole(inner)) != known:
            checker.pools[id(node.subject)] = PoolType(
                type_, True
            )  # it needs a name that is known to be that
        return inner, names.inside()

    results: list[tuple[PoolType, n.Suite]] = []
    for branch in node.branches:
        keys = [_key(pattern) for pattern in branch.patterns]
        for key, pattern in zip(keys, branch.patterns, strict=True):
            place = pattern.case.span if isinstance(pattern, n.CasePattern) else pattern.span
            right = _possible(checker, key, place, type_, seen) and right
            seen.setdefault(key, place)
        known = _known(checker, keys, type_)
        inner, where = inside(known)
        _bind(checker, branch, known, where)
        results.append((checker.suite(branch.body, inner, where), branch.body))
    left = narrowed_by(type_, list(seen), otherwise=True)
    if node.otherwise is not None:
        inner, where = inside(left or NEVER)
        results.append((checker.suite(node.otherwise, inner, where), node.otherwise))
    if right and node.otherwise is not None and left is None:
        at, help = "never reached", "delete `else:` with its block"
        span = node.otherwise.statements[0].span
        checker.report.error("GOT0221", f"all that {widen(type_)} may be is above", span, at, help=help)
    elif right and node.otherwise is None and left is not None:
        missing = [key_text(key) for key in options(type_)[0] if key not in seen]
        what = ", ".join(f"`{text}`" for text in missing) or f"other values of {widen(type_)}"
        help = f"add `{' | '.join(missing)}:`, or `else:`" if missing else "add `else:`"
        checker.report.error("GOT0220", f"`match` has no branch for {what}", node.subject.span, help=help)
    return checker.branches("match", results)


def _key(pattern: n.CasePattern | e.Constant) -> Key:
    return ("case", pattern.case.text) if isinstance(pattern, n.CasePattern) else key_of(pattern)


def _possible(checker: BlockChecker, key: Key, place: Span, type_: Type, seen: Mapping[Key, Span]) -> bool:
    """Whether a value may match a pattern that no earlier branch handles; otherwise an error."""
    if isinstance(type_, AnyType):
        return False
    if not possible(type_, key):
        known = [key_text(other) for other in options(type_)[0]]
        guess = nearest(key_text(key), known)
        help = f"did you mean `{guess}`?" if guess else None
        help = help or (f"it may be {', '.join(f'`{text}`' for text in known)}" if known else None)
        help = help or "compare it in an `if`; `match` is for unions"
        message, word = (
            f"{widen(type_)} is never `{key_text(key)}`",
            place.end - place.start == len(key_text(key)),
        )
        fix = Fix(place, guess) if guess and word else None
        checker.report.error("GOT0221", message, place, help=help, fix=fix)
    elif key in seen:
        labels = (Label(seen[key], "first here"),)
        message = f"duplicate branch for `{key_text(key)}`"
        checker.report.error("GOT0221", message, place, "never reached", labels=labels)
    return possible(type_, key) and key not in seen


def _known(checker: BlockChecker, keys: list[Key], type_: Type) -> Type:
    """The type of the value if it matches one of these; for a case that it never has, that case."""
    if not keys:
        return ANY
    if all(possible(type_, key) for key in keys):
        return narrowed_by(type_, keys) or ANY
    return common(checker.symbols.cases.get(str(name), ANY) for _, name in keys) or ANY


def _bind(checker: BlockChecker, branch: n.MatchBranch, known: Type, scope: Scope) -> None:
    """Bring the names of a branch into scope: of the value, and of its fields."""
    names: list[tuple[e.Identifier, Type]] = []
    for pattern in branch.patterns:
        if not isinstance(pattern, n.CasePattern):
            continue
        for field in pattern.fields:
            found = known.field(field.text) if isinstance(known, RecordType) else ANY
            if found is None and isinstance(known, RecordType):
                fields, note = [name for name, _ in known.fields[1:]], f"it is {known.written()}"
                checker.report.unknown("GOT0208", "field", field.text, field.span, fields, note, last=True)
            names.append((field, found or ANY))
    names += [(branch.name, known)] if branch.name is not None else []
    for name, type_ in names:
        bound = PoolType(type_, True)
        checker.pools[id(name)] = bound
        scope.add(bound.variable(name.text, name.span))


_SELECT = (
    "write `select uct(1.4)`, `select beam(5)`, `select best` or `select depth`, or choose by `if` and `else`"
)


def wider(entry: Type, left: Type) -> Type:
    """The input type of a block whose output was a type of thoughts."""
    return entry if entry == EMPTY or has_error(left) else widened(entry, left) or entry


def check_search(checker: BlockChecker, node: n.Search, pool: PoolType, scope: Scope) -> PoolType:
    """Check a `search`; returns the state that it outputs, with its value as a score."""
    report = checker.report
    root = value_pool(checker.expressions, node.root, pool, scope)
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
    state = replace(state, facts=state.facts.merged(Facts(True, valued.facts.scores)))
    if node.until is not None:
        here = inside(state, "the `until` of a `search`")
        checker.expressions.condition(node.until, here.whole(state), "the condition of `until`")
    return state if state.type != ANY else UNKNOWN


def _clauses(checker: BlockChecker, node: n.Search, where: Scope) -> None:
    """Check the clauses of the head, without duplicates."""
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
        ("rollouts", "set the maximum number of expanded states: `rollouts 30`"),
        ("select", _SELECT),
    ):
        if name not in seen and not lost:
            place = Span(node.span.source, node.span.start, node.span.start + len("search"))
            report.error("GOT0751", f"`search` needs `{name}`", place, help=help)
    if node.backup is not None and node.backup.text not in BACKUPS:
        report.unknown("GOT0751", "backup", node.backup.text, node.backup.span, BACKUPS)


def _selection(checker: BlockChecker, value: e.Expression, where: Scope) -> None:
    """Check the selection strategy: a name, or a choice between names."""
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


def _again(checker: BlockChecker, part: n.Suite, word: str, state: PoolType, left: PoolType) -> Type:
    """The type of a state that a part outputs, which must be that of its input."""
    if has_error(left.type) or accepts(state.type, left.type):
        return state.type
    message = f"`{word}` must leave states: {widen(state.type)}"
    checker.report.error("GOT0201", message, part.statements[-1].span, f"this outputs {widen(left.type)}")
    return ANY


def _one(checker: BlockChecker, part: n.Suite, word: str, left: PoolType) -> None:
    if not left.single:
        message = f"`{word}` must output one thought"
        checker.report.error(
            "GOT0302", message, part.span, "outputs any number", help=leaving_one(left.facts)
        )


def check_first(checker: BlockChecker, node: n.First, pool: PoolType, scope: Scope) -> PoolType:
    """Check a `first` or a `race`; returns its output, which is that of any alternative."""
    word = "race" if node.way == "race" else "first"
    span = node.lines[0].span
    if len(node.lines) < 2 and span.start < span.end:  # reported as unreadable
        message, help = f"`{word}` needs several alternatives, and this is one", "add another below it"
        checker.report.error("GOT0752", message, span, help=help)
    results = [(checker.suite(line, pool, scope.inside()), line) for line in node.lines]
    found = checker.branches(word, results)
    looked = results if node.way == "race" else results[:-1]
    if node.until is not None and looked and found is not UNKNOWN:
        pools = [left for left, _ in looked]
        type_ = reduce(lambda one, other: join(one, other) or ANY, (left.type for left in pools))
        facts = reduce(Facts.both, (left.facts for left in pools))
        kind = PoolType(type_, all(left.single for left in pools), facts)
        checker.expressions.condition(node.until, scope.inside().whole(kind), "the condition of `until`")
    return found


def check_again(checker: BlockChecker, node: n.Step, scope: Scope) -> None:
    """Check the `Repeat(k)` after a step, whose settings are in a scope."""
    if node.again is None or not _is_repeat(checker, node.again):
        return
    name, report = node.operation.text, checker.report
    if not issubclass(OPERATIONS[name].step, SampledStep):
        help = "only a step that calls a model, a scheme's call and a block can be repeated"
        report.error("GOT0309", f"`{name}` cannot be repeated", node.again.span, help=help)
        return
    if (until := setting(node, "until")) is not None:
        message = "a step with `until` cannot be repeated: `until` would end all repetitions"
        report.error("GOT0309", message, until.span, help="write `Repeat(k):`, and the step below it")
    _check_settings(checker, node.again, (node,), scope)


def check_repeated(checker: BlockChecker, node: n.Repeated, pool: PoolType, scope: Scope) -> PoolType:
    """Check a block or a scheme's call that is repeated; returns its output."""
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
    message = f"`{name}` does not start a block" if block else f"`{name}` must be a step of its own"
    follow = "write it on the next line; only `Repeat(k)` can follow a step"
    help = "remove the `:`, and make the lines below separate steps" if block else follow
    checker.report.error("GOT0309", message, again.span, help=help)
    return False


def _check_settings(
    checker: BlockChecker, again: n.Step, repeated: Iterable[n.Statement], scope: Scope
) -> None:
    """Check the settings of a `Repeat`, and that the repetitions can differ."""
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
        message, help = "no step here calls a model, so the repetitions are all equal", "remove the `Repeat`"
    elif all(each == 0 for each in asked):
        message = "at temperature 0 the repetitions are all equal"
    if message:
        higher = f"write `Repeat({shown}, temperature=0.7)` or `Repeat({shown}, seed=1)`, for the later ones"
        checker.report.error("GOT0316", message, again.span, help=help or higher)


def _number(node: e.Expression | None) -> Any:
    return node.value if isinstance(node, e.Constant) else None


def _temperatures(nodes: Iterable[e.Node], symbols: Symbols, seen: set[str]) -> Iterator[Any]:
    """The temperatures of model calls in some statements, and in what they call; None: not known."""
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
