"""Hover texts of the word at an offset, and the signature of the enclosing call."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, final

from gotlang.codes import CODES
from gotlang.compiler import Compiled
from gotlang.editing.completion import facts, file_inside, rule, template_names, written
from gotlang.editing.documents import Document
from gotlang.editing.modules import real
from gotlang.editing.names import at, occurrences
from gotlang.editing.places import around, call, names
from gotlang.errors import GotError
from gotlang.operations import OPERATIONS
from gotlang.operations.record import PROMPT_SETTINGS
from gotlang.scope import THOUGHT_FUNCTIONS
from gotlang.semantics.aims import ABOUT
from gotlang.semantics.builtins import BUILTINS
from gotlang.semantics.params import constant_value
from gotlang.span import Source, Span
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.syntax.walk import walk
from gotlang.templates.filters import FILTERS
from gotlang.types import as_declared

_TYPES = {
    "int": "whole numbers",
    "float": "numbers; includes `int`",
    "str": "texts",
    "bool": "`true` and `false`",
    "list": "`list[T]`: a list of values of the type T",
    "pair": "`pair[A, B]`: a value of the type A and one of the type B",
    "dict": "`dict[str, T]`: a mapping from strings to values of the type T",
    "image": "an image for a model, given as a file path",
    "file": "a file for a model, given as a file path",
    "any": "any value; it can be rendered, passed on and compared",
}
MOST_SHOWN = 2_000
"""Maximum characters of a rendered prompt that are shown."""


@final
@dataclass(frozen=True, slots=True)
class Hover:
    """A hover text, as Markdown, with its place."""

    span: Span
    text: str


@final
@dataclass(frozen=True, slots=True)
class SignatureHelp:
    """The call around an offset: its signature, the texts of its parameters, the active one (None: none of
    them), and a description."""

    label: str
    parameters: tuple[str, ...]
    active: int | None
    doc: str = ""


def hover(document: Document, offset: int) -> Hover | None:
    """What is known of the word at an offset: its type and facts, its signature and text, its description;
    None if nothing is."""
    source = document.source
    line_start = source.text.rfind("\n", 0, offset) + 1
    line = source.text[line_start:].split("\n", 1)[0]
    words = re.finditer(r"\b[^\W\d]\w*|\b\d[\w.]*", line)
    word = next((w for w in words if w.start() <= offset - line_start <= w.end()), None)
    if word is None:
        return None
    span = Span(source.name, line_start + word.start(), line_start + word.end())
    said = [*_parts(document, word[0], span)] or [*_symbol(document, offset)]
    parts = [*said, *_wrong(document, offset)]
    return Hover(span, "\n\n".join(parts)) if parts else None


def _code(text: str) -> str:
    return f"```got\n{text}\n```"


def _parts(document: Document, word: str, span: Span) -> Iterator[str]:
    here = around(document.source, span.end)
    symbols, text = document.index.symbols, document.source.text
    if word[0].isdigit():
        return
    if here.inside == "template":
        known = template_names(document, here)
        if word in known and known[word] is not None:
            yield _code(f"{word}: {known[word]}")
        elif word in FILTERS and re.search(r"\| *$", text[: span.start]):
            yield f"filter `{word}` of Jinja templates"
        return
    if here.inside in ("comment", "string"):
        return
    if word in _TYPES and not text.startswith("(", span.end):
        yield f"{_code(word)}\n\n{_TYPES[word]}"
        return
    if text.startswith("(", span.end) and word in OPERATIONS:
        record = OPERATIONS[word]
        takes = ", ".join(f"`{name}`" for name in record.syntax.settings)
        yield f"{record.usage}: {record.doc}"
        always = record.fails.removeprefix("never")
        yield f"Never fails{always}." if always != record.fails or not always else f"Fails if {always}."
        yield f"Settings: {takes}." if takes else "No settings."
        return
    if (
        re.match(r" *=(?!=)", text[span.end :])
        and (opened := call(text[here.start : span.start])) is not None
    ):
        asked = OPERATIONS.get(opened[0])
        if asked is not None and word in asked.syntax.settings:
            yield f"setting `{word}` of `{opened[0]}`: {rule(asked.syntax.settings[word])}"
            return
    variable = names(document, span.end + 1).get(word)
    if variable is not None and text[span.start - 1 : span.start] != ".":
        yield _code(f"{word}: {variable.type}")
        kind = {"thought": "one thought", "thoughts": "thoughts"}.get(variable.kind, "")
        if about := "; ".join(filter(None, [kind, facts(variable)])):
            yield about
        return
    type_ = next(
        (t for (name, _, end), t in document.types.items() if (name, end) == (span.source, span.end)), None
    )
    if text[span.start - 1 : span.start] == ".":
        if type_ is not None:
            yield _code(f".{word}: {type_}")
        return
    yield from _declared(document, word)
    if at(document, span.start) is not None:
        return  # it is not part of the language
    if here.head == "study" and word in ABOUT:
        yield f"`{word}`: {ABOUT[word]}"
    elif word in THOUGHT_FUNCTIONS:
        yield _code(f"{word}: {THOUGHT_FUNCTIONS[word][0]}")
        yield THOUGHT_FUNCTIONS[word][1]
    elif word in BUILTINS and word not in symbols.prompts:
        yield _code("\n".join(t.written(word) for t in BUILTINS[word].types))
        yield BUILTINS[word].doc
    elif here.head == "prompt" and word in PROMPT_SETTINGS:
        yield f"setting `{word}` of a prompt: {rule(PROMPT_SETTINGS[word])}"


def _declared(document: Document, word: str) -> Iterator[str]:
    """The head of a declaration of a name, the comment above it, and further information."""
    symbols = document.index.symbols
    for kind, known in (("prompt", symbols.prompts), ("score", symbols.scores), ("scheme", symbols.schemes)):
        if word in known:
            yield _code(f"{kind} {word}{written(known[word])}")
    if word in symbols.params:
        declared = symbols.nodes.get(word)
        yield _code(_line(document, declared) or f"param {word}: {symbols.params[word]}")
    if word in symbols.types:
        yield _code(f"type {word} = {as_declared(symbols.types[word])}")
    if word in symbols.cases:
        yield _code(symbols.cases[word].written())
    if word in symbols.metrics:
        yield _code(f"metric {word}{written(symbols.metrics[word][1])}")
    if word in symbols.functions:
        yield f"`{word}` is a Python function that returns `{symbols.results.get(word, 'any')}`"
    declared = symbols.nodes.get(word)
    if declared is not None and (comment := _comment(document, declared)):
        yield comment
    if word in symbols.prompts:
        yield from _rendered(document, word)


def _line(document: Document, node: e.Node | None) -> str:
    source = document.sources.get(node.span.source) if node is not None else None
    if node is None or source is None:
        return ""
    return source.line(source.position(node.span.start)[0]).split(" #")[0].rstrip()


def _comment(document: Document, node: e.Node) -> str:
    """The comment in the lines right above a declaration."""
    source = document.sources.get(node.span.source)
    return _above(source, node.span.start) if source is not None else ""


def _above(source: Source, offset: int) -> str:
    """The comment in the lines right above that of an offset."""
    lines: list[str] = []
    at = source.position(offset)[0] - 1
    while at > 0 and source.line(at).startswith("#"):
        lines.insert(0, source.line(at).lstrip("# "))
        at -= 1
    return " ".join(lines)


def _symbol(document: Document, offset: int) -> Iterator[str]:
    """The text of the declaration of the name at an offset; the type of a name that has one."""
    found = at(document, offset)
    symbol = (found.means or found.symbol) if found is not None else None
    if symbol is None or symbol.kind == "file":
        return
    same = [o.span for o in occurrences(document) if o.symbol == symbol]
    if symbol.kind == "local":
        known = (document.types.get((span.source, span.start, span.end)) for span in same)
        if (type_ := next(filter(None, known), None)) is not None:
            yield _code(f"{symbol.name}: {type_}")
        return
    sources = {real(name): source for name, source in document.sources.items()}
    start = symbol.start
    if symbol.kind in ("field", "case"):
        span = next((o.span for o in occurrences(document) if o.declares and o.symbol == symbol), None)
        source = document.sources.get(span.source) if span is not None else None
        start = span.start if span is not None else -1
    else:
        source = sources.get(symbol.source) or _of_study(document, symbol.source)
    if source is None or start < 0:
        return
    if symbol.kind in ("field", "case", "input", "setting"):
        yield _code(_until(source.text, start, ",)}\n|"))
        return
    line = source.text.rfind("\n", 0, start) + 1
    yield _code(_until(source.text, line, "\n").partition(" #")[0].rstrip(' :"'))
    if comment := _above(source, start):
        yield comment


def _of_study(document: Document, path: str) -> Source | None:
    """The text of a program that a study of the document names, or None."""
    for study in document.module.declarations:
        if isinstance(study, n.Study) and study.program is not None:
            target = document.target(str(study.program.value))
            if target is not None and real(target.source.name) == path:
                return target.source
    return None


def _until(text: str, start: int, ends: str) -> str:
    """The text from an offset to one of these signs outside brackets."""
    depth = 0
    for end, sign in enumerate(text[start : start + MOST_SHOWN], start):
        if depth == 0 and sign in ends:
            return text[start:end].rstrip()
        depth += (sign in "([{") - (sign in ")]}")
    return text[start : start + MOST_SHOWN]


def _rendered(document: Document, name: str) -> Iterator[str]:
    """A prompt as a model would get it: with the first row of a study's data if that has its inputs, and else
    with placeholders. No Python of the program runs."""
    if not isinstance(document.compilation, Compiled):
        return
    from gotlang.preview import preview_prompt
    from gotlang.program import CheckedProgram

    try:
        program = CheckedProgram(document.compilation)
        if name not in program.prompts:
            return
        values, of = _row(document, dict(program.prompts[name].parameters))
        found = preview_prompt(program, name, values)
    except GotError:
        return
    told = f"With row 0 of `{of}`:" if values else "The text of the prompt:"
    shown = "\n\n".join(f"[{m.role}]\n{m.shown}" for m in found.messages)
    cut = shown if len(shown) <= MOST_SHOWN else f"{shown[:MOST_SHOWN]}\n..."
    yield f"{told}\n\n~~~~text\n{cut.replace('~~~~', '~~~')}\n~~~~"


def _row(document: Document, wanted: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Values for the inputs of a prompt from the first row of the data of a study or a law, and its file; an
    input without a column has the default of the param with its name. None if one has neither."""
    from gotlang.data import load, parse_value

    defaults: dict[str, Any] = {}
    for d in document.module.declarations:
        if isinstance(d, n.Param) and d.name.text in wanted:
            with suppress(TypeError):
                defaults[d.name.text] = constant_value(d.default)
    for file, columns in _data(document) if wanted else ():
        path = file_inside(document, file)
        if path is None:
            continue
        try:
            table = load(path, 1)
            row = dict(table.rows[0]) if len(table.rows) else {}
            row |= {name: row[column] for name, column in columns if column in row}
            if wanted.keys() <= row.keys() | defaults.keys() and wanted.keys() & row.keys():
                given = {
                    name: parse_value(value, type_, name) if isinstance(value := row[name], str) else value
                    for name, type_ in wanted.items()
                    if name in row
                }
                return {**defaults, **given}, file
        except (GotError, OSError):
            continue
    return {}, ""


