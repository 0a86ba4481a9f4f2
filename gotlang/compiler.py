"""From source to IR, stage by stage; each stage can be inspected. Pure: the caller reads files."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, final

from msgspec import Struct, field
from msgspec.structs import replace

from gotlang.consequences import UnknownNames, on_line, unfinished
from gotlang.diagnostics import Diagnostic, Fix, Label, Report, in_order
from gotlang.errors import CompileError, GotError, UsageError
from gotlang.gc_tuning import relaxed_gc
from gotlang.linking.inlined import Inlined, has_definitions
from gotlang.linking.modules import link, without_unused
from gotlang.linking.texts import with_files
from gotlang.packages import in_package, outside, package_text, source_name
from gotlang.scope import THOUGHT_FUNCTIONS
from gotlang.semantics.builtins import BUILTINS
from gotlang.semantics.check import Checked, check
from gotlang.semantics.index import SemanticIndex
from gotlang.semantics.symbols import RESERVED
from gotlang.semantics.test_declarations import plural
from gotlang.span import Source, Span
from gotlang.syntax import nodes as n
from gotlang.syntax.parse import parse

if TYPE_CHECKING:
    from gotlang.analysis import Files
    from gotlang.ir.program import Program
    from gotlang.linking.unused import Definition
    from gotlang.semantics.studies import Target

Reader = Callable[[str], str]
"""Returns the text of an imported file, by its path relative to the program, or of a module of a package
(`<std>/vote.got`); raises OSError."""

Opener = Callable[[str], "Compilation | None"]
"""Compiles the program that a study names, by its path as written; returns None for the study's own file.
Raises OSError or GotError."""

_GIVEN = RESERVED | THOUGHT_FUNCTIONS.keys() | BUILTINS.keys()
"""Names that the language predefines."""


class Compilation(Struct, frozen=True):
    """The result of compiling a source: its modules (its own first) and the diagnostics of all of them.

    It is a `Compiled` if there is no error.
    """

    source: Source
    sources: Mapping[str, Source]
    modules: tuple[n.Module, ...]
    diagnostics: tuple[Diagnostic, ...]

    @property
    def ok(self) -> bool:
        """Whether there is no error; warnings do not count."""
        return isinstance(self, Compiled)

    def compiled(self) -> Compiled:
        """Itself, if there is no error. Raises CompileError with every error and warning otherwise."""
        if isinstance(self, Compiled):
            return self
        raise CompileError(self.diagnostics, self.sources)


@final
class Compiled(Compilation, frozen=True):
    """A source without errors: the checked tree, and the IR, which is built once."""

    checked: Checked
    tests: bool = False
    """Whether its schemes include its tests."""
    stored: Program | None = None
    """IR that was read from a file, at the level that it was written with; then there is no tree."""
    _programs: dict[tuple[int, frozenset[str]], Program] = field(default_factory=dict)

    def with_tests(self) -> Compiled:
        """The same with its tests among its schemes."""
        return replace(self, tests=True, _programs={})

    @relaxed_gc()
    def program(self, level: int = 2, skip: frozenset[str] = frozenset()) -> Program:
        """The IR at an optimization level from 0 to 2, without the passes named in `skip`.

        IR that was read from a file is returned unchanged. Raises CompileError if a constant has no value.
        """
        if self.stored is not None:
            return self.stored
        if (level, skip) not in self._programs:
            # Not needed to check a program, which is what editors wait for.
            from gotlang.passes import optimize

            built = optimize(self.program(0), level, skip) if level else self._build()
            self._programs[level, skip] = built
        return self._programs[level, skip]

    def _build(self) -> Program:
        from gotlang.ir.build import build

        try:
            return build(self.checked, PurePosixPath(self.source.name).stem, tests=self.tests)
        except CompileError as error:
            raise CompileError(error.diagnostics, self.sources) from None


def stored_program(path: str, program: Program, sources: Mapping[str, Source]) -> Compiled:
    """A runnable program from IR that was read from the file at `path`."""
    source = Source.of(path, "")
    module = n.Module(Span(path, 0, 0), ())
    checked = check((module,))
    checked.symbols.functions |= dict.fromkeys(program.results, module.span)
    return Compiled(source, sources, (module,), (), checked, stored=program)


def compile_source(
    source: Source,
    read: Reader | None = None,
    functions: tuple[n.PythonFunction, ...] = (),
    named: Opener | None = None,
    files: Files | None = None,
    known: tuple[Diagnostic, ...] | None = None,
    index: SemanticIndex | None = None,
) -> Compilation:
    """Parse and check a source and its imports; reports the errors of all files at once.

    `read` returns the text of imported files; without it, only modules of packages are imported. `functions`
    are provided by Python in addition to the program's imports. `named` compiles the program that a study
    names; without it, studies of other programs are checked only in part. `files` are those beside the
    program; without them, Python files, simulators and corpora are not checked. `known` are the diagnostics
    of the same program if it is known to have no errors: checks that only find errors are skipped. `index`
    records the facts that editors show, also for a program with errors.
    """
    found = _compile(source, read, functions, named, files, known, index)
    typed = tuple(d for d in unfinished(found.diagnostics, source) if d.code != "GOT0741")
    if not typed or all(on_line(d, typed, source) for d in found.diagnostics if d.severity == "error"):
        return found
    without = {
        (d.code, d.span) for d in _compile(source, read, functions, named, files, typed=typed).diagnostics
    }
    left = (d for d in found.diagnostics if (d.code, d.span) in without or on_line(d, typed, source))
    return replace(found, diagnostics=tuple(left))


@relaxed_gc()
def _compile(
    source: Source,
    read: Reader | None,
    functions: tuple[n.PythonFunction, ...],
    named: Opener | None,
    files: Files | None,
    known: tuple[Diagnostic, ...] | None = None,
    index: SemanticIndex | None = None,
    typed: Sequence[Diagnostic] = (),
) -> Compilation:
    """The same; a line with one of the mistakes `typed` is treated as unreadable."""
    sources: dict[str, Source] = {source.name: source}
    module, found = parse(source, typed)
    diagnostics = list(found)
    modules = [module]
    pending = [module]
    imported: dict[int, str] = {}
    read = read or package_text
    while pending:
        at = pending.pop(0)
        for declaration in at.declarations:
            if isinstance(declaration, n.ImportGot):
                other = _import(declaration, sources, read, diagnostics, imported)
                if other is not None:
                    modules.append(other)
                    pending.append(other)
    if any(d.code.startswith("GOT00") for d in diagnostics) and not any(m.declarations for m in modules):
        return Compilation(source, sources, tuple(modules), in_order(diagnostics))
    broken = bool(diagnostics)
    targets = _targets(module, named, diagnostics)
    looked_at = modules if known is None else []
    mentioned = frozenset(word for module in looked_at for word in _mentioned(module, read))
    report = Report()
    filled = tuple(with_files(module, read, sources, report) for module in modules)
    linked, shown, others = link(filled, imported, sources, report)
    inlined = Inlined(linked, {}, {}, ())
    if has_definitions(linked):
        from gotlang.linking.inline import inline

        inlined = inline(linked, _GIVEN, report)
    types = [each.type for some in inlined.ascribed.values() for each in some]
    packages = {m.span.source for m in modules if in_package(m.span.source)}
    unused = [d for d in inlined.unused if d.span.source not in packages] if known is None else []
    whole = without_unused(inlined.modules, types, packages)
    shown = {**shown, **inlined.shown}
    if unused:
        report.diagnostics += _in_unused(linked, unused, functions, sources, report, shown)
    unknown = UnknownNames(modules, sources, found)
    if any(d.code == "GOT0107" for d in diagnostics):
        unknown.names.add("*")  # a file that was not imported
    for d in report.diagnostics:
        unknown.names |= {"*", f"{unknown.text(d.span)}*"} if d.code == "GOT0741" else set()
    broken = broken or any(d.severity == "error" for d in report.diagnostics)
    reported = unknown.without_consequences(report.diagnostics) if broken else report.diagnostics
    diagnostics += [_as_written(d, shown) for d in reported]
    checked = check(whole, functions, targets, sources, mentioned, inlined.ascribed, index)
    broken = broken or any(d.code == "GOT0106" for d in checked.diagnostics)
    if known is not None and checked.ok and not broken:
        checked = replace(checked, diagnostics=known)
    elif not broken:
        from gotlang.analysis import analyze

        checked = replace(checked, diagnostics=in_order([*checked.diagnostics, *analyze(checked, files)]))
    further = unknown.without_consequences(checked.diagnostics) if broken else checked.diagnostics
    found_in_all = in_order([*diagnostics, *(_as_written(d, shown) for d in further)])
    if any(d.severity == "error" for d in found_in_all):
        return Compilation(source, sources, tuple(modules), found_in_all)
    if not mentioned:  # definitions that only schemes of other files need are neither loaded nor run
        checked = replace(checked, modules=without_unused(checked.modules, types, others))
    compiled = Compiled(source, sources, tuple(modules), found_in_all, checked)
    if known is None and (wrong := tuple(_as_written(d, shown) for d in _unproven(compiled))):
        return Compilation(source, sources, tuple(modules), in_order([*found_in_all, *wrong]))
    return compiled


def _in_unused(
    modules: tuple[n.Module, ...],
    unused: Sequence[Definition],
    functions: tuple[n.PythonFunction, ...],
    sources: Mapping[str, Source],
    report: Report,
    shown: dict[str, str],
) -> list[Diagnostic]:
    """The errors in definitions that are never used, which the program is checked without; `shown` receives
    names."""
    from gotlang.linking.inline import inline
    from gotlang.linking.unused import in_definitions, with_uses

    used, names = with_uses(modules, unused)
    found = Report()
    inlined = inline(used, _GIVEN, found)
    shown |= {**names, **inlined.shown}
    checked = check(inlined.modules, functions, None, sources, ascribed=inlined.ascribed)
    return list(in_definitions((*found.diagnostics, *checked.diagnostics), unused, report.diagnostics))


def _unproven(compiled: Compiled) -> Iterator[Diagnostic]:
    """An error for each budget of a scheme that is not proven, with or without the optimizer's changes."""
    schemes = {d.name.text: d for d in compiled.checked.symbols.nodes.values() if isinstance(d, n.Scheme)}
    for name, node in schemes.items():
        reported: set[str] = set()
        for level in (0, 2) if node.within else ():
            from gotlang.estimate.proof import unproven

            try:
                program = compiled.program(level)
            except CompileError:
                return  # a constant has no value; the error is reported at its use
            for found in unproven(program, program.scheme(name)):
                if found.unit not in reported:
                    reported.add(found.unit)
                    place = next(each for each in node.within if plural(each.unit.text) == found.unit)
                    yield Diagnostic("GOT0765", found.message, place.span, help=found.help)


