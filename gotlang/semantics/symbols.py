"""What a program declares: signatures with their types resolved, in one table by kind."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import final

from gotlang.diagnostics import Label
from gotlang.semantics.builtins import BUILTINS, THOUGHT_FUNCTIONS
from gotlang.semantics.report import Report
from gotlang.span import Span
from gotlang.syntax import nodes as n
from gotlang.syntax.expressions import Identifier
from gotlang.types import ANY, SIMPLE, DictType, ListType, LiteralType, RecordType, Type

RESERVED = {"it", "thoughts", "done", "truth", "result"}
"""Names that mean something by themselves and cannot be declared."""


@final
@dataclass(frozen=True, slots=True)
class Signature:
    """What a prompt, score or scheme takes and gives; `many` where it gives several values at once."""

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
    """Names that something refers to, for warnings about the others."""

    def callables(self) -> list[str]:
        """Every name that can be called."""
        tables: tuple[Iterable[str], ...] = (
            self.prompts,
            self.scores,
            self.schemes,
            self.functions,
            BUILTINS,
            THOUGHT_FUNCTIONS,
        )
        return [name for table in tables for name in table]


def resolve_type(node: n.TypeNode, symbols: Symbols, report: Report) -> Type:
    """The type a type's text stands for; `ANY` after an error."""
    match node:
        case n.UnionTypeNode(values=values):
            if len(set(values)) < len(values):
                report.error("GOT0205", "a text stands twice in this union", node.span)
            return LiteralType(tuple(dict.fromkeys(values)))
        case n.RecordTypeNode(fields=fields):
            seen: dict[str, Type] = {}
            for field_ in fields:
                if field_.name.text in seen:
                    report.error("GOT0205", f"field `{field_.name.text}` stands twice", field_.name.span)
                seen[field_.name.text] = resolve_type(field_.type, symbols, report)
            return RecordType(tuple(seen.items()))
        case n.NamedType(name=name, arguments=arguments):
            return _named(name, arguments, symbols, report)


def _named(name: Identifier, arguments: tuple[n.TypeNode, ...], symbols: Symbols, report: Report) -> Type:
    inner = [resolve_type(a, symbols, report) for a in arguments]
    text = name.text
    if text == "list":
        if len(inner) != 1:
            report.error(
                "GOT0204", "`list` takes the type of its elements", name.span, help="write `list[int]`"
            )
            return ListType(ANY)
        return ListType(inner[0])
    if text == "dict":
        if len(inner) != 2 or inner[0] != SIMPLE["str"]:
            report.error(
                "GOT0204",
                "`dict` takes `str` and the type of its values",
                name.span,
                help="write `dict[str, int]`",
            )
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
    known = [*SIMPLE, "list", "dict", *symbols.types]
    report.unknown("GOT0104", "type", text, name.span, known, f"there are {', '.join(known)}")
    return ANY


def collect(modules: Iterable[n.Module], report: Report) -> Symbols:
    """The table of everything that modules declare, the program's own first."""
    symbols = Symbols()
    places: dict[str, Span] = {}

    def declare(name: Identifier) -> bool:
        text = name.text
        if text in RESERVED or text in THOUGHT_FUNCTIONS:
            report.error(
                "GOT0102", f"`{text}` has a meaning of its own", name.span, help="choose another name"
            )
            return False
        if text in places:
            report.error(
                "GOT0101",
                f"`{text}` is declared twice",
                name.span,
                "here again",
                labels=(Label(places[text], "first here"),),
            )
            return False
        places[text] = name.span
        return True

    declarations = [d for module in modules for d in module.declarations]
    for d in declarations:
        if isinstance(d, n.TypeAlias) and declare(d.name):
            symbols.types[d.name.text] = resolve_type(d.type, symbols, report)
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


def _parameters(
    parameters: tuple[n.Parameter, ...], symbols: Symbols, report: Report
) -> tuple[tuple[str, Type], ...]:
    seen: dict[str, Type] = {}
    for parameter in parameters:
        name = parameter.name.text
        if name in seen:
            report.error("GOT0101", f"parameter `{name}` stands twice", parameter.name.span)
        if name in RESERVED:
            report.error(
                "GOT0102",
                f"`{name}` has a meaning of its own",
                parameter.name.span,
                help="choose another name",
            )
        seen[name] = resolve_type(parameter.type, symbols, report)
    return tuple(seen.items())
