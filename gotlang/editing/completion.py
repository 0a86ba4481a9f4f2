"""Completions at an offset: names, operations, settings, fields, template variables, columns."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, final

from gotlang.disk import real_path
from gotlang.editing.documents import Document
from gotlang.editing.places import Around, around, call, names, value_before
from gotlang.errors import GotError
from gotlang.linking.modules import declared
from gotlang.operations import OPERATIONS
from gotlang.operations.record import MODEL_SETTINGS, PROMPT_SETTINGS, SettingRule
from gotlang.packages import STANDARD
from gotlang.scope import BETWEEN, THOUGHT_FUNCTIONS, Variable
from gotlang.semantics.aims import ABOUT, BASELINE
from gotlang.semantics.builtins import BUILTINS
from gotlang.semantics.studies import CLAUSES, DATA_OPTIONS, OPTIMIZERS, OPTIONS, SAMPLERS
from gotlang.semantics.symbols import TYPES, Signature, Symbols
from gotlang.semantics.variations import ASKED, MODELS, SCHEME, STRUCTURE, TEXT_PARTS, VARIED
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.syntax.typos import DECLARATIONS, STATEMENTS
from gotlang.templates.filters import FILTERS
from gotlang.types import (
    DictType,
    ListType,
    LiteralType,
    OptionalType,
    RecordType,
    Simple,
    Type,
    UnionType,
    as_declared,
    present,
)

Kind = Literal[
    "keyword", "operation", "setting", "field", "variable", "prompt", "score", "scheme", "function", "param",
    "type", "case", "filter", "module", "file", "column", "metric", "argument", "corpus",
]  # fmt: skip
"""The kinds of suggestions."""

_BLOCKS = (*STATEMENTS, "search", "first", "race", "until")
_PARTS = ("system", "user", "assistant", "messages", "instruction", "examples:", "parse", "tools", "stop")
_FORMS = ("tag", "json", "lines", "after", "with")
_GENERATORS = ("int", "float", "bool", "str", "ints(", "floats(", "texts(", "lists(", "list[", "rows(")
_TAGS = ("for", "endfor", "if", "elif", "else", "endif", "set", "include")
_WORD = re.compile(r"\w*$")
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_MAX_FILES = 200
_ROWS_READ = 50
"""Rows of a data file whose columns are suggested: a row of JSON may lack some."""


@final
@dataclass(frozen=True, slots=True)
class Suggestion:
    """A suggestion: `label` is the text that is inserted, `detail` its type or signature, `doc` its
    description. Those with a lower `rank` come first. `typed` is the length of the text before the offset
    that it replaces if that is more than a word, as in a path."""

    label: str
    kind: Kind
    detail: str = ""
    doc: str = ""
    rank: int = 1
    typed: int | None = None


def completions(document: Document, offset: int) -> tuple[Suggestion, ...]:
    """The suggestions at an offset, regardless of the part of a word that is already there; none in comments
    and plain texts."""
    here = around(document.source, offset)
    word = _WORD.search(here.line)
    start = offset - (len(word[0]) if word is not None else 0)
    before = here.line[: len(here.line) - (offset - start)]
    found = {c.label: c for c in reversed([*_found(document, here, before, start)]) if _shown(c.label)}
    return tuple(sorted(found.values(), key=lambda c: (c.rank, c.label)))


def _shown(label: str) -> bool:
    return bool(label) and e.HOLE not in label and BETWEEN not in label


def _found(document: Document, here: Around, before: str, start: int) -> Iterator[Suggestion]:
    symbols = document.index.symbols
    if here.inside == "comment":
        return
    if here.inside == "template":
        yield from _template(document, here, before, start)
    elif here.inside == "string":
        yield from _paths(document, here)
    elif not before.strip() and before == "":
        yield from _words(DECLARATIONS)
    elif here.head in ("import", "from"):
        yield from _modules(document, here)
    elif before.endswith(".") and not re.match(r" +vary\b", before):
        yield from _members(document, before, start)
    elif here.head in ("score", "metric") and re.search(r"-> *$", before) and "\n" not in here.text:
        yield from _words(("lower", "higher"), rank=0)
    elif _takes_type(here, before):
        yield from _types(symbols)
    elif here.head == "scheme" and (after := re.search(r"->[^()\n]*[^ ,](,?) +$", here.text[: len(before)])):
        yield from _words(("truth",) if after[1] else ("decreases", "within"), rank=0)
    elif here.head == "study":
        yield from _study(document, here, before)
    elif here.head == "law" and (drawn := list(_drawn(document, here, before))):
        yield from drawn
    elif here.head == "prompt":
        yield from _prompt(here, before)
    else:
        yield from _code(document, here, before, start)


def _takes_type(here: Around, before: str) -> bool:
    """Whether a type comes next: in a line that declares inputs, a type or a param."""
    if here.head == "type" and re.search(r"[=|] *$", before):
        return True
    if not re.search(r"(?::|->|\[|\bmany) *$", before):
        return False
    heads = ("prompt", "scheme", "score", "metric", "partial", "function", "operation", "type", "param")
    typed = re.match(r" +[a-z_]\w* *: *$", before)
    return here.head in heads and ("\n" not in here.text or here.text.startswith("type") or typed is not None)


def _words(words: Iterable[str], kind: Kind = "keyword", rank: int = 2) -> Iterator[Suggestion]:
    for word in words:
        yield Suggestion(word, kind, rank=rank)


# ---------------------------------------------------------------- code


def _code(document: Document, here: Around, before: str, start: int) -> Iterator[Suggestion]:
    """A line of a scheme, a score or a test."""
    symbols, opened = (
        document.index.symbols,
        call(here.text[: len(here.text) - (len(here.line) - len(before))]),
    )
    operation = OPERATIONS.get(opened[0]) if opened is not None else None
    if opened is not None and not before.rstrip().endswith("="):
        if operation is not None:
            yield from _settings(operation.syntax.settings, opened[2])
        elif (signature := _signature(symbols, opened[0])) is not None:
            yield from _arguments(signature, opened)
    if not before.strip() or re.fullmatch(r" +\w+ = ", before):
        for name, record in OPERATIONS.items():
            yield Suggestion(name, "operation", record.usage.strip("`"), record.doc)
        for name, _ in _declared(document, n.OperationDefinition):
            yield Suggestion(name, "operation", "operation of this program")
        yield from _words(_BLOCKS)
    if not before.strip():
        yield from _branches(document, here, before, start)
    asked = re.search(r"\b([A-Z]\w*)\([^()]*\) *$", before)
    yield from _names(document, start, asked[1] if asked else "")


def _branches(document: Document, here: Around, before: str, start: int) -> Iterator[Suggestion]:
    """Suggestions at the possible start of a branch of a `match`: the possible cases, and `else`."""
    for line in reversed(here.text.split("\n")[:-1]):
        margin = len(line) - len(line.lstrip(" "))
        if line.strip() and margin < len(before):
            opened = re.fullmatch(r" *match (.+): *(?:#.*)?", line)
            known = value_before(document, start, opened[1]) if opened is not None else None
            if isinstance(known, OptionalType):
                yield Suggestion("none:", "case", rank=0)
            match present(known) if known is not None else None:
                case Simple(name="bool"):
                    yield from _words(("true:", "false:"), "case", rank=0)
                case UnionType(cases=cases):
                    for case in cases:
                        yield Suggestion(f"{case.tag}:", "case", case.written(), rank=0)
                case LiteralType(values=values):
                    for value in values:
                        yield Suggestion(f'"{value}":', "case", rank=0)
            if opened is not None:
                yield Suggestion("else:", "keyword", rank=0)
            return


def _names(document: Document, start: int, operation: str = "") -> Iterator[Suggestion]:
    """Every name that a value or a call may start with; first those that match the operation before them."""
    symbols = document.index.symbols
    for variable in names(document, start).values():
        yield Suggestion(variable.name, "variable", str(variable.type), facts(variable), rank=0)
    judges = operation in ("Score", "Validate", "GroundTruth", "Select", "Map", "Pool", "Vote")
    for name, type_ in symbols.params.items():
        yield Suggestion(name, "param", str(type_))
    for name, signature in symbols.prompts.items():
        yield Suggestion(name, "prompt", written(signature), rank=2 if judges else 0 if operation else 1)
    for name, signature in symbols.scores.items():
        yield Suggestion(name, "score", written(signature), rank=0 if operation == "Score" else 1)
    for name, signature in symbols.schemes.items():
        yield Suggestion(name, "scheme", written(signature))
    for name in symbols.functions:
        yield Suggestion(name, "function", f"-> {symbols.results.get(name, 'any')}")
    for name, _ in _declared(document, n.Function):
        yield Suggestion(name, "function", "function of this program")
    for name in symbols.corpora:
        yield Suggestion(name, "corpus")
    for name, case in symbols.cases.items():
        yield Suggestion(name, "case", case.written())
    for name, (type_, doc) in THOUGHT_FUNCTIONS.items():
        yield Suggestion(name, "function", str(type_), doc, rank=3)
    for name, builtin in BUILTINS.items():
        yield Suggestion(name, "function", builtin.signature(), builtin.doc, rank=3)
    yield from _words(("true", "false", "none"), rank=4)


def _declared(
    document: Document, kind: type[n.OperationDefinition | n.Function]
) -> Iterator[tuple[str, n.Declaration]]:
    """The definitions of the program's own file, which the check has inlined."""
    for declaration in document.module.declarations:
        if isinstance(declaration, kind):
            yield declaration.name.text, declaration


