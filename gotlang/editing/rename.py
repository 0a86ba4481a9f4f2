"""Renaming: every place where a symbol is written, in all programs that write it, and in simulators.

A rename that would change the meaning of a program is refused: the programs are checked with the new name
first.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from pathlib import PurePosixPath
from typing import final

from msgspec import Struct

from gotlang.editing.documents import Document, analyzed
from gotlang.editing.modules import real
from gotlang.editing.names import at, occurrences
from gotlang.editing.symbols import Occurrence, Symbol
from gotlang.errors import UsageError
from gotlang.packages import in_package
from gotlang.span import Source
from gotlang.syntax import nodes as n
from gotlang.syntax.typos import RESERVED

_SMALL, _CAPITAL = re.compile(r"[a-z_][A-Za-z0-9_]*"), re.compile(r"[A-Z][A-Za-z0-9_]*")


@final
class TextEdit(Struct, frozen=True, order=True):
    """A part of a file to be replaced. `source` is the real path of the file."""

    source: str
    start: int
    end: int
    text: str


def renamable(document: Document, offset: int) -> Occurrence:
    """The name at an offset. Raises UsageError with the reason if it cannot be renamed."""
    found = at(document, offset)
    if found is None:
        raise UsageError("there is no name to rename here", help="names of the language cannot be renamed")
    symbol = found.symbol
    if symbol.kind == "file":
        raise UsageError("this is a file path", help="rename the file and change the path here")
    if symbol.kind == "python":
        raise UsageError(f"`{symbol.name}` is a Python function", help="rename it there, then here")
    if in_package(symbol.source):
        package = symbol.source[1:].partition(">")[0]
        raise UsageError(
            f"`{symbol.name}` is declared in the package `{package}`", help="import it `as` another name"
        )
    if symbol.kind in ("field", "case") and not _declared(document, symbol):
        raise UsageError(f"`{symbol.name}` is not declared by the program")
    return found


def _declared(document: Document, symbol: Symbol) -> bool:
    return any(o.declares and o.symbol == symbol for o in occurrences(document))


def renamed(documents: Sequence[Document], symbol: Symbol, new: str) -> tuple[TextEdit, ...]:
    """The edits that rename a symbol. `documents` are all programs that may write it. Raises UsageError with
    the reason if the name is invalid."""
    _valid(symbol, new)
    if new == symbol.name:
        return ()
    edits = {
        TextEdit(real(o.span.source), o.span.start, o.span.end, new)
        for document in documents
        for o in occurrences(document)
        if o.symbol == symbol
    }
    sources = {real(name): source for document in documents for name, source in document.sources.items()}
    for document in documents:
        for source, edit in _simulators(document, symbol, new):
            sources[source.name] = source
            edits.add(edit)
    _own_simulators(documents, symbol, sources.keys() - {real(x) for d in documents for x in d.sources})
    texts = {
        name: applied(sources[name].text, (edit for edit in edits if edit.source == name))
        for name in {edit.source for edit in edits}
    }
    for document in documents:
        if texts.keys() & {*document.files_read, *map(real, document.sources)}:
            _safe(document, symbol, new, edits, texts)
    return tuple(sorted(edits))


def _valid(symbol: Symbol, new: str) -> None:
    small = symbol.kind not in ("operation", "case")
    capital = symbol.kind in ("operation", "case", "type", "alias", "variable")
    if not ((small and _SMALL.fullmatch(new)) or (capital and _CAPITAL.fullmatch(new))):
        start = "a small letter" if not capital else "a letter" if small else "a capital letter"
        help = f"it starts with {start} and contains only letters, digits and underscores"
        raise UsageError(f"`{new}` is not a valid name for it", help=help)
    if new in RESERVED:
        raise UsageError(f"`{new}` is a reserved word", help="choose another name")


def _safe(
    document: Document, symbol: Symbol, new: str, edits: Iterable[TextEdit], texts: Mapping[str, str]
) -> None:
    """Raise UsageError if a program has other errors with the new name, or if names then have another
    meaning. `texts` are the texts of files with it, by real path."""
    own = real(document.source.name)
    after = analyzed(own, texts.get(own, document.source.text), {**document.files.buffers, **texts})
    before = Counter(d.code for d in document.diagnostics if d.severity == "error")
    for found in after.diagnostics:
        before[found.code] -= 1
        if found.severity == "error" and before[found.code] < 0:
            file = PurePosixPath(own).name
            raise UsageError(f"`{new}` causes an error: {found.message} (in {file})", help=found.help)
    sources = {real(name) for name in document.sources}
    places = {place for place in _moved(edits) if place[0] in sources}
    named = {o.symbol for o in occurrences(after) if (real(o.span.source), o.span.start) in places}
    all_ = {(real(o.span.source), o.span.start) for o in occurrences(after) if o.symbol in named}
    if places and (len(named) != 1 or all_ != places):
        raise UsageError(f"`{new}` is already visible where `{symbol.name}` is used")


def applied(text: str, edits: Iterable[TextEdit]) -> str:
    """A text after edits of one file."""
    parts, end = list[str](), 0
    for edit in sorted(edits):
        parts += [text[end : edit.start], edit.text]
        end = edit.end
    return "".join([*parts, text[end:]])


def _moved(edits: Iterable[TextEdit]) -> Iterator[tuple[str, int]]:
    """The edited places after the edits."""
    shift: Counter[str] = Counter()
    for edit in sorted(edits):
        yield edit.source, edit.start + shift[edit.source]
        shift[edit.source] += len(edit.text) - (edit.end - edit.start)


# ---------------------------------------------------------------- simulators


def _simulators(document: Document, symbol: Symbol, new: str) -> Iterator[tuple[Source, TextEdit]]:
    """The same name in the simulators of a program: the function of a prompt, and its parameters. Their
    Python is parsed, but not run."""
    is_prompt = symbol.kind == "prompt"
    prompt = symbol.name if is_prompt else symbol.owner
    declared = {
        (real(m.span.source), d.name.text)
        for m in document.compilation.modules
        for d in m.declarations
        if isinstance(d, n.Prompt)
    }
    if (symbol.source, prompt) not in declared or not (is_prompt or symbol.kind == "input"):
        return
    for module in document.compilation.modules:
        for d in module.declarations:
            if isinstance(d, n.Simulate):
                path = str(PurePosixPath(d.span.source).parent / str(d.path.value))
                try:
                    text = document.files.text(path)
                    tree = ast.parse(text)
                except (OSError, ValueError, SyntaxError, RecursionError):
                    continue
                source = Source.of(real(path), text)
                yield from ((source, edit) for edit in _in_python(tree, source, prompt, symbol, new))


def _own_simulators(documents: Sequence[Document], symbol: Symbol, simulators: Set[str]) -> None:
    """Raise UsageError if a program with a prompt of its own by this name has the same simulators."""
    prompt = symbol.name if symbol.kind == "prompt" else symbol.owner
    for document in documents:
        shared = simulators & document.files_read
        declarations = [d for module in document.compilation.modules for d in module.declarations]
        others = [d for d in declarations if isinstance(d, n.Prompt) and d.name.text == prompt]
        if shared and others and all(real(d.span.source) != symbol.source for d in others):
            file, program = PurePosixPath(min(shared)).name, PurePosixPath(document.source.name).name
            help = "give one of the two programs a simulator of its own first"
            raise UsageError(f"{file} simulates the prompt `{prompt}` of {program} too", help=help)


def _in_python(tree: ast.Module, source: Source, prompt: str, symbol: Symbol, new: str) -> Iterator[TextEdit]:
    functions = [f for f in tree.body if isinstance(f, ast.FunctionDef) and f.name == prompt]
    if not functions:
        return
    inside: ast.AST = tree if symbol.kind == "prompt" else functions[-1]
    words = [(f.lineno, f.col_offset, True) for f in functions if symbol.kind == "prompt"]
    for node in ast.walk(inside):
        if isinstance(node, ast.Name | ast.arg):
            name = node.id if isinstance(node, ast.Name) else node.arg
            if name == symbol.name:
                words.append((node.lineno, node.col_offset, False))
            if name == new or (name == symbol.name and symbol.kind == "prompt" and _stored(node)):
                file = PurePosixPath(source.name).name
                raise UsageError(
                    f"the simulator of `{prompt}` in {file}, line {node.lineno}, has a variable `{name}`",
                    help="rename that first",
                )
    for line, column, is_function in words:
        start = source.offset(line) + len(source.line(line).encode()[:column].decode())
        found = re.compile(rf"\b{re.escape(symbol.name)}\b").search(source.text, start)
        if found is not None and (is_function or found.start() == start):
            yield TextEdit(source.name, *found.span(), new)


def _stored(node: ast.Name | ast.arg) -> bool:
    return isinstance(node, ast.arg) or isinstance(node.ctx, ast.Store)