def handed_in(functions: Iterable[str]) -> tuple[n.PythonFunction, ...]:
    """The functions that Python provides, each as an import declares it (`search -> list[str]`) or by name.
    Raises UsageError for an invalid declaration and for the name of a built-in."""
    found: list[n.PythonFunction] = []
    for text in functions:
        module, problems = parse(Source.of("functions", f'import python "functions": {text}\n'))
        if problems:
            reason = problems[0].message
            raise UsageError(f"`{text}` is not a function: {reason}", help="write `name -> type`")
        found += [f for d in module.declarations if isinstance(d, n.ImportPython) for f in d.functions]
    built_in = BUILTINS.keys() | THOUGHT_FUNCTIONS.keys() | RESERVED
    if taken := next((function.name.text for function in found if function.name.text in built_in), None):
        raise UsageError(f"`{taken}` is built into the language, so no function can have that name")
    return tuple(found)


def _targets(
    module: n.Module, named: Opener | None, diagnostics: list[Diagnostic]
) -> dict[int, Target | None]:
    """The programs of the studies that name another file, by the identity of the study; None for one that is
    unknown or does not compile."""
    targets: dict[int, Target | None] = {}
    for node in module.declarations:
        if not isinstance(node, n.Study) or node.program is None:
            continue
        written, why, help = str(node.program.value), None, None
        try:
            found = named(written) if named is not None else None
            if found is None and named is not None:
                continue  # the study's own file
            if isinstance(found, Compiled):
                from gotlang.semantics.studies import Target

                targets[id(node)] = Target(found.checked.symbols, found.source.name)
                continue
            if found is not None:
                why, help = f"`{written}` does not compile", f"`gotc check {found.source.name}` shows why"
        except (OSError, GotError) as error:
            reason = (isinstance(error, OSError) and error.strerror) or getattr(error, "message", str(error))
            why, help = f"cannot open `{written}`: {reason}", getattr(error, "help", None)
        targets[id(node)] = None
        if why is not None:
            diagnostics.append(Diagnostic("GOT0602", why, node.program.span, help=help))
    return targets


