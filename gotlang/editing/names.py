"""The names of a program's files: each place where one is written, with its meaning there.

It follows the rules of `gotlang.linking.modules` (which file sees what) and `gotlang.semantics.names` (what
is in scope in which block) on the tree as written, so it also works for programs with errors.
"""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import PurePosixPath
from typing import final

from gotlang.answers.forms import Lines
from gotlang.editing.documents import Document
from gotlang.editing.modules import Modules, beside, fields_of, real, shape
from gotlang.editing.symbols import Kind, Occurrence, Symbol
from gotlang.linking.modules import declared
from gotlang.scope import BETWEEN
from gotlang.span import Source, Span
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.syntax.walk import children, walk
from gotlang.types import ListType, OptionalType, RecordType, Type, UnionType

_Names = ChainMap[str, Symbol]
_MOST_ALIASES = 10
"""Names of types that refer to each other, one after another."""
_TAG = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
_TOKEN = re.compile(r"\"[^\"]*\"|'[^']*'|(?P<word>[A-Za-z_]\w*)|[^\w\s]")
_HOLE = re.compile(r"(?<!\{)\{ *(\w+) *\}(?!\})")
_LOOP = re.compile(r"\{%-?\s*for\s+(\w+)\s+in\b")
_LOOP_END = re.compile(r"\{%-?\s*endfor\b")
_AFTER = re.compile(r"\s*(=(?!=)|\.|\()?")
_JINJA = (
    "for", "in", "if", "else", "elif", "endif", "endfor", "set", "not", "and", "or",
    "is", "true", "false", "none",
)  # fmt: skip


@lru_cache(256)
def occurrences(document: Document) -> tuple[Occurrence, ...]:
    """Every name with a meaning in the files of a program, in the order of the text, file by file."""
    return _Finder(document).found()


def at(document: Document, offset: int) -> Occurrence | None:
    """The name at an offset of a program's own text, or that ends there."""
    source = document.source.name
    near = [
        o for o in occurrences(document) if o.span.source == source and o.span.start <= offset <= o.span.end
    ]
    return min(near, key=lambda o: (o.span.end == offset, o.span.end - o.span.start), default=None)


