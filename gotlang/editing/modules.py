"""Declarations of files, and their visibility in others: the rules of `gotlang.linking.modules`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import PurePosixPath
from typing import final

from gotlang.editing.documents import Document
from gotlang.editing.symbols import Kind, Symbol
from gotlang.linking.modules import declared, together
from gotlang.packages import source_name
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.syntax.walk import walk

KINDS: Mapping[type[n.Declaration], Kind] = {
    n.Prompt: "prompt",
    n.Score: "score",
    n.Metric: "metric",
    n.Scheme: "scheme",
    n.Param: "param",
    n.TypeAlias: "type",
    n.OperationDefinition: "operation",
    n.Function: "function",
    n.Partial: "partial",
    n.ImportCorpus: "corpus",
    n.ImportPython: "python",
    n.ImportMcp: "python",
}
"""The kind of the names of a declaration."""


def real(name: str) -> str:
    """The name of a source without links, by which symbols know it."""
    return name if name.startswith("<") else _real(name)


@lru_cache(4096)
def _real(name: str) -> str:
    try:
        return os.path.realpath(name)
    except (OSError, ValueError):
        return name


def beside(node: e.Node, written: str) -> str:
    """The real name of a file that a node names."""
    return real(str(PurePosixPath(node.span.source).parent / written))


@final
class Modules:
    """The files of a program by the real names of their sources.

    `own` are the symbols that each declares by name, `everywhere` those that all files see by these names,
    `inputs` the parameters of a symbol (by its source and name), `types` the types that symbols declare, and
    `cases` the fields of each case of a type.
    """

    def __init__(self, document: Document) -> None:
        self.files = {real(m.span.source): m for m in document.compilation.modules}
        self.own = {file: _own(file, module) for file, module in self.files.items()}
        self.everywhere = {
            name: symbol
            for own in self.own.values()
            for name, symbol in own.items()
            if symbol.kind in ("python", "corpus")
        }
        self.inputs: dict[tuple[str, str], Mapping[str, Symbol]] = {}
        self.types: dict[Symbol, n.TypeNode] = {}
        for file, module in self.files.items():
            for d in module.declarations:
                for name in declared(d):
                    symbol = self.own[file].get(name.text)
                    if symbol is None:
                        continue
                    self.inputs[file, name.text] = dict(_inputs(d, symbol))
                    if isinstance(d, n.TypeAlias):
                        self.types[symbol] = d.type
        self.cases = {
            node.name.text: shape(node.name.text, _names(node.fields))
            for module in self.files.values()
            for node in walk(module)
            if isinstance(node, n.CaseTypeNode)
        }

    def target(self, node: n.ImportGot) -> str | None:
        """The file that an import names; None if it is unknown."""
        written = str(node.path.value)
        is_name = isinstance(node.path, n.ModuleName)
        name = source_name(written) if is_name else beside(node, written)
        return name if name in self.files else None

    def exported(self, file: str) -> dict[str, Symbol]:
        """The names that others see of a file, and of those merged with it."""
        return {
            name: symbol
            for at in reversed(together(file, self.files, self.target))
            for name, symbol in self.own[at].items()
            if not name.startswith("_")
        }

    def visible(self, file: str) -> dict[str, Symbol]:
        """The names that a file sees without its imported names."""
        return {**self.everywhere, **self.exported(file), **self.own[file]}

    def with_imports(self, file: str) -> dict[str, Symbol]:
        """The names that a file sees, including its imported names."""
        found = self.visible(file)
        for node in self.files[file].imports:
            target = self.target(node)
            known = self.exported(target) if target is not None else {}
            for each in node.names:
                symbol = known.get(each.name.text)
                if each.alias is not None:
                    means = symbol.name if symbol is not None else ""
                    name = each.alias
                    found[name.text] = Symbol("alias", name.text, file, name.span.start, means)
                elif symbol is not None:
                    found[symbol.name] = symbol
        return found


def shape(case: str, fields: Iterable[str]) -> str:
    """The owner of fields: records with the same fields are one type, whatever declares it."""
    return f"{case}{{{', '.join(sorted(fields))}}}"


def fields_of(owner: str) -> list[str]:
    """The names of the fields of a shape."""
    return owner.partition("{")[2].rstrip("}").split(", ")


def _names(node: n.RecordTypeNode | None) -> set[str]:
    return {each.name.text for each in node.fields} if node is not None else set()


def _own(file: str, module: n.Module) -> dict[str, Symbol]:
    found: dict[str, Symbol] = {}
    for d in module.declarations:
        for name in declared(d):
            if name.text != e.HOLE:
                found.setdefault(name.text, Symbol(KINDS[type(d)], name.text, file, name.span.start))
    return found


def _inputs(d: n.Declaration, symbol: Symbol) -> Iterator[tuple[str, Symbol]]:
    """The symbols of a declaration's parameters, by name."""
    match d:
        case n.OperationDefinition():
            given: list[tuple[Kind, n.TypedName]] = [("setting", each) for each in d.settings]
            given += [("input", each) for each in d.operands]
        case n.Prompt() | n.Score() | n.Metric() | n.Scheme() | n.Function() | n.Partial():
            given = [("input", each) for each in d.parameters]
        case _:
            given = []
    for kind, each in given:
        name = each.name
        yield name.text, Symbol(kind, name.text, symbol.source, name.span.start, symbol.name)