def _at_use(found: Diagnostic) -> Diagnostic:
    """A diagnostic in inlined text, moved to the place of the use."""
    span, labels = found.span, list[Label]()
    while span.use is not None:
        labels.append(Label(_bare(span), found.at if not labels else "used here"))
        span = span.use
    labels += [Label(_bare(label.span), label.text) for label in found.labels]
    at = "" if span is not found.span else found.at
    return replace(found, span=span, at=at, labels=tuple(labels))


def _bare(span: Span) -> Span:
    return replace(span, use=None)


def _as_written(found: Diagnostic, shown: Mapping[str, str]) -> Diagnostic:
    """A diagnostic with names as the program writes them."""
    found = _at_use(found)
    if found.fix is not None and (found.fix.span.use is not None or in_package(found.fix.span.source)):
        found = replace(found, fix=None)  # in a text that is used here, and elsewhere
    if not shown:
        return found
    names = re.compile(rf"\b({'|'.join(map(re.escape, shown))})\b")

    def text(value: str) -> str:
        return names.sub(lambda match: shown[match[0]], value)

    labels = tuple(Label(label.span, text(label.text)) for label in found.labels)
    help = text(found.help) if found.help is not None else None
    return replace(
        found,
        message=text(found.message),
        at=text(found.at),
        labels=labels,
        notes=tuple(map(text, found.notes)),
        help=help,
        fix=found.fix and Fix(found.fix.span, text(found.fix.text)),
    )