@final
class _Finder:
    """Visits the files of a program. `files` are their modules by the real name of the source."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.sources = {real(name): source for name, source in document.sources.items()}
        self.modules = Modules(document)
        self.types = document.types
        self.types_of_names: dict[Symbol, Type] = {}
        self.declared_types = dict(self.modules.types)
        self.out: list[Occurrence] = []
        self.source = document.source
        self.aliases: dict[str, tuple[Symbol, Mapping[str, Symbol]]] = {}
        self.means: dict[Symbol, Symbol] = {}

    def found(self) -> tuple[Occurrence, ...]:
        for file, module in self.modules.files.items():
            self.source = self.sources[file]
            self._module(file, module)
        order = {name: number for number, name in enumerate(self.modules.files)}
        unique = {(o.span.source, o.span.start, o.span.end): o for o in self.out}
        return tuple(
            sorted(
                unique.values(), key=lambda o: (order.get(real(o.span.source), 0), o.span.start, o.span.end)
            )
        )

    def _view(self, file: str) -> dict[str, Symbol]:
        """The names that a file sees; records where its imports write names."""
        view = self.modules.visible(file)
        self.aliases = {}
        for node in self.modules.files[file].imports:
            target = self.modules.target(node)
            known = self.modules.exported(target) if target is not None else {}
            if target is not None:
                self._add(self._quoted(node.path), Symbol("file", target, target, 0))
            for each in node.names:
                symbol = known.get(each.name.text)
                if symbol is not None:
                    self._add(each.name.span, symbol)
                if each.alias is not None:
                    view[each.alias.text] = self._alias(each.alias, file, symbol)
                elif symbol is not None:
                    view[each.name.text] = symbol
            if node.alias is not None:
                made = Symbol("module", node.alias.text, file, node.alias.span.start)
                self._add(node.alias.span, made, declares=True)
                self.aliases[node.alias.text] = made, known
        return view

    def _alias(self, name: e.Identifier, file: str, means: Symbol | None) -> Symbol:
        made = Symbol("alias", name.text, file, name.span.start, means.name if means is not None else "")
        if means is not None:
            self.means[made] = means
        self._add(name.span, made, declares=True)
        return made

    # ---------------------------------------------------------------- places

    def _add(self, span: Span, symbol: Symbol, declares: bool = False) -> None:
        if span.start < span.end:
            self.out.append(Occurrence(span, symbol, declares, self.means.get(symbol)))

    def _use(self, span: Span, name: str, names: Mapping[str, Symbol]) -> Symbol | None:
        """A name in a span that may have parentheses around it; returns its meaning."""
        before, dot, after = name.partition(".")
        if dot and before in self.aliases and before not in names:
            module, known = self.aliases[before]
            self._add(self._word(span, before), module)
            if after in known:
                self._add(self._word(span, after, last=True), known[after])
            return known.get(after)
        symbol = names.get(name)
        if symbol is not None:
            self._add(self._word(span, name), symbol)
        return symbol

    def _word(self, span: Span, name: str, last: bool = False) -> Span:
        text = self.source.text[span.start : span.end]
        found = [m.start() for m in re.finditer(rf"\b{re.escape(name)}\b", text)]
        if not found:
            return Span(span.source, span.start, span.start)
        start = span.start + found[-1 if last else 0]
        return Span(span.source, start, start + len(name))

    def _quoted(self, node: e.Node) -> Span:
        """A path without its quotes."""
        inside = 1 if self.source.text.startswith('"', node.span.start) else 0
        return Span(node.span.source, node.span.start + inside, node.span.end - inside)

    def _bind(self, name: e.Identifier, kind: Kind, names: _Names, owner: str = "") -> Symbol:
        known = names.maps[0].get(name.text)
        if name.text == e.HOLE:
            return Symbol(kind, name.text)
        if known is not None and known.kind == kind:
            self._add(name.span, known)
            return known
        made = Symbol(kind, name.text, real(name.span.source), name.span.start, owner)
        names[name.text] = made
        self._add(name.span, made, declares=True)
        return made

    def _path(self, node: e.Constant | None) -> None:
        if node is not None:
            path = beside(node, str(node.value))
            self._add(self._quoted(node), Symbol("file", path, path, 0))

    # ---------------------------------------------------------------- declarations

    def _module(self, file: str, module: n.Module) -> None:
        view: _Names = ChainMap(self._view(file))
        for d in module.declarations:
            for name in declared(d):
                if (symbol := self.modules.own[file].get(name.text)) is not None:
                    self._add(name.span, symbol, declares=symbol.start == name.span.start)
            self._declaration(d, view)

    def _declaration(self, d: n.Declaration, view: _Names) -> None:
        names = view.new_child()
        match d:
            case n.ImportGot():
                pass
            case n.ImportPython() | n.ImportCorpus() | n.Simulate():
                self._path(d.path)
                self._inside(d, names)
            case n.Prompt():
                self._prompt(d, names)
            case n.Partial():
                self._parameters(d.parameters, "input", d.name.text, names)
                self._template(d.text, names)
            case n.OperationDefinition():
                self._parameters(d.settings, "setting", d.name.text, names)
                self._parameters(d.operands, "input", d.name.text, names)
                self._suite(d.body, names)
            case n.Study():
                self._study(d, names)
            case n.Test():
                for drawn in d.drawn:
                    self._visit(drawn.generator, names)
                    for name in drawn.names:
                        self._bind(name, "local", names)
                self._visit(d.value, names)
            case n.Score() | n.Metric() | n.Scheme() | n.Function():
                for variable in d.variables if isinstance(d, n.Scheme | n.Function) else ():
                    self._bind(variable, "variable", names)
                self._parameters(d.parameters, "input", d.name.text, names)
                for part in children(d):
                    if not isinstance(part, e.Identifier | n.TypedName | n.Limit):
                        self._visit(part, names)
            case n.Param() | n.TypeAlias():
                self._inside(d, names)

    def _parameters(self, given: Iterable[n.TypedName], kind: Kind, owner: str, names: _Names) -> None:
        given = [each for each in given if each.name.text != e.HOLE]
        for each in given:
            self._visit(each.type, names)
            if each.default is not None:
                self._visit(each.default, names)
        for each in given:
            self.declared_types[self._bind(each.name, kind, names, owner)] = each.type

    def _prompt(self, d: n.Prompt, names: _Names) -> None:
        self._visit(d.result, names)
        self._parameters(d.parameters, "input", d.name.text, names)
        for setting in d.settings:
            self._visit(setting.value, names)
        for example in d.examples:
            self._arguments(example.inputs, dict(names.maps[0]), names)
            self._visit(example.output, names)
        for tool in d.tools:
            self._use(tool.span, tool.text, names)
        for turn in d.turns:
            if isinstance(turn.text, e.Identifier):
                self._use(turn.text.span, turn.text.text, names)
        if d.parse is not None and d.parse.function is not None:
            self._use(d.parse.function.span, d.parse.function.text, names)
        if d.parse is not None and isinstance(d.parse.form, Lines):
            for hole in _HOLE.finditer(self.source.text, d.parse.span.start, d.parse.span.end):
                self._member(Span(d.span.source, *hole.span(1)), hole[1], None, d.result, names)
        for text in d.texts:
            self._template(text, names)
        if d.file is not None:
            self._path(d.file)
            source = self.sources.get(beside(d.file, str(d.file.value)))
            if source is not None:
                self._tags(source, 0, len(source.text), names)

    def _study(self, d: n.Study, names: _Names) -> None:
        own = self.modules.own.get(real(d.span.source), {}).get(d.name.text)
        if own is None:
            symbol = Symbol("study", d.name.text, real(d.span.source), d.name.span.start)
            self._add(d.name.span, symbol, declares=True)
        self._path(d.program)
        self._path(d.data.path if d.data is not None else None)
        inputs, other = self.modules.inputs, None
        if d.program is not None:
            other = self.document.target(str(d.program.value))
            if other is None:
                return
            modules = Modules(other)
            names = ChainMap(modules.with_imports(real(other.source.name)))
            inputs = modules.inputs
        scheme = self._use(d.scheme.span, d.scheme.text, names) if d.scheme is not None else None
        file = real(d.span.source if other is None else other.source.name)
        schemes = [s for s in names.values() if s.kind == "scheme" and s.source == file]
        named = [s for s in schemes if PurePosixPath(file).stem == s.name]
        scheme = scheme or next(reversed(named or schemes), None)
        takes = inputs.get((scheme.source, scheme.name), {}) if scheme is not None else {}
        for column, _ in d.data.columns if d.data is not None else ():
            assert d.data is not None
            found = re.compile(rf"[(,]\s*({re.escape(column)})\s*=").search(
                self.source.text, d.data.path.span.end, d.data.span.end
            )
            if found is not None and column in takes:
                self._add(Span(d.span.source, *found.span(1)), takes[column])
        inside = names.new_child(dict(takes))
        for part in (*(x for _, x in d.objectives), *d.constraints):
            self._visit(part, inside)
        for vary in d.vary:
            before, between, after = vary.name.text.partition(BETWEEN)
            if between and before in self.aliases and after in self.aliases[before][1]:
                start, end = vary.name.span.start, vary.name.span.end
                self._add(Span(d.span.source, start, start + len(before)), self.aliases[before][0])
                self._add(Span(d.span.source, end - len(after), end), self.aliases[before][1][after])
            self._use(vary.name.span, vary.name.text, names)
            if isinstance(vary.domain, n.Choices):
                for value in vary.domain.values:
                    if isinstance(value, n.TextFile):
                        self._path(value.path)
                    else:
                        self._visit(value, names)
        for prompts in d.prompts:
            for prompt in prompts.names:
                self._use(prompt.span, prompt.text, names)

    # ---------------------------------------------------------------- templates

    def _template(self, text: e.Constant, names: _Names) -> None:
        if real(text.span.source) == real(self.source.name):
            self._tags(self.source, text.span.start, text.span.end, names)

    def _tags(self, source: Source, start: int, end: int, names: _Names) -> None:
        """The names in the tags of a template, which is a part of a source."""
        inside, loops = names.new_child(), list[tuple[str, n.TypeNode | None]]()
        for tag in _TAG.finditer(source.text, start, end):
            opened: list[Symbol | None] = []
            before, owner, of = "", None, None
            loop, ends = _LOOP.match(tag[0]), _LOOP_END.match(tag[0])
            if ends is not None and loops:
                loops.pop()
            for token in _TOKEN.finditer(source.text, tag.start() + 2, tag.end() - 2):
                word, span = token[0], Span(source.name, *token.span())
                following = _AFTER.match(source.text, token.end(), tag.end() - 2)
                next_ = following[0].strip() if following is not None else ""
                if word == "(":
                    opened.append(owner)
                elif word == ")" and opened:
                    opened.pop()
                elif before == "." and token["word"]:
                    owner, of = self._member(span, word, owner, of, names)
                elif token["word"] and next_ == "=" and opened:
                    takes = self._takes(opened[-1])
                    if word in takes:
                        self._add(span, takes[word])
                elif token["word"] and word in (elements := dict(loops)):
                    owner, of = None, elements[word]
                elif token["word"] and word not in _JINJA:
                    owner = inside.get(word)
                    module = self.aliases.get(word)
                    if owner is not None and owner.kind in ("input", "partial", "alias"):
                        self._add(span, owner)
                    elif module is not None and next_ == ".":
                        owner = module[0]
                        self._add(span, owner)
                    else:
                        owner = None
                    of = self.declared_types.get(owner) if owner is not None else None
                before = word
            if loop is not None:
                of = self._meant(of, names)
                loops.append(
                    (loop[1], of.arguments[0] if isinstance(of, n.NamedType) and of.arguments else None)
                )

    def _member(
        self, span: Span, word: str, owner: Symbol | None, of: n.TypeNode | None, names: _Names
    ) -> tuple[Symbol | None, n.TypeNode | None]:
        """The member after a dot in a template: of a module, or a field of a record of this type."""
        if owner is not None and owner.kind == "module":
            found = self.aliases[owner.name][1].get(word)
            if found is not None:
                self._add(span, found)
            return found, None
        of = self._meant(of, names)
        if isinstance(of, n.RecordTypeNode):
            known = {each.name.text: each.type for each in of.fields}
            if word in known:
                self._add(span, Symbol("field", word, owner=shape("", known)))
                return None, known[word]
        return None, None

    def _meant(self, of: n.TypeNode | None, names: _Names) -> n.TypeNode | None:
        """The type of an alias, of an optional one its inner type."""
        for _ in range(_MOST_ALIASES):
            if isinstance(of, n.OptionalTypeNode):
                of = of.type
            elif isinstance(of, n.NamedType) and (alias := names.get(of.name.text)) in self.declared_types:
                of = self.declared_types[self.means.get(alias, alias)] if alias is not None else None
        return of

    # ---------------------------------------------------------------- pipelines

    def _suite(self, suite: n.Suite, names: _Names, own: Iterable[e.Identifier] = ()) -> None:
        inside = names.new_child()
        for name in own:
            self._bind(name, "local", inside)
        self._statements(suite, inside)

    def _statements(self, suite: n.Suite, names: _Names) -> None:
        for statement in suite.statements:
            self._statement(statement, names)

    def _statement(self, node: n.Statement, names: _Names) -> None:
        match node:
            case n.Bind(value=value):
                if node.type is not None:
                    self._visit(node.type, names)
                if isinstance(value, n.Suite):
                    self._suite(value, names)
                else:
                    self._statement(value, names) if isinstance(value, n.Block) else self._visit(value, names)
                known = names.get(node.name.text)
                if known is not None and known.kind == "local":
                    self._add(node.name.span, known)
                else:
                    self._bind(node.name, "local", names)
            case n.Foreach():
                self._parts(names, node.iterable)
                inside = names.new_child()
                for name in node.names:
                    earlier = names.get(name.text)
                    if earlier is None or earlier.kind != "local":
                        self._bind(name, "local", inside)
                    else:  # of an earlier `foreach`, whose results it meant
                        self._add(name.span, earlier)
                self._parts(inside, node.after)
                self._statements(node.body, inside)
                for name in node.names[-1:]:  # after the block, the results
                    names.setdefault(name.text, inside[name.text])
            case n.Reduce():
                self._parts(names, node.iterable)
                self._suite(
                    node.body, names, [x for x in (node.left, node.right, node.step) if x is not None]
                )
            case n.RepeatBlock():
                self._parts(names, node.count)
                inside = names.new_child()
                if node.counter is not None:
                    self._bind(node.counter, "local", inside)
                self._statements(node.body, inside)
                self._parts(inside, node.until)
            case n.Match():
                self._match(node, names)
            case n.Search():
                self._parts(names, node.root, *(clause.value for clause in node.clauses))
                inside = names.new_child()
                self._bind(node.state, "local", inside)
                self._parts(inside, node.until)
                for part in node.parts:
                    self._suite(part, inside)
                if node.backup is not None:
                    self._use(node.backup.span, node.backup.text, names)
            case n.Labelled():
                self._parts(names, *node.sources)
                self._suite(node.body, names, () if n.is_unreadable(node) else node.names)
            case n.Step():
                self._visit(node, names)
            case _:
                self._parts(names, *children(node))

    def _parts(self, names: _Names, *nodes: e.Node | None) -> None:
        for node in nodes:
            if node is not None:
                self._visit(node, names)

    def _match(self, node: n.Match, names: _Names) -> None:
        self._visit(node.subject, names)
        for branch in node.branches:
            inside = names.new_child()
            for pattern in branch.patterns:
                if isinstance(pattern, n.CasePattern):
                    self._case(pattern.case)
                    owner = self.modules.cases.get(pattern.case.text, "")
                    for field in pattern.fields:
                        inside[field.text] = Symbol("field", field.text, owner=owner)
                        self._add(field.span, inside[field.text])
            if branch.name is not None:
                self._bind(branch.name, "local", inside)
            self._statements(branch.body, inside)
        if node.otherwise is not None:
            self._suite(node.otherwise, names)

    # ---------------------------------------------------------------- expressions and types

    def _inside(self, node: e.Node, names: _Names) -> None:
        for part in children(node):
            if not isinstance(part, e.Identifier):
                self._visit(part, names)

    def _visit(self, node: e.Node, names: _Names) -> None:
        match node:
            case n.Suite():
                self._suite(node, names)
            case _ if isinstance(node, n.Bind | n.Block):
                self._statement(node, names)
            case e.Reference(name=name):
                symbol, type_ = self._use(node.span, name, names), self.types.get(_key(node))
                if symbol is not None and type_ is not None:
                    self.types_of_names[symbol] = type_
            case e.Call(function=function, arguments=arguments):
                callee = self._use(function.span, function.text, names)
                self._arguments(arguments, self._takes(callee), names)
            case n.Step(operation=operation):
                callee = self._use(operation.span, operation.text, names)
                self._arguments(node.settings or (), self._takes(callee), names)
                self._parts(names, *node.operands, node.again)
            case e.Field(value=e.Reference(name=before), name=name) if (
                before in self.aliases and before not in names
            ):
                self._use(node.span, f"{before}.{name}", names)
            case e.Field(value=value, name=name):
                self._visit(value, names)
                for owner in self._owners(value, name, names):
                    place = Span(node.span.source, value.span.end, node.span.end)
                    self._add(self._word(place, name, last=True), Symbol("field", name, owner=owner))
            case e.Compare():
                self._inside(node, names)
                if any(isinstance(part, e.Field) and part.name == "type" for part in children(node)):
                    for part in walk(node):  # `step.type == "Finish"`
                        if isinstance(part, e.Constant) and part.value in self.modules.cases:
                            self._add(self._word(part.span, str(part.value)), Symbol("case", str(part.value)))
            case e.Comprehension():
                self._visit(node.iterable, names)
                inside = names.new_child()
                for bound in node.names:
                    self._bind(bound, "local", inside)
                self._parts(inside, node.condition, node.element)
            case e.RecordDisplay(entries=entries):
                keys = {key for key, _ in entries if key is not None}
                spread = any(key is None for key, _ in entries)
                owners = self._shapes(self.types.get(_key(node))) or ([] if spread else [shape("", keys)])
                self._entries(node, entries, owners, names)
            case e.Case(case=case, entries=entries):
                self._case(case)
                self._entries(node, entries, [self.modules.cases.get(case.text, "")], names)
            case n.NamedType(name=name, arguments=inner):
                if name.text in self.modules.cases and name.text not in names:
                    self._case(name)
                else:
                    self._use(name.span, name.text, names)
                self._parts(names, *inner)
            case n.CaseTypeNode(name=name, fields=fields):
                self._add(name.span, Symbol("case", name.text), declares=True)
                if fields is not None:
                    self._record(fields, name.text, names)
            case n.RecordTypeNode():
                self._record(node, "", names)
            case n.LabelReference() | n.Skip():
                pass
            case _:
                self._inside(node, names)

    def _arguments(self, arguments: Iterable[e.Argument], takes: Mapping[str, Symbol], names: _Names) -> None:
        for argument in arguments:
            if argument.name is not None and argument.name.text in takes:
                self._add(argument.name.span, takes[argument.name.text])
            self._visit(argument.value, names)

    def _takes(self, callee: Symbol | None) -> Mapping[str, Symbol]:
        if callee is None:
            return {}
        callee = self.means.get(callee, callee)
        return self.modules.inputs.get((callee.source, callee.name), {})

    def _case(self, name: e.Identifier) -> None:
        if name.text in self.modules.cases:
            self._add(name.span, Symbol("case", name.text))

    def _record(self, node: n.RecordTypeNode, case: str, names: _Names) -> None:
        owner = shape(case, {each.name.text for each in node.fields})
        for each in node.fields:
            self._add(each.name.span, Symbol("field", each.name.text, owner=owner), declares=True)
            self._visit(each.type, names)

    def _entries(
        self,
        node: e.Expression,
        entries: Iterable[tuple[str | None, e.Expression]],
        owners: Sequence[str],
        names: _Names,
    ) -> None:
        end = node.span.start
        for key, value in entries:
            if key is not None and owners:
                found = re.compile(rf'"?\b({re.escape(key)})\b"?\s*:').search(
                    self.source.text, end, value.span.start
                )
                if found is not None:
                    self._add(Span(node.span.source, *found.span(1)), Symbol("field", key, owner=owners[0]))
            self._visit(value, names)
            end = value.span.end

    def _owners(self, value: e.Expression, name: str, names: _Names) -> list[str]:
        """The record that has a field. If a condition decides a field's value, the check does not infer the
        type of its operand: then it is the type that it has elsewhere."""
        type_ = self.types.get(_key(value))
        if type_ is None and isinstance(value, e.Reference) and value.name in names:
            type_ = self.types_of_names.get(names[value.name])
        return [owner for owner in self._shapes(type_) if name in fields_of(owner)][:1]

    def _shapes(self, type_: Type | None) -> list[str]:
        if isinstance(type_, OptionalType):
            type_ = type_.inner
        if isinstance(type_, ListType):
            return []
        each = type_.cases if isinstance(type_, UnionType) else (type_,)
        return [
            shape(record.case, {name for name, _ in record.parts if not (record.case and name == "type")})
            for record in each
            if isinstance(record, RecordType)
        ]


def _key(node: e.Node) -> tuple[str, int, int]:
    return node.span.source, node.span.start, node.span.end
