"""`split`: solves the parts of an input separately and joins their results, instead of solving it whole."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import final

from msgspec import structs

from gotlang.operations.names import free_names
from gotlang.semantics.symbols import Signature
from gotlang.span import NOWHERE
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.syntax.format import format_expression
from gotlang.syntax.walk import walk
from gotlang.tune.rewrites.stage import (
    CHOOSERS,
    MENDERS,
    SCORE,
    Number,
    Replacement,
    Rewrite,
    Stage,
    Statements,
    changed,
)
from gotlang.types import INT, STR, DictType, ListType, Type, accepts


@final
@dataclass(frozen=True, slots=True)
class _Parts:
    """A way to split an input: the lines before, and the list of its parts. `count` is their number, None if
    a model determines it; `asked` tells that a model is called."""

    about: str
    lines: tuple[str, ...]
    value: str
    count: Number | None
    asked: bool


@final
@dataclass(frozen=True, slots=True)
class _Join:
    """A way to join two thoughts: a prompt, or an expression in `{left}` and `{right}`."""

    about: str
    prompt: Signature | None = None
    expression: str = ""


def _changes(stage: Stage) -> Iterator[Replacement]:
    if not stage.single or stage.head.operation.text != "Generate" or stage.suite is not stage.scheme.body:
        return
    inputs = stage.inputs()
    for argument in stage.arguments.values():
        if isinstance(argument, e.Reference) and argument.name in inputs:
            kind = inputs[argument.name]
            for parts in _taken_apart(stage, argument.name, kind):
                for join in _joins(stage):
                    if (change := _split(stage, argument.name, kind, parts, join)) is not None:
                        yield change


def _taken_apart(stage: Stage, source: str, kind: Type) -> Iterator[_Parts]:
    """A list is cut by the program; an input that a prompt can split into several of its type, by that
    prompt."""
    count = stage.number(f"{source}_parts", 4, 2, 16)
    if isinstance(kind, ListType):
        yield _Parts(source, (), f"chunks({source}, {count.name})", count, False)
        return
    for prompt in stage.prompts.values():
        types = [type_ for _, type_ in prompt.parameters]
        if prompt.many and prompt.result == kind and types in ([kind], [kind, INT], [INT, kind]):
            given = ", ".join(source if type_ == kind else count.name for type_ in types)
            name = stage.fresh(f"{source}_list")
            line = f"{name} = Generate() {prompt.name}({given})"
            yield _Parts(prompt.name, (line,), name, count if INT in types else None, True)


def _joins(stage: Stage) -> Iterator[_Join]:
    for prompt in stage.prompts.values():
        types = [type_ for _, type_ in prompt.parameters]
        two = types == [stage.result] * 2 and prompt.result == stage.result and not prompt.many
        if two and not stage.names(prompt):
            yield _Join(prompt.name, prompt)
    match stage.result:
        case ListType():
            yield _Join("append", expression="{left} + {right}")
        case DictType(value=value) if value == INT:
            yield _Join("add_counts", expression="add_counts({left}, {right})")


def _split(stage: Stage, source: str, kind: Type, parts: _Parts, join: _Join) -> Replacement | None:
    scored, needed = stage.has(SCORE), stage.has(CHOOSERS | MENDERS)
    local = _local(stage, source, kind) if scored else None
    if scored and needed and local is None:
        return None  # nothing measures the quality of a part
    own = stage.statements if not scored or local is not None else (stage.head,)
    last = stage.statements[-1]
    part, left, right, whole = (stage.fresh(word) for word in ("part", "left", "right", "whole"))
    tracked = local is not None or any(source in _names(one) for one in own[1:])
    ends = (f"{left}.found", f"{right}.found") if tracked else (left, right)
    numbers, renamed, own_tries = [] if parts.count is None else [parts.count], dict[str, str](), ""

    def about(name: str, statements: Statements) -> Statements:
        return tuple(_moved(one, stage, source, name, local) for one in statements)

    joining: Statements
    if join.prompt is None:
        joining = stage.parsed("Pool() " + join.expression.format(left=ends[0], right=ends[1]), after=last)
    else:
        used = set[str]().union(*map(_names, own[1:]))
        copies = {
            one.name: replace(one, name=stage.fresh(f"{join.prompt.name}_{one.name}", param=True))
            for one in stage.numbers
            if one.name in used
        }
        tries = stage.number(f"{join.prompt.name}_tries", 5, 1, 10)
        several = len(own) > 1 and stage.k is not None
        numbers += [tries] if several else []
        numbers += copies.values()
        renamed = {name: copy.name for name, copy in copies.items()}
        if several and stage.k is not None:
            renamed[format_expression(stage.k)] = tries.name
            if all(one.name != format_expression(stage.k) for one in stage.numbers):
                own_tries = f"{tries.name} * "
        asked = f"Aggregate({tries.name if several else ''}) {join.prompt.name}({ends[0]}, {ends[1]})"
        mended = (_renamed(one, renamed) for one in about(whole, own[1:]))
        joining = *stage.parsed(asked, after=last), *mended
    glue = ' + " " + ' if kind == STR else " + "
    shell = stage.parsed(
        *parts.lines,
        f"foreach {part} in {parts.value}:",
        f"    Map() {{whole: {part}, found: it}}",
        f"reduce {left}, {right}:",
        f"    {whole} = {left}.whole{glue}{right}.whole",
        f"    Map() {{whole: {whole}, found: it}}",
        "Map() it.found" if tracked else "",
        stage.scoring if scored else "",
        after=last,
    )
    each, merging = shell[len(parts.lines) : len(parts.lines) + 2]
    assert isinstance(each, n.Foreach) and isinstance(merging, n.Reduce)
    kept, (bound, again) = each.body.statements, merging.body.statements
    inside = *about(part, own), *(kept if tracked else ())
    each = structs.replace(each, body=structs.replace(each.body, statements=inside))
    joined = (bound, *joining, again) if tracked else joining
    merging = structs.replace(merging, body=structs.replace(merging.body, statements=joined))
    most = None
    if parts.count is not None and stage.most is not None:
        count, merge = parts.count.name, _with(stage.most, renamed) if join.prompt is not None else "0"
        merge = f"{own_tries}({merge})"
        most = f"{2 if parts.asked else 1} + {count} + ({count} - 1) * {merge}"
    statements = (*shell[: len(parts.lines)], each, merging, *shell[len(parts.lines) + 2 :])
    least = "0" if parts.asked else "1"
    return Replacement(f"{parts.about},{join.about}", statements, tuple(numbers), least, most, None, renamed)


def _local(stage: Stage, source: str, kind: Type) -> Callable[[str], e.Expression] | None:
    """The score of the result for a part, by the name of the part: the score itself if it uses the input,
    else a declared one that accepts the part as well as inputs with its own names."""
    own = stage.scored
    if own is None or source in free_names(own):
        return (lambda name: _substituted(own, source, name)) if own is not None else None
    inputs = stage.inputs()
    for score in stage.program.checked.symbols.scores.values():
        known = {key for key, type_ in score.parameters if key in inputs and accepts(type_, inputs[key])}
        left = [(key, type_) for key, type_ in score.parameters if key not in known]
        fits = len(left) == 2 and accepts(left[0][1], stage.result) and accepts(left[1][1], kind)
        if fits and score.name not in stage.program.checked.symbols.asking:

            def scored(
                name: str, score: Signature = score, given: tuple[str, ...] = tuple(key for key, _ in left)
            ) -> e.Expression:
                values = {given[0]: "it", given[1]: name}
                arguments = (e.Reference(NOWHERE, values.get(key, key)) for key, _ in score.parameters)
                called = e.Identifier(NOWHERE, score.name)
                return e.Call(NOWHERE, called, tuple(e.Argument(NOWHERE, None, one) for one in arguments))

            return scored
    return None


def _moved(
    statement: n.Statement,
    stage: Stage,
    source: str,
    name: str,
    local: Callable[[str], e.Expression] | None,
) -> n.Statement:
    """A statement about a part of the input, by its name."""
    own = stage.scored
    other = local(name) if local is not None and own is not None and source not in free_names(own) else None

    def change(node: e.Node) -> e.Node:
        if isinstance(node, e.Reference) and node.name == source:
            return structs.replace(node, name=name)
        return other if other is not None and node == own else node

    return changed(statement, change)


def _substituted(node: e.Expression, source: str, name: str) -> e.Expression:
    def change(part: e.Node) -> e.Node:
        return (
            structs.replace(part, name=name)
            if isinstance(part, e.Reference) and part.name == source
            else part
        )

    return changed(node, change)


def _renamed(statement: n.Statement, names: Mapping[str, str]) -> n.Statement:
    def change(node: e.Node) -> e.Node:
        return (
            structs.replace(node, name=names.get(node.name, node.name))
            if isinstance(node, e.Reference)
            else node
        )

    return changed(statement, change)


def _names(node: e.Node) -> set[str]:
    return {part.name for part in walk(node) if isinstance(part, e.Reference)}


def _with(formula: str, names: Mapping[str, str]) -> str:
    return re.sub(r"[a-z_]\w*", lambda found: names.get(found[0], found[0]), formula)


SPLIT = Rewrite(
    "split",
    "solves the parts of an input separately, in a `foreach`, and merges the results in a `reduce`",
    "at most 1 + parts + (parts - 1) * (calls per merge) times as many; one more if a prompt splits",
    "an input that is a list or that a prompt splits; a prompt that joins two results, or lists or counts",
    _changes,
)