def _mentioned(module: n.Module, read: Reader) -> Iterator[str]:
    """The words in the Python files that a module imports, if these change graphs: the steps that they add
    may use any prompt, score or param of those names."""
    for node in module.declarations:
        if isinstance(node, n.ImportPython) and outside(str(node.path.value)) is None:
            try:
                text = read(str(PurePosixPath(node.span.source).parent / str(node.path.value)))
                parts = list(ast.walk(ast.parse(text))) if "changes_graph" in text else []
            except (OSError, ValueError, SyntaxError, RecursionError):
                continue
            for part in parts:
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield from re.findall(r"[a-z_]\w*", part.value)


def _text(name: str, read: Reader) -> str:
    """The text of an imported file, or of a module of a package, even if `read` cannot read packages."""
    try:
        return read(name)
    except OSError:
        if not in_package(name):
            raise
        return package_text(name)


def _import(
    node: n.ImportGot,
    sources: dict[str, Source],
    read: Reader,
    diagnostics: list[Diagnostic],
    imported: dict[int, str],
) -> n.Module | None:
    folder = PurePosixPath(node.span.source).parent
    written = str(node.path.value)
    if isinstance(node.path, n.ModuleName):
        name = source_name(written)
    elif (why := outside(written)) is not None:
        diagnostics.append(Diagnostic("GOT0107", why, node.path.span))
        return None
    else:
        name = str(folder / written)  # the same name for `common.got` and `./common.got`
    if name in sources:
        imported[id(node)] = name
        return None
    try:
        text = _text(name, read)
    except OSError as error:
        reason = error.strerror or str(error)
        diagnostics.append(Diagnostic("GOT0107", f"cannot import `{written}`: {reason}", node.path.span))
        return None
    imported[id(node)] = name
    sources[name] = Source.of(name, text)
    module, found = parse(sources[name])
    diagnostics.extend(found)
    return module
