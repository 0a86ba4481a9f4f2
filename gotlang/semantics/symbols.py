"""The declarations of a program: signatures with their types resolved, in tables by kind."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from typing import final

from gotlang.diagnostics import Label, Report
from gotlang.scope import THOUGHT_FUNCTIONS
from gotlang.semantics.builtins import BUILTINS
from gotlang.span import Span
from gotlang.syntax import nodes as n
from gotlang.syntax.expressions import Identifier
from gotlang.syntax.parse import MAX_DEPTH
from gotlang.syntax.walk import walk
from gotlang.types import ANY, SIMPLE, DictType, ListType, LiteralType, RecordType, Type, within

RESERVED = {"it", "thoughts", "done", "truth", "result"}
"""Predefined names, which cannot be declared."""
TYPES = {*SIMPLE, "list", "dict", "any"}
"""Names of types that no other type can have."""

MAX_TYPE = 200
"""The most parts of a type, with named types expanded."""


@final
@dataclass(frozen=True, slots=True)
class Signature:
    """The parameters and the result of a prompt, score or scheme; `many` if it gives several values."""

    name: str
    parameters: tuple[tuple[str, Type], ...]
    result: Type
    many: bool = False
    truth: Type | None = None

    def takes(self) -> str:
        """`numbers: list[int], parts: int`."""
        return ", ".join(f"{name}: {type_}" for name, type_ in self.parameters) or "nothing"


@final
@dataclass(slots=True)
class Symbols:
    """Every declaration of a program and of what it imports, by kind and name."""

    types: dict[str, Type] = field(default_factory=dict)
    params: dict[str, Type] = field(default_factory=dict)
    prompts: dict[str, Signature] = field(default_factory=dict)
    scores: dict[str, Signature] = field(default_factory=dict)
    schemes: dict[str, Signature] = field(default_factory=dict)
    functions: dict[str, Span] = field(default_factory=dict)
    corpora: dict[str, Span] = field(default_factory=dict)
    nodes: dict[str, n.Param | n.Prompt | n.Score | n.Scheme] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    """Names that are referred to, for warnings about the others."""

    def callables(self) -> list[str]:
        """Every name that can be called."""
        declared = (*self.prompts, *self.scores, *self.schemes, *self.functions)
        return [*declared, *BUILTINS, *THOUGHT_FUNCTIONS]


def resolve_type(node: n.TypeNode, symbols: Symbols, report: Report) -> Type:
    """The type that a type's text means; `ANY` after an error."""
    match node:
        case n.UnionTypeNode(values=values):
            if len(set(values)) < len(values):
                report.error("GOT0205", "duplicate text in this union", node.span)
            return LiteralType(tuple(dict.fromkeys(values)))
        case n.RecordTypeNode(fields=fields):
            seen: dict[str, Type] = {}
            for field_ in fields:
                if field_.name.text in seen:
                    report.error("GOT0205", f"duplicate field `{field_.name.text}`", field_.name.span)
                seen[field_.name.text] = resolve_type(field_.type, symbols, report)
            return RecordType(tuple(seen.items()))
        case n.NamedType(name=name, arguments=arguments):
            return _named(name, arguments, symbols, report)


def _named(name: Identifier, arguments: tuple[n.TypeNode, ...], symbols: Symbols, report: Report) -> Type:
    inner = [resolve_type(a, symbols, report) for a in arguments]
    text = name.text
    if text == "list":
        if len(inner) != 1:
            message = "`list` takes the type of its elements"
            report.error("GOT0204", message, name.span, help="write `list[int]`")
            return ListType(ANY)
        return ListType(inner[0])
    if text == "dict":
        if len(inner) != 2 or inner[0] != SIMPLE["str"]:
            message = "`dict` takes `str` and the type of its values"
            report.error("GOT0204", message, name.span, help="write `dict[str, int]`")
            return DictType(ANY)
        return DictType(inner[1])
    if inner:
        report.error("GOT0204", f"`{text}` takes no type in brackets", name.span)
    if text in SIMPLE:
        return SIMPLE[text]
    if text == "any":
        return ANY
    if text in symbols.types:
        symbols.used.add(text)
        return symbols.types[text]
    known = [*SIMPLE, "list", "dict", "any", *symbols.types]
    report.unknown("GOT0104", "type", text, name.span, known, f"available: {', '.join(known)}")
    return ANY


