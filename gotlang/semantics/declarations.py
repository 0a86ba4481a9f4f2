"""The declarations of a program, in tables by kind: types, their cases, and signatures with these types."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from typing import final

from msgspec.structs import replace

from gotlang.diagnostics import Label, Report
from gotlang.operations import OPERATIONS
from gotlang.scope import THOUGHT_FUNCTIONS
from gotlang.semantics.builtins import BUILTINS, CONSTANTS
from gotlang.semantics.symbols import PREDEFINED, RESERVED, TYPES, Signature, Symbols
from gotlang.span import Span
from gotlang.syntax import nodes as n
from gotlang.syntax.expressions import HOLE, Identifier
from gotlang.syntax.scan import MAX_DEPTH
from gotlang.syntax.walk import walk
from gotlang.turns import DECLARED, holds_media
from gotlang.types import (
    ANY,
    DYNAMIC,
    SIMPLE,
    DictType,
    ListType,
    LiteralType,
    Named,
    OptionalType,
    PairType,
    Part,
    RecordType,
    Recursive,
    Type,
    alternatives,
    case_type,
    opened,
    optional,
    within,
)

_ELSEWHERE = {
    "Optional": "write `int?` for an `int` or none",
    "Literal": 'write the texts: `"yes" | "no"`',
    "List": "write `list[int]`",
    "tuple": "write `pair[int, str]`, or a record such as `{name: str, age: int}`",
    "set": "write `list[int]`",
    "text": "write `str`",
    "boolean": "write `bool`",
    "integer": "write `int`",
    "number": "write `float`",
    "double": "write `float`",
    "object": "write a record such as `{name: str, age: int}`",
}
"""Names of types in Python and other languages, and the equivalents here."""
MAX_TYPE = 200
"""Maximum number of parts of a type, with named types expanded."""


def resolve_type(node: n.TypeNode, symbols: Symbols, report: Report) -> Type:
    """The type of a type's text; `ANY` after an error."""
    return opened(_Resolver(symbols, report).part(node))


def declare_types(aliases: list[n.TypeAlias], symbols: Symbols, report: Report) -> None:
    """Add types with unique names to the symbols, and the cases of unions."""
    table = _TypeTable(aliases, report)
    resolver = _Resolver(symbols, report, table)
    endless = _endless(table, report)
    resolver.aliases.update(dict.fromkeys(endless, ANY))
    for alias in table.parts_first():
        if alias.name.text not in endless:
            resolver.declare(alias)
    for name, recursive in resolver.recursive.items():
        found = symbols.cases.get(name) or resolver.aliases.get(name, ANY)
        recursive.complete(ANY if isinstance(found, Recursive) else found)
    for name in table.aliases:  # in source order
        symbols.types[name] = opened(resolver.aliases[name])