def _signature(symbols: Symbols, name: str) -> Signature | None:
    for kind in (symbols.prompts, symbols.scores, symbols.schemes):
        if name in kind:
            return kind[name]
    return None


def written(signature: Signature) -> str:
    """`(numbers: list[int]) -> list[int]`, as far as the head of the declaration is readable."""
    inputs = ", ".join(f"{name}: {type_}" for name, type_ in signature.parameters if name != e.HOLE)
    return f"({inputs}) -> {'many ' if signature.many else ''}{signature.result}"


def facts(variable: Variable) -> str:
    """The facts known of a name's thoughts, as text."""
    known = variable.facts
    words = [f"scored by {score.name}" for score in known.scores] if known.scored else []
    words += ["validated"] * known.validated + ["has log-probabilities"] * known.logprobs
    return ", ".join(words)


def rule(setting: SettingRule) -> str:
    """The values of a setting: `int, at least 1`."""
    bounds = [f"at least {setting.least}"] if setting.least is not None else []
    bounds += [f"at most {setting.most:,}"] if setting.most is not None else []
    return ", ".join([" or ".join(map(str, setting.types)), *bounds])


def _settings(settings: dict[str, SettingRule], given: Iterable[str]) -> Iterator[Suggestion]:
    for name, setting in settings.items():
        if name not in given:
            yield Suggestion(f"{name}=", "setting", rule(setting), rank=1 if name in MODEL_SETTINGS else 0)


