"""Unused definitions. A definition is checked as part of its uses, so an unused one gets an artificial use: a
scheme whose inputs have the types of the definition's.

    operation Twice(k: int) p: prompt(str) -> int, q: str:       scheme "a use of Twice"(k: int, q: str) -> ?:
        Generate(k=k) p(q)                                           ?
                                                                     Twice(k) p, q
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TypeAlias

from msgspec.structs import replace

from gotlang.diagnostics import Diagnostic
from gotlang.span import Span
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.syntax.walk import mapped, walk

Definition: TypeAlias = n.OperationDefinition | n.Function | n.Scheme

_OF_THE_GIVEN = frozenset({"GOT0320", "GOT0322", "GOT0326"})
"""Errors that depend on the given prompts and scores: on their directions, settings and inputs."""


def with_uses(
    modules: Iterable[n.Module], unused: Collection[Definition]
) -> tuple[tuple[n.Module, ...], dict[str, str]]:
    """The modules with a use of each definition, without tests and studies; and how generated names are
    shown."""
    shown: dict[str, str] = {}
    found: list[n.Module] = []
    for module in modules:
        kept = [d for d in module.declarations if not isinstance(d, n.Test | n.Study)]
        own = [d for d in unused if d.span.source == module.span.source]
        found.append(replace(module, declarations=(*kept, *(use for d in own for use in _use(d, shown)))))
    return tuple(found), shown


def _use(d: Definition, shown: dict[str, str]) -> Iterator[n.Declaration]:
    at = d.name.span
    lost = n.NamedType(at, e.Identifier(at, e.HOLE))
    anything = (n.TypedName(at, lost.name, lost),)
    hole = n.Evaluate(at, e.Reference(at, e.HOLE))
    variables = set[str]() if isinstance(d, n.OperationDefinition) else {name.text for name in d.variables}

    def known(type_: n.TypeNode) -> n.TypeNode:
        """A type in which the choices of a user are unknown."""
        return mapped(type_, lambda t: lost if isinstance(t, n.NamedType) and t.name.text in variables else t)

    called = {part.function.text for part in walk(d) if isinstance(part, e.Call)}
    inputs: list[n.TypedName] = []
    given: dict[str, e.Expression] = {}
    settings = d.settings if isinstance(d, n.OperationDefinition) else ()
    operands = d.operands if isinstance(d, n.OperationDefinition) else d.parameters
    for p in (*settings, *operands):
        if p.default is not None:
            continue
        name = e.Identifier(at, f"{p.name.text} of {d.name.text}")
        shown[name.text] = p.name.text
        given[p.name.text] = e.Reference(at, name.text)
        if p.part is None:
            inputs.append(n.TypedName(at, name, known(p.type)))
            continue
        parameters: tuple[n.TypedName, ...] = anything
        result: n.TypeNode = lost
        if isinstance(p.type, n.PartType):
            types = enumerate(map(known, p.type.parameters), 1)
            parameters = tuple(n.TypedName(at, e.Identifier(at, f"input {i}"), type_) for i, type_ in types)
            result = known(p.type.result or lost)
        elif p.name.text not in called and isinstance(d, n.OperationDefinition):
            given[p.name.text] = e.Call(at, name, ())
        match p.part:
            case "prompt":
                text = e.Constant(at, "?")
                yield n.Prompt(at, name, parameters, False, result, (), None, None, (), text, None)
            case "score":
                yield n.Score(at, name, parameters, "higher", None, n.Suite(at, (hole,)))
            case "scheme":
                yield n.Scheme(at, name, parameters, False, result, None, n.Suite(at, (hole,)))
            case _:
                yield n.ImportCorpus(at, e.Constant(at, "?"), name)
    values = tuple(given[p.name.text] for p in operands if p.name.text in given)
    arguments = tuple(e.Argument(at, None, value) for value in values)
    body: tuple[n.Statement, ...]
    if isinstance(d, n.OperationDefinition):
        chosen = (e.Argument(at, p.name, given[p.name.text]) for p in settings if p.name.text in given)
        body = (hole, n.Step(at, e.Identifier(at, d.name.text), tuple(chosen), values))
    else:
        call = e.Call(at, e.Identifier(at, d.name.text), arguments)
        body = (n.Return(at, call),) if isinstance(d, n.Function) else (hole, n.Evaluate(at, call))
    name = e.Identifier(at, f"a use of {d.name.text}")
    yield n.Scheme(at, name, tuple(inputs), True, lost, None, n.Suite(at, body))


def in_definitions(
    found: Iterable[Diagnostic], unused: Iterable[Definition], others: Iterable[Diagnostic]
) -> Iterator[Diagnostic]:
    """The errors that are in these definitions and not among others, as if they were unused."""
    uses = {d.name.span: d.span for d in unused}
    inside = [own for each in found if each.severity == "error" and (own := _own(each, uses)) is not None]
    inside = [each for each in inside if each.code not in _OF_THE_GIVEN]
    told = {_place(each) for each in others} | {_place(each) for each in inside if each.span.use is None}
    yield from (each for each in inside if each.span.use is None or _place(each) not in told)


def _place(found: Diagnostic) -> tuple[str, str, int]:
    return found.code, found.span.source, found.span.start


def _own(found: Diagnostic, uses: Mapping[Span, Span]) -> Diagnostic | None:
    """A diagnostic in a definition, without the artificial use; None for one elsewhere."""
    root = found.span
    while root.use is not None:
        root = root.use
    inlined = root is not found.span
    if root in uses if not inlined else root not in uses:
        return None
    if not inlined and not any(_within(root, whole) for whole in uses.values()):
        return None
    labels = tuple(replace(x, span=_without(x.span, uses)) for x in found.labels if x.span not in uses)
    fix = found.fix and replace(found.fix, span=_without(found.fix.span, uses))
    return replace(found, span=_without(found.span, uses), labels=labels, fix=fix)


def _without(span: Span, uses: Collection[Span]) -> Span:
    if span.use is None:
        return span
    return replace(span, use=None if span.use in uses else _without(span.use, uses))


def _within(place: Span, whole: Span) -> bool:
    return place.source == whole.source and whole.start <= place.start < whole.end