@final
class _TypeTable:
    """The declarations of types: `aliases` by name, `owners` also by the names of their cases."""

    def __init__(self, aliases: list[n.TypeAlias], report: Report) -> None:
        self.aliases = {alias.name.text: alias for alias in aliases}
        self.owners = dict(self.aliases)
        self.cases: dict[str, n.CaseTypeNode] = {}
        for alias in aliases:
            for case in cases_in(alias):
                name = case.name.text
                if name in self.aliases:
                    message, at = f"`{name}` is a type, and here it would be a case", "the case"
                    help = (
                        f"list its fields here, `{name} {{...}}`, and delete the type, or rename one of them"
                    )
                    labels = (Label(self.aliases[name].name.span, "the type"),)
                    report.error("GOT0101", message, case.name.span, at, labels=labels, help=help)
                elif name in OPERATIONS or name == "Repeat":
                    help = "choose another name"
                    report.error("GOT0102", f"`{name}` is an operation", case.name.span, help=help)
                elif name not in self.cases or self.cases[name].fields is None:
                    self.cases[name], self.owners[name] = case, alias

    def inside(self, alias: n.TypeAlias) -> Iterator[n.TypeAlias]:
        """The declarations that one refers to."""
        for node in walk(alias.type):
            if isinstance(node, n.NamedType | n.CaseTypeNode):
                owner = self.owners.get(node.name.text)
                if owner is not None and not (isinstance(node, n.CaseTypeNode) and owner is alias):
                    yield owner

    def parts_first(self) -> list[n.TypeAlias]:
        """The declarations in an order in which each comes after those it refers to, except for cycles."""
        ordered: list[n.TypeAlias] = []
        seen: set[str] = set()
        waiting = [(alias, False) for alias in reversed(self.aliases.values())]
        while waiting:
            alias, done = waiting.pop()
            if done:
                ordered.append(alias)
            elif alias.name.text not in seen:
                seen.add(alias.name.text)
                waiting.append((alias, True))
                waiting += [(part, False) for part in reversed(list(self.inside(alias)))]
        return ordered

    def definition(self, name: str) -> str:
        """The declarations of a name and of its parts, as one text."""
        seen: dict[str, n.TypeAlias] = {}
        waiting = [self.owners[name]]
        while waiting and len(seen) <= MAX_TYPE:
            alias = waiting.pop()
            if alias.name.text not in seen:
                seen[alias.name.text] = alias
                waiting += self.inside(alias)
        return "; ".join(f"{known} = {seen[known].type!r}" for known in sorted(seen))

    def held(self, node: n.TypeNode, endless: Container[str]) -> str | None:
        """The name of an infinite type or case that each value of a type contains, or None."""
        match node:
            case n.NamedType(name=name) if name.text in endless:
                return name.text
            case n.NamedType(name=Identifier(text="pair"), arguments=both):
                found = (self.held(part, endless) for part in both)
                return next((name for name in found if name is not None), None)
            case n.RecordTypeNode(fields=fields):
                found = (self.held(field.type, endless) for field in fields)
                return next((name for name in found if name is not None), None)
            case n.CaseTypeNode(name=name, fields=None):
                own = self.cases.get(name.text)
                return self.held(own.fields, endless) if own is not None and own.fields is not None else None
            case n.CaseTypeNode(fields=n.RecordTypeNode() as inside):
                return self.held(inside, endless)
            case n.AlternativesNode(cases=cases):
                each = [self.held(case, endless) for case in cases]
                return each[0] if each and all(each) else None
        return None


def _endless(table: _TypeTable, report: Report) -> set[str]:
    """The types whose values would contain others of them without end; an error for each that refers to
    itself."""
    nodes: dict[str, n.TypeNode] = {alias.name.text: alias.type for alias in table.parts_first()}
    nodes.update(table.cases)
    endless, before = set(nodes), len(nodes) + 1
    while len(endless) < before:
        before = len(endless)
        for name, node in nodes.items():
            if name in endless and table.held(node, endless) is None:
                endless.remove(name)
    seen: set[str] = set()
    for start in table.aliases:
        name, path = start, []
        while name in endless and name not in seen:
            seen.add(name)
            path.append(name)
            name = table.held(nodes[name], endless) or ""
        if name in path:
            place = table.owners[name].name
            help = f"write `list[{place.text}]`, or `{place.text}?` for one that may be missing"
            report.error("GOT0104", f"type `{place.text}` contains itself", place.span, help=help)
    return endless & table.aliases.keys()