def _arguments(signature: Signature, opened: tuple[str, int, tuple[str, ...]]) -> Iterator[Suggestion]:
    for name, type_ in signature.parameters[opened[1] :]:
        if name not in opened[2]:
            yield Suggestion(f"{name}=", "argument", str(type_))


def _members(document: Document, before: str, start: int) -> Iterator[Suggestion]:
    """Suggestions after a dot: the fields of a value, or the names of a module."""
    alias = re.search(r"(\w+)\.$", before)
    inside = f"{alias[1]}{BETWEEN}" if alias is not None else ""
    symbols = document.index.symbols
    module = _aliases(document).get(alias[1]) if alias is not None else None
    if module is not None:
        kinds: list[tuple[Kind, dict[str, Signature]]] = [
            ("prompt", symbols.prompts), ("score", symbols.scores), ("scheme", symbols.schemes),
        ]  # fmt: skip
        for kind, known in kinds:
            for name, signature in known.items():
                if name.startswith(inside):
                    yield Suggestion(name.removeprefix(inside), kind, written(signature))
        yield from _exported(document, module)
        return
    yield from _fields(value_before(document, start - 1))


def _fields(type_: Type | None) -> Iterator[Suggestion]:
    match present(type_) if type_ is not None else None:
        case RecordType(fields=known):
            for name, inner in known:
                yield Suggestion(name, "field", str(inner), rank=0)
        case UnionType() as union:
            yield Suggestion("type", "field", str(union.tags), rank=0)
            for case in union.cases:
                for name, inner in case.fields:
                    yield Suggestion(name, "field", str(inner), f"of the case `{case.tag}`")


