"""Checks `match`: which cases its branches are for, whether all are there, and what is known inside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gotlang.diagnostics import Label, nearest
from gotlang.operations.match import Key, key_of, key_text, narrowed_by, options, possible
from gotlang.scope import Narrowed, PoolType, Scope
from gotlang.semantics import narrowing
from gotlang.span import Span
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.types import ANY, NEVER, AnyType, RecordType, Type, common, widen

if TYPE_CHECKING:
    from gotlang.semantics.pipelines import PipelineChecker


def check_match(checker: PipelineChecker, node: n.Match, pool: PoolType, scope: Scope) -> PoolType:
    """Check a `match`; returns its output."""
    type_ = checker.expressions.infer(node.subject, checker.whole(pool, scope))
    seen: dict[Key, Span] = {}
    right = not any(map(n.is_lost, node.branches))

    def inside(known: Type) -> tuple[PoolType, Scope]:
        facts: Narrowed = {node.subject: known} if narrowing.is_subject(node.subject) else {}
        inner, names = narrowing.inside(facts, pool, scope)
        if checker.expressions.quiet(node.subject, checker.whole(inner, names)) != known:
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


def _possible(checker: PipelineChecker, key: Key, place: Span, type_: Type, seen: Mapping[Key, Span]) -> bool:
    """Whether a value may be what a pattern stands for, and no earlier branch is for that; else an error."""
    if isinstance(type_, AnyType):
        return False
    if not possible(type_, key):
        known = [key_text(other) for other in options(type_)[0]]
        guess = nearest(key_text(key), known)
        help = f"did you mean `{guess}`?" if guess else None
        help = help or (f"it may be {', '.join(f'`{text}`' for text in known)}" if known else None)
        help = help or "compare it in an `if`; `match` is for alternatives"
        checker.report.error("GOT0221", f"{widen(type_)} is never `{key_text(key)}`", place, help=help)
    elif key in seen:
        labels = (Label(seen[key], "first here"),)
        message = f"duplicate branch for `{key_text(key)}`"
        checker.report.error("GOT0221", message, place, "never reached", labels=labels)
    return possible(type_, key) and key not in seen


def _known(checker: PipelineChecker, keys: list[Key], type_: Type) -> Type:
    """The type of the value where it is one of these; of a case that it never is, that case."""
    if not keys:
        return ANY
    if all(possible(type_, key) for key in keys):
        return narrowed_by(type_, keys) or ANY
    return common(checker.symbols.cases.get(str(name), ANY) for _, name in keys) or ANY


def _bind(checker: PipelineChecker, branch: n.MatchBranch, known: Type, scope: Scope) -> None:
    """Bring the names of a branch into scope: of the value, and of its fields."""
    names: list[tuple[e.Identifier, Type]] = []
    for pattern in branch.patterns:
        if not isinstance(pattern, n.CasePattern):
            continue
        for field in pattern.fields:
            found = known.field(field.text) if isinstance(known, RecordType) else ANY
            if found is None and isinstance(known, RecordType):
                fields, note = [name for name, _ in known.fields[1:]], f"it is {known.written()}"
                checker.report.unknown("GOT0208", "field", field.text, field.span, fields, note)
            names.append((field, found or ANY))
    names += [(branch.name, known)] if branch.name is not None else []
    for name, type_ in names:
        bound = PoolType(type_, True)
        checker.pools[id(name)] = bound
        scope.add(bound.variable(name.text, name.span))