@final
class _Resolver:
    """Resolves texts of types; those of a `table` are being declared."""

    def __init__(self, symbols: Symbols, report: Report, table: _TypeTable | None = None) -> None:
        self.symbols = symbols
        self.report = report
        self.table = table
        self.aliases: dict[str, Part] = {}
        self.recursive: dict[str, Recursive] = {}

    def declare(self, alias: n.TypeAlias) -> None:
        """Add one type, all parts of which are declared or recursive."""
        name = alias.name.text
        found = self.part(alias.type) if not cases_in(alias) else self._alternatives(cases_in(alias), True)
        if not isinstance(found, Recursive) and not within(found, MAX_TYPE, MAX_DEPTH):
            message = f"type `{name}` has more than {MAX_TYPE} parts, or {MAX_DEPTH} levels"
            help = "write `any` for a part that need not be checked"
            self.report.error("GOT0005", message, alias.name.span, help=help)
            found = ANY
        if isinstance(found, Named):
            found = replace(found, name=name)
        self.aliases[name] = found

    def part(self, node: n.TypeNode) -> Part:
        """The type of a text; `ANY` after an error."""
        match node:
            case n.UnionTypeNode(values=values):
                if len(set(values)) < len(values):
                    self.report.error("GOT0205", "duplicate text in this union", node.span)
                return LiteralType(tuple(dict.fromkeys(values)))
            case n.RecordTypeNode(fields=fields):
                return RecordType(tuple(self._fields(fields)))
            case n.CaseTypeNode():
                return self._alternatives((node,))
            case n.AlternativesNode(cases=cases):
                return self._alternatives(cases)
            case n.PartType():
                return ANY  # of an input that later stages do not see
            case n.OptionalTypeNode(type=inside):
                found = self.part(inside)
                return OptionalType(found) if isinstance(found, Recursive) else optional(found)
            case n.NamedType(name=name, arguments=arguments):
                return self._named(name, arguments)

    def _fields(self, fields: Iterable[n.TypedName], *taken: str) -> Iterator[tuple[str, Part]]:
        seen = set(taken)
        for field in fields:
            name = field.name.text
            if name in seen:
                help = "its `type` is the name of the case; choose another name" if name in taken else None
                self.report.error("GOT0205", f"duplicate field `{name}`", field.name.span, help=help)
            else:
                seen.add(name)
                yield name, self.part(field.type)

    def _alternatives(self, nodes: Iterable[n.CaseTypeNode], declares: bool = False) -> Type:
        """A union of some cases, which a `type` declares, and other places only name."""
        cases: dict[str, RecordType] = {}
        for node in nodes:
            name = node.name.text
            if name in cases:
                self.report.error("GOT0205", f"duplicate case `{name}`", node.name.span)
            elif node.fields is not None and not declares:
                message = "a union needs a declared name"
                help = f"write `type Step = {name} {{...}} | ...` at the start of a line, and `Step` here"
                self.report.error("GOT0218", message, node.span, help=help)
                return ANY
            elif self.table is not None and name in self.table.cases:
                cases[name] = self._case(node, self.table.cases[name])
            elif declares:
                return ANY  # its name is another declaration's, which is reported
            elif name in self.symbols.cases:
                cases[name] = self.symbols.cases[name]
            else:
                self._unknown(node.name, self.symbols.cases, "case")
                return ANY
        return alternatives(cases.values()) if cases else ANY

    def _case(self, node: n.CaseTypeNode, declared: n.CaseTypeNode) -> RecordType:
        """A case where it is listed; two types may list one, with its fields or without."""
        name = node.name.text
        if node.fields is not None and node.fields != declared.fields:
            labels = (Label(declared.name.span, "and here"),)
            message, help = f"case `{name}` has two lists of fields", "make them equal, or rename one of them"
            self.report.error("GOT0101", message, node.name.span, labels=labels, help=help)
        if name not in self.symbols.cases:
            fields = declared.fields.fields if declared.fields is not None else ()
            self.symbols.cases[name] = case_type(name, self._fields(fields, "type"))
        return self.symbols.cases[name]

    def _named(self, name: Identifier, arguments: tuple[n.TypeNode, ...]) -> Part:
        inner = [self.part(argument) for argument in arguments]
        text, report = name.text, self.report
        if text == HOLE:
            return ANY
        if text == "list":
            if len(inner) != 1:
                message = "`list` takes the type of its elements"
                report.error("GOT0204", message, name.span, help="write `list[int]`")
                return ListType(ANY)
            return ListType(inner[0])
        if text == "pair":
            if len(inner) != 2:
                report.error("GOT0204", "`pair` takes two types", name.span, help="write `pair[int, str]`")
                return PairType((ANY, ANY))
            return PairType((inner[0], inner[1]))
        if text == "dict":
            if len(inner) != 2 or inner[0] != SIMPLE["str"]:
                message = "`dict` takes `str` and the type of its values"
                report.error("GOT0204", message, name.span, help="write `dict[str, int]`")
                return DictType(ANY)
            return DictType(inner[1])
        found = self._found(name)
        if inner and found is not None:
            report.error("GOT0204", f"`{text}` takes no type in brackets", name.span)
        return ANY if found is None else found

    def _found(self, name: Identifier) -> Part | None:
        """The type with a name; an unknown one is reported and gives None."""
        text, symbols = name.text, self.symbols
        if text in SIMPLE:
            return SIMPLE[text]
        if text == "any":
            return DYNAMIC
        symbols.used.add(text)
        for known in (self.aliases, symbols.types, symbols.cases):
            if text in known:
                return known[text]
        if self.table is not None and text in self.table.owners:
            made = self.recursive.get(text) or Recursive(text, self.table.definition(text))
            return self.recursive.setdefault(text, made)
        if text in DECLARED:
            return DECLARED[text]
        known_names = (*SIMPLE, "list", "pair", "dict", "any", *DECLARED, *symbols.types, *symbols.cases)
        self._unknown(name, known_names, "type")
        return None

    def _unknown(self, name: Identifier, known: Iterable[str], kind: str) -> None:
        known = list(known)
        note, help = f"available: {', '.join(known)}", _ELSEWHERE.get(name.text, "")
        self.report.unknown("GOT0104", kind, name.text, name.span, known, note, help)