def _types(symbols: Symbols) -> Iterator[Suggestion]:
    for name in sorted(TYPES):
        yield Suggestion(name, "type")
    for name, type_ in symbols.types.items():
        yield Suggestion(name, "type", as_declared(type_), rank=0)
    for part in ("many", "prompt", "score", "scheme", "corpus"):
        yield Suggestion(part, "keyword", rank=3)


# ---------------------------------------------------------------- prompts


def _prompt(here: Around, before: str) -> Iterator[Suggestion]:
    if before.strip().startswith("parse"):
        yield from _words(_FORMS, rank=0)
    elif not before.strip():
        yield from _words(_PARTS, rank=0)
        for name, setting in PROMPT_SETTINGS.items():
            yield Suggestion(name, "setting", rule(setting))


def _template(document: Document, here: Around, before: str, start: int) -> Iterator[Suggestion]:
    """Suggestions inside `{{ }}` and `{% %}`: the inputs of the prompt, loop variables, fields, filters and
    tags."""
    known = template_names(document, here)
    if re.search(r"\| *$", before):
        yield from _words(FILTERS, "filter", rank=0)
        return
    if re.search(r"\{%-? *$", before):
        yield from _words(_TAGS, rank=0)
        return
    path = re.search(r"([a-z_]\w*(?:\.\w+|\[\d+\])*)\.$", before)
    if path is not None:
        yield from _fields(_typed(path[1], known))
        return
    for name, type_ in known.items():
        yield Suggestion(name, "variable", str(type_) if type_ is not None else "", rank=0)


def template_names(document: Document, here: Around) -> dict[str, Type | None]:
    """The names in a template of a prompt, as far as it can be parsed: inputs, and loop variables."""
    named = re.match(r"\w+ +(\w+)", here.text)
    signature = document.index.symbols.prompts.get(named[1]) if named is not None else None
    known: dict[str, Type | None] = dict(signature.parameters) if signature is not None else {}
    if here.head == "partial" and named is not None:
        known |= dict.fromkeys(re.findall(r"(\w+) *:", here.text.split("\n", 1)[0]))
    for name, of in re.findall(r"\{%-? *for +(\w+)[^%]*? in +([\w.]+)", here.text):
        type_ = _typed(of, known)
        known[name] = type_.element if isinstance(type_, ListType) else None
        known["loop"] = None
    known.pop(e.HOLE, None)
    return known


def _typed(path: str, known: dict[str, Type | None]) -> Type | None:
    first, *rest = re.findall(r"\w+", path)
    type_ = known.get(first)
    for part in rest:
        inner = present(type_) if type_ is not None else None
        match inner:
            case RecordType():
                type_ = inner.field(part)
            case ListType(element=element) if part.isdigit():
                type_ = element
            case DictType():
                type_ = inner.value
            case _:
                return None
    return type_


# ---------------------------------------------------------------- studies, imports, files


