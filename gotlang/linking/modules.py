"""Names across files: the names that each file sees become unique names of the whole program.

`import "a.got"` merges two files into one name space, as if they were one file. A file that is imported `as`
a name, or from which names are imported, keeps a name space of its own: its declarations get names that no
other file has (`merge__tries`), and each file's names for them are replaced by these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from pathlib import PurePosixPath
from typing import Any, final

from msgspec.structs import replace

from gotlang.diagnostics import Fix, Label, Report, nearest
from gotlang.linking.texts import with_partials
from gotlang.operations.search import strategy_words
from gotlang.scope import BETWEEN
from gotlang.span import Source, Span
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.syntax.walk import mapped, walk

_NAMED = n.TypeAlias | n.Param | n.Prompt | n.Score | n.Metric | n.Scheme | n.OperationDefinition | n.Function


def link(
    modules: tuple[n.Module, ...],
    imported: Mapping[int, str],
    sources: Mapping[str, Source],
    report: Report,
) -> tuple[tuple[n.Module, ...], Mapping[str, str], frozenset[str]]:
    """The modules of a program, the first of which is its own, in one name space; how the program writes the
    generated names; and the files that are not merged with the program's own. `imported` has the names of the
    sources of imports, by the identity of the node, except those that could not be read; `sources` has the
    files by their names."""
    imports = any(module.imports for module in modules)
    if not imports and not any(isinstance(d, n.Partial) for m in modules for d in m.declarations):
        return modules, {}, frozenset()
    linker = _Linker(modules, imported, sources, report)
    others = frozenset(linker.files.keys() - {*linker.together[linker.main]})
    return linker.linked(), linker.shown, others


def without_unused(
    modules: tuple[n.Module, ...], types: Iterable[n.TypeNode], outside: Set[str]
) -> tuple[n.Module, ...]:
    """The modules without declarations of those `outside` that the program does not use. `types` are used in
    addition to it."""
    if not outside:
        return modules
    known: dict[str, list[n.Declaration]] = {}
    used: list[e.Node] = [*types]
    for module in modules:
        for d in module.declarations:
            names = [name.text for name in declared(d)]
            if module.span.source not in outside or d.span.use is not None or not names:
                used.append(d)
            for name in names:
                known.setdefault(name, []).append(d)
    seen = {id(d) for d in used}
    for one in used:
        inputs = {node.name.text for node in getattr(one, "parameters", ()) if isinstance(node, n.TypedName)}
        for node in walk(one):
            text = getattr(node, "name" if isinstance(node, e.Reference) else "text", None)
            if text in inputs:
                continue
            for other in known.get(text, ()) if isinstance(text, str) else ():
                if id(other) not in seen:
                    seen.add(id(other))
                    used.append(other)
    return tuple(
        replace(m, declarations=tuple(d for d in m.declarations if id(d) in seen))
        if m.span.source in outside
        else m
        for m in modules
    )


def declared(d: n.Declaration) -> Iterator[e.Identifier]:
    """The names that a declaration brings into its file, and that others may import."""
    if isinstance(d, n.ImportPython):
        yield from (function.name for function in d.functions)
    elif not isinstance(d, n.ImportGot | n.Simulate | n.Study | n.Test):
        yield d.name


def together(
    file: str, files: Mapping[str, n.Module], target: Callable[[n.ImportGot], str | None]
) -> list[str]:
    """A file and those that it imports as if they were one with it. `target` is the file that an import
    names; None if it is unknown."""
    found = [file]
    for at in found:
        for node in files[at].imports:
            other = target(node)
            if node.alias is None and not node.names and other is not None and other not in found:
                found.append(other)
    return found


@final
class _Linker:
    def __init__(
        self,
        modules: tuple[n.Module, ...],
        imported: Mapping[int, str],
        sources: Mapping[str, Source],
        report: Report,
    ) -> None:
        self.files = {module.span.source: module for module in modules}
        self.main = modules[0].span.source
        self.imported = imported
        self.sources = sources
        self.report = report
        self.own = {file: self._declared(module) for file, module in self.files.items()}
        self.shown: dict[str, str] = {}
        self.used: set[int] = set()
        """The identities of the names and aliases of imports that a file uses."""
        self.together = {
            file: together(file, self.files, lambda node: self.imported.get(id(node))) for file in self.files
        }
        self.prefixes = self._prefixes()
        self.names = self._names()
        self.partials = {
            self.names[file, d.name.text]: d
            for file, module in self.files.items()
            for d in module.declarations
            if isinstance(d, n.Partial)
        }

    def linked(self) -> tuple[n.Module, ...]:
        """The modules with the names of the whole program."""
        self._circles()
        found = tuple(self._renamed(module) for module in self.files.values())
        for node in self.files[self.main].imports:
            places = (
                [(node.alias, node.alias)] if node.alias else [(x, x.alias or x.name) for x in node.names]
            )
            for what, name in places:
                if id(what) not in self.used and id(node) in self.imported:
                    message = f"import `{name.text}` is never used"
                    fix = Fix(node.span) if len(places) == 1 else Fix(_listed(places, name))
                    self.report.warning("GOT0744", message, name.span, help="delete it, or use it", fix=fix)
        return found

    # ---------------------------------------------------------------- which files, which names

    def _declared(self, module: n.Module) -> dict[str, Span]:
        return {name.text: name.span for d in module.declarations for name in declared(d)}

    def _prefixes(self) -> dict[str, str]:
        """The prefixes of each file's names, if it is not merged with the program's own: its alias there, or
        the file's name, with a number if another file has the same."""
        wanted = {
            self.imported[id(node)]: node.alias.text
            for file in reversed(self.together[self.main])
            for node in self.files[file].imports
            if node.alias is not None and id(node) in self.imported
        }
        found: dict[str, str] = {}
        for file in [file for file in self.files if file != self.main]:
            stem = "".join(c if c.isalnum() else "_" for c in PurePosixPath(file).stem.lower())
            base = wanted.get(file, stem if stem[:1].isalpha() else f"m{stem}")
            taken, number = set(found.values()), 2
            found[file] = base
            while found[file] in taken:
                found[file], number = f"{base}{number}", number + 1
        return found

    def _names(self) -> dict[tuple[str, str], str]:
        """The unique name of each name of each file."""
        one, found = self.together[self.main], dict[tuple[str, str], str]()
        called: dict[tuple[str, str], str] = {}
        for file in one:
            for node in self.files[file].imports:
                for name in node.names if id(node) in self.imported else ():
                    at = self._exporting(self.imported[id(node)], name.name.text)
                    if at is not None and not any((name.alias or name.name).text in self.own[f] for f in one):
                        called.setdefault((at, name.name.text), (name.alias or name.name).text)
        python = {
            (file, name.text)
            for file, module in self.files.items()
            for d in module.declarations
            if isinstance(d, n.ImportPython | n.ImportCorpus)
            for name in declared(d)
        }
        for file, own in self.own.items():
            for text in own:
                if (file, text) in python or (
                    file in one and (file == self.main or not text.startswith("_"))
                ):
                    found[file, text] = text
                else:
                    made = f"{self.prefixes[file]}{BETWEEN}{text}"
                    found[file, text] = called.get((file, text), made)
                    self.shown[made] = f"{self.prefixes[file]}.{text}"
        return found

    def _exporting(self, file: str, name: str) -> str | None:
        """The file that declares a name, among those merged with a file."""
        return next((at for at in self.together[file] if name in self.own[at]), None)

    def _exported(self, file: str) -> dict[str, str]:
        """The names that others see of a file."""
        return {
            name: self.names[at, name]
            for at in reversed(self.together[file])
            for name in self.own[at]
            if not name.startswith("_")
        }

    # ---------------------------------------------------------------- one file

    def _view(self, file: str) -> tuple[dict[str, str], dict[str, tuple[e.Identifier, dict[str, str]]]]:
        """The names that a file sees, and the files that it has names for."""
        view = self._exported(file) | {name: self.names[file, name] for name in self.own[file]}
        places = {name: span for at in reversed(self.together[file]) for name, span in self.own[at].items()}
        aliases: dict[str, tuple[e.Identifier, dict[str, str]]] = {}
        self.places: dict[str, n.ImportedName] = {}
        for node in self.files[file].imports:
            target = self.imported.get(id(node))
            known = self._exported(target) if target is not None else {}
            for each in node.names:
                name, called = each.name, each.alias or each.name
                if target is None:
                    view[called.text] = e.HOLE
                    continue
                if not self._new(called, places):
                    continue
                self.places[called.text] = each
                view[called.text] = self._imported_name(name, node, known)
            if node.alias is not None and self._new(node.alias, places):
                aliases[node.alias.text] = node.alias, known if target is not None else {e.HOLE: ""}
        return view, aliases

    def _new(self, name: e.Identifier, places: dict[str, Span]) -> bool:
        if name.text in places:
            labels = (Label(places[name.text], "first here"),)
            help = f"import it under another name: `as {name.text}_1`"
            message = f"duplicate name `{name.text}`"
            self.report.error("GOT0101", message, name.span, "here again", labels=labels, help=help)
            return False
        places[name.text] = name.span
        return True

    def _imported_name(self, name: e.Identifier, node: n.ImportGot, known: Mapping[str, str]) -> str:
        if name.text in known:
            return known[name.text]
        self._no_such(name.text, str(node.path.value), name.span, known)
        return e.HOLE

    def _no_such(self, name: str, file: str, span: Span, known: Mapping[str, str]) -> None:
        if name.startswith("_"):
            message, help = f"`{name}` is private to `{file}`", "a name that starts with `_` is not imported"
            self.report.error("GOT0742", message, span, help=help)
            return
        guess = nearest(name, known)
        help = f"did you mean `{guess}`?" if guess else f"it has: {', '.join(sorted(known)) or 'nothing'}"
        fix = Fix(span, guess) if guess and span.end - span.start == len(name) else None
        self.report.error("GOT0741", f"`{file}` has no `{name}`", span, help=help, fix=fix)

    def _renamed(self, module: n.Module) -> n.Module:
        file = module.span.source
        view, aliases = self._view(file)
        other = {name for name, new in view.items() if name != new} | self.places.keys()

        def name_of(name: str) -> str:
            if name in self.places:
                self.used.add(id(self.places[name]))
            return view[name] if name in other else name

        def member(module: str, name: str, span: Span) -> str | None:
            """The name of `search.x`; None if `search` is not a file."""
            if module not in aliases:
                return None
            alias, known = aliases[module]
            self.used.add(id(alias))
            if e.HOLE in known:
                return e.HOLE
            if name not in known:
                self._no_such(name, module, span, known)
            return known.get(name, e.HOLE)

        def called(name: e.Identifier) -> e.Identifier:
            before, dot, after = name.text.partition(".")
            if not dot:
                return name if name.text not in other else replace(name, text=name_of(name.text))
            found = member(before, after, name.span)
            return replace(name, text=found) if found is not None else name

        def shown(name: str) -> str | None:
            before, dot, after = name.partition(".")
            if dot:
                return member(before, after, module.span)
            return name_of(name) if name in other else view.get(name)

        words = strategy_words(module)

        def change(node: e.Node) -> e.Node:
            match node:
                case e.Reference(span=span) | e.Call(function=e.Identifier(span=span)) if (
                    span.source,
                    span.start,
                ) in words:
                    return node
                case e.Reference(name=name) if name in other:
                    return replace(node, name=name_of(name))
                case e.Field(value=e.Reference(name=before), name=name) if before in aliases:
                    found = member(before, name, node.span)
                    return e.Reference(node.span, found or e.HOLE)
                case e.Call(function=name):
                    new = called(name)
                    if new.text == e.HOLE:
                        return e.Reference(node.span, e.HOLE)
                    return node if new is name else replace(node, function=new)
                case n.NamedType(name=name):
                    new = called(name)
                    return node if new is name else replace(node, name=new)
                case n.Step(operation=name) if name.text in other or "." in name.text:
                    return replace(node, operation=called(name))
                case n.ParseForm(function=e.Identifier() as name):
                    return replace(node, function=called(name))
                case n.StudyPrompts(names=names):
                    return replace(node, names=tuple(map(called, names)))
                case n.Vary(name=name):
                    return replace(node, name=called(name))
                case n.Study(scheme=e.Identifier() as name, program=None):
                    return replace(node, scheme=called(name))
            if isinstance(node, n.Prompt) and node.tools:
                node = replace(node, tools=tuple(map(called, node.tools)))
            if isinstance(node, n.Prompt) and self.partials:
                node = with_partials(node, self.partials, shown, self.sources, self.report)
            if isinstance(node, _NAMED) and (file, node.name.text) in self.names:
                return replace(node, name=replace(node.name, text=self.names[file, node.name.text]))
            return node

        own = file in self.together[self.main]
        if own and not other and not aliases and not self.partials:
            return module
        gone = n.Partial if own else n.Partial | n.Study | n.Test
        left = [d for d in module.declarations if not isinstance(d, gone)]
        return replace(module, declarations=tuple(mapped(d, change) for d in left))

    def _circles(self) -> None:
        """Report imports of names that lead back to their own file, by paths from the program's folder."""
        folder = PurePosixPath(self.main).parent
        for file in self.files:
            for node in self.files[file].imports:
                if node.alias is None and not node.names:
                    continue
                way = self._way(self.imported.get(id(node), ""), file)
                if way and file == min(way):
                    paths = [PurePosixPath(one) for one in (file, *way)]
                    seen = [one.relative_to(folder) if folder in one.parents else one for one in paths]
                    message = "circular import: " + " -> ".join(f"`{one}`" for one in seen)
                    help = "move the common part into a separate file"
                    self.report.error("GOT0743", message, node.path.span, help=help)

    def _way(self, start: str, end: str) -> list[str]:
        """The files through which imports lead from one to another; empty if none do."""
        before: dict[str, str | None] = {start: None} if start in self.files else {}
        pending = [*before]
        for at in pending:
            if at == end:
                break
            for node in self.files[at].imports:
                other = self.imported.get(id(node))
                if other is not None and other not in before:
                    before[other] = at
                    pending.append(other)
        found: list[str] = []
        step: str | None = end if end in before else None
        while step is not None:
            found.append(step)
            step = before[step]
        return found[::-1]


def _listed(places: Sequence[tuple[Any, e.Identifier]], name: e.Identifier) -> Span:
    """The place of one of several imported names including its comma."""
    spans: list[Span] = [what.span for what, _ in places]
    at = next(i for i, (_, each) in enumerate(places) if each is name)
    if at + 1 < len(spans):
        return replace(spans[at], end=spans[at + 1].start)
    return replace(spans[at], start=spans[at - 1].end)