def cases_in(alias: n.TypeAlias) -> tuple[n.CaseTypeNode, ...]:
    """The cases that a type's declaration lists."""
    match alias.type:
        case n.AlternativesNode(cases=cases):
            return cases
        case n.CaseTypeNode():
            return (alias.type,)
    return ()


def collect(modules: Iterable[n.Module], report: Report) -> Symbols:
    """The declarations of modules, the program's own first."""
    symbols = Symbols()
    places: dict[str, Span] = {}

    def declare(name: Identifier, taken: Container[str] = (), prompt: bool = False) -> bool:
        text = name.text
        if text == HOLE:
            return False
        reserved = text in RESERVED or text in THOUGHT_FUNCTIONS or text in CONSTANTS or text in taken
        if reserved or (text in BUILTINS and not prompt):
            what = "has a meaning in the language" if reserved else "is a built-in function"
            report.error("GOT0102", f"`{text}` {what}", name.span, help="choose another name")
            return not reserved
        if text in places:
            labels = (Label(places[text], "first here"),)
            report.error("GOT0101", f"duplicate name `{text}`", name.span, "here again", labels=labels)
            return False
        places[text] = name.span
        return True

    declarations = [d for module in modules for d in module.declarations]
    aliases = [d for d in declarations if isinstance(d, n.TypeAlias) and declare(d.name, TYPES)]
    declare_types(aliases, symbols, report)
    for d in declarations:
        match d:
            case n.Param() if declare(d.name):
                symbols.nodes[d.name.text] = d
            case n.Prompt() | n.Scheme():
                # A prompt is called by steps, which cannot call built-ins, so it may have the name of one.
                if declare(d.name, prompt=isinstance(d, n.Prompt)):
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
            case n.Metric() if declare(d.name, PREDEFINED, prompt=True):
                # It is never called, so it may have the name of a built-in, too.
                known = _parameters(d.parameters, symbols, report, {"truth", "result"})
                symbols.metrics[d.name.text] = d, Signature(d.name.text, known, SIMPLE["float"])
            case n.ImportPython(functions=functions):
                for function in functions:
                    if declare(function.name):
                        add_function(function, symbols, report)
            case n.ImportCorpus(name=name) if declare(name):
                symbols.corpora[name.text] = name.span
    return symbols


def add_function(node: n.PythonFunction, symbols: Symbols, report: Report) -> None:
    """Add a Python function, with its result type if the program declares it."""
    symbols.functions[node.name.text] = node.name.span
    if node.result is not None:
        result = symbols.results[node.name.text] = resolve_type(node.result, symbols, report)
        if holds_media(result):
            help = "images and files come from inputs; let the function return something else"
            report.error("GOT0703", "a function cannot return images or files", node.span, help=help)


def _parameters(
    parameters: tuple[n.TypedName, ...], symbols: Symbols, report: Report, free: Container[str] = ()
) -> tuple[tuple[str, Type], ...]:
    seen: dict[str, Type] = {}
    for parameter in parameters:
        name = parameter.name.text
        if name in seen and not n.is_unreadable(parameter):
            report.error("GOT0101", f"duplicate parameter `{name}`", parameter.name.span)
        if name in RESERVED and name not in free and not n.is_unreadable(parameter):
            help = "choose another name"
            report.error("GOT0102", f"`{name}` is a reserved name", parameter.name.span, help=help)
        seen[name] = resolve_type(parameter.type, symbols, report)
    return tuple(seen.items())