def _study(document: Document, here: Around, before: str) -> Iterator[Suggestion]:
    symbols = document.index.symbols
    word = before.split()[0] if before.split() else ""
    columns = re.search(r'data +"([^"\n]*)" *\([^)]*$', here.text)
    if columns is not None:
        if not re.search(r"[(,]\s*$", before):
            yield from _column_names(document, columns[1])
        else:
            for name, signature in symbols.schemes.items():
                for parameter, type_ in signature.parameters:
                    yield Suggestion(f"{parameter} = ", "argument", f"input of {name}: {type_}", rank=0)
            yield Suggestion("truth = ", "argument", "the expected result", rank=0)
    elif word == "data" and re.search(r",[^\"(]*$", before):
        yield from _words(DATA_OPTIONS, "setting", rank=0)
    elif word == "vary":
        yield from _varied(document, before)
    elif word == "sampler":
        for name, sampler in SAMPLERS.items():
            yield Suggestion(name, "function", doc=sampler.doc, rank=0)
    elif word in ("subject", "minimize", "maximize"):
        for name in symbols.metrics:
            yield Suggestion(name, "metric", rank=0)
        for name, about in ABOUT.items():
            if name != BASELINE or word == "subject":
                yield Suggestion(name, "metric", doc=about, rank=0)
        for name, signature in symbols.scores.items():
            yield Suggestion(name, "score", written(signature))
        yield from _words(("result", "score", "truth"), "variable")
        for signature in symbols.schemes.values():
            for name, type_ in signature.parameters:
                yield Suggestion(name, "variable", str(type_))
    elif word == "prompts" and re.search(r"\bwith +$", before):
        for name, optimizer in OPTIMIZERS.items():
            yield Suggestion(name, "function", f"takes {', '.join(optimizer.takes)}", rank=0)
    elif word in ("scheme", "prompts"):
        for name in symbols.schemes if word == "scheme" else symbols.prompts:
            yield Suggestion(name, "scheme" if word == "scheme" else "prompt", rank=0)
    else:
        yield from _words(CLAUSES, rank=0)
        yield from _words(OPTIONS, "setting")


def _varied(document: Document, before: str) -> Iterator[Suggestion]:
    """The possible dimensions of a study: params, settings of all prompts or of one, models, schemes."""
    symbols = document.index.symbols
    if re.search(r"\bscheme +in +\[[^\]]*$", before):
        for name, signature in symbols.schemes.items():
            yield Suggestion(name, "scheme", written(signature), rank=0)
        return
    of = re.search(r"(\w+)\.$", before)
    if of is not None:
        if of[1] in symbols.prompts:
            yield from _words((*TEXT_PARTS, *ASKED), "setting", rank=0)
        return
    if re.search(r"\bin +\S*$", before) or before.count("[") > before.count("]"):
        return
    for name, type_ in symbols.params.items():
        yield Suggestion(name, "param", str(type_), rank=0)
    for name in symbols.prompts:
        yield Suggestion(name, "prompt", f"`{name}.temperature`, `{name}.instruction`, ...")
    yield from _words(VARIED, "setting")
    yield from _words((SCHEME, STRUCTURE, MODELS))


def _column_names(document: Document, path: str) -> Iterator[Suggestion]:
    """The columns of a data file, in quotes if they are not names."""
    for column in _columns(document, path):
        yield Suggestion(column if _NAME.fullmatch(column) else f'"{column}"', "column", rank=0)


def _drawn(document: Document, here: Around, before: str) -> Iterator[Suggestion]:
    """The generators of a law's inputs, and the columns of their rows."""
    rows = re.search(r'rows\(\s*"([^"\n]*)"([^()]*)$', here.text)
    if rows is not None:
        fields = rows[2].count("{") > rows[2].count("}")
        if fields and not re.search(r"[{,]\s*$", before):
            yield from _types(document.index.symbols)
        elif fields:
            for column in _columns(document, rows[1]):
                if _NAME.fullmatch(column):
                    yield Suggestion(f"{column}: ", "column", rank=0)
        elif re.search(r"= *$", before):
            for column in _columns(document, rows[1]):
                yield Suggestion(f'"{column}"', "column", rank=0)
    elif re.search(r"\bin +$", before) and here.text.count("(") == here.text.count(")"):
        yield from _words(_GENERATORS, "function", rank=0)