def _data(document: Document) -> Iterator[tuple[str, Iterable[tuple[str, str]]]]:
    """The data files that the studies and laws of a program name, with the columns of inputs."""
    for d in document.module.declarations:
        if isinstance(d, n.Study) and d.data is not None:
            yield str(d.data.path.value), d.data.columns
    for d in document.module.declarations:
        for node in walk(d) if isinstance(d, n.Test) else ():
            match node:
                case e.Call(
                    function=e.Identifier(text="rows"),
                    arguments=(e.Argument(value=e.Constant(value=str() as path)), *rest),
                ):
                    named = [(a.name.text, a.value) for a in rest if a.name is not None]
                    yield path, [(name, str(v.value)) for name, v in named if isinstance(v, e.Constant)]


def _wrong(document: Document, offset: int) -> Iterator[str]:
    """The meaning of a diagnostic at an offset, and the command that explains it."""
    for found in document.diagnostics:
        span = found.span
        if span.source == document.source.name and span.start <= offset <= span.end and found.code in CODES:
            title = CODES[found.code].title
            yield f"**{found.code}**: {title}. `gotc explain {found.code}` explains it."


# ---------------------------------------------------------------- calls


def signature_help(document: Document, offset: int) -> SignatureHelp | None:
    """The call that is open at an offset: of an operation, a built-in, a prompt, a score or a scheme."""
    here = around(document.source, offset)
    opened = call(here.text) if here.inside == "code" else None
    if opened is None:
        return None
    name, at, given = opened
    symbols = document.index.symbols
    for kind in (symbols.prompts, symbols.scores, symbols.schemes):
        if name in kind:
            parameters = tuple(f"{p}: {type_}" for p, type_ in kind[name].parameters if p != e.HOLE)
            return SignatureHelp(f"{name}{written(kind[name])}", parameters, _active(parameters, at, given))
    if name in OPERATIONS:
        record = OPERATIONS[name]
        parameters = tuple(record.syntax.settings)
        active = _active(parameters, at if record.syntax.first and at == 0 else len(parameters), given)
        return SignatureHelp(f"{name}({', '.join(parameters)})", parameters, active, record.doc)
    if name in BUILTINS:
        types = BUILTINS[name].types
        best = next((t for t in types if len(t.takes) > at or t.rest is not None), types[0])
        parameters = (*map(str, best.takes), *([f"{best.rest}..."] if best.rest is not None else []))
        at = min(at, len(parameters) - 1) if best.rest is not None else at
        active = at if at < len(parameters) else None
        return SignatureHelp(best.written(name), parameters, active, BUILTINS[name].doc)
    return None


def _active(parameters: tuple[str, ...], at: int, given: tuple[str, ...]) -> int | None:
    last = given[-1] if given and len(given) > at else None
    if last is not None:
        return next((i for i, p in enumerate(parameters) if p.partition(":")[0] == last), None)
    return at if at < len(parameters) else None