def collect(modules: Iterable[n.Module], report: Report) -> Symbols:
    """The declarations of modules, the program's own first."""
    symbols = Symbols()
    places: dict[str, Span] = {}

    def declare(name: Identifier, taken: Container[str] = ()) -> bool:
        text = name.text
        if text in RESERVED or text in THOUGHT_FUNCTIONS or text in taken:
            report.error("GOT0102", f"`{text}` is a reserved name", name.span, help="choose another name")
            return False
        if text in places:
            labels = (Label(places[text], "first here"),)
            report.error("GOT0101", f"duplicate name `{text}`", name.span, "here again", labels=labels)
            return False
        places[text] = name.span
        return True

    declarations = [d for module in modules for d in module.declarations]
    aliases = [d for d in declarations if isinstance(d, n.TypeAlias) and declare(d.name, TYPES)]
    for alias in _parts_first(aliases, symbols, report):
        type_ = resolve_type(alias.type, symbols, report)
        if not within(type_, MAX_TYPE, MAX_DEPTH):
            message = f"type `{alias.name.text}` has more than {MAX_TYPE} parts, or {MAX_DEPTH} levels"
            report.error(
                "GOT0005", message, alias.name.span, help="write `any` for a part that need not be checked"
            )
            type_ = ANY
        symbols.types[alias.name.text] = type_
    for d in declarations:
        match d:
            case n.Param() if declare(d.name):
                symbols.nodes[d.name.text] = d
            case n.Prompt() | n.Scheme():
                if declare(d.name):
                    truth = d.truth if isinstance(d, n.Scheme) else None
                    table = symbols.prompts if isinstance(d, n.Prompt) else symbols.schemes
                    table[d.name.text] = Signature(
                        d.name.text,
                        _parameters(d.parameters, symbols, report),
                        resolve_type(d.result, symbols, report),
                        d.many,
                        resolve_type(truth, symbols, report) if truth else None,
                    )
                    symbols.nodes[d.name.text] = d
            case n.Score() if declare(d.name):
                symbols.scores[d.name.text] = Signature(
                    d.name.text, _parameters(d.parameters, symbols, report), SIMPLE["float"]
                )
                symbols.nodes[d.name.text] = d
            case n.ImportPython(names=names):
                for name in names:
                    if declare(name):
                        symbols.functions[name.text] = name.span
            case n.ImportCorpus(name=name) if declare(name):
                symbols.corpora[name.text] = name.span
    return symbols


def _parts_first(aliases: list[n.TypeAlias], symbols: Symbols, report: Report) -> list[n.TypeAlias]:
    """Types in an order in which each comes after its parts; an error if it is one of them."""
    by_name = {alias.name.text: alias for alias in aliases}
    parts = {
        name: [node.name.text for node in walk(alias.type) if isinstance(node, n.NamedType)]
        for name, alias in by_name.items()
    }
    ordered: dict[str, n.TypeAlias] = {}
    waiting = [(name, False) for name in reversed(by_name)]
    inside: set[str] = set()
    while waiting:
        name, done = waiting.pop()
        if done:
            inside.discard(name)
            ordered[name] = by_name[name]
        elif name in inside:
            place = by_name[name].name.span
            report.error("GOT0104", f"type `{name}` contains itself", place, help="write `any` inside it")
            symbols.types[name] = ANY
        elif name not in ordered:
            inside.add(name)
            waiting.append((name, True))
            waiting += [(part, False) for part in reversed(parts[name]) if part in by_name]
    return list(ordered.values())


def _parameters(
    parameters: tuple[n.TypedName, ...], symbols: Symbols, report: Report
) -> tuple[tuple[str, Type], ...]:
    seen: dict[str, Type] = {}
    for parameter in parameters:
        name = parameter.name.text
        if name in seen:
            report.error("GOT0101", f"duplicate parameter `{name}`", parameter.name.span)
        if name in RESERVED:
            help = "choose another name"
            report.error("GOT0102", f"`{name}` is a reserved name", parameter.name.span, help=help)
        seen[name] = resolve_type(parameter.type, symbols, report)
    return tuple(seen.items())