def _columns(document: Document, path: str) -> list[str]:
    """The columns of a data file of the program's folder; none if it cannot be read."""
    target = file_inside(document, path)
    if target is None:
        return []
    from gotlang.data.table import load

    try:
        return [*load(target, _ROWS_READ).columns]
    except (GotError, OSError):
        return []


def file_inside(document: Document, path: str) -> Path | None:
    """A file in the folder of the program; None for any other."""
    folder = document.files.folder
    try:
        target = real_path(folder / path)
    except OSError:
        return None
    return target if target.is_relative_to(folder) and target.is_file() else None


def _paths(document: Document, here: Around) -> Iterator[Suggestion]:
    """The files that a text may name: of the folder, with matching suffixes; for a corpus also the folders
    with texts."""
    from gotlang.data.corpus import TEXTS
    from gotlang.data.table import FORMATS

    kinds: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
        (r'(?:import|from|program) +"[^"]*$', (".got",), ()),
        (r'(?:import +python|simulate +with) +"[^"]*$', (".py",), ()),
        (r'import +corpus +"[^"]*$', (".jsonl",), TEXTS),
        (r'(?:data *|rows\(\s*)"[^"]*$', FORMATS, ()),
        (r'-> *[\w\[\]| ]+ from +"[^"]*$', (".md",), ()),
    )
    known = [(endings, inside) for pattern, endings, inside in kinds if re.search(pattern, here.text)]
    folder, number = document.files.folder, 0
    if not known or not folder.is_dir():
        return
    endings, inside = known[-1]
    typed = len(here.text) - here.text.rfind('"') - 1
    for at, inner, files in os.walk(folder):
        inner[:] = [
            name for name in sorted(inner) if not name.startswith((".", "_")) and name != "node_modules"
        ]
        paths = [os.path.join(at, name) for name in sorted(files) if name.endswith(endings)]
        if at != str(folder) and any(name.endswith(inside) for name in files):
            paths.append(at)
        for path in paths:
            if path != document.source.name:
                label = os.path.relpath(path, folder).replace(os.sep, "/")
                yield Suggestion(label, "file", rank=0, typed=typed)
        number += len(files)
        if number > _MAX_FILES:
            return


def _modules(document: Document, here: Around) -> Iterator[Suggestion]:
    line = here.line
    names_of = re.match(r'from +(?:"([^"]*)"|([\w.]+)) +import +', line)
    if names_of is not None:
        yield from _exported(document, names_of[1] or names_of[2])
    elif re.match(r"(?:import|from) +[\w.]*$", line):
        for path in sorted(STANDARD.glob("*.got")):
            label = path.stem if re.search(r"\bstd\.\w*$", line) else f"std.{path.stem}"
            yield Suggestion(label, "module", rank=0)
        if re.fullmatch(r"import +\w*", line):
            yield from _words(("python", "corpus", "mcp"))
    else:
        yield from _words(("import", "as"))


def _aliases(document: Document) -> dict[str, str]:
    """The modules for which the program's file has a name."""
    return {d.alias.text: str(d.path.value) for d in document.module.imports if d.alias is not None}


def _exported(document: Document, written: str) -> Iterator[Suggestion]:
    """The names that a module declares and others may import."""
    from gotlang.packages import source_name
    from gotlang.span import Source
    from gotlang.syntax.parse import parse

    name = written if written.endswith(".got") else source_name(written)
    try:
        path = name if name.startswith("<") else str(document.files.folder / name)
        module, _ = parse(Source.of(name, document.files.text(path)))
    except (OSError, GotError, ValueError):
        return
    kinds: dict[type[n.Declaration], Kind] = {
        n.Prompt: "prompt", n.Score: "score", n.Scheme: "scheme", n.Param: "param", n.TypeAlias: "type",
        n.OperationDefinition: "operation", n.Metric: "metric",
    }  # fmt: skip
    for declaration in module.declarations:
        for each in declared(declaration):
            if not each.text.startswith("_"):
                yield Suggestion(each.text, kinds.get(type(declaration), "function"), rank=0)
